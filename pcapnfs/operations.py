"""The operation table of the core.

Takes the JSON text of `_core.operations()`; gives numbers and names. Names, stability and
documentation of operations are written once, in the core.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

READING = frozenset({"Unstable", "Read", "State"})
"""What the table says of operations that modify no object."""


@cache
def modifying_operations() -> tuple[str, ...]:
    """The names of operations of any protocol that modify objects, or may, sorted."""
    return tuple(sorted({row["name"] for row in _table() if row["stability"] not in READING}))


@cache
def operation_numbers(protocol: str) -> frozenset[int]:
    """The numbers of a protocol's procedures or operations, as the core's table has them.

    Empty for a protocol that the table does not name (docs/operations.md has their names).
    """
    return frozenset(row["number"] for row in _table() if row["protocol"] == protocol)


@cache
def _table() -> tuple[dict[str, Any], ...]:
    from pcapnfs import _core

    return tuple(json.loads(_core.operations()))
