"""The rule for one connection where several would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pcapnfs.analyses.wire.caps import Pair
from pcapnfs.diagnosis import bound
from pcapnfs.diagnosis.rules.single_connection import RULE
from pcapnfs.record import replace
from tests.diagnosis.limits import PAIR, limited
from tests.diagnosis.material import seen_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pcapnfs.analyses.forecasts.bottleneck import Bottleneck
    from pcapnfs.analyses.forecasts.verdict import Cause
    from pcapnfs.diagnosis.material import Material


def test_many_calls_at_once_on_one_connection_are_told() -> None:
    (seen,) = seen_by(RULE, limited(named="server"))
    assert seen.severity == "note"
    assert seen.seen == (
        "All 100 calls went over one connection, and 8 calls were under way at once on average."
    )


def test_so_is_much_data() -> None:
    (seen,) = seen_by(RULE, limited(pair=replace(PAIR, mean=2.0), named="transfer"))
    assert "moving data" in seen.seen


@pytest.mark.parametrize("named", ["persistence", "client"])
def test_calls_that_wait_for_disks_or_come_in_bursts_need_no_other_connection(named: str) -> None:
    assert seen_by(RULE, limited(named=named)) == []


@pytest.mark.parametrize(
    "pair",
    [
        replace(PAIR, mean=7.9),
        replace(PAIR, connections=2),
        replace(PAIR, tcp=False),
        replace(PAIR, calls=99),
    ],
)
def test_a_little_less_is_not(pair: Pair) -> None:
    assert seen_by(RULE, limited(pair=pair, named="server")) == []


def test_of_many_clients_verdicts_are_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    each = bound.each

    def counting(material: Material, cause: str) -> Iterator[tuple[Bottleneck, Cause]]:
        asked.append(cause)
        return each(material, cause)

    monkeypatch.setattr(bound, "each", counting)
    found = limited(named="transfer")
    pairs = tuple(replace(PAIR, client=f"10.0.0.{number}") for number in range(200))
    caps = replace(found.caps, pairs=pairs)
    assert len(seen_by(RULE, replace(found, caps=caps))) == 200
    assert asked == ["transfer", "persistence", "client"]
