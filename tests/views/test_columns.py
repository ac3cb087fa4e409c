"""Tables drop columns by priority and shorten only what may shrink."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from pcapnfs import spilled
from pcapnfs.cli import output
from pcapnfs.views.columns import Below, Column, FittedTable, shorten
from tests.views.samples import render

COLUMNS = (
    Column("name", align="left", least=8),
    Column("kept"),
    Column("second", 1),
    Column("first to go", 2),
)
ROWS = [["a/very/long/path/to/somewhere", "1 234", "22", "333"], ["b", "5", "", "-"]]


def test_shows_everything_when_there_is_room() -> None:
    assert render(FittedTable(COLUMNS, ROWS), 80).splitlines() == [
        "name                            kept  second  first to go",
        "a/very/long/path/to/somewhere  1 234      22          333",
        "b                                  5                    -",
    ]


def test_rows_that_come_one_by_one_are_drawn_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = render(FittedTable(COLUMNS, ROWS * 5), 40)
    for held in (1, 1 << 20):
        monkeypatch.setattr(spilled, "HELD_BYTES", held)
        table = FittedTable(COLUMNS, (row for row in ROWS * 5))
        assert render(table, 40) == render(table, 40) == expected


def test_rows_are_not_held_while_they_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "HELD_BYTES", 1 << 20)
    rows = ([f"{number}" + "x" * 4000, "1", "2", "3"] for number in range(5000))
    tracemalloc.start()
    try:
        below = Below(range(5000), lambda number: [Text(f"{number}")])
        lines = FittedTable(COLUMNS, rows, below=below).lines(80)
        assert sum(1 for _ in lines) == 10_001
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_drops_columns_by_priority_then_shortens() -> None:
    assert render(FittedTable(COLUMNS, ROWS), 30).splitlines() == [
        "name              kept  second",
        "a/ver…somewhere  1 234      22",
        "b                    5",
    ]
    assert render(FittedTable(COLUMNS, ROWS), 20).splitlines()[0].split() == ["name", "kept"]


def test_names_the_columns_that_say_something_and_had_no_room() -> None:
    def told(rows: list[list[str]], width: int, *, naming: bool | set[str] = True) -> list[str]:
        table = FittedTable(COLUMNS, rows, naming=naming)
        return " ".join(render(table, width).split("No room")[1:]).split()

    both = "for second, first to go: a wider terminal or --json shows them.".split()
    assert told(ROWS, 20) == both
    assert told(ROWS, 30) == "for first to go: a wider terminal or --json shows them.".split()
    assert told(ROWS, 80) == told(ROWS, 20, naming=False) == []
    assert told(ROWS, 20, naming={"second", "third"})[:2] == ["for", "second:"]
    nothing = [["a/very/long/path", "1 234", "0", "0 s"]]
    assert told(nothing, 20) == []


def test_leaves_out_columns_without_content() -> None:
    rows = [["a", "1", "", "2"], ["b", "3", "", "4"]]
    assert render(FittedTable(COLUMNS, rows), 80).splitlines()[0].split() == [
        "name",
        "kept",
        *"first to go".split(),
    ]


def test_shows_the_headings_of_a_table_without_rows() -> None:
    assert render(FittedTable(COLUMNS, []), 80).split() == "name kept second first to go".split()


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [("abc", 3, "abc"), ("abcdefghij", 7, "ab…ghij"), ("文件文件文件", 7, "文…文件")],
)
def test_cuts_the_middle(text: str, width: int, short: str) -> None:
    assert shorten(text, width) == short


@given(
    st.text(alphabet=st.characters(categories=["L", "N", "P"])),
    st.integers(min_value=4, max_value=40),
)
def test_a_shortened_text_fits(text: str, width: int) -> None:
    assert cell_len(shorten(text, width)) <= width


@pytest.mark.parametrize(
    ("width", "short"),
    [
        # A number at the end might have had more digits.
        (10, "GETATTR …"),
        (12, "GETATTR 6 …"),
        (18, "GETATTR 6, WRITE 3"),
        # A word that alone is too long is cut itself.
        (6, "GETAT…"),
    ],
)
def test_cuts_the_end_between_words_where_asked(width: int, short: str) -> None:
    assert shorten("GETATTR 6, WRITE 3", width, "end") == short


@given(st.text(), st.integers(min_value=4, max_value=40))
def test_a_text_cut_at_its_end_fits(text: str, width: int) -> None:
    assert cell_len(shorten(text, width, "end")) <= width


def test_a_table_without_titles_begins_with_its_rows() -> None:
    columns = (Column("", align="left"), Column(""))
    assert render(FittedTable(columns, [["a", "1"]]), 80) == "a  1\n"


def test_columns_of_zeros_go_before_those_with_figures() -> None:
    columns = [Column("path", align="left"), Column("large", 1), Column("small", 5)]
    rows = [["a", "0", "7"], ["b", "-", "0 B"]]
    told = ["path  small", "a         7", "b       0 B"]
    assert render(FittedTable(columns, rows), 11).splitlines() == told
    assert "large" in render(FittedTable(columns, rows), 18)


def test_sentences_wrap_within_their_column() -> None:
    columns = (Column("", align="left"), Column("finding", align="left", least=20, cut="wrap"))
    rows = [["note", "One call stood still for 12.0 s of it"], ["note", "short"]]
    table = FittedTable(columns, rows)
    assert render(table, 29).splitlines() == [
        "      finding",
        "note  One call stood still",
        "      for 12.0 s of it",
        "note  short",
    ]
    assert render(table, 80).splitlines()[1] == "note  One call stood still for 12.0 s of it"


def test_names_are_shortened_and_no_figure_is_lost_where_there_is_little_room() -> None:
    columns = (Column("", align="left"), Column("calls"), Column("time"))
    rows = [["stable: on disk before the reply", "1220", "28.2 s"]]
    table = FittedTable(columns, rows)
    assert render(table, 30).splitlines() == [
        "                 calls    time",
        "stabl…the reply   1220  28.2 s",
    ]
    assert {"calls", "time", "1220", "28.2"} <= set(render(table, 20).split())


def test_lines_that_fit_are_not_looked_at_word_by_word(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["a name", str(number), "0", "1"] for number in range(50)]
    whole = render(FittedTable(COLUMNS, rows), 80)
    asked: list[object] = []
    monkeypatch.setattr("rich.text.divide_line", lambda *given: asked.append(given))
    assert render(FittedTable(COLUMNS, rows), 80) == whole
    assert not asked


def test_lines_of_many_rows_are_drawn_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    number = 3 * output.LINES_AT_A_TIME
    table = FittedTable(COLUMNS, [["a name", str(each), "0", "1"] for each in range(number)])
    screen = Group(Text("above"), table, Text(""), Text("below"))
    pieces: list[str] = []
    monkeypatch.setattr(output, "write", pieces.extend)
    monkeypatch.setenv("COLUMNS", "80")
    output.screen(screen)
    assert "".join(pieces) == render(screen, 80)
    assert max(piece.count("\n") for piece in pieces) == output.LINES_AT_A_TIME
