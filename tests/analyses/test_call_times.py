"""The round trip that small calls show, in milliseconds, beside what TCP tells of the network."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.analyses.times.call_times import (
    Bounding,
    bounded,
    data_median_s,
    nearly_all,
    round_trip,
    shows_storage,
    small_resent,
    stable_median_s,
)
from pcapnfs.analyses.wire.network_path import NOTHING, Way
from pcapnfs.record import replace


def says(
    times: list[float], rtt: float | None = 0.25, source: str = "acks"
) -> tuple[float | None, str]:
    """Milliseconds, and what they rest on."""
    way = Way(rtt_s=None if rtt is None else rtt / 1e3, source=source, floor_s=None)
    found, of = round_trip(np.array(times) / 1e3, way)
    return found and round(found * 1e3, 3), of


def test_the_mean_of_thirty_calls_is_the_round_trip() -> None:
    assert says([0.3, 0.5] * 15) == (0.4, "calls")
    assert says([0.3, 0.5] * 14) == (0.3, "acks")


def test_a_mean_that_a_few_calls_make_is_none() -> None:
    """Of two mounts: both begin with an FSINFO that waits for mountd to look the export up."""
    mounts = [0.3] * 32 + [50.0, 50.0]
    assert np.mean(mounts) == pytest.approx(3.2, abs=0.1)
    assert says(mounts) == (0.3, "acks")
    assert says(mounts, source="handshake") == (0.3, "handshake")


def test_where_tcp_tells_a_bound_that_is_shorter_it_is_the_median_of_the_calls() -> None:
    slow_first = [0.4] * 148 + [250.0, 1000.0]
    assert says(slow_first, 0.3, "gaps") == (0.4, "gaps")
    assert says(slow_first, 9.0, "gaps") == (8.728, "calls")
    assert says([0.4] * 90 + [50.0] * 10, 0.3, "gaps") == (5.36, "calls")


def test_calls_that_are_often_slow_make_one() -> None:
    """One of ten waits: that is what a call takes there."""
    assert says([0.3] * 90 + [50.0] * 10) == (5.27, "calls")


@pytest.mark.parametrize(("rtt", "source"), [(None, "none"), (9.0, "gaps")])
def test_where_tcp_tells_no_network_it_is_all_there_is(rtt: float | None, source: str) -> None:
    assert says([0.3] * 32 + [50.0, 50.0], rtt, source)[1] == "calls"


@pytest.mark.parametrize(
    ("some", "calls", "told"), [(19, 20, True), (18, 20, False), (94, 99, False), (0, 0, False)]
)
def test_the_quickest_are_such_where_nearly_all_are(some: int, calls: int, told: bool) -> None:
    """A bound by the 5th percentile is one of these then; of no calls there is none."""
    assert nearly_all(some, calls) is told


BY_ANSWERS = Way(rtt_s=0.005, floor_s=0.005, source="gaps", by_answers=True)


def of_ten(**some: float) -> Bounding:
    """Ten calls, outstanding for a second without transfer."""
    none = Bounding(calls=10, known=10, stable=0, from_disk=0, unmoved_s=1.0)
    return replace(none, **some)  # type: ignore[arg-type]  # counts are whole


@pytest.mark.parametrize(
    ("way", "calls", "rtt_s", "undivided"),
    [
        (BY_ANSWERS, of_ten(), 0.005, False),
        (BY_ANSWERS, of_ten(stable=2, from_disk=8), 0.005, True),
        # What moved meanwhile is in no round trip.
        (BY_ANSWERS, of_ten(unmoved_s=0.02), 0.002, False),
        # What no answers tell is the network's, whatever the calls are.
        (replace(BY_ANSWERS, by_answers=False), of_ten(stable=10), 0.005, False),
    ],
)
def test_a_bound_is_held_against_the_calls(
    way: Way, calls: Bounding, rtt_s: float, undivided: bool
) -> None:
    found = bounded(np.zeros(0), way, None, calls)
    assert found[0] == pytest.approx(rtt_s)
    assert found[1:] == ("gaps", replace(way, rtt_s=found[0], undivided=undivided))


def test_what_nearly_all_stable_calls_took_at_least_is_no_round_trip() -> None:
    assert bounded(np.zeros(0), BY_ANSWERS, None, of_ten(stable=10)) == (None, "none", NOTHING)


def test_a_bound_beside_calls_that_show_it_stays() -> None:
    small = np.array([0.004])
    assert bounded(small, BY_ANSWERS, None, of_ten(stable=10)) == (0.004, "gaps", BY_ANSWERS)


def test_what_stores_data_has_a_median_of_its_own() -> None:
    operations = ("COMMIT", "CREATE", "WRITE")
    of_each = np.array([0] * 20 + [1] * 50 + [2] * 10, np.int16)
    times = np.array([0.008] * 20 + [0.001] * 50 + [0.004] * 10)
    assert data_median_s(times, of_each, operations) == pytest.approx(0.008)
    # Fewer than thirty tell nothing, nor do names and attributes alone.
    assert data_median_s(times[1:], of_each[1:], operations) is None
    assert data_median_s(times[20:70], of_each[20:70], operations) is None


def test_what_servers_answer_from_memory_shows_no_storage() -> None:
    operations = ("SETACL", "SETATTR", "SETXATTR")
    of_each = np.array([0] * 5 + [1] * 3 + [2] * 4, np.int16)
    times = np.array([0.001] * 5 + [0.03] * 3 + [0.002] * 4)
    shows = shows_storage(of_each, operations)
    assert shows.sum() == 3
    assert stable_median_s(times, shows) == pytest.approx(0.03)
    # Where there is nothing else it is their median all the same.
    assert stable_median_s(times[:5], shows[:5]) == pytest.approx(0.001)
    assert stable_median_s(times[:0], shows[:0]) is None


@pytest.mark.parametrize("source", ["calls", "few_calls", "gaps"])
def test_a_round_trip_of_calls_most_of_which_were_sent_again_is_no_round_trip(source: str) -> None:
    assert small_resent(source, 1, 3)
    assert not small_resent(source, 2, 3)
    assert not small_resent(source, 0, 0)


@pytest.mark.parametrize("source", ["handshake", "acks"])
def test_one_that_tcp_tells_is_one_though_most_calls_were_sent_again(source: str) -> None:
    assert not small_resent(source, 1, 3)
    assert not small_resent(source, 0, 0)
    # The quickest of them is what the server takes for a call.
    assert small_resent(source, 0, 3)
