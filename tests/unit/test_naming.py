"""Names of captures, and of what is compressed."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from pcapnfs import _core, naming
from tests.unit.rows import ROOT

CAPTURE = ROOT / "samples" / "published-v3-tar.pcap"


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("a/slow.pcap", ("a/slow.pcap", "")),
        ("slow.pcap0", ("slow.pcap", "0")),
        ("slow.pcap12.bz2", ("slow.pcap", "12")),
        ("slow.pcapng.gz", ("slow.pcapng", "")),
        ("slow.dmp", ("slow.dmp", "")),
        ("x.trc3.lz4", ("x.trc", "3")),
        ("two\nlines.cap", ("two\nlines.cap", "")),
        ("slow.pcap.csv", None),
        ("calls.csv.gz", None),
        ("run.v3", None),
        (".pcap", None),
        ("pcap", None),
    ],
)
def test_what_names_say(name: str, named: tuple[str, str] | None) -> None:
    assert naming.capture(name) == named


def test_compressions_are_called_as_the_decoder_calls_them(tmp_path: Path) -> None:
    whole = CAPTURE.read_bytes()
    packed: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
    }
    for extension, pack in packed.items():
        file = tmp_path / f"a.pcap{extension}"
        file.write_bytes(pack(whole))
        decoder = _core.Decoder([str(file)])
        while decoder.next() is not None:
            pass
        (told,) = json.loads(decoder.finish())["files"]
        assert told["format"] == f"pcap (ns), {naming.COMPRESSIONS[extension]}"


def test_what_is_written_is_what_the_core_writes(tmp_path: Path) -> None:
    for kind in naming.COMPRESSIONS.values():
        target = tmp_path / kind
        target.touch()
        try:
            _core.annotate([str(CAPTURE)], str(target), {}, kind)
        except ValueError:
            assert kind not in naming.WRITTEN.values()
        else:
            assert kind in naming.WRITTEN.values()
