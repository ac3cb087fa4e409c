"""What tshark is given to read, where it would read other packets than the decoder."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.errors import CaptureError
from pcapnfs.verify import ours
from pcapnfs.verify.source import one_file
from pcapnfs.verify.verification import Verification, verify
from tests.oracles.tshark import require_tshark
from tests.unit.rows import ROOT

CAPTURE = ROOT / "samples" / "k61-tar-v3.pcap"


def _by(*command: str) -> Callable[[bytes], bytes]:
    """Compression by a program, if it is installed."""

    def pack(data: bytes) -> bytes:
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed")
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout

    return pack


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lzma.compress,
    "zst": _by("zstd", "-q", "-c"),
    "lz4": _by("lz4", "-q", "-c"),
}


def _flipped(packed: bytes) -> bytes:
    place = len(packed) * 2 // 3
    return packed[:place] + bytes([packed[place] ^ 0x40]) + packed[place + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda packed: packed[: len(packed) * 2 // 3],
    "flipped": _flipped,
    "followed": lambda packed: packed + b"\nThis was appended.\n",
}


def _verified(path: Path) -> Verification:
    with pcapnfs.open(path, columns=ours.READS) as trace:
        return verify(trace, [str(path)])


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("packer", PACKERS)
def test_of_a_damaged_compressed_capture_both_read_the_same(
    packer: str, damage: str, tmp_path: Path
) -> None:
    require_tshark()
    path = tmp_path / f"a.pcap.{packer}"
    path.write_bytes(DAMAGE[damage](PACKERS[packer](CAPTURE.read_bytes())))
    result = _verified(path)
    assert [each for each in result.differences if each.reason is None] == []
    assert result.tshark_calls == result.calls > 100
    assert result.stopped is None


def test_what_mergecap_says_is_why_files_are_not_merged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, text in {
        "tshark": "exit 0",
        "mergecap": "echo one >&2; echo 'mergecap: out of luck' >&2; exit 2",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    paths = [str(CAPTURE), str(CAPTURE.with_name("k61-walk-v3.pcap"))]
    with (
        pytest.raises(CaptureError, match="could not merge the files: mergecap: out of luck"),
        one_file(paths, ()),
    ):
        pytest.fail("nothing was merged")


@pytest.mark.parametrize("packer", ["bz2", "xz"])
def test_what_cannot_be_unpacked_again_is_told(packer: str, tmp_path: Path) -> None:
    """As where it was changed since it was decoded."""
    path = tmp_path / "a"
    path.write_bytes(_flipped(PACKERS[packer](CAPTURE.read_bytes())))
    with pytest.raises(CaptureError, match=f"^{path}: "), one_file([str(path)], ()):
        pytest.fail("it was unpacked")
