"""Screens of `budget` at 80 and 140 columns, compared with what people approved.

After a wanted change: `PCAPNFS_UPDATE_SCREENS=1 pytest tests/views`, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import RenderableType

from pcapnfs.analyses.mounts.first_use import MountIdle
from pcapnfs.analyses.times.budget import ROWS
from pcapnfs.analyses.times.phases import PhaseOperation
from pcapnfs.analyses.times.time_budget import TimeBudget
from pcapnfs.record import replace
from pcapnfs.views import budget
from tests.views import samples

SCREENS = Path(__file__).parent / "screens"


def renderables() -> dict[str, RenderableType]:
    return {
        "budget": budget.screen(samples.time_budget("10.0.0.2")),
        "budget-clients": budget.screen(samples.time_budget("10.0.0.2", "fd00:6::0011")),
    }


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", ["budget", "budget-clients"])
def test_a_screen_looks_as_approved(name: str, width: int) -> None:
    text = samples.render(renderables()[name], width)
    approved = SCREENS / f"{name}-{width}.txt"
    if os.environ.get("PCAPNFS_UPDATE_SCREENS"):
        approved.write_text(text, encoding="utf-8")
    assert text == approved.read_text(encoding="utf-8")
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_every_row_of_a_budget_has_its_titles() -> None:
    assert set(budget.TITLES) == set(budget.SHORT) == set(ROWS)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_numbers_are_whole_at_any_width(width: int) -> None:
    text = samples.render(renderables()["budget"], width)
    assert "30.5 s" in text
    assert "19.9 %" in text


@pytest.mark.parametrize("width", [80, 140])
def test_phases_of_several_clients_say_whose_they_are(width: int) -> None:
    found = samples.time_budget("10.0.0.2", "10.0.0.3")
    for screen in (budget.screen(found), budget.block(found.total, found.phases)):
        text = samples.render(screen, width)
        assert text.count("10.0.0.3") >= 2


def test_what_a_row_is_goes_on_below_where_times_are_wide() -> None:
    """Cut at its end, it did not say before what."""
    whole = samples.time_budget()
    wide = replace(whole.total, wall_s=3429.0, client_s=3401.0, calls=1000)
    text = samples.render(budget.block(wide, ()), 76)
    assert "…" not in text
    assert "stable: on disk before the" in text


def test_of_none_or_some_of_the_calls_it_is_not_known_where_they_were_captured() -> None:
    for share, told in (
        (0.0, "Nothing tells where the calls were captured: "),
        (0.25, "Of 75.0 % of the calls nothing tells where they were captured: "),
    ):
        text = samples.render(budget.block(replace(samples.budget(), placed_share=share), ()), 200)
        assert told in text


def test_where_room_is_short_the_rows_stay_that_hold_most() -> None:
    empty = replace(
        samples.budget(), stable_s=0.0, unstable_write_s=0.0, transfer_s=0.0, waiting_s=0.0
    )
    first = replace(empty, unstable_s=20.0, state_s=9.0, unknown_s=4.0, read_s=0.004, client_s=29.0)
    second = replace(empty, unstable_s=0.0, read_s=0.01, client_s=60.0)
    phases = [
        replace(samples.phase("A", 0.0), files=0, budget=first),
        replace(samples.phase("B", 1.0), files=0, budget=second),
    ]
    text = samples.render(budget.block(samples.budget(), phases), 76)
    title = next(line for line in text.splitlines() if "phase" in line)
    assert title.split()[-4:] == ["unstable", "state", "unknown", "client"]
    assert "files" not in title
    assert "begins at" in title
    assert "reads" in samples.render(budget.block(samples.budget(), phases), 140)


@pytest.mark.parametrize("width", [80, 140])
def test_a_summary_of_several_clients_has_a_row_for_each(width: int) -> None:
    """The verdict speaks of clients: their rows are what it can be held against."""
    found = samples.time_budget("10.0.0.2", "10.0.0.3")
    both = replace(found.total, clients=2)
    text = samples.render(budget.block(both, (), found.clients), width)
    assert [line.split()[0] for line in text.splitlines() if "10.0.0." in line] == [
        "10.0.0.2",
        "10.0.0.3",
    ]
    assert "--top 0" not in text
    text = samples.render(budget.block(replace(found.total, clients=9), (), found.clients), width)
    assert "2 of 9 clients (pcapnfs budget --top 0 shows all)." in text
    one = replace(found.total, clients=1)
    assert "10.0.0." not in samples.render(budget.block(one, (), found.clients[:1]), width)


def test_bars_are_as_long_as_their_shares() -> None:
    def bar(share: float) -> str:
        clock = replace(samples.budget(), wall_s=100.0, stable_s=share * 100)
        text = samples.render(budget.block(clock, ()), 140)
        return next(line for line in text.splitlines() if "stable:" in line).split("%")[1].strip()

    assert bar(1) == "█" * budget.BAR_CELLS
    assert bar(0.5) == "█" * (budget.BAR_CELLS // 2)
    assert bar(1e-6) == "▏"
    assert bar(0.5 / budget.BAR_CELLS) == "▌"


def test_a_summary_shows_the_longest_phases_and_counts_the_rest() -> None:
    phases = [samples.phase(f"OP{number:02}", float(number)) for number in range(12)]
    phases = [
        replace(phase, budget=replace(phase.budget, wall_s=10.0 + number))
        for number, phase in enumerate(phases)
    ]
    text = samples.render(budget.block(samples.budget(), phases), 140)
    assert [f"OP{number:02}" in text for number in range(12)] == [False] * 4 + [True] * 8
    assert text.index("OP04") < text.index("OP11")
    assert "4 shorter phases not shown." in text
    assert "OP00" not in samples.render(budget.block(samples.budget(), phases[:1]), 140)


def test_calls_without_overlap_are_not_told() -> None:
    text = samples.render(budget.block(replace(samples.budget(), concurrency=1.0), ()), 140)
    assert "on average" not in text
    assert "on average" in samples.render(budget.block(samples.budget(), ()), 140)


def test_calls_that_are_not_known_to_have_ended_show_no_overlap() -> None:
    unanswered = replace(samples.budget(), unknown_s=40.0)
    assert "on average" not in samples.render(budget.block(unanswered, ()), 140)


def test_nothing_hostile_reaches_the_terminal() -> None:
    hostile = samples.time_budget(samples.HOSTILE, "10.0.0.3")
    phases = [
        replace(
            phase,
            name=samples.HOSTILE,
            operations=(replace(phase.operations[0], op=samples.HOSTILE),),
        )
        for phase in hostile.phases
    ]
    for screen in (
        budget.screen(replace(hostile, phases=tuple(phases))),
        budget.block(hostile.total, phases),
    ):
        text = samples.render(screen, 140)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[bold]" in text


def test_what_a_longer_path_took_of_the_rows_stands_below_them() -> None:
    path = replace(samples.slower_path(), time_s={"stable": 2.0, "unstable": 0.5})
    told = budget.remarks(samples.time_budget().total, [path, path])
    assert told[0] == (
        "This includes 5.00 s by which calls took longer because the path was longer for a while: "
        "4.00 s in stable, 1.00 s in unstable."
    )
    assert not any("path" in remark for remark in budget.remarks(samples.time_budget().total))
    good = replace(path, stays=True)
    (stayed, *_) = budget.remarks(samples.time_budget().total, [good])
    assert "took longer because the path became longer, and stayed so: 2.00 s in" in stayed
    (mixed, *_) = budget.remarks(samples.time_budget().total, [path, good])
    assert "because paths were longer, not all of them for a while only: 4.00 s in" in mixed
    link = replace(path, full_bytes_per_s=6e5, full_of="calls")
    thin = replace(link, alone=12)
    (full, *_) = budget.remarks(samples.time_budget().total, [link])
    assert "because a link was full for a while: 2.00 s in" in full
    (narrow, *_) = budget.remarks(samples.time_budget().total, [thin])
    assert "because a link is narrow: 2.00 s in" in narrow
    (links, *_) = budget.remarks(samples.time_budget().total, [link, thin])
    assert "because a link is narrow, or a link was full for a while: 4.00 s in" in links
    (each, *_) = budget.remarks(samples.time_budget().total, [path, thin, good])
    assert "because a link is narrow, or paths were longer, not all of them for a" in each
    (other, *_) = budget.remarks(samples.time_budget().total, [path, link])
    assert "because a link was full for a while, or the path was longer for a while: " in other
    far = replace(path, time_s={"client": 1.5})
    assert budget.remarks(samples.time_budget().total, [far])[0] == (
        "This includes 1.50 s by which calls came later because the path was longer for a while: "
        "all in client."
    )
    (both, *_) = budget.remarks(samples.time_budget().total, [path, far])
    assert "by which calls took longer or came later because" in both


def test_one_call_outstanding_on_average_is_not_worth_a_sentence() -> None:
    total = samples.time_budget().total
    for calls, is_told in ((1.0, False), (1.004, False), (1.01, True)):
        told = budget.remarks(replace(total, concurrency=calls))
        assert any("outstanding" in remark for remark in told) is is_told


def test_calls_that_no_answer_ends_are_told_beside_how_many_there_were() -> None:
    """Those under way, which `network` counts, were others."""
    total = replace(samples.time_budget().total, waiting_s=0.0, unknown_s=0.0)
    (told,) = (each for each in budget.remarks(total) if "outstanding" in each)
    assert told == "While any call was outstanding, there were 1.25 on average."
    for row in ("waiting_s", "unknown_s"):
        for share, is_told in ((0.009, False), (0.011, True)):
            waits: dict[str, Any] = {row: share * (total.wall_s - total.client_s)}
            waited = replace(total, **waits)
            (told,) = (each for each in budget.remarks(waited) if "outstanding" in each)
            assert told.startswith("While any call was outstanding, there were 1.25 on average")
            assert told.endswith("counts until that wait was over.") is is_told


def test_time_without_a_connection_is_told_where_it_is_much() -> None:
    """The verdict has it as waiting for the server, which no call shows."""
    total = samples.time_budget().total
    (told, *_) = budget.remarks(total, unreached_s=0.011 * total.wall_s)
    assert told.startswith("The client's time includes ")
    assert told.endswith(" without a connection to the server.")
    rest = budget.remarks(total, unreached_s=0.009 * total.wall_s)
    assert not any("connection" in remark for remark in rest)


def test_what_lost_segments_took_of_the_rows_stands_below_them() -> None:
    """A call that was lost before the capture point is not there until it comes again."""
    total = samples.time_budget().total
    told = budget.remarks(total, still={"client": 4.0, "stable": 1.0})
    assert told[0] == (
        "This includes 5.00 s in which calls stood still or did not come until something was sent "
        "again: 1.00 s in stable, 4.00 s in client."
    )
    (kept_back, *_) = budget.remarks(total, still={"client": 5.0})
    assert kept_back.startswith("This includes 5.00 s in which calls did not come until something")
    (alone, *_) = budget.remarks(total, still={"stable": 5.0})
    assert alone.endswith("until something was sent again: all in stable.")
    little = {"stable": 0.009 * total.wall_s}
    for still in ({}, little):
        assert not any("stood still" in remark for remark in budget.remarks(total, still=still))


@pytest.mark.parametrize("width", [80, 140])
def test_where_clocks_tell_no_times_no_row_is_told(width: int) -> None:
    rows: dict[str, Any] = dict.fromkeys((f"{row}_s" for row in ROWS), 0.0)
    rows["unknown_s"] = 61.0
    clock = replace(samples.budget(), untold=True, **rows)
    phase = samples.phase()
    operations = tuple(replace(each, time_s=None) for each in phase.operations)
    phase = replace(phase, operations=operations, budget=clock)
    told = TimeBudget(total=clock, clients=(clock,), phases=(phase,))
    text = samples.render(budget.screen(told), width)
    assert "unknown: not told by clocks" in text
    assert "3\u2009000 CREATE, 2\u2009000 LOOKUP" in text
    assert budget.remarks(clock) == [
        "The capture's clocks do not tell when calls were outstanding."
    ]


def test_calls_of_the_phase_before_are_no_calls_of_this_one() -> None:
    found = samples.time_budget("10.0.0.2")
    first = found.phases[0]
    phase = replace(first, operations=(*first.operations, PhaseOperation("READDIR", 0, 0.002)))
    text = samples.render(budget.screen(replace(found, phases=(phase,))), 140)
    assert "earlier READDIR 2.00 ms" in text
    assert "0 READDIR" not in text


@pytest.mark.parametrize(
    ("client_s", "begin"),
    [(99.0, "The client's time includes "), (4.0, "The wall clock includes ")],
)
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (0.049, 0.0, None),
        (0.05, 0.0, " before the first call."),
        (0.04, 0.02, " before the first call and "),
        (0.009, 0.05, " after the last reply."),
    ],
)
def test_what_lies_outside_of_the_run_is_told_of_the_clients_time(
    before: float, after: float, told: str | None, client_s: float, begin: str
) -> None:
    """A verdict is of what lies between; where no call can be seen, it is no client's time."""
    result = samples.time_budget("10.0.0.2")
    total = replace(result.total, clients=1, wall_s=100.0, client_s=client_s)
    run_s = 100.0 * (1 - before - after)
    phase = result.phases[0]
    one = replace(phase, start_s=100.0 * before, budget=replace(phase.budget, wall_s=run_s))
    found = [
        line
        for line in budget.remarks(total, phases=(one,))
        if line.startswith(begin) and ("first call" in line or "last reply" in line)
    ]
    assert len(found) == (told is not None)
    assert told is None or told in found[0]
    # The clocks of several begin and end at other times.
    assert not any(
        "first call" in line for line in budget.remarks(replace(total, clients=2), phases=(one,))
    )


@pytest.mark.parametrize(
    ("before_s", "after_s", "told"),
    [
        (4.9, 0.0, None),
        (5.0, 0.0, "5.00 s between mount and first use."),
        (4.0, 2.0, "4.00 s between mount and first use and 2.00 s between last use and unmount."),
    ],
)
def test_where_nobody_used_a_mount_is_told_beside_what_lies_outside(
    before_s: float, after_s: float, told: str | None
) -> None:
    result = samples.time_budget("10.0.0.2")
    total = replace(result.total, clients=1, wall_s=100.0, client_s=99.0)
    phase = result.phases[0]
    one = replace(phase, start_s=0.0, budget=replace(phase.budget, wall_s=100.0))
    idle = MountIdle(before_s, after_s)
    found = [
        line for line in budget.remarks(total, phases=(one,), mount_idle=idle) if "use" in line
    ]
    assert found == ([] if told is None else [f"The client's time includes {told}"])
    whole = replace(result, total=total, clients=(total,), phases=(one,), mount_idle=idle)
    text = " ".join(samples.render(budget.screen(whole), 80).split())
    assert ("between mount and first use" in text) is (told is not None)
