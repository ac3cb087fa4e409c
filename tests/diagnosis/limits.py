"""Calls at once that stay at a limit, for the rules on it."""

from __future__ import annotations

from pcapnfs.analyses.wire.caps import Caps, Pair, Slots
from pcapnfs.diagnosis.material import Material
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by

CLIENT, SERVER = "10.0.0.2", "10.0.0.1"

PAIR = Pair(
    client=CLIENT,
    server=SERVER,
    calls=100,
    busy_s=5.0,
    mean=8.0,
    peak=16,
    at_peak_s=0.5,
    connections=1,
    tcp=True,
    sessions=False,
)

SLOTS = Slots(client=CLIENT, server=SERVER, calls=100, limit=64, busy_s=5.0, full_s=0.5)


def limited(*slots: Slots, pair: Pair = PAIR, named: str = "client") -> Material:
    """Material with these limits."""
    return replace(bound_by(named), caps=Caps(pairs=(pair,), slots=slots))
