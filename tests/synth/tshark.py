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


def assert_clean(path: Path) -> None:
    """Nothing malformed, no byte left over after a message, no wrong checksum."""
    wrong = "_ws.malformed || (rpc && data) || ip.checksum.status == 0 || tcp.checksum.status == 0"
    wrong += " || udp.checksum.status == 0"
    rows = fields(path, ["frame.number", "frame.protocols", "_ws.expert.message"], wrong)
    assert rows == []


def written(capture: Capture, folder: Path, name: str = "built.pcap") -> Path:
    """The capture as a file in this folder."""
    return capture.write(folder / name)
