"""The rule for pNFS that is not used."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.data.layouts import Layouts
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.data_through_mds import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

THROUGH = Layouts(
    client="10.0.0.2",
    server="10.0.0.1",
    asked=5,
    granted=4,
    statuses=("NFS4ERR_LAYOUTTRYLATER",),
    through=30,
    through_bytes=30 << 20,
    apart=10,
    frames=(5, 7),
)


def test_layouts_that_the_client_does_not_use() -> None:
    (seen,) = seen_by(RULE, nothing(layouts=(THROUGH,)))
    assert (seen.severity, seen.confidence) == ("warning", "likely")
    assert seen.seen == (
        "30 of 40 READs and WRITEs (30.0 MiB) went to the server that the client asked for "
        "layouts; it got 4 of 5 (NFS4ERR_LAYOUTTRYLATER)."
    )
    assert "GETDEVICEINFO" in seen.advice[0].action
    assert not any("why it gives no" in each.action for each in seen.advice)


def test_layouts_that_the_server_does_not_give() -> None:
    (seen,) = seen_by(RULE, nothing(layouts=(replace(THROUGH, granted=0),)))
    assert seen.confidence == "certain"
    assert "why it gives no layouts" in seen.advice[0].action


def test_what_it_costs_to_ask_for_layouts_that_are_never_given() -> None:
    pair = replace(THROUGH, vain=Spared(4, 0.08, 0.01, (5,)))
    (seen,) = seen_by(RULE, nothing(layouts=(replace(pair, granted=0),)))
    assert seen.seen.endswith(" 4 calls for nothing else took 80.0 ms.")
    assert seen.claims == (Claim("unstable", 0.08), Claim("client", 0.01))
    # Where some are given, asking is worth it.
    (seen,) = seen_by(RULE, nothing(layouts=(pair,)))
    assert seen.claims == ()


@pytest.mark.parametrize("changes", [{"through": 29}, {"apart": 31}, {"through": 0}])
def test_few_or_the_lesser_part_is_by_design(changes: dict[str, int]) -> None:
    assert seen_by(RULE, nothing(layouts=(replace(THROUGH, **changes),))) == []  # type: ignore[arg-type]
