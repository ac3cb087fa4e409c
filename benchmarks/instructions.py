"""Counts the instructions that commands take: the same on a busy machine as on a quiet one.

    python benchmarks/instructions.py            compare with benchmarks/instructions.json
    python benchmarks/instructions.py --record   write it anew

valgrind counts them. The captures are simulated, always the same. Of decoding, what Python and the
decoder need to start is taken away: another capture is decoded before each, and once alone. Of
`summarize`, what does not grow with the capture is, by summarizing a small and a larger one. All
run on one processor: where there are two, it is a matter of time which thread works out what and
which ones look for work meanwhile, and a busy machine once counted a sixth more.
`tests/test_instructions.py` lets no change add more than a fifth; who means it records anew, and
says why in the commit.

The same is counted of captures that lack one packet of a hundred: what is made of a gap, and of
calls without a reply, is to cost in proportion to them. The small one of `summarize` is
the same there: that of its own would take a sixth of all this counting, and tell little more.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("instructions.json")

DECODED = {
    "decode tar, NFSv3: a packet": ("tar", "--nfs", "3", "--files", "600", "--size", "4096"),
    "decode tar, NFSv4.2: a packet": ("tar", "--nfs", "4.2", "--files", "600", "--size", "4096"),
    "decode walk, NFSv3: a packet": ("walk", "--nfs", "3", "--files", "3000"),
}
"""What `pcapnfs synth` simulates for decoding."""

SUMMARIZED = ("tar", "--nfs", "3", "--size", "4096", "--files")
"""What it simulates for `summarize`, of so many files."""

FEW, MANY = 600, 3000
"""Files of the small capture and of the larger one."""

SLOWER = 1.2
"""How many times the recorded number is too many."""

LOST = 100
"""One packet of so many is left out of a capture with loss."""

PCAP_HEADER = 24
"""Bytes at the start of a pcap file."""

DECODE = """
import sys
from pcapnfs import _core
for capture in sys.argv[1:]:
    decoder = _core.Decoder([capture])
    while decoder.next() is not None:
        pass
    decoder.finish()
"""
"""A program that decodes captures, each by itself."""


def valgrind() -> str | None:
    """Where valgrind is; None without it."""
    return shutil.which("valgrind")


def measure() -> dict[str, int]:
    """Instructions of each, by what is counted."""
    with tempfile.TemporaryDirectory(prefix="pcapnfs-instructions-") as name:
        folder = Path(name)
        # Else it is counted, a third of a short command, where Python may not write beside modules.
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        decoded = {what: _simulated(options, folder) for what, options in DECODED.items()}
        first = _with_loss(next(iter(decoded.values())))
        begun = _instructions("-c", DECODE, str(first))
        found = {what: _decoding(first, begun, capture) for what, capture in decoded.items()}
        few, many = (_simulated((*SUMMARIZED, str(files)), folder) for files in (FEW, MANY))
        summarize = ("-m", "pcapnfs", "summarize", "--json")
        _run(*summarize, str(few))  # Modules are compiled now, and kept.
        of_few = _instructions(*summarize, str(few))
        found["summarize tar, NFSv3: a call"] = _of_a_call(summarize, few, of_few, many)
        found[f"summarize tar of {FEW} files, NFSv3"] = of_few
        for what, capture in decoded.items():
            found[f"with loss: {what}"] = _decoding(first, begun, _with_loss(capture))
        found["with loss: summarize tar, NFSv3: a call"] = _of_a_call(
            summarize, few, of_few, _with_loss(many)
        )
        return found


def _simulated(options: tuple[str, ...], folder: Path) -> Path:
    capture = folder / f"{'-'.join(options)}.pcap"
    _run("-m", "pcapnfs", "synth", *options, "--seed", "1", "-o", str(capture))
    return capture


def _with_loss(capture: Path) -> Path:
    """The same capture without some of its packets, the same ones each time."""
    whole = capture.read_bytes()
    record = struct.Struct("=8xI4x")
    at, number = PCAP_HEADER, 0
    kept = [whole[:at]]
    while at < len(whole):
        (length,) = record.unpack_from(whole, at)
        end = at + record.size + length
        number += 1
        if number % LOST:
            kept.append(whole[at:end])
        at = end
    lossy = capture.with_name(f"lossy-{capture.name}")
    lossy.write_bytes(b"".join(kept))
    return lossy


def _of_a_call(command: tuple[str, ...], few: Path, of_few: int, many: Path) -> int:
    """What each call more takes in the larger of two captures."""
    calls: int = _told(many)["calls"] - _told(few)["calls"]
    return round((_instructions(*command, str(many)) - of_few) / calls)


def _decoding(first: Path, begun: int, capture: Path) -> int:
    """What each packet of a capture takes that is decoded after another one, which took `begun`."""
    taken = _instructions("-c", DECODE, str(first), str(capture)) - begun
    packets: int = sum(file["packets"] for file in _told(capture)["files"])
    return round(taken / packets)


def _instructions(*program: str) -> int:
    """How many a Python program takes."""
    tool = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    counted = re.search(r"I +refs: +([\d,]+)", _run(*program, under=tool))
    assert counted is not None
    return int(counted[1].replace(",", ""))


def _run(*program: str, under: tuple[str, ...] = ()) -> str:
    """Run a Python program; what it says on standard error."""
    command = [*under, sys.executable, *program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr


def _told(capture: Path) -> dict[str, Any]:
    """What the decoder says of a capture."""
    from pcapnfs import _core

    decoder = _core.Decoder([str(capture)])
    while decoder.next() is not None:
        pass
    told: dict[str, Any] = json.loads(decoder.finish())
    return told


def main() -> int:
    """Compare or record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the recorded numbers anew")
    record = parser.parse_args().record
    if valgrind() is None:
        print("valgrind is not installed (Debian: apt install valgrind)", file=sys.stderr)
        return 1
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found = measure()
    if record:
        RECORDED.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", "utf-8")
    recorded = json.loads(RECORDED.read_text("utf-8"))
    for what, number in found.items():
        print(f"{what}: {number} instructions, {number / recorded[what]:.3f} of recorded")
    return int(any(number > SLOWER * recorded[what] for what, number in found.items()))


if __name__ == "__main__":
    sys.exit(main())
