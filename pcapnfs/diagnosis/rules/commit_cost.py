"""COMMITs take a noticeable part of the time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import bound
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.data.commits import Commits
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "commit_cost.least", 10, "calls", "COMMITs, below which nothing is reported",
    "default of this tool",
)  # fmt: skip
SHARE = Threshold(
    "commit_cost.share", 0.01, "share", "what COMMITs take of the time budget beyond round trips",
    "default of this tool",
)  # fmt: skip
MEAN = Threshold(
    "commit_cost.mean", 0.002, "s", "mean of COMMITs; below, it is a note",
    "practice: less than a disk can, so storage has a cache",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    total = sum(material.budget_rows().values())
    own = bound.own(material)
    for pair in material.commits:
        if pair.commits < values[LEAST.name]:
            continue
        beyond = pair.time_s - pair.commits * (own(pair.client).rtt_s or 0.0)
        claims = (Claim("stable", max(0.0, beyond)),)
        if beyond <= 0 or beyond < values[SHARE.name] * total:
            continue
        slow = pair.mean_s >= values[MEAN.name]
        yield Observed(
            severity=by_cost(material, claims, sure=False) if slow else "note",
            at_most="warning" if slow else None,
            title="COMMITs that found nothing to store take time"
            if _idle(pair)
            else "Data waits for COMMIT",
            seen=f"{units.counted(pair.commits, 'COMMIT')} of {units.counted(pair.files, 'file')} "
            f"took {units.duration(pair.mean_s)} on average, {units.duration(pair.longest_s)} at "
            f"most; {_written(pair)}",
            why=_WHY_IDLE if _idle(pair) else _WHY,
            advice=(_NONE,) if _idle(pair) else _advice(pair),
            confidence="likely" if _idle(pair) else "certain",
            data=units.counted(pair.commits, "COMMIT"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


NOTHING = 0.9
"""Share of the COMMITs from which on it is told that nothing had been written before them: as a
capture begins, a few are for data that was written before."""


def _idle(pair: Commits) -> bool:
    """Whether nearly all COMMITs came where nothing had been written UNSTABLE."""
    return pair.empty >= NOTHING * pair.commits


def _written(pair: Commits) -> str:
    """What had been written before them."""
    if _idle(pair):
        return (
            f"before {units.count(pair.empty)} of them no WRITE of the capture had left anything "
            "unstable."
        )
    return f"{units.size(pair.written_bytes)} had been written before them.{_grows(pair)}"


_WHY = (
    "COMMIT makes the server write out what it holds of the file, and close() and fsync() wait for "
    "it."
)

_WHY_IDLE = (
    "COMMIT is for data that the server took without storing it. Where WRITEs were stable when "
    "they were answered, or nothing was written, it costs a round trip, and on some servers a "
    "flush, for nothing."
)

_NONE = Advice(
    "See what sends them: client libraries that send COMMIT whenever they close a file, or after "
    "WRITEs that ask for FILE_SYNC. One that writes UNSTABLE and commits once, or leaves COMMIT "
    "out where all was stable, waits less."
)
"""Where there was nothing to store."""


def _grows(pair: Commits) -> str:
    if pair.fixed_s is None or pair.rate_bytes is None:
        return ""
    return (
        f" A COMMIT takes {units.duration(pair.fixed_s)} and the data goes to storage at "
        f"{units.size(pair.rate_bytes)} a second."
    )


def _advice(pair: Commits) -> tuple[Advice, ...]:
    fewer = Advice(
        "If the application calls fsync() after each small write (databases, mail, logs), let it "
        "group them.",
        "what was not synced is lost when the client fails.",
    )
    faster = Advice(
        "Give the server a log on flash with power-loss protection, or a protected write cache."
    )
    earlier = Advice(
        "Let the server write out earlier, so that less is left for COMMIT: on a "
        "Linux server lower vm.dirty_background_bytes.",
        "more, smaller writes to the disks.",
    )
    small = pair.written_bytes < pair.commits * (1 << 20)
    return (fewer, faster) if small else (faster, earlier)


RULE = Rule(
    id="commit_cost",
    title="COMMIT takes long for what was written",
    origin="RFC 1813 section 3.3.21; practice: fsync-heavy applications",
    judge=judge,
    thresholds=(LEAST, SHARE, MEAN),
)
