"""READs ask for less than the server allows: a small rsize."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Claim, Observed, Rule
from pcapnfs.diagnosis.mounted import small_transfers
from pcapnfs.diagnosis.thresholds import Values

if TYPE_CHECKING:
    from pcapnfs.analyses.transfer_runs import Runs
    from pcapnfs.diagnosis.material import Material


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose READs show it."""
    del values  # What is enough, the analysis of mount options says.
    return small_transfers(material, "rsize", lambda pair: pair.reads, _claims)


def _claims(runs: Runs) -> tuple[Claim, ...]:
    return left_out(runs.merged, row="read")


RULE = Rule(
    id="small_rsize",
    title="READs are smaller than the server allows (rsize)",
    origin="practice: small rsize; RFC 1813 section 3.3.19, rtmax",
    judge=judge,
)
