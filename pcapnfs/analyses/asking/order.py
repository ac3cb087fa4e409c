"""What a caller may ask a list to be: how long, and sorted by what.

Takes the arguments of an analysis; gives nothing, or one sentence for the user.
"""

from __future__ import annotations

from typing import get_args

from pcapnfs.errors import UsageError

MOST = (1 << 63) - 1
"""What a database takes for a number of rows."""


def check(what: str, *, top: int, sort: str | None = None, kinds: object = None) -> None:
    """Refuse a list that cannot be given.

    Args:
        what: What is listed, in the plural.
        top: How many of them; 0 for all.
        sort: What to sort them by, if the caller may choose.
        kinds: The `Literal` of what `sort` may be.

    Raises:
        UsageError: `sort` is none of `kinds`, or `top` is negative or beyond 64 bits.
    """
    if sort is not None and sort not in get_args(kinds):
        raise UsageError(f"{what} can be sorted by {', '.join(get_args(kinds))}, not by {sort!r}")
    if top < 0:
        raise UsageError(f"the number of {what} cannot be negative; 0 shows all")
    if top > MOST:
        raise UsageError(f"there are never {top} {what}")
