"""`pcapnfs redact`: the capture without names and data, to be given away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pcapnfs.cli import options, output
from pcapnfs.cli.progress import progress


def redact(
    captures: Annotated[
        list[Path],
        typer.Argument(
            metavar="IN...",
            help=f"Capture files that belong together: {options.READ}.",
            show_default=False,
            readable=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The redacted capture; names in .gz and .zst compress it.",
            readable=False,
        ),
    ],
    key: options.Key = None,
    strict: options.Strict = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Forgetting = None,
) -> None:
    """Replace names, addresses and users by pseudonyms and remove all data (docs/redaction.md).

    The redacted capture gives the same analysis, except for names.

    Example: pcapnfs redact slow.pcap redacted.pcap.gz --key support.key
    """
    from pcapnfs import redaction
    from pcapnfs.views import document
    from pcapnfs.views import redact as view

    with progress() as shown:
        result = redaction.redact(
            captures,
            out,
            key=key,
            strict=strict,
            overwrite=force,
            ports=port or (),
            memory=options.limit_of(memory),
            progress=shown,
        )
    output.only_tells()
    if json:
        output.write([document.to_json(result)])
    else:
        output.screen(view.screen(result, str(out), with_key=key is not None))
