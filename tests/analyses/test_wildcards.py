r"""Patterns choose names and paths as a shell does; a backslash of a shown name is found."""

from __future__ import annotations

import duckdb
import pytest

from pcapnfs.analyses.asking import wildcards


@pytest.mark.parametrize(
    ("pattern", "path", "chosen"),
    [
        ("*.c", "src/main.c", True),
        ("*.c", "src/main.h", False),
        ("main.?", "src/main.c", True),
        ("src/*", "src/deep/main.c", True),
        ("main.c", "src/main.c", True),
        ("doc/*", "src/main.c", False),
        (r"caf\xe9*", r"caf\xe9.txt", True),
        (r"*\xe9.txt", r"menu/caf\xe9.txt", True),
        (r"caf\xe9*", "cafxe9.txt", False),
        (r"caf\\xe9*", r"caf\xe9.txt", True),
        (r"a\*", "a*", True),
        (r"a\*", "ab", False),
        (r"a\[1]", "a[1]", True),
        ("a[*]", "a*", True),
    ],
)
def test_patterns_choose(pattern: str, path: str, chosen: bool) -> None:
    with duckdb.connect() as database:
        query = f"select {wildcards.LIKE_PATTERN} from (select $path as path)"
        given = {"path": path, "pattern": wildcards.text(pattern)}
        assert database.execute(query, given).fetchall() == [(chosen,)]
