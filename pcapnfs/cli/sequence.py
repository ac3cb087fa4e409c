"""`pcapnfs sequence`: the calls of one file in order of time."""

from __future__ import annotations

from itertools import chain
from typing import Annotated

import typer

from pcapnfs import columns, views
from pcapnfs.cli import options, output
from pcapnfs.errors import UsageError
from pcapnfs.text import argument


def sequence(
    captures: options.CapturesOrLast = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            parser=argument,
            metavar="PATH|HANDLE",
            help="A path, the last part of one, or a file handle.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            parser=argument,
            metavar="GLOB",
            help="Files that match this pattern instead, such as *.c or src/*.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, options.top("Files")] = 3,
    calls: Annotated[
        int,
        typer.Option(
            "--calls", min=0, metavar="N", help="Calls to show of each file; 0 shows all."
        ),
    ] = 100,
    wireshark: Annotated[
        bool,
        typer.Option(
            "--wireshark", help="Print Wireshark's display filter for these frames instead."
        ),
    ] = False,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show what happened to a file, call by call: frames, gaps, times, operations.

    Example: pcapnfs sequence slow.pcap --file src/main.c
    """
    from pcapnfs.analyses.by_file import sequence as analysis
    from pcapnfs.analyses.captured import trust as trusting
    from pcapnfs.views import document, numbered

    if json and wireshark:
        raise UsageError("either --json or --wireshark, not both")
    if (file is None) == (name is None):
        raise UsageError("say which file: --file with a path or handle, or --name with a pattern")
    reads = columns.together(analysis.READS, trusting.READS)
    with options.open_trace(captures, port, memory, reads, of_files=True) as trace:
        meant = analysis.wanted(trace, file=file, name=name, top=top, calls=calls)
        found = analysis.of_files(trace, meant.files, calls=meant.calls)
        if wireshark:
            streams = trace.meta.streams
            for stream, pieces in views.sequence.display_filters(found, streams):
                if len(streams) > 1:
                    output.tell(f"in {numbered.name(stream)}:")
                output.write(chain(pieces, ["\n"]))
            if len(streams) == 1 and (counted := numbered.unless_plain(streams)):
                output.tell(counted)
        elif json:
            output.warn(trusting.trust(trace))
            head = {"matches": meant.matches, "others": meant.others}
            output.write(document.indented(head, "files", found))
        else:
            rest = meant.matches - len(meant.files)
            drawn = views.sequence.screens(
                found, rest, meant.matches, meant.others, trace.meta.streams
            )
            output.screens(drawn, trusting.trust(trace))
