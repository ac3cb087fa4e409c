"""The model, what it is made of, and what would happen if something were different."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.forecasts.verdict import UNANSWERED
from pcapnfs.views import estimate as view
from pcapnfs.views import findings, forecasts
from pcapnfs.views.report import blocks
from pcapnfs.views.report.blocks import Block, Cell, Column, Paragraph, Section, quoted

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.inputs import Input
    from pcapnfs.analyses.forecasts.model import Model
    from pcapnfs.analyses.forecasts.what_if import Scenario
    from pcapnfs.report import Report


def section(report: Report) -> Section:
    """Inputs, figures and scenarios."""
    model = report.summary.model
    parts: list[Block] = [
        Paragraph(quoted(line)) for line in (*view.reasons(model), *view.remarks(model))
    ]
    if not model.missing:
        parts.append(_figures(model))
    if model.what_if:
        parts.append(_what_if(model))
    summary = report.summary
    spared = findings.forecast_without(
        summary.findings, summary.judged, model.measured_s, summary.without_first_s
    )
    parts += [Paragraph(quoted(line)) for line in spared]
    if model.clients:
        parts.append(_by_client(model))
    parts.append(_inputs(model))
    if len(told := [each for each in model.persist_by_op if each.persist_s is not None]) > 1:
        kinds = [
            [blocks.name(each.op), blocks.total(each.calls), blocks.time(each.persist_s)]
            for each in told
        ]
        columns = [Column("operation", "words"), Column("stable calls"), Column("persistence")]
        parts.append(blocks.table("Persistence by operation", columns, kinds))
    return Section("model", "Model, and what if", tuple(parts), ("model", "persistence"))


def _span(model: Model) -> str:
    """From when to when it was measured."""
    return f"first call to {UNANSWERED if model.unanswered_last else 'last reply'}"


def _figures(model: Model) -> Block:
    columns = [Column("", "words"), Column("time"), Column("how", "words")]
    spread = "with overlap and the client's own time"
    if model.forecast_low_s is not None:
        spread = f"{spread}; {view.interval(model)}"
    rows = [
        [
            Cell("first-order formula"),
            blocks.time(model.predicted_s),
            Cell(view.formula(model)),
        ],
        [Cell("forecast"), blocks.time(model.forecast_s), Cell(spread)],
        [Cell("measured"), blocks.time(model.measured_s), Cell(_span(model))],
    ]
    if model.holdout_error is not None:
        rows.append(
            [
                Cell("error"),
                blocks.share(model.holdout_error),
                Cell("of half of the files, forecast from the other half"),
            ]
        )
    return blocks.table("How long it takes", columns, rows)


def _what_if(model: Model) -> Block:
    columns = [
        Column("if", "words"),
        Column("forecast"),
        Column("range", "words"),
        Column("times as fast"),
    ]

    def row(each: Scenario) -> list[Cell]:
        return [
            Cell(forecasts.change(each)),
            blocks.time(each.forecast_s),
            Cell(forecasts.interval(each)),
            Cell("") if each.change == "measured" else blocks.mean(each.factor),
        ]

    more = " ".join(forecasts.about_what_if(model))
    return blocks.table(
        "What if", columns, [row(each) for each in forecasts.shown(model)], more=more
    )


def _by_client(model: Model) -> Block:
    changes = forecasts.told_changes(model)
    columns = [
        Column("client", "name"),
        *(Column(forecasts.SHORT[change]) for change in changes),
        *(Column(title) for title in ("calls", "round trip", "persistence", "at once")),
    ]
    rows = []
    for client in model.clients:
        found = {each.change: each.forecast_s for each in client.what_if}
        rows.append(
            [
                blocks.name(client.client),
                *(blocks.time(found.get(change)) for change in changes),
                blocks.total(client.calls),
                blocks.time(client.rtt_s),
                blocks.time(client.persist_s),
                blocks.mean(client.concurrency),
            ]
        )
    more = " ".join(forecasts.more_clients(model))
    return blocks.table("What if, by client", columns, rows, more=more)


def _inputs(model: Model) -> Block:
    columns = [Column("input", "words"), Column("value"), Column("from", "words")]

    def row(each: Input) -> list[Cell]:
        return [
            Cell(view.INPUTS[each.name]),
            Cell(units.named(each.name, each.value), each.value),
            Cell(quoted(view.source(each, model))),
        ]

    return blocks.table("What it is made of", columns, [row(each) for each in model.inputs])
