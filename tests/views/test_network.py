"""Screens of `network` at 80 and 140 columns, compared with what people approved.

After a wanted change: `PCAPNFS_UPDATE_SCREENS=1 pytest tests/views`, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import RenderableType

from pcapnfs.analyses.times.concurrency import Concurrency
from pcapnfs.record import replace
from pcapnfs.views import network
from tests.views import samples

SCREENS = Path(__file__).parent / "screens"


def renderables() -> dict[str, RenderableType]:
    return {
        "network": network.screen(samples.network()),
        "network-poor": network.screen(samples.poor_network()),
    }


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", ["network", "network-poor"])
def test_a_screen_looks_as_approved(name: str, width: int) -> None:
    text = samples.render(renderables()[name], width)
    approved = SCREENS / f"{name}-{width}.txt"
    if os.environ.get("PCAPNFS_UPDATE_SCREENS"):
        approved.write_text(text, encoding="utf-8")
    assert text == approved.read_text(encoding="utf-8")
    assert max(cell_len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
def test_numbers_are_whole_at_any_width(width: int) -> None:
    text = samples.render(renderables()["network"], width)
    assert "262 µs" in text
    assert "128 KiB" in text


def test_an_upper_bound_is_named_as_such() -> None:
    bounded = replace(samples.network(), rtt_source="gaps")
    assert "the network's round trip takes at most 280 µs." in network.lines(bounded)[0]
    assert "≤ 2.00 ms" in samples.render(renderables()["network"], 200)


def test_replies_that_came_late_by_the_servers_clock_are_evidence() -> None:
    path = replace(samples.slower_path(), side="server", late_replies=120, back_s=0.03)
    text = samples.render(network.screen(replace(samples.network(), slower_paths=(path,))), 300)
    assert (
        "120 small replies that came 30.0 ms later than others after the server "
        "had sent them, by its clock; certain." in text
    )
    assert "to the end of the capture" not in text
    stayed = replace(samples.network(), slower_paths=(replace(path, stays=True),))
    (told, *_) = network.slower(stayed)
    assert " UTC, and to the end of the capture, a round trip to the server took " in told


def test_a_narrow_link_is_said_to_be_one() -> None:
    path = replace(
        samples.slower_path(), side="server", late_calls=120, full_bytes_per_s=6e5, full_of="calls"
    )
    result = replace(samples.network(), slower_paths=(path, replace(path, alone=120)))
    full, narrow = network.slower(result)
    assert ": the link to the server was full" in full
    assert ": the link to the server is narrow" in narrow


def test_a_narrow_link_to_the_client_is_told_by_replies() -> None:
    path = replace(
        samples.slower_path(), side="client", alone=48, full_bytes_per_s=6e5, full_of="replies"
    )
    result = replace(samples.network(), slower_paths=(path,))
    (told,) = network.slower(result)
    assert " UTC 48 replies had not reached the client after " in told
    assert ": the link to the client is narrow" in told
    text = samples.render(network.screen(result), 300)
    assert "48 replies that the client had not received when it acknowledged less" in text


def test_a_summary_says_what_was_lost_and_nothing_where_nothing_was() -> None:
    result = samples.network()
    assert any("13 segments sent again" in line for line in network.lines(result))
    quiet = replace(result, loss=samples.poor_network().loss, resent_calls=0)
    assert not any("again" in line for line in network.lines(quiet))
    both = replace(result.paths[0], loss=quiet.loss, resent_calls=0)
    unlost = replace(both, transports=("TCP",))
    text = samples.render(network.screen(replace(quiet, paths=(unlost,))), 140)
    assert "None: 0 segments, nothing sent again, missing or held up." in text
    sent = replace(quiet.loss, segments=894)
    datagrams = replace(quiet, loss=sent, paths=(replace(unlost, transports=("UDP",), loss=sent),))
    text = samples.render(network.screen(datagrams), 140)
    assert "None seen: 894 datagrams, no call sent again." in text
    mixed = replace(quiet, loss=sent, paths=(both,))
    text = samples.render(network.screen(mixed), 140)
    assert "None seen: 894 segments and datagrams, nothing sent again, missing or held up." in text


def test_what_bounds_a_round_trip_is_called_what_it_is() -> None:
    """The next messages that acknowledge the last, or gaps where there are none of these."""
    half = replace(samples.network().paths[1].round_trip.client_side, turns=72, turn_s=1e-3)
    assert network.trip_source(half) == "63 gaps"
    assert network.trip_source(replace(half, rtt_s=1e-3)) == "72 ACKs with data"


def test_a_slow_handshake_is_named_with_the_answers_that_show_it() -> None:
    half = samples.network().paths[1].round_trip.client_side
    half = replace(half, source="handshake", handshakes=1, handshake_s=6e-3, rtt_s=6e-3)
    assert network.trip_source(half) == "1 handshake"
    assert network.trip_source(replace(half, rtt_s=5e-3)) == "1 handshake, quicker answers"


def test_of_several_clients_it_is_said_whose_evidence_it_is() -> None:
    one = samples.network()
    alone = replace(one, paths=one.paths[:1])
    for result, whose in ((one, " (10.0.0.2, 10.0.0.1)"), (alone, "")):
        text = samples.render(network.screen(result), 200)
        assert f"To the client{whose}: 3 handshakes" in text
        assert f"UTC, to the client{whose}: 12 ACKs without data" in text


def test_what_rdma_sent_again_are_packets_without_a_share() -> None:
    result = samples.network()
    lost = replace(samples.poor_network().loss, client_resent=230, server_resent=8, rdma_resent=238)
    assert network.lost(lost, 0) == "238 RDMA packets sent again."
    both = replace(lost, client_resent=231, resent_share=0.01)
    assert network.lost(both, 0) == "1 segment sent again (1.0 %), 238 RDMA packets sent again."
    assert "238 RDMA packets sent again." in network.lines(
        replace(result, loss=lost, resent_calls=0)
    )


@pytest.mark.parametrize(
    ("transports", "nowhere", "nothing"),
    [
        (("TCP",), "TCP does not tell", "TCP tells neither"),
        (("RDMA",), "The adapters' acknowledgements do not", "The adapters' acknowledgements tell"),
        (("RDMA", "TLS"), "Neither TCP nor RDMA tells", "Neither TCP nor RDMA tells"),
        (("UDP",), "UDP does not tell", "UDP tells neither"),
        (("TCP", "UDP"), "TCP does not tell", "TCP tells neither"),
    ],
)
def test_it_is_said_what_could_have_told_the_place(
    transports: tuple[str, ...], nowhere: str, nothing: str
) -> None:
    result = samples.poor_network()
    result = replace(result, paths=(replace(result.paths[0], transports=transports),))
    assert network.lines(result)[0].startswith(nothing)
    timed = replace(result, tcp_rtt_s=280e-6)
    assert network.lines(timed)[0].startswith(f"{nowhere}")
    assert network.lines(timed)[0].endswith("the network's round trip takes 280 µs.")


def test_sizes_are_the_largest_of_all_clients() -> None:
    """The busiest client need not be the one with the largest READs and WRITEs."""
    one = samples.network()
    path = one.paths[0]
    first = replace(path, rsize_bytes=4096, wsize_bytes=51)
    second = replace(path, rsize_bytes=None, wsize_bytes=1894)
    line = network.lines(replace(one, paths=(first, second)))[1]
    assert "READs of 4.00 KiB and WRITEs of 1.85 KiB at most" in line


def test_calls_without_reply_are_not_among_those_under_way() -> None:
    found = samples.network()
    assert "Calls: 1.25 under way" in network.lines(found)[2]
    assert "Answered calls: 1.25 under way" in network.lines(found, unanswered=1)[2]


def test_no_time_without_a_call_is_no_fact() -> None:
    found = samples.network()
    busy = replace(found, concurrency=replace(found.concurrency, busy_s=61.0))
    none = "none for 46.0 s of the 1 m 1 s from the first call to the last reply."
    assert none in " ".join(samples.render(network.screen(found), 80).split())
    assert "none for" not in samples.render(network.screen(busy), 80)


def test_time_without_a_call_is_left_to_the_budget_beside_one() -> None:
    assert network.lines(samples.network())[2].endswith("7 at most.")


def test_without_calls_there_is_nothing_to_tell() -> None:
    nothing = replace(samples.poor_network(), paths=())
    assert network.lines(nothing) == ()
    assert samples.render(network.screen(nothing), 80).strip() == "No client called."
    instant = replace(samples.poor_network(), concurrency=Concurrency(None, 1, 0.0, 0.0))
    assert "none took any time" in samples.render(network.screen(instant), 80)


def test_nothing_hostile_reaches_the_terminal() -> None:
    hostile = samples.HOSTILE
    result = samples.network()
    path = replace(
        result.paths[0],
        round_trip=replace(result.paths[0].round_trip, client=hostile, server=hostile),
        flavors={hostile: 1},
    )
    session = replace(result.shown_sessions[0], clients=(hostile,), servers=(hostile,))
    hidden = replace(result, paths=(path,), shown_sessions=(session,))
    for text in (
        samples.render(network.screen(hidden), 400),
        "\n".join(network.lines(hidden)),
    ):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\x1b[31m[bold]<script>\\u202e" in text


def test_a_session_with_one_slot_has_one() -> None:
    quiet = replace(samples.network(), shown_sessions=samples.network().shown_sessions[1:])
    assert network.lines(quiet)[-1] == "The busiest session used 1 slot over 1 connection."


def test_sessions_that_begin_alike_are_told_apart() -> None:
    result = samples.network()
    first, second = (
        replace(session, session=f"e222016b{place}" + "0" * 23)
        for session, place in zip(result.shown_sessions, "48", strict=True)
    )
    text = samples.render(network.screen(replace(result, shown_sessions=(first, second))), 80)
    assert "…4000" in text
    assert "…8000" in text
    alone = samples.render(network.screen(replace(result, shown_sessions=(first,))), 80)
    assert "e222016" in alone


@pytest.mark.parametrize(("used", "told"), [(64, False), (65, True)])
def test_more_slots_than_were_offered_are_explained(used: int, told: bool) -> None:
    """Newer Linux servers let a session grow, far beyond the calls that are under way."""
    found = samples.network()
    session = replace(found.shown_sessions[0], slots_offered=64, slots_used=used)
    text = samples.render(network.screen(replace(found, shown_sessions=(session,))), 80)
    assert ("Slots offered are those that a session began with" in text) is told
