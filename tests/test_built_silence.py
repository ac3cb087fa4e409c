"""Servers that do not answer, on captures that are built: the lab has none of them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import pcapnfs
from pcapnfs.diagnosis.finding import Finding
from pcapnfs.synth.builder import Capture, Conversation, damage, nfs3
from pcapnfs.synth.builder.nfs3 import Fattr3, results

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
SECOND = 1_000 * MS
CALLS = 20
HANDLE = b"a handle"
ANSWER = results.getattr_(Fattr3(fileid=7))
SILENCE_NS = CALLS * 10 * MS
"""When the server falls silent."""


def answered(client: str = "10.0.2.11") -> Conversation:
    """Twenty calls in 200 ms, each answered after half a millisecond."""
    talk = Conversation(client=client).open(0)
    for number in range(1, CALLS + 1):
        at_ns = number * 10 * MS - 5 * MS
        talk.call(number, at_ns, *nfs3.getattr_(HANDLE)).reply(number, at_ns + MS // 2, ANSWER)
    return talk


def found(capture: Capture, folder: Path) -> Finding | None:
    """What the rule says of it."""
    return all_found(capture, folder).get("unanswered_calls")


def all_found(capture: Capture, folder: Path) -> dict[str, Finding]:
    """What all rules say of it."""
    path = capture.write(folder / "silent.pcap")
    with pcapnfs.open(path) as trace:
        return {finding.id: finding for finding in pcapnfs.findings(trace).findings}


def resent(talk: Conversation, number: int) -> Conversation:
    """A frame of it once more and more, as TCP's timer has it."""
    frame = talk.frames[number]
    for doubling in range(7):
        talk.retransmit(frame, frame.time_ns + 200 * MS * (2 ** (doubling + 1) - 1))
    return talk


@pytest.mark.parametrize("waited_ms", [900, 1_100])
def test_a_server_whose_service_hangs(waited_ms: int, tmp_path: Path) -> None:
    """Its kernel acknowledges; less than a second is nothing to speak of."""
    talk = answered()
    talk.call(99, SILENCE_NS, *nfs3.getattr_(HANDLE)).ack("server", SILENCE_NS + MS)
    talk.keepalive("client", SILENCE_NS + waited_ms * MS)
    finding = found(talk.capture(), tmp_path)
    assert (finding is not None) is (waited_ms > 1_000)
    if finding is not None:
        assert (finding.severity, finding.title) == ("problem", "The server stopped answering")
        assert finding.saving_s == pytest.approx(1.1, rel=0.01)
        assert finding.frames == (len(talk.frames) - 2,)


def test_one_call_of_many(tmp_path: Path) -> None:
    talk = answered()
    talk.call(99, SILENCE_NS, *nfs3.read(HANDLE, 0, 4096))
    for number in range(100, 130):
        at_ns = SILENCE_NS + (number - 99) * 100 * MS
        talk.call(number, at_ns, *nfs3.getattr_(HANDLE)).reply(number, at_ns + MS, ANSWER)
    finding = found(talk.capture(), tmp_path)
    assert finding is not None
    assert finding.title == "The server left some calls unanswered"
    assert "1 of 51 calls (READ)" in finding.evidence
    assert "Calls sent later and answered: 30." in finding.evidence


@pytest.mark.parametrize("acknowledged", [False, True])
def test_answers_that_do_not_reach_the_client_captured_at_the_server(
    acknowledged: bool, tmp_path: Path
) -> None:
    """Both send again: the client its call, the server the first part of its answer."""
    talk = answered()
    before = len(talk.frames)
    talk.call(99, SILENCE_NS, *nfs3.read(HANDLE, 0, 4096))
    talk.reply(99, SILENCE_NS + MS, results.read(bytes(4096)))
    for number in (before, before + 1):
        resent(talk, number)
    if acknowledged:
        talk.ack("client", SILENCE_NS + 60 * SECOND)
    told = all_found(talk.capture(), tmp_path)
    if acknowledged:
        assert "unanswered_calls" not in told
        return
    assert "tcp_loss" not in told, "that is told once"
    finding = told["unanswered_calls"]
    assert (finding.title, finding.severity) == ("The server's answers do not arrive", "problem")
    assert "1 of 21 calls (READ)" in finding.evidence
    assert "and sent again and again." in finding.evidence
    assert "ping -M do" in finding.advice[0].action


@pytest.mark.parametrize("acknowledged", [False, True])
def test_answers_of_which_only_the_end_reaches_the_client(
    acknowledged: bool, tmp_path: Path
) -> None:
    """What fills whole packets is lost; or the capture lacks it, where the client has it."""
    talk = answered()
    talk.call(99, SILENCE_NS, *nfs3.read(HANDLE, 0, 3_000))
    talk.ack("client", SILENCE_NS + 2 * MS).keepalive("client", SILENCE_NS + 10 * SECOND)
    talk.skip("server", 2 * 1_448).send("server", SILENCE_NS + MS, bytes(236))
    if acknowledged:
        talk.ack("client", SILENCE_NS + 11 * SECOND)
    told = all_found(talk.capture(), tmp_path)
    assert ("capture_lossy" in told) is acknowledged
    assert ("unanswered_calls" in told) is not acknowledged
    if not acknowledged:
        finding = told["unanswered_calls"]
        assert finding.title == "The server's answers do not arrive"
        assert "sent 2.83 KiB that never came here" in finding.evidence
        assert "ping -M do" in finding.advice[0].action


@pytest.mark.parametrize(
    ("size", "earlier", "drops"), [(8_000, 100, True), (8_000, 8_000, False), (100, 100, False)]
)
def test_a_path_that_drops_large_packets(
    size: int, earlier: int, drops: bool, tmp_path: Path
) -> None:
    """Not one that let a call as large through before it was cut."""
    talk = answered()
    talk.call(98, SILENCE_NS - 3 * MS, *nfs3.write(HANDLE, 0, bytes(earlier)))
    talk.reply(98, SILENCE_NS - 2 * MS, results.write(earlier))
    before = len(talk.frames)
    talk.call(99, SILENCE_NS, *nfs3.write(HANDLE, 0, bytes(size)))
    finding = found(resent(talk, before).capture(), tmp_path)
    assert finding is not None
    assert finding.title == "What the client sends does not reach the server"
    assert "The client sent 7 TCP segments again on its connection." in finding.evidence
    assert any("ping -M do" in each.action for each in finding.advice) is drops


def test_a_portmapper_over_udp_behind_a_firewall(tmp_path: Path) -> None:
    talk = Conversation(transport="udp", client_port=800, server_port=111)
    talk.call(1, 0, 100000, 2, 3, bytes(16))
    for second in (1, 3, 7):
        talk.retransmit(talk.frames[0], second * SECOND)
    finding = found(talk.capture(), tmp_path)
    assert finding is not None
    assert finding.title == "The portmapper does not answer over UDP"
    assert "The client sent 3 RPC calls again." in finding.evidence


def test_replies_that_the_capture_lacks_are_none(tmp_path: Path) -> None:
    """Only what the client sent was captured; or packets were cut behind which a reply stands."""
    talk = answered()
    talk.call(99, SILENCE_NS, *nfs3.read(HANDLE, 0, 4096))
    talk.reply(99, SILENCE_NS + 2 * MS, results.read(bytes(4096)))
    talk.keepalive("client", SILENCE_NS + 9 * SECOND)
    whole = talk.capture()
    clients = Capture(
        frame for frame in whole.frames if frame.packet and frame.packet.source_port == 1023
    )
    assert found(clients, tmp_path) is None
    assert found(whole, tmp_path) is None
    talk.call(100, SILENCE_NS + 10 * SECOND, *nfs3.getattr_(HANDLE))
    talk.keepalive("client", SILENCE_NS + 19 * SECOND)
    assert found(talk.capture(), tmp_path) is not None
    assert found(damage.snap(talk.capture(), 200), tmp_path) is None


def hanging(calls: int) -> Conversation:
    """Calls that the server's kernel acknowledges, and its service does not answer."""
    return acknowledged(answered(), calls, SECOND)


def acknowledged(talk: Conversation, calls: int, at_ns: int) -> Conversation:
    for number in range(calls):
        sent_ns = at_ns + number * MS
        talk.call(99 + number, sent_ns, *nfs3.read(HANDLE, 4096 * number, 4096))
        talk.ack("server", sent_ns + MS // 2)
    return talk


def other(port: int, at_ns: int, calls: int = 300) -> Conversation:
    """Another connection, that works."""
    talk = Conversation(client_port=port).open(at_ns)
    for number in range(200, 200 + calls):
        sent_ns = at_ns + (number - 199) * 10 * MS
        talk.call(number, sent_ns, *nfs3.getattr_(HANDLE)).reply(number, sent_ns + MS // 2, ANSWER)
    return talk


@pytest.mark.parametrize("reconnects", [False, True])
def test_calls_that_are_repeated_and_acknowledged(reconnects: bool, tmp_path: Path) -> None:
    """The mount's time-out makes the client repeat them; TCP has nothing to send again."""
    talk = hanging(4)
    again = talk
    if reconnects:
        talk.close(61 * SECOND)
        again = Conversation(client_port=1022).open(61 * SECOND + MS)
    acknowledged(again, 4, 62 * SECOND)
    again.keepalive("client", 100 * SECOND).ack("server", 100 * SECOND + MS)
    capture = talk.capture() + again.capture() if reconnects else talk.capture()
    finding = found(capture, tmp_path)
    assert finding is not None
    assert (finding.severity, finding.title) == ("problem", "The server stopped answering")
    assert "The client sent 4 RPC calls again." in finding.evidence


def test_datagrams_that_the_capture_lost(tmp_path: Path) -> None:
    talk = Conversation(transport="udp", client_port=900)
    for number in range(1, 601):
        at_ns = number * 20 * MS
        talk.call(number, at_ns, *nfs3.read(HANDLE, 0, 1024))
        talk.reply(number, at_ns + MS, results.read(bytes(1024)))
    lossy = damage.drop(talk.capture(), damage.at_random(0.01, seed=1))
    assert found(lossy, tmp_path) is None


@pytest.mark.parametrize("end", ["lost", "closed"])
def test_the_last_packet_of_its_connection(end: str, tmp_path: Path) -> None:
    """The capture lacks what followed, or the client closed it; others go on for seconds."""
    talk = answered()
    talk.call(99, SECOND, *nfs3.read(HANDLE, 0, 4096))
    if end == "closed":
        talk.ack("server", SECOND + MS).close(SECOND + 5 * MS)
    assert found(talk.capture() + other(1022, 2 * SECOND).capture(), tmp_path) is None


@pytest.mark.parametrize("acknowledged_by", ["server", None])
def test_a_hang_of_which_another_connection_shows_that_it_lasted(
    acknowledged_by: str | None, tmp_path: Path
) -> None:
    """Nothing follows on its own; where the server's ACK is missing, the capture may lack more."""
    talk = answered()
    talk.call(99, SECOND, *nfs3.read(HANDLE, 0, 4096))
    if acknowledged_by:
        talk.ack("server", SECOND + 40 * MS)
    finding = found(talk.capture() + other(1022, 2 * SECOND).capture(), tmp_path)
    assert (finding is not None) is (acknowledged_by is not None)
    if finding is not None:
        assert finding.title == "The server left some calls unanswered"
        assert "had no answer 4.00 s after it was sent" in finding.evidence


@pytest.mark.parametrize("side", ["client", "server"])
def test_who_ended_the_connection(side: Literal["client", "server"], tmp_path: Path) -> None:
    """Its end is sent again for a minute, in which nobody waits any more."""
    talk = answered()
    talk.call(99, SECOND, *nfs3.read(HANDLE, 0, 4096)).ack("server", SECOND + 40 * MS)
    talk.close(4 * SECOND, by=side)
    talk.retransmit(talk.frames[-3], 64 * SECOND)
    finding = found(talk.capture(), tmp_path)
    assert finding is not None
    assert "had no answer 3.00 s after it was sent" in finding.evidence
    assert f"The {side} ended the connection while it waited." in finding.evidence


def test_packets_missing_on_another_connection(tmp_path: Path) -> None:
    """Nor is a call that waited until its connection was closed, if it was sent once."""
    portmapper = Conversation(client_port=900, server_port=111).open(SILENCE_NS)
    portmapper.call(1, SILENCE_NS + MS, 100000, 2, 3, bytes(16)).close(SILENCE_NS + 3 * SECOND)
    whole = other(1022, 0).capture()
    assert found(whole + portmapper.capture(), tmp_path) is not None
    lossy = damage.drop(whole, damage.frames(200, 201, 300))
    assert found(lossy + portmapper.capture(), tmp_path) is None


@pytest.mark.parametrize("server", ["10.255.255.255", "255.255.255.255", "239.1.2.3"])
@pytest.mark.parametrize("procedure", [3, 5])
def test_what_is_sent_to_many_need_not_be_answered(
    server: str, procedure: int, tmp_path: Path
) -> None:
    talk = Conversation(transport="udp", client_port=900, server=server, server_port=111)
    talk.call(1, 0, 100000, 2, procedure, bytes(16))
    for second in (1, 3, 7):
        talk.retransmit(talk.frames[0], second * SECOND)
    assert found(talk.capture() + other(1022, 8 * SECOND).capture(), tmp_path) is None


def test_segments_that_were_lost_before_the_silence(tmp_path: Path) -> None:
    """TCP would have sent the call again six times in a minute, not two times."""
    talk = answered()
    for number in (5, 9):
        talk.retransmit(talk.frames[number], talk.frames[number].time_ns + 300 * MS)
    talk.frames.sort(key=lambda frame: frame.time_ns)
    acknowledged(talk, 1, SECOND).keepalive("client", 61 * SECOND)
    finding = found(talk.capture(), tmp_path)
    assert finding is not None
    assert finding.title == "The server stopped answering"


def connected_again(syns: int, client: str = "10.0.2.11") -> Capture:
    """A client whose connection was reset, and which sends so many SYNs for the next one."""
    first = answered(client).reset(SILENCE_NS)
    again = Conversation(client=client, client_port=1022)
    again.open(SILENCE_NS + (2**syns - 1) // 2 * SECOND)
    syn = again.frames[0]
    for earlier in range(syns - 1):
        again.frames.insert(earlier, syn.at(SILENCE_NS + (2**earlier - 1) * SECOND))
    begun_ns = syn.time_ns + MS
    for number in range(40, 60):
        at_ns = begun_ns + number * MS
        again.call(number, at_ns, *nfs3.getattr_(HANDLE)).reply(number, at_ns + MS // 2, ANSWER)
    return first.capture() + again.capture()


@pytest.mark.parametrize("syns", [4, 1])
def test_a_server_that_answers_no_syn_at_first(syns: int, tmp_path: Path) -> None:
    """They come after 0, 1, 3 and 7 seconds, and the last one is answered."""
    findings = all_found(connected_again(syns), tmp_path)
    assert ("slow_connect" in findings) is (syns > 1)
    if syns > 1:
        finding = findings["slow_connect"]
        assert finding.severity == "problem"
        assert finding.saving_s == pytest.approx(7.0, rel=0.02)
        assert "client_bound" not in findings


@pytest.mark.parametrize("clients", [1, 2])
def test_the_verdict_calls_time_without_connection_no_client_s_own(
    clients: int, tmp_path: Path
) -> None:
    whole = connected_again(4)
    if clients == 2:
        whole += connected_again(4, "10.0.2.12")
    with pcapnfs.open(whole.write(tmp_path / "again.pcap")) as trace:
        verdict = pcapnfs.model(trace).verdict
    assert verdict is not None
    for told in verdict.clients or (verdict,):
        causes = {each.cause: each.time_s for each in told.causes}
        assert told.named == ("waiting",)
        assert causes["waiting"] == pytest.approx(7.0, rel=0.02)
        assert causes["client"] < 0.5


@pytest.mark.parametrize("pause_s", [30, 7])
def test_a_connection_that_is_open_and_not_used_is_not_late(pause_s: int, tmp_path: Path) -> None:
    """After 7 s a SYN is sent again for the third time: here are no frames for that."""
    talk = Conversation(client_port=1022).open(0)
    for number in range(CALLS):
        at_ns = pause_s * SECOND + number * 10 * MS
        talk.call(number, at_ns, *nfs3.getattr_(HANDLE)).reply(number, at_ns + MS, ANSWER)
    assert "slow_connect" not in all_found(talk.capture(), tmp_path)
