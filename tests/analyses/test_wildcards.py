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
        query = f"select {wildcards.LIKE_PATTERN} from (select $path as path, '/x' as export)"
        given = {"path": path, "pattern": wildcards.text(pattern)}
        assert database.execute(query, given).fetchall() == [(chosen,)]


@pytest.mark.parametrize(
    ("pattern", "path", "chosen"),
    [
        ("src/*", "/home/a/src/main.c", True),
        ("/home/a/src/*", "/home/a/src/main.c", True),
        ("main.c", "/home/a/src/main.c", True),
        ("a/src/*", "/home/a/src/main.c", False),
        ("src/*", "/home/abc/src/main.c", False),
    ],
)
def test_patterns_choose_below_the_export_and_with_it(
    pattern: str, path: str, chosen: bool
) -> None:
    """As where a capture shows several exports."""
    with duckdb.connect() as database:
        for export in ("/home/a", "/home/a/"):
            query = f"select {wildcards.LIKE_PATTERN} from (select $path as path, $of as export)"
            given = {"path": path, "pattern": wildcards.text(pattern), "of": export}
            assert database.execute(query, given).fetchall() == [(chosen,)]
