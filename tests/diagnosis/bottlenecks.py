"""A bottleneck with one cause, for the rules that speak of time in general."""

from __future__ import annotations

from pcapnfs.analyses.forecasts.bottleneck import Bottleneck
from pcapnfs.analyses.forecasts.verdict import Cause, Verdict
from pcapnfs.analyses.forecasts.verdict_reasons import NETWORK_OR_SERVER, TITLES
from pcapnfs.analyses.times.budget import ROWS, Budget
from pcapnfs.analyses.times.call_times import KindOfStable
from pcapnfs.analyses.times.time_budget import TimeBudget
from pcapnfs.diagnosis.material import Material
from pcapnfs.record import replace
from tests.diagnosis.material import nothing

WALL_S = 10.0
"""The time budget of `bound_by`."""


def clock(**rows: float) -> TimeBudget:
    """A clock of ten seconds with these rows, the rest of which is the client's."""
    told = {row: rows.get(row, 0.0) for row in ROWS}
    told["client"] = WALL_S - sum(rows.values())
    total = Budget(
        client=None,
        clients=1,
        wall_s=WALL_S,
        concurrency=1.0,
        calls=1000,
        added_s=0.0,
        placed_share=1.0,
        untold=False,
        **{f"{row}_s": seconds for row, seconds in told.items()},
    )
    return TimeBudget(total=total, clients=(), phases=())


def verdict(*named: str, share: float = 0.6, storage: str | None = "disk") -> Verdict:
    """A verdict that names these causes."""
    # One of them stands for round trips where nothing tells these from the server's storage.
    absent = "round_trips" if NETWORK_OR_SERVER in named else NETWORK_OR_SERVER
    causes = [name for name in TITLES if name not in ("locks", absent)]
    shares = {name: share if name in named else 0.05 for name in causes}
    shares["locks"] = 0.0
    return Verdict(
        sentence="",
        named=named,
        storage=storage,
        causes=tuple(Cause(name, part * WALL_S, part) for name, part in shares.items()),
    )


def beside(named: str, second: str, share: float, *, storage: str | None = "disk") -> Verdict:
    """A verdict that names one cause, beside which another takes this share."""
    found = verdict(named, storage=storage)
    causes = tuple(
        Cause(each.cause, share * WALL_S, share) if each.cause == second else each
        for each in found.causes
    )
    return replace(found, causes=causes)


SLOW = Bottleneck(
    verdict=verdict("persistence"),
    calls=900,
    stable_calls=400,
    small_calls=500,
    rtt_s=0.001,
    usual_s=0.001,
    network_rtt_s=0.0008,
    persist_s=0.014,
    stable_median_s=0.015,
    kinds=(KindOfStable("CREATE", 200, 0.01), KindOfStable("RENAME", 3, None)),
    stable_s=6.0,
    storage_s=5.6,
    network_s=(("stable", 0.3), ("unstable", 0.4)),
    slowest=(40, 50),
    fastest=(60,),
    small=(70,),
    moved_bytes=10 << 20,
    client_s=3.0,
)
"""Four hundred stable calls of 15 ms, on a disk."""


def of_client(host: int, *named: str, share: float = 0.6, **changes: object) -> Bottleneck:
    """A client of several, whose verdict names these causes."""
    own: dict[str, object] = {
        "verdict": verdict(*named, share=share),
        "about": (f"10.0.0.{host}", "10.0.0.1"),
        "active_s": WALL_S,
        "placed_share": 1.0,
    }
    return replace(SLOW, **(own | changes))  # type: ignore[arg-type]


def bound_each(*clients: Bottleneck) -> Material:
    """Material of several clients."""
    total = replace(clock(stable=6.0).total, clients=len(clients), wall_s=WALL_S * len(clients))
    return nothing(
        bottleneck=replace(SLOW, clients=clients),
        time_budget=TimeBudget(total=total, clients=(), phases=()),
    )


def bound_by(*named: str, rows: dict[str, float] | None = None, **changes: object) -> Material:
    """Material whose verdict names these causes."""
    storage = changes.pop("storage", "disk")
    assert storage is None or isinstance(storage, str)
    found = replace(SLOW, verdict=verdict(*named, storage=storage), **changes)  # type: ignore[arg-type]
    return nothing(bottleneck=found, time_budget=clock(**(rows or {"stable": 6.0})))


def bound_beside(named: str, second: str, share: float, **changes: object) -> Material:
    """Material whose verdict names one cause, beside which another takes this share."""
    storage = changes.pop("storage", "disk")
    assert storage is None or isinstance(storage, str)
    found = bound_by(named)
    told = beside(named, second, share, storage=storage)
    return replace(found, bottleneck=replace(found.bottleneck, verdict=told, **changes))  # type: ignore[arg-type]
