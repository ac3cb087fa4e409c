"""Counts the instructions that decoding takes: the same on a busy machine as on a quiet one.

    python benchmarks/instructions.py            compare with benchmarks/instructions.json
    python benchmarks/instructions.py --record   write it anew

valgrind counts them; what Python needs to start is taken away by decoding once and three times.
The captures are simulated, always the same. `tests/test_instructions.py` lets no change add more
than a fifth; who means it records anew, and says why in the commit.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RECORDED = Path(__file__).with_name("instructions.json")

WORKLOADS = {
    "tar, NFSv3": ("tar", "--nfs", "3", "--files", "600", "--size", "4096"),
    "tar, NFSv4.2": ("tar", "--nfs", "4.2", "--files", "600", "--size", "4096"),
    "walk, NFSv3": ("walk", "--nfs", "3", "--files", "3000"),
}
"""What `pcapnfs synth` simulates."""

SLOWER = 1.2
"""How many times the recorded number is too many."""

DECODE = """
import sys
from pcapnfs import _core
for _ in range(int(sys.argv[1])):
    decoder = _core.Decoder([sys.argv[2]])
    while decoder.next() is not None:
        pass
    decoder.finish()
"""
"""A program that decodes a capture a number of times."""


def valgrind() -> str | None:
    """Where valgrind is; None without it."""
    return shutil.which("valgrind")


def measure() -> dict[str, int]:
    """Instructions for a packet of each workload."""
    with tempfile.TemporaryDirectory(prefix="pcapnfs-instructions-") as folder:
        return {
            name: _of_capture(_simulated(options, Path(folder, f"{place}.pcap")))
            for place, (name, options) in enumerate(WORKLOADS.items())
        }


def _simulated(options: tuple[str, ...], capture: Path) -> Path:
    synth = [sys.executable, "-m", "pcapnfs", "synth", *options, "--seed", "1"]
    subprocess.run([*synth, "-o", str(capture)], check=True, capture_output=True)
    return capture


def _of_capture(capture: Path) -> int:
    once, thrice = (_instructions(times, capture) for times in (1, 3))
    return round((thrice - once) / 2 / _packets(capture))


def _instructions(times: int, capture: Path) -> int:
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    program = [sys.executable, "-c", DECODE, str(times), str(capture)]
    done = subprocess.run([*tool, *program], check=True, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    assert collected is not None, done.stderr
    return int(collected[1])


def _packets(capture: Path) -> int:
    from pcapnfs import _core

    decoder = _core.Decoder([str(capture)])
    while decoder.next() is not None:
        pass
    return sum(file["packets"] for file in json.loads(decoder.finish())["files"])


def main() -> int:
    """Compare or record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the recorded numbers anew")
    if valgrind() is None:
        print("valgrind is not installed (Debian: apt install valgrind)", file=sys.stderr)
        return 1
    record = parser.parse_args().record
    found = measure()
    if record:
        RECORDED.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", "utf-8")
    recorded = json.loads(RECORDED.read_text("utf-8"))
    for name, number in found.items():
        print(f"{name}: {number} instructions a packet, {number / recorded[name]:.3f} of recorded")
    return int(any(number > SLOWER * recorded[name] for name, number in found.items()))


if __name__ == "__main__":
    sys.exit(main())
