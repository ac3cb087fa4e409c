"""The server answers small calls more slowly the more calls it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.servers.server_queue import ALONE, NEARLY_ALL
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.systems import is_other_server
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.load import Load
    from pcapnfs.analyses.servers.server_queue import ServerQueue
    from pcapnfs.diagnosis.material import Material

RATIO = Threshold(
    "server_overload.ratio", 3, "times",
    "the least service time of small calls under load by that without", "default of this tool",
)  # fmt: skip
RISE = Threshold(
    "server_overload.rise", 0.0005, "s", "what it is longer under load", "default of this tool"
)
LEAST = Threshold(
    "server_overload.least", 30, "calls", "small calls at either load, below which nothing is "
        "reported",
    "default of this tool",
)  # fmt: skip

QUEUED = Threshold(
    "server_overload.queued", NEARLY_ALL, "share",
    "of the small calls that came while others were under way, those that waited until another one "
    "was done", "default of this tool",
)  # fmt: skip

HELD = Threshold(
    "server_overload.held", 0.5, "share",
    "of the small calls that waited, those that waited for one client's and are of others, for "
    "which it is named", "default of this tool",
)  # fmt: skip

APART = 4
"""Times as many calls under way, for load and without."""


_MORE_OTHER = Advice(
    "See whether the threads of its NFS service are all busy, and give it more where that can be "
    "set."
)
"""To a server that says that it is not Linux."""


_AT_A_TIME = (
    " Of those that came while fewer were, hardly one did: it works on {calls} calls at a time."
)
"""What is said besides where it does on more than one."""


QUEUE_AT = "Calls queue at the server "
"""How a title begins that is about small calls which wait for others."""

SINGLE = 1.1
"""Calls of a client under way on average, below which they come one by one."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each server."""
    tick = material.trust.clock_tick_s or 0.0
    for server in material.load:
        if server.queued is not None and queues(server.queued, values):
            yield _queue(server, server.queued, material, values)
            continue
        bands = [band for band in server.bands if band.calls >= values[LEAST.name]]
        if not bands:
            continue
        low, high = bands[0], bands[-1]
        rise = high.floor_s - low.floor_s
        if (
            high.least < APART * low.least
            # What takes less than a tick may take one; a call that takes one may take nothing.
            or high.floor_s - tick < values[RATIO.name] * (low.floor_s + tick)
            or rise - tick < values[RISE.name]
        ):
            continue
        loaded = [band for band in bands if band.median_s > low.median_s]
        claims = (
            Claim(
                "unstable",
                sum(band.time_s * (1 - low.median_s / band.median_s) for band in loaded),
            ),
        )
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            title=f"The server {server.server} slows down under load",
            seen=f"With {_few(low.least)} under "
            f"way a small call takes {units.duration(low.floor_s)} at least, with "
            f"{units.count(high.least)} and more {units.duration(high.floor_s)} (tenth "
            f"percentiles of {units.count(low.calls)} and {units.counted(high.calls, 'call')}).",
            why="Small calls need neither data nor disk. If even the fastest of them take longer, "
            "they stand in a queue: for its threads, for the processor, for a lock, or behind "
            "bulk data on the link.",
            advice=(
                _MORE_OTHER
                if is_other_server(material, server.server)
                else Advice(
                    "Give its NFS service more threads (Linux: threads in /etc/nfs.conf; 8 to 16 "
                    "are few for many clients), and see whether they are all busy."
                ),
                Advice("See whether the server's processor or its link is full at that time."),
                Advice("Spread the load: over time, or over servers."),
            ),
            confidence="likely",
            data=units.counted(server.calls, "call"),
            frames=high.frames,
            claims=claims,
        )


def queues(small: ServerQueue, values: Values) -> bool:
    """Whether nearly all small calls at a server wait until it is done with others."""
    return small.alone >= ALONE and small.waited >= max(
        values[LEAST.name], values[QUEUED.name] * small.behind
    )


def _queue(server: Load, small: ServerQueue, material: Material, values: Values) -> Observed:
    """Small calls stand behind others, as far as all of them take."""
    claims = (Claim("unstable", small.time_s), *_of_stable(material))
    elsewhere = (
        f" For {units.count(small.elsewhere)} of them that was a call on another connection."
        if small.elsewhere
        else ""
    )
    others = small.held >= values[HELD.name] * small.waited
    several = small.at_a_time > 1
    single = others and not several and _comes_one_by_one(material, small.holder)
    holder = (_holder(small.holder, single=single),) if others else ()
    if others:
        elsewhere = (
            f" For {units.count(small.held)} of them, of other clients, that was a call of "
            f"{small.holder}, mostly {small.holder_op}."
        )
    return Observed(
        severity=by_cost(material, claims, sure=False),
        title=f"{QUEUE_AT}{server.server}" + (f" behind those of {small.holder}" if others else ""),
        seen=f"{units.count(small.waited)} of {units.counted(small.behind, 'small call')} that "
        f"came while {f'{units.count(small.at_a_time)} or more ' if several else ''}others were "
        "under way waited until one of those was answered, and were "
        f"answered right after it: {units.duration(small.waited_s)} after they had come (median), "
        f"where it takes {units.duration(small.alone_s)} without others.{elsewhere}"
        + (_AT_A_TIME.format(calls=units.count(small.at_a_time)) if several else ""),
        why="Small calls need neither data nor disk: a server with a thread to spare answers them "
        "at once. Here "
        + (
            f"{small.holder} sends one call at a time, and that holds up the others, as where "
            "there is only one thread"
            if single
            else "all its threads wait for storage, as far as can be seen"
            if several
            else "all its threads wait for storage, or there is only one"
        )
        + (
            ""
            if small.elsewhere or several
            else ", or the server takes the calls of a connection one by one"
        )
        + ". Calls that need storage stand in the same queue, so that it looks slower than it is.",
        advice=(
            *(() if single else holder),
            _MORE_OTHER
            if is_other_server(material, server.server)
            else Advice(
                "Look at how many threads its NFS service has, and give it more (Linux: "
                "/proc/fs/nfsd/threads, and threads in /etc/nfs.conf; 8 to 16 are few for many "
                "clients)."
            ),
            *(holder if single else ()),
            Advice("Make storage faster: each thread is free again sooner."),
        ),
        confidence="likely",
        data=units.counted(server.calls, "call"),
        frames=small.frames,
        claims=claims,
        about=(server.server,),
    )


def _of_stable(material: Material) -> Iterator[Claim]:
    """What stable calls waited in the same queue: in the mean as long as small ones.

    Of several servers nothing tells which of them these called.
    """
    found = material.bottleneck
    if len(material.load) != 1 or found.rtt_s is None:
        return
    mean_s = found.rtt_s + found.persist_s
    if found.queue_s and mean_s and found.stable_s:
        yield Claim("stable", found.stable_s * min(1.0, found.queue_s / mean_s))


def _comes_one_by_one(material: Material, client: str) -> bool:
    """Whether a client's calls hardly ever overlap: none of them can keep several threads busy."""
    return any(
        each.client == client and each.concurrency is not None and each.concurrency < SINGLE
        for each in material.time_budget.clients
    )


def _holder(client: str, *, single: bool) -> Advice:
    when = "at another time, or on a server of its own."
    otherwise = (
        f"If it can wait, run it {when}"
        if single
        else "It does not keep all threads when it has fewer calls at once (fewer programs or "
        "streams side by side; on a Linux client sunrpc.tcp_max_slot_table_entries, and "
        f"nfs.max_session_slots for NFSv4.1), or does that work {when}"
    )
    return Advice(f"See what runs on {client}: the others wait for its calls. {otherwise}")


def _few(least: int) -> str:
    if least == 1:
        return "one call"
    return f"{units.count(least)} to {units.count(2 * least - 1)} calls"


RULE = Rule(
    id="server_overload",
    title="Small calls take longer the more calls are under way",
    origin="practice: thread starvation of NFS servers",
    judge=judge,
    thresholds=(RATIO, RISE, LEAST, QUEUED, HELD),
)
