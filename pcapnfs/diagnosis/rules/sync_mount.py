"""Data is written through: a sync mount, O_SYNC, O_DIRECT, or fsync after each write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.mounted import CHECK, is_written_through, of_part
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
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
    "sync_mount.least", 10, "calls", "such WRITEs, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose WRITEs show it."""
    without_cache = {
        (mount.client, mount.server, mount.part)
        for mount in material.cache.mounts
        if any(is_written_through(verdict.options) for verdict in mount.verdicts)
    }
    for pair in material.transfer_runs:
        sync = pair.sync
        if (
            (pair.client, pair.server, pair.part) in without_cache
            or sync.calls < values[LEAST.name]
            or sync.calls < values[SHARE.name] * pair.writes.in_runs
            or sync.calls <= values[PER_FILE.name] * max(pair.sync_files, pair.sync_ends)
        ):
            continue
        claims = (Claim("stable", pair.sync_saved_s),)
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="Data is written through: each WRITE waits for stable storage",
            seen=f"{of_part(pair.part)}{units.count(sync.calls)} of "
            f"{units.counted(pair.writes.in_runs, 'WRITE')} that continue one another asked for "
            f"stable storage, in {units.counted(pair.sync_files, 'file')}, and brought "
            f"{units.size(pair.sync_bytes / sync.calls)} each on average. They took "
            f"{units.duration(sync.time_s)}.",
            why="A client that may cache gathers what is written, sends it UNSTABLE in pieces of "
            "up to wsize, several at a time, and commits once when the file is closed. Here the "
            "program waits for the server's disk at each write().",
            advice=(
                Advice(
                    f"If the mount has sync, mount without it. {CHECK}",
                    "what was written but neither closed nor fsynced is lost if the client "
                    "crashes, as on a local disk.",
                ),
                Advice(
                    "If it is not the mount, it is the program: O_SYNC, O_DSYNC, O_DIRECT "
                    "(databases, disks of virtual machines with cache=none), or fsync after each "
                    "write. Let it write larger pieces and fsync once. Hypervisors (ESXi) write so "
                    "whatever is set: for them only the server's storage helps."
                ),
                Advice(
                    "If each write must be safe when it returns, give the server a log device or "
                    "write cache that survives power loss."
                ),
            ),
            confidence="likely",
            data=units.counted(pair.writes.calls, "WRITE"),
            frames=sync.frames,
            claims=claims,
            about=(pair.client, pair.server),
            part=pair.part,
        )


RULE = Rule(
    id="sync_mount",
    title="Data is written through (sync mount, O_SYNC, fsync after each write)",
    origin="practice: sync mounts and O_SYNC; RFC 1813 section 3.3.7, stable_how",
    judge=judge,
    thresholds=(SHARE, PER_FILE, LEAST),
)
