"""Writes the pages of the documentation that the code knows best.

`python docs/generate.py` writes commands, json, tables, operations, coverage, findings and reasons,
and the list of contents of the definitions; with `--check` it compares them instead and exits with
1 when one is out of date. Names of pages limit it to those.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from pcapnfs.record import Record, names

HERE = Path(__file__).parent

CONTENTS, END = "<!-- contents -->", "<!-- end -->"
"""Around the list of contents of a page that people write."""

GENERATED = "<!-- Written by docs/generate.py: change the code, not this page. -->\n"

LONG = 100
"""Keys beyond which those of a document are told part by part."""

FEW = 4
"""Sections up to which a page needs no list of them."""

DEFINES = ("word", "number", "row", "column", "mark", "cause", "evidence", "option", "finding")
"""What heads the first column of a table that defines the words in it."""

WIDTH = 96
"""Columns of the help texts in commands.md."""


def commands() -> str:
    """The help text of every command."""
    import os
    from unittest import mock

    from typer.testing import CliRunner

    from pcapnfs.cli.app import app

    # Typer asks for the terminal's width when it formats; TERM and colours must not matter.
    with mock.patch.dict(os.environ, {"COLUMNS": str(WIDTH + 2), "NO_COLOR": "1"}):
        texts = {
            name: CliRunner().invoke(app, [*name.split(), "--help"], prog_name="pcapnfs").output
            for name in ["", *command_names()]
        }
    sections = [
        f"## `{f'pcapnfs {name}'.strip()}`\n\n```\n{_stripped(text)}\n```\n"
        for name, text in texts.items()
    ]
    return _page(
        "Commands",
        "What every command takes. Exit status: 0 done, 1 the capture could not be read or holds "
        "no NFS, or a result could not be written, 2 wrong usage; as shells have it, 130 after "
        "Ctrl-C, 143 after SIGTERM, 141 where nobody reads on.\n\nFrom the environment come the "
        "width of screens (`COLUMNS`; else that of the terminal, or 80), whether they are coloured "
        "(on terminals, unless `NO_COLOR` is set; into pipes as well with `FORCE_COLOR`), the "
        "characters they are made of (a locale without Unicode gets others, but for C and POSIX, "
        "where Python writes UTF-8; files, JSON, CSV, HTML and Markdown are UTF-8 in any), the "
        "place for what does not fit into memory (`TMPDIR`), and that of the paths and ports that "
        "the next command takes when it names no capture (`$XDG_STATE_HOME/pcapnfs/last.json`, "
        "without it below `~/.local/state`).",
        sections,
    )


def command_names() -> list[str]:
    """The commands in the order of the help text."""
    from pcapnfs.cli.app import app

    return [command.name for command in app.registered_commands if command.name]


def json_keys() -> str:
    """The keys of the JSON documents, from the fields of the results."""
    from pcapnfs.report import Report

    sections = []
    for title, result in documents().items():
        # A report is made of other documents: their keys need not be told again.
        apart = {} if result is not Report else {each: name for name, each in documents().items()}
        told = list(keys(result, apart=apart))
        sections.append(f"## `{title}`\n\n{_by_part(title, told)}")
    return _page(
        "JSON",
        "The keys of `--json`. Times are seconds, sizes bytes, shares 0…1; unknown is null. "
        "`[]` stands for each element of a list, `{}` for each value of an object with free keys. "
        "From Python, `pcapnfs.to_json` writes a result likewise.",
        sections,
    )


def _by_part(title: str, told: Sequence[tuple[str, str, str]]) -> str:
    """The keys of a document; of a long one in a section for each part, and for keys between."""
    head = "| key | type | meaning |\n| --- | --- | --- |\n"
    parts: dict[str, list[str]] = {}
    for key, kind, text in told:
        parts.setdefault(re.split(r"[.[{]", key)[0], []).append(f"| `{key}` | {kind} | {text} |")
    if len(told) <= LONG:
        return head + _lines([row for rows in parts.values() for row in rows])
    groups: list[list[str]] = []
    for part, rows in parts.items():
        if groups and len(rows) == len(parts[groups[-1][-1]]) == 1:
            groups[-1].append(part)
        else:
            groups.append([part])
    command = title.removeprefix("pcapnfs ").removesuffix(" --json")
    return "\n".join(
        f"### {', '.join(f'`{part}`' for part in group)} of `{command}`\n\n"
        f"{head}{_lines([row for part in group for row in parts[part]])}"
        for group in groups
    )


def findings() -> str:
    """Every rule and its thresholds."""
    from pcapnfs.diagnosis.rules import RULES

    sections = []
    for rule in RULES:
        module = sys.modules[rule.judge.__module__]
        text = textwrap.fill(inspect.getdoc(module) or "", sys.maxsize)
        section = f"## `{rule.id}`\n\n{text}\n\nOrigin: {rule.origin}.\n"
        if rule.topic is not None:
            same = [f"`{each.id}`" for each in RULES if each.topic == rule.topic and each != rule]
            if same:
                section += f"\nMerged with {', '.join(same)} where they report the same.\n"
        if rule.thresholds:
            rows = [
                f"| `{threshold.name}` | {threshold.value:g} | {threshold.unit} "
                f"| {threshold.meaning} | {threshold.origin} |"
                for threshold in rule.thresholds
            ]
            head = "| threshold | value | unit | what it limits | origin |\n" + "| --- " * 5 + "|\n"
            section += f"\n{head}{_lines(rows)}"
        sections.append(section)
    return _page(
        "Findings",
        "The rules behind `pcapnfs findings`, and behind the findings of `summarize`, `report`, "
        "`compare` and `annotate`. A threshold is changed with `--threshold NAME=VALUE`, or in the "
        "table `[thresholds]` of a TOML file given with `--config`; name the same in each, and all "
        "say the same.",
        sections,
    )


def documents() -> dict[str, type]:
    """The results that commands write as JSON."""
    from pcapnfs.analyses.by_file.patterns import Patterns
    from pcapnfs.analyses.by_file.perfile import PerFile
    from pcapnfs.analyses.by_file.pergroup import PerGroup
    from pcapnfs.analyses.by_file.sequence import Sequence
    from pcapnfs.analyses.by_file.sizes import Sizes
    from pcapnfs.analyses.caching.cache import Cache
    from pcapnfs.analyses.forecasts.model import Model
    from pcapnfs.analyses.namespace.readdir import Readdir
    from pcapnfs.analyses.times.time_budget import TimeBudget
    from pcapnfs.analyses.wire.network import Network
    from pcapnfs.annotation import Annotation
    from pcapnfs.comparison.comparing import Comparison
    from pcapnfs.decoding import Decoded
    from pcapnfs.diagnosis.judging import Findings
    from pcapnfs.redaction import Redaction
    from pcapnfs.report import Report
    from pcapnfs.summary import Summary
    from pcapnfs.synth.simulation.truth import Truth
    from pcapnfs.verify.dissection import Shown
    from pcapnfs.verify.verification import Verification

    return {
        "pcapnfs summarize --json": Summary,
        "pcapnfs report --json": Report,
        "pcapnfs budget --json": TimeBudget,
        "pcapnfs findings --json": Findings,
        "pcapnfs estimate --json": Model,
        "pcapnfs compare --json": Comparison,
        "pcapnfs perfile --json": PerFile,
        "pcapnfs perfile --by … --json": PerGroup,
        "pcapnfs patterns --json": Patterns,
        "pcapnfs sequence --json": Sequence,
        "pcapnfs sizes --json": Sizes,
        "pcapnfs readdir --json": Readdir,
        "pcapnfs cache --json": Cache,
        "pcapnfs network --json": Network,
        "pcapnfs verify --json": Verification,
        "pcapnfs show --json": Shown,
        "pcapnfs decode --json": Decoded,
        "pcapnfs annotate --json": Annotation,
        "pcapnfs redact --json": Redaction,
        "pcapnfs synth --json": Truth,
    }


def keys(
    result: type, prefix: str = "", *, apart: Mapping[type, str] | None = None
) -> Iterator[tuple[str, str, str]]:
    """Path, type and meaning of every key of a result, depth first.

    Results in `apart` are told elsewhere, under the title given.
    """
    hints = typing.get_type_hints(result)
    documented = field_docs(result)
    for name in names(result):
        kind, inner, suffix = _json_type(hints[name])
        path = f"{prefix}{name}{suffix}"
        # What is None in Python is null in JSON.
        text = re.sub(r"\bNone\b", "null", documented[name]).replace("|", "\\|")
        if inner is not None and apart and inner in apart:
            yield path, kind, f"{text} Its keys are those of `{apart[inner]}`."
            continue
        yield path, kind, text
        if inner is not None:
            yield from keys(inner, path + ".", apart=apart)


def field_docs(result: type) -> dict[str, str]:
    """The string below each field of a record, in one line.

    Raises:
        KeyError: A field has none.
    """
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(result))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            found[field.target.id] = " ".join(text.value.value.split())
    missing = [name for name in names(result) if name not in found]
    if missing:
        raise KeyError(f"{result.__name__} says nothing of {', '.join(missing)}")
    return found


def tables() -> str:
    """Every table and column."""
    from pcapnfs import schema

    sections = []
    for table in schema.parse(_core("schema")):
        rows = [
            f"| `{column.name}` | {column.sql} | {column.unit} "
            f"| {'yes' if column.nullable else ''} "
            f"| {column.meaning.replace('|', chr(92) + '|')} |"
            for column in table.columns
        ]
        head = "| column | type | unit | NULL | meaning |\n| --- | --- | --- | --- | --- |\n"
        sections.append(f"## `{table.name}`\n\n{table.meaning}\n\n{head}{_lines(rows)}")
    return _page(
        "Tables",
        "What `pcapnfs sql` and `Trace.sql` can ask; what would change something is refused before "
        "it is carried out. NULL always means unknown or not applicable. Times with a time zone "
        "(`to_timestamp(call_time / 1e9)`) are told in UTC; `Trace.sql` gives them as times "
        "without a zone. `pcapnfs sql` writes all times and dates as the database does: with as "
        "many decimals as they need, and `infinity` as such.",
        sections,
    )


def operations() -> str:
    """Every operation that the decoder knows."""
    by_protocol: dict[str, list[str]] = {}
    for row in json.loads(_core("operations")):
        by_protocol.setdefault(row["protocol"], []).append(
            f"| {row['number']} | `{row['name']}` | {row['first_minor']} | {row['subject']} "
            f"| {row['effect']} | {row['stability']} | {row['rank']} "
            f"| {'yes' if row['small'] else ''} "
            f"| {'yes' if row['decoded'] else 'counted only'} | {row['source']} |"
        )
    head = (
        "| number | operation | since minor | is about | handles | stable | rank | small "
        "| decoded | source |\n" + "| --- " * 10 + "|\n"
    )
    sections = [f"## `{name}`\n\n{head}{_lines(rows)}" for name, rows in by_protocol.items()]
    return _page(
        "Operations",
        "The main operation of a compound is the first of the lowest rank. *Small* operations show "
        "the round trip. See definitions.md for what counts as stable.",
        sections,
    )


def coverage() -> str:
    """How far each operation and each attribute is decoded."""
    by_protocol: dict[str, list[dict[str, object]]] = {}
    for row in json.loads(_core("operations")):
        by_protocol.setdefault(row["protocol"], []).append(row)
    counts = [
        f"| `{name}` | {len(rows)} | {sum(bool(row['decoded']) for row in rows)} |"
        for name, rows in by_protocol.items()
    ]
    sections = ["| protocol | operations | decoded |\n| --- | --- | --- |\n" + _lines(counts)]
    for name, rows in by_protocol.items():
        lines = [
            f"| `{row['name']}` | {'decoded' if row['decoded'] else 'counted only'} "
            f"| {row['source']} |"
            for row in rows
        ]
        head = "| operation | arguments and results | source |\n| --- | --- | --- |\n"
        sections.append(f"## `{name}`\n\n{head}{_lines(lines)}")
    lines = [
        f"| {row['number']} | `{row['name']}` | {row['first_minor']} "
        f"| {'kept' if row['kept'] else 'skipped'} |"
        for row in json.loads(_core("attributes"))
    ]
    head = "| number | attribute | since minor | value |\n| --- | --- | --- | --- |\n"
    sections.append(
        "## Attributes of NFSv4\n\n*Kept*: the tables have its value. *Skipped*: its value is "
        f"read, so that those behind it are found, and not kept.\n\n{head}{_lines(lines)}"
    )
    return _page(
        "Coverage",
        "How far each operation is read. *Decoded*: arguments and results are read to their end, "
        "and bytes left over are told (`trailing`). *Counted only*: named and timed. Of encrypted "
        "bodies (RPCSEC_GSS privacy) the procedure is counted and timed, of TLS only the bytes are "
        "counted.",
        sections,
    )


def reasons() -> str:
    """Every reason for which something was not decoded."""
    rows = [
        f"| `{row['code']}` | {row['meaning'].strip()} |" for row in json.loads(_core("reasons"))
    ]
    table = "| code | meaning |\n| --- | --- |\n" + _lines(rows)
    return _page(
        "Reasons",
        "Why a message was not decoded to its end: the keys of `trust.undecoded_reasons`, and the "
        "column `reason` of the table notes.",
        [table],
    )


def definitions() -> str:
    """The definitions as they stand, with a list of the words that each section defines."""
    page = (HERE / "definitions.md").read_text(encoding="utf-8")
    head, rest = page.split(f"{CONTENTS}\n", 1)
    body = rest.split(f"{END}\n", 1)[1]
    return f"{head}{CONTENTS}\n{_lines(list(_contents(body)))}{END}\n{body}"


PAGES: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "json": json_keys,
    "tables": tables,
    "operations": operations,
    "coverage": coverage,
    "findings": findings,
    "reasons": reasons,
    "definitions": definitions,
}


def main(arguments: list[str]) -> int:
    """Write or compare the pages named, or all."""
    check = "--check" in arguments
    names = [name for name in arguments if name != "--check"] or list(PAGES)
    unknown = [name for name in names if name not in PAGES]
    if unknown:
        print(f"no such page: {', '.join(unknown)}; there are {', '.join(PAGES)}", file=sys.stderr)
        return 2
    status = 0
    for name in names:
        path, text = HERE / f"{name}.md", PAGES[name]()
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"docs/{path.name} is out of date: run python docs/generate.py", file=sys.stderr)
            status = 1
    return status


def _core(function: str) -> str:
    """What the decoder says of itself."""
    text = getattr(import_module("pcapnfs._core"), function)()
    assert isinstance(text, str)
    return text


def _json_type(hint: object) -> tuple[str, type | None, str]:
    """How JSON has a field: its type, the result inside, and the mark for a list or free keys."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        (inner,) = [argument for argument in arguments if argument is not types.NoneType]
        kind, result, suffix = _json_type(inner)
        return f"{kind} or null", result, suffix
    if origin is typing.Literal:
        return " or ".join(f"`{value}`" for value in arguments), None, ""
    if origin in (tuple, Sequence):
        kind, result, suffix = _json_type(arguments[0])
        return f"list of {kind}", result, "[]" + suffix
    if isinstance(origin, type) and issubclass(origin, Mapping):
        kind, result, suffix = _json_type(arguments[1])
        return f"object of {kind}", result, "{}" + suffix
    if isinstance(hint, type) and issubclass(hint, Record):
        return "object", hint, ""
    if origin is typing.Literal:
        return _json_type(type(arguments[0]))
    names: dict[object, str] = {int: "integer", float: "number", str: "string", bool: "boolean"}
    return names[hint], None, ""


def _contents(page: str) -> Iterator[str]:
    """An item for each section of a page, with the words that it defines."""
    for section in re.split(r"^(?=#{2,3} )", page, flags=re.M)[1:]:
        heading = section.splitlines()[0]
        words: list[str] = []
        for table in re.findall(r"(?:^\|.*\n)+", section, re.M):
            first = [row.split("|")[1].strip() for row in table.splitlines()]
            if first[0] in DEFINES:
                words += [word for cell in first[2:] for word in cell.split(", ")]
        words += re.findall(r"^(?:- )?\*{1,2}([A-Z][^*]+)\*{1,2}", section, re.M)
        told = f": {', '.join(dict.fromkeys(words))}" if words else ""
        yield f"{_item(heading)}{told}"


def _anchor(title: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _item(heading: str) -> str:
    """A link to a section; one of a part does not say again of what."""
    level, title = heading.split(" ", 1)
    told = re.sub(r" of `[^`]*`$", "", title)
    return f"{'  ' * (len(level) - 2)}- [{told}](#{_anchor(title)})"


def _page(title: str, introduction: str, sections: list[str]) -> str:
    """A page; of many sections with a list of them, and of the parts of each."""
    contents = ""
    if len(sections) > FEW:
        headings = re.findall(r"^(###? .*)$", "\n".join(sections), re.M)
        contents = _lines([_item(heading) for heading in headings]) + "\n"
    return f"{GENERATED}# {title}\n\n{introduction}\n\n{contents}" + "\n".join(sections)


def _lines(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
