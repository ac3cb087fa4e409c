"""What was captured, and how far it can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.text import some, source
from pcapnfs.views import estimate
from pcapnfs.views import findings as findings_view
from pcapnfs.views.report import judged
from pcapnfs.views.report.blocks import Block, Facts, Paragraph, Section, quoted, told
from pcapnfs.views.software import line as software_line
from pcapnfs.views.trust import no_verdict, trust_sentences
from pcapnfs.views.words import protocol_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pcapnfs.analyses.captured.capture import Capture
    from pcapnfs.report import Report

NAMED = 6
"""Files, clients or servers that are named; the rest is counted."""


def verdict(report: Report) -> Section:
    """What it comes to, and what was captured."""
    summary = report.summary
    failing = findings_view.failing(summary.findings)
    parts: list[Block] = [Paragraph(quoted(line), "warning") for line in failing]
    if summary.verdict is not None:
        told = estimate.verdict_sentences(summary.verdict)
        parts += [Paragraph(quoted(line), "verdict") for line in told]
    elif why := no_verdict(summary.trust) or estimate.too_few(summary.model):
        parts.append(Paragraph(why, "warning"))
    parts.append(Paragraph(judged.sentence(report)))
    if gravest := judged.in_short(report):
        parts.append(gravest)
    to_do = findings_view.first_to_do(summary.findings, summary.judged)
    parts += [Paragraph(quoted(line)) for line in to_do]
    facts = list(_capture(summary.capture, summary.trust.rpc_calls))
    if said := software_line(summary.software, whole=True):
        facts.append(("Software", quoted(said)))
    if report.redacted:
        facts.append(("Names", "pseudonyms, as are addresses and users (pcapnfs redact)"))
    parts.append(Facts(tuple(facts)))
    return Section("verdict", "Verdict", tuple(parts), ("persistence", "findings", "calls"))


def trust(report: Report) -> Section:
    """What is missing, and what that means."""
    found, capture = report.summary.trust, report.summary.capture
    parts = tuple(
        Paragraph(quoted(line), "" if found.complete else "warning")
        for line in trust_sentences(found, capture)
    )
    return Section("trust", "How far to trust it", parts, ("trust",))


def _capture(capture: Capture, calls: int) -> Iterator[tuple[str, str]]:
    yield "Captures", _names(tuple(map(source, capture.files)))
    facts = [told(capture.format or "no format"), units.counted(capture.packets, "packet")]
    yield "Read", ", ".join([*facts, units.size(capture.bytes)])
    if capture.duration_s is not None and capture.start is not None:
        start = told(units.moment(capture.start))
        yield "Time", f"{units.duration(capture.duration_s)} from {start} UTC"
    protocols = ", ".join(protocol_name(protocol) for protocol in capture.protocols[:NAMED])
    yield "Calls", f"{units.count(calls)} ({protocols or 'none'})"
    yield "Clients", _names(capture.clients)
    yield "Servers", _names(capture.servers)
    if capture.data_connections:
        yield (
            "Data servers",
            f"{_names(capture.data_servers)}, {units.counted(capture.data_calls, 'call')}",
        )


def _names(names: Sequence[str]) -> str:
    return some(names, NAMED, told) or "none"
