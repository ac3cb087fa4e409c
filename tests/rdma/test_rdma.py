"""Messages over RDMA against what the server counted, against tshark, and where packets lack."""

from __future__ import annotations

import gzip
import json
import random
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pcapnfs
from pcapnfs import redaction
from pcapnfs.analyses.captured import capture as captured
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.analyses.wire.rdma_losses import rdma_losses
from pcapnfs.cli.app import run
from pcapnfs.trace import Trace
from pcapnfs.verify.verification import verify
from tests.oracles.tshark import require_tshark

pytest.importorskip("pcapnfs._core")

HERE = Path(__file__).parent
TRUTH: dict[str, dict[str, Any]] = json.loads((HERE / "truth.json").read_text(encoding="utf-8"))
V3, V42 = HERE / "rdma-v3.pcap.gz", HERE / "rdma-v42.pcap.gz"

_EACH = pytest.mark.parametrize("capture", [V3, V42], ids=lambda path: path.name[:-8])

UDP_HEADERS = 14 + 20 + 8
"""Ethernet, IPv4 and UDP, before what RoCE puts into a packet."""

SEND = {0, 1, 2, 4, 22, 23}
"""Opcodes of packets that carry a message, or a part of one."""

Printed = pytest.CaptureFixture[str]


class Packet(NamedTuple):
    """A packet of a file, with the header that the file puts before it."""

    header: bytes
    data: bytes

    @property
    def opcode(self) -> int | None:
        """What RDMA does with it; None where it is no packet of RoCE."""
        roce = self.data[12:14] == b"\x08\x00" and self.data[23] == 17
        if not roce or self.data[36:38] != (4791).to_bytes(2, "big"):
            return None
        return self.data[UDP_HEADERS]


def packets(capture: Path) -> tuple[bytes, list[Packet]]:
    """The header of a file of pcap, and its packets."""
    content = gzip.decompress(capture.read_bytes())
    found, at = [], 24
    while at < len(content):
        (length,) = struct.unpack_from("<I", content, at + 8)
        found.append(Packet(content[at : at + 16], content[at + 16 : at + 16 + length]))
        at += 16 + length
    return content[:24], found


def rewritten(
    capture: Path, target: Path, chosen: Callable[[list[Packet]], Iterable[Packet]]
) -> Path:
    """The capture with other packets."""
    header, found = packets(capture)
    target.write_bytes(header + b"".join(part for packet in chosen(found) for part in packet))
    return target


def numbers(trace: Trace) -> dict[str, int]:
    """Operations of NFS by name, as the server counts them: those that it came to."""
    rows = trace.rows(
        """
        select operations.op, count(*) from operations join calls using (call)
        where operations.executed and program = 100003 and not callback group by all
        """
    )
    return {str(op): int(str(number)) for op, number in rows}


def calls(trace: Trace) -> Counter[tuple[object, ...]]:
    """What is said of each call that has a reply and was decoded to its end."""
    rows = trace.rows(
        "select xid, protocol, signature, status, srt from calls "
        "where reply_time is not null and undecoded is null"
    )
    return Counter(map(tuple, rows))


@_EACH
def test_each_operation_is_as_often_there_as_the_server_counted(capture: Path) -> None:
    with pcapnfs.open(capture) as trace:
        assert numbers(trace) == TRUTH[capture.name[:-8]]["operations"]
        told = trust(trace)
        assert told.complete
        assert told.undecoded == 0
        assert captured.capture(trace).limits_hit == {}
        ((answered, number),) = trace.rows("select count(reply_time), count(*) from calls")
        assert answered == number


@_EACH
def test_names_and_sizes_are_those_of_the_tree(capture: Path) -> None:
    """Long listings lie in the client's memory, long links beside their calls."""
    truth = TRUTH[capture.name[:-8]]
    with pcapnfs.open(capture) as trace:
        rows = trace.rows(
            "select path, type, size from files where path like 's%' and type is not null"
        )
        found = {str(path): (kind, size) for path, kind, size in rows}
        kinds = {"d": "DIR", "f": "REG", "l": "LNK"}
        for path, told in truth["files"].items():
            assert found[path][0] == kinds[told["type"]], path
            if told["type"] == "f":
                assert found[path][1] == told["bytes"], path
        links = trace.rows("select distinct op, text from operations where starts_with(text, 'y')")
        assert {op for op, _ in links} == {"READLINK", "SYMLINK" if capture == V3 else "CREATE"}
        assert {text for _, text in links} == {"y" * 3000}
        ((read, written),) = trace.rows(
            """
            select sum(count) filter (op = 'READ'), sum(count) filter (op = 'WRITE')
            from operations
            """
        )
        assert (read, written) == (truth["read_bytes"], truth["write_bytes"])


@_EACH
def test_a_connection_has_the_port_of_the_service_and_the_adapters_round_trip(
    capture: Path,
) -> None:
    with pcapnfs.open(capture) as trace:
        ((port, acks, rtt, resent),) = trace.rows(
            """
            select server_port, server_acks, server_ack_rtt, client_resent + server_resent
            from connections where transport = 'RDMA'
            """
        )
        ((asked,),) = trace.rows(
            "select count(*) from calls semi join "
            "(from connections where transport = 'RDMA') using (connection)"
        )
    assert (port, acks, resent) == (20049, asked, 0)
    assert 100_000 < rtt < 2_000_000


@_EACH
def test_tshark_agrees(capture: Path) -> None:
    require_tshark()
    with pcapnfs.open(capture) as trace:
        found = verify(trace, [str(capture)])
    assert found.calls == found.tshark_calls == found.pairs
    assert found.unexplained == 0
    (share,) = (each for each in found.aspects if each.aspect == "service time")
    assert share.agreed == share.compared == found.calls
    # Of a capture of NFSv3 nothing needs a reason.
    assert {each.reason for each in found.differences} <= {"unknown_operation"}


@_EACH
def test_a_capture_that_begins_later_has_all_calls_from_there_on(
    capture: Path, tmp_path: Path
) -> None:
    """Without the handshake nothing but a reply says which queue pairs belong together."""
    begin = 300
    later = rewritten(capture, tmp_path / "later.pcap", lambda found: found[begin:])
    with pcapnfs.open(capture) as trace:
        rows = trace.rows(f"select xid from calls where call_first_frame > {begin + 8}")
        asked = {xid for (xid,) in rows}
        whole = calls(trace)
    with pcapnfs.open(later) as trace:
        told = calls(trace)
        ((port,),) = trace.rows("select server_port from connections where transport = 'RDMA'")
    assert port == 4791
    assert {xid for xid, *_ in told} >= asked
    # What operations did, and how long they took, does not depend on what came before.
    assert told <= whole + Counter()


@_EACH
@pytest.mark.parametrize("seed", range(4))
def test_where_packets_lack_what_is_left_is_right_and_the_rest_is_told(
    capture: Path, seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    lost = rewritten(
        capture,
        tmp_path / "lost.pcap",
        lambda found: [each for each in found if each.opcode is None or chance.random() > 0.02],
    )
    with pcapnfs.open(capture) as trace:
        whole = {xid: told for xid, *told in calls(trace)}
    with pcapnfs.open(lost) as trace:
        told = calls(trace)
        trusted = trust(trace)
        missing = trace.meta.limits_hit.get("rdma_missing", 0)
    same = sum(whole[xid][:3] == rest[:3] for xid, *rest in told)
    assert same == len(told) > 0.8 * len(whole)
    assert missing > 0
    assert not trusted.complete or missing


@_EACH
def test_packets_that_come_twice_or_late_change_nothing(capture: Path, tmp_path: Path) -> None:
    chance = random.Random(1)

    def again(found: list[Packet]) -> list[Packet]:
        """Every tenth once more, as after a NAK; and some behind the next one, at its time."""
        moved: list[Packet] = []
        for packet in found:
            moved.append(packet)
            if packet.opcode in SEND and chance.random() < 0.1:
                # One that is the same in all its bytes was captured twice, and not sent again.
                other = packet.data[:18] + b"\xab\xcd" + packet.data[20:]
                moved.append(packet._replace(data=other))
        for at in range(0, len(moved) - 1, 9):
            first, second = moved[at], moved[at + 1]
            if first.opcode is not None and second.opcode is not None:
                times = first.header[:8], second.header[:8]
                moved[at] = Packet(times[0] + second.header[8:], second.data)
                moved[at + 1] = Packet(times[1] + first.header[8:], first.data)
        return moved

    other = rewritten(capture, tmp_path / "again.pcap", again)
    with pcapnfs.open(capture) as trace:
        whole = numbers(trace)
    with pcapnfs.open(other) as trace:
        assert numbers(trace) == whole
        (lost,) = rdma_losses(trace)
    assert lost.client_resent > 0
    assert lost.server_resent > 0


@_EACH
@pytest.mark.parametrize("snaplen", [96, 128, 200, 400])
def test_of_packets_that_were_cut_as_much_is_told_as_is_there(
    capture: Path, snaplen: int, tmp_path: Path
) -> None:
    def cut(found: list[Packet]) -> list[Packet]:
        return [
            Packet(
                each.header[:8]
                + struct.pack("<I", min(len(each.data), snaplen))
                + each.header[12:],
                each.data[:snaplen],
            )
            for each in found
        ]

    short = rewritten(capture, tmp_path / "short.pcap", cut)
    with pcapnfs.open(capture) as trace:
        whole = dict(_said(trace))
    with pcapnfs.open(short) as trace:
        said = _said(trace)
        notes = trace.rows("select distinct reason from notes")
        ((undecoded,),) = trace.rows("select count(*) from notes")
    # A reply may be read that answers a call of which too little is there.
    assert "truncated" in {reason for (reason,) in notes} <= {"truncated", "reply_without_call"}
    assert undecoded > 0
    assert snaplen < 200 or len(said) > 0.5 * len(whole)
    assert all(status in (None, whole[xid]) for xid, status in said)


def _said(trace: Trace) -> list[tuple[Any, ...]]:
    return trace.rows("select xid, status from calls where program = 100003")


@_EACH
def test_redaction_leaves_nothing_of_what_rdma_carries(capture: Path, tmp_path: Path) -> None:
    source = rewritten(capture, tmp_path / "whole.pcap", lambda found: found)
    content = source.read_bytes()
    secrets = (b"a-name-that-makes", b"bytes of text", b"y" * 64, b"renamed", b"f40002")
    assert all(secret in content for secret in secrets)
    redaction.redact(source, tmp_path / "redacted.pcap", key=bytes(32))
    redacted = (tmp_path / "redacted.pcap").read_bytes()
    assert [secret for secret in secrets if secret in redacted] == []
    with pcapnfs.open(source) as before, pcapnfs.open(tmp_path / "redacted.pcap") as after:
        packets_before, packets_after = dict(before.meta.packets), dict(after.meta.packets)
    assert sum(packets_before.values()) == sum(packets_after.values())


def test_screens_name_messages_and_the_transport(capsys: Printed) -> None:
    assert run(["network", str(V42)]) == 0
    said = capsys.readouterr().out
    assert "RDMA" in said
    assert "None seen: 392 messages, nothing sent again, missing or held up." in said


def test_a_trace_on_disk_holds_the_same(tmp_path: Path) -> None:
    pcapnfs.decode(V42, tmp_path / "a.nfstrace")
    with pcapnfs.open(V42) as trace, pcapnfs.open(tmp_path / "a.nfstrace") as stored:
        assert calls(trace) == calls(stored)
        assert numbers(trace) == numbers(stored)
