"""Asks tshark about a capture: the second opinion that the builder is held against."""

import shutil
import subprocess
from pathlib import Path

import pytest

from pcapnfs.synth.builder import Capture

PORTS = ("-d", "tcp.port==2049,rpc", "-d", "udp.port==2049,rpc")


def require_tshark() -> str:
    """The path of tshark; skips the test where there is none."""
    found = shutil.which("tshark")
    if found is None:
        pytest.skip("tshark is not installed: no second opinion on what the builder made")
    return found


def fields(path: Path, names: list[str], display_filter: str = "") -> list[list[str]]:
    """A row per frame that passes the filter, a text per field; several values joined by commas."""
    command = [require_tshark(), "-n", "-r", str(path), *PORTS, "-T", "fields"]
    command += ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    command += ["-o", "udp.check_checksum:TRUE"]
    command += ["-o", "tcp.reassemble_out_of_order:TRUE"]
    for name in names:
        command += ["-e", name]
    if display_filter:
        command += ["-Y", display_filter]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


_CHECKED = ("ip.checksum.status", "tcp.checksum.status", "udp.checksum.status")
"""Whether checksums are right: 0 is wrong."""

_WRONG = " || ".join(("_ws.malformed", "(rpc && data)", *(f"{each} == 0" for each in _CHECKED)))
"""Malformed, a byte left over after a message, a wrong checksum."""


def assert_clean(path: Path) -> None:
    """Nothing malformed, no byte left over after a message, no wrong checksum."""
    assert fields(path, ["frame.number", "frame.protocols", "_ws.expert.message"], _WRONG) == []


def of_clean(path: Path, names: list[str], display_filter: str) -> list[list[str]]:
    """What `fields` gives of a capture that is clean, from one run: most of one goes into starting.

    Fails where it is not.
    """
    beside = ["frame.number", "_ws.malformed", "rpc", "data", *_CHECKED]
    rows = fields(path, [*names, *beside], f"({display_filter}) || {_WRONG}")
    for row in rows:
        frame, malformed, message, left_over, *checked = row[len(names) :]
        assert not malformed, frame
        assert not (message and left_over), frame
        assert "0" not in ",".join(checked).split(","), frame
    return [row[: len(names)] for row in rows]


def written(capture: Capture, folder: Path, name: str = "built.pcap") -> Path:
    """The capture as a file in this folder."""
    return capture.write(folder / name)
