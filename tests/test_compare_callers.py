"""Which client after is which one before: by address, by name, or as the only one that is left."""

from __future__ import annotations

import pytest

import pcapnfs
from pcapnfs.analyses.times import client_clocks
from pcapnfs.comparison.callers import Caller, callers, pairs
from pcapnfs.comparison.comparing import Comparison, of_sides
from pcapnfs.comparison.side import Side, gather
from pcapnfs.record import replace
from pcapnfs.views.clients_compared import about_clients
from pcapnfs.views.remarks import remarks
from tests import sides
from tests.oracles.corpus import lab_captures, require_corpus
from tests.sides import side_of
from tests.unit.rows import Row, call, file, operation, trace_of


def side(**clients: str | tuple[str | None, str | None] | None) -> dict[str, Caller]:
    """Callers by the last part of their address: machine name, or that and the client owner."""
    found = {}
    for client, names in clients.items():
        machine, owner = names if isinstance(names, tuple) else (names, None)
        found[client] = Caller(client, machine, owner)
    return found


def matched(before: dict[str, Caller], after: dict[str, Caller]) -> dict[str, tuple[str, str]]:
    """By client before: the client after, and what tells that it is the same."""
    found = pairs(before, after)
    back = {(pair.after, pair.before, pair.matched_by) for pair in pairs(after, before)}
    assert back == {(pair.before, pair.after, pair.matched_by) for pair in found}
    return {pair.before: (pair.after, pair.matched_by) for pair in found}


def test_clients_of_the_same_addresses_are_the_same() -> None:
    unnamed = side(a=None, b=None)
    assert matched(unnamed, unnamed) == {"a": ("a", "address"), "b": ("b", "address")}
    assert matched(side(a="x", b="y"), unnamed) == matched(unnamed, unnamed)


def test_a_name_that_one_client_alone_has_finds_it_at_another_address() -> None:
    before, after = side(a="x", b="y"), side(c="x", d="y")
    assert matched(before, after) == {"a": ("c", "machine"), "b": ("d", "machine")}
    by_owner = side(a=("x", "one"), b=("x", "two")), side(c=(None, "two"), d=(None, "one"))
    assert matched(*by_owner) == {"a": ("d", "client_owner"), "b": ("c", "client_owner")}


def test_addresses_that_were_exchanged_are_those_of_the_names() -> None:
    before, after = side(a="x", b="y"), side(a="y", b="x")
    assert matched(before, after) == {"a": ("b", "machine"), "b": ("a", "machine")}


def test_a_name_of_several_tells_nothing() -> None:
    before, after = side(a="x", b="x", c="z"), side(d="x", e="y", f="w")
    assert matched(before, after) == {}


def test_a_client_with_another_name_at_its_address_is_the_same_where_nothing_tells_otherwise() -> (
    None
):
    before, after = side(a="x", b="y"), side(a="z", b="y")
    assert matched(before, after) == {"a": ("a", "address"), "b": ("b", "address")}


def test_a_client_that_shares_one_of_its_names_is_no_other() -> None:
    before, after = side(a=("x", "one"), b=None), side(a=("z", "one"), c="x")
    assert matched(before, after)["a"] == ("a", "address")


def test_the_only_ones_that_are_left_are_taken_for_one() -> None:
    before, after = side(a="x", b=None), side(a="x", c="z")
    assert matched(before, after) == {"a": ("a", "address"), "b": ("c", "alone")}
    assert matched(side(a="x", b="y"), side(a="x", c="z")) == {"a": ("a", "address")}
    assert matched(side(a="x", b=None, c=None), side(a="x", d=None)) == {"a": ("a", "address")}


def test_the_only_client_of_either_side_is_the_same_whatever_it_is_called() -> None:
    assert matched(side(a="x"), side(b="y")) == {"a": ("b", "alone")}
    assert matched(side(a="x"), side(b="x")) == {"a": ("b", "machine")}
    assert matched(side(a="x"), side()) == {}


def test_who_only_asks_whether_the_server_is_there_is_no_other_client() -> None:
    monitoring = replace(side(m=None)["m"], works=False)
    assert matched(side(a="x") | {"m": monitoring}, side(b="y")) == {"a": ("b", "alone")}
    assert matched({"m": monitoring}, side(b="y")) == {"m": ("b", "alone")}
    rows = [call(1, "NULL", 1, client="10.0.0.9"), named(2, "10.0.0.2", None)]
    with trace_of(calls=rows) as trace:
        assert {each.client: each.works for each in callers(trace).values()} == {
            "10.0.0.2": True,
            "10.0.0.9": False,
        }


def named(
    number: int, client: str, machine: str | None, srt_ms: float = 1, **columns: object
) -> Row:
    return call(number, "GETATTR", srt_ms, client=client, machine=machine, file=1, **columns)


def test_what_clients_call_themselves() -> None:
    rows = [
        named(1, "10.0.0.2", "web1"),
        named(2, "10.0.0.2", None),
        # Behind one address: nobody knows whose the others are.
        named(3, "10.0.0.3", "web2"),
        named(4, "10.0.0.3", "web3"),
        named(5, "10.0.0.4", "localhost"),
        named(6, "10.0.0.5", "server", callback=True),
        named(7, "10.0.0.6", "web6", program=100005),
        call(8, "EXCHANGE_ID", 1, client="10.0.0.7", protocol="4.2", version=4),
        call(9, "EXCHANGE_ID", 1, client="10.0.0.7", protocol="4.1", version=4),
        call(10, "SETCLIENTID", 1, client="10.0.0.8", protocol="4.0", version=4),
        call(11, "EXCHANGE_ID", 1, client="10.0.0.9", protocol="4.2", version=4),
        call(12, "SETCLIENTID", 1, client="10.0.1.0", protocol="4.0", version=4),
    ]
    with trace_of(
        calls=rows,
        operations=[
            operation(8, "EXCHANGE_ID", client_owner="Linux NFSv4.2 web7"),
            operation(9, "EXCHANGE_ID", client_owner="Linux NFSv4.1 web7"),
            operation(10, "SETCLIENTID", client_owner="Libnfs pid:12 1700000000"),
            operation(11, "EXCHANGE_ID", client_owner="Linux NFSv4.2 a3f/web9"),
            operation(12, "SETCLIENTID", client_owner="Linux NFSv4.0 web0/10.0.0.1"),
        ],
    ) as trace:
        assert callers(trace) == {
            "10.0.0.2": Caller("10.0.0.2", "web1", None),
            "10.0.0.3": Caller("10.0.0.3", None, None),
            "10.0.0.4": Caller("10.0.0.4", None, None),
            "10.0.0.7": Caller("10.0.0.7", "web7", "web7"),
            "10.0.0.9": Caller("10.0.0.9", "web9", "a3f/web9"),
            "10.0.1.0": Caller("10.0.1.0", None, "web0/10.0.0.1"),
            "10.0.0.8": Caller("10.0.0.8", None, "Libnfs pid:12 1700000000"),
        }


def gathered(
    *clients: tuple[str, str | None], server: str = "10.0.0.1", slow: int | None = None
) -> Side:
    """Clients with a name each, of which each makes fifty calls; one of them waits longer."""
    rows = [
        {
            **named(number, client, machine, 5 if place == slow else 1, server=server, mount=place),
            "call": 100 * place + number,
        }
        for place, (client, machine) in enumerate(clients)
        for number in range(1, 51)
    ]
    return side_of(calls=rows, files=[file(1, "a", server=server)])


def told(result: Comparison) -> str:
    return "\n".join((*remarks(result), *about_clients(result)))


def test_clients_at_other_addresses_are_held_against_themselves_and_it_is_said_why() -> None:
    result = of_sides(
        gathered(("10.0.0.2", "web1"), ("10.0.0.3", "web2")),
        gathered(("10.0.1.2", "web1"), ("fd00::3", "web2")),
    )
    assert result.same_clients
    assert {(row.client, row.matched_by) for row in result.clients} == {
        ("10.0.0.2", "machine"),
        ("10.0.0.3", "machine"),
    }
    assert "Matched by machine name, as addresses differ: web1, web2." in told(result)
    assert result.clients[0].after is not None
    assert result.clients[0].after.address in ("10.0.1.2", "fd00::3")


def test_of_thousands_none_is_told_to_have_gone_that_only_waited_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = ("10.0.0.2", "web1"), ("10.0.0.3", "web2")
    monkeypatch.setattr(client_clocks, "CLIENTS", 1)
    monkeypatch.setattr(sides, "ASKED", {})
    result = of_sides(gathered(one, other, slow=0), gathered(one, other, slow=1))
    assert result.same_clients
    assert result.clients == ()


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            ("10.0.0.2", "web1"),
            ("10.0.1.2", "web1"),
            "The client is 10.0.0.2 before and 10.0.1.2 after: the same by its machine name, web1.",
        ),
        (
            ("10.0.0.2", "web1"),
            ("10.0.1.2", None),
            "The client is 10.0.0.2 before and 10.0.1.2 after: taken for the same, as the only "
            "one on each side.",
        ),
        (
            ("10.0.0.2", "web1"),
            ("10.0.1.2", "web2"),
            "The client is 10.0.0.2 before and 10.0.1.2 after: taken for the same, as the only "
            "one on each side, though it calls itself web1 before and web2 after.",
        ),
        (
            ("10.0.0.2", "web1"),
            ("10.0.0.2", "web2"),
            "The client at 10.0.0.2 calls itself web1 before and web2 after: taken for the same "
            "by its address.",
        ),
        (("10.0.0.2", "web1"), ("10.0.0.2", "web1"), None),
        (("10.0.0.2", "web1"), ("10.0.0.2", None), None),
    ],
)
def test_by_what_the_only_client_was_matched(
    before: tuple[str, str | None], after: tuple[str, str | None], sentence: str | None
) -> None:
    result = of_sides(gathered(before), gathered(after))
    assert result.as_one
    assert [line for line in remarks(result) if "client" in line] == (
        [] if sentence is None else [sentence]
    )


def test_that_the_server_is_at_another_address_is_said() -> None:
    client = ("10.0.0.2", "web1")
    result = of_sides(gathered(client), gathered(client, server="10.0.0.9"))
    assert (result.before.servers, result.after.servers) == (("10.0.0.1",), ("10.0.0.9",))
    assert "The server is 10.0.0.1 before and 10.0.0.9 after." in remarks(result)


def test_names_of_clients_reach_no_terminal() -> None:
    names = ("a\x1b[2J\u202eb", "y" * 255)
    result = of_sides(
        gathered(("10.0.0.2", names[0]), ("10.0.0.3", names[1])),
        gathered(("10.0.1.2", names[0]), ("10.0.1.3", names[1])),
    )
    assert r"a\x1b[2J\u202eb" in told(result)
    assert "\x1b" not in told(result)
    assert names[1] not in told(result)


def test_a_client_of_ipv6_is_the_one_of_ipv4() -> None:
    require_corpus()
    files = {capture.name: capture.files for capture in lab_captures()}
    sides = []
    for name in ("k61-tar-v42", "k61-fmt-ipv6-v42"):
        with pcapnfs.open(files[name]) as trace:
            sides.append(gather(trace))
    (row,) = of_sides(*sides).clients
    assert row.matched_by == "client_owner"
    assert row.before is not None
    assert row.before.client_owner == row.before.machine == "client1"
