"""The note on captures that have their packets twice."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules.captured_twice import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by


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
