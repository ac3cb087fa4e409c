"""Texts that are compared once for each that differs, and not once for each row.

Columns of texts with few values (operations, statuses, classes of stability) come from the files
as places in a list of these. DuckDB works a function of one such column out for each value of the
list, but compares what `in` and `=` ask with each row, value by value: to look for 13 operations
took 24 ms of 500,000 calls, and takes 4. As a condition of a scan it unpacks the other columns only
where it holds; of `in` DuckDB asks there only which row groups may have such rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def among(column: str, values: Iterable[str]) -> str:
    """SQL: `column in (values)`; NULL where the column is.

    Args:
        column: A column of texts.
        values: Texts without quotes.
    """
    listed = ", ".join(f"'{value}'" for value in values)
    return f"list_contains([{listed}], {column})"


def kind(column: str, kinds: Mapping[str, Iterable[str]], before: str = "") -> str:
    """SQL: the kind that a text is of; NULL for others.

    Args:
        column: A column of texts.
        kinds: The texts of each kind, without quotes.
        before: Branches that come before.
    """
    cases = " ".join(
        f"when {among(column, values)} then '{kind}'" for kind, values in kinds.items()
    )
    return f"case {before} {cases} end"


def number(column: str, numbers: Mapping[str, int]) -> str:
    """SQL: the number of a text, below 256; NULL for others.

    Args:
        column: A column of texts.
        numbers: By text without quotes.
    """
    told = ", ".join(f"'{value}': {each}" for value, each in numbers.items())
    return f"(map {{{told}}}[{column}])::utinyint"


def place(column: str, values: Sequence[str]) -> str:
    """SQL: the place of a text among these, from 0; NULL for others.

    Args:
        column: A column of texts.
        values: Texts without quotes, fewer than 256.
    """
    return number(column, {value: each for each, value in enumerate(values)})


def position(column: str, values: Iterable[str]) -> str:
    """SQL: the place of a text among any number of any texts, from 0; NULL for others.

    Args:
        column: A column of texts.
        values: Texts.
    """
    listed = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"(list_position([{listed}]::varchar[], {column}) - 1)"
