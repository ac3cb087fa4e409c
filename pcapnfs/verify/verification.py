"""Whether pcapnfs and tshark read a capture alike: the result of `pcapnfs verify`.

Takes a trace and the captures that it was made of; gives a `Verification`. Promises that every
call is held against tshark's, and that a difference is either explained by its own circumstances
or counted as unexplained.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pcapnfs.errors import UsageError
from pcapnfs.record import Record, replace
from pcapnfs.verify import messages, ours, tool
from pcapnfs.verify.compare import Tally, compare
from pcapnfs.verify.reasons import TEXTS, Situation
from pcapnfs.verify.source import one_file

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

ASPECTS = ("call", "call frame", "operations", "reply", "results", "status", "service time")
"""What is compared of each call, in the order in which it is told."""

PORTED = ("tcp", "udp")
"""Transports whose ports tshark is told of."""

PORTS_LIMIT = 500
"""Ports that tshark is told to be RPC; of more, it finds the others by itself or not at all."""


class Aspect(Record):
    """One thing that was compared of each call."""

    aspect: str
    """`call` (program, version, procedure), `call frame` (the frame that completes it),
    `operations` (of a compound), `reply` (the frame that completes it), `results` (operations that
    it has results of), `status`, `service time` (to the nanosecond)."""
    compared: int
    """Calls in which both sides tell it."""
    agreed: int
    """Those of them in which they tell the same."""


class Difference(Record):
    """Differences of one kind with one reason."""

    kind: str
    """One of the aspects, or `only pcapnfs`, `only tshark` (a call that the other does not show),
    `reply without call` (to tshark, and not to pcapnfs)."""
    reason: str | None
    """Code of the reason that the circumstances of each of these calls prove; None when there is
    none, so that pcapnfs may be wrong."""
    meaning: str | None
    """The reason in words; None likewise."""
    count: int
    """How many there are."""
    frames: tuple[int, ...]
    """Frames of the first of them, counted over all files."""


class Overruled(Record):
    """A port whose packets tshark would have taken for another protocol."""

    transport: str
    """`tcp` or `udp`."""
    port: int
    """The port of a client."""
    protocol: str
    """What tshark would take it for."""


class Verification(Record):
    """How far pcapnfs and tshark agree."""

    tshark: str
    """Version of tshark."""
    packets: int | None
    """Only this many packets were compared; None: all."""
    calls: int
    """Calls that pcapnfs found."""
    tshark_calls: int
    """Calls that tshark found; one sent again on another connection counts once."""
    pairs: int
    """Calls that both found."""
    repeated: int
    """Messages that tshark marks as repeated, or that pcapnfs knows to be."""
    resent: int
    """Calls sent again on another connection, which tshark shows as calls of their own."""
    unexplained: int
    """Differences without a reason."""
    aspects: tuple[Aspect, ...]
    """What was compared of each pair."""
    differences: tuple[Difference, ...]
    """Where they differ, unexplained ones first."""
    overruled: tuple[Overruled, ...]
    """Ports of clients that tshark would have taken for other protocols, had it not been told."""
    stopped: str | None
    """Why tshark did not read the captures to their end; None when it did, or when they merely
    break off."""
    options: tuple[str, ...]
    """What tshark was told, for a look at the same packets by hand."""


def verify(
    trace: Trace,
    paths: Sequence[str],
    *,
    packets: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Hold a trace against what tshark makes of the captures.

    Args:
        trace: The trace.
        paths: The captures that it was made of.
        packets: Compare the first packets only, so many; None: all.
        progress: Called now and then with bytes compared and bytes in all, about.

    Raises:
        CaptureError: tshark cannot read a capture.
        NoTsharkError: tshark is not installed.
        UsageError: A capture is standard input, or `packets` is no positive number.
    """
    if packets is not None and packets < 1:
        raise UsageError("a number of packets begins at 1")
    version = tool.version()
    servers, clients = ours.ports(trace)
    options = settings(trace)
    situation = replace(
        _situation(trace),
        orphans=ours.orphans(trace),
        used_again=ours.used_again(trace),
        unsure=ours.unsure(trace),
    )
    complaints: list[str] = []
    with one_file(paths, trace.meta.files) as path:
        tally = compare(
            ours.calls(trace, packets),
            _reporting(
                messages.messages(path, options, last_frame=packets, complaints=complaints),
                min(sum(file.packets for file in trace.meta.files), packets or sys.maxsize),
                sum(file.bytes for file in trace.meta.files),
                progress,
            ),
            repeated=ours.repeated(trace),
            situation=situation,
        )
    owners = tool.owners(clients - servers)
    return Verification(
        tshark=version,
        packets=packets,
        calls=tally.ours,
        tshark_calls=tally.theirs,
        pairs=tally.pairs,
        repeated=tally.repeated,
        resent=tally.resent,
        unexplained=sum(
            found.count for (_, reason), found in tally.differences.items() if reason is None
        ),
        aspects=tuple(
            Aspect(name, tally.compared[name], tally.agreed[name])
            for name in ASPECTS
            if tally.compared[name]
        ),
        differences=_differences(tally),
        overruled=tuple(
            Overruled(transport, port, protocol)
            for (transport, port), protocol in sorted(owners.items())
        ),
        stopped=complaints[0] if complaints else None,
        options=options,
    )


def _reporting(
    theirs: Iterable[messages.Message | messages.Silence],
    packets: int,
    size: int,
    progress: Callable[[int, int], None] | None,
) -> Iterator[messages.Message | messages.Silence]:
    """The same messages; `progress` is told how far they have come."""
    for number, message in enumerate(theirs):
        if progress is not None and number % _OFTEN == 0:
            progress(min(size, size * message.frame // packets), size)
        yield message


_OFTEN = 500
"""Messages between two reports of progress."""


def settings(trace: Trace) -> tuple[str, ...]:
    """What tshark must be told to read a capture rightly.

    Clients of NFS use ports below 1024, many of which belong to other protocols; tshark asks the
    dissector of the lower port first, and then shows none of a connection's RPC. And it waits for
    segments that are out of order only when told; where packets were cut at a snaplen, or are not
    in the capture, it must not, as it would wait for them for ever.
    """
    whole = not _situation(trace).impatient
    options = ["-o", f"tcp.reassemble_out_of_order:{str(whole).upper()}"]
    servers, _ = ours.ports(trace)
    # What RDMA carries tshark finds by itself.
    carried = sorted((transport, port) for transport, port in servers if transport in PORTED)
    for transport, port in carried[:PORTS_LIMIT]:
        options += ["-d", f"{transport}.port=={port},rpc"]
    return tuple(options)


def _situation(trace: Trace) -> Situation:
    """What is known of the capture as a whole, without its orphans."""
    gaps = trace.rows(
        "select 1 from connections where missing_bytes + client_lost + server_lost > 0 limit 1"
    )
    return Situation(
        truncated=any(file.truncated_packets for file in trace.meta.files),
        missing=bool(gaps),
        odd_times=any(
            file.mistimed_packets or file.set_back or file.set_forward for file in trace.meta.files
        ),
        mixed_up=any(file.late_packets for file in trace.meta.files),
    )


def _differences(tally: Tally) -> tuple[Difference, ...]:
    found = sorted(
        tally.differences.items(), key=lambda item: (item[0][1] is not None, -item[1].count)
    )
    return tuple(
        Difference(
            kind=kind,
            reason=reason,
            meaning=None if reason is None else TEXTS[reason],
            count=told.count,
            frames=tuple(told.frames),
        )
        for (kind, reason), told in found
    )
