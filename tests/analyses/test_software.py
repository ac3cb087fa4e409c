"""What clients and servers say they are."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.software import (
    KINDS,
    Changed,
    Kind,
    Software,
    apart,
    in_short,
    software,
)
from tests.unit.rows import Row, call, operation, trace_of

OLD = "Linux 5.14.0 #1 SMP x86_64 (kernel.org)"
NEW = "Linux 6.1.176 #1 SMP x86_64 (kernel.org)"
ONTAP = "NetApp Release 9.6.0 (netapp.com)"


def asked(told: list[tuple[str, dict[str, str]]], op: str = "EXCHANGE_ID") -> Software:
    """What is found where clients say so, one call after the other."""
    calls: list[Row] = []
    operations: list[Row] = []
    for number, (client, columns) in enumerate(told, 1):
        calls.append(call(number, op, 1.0, client=client, protocol="4.1"))
        operations.append(operation(number, op, **columns))
    with trace_of(calls=calls, operations=operations) as trace:
        return software(trace)


def test_both_sides_are_told_by_software_that_of_most_addresses_first() -> None:
    found = asked(
        [
            ("10.0.0.2", {"client_software": OLD, "server_software": ONTAP}),
            ("10.0.0.3", {"client_software": NEW, "server_software": ONTAP}),
            ("10.0.0.4", {"client_software": NEW}),
            ("10.0.0.4", {"client_software": NEW}),
        ]
    )
    assert found == Software(
        clients=(
            Kind(NEW, "implementation", 2, ("10.0.0.3", "10.0.0.4"), 3),
            Kind(OLD, "implementation", 1, ("10.0.0.2",), 1),
        ),
        servers=(Kind(ONTAP, "implementation", 1, ("10.0.0.1",), 2),),
        changed=(),
    )


def test_one_that_says_another_thing_later_has_changed() -> None:
    found = asked(
        [
            ("10.0.0.2", {"client_software": OLD}),
            ("10.0.0.2", {"client_software": OLD}),
            ("10.0.0.2", {"client_software": NEW}),
        ]
    )
    assert found.clients == (Kind(NEW, "implementation", 1, ("10.0.0.2",), 5),)
    assert found.changed == (Changed("client", "10.0.0.2", OLD, NEW, 5),)


def test_those_that_share_an_address_have_not() -> None:
    """Behind one address there may be several machines."""
    found = asked([("10.0.0.2", {"client_software": said}) for said in (OLD, NEW, OLD, NEW)])
    assert [kind.software for kind in found.clients] == [OLD, NEW]
    assert found.changed == ()


def test_a_server_that_was_upgraded_has() -> None:
    later = ONTAP.replace("9.6", "9.8")
    found = asked([("10.0.0.2", {"server_software": said}) for said in (ONTAP, later)])
    assert found.servers == (Kind(later, "implementation", 1, ("10.0.0.1",), 4),)
    assert found.changed == (Changed("server", "10.0.0.1", ONTAP, later, 4),)


@pytest.mark.parametrize(
    ("owner", "system"),
    [
        ("Linux NFSv4.0 client1/10.0.0.1", "Linux"),
        ("Libnfs pid:23751 1795237265", "libnfs"),
        ("Linux", None),
        ("a Linux NFSv4.0", None),
        ("\\x00\\x01", None),
        ("", None),
    ],
)
def test_the_name_that_a_client_gives_itself_may_tell_its_system(
    owner: str, system: str | None
) -> None:
    found = asked([("10.0.0.2", {"client_owner": owner})], "SETCLIENTID")
    kinds = () if system is None else (Kind(system, "owner", 1, ("10.0.0.2",), 1),)
    assert found == Software(clients=kinds)


def test_it_is_not_guessed_at_where_the_client_says_what_it_is() -> None:
    owner = {"client_owner": "Linux NFSv4.1 client1"}
    found = asked([("10.0.0.2", owner), ("10.0.0.2", owner | {"client_software": NEW})])
    assert found == Software(clients=(Kind(NEW, "implementation", 1, ("10.0.0.2",), 3),))


def sent(*calls: Row, operations: tuple[Row, ...] = ()) -> Software:
    """What is found where credentials say so."""
    with trace_of(calls=list(calls), operations=list(operations)) as trace:
        return software(trace)


def test_a_library_is_told_by_the_machine_name_that_it_gives_to_all() -> None:
    found = sent(
        call(1, "GETATTR", 1.0, client="10.0.0.2", machine="libnfs"),
        call(2, "GETATTR", 2.0, client="10.0.0.2", machine="libnfs"),
        call(3, "GETATTR", 3.0, client="10.0.0.3", machine="client1"),
        call(4, "GETATTR", 4.0, client="10.0.0.4"),
    )
    assert found == Software(clients=(Kind("libnfs", "credential", 1, ("10.0.0.2",), 1),))


def test_what_a_client_says_itself_goes_before_its_machine_name() -> None:
    """A program of a client may have the library besides the mount: neither is the other's end."""
    named: Row = {"client": "10.0.0.2", "protocol": "4.1", "machine": "client1"}
    found = sent(
        call(1, "EXCHANGE_ID", 1.0, **named),
        call(2, "GETATTR", 2.0, client="10.0.0.2", machine="libnfs"),
        operations=(operation(1, "EXCHANGE_ID", client_software=NEW),),
    )
    assert found == Software(clients=(Kind(NEW, "implementation", 1, ("10.0.0.2",), 1),))
    owner = "Libnfs pid:1 2"
    found = sent(
        call(1, "SETCLIENTID", 1.0, client="10.0.0.2", machine="libnfs"),
        operations=(operation(1, "SETCLIENTID", client_owner=owner),),
    )
    assert found == Software(clients=(Kind("libnfs", "owner", 1, ("10.0.0.2",), 1),))


def test_more_kinds_than_are_told_leave_those_of_fewest_addresses_out() -> None:
    said = [(f"10.1.0.{host}", {"client_software": f"System {host}"}) for host in range(KINDS + 9)]
    found = asked([*said, ("10.2.0.1", {"client_software": "System 28"})])
    assert len(found.clients) == KINDS
    assert (found.clients[0].software, found.clients[0].hosts) == ("System 28", 2)


def test_of_many_addresses_the_first_are_named() -> None:
    found = asked([(f"10.1.0.{host}", {"client_software": NEW}) for host in range(10, 19)])
    (kind,) = found.clients
    assert (kind.hosts, kind.addresses) == (9, tuple(f"10.1.0.{host}" for host in range(10, 15)))


def test_without_any_nothing_is_told() -> None:
    assert asked([("10.0.0.2", {})], "GETATTR") == Software()
    assert asked([("10.0.0.2", {})]) == Software()


def test_in_short_it_is_the_release() -> None:
    assert in_short(NEW) == "Linux 6.1.176"
    assert in_short(ONTAP) == ONTAP
    assert in_short("x" * 300) == "x" * 59 + "…"
    assert apart(OLD, NEW) == ("Linux 5.14.0", "Linux 6.1.176")
    again = NEW.replace("#1", "#2")
    assert apart(NEW, again) == (NEW, again)
