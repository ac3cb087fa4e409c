"""The tcpdump command that findings recommend: it loses nothing that was seen."""

from __future__ import annotations

import ctypes
import ctypes.util
import struct
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.captured import filter_ports
from pcapnfs.diagnosis.recapture import (
    SERVERS_LIMIT,
    SERVERS_NAMED,
    TAGS_NAMED,
    capture_again,
    command,
)
from pcapnfs.record import replace
from tests.diagnosis.material import nothing
from tests.oracles.corpus import require_corpus
from tests.unit.rows import ROOT


def chosen(
    servers: int,
    protocols: tuple[str, ...],
    ports: tuple[int, ...] = (2049,),
    vlan_tags: int = 0,
    network: str = "10.0.0",
) -> str:
    """The filter for so many servers."""
    found = nothing(filter_ports=ports)
    names = tuple(f"{network}.{number}" for number in range(1, servers + 1))
    capture = replace(found.capture, servers=names, protocols=protocols, vlan_tags=vlan_tags)
    return command(replace(found, capture=capture)).split("'")[1]


def matches(expression: str, capture: Path) -> int:
    """Packets of a pcap that libpcap lets through."""
    found = ctypes.util.find_library("pcap")
    if found is None:
        pytest.skip("libpcap is not installed (Debian: apt install libpcap0.8)")
    libpcap = ctypes.CDLL(found)
    libpcap.pcap_open_dead.restype = ctypes.c_void_p
    file = capture.read_bytes()
    dead = ctypes.c_void_p(libpcap.pcap_open_dead(struct.unpack_from("<I", file, 20)[0], 262_144))
    program = ctypes.create_string_buffer(16)
    assert libpcap.pcap_compile(dead, program, expression.encode(), 1, 0xFFFFFFFF) == 0
    at, count = 24, 0
    while at < len(file):
        captured, length = struct.unpack_from("<II", file, at + 8)
        # A timeval of two longs, and both lengths.
        header = struct.pack("@llII", 0, 0, captured, length)
        packet = file[at + 16 : at + 16 + captured]
        count += libpcap.pcap_offline_filter(program, header, packet) > 0
        at += 16 + captured
    libpcap.pcap_freecode(program)
    libpcap.pcap_close(dead)
    return count


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


@pytest.mark.parametrize(
    ("servers", "protocols", "tags", "wanted"),
    [
        (0, (), 1, "port 2049 or (vlan and port 2049)"),
        (1, ("3",), 1, "host 10.0.0.1 or (vlan and host 10.0.0.1)"),
        (
            1,
            ("4.2",),
            1,
            "(host 10.0.0.1 and port 2049) or (vlan and host 10.0.0.1 and port 2049)",
        ),
        (
            2,
            ("3",),
            1,
            "(host 10.0.0.1 or host 10.0.0.2) or (vlan and (host 10.0.0.1 or host 10.0.0.2))",
        ),
        (0, (), 2, "port 2049 or (vlan and port 2049) or (vlan and port 2049)"),
        (SERVERS_LIMIT + 1, ("3",), 1, "(tcp or udp) or (vlan and (tcp or udp))"),
    ],
)
def test_tagged_packets_are_looked_for_behind_their_tags(
    servers: int, protocols: tuple[str, ...], tags: int, wanted: str
) -> None:
    assert chosen(servers, protocols, vlan_tags=tags) == wanted


def tagged(target: Path, source: Path, tags: int) -> Path:
    """A capture of Ethernet with so many VLAN tags more in each frame."""
    file = source.read_bytes()
    parts, at = [file[:24]], 24
    while at < len(file):
        captured, length = struct.unpack_from("<II", file, at + 8)
        packet, more = file[at + 16 : at + 16 + captured], 4 * tags
        parts += [file[at : at + 8], struct.pack("<II", captured + more, length + more)]
        parts += [packet[:12], struct.pack(">HH", 0x8100, 7) * tags, packet[12:]]
        at += 16 + captured
    target.write_bytes(b"".join(parts))
    return target


@pytest.mark.parametrize("tags", [0, 1, 2])
@pytest.mark.parametrize("protocols", [("3",), ("4.2",)])
def test_the_filter_loses_none_of_them(
    protocols: tuple[str, ...], tags: int, tmp_path: Path
) -> None:
    pytest.importorskip("pcapnfs._core")
    sample = ROOT / "samples" / "k61-tar-v42.pcap"
    capture = tagged(tmp_path / "tagged.pcap", sample, tags)
    with pcapnfs.open(capture) as trace:
        assert (trace.meta.vlan_tags, trace.meta.hidden) == (tags, False)
        packets = trace.meta.packets["tcp"]
    pcapnfs.decode(capture, tmp_path / "tagged.nfstrace")
    with pcapnfs.open(tmp_path / "tagged.nfstrace") as trace:
        assert (trace.meta.vlan_tags, trace.meta.hidden) == (tags, False)
    expression = chosen(1, protocols, vlan_tags=tags)
    assert matches(expression, capture) == matches(expression, sample) == packets
    if tags:
        assert matches(chosen(1, protocols), capture) == 0


def test_where_a_filter_sees_nothing_there_is_none() -> None:
    found = nothing()
    for around in ({"hidden": True}, {"vlan_tags": TAGS_NAMED + 1}):
        capture = replace(found.capture, **around)
        assert command(replace(found, capture=capture)).endswith("-w nfs.pcap")


def test_callbacks_name_the_port_of_the_client() -> None:
    pytest.importorskip("pcapnfs._core")
    capture = require_corpus() / "lab" / "locks-v40-server.pcap"
    with pcapnfs.open(capture, columns=filter_ports.READS) as trace:
        assert filter_ports.filter_ports(trace) == (2049, 39279, 46653)


def test_what_the_command_writes_is_told() -> None:
    found = nothing()
    ring = "writes up to 10 GB, then over the oldest"
    assert capture_again("Keep all", found) == f"Keep all ({ring}): {command(found)}"
    assert "-C 1000 -W 10" in command(found)
