"""The rule for directories that are listed in small pages."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.namespace.small_pages import SmallPages
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.small_pages import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

MANY = SmallPages(
    client="10.0.0.2",
    server="10.0.0.1",
    pages=60,
    small=Spared(30, 0.4, 0.1, (5, 7)),
    short=16,
    entries=15.0,
    reply_bytes=2048.0,
    requested_bytes=8192.0,
    places=("d", "."),
)


def test_pages_that_the_server_makes_small() -> None:
    (seen,) = seen_by(RULE, nothing(small_pages=(MANY,)))
    assert seen.title == "The server sends listings in small pages"
    assert seen.seen == (
        "30 of 60 pages that did not end a listing were small: 15 entries and 2.00 KiB each, where "
        "the client asked for 8.00 KiB (medians): d, the root of the export."
    )
    assert seen.claims == (Claim("unstable", 0.4), Claim("client", 0.1))
    assert (seen.calls, seen.confidence, seen.frames) == (30, "certain", (5, 7))


def test_pages_of_which_the_client_asks_for_little() -> None:
    (seen,) = seen_by(RULE, nothing(small_pages=(replace(MANY, short=15),)))
    assert seen.title == "The client asks for listings in small pages"
    assert "rsize" in seen.advice[0].action


@pytest.mark.parametrize("change", [{"pages": 61}, {"small": replace(MANY.small, calls=29)}])
def test_a_little_less_is_not(change: dict[str, object]) -> None:
    pair = replace(MANY, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(small_pages=(pair,))) == []
