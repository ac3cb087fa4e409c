"""Rows that are written by hand are in the trace as they are written."""

from __future__ import annotations

import pytest

from tests.unit.rows import call, trace_of


@pytest.mark.parametrize(
    "texts",
    [
        ("", "two\nlines", "it's", "caf\N{LATIN SMALL LETTER E WITH ACUTE} \N{GRINNING FACE}"),
        ("a zero\0amid", "none"),
        ("a zero\0", "at the end\0\0"),
        (None, "beside none"),
        (None, None),
    ],
    ids=["plain", "zero amid", "zero at the end", "some missing", "all missing"],
)
def test_texts_are_as_given(texts: tuple[str | None, ...]) -> None:
    rows = [call(number, "READ", 1.0, status_name=text) for number, text in enumerate(texts, 1)]
    with trace_of(calls=rows) as trace:
        assert trace.rows("select status_name from calls order by call") == [
            (text,) for text in texts
        ]
