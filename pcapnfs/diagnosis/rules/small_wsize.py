"""WRITEs bring less than the server allows: a small wsize."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs.diagnosis.finding import Claim, Observed, Rule
from pcapnfs.diagnosis.mounted import small_transfers
from pcapnfs.diagnosis.thresholds import Values

if TYPE_CHECKING:
    from pcapnfs.analyses.transfer_runs import Runs
    from pcapnfs.diagnosis.material import Material


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose WRITEs show it."""
    del values  # What is enough, the analysis of mount options says.
    return small_transfers(material, "wsize", lambda pair: pair.writes, _claims)


def _claims(runs: Runs) -> tuple[Claim, ...]:
    unstable_s = runs.merged.time_s - runs.merged_stable_s
    return (
        Claim("unstable_write", unstable_s),
        Claim("stable", runs.merged_stable_s),
        Claim("client", runs.merged.pause_s),
    )


RULE = Rule(
    id="small_wsize",
    title="WRITEs are smaller than the server allows (wsize)",
    origin="practice: small wsize; RFC 1813 section 3.3.19, wtmax",
    judge=judge,
)
