"""The note on captures taken at the server."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.half import Half
from pcapnfs.analyses.wire.round_trip import RoundTrip, RoundTrips
from pcapnfs.diagnosis.rules.captured_at_server import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by


def half(least_s: float) -> Half:
    """A half of a round trip, from a handshake."""
    return Half(least_s, "handshake", least_s, 1, least_s, 0, None, 0, None, 0, None)


THERE = RoundTrips(
    pairs=(
        RoundTrip(
            client="10.0.0.2",
            server="10.0.0.1",
            calls=100,
            connections=1,
            client_side=half(0.002),
            server_side=half(0.00001),
            path_s=0.00201,
            vantage="server",
            ratio=200.0,
            addition_s=0.002,
        ),
    ),
    path_s=0.00201,
    vantage="server",
    source="handshake",
)


def test_the_addition_is_told() -> None:
    (seen,) = seen_by(RULE, nothing(round_trips=THERE))
    assert seen.seen == (
        "From here to client 10.0.0.2 and back it takes 2.00 ms at least, to server 10.0.0.1 "
        "10.0 µs."
    )
    assert "the usual round trip to its client (2.00 ms for 10.0.0.2) to each call" in seen.why
    assert (seen.severity, seen.about) == ("note", ())


@pytest.mark.parametrize("vantage", ["client", "between", "unknown"])
def test_elsewhere_there_is_nothing_to_say(vantage: str) -> None:
    there = replace(THERE, vantage=vantage)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(round_trips=there)) == []


def test_of_a_path_that_varies_the_shortest_is_not_told() -> None:
    """The handshake, and an ACK, met a short moment."""
    varies = replace(
        THERE.pairs[0].client_side, rtt_s=0.0047, source="acks", acks=9, ack_s=0.0047, least_s=3e-5
    )
    pair = replace(THERE.pairs[0], client_side=varies)
    (seen,) = seen_by(RULE, nothing(round_trips=replace(THERE, pairs=(pair,))))
    assert "and back it usually takes 4.70 ms, to server" in seen.seen
