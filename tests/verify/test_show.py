"""`pcapnfs show`: the call that a frame belongs to, read by pcapnfs and dissected by Wireshark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.cli.app import run
from pcapnfs.errors import UsageError
from pcapnfs.synth.builder import Conversation, nfs3
from pcapnfs.verify.dissection import CALLS_LIMIT, LINE_LIMIT, READS, WRAPPER, Shown, show
from tests.decoded import MS, T
from tests.oracles.tshark import require_tshark
from tests.unit.rows import ROOT

pytest.importorskip("pcapnfs._core")

V3, V42 = ROOT / "samples" / "k61-tar-v3.pcap", ROOT / "samples" / "k61-tar-v42.pcap"
FH = bytes(range(32))


@pytest.fixture(autouse=True)
def _tshark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    require_tshark()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")


def shown(*paths: Path, frame: int, every_layer: bool = False) -> Shown:
    names = [str(path) for path in paths]
    with pcapnfs.open(names, columns=READS) as trace:
        return show(trace, names, frame, every_layer=every_layer)


def fields(result: Shown) -> list[list[str]]:
    return [[line.field for line in told.lines] for told in result.readings[0].messages]


@pytest.mark.parametrize("frame", [99, 100])
def test_call_and_reply_are_found_by_either_frame(frame: int) -> None:
    result = shown(V42, frame=frame)
    (reading,) = result.readings
    assert reading.signature == "SEQUENCE PUTFH SETATTR GETATTR"
    assert reading.path == "d00/f0190"
    assert [(told.side, told.frame) for told in reading.messages] == [("call", 99), ("reply", 100)]
    assert result.packet is None
    for told in fields(result):
        assert told.count("nfs.opcode") == 4
        assert told.count("rpc.xid") == 1


def test_operations_stand_in_the_order_of_the_compound() -> None:
    call = shown(V42, frame=99).readings[0].messages[0]
    codes = [line.text for line in call.lines if line.field == "nfs.opcode"]
    assert codes == [
        "Opcode: SEQUENCE (53)", "Opcode: PUTFH (22)", "Opcode: SETATTR (34)",
        "Opcode: GETATTR (9)",
    ]  # fmt: skip
    depths = {line.text: line.depth for line in call.lines}
    assert depths["Opcode: SEQUENCE (53)"] == 2


def test_the_layers_below_are_one_line_each_unless_all_are_wanted() -> None:
    few, every = (shown(V3, frame=1932, every_layer=wanted) for wanted in (False, True))
    assert "tcp" in fields(few)[0]
    assert "tcp.srcport" not in fields(few)[0]
    assert "tcp.srcport" in fields(every)[0]


def test_one_message_of_a_frame_with_several_is_taken(tmp_path: Path) -> None:
    talk = Conversation()
    for xid in range(3):
        talk.call(xid, T, *nfs3.lookup(FH, f"n{xid}"))
    for xid in range(3):
        talk.reply(xid, T + MS + xid, nfs3.results.lookup(status=2))
    first = talk.frames[0]
    joined = Conversation()
    joined.send(
        "client", T, b"".join(frame.packet.payload for frame in talk.frames[:3] if frame.packet)
    )
    for xid in range(3):
        joined.reply(xid, T + MS + xid, nfs3.results.lookup(status=2))
    path = joined.capture().write(tmp_path / "three.pcap")
    assert first.packet is not None
    result = shown(path, frame=1)
    assert [reading.name for reading in result.readings] == ["n0", "n1", "n2"]
    for number, reading in enumerate(result.readings):
        texts = [line.text for line in reading.messages[0].lines]
        assert sum(f"n{number}" in text for text in texts) >= 1
        assert not any(f"n{number + 1}" in text for text in texts)
        assert sum(text.startswith("XID:") for text in texts) == 1
    assert len(shown(path, frame=3).readings) == 1


def test_frames_are_counted_over_all_files() -> None:
    with pcapnfs.open([str(V3), str(V42)]) as trace:
        second = trace.meta.files[1]
        assert second.first_frame is not None
        before = second.first_frame - 1
    alone = shown(Path(second.path), frame=99).readings[0]
    both = shown(V3, V42, frame=before + 99).readings[0]
    assert both.signature == alone.signature
    assert [told.frame for told in both.messages] == [
        told.frame + before for told in alone.messages
    ]


def test_a_frame_without_a_call_is_dissected_as_it_is() -> None:
    result = shown(V3, frame=1937)
    assert (result.calls, result.readings) == (0, ())
    assert result.packet is not None
    assert "tcp.flags" in [line.field for line in result.packet.lines]


def test_a_reply_without_a_status_is_no_missing_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pcapnfs.open(str(V3)) as trace:
        ((frame,),) = trace.sql("select min(call_frame) from calls where op = 'NULL'").fetchall()
    assert run(["show", str(V3), str(frame)]) == 0
    (line, *_) = capsys.readouterr().out.splitlines()
    assert ", answered, " in line


def test_a_frame_in_the_middle_of_a_message_belongs_to_it(tmp_path: Path) -> None:
    talk = Conversation()
    talk.call(1, T, *nfs3.write(FH, 0, bytes(8000))).reply(1, T + MS, nfs3.results.write(8000))
    path = talk.capture().write(tmp_path / "long.pcap")
    result = shown(path, frame=3)
    assert [told.frame for told in result.readings[0].messages] == [6, 7]
    lines = result.readings[0].messages[0].lines
    assert max(len(line.text) for line in lines) <= LINE_LIMIT
    assert not [line for line in lines if "fake-field" in line.text or line.field == WRAPPER]
    (reassembled,) = [line for line in lines if "Reassembled TCP Segments" in line.text]
    assert reassembled.depth == 0


def test_a_frame_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="from 1 to 2537"):
        shown(V3, frame=2538)


def test_so_many_calls_of_a_frame_are_shown(tmp_path: Path) -> None:
    talk, joined = Conversation(), Conversation(mss=60_000)
    for xid in range(CALLS_LIMIT + 3):
        talk.call(xid, T, *nfs3.access(FH))
    data = b"".join(frame.packet.payload for frame in talk.frames if frame.packet)
    path = joined.send("client", T, data).capture().write(tmp_path / "many.pcap")
    result = shown(path, frame=1)
    assert (result.calls, len(result.readings)) == (CALLS_LIMIT + 3, CALLS_LIMIT)


def test_the_command_shows_a_screen_and_writes_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(V3), "1932"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("NFSv3 CREATE on d03/f0038, 10.0.0.11 → 10.0.0.1, uid 0, NFS3_OK")
    assert "\ncall in frame 1932\n" in told.out
    assert "Procedure: CREATE (8)" in told.out
    assert told.err == ""
    assert run(["show", "1933", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["frame"] for each in document["readings"][0]["messages"]] == [1932, 1933]


def test_a_name_cannot_rewrite_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Conversation()
    talk.call(1, T, *nfs3.lookup(FH, "\x1b[2J[bold]evil\n")).reply(
        1, T + MS, nfs3.results.lookup(status=2)
    )
    path = talk.capture().write(tmp_path / "evil.pcap")
    assert run(["show", str(path), "1"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "[bold]evil" in out


@pytest.mark.parametrize("frame", [str(V3), "0", "1.5"])
def test_what_is_no_frame_number_is_wrong_usage(
    frame: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["show", str(V3), frame]) == 2
    assert f"{frame!r} is no frame number" in capsys.readouterr().err
