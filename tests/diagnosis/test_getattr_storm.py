"""The rule for questions whose answer is known."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.acl_queries import AclQueries
from pcapnfs.analyses.caching.asked_again import AskedAgain
from pcapnfs.analyses.caching.questions import Questions
from pcapnfs.analyses.caching.spared import NONE, Spared
from pcapnfs.analyses.locks.lock_calls import LockCalls
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.getattr_storm import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import clock
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.mounts import ASKED, mounted, verdict

LOCKS = LockCalls(
    client=ASKED.client, server=ASKED.server, calls=1000, locking=Spared(2, 0.0, 0.0, (1,)), nlm=0,
    locks=1, sqlite=0, files=1, places=("a",),
)  # fmt: skip
"""One that was granted."""

STORM: Questions = replace(
    ASKED, calls=1000, asked=400, compared=390, unchanged=Spared(312, 0.6, 0.3, (3, 5))
)


def test_two_fifths_of_the_calls_without_news_are_too_much() -> None:
    (seen,) = seen_by(RULE, nothing(questions=(STORM,)))
    assert seen.seen == (
        "400 of 1\u2009000 calls are GETATTR, and 312 of the 390 that could be compared gave what "
        "the client knew already."
    )
    assert seen.claims == (Claim("unstable", 0.6), Claim("client", 0.3))


@pytest.mark.parametrize(
    ("time_s", "client_s", "told"),
    [(0.8, 5.0, True), (0.69, 5.0, False), (0.8, 7.0, False)],
    ids=["a second and a tenth of 10 s", "less than a second", "less than a tenth of 12 s"],
)
def test_fewer_are_told_where_they_take_a_tenth_of_the_time(
    time_s: float, client_s: float, told: bool
) -> None:
    """Compilers that read the same headers ask as well, and take longer for the rest."""
    few = replace(STORM, asked=399, unchanged=replace(STORM.unchanged, time_s=time_s))
    budget = clock(unstable=5.0)
    budget = replace(budget, total=replace(budget.total, client_s=client_s))
    assert bool(seen_by(RULE, nothing(questions=(few,), time_budget=budget))) is told
    # What a client asks for a file of NFSv4 has many reasons.
    doubted = replace(few, young=156, young_unopened=79)
    assert seen_by(RULE, nothing(questions=(doubted,), time_budget=budget)) == []


ACLS = AclQueries(
    ASKED.client, ASKED.server, 1000, Spared(156, 2.5, 0.5, (3, 5)), 0, NONE, 98, 0, 0, NONE, 0,
    NONE,
)  # fmt: skip
"""Half as many that were fetched as questions were asked, for 3 s, and none that was set."""


@pytest.mark.parametrize(
    ("acls", "first"),
    [
        (ACLS, "Spare the calls for ACLs"),
        (replace(ACLS, changed=1), "If these files"),
        (replace(ACLS, by_attribute=156), "If these files"),
        (replace(ACLS, client="10.0.0.9"), "If these files"),
        (replace(ACLS, asked=replace(ACLS.asked, calls=99)), "If these files"),
        (replace(ACLS, asked=replace(ACLS.asked, calls=155)), "If these files"),
        (replace(ACLS, asked=replace(ACLS.asked, pause_s=0.4)), "If these files"),
    ],
    ids=[
        "unused",
        "used",
        "NFSv4 has no noacl",
        "another client",
        "few",
        "in one of many walks",
        "in a moment",
    ],
)
def test_acls_that_make_a_walk_last_longer_come_first(acls: AclQueries, first: str) -> None:
    (seen,) = seen_by(RULE, nothing(questions=(STORM,), acl_queries=(acls,)))
    assert seen.advice[0].action.startswith(first)


@pytest.mark.parametrize(
    "change",
    [
        {"asked": 399},
        {"unchanged": replace(STORM.unchanged, calls=311)},
        {"calls": 60, "asked": 60, "compared": 49, "unchanged": replace(STORM.unchanged, calls=49)},
    ],
    ids=["too small a share", "too many changes", "too few"],
)
def test_a_little_less_is_not(change: dict[str, object]) -> None:
    pair = replace(STORM, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(questions=(pair,))) == []


@pytest.mark.parametrize("option", ["noac", "acdirmin=0", "actimeo=3", "acregmin=0"])
def test_a_mount_option_that_explains_it_is_another_rule(option: str) -> None:
    expired = replace(STORM, early=Spared(156, 0.3, 0.1, (7,)))
    assert seen_by(RULE, mounted(verdict(option), questions=(expired,))) == []


def test_a_timeout_that_was_over_for_few_of_them_does_not_explain_the_others() -> None:
    """Two pauses show actimeo=3; hundreds of questions came before any timeout was over."""
    hardly = replace(STORM, early=Spared(155, 0.3, 0.1, (7,)))
    assert seen_by(RULE, mounted(verdict("actimeo=3", "acdirmin=3"), questions=(hardly,)))
    assert seen_by(RULE, mounted(verdict("noac"), questions=(hardly,))) == []


def test_questions_that_came_before_doubled_timeouts_were_over_are_explained_too() -> None:
    few = replace(STORM, early=Spared(56, 0.1, 0.1, (7,)))
    longest = verdict("actimeo=4", "acregmax=4", confidence="possible")
    for again, told in ((100, 0), (99, 1)):
        asked = AskedAgain(STORM.client, STORM.server, Spared(again, 0.2, 0.1, (9,)))
        found = mounted(longest, questions=(few,), asked_again=(asked,))
        assert len(seen_by(RULE, found)) == told
        # Of another timeout they are not.
        first = verdict("actimeo=1", "acregmin=1")
        assert seen_by(RULE, mounted(first, questions=(few,), asked_again=(asked,)))


def test_an_option_that_does_not_explain_it_is_no_reason_to_be_silent() -> None:
    assert seen_by(RULE, mounted(verdict("rsize=4096"), questions=(STORM,)))


def test_opens_of_directories_are_walks_and_no_files_that_could_be_kept_open() -> None:
    walked = replace(STORM, young=200, young_directories=100, directories=10)
    (seen,) = seen_by(RULE, nothing(questions=(walked,)))
    assert seen.seen.endswith(", as opens ask; 100 were about 10 directories.")
    assert "walks through a tree" in seen.advice[0].action
    assert not any("keep files open" in each.action for each in seen.advice)
    (seen,) = seen_by(RULE, nothing(questions=(replace(walked, young_directories=99),)))
    assert "keep files open" in seen.advice[0].action
    # A few, again and again.
    (seen,) = seen_by(RULE, nothing(questions=(replace(walked, directories=9),)))
    assert "opens the same directories again and again" in seen.advice[0].action
    # A timeout had run out for most.
    expired = replace(walked, young=155, young_directories=155, directories=50)
    (seen,) = seen_by(RULE, nothing(questions=(expired,)))
    assert "actimeo=60" in seen.advice[0].action


@pytest.mark.parametrize(
    ("young", "directories", "told"),
    [(31, 0, ()), (32, 32, ("nocto",)), (64, 32, ("nocto", "delegations"))],
)
def test_what_spares_opens_is_told_where_there_are_some(
    young: int, directories: int, told: tuple[str, ...]
) -> None:
    pair = replace(STORM, young=young, young_directories=directories)
    (seen,) = seen_by(RULE, nothing(questions=(pair,)))
    assert "actimeo=60" in seen.advice[0].action
    assert len(seen.advice) == 1 + len(told)
    assert all(word in each.action for word, each in zip(told, seen.advice[1:], strict=True))
    assert ("from opens" in seen.why) is bool(told)


def test_opens_of_nfsv4_are_no_reason_to_ask_for_files() -> None:
    """They ask within their own compound: locks, or changes, made the client ask."""
    locked = replace(STORM, young=156, young_unopened=79)
    (seen,) = seen_by(RULE, nothing(questions=(locked,), lock_calls=(LOCKS,)))
    assert seen.seen.endswith("(3 s for files, 30 s for directories).")
    assert "got a lock" in seen.why
    assert "one lock" in seen.advice[0].action
    assert "noac" in seen.why
    assert "noac, actimeo=0 or acregmin=0" in seen.advice[1].action
    # Where that client locked nothing, no lock made it ask.
    for others in ((), (replace(LOCKS, client="10.0.0.9"),)):
        (seen,) = seen_by(RULE, nothing(questions=(locked,), lock_calls=others))
        told = " ".join([seen.why, *(each.action for each in seen.advice)])
        assert "lock " not in told
        assert "a file that it may have changed itself" in seen.why
        assert "noac, actimeo=0 or acregmin=0" in seen.advice[1].action
    assert not any("nocto" in each.action for each in seen.advice)
    (seen,) = seen_by(RULE, nothing(questions=(replace(locked, young_unopened=78),)))
    assert "as opens ask" in seen.seen
    # A timeout had run out for most, and no open asked for the others.
    aged = replace(STORM, young=64, young_unopened=33)
    (seen,) = seen_by(RULE, nothing(questions=(aged,)))
    assert "opens" not in seen.why
    assert len(seen.advice) == 1
    (seen,) = seen_by(RULE, nothing(questions=(replace(aged, young_unopened=32),)))
    assert "from opens, which" in seen.why
    listed = replace(aged, young_unopened=32, young_directories=32)
    (seen,) = seen_by(RULE, nothing(questions=(listed,)))
    assert "from opens of directories" in seen.why


def test_where_opens_ask_no_longer_timeouts_are_advised() -> None:
    (seen,) = seen_by(RULE, nothing(questions=(replace(STORM, young=156),)))
    assert seen.seen.endswith(
        " 156 of these came before any default timeout was over (3 s for files, "
        "30 s for directories), as opens ask."
    )
    assert "keep files open" in seen.advice[0].action
    assert "No timeout had run out" in seen.why
    assert not any("actimeo=60" in each.action for each in seen.advice)
    (seen,) = seen_by(RULE, nothing(questions=(replace(STORM, young=155),)))
    assert "actimeo=60" in seen.advice[0].action


@pytest.mark.parametrize(
    ("young", "files", "first"),
    [
        (280, 30, "with nocto, so that opens do not ask, and with actimeo=600"),
        # Next to none of them came after a timeout.
        (281, 30, "with nocto as well"),
        (280, 28, "keep files open"),
        (300, 29, "keep files open"),
    ],
    ids=["read by several programs", "at once", "each many times", "few files"],
)
def test_programs_that_read_a_tree_one_after_the_other_are_helped_by_nocto(
    young: int, files: int, first: str
) -> None:
    storm = replace(STORM, young=young, files=files)
    (seen,) = seen_by(RULE, nothing(questions=(storm,)))
    assert first in seen.advice[0].action
    assert (f"about {files} files" in seen.seen) is ("keep files" not in first)


def test_what_asks_for_access_times_of_directories_is_helped_by_noatime() -> None:
    """From a tenth of the GETATTRs on."""
    walked = replace(STORM, young=300, young_directories=300, directories=100, listed=32)
    (seen,) = seen_by(RULE, nothing(questions=(walked,)))
    assert seen.seen.endswith(
        "; 300 were about 100 directories, 32 of them behind a listing and right before the next "
        "about the same, as stat() asks before an open for the access time that listing changed."
    )
    assert "noatime" in seen.advice[1].action
    (fewer,) = seen_by(RULE, nothing(questions=(replace(walked, listed=31),)))
    assert fewer.seen.endswith("; 300 were about 100 directories.")
    assert not any("noatime" in each.action for each in fewer.advice)


def test_what_came_late_by_an_open_is_an_opens() -> None:
    """A second of listing lies before each file of a tree is opened for the first time."""
    opened = replace(STORM, young=93, young_directories=10, opened_late=63, files=100)
    (seen,) = seen_by(RULE, nothing(questions=(opened,)))
    assert seen.seen.endswith(
        " 93 of these came before any default timeout was over (3 s for files, 30 s for "
        "directories) and 63 later, right before the client asked for its rights to the file, as "
        "opens ask: 146 about 100 files, 1.46 for each."
    )
    assert "No timeout had run out" not in seen.why
    assert "Most come from opens" in seen.why
    assert "nocto" in seen.advice[0].action
    # Only of files that were asked about twice it is known that they were opened a few times.
    assert not any("opened a few times" in each.action for each in seen.advice)
    (seen,) = seen_by(RULE, nothing(questions=(replace(opened, files=73),)))
    assert any("opened a few times" in each.action for each in seen.advice)
    (seen,) = seen_by(RULE, nothing(questions=(replace(opened, files=74),)))
    assert not any("opened a few times" in each.action for each in seen.advice)
    # Or that had been read before they were asked about.
    for before, again in ((53, False), (54, True)):
        pair = replace(opened, read_before=before)
        (seen,) = seen_by(RULE, nothing(questions=(pair,)))
        assert any("opened a few times" in each.action for each in seen.advice) is again
    (seen,) = seen_by(RULE, nothing(questions=(replace(opened, opened_late=62),)))
    assert "actimeo=60" in seen.advice[0].action


BOTH = replace(STORM, young=42, young_directories=10, either=124, files=30)
"""Files that are read again and again, some of them sooner than anything expires."""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, True),
        ({"either": 123}, False),
        # A tree that was read once, and is looked at from then on.
        ({"young": 41, "either": 200}, False),
        ({"files": 29}, False),
    ],
    ids=["many", "a little less", "hardly any opens", "few files"],
)
def test_where_opens_and_looks_send_the_same_both_options_come_first(
    change: dict[str, object], told: bool
) -> None:
    pair = replace(BOTH, **change)  # type: ignore[arg-type]
    (seen,) = seen_by(RULE, nothing(questions=(pair,)))
    assert ("nocto" in seen.advice[0].action and "actimeo=600" in seen.advice[0].action) is told
    assert ("Opens explain 32 of these; 124 may come from opens or" in seen.seen) is told
    either = "or from attributes that expire between two looks at the same tree: on Linux by"
    assert (either in seen.why) is told
    assert ("actimeo=60 or more" in seen.advice[0].action) is not told
