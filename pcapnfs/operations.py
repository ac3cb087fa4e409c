"""The operation table of the core.

Takes the JSON text of `_core.operations()`; gives numbers. Names, stability and documentation of
operations are written once, in the core.
"""

from __future__ import annotations

import json
from functools import cache


@cache
def operation_numbers(protocol: str) -> frozenset[int]:
    """The numbers of a protocol's procedures or operations, as the core's table has them.

    Empty for a protocol that the table does not name (docs/operations.md has their names).
    """
    from pcapnfs import _core

    rows = json.loads(_core.operations())
    return frozenset(row["number"] for row in rows if row["protocol"] == protocol)
