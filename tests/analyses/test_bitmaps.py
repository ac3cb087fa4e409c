"""Attributes in the bitmaps of NFSv4."""

from __future__ import annotations

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from pcapnfs.analyses.asking.bitmaps import holds

NUMBERS = st.integers(0, 95)


def asked(bitmap: str | None, attributes: set[int]) -> bool | None:
    query = f"select {holds(*attributes)} from (select ?::varchar as attributes)"
    ((found,),) = duckdb.execute(query, [bitmap]).fetchall()
    assert found is None or isinstance(found, bool)
    return found


@given(held=st.sets(NUMBERS), words=st.integers(0, 3), attributes=st.sets(NUMBERS, min_size=1))
def test_a_bitmap_holds_what_was_put_into_it(
    held: set[int], words: int, attributes: set[int]
) -> None:
    """Also one of fewer words than the attribute is far: it does not hold that."""
    whole = sum(1 << number for number in held)
    bitmap = ":".join(f"{whole >> 32 * word & 0xFFFFFFFF:08x}" for word in range(words))
    there = {number for number in held if number < 32 * words}
    assert asked(bitmap, attributes) is bool(there & attributes)


def test_of_none_nothing_is_known() -> None:
    assert asked(None, {4}) is None
