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
        "is damaged: a.pcap: the file ends."
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


def test_a_file_that_breaks_off_has_lost_nothing_else() -> None:
    (seen,) = seen_by(RULE, lossy(("a.pcap: the file ends",)))
    assert seen.title == "The capture file is damaged, or breaks off"
    assert [each.action[:11] for each in seen.advice] == ["End tcpdump"]
    (seen,) = seen_by(RULE, lossy(("a.pcap: the file ends",), dropped_packets=1))
    assert seen.title == "Packets are missing in the capture"
    assert len(seen.advice) == 4


@pytest.mark.parametrize(
    ("not_given", "numbers"),
    [
        (("2",), "number 2 was"),
        (("2 to 3",), "numbers 2 to 3 were"),
        (("9", "1"), "numbers 9, 1 were"),
    ],
)
def test_a_file_of_a_rotation_that_was_not_given_is_a_warning(
    not_given: tuple[str, ...], numbers: str
) -> None:
    (seen,) = seen_by(RULE, lossy(files_not_given=not_given))
    assert seen.seen == (
        f"By their names the files are of a rotation, of which {numbers} not given."
    )
    assert seen.severity == "warning"
    assert seen.advice[0].action.startswith("Give pcapnfs")


def test_a_little_is_a_note() -> None:
    (seen,) = seen_by(RULE, lossy(dropped_packets=1))
    assert seen.severity == "note"
    (seen,) = seen_by(RULE, lossy(orphan_replies=4))
    assert seen.severity == "note"
    (seen,) = seen_by(RULE, lossy(orphan_replies=5))
    assert seen.severity == "warning"


def test_a_direction_that_was_not_captured_is_no_loss() -> None:
    found = lossy(rpc_calls=900, rpc_replies=0, unanswered=900, calls_alone=900)
    (seen,) = seen_by(RULE, found)
    assert (seen.severity, seen.title) == ("warning", "Only what clients sent was captured")
    assert seen.seen == (
        "Of connections with 900 of 900 calls it holds nothing that the server sent, not even an "
        "acknowledgement."
    )
    assert "by host and not by src or dst" in seen.advice[0].action
    found = lossy(rpc_calls=0, orphan_replies=100, replies_alone=100)
    (seen,) = seen_by(RULE, found)
    assert seen.title == "Only what servers sent was captured"
    assert not any("buffer" in advice.action for advice in seen.advice)


def test_a_direction_that_some_connections_lack_is_told_beside_losses() -> None:
    found = lossy(
        rpc_calls=900, matched=800, unanswered=100, calls_alone=90, orphan_replies=16,
        replies_alone=10,
    )  # fmt: skip
    one_way, lost = seen_by(RULE, found)
    assert one_way.title == "Of some connections one direction was captured"
    assert lost.seen == "Replies without their call: 6 of 100."


def test_what_clients_answered_to_callbacks_that_were_not_captured_is_no_loss() -> None:
    found = lossy(
        rpc_calls=900, rpc_replies=3, unanswered=900, calls_alone=900, orphan_replies=3,
        answers_alone=3,
    )  # fmt: skip
    (seen,) = seen_by(RULE, found)
    assert seen.title == "Only what clients sent was captured"


def test_a_reply_before_which_the_clock_was_set_back_is_no_loss() -> None:
    assert seen_by(RULE, lossy(orphan_replies=2, earlier_replies=2)) == []
    (seen,) = seen_by(RULE, lossy(orphan_replies=3, earlier_replies=2))
    assert seen.seen == "Replies without their call: 1 of 100."


def test_replies_that_are_too_early_for_their_calls_are_no_loss() -> None:
    found = nothing()
    told = replace(
        found.trust, rpc_calls=218, rpc_replies=218, matched=200, unanswered=18, orphan_replies=18
    )
    assert len(seen_by(RULE, replace(found, trust=told))) == 1
    assert seen_by(RULE, replace(found, trust=replace(told, clocks_apart_s=0.007))) == []
