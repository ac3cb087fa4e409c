"""Files of NFSv3 that a client looked at and never opened, whatever it asked.

Takes a connection with the table `learned` (`change_ids`); makes the table `unopened`. An open of
NFSv3 sends the same GETATTR as a look at attributes that have expired. But who opens a file needs
its rights and, to read it, its data: of a file that the capture saw listed or looked up first the
client has neither yet, and asks. A client that had the file in use before, and no reason to look it
up, sends a GETATTR as the first call about it: that one is none of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.caching.change_ids import age_s
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH

if TYPE_CHECKING:
    import duckdb

FILE_TIMEOUT_S, FILE_DEFAULT_S = 0.9, 2.5
"""Knowledge of a file that is younger does not expire (`visits.TOGETHER_S`), and that is older may
have by default (acregmin 3 s): a client counts from when it asked, a capture from the reply."""

LOOKS = ("GETATTR", "LOOKUP", "GETACL")
"""What ls -l sends about a file."""


def register(cursor: duckdb.DuckDBPyConnection) -> None:
    """Make the table, if it is not there: `mount` and `file`.

    It has files of mounts alone of which twenty questions came when a timeout of a second or two
    may have been over.
    """
    cursor.execute(_UNOPENED)


_UNOPENED = f"""
    create temp table if not exists unopened as
    with young as (
        select mount, file, call, {age_s()} as age from learned
             semi join (select file from files where role = 'file') as objects using (file)
        where question = 'getattr'::question and finding = 'unchanged'::finding
              and {age_s()} between 0 and {FILE_DEFAULT_S}
    ),
    looked_at as (
        select distinct mount, file
        from young join (select call, version from calls) using (call)
        where version = 3 and mount in (
            select mount from young where age >= {FILE_TIMEOUT_S}
            group by mount having count(*) >= {ENOUGH}
        )
    ),
    used as (
        select distinct mount, file from calls
        where file in (select file from looked_at) and not coalesce({among("op", LOOKS)}, false)
    ),
    known_before as (
        select distinct mount, file from learned
        where question = 'getattr'::question and finding = 'first'::finding
    )
    from looked_at anti join used using (mount, file) anti join known_before using (mount, file)
"""
