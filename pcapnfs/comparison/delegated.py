"""What servers delegated of what they could have, and when.

Takes a trace; gives for each client the calls whose replies tell whether a delegation came with
them, by what it would have been for.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching.delegations import OF_DIRECTORY
from pcapnfs.programs import NFS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    columns.of(
        calls="call client callback program call_first_time",
        operations="call op status share_access delegation",
    ),
    population.OPERATIONS_READS,
)
"""The columns that the queries here read."""

DELEGATING = population.Operations(("OPEN", OF_DIRECTORY), statuses=(0,))
"""What tells whether anything is delegated."""


class Delegated(Record):
    """How often a server delegated what it could have, and when."""

    ages_s: NDArray[np.float64]
    """When each OPEN, or GET_DIR_DELEGATION, whose reply tells what was granted was first sent:
    seconds since the first call of its client."""
    with_one: NDArray[np.bool_]
    """Whether a delegation came with it."""

    @property
    def asked(self) -> int:
        """How many of these calls there are."""
        return len(self.ages_s)

    @property
    def granted(self) -> int:
        """Those that a delegation came with."""
        return int(np.count_nonzero(self.with_one))

    @property
    def first_s(self) -> float | None:
        """The age at which the first of these was sent, seconds; None where none was granted."""
        granted = self.ages_s[self.with_one]
        return float(granted.min()) if len(granted) else None

    @property
    def last_s(self) -> float:
        """The age at which the last call was sent, seconds; 0 without one."""
        return float(self.ages_s.max(initial=0.0))

    def between(self, begin_s: float, end_s: float) -> Delegated:
        """The calls that were sent at these ages."""
        chosen = (self.ages_s >= begin_s) & (self.ages_s <= end_s)
        return Delegated(self.ages_s[chosen], self.with_one[chosen])


def by_client(trace: Trace) -> dict[str, dict[str, Delegated]]:
    """What servers delegated to each client, by what it is for."""
    if not DELEGATING.met(trace):
        return {}
    with closing(trace.cursor()) as cursor:
        cursor.execute(_DELEGATING)
        # One query gives names and lengths, the next all ages in that order, as plain numbers.
        groups = cursor.execute(
            "select client, purpose, count(*) from delegating group by all order by all"
        ).fetchall()
        found = cursor.execute(
            "select age, granted from delegating order by client, purpose, age, granted"
        ).fetchnumpy()
    ages_s, with_one = found["age"] / NANOSECONDS, found["granted"]
    answer: dict[str, dict[str, Delegated]] = {}
    begin = 0
    for client, purpose, count in groups:
        end = begin + integer(count)
        answer.setdefault(str(client), {})[str(purpose)] = Delegated(
            ages_s[begin:end], with_one[begin:end]
        )
        begin = end
    return answer


def together(each: Iterable[Mapping[str, Delegated]]) -> dict[str, Delegated]:
    """What was delegated to several clients."""
    found: dict[str, list[Delegated]] = {}
    for one in each:
        for purpose, delegated in one.items():
            found.setdefault(purpose, []).append(delegated)
    return {
        purpose: Delegated(
            np.concatenate([one.ages_s for one in all_of]),
            np.concatenate([one.with_one for one in all_of]),
        )
        for purpose, all_of in sorted(found.items())
    }


_DELEGATING = f"""
    create temp table delegating as
    with begun as (
        select client, min(call_first_time) as begun
        from calls where not callback and program = {NFS} group by client
    )
    select calls.client,
           case when operations.op = '{OF_DIRECTORY}' then 'directories'
                when share_access & 3 = 1 then 'reading' else 'writing' end as purpose,
           call_first_time - begun as age,
           delegation like 'READ%' or delegation like 'WRITE%' as granted
    from operations join calls using (call) join begun using (client)
    where {among("operations.op", DELEGATING.ops)} and operations.status = 0
          and delegation is not null
          and (operations.op = '{OF_DIRECTORY}' or share_access & 3 <> 0)
"""
