"""A trace in which names are pseudonyms, for reports that are given away without the capture.

Takes captures and a key; gives the trace of the capture that `redact` would write. Nothing of the
originals is in it: they are redacted into a temporary file, and that is decoded. Promises that all
figures are those of the captures, and that frames have the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pcapnfs import decoding, opening, redaction, temporary, units, usage
from pcapnfs.errors import PcapnfsError, WriteError
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from pcapnfs.columns import Columns
    from pcapnfs.trace import Trace


class Pseudonyms(Record):
    """How names become pseudonyms."""

    key: bytes | None = None
    """32 bytes; equal keys give equal pseudonyms, as in `redact`. None: one that nobody knows
    afterwards."""
    strict: bool = False
    """Whether endings of names are replaced, too."""


def open(
    paths: usage.PathLike | Sequence[usage.PathLike],
    pseudonyms: Pseudonyms,
    *,
    memory: int | str | None = None,
    ports: Sequence[int] = (),
    columns: Columns | None = None,
    progress: decoding.Progress | None = None,
) -> Trace:
    """Decode captures as if they had been redacted before.

    In `Trace.meta` the files are called `capture-1`, `capture-2` … in order of time, since the
    name of a file and the directories that it is in tell something, too; what else is known of them
    (format, size, where they break off) is that of the originals.

    Args:
        paths: One capture, or several that are one stream; they are read twice.
        pseudonyms: How names become pseudonyms.
        memory: As of `pcapnfs.open`.
        ports: As of `pcapnfs.open`.
        columns: As of `pcapnfs.open`.
        progress: Called now and then with bytes done and bytes in all, while redacting.

    Raises:
        CaptureError: A file cannot be opened, or is no capture.
        UsageError: A trace is named, or standard input; the key has another length.
        PcapnfsError: There is no room for the temporary file.
    """
    named = usage.named(paths)
    with temporary.scratch() as scratch:
        # Compressed, since it is only written and read once.
        target = scratch / "redacted.pcap.zst"
        try:
            _, files = redaction.redact_knowing(
                named,
                target,
                key=pseudonyms.key,
                strict=pseudonyms.strict,
                ports=ports,
                memory=units.parse_memory(memory) if isinstance(memory, str) else memory,
                progress=progress,
            )
        except PcapnfsError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            raise WriteError(
                f"{error}; TMPDIR names another place for the redacted capture"
            ) from error
        trace = opening.open(target, memory=memory, ports=ports, columns=columns)
    called = tuple(replace(file, path=f"capture-{place}") for place, file in enumerate(files, 1))
    trace.meta = replace(trace.meta, files=called)
    return trace
