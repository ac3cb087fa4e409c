"""`pcapnfs report`: all of it in one file, for the support case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pcapnfs.cli import options, output
from pcapnfs.errors import UsageError

if TYPE_CHECKING:
    from pcapnfs.redacted import Pseudonyms
    from pcapnfs.report import Report

Format = Literal["html", "md", "json"]
"""How a report may be written."""

DEFAULT = Path("report")
"""Where it is written unless something else is named, with the ending of its format."""


def report(
    captures: options.CapturesOrLast = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Output file; default: report.html (.md, .json); - is standard output.",
            show_default=False,
            readable=False,
        ),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="Output format; default: by the extension of the file name, else html.",
            show_default=False,
        ),
    ] = None,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Replace names, addresses and users by pseudonyms, as pcapnfs redact does.",
        ),
    ] = False,
    key: options.Key = None,
    strict: options.Strict = False,
    threshold: options.Thresholds = None,
    config: options.Config = None,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file, but no capture.")
    ] = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Write a report for a support case: one file that opens anywhere, offline.

    With --redact it holds pseudonyms for names, addresses and users (docs/redaction.md).

    Example: pcapnfs report slow.pcap -o case.html --redact --key support.key
    """
    from pcapnfs import placement, rewriting
    from pcapnfs import report as contents
    from pcapnfs.cli import files

    options.demand_one_form(form, json=json)
    target = to or DEFAULT.with_suffix(f".{'json' if json else form or 'html'}")
    files.refuse(target, force=force)
    named = options.named(captures, port)
    paths = [Path(path) for path in named.paths]
    rewriting.demand_another(paths, target)
    chosen: Format = "json" if json else form or _by_ending(target)
    values = options.thresholds_of(threshold, config)
    pseudonyms = _pseudonyms(key, paths, target, redact=redact, strict=strict)
    with options.open_trace(
        paths, named.ports, memory, contents.READS, pseudonyms=pseudonyms
    ) as trace:
        found = contents.report(trace, values=values, redacted=redact)
    text = _written(found, chosen)
    if str(target) == placement.STANDARD_OUTPUT:
        output.write_document([text])
        return
    files.replace(target, [text], force=force)
    if to is None:
        output.tell(f"written to {target}; -o names another file")


def _pseudonyms(
    key: Path | None, captures: Sequence[Path], target: Path, *, redact: bool, strict: bool
) -> Pseudonyms | None:
    """How names become pseudonyms, with a key that is in none of the files; None: not at all."""
    if not redact:
        if key is not None or strict:
            raise UsageError("--key and --strict say how to --redact, which is not asked for")
        return None
    from pcapnfs import redacted, redaction

    known = None
    if key is not None:
        redaction.demand_apart(key, [*captures, target])
        known = redaction.read_key(key, captures)
    return redacted.Pseudonyms(known, strict)


def _by_ending(path: Path) -> Format:
    """How to write a file of this name.

    Raises:
        UsageError: It ends like another kind of file.
    """
    match path.suffix.lower():
        case ".md" | ".markdown":
            return "md"
        case ".json":
            return "json"
        case "" | ".html" | ".htm":
            return "html"
        case ending:
            raise UsageError(
                f"a report is no {ending} file; name it .html, .md or .json, or say which with "
                "--format"
            )


def _written(found: Report, form: Format) -> str:
    match form:
        case "json":
            from pcapnfs.views import document

            return document.to_json(found)
        case "md":
            from pcapnfs.views.report import markdown

            return markdown.markdown(found)
        case "html":
            from pcapnfs.views.report import page

            return page.html(found)
