"""The server takes long for calls that need no stable storage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.servers.in_turn import OVERTOOK, one_by_one
from pcapnfs.diagnosis import bound, wording
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule, Severity
from pcapnfs.diagnosis.rules import small_rsize
from pcapnfs.diagnosis.rules.server_overload import queues
from pcapnfs.diagnosis.severity import MOST, by_cost
from pcapnfs.diagnosis.systems import is_other_server
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.in_turn import InTurn
    from pcapnfs.analyses.servers.server_times import ServerTime
    from pcapnfs.analyses.servers.warm_calls import WarmCalls
    from pcapnfs.diagnosis.material import Material

SMALL = Threshold(
    "slow_service.small", 0.001, "s", "median of a small call at the server; from memory",
    "practice: modern servers",
)  # fmt: skip
READ = Threshold(
    "slow_service.read", 0.005, "s", "median of READs at the server", "practice: flash"
)
WRITE = Threshold(
    "slow_service.write", 0.005, "s", "median of WRITEs answered UNSTABLE", "practice: flash"
)
SLOWER = Threshold(
    "slow_service.slower", 0.01, "s", "median of any of them; below, it is a note",
    "nfsslower (BCC): its default",
)  # fmt: skip
SUN = Threshold(
    "slow_service.sun", 0.05, "s", "median of any of them; from here on it may be a problem",
    "Sun: nfsstat -m, smoothed round trip times that call for action",
)  # fmt: skip
WARM = Threshold(
    "slow_service.warm", 0.005, "s",
    "median of calls about what the server has in memory; from here on it may be a problem",
    "default of this tool: several times what the slowest processors need that serve files",
)  # fmt: skip
LEAST = Threshold(
    "slow_service.least", 30, "calls", "calls of an operation, below which nothing is reported",
    "default of this tool",
)  # fmt: skip

IN_TURN = Threshold(
    "slow_service.in_turn", OVERTOOK, "share",
    "calls that overtook one which had come earlier, of those that would have if each took its "
    "time by itself; up to there the server is told to do one thing at a time",
    "default of this tool",
)  # fmt: skip

TOLD = 4
"""Operations that are told."""

OF_FILE = 0.5
"""Part of an operation's time from which on the file is told that it went into."""

SKEWED = 1.5
"""Means are told beside medians that they exceed by this factor: some calls took far longer."""

FEWER = 0.5
"""Part of the READs that larger ones would spare, from which on they come before disks."""

ONE_BY_ONE = "works on one call at a time"
"""What the title ends with of a server at which calls stand in one queue."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each server."""
    in_turn = {
        each.server: each
        for each in material.in_turn
        if one_by_one(each, values[LEAST.name], values[IN_TURN.name])
    }
    small_s = _small_s(material)
    large = _large(material, small_s)
    for server, group in groupby(_slow(material, values, large), key=lambda each: each.server):
        operations = list(group)
        worst = max(each.median_s for each in operations)
        slower = worst >= values[SLOWER.name]
        named = [each for each in operations if each in large]
        kinds = [kind for kind in _WHY if any(each.kind == kind for each in operations)]
        warm = busy(material, server, values) if "small" in kinds else None
        queue = in_turn.get(server) if slower and warm is None else None
        alone = _alone(material, server, values)
        untold = alone and queue is None and _may_queue(material, server, values)
        claims = _claims(operations, values, large, small_s)
        other = is_other_server(material, server)
        if warm is not None:
            claims = _together(claims, warm)
        most = _at_most(worst, warm, values, named=bool(named))
        clients = tuple(sorted({client for each in operations for client in each.clients}))
        yield Observed(
            severity="note"
            if most == "note"
            else by_cost(material, claims, sure=most == "problem"),
            at_most=most,
            title=_title(material, server, named, in_turn=queue is not None, slower=slower)
            if warm is None
            else f"The server {server} is slow even for what it has in memory",
            seen="Median time at the server, without the network: "
            f"{', '.join(_told(each) for each in operations[:TOLD])}."
            + "".join(_of_file(each) for each in operations[:TOLD])
            + ("" if queue is None else _in_turn(queue))
            + (_UNTOLD if untold else "")
            + ("" if warm is None else _warm(warm)),
            why=" ".join(
                _WHY_BUSY if kind == "small" and warm is not None else _WHY[kind] for kind in kinds
            ),
            advice=_advice(
                material,
                server,
                kinds,
                in_turn=queue is not None,
                alone=alone and not untold,
                small=_small(material, operations, values),
                other=other,
            )
            if warm is None
            else ((_PROCESSOR_OTHER if other else _PROCESSOR),),
            confidence="likely",
            data=units.counted(sum(each.calls for each in operations), "call"),
            frames=tuple(frame for each in operations for frame in each.frames[:2]),
            claims=claims,
            # Others, of other servers, do not wait for it.
            waiting=clients if all(each.clients for each in operations) else None,
        )


def _at_most(worst_s: float, warm: WarmCalls | None, values: Values, *, named: bool) -> Severity:
    """How grave it is at most, whatever it costs its clients."""
    if warm is not None:
        return MOST[warm.median_s >= values[WARM.name]]
    if worst_s < values[SLOWER.name] and not named:
        return "note"
    return MOST[worst_s >= values[SUN.name]]


def busy(material: Material, server: str | None, values: Values) -> WarmCalls | None:
    """What a server takes for what it has in memory, where that is long; None where it is not.

    Args:
        material: What the rules judge by.
        server: Its address; None: any of them, the slowest.
        values: The thresholds.
    """
    limit_s = values[SMALL.name] + _tick_s(material)
    found = [
        each
        for each in material.warm_calls
        if server in (None, each.server)
        and each.calls >= values[LEAST.name]
        and each.median_s > limit_s
    ]
    return max(found, key=lambda each: each.median_s, default=None)


def _tick_s(material: Material) -> float:
    """What a time may be too long by the capture's clock, seconds."""
    return material.trust.clock_tick_s or 0.0


def _together(claims: Sequence[Claim], warm: WarmCalls) -> tuple[Claim, ...]:
    """What all calls to a busy server wait for its processor, and what some wait longer."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for claim in claims:
        seconds[claim.row] += claim.seconds
    for row, cost_s in warm.cost_s:
        seconds[row] = max(seconds[row], cost_s)
    return tuple(Claim(row, cost_s) for row, cost_s in seconds.items() if cost_s)


def _warm(warm: WarmCalls) -> str:
    return (
        f" {units.counted(warm.calls, 'call')} about files that it had been asked about just "
        f"before, with nothing else of the client under way, took {units.duration(warm.median_s)} "
        "in the median: no disk and no queue explains that, and so long every call waits there."
    )


def _limits(values: Values) -> dict[str, float]:
    """Up to which time at the server calls are no matter, by kind, seconds."""
    return {"small": values[SMALL.name], "read": values[READ.name], "write": values[WRITE.name]}


def _slow(material: Material, values: Values, large: Sequence[ServerTime]) -> list[ServerTime]:
    """Operations that are slow for no reason of another rule, by server, costliest first."""
    limits, tick_s = _limits(values), _tick_s(material)
    # Where the link is full, data waits for it, and not for the server.
    moving = bound.names(material, "transfer")
    # Where small calls stand behind others, server_overload says so, and what for.
    queueing = {
        each.server
        for each in material.load
        if each.queued is not None and queues(each.queued, values)
    }
    # Where it waited for ACKs, delayed_ack says so.
    waiting: defaultdict[tuple[str, str], float] = defaultdict(float)
    for pair in material.held_segments:
        if pair.seen:
            waiting[pair.server, "read"] += pair.read_s
            waiting[pair.server, "unstable_write"] += pair.unstable_write_s
            waiting[pair.server, "unstable"] += pair.unstable_s
    slow = (
        each
        for each in material.server_times
        if each.calls >= values[LEAST.name]
        and waiting[each.server, each.row] < each.time_s / 2
        # Where most were late on the path, the others may have been without being seen so.
        and each.late <= each.calls
        and (each.sure_s > limits[each.kind] + tick_s or each in large)
        and not (moving if each.kind != "small" else each.server in queueing)
    )
    return sorted(slow, key=lambda each: (each.server, -each.time_s))


def _large(material: Material, small_s: float) -> list[ServerTime]:
    """Operations on data for which the verdict names the server, if it does.

    Each takes half of what is a large share of the time beyond what a small call takes there.
    """
    named = {found.about[:1] for found, _ in bound.each(material, "server")}
    worked = {found.about[:1]: bound.worked_s(material, found) for found in bound.alone(material)}
    return [
        each
        for each in material.server_times
        if each.kind != "small"
        and (whose := _whose(each, worked)) & named
        and _beyond_s(each, small_s) >= bound.SECOND_SHARE * sum(worked[one] for one in whose)
    ]


def _whose(each: ServerTime, worked: Iterable[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Those of the clients whose time is known that call a server so; of only one, that one."""
    known = set(worked)
    return known & {(client,) for client in each.clients} or known


def _small_s(material: Material) -> float:
    """What of the round trip is the server's, seconds; 0 where nothing tells."""
    found = material.bottleneck
    if found.rtt_s is None or found.network_rtt_s is None:
        return 0.0
    return max(found.rtt_s - found.network_rtt_s, 0.0)


def _beyond_s(each: ServerTime, least_s: float) -> float:
    """What an operation takes of the clock for the part of its time beyond this, seconds."""
    return each.time_s * (1 - least_s / each.mean_s) if each.mean_s > least_s else 0.0


def _claims(
    operations: Sequence[ServerTime], values: Values, large: Sequence[ServerTime], small_s: float
) -> tuple[Claim, ...]:
    """What goes beyond the time that would be no matter; of large ones, what the verdict counts."""
    limits = _limits(values)
    beyond = (
        (each.row, _beyond_s(each, small_s if each in large else limits[each.kind]))
        for each in operations
    )
    return tuple(Claim(row, cost_s) for row, cost_s in beyond if cost_s)


def _advice(
    material: Material,
    server: str,
    kinds: Sequence[str],
    *,
    in_turn: bool,
    alone: bool,
    small: bool,
    other: bool,
) -> tuple[Advice, ...]:
    """Where to look; `other`: at a server that is no Linux."""
    look = _LOOK_OTHER if other else _LOOK
    if in_turn:
        look = _THREADS_OTHER if other else _THREADS
    kept = _BY_KIND_OTHER if other else _BY_KIND
    by_kind = [
        _on_reads(material, server, alone=alone and not in_turn and kinds == ["read"], small=small)
        if kind == "read"
        else kept[kind]
        for kind in kinds
    ]
    first = (_LARGER,) if small else ()
    # Where small calls are fast, it is neither the processor nor threads.
    return (*first, *by_kind, look) if alone and not in_turn else (*first, look, *by_kind)


def _small(material: Material, operations: Sequence[ServerTime], values: Values) -> bool:
    """Whether the READs of a server are small, as another finding tells, so that most need not be.

    Their number takes time there whatever the disks do.
    """
    reads = sum(each.calls for each in operations if each.kind == "read")
    if not reads:
        return False
    server = operations[0].server
    told = small_rsize.judge(material, values)
    return sum(each.calls or 0 for each in told if each.about[1:2] == (server,)) >= FEWER * reads


def _on_reads(material: Material, server: str, *, alone: bool, small: bool) -> Advice:
    """What helps where READs wait for disks.

    Args:
        material: What the rules judge by.
        server: The address of the server.
        alone: Nothing else is slow there.
        small: They need not be as many.
    """
    pairs = [pair.reads for pair in material.transfer_runs if pair.server == server]
    calls, in_runs = sum(each.calls for each in pairs), sum(each.in_runs for each in pairs)
    if small:
        begin = "If larger READs take as long for as many bytes, it is the disks"
    elif alone:
        begin = "Small calls are fast there, so that most likely it is the disks"
    else:
        begin = "If READs alone are slow, it is the disks"
    if not calls or in_runs >= SCATTERED * calls:
        return Advice(f"{begin}: faster ones, more read-ahead, or a larger cache.")
    continued = units.count(in_runs) if in_runs else "none"
    return Advice(
        f"{begin}: faster ones, or more memory for what is read again. Reading ahead does not "
        f"help: of {units.counted(calls, 'READ')} {continued} "
        f"{'belongs' if in_runs == 1 else 'belong'} to a run of READs that continue one another."
    )


def _alone(material: Material, server: str, values: Values) -> bool:
    """Whether small calls are known to be fast at a server."""
    small = [
        each
        for each in material.server_times
        if (each.server, each.kind) == (server, "small") and each.calls >= values[LEAST.name]
    ]
    return bool(small) and all(each.median_s <= values[SMALL.name] for each in small)


def _may_queue(material: Material, server: str, values: Values) -> bool:
    """Whether calls may wait for one of its threads while small ones are fast.

    So it may be where many calls came behind others, unless small ones were among them and were
    answered first: those that come while nothing else is under way find a thread that is free.
    """
    found = next((each for each in material.in_turn if each.server == server), None)
    if found is None or found.behind < values[LEAST.name]:
        return False
    return not found.small or 2 * found.small_overtook < found.small


def _title(
    material: Material, server: str, named: Sequence[ServerTime], *, in_turn: bool, slower: bool
) -> str:
    if in_turn:
        return f"The server {server} {ONE_BY_ONE}"
    if named:
        operations = wording.several([f"{each.op}s" for each in named])
        much = bound.much_of_any(material, "server")
        return f"{much} goes into {operations} at the server {server}"
    if slower:
        return f"The server {server} is slow even where no stable storage is needed"
    return f"The server {server} answers later than it could"


def _in_turn(server: InTurn) -> str:
    return (
        f" They stand in one queue: of {units.counted(server.behind, 'call')} that came while "
        f"others were under way {units.count(server.overtook)} were answered before one that had "
        f"come earlier, where some {units.count(round(server.apart))} would have been if each took "
        "that time by itself."
    )


def _told(each: ServerTime) -> str:
    mean = ""
    if each.mean_s > SKEWED * each.median_s:
        mean = f", {units.duration(each.mean_s)} on average"
    return f"{each.op} {units.duration(each.median_s)}{mean} ({units.counted(each.calls, 'call')})"


def _of_file(each: ServerTime) -> str:
    """Which file most of an operation's time went into, where it is one."""
    if each.most is None or each.most_share < OF_FILE:
        return ""
    share = units.share(each.most_share)
    return f" Of the {each.op}s' time {share} went into {wording.places((each.most,))}."


_UNTOLD = (
    " Small calls are fast, but hardly any of them came while others waited and was answered "
    "first: nothing tells the disks from a server with too few threads."
)
"""What is said where calls may wait for a thread."""

_WHY = {
    "small": "Small calls are answered from memory: below a millisecond on a server that has the "
    "time. Where they take longer, calls queue for its processor or threads, or what they ask for "
    "comes from disk (cold inodes and directories).",
    "read": "READs of what the server has in memory take little longer than small calls; these "
    "wait for disks, for its processor or for its threads.",
    "write": "WRITEs answered UNSTABLE need no more than memory. Where they take longer, the "
    "server has to write out data to make room, or its processor or threads are busy.",
}
"""Why it matters, by kind of calls."""

_WHY_BUSY = (
    "GETATTR, ACCESS and CLOSE of what was in use just before need no disk: below a millisecond on "
    "a server that has the time. Here its processor has none for them: it has other work, its "
    "virtual machine gets too little of the host, or it wakes late from saving power. Whatever "
    "waits for storage waits for that as well, so that disks look slower than they are."
)
"""Why that matters where calls about what the server has in memory are slow."""

_PROCESSOR = Advice(
    "On the server, look at its processors first, while the work runs: what else they do (top, "
    "mpstat -P ALL 1), what the host leaves them (steal in mpstat), how deep they sleep "
    "(cpupower idle-info, cpupower frequency-info), whether one alone has the interrupts of the "
    "network (/proc/interrupts). A faster disk or another export option does not help against it."
)

_PROCESSOR_OTHER = Advice(
    "On the server, look with its own tools at its processors first, while the work runs. A faster "
    "disk or another export option does not help against it."
)

_LARGER = Advice(
    "Have each READ ask for more bytes first, as the finding on small READs says: every one has "
    "work of its own at the server, whatever its disks are."
)

_LOOK = Advice(
    "On the server, look at its processor, the threads of its NFS service and its disks (Linux: "
    "mpstat, and steal time of a virtual machine; /proc/net/rpc/nfsd, and threads in "
    "/etc/nfs.conf; iostat -x)."
)

_BY_KIND = {
    "small": Advice(
        "If only the first access is slow, memory for inodes and directories helps (more of it; "
        "Linux: lower vm.vfs_cache_pressure)."
    ),
    "write": Advice(
        "If WRITEs alone are slow, disks do not keep up with what is written: look at what waits "
        "to be written while it runs (Linux: Dirty and Writeback in /proc/meminfo)."
    ),
}
"""What else can be done, by kind of calls; of READs, `_on_reads` says it."""

SCATTERED = 0.1
"""Part of the READs that continue another one of their file, below which reading ahead fetches what
nobody asks for."""

_THREADS = Advice(
    "On the server, look at the number of threads of its NFS service first (Linux: "
    "/proc/fs/nfsd/threads, and threads in /etc/nfs.conf): one alone works on one call at a time. "
    "If there are more, it is one disk that takes requests as they come (Linux: iostat -x), or one "
    "processor that has little time for them (mpstat, and steal time of a virtual machine)."
)

_LOOK_OTHER = Advice(
    "On the server, look with its own tools at its processor, the threads of its NFS service and "
    "its disks."
)

_THREADS_OTHER = Advice(
    "On the server, look with its own tools at how many calls its NFS service works on side by "
    "side, and for one client; if that is more than one, at a disk that takes requests as they "
    "come, and at its processors."
)

_BY_KIND_OTHER = {
    "small": Advice(
        "If only the first access is slow, more memory for its caches of inodes and directories "
        "helps."
    ),
    "write": Advice(
        "If WRITEs alone are slow, disks do not keep up with what is written: look at what waits "
        "in its write cache while it runs."
    ),
}
"""The same of a server that says that it is not Linux."""

RULE = Rule(
    id="slow_service",
    title="The server takes long for calls that need no stable storage",
    origin="Sun: NFS server performance and tuning; nfsslower",
    judge=judge,
    thresholds=(SMALL, READ, WRITE, SLOWER, SUN, WARM, LEAST, IN_TURN),
)
