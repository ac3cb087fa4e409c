"""Values that the database gives, as Python's: NULL, and what a query and its reader agree on.

Takes a value of a row, of whatever type the database has; gives a number or a text, or None for
what is not known.
"""

from __future__ import annotations

from pcapnfs.units import NANOSECONDS


def seconds(nanoseconds: object) -> float | None:
    """A database value in nanoseconds as seconds; NULL is None."""
    return None if nanoseconds is None else number(nanoseconds) / NANOSECONDS


def integer(value: object) -> int:
    """A whole number from the database; NULL, the sum of nothing, is 0."""
    if type(value) is int:  # Nearly all are, and there are millions.
        return value
    return 0 if value is None else int(number(value))


def whole(value: object) -> int | None:
    """A whole number from the database; NULL is None."""
    return value if value is None or type(value) is int else integer(value)


def text(value: object) -> str | None:
    """Text from the database; NULL is None."""
    return None if value is None else str(value)


def number(value: object) -> int | float:
    """A number from the database.

    Raises:
        TypeError: The column is not numeric: the query and its reader disagree.
    """
    if isinstance(value, int | float):
        return value
    raise TypeError(f"a number was expected from the database, not {value!r}")
