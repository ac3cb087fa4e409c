"""Screens of findings at 80 and 140 columns, compared with what people approved.

After a wanted change: `PCAPNFS_UPDATE_SCREENS=1 pytest tests/views`, then read the difference.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Group

from pcapnfs import units
from pcapnfs.analyses.mounts.software import Kind, Software
from pcapnfs.diagnosis.finding import Advice, Finding, Severity
from pcapnfs.diagnosis.first import ToDo, to_do, without_s
from pcapnfs.diagnosis.judging import Findings, Judged
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


def _to_do(found: Sequence[Finding], *, worked_s: float | None = None) -> list[str]:
    """What is to do first in a capture of a minute."""
    judged = Judged(30, 60.0, 0.0, worked_s=worked_s, to_do=to_do(found, worked_s or 60.0))
    return findings.first_to_do(found, judged)


def test_nothing_found_is_said() -> None:
    nothing = Findings((), checked=30, budget_s=10.0, booked_s=0.0)
    assert samples.render(findings.screen(nothing), 80) == "Nothing found by 30 rules.\n"
    assert samples.render(Group(*findings.in_short((), nothing.judged)), 80) == (
        "  Nothing found by 30 rules.\n"
    )


def test_of_a_library_it_is_told_what_advice_on_mounts_means() -> None:
    library = Software(clients=(Kind("libnfs", "owner", 1, ("10.0.0.2",), 1),))
    told = (
        "The client is the libnfs library, not a mount: set the values of mount options in the "
        "program."
    )
    assert told in samples.render(findings.screen(samples.findings(), library), 140)
    assert told not in samples.render(findings.screen(samples.findings(), Software()), 140)
    nothing = Findings((), checked=30, budget_s=10.0, booked_s=0.0)
    assert told not in samples.render(findings.screen(nothing, library), 140)


def test_a_title_of_several_lines_hangs_under_its_beginning() -> None:
    result = samples.findings()
    long = replace(result.findings[0], severity="warning", title="word " * 20)
    lines = samples.render(findings.screen(replace(result, findings=(long,))), 80).splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("WARNING  word"))
    assert lines[place + 1].startswith("         word word")


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
    assert "3 more findings; pcapnfs findings" in samples.render(
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
        assert "Costs  24.0 s, all of it counted in other findings already" in text


def test_a_cost_of_which_others_have_claimed_most_says_so() -> None:
    result = samples.findings()
    for own_s, is_told in ((12.0, True), (12.1, False)):
        part = replace(result.findings[0], cost_s=own_s, cost_share=own_s / 61, saving_s=24.0)
        only = replace(result, findings=(part,))
        short = samples.render(Group(*findings.in_short(only.findings, only.judged)), 80)
        assert (f"{units.duration(own_s)}, {units.share(own_s / 61)} + shared" in short) is is_told
        assert ("half or more of its cost is counted in other findings" in short) is is_told
    # What costs nothing shares nothing.
    free = replace(result.findings[0], cost_s=None, cost_share=None, saving_s=None)
    short = samples.render(Group(*findings.in_short((free,), result.judged)), 80)
    assert "shared" not in short


def test_what_to_do_first_is_what_the_gravest_finding_says() -> None:
    gravest, costless = samples.findings().findings[0], samples.findings().findings[-1]
    told = _to_do((gravest, costless))
    assert told == [
        "To do first: Mount without noac. Risk: other clients' changes are seen 3 s later."
    ]
    note = replace(gravest, severity="note", cost_s=None, saving_s=None, cost_share=None)
    assert _to_do((note,)) == []
    for share, is_told in ((0.04, False), (0.05, True)):
        assert bool(_to_do((replace(note, cost_share=share),))) is is_told
    assert _to_do((replace(gravest, advice=()),)) == []
    assert _to_do(()) == []


def test_where_most_cannot_be_read_that_nothing_was_found_says_little() -> None:
    judged = samples.findings().judged
    said = f"Nothing found by {judged.checked} rules"
    assert findings.in_a_sentence((), judged) == f"{said}."
    told = findings.in_a_sentence((), judged, unread=True)
    assert told == f"{said}, most of which need what could not be read."


@pytest.mark.parametrize(
    ("mostly", "wholly", "told"),
    [
        (False, False, None),
        (True, False, "+ shared: half or more of its cost is counted in other findings already."),
        (False, True, "shared: all of its cost is counted in other findings already."),
        (
            True,
            True,
            "+ shared: half or more of its cost is counted in other findings already. shared: all "
            "of its cost is.",
        ),
    ],
)
def test_words_behind_costs_are_explained(mostly: bool, wholly: bool, told: str | None) -> None:
    found = replace(samples.findings().findings[0], cost_s=4.0, cost_share=0.1, saving_s=4.0)
    shown = (
        found,
        *([replace(found, saving_s=8.0)] if mostly else []),
        *([replace(found, cost_s=0.0, cost_share=0.0)] if wholly else []),
    )
    assert findings.about_shares(shown) == ([] if told is None else [told])


def test_what_costs_are_shares_of_is_told_where_the_verdict_has_far_less() -> None:
    """As of a run of two seconds in a capture of nine."""
    found = replace(samples.findings().findings[0], cost_s=1.0, cost_share=0.1, saving_s=1.0)
    judged = replace(samples.findings().judged, budget_s=10.0, clients=1)
    (told,) = findings.about_base((found,), judged, 8.9)
    assert told == (
        "Costs are shares of all 10.0 s of the capture; the verdict's are of the run alone."
    )
    assert told in samples.render(Group(*findings.in_short((found,), judged, run_s=8.9)), 140)
    assert findings.about_base((found,), judged, 9.0) == []
    assert findings.about_base((found,), judged, None) == []
    assert findings.about_base((found,), replace(judged, clients=2), 8.9) == []
    free = replace(found, cost_s=None, cost_share=None, saving_s=None)
    assert findings.about_base((free,), judged, 8.9) == []


def test_without_a_verdict_there_is_nothing_to_hold_costs_against() -> None:
    model = samples.model()
    assert model.verdict is not None
    assert findings.judged_s(model) == model.measured_s
    unnamed = replace(model, verdict=replace(model.verdict, named=()))
    assert findings.judged_s(unnamed) is None
    assert findings.judged_s(replace(model, verdict=None)) is None


@pytest.mark.parametrize(
    ("rule", "severity", "is_told"),
    [
        ("no_space", "problem", True),
        ("io_errors", "problem", True),
        # It failed at something that may be so.
        ("io_errors", "warning", False),
        ("noac", "problem", False),
    ],
)
def test_a_verdict_begins_with_what_failed(rule: str, severity: Severity, is_told: bool) -> None:
    full = replace(
        samples.findings().findings[0],
        id=rule,
        severity=severity,
        title="The file system is full",
        data="450 refusals",
    )
    told = ["Some calls failed: The file system is full (450 refusals)."] if is_told else []
    assert findings.failing((full,)) == told


@pytest.mark.parametrize(
    ("severity", "saving_s", "client_share", "worked_s", "is_told"),
    [
        ("warning", 3.0, None, None, True),
        ("warning", 2.9, None, None, False),
        # Much of the time of the client that waits for it.
        ("warning", 1.0, 0.05, None, True),
        ("warning", 1.0, 0.04, None, False),
        # The rest of the minute nothing was run.
        ("warning", 0.4, None, 8.0, True),
        ("warning", 0.4, None, 8.1, False),
        # It tells of something else than time.
        ("warning", None, None, None, True),
        ("problem", 0.1, None, None, True),
    ],
)
def test_what_gains_hardly_anything_is_not_to_do_first(
    severity: Severity,
    saving_s: float | None,
    client_share: float | None,
    worked_s: float | None,
    is_told: bool,
) -> None:
    gravest = samples.findings().findings[0]
    small = replace(
        gravest,
        severity=severity,
        cost_s=saving_s,
        saving_s=saving_s,
        client_share=client_share,
    )
    told = _to_do((small,), worked_s=worked_s)
    assert told == [
        "To do first: Mount without noac. Risk: other clients' changes are seen 3 s later."
        if is_told
        else "No warning costs as much as 5.0 % of the time."
    ]


def test_where_nothing_costs_much_it_is_the_client_that_is_looked_at() -> None:
    gravest = samples.findings().findings[0]
    small = replace(gravest, severity="warning", cost_s=1.0, saving_s=1.0)
    client = replace(
        gravest,
        id="client_bound",
        severity="note",
        cost_s=None,
        saving_s=None,
        advice=(Advice("Look at the client."),),
    )
    look = "To do first: Look at the client."
    assert _to_do((small, client)) == [f"{look} No warning costs as much as 5.0 % of the time."]
    assert _to_do((client,)) == [look]
    # What is worth it is told also behind what is not, if it is no note.
    second = replace(
        gravest,
        severity="warning",
        cost_s=0.5,
        saving_s=6.0,
        advice=(Advice("Ask less."),),
    )
    assert _to_do((small, second, client))[0] == "To do first: Ask less."
    note = replace(second, severity="note", cost_share=0.1)
    assert _to_do((small, note, client))[0].startswith(look)
    assert _to_do((note, client)) == ["To do first: Ask less."]
    # What time goes into in general is no more than what the client does with the rest of it.
    assert _to_do((replace(note, general=True), client)) == [look]
    assert _to_do((replace(note, general=True),)) == ["To do first: Ask less."]
    assert _to_do((replace(second, general=True), client)) == ["To do first: Ask less."]
    assert _to_do((small, note)) == ["No warning costs as much as 5.0 % of the time."]


@pytest.mark.parametrize(
    ("general", "cause", "severity", "is_first"),
    [
        ("round_trip_bound", "open_owner_serialised", "problem", True),
        ("round_trip_bound", "directory_serialised", "problem", True),
        ("round_trip_bound", "moves_serialised", "problem", True),
        ("round_trip_bound", "open_owner_serialised", "warning", False),
        ("round_trip_bound", "getattr_storm", "problem", False),
        # Its advice is another one.
        ("persistence_bound", "open_owner_serialised", "problem", False),
    ],
)
def test_what_lets_nobody_do_more_at_once_comes_before_the_advice_to_do_so(
    general: str, cause: str, severity: Severity, is_first: bool
) -> None:
    sample = samples.findings().findings[0]
    more = replace(
        sample, id=general, general=True, cost_s=20.0, saving_s=40.0,
        advice=(Advice("Do more at once."),),
    )  # fmt: skip
    order = replace(
        sample, id=cause, severity=severity, cost_s=10.0, saving_s=10.0,
        advice=(Advice("Mount with vers=4.1."),),
    )  # fmt: skip
    first, *_ = _to_do((more, order))
    assert first == f"To do first: {'Mount with vers=4.1.' if is_first else 'Do more at once.'}"


@pytest.mark.parametrize(
    ("severity", "cost_s", "alone_s", "is_told"),
    [
        ("warning", 24.0, 12.0, True),
        ("warning", 23.9, 12.0, False),
        # As good as it can be expected to be.
        ("note", 24.0, 12.0, False),
        # Of the first, too, what others have claimed would be saved.
        ("warning", 24.0, 20.0, False),
        # Twice as much as hardly anything.
        ("warning", 5.9, 2.9, False),
        ("warning", 6.0, 3.0, True),
    ],
)
def test_what_costs_several_times_as_much_is_told_beside_it(
    severity: Severity, cost_s: float, alone_s: float, is_told: bool
) -> None:
    gravest = samples.findings().findings[0]
    first = replace(gravest, cost_s=1.0, cost_share=1 / 60, saving_s=alone_s)
    dear = replace(
        gravest,
        severity=severity,
        title="ACLs are asked for one by one",
        cost_s=cost_s,
        cost_share=cost_s / 60,
        saving_s=cost_s,
        advice=(Advice("Mount with noacl.", "ACLs are not shown."),),
    )
    told = _to_do((first, dear))
    assert told[0].startswith("To do first: Mount without noac.")
    assert told[1:] == (
        [
            f"Costs more ({units.duration(cost_s)}, {units.share(cost_s / 60)}): ACLs are asked "
            "for one by one. Mount with noacl. Risk: ACLs are not shown."
        ]
        if is_told
        else []
    )


@pytest.mark.parametrize(
    ("severity", "cost_s", "is_first"),
    [("problem", None, True), ("warning", None, False), ("problem", 0.1, False)],
)
def test_what_makes_programs_fail_is_to_do_first(
    severity: Severity, cost_s: float | None, is_first: bool
) -> None:
    gravest = samples.findings().findings[0]
    full = replace(
        gravest,
        severity=severity,
        cost_s=cost_s,
        cost_share=cost_s,
        saving_s=cost_s,
        advice=(Advice("Make room on the server."),),
    )
    told = _to_do((gravest, full))
    assert (told[0] == "To do first: Make room on the server.") is is_first
    # What takes the time is told all the same.
    assert "Mount without noac." in " ".join(told)


@pytest.mark.parametrize(
    ("own_s", "severity", "is_first"),
    [
        (6.0, "warning", True),
        (10.0, "warning", False),
        (6.0, "note", False),
        # Nobody else claims any of it.
        (24.0, "warning", False),
        # What is as grave need cost half as much.
        (17.0, "problem", True),
        (18.0, "problem", False),
    ],
)
def test_what_the_gravest_only_sums_up_is_not_to_do_first(
    own_s: float, severity: Severity, is_first: bool
) -> None:
    """Round trips, of which another finding says what makes them."""
    gravest = samples.findings().findings[0]
    sum_of_all = replace(gravest, general=True, cost_s=own_s, cost_share=own_s / 60, saving_s=24.0)
    named = replace(
        gravest,
        severity=severity,
        cost_s=9.0,
        cost_share=9 / 60,
        saving_s=9.0,
        advice=(Advice("Mount without lookupcache=none."),),
    )
    (first,) = _to_do((sum_of_all, named))
    expected = "Mount without lookupcache=none." if is_first else "Mount without noac."
    assert first.startswith(f"To do first: {expected}")
    # One that says itself what is wrong stays the first.
    (first,) = _to_do((replace(sum_of_all, general=False), named))
    assert first.startswith("To do first: Mount without noac.")


@pytest.mark.parametrize(
    ("about", "is_first"),
    [
        (("10.0.0.3", "10.0.0.1"), True),
        (("10.0.0.9", "10.0.0.1"), False),
        # About a server: it may be what that client waits for.
        (("10.0.0.1",), True),
        ((), True),
    ],
)
def test_what_another_client_waits_for_is_not_what_the_gravest_sums_up(
    about: tuple[str, ...], is_first: bool
) -> None:
    gravest = samples.findings().findings[0]
    sum_of_all = replace(gravest, general=True, cost_s=6.0, cost_share=0.1, saving_s=24.0)
    named = replace(
        gravest, about=about, alike=(), cost_s=9.0, cost_share=0.15, advice=(Advice("Ask less."),)
    )
    (first,) = _to_do((sum_of_all, named))
    assert first.startswith("To do first: Ask less.") is is_first


@pytest.mark.parametrize(
    ("rule", "severity", "client_share", "is_first"),
    [
        ("no_connection", "problem", 0.67, True),
        ("unanswered_calls", "problem", 0.3, True),
        ("no_connection", "warning", 0.05, False),
        # The only client: there is nobody else that it could be held against.
        ("no_connection", "problem", None, False),
        ("stalled_calls", "problem", 0.3, False),
    ],
)
def test_a_client_that_nobody_answers_comes_before_what_slows_others_down(
    rule: str, severity: Severity, client_share: float | None, is_first: bool
) -> None:
    gravest = samples.findings().findings[0]
    cut_off = replace(
        gravest,
        id=rule,
        severity=severity,
        about=("10.0.0.9", "10.0.0.1"),
        alike=(),
        cost_s=1.0,
        cost_share=0.01,
        client_share=client_share,
        advice=(Advice("Is the server up?"),),
    )
    first = _to_do((gravest, cut_off))[0]
    assert (first == "To do first: Is the server up?") is is_first


def test_what_it_is_of_one_clients_time_is_told_behind_the_cost() -> None:
    several, one = samples.findings().findings[:2]
    assert "active" not in findings.costs(one)
    assert findings.costs(replace(one, client_share=0.463)) == (
        "1.25 s, 2.1 % of the time; 46.3 % of its client's active time"
    )
    assert findings.costs(replace(one, client_share=0.463, about=())) == (
        "1.25 s, 2.1 % of the time; 46.3 % of the active time of its clients"
    )
    assert findings.costs(replace(several, client_share=0.5)).endswith(
        "; up to 50.0 % of a client's active time"
    )
    claimed = replace(one, cost_s=0.0, cost_share=0.0, client_share=0.463)
    assert findings.costs(claimed) == (
        "1.25 s, all of it counted in other findings already; 46.3 % of its client's active time"
    )


def test_data_at_risk_come_first_and_what_costs_most_of_the_time_second() -> None:
    gravest = samples.findings().findings[0]
    risk = replace(gravest, cost_s=None, cost_share=None, saving_s=None)
    assert [line[:11] for line in _to_do((risk, gravest))] == [
        "To do first",
        "Costs more ",
    ]


def test_a_risk_behind_a_command_does_not_run_into_it() -> None:
    """Who copies the command must see where it ends, and finds no full stop in it."""
    cause = "what is cut off is lost."
    told = [
        findings.with_risk(Advice(action, cause), str)
        for action in ("Mount it.", "tcpdump -s 64 'x'")
    ]
    assert told == [f"Mount it. Risk: {cause}", "tcpdump -s 64 'x' (risk: what is cut off is lost)"]
    assert findings.with_risk(Advice("ls"), str) == "ls"


def test_the_clocks_of_several_clients_are_called_that() -> None:
    """Else 17.7 s of a capture of 8.87 s look like a mistake."""
    result = samples.findings()
    told = findings.in_a_sentence(result.findings, replace(result.judged, clients=2))
    assert " that the clocks of 2 clients add up to (" in told
    assert "clients" not in findings.in_a_sentence(result.findings, result.judged)


@pytest.mark.parametrize(
    ("idle_s", "told"),
    [
        (0.0, "4.00 s, 40.0 % of the time"),
        (0.39, "4.00 s, 40.0 % of the time"),
        (0.4, "4.00 s, 40.0 % of the time, 400 ms of it while no call was under way"),
        (4.0, "4.00 s, 40.0 % of the time, all of it while no call was under way"),
    ],
)
def test_what_no_service_time_shows_is_told_of_a_cost(idle_s: float, told: str) -> None:
    first = samples.findings().findings[0]
    found = replace(first, cost_s=4.0, cost_share=0.4, saving_s=4.0, cost_idle_s=idle_s)
    assert findings.costs(found) == told


@pytest.mark.parametrize(
    ("changes", "clients", "run_s", "told"),
    [
        ({}, 1, 50.0, "26.0 s instead of 50.0 s"),
        # It speaks of time in general, as forecasts do.
        ({"general": True}, 1, 50.0, None),
        ({"saving_s": None, "cost_s": None}, 1, 50.0, None),
        # It took time before the run.
        ({}, 1, 23.9, None),
        # Whose run that is nobody knows.
        ({}, 2, 50.0, None),
        ({}, 1, None, None),
    ],
)
def test_what_is_to_do_first_is_forecast_beside_other_changes(
    changes: dict[str, Any], clients: int, run_s: float | None, told: str | None
) -> None:
    first = replace(samples.findings().findings[0], id="noac", saving_s=24.0)
    found = (replace(first, **changes),)
    judged = Judged(30, 60.0, 0.0, clients, to_do=to_do(found, 60.0))
    left_s = without_s(found, judged.to_do, clients, run_s)
    assert findings.forecast_without(found, judged, run_s, left_s) == (
        [] if told is None else [f'Forecast without "{first.title}": {told}.']
    )
    assert without_s((), ToDo(), clients, run_s) is None
    assert findings.forecast_without((), replace(judged, to_do=ToDo()), run_s, None) == []
