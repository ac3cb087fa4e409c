#!/usr/bin/env python3
"""Measures everything that docs/benchmarks.md and README.md show, and writes it there.

    python3 dev.py wheel && python benchmarks/refresh.py

A measured block stands between `<!-- measured: OPTIONS OF run.py -->` and `<!-- end -->`; the page
itself says what is measured. Leave the machine alone meanwhile. Exit status as of run.py.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import run

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "README.md", ROOT / "docs" / "benchmarks.md"

_BLOCK = re.compile(r"(<!-- measured:(?P<options>[^>]*) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Fill every block, and write each page when all of it could be measured."""
    wrong = False
    known: dict[str, str] = {}

    def measured(block: re.Match[str]) -> str:
        nonlocal wrong
        words = block["options"].split()
        command = " ".join(["$ python benchmarks/run.py", *words])
        if command not in known:
            result = run.benchmark(run.parse(words))
            wrong = wrong or bool(result.differences)
            known[command] = run.table(result)
        return f"{block[1]}```\n{command}\n{known[command]}```\n{block[3]}"

    try:
        for page in PAGES:
            page.write_text(_BLOCK.sub(measured, page.read_text("utf-8")), "utf-8")
    except run.BenchmarkError as problem:
        sys.stderr.write(f"refresh.py: {problem}\n")
        return 2
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
