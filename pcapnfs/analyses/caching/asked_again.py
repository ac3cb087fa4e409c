"""Files that a client asked for again as soon as before: whose attributes are kept no longer.

Takes a connection with the tables `known` (`mount_evidence`) and `unasked` (`held_files`); counts,
for each mount, questions about regular files that came earlier than a client asks by default. Linux
doubles the time for which it believes attributes each time that it ran out and nothing had changed:
from 3 s (acregmin) to 6, 12 … up to 60 s (acregmax). Whoever asks after 4 s, and after 4 s again,
keeps to a shorter one. What is opened, read or written says nothing: an open asks as well.

And what those of them took that are older than files are believed at first: by default they would
not have been sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.asking.by_mount import ByMount
from pcapnfs.analyses.asking.examples import OPTION_EXAMPLES
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.change_ids import age_s
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.caching.unopened import FILE_DEFAULT_S
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from pcapnfs.analyses.mounts.mounts_apart import Division
    from pcapnfs.trace import Trace

FIRST_S = 3.0
"""For how long a file is believed at first, by default."""

DOUBLED = 4
"""How often that is doubled before it is as long as it may become."""

SLACK_S = 0.5
"""What a question may come earlier than that, for the rounding of a kernel's clock."""

USED = ("OPEN", "READ", "READ_PLUS", "WRITE", "LOCK", "LOCK_MSG", "LOCKT", "LOCKU", "COMMIT")
"""Calls that show that a file is open."""


class AskedAgain(Record):
    """What one client asked one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    asked: Spared
    """Questions about files known for 3 s or longer that doubled timeouts would have spared."""
    part: str | None = None
    """The file systems that this is about, as in `Mount`; None: all that they exchanged."""


def asked_again(cursor: duckdb.DuckDBPyConnection) -> ByMount:
    """Count the questions; nothing where none came after as long as a file is believed at first."""
    cursor.execute(_PATIENT)
    waited = f"select 1 from patient where age >= {FILE_DEFAULT_S} limit 1"
    if cursor.execute(waited).fetchone() is None:
        return ByMount()
    return ByMount.of_query(cursor, _AGAIN)


def of_learned(
    trace: Trace, cursor: duckdb.DuckDBPyConnection, division: Division | None = None
) -> tuple[AskedAgain, ...]:
    """Add up what they took, for each client and server with any.

    Args:
        trace: The trace.
        cursor: A connection on which the questions were counted (`asked_again`).
        division: The parts of pairs that it has in place of mounts; None where it has none.
    """
    shares.register(trace)
    mounts: Mapping[int, tuple[str, str]] = (
        traffic.mounts(trace) if division is None else division.addresses(trace)
    )
    parts = {} if division is None else division.parts
    found = [
        AskedAgain(*mounts[mount], spared.of_row(values), parts.get(mount))
        for mount, *values in cursor.execute(_TOOK).fetchall()
    ]
    return tuple(sorted(found, key=lambda each: (each.client, each.server)))


def _early() -> str:
    """SQL: a question came before what was believed, by default, had run out.

    So many questions before it had each found that it had, and nothing changed.
    """
    cases = []
    for times in range(1, DOUBLED + 1):
        before = " and ".join(
            f"follows_{place} and age_{place} >= {FIRST_S * 2 ** (times - place)}"
            for place in range(1, times + 1)
        )
        cases.append(f"({before} and age < {FIRST_S * 2**times - SLACK_S})")
    return " or ".join(cases)


def _before(place: int) -> str:
    """SQL: the age of the question so many before, and whether all between followed one another."""
    follows = " and ".join(
        f"lag(call, {back}) over questions is not distinct from "
        + (f"lag(known_call, {back - 1}) over questions" if back > 1 else "known_call")
        for back in range(1, place + 1)
    )
    return f"lag(age, {place}) over questions as age_{place}, ({follows}) as follows_{place}"


_PATIENT = f"""
    create temp table patient as
    select mount, calls.file as file, call, call_time, call_frame, known_call, {age_s()} as age
    from known join calls using (call, file)
         semi join (select file from files where role = 'file') as objects using (file)
    where not callback and call not in (select call from unasked)
"""
"""Questions about regular files, and the age of what was known."""

_CHAINED = f"""
    used as (
        select distinct mount, file from calls
        where {among("op", USED)} and file in (select file from patient)
    ),
    chained as (
        select *, {", ".join(_before(place) for place in range(1, DOUBLED + 1))}
        from patient anti join used using (mount, file)
        window questions as (partition by mount, file order by call_time, call)
    )
"""

_AGAIN = f"""
    with {_CHAINED}
    select mount, count(*) as files_early, count(distinct file) as early_objects,
           min(age) as early_shortest,
           arg_min(call_frame, (call_time, call_frame), {OPTION_EXAMPLES}) as early_frames
    from chained where age >= {FILE_DEFAULT_S} and ({_early()}) group by mount
"""

_TOOK = f"""
    with {_CHAINED}
    select mount, {spared.columns("true")}
    from chained join shares using (call)
    where age >= {FIRST_S} and ({_early()}) group by mount
"""
"""Younger ones no timeout of the default had run out for: `Questions.early` has these."""
