#!/usr/bin/env python3
"""Damages captures with fixed seeds, and counts which of the pairs still visible are found.

    python benchmarks/robustness.py                    captures of the corpus, or of samples/
    python benchmarks/robustness.py some.pcap other/   these
    python benchmarks/robustness.py --write            and puts the table into docs/robustness.md

Takes classic pcap files of at least 500 pairs of NFS (`--calls`); gives a line for each damage and
version. What is *visible* is judged from the undamaged decode and from the packets alone, as
tests/damage.py says; *invented* are pairs that no message of the undamaged file explains. tshark,
where it is installed, reads the same damaged files (those of the first seed); its pairs are
counted, not compared. Exit status 1 when a pair was invented or fewer than 99 % were found.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import damage  # noqa: E402
from tests.oracles.corpus import corpus_path  # noqa: E402

PAGE = ROOT / "docs" / "robustness.md"

LEAST_SHARE = 0.99
"""Of the visible pairs that are to be found."""

_BLOCK = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Harm:
    """A kind of damage."""

    name: str
    damage: Callable[[int], damage.Damage]
    """By seed."""
    seeds: int = 3
    slack: int = 0
    """Frames by which a message may begin elsewhere."""


HARMS = (
    Harm("nothing", lambda _: lambda file: file, seeds=1),
    Harm("0.1 % of the packets lost", lambda seed: damage.lose(0.001, seed)),
    Harm("1 % lost", lambda seed: damage.lose(0.01, seed)),
    Harm("5 % lost", lambda seed: damage.lose(0.05, seed)),
    Harm("the first third cut off", lambda _: damage.cut_first_third, seeds=1),
    Harm("snaplen 256", lambda _: damage.snap(256), seeds=1),
    Harm("snaplen 128", lambda _: damage.snap(128), seeds=1),
    Harm("snaplen 96", lambda _: damage.snap(96), seeds=1),
    Harm("20 % of neighbours swapped", lambda seed: damage.swap(0.2, seed), slack=1),
    Harm("blocks of 20 shuffled", lambda seed: damage.shuffle(20, seed), slack=20),
    Harm("30 % captured twice", lambda seed: damage.duplicate(0.3, seed)),
)


@dataclass(slots=True)
class Count:
    """Sums over captures."""

    captures: int = 0
    visible: int = 0
    found: int = 0
    invented: int = 0
    beside_tshark: int = 0
    """Visible pairs of the files that tshark read too."""
    tshark: int = 0


@dataclass(slots=True)
class Counts:
    """One kind of damage, by version of NFS."""

    by_version: dict[str, Count] = field(default_factory=lambda: {"v3": Count(), "v4": Count()})


def captures(given: Sequence[Path]) -> Iterator[Path]:
    """Files, and those in folders."""
    roots = list(given)
    if not roots:
        corpus = corpus_path()
        roots = [ROOT / "samples"] if corpus is None else [corpus / "lab", corpus / "public"]
    for root in roots:
        yield from sorted(p for p in root.rglob("*") if p.is_file()) if root.is_dir() else [root]


def tshark_pairs(path: Path) -> int:
    """Replies of NFS for which tshark knows the call."""
    command = ["tshark", "-n", "-r", str(path), "-d", "tcp.port==2049,rpc"]
    command += ["-Y", "rpc.program == 100003 && rpc.msgtyp == 1", "-T", "fields", "-e", "rpc.time"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return sum(len(line.split(",")) for line in done.stdout.splitlines() if line)


def measure(paths: Iterator[Path], calls: int, with_tshark: bool) -> dict[str, Counts]:
    """Damage each capture in every way."""
    table = {harm.name: Counts() for harm in HARMS}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "damaged.pcap"
        for path, original in damage.usable(list(paths), calls):
            version = "v3" if original.pairs[-1].version < 4 else "v4"
            for harm in HARMS:
                count = table[harm.name].by_version[version]
                count.captures += 1
                for seed in range(1, harm.seeds + 1):
                    outcome = damage.outcome(original, harm.damage(seed), scratch, harm.slack)
                    count.visible += outcome.visible
                    count.found += outcome.found
                    count.invented += len(outcome.invented)
                    if with_tshark and seed == 1:
                        count.beside_tshark += outcome.visible
                        count.tshark += tshark_pairs(scratch)
            print(f"{path.name}: {len(original.pairs)} pairs", file=sys.stderr, flush=True)
    return table


def show(table: dict[str, Counts]) -> str:
    """The table as Markdown."""
    lines = [
        "| damage | version | captures | visible | found | missed | invented | tshark finds |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, counts in table.items():
        for version, c in counts.by_version.items():
            if c.captures:
                tshark = share(c.tshark, c.beside_tshark) if c.beside_tshark else "-"
                lines.append(
                    f"| {name} | {version} | {c.captures} | {c.visible:,} "
                    f"| {share(c.found, c.visible)} | {c.visible - c.found:,} | {c.invented:,} "
                    f"| {tshark} |"
                )
    return "\n".join(lines) + "\n"


def share(part: int, whole: int) -> str:
    """Per cent, never rounded to all."""
    if not whole:
        return "-"
    hundredths = part * 10_000 // whole
    return f"{hundredths // 100} %" if hundredths % 100 == 0 else f"{hundredths / 100:.2f} %"


def main(words: Sequence[str]) -> int:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(description="Which pairs are found in damaged captures.")
    parser.add_argument("captures", nargs="*", type=Path, help="files or folders")
    parser.add_argument("--calls", type=int, default=500, help="pairs a capture must hold (500)")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    chosen = parser.parse_args(words)
    table = measure(captures(chosen.captures), chosen.calls, shutil.which("tshark") is not None)
    text = show(table)
    sys.stdout.write(text)
    every = [count for counts in table.values() for count in counts.by_version.values()]
    if not any(count.captures for count in every):
        print(f"robustness.py: no capture with {chosen.calls} pairs", file=sys.stderr)
        return 2
    if chosen.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(_BLOCK.sub(lambda m: m[1] + text + m[2], page), encoding="utf-8")
    wrong = (c.invented or c.found < LEAST_SHARE * c.visible for c in every if c.captures)
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
