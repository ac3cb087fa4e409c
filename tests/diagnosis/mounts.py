"""Verdicts and counts of one mount, for the rules on mount options."""

from __future__ import annotations

from pcapnfs.analyses.caching.cache import Cache
from pcapnfs.analyses.caching.questions import Questions
from pcapnfs.analyses.caching.spared import NONE, Spared
from pcapnfs.analyses.data.transfer_runs import Runs, TransferRuns
from pcapnfs.analyses.mounts.mount_options import Mount
from pcapnfs.analyses.mounts.mount_verdict import MountVerdict
from pcapnfs.diagnosis.material import Material
from pcapnfs.record import replace
from tests.diagnosis.material import nothing

CLIENT, SERVER = "10.0.0.2", "10.0.0.1"

MOUNT = Mount(
    client=CLIENT,
    server=SERVER,
    verdicts=(),
    too_little=None,
    moves=100,
    moves_asked=100,
    visits=80,
    visits_asked_twice=60,
    returns=0,
    returns_looked_up=0,
    missing_again=320,
    asked_shortest_s=None,
    unasked_longest_s=None,
)

ASKED = Questions(
    client=CLIENT,
    server=SERVER,
    calls=1500,
    asked=1200,
    compared=1150,
    unchanged=Spared(1100, 2.2, 1.1, (3, 5)),
    fresh_files=Spared(300, 0.6, 0.3, (7,)),
    fresh_directories=Spared(700, 1.4, 0.7, (9,)),
    early=Spared(40, 0.08, 0.04, (11,)),
)

RUNS = Runs(
    calls=640,
    in_runs=600,
    largest_bytes=4096,
    allowed_bytes=1048576,
    merged=Spared(560, 0.5, 0.25, (33, 35)),
    merged_stable_s=0.1,
)

MOVED = TransferRuns(
    client=CLIENT,
    server=SERVER,
    reads=RUNS,
    writes=RUNS,
    withheld=False,
    continued=560,
    sync=NONE,
    sync_files=0,
    sync_ends=0,
    sync_bytes=0,
    sync_saved_s=0.0,
)

THROUGH = replace(
    MOVED,
    sync=Spared(600, 3.0, 0.3, (33, 35)),
    sync_files=40,
    sync_bytes=600 * 4096,
    sync_saved_s=2.8,
)


def verdict(*options: str, confidence: str = "likely") -> MountVerdict:
    """A verdict with these options."""
    return MountVerdict(options, " or ".join(options), confidence, "asked much", (1, 2))


def mounted(*verdicts: MountVerdict, **parts: object) -> Material:
    """The material of a trace with one mount, of which these verdicts are told."""
    seen: dict[str, object] = {"questions": (ASKED,), "transfer_runs": (MOVED,)}
    found = nothing(**(seen | parts))
    cache: Cache = replace(found.cache, mounts=(replace(MOUNT, verdicts=verdicts),))
    return replace(found, cache=cache)


def budget(material: Material, *, unstable: float, client: float) -> Material:
    """The same with these rows of the time budget, in seconds."""
    total = replace(material.time_budget.total, unstable_s=unstable, client_s=client)
    return replace(material, time_budget=replace(material.time_budget, total=total))
