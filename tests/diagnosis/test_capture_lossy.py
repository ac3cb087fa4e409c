"""The finding on captures that lack packets."""

from __future__ import annotations

from typing import Any

import pytest

from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules.capture_lossy import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by


def lossy(damage: tuple[str, ...] = (), **trust: object) -> Material:
    """Material of a capture of 1000 packets, 100 kB and 100 replies."""
    found = nothing()
    return replace(
        found,
        trust=replace(found.trust, **({"rpc_replies": 100} | trust)),  # type: ignore[arg-type]
        capture=replace(found.capture, packets=1000, bytes=100_000, damage=damage),
    )


def test_what_tells_of_the_loss_is_told() -> None:
    found = lossy(
        ("a.pcap: the file ends",), dropped_packets=20, missing_bytes=2048, orphan_replies=3
    )
    (seen,) = seen_by(RULE, found)
    assert seen.seen == (
        "The capturing host dropped 20 packets. 2.00 KiB that were sent, and acknowledged or "
        "followed by more, are not in it. Replies without their call: 3 of 100. Its file "
        "breaks off: a.pcap: the file ends."
    )
    assert seen.severity == "warning"


@pytest.mark.parametrize(
    "trust",
    [
        {},
        {"dropped_packets": 0},
        {"orphan_replies": 2, "orphan_replies_at_start": 2},
        {"orphan_replies": 2, "truncated_bytes": 9},
    ],
)
def test_a_capture_that_began_late_or_was_cut_lost_nothing(trust: dict[str, Any]) -> None:
    assert seen_by(RULE, lossy(**trust)) == []


def test_a_little_is_a_note() -> None:
    (seen,) = seen_by(RULE, lossy(dropped_packets=1))
    assert seen.severity == "note"
    (seen,) = seen_by(RULE, lossy(orphan_replies=4))
    assert seen.severity == "note"
    (seen,) = seen_by(RULE, lossy(orphan_replies=5))
    assert seen.severity == "warning"
