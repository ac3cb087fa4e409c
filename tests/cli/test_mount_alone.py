"""A mount that is refused or hangs: no call of NFS, and yet there is something to say."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from pcapnfs.cli.app import run
from pcapnfs.synth.builder import Conversation, Packer, mount3
from pcapnfs.synth.builder.rpc import Request
from tests.decoded import MS, S, T

pytest.importorskip("pcapnfs._core")

Printed = pytest.CaptureFixture[str]

_ACCES = 13
_PORTMAPPER, _MOUNT, _NLM = 100000, 100005, 100021


def _mount(path: Path, *, refused: bool) -> str:
    talk = Conversation(client_port=801, server_port=20048).open(T)
    talk.call(1, T + MS, *mount3.mnt("/export"))
    if refused:
        talk.reply(1, T + 2 * MS, mount3.mnt_reply(status=_ACCES))
    else:
        talk.ack("server", T + 2 * MS)
        talk.keepalive("client", T + 60 * S)
    return str(talk.capture().write(path / "mount.pcap"))


def _asked_for(path: Path, program: int) -> str:
    """GETPORT, which nobody answers."""
    asked = Request(_PORTMAPPER, 2, 3, Packer().uints(program, 3, 6, 0).done())
    talk = Conversation(client_port=802, server_port=111, transport="udp")
    for second in range(3):
        talk.call(1, T + second * 5 * S, *asked)
    return str(talk.capture().write(path / "getport.pcap"))


@pytest.mark.parametrize(
    ("refused", "title"),
    [(True, "The server refuses the mount"), (False, "The server does not answer")],
)
def test_what_came_of_a_mount_is_told(
    refused: bool, title: str, tmp_path: Path, capsys: Printed
) -> None:
    capture = _mount(tmp_path, refused=refused)
    for command in ("summarize", "findings"):
        assert run([command, capture]) == 0
        assert title in capsys.readouterr().out
    page = tmp_path / "report.html"
    assert run(["report", capture, "-o", str(page)]) == 0
    assert title in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "command",
    [("budget",), ("network",), ("sql", "select op from calls")],
)
@pytest.mark.parametrize("refused", [True, False])
def test_other_commands_have_an_answer(
    command: tuple[str, ...], refused: bool, tmp_path: Path, capsys: Printed
) -> None:
    capture = _mount(tmp_path, refused=refused)
    name, *options = command
    assert run([name, capture, *options]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        ("cache",),
        ("patterns",),
        ("perfile",),
        ("readdir",),
        ("sizes",),
        ("estimate",),
        ("sequence", "--name", "*"),
    ],
)
def test_what_is_asked_of_files_has_none(
    command: tuple[str, ...], tmp_path: Path, capsys: Printed
) -> None:
    name, *options = command
    assert run([name, _mount(tmp_path, refused=True), *options]) == 1
    told = capsys.readouterr().err
    assert "only a mount, in calls of mount3: pcapnfs findings says what came of it" in told
    assert "--port" not in told


def test_a_portmapper_that_does_not_answer_keeps_a_mount_waiting(
    tmp_path: Path, capsys: Printed
) -> None:
    assert run(["summarize", _asked_for(tmp_path, _MOUNT)]) == 0
    assert "portmap2" in capsys.readouterr().out


def test_one_that_is_asked_for_another_service_has_nothing_of_a_mount(
    tmp_path: Path, capsys: Printed
) -> None:
    assert run(["summarize", _asked_for(tmp_path, _NLM)]) == 1
    assert "no NFS call in it (packets: 3 UDP; calls: 1 portmap2)" in capsys.readouterr().err


def test_connections_that_came_to_nothing_beside_a_mount_are_told(
    tmp_path: Path, capsys: Printed
) -> None:
    """MOUNT answers, and a firewall keeps NFS itself away."""
    mount = _mount(tmp_path, refused=True)
    opened = Conversation(client_port=803, server_port=2049).open(T + 3 * S)
    capture = opened.capture().write(tmp_path / "nowhere.pcap")
    whole = capture.read_bytes()
    (length,) = struct.unpack_from("<I", whole, 24 + 8)
    capture.write_bytes(whole[: 24 + 16 + length])  # the SYN
    assert run(["summarize", mount, str(capture)]) == 0
    said = capsys.readouterr().err
    assert "1 connection to NFS or its portmapper got no answer (" in said
    assert "port 2049): see whether" in said
