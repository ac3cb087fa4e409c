"""What the tests of the model share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pcapnfs.analyses.forecasts import what_if
from pcapnfs.trace import Trace
from tests.analyses.model.runs import connection, objects, run
from tests.unit.rows import trace_of


@pytest.fixture(autouse=True)
def _alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges without what differs from run to run, so that what else is in them can be told."""
    monkeypatch.setattr(what_if, "CLIENT_TIMES", 1.0)
    monkeypatch.setattr(what_if, "CALLS_PART", 0.0)


@pytest.fixture(scope="module")
def trace() -> Iterator[Trace]:
    """40 files, each with a LOOKUP of 1 ms and two stable calls of 6 ms."""
    calls = run()
    with trace_of(files=objects(), calls=calls, connections=[connection(0.8, 0.001)]) as opened:
        yield opened
