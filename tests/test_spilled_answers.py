"""Answers with many rows: the same where rows are in files, and in little memory."""

from __future__ import annotations

import functools
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pcapnfs import spilled, temporary
from pcapnfs.analyses.asking import paths
from pcapnfs.analyses.by_file import perfile, pergroup, sequence
from pcapnfs.analyses.by_file.patterns import patterns
from pcapnfs.analyses.caching.cache import cache
from pcapnfs.analyses.namespace.readdir import readdir
from pcapnfs.comparison.comparing import Comparison, of_sides
from pcapnfs.comparison.side import Side, gather
from pcapnfs.meta import Stream
from pcapnfs.opening import connect, open
from pcapnfs.record import Record, replace
from pcapnfs.trace import Trace
from pcapnfs.views import caching, document, listings
from pcapnfs.views import compare as compared_view
from pcapnfs.views import patterns as patterns_view
from pcapnfs.views import perfile as perfile_view
from pcapnfs.views import sequence as sequence_view
from pcapnfs.views.report import compared, markdown, page
from tests.test_many_files import ROWS, _rows
from tests.unit.rows import meta, tables
from tests.views.samples import render

if TYPE_CHECKING:
    from rich.console import RenderableType

pytest.importorskip("pcapnfs._core")

SAMPLES = Path(__file__).parent.parent / "samples"

STEPS = 8_000


@functools.lru_cache(maxsize=2)
def gathered(trace: Trace, _held: tuple[int, int]) -> Side:
    """What a comparison asks of a trace, asked once of rows that are held and of those in files."""
    return gather(trace)


def compared_with_itself(trace: Trace, top: int) -> Comparison:
    """The comparison of a trace with itself, of as much as is held now."""
    side = gathered(trace, (spilled.HELD_BYTES, paths.HELD))
    return of_sides(side, side, top=top)


ANSWERS: dict[
    str, tuple[Callable[[Trace], Record], Callable[[Trace], Record], Callable[..., RenderableType]]
] = {
    "perfile": (
        lambda trace: perfile.perfile(trace, top=0),
        lambda trace: perfile.perfile(trace, top=7, sort="name"),
        perfile_view.files,
    ),
    "pergroup": (
        lambda trace: pergroup.pergroup(trace, "directory", top=0),
        lambda trace: pergroup.pergroup(trace, "extension"),
        perfile_view.groups,
    ),
    "cache": (
        lambda trace: cache(trace, top=0),
        lambda trace: cache(trace, top=5, sort="name"),
        caching.screen,
    ),
    "readdir": (
        lambda trace: readdir(trace, top=0),
        lambda trace: readdir(trace, top=2, sort="name"),
        listings.screen,
    ),
    "patterns": (
        lambda trace: patterns(trace, top=0),
        lambda trace: patterns(trace, top=1),
        patterns_view.screen,
    ),
    "sequence": (
        lambda trace: sequence.sequence(trace, name="*", top=0, calls=0),
        lambda trace: sequence.sequence(trace, name="*", top=2, calls=2),
        sequence_view.screen,
    ),
    "compare": (
        lambda trace: compared_with_itself(trace, top=0),
        lambda trace: compared_with_itself(trace, top=3),
        compared_view.screen,
    ),
}
"""What is asked, all of it and some; and its screen."""


@pytest.fixture(scope="module", params=["k61-walk-v3.pcap", "k61-tar-v42.pcap"])
def trace(request: pytest.FixtureRequest) -> Iterator[Trace]:
    with open(SAMPLES / request.param) as opened:
        yield opened
    gathered.cache_clear()


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_the_same_where_rows_are_in_files(
    trace: Trace, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    *asked, screen = ANSWERS[name]
    expected = [(document.to_json(told), render(screen(told), 90)) for told in _asked(trace, asked)]
    monkeypatch.setattr(spilled, "HELD_BYTES", 1)
    monkeypatch.setattr(paths, "HELD", 1)
    monkeypatch.setattr(document, "FEW", 0)
    found = [(document.to_json(told), render(screen(told), 90)) for told in _asked(trace, asked)]
    assert found == expected
    assert document.document(asked[0](trace)) == _plain(expected[0][0])


def _asked(trace: Trace, asked: Sequence[Callable[[Trace], Record]]) -> Iterator[Record]:
    return (ask(trace) for ask in asked)


def _plain(text: str) -> object:
    import json

    return json.loads(text)


def test_pages_are_the_same_where_rows_are_in_files(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written() -> list[str]:
        told = compared_with_itself(trace, top=0)
        title, sections = compared.title(told), compared.sections(told)
        return [
            form.of_sections(title, sections, "comparison", numbers="") for form in (markdown, page)
        ]

    expected = written()
    monkeypatch.setattr(spilled, "HELD_BYTES", 1)
    monkeypatch.setattr(paths, "HELD", 1)
    # Numbers to sort by are written as fractions then.
    assert [text.replace('.0"', '"') for text in written()] == [
        text.replace('.0"', '"') for text in expected
    ]


@pytest.fixture
def one_file() -> Iterator[Trace]:
    """A file with many calls."""
    directory = temporary.make(prefix="pcapnfs-test-")
    connection = connect(tables(), directory.path)
    calls = ROWS["calls"].format(op="['GETATTR', 'ACCESS'][1 + number % 2]", file="0")
    operations = """
        call: number, position: 0, op: ['GETATTR', 'ACCESS'][1 + number % 2], executed: true,
        status: 0, file: 0, stability: 'unstable'
    """
    connection.execute(f"insert into files by name ({_rows(ROWS['files'], 1)})")
    connection.execute(f"insert into calls by name ({_rows(calls, STEPS)})")
    connection.execute(f"insert into operations by name ({_rows(operations, STEPS)})")
    with closing(Trace(connection, replace(meta(), calls=STEPS), directory)) as made:
        yield made


def test_a_file_may_have_any_number_of_calls(
    one_file: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spilled, "HELD_BYTES", 256 << 10)
    monkeypatch.setattr(sequence, "STEPS_TOGETHER", 500)
    tracemalloc.start()
    try:
        (found,) = sequence.of_files(one_file, [0], calls=0)
        assert len(found.steps) == found.calls == STEPS
        assert [step.call for step in islice(found.steps, 3)] == [0, 1, 2]
        length = sum(len(piece) for piece in document.json_pieces(found))
        assert length > 500 * STEPS
        filters = sequence_view.display_filters([found], [Stream(("-",), 0)])
        (pieces,) = (sum(1 for _ in each) for _, each in filters)
        assert pieces > 1
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
