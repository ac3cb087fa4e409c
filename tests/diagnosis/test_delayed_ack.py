"""The rule for messages that wait for a delayed ACK."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.held_segments import HeldSegments
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.delayed_ack import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

HELD = HeldSegments(
    client="10.0.0.2",
    server="10.0.0.1",
    timer_s=0.04,
    messages=1000,
    held=10,
    beside=2,
    usual_s=0.0005,
    transfer_s=0.36,
    unstable_s=0.0,
    read_s=0.0,
    unstable_write_s=0.0,
    ack_waits=0,
    frames=(5,),
)


def test_a_mode_at_the_timer() -> None:
    (seen,) = seen_by(RULE, nothing(held_segments=(HELD,)))
    assert seen.title == "Messages wait 40.0 ms for a delayed ACK"
    assert seen.seen == (
        "10 of 1\u2009000 messages took about 40.0 ms longer than usual; only 2 took a little "
        "less or more. The usual service time is 500 µs."
    )
    assert seen.claims == (Claim("transfer", 0.36),)
    (seen,) = seen_by(RULE, nothing(held_segments=(replace(HELD, usual_s=0.0),)))
    assert "usual service time" not in seen.seen
    (seen,) = seen_by(RULE, nothing(held_segments=(replace(HELD, beside=0),)))
    assert "; none took a little less or more." in seen.seen


def test_a_server_that_was_seen_to_wait_is_certain() -> None:
    pair = replace(HELD, read_s=1e4, ack_waits=41)
    (seen,) = seen_by(RULE, nothing(held_segments=(pair,)))
    assert seen.claims == (Claim("transfer", 0.36), Claim("read", 1e4))
    assert (seen.at_most, seen.confidence) == ("problem", "certain")
    assert seen.seen.endswith(
        "The server sent nothing more until a late ACK of the client came, and went on at once, "
        "41 times."
    )
    # It is known which side sends late, and which one holds its ACK back.
    assert seen.advice[0].action.startswith("Set TCP_NODELAY on the server 10.0.0.1, which sends")
    assert seen.advice[2].action.startswith("On the client 10.0.0.2 let ACKs go at once")
    (seen,) = seen_by(RULE, nothing(held_segments=(replace(pair, ack_waits=0),)))
    assert "on the side that sends the late segment:" in seen.advice[0].action
    assert (seen.at_most, seen.confidence) == ("warning", "likely")


@pytest.mark.parametrize(
    "change", [{"held": 9}, {"messages": 1001}, {"beside": 3}, {"usual_s": 0.021}]
)
def test_chance_a_tail_or_a_long_way_are_none(change: dict[str, float]) -> None:
    pair = replace(HELD, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(held_segments=(pair,))) == []
