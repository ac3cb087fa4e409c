"""Screens of `estimate` at 80 and 140 columns, compared with what people approved.

After a wanted change: `PCAPNFS_UPDATE_SCREENS=1 pytest tests/views`, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.cells import cell_len

from pcapnfs import units
from pcapnfs.analyses.forecasts.left_out import LeftOut
from pcapnfs.analyses.forecasts.model import Model, model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.what_if import Scenario
from pcapnfs.analyses.mounts.first_use import MountIdle
from pcapnfs.record import replace
from pcapnfs.views import estimate, forecasts
from tests.views import samples

SCREENS = Path(__file__).parent / "screens"


def results() -> dict[str, Model]:
    return {
        "estimate": samples.model(),
        "estimate-clients": replace(
            samples.model(),
            client_number=2,
            clients=samples.client_forecasts("10.0.0.2", "2001:db8:85a3:8d3:1319:8a2e:370:7348"),
        ),
        "estimate-poor": samples.poor_model(),
        "estimate-given": model(
            None,
            Overrides(
                files=290_000,
                rpcs_per_file=12,
                rtt_s=0.2e-3,
                syncops_per_file=4,
                persist_s=2.555e-3,
            ),
        ),
    }


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", results())
def test_a_screen_looks_as_approved(name: str, width: int) -> None:
    text = samples.render(estimate.screen(results()[name]), width)
    approved = SCREENS / f"{name}-{width}.txt"
    if os.environ.get("PCAPNFS_UPDATE_SCREENS"):
        approved.write_text(text, encoding="utf-8")
    assert text == approved.read_text(encoding="utf-8")
    assert max(cell_len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", [40, 60, 80, 140, 200])
def test_numbers_are_whole_at_any_width(width: int) -> None:
    text = samples.render(estimate.screen(samples.model()), width)
    for number in ("15.4 s", "2.50 ms", "7.72 s"):
        assert number in text


@pytest.mark.parametrize(
    ("low_s", "told"),
    [(0.0, []), (0.11, []), (0.12, ["Forecast: 8 parallel streams 120 ms to 12.0 s."])],
)
def test_what_may_be_anything_is_no_forecast(low_s: float, told: list[str]) -> None:
    whole = samples.model()
    streams = next(each for each in whole.what_if if each.change == "streams")
    vague = replace(streams, low_s=low_s, high_s=12.0)
    lines = estimate.lines(replace(whole, what_if=(vague,)))
    assert [line for line in lines if line.startswith("Forecast")] == told


def test_that_calls_are_too_few_for_a_verdict_is_told() -> None:
    few = replace(samples.model(), verdict=None, calls=1, rtt_source="few_calls")
    assert estimate.too_few(few).startswith("No verdict on what the time went into: nothing but")
    assert estimate.too_few(replace(few, calls=5)) == ""
    assert estimate.too_few(replace(few, rtt_source="handshake")) == ""
    assert estimate.too_few(samples.model()) == ""


@pytest.mark.parametrize(("pauses_s", "is_told"), [(1.5, False), (1.6, True)])
def test_that_pauses_are_in_each_forecast_is_told(pauses_s: float, is_told: bool) -> None:
    """A tenth of the 15.4 s of the run or more."""
    lines = estimate.lines(replace(samples.model(), pauses_s=pauses_s))
    (line,) = [line for line in lines if line.startswith("Forecast:")]
    assert (", each with 1.60 s of pauses of a second or more; 8 parallel" in line) is is_told


def test_that_long_pauses_are_in_no_figure_is_told() -> None:
    whole = samples.model()
    paused = replace(whole, away_s=3400.0)
    told = "56 m 40 s in pauses of 30 s or more"
    assert estimate.lines(paused)[0].endswith(f"measured 15.4 s, without {told}.")
    assert f"No figure holds the {told}: perhaps nothing was run then." in estimate.remarks(paused)
    assert not any("pauses of 30 s" in line for line in estimate.remarks(whole))


def test_what_lies_between_mount_and_first_use_is_in_no_figure() -> None:
    whole = samples.model()
    late = replace(whole, mount_idle=MountIdle(2.0, 0.5))
    told = "2.00 s between mount and first use and 500 ms between last use and unmount"
    assert estimate.lines(late)[0].endswith(f"measured 15.4 s, without {told}.")
    assert f"No figure holds the {told}." in estimate.remarks(late)
    little = replace(late, mount_idle=MountIdle(0.15))
    for told_of in (whole, little):
        lines = (*estimate.lines(told_of), *estimate.remarks(told_of))
        assert not any("first use" in line for line in lines)
    both = estimate.lines(replace(late, away_s=60.0))[0]
    assert both.endswith(
        "without 2.00 s between mount and first use, 500 ms between last use and unmount and "
        "1 m 0 s in pauses of 30 s or more."
    )


def test_streams_are_said_to_be_alike_where_any_are_foretold() -> None:
    whole = samples.model()
    assert any(each.change == "streams" for each in whole.what_if)
    assert len(forecasts.about_streams(whole)) == 1
    others = tuple(each for each in whole.what_if if each.change != "streams")
    assert forecasts.about_streams(replace(whole, what_if=others)) == []
    given = model(
        None,
        Overrides(files=10, rpcs_per_file=2, rtt_s=1, syncops_per_file=1, persist_s=1, streams=8),
    )
    assert len(forecasts.about_streams(given)) == 1


def test_a_change_that_is_too_wide_goes_on_below() -> None:
    """Cut, it did not say what it was without."""
    slow = replace(
        samples.model(),
        what_if=tuple(
            replace(each, forecast_s=1234.0, low_s=1200.0, high_s=1300.0, factor=1.05)
            for each in samples.model().what_if
        ),
    )
    words = samples.render(forecasts.what_if(slow.what_if), 72).split()
    assert "…" not in words
    assert {"no", "network", "persistence"} <= set(words)


def test_a_range_that_nothing_tells_is_said_to_be_none() -> None:
    whole = samples.model()
    assert not any("Too few files" in line for line in forecasts.about_what_if(whole))
    what_if = tuple(replace(each, low_s=None, high_s=None) for each in whole.what_if)
    few = replace(whole, forecast_low_s=None, forecast_high_s=None, what_if=what_if)
    assert any("Too few files" in line for line in forecasts.about_what_if(few))
    # Few stable calls are not few files.
    unstored = replace(few, missing=("stable_calls",))
    assert not any("Too few files" in line for line in forecasts.about_what_if(unstored))
    assert any(
        "No forecast for other storage" in line for line in forecasts.about_what_if(unstored)
    )
    assert {forecasts.interval(each) for each in what_if} == {"-"}
    assert "Too few files" in samples.render(estimate.screen(few), 140)
    given = replace(few, measured_s=None)
    assert not any("Too few files" in line for line in forecasts.about_what_if(given))


def test_an_interval_with_given_inputs_is_not_that_of_resamples_alone() -> None:
    """It reaches to where streams bring nothing, or the storage absorbs a longer round trip."""
    found = samples.model()
    assert estimate.interval(found).endswith("for 90 % of resamples")
    inputs = tuple(
        replace(each, source="given") if each.name == "concurrency" else each
        for each in found.inputs
    )
    overlap = (LeftOut("overlap", -45.0),)
    given = replace(found, inputs=inputs, predicted_s=60.0, concurrency=4.0, left_out=overlap)
    assert estimate.interval(given) == "15.1 s to 15.7 s with what is not known"
    text = " ".join(samples.render(estimate.screen(given), 80).split())
    assert "it leaves out that 4 calls are under way at a time" in text


def test_a_round_trip_that_is_a_bound_is_told_as_one_in_80_columns() -> None:
    found = samples.model()
    inputs = tuple(
        replace(each, source="gaps") if each.name == "rtt_s" else each for each in found.inputs
    )
    text = samples.render(estimate.screen(replace(found, rtt_source="gaps", inputs=inputs)), 80)
    (line,) = (each for each in text.splitlines() if each.lstrip().startswith("round trip "))
    assert "at most" in line


def test_where_the_network_is_not_told_from_the_storage_it_is_said_that_it_is_not_foretold() -> (
    None
):
    found = samples.model()
    rest = tuple(each for each in found.what_if if each.change not in ("rtt", "local"))
    untold = replace(found, rtt_source="gaps", network_rtt_s=None, what_if=rest)
    assert any("give it with --rtt" in line for line in forecasts.about_what_if(untold))
    # A bound of the network alone is one of which half can be foretold.
    for told in (found, replace(untold, network_rtt_s=0.001)):
        assert not any("--rtt" in line for line in forecasts.about_what_if(told))


def test_where_there_is_too_little_no_number_is_told() -> None:
    text = " ".join(samples.render(estimate.screen(samples.poor_model()), 140).split())
    assert text.count("not enough data") >= 4
    assert "What if" not in text
    assert "give --rtt" in text
    assert "give --persist (0 leaves these few as measured, and forecasts the rest)" in text


@pytest.mark.parametrize(("pauses_s", "told"), [(0.09, False), (0.1, True)])
def test_pauses_in_each_forecast_are_told(pauses_s: float, told: bool) -> None:
    found = replace(samples.model(), client_s=1.0, pauses_s=pauses_s)
    text = " ".join(forecasts.about_what_if(found))
    said = "1.00 s in each forecast (100 ms of it pauses of a second or more), is half"
    assert (said in text) is told
    assert ("Without these pauses the run took 15.3 s." in text) is told


def test_a_client_without_time_of_its_own_has_no_pauses_to_tell() -> None:
    busy = replace(samples.model(), client_s=0.0, pauses_s=0.0)
    assert "pauses" not in " ".join(forecasts.about_what_if(busy))


def test_options_are_told_where_there_are_any() -> None:
    poor = replace(samples.poor_model(), missing=("files", "rtt"))
    assert estimate.lines(poor) == ["Not enough data: no answered call of NFS tells of files."]
    assert estimate.reasons(poor)[1] == (
        "Not enough data: nothing tells the round trip; pcapnfs estimate takes --rtt."
    )


def test_a_name_from_the_capture_cannot_reach_the_terminal() -> None:
    kinds = tuple(replace(each, op=samples.HOSTILE) for each in samples.model().persist_by_op)
    text = samples.render(estimate.screen(replace(samples.model(), persist_by_op=kinds)), 140)
    assert "\x1b" not in text
    assert "\\x1b" in text


def test_the_summary_says_what_the_formula_comes_to() -> None:
    told = " ".join(estimate.lines(samples.model()))
    assert "10 RPCs × 500 µs + 4 stable × 2.50 ms) = 15.0 s; with overlap and " in told
    assert "the client's own time 15.4 s; measured 15.4 s." in told
    assert "async export (risks data) 7.40 s" in told
    assert estimate.lines(samples.poor_model())[0].startswith("Not enough data: nothing tells")


def test_a_coarse_clock_is_told_with_what_ranges_hold() -> None:
    assert estimate.remarks(replace(samples.model(), clock_tick_s=0.004))[1] == (
        "The capture's clock ticks every 4.00 ms: a round trip may be that much longer or shorter, "
        "and the ranges cover that."
    )


def test_what_may_have_been_stable_is_told_where_it_matters() -> None:
    much = replace(samples.model(), unknown_calls=1200, unsure_s=3.0)
    told = (
        "Of 1 200 calls the outcome is not known: the 3.00 s that they took beyond round trips may "
        "be persistence or not. The ranges with other storage cover both."
    )
    assert told.replace("1 200", "1\u2009200") in estimate.remarks(much)
    assert estimate.lines(much)[-1] == estimate.remarks(much)[1]
    # The ranges that it speaks of stand beside the forecasts.
    (stored,) = (each for each in much.what_if if each.change == "async")
    ranged = f"{units.duration(stored.forecast_s)} ({forecasts.interval(stored)})"
    assert any(ranged in line for line in estimate.lines(much))
    assert not any(ranged in line for line in estimate.lines(samples.model()))
    both = replace(much, unseen_replies=13)
    assert ", and of 13 more only the reply was captured: the" in estimate.remarks(both)[1]
    replies = replace(much, unknown_calls=0, unseen_replies=1)
    assert estimate.remarks(replies)[1].startswith("Of 1 call only the reply was captured: the")
    assert len(estimate.remarks(replace(much, unsure_s=0.05))) == 2
    assert len(estimate.remarks(replace(much, what_if=()))) == 2


def test_a_few_slow_calls_are_told_where_they_matter() -> None:
    slow = replace(samples.model(), small_calls=1200, usual_s=335e-6, slow_s=3.0)
    told = (
        "A few slow calls make up the round trip: half of 1\u2009200 calls took 335 µs at most. "
        "The slow ones may have waited for the storage as well: the ranges with other storage "
        "cover both."
    )
    assert estimate.remarks(slow)[1] == told
    assert estimate.lines(slow)[-1] == told
    assert told not in estimate.remarks(samples.model())
    assert told not in estimate.remarks(replace(slow, what_if=()))


def test_calls_of_other_programs_are_none_of_nfs() -> None:
    """As where only the portmapper, mounts or locks were captured."""
    inputs = tuple(
        replace(each, value=None, measured=None)
        if each.name in ("rpcs_per_file", "syncops_per_file", "persist_s")
        else replace(each, value=0.0, measured=0.0)
        for each in samples.model().inputs
    )
    none = replace(
        samples.poor_model(), files=0, calls=0, stable_calls=0, inputs=inputs, missing=("files",)
    )
    text = " ".join(samples.render(estimate.screen(none), 140).split())
    assert "no answered call of NFS tells of files" in text
    assert "files 0 no answered call of NFS tells of any" in text
    assert "RPCs per file - no call of NFS" in text
    assert "0 calls" not in text


def test_one_is_not_many() -> None:
    one = replace(samples.model(), files=1, rpcs_per_file=1.0)
    assert estimate.formula(one).startswith("1 file × (1 RPC × ")
    assert estimate.formula(replace(one, counted="directories")).startswith("1 directory × ")
    none = replace(one, syncops_per_file=0.0, persist_s=None)
    assert "(" not in estimate.formula(none)
    assert "stable" not in estimate.formula(none)
    streams = replace(samples.model().what_if[1], change="streams", value=1.0)
    assert forecasts.change(streams) == "1 parallel stream"


def several() -> Model:
    clients = samples.client_forecasts("10.0.0.2", samples.HOSTILE)
    return replace(samples.model(), client_number=3, clients=clients)


@pytest.mark.parametrize("width", [80, 140])
def test_of_several_clients_each_has_its_forecasts(width: int) -> None:
    text = samples.render(estimate.screen(several()), width)
    told = text[text.index("What if, by client") :]
    assert "\x1b" not in told
    assert "half the RTT" in told
    (row,) = [line for line in told.splitlines() if "10.0.0.2" in line]
    for forecast in ("1\u2009000", "15.4 s", "7.40 s", "7.72 s", "13.8 s", "4.20 s"):
        assert forecast in row
    assert "2 of 3 clients" in told
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_several_clients_are_said_to_be_taken_as_one() -> None:
    told = (
        "Forecasts take all 3 clients as one: where they overlap, any of them may take longer, or "
        "be done sooner"
    )
    assert f"{told}; what each would take stands below." in estimate.remarks(several())
    assert f"{told}; pcapnfs estimate tells what each would take." in estimate.lines(several())
    assert f"{told}." in estimate.remarks(replace(several(), clients=()))
    assert not any("as one" in line for line in estimate.remarks(samples.model()))
    both = (
        "Forecasts take both clients as one: where they overlap, either of them may take longer, "
        "or be done sooner."
    )
    assert both in estimate.remarks(replace(several(), client_number=2, clients=()))


def test_why_a_client_has_no_forecast_with_other_storage_is_told() -> None:
    whole = several()
    assert any("No forecast" in line for line in forecasts.more_clients(whole))
    every = replace(whole, clients=(whole.clients[0],))
    assert not any("No forecast" in line for line in forecasts.more_clients(every))
    nobody = replace(whole, clients=(whole.clients[1],))
    assert not any("No forecast" in line for line in forecasts.more_clients(nobody))


def formula_misses() -> Model:
    """A run whose client paused, with fast calls that overlapped."""
    return replace(
        samples.model(),
        predicted_s=3.0,
        other_s=-0.8,
        concurrency=2.0,
        client_s=14.0,
        pauses_s=13.5,
        forecast_s=15.1,
        left_out=(LeftOut("pauses", 13.5), LeftOut("overlap", -1.5)),
    )


def test_a_formula_that_does_not_hold_is_not_told_as_one_that_does() -> None:
    holds, misses = " ".join(estimate.lines(samples.model())), estimate.lines(formula_misses())
    assert "does not hold" not in holds
    assert "with overlap" not in misses[0]
    assert misses[1] == (
        "The plain formula does not hold here: it leaves out pauses of the client of a second or "
        "more, 13.5 s; that 2 calls were under way at a time, 1.50 s less."
    )
    assert misses[1] in estimate.remarks(formula_misses())
    text = samples.render(estimate.screen(formula_misses()), 80)
    (row,) = [line for line in text.splitlines() if "first-order formula" in line]
    assert "does not hold here" in row


def test_the_summary_says_that_calls_took_more_than_round_trips() -> None:
    waited = (LeftOut("waiting", 3.5),)
    server = replace(samples.model(), other_s=4.0, waiting_s=3.5, left_out=waited)
    assert "with overlap, the client's own time and what else calls took 15.4 s" in " ".join(
        estimate.lines(server)
    )
    assert "with overlap and the client's own time 15.4 s" in estimate.lines(samples.model())[0]


def test_that_files_are_unlike_is_told() -> None:
    unlike = replace(samples.model(), holdout_error=0.9, single_s=12.5, counted="directories")
    told = estimate.remarks(unlike)
    assert any(line.startswith("One directory took 12.5 s, longer than all") for line in told)
    assert any(line.startswith("Files differ so much") for line in told)
    told = estimate.remarks(samples.model())
    assert not any("took 12.5 s" in line or "differ so much" in line for line in told)


def test_that_stable_calls_may_not_have_waited_for_storage_is_said_of_its_forecasts() -> None:
    told = samples.model()
    assert told.verdict is not None
    uneven = replace(told, verdict=replace(told.verdict, storage="uneven"))
    doubt = "Forecasts with other storage take away what stable calls waited"
    assert any(line.startswith(doubt) for line in forecasts.about_what_if(uneven))
    assert not any(line.startswith(doubt) for line in forecasts.about_what_if(told))
    network = tuple(each for each in uneven.what_if if each.change == "rtt")
    alone = replace(uneven, what_if=network)
    assert not any(line.startswith(doubt) for line in forecasts.about_what_if(alone))


def test_what_reads_may_wait_for_disks_is_said_to_stay_where_the_server_is_named() -> None:
    """Without the network and persistence a run still has it: that is no run without storage."""
    told = samples.model()
    assert told.verdict is not None
    served = replace(told, verdict=replace(told.verdict, named=("server", "client")))
    stays = "What the server takes beyond a round trip stays in each of them"
    assert any(line.startswith(stays) for line in forecasts.about_what_if(served))
    assert not any(line.startswith(stays) for line in forecasts.about_what_if(told))
    asked = tuple(each for each in served.what_if if each.change != "local")
    assert not any(
        line.startswith(stays) for line in forecasts.about_what_if(replace(served, what_if=asked))
    )


def test_what_ranges_hold_is_told_where_there_are_any() -> None:
    told = forecasts.about_what_if(samples.model())
    assert "that the client's own time, 3.00 s in each forecast (2.00 s of it pauses" in told[0]
    locked = forecasts.about_what_if(replace(samples.model(), locked_s=4.0))[0]
    assert "and its waits for locks, 4.00 s, are half as long or twice as long" in locked
    both = replace(samples.model(), locked_s=4.0, unreached_s=7.0)
    assert (
        "its waits for locks, 4.00 s, and its time without a connection, 7.00 s, are half"
        in forecasts.about_what_if(both)[0]
    )
    none = replace(samples.model(), client_s=0.0)
    assert "that the client's own time is half as long" in forecasts.about_what_if(none)[0]
    few = replace(samples.model(), forecast_low_s=None, forecast_high_s=None)
    assert forecasts.about_what_if(few)[0].startswith("Ranges cover what differs from run to run")
    none = replace(samples.model(), measured_s=None)
    assert not any(line.startswith("Ranges cover") for line in forecasts.about_what_if(none))


def test_the_summary_tells_streams_by_their_range() -> None:
    (line,) = [line for line in estimate.lines(samples.model()) if line.startswith("Forecast:")]
    assert line.endswith("8 parallel streams 2.20 s to 12.7 s.")
    assert "async export (risks data) 7.40 s; log device of 100 µs 7.72 s, " in line


@pytest.mark.parametrize(("forecast_s", "is_told"), [(90.0, True), (150.0, True), (199.0, False)])
def test_what_was_given_is_what_other_changes_are_held_against(
    forecast_s: float, is_told: bool
) -> None:
    as_measured = Scenario("measured", None, 100.0, 90.0, 110.0, 1.0)
    as_given = Scenario("given", None, 200.0, 190.0, 210.0, 1.0)
    other = Scenario("async", 0.0, forecast_s, 80.0, 210.0, 200.0 / forecast_s)
    found = replace(samples.model(), what_if=(as_measured, as_given, other), pauses_s=0.0)
    assert (other in forecasts.shown(found)) is is_told


@pytest.mark.parametrize(
    ("change", "forecast_s", "low_s", "pauses_s", "unsure", "is_told"),
    [
        ("async", 97.0, 90.0, 0.0, False, True),
        ("async", 98.0, 90.0, 0.0, False, False),
        # The rest of the run nothing was done.
        ("async", 98.0, 90.0, 50.0, False, True),
        # Much of it may be the storage's.
        ("async", 98.0, 20.0, 0.0, True, True),
        ("async", 98.0, 89.0, 0.0, True, False),
        ("rtt", 98.0, 20.0, 0.0, True, False),
        # The most that is to be gained.
        ("local", 100.0, 90.0, 0.0, False, True),
        ("measured", 100.0, 90.0, 0.0, False, True),
    ],
)
def test_a_change_that_brings_nothing_has_no_row(
    change: str, forecast_s: float, low_s: float, pauses_s: float, unsure: bool, is_told: bool
) -> None:
    as_measured = Scenario("measured", None, 100.0, 90.0, 110.0, 1.0)
    other = Scenario(change, 0.001, forecast_s, low_s, 110.0, 100.0 / forecast_s)
    found = replace(
        samples.model(), what_if=(as_measured, other), pauses_s=pauses_s, unsure_s=60.0 * unsure
    )
    assert (other in forecasts.shown(found)) is is_told
    told = [line for line in forecasts.about_what_if(found) if line.startswith("Hardly any gain")]
    assert told == (
        [] if is_told else [f"Hardly any gain (1.02 × at most): {forecasts.change(other)}."]
    )


def test_the_forecast_that_rests_on_findings_is_pointed_to() -> None:
    whole = samples.model()
    assert estimate.WITHOUT_FIRST in samples.render(estimate.screen(whole), 200)
    given = tuple(replace(each, source="given") for each in whole.inputs)
    others = ({"inputs": given}, {"measured_s": None}, {"what_if": ()})
    for other in (replace(whole, **changes) for changes in others):
        assert estimate.WITHOUT_FIRST not in samples.render(estimate.screen(other), 200)
