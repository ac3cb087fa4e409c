"""The note on captures that have their packets twice."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.shared_files import SharedFile, SharedFiles
from pcapnfs.analyses.captured.passed_on import PassedOn
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules import attribute_ping_pong, shared_client_name, tcp_loss
from pcapnfs.diagnosis.rules.captured_twice import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.test_shared_client_name import SHARED
from tests.diagnosis.test_tcp_loss import LOSSY


def twice(copies: int, packets: int, calls: int = 5) -> Material:
    """Material of a capture with so many copies among its packets."""
    found = nothing()
    return replace(
        found,
        capture=replace(
            found.capture,
            packets=packets,
            packet_kinds={"tcp": packets - copies, "duplicate": copies},
            servers=("10.0.0.1",),
            protocols=("4.2",),
        ),
        trust=replace(found.trust, rpc_calls=calls),
    )


def test_one_interface_is_enough() -> None:
    (seen,) = seen_by(RULE, twice(10, 200))
    assert seen.seen == "10 of 200 packets are copies of others. pcapnfs left them out."
    assert seen.advice[0].action.endswith(
        "tcpdump -i eth0 -s 0 -B 65536 -C 1000 -W 10 -w nfs.pcap 'host 10.0.0.1 and port 2049'"
    )


@pytest.mark.parametrize(("copies", "packets", "calls"), [(9, 20, 5), (10, 201, 5), (99, 200, 0)])
def test_a_few_copies_or_no_nfs_are_not_worth_a_word(copies: int, packets: int, calls: int) -> None:
    assert seen_by(RULE, twice(copies, packets, calls)) == []


def test_packets_of_two_clocks_are_no_loss() -> None:
    pair = replace(LOSSY, client_resent=900, server_resent=950, stalls=0, time_s={})
    found = nothing(tcp_stalls=(pair,))
    two = replace(found, capture=replace(found.capture, files=("client.pcap", "server.pcap")))
    (seen,) = seen_by(RULE, two)
    assert seen.seen.startswith(
        "1\u2009850 of 4\u2009000 segments with data (46.2 %) came a second"
    )
    assert seen_by(tcp_loss.RULE, two) == []


@pytest.mark.parametrize(
    ("change", "files"),
    [
        ({}, ("one.pcap",)),
        ({"stalls": 1}, ("a", "b")),
        ({"client_resent": 500}, ("a", "b")),
        ({"client_resent": 2000, "server_resent": 0}, ("a", "b")),
    ],
)
def test_what_a_network_does_is_one(change: dict[str, int], files: tuple[str, ...]) -> None:
    pair = replace(LOSSY, **{"client_resent": 900, "server_resent": 950, "stalls": 0} | change)  # type: ignore[arg-type]
    found = nothing(tcp_stalls=(pair,))
    given = replace(found, capture=replace(found.capture, files=files))
    assert seen_by(RULE, given) == []
    assert len(seen_by(tcp_loss.RULE, given)) == 1


def apart(copies: int, later_s: float, others: int = 0) -> Material:
    """Material of two files with 400 packets, of which so many are copies by another clock."""
    found = twice(copies + others, 400)
    files = ("client.pcap", "server.pcap")
    capture = replace(found.capture, files=files, copies_apart=copies, apart_s=later_s)
    return replace(found, capture=capture)


def test_copies_by_a_clock_that_is_apart_are_told_with_the_distance() -> None:
    (seen,) = seen_by(RULE, apart(200, 0.4004))
    assert seen.title == "Two captures hold the same packets by clocks that are apart"
    assert seen.seen == (
        "200 of 400 packets are copies of others in another file, 400 ms later on average. "
        "pcapnfs left them out."
    )
    assert "editcap -t" in seen.advice[1].action
    both = seen_by(RULE, apart(200, 0.4, others=20))
    assert [each.severity for each in both] == ["warning", "note"]
    assert both[1].seen.startswith("20 of 400 packets are copies of others.")


def test_a_few_copies_by_another_clock_are_not_worth_a_word() -> None:
    assert seen_by(RULE, apart(19, 0.4)) == []
    assert seen_by(RULE, apart(10, 0.4, others=19)) == []


def test_where_clocks_are_apart_nothing_stood_still_for_the_rest() -> None:
    pair = replace(LOSSY, client_resent=900, server_resent=950, stalls=13)
    found = replace(apart(1, 0.4), tcp_stalls=(pair,))
    (seen,) = seen_by(RULE, found)
    assert seen.seen.startswith("1\u2009850 of 4\u2009000 segments")
    assert seen_by(tcp_loss.RULE, found) == []
    few = replace(found, tcp_stalls=(replace(pair, client_resent=30, server_resent=40),))
    assert len(seen_by(tcp_loss.RULE, few)) == 1, "the network lost these"


BOTH_SIDES = PassedOn(
    client="172.17.0.2",
    server="10.0.0.1",
    onward_client="192.0.2.9",
    onward_server="10.0.0.1",
    calls=1200,
    frames=(5, 9),
)


def test_both_sides_of_a_host_that_translates_addresses_are_one_client() -> None:
    shared = replace(SHARED, clients=("172.17.0.2", "192.0.2.9"))
    turns = SharedFiles(
        server="10.0.0.1",
        files=1,
        turns=34,
        time_s={},
        frames=(),
        shown=(SharedFile(path="log", clients=shared.clients, turns=34),),
    )
    found = nothing(shared_names=(shared,), shared_files=(turns,))
    assert len(seen_by(shared_client_name.RULE, found)) == 1
    assert len(seen_by(attribute_ping_pong.RULE, found)) == 1
    found = replace(found, passed_on=(BOTH_SIDES,))
    assert seen_by(shared_client_name.RULE, found) == []
    assert seen_by(attribute_ping_pong.RULE, found) == []
    (seen,) = seen_by(RULE, found)
    assert seen.seen == (
        "1\u2009200 calls went between two pairs of addresses within 50.0 ms, under the same xid "
        "and as long, and their replies came back the other way: behind that host the client "
        "172.17.0.2 is 192.0.2.9."
    )
    assert (seen.about, seen.frames) == (("172.17.0.2", "10.0.0.1"), (5, 9))
