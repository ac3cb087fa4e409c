"""What the pages say is true: examples run, lists are whole, links lead somewhere.

Generated pages are compared with their generator elsewhere (tests/unit/test_documentation.py);
here the pages are read as a user reads them, and held against what the program does.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import pcapnfs
from pcapnfs import _core, record
from pcapnfs.analyses.captured.trust import COUNTED_APART
from pcapnfs.analyses.wire.round_trip import AddressPair
from pcapnfs.cli.app import app
from pcapnfs.report import Report
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation
from pcapnfs.views.document import document
from pcapnfs.views.trust import REASONS
from tests.unit.rows import ROOT, call, file, meta, operation, trace_of
from tests.views import samples

PASSED_OVER = {"target", "node_modules", "build", "dist"}
"""Folders that hold nothing of ours; so do those whose name begins with a dot."""

ANY_LINES = "…"
"""A line of an example that stands for any number of lines."""

FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<kind>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.M | re.S
)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
PATH = re.compile(r"(?:[\w.]+/)+(?:[\w.]+\.(?:rs|py|pyi|md|toml|txt|json|pcap))?")


def found(pattern: str) -> list[Path]:
    """The files of the repository that a pattern matches."""
    return sorted(
        path
        for path in ROOT.rglob(pattern)
        if not any(
            part in PASSED_OVER or part.startswith(".") for part in path.relative_to(ROOT).parts
        )
    )


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(page: Path, kind: str) -> list[str]:
    """The bodies of a page's fenced blocks of one kind."""
    text = page.read_text(encoding="utf-8")
    return [match["body"] for match in FENCE.finditer(text) if match["kind"].strip() == kind]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


PAGES = found("*.md")
WITH_CONSOLE = [page for page in PAGES if blocks(page, "console")]
WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]


def test_the_pages_are_found() -> None:
    names = {name(page) for page in PAGES}
    assert {"CONTRIBUTING.md", "docs/definitions.md", "docs/extending.md"} <= names


# Examples


def examples(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with what stands below it."""
    command, output = "", ""
    for line in block.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, output
            command, output = line[2:], ""
        elif command.endswith("\\"):
            command += "\n" + line.removeprefix("> ")
        else:
            assert command, f"output without a command: {line}"
            output += line.rstrip() + "\n"
    if command:
        yield command, output


def as_pattern(output: str) -> re.Pattern[str]:
    """What may be printed where `output` stands."""
    return re.compile(
        "".join(
            "(?:.*\n)*?" if line.strip() == ANY_LINES else re.escape(line) + "\n"
            for line in output.splitlines()
        )
    )


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment with this pcapnfs, 80 columns, and nothing remembered."""
    program = tmp_path / "bin" / "pcapnfs"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pcapnfs "$@"\n')
    program.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if key != "FORCE_COLOR"}
    return kept | {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONIOENCODING": "utf-8",
    }


@pytest.mark.parametrize("page", WITH_CONSOLE, ids=name)
def test_console_examples_print_what_stands_there(page: Path, shell: dict[str, str]) -> None:
    """Commands run one after the other, so that a later one may use the capture of an earlier."""
    for block in blocks(page, "console"):
        for command, expected in examples(block):
            if not command.startswith("pcapnfs "):
                continue  # tcpdump and mount need rights, and a network
            run = subprocess.run(
                ["/bin/sh", "-c", command],
                cwd=ROOT,
                env=shell,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                timeout=120,
            )
            printed = "".join(line.rstrip() + "\n" for line in run.stdout.splitlines())
            shows_failure = re.search("^pcapnfs: ", expected, re.M) is not None
            assert run.returncode == 0 or shows_failure, f"$ {command}\n{printed}"
            if not as_pattern(expected).fullmatch(printed):
                # pytest shows how they differ.
                assert printed == expected, f"$ {command}"


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name)
def test_python_examples_run(page: Path, shell: dict[str, str]) -> None:
    for block in blocks(page, "python"):
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", block],
            cwd=ROOT,
            env=shell,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )
        assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python polars")], ids=name
)
def test_examples_with_polars_run_where_it_is_installed(page: Path, shell: dict[str, str]) -> None:
    pytest.importorskip("polars")
    for block in blocks(page, "python polars"):
        subprocess.run([sys.executable, "-c", block], cwd=ROOT, env=shell, check=True, timeout=120)


def test_an_example_is_taken_apart_and_compared() -> None:
    block = "$ pcapnfs sql a \\\n> 'select 1'\n1\n…\n3\n$ pcapnfs --version\n"
    assert list(examples(block)) == [
        ("pcapnfs sql a \\\n'select 1'", "1\n…\n3\n"),
        ("pcapnfs --version", ""),
    ]
    pattern = as_pattern("1\n…\n3\n")
    assert pattern.fullmatch("1\n3\n")
    assert pattern.fullmatch("1\n2\n2\n3\n")
    assert not pattern.fullmatch("1\n2\n")
    assert not pattern.fullmatch("0\n1\n3\n")
    assert not as_pattern("a.c\n").fullmatch("abc\n")


# Lists


def sections(page: str) -> dict[str, str]:
    """The sections of a page in docs by their title, without backticks."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.M)[1:]
    return {part.splitlines()[0].strip().strip("`"): part for part in parts}


def listed(section: str) -> list[str]:
    """The first column of a section's table."""
    return re.findall(r"^\| `([^`]+)` \|", section, re.M)


def test_every_command_and_option_stands_in_commands() -> None:
    told = sections("commands.md")
    program: Any = typer.main.get_command(app)
    commands: dict[str, Any] = {"pcapnfs": program} | {
        f"pcapnfs {title}": command for title, command in program.commands.items()
    }
    assert list(told) == list(commands)
    for title, command in commands.items():
        options = {
            option
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option.startswith("-")
        }
        assert options, title
        described = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", told[title]))
        assert options - described == set(), title


def test_every_command_stands_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    program: Any = typer.main.get_command(app)
    assert [title for title in program.commands if f"`pcapnfs {title} " not in readme] == []


def test_every_reason_stands_in_reasons_and_on_the_screen() -> None:
    codes = [row["code"] for row in json.loads(_core.reasons())]
    text = (ROOT / "docs" / "reasons.md").read_text(encoding="utf-8")
    assert len(codes) > 5
    assert listed(text) == codes
    assert set(REASONS) | set(COUNTED_APART) == set(codes)


def test_every_column_stands_in_tables() -> None:
    declared = {
        table["name"]: [column["name"] for column in table["columns"]]
        for table in json.loads(_core.schema())
    }
    assert {title: listed(section) for title, section in sections("tables.md").items()} == declared


def test_every_operation_stands_in_operations() -> None:
    declared: dict[str, list[str]] = {}
    for row in json.loads(_core.operations()):
        declared.setdefault(row["protocol"], []).append(f"{row['number']} {row['name']}")
    told = {
        title: [" ".join(row) for row in re.findall(r"^\| (\d+) \| `(\w+)` \|", section, re.M)]
        for title, section in sections("operations.md").items()
    }
    assert told == declared


LIMIT = re.compile(r"^\s*(?:pub(?:\(\w+\))? )?const (\w*LIMIT): ", re.M)

CODE_OF_LIMIT = re.compile(r'^ {12}\((?:"(\w+)"|Reason::(\w+)\.code\(\)), ', re.M)
"""In core/src/decode/stages.rs: what stands in limits_hit."""


def test_every_limit_and_its_code_stand_in_robustness() -> None:
    page = (ROOT / "docs" / "robustness.md").read_text(encoding="utf-8")
    core = ROOT / "core" / "src"
    limits = [
        (str(path.relative_to(core)), limit)
        for path in sorted(core.rglob("*.rs"))
        if "test" not in str(path)
        for limit in LIMIT.findall(path.read_text(encoding="utf-8"))
        if limit != "SPARE_LIMIT"  # Buffers kept for use again: nothing is lost beyond it.
    ]
    assert len(limits) > 30
    missing = [
        (file, limit)
        for file, limit in limits
        if not any(f"`{file}`" in line and f"`{limit}`" in line for line in page.splitlines())
    ]
    assert missing == []
    codes = CODE_OF_LIMIT.findall((core / "decode" / "stages.rs").read_text(encoding="utf-8"))
    snake = {code or re.sub(r"(?<!^)(?=[A-Z])", "_", reason).lower() for code, reason in codes}
    assert len(snake) > 6
    assert [code for code in sorted(snake) if f"| `{code}` |" not in page] == []


CLASSES = {
    "Stable": "stable if it succeeded",
    "Unlisted": "stable if it succeeded, *unlisted*",
    "Committed": "stable or unstable write, by the level in the reply",
    "Opened": "stable if it created or truncated",
    "Read": "read",
    "State": "client state",
}
"""How docs/definitions.md calls what the operation table says of stability."""


def cells(section: str) -> dict[str, list[str]]:
    """The rows of a section's tables by their first cell."""
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| ")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


def test_the_classes_are_those_of_the_operation_table() -> None:
    told = cells(sections("definitions.md")["Where the service time went"])
    operations = json.loads(_core.operations())
    assert {row["stability"] for row in operations} == {*CLASSES, "Unstable"}
    for stability, title in CLASSES.items():
        of_class = [row for row in operations if row["stability"] == stability]
        version4 = {row["name"] for row in of_class if row["protocol"] == "nfs4"}
        version3 = {
            row["name"] for row in of_class if row["protocol"] in ("nfs3", "nfsacl3", "mount3")
        }
        version2 = {
            row["name"] for row in of_class if row["protocol"] in ("nfs2", "nfsacl2", "mount1")
        }
        assert len(version2) + len(version3) + len(version4) == len(of_class), stability
        named = [set(re.findall(r"`(\w+)`", cell)) for cell in told[title]]
        assert named == [version2, version3, version4], stability


def test_the_ranks_are_those_of_the_operation_table() -> None:
    told = cells(sections("definitions.md")["Words"])
    ranks: dict[int, set[str]] = {}
    for row in json.loads(_core.operations()):
        ranks.setdefault(row["rank"], set()).add(row["name"])
    assert set(ranks) == {int(rank) for rank in told if rank.isdecimal()}
    lowest = min(ranks)
    for rank, names in ranks.items():
        if rank != lowest:
            assert set(told[str(rank)][0].split(", ")) == names


def test_every_block_of_the_screen_is_defined() -> None:
    source = (ROOT / "pcapnfs" / "views" / "screen.py").read_text(encoding="utf-8")
    blocks = re.findall(r'_heading\("([^"]+)"\)', source)
    assert len(blocks) >= 4
    assert set(blocks) - set(sections("definitions.md")) == set()


FREE = ("{}", "{}[]")
"""Behind keys of docs/json.md whose own keys are free: of values, or of lists."""


def paths(value: object, free: set[str], prefix: str = "") -> Iterator[str]:
    """The keys of a JSON document as docs/json.md writes them; `free` are those with free keys."""
    if isinstance(value, list):
        for element in value:
            yield from paths(element, free, prefix)
    elif isinstance(value, dict) and prefix.removesuffix(".") not in free:
        for key, inner in value.items():
            path = prefix + key
            mark = "[]" if isinstance(inner, list) else ""
            mark = next((each for each in FREE if path + each in free), mark)
            yield path + mark
            yield from paths(inner, free, path + mark + ".")


def parts_of(result: Report) -> Iterator[tuple[str, object]]:
    """The fields of a report with their values."""
    return ((name, getattr(result, name)) for name in record.names(result))


def test_the_keys_of_the_json_are_those_in_json() -> None:
    rows = [
        call(1, "CREATE", 5, file=1, stability="stable"),
        call(
            2,
            "GETATTR",
            1,
            file=1,
            protocol="4.1",
            minor=1,
            signature="SEQUENCE GETATTR",
            session=bytes(16),
            slot=0,
        ),
        # As many as persistence needs.
        *(
            call(1 if number == 1 else 100 + number, "CREATE", 5, file=1, stability="stable")
            for number in range(1, 31)
        ),
        call(2, "GETATTR", 1, file=1, protocol="4.1", minor=1, signature="SEQUENCE GETATTR"),
        # Listed three times without attributes: a verdict on a mount option.
        *(call(number, "READDIR", 1, file=number) for number in (3, 4, 5)),
    ]
    with trace_of(
        meta(limits_hit={"connections": 1}),
        calls=rows,
        operations=[
            operation(1, "CREATE", file=1),
            operation(2, "GETATTR", file=1),
            *(
                operation(number, "READDIR", file=number, cookie=0, entries=0)
                for number in (3, 4, 5)
            ),
        ],
        files=[
            file(1, "new", size=1000),
            *(file(number, "d", "directory") for number in (3, 4, 5)),
        ],
        names=[{"call": 1, "directory": 3, "name": "new", "file": 1}],
        notes=[{"reason": "truncated", "layer": "call", "frame": 1}],
    ) as trace:
        # The trace has nothing that concerns several clients.
        several = samples.bottlenecks("10.0.0.2", "10.0.0.3")
        model = record.replace(
            pcapnfs.model(trace),
            verdict=several,
            clients=samples.client_forecasts("10.0.0.2", "10.0.0.3"),
        )
        # Nor has it several exports, a path that was longer for a while, a transfer held down by
        # losses or a window, a lock waited for, or several addresses of one server.
        network = pcapnfs.network(trace)
        (path,) = network.paths
        pairs = tuple(AddressPair("10.0.0.2", server, 1, 1, None, None, 0) for server in "ab")
        trip = record.replace(path.round_trip, address_pairs=pairs)
        network = record.replace(
            network,
            paths=(record.replace(path, round_trip=trip),),
            slower_paths=(samples.slower_path(),),
            loss_rates=(samples.loss_rate(),),
            full_windows=(samples.full_window(),),
        )
        results = {
            "pcapnfs summarize --json": document(
                record.replace(
                    pcapnfs.summarize(trace),
                    verdict=several,
                    software=samples.software(),
                    lock_gaps=samples.lock_gaps(),
                    exports=samples.exports(),
                    network=network,
                    findings=samples.findings().findings,
                    model=model,
                )
            ),
            # Its parts that are documents of their own stand there.
            "pcapnfs report --json": {
                key: {} if key in ("summary", "perfile") else document(value)
                for key, value in parts_of(samples.report())
            },
            "pcapnfs budget --json": document(
                record.replace(
                    pcapnfs.time_budget(trace),
                    slower_paths=(samples.slower_path(),),
                    lock_gaps=samples.lock_gaps(),
                )
            ),
            "pcapnfs findings --json": document(samples.findings()),
            "pcapnfs estimate --json": document(model),
            "pcapnfs compare --json": document(
                # Of several clients there are no steps; of all added up, nothing is foretold.
                record.replace(
                    samples.comparison(),
                    clients=(client := samples.compared_client(),),
                    together=client,
                )
            ),
            "pcapnfs perfile --json": document(pcapnfs.perfile(trace)),
            "pcapnfs perfile --by … --json": document(pcapnfs.pergroup(trace, "client")),
            "pcapnfs patterns --json": document(pcapnfs.patterns(trace)),
            "pcapnfs sequence --json": document(pcapnfs.sequence(trace, file="new")),
            "pcapnfs sizes --json": document(pcapnfs.sizes(trace)),
            "pcapnfs readdir --json": document(pcapnfs.readdir(trace)),
            "pcapnfs cache --json": document(pcapnfs.cache(trace)),
            "pcapnfs network --json": document(network),
            "pcapnfs verify --json": document(samples.verification()),
            "pcapnfs show --json": document(
                record.replace(samples.shown(), packet=samples.shown().readings[0].messages[0])
            ),
            "pcapnfs decode --json": document(samples.decoded()),
            "pcapnfs annotate --json": document(samples.annotation()),
            "pcapnfs redact --json": document(samples.redaction()),
            "pcapnfs synth --json": document(Simulation(Options(files=1)).run()[1]),
        }
    told = sections("json.md")
    assert list(told) == list(results)
    for title, result in results.items():
        keys = listed(told[title])
        free = {key for key in keys if key.endswith(FREE)}
        written = list(dict.fromkeys(paths(result, free)))
        assert written == keys


def test_every_dependency_stands_in_architecture() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split("\n## Dependencies\n", 1)[1].split("\n## ", 1)[0]
    told = set(re.findall(r"[\w-]+", section))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    python = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(name for extra in project["project"]["optional-dependencies"].values() for name in extra),
    ]
    used = {re.split(r"[^\w-]", requirement)[0] for requirement in python}
    for manifest in found("Cargo.toml"):
        cargo = tomllib.loads(manifest.read_text(encoding="utf-8"))
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            used |= {
                crate
                for crate, how in cargo.get(kind, {}).items()
                if not (isinstance(how, dict) and "path" in how)
            }
    assert len(used) > 10
    assert used - told == set()


# Links


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.M)
    return {re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for match in LINK.finditer(CODE.sub("", prose(page))):
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        linked = (page.parent / place).resolve() if place else page
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_are_named_exist(page: Path) -> None:
    """A path in backticks that names a file or folder of the repository."""
    roots = (ROOT, page.parent, ROOT / "core" / "src")
    named = {code.strip("`") for code in CODE.findall(prose(page))}
    missing = [
        path
        for path in sorted(named)
        if PATH.fullmatch(path) and not any((root / path).exists() for root in roots)
    ]
    assert missing == []


def test_every_page_is_linked_from_the_readme() -> None:
    readme = ROOT / "README.md"
    linked = {(ROOT / match["target"]).resolve() for match in LINK.finditer(prose(readme))}
    pages = [page for page in PAGES if page.parent == ROOT / "docs"]
    assert [name(page) for page in pages if page not in linked] == []
