"""What should be on stable storage is answered as fast as from memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import bound
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.bottleneck import Bottleneck
    from pcapnfs.diagnosis.material import Material

RATIO = Threshold(
    "async_export.ratio", 1.5, "times",
    "the median stable call by the median small one; from this on nothing is reported",
    "practice: slower than that is a device",
)  # fmt: skip
DIFFERENCE = Threshold(
    "async_export.difference", 0.0003, "s",
    "what the median stable call takes longer; from this on nothing is reported",
    "practice: what a write to flash takes",
)  # fmt: skip
LEAST = Threshold(
    "async_export.least", 30, "calls", "stable calls, below which nothing is reported",
    "default of this tool",
)  # fmt: skip
BUSY = 10
"""So many times that difference must small calls take at the server at most: else what it stores
may be hidden in what keeps it busy otherwise."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for the only client, or for each of several."""
    tick = material.trust.clock_tick_s or 0.0  # By so much the difference may be larger.
    for found in bound.alone(material):
        if (
            found.verdict is not None
            and found.usual_s is not None
            and found.stable_median_s is not None
            and _shown(found) >= values[LEAST.name]
            and found.stable_median_s < values[RATIO.name] * found.usual_s
            and found.stable_median_s - found.usual_s + tick < values[DIFFERENCE.name]
            and found.usual_s - (found.network_rtt_s or found.usual_s)
            <= BUSY * values[DIFFERENCE.name]
            and not _varies(material, found)
        ):
            yield _observed(found, found.usual_s, found.stable_median_s)


def _varies(material: Material, found: Bottleneck) -> bool:
    """Whether small calls vary, for the network or the server: that hides what it stores, too."""
    return any(
        pair.server_side.scatters
        for pair in material.round_trips.pairs
        if not found.about or pair.client in found.about
    )


def _shown(found: Bottleneck) -> int:
    """The stable calls whose time tells what the storage is."""
    return round(found.stable_calls * found.stable.shown)


def _observed(found: Bottleneck, usual_s: float, stable_s: float) -> Observed:
    """Its stable calls take no longer than others, but for those that store data."""
    told = _TOLD.get(found.verdict.storage or "", _OF_ALL) if found.verdict else _OF_ALL
    return Observed(
        severity="note",
        title=told.title,
        seen=f"The median of {units.counted(_shown(found), 'stable call')} took "
        f"{units.duration(stable_s)}, that of small calls which need no storage "
        f"{units.duration(usual_s)}.{told.longer}",
        why=told.why,
        advice=told.advice,
        confidence="possible",
        data=bound.data(found),
        frames=found.fastest,
        about=found.about,
    )


class _Told(Record):
    """What is said of it."""

    title: str
    """What is wrong."""
    longer: str
    """Which calls took longer all the same, as a sentence; empty for none."""
    why: str
    """Why that matters."""
    advice: tuple[Advice, ...]
    """What to do."""


_WHY = (
    "Beyond the way there and back, storing took next to nothing: no disk is that fast. Either the "
    "server has a write cache that survives a power failure (NVRAM, battery, flash with "
    "capacitors), and all is well; or it answers before the data is safe (export option async, a "
    "disk cache that says so too early), and what it has acknowledged is lost when it fails, "
    "without any client being told."
)

_CHANGES = (
    Advice(
        "On a Linux server, look for async in exportfs -v; on an appliance, ask whether its cache "
        "is protected and its battery is in order."
    ),
    Advice(
        "Where the data matters and nothing protects it, export with sync (Linux: /etc/exports, "
        "then exportfs -ra).",
        "every create, remove, rename, setattr and commit then waits for the disk.",
    ),
)

_WHY_NAMES = (
    "An async export, or a protected cache for all, would answer COMMIT as fast. Either names and "
    "attributes have a faster place of their own (a log on flash or NVRAM), and all is well; or "
    "the server waits for its disks only where data is to be stored, as servers in user space do "
    "(NFS-Ganesha, unfs3 and others on a local file system): what was created, renamed or removed "
    "last may be undone when it fails, without any client being told."
)

_WHY_UNSEEN = (
    "Beyond the way there and back, storing took next to nothing: no disk is that fast. If data "
    "waits, as it may here, the server waits for its disks only where data is to be stored, as "
    "servers in user space do (NFS-Ganesha, unfs3 and others on a local file system), or names and "
    "attributes have a faster place of their own. If it does not, either a write cache survives a "
    "power failure, or what the server has acknowledged is lost when it fails (export option "
    "async)."
)

_NAMES = (
    Advice(
        "Where programs rely on it (mail queues, databases and builds that rename), find out from "
        "the server's documentation whether it stores names and attributes before it answers."
    ),
)

_OF_ALL = _Told(
    "Changes are answered as fast as from memory: async export, or protected cache?",
    "",
    _WHY,
    _CHANGES,
)

_OF_MOST = _Told(
    "Most changes are answered as fast as from memory: async export, or protected cache?",
    " Some took as long as a disk does, or longer.",
    "Beyond the way there and back, storing took next to nothing for most: no disk is that fast. "
    "Either the server has a write cache that survives a power failure (NVRAM, battery, flash with "
    "capacitors), which may have been full or off when others waited, and all is well; or it "
    "answers before the data is safe (export option async, a disk cache that says so too early), "
    "and what it has acknowledged is lost when it fails, without any client being told.",
    _CHANGES,
)
"""Where not all are, whatever made the others wait."""

_TOLD = {
    "mixed": _OF_MOST,
    "mostly": _OF_MOST,
    "data": _Told(
        "Names and attributes are changed as fast as in memory, though data waits",
        " Those that store data (COMMIT, stable WRITEs) took longer.",
        _WHY_NAMES,
        _NAMES,
    ),
    "names": _Told(
        "Names and attributes are changed as fast as in memory",
        " Calls whose outcome is not known took longer: they may have stored data.",
        _WHY_UNSEEN,
        (*_CHANGES[:1], *_NAMES),
    ),
}
"""By what the storage looks like, where that is not said of all changes."""

RULE = Rule(
    id="async_export",
    title="Stable calls take no longer than others",
    origin="practice: exports(5), async; RFC 1813 section 4.8 on stable storage",
    judge=judge,
    thresholds=(RATIO, DIFFERENCE, LEAST),
    of_times=True,
)
