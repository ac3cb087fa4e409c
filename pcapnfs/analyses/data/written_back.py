"""When a client sends what it has of a file, by itself: as it closes the file or gives up a lock.

Takes the name of a table with the columns `mount` and `file`; gives SQL for how often that came of
these files. What is little goes in one WRITE that asks for stable storage then, which is no sign of
a program or a mount that writes through.
"""

from __future__ import annotations

from pcapnfs import columns
from pcapnfs.analyses.asking.texts import among

READS = columns.of(calls="mount op version file")
"""The columns that the queries here read."""

WRITTEN_BACK = ("CLOSE", "OPEN_DOWNGRADE", "DELEGRETURN", "LOCKU", "UNLOCK", "UNLOCK_MSG")
"""Before these a client sends what it has of a file: NFSv4's ways to give up an open, or a part of
it where another one is left (RFC 8881 section 18.18), a delegation (section 10.4.4) and a lock
(section 10.3.2); and NLM's UNLOCK, in both its forms."""

OPENED = "(op = 'OPEN' or op = 'GETATTR' and version < 4)"
"""SQL: a file is opened. Each program that opened it has what it wrote sent as it closes it, but
NFSv4 says so only of the last of those that had it open at once; and NFSv3 has no opens, but its
clients ask for a file's attributes then."""


def ends(table: str, by: str = "mount") -> str:
    """SQL: for each mount, how often the files in the table were closed or unlocked, as `ends`.

    Args:
        table: A table with the columns `mount` and `file`.
        by: `mount, file` for how often each file was.
    """
    back = among("op", WRITTEN_BACK)
    return f"""
        select {by}, sum(greatest(back, opened))::bigint as ends
        from (
            select mount, file, count(*) filter ({back}) as back,
                   count(*) filter ({OPENED}) as opened
            from calls semi join {table} using (mount, file)
            where {back} or {OPENED}
            group by mount, file
        )
        group by {by}
    """
