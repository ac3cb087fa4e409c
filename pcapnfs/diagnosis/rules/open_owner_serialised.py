"""OPENs of NFSv4.0 go one after the other, whatever else runs side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "open_owner_serialised.least", 30, "calls", "OPENs of a user, below which nothing is reported",
    "default of this tool",
)  # fmt: skip
OTHERS = Threshold(
    "open_owner_serialised.others", 1.5, "calls",
    "of this user under way at once, OPENs aside: without that, nothing is held up",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each user of a client whose OPENs never overlap though other calls do."""
    for owner in material.open_order:
        if (
            owner.overlapping
            or owner.opens < values[LEAST.name]
            or owner.others_at_once < values[OTHERS.name]
        ):
            continue
        user = "" if owner.uid is None else f" of user {owner.uid}"
        yield Observed(
            severity="note",
            title="OPENs of NFSv4.0 wait for one another",
            seen=f"None of {units.counted(owner.opens, 'OPEN')}{user} overlaps another, while "
            f"{units.number(owner.others_at_once)} other calls are under way at once. They took "
            f"{units.duration(owner.time_s)}.",
            why="NFSv4.0 numbers the opens of an owner, one for each user of a client: the next "
            "waits for the answer to the one before, however many processes there are.",
            advice=(
                Advice(
                    "Mount with vers=4.1 or 4.2, which have no such order.",
                    "the server must speak them; state and locks are other ones.",
                ),
            ),
            confidence="likely",
            data=units.counted(owner.opens, "OPEN"),
            frames=owner.frames,
            about=(owner.client, owner.server),
        )


RULE = Rule(
    id="open_owner_serialised",
    title="OPENs serialised by their open-owner",
    origin="RFC 7530 section 9.1.7",
    judge=judge,
    thresholds=(LEAST, OTHERS),
)
