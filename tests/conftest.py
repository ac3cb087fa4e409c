"""What all tests share.

As the commands have it, what is missing is looked for once, and cycles are looked for rarely.

DuckDB tries to import some libraries with each value that a query is given; where one is missing,
Python searches all its folders each time, which took most of the time that filling a table by hand
took. Where one is installed it is used.
"""

from __future__ import annotations

import gc
import importlib.util
import sys

from pcapnfs.cli.app import NEW_OBJECTS, UNUSED

for name in UNUSED:
    if importlib.util.find_spec(name) is None:
        sys.modules[name] = None  # type: ignore[assignment]  # As the import system has it.

# Thousands of tests stay in memory as long as their process: too much to look through so often.
gc.set_threshold(NEW_OBJECTS)
