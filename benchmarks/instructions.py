"""Counts the instructions that commands take: the same on a busy machine as on a quiet one.

    python benchmarks/instructions.py            compare with benchmarks/instructions.json
    python benchmarks/instructions.py --record   write it anew

valgrind counts them. The captures are simulated, always the same. Decoding and summarizing are each
counted in one process, since to translate a program takes valgrind most of its time: it does what
is asked with a first capture, and then with each of the others in a process of its own, which
begins as a copy of it. What it had counted until then is taken away, and so is what Python and the
decoder need to start. Of `summarize`, what does not grow with the capture is, too: a small one is
summarized once more.

All run on one processor: where there are two, it is a matter of time which thread works out what
and which ones look for work meanwhile, and a busy machine once counted a sixth more.
`tests/test_instructions.py` lets no change add more than a fifth; who means it records anew, and
says why in the commit.

The same is counted of captures that lack one packet of a hundred: what is made of a gap, and of
calls without a reply, is to cost in proportion to them. The small one of `summarize` is
the same there: that of its own would tell little more.
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
from pcapnfs import _core

def work(capture):
    decoder = _core.Decoder([capture])
    while decoder.next() is not None:
        pass
    decoder.finish()
"""
"""A program that decodes a capture."""

SUMMARIZE = """
import gc, sys
from pcapnfs.__main__ import NEW_OBJECTS

gc.set_threshold(NEW_OBJECTS)
from pcapnfs.cli import app

def work(capture):
    sys.argv[1:] = ["summarize", "--json", capture]
    if status := app.main():
        raise SystemExit(status)
"""
"""The command that summarizes one, but for its end."""

IN_COPIES = """
import os, sys

first, *others = sys.argv[1:]
work(first)
for capture in ("", *others):
    if (child := os.fork()) == 0:
        if capture:
            work(capture)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"the work on {capture} failed")
"""
"""What follows either: work on a first capture, and then in copies of the process, of which the
first ends at once, on each of the others."""


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
        decoded |= {f"with loss: {what}": _with_loss(each) for what, each in decoded.items()}
        first = decoded[f"with loss: {next(iter(DECODED))}"]
        _, taken = _instructions(DECODE, first, *decoded.values())
        found = {
            what: round(number / _packets(capture))
            for (what, capture), number in zip(decoded.items(), taken, strict=True)
        }
        few, many = (_simulated((*SUMMARIZED, str(files)), folder) for files in (FEW, MANY))
        lossy = _with_loss(many)
        _run("-m", "pcapnfs", "summarize", str(few))  # Modules are compiled now, and kept.
        whole, (again, *taken) = _instructions(SUMMARIZE, few, few, many, lossy)
        found[f"summarize tar of {FEW} files, NFSv3"] = whole
        for loss, number, capture in zip(("", "with loss: "), taken, (many, lossy), strict=True):
            calls = _told(capture)["calls"] - _told(few)["calls"]
            found[f"{loss}summarize tar, NFSv3: a call"] = round((number - again) / calls)
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


def _packets(capture: Path) -> int:
    """How many packets a capture has."""
    packets: int = sum(file["packets"] for file in _told(capture)["files"])
    return packets


def _instructions(work: str, first: Path, *others: Path) -> tuple[int, list[int]]:
    """How many a program takes for a first capture, from its start, and then for each other one."""
    tool = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    said = _run("-c", work + IN_COPIES, str(first), *map(str, others), under=tool)
    counted = [int(each.replace(",", "")) for each in re.findall(r"I +refs: +([\d,]+)", said)]
    until, *copies, _ = counted
    assert len(copies) == len(others), said
    return until, [number - until for number in copies]


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
