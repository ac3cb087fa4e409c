"""What lies between clients and servers: round trips, connections, losses, sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.views import network as view
from pcapnfs.views.report import blocks
from pcapnfs.views.report.blocks import Block, Cell, Column, Paragraph, Section, quoted

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.half import Half
    from pcapnfs.analyses.wire.network import Network, Path
    from pcapnfs.report import Report


def section(report: Report) -> Section | None:
    """The network; None where no client called."""
    found = report.summary.network
    if not found.paths:
        return None
    told = view.lines(found, unanswered=report.summary.trust.unanswered)
    parts: list[Block] = [Paragraph(quoted(line)) for line in told]
    parts += [_trips(found), _uses(found)]
    lost = [path for path in found.paths if view.lost(path.loss, path.resent_calls)]
    if lost:
        parts.append(_losses(lost))
    if found.shown_sessions:
        parts.append(_sessions(found))
    return Section("network", "Network", tuple(parts), ("rtt", "concurrency", "loss"))


def _trips(found: Network) -> Block:
    columns = [
        Column("client", "name"),
        Column("server", "name"),
        Column("calls"),
        Column("captured at", "words"),
        Column("to client"),
        Column("told by", "words"),
        Column("to server"),
        Column("told by", "words"),
    ]
    rows = [
        [
            blocks.name(trip.client),
            blocks.name(trip.server),
            blocks.total(trip.calls),
            blocks.words(trip.vantage),
            *_half(trip.client_side),
            *_half(trip.server_side),
        ]
        for trip in (path.round_trip for path in found.paths)
    ]
    return blocks.table("Round trips between capture point and either end", columns, rows)


def _half(half: Half) -> list[Cell]:
    return [Cell(view.trip_time(half), half.rtt_s), blocks.words(view.trip_source(half))]


def _uses(found: Network) -> Block:
    columns = [
        Column("client", "name"),
        Column("server", "name"),
        Column("over", "words"),
        Column("NFS connections"),
        Column("at once"),
        Column("security", "words"),
        Column("largest READ"),
        Column("READ allowed"),
        Column("largest WRITE"),
        Column("WRITE allowed"),
        Column("under way"),
        Column("peak"),
    ]
    rows = [
        [
            blocks.name(path.round_trip.client),
            blocks.name(path.round_trip.server),
            blocks.words(" ".join(path.transports)),
            blocks.total(path.nfs_connections),
            blocks.total(path.nfs_connections_at_once),
            Cell(", ".join(blocks.told(flavor, 20) for flavor in list(path.flavors)[:4])),
            blocks.size(path.rsize_bytes),
            blocks.size(path.max_read_bytes),
            blocks.size(path.wsize_bytes),
            blocks.size(path.max_write_bytes),
            blocks.mean(path.concurrency.mean),
            blocks.total(path.concurrency.peak),
        ]
        for path in found.paths
    ]
    return blocks.table("Connections, largest transfers, calls under way", columns, rows)


def _losses(paths: list[Path]) -> Block:
    columns = [
        Column("client", "name"),
        Column("server", "name"),
        Column(view.counted_title(paths)),
        Column("client resent"),
        Column("server resent"),
        Column("calls resent"),
        Column("out of order"),
        Column("missing"),
        Column("client shut"),
        Column("server shut"),
    ]
    rows = [
        [
            blocks.name(path.round_trip.client),
            blocks.name(path.round_trip.server),
            blocks.total(path.loss.segments),
            blocks.count(path.loss.client_resent),
            blocks.count(path.loss.server_resent),
            blocks.count(path.resent_calls),
            blocks.count(path.loss.out_of_order),
            blocks.volume(path.loss.missing_bytes),
            blocks.time(path.loss.client_zero_window_s or None),
            blocks.time(path.loss.server_zero_window_s or None),
        ]
        for path in paths
    ]
    return blocks.table("What was lost or held up", columns, rows)


def _sessions(found: Network) -> Block:
    columns = [
        Column("session", "name"),
        Column("client", "name"),
        Column("server", "name"),
        Column("connections"),
        Column("calls"),
        Column("slots used"),
        Column("offered"),
    ]
    rows = [
        [
            blocks.name(each.session),
            blocks.name(" ".join(each.clients[:4])),
            blocks.name(" ".join(each.servers[:4])),
            blocks.total(each.connections),
            blocks.total(each.calls),
            blocks.total(each.slots_used),
            blocks.count(each.slots_offered),
        ]
        for each in found.shown_sessions
    ]
    hidden = found.sessions - len(rows)
    more = f"{units.counted(hidden, 'more session')}." if hidden > 0 else ""
    return blocks.table("Sessions of NFSv4.1", columns, rows, more=more)
