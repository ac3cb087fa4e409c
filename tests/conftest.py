"""What all tests share: libraries that are not installed are looked for once, not with every query.

DuckDB tries to import these with each value that a query is given; where one is missing, Python
searches all its folders each time, which took most of the time that filling a table by hand took.
Where one is installed it is used.
"""

from __future__ import annotations

import importlib.util
import sys

from pcapnfs.cli.app import UNUSED

for name in UNUSED:
    if importlib.util.find_spec(name) is None:
        sys.modules[name] = None  # type: ignore[assignment]  # As the import system has it.
