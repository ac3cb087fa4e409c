"""Who may import whom: read from the import statements, so that a slip is seen before it runs."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.rows import ROOT

PACKAGE = ROOT / "pcapnfs"

STAGES = ("analyses", "diagnosis", "comparison", "verify", "views", "cli")
"""The folders in the order in which results go through them."""

WHOLES = ("pcapnfs.summary", "pcapnfs.report", "pcapnfs.annotation")
"""What puts results of stages together: for the command line alone."""

FORBIDDEN = {
    "analyses": (
        "typer",
        "rich",
        "jinja2",
        "pcapnfs._core",
        "scapy",
    ),
    "views": (
        "duckdb",
        "pcapnfs.database",
        "numpy",
        "pcapnfs._core",
        "pcapnfs.opening",
        "pcapnfs.trace",
        "pcapnfs.query",
        "typer",
        "scapy",
    ),
    "diagnosis": (
        "typer",
        "rich",
        "duckdb",
        "pcapnfs.database",
        "numpy",
        "pcapnfs._core",
        "pcapnfs.opening",
        "pcapnfs.trace",
        "scapy",
    ),
    "comparison": (
        "typer",
        "rich",
        "duckdb",
        "pcapnfs.database",
        "pcapnfs._core",
        "pcapnfs.opening",
        "pcapnfs.trace",
        "scapy",
    ),
    "verify": ("typer", "rich", "pcapnfs._core", "scapy"),
    "cli": ("duckdb", "pcapnfs.database", "numpy", "pcapnfs._core", "scapy"),
}
"""What a folder never imports, not even inside a function. Imports for types alone are allowed."""

HEAVY = (
    "pcapnfs.database",
    "numpy",
    "rich",
    "jinja2",
    "pyshark",
    "pcapnfs._core",
    "pcapnfs.opening",
    "pcapnfs.trace",
    "pcapnfs.query",
    "pcapnfs.decoding",
    "pcapnfs.usage",
    "pcapnfs.store",
    "pcapnfs.attached",
)
"""What the command line imports only inside the commands that need it."""


@functools.cache
def imports(path: Path, *, top_level: bool) -> tuple[str, ...]:
    """The modules that a file imports when it runs, without those under TYPE_CHECKING."""
    return tuple(_imports(path, top_level=top_level))


def _imports(path: Path, *, top_level: bool) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)
        if not (top_level and isinstance(node, ast.FunctionDef)):
            nodes.extend(ast.iter_child_nodes(node))


def hits(path: Path, forbidden: tuple[str, ...], *, top_level: bool) -> list[str]:
    """The imports of a file that are, or are inside, a forbidden module."""
    return [
        name
        for name in imports(path, top_level=top_level)
        if any(name == module or name.startswith(module + ".") for module in forbidden)
    ]


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_layers_know_only_what_they_may(folder: str) -> None:
    files = sorted((PACKAGE / folder).rglob("*.py"))
    assert files
    assert {
        file.name: found
        for file in files
        if (found := hits(file, FORBIDDEN[folder], top_level=False))
    } == {}


@pytest.mark.parametrize("place", range(len(STAGES) - 1))
def test_no_stage_asks_a_later_one(place: int) -> None:
    later = tuple(f"pcapnfs.{stage}" for stage in STAGES[place + 1 :])
    files = sorted((PACKAGE / STAGES[place]).rglob("*.py"))
    assert {
        file.name: found
        for file in files
        if (found := hits(file, (*later, *WHOLES), top_level=False))
    } == {}


def test_the_command_line_imports_heavy_libraries_inside_commands_only() -> None:
    files = [*(PACKAGE / "cli").glob("*.py"), PACKAGE / "__init__.py", PACKAGE / "__main__.py"]
    assert {
        file.name: found for file in files if (found := hits(file, HEAVY, top_level=True))
    } == {}


def test_decoder_scapy_and_pyshark_are_each_imported_in_one_place() -> None:
    files = [file for file in PACKAGE.rglob("*.py") if "synth" not in file.parts]
    found = {file.name for file in files if hits(file, ("pcapnfs._core",), top_level=False)}
    assert found == {
        "opening.py",
        "operations.py",
        "decoding.py",
        "annotation.py",
        "redaction.py",
        "rewriting.py",
        "walks.py",
    }
    assert [file.name for file in files if hits(file, ("scapy",), top_level=False)] == []
    asking = [file for file in files if hits(file, ("pyshark",), top_level=False)]
    assert {file.parent.name for file in asking} == {"verify"}


def test_the_database_is_imported_in_one_place_and_asked_on_connections() -> None:
    """DuckDB's own functions take a connection that is made when the first of them is called, and
    two threads that call one then wait for each other for ever."""
    files = sorted(PACKAGE.rglob("*.py"))
    names = [name for file in files for name in hits(file, ("_duckdb", "duckdb"), top_level=False)]
    assert {name.removeprefix("_duckdb.") for name in names} == {
        "ConnectionException",
        "Error",
        "IOException",
        "InterruptException",
        "OperationalError",
        "OutOfMemoryException",
        "Statement",
        "StatementType",
        "connect",
        "tokenize",
    }


def test_only_units_turns_numbers_into_text() -> None:
    """A format specification in a view would be a second opinion on how numbers look."""
    for file in (PACKAGE / "views").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.FormattedValue) and node.format_spec), (
                f"{file.name}:{node.lineno}"
            )


def test_the_version_is_that_of_the_package() -> None:
    import tomllib

    import pcapnfs

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == pcapnfs.__version__


def test_only_records_know_what_they_are_made_of() -> None:
    home = PACKAGE / "record.py"
    for path in PACKAGE.rglob("*.py"):
        known = {name.split(".")[0] for name in imports(path, top_level=False)}
        assert ("msgspec" in known) == (path == home), path


def test_failures_name_options_to_who_typed_a_command_alone() -> None:
    """Functions have arguments: a sentence with an option goes into `shell`."""
    option = re.compile(r"(^|\s)-(o|-[a-z]+)\b")
    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(PACKAGE / "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                continue
            for text in (part for given in node.exc.args for part in ast.walk(given)):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    assert not option.search(text.value), f"{path.name}:{node.lineno}"
