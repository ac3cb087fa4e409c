"""`pcapnfs verify` with tshark itself: agreement, and faults that must not pass for it."""

from __future__ import annotations

import bz2
import functools
import json
import lzma
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import pcapnfs
from pcapnfs.cli.app import run
from pcapnfs.errors import UsageError
from pcapnfs.synth.builder import Capture, Conversation, damage, nfs3, rpc
from pcapnfs.synth.builder.xdr import Packer
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation
from pcapnfs.verify import ours, tool
from pcapnfs.verify.compare import compare
from pcapnfs.verify.messages import Message, Silence, messages
from pcapnfs.verify.verification import Verification, settings, verify
from tests.decoded import MS, T
from tests.oracles import corpus
from tests.oracles.corpus import require_corpus
from tests.oracles.opened import opened
from tests.oracles.survey import captures, described
from tests.oracles.tshark import (
    MOST_PACKETS,
    Recording,
    recorded,
    require_tshark,
    tshark_cache,
    waits,
)
from tests.test_public import PORTS
from tests.unit.rows import ROOT

pytest.importorskip("pcapnfs._core")

V3, V42 = ROOT / "samples" / "k61-tar-v3.pcap", ROOT / "samples" / "k61-tar-v42.pcap"


@pytest.fixture(autouse=True)
def _tshark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    require_tshark()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def verified(*paths: Path, packets: int | None = None) -> Verification:
    names = [str(path) for path in paths]
    with pcapnfs.open(names, columns=ours.READS) as trace:
        return verify(trace, names, packets=packets)


# The corpus ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "capture"),
    [pytest.param(name, described().get(name), id=name) for name in captures()]
    or [pytest.param("none", None, id="no-corpus")],
)
def test_every_difference_on_a_real_capture_has_its_reason(
    name: str,
    capture: corpus.Capture | None,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
    tmp_path: Path,
) -> None:
    require_corpus()
    files = captures()[name]
    names = [str(path) for path in files]
    cache = tshark_cache(pytestconfig)
    if capture is None:
        with pcapnfs.open(names, columns=ours.READS) as trace:
            named = settings(trace)
            said = recorded(
                files,
                PORTS,
                cache,
                whole_packets=waits(named),
                named=named,
                packets=MOST_PACKETS,
            )
            answer_again(said, trace, tmp_path, monkeypatch)
            result = verify(trace, names, packets=MOST_PACKETS)
    else:
        trace, ports = opened(capture).trace, capture.ports
        named, whole = settings(trace), capture.full
        said = recorded(files, ports, cache, whole_packets=whole, named=named)
        answer_again(said, trace, tmp_path, monkeypatch)
        result = verify(trace, names)
    assert [each for each in result.differences if each.reason is None] == []
    assert result.unexplained == 0


def answer_again(
    said: Recording | None,
    trace: pcapnfs.Trace,
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where tshark was asked the very same by `test_lab.py`, `test_other.py` or `test_public.py`,
    take its answer.

    It was told of ports besides, which may not be in the capture.
    """
    named, (servers, clients) = settings(trace), ours.ports(trace)
    there = {f"{transport}.port=={port},rpc" for transport, port in servers | clients}
    if said is None or (said.ports - set(named)) & there:
        return

    def popen(command: list[str], **details: object) -> subprocess.Popen[bytes]:
        again = said.answer(command, named)
        if again is None:
            return subprocess.Popen(command, **details)  # type: ignore[call-overload,no-any-return]
        (scratch / "said").write_bytes(again)
        return subprocess.Popen(["cat", str(scratch / "said")], **details)  # type: ignore[call-overload,no-any-return]

    module = SimpleNamespace(PIPE=subprocess.PIPE, Popen=popen)
    monkeypatch.setattr("pcapnfs.verify.messages.subprocess", module)


# Damage -------------------------------------------------------------------------------------------

DAMAGE: dict[str, Callable[[Capture], Capture]] = {
    "a hundredth of the packets is missing": lambda c: damage.drop(c, damage.at_random(0.01, 1)),
    "a fifth of the packets is missing": lambda c: damage.drop(c, damage.at_random(0.2, 1)),
    "packets were cut at 100 bytes": lambda c: damage.snap(c, 100),
    "packets were cut behind the beginning of data": lambda c: damage.snap(c, 400),
    "packets are missing, and were cut": lambda c: damage.snap(
        damage.drop(c, damage.at_random(0.02, 1)), 150
    ),
    "packets were captured twice": lambda c: damage.duplicate(c, damage.at_random(0.1, 1), 20_000),
    "it began midway": lambda c: damage.cut_start(c, 500),
    "it ended too early": lambda c: damage.cut_end(c, 301),
}


@functools.cache
def whole(version: str) -> Capture:
    """A run without damage; whatever harms it makes another capture."""
    options = Options(version=version, files=150, threads=4, size=9000, jitter_ns=100_000)
    return Simulation(options).run()[0]


@pytest.mark.parametrize("version", ["3", "4.2"])
@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_explains_what_differs(kind: str, version: str, tmp_path: Path) -> None:
    """And most of what pcapnfs finds is compared all the same."""
    result = verified(DAMAGE[kind](whole(version)).write(tmp_path / "damaged.pcap"))
    assert [each for each in result.differences if each.reason is None] == []
    assert result.pairs > 0.85 * result.calls > 0


# Faults -------------------------------------------------------------------------------------------

FAULTS = {
    "a service time that is a nanosecond too long": "update calls set srt = srt + 1",
    "a reply in another frame": "update calls set reply_frame = reply_frame + 1",
    "a reply that was not found": "update calls set reply_frame = null, srt = null",
    "another status": "update calls set status = 5",
    "another procedure": "update calls set procedure = procedure + 1",
    "a call in the wrong frame": "update calls set call_frame = call_frame + 1, "
    "call_first_frame = call_first_frame + 1",
    "a call that was lost": "delete from calls",
    "a call that does not exist": "insert into calls by name select * replace (xid + 1 as xid) "
    "from calls",
    "an operation too many": "insert into operations by name select * replace "
    "(position + 20 as position) from operations",
    "an operation too few": "delete from operations",
    "another operation": "update operations set opcode = 3",
    "a result that was not read": "update operations set executed = false",
}
"""What a faulty decoder could have put into its tables, in one call."""


@pytest.fixture(scope="module")
def dissected() -> Iterator[list[Message | Silence]]:
    require_tshark()
    with pcapnfs.open(str(V42), columns=ours.READS) as trace:
        yield list(messages(V42, settings(trace)))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_decoder_is_found(fault: str, dissected: list[Message | Silence]) -> None:
    with pcapnfs.open(str(V42)) as trace:
        assert compare(ours.calls(trace), dissected).differences == {}
        ((victim,),) = trace.sql(
            "select call from calls where op = 'WRITE' and minor = 2 order by call limit 1"
        ).fetchall()
        where = f" where call = {victim}"
        if "operations" in FAULTS[fault]:
            where += " and position = 2"
        trace.cursor().execute(FAULTS[fault] + where)
        found = compare(ours.calls(trace), dissected).differences
    assert found
    assert {reason for _, reason in found} == {None}


# What is asked of tshark --------------------------------------------------------------------------


def test_ports_that_belong_to_other_protocols_are_named() -> None:
    """Client port 1019 has no owner; 993 is that of IMAP over TLS."""
    assert tool.owners([("tcp", 993), ("tcp", 1019), ("tcp", 2049)]) == {("tcp", 993): "tls"}


def test_only_the_first_packets_are_compared_when_asked() -> None:
    result = verified(V3, packets=500)
    assert result.unexplained == 0
    assert result.packets == 500
    assert 0 < result.calls == result.tshark_calls < verified(V3).calls
    with pytest.raises(UsageError, match="begins at 1"):
        verified(V3, packets=0)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    with pcapnfs.open(str(V3), columns=ours.READS) as trace:
        verify(trace, [str(V3)], progress=lambda *each: told.append(each))
    assert told == sorted(told)
    assert len(told) > 2
    assert all(0 <= done <= size for done, size in told)


def test_packed_and_several_files_are_put_together(tmp_path: Path) -> None:
    data = V3.read_bytes()
    packed, other = tmp_path / "a.pcap.bz2", tmp_path / "b.pcap.xz"
    packed.write_bytes(bz2.compress(data))
    other.write_bytes(lzma.compress(V42.read_bytes()))
    result = verified(packed, other)
    assert result.differences == ()
    assert result.calls == verified(V3).calls + verified(V42).calls


def test_a_file_that_breaks_off_is_compared_up_to_the_break(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(V3.read_bytes()[:300_000])
    result = verified(cut)
    assert result.differences == ()
    assert result.calls > 100


def test_a_capture_that_ends_within_a_reply_is_explained(tmp_path: Path) -> None:
    """With the first of its segments: its header and how much was read are there."""
    whole, cut = tmp_path / "whole.pcap", tmp_path / "cut.pcap"
    made = ["synth", "cachedread", "--files", "1", "--size", "60K", "--rounds", "1"]
    assert run([*made, "-o", str(whole)]) == 0
    with pcapnfs.open(str(whole)) as trace:
        ((first, last),) = trace.sql(
            "select reply_first_frame, reply_frame from calls where op = 'READ'"
        ).fetchall()
    assert first < last
    data, where = whole.read_bytes(), 24
    for _ in range(first):
        where += 16 + int.from_bytes(data[where + 8 : where + 12], "little")
    cut.write_bytes(data[:where])
    (difference,) = verified(cut).differences
    assert (difference.kind, difference.reason) == ("reply", "beginning_only")


def test_a_file_that_is_damaged_is_compared_to_its_end(tmp_path: Path) -> None:
    """A packet of impossible length in the middle, where tshark by itself would stop."""
    data = bytearray(V3.read_bytes())
    where = 24
    for _ in range(1000):
        where += 16 + int.from_bytes(data[where + 8 : where + 12], "little")
    data[where + 8 : where + 12] = b"\xff\xff\xff\x7f"
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(data)
    result = verified(damaged)
    assert result.unexplained == 0
    assert result.tshark_calls == result.calls > 1_000
    assert result.stopped is None


@pytest.mark.parametrize("command", [["verify", "{}"], ["show", "{}", "12"]])
@pytest.mark.parametrize("name", ["pipe", "-"])
def test_what_can_be_read_once_alone_is_refused_before_it_is(
    command: list[str], name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require_tshark()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # Nobody will ever write into it.
    source = "-" if name == "-" else str(pipe)
    assert run([word.format(source) for word in command]) == 2
    told = capsys.readouterr().err
    assert told == f"pcapnfs: {source}: the capture is read twice, so it must be a file\n"


def test_one_xid_for_the_pieces_of_a_file_is_explained(tmp_path: Path) -> None:
    """A client that makes its xids of the time has one for all that it asks within a second."""
    talk = Conversation()
    for piece in range(4):
        sent = T + piece * 2 * MS
        talk.call(7, sent, *nfs3.read(b"handle", piece * 4096, 4096))
        talk.reply(7, sent + MS, nfs3.results.read(bytes(4096)))
    result = verified(talk.capture().write(tmp_path / "pieces.pcap"))
    assert (result.calls, result.tshark_calls, result.unexplained) == (4, 1, 0)
    assert {each.reason for each in result.differences} == {"xid_again"}


def test_one_xid_for_what_the_portmapper_is_asked_is_explained(tmp_path: Path) -> None:
    """A library whose xids do not move asks for the ports of two services on one connection."""
    talk = Conversation(server_port=111)
    for number, program in enumerate((100005, 100003)):
        asked = Packer().uints(program, 3, 6, 0).done()
        sent = T + number * 2 * MS
        talk.call(7, sent, 100000, 2, 3, asked).reply(7, sent + MS, Packer().uint(2049).done())
    result = verified(talk.capture().write(tmp_path / "ports.pcap"))
    assert (result.calls, result.tshark_calls, result.unexplained) == (2, 1, 0)
    assert {each.reason for each in result.differences} == {"xid_again"}


@pytest.mark.parametrize("head", [1, 2, 3])
def test_a_mark_that_stands_across_two_segments_is_explained(head: int, tmp_path: Path) -> None:
    """tshark loses the message, and more of the connection; pcapnfs has all of them."""
    records = [rpc.record(rpc.call(xid, *nfs3.getattr_(b"handle"))) for xid in (1, 2, 3)]
    talk = Conversation().open(T)
    talk.send("client", T + MS, b"".join(records), cuts=(len(records[0]) + head,))
    for xid in (1, 2, 3):
        talk.reply(xid, T + (1 + xid) * MS, nfs3.results.getattr_())
    talk.call(4, T + 6 * MS, *nfs3.getattr_(b"handle"))
    talk.reply(4, T + 7 * MS, nfs3.results.getattr_())
    result = verified(talk.capture().write(tmp_path / "split.pcap"))
    assert (result.calls, result.unexplained) == (4, 0)
    assert result.tshark_calls < 4
    assert {each.reason for each in result.differences} == {"not_recognized"}


def test_standard_input_cannot_be_read_again() -> None:
    with pcapnfs.open(str(V3), columns=ours.READS) as trace, pytest.raises(UsageError, match="-"):
        verify(trace, ["-"])


# The command --------------------------------------------------------------------------------------


def test_the_command_shows_a_screen_and_writes_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(V42)]) == 0
    told = capsys.readouterr()
    assert "agree on everything" in told.out
    assert told.err == ""
    assert run(["verify", "--json", str(V42)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["unexplained"] == 0
    assert document["pairs"] == document["calls"] == document["tshark_calls"] > 0


def test_without_tshark_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for arguments in (["verify", str(V3)], ["show", str(V3), "5"]):
        assert run(arguments) == 1
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.count("\n") == 1
        assert "apt install tshark" in told.err
