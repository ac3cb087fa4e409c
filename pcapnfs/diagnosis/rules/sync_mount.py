"""Data is written through: a sync mount, O_SYNC, O_DIRECT, or fsync after each write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import bound
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.mounted import CHECK, is_written_through, of_part
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.data.commits import Commits
    from pcapnfs.analyses.data.transfer_runs import TransferRuns
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "sync_mount.share", 0.9, "share",
    "WRITEs that continue one another and ask for stable storage", "default of this tool",
)  # fmt: skip
PER_FILE = Threshold(
    "sync_mount.per_file", 2, "calls",
    "such WRITEs on average for each file, or each time that it was closed or unlocked; a client "
    "sends what is little in one such WRITE by itself",
    "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "sync_mount.least", 10, "calls",
    "such WRITEs, or COMMITs behind pieces, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


STORED_S = 0.0003
"""What calls for stable storage take longer than small ones that store nothing, from which on they
wait for storage: what a write to flash takes, as for `async_export`. Below, they wait for the round
trip."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose WRITEs show it, or their COMMITs."""
    own = bound.own(material)
    for pair in through(material, values):
        yield _of_writes(material, pair, own(pair.client).usual_s)
    for commits in behind_pieces(material, values):
        yield _of_commits(material, commits, own(commits.client).usual_s)


def through(material: Material, values: Values) -> Iterator[TransferRuns]:
    """The clients and servers whose WRITEs ask for stable storage one after the other."""
    without_cache = _without_cache(material)
    for pair in material.transfer_runs:
        sync = pair.sync
        if (
            (pair.client, pair.server, pair.part) not in without_cache
            and sync.calls >= values[LEAST.name]
            and sync.calls >= values[SHARE.name] * pair.writes.in_runs
            and sync.calls > values[PER_FILE.name] * max(pair.sync_files, pair.sync_ends)
        ):
            yield pair


def behind_pieces(material: Material, values: Values) -> Iterator[Commits]:
    """The clients and servers of which this rule tells COMMITs behind each piece of a file."""
    told = {(pair.client, pair.server) for pair in through(material, values)}
    told |= {(client, server) for client, server, _ in _without_cache(material)}
    for pair in material.commits:
        if pair.places.pieces >= values[LEAST.name] and (pair.client, pair.server) not in told:
            yield pair


def _without_cache(material: Material) -> set[tuple[str, str, str | None]]:
    """Mounts of which another finding says that they cache nothing, and write through as well."""
    return {
        (mount.client, mount.server, mount.part)
        for mount in material.cache.mounts
        if any(is_written_through(verdict.options) for verdict in mount.verdicts)
    }


def _of_writes(material: Material, pair: TransferRuns, usual_s: float | None) -> Observed:
    """WRITEs that ask for stable storage, one after the other."""
    sync = pair.sync
    each_s = sync.time_s / sync.calls
    fast = _is_fast(each_s, usual_s)
    claims = (Claim("stable", pair.sync_saved_s),)
    return Observed(
        severity=by_cost(material, claims),
        at_most="problem",
        title="Data is written through: each WRITE waits for a round trip"
        if fast
        else "Data is written through: each WRITE waits for stable storage",
        seen=f"{of_part(pair.part)}{units.count(sync.calls)} of "
        f"{units.counted(pair.writes.in_runs, 'WRITE')} that continue one another asked for "
        f"stable storage, in {units.counted(pair.sync_files, 'file')}, and brought "
        f"{units.size(pair.sync_bytes / sync.calls)} each on average. They took "
        f"{units.duration(sync.time_s)}{_as_fast(each_s, usual_s) if fast else ''}.",
        why="A client that may cache gathers what is written, sends it UNSTABLE in pieces of "
        "up to wsize, several at a time, and commits once when the file is closed. Here the "
        f"program waits for {_ROUND_TRIP if fast else _DISK} at each write().",
        advice=_advice(fast=fast),
        confidence="likely",
        data=units.counted(pair.writes.calls, "WRITE"),
        frames=sync.frames,
        claims=claims,
        about=(pair.client, pair.server),
        part=pair.part,
    )


def _of_commits(material: Material, pair: Commits, usual_s: float | None) -> Observed:
    """COMMITs behind pieces that do not fit one WRITE, each of which is waited for."""
    places = pair.places
    each_s = places.piece_time_s / places.pieces
    fast = _is_fast(each_s, usual_s)
    claims = (Claim("stable", places.piece_saved_s),)
    return Observed(
        severity=by_cost(material, claims, sure=False),
        at_most="warning",
        title="Data is written through: each piece of a file waits for its COMMIT",
        seen=f"{units.count(places.pieces)} of {units.counted(pair.commits, 'COMMIT')}, in "
        f"{units.counted(places.piece_files, 'file')}, each came after several WRITEs of "
        f"{units.size(places.piece_bytes / places.pieces)} together, and the file's next WRITE "
        f"only after the reply. They took {units.duration(places.piece_time_s)}"
        f"{_as_fast(each_s, usual_s) if fast else ''}.",
        why="What is written through and does not fit one WRITE goes out in several, and a COMMIT "
        "makes sure of them before write() comes back. A client that may cache goes on sending, "
        "and commits once when the file is closed. Here the program waits for "
        f"{_ROUND_TRIP if fast else _DISK} at each piece.",
        advice=_advice(fast=fast),
        confidence="possible",
        data=units.counted(pair.commits, "COMMIT"),
        frames=places.piece_frames,
        claims=claims,
        about=(pair.client, pair.server),
    )


_DISK = "the server's disk"

_ROUND_TRIP = "a round trip"


def _is_fast(each_s: float, usual_s: float | None) -> bool:
    """Whether such a call takes hardly longer than a small one that stores nothing."""
    return usual_s is not None and each_s < usual_s + STORED_S


def _as_fast(each_s: float, usual_s: float | None) -> str:
    """What they took, beside what small calls take."""
    return (
        f", {units.duration(each_s)} each, hardly longer than small calls that store nothing "
        f"({units.duration(usual_s)})"
    )


def _advice(*, fast: bool) -> tuple[Advice, ...]:
    """What to do; where storage answers at once, a faster one is no help."""
    helps = "a shorter way to the server" if fast else "the server's storage"
    leave = (
        Advice(
            f"If the mount has sync, mount without it. {CHECK}",
            "what was written but neither closed nor fsynced is lost if the client "
            "crashes, as on a local disk.",
        ),
        Advice(
            "If it is not the mount, it is the program: O_SYNC, O_DSYNC (dd: oflag=sync, dsync), "
            "O_DIRECT (databases, disks of virtual machines with cache=none), or fsync after each "
            "write, or stat, which makes a client send what was written before. Let it write "
            "larger pieces and fsync once (dd: conv=fsync). Hypervisors (ESXi) write so whatever "
            f"is set: for them only {helps} helps."
        ),
    )
    if fast:
        return leave
    return (
        *leave,
        Advice(
            "If each write must be safe when it returns, give the server a log device or "
            "write cache that survives power loss."
        ),
    )


RULE = Rule(
    id="sync_mount",
    title="Data is written through (sync mount, O_SYNC, fsync after each write)",
    origin="practice: sync mounts and O_SYNC; RFC 1813 sections 3.3.7, stable_how, and 3.3.21",
    judge=judge,
    thresholds=(SHARE, PER_FILE, LEAST),
)
