"""Writes docs/captures.md: what pcapnfs says of every capture of the corpus.

    python -m tests.oracles.survey

The corpus is found as the tests find it (`PCAPNFS_CORPUS`); where it is absent the page stays as it
is. Read the difference before you keep it: each changed number is either meant or a bug.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pcapnfs
from pcapnfs import columns
from pcapnfs.analyses.captured import trust
from pcapnfs.cli import without_nfs
from tests.oracles.corpus import Capture, corpus_path, lab_captures, other_captures
from tests.oracles.incomplete import INCOMPLETE, pattern_for

PAGE = Path(__file__).resolve().parents[2] / "docs" / "captures.md"

NO_CAPTURES = (".json", ".md", ".ref")
"""Files of the corpus that belong to captures and are none."""

READS = columns.together(trust.READS, without_nfs.READS)
"""The columns that are asked for here."""

FOLDERS = {
    "lab": "A Linux client and server (kernels 6.1 and 6.12), with the kernels' own counters.",
    "other": "NFS-Ganesha, nfs4j, go-nfs, libnfs, a client that counts its calls, and pNFS.",
    "public": "Captures that other projects publish as test material, packed as they are.",
}
"""The folders of the corpus, and what is in them."""


@dataclass(frozen=True, slots=True)
class Row:
    """What pcapnfs says of one capture."""

    name: str
    """Folder and name, as in the corpus."""
    packets: int = 0
    calls: int = 0
    matched: int = 0
    unanswered: int = 0
    orphan_replies: int = 0
    undecoded: Mapping[str, int] | None = None
    """Messages by code of the reason; None where nothing was decoded."""
    protocols: Mapping[str, int] | None = None
    """Calls by protocol; None where nothing was decoded."""
    complete: bool = False
    error: str | None = None
    """The sentence with which commands refuse it; None when they take it."""

    @property
    def why(self) -> str:
        """Why it is not complete, as tests/oracles/incomplete.py has it; empty when it is not
        named there."""
        pattern = pattern_for(self.name)
        return INCOMPLETE[pattern] if pattern is not None else ""


def captures() -> dict[str, tuple[Path, ...]]:
    """The files of every capture of the corpus, by folder and name; empty without a corpus."""
    root = corpus_path()
    if root is None:
        return {}
    found = {name: capture.files for name, capture in described().items()}
    for path in sorted((root / "public").rglob("*")):
        if path.is_file() and path.suffix not in NO_CAPTURES:
            found[str(path.relative_to(root))] = (path,)
    return found


def described() -> dict[str, Capture]:
    """Those of which is known how they were made, which other tests have open as well."""
    named = (("lab", lab_captures()), ("other", other_captures()))
    return {f"{folder}/{item.name}": item for folder, items in named for item in items}


def row(name: str, files: Iterable[Path]) -> Row:
    """Decode one capture."""
    paths = [str(path) for path in files]
    try:
        with pcapnfs.open(paths, columns=READS) as trace:
            return told(name, trace, paths)
    except pcapnfs.CaptureError as error:
        return Row(name, error=_nameless(str(error), paths))


def told(name: str, trace: pcapnfs.Trace, paths: list[str]) -> Row:
    """What is said of a capture that is decoded."""
    said = trust.trust(trace)
    protocols = trace.sql("select protocol, count(*) from calls group by 1 order by 1")
    return Row(
        name=name,
        packets=sum(file.packets for file in trace.meta.files),
        calls=said.rpc_calls,
        matched=said.matched,
        unanswered=said.unanswered,
        orphan_replies=said.orphan_replies,
        undecoded=said.undecoded_reasons,
        protocols=dict(protocols.fetchall()),
        complete=said.complete,
        error=_refusal(trace, paths),
    )


def _refusal(trace: pcapnfs.Trace, paths: list[str]) -> str | None:
    """The sentence with which the commands refuse a capture that holds no NFS."""
    try:
        without_nfs.demand_nfs(trace)
    except pcapnfs.CaptureError as error:
        return _nameless(str(error), paths)
    return None


def _nameless(message: str, paths: list[str]) -> str:
    """A message without the paths of this machine at its beginning."""
    return message.removeprefix(f"{', '.join(paths)}: ")


def survey() -> list[Row]:
    """Decode every capture of the corpus."""
    return [row(name, files) for name, files in captures().items()]


def page(rows: Iterable[Row]) -> str:
    """The text of docs/captures.md."""
    rows = list(rows)
    sections = [
        section(folder, meaning, [row for row in rows if row.name.startswith(f"{folder}/")])
        for folder, meaning in FOLDERS.items()
    ]
    introduction = (
        "What pcapnfs says of every capture that it is tested with. *Why* stands where something "
        "is missing or undecoded. [Reasons](reasons.md) are those of `trust.undecoded_reasons`; "
        "protocols are counted in calls. What the numbers are held against: the tests "
        "`tests/test_lab.py`, `tests/test_other.py` and "
        "`tests/test_public.py`."
    )
    mark = "<!-- Written by tests/oracles/survey.py: change the code, not this page. -->\n"
    return f"{mark}# Captures\n\n{introduction}\n\n" + "\n".join(sections)


def section(folder: str, meaning: str, rows: list[Row]) -> str:
    """The table of one folder, and the refusals of those of its files that hold no NFS."""
    accepted = [row for row in rows if row.error is None]
    refused = [row for row in rows if row.error is not None]
    titles = ("capture", "packets", "calls", "matched", "unanswered", "replies without call")
    head = _line((*titles, "undecoded", "protocols", "why"))
    rule = "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- | --- |\n"
    lines = [_cells(item) for item in (*accepted, _total(accepted))]
    text = f"## {folder}\n\n{meaning}\n\n{head}{rule}{''.join(lines)}"
    if refused:
        text += "\nRefused, with exit status 1 and this sentence:\n\n" + _line(("file", "sentence"))
        text += "| --- | --- |\n"
        text += "".join(map(_refused, refused))
    return text


def line(item: Row) -> str:
    """The line of one capture."""
    return _cells(item) if item.error is None else _refused(item)


def written() -> list[Row]:
    """What the page says of each capture; whether it is complete, it does not say."""
    rows, folder = [], ""
    for text in PAGE.read_text(encoding="utf-8").splitlines():
        folder = text.removeprefix("## ") if text.startswith("## ") else folder
        cells = text.removeprefix("| ").removesuffix(" |").split(" | ")
        name = f"{folder}/{cells[0]}"
        if cells[0] == "file" or not text.startswith("| "):
            continue
        if len(cells) == 2 and not cells[0].startswith("---"):
            rows.append(Row(name, error=cells[1]))
        elif len(cells) == 9 and cells[1].isdigit() and not cells[0].endswith(" captures"):
            packets, calls, matched, unanswered, orphans = map(int, cells[1:6])
            undecoded, protocols = map(_counted, cells[6:8])
            rows.append(
                Row(name, packets, calls, matched, unanswered, orphans, undecoded, protocols)
            )
    return rows


def _counted(cell: str) -> dict[str, int]:
    """What `_counts` wrote."""
    pairs = (part.rsplit(" ", 1) for part in cell.split(", ") if part)
    return {name: int(number) for name, number in pairs}


def _total(rows: list[Row]) -> Row:
    undecoded: Counter[str] = Counter()
    for item in rows:
        undecoded.update(item.undecoded or {})
    return Row(
        name=f"/{len(rows)} captures",
        packets=sum(item.packets for item in rows),
        calls=sum(item.calls for item in rows),
        matched=sum(item.matched for item in rows),
        unanswered=sum(item.unanswered for item in rows),
        orphan_replies=sum(item.orphan_replies for item in rows),
        undecoded=undecoded,
    )


def _cells(item: Row) -> str:
    numbers = (item.packets, item.calls, item.matched, item.unanswered, item.orphan_replies)
    return _line(
        (
            _short(item),
            *(f"{number}" for number in numbers),
            _counts(item.undecoded),
            _counts(item.protocols),
            item.why,
        )
    )


def _refused(item: Row) -> str:
    return _line((_short(item), item.error or ""))


def _short(item: Row) -> str:
    return item.name.partition("/")[2]


def _counts(counts: Mapping[str, int] | None) -> str:
    return ", ".join(f"{name} {counts[name]}" for name in sorted(counts)) if counts else ""


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def main() -> int:
    """Write the page; without a corpus, say that it stays as it is."""
    rows = survey()
    if not rows:
        sys.stderr.write("no corpus of captures: docs/captures.md stays as it is\n")
        return 0
    PAGE.write_text(page(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
