"""Paths are those of their files, in the order that was asked for, however many they are."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pcapnfs import spilled
from pcapnfs.analyses.asking import paths
from pcapnfs.trace import Trace
from tests.unit.rows import trace_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANY = 50


@pytest.fixture(params=[1, 1000], ids=["many", "few"])
def trace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Trace:
    """Files 0 to 49, of which each path is that of two."""
    monkeypatch.setattr(paths, "HELD", request.param)
    monkeypatch.setattr(spilled, "HELD_BYTES", 40)
    return trace_of(files=[{"file": file, "path": path(file)} for file in range(MANY)])


def path(file: int) -> str:
    return f"{(file * 7 % MANY) // 2:02}/ö\n"


def test_paths_are_those_of_the_files(trace: Trace) -> None:
    with closing(trace.cursor()) as cursor:
        assert paths.of(cursor, [3, None, 40, 3]) == {3: path(3), 40: path(40)}
        assert paths.of(cursor, []) == {}
        asked = np.array([40, 3, 17])
        assert list(paths.along(cursor, asked)) == [path(40), path(3), path(17)]


def test_the_order_is_that_of_paths_and_numbers(trace: Trace) -> None:
    with closing(trace.cursor()) as cursor:
        found = list(paths.ordered(cursor, range(MANY)))
        assert found == sorted((path(file), file) for file in range(MANY))
        ranks = paths.ranks(cursor, range(MANY))
        assert all(
            (ranks[one] < ranks[other]) == (path(one) < path(other))
            for one in range(MANY)
            for other in range(MANY)
        )
        paths.number(cursor, "numbered", range(MANY))
        assert dict(cursor.execute("select file, place from numbered").fetchall()) == ranks


def test_equals_come_in_the_order_of_their_paths(trace: Trace) -> None:
    rows = [(1, file, 5 if file == 8 else 1) for file in range(MANY)]
    keys, files, times = (np.array(each) for each in zip(*rows, (2, 4, 1), strict=True))
    with closing(trace.cursor()) as cursor:
        told = paths.most(cursor, {"key": keys, "file": files, "times": times}, 3)
        first = sorted(path(file) for file in range(MANY) if file != 8)[:2]
        assert told == {1: [path(8), *first], 2: [path(4)]}
        standing = "select file, case when file = 8 then 5 else 1 end as standing from files"
        best = [list(paths.best(cursor, standing, top, then=("file",))) for top in (2, 0)]
    expected = sorted((file == 8, path(file), file) for file in range(MANY))
    assert [(row["file"], told) for row, told in best[1]] == [
        (file, path(file)) for _, _, file in expected
    ]
    assert best[0] == best[1][:2]


def test_a_file_that_comes_again_has_its_path_again(trace: Trace) -> None:
    with closing(trace.cursor()) as cursor:
        asked = np.array([40, 3, 40, 17, 3])
        assert list(paths.along(cursor, asked)) == [path(file) for file in asked]
        assert list(paths.along(cursor, np.array([], dtype=np.uint32))) == []


def test_many_are_looked_up_together(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by itself, the places of all would be gone over, or copied, once for each of them."""
    monkeypatch.setattr(paths, "HELD", 10)
    look = np.searchsorted
    kinds: list[tuple[object, object]] = []

    def counted(known: NDArray[Any], some: NDArray[Any], *side: str) -> NDArray[Any]:
        kinds.append((known.dtype, some.dtype))
        found: NDArray[Any] = look(known, some, *side)  # type: ignore[call-overload]
        return found

    monkeypatch.setattr(np, "searchsorted", counted)
    asked = np.arange(MANY, dtype=np.uint32)
    with closing(trace.cursor()) as cursor:
        assert list(paths.along(cursor, asked)) == [path(file) for file in range(MANY)]
    assert len(kinds) <= 2 * MANY // 10
    assert all(known == some for known, some in kinds)


def test_rows_come_in_the_order_of_their_numbers(trace: Trace) -> None:
    numbers = np.array([44, 2, 17, 8], dtype=np.uint32)
    halves = [f"select file, file * 2 as twice from files where file % 2 = {odd}" for odd in (0, 1)]
    with closing(trace.cursor()) as cursor:
        told = list(paths.in_places(cursor, halves, numbers, numbers))
    assert told == [({"file": file, "twice": file * 2}, path(file)) for file in numbers.tolist()]
