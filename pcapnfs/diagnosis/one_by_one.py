"""Whether programs wait for one another at the client, so that more of them bring little.

Takes what the rules on such an order tell of it; gives whether that is most of a client's time.
Where it is less, others may go on meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.diagnosis import bound
from pcapnfs.diagnosis.rules import directory_serialised, moves_serialised, open_owner_serialised

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.bottleneck import Bottleneck
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values

MOST = 0.5
"""Part of the time in which a client was active: no number of programs makes the run shorter than
what goes one by one, so that from here on they bring less than half of it."""


def one_by_one(material: Material, values: Values, found: Bottleneck) -> bool:
    """Whether calls that go one after the other took most of the time.

    Args:
        material: What is known of the capture.
        values: The thresholds.
        found: What bounds a client and its server.
    """
    # What waits for one order does not wait for another.
    ordered_s: float = max(
        (
            seconds
            for rule in (directory_serialised, moves_serialised, open_owner_serialised)
            for pair, seconds in rule.waiting(material, values)
            if not found.about or pair == found.about
        ),
        default=0.0,
    )
    return ordered_s > 0 and ordered_s >= MOST * bound.active_s(material, found)
