"""The rule for names that are looked for in vain."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.not_found import MissingName, NotFound, SearchOrder
from pcapnfs.diagnosis.finding import Claim, Observed
from pcapnfs.diagnosis.rules.negative_lookups import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.mounts import mounted, verdict

MANY = NotFound(
    client="10.0.0.2",
    server="10.0.0.1",
    lookups=100,
    missing=30,
    again=12,
    apple_double=0,
    names=(MissingName("libc.so.6", 20, 7, ("opt/lib", "lib")), MissingName("cc", 10, 1, ("bin",))),
    orders=(SearchOrder(("opt/lib", "lib"), 10, 1),),
    searched=20,
    climbing=0,
    time_s=1.5,
    pause_s=0.5,
    frames=(3, 7),
)


def test_a_third_of_the_lookups_is_too_much() -> None:
    (seen,) = seen_by(RULE, nothing(not_found=(MANY,)))
    assert seen.seen == (
        "30 of 100 LOOKUPs found nothing, 12 of them for the second time or later. "
        "Most wanted: libc.so.6 (20 times: opt/lib, lib, …); cc (10 times: bin). "
        "Searched in this order: opt/lib, lib (10 searches for 1 name)."
    )
    assert seen.claims == (Claim("unstable", 1.5), Claim("client", 0.5))
    assert seen.about == ("10.0.0.2", "10.0.0.1")


def test_the_root_of_the_export_is_told_in_words() -> None:
    pair = replace(MANY, names=(MissingName("cc", 30, 1, (".",)),), orders=())
    (seen,) = seen_by(RULE, nothing(not_found=(pair,)))
    assert seen.seen.endswith("Most wanted: cc (30 times: the root of the export).")


def test_where_one_name_was_once_looked_for_is_no_search_path() -> None:
    once = SearchOrder(("refs", "refs/tags"), 1, 1)
    (seen,) = seen_by(RULE, nothing(not_found=(replace(MANY, orders=(once,)),)))
    assert "Searched" not in seen.seen


@pytest.mark.parametrize("change", [{"missing": 29}, {"lookups": 101}])
def test_a_little_less_is_not(change: dict[str, int]) -> None:
    pair = replace(MANY, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(not_found=(pair,))) == []


def test_the_user_may_think_otherwise() -> None:
    pair = replace(MANY, lookups=101)
    assert seen_by(RULE, nothing(not_found=(pair,)), "negative_lookups.share=0.2")


def test_searches_that_climb_are_told() -> None:
    pair = replace(MANY, orders=(), climbing=3)
    (seen,) = seen_by(RULE, nothing(not_found=(pair,)))
    assert seen.seen.endswith(
        "cc (10 times: bin). 3 searches went from a directory to its parent "
        "and on, as for node_modules."
    )


def test_names_of_the_same_directories_are_told_together() -> None:
    places = ("src", "src/a")
    names = tuple(MissingName(name, 10, 7, places) for name in (".ignore", "package.json"))
    pair = replace(MANY, names=(*names, MissingName("cc", 10, 1, ("src",))), orders=())
    (seen,) = seen_by(RULE, nothing(not_found=(pair,)))
    assert seen.seen.endswith(
        "Most wanted: .ignore and package.json (10 times each: src, src/a, …); cc (10 times: src)."
    )


def test_what_is_tried_in_each_directory_is_no_search_path() -> None:
    (seen,) = seen_by(RULE, nothing(not_found=(replace(MANY, searched=14, orders=()),)))
    told = " ".join((seen.why, *(advice.action for advice in seen.advice)))
    assert "need not be there" in seen.why
    assert "PATH" not in told
    (seen,) = seen_by(RULE, nothing(not_found=(replace(MANY, searched=15),)))
    assert "PATH" in seen.why
    assert "search path" in seen.advice[0].action


def test_a_client_that_asks_once_remembers_names() -> None:
    def told(again: int) -> bool:
        (seen,) = seen_by(RULE, nothing(not_found=(replace(MANY, again=again),)))
        return any("lookupcache" in advice.action for advice in seen.advice)

    assert told(1)
    assert not told(0)


def test_files_of_extended_attributes_are_no_search_path() -> None:
    names = (MissingName("._a", 20, 1, ("src",)), MissingName("._b", 10, 1, ("src",)))
    mac = replace(MANY, apple_double=20, names=names, orders=())
    (seen,) = seen_by(RULE, nothing(not_found=(mac,)))
    told = " ".join((seen.title, seen.why, *(advice.action for advice in seen.advice)))
    assert "macOS" in seen.why
    assert "20 of the names begin with ._" in seen.seen
    assert "search path" not in told
    assert "lookupcache" not in told


def test_a_few_of_them_are_told_beside_a_search_path() -> None:
    (seen,) = seen_by(RULE, nothing(not_found=(replace(MANY, apple_double=5),)))
    assert "macOS" not in seen.why
    assert "begin with ._" not in seen.seen


def test_opens_by_name_are_looked_up_as_well() -> None:
    (seen,) = seen_by(RULE, nothing(not_found=(replace(MANY, opens=40),)))
    assert seen.seen.startswith("30 of 100 LOOKUPs and OPENs by name found nothing")
    assert seen.data == "100 LOOKUPs and OPENs by name"


@pytest.mark.parametrize(
    ("name", "told", "others"),
    [
        ("__init__.cpython-314.so", "python3 -m compileall", "AllowOverride"),
        ("RCS", "for make, -r", "untrackedCache"),
        (".gitattributes", "core.untrackedCache", "for make"),
        (".htaccess", "AllowOverride", "compileall"),
    ],
)
def test_the_names_tell_the_program(name: str, told: str, others: str) -> None:
    tried = replace(MANY, names=(MissingName(name, 30, 7, ("src",)),), searched=0, orders=())
    (seen,) = seen_by(RULE, nothing(not_found=(tried,)))
    assert told in seen.advice[0].action
    assert others not in seen.advice[0].action
    # Where they do not, all are told.
    unknown = replace(tried, names=(MissingName("pgsql_tmp", 30, 7, ("base",)),))
    (seen,) = seen_by(RULE, nothing(not_found=(unknown,)))
    assert told in seen.advice[0].action
    assert others in seen.advice[0].action


FORGETFUL = replace(MANY, lookups=600, missing=480, again=320, time_s=2.4, pause_s=0.6)


def forgetful(pair: NotFound, *options: str) -> list[Observed]:
    """What is said where the mount's verdict has these options."""
    return seen_by(RULE, mounted(verdict(*options, confidence="possible"), not_found=(pair,)))


def test_where_names_are_not_remembered_the_option_and_the_search_are_told_apart() -> None:
    again, first = forgetful(FORGETFUL, "lookupcache=positive")
    assert again.title == (
        "The client does not remember which names are not there: lookupcache=positive"
    )
    assert again.advice[0].action.startswith("Mount without lookupcache=positive.")
    assert (again.calls, again.confidence, again.frames) == (320, "possible", (1, 2))
    assert [claim.seconds for claim in again.claims] == pytest.approx([1.6, 0.4])
    assert (first.calls, first.confidence) == (160, "certain")
    assert [claim.seconds for claim in first.claims] == pytest.approx([0.8, 0.2])
    assert "second time or later (whose cost another finding tells)." in first.seen
    assert not any("lookupcache" in advice.action for advice in first.advice)


def test_what_is_left_of_few_searches_is_not_told() -> None:
    (again,) = forgetful(replace(FORGETFUL, missing=349), "lookupcache=positive")
    assert again.calls == 320


def test_a_directory_that_changed_is_searched_again_with_any_option() -> None:
    again, first = forgetful(replace(FORGETFUL, again=451), "lookupcache=positive")
    assert (again.calls, first.calls) == (320, 160)
    assert "320 of 600 LOOKUPs are of names that it had looked for in vain before in the same " in (
        again.seen
    )
    assert "second time or later (of 320 another finding tells the cost)." in first.seen


@pytest.mark.parametrize(("again", "told"), [(30, 2), (29, 1)])
def test_few_that_it_did_not_remember_are_told_with_the_others(again: int, told: int) -> None:
    found = forgetful(replace(FORGETFUL, again=again), "lookupcache=positive")
    assert len(found) == told
    assert sum(seen.calls or 0 for seen in found) == 480
    assert any("lookupcache" in advice.action for advice in found[0].advice)


def test_by_other_verdicts_nothing_is_told_apart() -> None:
    """As where a directory that programs change is searched, or nothing is known of the mount."""
    for options in (("lookupcache=none",), ("actimeo=0",)):
        (seen,) = forgetful(FORGETFUL, *options)
        assert seen.calls == 480


def test_macos_has_another_option() -> None:
    (seen,) = forgetful(replace(FORGETFUL, apple_double=240), "lookupcache=positive")
    assert "nonegnamecache" in seen.advice[1].action
