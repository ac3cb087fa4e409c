"""Samples of published situations, scaled down, each made by one `pcapnfs synth` command.

Gives the list of them, what the command makes of each, and what its truth says in short. Promises
the same packets every time: everything random has a fixed seed.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcapnfs.cli.app import run

FOLDER = "made"
"""Where they lie below `samples/`."""

TRUTH = f"{FOLDER}/truth.json"
"""What is in them, from the simulation's own books."""

NS = 1_000_000_000
"""Nanoseconds in a second."""


@dataclass(frozen=True, slots=True)
class Made:
    """A sample."""

    name: str
    """Of the capture, without suffix."""
    arguments: str
    """Of `pcapnfs synth`."""
    measured: str
    """What was published of the situation that it stands for."""
    against: str | None = None
    """Name of the sample that it is to be compared with."""
    published: float | None = None
    """How many times longer it took than that, as published; None: not told."""

    @property
    def file(self) -> str:
        """Path of the capture below `samples/`."""
        return f"{FOLDER}/{self.name}.pcap.gz"

    @property
    def command(self) -> str:
        """As a user would give it."""
        return f"pcapnfs synth {self.arguments} -o {self.name}.pcap.gz"


_SIZES = "150,300,150,600,1200,150,2500,150,600,300,1200,150,600,5000,150,1200"
"""As often as the histogram of a node_modules directory has them, in sixteenths."""

_NPM = f"npm --files 64 --directories 8 --rtt 280us --think 100us --threads 4 --size {_SIZES}"
_WALK = "walk --files 400 --directories 20 --rtt 200us"
_FILES = "lifecycle --files 40 --directories 1 --size 64K --rtt 100us --persist 500us"
_TAR = "tar --files 100 --directories 4"
_ZERO = "--acregmin 0 --acregmax 0 --acdirmin 0 --acdirmax 0"

SAMPLES = (
    Made("tar-disks-v3", f"{_TAR} --persist 1.85ms", "12.62 ms a file: 290,000 files, 61 min"),
    Made("tar-log-v3", f"{_TAR} --persist 100us", "with a log device: no figure", "tar-disks-v3"),
    Made("npm-sync-v3", f"{_NPM} --persist 57ms", "export sync: 29 min 12 s", "npm-async-v3", 56.6),
    Made("npm-async-v3", f"{_NPM} --persist 0", "export async: 31 s"),
    Made("walk-plain-v3", f"{_WALK} --rounds 1 --listing readdir", "one thread: 24 s"),
    Made(
        "walk-threads-v3", f"{_WALK} --rounds 1 --listing readdir --threads 8",
        "eight threads: 19 s", "walk-plain-v3", 0.79,
    ),
    Made(
        "walk-plus-v3", f"{_WALK} --rounds 1", "READDIRPLUS: “the speed advantage is huge”",
        "walk-plain-v3",
    ),
    Made("walk-again-v3", f"{_WALK} --rounds 2 --pause 5s", "again: a GETATTR for each file"),
    Made(
        "cachedread-v42",
        "cachedread --nfs 4.2 --files 1 --directories 1 --size 512K --rsize 64K --touched 3",
        "38.4 s cold, 0.58 s cached, 39 s after a touch on the server",
    ),
    Made("files-default-v3", _FILES, "created in 159 s, listed in 1.7 s, removed in 12.8 s"),
    Made(
        "files-4k-v3", f"{_FILES} --rsize 4K --wsize 4K", "rsize and wsize 4096: 169 s",
        "files-default-v3", 1.06,
    ),
    Made(
        "files-sync-v3", f"{_FILES} --sync", "sync: created in 1396 s",
        "files-default-v3", 8.02,
    ),
    Made(
        "files-noac-v3", f"{_FILES} --sync {_ZERO}", "noac: 1532 s, 13.4 s, 21.4 s",
        "files-default-v3", 8.9,
    ),
    Made("files-actimeo0-v3", f"{_FILES} {_ZERO}", "no figure for 0", "files-default-v3"),
    Made(
        "files-acdirmin0-v3", f"{_FILES} --acdirmin 0 --acdirmax 0",
        "acdirmin=0: 151 s, 17.6 s, 29.3 s", "files-default-v3", 1.14,
    ),
)  # fmt: skip
"""All of them, in the order of README.md."""


def make() -> dict[str, bytes]:
    """Give the captures, packed, and their truth, by path below `samples/`."""
    found: dict[str, bytes] = {}
    truths = {}
    for sample in SAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            capture = Path(folder, "made.pcap")
            with contextlib.redirect_stdout(io.StringIO()):
                status = run(["synth", *sample.arguments.split(), "-o", str(capture)])
            if status:
                raise ValueError(f"pcapnfs synth {sample.arguments}: exit status {status}")
            found[sample.file] = gzip.compress(capture.read_bytes(), 9, mtime=0)
            truths[sample.name] = _short(json.loads(Path(folder, "made.json").read_bytes()))
    found[TRUTH] = (json.dumps(truths, indent=1) + "\n").encode("ascii")
    return found


def _short(truth: Mapping[str, Any]) -> dict[str, Any]:
    calls = truth["calls"]
    took = max(call["reply_ns"] for call in calls) - min(call["call_ns"] for call in calls)
    return {"calls": len(calls), "took_ns": took, "operations": truth["operations"]}


def table(truths: Mapping[str, Any]) -> list[str]:
    """Give the lines of a table that holds the samples against what was published."""
    return [
        "| sample | published | here | times as long, published | here |",
        "| --- | --- | --- | --- | --- |",
        *(_row(sample, truths) for sample in SAMPLES),
    ]


def _row(sample: Made, truths: Mapping[str, Any]) -> str:
    took = truths[sample.name]["took_ns"]
    here = f"{truths[sample.name]['calls']} calls, {took / NS:.3g} s"
    ratios = ["", ""]
    if sample.against is not None:
        ratios[0] = f"{sample.published:g}" if sample.published is not None else "not told"
        ratios[1] = f"{took / truths[sample.against]['took_ns']:.3g} × {sample.against}"
    return f"| {sample.name} | {sample.measured} | {here} | {ratios[0]} | {ratios[1]} |"


def said(name: str) -> Sequence[str]:
    """Give the command that makes a sample, as a block."""
    sample = next(each for each in SAMPLES if each.name == name)
    return ["```", f"$ {sample.command}", "```"]
