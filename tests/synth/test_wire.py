"""Frames, files and conversations: against scapy, against tshark, against themselves."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from pcapnfs.synth.builder import Capture, Conversation, Frame, Interface, Link, Packet, nfs3, rpc
from pcapnfs.synth.builder.capture import compressed
from pcapnfs.synth.builder.packet import ACK, PSH, SYN, TCP, UDP, internet_checksum
from tests.synth.tshark import fields, of_clean, written

START = 1_500_000_000_123_456_789
FH = bytes(32)
V4 = ("10.0.2.11", "10.0.2.10")
V6 = ("fd00::11", "2001:db8::10")
FIN_OR_SYN = 0x03
CLOCK = bytes.fromhex("0101080a0000000100000002")


@pytest.mark.parametrize("link", list(Link))
@pytest.mark.parametrize("addresses", [V4, V6], ids=["v4", "v6"])
@pytest.mark.parametrize("protocol", [TCP, UDP], ids=["tcp", "udp"])
@pytest.mark.parametrize("vlans", [(), (7,), (100, 7)], ids=["plain", "vlan", "qinq"])
@pytest.mark.parametrize("payload", [b"", b"odd", bytes(range(256)) * 5])
def test_frames_equal_scapy(
    link: Link,
    addresses: tuple[str, str],
    protocol: int,
    vlans: tuple[int, ...],
    payload: bytes,
) -> None:
    pytest.importorskip("scapy", reason="scapy is the reference for frames")
    from pcapnfs.synth.builder.reference import scapy_packet

    packet = Packet(*addresses, 1023, 2049, payload, protocol, vlans=vlans)
    if protocol == TCP:
        packet = Packet(
            *addresses, 1023, 2049, payload, TCP, 2**32 - 1, 77, ACK | PSH, 500, CLOCK, 9, 63, vlans
        )
    assert packet.encode(link) == bytes(scapy_packet(packet, link))


@pytest.mark.parametrize("addresses", [V4, V6], ids=["v4", "v6"])
def test_fragments_equal_scapy(addresses: tuple[str, str]) -> None:
    pytest.importorskip("scapy", reason="scapy is the reference for frames")
    from scapy.layers import inet, inet6

    from pcapnfs.synth.builder.reference import scapy_packet

    scapy_fragment: Any = inet.fragment
    scapy_fragment6: Any = inet6.fragment6
    packet = Packet(*addresses, 1023, 2049, bytes(range(256)) * 20, UDP, ip_id=7)
    whole = scapy_packet(packet, Link.RAW)
    if addresses == V4:
        expected = scapy_fragment(whole, 1480)
    else:
        whole.payload = inet6.IPv6ExtHdrFragment(id=7, nh=UDP) / whole.payload
        whole.nh = 44
        expected = scapy_fragment6(whole, 1500)
    assert packet.fragments(Link.RAW, 1500) == [bytes(piece) for piece in expected]


def test_checksum_by_hand() -> None:
    assert internet_checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0x220D  # RFC 1071 section 3
    assert internet_checksum(b"\xff\xff") == 0
    assert internet_checksum(b"\x01") == 0xFEFF


def _ways() -> Iterator[tuple[Link, Literal["tcp", "udp"], tuple[str, str]]]:
    """Each link, each transport and each kind of address with each of the others."""
    for number, link in enumerate(Link):
        yield link, "tcp", (V4, V6)[number % 2]
        yield link, "udp", (V6, V4)[number % 2]


@pytest.mark.parametrize(("link", "transport", "addresses"), list(_ways()))
def test_every_way_to_a_call(
    link: Link, transport: Literal["tcp", "udp"], addresses: tuple[str, str], tmp_path: Path
) -> None:
    conversation = Conversation(*addresses, transport=transport, link=link)
    conversation.call(1, START, *nfs3.write(FH, 0, b"x" * 8192))
    conversation.reply(1, START + 250_000, nfs3.results.write(8192))
    path = written(conversation.capture(), tmp_path)
    assert of_clean(path, ["nfs.status3", "rpc.xid"], "rpc.msgtyp == 1") == [["0", "0x00000001"]]
    assert len(conversation.frames) == 7


def test_connection_from_handshake_to_end(tmp_path: Path) -> None:
    conversation = Conversation(
        isns=(2**32 - 100, 2**32 - 1), window_scale=7, acknowledge_after_ns=30_000
    )
    conversation.open(START, 200_000, 50_000)
    conversation.call(1, START + 1_000_000, *nfs3.write(FH, 0, b"x" * 4000))
    conversation.reply(1, START + 2_000_000, nfs3.results.write(4000))
    conversation.keepalive("client", START + 3_000_000).ack("server", START + 3_000_100, window=0)
    conversation.retransmit(conversation.frames[3], START + 4_000_000)
    conversation.close(START + 5_000_000)
    path = written(conversation.capture(), tmp_path)
    numbers = ["tcp.flags", "tcp.seq", "tcp.ack", "tcp.len", "tcp.analysis.initial_rtt"]
    noted = ["keep_alive", "zero_window", "retransmission", "lost_segment", "ack_lost_segment"]
    rows = of_clean(path, [*numbers, *(f"tcp.analysis.{each}" for each in noted)], "tcp")
    ends = [row[1:4] for row in rows if int(row[0], 16) & FIN_OR_SYN]
    assert ends == [["0", "0", "0"], ["0", "1", "0"], ["4129", "57", "0"], ["57", "4130", "0"]]
    assert rows[3][4] == "0.000250000"
    found = {each for row in rows for each, told in zip(noted, row[5:], strict=True) if told}
    assert found == {"keep_alive", "zero_window", "retransmission"}


def test_times_must_not_go_back() -> None:
    conversation = Conversation().call(1, START, *nfs3.null())
    with pytest.raises(ValueError, match="after one at"):
        conversation.reply(1, START - 1)


def test_cuts_and_several_records_in_one_segment(tmp_path: Path) -> None:
    """tshark wants 28 bytes of the stream's first record at once to believe that it is RPC."""
    conversation = Conversation()
    stream = b"".join(rpc.record(rpc.call(xid, *nfs3.getattr_(FH))) for xid in (1, 2, 3))
    cuts = (60, 1, 30, 2, 40)
    conversation.send("client", START, stream, cuts=cuts)
    payloads = [frame.packet.payload for frame in conversation.frames if frame.packet]
    assert [len(payload) for payload in payloads] == [*cuts, len(stream) - sum(cuts)]
    assert b"".join(payloads) == stream
    path = written(conversation.capture(), tmp_path)
    xids = ",".join(row[0] for row in of_clean(path, ["rpc.xid"], "rpc.xid"))
    assert xids == "0x00000001,0x00000002,0x00000003"
    with pytest.raises(ValueError, match="cannot cut"):
        conversation.send("client", START, b"abc", cuts=(4,))


def test_padding_is_not_payload(tmp_path: Path) -> None:
    conversation = Conversation(padded=True, timestamp_bases=None).ack("client", START)
    assert [len(frame.data) for frame in conversation.frames] == [60]
    path = written(conversation.capture(), tmp_path)
    assert fields(path, ["tcp.len"], "tcp") == [["0"]]


def _capture() -> Capture:
    conversation = Conversation().open(START)
    conversation.call(1, START + 1_000_000, *nfs3.write(FH, 0, b"x" * 3000))
    conversation.reply(1, START + 2_000_001, nfs3.results.write(3000))
    return conversation.capture()


@pytest.mark.parametrize("big_endian", [False, True])
def test_formats_tell_the_same(big_endian: bool, tmp_path: Path) -> None:
    capture = _capture()
    files = {
        "nano.pcap": (capture.pcap(big_endian=big_endian), 1),
        "micro.pcap": (capture.pcap(nanoseconds=False, big_endian=big_endian), 1000),
    }
    for tsresol, unit_ns in ((None, 1000), (3, 1_000_000), (9, 1), (0x80 | 30, 2)):
        interfaces = [Interface(name="nfs0", tsresol=tsresol)]
        ng = capture.pcapng(interfaces=interfaces, big_endian=big_endian)
        files[f"next-{tsresol}.pcapng"] = (ng, unit_ns)
    for name, (data, unit_ns) in files.items():
        path = tmp_path / name
        path.write_bytes(data)
        rows = fields(path, ["frame.time_epoch", "frame.len"])
        for row, frame in zip(rows, capture.frames, strict=True):
            seconds, fraction = row[0].split(".")
            seen_ns = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
            assert abs(seen_ns - frame.time_ns) < unit_ns or seen_ns == frame.time_ns
            assert int(row[1]) == len(frame.data)


def test_snaplen_keeps_the_length_on_the_wire(tmp_path: Path) -> None:
    capture = _capture()
    for name, data in (
        ("a.pcap", capture.pcap(snaplen=100)),
        ("b.pcapng", capture.pcapng(interfaces=[Interface(snaplen=100)])),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        rows = fields(path, ["frame.len", "frame.cap_len"])
        assert [int(row[0]) for row in rows] == [len(frame.data) for frame in capture.frames]
        assert max(int(row[1]) for row in rows) == 100


def test_pcapng_with_several_interfaces(tmp_path: Path) -> None:
    cooked = Conversation(client_port=900, link=Link.LINUX_SLL2, interface=1)
    cooked.call(5, START + 10, *nfs3.getattr_(FH)).reply(5, START + 20, nfs3.results.getattr_())
    capture = _capture() + cooked.capture()
    path = capture.write(tmp_path / "two.pcapng.gz")
    rows = of_clean(path, ["frame.interface_id"], "frame")
    assert [int(row[0]) for row in rows] == [frame.interface for frame in capture.frames]
    with pytest.raises(ValueError, match="one link type"):
        capture.pcap()
    with pytest.raises(ValueError, match="no interface 1"):
        capture.pcapng(interfaces=[Interface()])
    assert {frame.interface for frame in capture.on_interface(0).frames} == {0}


def test_pcap_header_by_hand() -> None:
    frame = Frame(1_000_000_002_000_000_003, b"data", Link.RAW)
    assert (
        Capture([frame]).pcap(big_endian=True, snaplen=3)
        == bytes.fromhex(
            "a1b23c4d 0002 0004 00000000 00000000 00000003 00000065"
            "3b9aca02 00000003 00000003 00000004"
        )
        + b"dat"
    )


def test_names_decide_the_format(tmp_path: Path) -> None:
    capture = _capture()
    data = capture.write(tmp_path / "a.b.pcap.gz").read_bytes()
    assert gzip.decompress(data) == capture.pcap()
    with pytest.raises(ValueError, match=r"name it \.pcap"):
        capture.write(tmp_path / "a.txt")


def test_same_calls_same_bytes() -> None:
    assert _capture() == _capture()
    assert hash(_capture()) == hash(_capture())
    assert compressed(_capture().pcapng()) == compressed(_capture().pcapng())


def test_syn_options() -> None:
    syn = Conversation(mss=1460, window_scale=9).open(START).frames[0].packet
    assert syn is not None
    assert syn.flags == SYN
    assert syn.options[:12] == bytes.fromhex("020405b4 0402 030309 010101")
    assert syn.options[-4:] == bytes(4)
