"""Data servers of pNFS at addresses of their own, which know files by handles of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.synth.builder import (
    Capture,
    Compound,
    CompoundReply,
    Conversation,
    Stateid,
    nfs3,
    nfs4,
)
from pcapnfs.synth.builder.nfs3 import Fattr3, results
from pcapnfs.synth.builder.nfs4 import Layout
from pcapnfs.synth.builder.rpc import Request
from tests.damage import rows
from tests.decoded import MS, T

pytest.importorskip("pcapnfs._core")

_METADATA, _DATA = "10.0.2.10", "10.0.2.20"
_ROOT, _FILE, _THERE = b"root handle.", b"file handle.", b"data handle."
_DEVICE = b"device-id-16byte"
_STATE = Stateid(3, b"twelve-bytes")
_MDS, _DS = 0x20000, 0x40000
_ATTRIBUTES = {"type": 1, "fsid": (7, 0), "fileid": 11, "size": 5}


class _Talk:
    """Calls with replies a millisecond later, one after the other on any connection."""

    def __init__(self) -> None:
        self._capture = Capture()
        self._now_ns = T
        self._xid = 0

    def call(self, connection: Conversation, request: Request, answer: bytes) -> None:
        self._xid += 1
        self._now_ns += 10 * MS
        connection.call(self._xid, self._now_ns, *request)
        connection.reply(self._xid, self._now_ns + MS, answer)

    def compound(self, connection: Conversation, request: Compound, answer: CompoundReply) -> None:
        self.call(connection, request.request(), answer.body())


def _ports(port: int, server: str = _METADATA, server_port: int = 2049) -> Conversation:
    return Conversation(server=server, client_port=port, server_port=server_port)


def _exchange(talk: _Talk, connection: Conversation, flags: int) -> None:
    talk.compound(
        connection,
        Compound(1).exchange_id("client"),
        CompoundReply().exchange_id(flags=flags),
    )


def _layout(talk: _Talk, connection: Conversation, body: bytes, address: bytes, kind: int) -> None:
    """A file is found, its layout granted, and then the device asked for, as Linux does."""
    talk.compound(
        connection,
        Compound(1).putfh(_ROOT).lookup("f").getfh().getattr(["type", "fsid", "fileid", "size"]),
        CompoundReply().putfh().lookup().getfh(_FILE).getattr(_ATTRIBUTES),
    )
    talk.compound(
        connection,
        Compound(1).putfh(_FILE).layoutget(_STATE, type=kind),
        CompoundReply().putfh().layoutget([Layout(type=kind, body=body)], _STATE),
    )
    talk.compound(
        connection,
        Compound(1).getdeviceinfo(_DEVICE, type=kind),
        CompoundReply().getdeviceinfo(address, type=kind),
    )


def _written(path: Path, *connections: Conversation) -> Path:
    capture = Capture()
    for connection in connections:
        capture += connection.capture()
    return capture.write(path / "pnfs.pcap")


_ROLES = "select client_port, role from connections order by client_port"

_MOVED = """
    select c.server, c.op, f.name, f.server, f.fileid, f.size
    from calls c left join files f using (file) where c.op in ('READ', 'WRITE') order by c.call
"""


def test_flexible_files_on_a_server_of_nfs_3(tmp_path: Path) -> None:
    talk, metadata = _Talk(), _ports(1001)
    data, mount = _ports(1002, _DATA, 3049), _ports(1003, _DATA, 3049)
    _exchange(talk, metadata, _MDS)
    body, address = (
        nfs4.flex_layout(_DEVICE, [_THERE], mirrors=2),
        nfs4.flex_device_address([("tcp", "10.0.2.20.11.233")]),
    )
    _layout(talk, metadata, body, address, 4)
    other = Fattr3(size=4096, fileid=99)
    talk.call(data, nfs3.write(_THERE, 0, b"abc"), results.write(3))
    talk.call(data, nfs3.read(_THERE, 0, 3), results.read(b"abc", True, other))
    talk.call(mount, nfs3.lookup(_ROOT, "g"), results.lookup(b"another one."))
    talk.call(mount, nfs3.read(b"another one.", 0, 3), results.read(b"abc", True))
    path = _written(tmp_path, metadata, data, mount)
    assert rows(path, _ROLES) == [(1001, "metadata server"), (1002, "data server"), (1003, None)]
    mine = ("f", _METADATA, 11, 5)
    assert rows(path, _MOVED) == [
        (_DATA, "WRITE", *mine),
        (_DATA, "READ", *mine),
        (_DATA, "READ", "g", _DATA, None, None),
    ]


@pytest.mark.parametrize(("handles", "there"), [([_THERE], _THERE), ([], _FILE)])
def test_files_on_a_server_of_nfs_4(tmp_path: Path, handles: list[bytes], there: bytes) -> None:
    """Without handles in the layout, the data server knows the file by its own."""
    talk, metadata, data = _Talk(), _ports(1001), _ports(1002, _DATA)
    _exchange(talk, metadata, _MDS)
    body, address = nfs4.file_layout(_DEVICE, handles), nfs4.file_device_address()
    _layout(talk, metadata, body, address, 1)
    talk.compound(
        data,
        Compound(1).putfh(there).read(0, 3, _STATE),
        CompoundReply().putfh().read(b"abc", True),
    )
    path = _written(tmp_path, metadata, data)
    assert rows(path, _ROLES) == [(1001, "metadata server"), (1002, "data server")]
    assert rows(path, _MOVED) == [(_DATA, "READ", "f", _METADATA, 11, 5)]


def test_the_word_of_a_server_holds_for_all_connections_to_it(tmp_path: Path) -> None:
    """One answers EXCHANGE_ID; the others join its session. Earlier versions know no pNFS."""
    talk = _Talk()
    connections = [_ports(1001), _ports(1002), _ports(1003)]
    read = Compound(1).putfh(_FILE).read(0, 3, _STATE), CompoundReply().putfh().read(b"abc", True)
    talk.compound(connections[1], *read)
    _exchange(talk, connections[0], _MDS | _DS)
    talk.compound(
        connections[2],
        Compound(0).putfh(_FILE).read(0, 3, _STATE),
        CompoundReply().putfh().read(b"abc", True),
    )
    both = "metadata and data server"
    path = _written(tmp_path, *connections)
    assert rows(path, _ROLES) == [(1001, both), (1002, both), (1003, None)]


def test_where_the_capture_tells_nothing_the_role_is_unknown(tmp_path: Path) -> None:
    talk, data = _Talk(), _ports(1002, _DATA)
    talk.call(data, nfs3.read(_THERE, 0, 3), results.read(b"abc", True))
    assert rows(_written(tmp_path, data), _ROLES) == [(1002, None)]


@pytest.mark.parametrize("used", [False, True])
def test_layouts_that_are_not_used(used: bool, tmp_path: Path) -> None:
    """The client got one, and reads from the metadata server, or from the data server."""
    talk, metadata, data = _Talk(), _ports(1001), _ports(1002, _DATA)
    _exchange(talk, metadata, _MDS)
    body, address = nfs4.file_layout(_DEVICE, [_THERE]), nfs4.file_device_address()
    _layout(talk, metadata, body, address, 1)
    for number in range(30):
        talk.compound(
            data if used else metadata,
            Compound(1).putfh(_THERE if used else _FILE).read(number * 3, 3, _STATE),
            CompoundReply().putfh().read(b"abc", True),
        )
    with pcapnfs.open(_written(tmp_path, metadata, data)) as trace:
        found = {finding.id: finding for finding in pcapnfs.findings(trace).findings}
    assert ("data_through_mds" in found) is not used
    if not used:
        assert found["data_through_mds"].evidence == (
            "30 of 30 READs and WRITEs (90 B) went to the server that the client asked for "
            "layouts; it got 1 of 1."
        )


def _past_layouts(path: Path, *connections: Conversation) -> list[str]:
    with pcapnfs.open(_written(path, *connections)) as trace:
        return [
            finding.evidence
            for finding in pcapnfs.findings(trace).findings
            if finding.id == "data_through_mds"
        ]


def _reading(talk: _Talk, number: int, *connections: Conversation) -> None:
    for place in range(number):
        talk.compound(
            connections[place % len(connections)],
            Compound(1).putfh(_FILE).read(place * 3, 3, _STATE),
            CompoundReply().putfh().read(b"abc", True),
        )


def test_a_server_that_names_itself_is_read_by_the_layout(tmp_path: Path) -> None:
    """The capture begins behind EXCHANGE_ID, which would have told."""
    talk, server = _Talk(), _ports(1001)
    address = nfs4.file_device_address([("tcp", "10.0.2.10.8.1")])
    _layout(talk, server, nfs4.file_layout(_DEVICE, []), address, 1)
    _reading(talk, 40, server)
    assert _past_layouts(tmp_path, server) == []


def test_other_connections_to_the_metadata_server_lead_past_layouts_as_well(
    tmp_path: Path,
) -> None:
    """As with nconnect."""
    talk, asking, other = _Talk(), _ports(1001), _ports(1002)
    _exchange(talk, asking, _MDS)
    _layout(talk, asking, nfs4.file_layout(_DEVICE, []), nfs4.file_device_address(), 1)
    _reading(talk, 60, asking, other, other)
    (seen,) = _past_layouts(tmp_path, asking, other)
    assert seen.startswith("60 of 60 READs and WRITEs")


@pytest.mark.parametrize("begun", [True, False])
def test_another_mount_is_no_data_server(begun: bool, tmp_path: Path) -> None:
    """Unless the capture began later, and may lack what named it."""
    talk, asking, other = _Talk(), _ports(1001), _ports(1005, "10.0.2.99")
    if begun:
        _exchange(talk, asking, _MDS)
    _layout(talk, asking, nfs4.file_layout(_DEVICE, []), nfs4.file_device_address(), 1)
    _reading(talk, 40, asking)
    for _ in range(60):
        talk.call(other, nfs3.read(b"another one.", 0, 3), results.read(b"abc", True))
    assert bool(_past_layouts(tmp_path, asking, other)) is begun
