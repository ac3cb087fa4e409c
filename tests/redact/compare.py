"""Whether a redacted capture tells the same as its original, and nothing that it must not tell.

Two analyses are the same but for names when all tables have the same rows, column by column, and
names, addresses and users differ by a renaming that is one to one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pcapnfs import _core

RENAMED = {
    "calls": {
        "client": "host",
        "server": "host",
        "machine": "machine",
        "uid": "user",
        "gid": "user",
    },
    "operations": {
        "name": "name",
        "new_name": "name",
        "text": "text",
        **dict.fromkeys(("mtime", "before_mtime"), "time"),
        **dict.fromkeys(("client_owner", "client_software", "server_software"), "software"),
        "lock_owner": "lock owner",
        "client_verifier": "verifier",
    },
    "files": {
        "server": "host",
        "handle": "handle",
        "identity": "identity",
        "name": "name",
        "path": "path",
        "export": "path",
    },
    "names": {"name": "name"},
    "entries": {"name": "name", "mtime": "time"},
    "connections": dict.fromkeys(("client", "client_address", "server", "server_address"), "host"),
    "notes": {},
}
"""By table and column: what the text is. Equal texts must have become equal texts.

A modification time becomes another where a server may keep the verifier of an exclusive create in
it; then it is no time.
"""

AS_LONG_AS_IT_COMES = ("identity", "time", "verifier")
"""What need not have the length that it had."""


@dataclass(slots=True)
class Renaming:
    """What became what, of one kind, both ways."""

    there: dict[object, object] = field(default_factory=dict)
    back: dict[object, object] = field(default_factory=dict)

    def agrees(self, before: object, after: object) -> bool:
        """Whether this pair contradicts none before it."""
        return bool(
            self.there.setdefault(before, after) == after
            and self.back.setdefault(after, before) == before
        )


def tables(*paths: Path) -> dict[str, tuple[list[str], list[tuple[Any, ...]]]]:
    """The rows of all tables in the order in which the decoder gave them."""
    decoder = _core.Decoder([str(path) for path in paths])
    found: dict[str, tuple[list[str], list[tuple[Any, ...]]]] = {}
    for table in json.loads(_core.schema()):
        found[table["name"]] = ([column["name"] for column in table["columns"]], [])
    with duckdb.connect() as database:
        while (batches := decoder.next()) is not None:
            for batch in batches:
                rows = database.execute("SELECT * FROM batch").fetchall()
                found[batch.table][1].extend(rows)
    return found


def differences(original: Path | Sequence[Path], redacted: Path, limit: int = 20) -> list[str]:
    """What the redacted capture tells otherwise than the original, one sentence each."""
    originals = [original] if isinstance(original, Path) else original
    told: list[str] = []
    renamings: dict[str, Renaming] = {}
    before, after = tables(*originals), tables(redacted)
    for table, (columns, rows) in before.items():
        other = after[table][1]
        if len(rows) != len(other):
            told.append(f"{table}: {len(rows)} rows became {len(other)}")
        for number, (row, twin) in enumerate(zip(rows, other, strict=False)):
            for column, one, two in zip(columns, row, twin, strict=True):
                kind = RENAMED[table].get(column)
                if kind and (one is None) == (two is None):
                    same = renamings.setdefault(kind, Renaming()).agrees(one, two)
                    same = same and (kind in AS_LONG_AS_IT_COMES or _length(one) == _length(two))
                else:
                    same = one == two
                if not same:
                    told.append(f"{table}[{number}].{column}: {one!r} became {two!r}")
                if len(told) >= limit:
                    return told
    return told


def _length(value: object) -> int:
    return (
        len(value)
        if isinstance(value, bytes)
        else len(str(value).encode("utf-8", "surrogateescape"))
    )
