"""Much of the time goes into the server's storage, or a part of it beside a larger cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.forecasts.verdict_reasons import DEPENDS, when_slow
from pcapnfs.analyses.servers import in_turn
from pcapnfs.diagnosis import bound
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.one_by_one import one_by_one
from pcapnfs.diagnosis.rules import slow_export, slow_service
from pcapnfs.diagnosis.rules.slow_service import busy
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.systems import is_other_server
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.bottleneck import Bottleneck
    from pcapnfs.analyses.forecasts.verdict import Cause
    from pcapnfs.analyses.servers.in_turn import InTurn
    from pcapnfs.analyses.servers.slow_storage import SlowStorage
    from pcapnfs.diagnosis.material import Material

DIFFERENCE = Threshold(
    "persistence_bound.difference", 0.002, "s",
    "what the median stable call takes longer than a round trip; below this and the ratio it is a "
    "note", "practice: less than a disk can, so storage has a cache",
)  # fmt: skip
RATIO = Threshold(
    "persistence_bound.ratio", 5, "times",
    "the median stable call by the round trip; below this and the difference it is a note",
    "practice",
)  # fmt: skip

KINDS = 3
"""Kinds of stable calls that are told."""

STORAGE = {
    "disk": "That is what a rotating disk takes without a write cache that survives a power "
    "failure.",
    "slow": "That is more than one access to a rotating disk: several for each call, or a busy "
    "one.",
    "flash": "That is faster than a disk turns.",
    "memory": "That is as fast as from memory.",
    "data": "What stores data (COMMIT, stable WRITEs) waits; names and attributes are changed as "
    "fast as in memory, or nearly so.",
    "names": "Names and attributes are changed as fast as from memory.",
    "mixed": "Most were quick, and some took far longer: storage was slow for a while, or for some "
    "files.",
    "mostly": "Most were as fast as from memory.",
    "uneven": "But many of the same kinds were as fast as small calls, which with a disk without a "
    "write cache none is: the others may have waited for a thread or processor of the server, for "
    "other calls, or for storage that is slow for some files or at times.",
}

STREAMS = Advice(
    "Run several streams at once (parallel tar, make -j, rsync by directory): stable calls of "
    "different files share a flush."
)
"""Of no use where calls wait for one another already."""

THREADS = Advice(
    "See whether the threads of the server's NFS service are all busy, and give it more where they "
    "are (Linux: /proc/fs/nfsd/threads, and threads in /etc/nfs.conf; 8 to 16 are few for many "
    "programs at once)."
)
"""Where calls waited for one another, which may be for a thread."""

ONE_THREAD = Advice(
    "Give the server's NFS service more threads first (Linux: /proc/fs/nfsd/threads, and threads "
    "in /etc/nfs.conf; one alone works on one call at a time): then calls wait for storage side by "
    "side, and share a flush. Faster storage makes the turns shorter, and leaves one queue."
)
"""What comes first where calls wait for their turn, those that need no storage as well."""

ONE_THREAD_OTHER = Advice(
    "See first on the server, with its own tools, on how many calls its NFS service works side by "
    "side, and for one client, and let it be more. Faster storage makes the turns shorter, and "
    "leaves one queue."
)
"""The same to a server that says that it is not Linux."""

RECREATED = Advice(
    "For data that can be recreated (build trees, node_modules, caches), work on local disk and "
    "copy the result."
)

AT_ONCE = Advice(
    "If the program asks for that, let it make sure of more at once: larger transactions, commits "
    "of several users together. If the mount has sync or noac, mount without it."
)
"""In place of what is for files that are made, where a few files are written piece by piece."""

AT_ENDS = Advice(
    "In the program: leave a file open that it writes to again and again (a log, line by line), "
    "and take one lock for a whole piece of work: then the client gathers what is written. If the "
    "mount has noac, mount without it."
)
"""The same where they are written as often as they are closed or unlocked."""

AT_ONE_FSYNC = (
    " Where they come many at a time, as most stable calls do here, it may be no more than one "
    "fsync, msync or close: Linux asks so for each of the pages that lie scattered in a file."
)
"""What is said besides where most stable calls came while others were under way."""

EACH = 10
"""Stable WRITEs for each file from which on they are pieces, and no whole files."""

PER_END = 2
"""Of these for each time that their files were closed or unlocked, up to which a client sends them
by itself: what is little goes in one."""

MOSTLY = 0.5
"""Part of the persistence that is theirs."""

ADVICE = (
    Advice(
        "Give the server's file system a log on flash with power-loss protection (SLOG, external "
        "journal), or a RAID controller with a protected write-back cache."
    ),
    STREAMS,
    RECREATED,
    Advice(
        "Export with async (on a Linux server: /etc/exports, then exportfs -ra; the mount option "
        "async is something else, and the default), or set sync=disabled on ZFS.",
        "what the server has acknowledged is lost when it fails, and clients are not told: only "
        "for data that can be recreated.",
    ),
)
"""Best first; the first and the last do not help where storage is fast already."""


PROCESSOR = 0.5
"""What a server takes for what it has in memory, as a part of what stable calls take beyond a round
trip: from here on its processor may be why they do."""

QUEUES = (
    "Calls queue at the server: small ones waited there for most of that round trip, and part of "
    "this may be a wait for a thread, too."
)
"""What is said instead of what the storage looks like."""


CROWDED = (
    "Most of them came while other calls were under way there, and part of this may be a wait for "
    "these: for a thread, a lock, or the same disk."
)
"""The same where nothing tells what stable calls take that wait for no other."""


IN_TURN = (
    "The server works on one call at a time: of {small} that need no storage, and came behind "
    "others about other files, {overtook} answered before one that had come earlier. So stable "
    "calls wait for their turn as well, and most of what they take may be that."
)
"""The same where small calls show that there is one queue for all, and a disk is not what it is
for."""


WAITED = (
    "Those that came while other calls were under way there took far longer than the rest of their "
    "kind, and part of this may be a wait for these: for a thread, a lock, or the same disk."
)
"""The same where others of their kind tell."""


SLOWED = (
    Advice(
        "Find out what kept the server's storage busy, or made it slow, at that time: a backup, "
        "snapshot, scrub, RAID rebuild or defragmentation; a write cache that was full, or off "
        "while its battery was charged or tested; other users of the same disks (on the server "
        "then: iostat -x, its log)."
    ),
)
"""What comes first where storage was slow for a while, and else was not."""

SCATTERED = (
    Advice(
        "Find out whose files these are, and what is behind them: pcapnfs perfile shows which took "
        "longest, with --by directory or --by export added up. On the server, iostat -x shows "
        "whether a device is slow now and then."
    ),
)
"""The same where slow calls are scattered."""

EXPORT = Advice("See slow_export first: one export of that server is slower than another.")
"""What stands in place of all where that is told."""

SHOWN_ALONE = (
    "Most others of their kind were quick, and so were small calls, also those right before them, "
    "which need no storage: neither the path nor the server's processor was slow."
)
"""Why it was the storage, where it was slow for some."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for the only client, or for each of several."""
    told = set()
    for found, cause in bound.each(material, "persistence"):
        told.add(found.about)
        yield from _storage(material, values, found, cause, named=True)
    for found, cause in bound.seconds(material, "persistence"):
        told.add(found.about)
        yield from _storage(material, values, found, cause, named=False)
    for found, cause in _beside_pauses(material):
        if found.about not in told:
            yield from _storage(material, values, found, cause, named=False)


def _beside_pauses(material: Material) -> Iterator[tuple[Bottleneck, Cause]]:
    """Those for which storage was slow for some calls, by a part of what was waited for.

    What was slow for a minute is little of an hour in which the client mostly did nothing.
    """
    for found, cause in bound.of_each(material, "persistence"):
        if found.verdict is None or _slow(found) is None:
            continue
        parts = bound.active(material, found)
        waited_s = sum(each.time_s for each in parts if each.cause != "client")
        if cause.time_s >= bound.SECOND_SHARE * waited_s and "unknown" not in found.verdict.named:
            yield found, cause


def _of_an_export(material: Material, values: Values, found: Bottleneck) -> bool:
    """Whether one export of the server is slower than another: then these calls are its."""
    server = found.about[-1] if found.about else None
    told = slow_export.judge(material, values)
    return any(server is None or server in each.about for each in told)


def _slow(found: Bottleneck) -> SlowStorage | None:
    """The calls for which storage was slow, where it was for some; None where it was for all."""
    mixed = found.verdict is not None and found.verdict.storage == "mixed"
    return found.stable.slow if mixed else None


def _storage(
    material: Material, values: Values, found: Bottleneck, cause: Cause, *, named: bool
) -> Iterator[Observed]:
    """It waits for storage; nothing where nothing tells the round trip.

    What the verdict does not name is told only where it takes longer than with a cache: there is
    little to mend else, however short the round trip is beside it.
    """
    if found.verdict is None or found.rtt_s is None:
        return
    claims = (Claim("stable", found.storage_s),)
    median = found.stable_median_s or 0.0
    # By a clock that ticks, a call that waits for no storage may take a tick longer than others.
    least_s = values[DIFFERENCE.name] + (material.trust.clock_tick_s or 0.0)
    uncached = median - found.rtt_s > least_s or found.verdict.storage in ("data", "mixed")
    if not (named or uncached):
        return
    slow = uncached or median > values[RATIO.name] * found.rtt_s
    processor = _processor(material, values, found)
    queues = found.queue_s > found.rtt_s / 2
    advice: tuple[Advice, ...] = ADVICE if slow else ADVICE[1:3]
    severity = bound.severity(material, found, claims, large=slow)
    some = _slow(found)
    turn = None if processor else _in_turn(material, values, found)
    if some is not None and _of_an_export(material, values, found):
        severity, advice = "note", (EXPORT,)  # What is to be done stands there.
    elif found.verdict.storage == "uneven":
        apart = _of_an_export(material, values, found)
        severity = "note" if apart else "warning" if severity == "problem" else severity
        advice = (EXPORT,) if apart else (THREADS, *SCATTERED, *advice)
    elif some is not None:
        advice = (*(SLOWED if some.while_ns else SCATTERED), *advice)
        if severity == "warning" and not named:
            severity = by_cost(material, claims, sure=False)
    if turn is not None and EXPORT not in advice:
        first = ONE_THREAD_OTHER if is_other_server(material, turn.server) else ONE_THREAD
        advice = (first, *(each for each in advice if each not in (STREAMS, THREADS)))
    part = bound.much(material, found, cause.cause) if named else "A part of the time"
    pieces = _pieces(found)
    if pieces:
        instead = AT_ENDS if _at_ends(found) else AT_ONCE
        advice = tuple(
            instead if each is STREAMS else each for each in advice if each is not RECREATED
        )
    yield Observed(
        severity="warning" if processor and severity == "problem" else severity,
        title=_title(some, part),
        seen=f"{_took(found, some)} on average beyond the round trip of "
        f"{units.duration(found.rtt_s)}: {units.share(cause.share)} of "
        f"{bound.whose(material, found)}, by that mean.{_kinds(found)}"
        f"{pieces}{_operations(found)} "
        f"{processor or _storage_like(found, turn, queues=queues)}",
        why="The server may not answer CREATE, REMOVE, SETATTR, COMMIT and the like before they "
        "are on stable storage (RFC 1813, RFC 8881). A program that does one thing after the "
        "other waits for each of them: neither network nor bandwidth helps.",
        advice=tuple(_helping(found, advice, in_order=one_by_one(material, values, found))),
        confidence="certain"
        if found.verdict.storage in ("disk", "slow")
        and slow
        and not (queues or processor or turn)
        and found.stable.single
        else "likely",
        data=bound.data(found),
        frames=found.slowest,
        claims=claims,
        client_share=bound.client_share(found, claims),
        about=found.about,
    )


def _title(some: SlowStorage | None, part: str) -> str:
    """What is wrong, of a part of the time."""
    if some is None:
        return f"{part} goes into the server's storage"
    slow = "was slow for a while" if some.while_ns else "was slow for some calls"
    return f"{part} goes into the server's storage, which {slow}"


def _took(found: Bottleneck, some: SlowStorage | None) -> str:
    """What stable calls took, and how much of that a part of them did."""
    each = f"{units.duration(found.persist_s)} each"
    if some is None:
        return f"{units.counted(found.stable_calls, 'stable call')} took {each}"
    when = "scattered over time" if some.while_ns is None else when_slow(some)
    return (
        f"{units.count(some.calls)} of {units.counted(found.stable_calls, 'stable call')} took "
        f"{units.duration(some.mean_s)} longer than a small call, {when}. All together took {each}"
    )


def _helping(found: Bottleneck, advice: Sequence[Advice], *, in_order: bool) -> Iterator[Advice]:
    """What helps, given how stable calls, or programs, wait for one another; best first."""
    threads = {THREADS, ONE_THREAD, ONE_THREAD_OTHER}
    for place, each in enumerate(advice):
        if each is not STREAMS or not (found.stable.crowded or in_order):
            yield each
        if place == 0 and each not in threads and (found.stable.crowded or found.stable.waits):
            yield THREADS


def _processor(material: Material, values: Values, found: Bottleneck) -> str:
    """That its server's processor may be why, where it is slow without storage as well."""
    warm = busy(material, found.about[-1] if found.about else None, values)
    if warm is None or warm.median_s < PROCESSOR * found.persist_s:
        return ""
    return (
        f"At {warm.server} calls that need no storage wait for its processor "
        f"({units.duration(warm.median_s)}, see slow_service), and these may do so more than once: "
        "how much of it is storage cannot be told before that is mended."
    )


def _in_turn(material: Material, values: Values, found: Bottleneck) -> InTurn | None:
    """Its server, where that works on one call at a time, and stable ones mostly wait for others.

    One disk that takes requests as they come looks the same where all calls need it. So calls that
    need none must have stood in the same queue.
    """
    if not found.stable.crowded:
        return None
    about = found.about[-1] if found.about else None
    least = values[slow_service.LEAST.name]
    overtook = values[slow_service.IN_TURN.name]
    servers = [each for each in material.in_turn if about in (None, each.server)]
    if len(servers) != 1:
        return None
    (server,) = servers
    queue = in_turn.one_by_one(server, least, overtook)
    small = server.small >= least and server.small_overtook <= overtook * server.small
    return server if queue and small else None


def _storage_like(found: Bottleneck, turn: InTurn | None, *, queues: bool) -> str:
    """What the storage looks like, or why that cannot be told."""
    storage = (found.verdict and found.verdict.storage) or "flash"
    if turn is not None:
        return IN_TURN.format(
            small=units.counted(turn.small, "call"),
            overtook=f"{units.count(turn.small_overtook)} "
            f"{'was' if turn.small_overtook == 1 else 'were'}",
        )
    if queues:
        return QUEUES
    if _slow(found):
        return SHOWN_ALONE
    if storage in DEPENDS and found.stable.crowded:
        return CROWDED
    return WAITED if storage in DEPENDS and found.stable.waits else STORAGE[storage]


def _operations(found: Bottleneck) -> str:
    """How many stable operations each call holds, where that is several."""
    many = found.stable.operations
    if not found.stable.several:
        return ""
    return (
        f" Each of them holds {many:.1f} operations on average that must be stable, of "
        f"{units.duration(found.persist_s / many)} each."
    )


def _pieces(found: Bottleneck) -> str:
    """What is written to a few files, piece by piece, each made sure of; empty where not."""
    by_kind = {
        kind.op: kind.persist_s * kind.calls for kind in found.kinds if kind.persist_s is not None
    }
    if (
        found.stable_writes < EACH * max(1, found.stable_files)
        or by_kind.get("WRITE", 0.0) < MOSTLY * found.persist_s * found.stable_calls
    ):
        return ""
    written = (
        f" {units.counted(found.stable_writes, 'WRITE')} to "
        f"{units.counted(found.stable_files, 'file')} asked for stable storage each"
    )
    if _at_ends(found):
        return (
            f"{written}, at {units.count(found.stable_ends)} opens, closes and unlocks: before it "
            "closes or unlocks a file, a client sends what it has, and what is little in one such "
            "WRITE."
        )
    return (
        f"{written}: databases, "
        "disks of virtual machines and logs do so (O_SYNC, O_DSYNC, O_DIRECT, fsync after each "
        "write), and mounts with sync or noac." + (AT_ONE_FSYNC if found.stable.crowded else "")
    )


def _at_ends(found: Bottleneck) -> bool:
    """Whether that was about each time that a file was closed or unlocked."""
    return found.stable_writes <= PER_END * found.stable_ends


def _kinds(found: Bottleneck) -> str:
    told = [
        f"{kind.op} {units.duration(kind.persist_s)} ({units.count(kind.calls)})"
        for kind in found.kinds
        if kind.persist_s is not None
    ][:KINDS]
    return f" By kind: {', '.join(told)}." if told else ""


RULE = Rule(
    id="persistence_bound",
    title="Stable storage takes a large part of the time",
    origin="practice: service times of stable calls against others; RFC 1813 section 1.1",
    judge=judge,
    thresholds=(DIFFERENCE, RATIO),
    general=True,
)
