"""The order of a report: its sections, from the verdict to how every figure is defined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.text import source
from pcapnfs.views import numbered
from pcapnfs.views.report import (
    clock,
    happened,
    judged,
    knowledge,
    objects,
    outlook,
    overview,
    services,
    wire,
)
from pcapnfs.views.report.blocks import told

if TYPE_CHECKING:
    from pcapnfs.report import Report
    from pcapnfs.views.report.blocks import Section

_SECTIONS = (
    overview.verdict,
    overview.trust,
    clock.section,
    outlook.section,
    judged.section,
    services.operations,
    services.stability,
    services.exports,
    happened.section,
    objects.files,
    objects.sizes,
    knowledge.readdir,
    knowledge.cache,
    wire.section,
)


def sections(report: Report) -> tuple[Section, ...]:
    """The sections that have something to say, in order; the definitions follow them."""
    return tuple(found for build in _SECTIONS if (found := build(report)) is not None)


def numbers(report: Report) -> str:
    """What its frame numbers mean."""
    return numbered.sentence(report.summary.capture.streams, told)


def title(report: Report) -> str:
    """What the report is about."""
    files = report.summary.capture.files
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    if not files:
        return "trace"
    # A path says where the capture lay; what it is called is enough here.
    name = source(files[0].rstrip("/").rpartition("/")[2])
    return f"{told(name, 60)}{more}"
