"""Names by which several clients log in."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.shared_names import SharedName, shared_names
from tests.unit.rows import Row, call, operation, trace_of

NAME = "Linux NFSv4.2 node"


def logins(
    *clients: str,
    names: tuple[str, ...] = (NAME,),
    verifiers: tuple[int | None, ...] = (None,),
    **columns: object,
) -> list[SharedName]:
    """What is found where these log in one after the other."""
    calls: list[Row] = []
    operations: list[Row] = []
    for number, client in enumerate(clients, 1):
        calls.append(call(number, "EXCHANGE_ID", 1.0, client=client, protocol="4.2", **columns))
        name, verifier = (told[(number - 1) % len(told)] for told in (names, verifiers))
        operations.append(
            operation(number, "EXCHANGE_ID", client_owner=name, client_verifier=verifier)
        )
    with trace_of(calls=calls, operations=operations) as trace:
        return list(shared_names(trace))


def test_who_logs_in_by_turns_under_one_name_is_told() -> None:
    (found,) = logins("10.0.0.3", "10.0.0.2", "10.0.0.2", "10.0.0.3", "10.0.0.2")
    assert (found.server, found.name) == ("10.0.0.1", NAME)
    assert found.clients == ("10.0.0.2", "10.0.0.3")
    assert (found.logins, found.turns) == (5, 3)
    assert found.frames == (3, 7, 9)


@pytest.mark.parametrize(
    "clients",
    [
        pytest.param(["10.0.0.2"] * 6, id="one client"),
        pytest.param(["10.0.0.2", "10.0.0.3", "10.0.0.3"], id="another address"),
        pytest.param(["10.0.0.2", "10.0.0.3", "10.0.0.2"], id="and back"),
        pytest.param(["10.0.0.2", "others", "10.0.0.2", "others"], id="those beyond the limit"),
    ],
)
def test_one_client_may_have_several_addresses(clients: list[str]) -> None:
    assert logins(*clients) == []


def test_one_client_with_one_verifier_ends_nothing() -> None:
    by_turns = ["10.0.0.2", "10.0.0.3"] * 4
    assert logins(*by_turns, verifiers=(7,)) == []
    # It began anew, and logged in over both of its addresses again.
    assert logins(*by_turns[:5], verifiers=(7, 7, 8, 8, 8)) == []


def test_cloned_machines_have_verifiers_of_their_own() -> None:
    (found,) = logins(*["10.0.0.2", "10.0.0.3"] * 4, verifiers=(7, 8))
    assert found.turns == 7
    # A verifier that the capture cut may be another.
    assert logins(*["10.0.0.2", "10.0.0.3"] * 4, verifiers=(7, None))


def test_names_of_their_own_are_none() -> None:
    assert logins(*["10.0.0.2", "10.0.0.3"] * 4, names=("one", "other")) == []


def test_servers_are_apart() -> None:
    calls = [
        call(number, "SETCLIENTID", 1.0, client=f"10.0.0.{2 + number % 2}", server=server)
        for number, server in enumerate(["10.0.0.1", "10.0.0.9"] * 2 + ["10.0.0.9"], 1)
    ]
    operations = [operation(number, "SETCLIENTID", client_owner=NAME) for number in range(1, 6)]
    with trace_of(calls=calls, operations=operations) as trace:
        assert shared_names(trace) == ()
