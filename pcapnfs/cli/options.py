"""Options that commands share, and how they become a trace.

Takes what the user typed; gives an open `Trace` that holds NFS or a mount, or raises the sentence
that says why not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcapnfs import columns, units
from pcapnfs.cli import last, output, without_nfs
from pcapnfs.cli.progress import progress
from pcapnfs.errors import UsageError
from pcapnfs.text import escape, some
from pcapnfs.views.trust import DAMAGES_TOLD, also_damaged

if TYPE_CHECKING:
    from pcapnfs.columns import Columns
    from pcapnfs.diagnosis.thresholds import Values
    from pcapnfs.meta import Meta
    from pcapnfs.redacted import Pseudonyms
    from pcapnfs.trace import Trace

NAMED = 4
"""Captures that are named; the rest is counted."""

READ = "pcap, pcapng, snoop or iptrace, may be compressed"
"""What captures may be."""

Captures = Annotated[
    list[Path],
    typer.Argument(
        metavar="CAPTURE...",
        help=f"Capture files that belong together: {READ}; - is standard input.",
        show_default=False,
        readable=False,
    ),
]
CapturesOrTraces = Annotated[
    list[Path],
    typer.Argument(
        metavar="CAPTURE...",
        help=f"Capture files that belong together: {READ}; - is standard input. Or traces of them.",
        show_default=False,
        readable=False,
    ),
]
CapturesOrLast = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="CAPTURE...",
        help="Capture files that belong together, or traces; default: those of the previous "
        "command.",
        show_default=False,
        readable=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON (docs/json.md).")]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet",
        help="CSV: put an apostrophe before text that a spreadsheet would take for a formula.",
    ),
]
Ports = Annotated[
    list[int] | None,
    typer.Option(
        "--port",
        min=1,
        max=65535,
        metavar="PORT",
        help="Expect NFS on this port, besides those that are recognised; may be repeated.",
        show_default=False,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory limit, such as 512M or 4G (at least 128M), beyond which the disk is used, and "
        "up to 150M more for a while; default: half of what is free.",
        show_default=False,
    ),
]
Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="NAME=VALUE",
        help="Set a threshold of a rule (docs/findings.md); may be repeated.",
        show_default=False,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Read thresholds from the table [thresholds] of a TOML file.",
        show_default=False,
        readable=False,
    ),
]
Forgetting = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory limit, such as 512M or 4G (at least 128M). Default: half of what is free. "
        "When it is full, the files used longest ago are forgotten; the redacted capture is the "
        "same.",
        show_default=False,
    ),
]

Key = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Key file, created if it does not exist. What is redacted with the same key can be "
        "compared. Keep it secret.",
        show_default=False,
        readable=False,
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Also replace file name extensions such as .txt.")
]


def top(what: str) -> object:
    """The option --top: how many of these rows to show."""
    return typer.Option("--top", min=0, metavar="N", help=f"{what} to show; 0 shows all.")


def limit_of(memory: str | None) -> int | None:
    """The limit of memory in bytes; None: none was given.

    Raises:
        UsageError: It is no size, or less than any command keeps to.
    """
    if memory is None:
        return None
    from pcapnfs.memory import LEAST_BYTES, most

    limit = units.parse_memory(memory)
    if limit < LEAST_BYTES:
        raise UsageError(
            f"--memory {memory} is less than a command needs whatever is asked: "
            f"{LEAST_BYTES >> 20}M is the least"
        )
    bound = most()
    if bound is not None and limit > bound:
        output.tell(
            f"--memory {memory} is more than ulimit -v or the control group leave: "
            f"{units.size(bound)} are taken at most"
        )
    return limit


def thresholds_of(settings: Sequence[str] | None, config: Path | None) -> Values:
    """The thresholds that findings are judged by.

    Args:
        settings: What --threshold was given.
        config: What --config was.

    Raises:
        UsageError: As of `thresholds.chosen`.
    """
    from pcapnfs.diagnosis import judging, thresholds

    return thresholds.chosen(judging.thresholds(), settings or (), config)


def demand_csv(*, csv: bool, spreadsheet: bool) -> None:
    """Refuse --spreadsheet for anything else.

    Raises:
        UsageError: Another form is to be written.
    """
    if spreadsheet and not csv:
        raise UsageError("only CSV is for spreadsheets")


def demand_one_form(form: str | None, *, json: bool, of_json: str = "json") -> None:
    """Refuse two ways to write a result.

    Args:
        form: What --format was given.
        json: Whether --json was.
        of_json: The form that --json stands for.

    Raises:
        UsageError: They contradict each other.
    """
    if json and form not in (None, of_json):
        raise UsageError(f"--json is --format {of_json}, and --format {form} was given as well")


def open_trace(
    captures: Sequence[Path] | None,
    ports: Sequence[int] | None,
    memory: str | None,
    reads: Columns | None = None,
    *,
    of_files: bool = False,
    stored: bool = False,
    pseudonyms: Pseudonyms | None = None,
) -> Trace:
    """Open the captures or traces named, or those of the previous command, and remember them.

    `reads` are the columns that the command will ask for; None: any. `of_files` says that it has
    nothing to say of a mount alone. `stored` is that of `pcapnfs.open`. With `pseudonyms` the
    captures are redacted first.

    Raises:
        CaptureError: A capture cannot be read, or there is no NFS in it, nor a mount.
        UsageError: No capture is named or remembered, or the memory limit is no size.
    """
    limit = limit_of(memory)
    chosen = named(captures, ports)
    from pcapnfs import opening, redacted

    wanted = None if reads is None else columns.together(without_nfs.READS, reads)
    with progress() as report:
        if pseudonyms is not None:
            trace = redacted.open(
                chosen.paths,
                pseudonyms,
                memory=limit,
                ports=chosen.ports,
                columns=wanted,
                progress=report,
            )
        else:
            trace = opening.open(
                chosen.paths,
                memory=limit,
                ports=chosen.ports,
                columns=wanted,
                stored=stored,
                progress=report,
            )
    try:
        without_nfs.demand_nfs(trace, of_files=of_files)
    except BaseException:
        trace.close()
        raise
    opened(chosen, trace.meta)
    return trace


def named(captures: Sequence[Path] | None, ports: Sequence[int] | None) -> last.Captures:
    """The captures or traces named, or those of the previous command.

    Raises:
        UsageError: None is named or remembered.
    """
    chosen = last.Captures(tuple(str(path) for path in captures or ()), tuple(ports or ()))
    if chosen.paths:
        return chosen
    remembered = last.recall()
    if remembered is None:
        raise UsageError("name a capture; no previous command used one")
    output.tell(f"using {some(remembered.paths, NAMED)} of the previous command")
    return last.Captures(remembered.paths, chosen.ports or remembered.ports)


def opened(chosen: last.Captures, meta: Meta) -> None:
    """Remember what was read for the next command, and tell where it is damaged."""
    last.remember(chosen)
    tell_damage([f"{file.path}: {file.damage}" for file in meta.files if file.damage is not None])


def tell_damage(damage: Sequence[str]) -> None:
    """Tell where captures are damaged; of a rotation, hundreds may be."""
    for each in damage[:DAMAGES_TOLD]:
        output.tell(escape(each))
    if rest := also_damaged(damage):
        output.tell(rest)
