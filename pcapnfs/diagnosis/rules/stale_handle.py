"""Handles of files that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.namespace.stale_handles import StaleFile
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "stale_handle.least",
    1,
    "calls",
    "refused, below which nothing is reported",
    "default of this tool",
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server. A handle refused once was looked up anew, as a rule."""
    for pair in material.stale_handles:
        if pair.calls < values[LEAST.name]:
            continue
        alive = bool(pair.shown) and all(file.next_use_frame is not None for file in pair.shown)
        cut = not pair.shown and not pair.told
        yield Observed(
            severity="warning"
            if pair.calls > max(pair.files, 1) and not (alive or cut)
            else "note",
            title="The server refused handles that it honoured later"
            if alive
            else "The server refused handles that the capture does not hold"
            if cut
            else "The client used handles of files that no longer exist",
            seen=f"The server answered {units.counted(pair.calls, 'call')}"
            + (f" on {units.counted(pair.files, 'file')}" if pair.files else "")
            + f" with {'FHEXPIRED' if pair.expired == pair.calls else 'STALE'}."
            + "".join(f" {_file(file, told=pair.told)}" for file in pair.shown),
            why="The files exist: the server answers so what it does not support, or did so for a "
            "moment only (a failover, an export that is being changed)."
            if alive
            else "The files were removed or replaced behind the client's back, or exist, and the "
            "server refused them for a moment only. Whether the same handles work later would "
            "tell which, but the packets were cut before them."
            if cut
            else "The file or directory was removed or replaced behind the client's back: on the "
            "server, by another client, or by a restored or failed-over file system. A client "
            "looks the path up again once; a program that has the file open, or works in the "
            "directory, gets ESTALE, and data not yet written is lost.",
            advice=_REFUSED_ONCE if alive else _GONE,
            calls=pair.calls,
            confidence="certain" if alive or pair.told else "likely",
            data=units.counted(pair.calls, "call"),
            frames=pair.frames,
            about=(pair.client, pair.server),
        )


_REFUSED_ONCE = (
    Advice(
        "Show the server's vendor the example frames, and the frames after them in which the "
        "handle works."
    ),
)

_GONE = (
    Advice(
        "Find who replaces the files (deployment, log rotation, rsync on the server) "
        "and have it keep the old ones until nobody has them open."
    ),
    Advice(
        "If all files of an export are refused, mount again, and fix the export's "
        "identity (Linux: fsid= in /etc/exports): it changed at a failover, restore "
        "or new device number."
    ),
    Advice(
        "Where directories change on the server, a shorter acdirmax (for instance 10) "
        "makes the client notice earlier.",
        "more GETATTRs and LOOKUPs.",
    ),
)


def _file(file: StaleFile, *, told: bool) -> str:
    text = f"{file.path}: {units.counted(file.calls, 'time')} ({', '.join(file.operations[:4])})"
    if file.last_use_frame is not None:
        text += (
            f", last used well {units.duration(file.unused_s)} before in frame "
            f"{file.last_use_frame}"
        )
    if file.next_use_frame is not None:
        text += f", and well again in frame {file.next_use_frame}"
    elif file.remover is not None:
        text += f"; {file.remover} removed it ({file.remover_op} in frame {file.remover_frame})"
    elif file.last_use_frame is not None and told:
        text += "; no call in the capture removed it"
    return text + "."


RULE = Rule(
    id="stale_handle",
    title="Stale file handles",
    origin="RFC 1813 section 2.6 (NFS3ERR_STALE), RFC 8881 sections 4.2.3 and 15.1.2.9",
    judge=judge,
    thresholds=(LEAST,),
)
