"""The storage behind one export of a server is slower than that behind another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.systems import is_other_server
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.exports import ExportTimes, StableKind
    from pcapnfs.diagnosis.material import Material

TIMES = Threshold(
    "slow_export.times", 3, "times", "what half of the stable calls at one export take beyond a "
    "small call at most, by that at another", "default of this tool",
)  # fmt: skip
MORE = Threshold(
    "slow_export.more", 0.002, "s", "by how much longer that is",
    "practice: less than a disk can, so storage has a cache",
)  # fmt: skip
LEAST = Threshold(
    "slow_export.least", 30, "calls", "stable calls at each of two exports that can be compared, "
    "below which nothing is reported", "default of this tool",
)  # fmt: skip

TOGETHER = 0.5
"""Share of the longer of two spans of time in which calls were compared: where less is common to
both, it may have been the hour."""

KINDS = 3
"""Kinds of calls that are told."""

EXAMPLES = 3
"""Example frames of each of the two."""


class Compared(Record):
    """An export whose stable calls take longer, and one at which they do not."""

    slow: ExportTimes
    """The one whose calls take longer."""
    quick: ExportTimes
    """The one at which like calls are the quickest."""
    kinds: tuple[tuple[StableKind, StableKind], ...]
    """What was compared: of the slow one, and of the other."""
    slow_s: float
    """Median beyond a small call of these at the slow one, by its calls, seconds."""
    quick_s: float
    """The same at the other, weighted alike, seconds."""
    sure: bool = False
    """They were used at the same time, so that the hour is no reason for it."""

    @property
    def calls(self) -> int:
        """Calls of the slow one that were compared."""
        return sum(own.calls for own, _ in self.kinds)

    @property
    def cost_s(self) -> float:
        """What of the clock they took longer than they would have at the other, seconds."""
        return max(0.0, sum(own.time_s - other.mean_s * own.clock for own, other in self.kinds))


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each server, about all of its slow exports."""
    for server in dict.fromkeys(each.server for each in material.exports.exports):
        ours = [each for each in material.exports.exports if each.server == server]
        found = [slow for each in ours if (slow := _slower(each, ours, values)) is not None]
        if found:
            found.sort(key=lambda each: (-each.cost_s, each.slow.export))
            yield _observed(material, server, found, len(ours))


def _slower(slow: ExportTimes, ours: Sequence[ExportTimes], values: Values) -> Compared | None:
    """An export against that of the others at which like calls are quickest; None: not slower.

    If any was used at the same time, against one of these: another may have been quick at an hour
    at which all are.
    """
    compared = (_compared(slow, other, values) for other in ours if other is not slow)
    found = [each for each in compared if each is not None and each.cost_s > 0]
    if not found:
        return None
    together = [each for each in found if _together(slow, each.quick)]
    best = min(together or found, key=lambda each: (each.quick_s / each.slow_s, each.quick.export))
    return replace(best, sure=bool(together))


def _compared(slow: ExportTimes, quick: ExportTimes, values: Values) -> Compared | None:
    """The two, by the kinds of calls that both have; None where one is not clearly slower."""
    known = {_key(kind): kind for kind in quick.kinds}
    kinds = tuple((own, known[_key(own)]) for own in slow.kinds if _key(own) in known)
    calls = sum(own.calls for own, _ in kinds)
    if min(calls, sum(other.calls for _, other in kinds)) < max(values[LEAST.name], 1):
        return None
    slow_s = sum(own.calls * own.median_s for own, _ in kinds) / calls
    quick_s = sum(own.calls * other.median_s for own, other in kinds) / calls
    # Times of storage that is quick at one moment and slow at another have any median.
    low_s = sum(own.calls * own.low_s for own, _ in kinds)
    high_s = sum(own.calls * other.high_s for own, other in kinds)
    if (
        slow_s < values[TIMES.name] * quick_s
        or slow_s - quick_s < values[MORE.name]
        or low_s <= high_s
    ):
        return None
    return Compared(slow, quick, kinds, slow_s, quick_s)


def _key(kind: StableKind) -> tuple[str, int, int, int | None]:
    return kind.op, kind.at_once, kind.at_server, kind.below_bytes


def _observed(material: Material, server: str, found: Sequence[Compared], exports: int) -> Observed:
    """What there is to tell of the slow exports of a server, the costliest first."""
    worst = found[0]
    claims = (Claim("stable", sum(each.cost_s for each in found)),)
    sure = all(each.sure for each in found)
    which = "one export" if len(found) == 1 else f"{units.count(len(found))} exports"
    return Observed(
        severity=by_cost(material, claims, sure=sure),
        title=f"Storage is slower behind {which} of {server} than behind another",
        seen=f"{_seen(worst)}{_likewise(found[1:])}{'' if sure else _APART}",
        why="Exports of one server share its network, processor and threads; what calls take there "
        "beyond a small one is their volume's own: its disks, pool or log device, how full and "
        "fragmented it is, snapshots and quotas, or that one export is sync and another async. "
        "Or something that is not in the capture keeps that volume busy.",
        advice=_ADVICE_OTHER if is_other_server(material, server) else _ADVICE,
        confidence="likely" if sure else "possible",
        data=f"{units.counted(worst.calls, 'call')} against "
        f"{units.count(sum(other.calls for _, other in worst.kinds))}, of "
        f"{units.counted(exports, 'export')}",
        frames=worst.slow.frames[:EXAMPLES] + worst.quick.frames[:EXAMPLES],
        claims=claims,
        about=(server,),
        calls=sum(each.calls for each in found),
    )


def _seen(worst: Compared) -> str:
    """Which export, by how much, compared with which, by kind of calls."""
    kinds = sorted(worst.kinds, key=lambda each: -each[0].calls * each[0].median_s)[:KINDS]
    told = ", ".join(
        f"{_name(own)} {units.duration(own.median_s)} ({units.count(own.calls)}) against "
        f"{units.duration(other.median_s)} ({units.count(other.calls)})"
        for own, other in kinds
    )
    return (
        f"Stable calls took {units.duration(worst.slow_s)} at {worst.slow.export} beyond a small "
        f"call of the same client, in the median, and {units.duration(worst.quick_s)} at "
        f"{worst.quick.export}. Of like calls, with as many under way: {told}."
    )


def _name(kind: StableKind) -> str:
    if kind.at_server == 1:
        return kind.op
    return f"{kind.op} among {kind.at_server} or more"


def _likewise(others: Sequence[Compared]) -> str:
    """The other slow exports; nothing where there are none."""
    if not others:
        return ""
    told = [
        f"{each.slow.export} ({units.duration(each.slow_s)} against {units.duration(each.quick_s)})"
        for each in others
    ]
    return f" Likewise: {wording.several(told)}."


_APART = " They were used one after the other, and not side by side: it may have been the hour."


def _together(one: ExportTimes, other: ExportTimes) -> bool:
    """Whether both were used in the same span of time.

    One that is slow between quick ones may have been used while all of the storage was slow.
    """
    if one.span_ns is None or other.span_ns is None:
        return False
    begins, ends = zip(one.span_ns, other.span_ns, strict=True)
    longer = max(end - begin for begin, end in (one.span_ns, other.span_ns))
    return min(ends) - max(begins) >= TOGETHER * longer


_FILES = Advice(
    "See which files it is: pcapnfs perfile --by export, and --match with the export's path."
)

_ADVICE = (
    Advice(
        "On the server, look at what is behind that export and not behind the other: its device "
        "while it runs (iostat -x: r_await, w_await, %util), how full and fragmented it is, "
        "snapshots and quotas; of ZFS the pool's log device, and sync and logbias of the dataset "
        "(zpool iostat -v, zfs get)."
    ),
    Advice(
        "Compare the options of both exports and file systems (exportfs -v, /proc/mounts): sync "
        "against async, barriers, data=journal. Where one is async, that is the difference.",
        "what an async export has acknowledged is lost when the server fails.",
    ),
    Advice("Move what needs stable storage most to the quicker export, or give this one its log."),
    _FILES,
)

_ADVICE_OTHER = (
    Advice(
        "On the server, look with its own tools at the volume behind that export and not behind "
        "the other: the latency of its disks, tier or aggregate, how full and fragmented it is, "
        "limits (QoS), snapshots and quotas."
    ),
    Advice("Move what needs stable storage most to the quicker export."),
    _FILES,
)
"""The same of a server that says that it is not Linux."""

RULE = Rule(
    id="slow_export",
    title="The storage behind one export of a server is slower than that behind another",
    origin="practice: several shares of one filer; service times of stable calls against others",
    judge=judge,
    thresholds=(TIMES, MORE, LEAST),
)
