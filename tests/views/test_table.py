"""Answers to a user's query: screen, CSV, JSON."""

from __future__ import annotations

import csv
import datetime
import io
import json
from decimal import Decimal

import pytest

from pcapnfs.views.table import AnswerTable, csv_pieces, json_pieces, plain, plan
from tests.views.samples import HOSTILE, render

COLUMNS = ("name", "n", "raw")
ROWS: list[tuple[object, ...]] = [("a", 1, b"\x01\xff"), (None, 22, None), (HOSTILE, 3, b"")]


def test_lays_rows_side_by_side_numbers_to_the_right() -> None:
    assert render(AnswerTable(COLUMNS, ROWS[:2]), 40).splitlines() == [
        "name   n  raw",
        "a      1  01ff",
        "      22",
    ]


def test_writes_a_value_a_line_when_the_rows_are_too_wide() -> None:
    lines = render(AnswerTable(("name", "value"), [("x" * 30, 1)]), 20).splitlines()
    assert lines[0] == "row 1"
    assert lines[1].startswith("  name")
    assert lines[-1] == "  value  1"


def test_an_answer_without_rows_shows_its_columns() -> None:
    assert render(AnswerTable(COLUMNS, []), 40).splitlines() == ["name  n  raw"]
    assert " ".join(render(AnswerTable(COLUMNS, []), 10).split()) == "No rows, of name, n, raw."


def test_screens_show_nothing_hostile() -> None:
    text = render(AnswerTable((HOSTILE,), [(HOSTILE,), ("two\nlines",), ([HOSTILE],)]), 200)
    assert "\x1b" not in text
    assert "two\\x0alines" in text
    assert len(text.splitlines()) == 4


def test_what_a_spreadsheet_would_take_for_a_formula_gets_an_apostrophe() -> None:
    """Texts alone: a number below 0 is one."""
    rows = [["=1+1", -5, "a=b", None], ["@x", 2, "-", b"-"], ["+1", -0.5, "\t=", ["=", 1]]]
    text = "".join(csv_pieces(["a", "b", "c", "d"], rows, spreadsheet=True))
    assert [row[:3] for row in csv.reader(io.StringIO(text))][1:] == [
        ["'=1+1", "-5", "a=b"],
        ["'@x", "2", "'-"],
        ["'+1", "-0.5", r"\x09="],  # No longer a tab.
    ]
    plain_text = "".join(csv_pieces(["a", "b", "c", "d"], rows))
    assert "'=1+1" not in plain_text
    assert [row[3] for row in csv.reader(io.StringIO(text))] == [
        row[3] for row in csv.reader(io.StringIO(plain_text))
    ]


def test_csv_reads_back() -> None:
    text = "".join(csv_pieces(COLUMNS, ROWS))
    assert "\x1b" not in text
    assert list(csv.reader(io.StringIO(text))) == [
        list(COLUMNS),
        ["a", "1", "01ff"],
        ["", "22", ""],
        ["\\x1b[31m[bold]<script>\\u202e", "3", ""],
    ]


def test_json_reads_back() -> None:
    text = "".join(json_pieces(COLUMNS, ROWS))
    assert text.isascii()
    assert json.loads(text)[2]["name"] == HOSTILE
    assert json.loads(text)[:2] == [
        {"name": "a", "n": 1, "raw": "01ff"},
        {"name": None, "n": 22, "raw": None},
    ]
    assert json.loads("".join(json_pieces(COLUMNS, []))) == []


def test_json_has_every_column_of_one_name() -> None:
    names = ["op", "op", "op_1", "op", "op_1"]
    (row,) = json.loads("".join(json_pieces(names, [range(5)])))
    assert row == {"op": 0, "op_2": 1, "op_1": 2, "op_3": 3, "op_1_1": 4}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        (float("inf"), None),
        (Decimal("1.5"), 1.5),
        (Decimal("NaN"), None),
        ([b"\x01", None], ["01", None]),
        ({"a": datetime.date(2026, 8, 1)}, {"a": "2026-08-01"}),
        (True, True),
    ],
)
def test_values_become_what_json_has(value: object, expected: object) -> None:
    assert plain(value) == expected


def test_a_plan_keeps_its_lines() -> None:
    assert render(plan([("physical_plan", "┌─┐\n└─┘")]), 40) == "┌─┐\n└─┘\n"
