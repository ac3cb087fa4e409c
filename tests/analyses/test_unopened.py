"""Files of NFSv3 that were never opened, and what follows from questions about them."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.cache import cache
from pcapnfs.analyses.caching.questions import questions
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation, trace_of

FILES = 10


def step(number: int, op: str, s: float, about: int) -> list[Row]:
    """A call about one of the files, so many seconds after the start, with its attributes."""
    sent = START_NS + round(s * 1000) * MILLISECOND
    times = {
        "call_first_time": sent,
        "call_time": sent,
        "reply_first_time": sent + MILLISECOND,
        "reply_time": sent + MILLISECOND,
    }
    told = {"ctime": 100, "mtime": 100}
    return [
        call(number, op, 1, file=about, version=3, **times),
        operation(number, op, file=about, **told),
    ]


def looked_at(first: str, *then: str, looks: int = 3) -> tuple[list[str], int, int]:
    """What is concluded where ten files are asked for every two seconds, and the early questions.

    Args:
        first: The first call about each.
        then: What else is sent for each right after that.
        looks: How often it is asked for.
    """
    steps = []
    for about in range(1, FILES + 1):
        begin = about * 0.05
        moments = [(op, begin + 0.001 * place) for place, op in enumerate((first, *then))]
        moments += [("GETATTR", begin + 2.0 * (look + 1)) for look in range(looks)]
        steps += [step(100 * about + place, *moment, about) for place, moment in enumerate(moments)]
    calls, operations = ([each[place] for each in steps] for place in (0, 1))
    files = [file(number, f"f{number}") for number in range(1, FILES + 1)]
    with trace_of(
        meta(end_ns=START_NS + 10_000 * MILLISECOND),
        calls=calls,
        operations=operations,
        files=files,
    ) as trace:
        (mount,) = cache(trace).mounts
        (pair,) = questions(trace)
        return [verdict.title for verdict in mount.verdicts], pair.early.calls, pair.unchanged.calls


def test_files_that_are_looked_at_and_never_opened_show_the_timeout() -> None:
    titles, early, unchanged = looked_at("LOOKUP")
    assert titles == ["actimeo=1 or acregmin=1"]
    # What is said of the option counts these questions.
    assert (early, unchanged) == (30, 30)


@pytest.mark.parametrize(
    ("first", "then"),
    [("LOOKUP", ("ACCESS", "READ")), ("LOOKUP", ("ACCESS",)), ("GETATTR", ())],
    ids=["read", "empty", "cached before"],
)
def test_files_that_may_have_been_opened_show_none(first: str, then: tuple[str, ...]) -> None:
    """A program that polls them opens each every two seconds, and the data is cached."""
    titles, early, unchanged = looked_at(first, *then)
    assert (titles, early) == ([], 0)
    assert unchanged >= 30


def test_few_questions_show_nothing() -> None:
    titles, early, _ = looked_at("LOOKUP", looks=1)
    assert (titles, early) == ([], 0)
