"""The rule for clients that log in by one name."""

from __future__ import annotations

from pcapnfs.analyses.mounts.shared_names import SharedName
from pcapnfs.diagnosis.rules import server_restart
from pcapnfs.diagnosis.rules.shared_client_name import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.restarted import RESTARTED

SHARED = SharedName(
    server="10.0.0.1",
    name="Linux NFSv4.2 node",
    clients=("10.0.0.2", "10.0.0.3", "10.0.0.4"),
    logins=31,
    turns=29,
    frames=(5, 9),
)


def test_it_says_who_and_by_what_name() -> None:
    (seen,) = seen_by(RULE, nothing(shared_names=(SHARED,)))
    assert seen.severity == "problem"
    assert seen.title == "3 clients of 10.0.0.1 have one name, and end each other's state"
    assert seen.seen == (
        "10.0.0.2, 10.0.0.3 and 10.0.0.4 logged in 31 times as Linux NFSv4.2 node: 29 times after "
        "another of them."
    )
    assert (seen.about, seen.frames) == (("10.0.0.1",), (5, 9))


def test_of_many_the_first_are_named() -> None:
    many = replace(SHARED, clients=tuple(f"10.0.0.{number}" for number in range(2, 9)))
    (seen,) = seen_by(RULE, nothing(shared_names=(many,)))
    assert seen.seen.startswith("10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5 and 3 more logged in")


def test_where_the_name_is_known_no_restart_is_guessed_at() -> None:
    twins = replace(RESTARTED, verifiers=1, losers=2, logins=12, refused=0)
    (seen,) = seen_by(server_restart.RULE, nothing(restarts=(twins,)))
    assert seen.title == "Clients of 10.0.0.1 end each other's state"
    known = nothing(restarts=(twins,), shared_names=(SHARED,))
    assert seen_by(server_restart.RULE, known) == []
