"""WRITEs by how they lie on pages."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.data.write_shapes import WriteShapes, write_shapes
from tests.unit.rows import Row, call, operation, trace_of

PAGE = 4096


def move(
    number: int, op: str, offset: int, count: int, about: int = 1, size: int | None = None
) -> list[Row]:
    return [
        call(number, op, 2, file=about),
        operation(number, op, file=about, offset=offset, count=count, size=size),
    ]


def found(*steps: list[Row]) -> WriteShapes:
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations) as trace:
        (pair,) = write_shapes(trace)
    return pair


def test_a_file_written_from_its_begin_to_its_end_is_aligned() -> None:
    pair = found(move(1, "WRITE", 0, PAGE), move(2, "WRITE", PAGE, 100))
    assert (pair.writes, pair.unaligned.calls, pair.mean_bytes) == (2, 0, 0.0)


def test_an_append_begins_where_the_file_ended() -> None:
    pair = found(
        move(1, "WRITE", 0, 100, size=100),
        move(2, "WRITE", 100, 60, size=160),
        move(3, "WRITE", 160, 40, size=200),
    )
    assert (pair.unaligned.calls, pair.appended, pair.files) == (2, 2, 1)
    assert pair.mean_bytes == 50
    assert pair.unaligned.frames == (3, 5)


def test_the_end_within_a_page_counts_in_the_midst_of_a_file_only() -> None:
    assert found(move(1, "WRITE", 0, 100, size=9000)).unaligned.calls == 1
    assert found(move(1, "WRITE", 0, 100, size=100)).unaligned.calls == 0
    # Without the size, what is written elsewhere in the file tells that it is longer.
    pair = found(move(1, "WRITE", 0, 100), move(2, "WRITE", PAGE, PAGE))
    assert pair.unaligned.calls == 1


def test_a_page_that_is_written_again_with_more_behind_it_is_appended_to() -> None:
    """A client sends what it has of the page; whether the server tells the size does not matter."""
    places = [(0, 100), (0, 160), (0, PAGE + 4), (PAGE, 64), (PAGE, 64), (0, 200)]
    ends = [100, 160, PAGE + 4, *3 * [PAGE + 64]]
    for tells in (False, True):
        steps = enumerate(zip(places, ends, strict=True), 1)
        pair = found(
            *(
                move(number, "WRITE", start, count, size=end if tells else None)
                for number, ((start, count), end) in steps
            )
        )
        # The first ends the file where it tells, and lies within a longer one where it does not.
        assert (pair.unaligned.calls, pair.appended) == (4 + (not tells), 3)


@pytest.mark.parametrize(
    ("read", "count"), [((0, PAGE), 1), ((2 * PAGE, PAGE), 0), ((PAGE, PAGE), 0)]
)
def test_a_read_of_that_page_right_before(read: tuple[int, int], count: int) -> None:
    pair = found(move(1, "READ", *read), move(2, "WRITE", 100, 50, size=9000))
    assert pair.read_first.calls == count
    assert pair.appended == 0


def test_a_read_of_long_ago_was_for_something_else() -> None:
    pair = found(move(1, "READ", 0, PAGE), move(150, "WRITE", 100, 50, size=9000))
    assert pair.read_first.calls == 0
