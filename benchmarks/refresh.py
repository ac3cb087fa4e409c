#!/usr/bin/env python3
"""Measures everything that docs/benchmarks.md shows, and writes it there.

    python benchmarks/refresh.py

A measured block stands between `<!-- measured: OPTIONS OF run.py -->` and `<!-- end -->`; the page
itself says what is measured. Leave the machine alone meanwhile. Exit status as of run.py.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"

_BLOCK = re.compile(r"(<!-- measured:(?P<options>[^>]*) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Fill every block, and write the page when all of it could be measured."""
    wrong = False

    def measured(block: re.Match[str]) -> str:
        nonlocal wrong
        words = block["options"].split()
        result = run.benchmark(run.parse(words))
        wrong = wrong or bool(result.differences)
        command = " ".join(["$ python benchmarks/run.py", *words])
        return f"{block[1]}```\n{command}\n{run.table(result)}```\n{block[3]}"

    try:
        PAGE.write_text(_BLOCK.sub(measured, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    except run.BenchmarkError as problem:
        sys.stderr.write(f"refresh.py: {problem}\n")
        return 2
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
