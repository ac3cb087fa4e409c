"""Whether calls do not tell what they are about, so that a count of nothing may be of something.

Takes a trace; says whether there are, or may be, calls whose object or operations were cut, lost or
sealed. Of such a capture, that no file, listing or question is known does not mean that there was
none: unknown is None, never 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="callback file program op undecoded",
    connections="sealed_bytes",
)
"""The columns that this reads."""

Count = TypeVar("Count", int, float)


UNPLACED = f"(file is null and undecoded is not null and program = {NFS})"
"""SQL: a call does not tell what it is about."""


class Untold(Record):
    """What is not known of some calls."""

    sealed: bool
    """There are connections under TLS, with calls that nobody can see."""

    unplaced: bool
    """There are, or under TLS may be, calls that do not tell what they are about."""
    unnamed: bool
    """There are, or under TLS may be, some that do not tell what they do either."""


@once
def untold(trace: Trace) -> Untold:
    """Look for such calls."""
    ((sealed, unplaced, unnamed),) = trace.rows(_UNTOLD)
    return Untold(sealed=sealed, unplaced=sealed or unplaced, unnamed=sealed or unnamed)


def known(number: Count, *, unless: bool) -> Count | None:
    """A count or a sum; None where it is 0 unless something is not told."""
    return None if unless and not number else number


_UNTOLD = f"""
    select sealed, unplaced, unnamed from
        (select coalesce(bool_or(sealed_bytes > 0), false) as sealed from connections),
        (select coalesce(bool_or({UNPLACED}), false) as unplaced,
                coalesce(bool_or(op = 'COMPOUND'), false) as unnamed
         from calls where not callback and undecoded is not null and program = {NFS})
"""
