"""Questions that were needless: unchanged, and young enough for a default mount to know."""

from __future__ import annotations

from typing import Any

import pytest

from pcapnfs.analyses.caching.questions import Questions, questions
from pcapnfs.programs import NLM
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation, trace_of

FILES = [file(1, "a"), file(2, "d", "directory")]


def ask(number: int, s: float, about: int = 1, ctime: int = 100, version: int = 3) -> list[Row]:
    """A GETATTR of 2 ms, so many seconds after the start; of NFSv4 with the change attribute."""
    sent = START_NS + round(s * 1000) * MILLISECOND
    times = {
        "call_first_time": sent,
        "call_time": sent,
        "reply_first_time": sent + 2 * MILLISECOND,
        "reply_time": sent + 2 * MILLISECOND,
    }
    known: dict[str, object] = {"ctime": ctime, "mtime": ctime}
    if version == 4:
        known = {"change": ctime, "attributes": "00000018:00300000"}
    return [
        call(number, "GETATTR", 2, file=about, version=version, **times),
        operation(number, "GETATTR", file=about, **known),
    ]


def asked(*steps: list[Row]) -> Questions:
    """What there is to tell of these calls, of one client and server."""
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    span = meta(end_ns=START_NS + 100_000 * MILLISECOND)
    with trace_of(span, calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = questions(trace)
    return pair


def test_files_stay_fresh_for_3_s_and_directories_for_30_s() -> None:
    found = asked(
        ask(1, 0.0), ask(2, 0.5), ask(3, 3.6), ask(4, 3.7),
        ask(5, 10.0, about=2), ask(6, 39.0, about=2), ask(7, 69.0, about=2),
    )  # fmt: skip
    assert (found.client, found.server) == ("10.0.0.2", "10.0.0.1")
    assert (found.calls, found.asked, found.compared) == (7, 7, 5)
    assert found.unchanged.calls == 5
    # 0.5 s: may have been an open, were it not that another one came half a second before.
    assert (found.fresh_files.calls, found.fresh_files.frames) == (2, (3, 7))
    assert (found.fresh_directories.calls, found.fresh_directories.frames) == (1, (11,))
    assert found.early.calls == 1


def test_what_they_took_is_their_share_and_the_shorter_gap() -> None:
    found = asked(ask(1, 0.0), ask(2, 0.01), ask(3, 0.03))
    assert found.fresh_files.calls == 2
    assert found.fresh_files.time_s == pytest.approx(0.004)
    # The last call of all has no gap behind it.
    assert found.fresh_files.pause_s == pytest.approx(0.008)


def test_the_first_question_after_a_while_may_be_an_open_but_not_with_nfsv4() -> None:
    apart = (ask(1, 0.0), ask(2, 1.5), ask(3, 2.6))
    assert asked(*apart).fresh_files.calls == 0
    # Whatever it was, no default timeout was over.
    assert asked(*apart).young == 2
    # Opens ask for directories as well, of which it is 30 s.
    for s, young in ((32.6, 1), (32.8, 0)):
        steps = (ask(1, 0.0), ask(2, 3.1), ask(3, 3.2, about=2), ask(4, s, about=2))
        assert asked(*steps).young == young
        assert (asked(*steps).young_directories, asked(*steps).directories) == (young, young)
    opened = (ask(1, 0.0, version=4), ask(2, 1.5, version=4), ask(3, 2.6, version=4))
    assert asked(*opened).fresh_files.calls == 2
    # Such an open asks within its own compound.
    assert (asked(*opened).young, asked(*opened).young_unopened) == (2, 2)
    assert asked(*opened).files == 1
    assert asked(*apart).young_unopened == 0
    listed = (ask(1, 0.0, version=4, about=2), ask(2, 1.5, version=4, about=2))
    assert (asked(*listed).young, asked(*listed).young_unopened) == (1, 0)


def use(number: int, op: str, s: float, version: int = 3) -> list[Row]:
    """A call about the file that is no question, answered at once."""
    sent = START_NS + round(s * 1000) * MILLISECOND
    times = {"call_time": sent, "reply_time": sent + MILLISECOND}
    return [
        call(number, op, 1, file=1, version=version, **times),
        operation(number, op, file=1),
    ]


def test_what_came_late_may_be_an_open_where_the_file_is_read() -> None:
    late = [ask(number, 4.0 * number) for number in range(1, 22)]
    read, access = use(22, "READ", 84.1), use(23, "ACCESS", 84.05)
    looked = asked(*late)
    assert (looked.unchanged.calls, looked.young) == (20, 0)
    # A file that is never read is looked at.
    assert (looked.opened_late, looked.either, looked.files) == (0, 0, 0)
    assert (asked(*late, read).opened_late, asked(*late, read).either) == (0, 20)
    opened = asked(*late, read, access)
    assert (opened.opened_late, opened.either, opened.files) == (1, 19, 1)
    # Rights that are asked for later than that are another step's.
    assert asked(*late, use(22, "ACCESS", 85.1)).opened_late == 0
    # Few are not looked at.
    assert asked(*late[:-1], read).either == 0
    # An OPEN of NFSv4 asks within its own compound.
    of_v4 = [ask(number, 4.0 * number, version=4) for number in range(1, 22)]
    found = asked(*of_v4, use(22, "READ", 84.1, 4), use(23, "ACCESS", 84.05, 4))
    assert (found.opened_late, found.either) == (0, 0)


@pytest.mark.parametrize(
    ("files", "read_s", "version", "before"),
    [(20, 0.1, 3, 20), (20, 1.1, 3, 0), (19, 0.1, 3, 0), (20, 0.1, 4, 0)],
)
def test_a_file_that_was_read_before_was_opened_before(
    files: int, read_s: float, version: int, before: int
) -> None:
    """Each is asked for as it becomes known, and once more a second later; few are not looked at.

    An OPEN of NFSv4 asks within its own compound.
    """
    steps: list[list[Row]] = []
    for about in range(1, files + 1):
        for after_s in (0.0, 1.0):
            steps.append(ask(len(steps) + 1, about + after_s, about, version=version))
        sent = START_NS + round((about + read_s) * 1000) * MILLISECOND
        times = {"call_time": sent, "reply_time": sent + MILLISECOND}
        number = len(steps) + 1
        read = call(number, "READ", 1, file=about, version=version, **times)
        steps.append([read, operation(number, "READ", file=about)])
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    named = [file(about, f"f{about}") for about in range(1, files + 1)]
    span = meta(end_ns=START_NS + 100_000 * MILLISECOND)
    with trace_of(span, calls=calls, operations=operations, files=named) as trace:
        (pair,) = questions(trace)
    assert (pair.files, pair.read_before) == (files, before)


def walked(
    *, unlisted: int = 0, after_s: float = 0.003, version: int = 4, directories: int = 20
) -> int:
    """How many questions about directories are for access times.

    Each directory is known, then listed, and later come two questions, which take 2 ms.

    Args:
        unlisted: So many are not listed, but used otherwise.
        after_s: From the first question to the second, seconds.
        version: The version of NFS.
        directories: How many there are.
    """
    steps: list[list[Row]] = []
    for about in range(1, directories + 1):
        first_s = 0.2 * about
        for at_s, op in (
            (first_s, "GETATTR"),
            (first_s + 0.1, "ACCESS" if about <= unlisted else "READDIR"),
            (first_s + 9.0, "GETATTR"),
            (first_s + 9.0 + after_s, "GETATTR"),
        ):
            step = ask(len(steps) + 1, at_s, about, version=version)
            steps.append([{**each, "op": op} for each in step])
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    files = [file(about, f"d{about}", "directory") for about in range(1, directories + 1)]
    span = meta(end_ns=START_NS + 100_000 * MILLISECOND)
    with trace_of(span, calls=calls, operations=operations, files=files) as trace:
        (pair,) = questions(trace)
    return pair.listed


def test_a_listing_leaves_an_access_time_to_ask_for() -> None:
    """By stat(), right before the directory is opened again."""
    assert walked() == 20
    assert walked(unlisted=2) == 18


@pytest.mark.parametrize(
    "given",
    [
        # Two programs that open it, one after the other.
        {"after_s": 0.004},
        # READDIR of NFSv3 brings the directory's attributes.
        {"version": 3},
        # It asks where nothing changed the access time, too: it trusts no attributes.
        {"unlisted": 3},
        # Few are not looked at.
        {"directories": 9},
    ],
    ids=["apart", "NFSv3", "noac", "few"],
)
def test_other_questions_about_directories_are_not_for_access_times(
    given: dict[str, Any],
) -> None:
    assert walked(**given) == 0


@pytest.mark.parametrize(
    ("program", "granted", "refused", "unlock"),
    [
        (NLM, "NLM4_GRANTED", "NLM4_BLOCKED", "UNLOCK"),
        (100003, "NFS4_OK", "NFS4ERR_DENIED", "LOCKU"),
    ],
)
def test_who_got_a_lock_asks_for_that_reason(
    program: int, granted: str, refused: str, unlock: str
) -> None:
    """Nobody opened the file, and no timeout is longer than that."""

    def locking(number: int, op: str, s: float, status: str = granted, about: int = 1) -> list[Row]:
        sent = START_NS + round(s * 1000) * MILLISECOND
        times = {"call_time": sent, "reply_time": sent + 2 * MILLISECOND}
        of = {"status_name": status, "file": about}
        return [call(number, op, 2, program=program, **of, **times), operation(number, op, **of)]

    found = asked(ask(1, 0.0), locking(2, "LOCK", 0.1), ask(3, 0.2), ask(4, 0.3))
    # The second since the lock has no such reason.
    assert (found.asked, found.compared, found.unchanged.frames) == (2, 1, (7,))
    for others in (
        (locking(2, "LOCK", 0.1, refused),),
        (locking(2, "LOCK", 0.1, about=2),),
        (locking(2, "LOCK", 0.1), locking(5, unlock, 0.15)),
    ):
        assert asked(ask(1, 0.0), *others, ask(3, 0.2), ask(4, 0.3)).asked == 3


def test_what_changed_was_worth_asking_for() -> None:
    found = asked(ask(1, 0.0), ask(2, 0.1, ctime=200), ask(3, 0.2, ctime=200))
    assert (found.compared, found.unchanged.calls, found.fresh_files.calls) == (2, 1, 1)


def test_a_trace_without_questions_has_nothing_to_tell() -> None:
    with trace_of(calls=[call(1, "READ", 1)]) as trace:
        assert questions(trace) == ()
