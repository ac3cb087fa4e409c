"""Numbers in a capture may be any, by damage or by malice: they end no analysis."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

import pcapnfs
from pcapnfs import numbering
from pcapnfs.comparison.comparing import of_sides
from pcapnfs.comparison.side import gather
from pcapnfs.record import replace
from pcapnfs.report import report
from pcapnfs.schema import Column, Table
from pcapnfs.views import screen
from pcapnfs.views.document import to_json
from pcapnfs.views.report import page
from tests.traces import SAMPLES
from tests.unit.rows import tables

LATEST_NS = 2**62 - 1
"""The latest time that the decoder gives a packet."""

RANGES = {"UINTEGER": (0, 2**32 - 1), "UBIGINT": (0, 2**64 - 1), "BIGINT": (-(2**63), 2**63 - 1)}
"""Of the types of columns, what they hold."""

COUNTED = {
    *numbering.NUMBERS,
    "position", "opcode", "program", "version", "minor", "procedure", "transmissions",
    "operations", "executed", "entries",
}  # fmt: skip
"""Columns of calls and operations with what the decoder has counted or recognised itself."""

TIMES = {
    "call_first_time", "call_time", "reply_first_time", "reply_time", "srt", "time", "first_time",
    "last_time",
}  # fmt: skip
"""Columns that follow from when packets were captured."""

CHOSEN = [path for path in SAMPLES if path.name in {
    "k61-two-clients-v42-server.pcap", "k61-locks-v42-server.pcap", "k61-walk-v3.pcap",
    "k61-tar-v42.pcap", "opt-noac-v3.pcap",
}]  # fmt: skip


def told(table: Table) -> Iterator[tuple[Column, tuple[int, int]]]:
    """The columns with numbers that stand in packets, and what they may be."""
    for column in table.columns:
        if column.sql not in RANGES or column.name in COUNTED | TIMES:
            continue
        if table.name in ("calls", "operations", "entries", "files"):
            yield column, RANGES[column.sql]
        elif table.name == "connections" and column.sql == "BIGINT":
            yield column, (0, LATEST_NS)


def disturb(trace: pcapnfs.Trace, drawn: random.Random, share: float) -> None:
    """Put numbers at the end of what is possible in some rows of each column."""
    cursor = trace.cursor()
    cursor.execute("set threads = 1")  # Else the rows that are drawn are others each time.
    cursor.execute("select setseed(?)", [drawn.random()])
    for table in tables():
        for column, (least, most) in told(table):
            value = drawn.choice((least, most, most - 1, most // 2, most // 2 + 1, 1))
            cursor.execute(
                f'update "{table.name}" set "{column.name}" = {value} '
                f'where "{column.name}" is not null and random() < {share}'
            )


def shift(trace: pcapnfs.Trace, drawn: random.Random) -> None:
    """Have some calls and replies come in 1970 or 2116, as a damaged clock says."""
    cursor = trace.cursor()
    for _ in range(drawn.choice((1, 5, 20))):
        call, time = drawn.randrange(trace.meta.calls), drawn.choice((0, LATEST_NS, LATEST_NS - 1))
        kind = drawn.choice(("call", "reply"))
        cursor.execute(
            f"update calls set {kind}_time = {time}, "
            f"{kind}_first_time = least({kind}_first_time, {time}) "
            f"where call = {call} and reply_time is not null"
        )
    cursor.execute("update calls set srt = reply_time - call_time")
    ((first, last),) = cursor.execute(
        "select min(call_first_time), max(greatest(call_time, coalesce(reply_time, 0))) from calls"
    ).fetchall()
    (file,) = trace.meta.files
    trace.meta = replace(trace.meta, files=(replace(file, start_ns=first, end_ns=last),))


DRAWN = [
    pytest.param(sample, seed, id=f"{sample.name}-{seed}")
    for place, sample in enumerate(CHOSEN)
    for seed in range(4)
    if (place + seed) % 5 < 2
]
"""Each sample with one or two seeds, each seed with two samples."""


@pytest.mark.parametrize(("sample", "seed"), DRAWN)
def test_every_question_has_an_answer(sample: Path, seed: int) -> None:
    drawn = random.Random(seed)
    with pcapnfs.open(sample) as trace:
        disturb(trace, drawn, (0.01, 0.2, 1.0)[seed % 3])
        if seed % 2:
            shift(trace, drawn)
        found = report(trace)
        assert page.html(found).endswith("</html>")
        assert to_json(found.summary)
        Console(file=io.StringIO(), width=80).print(screen.summary(found.summary))
        side = gather(trace)
        for question in (
            pcapnfs.perfile(trace, top=0),
            pcapnfs.patterns(trace),
            pcapnfs.cache(trace, top=0, sort="bytes"),
            pcapnfs.readdir(trace, top=0),
            pcapnfs.network(trace, top=0),
            pcapnfs.time_budget(trace, top=0),
            of_sides(side, side),
        ):
            assert to_json(question)
