"""What calls took, and where the time went."""

from __future__ import annotations

from pcapnfs.analyses.asking.service_time import ServiceTime
from pcapnfs.analyses.forecasts.verdict import Cause, ClientVerdict
from pcapnfs.analyses.forecasts.verdict import Verdict as Bottleneck
from pcapnfs.analyses.locks.lock_gaps import LockGaps
from pcapnfs.analyses.times.budget import Budget
from pcapnfs.analyses.times.phases import Phase, PhaseOperation
from pcapnfs.analyses.times.stability import Stability, StabilityRow
from pcapnfs.analyses.times.time_budget import TimeBudget
from pcapnfs.record import replace

TIMES = ServiceTime(1200, 30e-6, 1.25e-3, 1e-3, 2e-3, 4e-3, 0.25, 1.5)


NO_TIMES = ServiceTime(0, None, None, None, None, None, None, 0.0)


def stability() -> Stability:
    stable = StabilityRow(4000, 12.0, 3e-3, 2.5e-3, 0.4, 0.8)
    nothing = StabilityRow(0, 0.0, None, None, 0.0, 0.0)
    return Stability(
        stable=stable,
        unstable=StabilityRow(6000, 3.0, 0.5e-3, 0.4e-3, 0.6, 0.2),
        unstable_write=nothing,
        read=nothing,
        state=nothing,
        unknown=nothing,
        total=StabilityRow(10000, 15.0, 1.5e-3, 1e-3, 1.0, 1.0),
        unlisted=StabilityRow(1000, 1.0, 1e-3, 1e-3, 0.1, 0.0667),
    )


def budget(client: str | None = "10.0.0.2", clients: int = 1) -> Budget:
    return Budget(
        client=client,
        clients=clients,
        wall_s=61.0 * clients,
        stable_s=30.5 * clients,
        unstable_s=6.1 * clients,
        unstable_write_s=0.061 * clients,
        read_s=0.0,
        state_s=0.0,
        unknown_s=0.0,
        transfer_s=12.2 * clients,
        waiting_s=0.001 * clients,
        client_s=12.138 * clients,
        concurrency=1.25,
        calls=10000,
        added_s=0.0 if clients == 1 else 0.00045,
        placed_share=1.0 if clients == 1 else 0.25,
    )


def phase(name: str = "CREATE, WRITE", start_s: float = 0.5, client: str = "10.0.0.2") -> Phase:
    return Phase(
        client=client,
        name=name,
        start="2026-08-01T12:00:00.500000000Z",
        start_s=start_s,
        pause_s=0.5,
        calls=5000,
        files=1000,
        operations=(
            PhaseOperation(name.partition(",")[0], 3000, 20.0),
            PhaseOperation("LOOKUP", 2000, 0.25),
        ),
        budget=budget(client),
    )


def time_budget(*clients: str) -> TimeBudget:
    return TimeBudget(
        total=budget(None, 30 if len(clients) > 1 else 1),
        clients=tuple(budget(client) for client in clients),
        phases=tuple(
            phase(client=client, name=name, start_s=start_s)
            for client in clients
            for name, start_s in (("CREATE, WRITE, SETATTR", 0.5), ("REMOVE", 45.0))
        ),
    )


def lock_gaps() -> tuple[LockGaps, ...]:
    return (LockGaps("10.0.0.2", 1.5),)


def bottlenecks(*clients: str) -> Bottleneck:
    """A verdict on several clients, and on more that are not told."""
    one = bottleneck()
    each = tuple(
        ClientVerdict(
            client=client,
            clock_s=100.0,
            waited_s=12.5,
            active_s=100.0,
            sentence=f"{client} waited 12.5 s for calls: {one.sentence}",
            named=one.named,
            storage=one.storage,
            causes=one.causes,
            active_causes=one.causes,
        )
        for client in clients
    )
    return replace(
        one,
        sentence=" ".join(told.sentence for told in each),
        client=clients[0],
        clients=each,
        rest="4 more clients waited 3.00 s for calls together.",
    )


def bottleneck() -> Bottleneck:
    return Bottleneck(
        sentence="The time went into persistence 80.0 % (4 000 stable calls waited 2.50 ms each "
        "for storage); round trips 20.0 %.",
        named=("persistence",),
        storage="flash",
        causes=(
            Cause("persistence", 10.0, 0.8),
            Cause("round_trips", 2.5, 0.2),
            Cause("transfer", 0.0, 0.0),
            Cause("waiting", 0.0, 0.0),
            Cause("server", 0.0, 0.0),
            Cause("client", 0.0, 0.0),
        ),
    )
