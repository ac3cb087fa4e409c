"""One client and one server that use several pairs of addresses in one session (trunking)."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import pcapnfs
from pcapnfs import redaction
from pcapnfs.analyses.caching.recalls import recalls
from pcapnfs.analyses.wire.network import network
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.synth.builder import Capture, Compound, CompoundReply, Conversation, Stateid, rpc
from pcapnfs.synth.builder.nfs3.arguments import getattr_
from pcapnfs.synth.builder.nfs4 import CallbackCompound, CallbackReply
from pcapnfs.synth.builder.nfs4.types import ChangeInfo, Delegation
from pcapnfs.trace import Trace
from pcapnfs.views.network import lines, screen
from tests.synth.tshark import of_clean

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
PNFS_DS = 0x40000
SESSION, OTHER_SESSION = b"s" * 16, b"t" * 16
CLIENT, SERVER = "10.0.0.11", "10.0.0.10"
SECOND = "10.0.1.11", "10.0.1.10"
FOLDER = bytes(32)
FILE, DELEGATION = bytes(range(32)), Stateid(1, b"d" * 12)


@dataclass
class Mount:
    """What one client and one server say on a connection."""

    minor: int = 1
    owner: bytes = b"client"
    verifier: bytes = b"v" * 8
    client_id: int = 7
    server: bytes = b"server"
    scope: bytes = b"scope"
    flags: int = 0x10000
    session: bytes = SESSION

    def begun(
        self,
        client: str,
        server: str,
        at_ns: int,
        xid: int,
        port: int = 900,
        synack_after_ns: int = MS // 10,
    ) -> Conversation:
        """NULL and EXCHANGE_ID, as Linux asks at each address."""
        talk = Conversation(client, server, port).open(at_ns, synack_after_ns)
        at_ns += synack_after_ns
        talk.message("client", at_ns + MS, rpc.call(xid, 100003, 4, 0))
        talk.message("server", at_ns + 2 * MS, rpc.reply(xid))
        asked = Compound(self.minor).exchange_id(self.owner, self.verifier, 0x101)
        told = CompoundReply().exchange_id(self.client_id, 1, self.flags, self.server, self.scope)
        talk.call(xid + 1, at_ns + 3 * MS, *asked.request())
        return talk.reply(xid + 1, at_ns + 4 * MS, told.body())

    def mounted(self, talk: Conversation, at_ns: int, xid: int) -> Conversation:
        """A session, and a file that is opened in it with a delegation."""
        created = CompoundReply().create_session(self.session)
        talk.call(xid, at_ns, *Compound(self.minor).create_session(self.client_id).request())
        talk.reply(xid, at_ns + MS, created.body())
        grant = Delegation(1, DELEGATION)
        call = Compound(self.minor).sequence(self.session, 1).putfh(FOLDER)
        opened = CompoundReply().sequence(self.session, 1).putfh()
        opened = opened.open(change=ChangeInfo(1, 1), delegation=grant)
        talk.call(xid + 1, at_ns + 2 * MS, *call.open_name(b"f").getfh().request())
        return talk.reply(xid + 1, at_ns + 3 * MS, opened.getfh(FILE).body())

    def read(self, talk: Conversation, at_ns: int, xid: int, sequence: int = 2) -> Conversation:
        """The file is read."""
        call = Compound(self.minor).sequence(self.session, sequence, 1).putfh(FILE)
        reply = CompoundReply().sequence(self.session, sequence, 1).putfh()
        talk.call(xid, at_ns, *call.read(0, 4, DELEGATION).request())
        return talk.reply(xid, at_ns + MS, reply.read(b"data", True).body())


def first(mount: Mount, client: str = CLIENT, server: str = SERVER, xid: int = 100) -> Conversation:
    """The first connection of a client."""
    return mount.mounted(mount.begun(client, server, 0, xid), 10 * MS, xid + 10)


def second(
    mount: Mount, client: str = SECOND[0], server: str = SECOND[1], xid: int = 500
) -> Conversation:
    """Another one, between other addresses, in the session of the first."""
    return mount.read(mount.begun(client, server, 100 * MS, xid, 901), 110 * MS, xid + 10)


def opened(capture: Capture, folder: Path) -> Trace:
    """A trace of it."""
    return pcapnfs.open([capture.write(folder / "trunked.pcap")])


def parties(trace: Trace) -> list[tuple[str, str]]:
    """Who asks whom, by how calls name them."""
    return trace.sql("select distinct client, server from calls order by all").fetchall()


ONE = [(CLIENT, SERVER)]
APART = [(CLIENT, SERVER), SECOND]


@pytest.mark.parametrize("minor", [1, 2])
def test_a_session_over_two_pairs_of_addresses_is_of_one_client(minor: int, tmp_path: Path) -> None:
    mount = Mount(minor)
    capture = first(mount).capture() + second(mount).capture()
    with opened(capture, tmp_path) as trace:
        assert parties(trace) == ONE
        assert trace.sql("select count(*), count(distinct mount) from calls").fetchall() == [(7, 1)]
        names = "select files.name from operations join files using (file) where op = 'READ'"
        assert trace.sql(names).fetchall() == [("f",)]
        ends = "select client, server, client_address, server_address from connections order by all"
        assert trace.sql(ends).fetchall() == [(*ONE[0], *ONE[0]), (*ONE[0], *SECOND)]


def test_tshark_sees_the_session_at_both_pairs_of_addresses(tmp_path: Path) -> None:
    mount = Mount()
    path = (first(mount).capture() + second(mount).capture()).write(tmp_path / "trunked.pcap")
    seen = of_clean(
        path, ["ip.src", "ip.dst", "nfs.session_id4"], "nfs.session_id4 && rpc.msgtyp == 0"
    )
    assert {(*ends, session.replace(":", "")) for *ends, session in seen} == {
        (*ONE[0], SESSION.hex()),
        (*SECOND, SESSION.hex()),
    }


def test_of_one_address_of_the_client_the_login_at_both_of_the_server_is_proof(
    tmp_path: Path,
) -> None:
    """Sessions of one client id may differ (RFC 8881 section 2.10.5)."""
    mount = Mount()
    other = Mount(session=OTHER_SESSION)
    capture = first(mount).capture() + second(other, CLIENT).capture()
    with opened(capture, tmp_path) as trace:
        assert parties(trace) == ONE


def test_a_connection_on_which_the_client_only_logs_in_is_of_it_too(tmp_path: Path) -> None:
    """Linux does so where it may not use more addresses (`max_connect`)."""
    mount = Mount()
    capture = first(mount).capture() + mount.begun(CLIENT, SECOND[1], 100 * MS, 500).capture()
    with opened(capture, tmp_path) as trace:
        assert parties(trace) == ONE
        rows = "select op, reply_clock is not null, srt from calls where call_time >= 100000000"
        assert trace.sql(f"{rows} order by call").fetchall() == [
            ("NULL", True, MS),
            ("EXCHANGE_ID", True, MS),
        ]


def test_later_connections_between_known_addresses_need_no_login(tmp_path: Path) -> None:
    mount = Mount()
    third = Conversation(*SECOND, 902).open(200 * MS)
    capture = first(mount).capture() + second(mount).capture()
    capture += mount.read(third, 201 * MS, 700, 3).capture()
    with opened(capture, tmp_path) as trace:
        assert parties(trace) == ONE


def test_two_clients_and_their_addresses_are_two(tmp_path: Path) -> None:
    mount, other = Mount(), Mount(owner=b"other", client_id=8, session=OTHER_SESSION)
    capture = first(mount).capture() + first(other, "10.0.0.12", xid=300).capture()
    capture += second(mount).capture() + second(other, "10.0.1.12", xid=800).capture()
    with opened(capture, tmp_path) as trace:
        assert parties(trace) == [*ONE, ("10.0.0.12", SERVER)]


def test_after_a_restart_they_are_the_same(tmp_path: Path) -> None:
    """The client id is another one then; the addresses are those of the client and server."""
    mount, anew = Mount(), Mount(client_id=9, session=OTHER_SESSION)
    capture = first(mount).capture() + second(mount).capture()
    later = Conversation(*SECOND, 903).open(300 * MS)
    asked = Compound(1).exchange_id(anew.owner, anew.verifier, 0x101).request()
    told = CompoundReply().exchange_id(9, 1, anew.flags, anew.server, anew.scope).body()
    later.call(900, 301 * MS, *asked).reply(900, 302 * MS, told)
    capture += anew.mounted(later, 310 * MS, 901).capture()
    with opened(capture, tmp_path) as trace:
        assert parties(trace) == ONE


def test_each_pair_of_addresses_has_a_round_trip_of_its_own(tmp_path: Path) -> None:
    """What is said of the mount is that of the pair with most calls."""
    mount = Mount()
    far = mount.begun(CLIENT, SECOND[1], 100 * MS, 500, 901, MS // 2)
    for number in range(6):
        mount.read(far, (110 + 10 * number) * MS, 510 + number, 2 + number)
    with opened(first(mount).capture() + far.capture(), tmp_path) as trace:
        (trip,) = round_trips(trace).pairs
        shown = network(trace)
    near, other = (CLIENT, SERVER), (CLIENT, SECOND[1])
    found = [
        (each.client_address, each.server_address, each.connections, each.calls, each.server_rtt_s)
        for each in trip.address_pairs
    ]
    assert found == [(*other, 1, 8, 0.0005), (*near, 1, 4, 0.0001)]
    assert (trip.client, trip.server, trip.calls, trip.connections) == (*near, 12, 2)
    assert (trip.server_side.rtt_s, trip.server_side.handshakes) == (0.0005, 1)
    told = f"{CLIENT} and {SERVER} also use {CLIENT} → {SECOND[1]} (trunking)."
    assert told in lines(shown)
    assert [each.resent for each in trip.address_pairs] == [0, 0]
    console = Console(width=140, record=True, file=StringIO())
    console.print(screen(shown))
    told = f"{CLIENT} → {SECOND[1]}: 8 calls on 1 connection, 100 µs to the client, 500 µs to"
    assert f"{told} the server, 0 resent." in console.export_text()


def test_one_pair_of_addresses_is_not_told_apart(tmp_path: Path) -> None:
    with opened(first(Mount()).capture(), tmp_path) as trace:
        (trip,) = round_trips(trace).pairs
        assert trip.address_pairs == ()
        assert not any("trunking" in line for line in lines(network(trace)))


DIFFERING = {
    "a copy of the client": Mount(verifier=b"w" * 8, client_id=8, session=OTHER_SESSION),
    "a copy that began at the same time": Mount(session=OTHER_SESSION),
    "another server with the same session id": Mount(server=b"other"),
    "another scope": Mount(scope=b"other"),
    "another client with the same session id": Mount(owner=b"other"),
    "a server that began anew": Mount(client_id=8),
    "a data server": Mount(flags=0x10000 | PNFS_DS),
}


@pytest.mark.parametrize("other", DIFFERING.values(), ids=DIFFERING)
def test_what_may_be_somebody_else_stays_apart(other: Mount, tmp_path: Path) -> None:
    capture = first(Mount()).capture() + second(other).capture()
    with opened(capture, tmp_path) as trace:
        assert parties(trace) == APART


@pytest.mark.parametrize("through", [SECOND, (SERVER, SECOND[1]), (CLIENT, SECOND[1])])
@pytest.mark.parametrize("late_ns", [MS // 10, 60_000 * MS])
def test_a_proxy_that_passes_messages_on_is_not_its_server(
    through: tuple[str, str], late_ns: int, tmp_path: Path
) -> None:
    """Its other side has the same messages a moment later, or much later by another clock."""
    mount = Mount()
    here = mount.begun(CLIENT, SERVER, 0, 100)
    onward = Conversation(*through, 950).open(late_ns)
    for xid, at_ns, asked, told in [
        (
            101,
            3 * MS,
            Compound(1).exchange_id(mount.owner, mount.verifier, 0x101),
            CompoundReply().exchange_id(7, 1, mount.flags, mount.server, mount.scope),
        ),
        (102, 10 * MS, Compound(1).create_session(7), CompoundReply().create_session(SESSION)),
        (
            103,
            20 * MS,
            Compound(1).sequence(SESSION, 1).putfh(FILE),
            CompoundReply().sequence(SESSION, 1).putfh(),
        ),
    ]:
        if xid > 101:
            here.call(xid, at_ns, *asked.request()).reply(xid, at_ns + MS, told.body())
        onward.call(xid, at_ns + late_ns, *asked.request())
        onward.reply(xid, at_ns + late_ns + MS // 2, told.body())
    with opened(here.capture() + onward.capture(), tmp_path) as trace:
        assert parties(trace) == sorted([(CLIENT, SERVER), through])


def test_a_capture_that_began_behind_the_login_proves_nothing(tmp_path: Path) -> None:
    mount = Mount()
    begun = mount.mounted(Conversation(CLIENT, SERVER, 900).open(0), 10 * MS, 100)
    only = mount.read(Conversation(*SECOND, 901).open(100 * MS), 110 * MS, 500)
    for folder, capture in [
        ("first", begun.capture() + second(mount).capture()),
        ("second", first(mount).capture() + only.capture()),
        ("both", begun.capture() + only.capture()),
    ]:
        (tmp_path / folder).mkdir()
        with opened(capture, tmp_path / folder) as trace:
            assert parties(trace) == APART, folder


@pytest.mark.parametrize("side", [CLIENT, SERVER, *SECOND])
def test_where_a_direction_is_lost_nothing_is_proved(side: str, tmp_path: Path) -> None:
    mount = Mount()
    capture = first(mount).capture() + second(mount).capture()
    path = capture.write(tmp_path / "whole.pcap")
    lossy = Capture(
        frame for frame in capture.frames if frame.packet is None or frame.packet.source != side
    )
    assert len(lossy) < len(capture), path
    with opened(lossy, tmp_path) as trace:
        found = trace.sql(
            "select distinct client_address, server_address from connections "
            "where (client, server) <> (client_address, server_address)"
        )
        assert found.fetchall() == []


def test_a_recall_on_a_connection_between_other_addresses_is_answered_there(
    tmp_path: Path,
) -> None:
    """The delegation is granted on one, and recalled and given back on the other."""
    mount = Mount()
    talk = second(mount)
    asked = CallbackCompound(minor=1).cb_sequence(SESSION, 1).cb_recall(DELEGATION, FILE).request()
    sent = rpc.call(9, asked.program, asked.version, asked.procedure, asked.body)
    told = CallbackReply().cb_sequence(SESSION, 1).cb_recall().body()
    talk.message("server", 200 * MS, sent).message("client", 201 * MS, rpc.reply(9, told))
    back = Compound(1).sequence(SESSION, 3, 1).putfh(FILE).delegreturn(DELEGATION).request()
    given = CompoundReply().sequence(SESSION, 3, 1).putfh().delegreturn().body()
    talk.call(600, 300 * MS, *back).reply(600, 301 * MS, given)
    with opened(first(mount).capture() + talk.capture(), tmp_path) as trace:
        assert parties(trace) == ONE
        (found,) = recalls(trace)
    assert (found.holder, found.server, found.recalled, found.returned) == (*ONE[0], 1, 1)


def test_earlier_versions_are_named_by_their_own_addresses(tmp_path: Path) -> None:
    mount = Mount()
    capture = first(mount).capture() + second(mount).capture()
    for version in (3, 4):
        talk = Conversation(*SECOND, 910 + version).open(500 * MS)
        asked = getattr_(FILE) if version == 3 else Compound(0).putfh(FILE).request()
        talk.call(1, 501 * MS, *asked)
        capture += talk.capture()
    with opened(capture, tmp_path) as trace:
        named = trace.sql("select distinct client, server from calls where call_time >= 500000000")
        assert named.fetchall() == [SECOND]


def test_redacted_rotated_and_with_little_memory_it_is_the_same(tmp_path: Path) -> None:
    mount = Mount()
    capture = first(mount).capture() + second(mount).capture()
    whole = capture.write(tmp_path / "whole.pcap")
    ordered = sorted(capture.frames, key=lambda frame: frame.time_ns)
    parts = [
        Capture(part).write(tmp_path / f"{name}.pcap")
        for name, part in (("1", ordered[:20]), ("2", ordered[20:]))
    ]
    redacted = tmp_path / "redacted.pcap"
    redaction.redact(whole, redacted, key=bytes(32))
    for paths in ([whole], parts, [redacted]):
        with pcapnfs.open(paths, memory="300MB") as trace:
            assert len(parties(trace)) == 1, paths
            assert trace.sql(
                "select count(distinct client_address) from connections"
            ).fetchone() == (2,)
