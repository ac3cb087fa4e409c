"""The rule for listings without attributes."""

from __future__ import annotations

import pytest

from pcapnfs import units
from pcapnfs.analyses.caching.spared import NONE, Spared
from pcapnfs.analyses.mounts.software import Kind, Software
from pcapnfs.analyses.namespace.listing_costs import ListingCosts
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.readdir_without_plus import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.mounts import MOUNT, mounted, verdict

PLAIN = ListingCosts(
    client="10.0.0.2",
    server="10.0.0.1",
    plain_calls=4,
    plain_versions=(3,),
    plain_entries=100,
    asked=Spared(60, 0.12, 0.06, (5, 7)),
    asked_entries=50,
    followed=Spared(50, 0.10, 0.05, (5,)),
    untyped=NONE,
    places=(".", "src"),
    plus_calls=1,
    plus_entries=30,
    plus_objects=30,
    touched=30,
    plus=NONE,
    plus_extra_s=0.0,
)


def test_half_of_the_entries_asked_for_is_too_much() -> None:
    (seen,) = seen_by(RULE, nothing(listing_costs=(PLAIN,)))
    assert seen.seen == (
        "4 READDIRs without attributes told of 100 entries; 50 of them were then asked for one by "
        "one (LOOKUP, GETATTR), most of them in the root of the export, src. 1 call listed with "
        "attributes. Attributes in the listings would have spared 50 of these calls."
    )
    assert seen.claims == (Claim("unstable", 0.10), Claim("client", 0.05))
    assert (seen.calls, seen.frames) == (50, (5,))
    assert seen.about == ("10.0.0.2", "10.0.0.1")


def test_a_server_without_readdirplus_is_told_and_no_mount_option_advised() -> None:
    without = replace(PLAIN, plus_calls=0, plus_unsupported=2)
    (seen,) = seen_by(RULE, nothing(listing_costs=(without,)))
    assert "The server answered 2 READDIRPLUSes that it has no such call" in seen.seen
    advice = str(seen.advice)
    assert "No mount option helps" in advice
    assert "nordirplus" not in advice
    assert "rdirplus=force" not in advice
    # One of several servers behind an address may have it.
    (seen,) = seen_by(RULE, nothing(listing_costs=(replace(without, plus_calls=1),)))
    assert "nordirplus" in str(seen.advice)


def test_a_server_that_leaves_attributes_out_is_told_and_no_mount_option_advised() -> None:
    bare = replace(PLAIN, plain_calls=0, plain_versions=(), bare_calls=4, bare_entries=100)
    (seen,) = seen_by(RULE, nothing(listing_costs=(bare,)))
    assert seen.seen.startswith(
        "4 listings asked for attributes, and the server gave none of 100 entries; 50 of them "
    )
    assert "No mount option helps" in seen.advice[0].action
    assert "nordirplus" not in str(seen.advice)
    assert "the server left them out" in seen.why
    # Where most names were told by listings that did not ask, the client may ask.
    few = replace(PLAIN, bare_calls=1, bare_entries=10)
    (seen,) = seen_by(RULE, nothing(listing_costs=(few,)))
    assert seen.seen.startswith(
        "4 READDIRs without attributes told of 90 entries; 1 listing asked for attributes, and the "
        "server gave none of 10 entries; "
    )
    assert "nordirplus" in seen.advice[0].action


def test_the_mount_that_lists_so_is_named_where_it_is_told_from_others() -> None:
    plain = replace(MOUNT, verdicts=(verdict("nordirplus"),))
    told = mounted(verdict("nordirplus"), listing_costs=(PLAIN,))
    both = (replace(plain, part="/home"), replace(MOUNT, part="/srv"))
    for mounts, named in (((plain,), False), (both, True)):
        (seen,) = seen_by(RULE, replace(told, cache=replace(told.cache, mounts=mounts)))
        assert ("with different options, /home is listed so." in seen.seen) == named


@pytest.mark.parametrize(
    ("options", "confidence", "told"),
    [
        (("noac", "actimeo=0"), "likely", "those of noac or actimeo=0, with which a client "),
        (("acdirmin=0", "noac"), "possible", "the calls are perhaps those of acdirmin=0 or noac"),
        (("actimeo=1", "actimeo=2"), "likely", "believes those of files for less."),
        (("actimeo=2", "actimeo=3"), "likely", None),
        (("nordirplus",), "likely", None),
    ],
)
def test_it_is_told_where_the_client_believes_attributes_for_less(
    options: tuple[str, ...], confidence: str, told: str | None
) -> None:
    """The number is reckoned with the defaults."""
    judged = verdict(*options, confidence=confidence)
    (seen,) = seen_by(RULE, mounted(judged, listing_costs=(PLAIN,)))
    assert ("as by default; but" in seen.seen) == (told is not None)
    assert (told or "") in seen.seen
    late = replace(PLAIN, followed=NONE)
    (seen,) = seen_by(RULE, mounted(judged, listing_costs=(late,)))
    assert "as by default; but" not in seen.seen


def test_half_is_claimed_of_what_may_have_been_asked_for_types() -> None:
    pair = replace(PLAIN, untyped=Spared(2000, 2.0, 1.0, (9,)))
    (seen,) = seen_by(RULE, nothing(listing_costs=(pair,)))
    assert f"asked {units.count(2000)} times again" in seen.seen
    assert f"half is reckoned with: {units.count(1050)} calls less in all" in seen.seen
    assert seen.claims == (Claim("unstable", 1.1), Claim("client", 0.55))
    assert seen.calls == 1050


def test_attributes_that_would_have_expired_cost_nothing() -> None:
    """The entries were asked for one by one all the same: the advice is another."""
    (some,) = seen_by(
        RULE, nothing(listing_costs=(replace(PLAIN, followed=replace(PLAIN.followed, calls=20)),))
    )
    assert "would have spared 20 of these calls: a client believes" in some.seen
    assert "acregmin" in some.advice[0].action
    (none,) = seen_by(RULE, nothing(listing_costs=(replace(PLAIN, followed=NONE),)))
    assert "would have spared none of these calls" in none.seen
    assert (none.claims, none.severity, none.calls, none.frames) == ((), "note", 0, (5, 7))
    (most,) = seen_by(RULE, nothing(listing_costs=(PLAIN,)))
    assert "acregmin" not in most.advice[0].action


@pytest.mark.parametrize(
    "change",
    [
        {"asked_entries": 49},
        {"asked": Spared(29, 0.06, 0.03, ()), "plain_entries": 29, "asked_entries": 29},
    ],
)
def test_a_little_less_is_not(change: dict[str, object]) -> None:
    pair = replace(PLAIN, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(listing_costs=(pair,))) == []


@pytest.mark.parametrize(
    ("entries", "seconds", "told"), [(500, 0.9, True), (501, 0.9, False), (500, 0.6, False)]
)
def test_a_tenth_of_a_large_directory_is_too_much_where_it_takes_the_time(
    entries: int, seconds: float, *, told: bool
) -> None:
    """Of ten seconds, with the pauses: more than one, or less."""
    spared = replace(PLAIN.followed, time_s=seconds, pause_s=seconds / 3)
    pair = replace(PLAIN, plain_entries=entries, followed=spared)
    seen = seen_by(RULE, replace(bound_by("client"), listing_costs=(pair,)))
    assert [each.severity for each in seen] == (["problem"] if told else [])


def test_the_user_may_think_otherwise() -> None:
    pair = replace(PLAIN, asked_entries=20)
    assert seen_by(RULE, nothing(listing_costs=(pair,)), "readdir_without_plus.share=0.1")


def test_nfsv4_has_no_readdirplus() -> None:
    (seen,) = seen_by(RULE, nothing(listing_costs=(replace(PLAIN, plain_versions=(4,)),)))
    told = " ".join((seen.title, seen.why, *(advice.action for advice in seen.advice)))
    assert "READDIRPLUS" not in told
    assert "NFSv3" not in told
    assert "A READDIR that asks for them brings dozens" in seen.why


def test_of_both_versions_both_are_told() -> None:
    (seen,) = seen_by(RULE, nothing(listing_costs=(replace(PLAIN, plain_versions=(3, 4)),)))
    assert "READDIRPLUS, or a READDIR of NFSv4 that asks for them, brings dozens" in seen.why
    (seen,) = seen_by(RULE, nothing(listing_costs=(replace(PLAIN, plus_calls=0),)))
    assert "NFSv4" not in seen.why
    assert any("NFS3ERR_NOTSUPP" in advice.action for advice in seen.advice)


def test_what_the_capture_rules_out_is_not_advised() -> None:
    (seen,) = seen_by(RULE, nothing(listing_costs=(PLAIN,)))
    assert "nordirplus" in seen.advice[0].action
    assert "NFS3ERR_NOTSUPP" not in str(seen.advice)
    # The client left off by itself: no option kept it from asking.
    (seen,) = seen_by(RULE, nothing(listing_costs=(replace(PLAIN, listed_both_ways=1),)))
    assert seen.advice[0].action.startswith("The client chose so: Linux stops")
    assert "nordirplus" not in str(seen.advice)


@pytest.mark.parametrize("version", [3, 4])
def test_clients_that_list_with_attributes_only_if_told_so_are_advised(version: int) -> None:
    pair = replace(PLAIN, plain_versions=(version,), plus_calls=0)
    (seen,) = seen_by(RULE, nothing(listing_costs=(pair,)))
    first = seen.advice[0].action
    assert "macOS and FreeBSD" in first
    assert "mount with rdirplus" in first
    linux = Kind("Linux 6.1.0", "implementation", 1, (pair.client,), 1)
    found = nothing(listing_costs=(pair,), software=Software(clients=(linux,)))
    assert "macOS" not in seen_by(RULE, found)[0].advice[0].action
    other = nothing(
        listing_costs=(pair,), software=Software(clients=(replace(linux, addresses=("10.0.0.9",)),))
    )
    assert "macOS" in seen_by(RULE, other)[0].advice[0].action


def test_a_client_that_listed_with_attributes_was_told_so() -> None:
    (seen,) = seen_by(RULE, nothing(listing_costs=(PLAIN,)))
    assert "macOS" not in " ".join(advice.action for advice in seen.advice)
