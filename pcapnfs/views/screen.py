"""Results on a terminal: what was read, how far to trust it, then the largest numbers first.

Takes results; gives Rich renderables that fit 80 columns and use 140. Promises that no text from
the capture reaches the terminal unescaped or is read as markup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from pcapnfs import units
from pcapnfs.text import escape, some, source
from pcapnfs.views import (
    budget,
    caching,
    estimate,
    exports,
    findings,
    listings,
    network,
    patterns,
    sizes,
    software,
)
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import WARNING
from pcapnfs.views.parts import heading as _heading
from pcapnfs.views.parts import note as _note
from pcapnfs.views.parts import unless_zero as _unless_zero
from pcapnfs.views.prose import Prose
from pcapnfs.views.trust import no_verdict, trust_sentences
from pcapnfs.views.words import addressed, aside, beside_them, moved, protocol_name, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from pcapnfs.analyses.by_file.files import Distribution, Files
    from pcapnfs.analyses.by_file.patterns import Patterns
    from pcapnfs.analyses.by_file.sizes import Sizes
    from pcapnfs.analyses.caching.cache import Cache
    from pcapnfs.analyses.captured.capture import Capture
    from pcapnfs.analyses.captured.trust import Trust
    from pcapnfs.analyses.forecasts.model import Model
    from pcapnfs.analyses.mounts.software import Software
    from pcapnfs.analyses.namespace.readdir import Readdir
    from pcapnfs.analyses.servers.exports import Exports
    from pcapnfs.analyses.times.operations import OperationTimes
    from pcapnfs.analyses.times.stability import Stability
    from pcapnfs.analyses.wire.network import Network
    from pcapnfs.diagnosis.finding import Finding
    from pcapnfs.summary import Summary

NAMED = 4
"""Captures, clients or servers that are named; the rest is counted."""

OPERATIONS_SHOWN = 10
"""Operations that have a row whatever they did; behind them only those that failed, were sent
again, or took more than a small share of the time."""

OPERATIONS_AT_MOST = 100
"""Operations that have a row, and as many that are named: all versions together have fewer, but a
capture may name procedures that do not exist."""

SMALL_SHARE = 0.001
"""Share of the service time that is not worth a row."""

QUESTIONS_OF_A_MOUNT = 10
"""Revalidations that mounting and unmounting alone may cause."""

STABILITY_ROWS = (
    ("stable", "stable: on disk before the reply"),
    ("unstable", "unstable: metadata, lookups"),
    ("unstable_write", "unstable writes"),
    ("read", "reads"),
    ("state", "client state"),
    ("unknown", "unknown: the outcome cannot be seen"),
)
"""The disjoint kinds of calls and how the screen calls them."""


def summary(result: Summary) -> RenderableType:
    """The screen of `summarize`."""
    return Group(
        _capture(result.capture, result.trust, result.software),
        *_verdict(result.model, result.trust, result.findings),
        *_findings(result),
        _heading("Trust"),
        _trust(result.trust, result.capture),
        _heading("Where the service time went"),
        _stability(result.stability, result.trust),
        _heading("Time budget"),
        budget.block(
            result.time_budget_total,
            result.phases,
            result.time_budget,
            result.network.slower_paths,
            result.lock_gaps,
            result.stood_still_s,
            result.unreached_s,
            result.mount_idle,
        ),
        _heading("Operations"),
        _operations(result.operations),
        *_exports(result.exports),
        _heading("Files"),
        _files(result.files, result.sizes),
        *_patterns(result.patterns),
        *_listings(result.readdir),
        *_cache(result.cache),
        *_network(result.network, result.trust),
        _heading("Model"),
        *(_note(line) for line in estimate.lines(result.model)),
        *(
            _note(line)
            for line in findings.forecast_without(
                result.findings, result.judged, result.model.measured_s, result.without_first_s
            )
        ),
    )


def _findings(result: Summary) -> tuple[RenderableType, ...]:
    short = findings.in_short(
        result.findings,
        result.judged,
        run_s=findings.judged_s(result.model),
        unread=result.trust.mostly_unread,
    )
    return (_heading("Findings"), *short)


def _verdict(model: Model, trust: Trust, found: Sequence[Finding]) -> tuple[RenderableType, ...]:
    """Nothing where the capture holds too little to say."""
    told = [why] if (why := no_verdict(trust) or estimate.too_few(model)) else []
    if model.verdict is not None:
        told = estimate.verdict_sentences(model.verdict)
    told = [*findings.failing(found), *told]
    if not told:
        return ()
    return (_heading("Verdict"), *(_note(line) for line in told))


def _capture(capture: Capture, trust: Trust, said: Software) -> RenderableType:
    facts = [escape(capture.format or "no format"), units.counted(capture.packets, "packet")]
    facts.append(units.size(capture.bytes))
    if capture.duration_s is not None and capture.start is not None:
        start = units.moment(capture.start)
        facts.append(f"{units.duration(capture.duration_s)} from {start} UTC")
    protocols = ", ".join(protocol_name(protocol) for protocol in capture.protocols)
    return Group(
        Text(some([*map(source, capture.files)], NAMED), style="bold", overflow="fold"),
        Prose(", ".join(facts)),
        Text(f"{_addresses(capture.clients)} → {_addresses(capture.servers)}"),
        *(Prose(told) for told in (software.line(said),) if told is not None),
        Text(f"{units.counted(trust.rpc_calls, 'call')}: {protocols or 'none'}"),
        *_data_servers(capture),
    )


def _data_servers(capture: Capture) -> tuple[RenderableType, ...]:
    """Nothing where no connection leads to a data server."""
    if not capture.data_connections:
        return ()
    connections = units.counted(
        capture.data_connections, "connection to a data server", "connections to data servers"
    )
    calls = units.counted(capture.data_calls, "call")
    return (Text(f"pNFS: {connections} ({_addresses(capture.data_servers)}), {calls}"),)


def _addresses(addresses: tuple[str, ...]) -> str:
    return some(addresses, NAMED) or "nobody"


def _trust(trust: Trust, capture: Capture) -> RenderableType:
    style = "" if trust.complete else WARNING
    return Group(
        *(
            Padding(Prose(line, style=style), (0, 0, 0, 2), expand=False)
            for line in trust_sentences(trust, capture)
        )
    )


def _stability(stability: Stability, trust: Trust) -> RenderableType:
    columns = [
        Column("", align="left"),
        Column("calls"),
        Column("of calls", 2),
        Column("time"),
        Column("of time"),
        Column("mean", 1),
        Column("median", 1),
    ]
    rows = []
    for kind, title in (*STABILITY_ROWS, ("total", "total")):
        row = getattr(stability, kind)
        if row.calls:
            rows.append(
                [
                    title,
                    units.count(row.calls),
                    units.share(row.calls_share),
                    units.taken(row.sum_s),
                    units.share(row.time_share),
                    units.duration(row.mean_s if row.sum_s else None),
                    units.duration(row.p50_s if row.sum_s else None),
                ]
            )
    if not rows:
        return _note("No call has its reply in the capture.")
    parts: list[RenderableType] = [FittedTable(columns, rows, indent=2)]
    if stability.unlisted.calls:
        parts.append(
            _note(
                f"stable includes {units.count(stability.unlisted.calls)} SETATTR and SETACL"
                f"{aside(stability.unlisted.sum_s)}, which RFC 1813 does not list."
            )
        )
    if told := left_out(stability, trust):
        parts.append(_note(told))
    return Group(*parts)


def left_out(stability: Stability, trust: Trust) -> str:
    """Which calls of the capture are in no row, in a sentence; nothing where all are in one."""
    parts = (
        (max(0, trust.matched - stability.total.calls), "of a server to a client"),
        (trust.unanswered, "without a reply"),
    )
    told = [f"{units.counted(calls, 'call')} {which}" for calls, which in parts if calls]
    return f"Not in it: {', '.join(told)}." if told else ""


_OPERATION_COLUMNS = (
    Column("version", align="left"),
    Column("operation", align="left"),
    Column("calls"),
    Column("errors", 1),
    Column("stable", 1),
    Column("resent", 5),
    Column("time"),
    Column("mean"),
    Column("min", 6),
    Column("median", 1),
    Column("p95", 1),
    Column("p99", 4),
    Column("max", 3),
)


def _operations(operations: tuple[OperationTimes, ...]) -> RenderableType:
    time_s = sum(row.srt.sum_s for row in operations)
    told = list(operations[:OPERATIONS_SHOWN])
    rest: list[OperationTimes] = []
    for row in operations[OPERATIONS_SHOWN:]:
        tells = row.errors or row.retransmitted_calls or row.srt.sum_s > SMALL_SHARE * time_s
        (told if tells else rest).append(row)
    if len(rest) <= 2:  # A sentence would take as much room.
        told, rest = list(operations), []
    told, rest = told[:OPERATIONS_AT_MOST], told[OPERATIONS_AT_MOST:] + rest
    table = FittedTable(_OPERATION_COLUMNS, [_operation(row) for row in told], indent=2)
    if not rest:
        return table
    names: dict[str, list[str]] = {}
    for row in rest[:OPERATIONS_AT_MOST]:
        counted = f"{units.count(row.calls)} {escape(row.op)}"
        names.setdefault(protocol_name(row.version), []).append(counted)
    also = "; ".join(f"{version}: {', '.join(counted)}" for version, counted in names.items())
    more = len(rest) - OPERATIONS_AT_MOST
    also += f" and {units.count(more)} more" if more > 0 else ""
    total = aside(sum(row.srt.sum_s for row in rest), " together")
    told_by = "; --json has all" if more > 0 else ""
    return Group(table, _note(f"Also {also}{total}{told_by}."))


def _operation(row: OperationTimes) -> list[str]:
    return [
        escape(row.version),
        escape(row.op),
        units.count(row.calls),
        _unless_zero(row.errors),
        _unless_zero(row.stable_calls),
        _unless_zero(row.retransmitted_calls),
        *map(units.duration, row.srt.spread()),
    ]


def _exports(found: Exports) -> tuple[RenderableType, ...]:
    """Nothing where calls went to one alone."""
    return (_heading("Exports"), exports.block(found)) if exports.several(found) else ()


def _patterns(found: Patterns) -> list[RenderableType]:
    return [_heading("Call patterns"), patterns.block(found)] if found.classes else []


def _files(files: Files, found: Sizes) -> RenderableType:
    facts = [", ".join(addressed(files)), *beside_them(files)]
    lines: list[RenderableType] = [_note(sentence("; ".join(facts)))]
    if files.regular:
        columns = [
            Column("per regular file", align="left"),
            Column("mean"),
            Column("median"),
            Column("p95"),
            Column("max"),
        ]
        rows = [
            _spread("calls", files.calls_per_file),
            _spread("stable calls", files.stable_per_file),
        ]
        lines.append(FittedTable(columns, rows, indent=2))
    lines.append(_note(sentence(moved(files))))
    read_alone = bool(files.bytes_read) and files.bytes_written == 0
    if line := sizes.line(found, read_alone=read_alone):
        lines.append(_note(line))
    return Group(*lines)


def _listings(result: Readdir) -> tuple[RenderableType, ...]:
    """Nothing where nothing was listed."""
    if not listings.listed(result):
        return ()
    return (_heading("Listings"), _note(listings.in_short(result)))


def _cache(result: Cache) -> tuple[RenderableType, ...]:
    """Nothing where hardly anybody asked, and nothing had changed."""
    verdicts = caching.verdict_sentences(result.mounts)
    if (result.revalidations or 0) < QUESTIONS_OF_A_MOUNT and not (
        verdicts or result.invalidations
    ):
        return ()
    lines = (caching.in_short(result), *verdicts)
    return (_heading("Cache"), *(_note(line) for line in lines))


def _network(result: Network, trust: Trust) -> tuple[RenderableType, ...]:
    """Nothing where no client called."""
    lines = network.lines(result, unanswered=trust.unanswered)
    return (_heading("Network"), *(_note(line) for line in lines)) if lines else ()


def _spread(title: str, spread: Distribution) -> list[str]:
    return [
        title,
        *(units.number(value) for value in (spread.mean, spread.p50, spread.p95, spread.max)),
    ]
