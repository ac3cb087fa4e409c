"""Screens of `redact` and `annotate` at 80 and 140 columns, compared with what people approved.

After a wanted change: `PCAPNFS_UPDATE_SCREENS=1 pytest tests/views`, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import RenderableType

from pcapnfs.record import replace
from pcapnfs.views import annotate, redact
from tests.views import samples

SCREENS = Path(__file__).parent / "screens"


def renderables() -> dict[str, RenderableType]:
    poor_damage = (f"{samples.HOSTILE}: the file ends within a packet",)
    poor = replace(
        samples.redaction(),
        messages=0,
        replaced={},
        damage=poor_damage[0],
    )
    said = samples.annotation()
    nothing = replace(
        said, comments=0, frames=0, findings=0, slowest=0, phases=0, damage=poor_damage
    )
    return {
        "annotate": annotate.screen(said, "annotated.pcapng"),
        "annotate-poor": annotate.screen(nothing, f"{samples.HOSTILE}.pcapng"),
        "redact": redact.screen(samples.redaction(), "redacted.pcap", with_key=True),
        "redact-poor": redact.screen(poor, f"{samples.HOSTILE}.pcap", with_key=False),
    }


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", ["annotate", "annotate-poor", "redact", "redact-poor"])
def test_a_screen_looks_as_approved(name: str, width: int) -> None:
    text = samples.render(renderables()[name], width)
    approved = SCREENS / f"{name}-{width}.txt"
    if os.environ.get("PCAPNFS_UPDATE_SCREENS"):
        approved.write_text(text, encoding="utf-8")
    assert text == approved.read_text(encoding="utf-8")
    assert max(cell_len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("name", ["annotate-poor", "redact-poor"])
def test_nothing_hostile_is_shown(name: str) -> None:
    text = samples.render(renderables()[name], 140)
    assert "\x1b" not in text
    assert "\u202e" not in text
