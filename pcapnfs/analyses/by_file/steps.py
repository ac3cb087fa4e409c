"""One call of a file as one word: what was done, and how it ended.

Takes the table calls as `owned` (owners.py) and the table operations; gives the same rows with the
column `step`: the procedure or main operation, with

- `(create)` for an NFSv4 OPEN that asks for the file to be made, `(plus)` for an NFSv4 READDIR that
  asks for what a stat needs, `(plus?)` where that was cut off,
- the level that the server granted a WRITE or COPY: `WRITE[FILE_SYNC]`, `WRITE[UNSTABLE]`,
- `!` when it failed, `?` when it has no reply.
"""

from __future__ import annotations

from pcapnfs import columns
from pcapnfs.analyses.asking.service_time import FAILED

READS = columns.of(
    calls="call op signature reply_time status rpc_status",
    operations="call committed",
)
"""The columns that this reads besides those of `owned`."""


def levels(condition: str = "true") -> str:
    """SQL: a clause with the level at which WRITEs of calls were committed, of some operations."""
    return f"""
        levels as (
            select call, min(committed) as level from operations
            where committed is not null and {condition} group by call
        )
    """


CODE = f"""
    hash(op, case when op = 'OPEN' then contains(signature, 'OPEN(create)')
                  when op = 'READDIR' then contains(signature, '(plus)') else false end,
         op = 'READDIR' and contains(signature, '(plus?)'),
         level, case when reply_time is null then 2 when {FAILED} then 1 else 0 end)
"""
"""SQL: a number for `step`, of calls with `level`."""

STEPS = f"""
    {levels()},
    steps as (
        select owned.*, level,
               op || case when op = 'OPEN' and contains(signature, 'OPEN(create)') then '(create)'
                          when op = 'READDIR' and contains(signature, '(plus)') then '(plus)'
                          when op = 'READDIR' and contains(signature, '(plus?)') then '(plus?)'
                          else '' end
                  || coalesce('[' || level || ']', '')
                  || case when reply_time is null then '?' when {FAILED} then '!' else '' end
                  as step
        from owned left join levels using (call)
    )
"""
