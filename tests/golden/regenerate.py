#!/usr/bin/env python3
"""Writes the golden files anew: for each capture in `samples/`, what pcapnfs says of it.

    python tests/golden/regenerate.py

Read the difference before you keep it; nobody edits these files by hand. Numbers are rounded to
nine significant digits, so that another version of the database may add in another order.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import pcapnfs
from pcapnfs.views.document import to_json

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent.parent / "samples"
SUFFIXES = (".pcap", ".pcapng", ".gz")
TOP = 5
"""Files in the snapshot of `perfile`."""
SIGNIFICANT_DIGITS = 9


def samples() -> list[Path]:
    """Give every capture in `samples/`."""
    return sorted(path for path in SAMPLES.iterdir() if path.suffix in SUFFIXES)


def golden(sample: Path) -> Path:
    """Give the path of a sample's golden file."""
    return HERE / f"{sample.name}.json"


def snapshot(sample: Path) -> str:
    """Give the text that a sample's golden file should have."""
    # Named as a user in that folder would, so that no path of this machine gets into the file.
    with contextlib.chdir(sample.parent), pcapnfs.open(sample.name) as trace:
        said = {
            "summarize": json.loads(to_json(pcapnfs.summarize(trace))),
            "perfile": json.loads(to_json(pcapnfs.perfile(trace, top=TOP))),
        }
    return json.dumps(rounded(said), indent=1, ensure_ascii=False) + "\n"


def rounded(value: object) -> object:
    """Round every number with a fraction in a JSON document."""
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return value


def main() -> int:
    """Write a golden file for each sample, and remove those of samples that are gone."""
    wanted = {golden(sample): snapshot(sample) for sample in samples()}
    for path in HERE.glob("*.json"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
