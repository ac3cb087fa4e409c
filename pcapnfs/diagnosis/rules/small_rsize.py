"""READs ask for less than need be: a small rsize, or a server that allows no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Rule
from pcapnfs.diagnosis.sizes import Transfers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pcapnfs.analyses.data.transfer_runs import Runs
    from pcapnfs.diagnosis.finding import Claim, Observed
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose READs show it."""
    return TRANSFERS.judge(material, values)


def _claims(runs: Runs) -> tuple[Claim, ...]:
    return left_out(runs.merged, row="read")


TRANSFERS = Transfers("rsize", "READ", lambda pair: pair.reads, _claims)

RULE = Rule(
    id="small_rsize",
    title="READs are smaller than need be (rsize)",
    origin="practice: small rsize; RFC 1813 section 3.3.19, rtmax",
    judge=judge,
    thresholds=(TRANSFERS.limit, TRANSFERS.least),
)
