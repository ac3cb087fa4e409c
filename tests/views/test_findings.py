"""Screens of findings at 80 and 140 columns, compared with what people approved.

After a wanted change: `PCAPNFS_UPDATE_SCREENS=1 pytest tests/views`, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Group

from pcapnfs.diagnosis.judging import Findings
from pcapnfs.record import replace
from pcapnfs.views import findings
from tests.views import samples

SCREENS = Path(__file__).parent / "screens"


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", ["findings", "findings-short"])
def test_a_screen_looks_as_approved(name: str, width: int) -> None:
    result = samples.findings()
    drawn = {
        "findings": findings.screen(result),
        "findings-short": Group(*findings.in_short(result.findings, result.judged)),
    }
    text = samples.render(drawn[name], width)
    approved = SCREENS / f"{name}-{width}.txt"
    if os.environ.get("PCAPNFS_UPDATE_SCREENS"):
        approved.write_text(text, encoding="utf-8")
    assert text == approved.read_text(encoding="utf-8")
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_nothing_found_is_said() -> None:
    nothing = Findings((), checked=30, budget_s=10.0, booked_s=0.0)
    assert samples.render(findings.screen(nothing), 80) == "Nothing found by 30 rules.\n"
    assert samples.render(Group(*findings.in_short((), nothing.judged)), 80) == (
        "  Nothing found by 30 rules.\n"
    )


def test_text_from_the_capture_stays_text() -> None:
    result = samples.findings()
    hostile = replace(result.findings[0], title=samples.HOSTILE, evidence=samples.HOSTILE)
    text = samples.render(findings.screen(replace(result, findings=(hostile,))), 80)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.count(r"\x1b[31m[bold]<script>\u202e") == 2


def test_the_summary_counts_what_it_leaves_out() -> None:
    result = samples.findings()
    many = replace(result, findings=result.findings * 3)
    assert "3 more; pcapnfs findings says" in samples.render(
        Group(*findings.in_short(many.findings, many.judged)), 80
    )


def test_a_cost_that_others_have_claimed_is_shared_and_not_nothing() -> None:
    result = samples.findings()
    for left_s in (0.0, 0.1):
        claimed = replace(result.findings[0], cost_s=left_s, cost_share=left_s / 61, saving_s=24.0)
        only = replace(result, findings=(claimed,))
        short = samples.render(Group(*findings.in_short(only.findings, only.judged)), 80)
        assert "24.0 s, shared" in short
        assert "0 s, 0 %" not in short
        text = samples.render(findings.screen(only), 80)
        assert "Costs  24.0 s of the time, which other findings claim already" in text


def test_what_to_do_first_is_what_the_gravest_finding_says() -> None:
    gravest, costless = samples.findings().findings[0], samples.findings().findings[-1]
    told = findings.first_to_do((gravest, costless))
    assert (
        told == "To do first: Mount without noac. Risk: other clients' changes are seen 3 s later."
    )
    note = replace(gravest, severity="note", cost_s=None, saving_s=None, cost_share=None)
    assert findings.first_to_do((note, gravest)) is None
    for share, is_told in ((0.04, False), (0.05, True)):
        assert bool(findings.first_to_do((replace(note, cost_share=share),))) is is_told
    assert findings.first_to_do((replace(gravest, advice=()),)) is None
    assert findings.first_to_do(()) is None
