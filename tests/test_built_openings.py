"""Connections that take long to come about, on captures that are built or altered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.diagnosis.finding import Finding
from pcapnfs.synth.builder import Capture, Conversation, damage, nfs3
from pcapnfs.synth.builder.nfs3 import Fattr3, results
from pcapnfs.views.estimate import remarks
from tests.damage import File
from tests.test_clock import without_timestamps

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
SECOND = 1_000 * MS
HANDLE = b"a handle"
ANSWER = results.getattr_(Fattr3(fileid=7))
SAMPLES = Path(__file__).parents[1] / "samples"
SYN, SYN_ACK = 0x02, 0x12


def worked(talk: Conversation, at_ns: int) -> Conversation:
    """Twenty calls in 200 ms from then on, each answered after half a millisecond."""
    for number in range(1, 21):
        sent_ns, xid = at_ns + number * 10 * MS, at_ns // MS + number
        talk.call(xid, sent_ns, *nfs3.getattr_(HANDLE)).reply(xid, sent_ns + MS // 2, ANSWER)
    return talk


def before() -> Capture:
    """The client's former connection, which worked."""
    return worked(Conversation(client_port=900).open(0), 0).capture()


def found(capture: Capture | Path, folder: Path, rule: str = "slow_connect") -> Finding | None:
    """What the rule says of it."""
    path = capture if isinstance(capture, Path) else capture.write(folder / "opening.pcap")
    with pcapnfs.open(path) as trace:
        told = {finding.id: finding for finding in pcapnfs.findings(trace).findings}
    return told.get(rule)


def attempt(at_ns: int, isn: int, port: int = 1023, *, refused: bool) -> Capture:
    """A SYN to which nothing comes, or a reset."""
    talk = Conversation(client_port=port, isns=(isn, 0)).open(at_ns)
    del talk.frames[1:]
    return (talk.reset(at_ns + MS) if refused else talk).capture()


@pytest.mark.parametrize("after_ms", [1_500, 800])
def test_a_syn_ack_that_comes_late(after_ms: int, tmp_path: Path) -> None:
    talk = Conversation().open(SECOND, synack_after_ns=after_ms * MS)
    worked(talk, SECOND + after_ms * MS)
    finding = found(before() + talk.capture(), tmp_path)
    assert (finding is not None) is (after_ms > 1_000)
    if finding is not None:
        assert (finding.confidence, finding.severity) == ("likely", "problem")
        assert finding.saving_s == pytest.approx(1.5, rel=0.01)


def test_a_syn_ack_that_is_sent_again(tmp_path: Path) -> None:
    """The client's answer comes only to the third."""
    talk = Conversation().open(SECOND, ack_after_ns=3 * SECOND)
    answer = talk.frames[1]
    for later_s in (1, 3):
        talk.retransmit(answer, answer.time_ns + later_s * SECOND)
    talk.frames.sort(key=lambda frame: frame.time_ns)
    finding = found(before() + worked(talk, 4 * SECOND + MS).capture(), tmp_path)
    assert finding is not None
    assert finding.confidence == "certain"
    assert "the server sent 2 SYN+ACKs again" in finding.evidence
    assert "did not reach" in finding.why


@pytest.mark.parametrize("ports", [(1023, 1023, 1023), (800, 801, 802)])
@pytest.mark.parametrize("refused", [True, False])
def test_attempts_before(refused: bool, ports: tuple[int, ...], tmp_path: Path) -> None:
    """NFSv4.1 and later take another port each time, earlier versions the same."""
    capture = before()
    for second, port in zip((1, 6, 12), ports, strict=True):
        capture += attempt(second * SECOND, 10_000 * second, port, refused=refused)
    capture += worked(Conversation().open(22 * SECOND), 22 * SECOND).capture()
    finding = found(capture, tmp_path)
    assert finding is not None
    assert "3 attempts before came to nothing" in finding.evidence
    assert ("refused 3 SYNs (RST)" in finding.evidence) is refused
    assert ("nothing listens there" in finding.why) is refused
    assert finding.saving_s == pytest.approx(21.0, rel=0.01)
    with pcapnfs.open(tmp_path / "opening.pcap") as trace:
        assert (trace.meta.refused_connections, trace.meta.silent_connections) == (0, 0)


def test_a_soft_mount_whose_server_was_gone(tmp_path: Path) -> None:
    """The call fails, and the program's next one comes a second after the server is back."""
    talk = worked(Conversation(client_port=900).open(0), 0)
    lost_ns = 210 * MS
    talk.call(7, lost_ns, *nfs3.getattr_(HANDLE)).reset(lost_ns + MS)
    capture = talk.capture()
    for second, isn in ((1, 10_000), (4, 20_000)):
        capture += attempt(second * SECOND, isn, 900, refused=True)
    back = Conversation(client_port=900, isns=(30_000, 40_000)).open(7 * SECOND)
    capture += worked(back, 8 * SECOND).capture()
    finding = found(capture, tmp_path)
    assert finding is not None
    assert finding.saving_s == pytest.approx(6.0, rel=0.01)
    with pcapnfs.open(tmp_path / "opening.pcap") as trace:
        verdict = pcapnfs.summarize(trace).verdict
    assert verdict is not None
    cause = verdict.causes[0]
    assert cause.cause == "waiting"
    assert cause.share == pytest.approx(6.0 / 8.2, rel=0.02)


@pytest.mark.parametrize("mounted", [True, False])
def test_attempts_before_a_mount_may_be_others(mounted: bool, tmp_path: Path) -> None:
    """A user may have tried again: only where calls went before they cost something."""
    capture = before() if mounted else Capture()
    capture += attempt(SECOND, 10_000, refused=True)
    capture += worked(Conversation().open(60 * SECOND), 60 * SECOND).capture()
    finding = found(capture, tmp_path)
    assert finding is not None
    assert "came about 59.0 s after its first SYN" in finding.evidence
    assert ("No call was under way meanwhile" in finding.evidence) is mounted


def test_connections_that_are_asked_for_at_once_are_no_attempts(tmp_path: Path) -> None:
    """Several belong to a mount (nconnect), and are answered after half a second."""
    capture = before()
    for port in (700, 701, 702):
        talk = Conversation(client_port=port).open(SECOND + port * MS, 500 * MS)
        capture += worked(talk, 2 * SECOND + port * 300 * MS).capture()
    assert found(capture, tmp_path) is None


def test_attempts_to_which_nothing_ever_came_are_one_connection(tmp_path: Path) -> None:
    capture = before()
    for second, isn in ((1, 10_000), (4, 20_000), (10, 30_000)):
        capture += attempt(second * SECOND, isn, refused=True)
    with pcapnfs.open(capture.write(tmp_path / "vain.pcap")) as trace:
        assert (trace.meta.refused_connections, trace.meta.silent_connections) == (1, 0)


def gone(clients: int = 1, *, hanging: bool = False) -> Capture:
    """A server that is down, so that SYNs from other and other ports have no answer for minutes.

    The connection was closed in good order, or reset a second after a call that it did not answer.
    """
    capture = Capture()
    for number in range(clients):
        client = f"10.0.2.{11 + number}"
        talk = worked(Conversation(client=client, client_port=900).open(0), 0)
        if hanging:
            talk.call(9_999, SECOND, *nfs3.getattr_(HANDLE)).ack("server", SECOND + MS)
            talk.reset(2 * SECOND)
        else:
            talk.close(SECOND)
        capture += talk.capture()
    for port, begin in ((800, 60), (801, 130), (802, 210)):
        for later in (0, 1, 3, 7, 15, 31):
            syn = Conversation(client_port=port, isns=(port, 0)).open((begin + later) * SECOND)
            del syn.frames[1:]
            capture += syn.capture()
    return capture


@pytest.mark.parametrize("hanging", [False, True])
def test_a_server_that_went_away(hanging: bool, tmp_path: Path) -> None:
    """What a call waited before is told apart."""
    finding = found(gone(hanging=hanging), tmp_path, "no_connection")
    assert finding is not None
    assert (finding.severity, finding.confidence) == ("problem", "certain")
    assert "18 SYNs in 3 attempts to port 2049, the first 1 m 0 s after" in finding.evidence
    assert finding.saving_s == pytest.approx(181.0, rel=0.01)
    said = found(tmp_path / "opening.pcap", tmp_path, "unanswered_calls")
    assert (said is not None) is hanging
    assert found(tmp_path / "opening.pcap", tmp_path, "client_bound") is None


def test_a_server_that_came_back_for_another_port(tmp_path: Path) -> None:
    """The client gave its attempt up before the next SYN was due."""
    capture = before()
    for second in (1, 2, 4, 8, 16):
        syn = Conversation(client_port=800, isns=(800, 0)).open(second * SECOND)
        del syn.frames[1:]
        capture += syn.capture()
    capture += worked(Conversation(client_port=801).open(20 * SECOND), 20 * SECOND).capture()
    path = capture.write(tmp_path / "back.pcap")
    finding = found(path, tmp_path, "no_connection")
    assert finding is not None
    assert "Nobody answered for 19.0 s; then it got a connection." in finding.evidence
    assert finding.saving_s == pytest.approx(19.0, rel=0.01)
    assert found(path, tmp_path) is None
    with pcapnfs.open(path) as trace:
        model = pcapnfs.model(trace)
    verdict = model.verdict
    assert verdict is not None
    assert model.unreached_s == pytest.approx(19.0, rel=0.01)
    assert model.vain_s == 0.0
    causes = {each.cause: each.time_s for each in verdict.causes}
    assert causes["waiting"] == pytest.approx(19.0, rel=0.01)
    assert sum(causes.values()) == pytest.approx(20.2, rel=0.01)


@pytest.mark.parametrize("clients", [1, 2])
def test_the_verdict_on_a_server_that_went_away(clients: int, tmp_path: Path) -> None:
    """Of several clients each clock is the capture's."""
    with pcapnfs.open(gone(clients).write(tmp_path / "gone.pcap")) as trace:
        model = pcapnfs.model(trace)
    verdict = model.verdict
    assert verdict is not None
    assert model.vain_s == pytest.approx(181.0 if clients == 1 else 0.0, rel=0.01)
    told = [line for line in remarks(model) if "asked for a connection in vain" in line]
    assert len(told) == (clients == 1)
    causes = {each.cause: each.time_s for each in verdict.causes}
    assert verdict.named == ("waiting",)
    assert causes["waiting"] == pytest.approx(181.0, rel=0.01)
    assert causes["client"] == pytest.approx(0.18 if clients == 1 else 60.0, rel=0.05)
    assert ("and 3 m 1 s of asking for a connection after it." in verdict.sentence) is (
        clients == 1
    )
    others = {client.client: client.named for client in verdict.clients[1:]}
    assert others == ({} if clients == 1 else {"10.0.2.12": ("client",)})


def test_a_portmapper_and_mountd_behind_a_firewall(tmp_path: Path) -> None:
    """The mount daemon's port is one that the portmapper told."""
    ask = (100000, 2, 3, bytes.fromhex("000186a5 00000003 00000006 00000000"))
    talk = Conversation(client_port=700, server_port=111).open(0)
    talk.call(1, MS, *ask).reply(1, 2 * MS, (20048).to_bytes(4))
    capture = talk.close(3 * MS).capture()
    for second in (1, 2, 4, 8):
        syn = Conversation(client_port=701, server_port=20048).open(second * SECOND)
        del syn.frames[1:]
        capture += syn.capture()
    finding = found(capture, tmp_path, "no_connection")
    assert finding is not None
    assert "4 SYNs to port 20048" in finding.evidence


def test_a_server_that_still_has_the_former_connection(tmp_path: Path) -> None:
    """Its ACK is answered by a reset, and the SYN comes again after a second."""
    former = worked(Conversation().open(0), 0)
    sent = len(former.frames)
    former.ack("server", 5 * SECOND + MS)
    talk = Conversation(isns=(77_000_000, 88_000_000)).open(6 * SECOND)
    talk.retransmit(talk.frames[0], 5 * SECOND)
    talk.frames.sort(key=lambda frame: frame.time_ns)
    former.reset(5 * SECOND + 2 * MS, by="client")
    assert len(former.frames) == sent + 2
    finding = found(former.capture() + worked(talk, 6 * SECOND).capture(), tmp_path)
    assert finding is not None
    assert (
        "the client sent 1 SYN again; the server answered 1 of them with an ACK of a former "
        in (finding.evidence)
    )
    assert finding.saving_s == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("later_s", [2, 61])
def test_ports_that_are_used_again(later_s: int, tmp_path: Path) -> None:
    """Another connection is no attempt that came to nothing."""
    former = worked(Conversation().open(0), 0).close(SECOND)
    talk = Conversation(isns=(77_000_000, 88_000_000)).open(later_s * SECOND)
    again = worked(talk, later_s * SECOND)
    assert found(former.capture() + again.capture(), tmp_path) is None


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_packets_of_a_handshake_that_the_capture_lost(lost: int, tmp_path: Path) -> None:
    """Of a connection that is used only later, at that."""
    talk = worked(Conversation().open(0), 7 * SECOND)
    assert found(damage.drop(talk.capture(), damage.frames(lost)), tmp_path) is None


@pytest.mark.parametrize("mounted", [True, False])
def test_a_connection_for_which_no_call_waits_costs_who_had_made_calls(
    mounted: bool, tmp_path: Path
) -> None:
    """The call it was made for may have failed since; of the first one nobody knows."""
    talk = Conversation().open(4 * SECOND)
    for earlier_s in (1, 2):
        talk.frames.insert(earlier_s - 1, talk.frames[-3].at(earlier_s * SECOND))
    former = before() if mounted else Capture()
    finding = found(former + worked(talk, 9 * SECOND).capture(), tmp_path)
    assert finding is not None
    assert finding.severity == ("problem" if mounted else "note")
    assert finding.saving_s == (pytest.approx(3.0, rel=0.01) if mounted else None)
    assert ("No call was under way" in finding.evidence) is mounted


def flags(data: bytes, server_port: int = 2049) -> int | None:
    """The control bits of a segment over IPv4 and Ethernet from or to a port."""
    at = 14 + (data[14] & 15) * 4
    if data[23] != 6 or server_port not in (
        int.from_bytes(data[at : at + 2]),
        int.from_bytes(data[at + 2 : at + 4]),
    ):
        return None
    return data[at + 13]


def altered(name: str, flag: int, folder: Path, *, seconds: tuple[int, ...]) -> Path:
    """The last segment with these flags at all these times, and what follows after the last."""
    file = File.read(SAMPLES / name)
    assert file is not None
    at = max(place for place, frame in enumerate(file.frames) if flags(frame.data) == flag)
    changed = list(file.frames[:at])
    for later in seconds[:-1]:
        changed.append(replace(file.frames[at], seconds=file.frames[at].seconds + later))
    for frame in file.frames[at:]:
        changed.append(replace(frame, seconds=frame.seconds + seconds[-1]))
    target = folder / name
    replace(file, frames=tuple(changed)).write(target)
    # Timestamps that went on all the while would tell that the capture's clock was set.
    return without_timestamps(target)


@pytest.mark.parametrize("name", ["k61-walk-v3.pcap", "k61-tar-v42.pcap", "opt-noac-v3.pcap"])
def test_samples_in_which_it_took_longer(name: str, tmp_path: Path) -> None:
    assert found(SAMPLES / name, tmp_path) is None
    repeated = found(altered(name, SYN, tmp_path, seconds=(0, 1, 3, 7)), tmp_path)
    assert repeated is not None
    assert "the client sent 3 SYNs again" in repeated.evidence
    delayed = found(altered(name, SYN_ACK, tmp_path, seconds=(2,)), tmp_path)
    assert delayed is not None
    assert "again" not in delayed.evidence
