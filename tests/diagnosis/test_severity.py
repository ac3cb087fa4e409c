"""How grave a cost is: of the time budget, and of the time of the client that waits for it."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.acl_queries import AclQueries
from pcapnfs.analyses.caching.spared import NONE, Spared
from pcapnfs.analyses.locks.lock_calls import LockCalls
from pcapnfs.analyses.namespace.voided_names import VoidedNames
from pcapnfs.diagnosis.finding import Claim, Observed, Rule, Severity
from pcapnfs.diagnosis.judging import judge_by
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules import (
    acl_storm,
    attributes_apart,
    commit_cost,
    delegation_recall,
    lock_calls,
    stalled_calls,
    tcp_loss,
    voided_names,
)
from pcapnfs.diagnosis.severity import by_client, by_cost, costs, of_cost
from pcapnfs.record import Record, replace
from tests.diagnosis.bottlenecks import bound_by, bound_each, clock, of_client
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.test_attributes_apart import MANY as APART
from tests.diagnosis.test_commit_cost import MANY as COMMITTED
from tests.diagnosis.test_delegation_recall import CALLED
from tests.diagnosis.test_lock_calls import MANY as LOCKING
from tests.diagnosis.test_stalled_calls import ONE
from tests.diagnosis.test_tcp_loss import LOSSY
from tests.diagnosis.test_voided_names import VOIDED

PAIR = ("10.0.0.2", "10.0.0.1")


def among_many(active_s: float = 20.0) -> Material:
    """Twenty clients with a clock of 10 s each, one of which was active for so long."""
    others = (of_client(host, "client") for host in range(3, 22))
    found = bound_each(of_client(2, "client", active_s=active_s), *others)
    total = replace(found.time_budget.total, client_s=200.0 - 6.0)
    return replace(found, time_budget=replace(found.time_budget, total=total))


def seen(
    cost_s: float, about: tuple[str, ...] = PAIR, *, at_most: Severity | None = "problem"
) -> Observed:
    """Something that costs so much, and is a note by the time budget of all."""
    return Observed(
        severity="note",
        at_most=at_most,
        title="Something",
        seen="It was seen.",
        why="It matters.",
        advice=(),
        confidence="certain",
        data="10 calls",
        claims=(Claim("stable", cost_s),),
        about=about,
    )


@pytest.mark.parametrize(
    ("share", "most", "severity"),
    [
        (0.1, "problem", "problem"),
        (0.099, "problem", "warning"),
        (0.009, "problem", "note"),
        (0.5, "warning", "warning"),
        (0.05, "note", "note"),
    ],
)
def test_a_cost_is_as_grave_as_its_share(share: float, most: Severity, severity: Severity) -> None:
    assert of_cost(share * 50, 50, most) == severity


@pytest.mark.parametrize(
    ("cost_s", "active_s", "severity", "share"),
    [
        (2.0, 20.0, "problem", 0.1),
        (1.9, 20.0, "warning", 0.095),
        (1.0, 200.0, "note", 0.005),
        # Less than a second is noticed by nobody, however short the client was there.
        (0.99, 1.0, "note", None),
        (3.0, 2.0, "problem", 1.0),
    ],
)
def test_what_one_of_many_clients_waits_for_is_held_against_its_own_time(
    cost_s: float, active_s: float, severity: Severity, share: float | None
) -> None:
    told = by_client(among_many(active_s), seen(cost_s))
    assert (told.severity, told.client_share) == (severity, share)


def test_nothing_changes_where_the_time_is_nobodys_in_particular() -> None:
    many = among_many()
    # About a server; about a client that is not known; not by cost; and the only client there is.
    for told in (
        seen(5.0, ("10.0.0.1",)),
        seen(5.0, ("10.0.0.99", "10.0.0.1")),
        seen(5.0, at_most=None),
    ):
        assert by_client(many, told) == told
    assert by_client(bound_by("client"), seen(5.0)) == seen(5.0)


def test_what_is_little_of_a_quiet_hour_is_held_against_the_work_in_it() -> None:
    """The only client, at work for 20 s of 200."""
    quiet = bound_by("client", rows={"stable": 6.0}, active_s=20.0, away_s=180.0)
    told = by_client(quiet, seen(2.0))
    assert (told.severity, told.client_share) == ("problem", 0.1)
    # A finding on a server says nothing of whose time it takes.
    assert by_client(quiet, seen(2.0, ("10.0.0.1",))).client_share is None


def test_of_several_that_wait_their_times_are_added_up() -> None:
    both = replace(seen(3.0, ("10.0.0.1",)), waiting=("10.0.0.2", "10.0.0.3"))
    told = by_client(among_many(), both)
    # 20 s and 10 s.
    assert (told.severity, told.client_share) == ("problem", 0.1)
    unknown = replace(both, waiting=("10.0.0.2", "10.0.0.99"))
    assert by_client(among_many(), unknown) == unknown


def test_a_recall_takes_the_time_of_those_who_wait() -> None:
    """The holder was there for a moment; who waited for it has 3 s less of 10."""
    material = replace(among_many(1.0), recalls=(replace(CALLED, time_s={"unstable": 3.0}),))
    (finding,) = judge_by([delegation_recall.RULE], material).findings
    assert finding.client_share == pytest.approx(0.3)


def test_a_finding_says_what_it_is_of_its_clients_time() -> None:
    """Of the budget of 200 s it is a hundredth and a half; alike, the largest share is told."""
    rule = Rule("slow", "slow", "a test", lambda _material, _values: (seen(3.0),))
    (finding,) = judge_by([rule], among_many()).findings
    assert finding.severity == "problem"
    assert finding.cost_share == pytest.approx(0.015)
    assert finding.client_share == pytest.approx(0.15)
    pair = (seen(3.0), seen(2.0, ("10.0.0.3", "10.0.0.1")))
    rule = Rule("slow", "slow", "a test", lambda _material, _values: pair)
    (finding,) = judge_by([rule], among_many()).findings
    assert len(finding.alike) == 2
    assert finding.severity == "problem"
    assert finding.client_share == pytest.approx(0.2)


def test_what_is_silent_of_little_asks_the_same() -> None:
    many = among_many()
    claims = (Claim("stable", 1.5),)
    assert by_cost(many, claims) == "note"
    assert by_cost(many, claims, clients=PAIR[:1]) == "warning"
    assert costs(many, PAIR[:1], claims, 0.07)
    assert not costs(many, PAIR[:1], claims, 0.08)
    assert not costs(many, (), claims, 0.01)
    # The budget of all still counts.
    assert costs(many, (), (Claim("stable", 2.0),), 0.01)


STORM = AclQueries(*PAIR, 1000, Spared(60, 0.9, 0.6, (3, 5)), 0, NONE, 60, 0, 0, NONE, 0, NONE)
LOCKED = replace(LOCKING, calls=1000, locking=Spared(60, 0.9, 0.6, (3, 5)))
LOOKED_UP = replace(
    VOIDED, calls=1000, asked=Spared(60, 2.0, 0.6, (3, 5)), kept=Spared(60, 0.9, 0.6, (3, 5))
)


@pytest.mark.parametrize(
    ("rule", "field", "few"),
    [
        (acl_storm.RULE, "acl_queries", STORM),
        (lock_calls.RULE, "lock_calls", LOCKED),
        (voided_names.RULE, "voided_names", LOOKED_UP),
    ],
    ids=lambda value: value.id if isinstance(value, Rule) else "",
)
def test_few_of_the_calls_are_told_where_they_cost_much(
    rule: Rule, field: str, few: AclQueries | LockCalls | VoidedNames
) -> None:
    """60 of 1,000 calls are less than a tenth; they cost 1.5 s."""

    def told(found: Material, pair: Record) -> list[Severity]:
        material = replace(found, **{field: (pair,)})  # type: ignore[arg-type]
        return [each.severity for each in judge_by([rule], material).findings]

    # A hundredth of the budget; of the time of its client; and neither.
    assert told(replace(nothing(), time_budget=clock(unstable=9.0)), few)
    assert told(among_many(150.0), few) == ["warning"]
    assert told(among_many(151.0), few) == []
    # Less than a second, or fewer than are worth a word.
    brief = Spared(60, 0.5, 0.4, (3, 5))
    field_of = {"acl_queries": "asked", "lock_calls": "locking", "voided_names": "kept"}
    quick = replace(few, **{field_of[field]: brief})  # type: ignore[arg-type]
    assert told(replace(nothing(), time_budget=clock(unstable=9.0)), quick) == []


def test_rules_that_are_silent_of_little_tell_what_is_much_for_one_client() -> None:
    """Of 200 s of all it is less than a hundredth, of 20 s of its client 7 %."""
    took = {"unstable": 1.4}
    cases = (
        (stalled_calls.RULE, "stalled_calls", replace(ONE, time_s=took, longest_s=1.4)),
        (tcp_loss.RULE, "tcp_stalls", replace(LOSSY, server_resent=0, time_s=took)),
        (
            attributes_apart.RULE,
            "attribute_calls",
            replace(APART, calls=replace(APART.calls, time_s=1.4, pause_s=0.0)),
        ),
        (commit_cost.RULE, "commits", replace(COMMITTED, time_s=1.41)),
    )
    for rule, field, told in cases:
        material = replace(among_many(), **{field: (told,)})  # type: ignore[arg-type]
        assert len(seen_by(rule, material)) == 1, rule.id
        # Nor is it much of 300 s.
        material = replace(among_many(300.0), **{field: (told,)})  # type: ignore[arg-type]
        assert seen_by(rule, material) == [], rule.id


def test_what_is_worth_doing_is_a_part_of_the_run_without_its_pauses() -> None:
    run = bound_by("client")
    told = run.bottleneck.verdict
    assert told is not None
    run_s = sum(cause.time_s for cause in told.causes)

    def worked_s(material: Material) -> float | None:
        return judge_by((), material).judged.worked_s

    def paused(unused_s: float, away_s: float = 0.0) -> Material:
        seen = replace(run.bottleneck, unused_s=unused_s, away_s=away_s)
        return replace(run, bottleneck=seen)

    assert worked_s(run) == pytest.approx(run_s)
    assert worked_s(paused(2.0)) == pytest.approx(run_s - 2.0)
    # Long pauses are among the pauses, and the verdict has left them out already.
    assert worked_s(paused(42.0, 40.0)) == pytest.approx(run_s - 2.0)
    # Of several clients it is the budget, and where nothing is known of the run.
    assert worked_s(bound_each(of_client(2, "client"), of_client(3, "client"))) is None
    assert worked_s(replace(run, bottleneck=replace(run.bottleneck, verdict=None))) is None
