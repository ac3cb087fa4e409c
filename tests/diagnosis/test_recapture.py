"""The tcpdump command that findings recommend: it loses nothing that was seen."""

from __future__ import annotations

import pytest

import pcapnfs
from pcapnfs.analyses import filter_ports
from pcapnfs.diagnosis.recapture import SERVERS_LIMIT, SERVERS_NAMED, command
from pcapnfs.record import replace
from tests.diagnosis.material import nothing
from tests.oracles.corpus import require_corpus


def chosen(servers: int, protocols: tuple[str, ...], ports: tuple[int, ...] = (2049,)) -> str:
    """The filter for so many servers."""
    found = nothing(filter_ports=ports)
    names = tuple(f"10.0.0.{number}" for number in range(1, servers + 1))
    capture = replace(found.capture, servers=names, protocols=protocols)
    return command(replace(found, capture=capture)).split("'")[1]


@pytest.mark.parametrize(
    ("protocols", "ports", "wanted"),
    [
        (("4", "4.2"), (2049,), "host 10.0.0.1 and port 2049"),
        (("4 callback", "4.1"), (2049,), "host 10.0.0.1 and port 2049"),
        (("4.2",), (2049, 20490), "host 10.0.0.1 and (port 2049 or port 20490)"),
        (("4.2",), tuple(range(5000, 5005)), "host 10.0.0.1 and tcp"),
        (("4.0",), (2049,), "host 10.0.0.1 and tcp"),
        (("4 callback", "4.0"), (2049, 39279, 46653), "host 10.0.0.1 and tcp"),
        (("4.0", "portmap2"), (111, 2049), "host 10.0.0.1"),
        (("3", "4.2", "mount3"), (2049,), "host 10.0.0.1"),
        (("3",), (2049,), "host 10.0.0.1"),
    ],
)
def test_ports_are_named_where_nothing_else_was_used(
    protocols: tuple[str, ...], ports: tuple[int, ...], wanted: str
) -> None:
    assert chosen(1, protocols, ports) == wanted


def test_of_many_servers_the_port_is_enough_where_there_is_one() -> None:
    assert chosen(2, ("4.2",)) == "(host 10.0.0.1 or host 10.0.0.2) and port 2049"
    assert chosen(SERVERS_NAMED + 1, ("4.2",)) == "port 2049"
    several = chosen(SERVERS_NAMED + 1, ("3",))
    assert several == "(host 10.0.0.1 or host 10.0.0.2 or host 10.0.0.3 or host 10.0.0.4)"
    assert chosen(SERVERS_NAMED + 1, ("4.0",)) == f"{several} and tcp"
    assert chosen(SERVERS_LIMIT + 1, ("3",)) == "tcp or udp"
    assert chosen(SERVERS_LIMIT + 1, ("4.0",)) == "tcp"
    assert chosen(0, ()) == "port 2049"


def test_callbacks_name_the_port_of_the_client() -> None:
    pytest.importorskip("pcapnfs._core")
    capture = require_corpus() / "lab" / "locks-v40-server.pcap"
    with pcapnfs.open(capture, columns=filter_ports.READS) as trace:
        assert filter_ports.filter_ports(trace) == (2049, 39279, 46653)
