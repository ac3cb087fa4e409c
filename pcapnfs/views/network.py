"""The screen of `network`, and its lines in `summarize`.

Takes a `Network`; gives renderables and sentences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from pcapnfs import units
from pcapnfs.analyses.wire.half import FEW_ACKS
from pcapnfs.text import escape
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import heading, note, unless_zero
from pcapnfs.views.prose import Prose
from pcapnfs.views.words import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from pcapnfs.analyses.mounts.sessions import Session
    from pcapnfs.analyses.times.concurrency import Concurrency, Moment
    from pcapnfs.analyses.wire.full_windows import FullWindow
    from pcapnfs.analyses.wire.half import Half
    from pcapnfs.analyses.wire.loss_rate import LossRate
    from pcapnfs.analyses.wire.network import Loss, Network, Path
    from pcapnfs.analyses.wire.round_trip import RoundTrip
    from pcapnfs.analyses.wire.slower_path import SlowerPath

VANTAGES = {
    "client": "at the client",
    "server": "at the server",
    "between": "between client and server",
}
"""How a vantage point reads after "captured"."""

HEIGHTS = " ▁▂▃▄▅▆▇█"
"""A column of the course over time, from nothing to the most."""

_TRIPS = (
    Column("client", align="left"),
    Column("server", align="left"),
    Column("calls", 2),
    Column("captured", align="left"),
    Column("to client"),
    Column("by (client)", 3, align="left"),
    Column("to server"),
    Column("by (server)", 3, align="left"),
    Column("longer half", 4),
)

_USES = (
    Column("client", align="left"),
    Column("server", align="left"),
    Column("over", align="left"),
    Column("with NFS"),
    Column("at once"),
    Column("security", 2, align="left", least=8, cut="end"),
    Column("READ", 1),
    Column("allowed", 4),
    Column("WRITE", 1),
    Column("allowed", 4),
    Column("outstanding", 3),
    Column("peak", 3),
)

_LOSSES = (
    Column("client resent"),
    Column("server resent"),
    Column("calls resent", 2),
    Column("out of order", 3),
    Column("missing", 3),
    Column("client shut", 1),
    Column("server shut", 1),
)

_SESSIONS = (
    Column("session", align="left", least=8, cut="end"),
    Column("client", align="left"),
    Column("server", align="left"),
    Column("connections"),
    Column("calls"),
    Column("slots used"),
    Column("offered"),
    Column("wanted", 2),
)


SHARED = 4
"""So many characters in common, or more, are left out of the identifiers of several sessions."""


GROWN = (
    "Slots offered are those that a session began with; the server let it use more since "
    "(target_highest_slotid). Slots used are counted up to the highest, however few calls were "
    "under way at once."
)
"""What it means that more were used than offered."""


def screen(result: Network) -> RenderableType:
    """Round trips, connections, losses, calls under way, sessions."""
    if not result.paths:
        return Text("No client called.")
    named = len(result.paths) > 1
    parts: list[RenderableType] = [
        Prose(" ".join((_whence(result), *slower(result)))),
        heading("Round trips"),
        FittedTable(_TRIPS, [_trip(path.round_trip) for path in result.paths], indent=2),
        *(note(text) for text in _evidence(result.paths[0].round_trip, named=named)),
        *(note(text) for path in result.paths for text in _trunk(path.round_trip)),
        *(note(_slow_evidence(path, named=named)) for path in result.slower_paths),
        heading("Connections"),
        FittedTable(_USES, [_use(path) for path in result.paths], indent=2, naming=True),
        heading("Losses"),
        *_losses(result),
        *(note(held_down(rate, named=named)) for rate in result.loss_rates),
        *(note(full_window(window, named=named)) for window in result.full_windows),
        heading("Calls under way"),
        note(_under_way(result.concurrency, "Answered calls", idle=True)),
        *_course(result.timeline),
    ]
    if result.shown_sessions:
        common = _in_common([session.session for session in result.shown_sessions])
        rows = [_session(session, common) for session in result.shown_sessions]
        parts += [heading("Sessions"), FittedTable(_SESSIONS, rows, indent=2, naming=True)]
        if any(_grown(session) for session in result.shown_sessions):
            parts.append(note(GROWN))
        if (hidden := result.sessions - len(result.shown_sessions)) > 0:
            parts.append(note(f"{units.counted(hidden, 'more session')}."))
    return Group(*parts)


def _grown(session: Session) -> bool:
    """Whether it used more slots than it was offered at first."""
    return session.slots_offered is not None and session.slots_used > session.slots_offered


def lines(result: Network, *, unanswered: int = 0) -> tuple[str, ...]:
    """The network in a few sentences; nothing without calls.

    Args:
        result: The network.
        unanswered: Calls without reply, which are under way nowhere here.
    """
    if not result.paths:
        return ()
    facts = [_connections(result)]
    sizes = (
        ("READs", [path.rsize_bytes for path in result.paths if path.rsize_bytes is not None]),
        ("WRITEs", [path.wsize_bytes for path in result.paths if path.wsize_bytes is not None]),
    )
    if told := [f"{what} of {units.size(max(each))}" for what, each in sizes if each]:
        facts.append(f"{' and '.join(told)} at most")
    found = [
        " ".join((_whence(result), *slower(result))),
        f"{'; '.join(facts)}.",
        _under_way(result.concurrency, "Answered calls" if unanswered else "Calls"),
    ]
    if losses := lost(result.loss, result.resent_calls):
        found.append(losses)
    found += list(_trunked(result))[:TOLD]
    for session in result.shown_sessions[:1]:
        used, limit = session.slots_used, session.slots_limit
        slots = units.counted(limit or used, "slot")
        found.append(
            f"The busiest session used {f'{units.count(used)} of ' if limit else ''}{slots} over "
            f"{units.counted(session.connections, 'connection')}."
        )
    return tuple(found)


def _whence(result: Network) -> str:
    rtt_s = result.tcp_rtt_s or None  # Without times of packets it would be 0.
    bound = "at most " if result.rtt_source == "gaps" else ""
    takes = f"the network's round trip takes {bound}{units.duration(rtt_s)}."
    teller = _teller(result.paths)
    match result.vantage, rtt_s:
        case "unknown", None:
            return _NOTHING_TOLD[teller]
        case "unknown", _:
            return f"{_NO_PLACE[teller]} where this was captured; {takes}"
        case vantage, None:
            return f"Captured {VANTAGES[vantage]}; how long a round trip takes is not known."
        case vantage, _:
            return f"Captured {VANTAGES[vantage]}; {takes}"


def _teller(paths: Sequence[Path]) -> str:
    """What could tell of these paths where it was taken: `tcp`, `rdma`, `both` or `none`."""
    over = {transport for path in paths for transport in path.transports}
    if over == {"UDP"}:
        return "none"
    if "RDMA" not in over:
        return "tcp"
    return "both" if over & {"TCP", "TLS"} else "rdma"


_NOTHING_TOLD = {
    "tcp": "TCP tells neither where this was captured nor how long a round trip takes.",
    "rdma": "The adapters' acknowledgements tell neither where this was captured nor how long a "
    "round trip takes.",
    "both": "Neither TCP nor RDMA tells where this was captured, or how long a round trip takes.",
    "none": "UDP tells neither where this was captured nor how long a round trip takes.",
}
"""That nothing is known of the path, by what could tell."""

_NO_PLACE = {
    "tcp": "TCP does not tell",
    "rdma": "The adapters' acknowledgements do not tell",
    "both": "Neither TCP nor RDMA tells",
    "none": "UDP does not tell",
}
"""The same of the vantage point alone, before what is not told."""


def slower(result: Network) -> tuple[str, ...]:
    """When the path was longer than otherwise, a sentence for each of the first."""
    named = len(result.paths) > 1
    told = tuple(_slower(path, named=named) for path in result.slower_paths[:TOLD])
    if (more := len(result.slower_paths) - TOLD) > 0:
        told += (f"So {'was' if more == 1 else 'were'} {units.counted(more, 'more path')}.",)
    return told


TOLD = 3
"""Paths that were longer for a while of which each is told."""


def _whose(path: SlowerPath | LossRate | FullWindow | RoundTrip, *, named: bool) -> str:
    """Client and server in brackets, where there are several."""
    return f" ({escape(path.client)}, {escape(path.server)})" if named else ""


def _slower(path: SlowerPath, *, named: bool) -> str:
    whose = _whose(path, named=named)
    if path.late_calls:
        return (
            f"{_when(path)} {units.counted(path.late_calls, 'call')} had not reached the "
            f"{path.side} after {units.duration(path.rtt_s)} (median), where a round trip takes "
            f"{units.duration(path.usual_s)}{_full(path)}{whose}."
        )
    if path.alone:
        return (
            f"{_when(path)} {units.counted(path.alone, 'reply', 'replies')} had not reached the "
            f"{path.side} after {units.duration(path.rtt_s)} (median), where a round trip takes "
            f"{units.duration(path.usual_s)}{_full(path)}{whose}."
        )
    stays = ", and to the end of the capture," if path.stays else ""
    return (
        f"{_when(path)}{stays} a round trip to the {path.side} "
        f"{'took' if path.known else 'may have taken'} {units.duration(path.rtt_s)}, "
        f"instead of {units.duration(path.usual_s)}{_full(path)}{whose}."
    )


def _full(path: SlowerPath) -> str:
    """That it was a link that data filled."""
    how = "is narrow" if path.alone else "was full"
    return f": the link to the {path.filled} {how}" if path.filled else ""


def _when(path: SlowerPath) -> str:
    return f"From {units.clock(path.from_ns)} to {units.clock(path.until_ns)} UTC"


def _slow_evidence(path: SlowerPath, *, named: bool) -> str:
    """What it rests on that a path was longer."""
    whose = _whose(path, named=named)
    if path.late_calls:
        return (
            f"{_when(path)}, to the {path.side}{whose}: "
            f"{units.counted(path.late_calls, 'call')} that the {path.side} had not received when "
            f"it acknowledged less; {path.confidence}."
        )
    if path.alone:
        return (
            f"{_when(path)}, to the {path.side}{whose}: "
            f"{units.counted(path.alone, 'reply', 'replies')} that the {path.side} had not "
            f"received when it acknowledged less; {path.confidence}."
        )
    if path.late_replies:
        return (
            f"{_when(path)}, to the {path.side}{whose}: "
            f"{units.counted(path.late_replies, 'small reply', 'small replies')} that came "
            f"{units.duration(path.back_s or 0.0)} later than others after the {path.side} had "
            f"sent them, by its clock; {path.confidence}."
        )
    told = []
    if path.acks:
        undelayed = f" ({units.count(path.undelayed)} not delayed)"
        told.append(
            units.counted(path.acks, "ACK without data", "ACKs without data")
            + (undelayed if path.undelayed else "")
        )
    if path.turns:
        at_once = f" ({units.count(path.at_once)} sent at once)" if path.at_once else ""
        told.append(units.counted(path.turns, *_TURNS) + at_once)
    return (
        f"{_when(path)}, to the {path.side}{whose}: {', '.join(told)}; the shortest "
        f"{units.duration(path.rtt_s)}; {path.confidence}."
    )


def _connections(result: Network) -> str:
    path = result.paths[0]
    counted = units.counted(result.connections, "connection")
    if path.nfs_connections_at_once > 1:
        counted += f", {units.count(path.nfs_connections_at_once)} with NFS at once"
    names = [*path.transports, *(escape(flavor) for flavor in path.flavors)]
    return f"{counted} ({', '.join(names)})"


def _trip(trip: RoundTrip) -> list[str]:
    return [
        escape(trip.client),
        escape(trip.server),
        units.count(trip.calls),
        trip.vantage,
        trip_time(trip.client_side),
        trip_source(trip.client_side),
        trip_time(trip.server_side),
        trip_source(trip.server_side),
        _longer(trip),
    ]


def _trunk(trip: RoundTrip) -> Iterator[str]:
    """The pairs of addresses that a client and a server use together, if they are several."""
    if not trip.address_pairs:
        return
    yield (
        f"{escape(trip.client)} and {escape(trip.server)} use "
        f"{units.counted(len(trip.address_pairs), 'pair')} of addresses together (trunking); the "
        "line is that with most calls:"
    )
    for pair in trip.address_pairs:
        yield (
            f"{escape(pair.client_address)} → {escape(pair.server_address)}: "
            f"{units.counted(pair.calls, 'call')} on "
            f"{units.counted(pair.connections, 'connection')}, "
            f"{units.duration(pair.client_rtt_s)} to the client, "
            f"{units.duration(pair.server_rtt_s)} to the server, {units.count(pair.resent)} resent."
        )


def _trunked(result: Network) -> Iterator[str]:
    """That clients and servers use several pairs of addresses, for `summarize`."""
    for path in result.paths:
        if pairs := path.round_trip.address_pairs:
            own = path.round_trip.client, path.round_trip.server
            others = [
                f"{escape(pair.client_address)} → {escape(pair.server_address)}"
                for pair in pairs
                if (pair.client_address, pair.server_address) != own
            ]
            yield (
                f"{escape(own[0])} and {escape(own[1])} also use "
                f"{', '.join(others[:TOLD])}{' …' * (len(others) > TOLD)} (trunking)."
            )


def _longer(trip: RoundTrip) -> str:
    """How many times as long as the other the longer half is."""
    return units.UNKNOWN if trip.ratio is None else f"{units.number(trip.ratio)}× the other"


def trip_time(half: Half) -> str:
    """A half of the round trip, and whether it is a bound."""
    bound = "≤ " if half.source == "gaps" else ""
    return f"{bound}{units.duration(half.rtt_s)}"


def trip_source(half: Half) -> str:
    """What a half of the round trip rests on."""
    match half.source:
        case "handshake":
            slow = (half.handshake_s or 0.0) > (half.rtt_s or 0.0)
            return units.counted(half.handshakes, "handshake") + (", quicker answers" * slow)
        case "acks":
            # Of more of them the delayed ones are left out, not the slow.
            slow = half.acks <= FEW_ACKS and (half.ack_s or 0.0) > (half.rtt_s or 0.0)
            return units.counted(half.acks, "ACK") + (", quicker answers" * slow)
        case "gaps":
            if half.turns and half.rtt_s == half.turn_s:
                return units.counted(half.turns, *_TURNS)
            return units.counted(half.gaps, "gap")
        case "none":
            return ""


_TURNS = ("ACK with data", "ACKs with data")
"""What came back with the next message of an end, of one and of many."""


def _evidence(trip: RoundTrip, *, named: bool) -> Iterator[str]:
    """What the first line of the table rests on."""
    whose = _whose(trip, named=named)
    for place, half in (("client", trip.client_side), ("server", trip.server_side)):
        facts = [
            (half.handshakes, "handshake", "handshakes", half.handshake_s),
            (half.acks, "ACK without data", "ACKs without data", half.ack_s),
            (half.turns, *_TURNS, half.turn_s),
        ]
        told = [
            f"{units.counted(number, one, many)} ({units.duration(time_s)})"
            for number, one, many, time_s in facts
            if number
        ]
        shortest = units.duration(half.least_s)
        if told:
            yield f"To the {place}{whose}: {', '.join(told)}; the shortest {shortest}."


def _use(path: Path) -> list[str]:
    return [
        escape(path.round_trip.client),
        escape(path.round_trip.server),
        " ".join(path.transports),
        units.count(path.nfs_connections),
        units.count(path.nfs_connections_at_once),
        ", ".join(escape(flavor) for flavor in path.flavors),
        units.size(path.rsize_bytes),
        units.size(path.max_read_bytes),
        units.size(path.wsize_bytes),
        units.size(path.max_write_bytes),
        units.number(path.concurrency.mean),
        units.count(path.concurrency.peak),
    ]


def _losses(result: Network) -> Iterator[RenderableType]:
    """A row for each path that lost something, or a sentence that none did."""
    lossy = [path for path in result.paths if lost(path.loss, path.resent_calls)]
    if lossy:
        columns = (
            Column("client", align="left"),
            Column("server", align="left"),
            Column(counted_title(lossy)),
            *_LOSSES,
        )
        yield FittedTable(columns, [_loss(path) for path in lossy], indent=2, naming=True)
    else:
        words = sent(result.paths)
        number = units.counted(result.loss.segments, *words)
        # Of datagrams nobody tells that one was lost, but for those who send the call again.
        seen = "None" if words == SEGMENTS else "None seen"
        rest = (
            "no call sent again" if words == DATAGRAMS else "nothing sent again, missing or held up"
        )
        yield note(f"{seen}: {number}, {rest}.")


def held_down(rate: LossRate, *, named: bool) -> str:
    """That data moved no faster for what was lost."""
    whose = _whose(rate, named=named)
    each = " on each connection" if rate.connections > 1 else ""
    return (
        f"Data of the {rate.sender}{whose} moved at {units.rate(rate.bytes_per_s)}"
        f"{each}; "
        f"where {units.share(rate.lost_share)} of the segments are lost and a round trip takes "
        f"{units.duration(rate.rtt_s)}, TCP comes to about "
        f"{units.size(rate.allowed_bytes_per_s)} a second."
    )


def full_window(window: FullWindow, *, named: bool) -> str:
    """That a sender stood since the receiver's window was full."""
    sender = "server" if window.receiver == "client" else "client"
    whose = _whose(window, named=named)
    shared = " (mean of connections)" if window.busy_connections > 1 else ""
    return (
        f"The {sender} stood for {units.duration(window.stood_s)}{shared} since the "
        f"{window.receiver}'s TCP window{whose} was full: {units.size(window.window_bytes)}, "
        f"which goes round in {units.duration(window.turn_s)}."
    )


SEGMENTS = ("segment", "segments")
"""What TCP sends."""

DATAGRAMS = ("datagram", "datagrams")
"""What UDP sends."""

MESSAGES = ("message", "messages")
"""What RDMA sends."""


def counted_title(paths: Sequence[Path]) -> str:
    """The title above how many of these were sent."""
    words = sent(paths)
    return words[1] if words in (SEGMENTS, DATAGRAMS, MESSAGES) else "sent"


def sent(paths: Sequence[Path]) -> tuple[str, str]:
    """What was sent on these paths, of one and of many."""
    over = {transport for path in paths for transport in path.transports}
    kinds = [
        words
        for words, transports in (
            (SEGMENTS, over - {"UDP", "RDMA"}),
            (DATAGRAMS, over & {"UDP"}),
            (MESSAGES, over & {"RDMA"}),
        )
        if transports
    ] or [SEGMENTS]
    return " or ".join(one for one, _ in kinds), " and ".join(many for _, many in kinds)


def _loss(path: Path) -> list[str]:
    loss = path.loss
    return [
        escape(path.round_trip.client),
        escape(path.round_trip.server),
        units.count(loss.segments),
        unless_zero(loss.client_resent),
        unless_zero(loss.server_resent),
        unless_zero(path.resent_calls),
        unless_zero(loss.out_of_order),
        units.size(loss.missing_bytes) if loss.missing_bytes else "",
        units.duration(loss.client_zero_window_s) if loss.client_zero_window_s else "",
        units.duration(loss.server_zero_window_s) if loss.server_zero_window_s else "",
    ]


def lost(loss: Loss, resent_calls: int) -> str:
    """What was lost in a sentence; nothing where nothing was."""
    facts = []
    if resent := loss.client_resent + loss.server_resent - loss.rdma_resent:
        share = units.share(loss.resent_share)
        facts.append(f"{units.counted(resent, 'segment')} sent again ({share})")
    if loss.rdma_resent:
        facts.append(f"{units.counted(loss.rdma_resent, 'RDMA packet')} sent again")
    if loss.out_of_order:
        facts.append(f"{units.counted(loss.out_of_order, 'segment')} out of order")
    if loss.missing_bytes:
        facts.append(f"{units.size(loss.missing_bytes)} missing")
    if resent_calls:
        facts.append(f"{units.counted(resent_calls, 'call')} sent again")
    for who, time_s in (
        ("clients", loss.client_zero_window_s),
        ("servers", loss.server_zero_window_s),
    ):
        if time_s:
            facts.append(f"{who} shut their window for {units.duration(time_s)}")
    return sentence(", ".join(facts))


def _under_way(calls: Concurrency, which: str, *, idle: bool = False) -> str:
    """How many calls were under way at once; with `idle`, also for how long none was.

    Beside a time budget, which has waits between calls and what lies before the first of them, that
    would be another number for what looks like the same.
    """
    if calls.mean is None:
        return f"Calls: none {'took any time' if calls.peak else 'was answered'}."
    idle_s = calls.span_s - calls.busy_s
    none = ""
    if idle and idle_s > 0:
        span = f"the {units.duration(calls.span_s)} from the first call to the last reply"
        none = f"; none for {units.duration(idle_s)} of {span}"
    return (
        f"{which}: {units.number(calls.mean)} under way on average while any was, "
        f"{units.count(calls.peak)} at most{none}."
    )


def _course(moments: Sequence[Moment]) -> Iterator[RenderableType]:
    """A column for each part of the time; the highest is the most that was under way."""
    most = max((moment.outstanding for moment in moments), default=0.0)
    if len(moments) < 2 or not most:
        return
    steps = len(HEIGHTS) - 1
    drawn = "".join(
        HEIGHTS[max(1, round(moment.outstanding / most * steps)) if moment.outstanding > 0 else 0]
        for moment in moments
    )
    width_s = moments[1].at_s - moments[0].at_s
    yield Text(f"  {drawn}", no_wrap=True)
    yield note(
        f"Each column is {units.duration(width_s)}; the highest is {units.number(most)} under way."
    )


def _in_common(identifiers: Sequence[str]) -> int:
    """How much all begin with, to be left out: what tells them apart is not to be cut off."""
    places = enumerate(zip(*identifiers, strict=False))
    shared = next((place for place, letters in places if len(set(letters)) > 1), 0)
    return shared if shared >= SHARED else 0


def _session(session: Session, common: int) -> list[str]:
    """A row; without what its identifier has in common with all others, so many characters."""
    least, most = session.slots_wanted_least, session.slots_wanted_most
    wanted = units.count(most)
    if least != most:
        wanted = f"{units.count(least)}–{units.count(most)}"
    return [
        f"…{session.session[common:]}" if common else session.session,
        " ".join(escape(address) for address in session.clients),
        " ".join(escape(address) for address in session.servers),
        units.count(session.connections),
        units.count(session.calls),
        units.count(session.slots_used),
        units.count(session.slots_offered),
        wanted,
    ]
