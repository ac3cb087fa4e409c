#!/usr/bin/env python3
"""rustc as cargo runs it for the fuzz targets: our own crates count which code an input reaches.

Others do not: libFuzzer is to find its way through the decoder, not through what that is built on.
cargo does not know of these options; whoever changes them removes what was compiled with others.
"""

import os
import sys
from itertools import pairwise

OWN = ("pcapnfs_core", "pcapnfs_fuzz")

COVERAGE = (
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
)
"""The counters that libFuzzer steers by, from LLVM passes that stable Rust has too."""

compiler, *words = sys.argv[1:]
own = any(option == "--crate-name" and name in OWN for option, name in pairwise(words))
os.execvp(compiler, [compiler, *words, *(COVERAGE if own else ())])
