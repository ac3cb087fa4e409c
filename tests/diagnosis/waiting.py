"""Programs of a client that wait for one another, for the tests of rules that say so."""

from __future__ import annotations

from pcapnfs.analyses.locks.open_order import OpenOrder
from pcapnfs.analyses.namespace.directory_order import DirectoryOrder
from pcapnfs.analyses.namespace.move_order import MoveOrder, Route

IN_DIRECTORY = DirectoryOrder(
    client="10.0.0.2",
    server="10.0.0.1",
    directories=1,
    changes=100,
    handed_over=30,
    followed=60,
    waited_s=(("stable", 3.0), ("state", 0.0)),
    places=("spool",),
    frames=(5, 7),
)
"""For changes of a directory."""

OF_MOVES = MoveOrder(
    client="10.0.0.2",
    server="10.0.0.1",
    moves=100,
    handed_over=30,
    followed=60,
    waited_s=(("stable", 3.0), ("state", 0.0)),
    pairs=4,
    routes=(
        Route(source="tmp", target="new", moves=40, time_s=2.0),
        Route(source="new", target=".", moves=15, time_s=0.8),
    ),
    frames=(5, 7),
)
"""For moves between directories."""

OF_OWNER = OpenOrder(
    client="10.0.0.2",
    server="10.0.0.1",
    uid=1000,
    opens=300,
    overlapping=False,
    closes=240,
    handed_over=30,
    others_at_once=0.0,
    time_s=0.3,
    ordered_s=(("stable", 4.0), ("state", 0.8)),
    frames=(5,),
)
"""For OPENs of NFSv4.0."""

HALF = (("stable", 5.0), ("state", 0.0))
"""What waited, where the client of `bound_by` was active for twice as long."""

LESS = (("stable", 4.9), ("state", 0.0))
"""A little less."""
