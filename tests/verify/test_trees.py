"""tshark as it is run for trees: it ends with whoever wanted its packets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from pcapnfs.errors import CaptureError
from pcapnfs.verify.messages import messages
from pcapnfs.verify.trees import packets
from tests.oracles.tshark import require_tshark
from tests.unit.rows import ROOT

PACKET = "<packet><proto name='geninfo'><field name='num' show='{}'/></proto></packet>"

ENDLESS = f"""\
#!{sys.executable}
import itertools, os, pathlib
pathlib.Path(os.environ["FAKE_PID"]).write_text(str(os.getpid()))
try:
    for number in itertools.count(1):
        print({PACKET!r}.format(number), flush=True)
except BrokenPipeError:
    os._exit(0)
"""

READER = """\
import os
import signal
import time
from pathlib import Path
from pcapnfs.cli import app
from pcapnfs.verify.trees import packets

def read():
    for packet in packets(Path(os.__file__), "rpc", ()):
        if packet.frame == 1:
            print("begun", flush=True)
        {pause}

# Whoever started the tests in the background may have had them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
app._hear()
try:
    read()
except KeyboardInterrupt:
    raise SystemExit(130)
"""


def faked(directory: Path, program: str) -> str:
    """A path for programs with a tshark of this text before all others."""
    fake = directory / "tshark"
    fake.write_text(program)
    fake.chmod(0o755)
    return f"{directory}{os.pathsep}{os.environ['PATH']}"


def ended(number: int) -> bool:
    """Whether a process is gone, at the latest after a while."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("pause", ["time.sleep(60)", "pass"], ids=["away", "reading"])
@pytest.mark.parametrize("together", [True, False], ids=["terminal", "alone"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_at_once(
    number: int, status: int, together: bool, pause: str, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    environment = {**os.environ, "PATH": faked(tmp_path, ENDLESS), "FAKE_PID": str(told)}
    with subprocess.Popen(
        [sys.executable, "-c", READER.format(pause=pause)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as reader:
        try:
            assert reader.stdout is not None
            assert reader.stdout.readline() == b"begun\n"
            time.sleep(0.1)  # tshark has filled the pipe, and waits.
            (os.killpg if together else os.kill)(reader.pid, number)
            _, errors = reader.communicate(timeout=20)
        finally:
            reader.kill()
    assert reader.returncode == status
    assert errors == b""
    assert ended(int(told.read_text()))


def test_what_it_said_last_is_why_it_gave_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = """\
        #!/bin/sh
        echo "first" >&2
        echo "no such field" >&2
        exit 4
        """
    monkeypatch.setenv("PATH", faked(tmp_path, textwrap.dedent(program)))
    with pytest.raises(CaptureError, match="gave up: no such field"):
        list(packets(Path(os.__file__), "rpc", ()))


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("<packet><proto name='frame'></packet>", "wrote what cannot be read: mismatched tag"),
        ("</packet>", "wrote what cannot be read"),
        ("<packet><proto name='frame'/></packet>", "wrote a packet without its number"),
    ],
)
def test_what_cannot_be_read_of_its_packets_is_told(
    written: str, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = PACKET.format(1)
    monkeypatch.setenv("PATH", faked(tmp_path, f'#!/bin/sh\necho "{whole}{written}"\n'))
    found = packets(Path(os.__file__), "rpc", ())
    assert next(found).frame == 1
    with pytest.raises(CaptureError, match=why):
        next(found)


def test_packets_are_cut_apart_wherever_the_output_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = f"""\
        #!{sys.executable}
        import sys, time
        text = "<?xml version='1.0'?>\\n<!-- packets -->\\n<pdml>\\n"
        text += "\\n".join({PACKET!r}.format(number) for number in range(1, 4)) + "\\n</pdml>\\n"
        for place in range(0, len(text), 7):
            sys.stdout.write(text[place:place + 7])
            sys.stdout.flush()
            time.sleep(0.001)
        """
    monkeypatch.setenv("PATH", faked(tmp_path, textwrap.dedent(program)))
    assert [each.frame for each in packets(Path(os.__file__), "rpc", ())] == [1, 2, 3]


@pytest.mark.parametrize("frames", [(), (4,), (4, 6)])
def test_a_frame_that_it_reads_in_two_ways_is_told(
    frames: tuple[int, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Several messages by its fields, of which its trees know nothing."""
    program = f"""\
        #!{sys.executable}
        import sys
        if "pdml" in sys.argv:
            for number in {frames}:
                print({PACKET!r}.format(number))
        else:
            values = {{"frame.number": "5", "rpc.msgtyp": "0,0", "rpc.xid": "1,2"}}
            fields = [after for name, after in zip(sys.argv, sys.argv[1:]) if name == "-e"]
            print("\\t".join(values.get(field, "") for field in fields))
        """
    monkeypatch.setenv("PATH", faked(tmp_path, textwrap.dedent(program)))
    with pytest.raises(CaptureError, match="reads frame 5 in two ways"):
        list(messages(Path(os.__file__), ()))


def test_the_users_settings_of_wireshark_change_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever switched reassembly off would get other packets with RPC in them."""
    require_tshark()
    capture, only = ROOT / "samples" / "k61-walk-v3.pcap", "rpc"
    before = [packet.frame for packet in packets(capture, only, (), last_frame=200)]
    preferences = "tcp.desegment_tcp_streams: FALSE\nrpc.desegment_rpc_over_tcp: FALSE\n"
    (tmp_path / "preferences").write_text(preferences)
    monkeypatch.setenv("WIRESHARK_CONFIG_DIR", str(tmp_path))
    assert [packet.frame for packet in packets(capture, only, (), last_frame=200)] == before
