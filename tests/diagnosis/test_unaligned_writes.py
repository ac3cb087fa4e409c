"""The rule for WRITEs of parts of pages."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import NONE, Spared
from pcapnfs.analyses.data.pages_first import PagesFirst
from pcapnfs.analyses.data.write_shapes import WriteShapes
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules.unaligned_writes import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by

MANY = WriteShapes(
    client="10.0.0.2",
    server="10.0.0.1",
    writes=150,
    files=2,
    mean_bytes=100.0,
    unaligned=Spared(30, 0.6, 0.1, (5, 9)),
    appended=20,
    read_first=Spared(4, 0.2, 0.0, (3,)),
)


def found(pair: WriteShapes) -> Material:
    return replace(bound_by("client"), write_shapes=(pair,))


def test_reads_before_parts_of_pages_are_claimed() -> None:
    (seen,) = seen_by(RULE, found(MANY))
    assert seen.severity == "warning"
    assert seen.seen == (
        "30 of 150 WRITEs begin or end within a page, in 2 files; they bring 100 B each on "
        "average. 20 append to what was written before. 4 READs of the same page came right before."
    )
    assert seen.claims == (Claim("read", 0.2), Claim("client", 0.0))
    assert seen.frames == (5, 9)


def test_without_reads_the_capture_does_not_tell_the_cost() -> None:
    (seen,) = seen_by(RULE, found(replace(MANY, read_first=NONE, appended=0)))
    assert (seen.severity, seen.claims) == ("note", ())


@pytest.mark.parametrize(
    "pair", [replace(MANY, writes=151), replace(MANY, unaligned=Spared(29, 0.6, 0.1, ()))]
)
def test_a_little_less_is_not(pair: WriteShapes) -> None:
    assert seen_by(RULE, found(pair)) == []


FEW = replace(MANY, unaligned=NONE, read_first=NONE, appended=0)


def test_pages_that_are_read_before_they_are_written_are_claimed() -> None:
    pages = PagesFirst(reads=Spared(30, 0.6, 0.1, (7, 11)), files=1)
    (seen,) = seen_by(RULE, found(replace(FEW, pages_first=pages)))
    assert seen.seen == (
        "30 READs of a single page of 4 KiB each, here and there in 1 file, were each followed by "
        "a WRITE of that whole page."
    )
    assert (seen.severity, seen.at_most, seen.confidence) == ("warning", "warning", "possible")
    assert seen.claims == (Claim("read", 0.6), Claim("client", 0.1))
    assert seen.frames == (7, 11)


def test_a_few_pages_that_are_read_before_are_not() -> None:
    pages = PagesFirst(reads=Spared(29, 0.6, 0.1, (7, 11)), files=1)
    assert seen_by(RULE, found(replace(FEW, pages_first=pages))) == []
