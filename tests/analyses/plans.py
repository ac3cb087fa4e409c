"""Which queries of a trace could wait for themselves (`test_streams.py` says how).

Takes a trace; gives those of its queries that could, planned as those of large traces are. Promises
that they are carried out as they would be without.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

from pcapnfs.trace import Trace
from tests.analyses.listening import Look, listen

READING = ("select", "with", "from")
"""How queries begin that give rows."""

PASSING_ON = {"PROJECTION", "FILTER", "LIMIT", "STREAMING_LIMIT", "STREAMING_WINDOW", "UNNEST"}
"""Steps of a plan that give rows as they get them."""

GIVEN = {"COLUMN_DATA_SCAN", "DUMMY_SCAN", "EMPTY_RESULT"}
"""Rows that stand in the query itself."""

Node = dict[str, Any]
"""A step of a plan: `name`, `children`."""


def waiting(node: Node) -> list[str]:
    """The UNIONs of a plan that rows go through on their way out, and whose branches both wait.

    Of a join both sides count: which one rows come from depends on how many there are.
    """
    name, children = node["name"].strip(), node["children"]
    if name == "CTE":  # What is materialized, and then what is made of it.
        return waiting(children[-1])
    if name == "UNION" and len([child for child in children if prepares(child)]) > 1:
        return [name]
    if name in PASSING_ON or name == "UNION" or name.endswith(("JOIN", "PRODUCT")):
        return [each for child in children for each in waiting(child)]
    return []


def prepares(node: Node) -> bool:
    """Whether a part of a plan has to read tables before it gives rows."""
    name, children = node["name"].strip(), node["children"]
    simple = name in PASSING_ON or name == "UNION" or not children
    if name.endswith("JOIN"):
        simple = all(each["name"].strip() in GIVEN for each in children[1:])
    return not simple or any(map(prepares, children))


def plan(connection: duckdb.DuckDBPyConnection, query: str, *given: object) -> Node:
    ((_, text),) = connection.execute(f"explain (format json) {query}", *given).fetchall()
    (root,) = json.loads(text)
    return dict(root)


def watch(trace: Trace, found: list[str]) -> None:
    """Add to `found` what is put to a trace from now on and could wait for itself."""
    listen(trace, watching(found))


def watching(found: list[str]) -> Look:
    """What adds to `found` each query that it looks at and that could wait for itself.

    Each is planned once, also where it is put with several values. What makes plans of large traces
    fast is there for these alone: to carry a query out over few rows takes less time without.
    """
    planned: set[str] = set()
    alone = threading.Lock()

    def look(connection: duckdb.DuckDBPyConnection, query: str, /, *given: object) -> None:
        if query.split(maxsplit=1)[0] not in READING:
            return
        with alone:
            if query not in planned:
                planned.add(query)
                with fully_optimized(connection):
                    root = plan(connection, query, *given)
                found.extend(query for _ in waiting(root))

    return look


@contextmanager
def fully_optimized(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Plans are made with all that the database has for large tables."""
    asked = "select current_setting('disabled_optimizers')"
    ((spared,),) = connection.execute(asked).fetchall()
    connection.execute("set disabled_optimizers = ''")
    try:
        yield
    finally:
        connection.execute(f"set disabled_optimizers = '{spared}'")
