"""The rule for layouts that lead to the server that gives them."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import NONE, Spared
from pcapnfs.analyses.data.layouts import Layouts
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.layouts_to_same_server import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by

SAME = Layouts(
    client="10.0.0.2",
    server="10.0.0.1",
    asked=40,
    granted=40,
    statuses=(),
    through=0,
    through_bytes=0,
    apart=70,
    frames=(5, 7),
    there=70,
    got=Spared(40, 0.8, 0.1, (5, 9)),
)


def test_what_is_claimed_is_the_asking() -> None:
    (seen,) = seen_by(RULE, replace(bound_by("client"), layouts=(SAME,)))
    assert (seen.severity, seen.confidence) == ("warning", "certain")
    assert seen.seen == (
        "40 calls asked for a layout and nothing else, 20.0 ms each. All of the 70 READs and "
        "WRITEs by layouts went to the address and port of the server that gave them."
    )
    assert seen.claims == (Claim("unstable", 0.8), Claim("client", 0.1))
    assert (seen.frames, seen.about) == ((5, 9), ("10.0.0.2", "10.0.0.1"))


@pytest.mark.parametrize(
    "changes",
    [
        {"there": 69},
        {"there": 0, "apart": 0},
        {"got": NONE},
        {"got": replace(SAME.got, calls=29)},
    ],
    ids=["another server shares the work", "no data", "no call of its own", "few"],
)
def test_otherwise_nothing_is_said(changes: dict[str, object]) -> None:
    pair = replace(SAME, **changes)  # type: ignore[arg-type]
    assert seen_by(RULE, replace(bound_by("client"), layouts=(pair,))) == []
