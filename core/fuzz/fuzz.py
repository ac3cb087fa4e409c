#!/usr/bin/env python3
"""Builds the fuzz targets on stable Rust and runs them: `make fuzz`.

    python3 core/fuzz/fuzz.py                      each target for a minute
    python3 core/fuzz/fuzz.py --runs 10000000 record message
    python3 core/fuzz/fuzz.py --seeds DIR …        more captures to cut seeds from

Our own crates count the coverage that libFuzzer steers by (instrument.py); all others are as the
tests of the crates have them, and in the same folder. cargo fuzz (`cargo +nightly fuzz run record`)
works as well. An input that makes a target fail is left in `artifacts/`; it becomes a test, and
then a seed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGETS = ("capture", "packet", "stream", "record", "message", "decode")

LONGEST = {"capture": 65536, "decode": 65536}
"""Bytes of an input at most; 4096 for the others."""


QUICK = ("--config", "profile.dev.package.pcapnfs-core.opt-level=0")
"""Compiles in two thirds of the time what runs half as many inputs in a second."""


def build(target_folder: Path, *, quick: bool) -> tuple[Path, Path]:
    """Builds targets and seed cutter; gives the folder of the former and the path of the latter."""
    how = QUICK if quick else ()
    subprocess.run(
        ["cargo", "build", "--locked", "--bins", "--target-dir", str(target_folder), *how],
        cwd=HERE,
        check=True,
        env=dict(os.environ, RUSTC_WRAPPER=str(HERE / "instrument.py")),
    )
    binaries = target_folder / "debug"
    return binaries, binaries / "seeds"


def run(binary: Path, seeds: Path, words: list[str]) -> tuple[int, str]:
    """Runs one target: its exit status, and what it said last of executions and memory."""
    name = binary.name
    for folder in (HERE / "corpus" / name, HERE / "artifacts" / name):
        folder.mkdir(parents=True, exist_ok=True)
    (seeds / name).mkdir(parents=True, exist_ok=True)
    command = [
        str(binary),
        str(HERE / "corpus" / name),
        str(seeds / name),
        f"-artifact_prefix={HERE / 'artifacts' / name}/",
        f"-max_len={LONGEST.get(name, 4096)}",
        "-rss_limit_mb=0",  # The target's own limit is tighter, and counts the decoder alone.
        "-print_final_stats=1",
        "-verbosity=0",
        *words,
    ]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
    lines = done.stderr.splitlines()
    # A panic says where in one line, and why in the next.
    said = [
        line
        for before, line in zip(["", *lines], lines, strict=False)
        if "stat::" in line or "panicked" in line or "panicked" in before
    ]
    return done.returncode, "\n".join(said or lines[-20:])


def main() -> int:
    """Build, cut seeds, run each target; 1 when one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", default=TARGETS, help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--runs", type=int, help="executions of each target, instead of a time")
    parser.add_argument("--seed", type=int, help="the same inputs in the same order each time")
    parser.add_argument("--quick", action="store_true", help="compile faster, run fewer inputs")
    seeded = [ROOT / "samples", ROOT / "tests" / "rdma"]
    parser.add_argument("--seeds", type=Path, action="append", default=seeded)
    chosen = parser.parse_args()
    if unknown := set(chosen.targets) - set(TARGETS):
        parser.error(f"no target {', '.join(sorted(unknown))}: there are {', '.join(TARGETS)}")
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    binaries, cutter = build(folder, quick=chosen.quick)
    captures = sorted(
        path for root in chosen.seeds for path in root.rglob("*") if ".pcap" in path.name
    )
    seeds = folder / "fuzz-seeds"
    subprocess.run([str(cutter), str(seeds), *map(str, captures)], check=True)
    how = [f"-runs={chosen.runs}"] if chosen.runs else [f"-max_total_time={chosen.seconds}"]
    if chosen.seed is not None:
        how.append(f"-seed={chosen.seed}")
    worst = 0
    for name in chosen.targets:
        status, said = run(binaries / name, seeds, how)
        sys.stdout.write(f"{name}: {'done' if status == 0 else 'FAILED'}\n{said}\n")
        sys.stdout.flush()
        worst = max(worst, status)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
