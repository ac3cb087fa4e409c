"""Findings on what TCP and RPC do, on captures that are built: the lab has none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.wire.tcp_stalls import tcp_stalls
from pcapnfs.diagnosis.finding import Finding
from pcapnfs.synth.builder import Capture, Conversation, nfs3, rpc

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
HANDLE = bytes(range(32))
FORBIDDEN = (13).to_bytes(4, "big")
"""The results of a GETATTR that failed: its status (RFC 1813 section 3.3.1)."""


def found(capture: Capture, folder: Path) -> dict[str, Finding]:
    """What the rules say of a capture, by rule."""
    path = folder / "built.pcap"
    path.write_bytes(capture.pcap())
    with pcapnfs.open(path) as trace:
        return {finding.id: finding for finding in pcapnfs.findings(trace).findings}


def asked(talk: Conversation, number: int, cuts: tuple[int, ...] = ()) -> None:
    """A GETATTR of 0.4 ms, from `number` × 100 ms on, whose call has so many first segments."""
    at_ns = number * 100 * MS
    talk.call(number, at_ns, *nfs3.getattr_(HANDLE), cuts=cuts)
    talk.reply(number, at_ns + (40 * MS if cuts else 0) + 400_000, FORBIDDEN)


@pytest.mark.parametrize("held", [12, 9])
def test_segments_that_wait_for_a_delayed_ack(held: int, tmp_path: Path) -> None:
    """Nagle's algorithm holds the last segment of a call back for 40 ms; nine may be chance."""
    talk = Conversation(segment_gap_ns=40 * MS).open(0)
    for number in range(1, 51):
        asked(talk, number, (20,) if number <= held else ())
    findings = found(talk.capture(), tmp_path)
    assert ("delayed_ack" in findings) is (held == 12)
    if held == 12:
        cost = findings["delayed_ack"].saving_s
        assert cost == pytest.approx(12 * 0.04, rel=0.2)


@pytest.mark.parametrize("closed_ms", [30, 8])
def test_a_server_that_closes_its_window(closed_ms: int, tmp_path: Path) -> None:
    """Ten milliseconds are nothing to speak of."""
    talk = Conversation().open(0)
    asked(talk, 1)
    talk.ack("server", 110 * MS, window=0)
    talk.ack("server", (110 + closed_ms) * MS, window=1000)
    asked(talk, 2)
    findings = found(talk.capture(), tmp_path)
    assert ("zero_window" in findings) is (closed_ms == 30)


@pytest.mark.parametrize(
    ("server_ms", "room", "full"), [(0, 0, True), (20, 0, True), (0, 2, False), (20, 2, False)]
)
def test_a_window_that_is_full_is_told_at_either_end(
    server_ms: int, room: int, full: bool, tmp_path: Path
) -> None:
    """READs over 20 ms whose replies come a window at a time, or with room for two segments."""
    mss, segments, scale = 1448, 8, 2
    near_ns, far_ns = 50_000, 20 * MS
    to_server, to_client = (far_ns, near_ns) if server_ms else (near_ns, far_ns)
    window = (segments + room) * mss // (1 << scale)
    talk = Conversation(mss=mss + 12, window=window, window_scale=scale).open(
        0, to_server, to_client
    )
    at_ns, piece = 100 * MS, segments * mss
    for number in range(1, 11):
        talk.call(number, at_ns, *nfs3.read(HANDLE, 65536 * number, 65536))
        message = rpc.record(rpc.reply(number, nfs3.results.read(bytes(65536)), rpc.NO_AUTH))
        at_ns += to_server + 100_000
        for begin in range(0, len(message), piece):
            talk.send("server", at_ns, message[begin : begin + piece])
            talk.ack("client", at_ns + to_client)
            at_ns += to_client + to_server
    findings = found(talk.capture(), tmp_path)
    assert ("full_window" in findings) is full
    if full:
        # Each reply takes six windows, the last of which is no full one.
        assert findings["full_window"].saving_s == pytest.approx(10 * 5 * 0.02, rel=0.1)
        assert "a window of 11.3 KiB" in findings["full_window"].evidence


@pytest.mark.parametrize("hit", [False, True])
def test_a_segment_that_was_sent_again(hit: bool, tmp_path: Path) -> None:
    """It excuses the call that it held up, and not one that the server let wait."""
    talk = Conversation().open(0)
    for number in range(1, 51):
        asked(talk, number)
    before, at_ns = len(talk.frames), 5_150 * MS
    talk.call(99, at_ns, *nfs3.getattr_(HANDLE)).reply(99, at_ns + 3_000 * MS, FORBIDDEN)
    segment = talk.frames[before if hit else before - 10]
    talk.retransmit(segment, at_ns + (2_999 if hit else -100) * MS)
    talk.frames.sort(key=lambda frame: frame.time_ns)
    findings = found(talk.capture(), tmp_path)
    assert ("stalled_calls" in findings) is not hit
    with pcapnfs.open(tmp_path / "built.pcap") as trace:
        (pair,) = tcp_stalls(trace)
    assert (pair.client_resent + pair.server_resent, pair.stalls) == (1, int(hit))


def test_a_call_over_udp_that_was_lost(tmp_path: Path) -> None:
    """It was sent again and answered once."""
    talk = Conversation(transport="udp")
    for number in range(1, 21):
        asked(talk, number)
    lost_ns = 3000 * MS
    talk.call(99, lost_ns, *nfs3.getattr_(HANDLE))
    talk.retransmit(talk.frames[-1], lost_ns + 1100 * MS)
    talk.reply(99, lost_ns + 1101 * MS, FORBIDDEN)
    findings = found(talk.capture(), tmp_path)
    again = findings["rpc_retransmission"]
    assert "1 of 21 calls (4.8 %) went more than once, over UDP." in again.evidence
    assert again.saving_s == pytest.approx(1.1, rel=0.01)
    assert "duplicate_replies" not in (*findings, *again.also)


def at_the_server(port: int, since_ms: int) -> Conversation:
    """A connection as it looks there: the client's answer to the SYN+ACK takes the round trip."""
    talk = Conversation(client_port=port, isns=(1_000_000 + port, 2_000_000 + port))
    return talk.open(since_ms * MS, synack_after_ns=10_000, ack_after_ns=MS)


def waited(capture: Capture, folder: Path) -> tuple[dict[str, Finding], float]:
    """What the rules say of a capture, and what of the time the verdict lays on no answer."""
    findings = found(capture, folder)
    with pcapnfs.open(folder / "built.pcap") as trace:
        verdict = pcapnfs.model(trace).verdict
    assert verdict is not None
    return findings, sum(each.time_s for each in verdict.causes if each.cause == "waiting")


@pytest.mark.parametrize(
    ("ended", "first_xid", "told"),
    [(False, 51, True), (True, 51, False), (False, 9_000_000, False)],
    ids=["cut off", "closed by itself", "started anew"],
)
def test_a_client_that_comes_back_on_another_connection(
    ended: bool, first_xid: int, told: bool, tmp_path: Path
) -> None:
    """After 20 s: the former one stands as it was, or was closed."""
    former = at_the_server(700, 0)
    for number in range(1, 51):
        asked(former, number)
    if ended:
        former.close(5_100 * MS)
    later = at_the_server(701, 25_000)
    for number in range(50):
        at_ns = (25_002 + 100 * number) * MS
        later.call(first_xid + number, at_ns, *nfs3.getattr_(HANDLE))
        later.reply(first_xid + number, at_ns + 400_000, FORBIDDEN)
    both = Capture(sorted([*former.frames, *later.frames], key=lambda frame: frame.time_ns))
    findings, waited_s = waited(both, tmp_path)
    assert ("cut_off" in findings) is told
    assert waited_s == pytest.approx(19.9 if told else 0.0, abs=0.2)
    if told:
        assert findings["cut_off"].severity == "problem"
        assert findings["cut_off"].confidence == "likely"


@pytest.mark.parametrize("copies", [0, 3])
def test_calls_that_had_waited_in_the_clients_tcp(copies: int, tmp_path: Path) -> None:
    """After 20 s the next call comes, alone or with all that its timer had sent again."""
    talk = at_the_server(700, 0)
    for number in range(1, 51):
        asked(talk, number)
    for late in range(copies + 1):
        talk.call(99, 25_000 * MS + late * 10_000, *nfs3.getattr_(HANDLE))
    talk.reply(99, 25_000 * MS + 400_000, FORBIDDEN)
    for number in range(260, 300):
        asked(talk, number)
    findings, waited_s = waited(talk.capture(), tmp_path)
    assert ("cut_off" in findings) is bool(copies)
    assert waited_s == pytest.approx(19.0 if copies else 0.0, abs=1.5)


@pytest.mark.parametrize("tries", [0, 5])
def test_a_reply_that_the_server_sends_again_and_again(tries: int, tmp_path: Path) -> None:
    """For 6 s nothing comes back, and then the client goes on where it was."""
    talk = at_the_server(700, 0)
    for number in range(1, 51):
        asked(talk, number)
    reply = talk.frames[-1]
    for number in range(tries):
        talk.retransmit(reply, reply.time_ns + 200 * MS * (2 ** (number + 1) - 1))
    talk.ack("client", reply.time_ns + 6_202 * MS)
    for number in range(113, 150):
        asked(talk, number)
    findings = found(talk.capture(), tmp_path)
    assert ("tcp_loss" in findings) is bool(tries)
    if tries:
        cut = findings["tcp_loss"]
        assert cut.title == "The path let nothing through for a while"
        assert cut.saving_s == pytest.approx(6.2, abs=0.1)
        assert (
            "the server sent again what the client did not acknowledge for 6.20 s" in cut.evidence
        )
