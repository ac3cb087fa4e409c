"""WRITEs bring less than need be: a small wsize, or a server that allows no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.diagnosis.finding import Claim, Rule
from pcapnfs.diagnosis.sizes import Transfers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pcapnfs.analyses.data.transfer_runs import Runs
    from pcapnfs.diagnosis.finding import Observed
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose WRITEs show it."""
    return TRANSFERS.judge(material, values)


def _claims(runs: Runs) -> tuple[Claim, ...]:
    unstable_s = runs.merged.time_s - runs.merged_stable_s
    return (
        Claim("unstable_write", unstable_s),
        Claim("stable", runs.merged_stable_s),
        Claim("client", runs.merged.pause_s),
    )


TRANSFERS = Transfers("wsize", "WRITE", lambda pair: pair.writes, _claims)

RULE = Rule(
    id="small_wsize",
    title="WRITEs are smaller than need be (wsize)",
    origin="practice: small wsize; RFC 1813 section 3.3.19, wtmax",
    judge=judge,
    thresholds=(TRANSFERS.limit, TRANSFERS.least),
)
