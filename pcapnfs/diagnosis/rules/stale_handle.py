"""Handles of files that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Explanation, Observed, Rule
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.namespace.stale_handles import StaleFile, StaleHandles
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "stale_handle.least",
    1,
    "calls",
    "refused, below which nothing is reported",
    "default of this tool",
)

RACE_S = 1.0
"""So long after its own removal was answered, at most, a client's call still raced with it: a
program had looked the file up before, and went on. Later, whoever uses the handle had it open, or
sits on another machine behind the same address."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server. A handle refused once was looked up anew, as a rule."""
    for pair in material.stale_handles:
        if pair.calls < values[LEAST.name]:
            continue
        told = _explanation(pair)
        again = pair.calls > max(pair.files, 1) and told not in {_ALIVE, _CUT, _RACE}
        sure = told in {_ALIVE, _EXPIRED} or (told in {_GONE, _RACE} and pair.told)
        ended = pair.told and told != _EXPIRED
        yield Observed(
            severity="warning" if again or told == _FORGOTTEN else "note",
            title=told.title,
            seen=f"The server answered {units.counted(pair.calls, 'call')}"
            + (f" on {units.counted(pair.files, 'file')}" if pair.files else "")
            + f" with {_answers(pair)}."
            + "".join(f" {_file(file, told=ended)}" for file in pair.shown),
            why=told.why,
            advice=told.advice,
            calls=pair.calls,
            confidence="certain" if sure else "likely",
            data=units.counted(pair.calls, "call"),
            frames=pair.frames,
            about=(pair.client, pair.server),
        )


def _explanation(pair: StaleHandles) -> Explanation:
    """By what became of the files that are told."""
    expired = pair.expired == pair.calls
    if not pair.shown:
        return _EXPIRED if expired else _GONE if pair.told else _CUT
    if all(file.next_use_frame is not None for file in pair.shown):
        return _ALIVE
    if all(_raced(pair, file) for file in pair.shown):
        return _RACE
    if expired and any(file.remover is None for file in pair.shown):
        return _EXPIRED
    if any(file.next_use_frame is not None or file.remover is not None for file in pair.shown):
        return _GONE
    if all(file.renamed_frame is not None for file in pair.shown) and (
        pair.unfound or any(file.other_frame is not None for file in pair.shown)
    ):
        return _RENAMED
    if pair.forgotten:
        return _FORGOTTEN
    return _OTHERS if all(file.other_frame is not None for file in pair.shown) else _GONE


def _raced(pair: StaleHandles, file: StaleFile) -> bool:
    """Whether the client removed the file itself while it was about to use it."""
    return (
        file.next_use_frame is None
        and file.remover == pair.client
        and file.after_removal_s is not None
        and file.after_removal_s <= RACE_S
    )


def _answers(pair: StaleHandles) -> str:
    """The statuses, most first."""
    by_status = {
        "STALE": pair.calls - pair.expired - pair.unfound,
        "FHEXPIRED": pair.expired,
        "NOENT, though they name nothing but a handle": pair.unfound,
    }
    return " or ".join(
        status for status, calls in sorted(by_status.items(), key=lambda each: -each[1]) if calls
    )


_WHERE_GONE = (
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

_ALIVE = Explanation(
    title="The server refused handles that it honoured later",
    why="The files exist: the server answers so what it does not support, or did so for a "
    "moment only (a failover, an export that is being changed).",
    advice=(
        Advice(
            "Show the server's vendor the example frames, and the frames after them in which the "
            "handle works."
        ),
    ),
)

_RENAMED = Explanation(
    title="The server's handles do not survive a rename",
    why="The files had been renamed, and what had been their handles until then was refused, "
    "though a persistent handle is to stay as long as its file (RFC 8881 section 4.2.2). Some "
    "servers make handles of paths, as gateways in user space do: then a file that is renamed gets "
    "another one. A client looks the path up again once, which costs calls; a program that has the "
    "file open gets ESTALE or ENOENT, and data not yet written is lost.",
    advice=(
        Advice(
            "See whether the server can make handles that go with the file and not with its path "
            "(an option, another back end, a newer version); if not, show its vendor the example "
            "frames."
        ),
        Advice(
            "Until then keep programs off it that rename what they, or others, have open (editors, "
            "log rotation, databases, git), or have them close files before."
        ),
    ),
)

_EXPIRED = Explanation(
    title="The server let handles expire",
    why="Its handles are volatile: they hold until the server says otherwise (a restart, memory "
    "that ran short, a rename, a migration), and the files stay where they are (RFC 7530 and RFC "
    "8881 section 4.2.3). A client has to look each path up again, which costs calls each time; "
    "where it cannot, a program that has the file open gets an error, and data not yet written is "
    "lost.",
    advice=(
        Advice(
            "See whether the server can give handles that persist, or keep more of them for longer "
            "(servers in user space: a cache or database of handles); if not, show its vendor the "
            "example frames."
        ),
        Advice(
            "Until then keep programs off it that have files open for long (databases, logs, "
            "virtual machines)."
        ),
    ),
)

_OTHERS = Explanation(
    title="The server gave files other handles",
    why="The files exist: the capture shows each of them under another handle, which works. A "
    "persistent handle is to stay as long as its file (RFC 1813 section 2.6, RFC 8881 section "
    "4.2.2); it changes where the server makes handles of what changes (paths, numbers of devices, "
    "memory), or no longer exports the place through which the first one came. A client looks the "
    "path up again once; a program that has the file open gets ESTALE, and data not yet written is "
    "lost.",
    advice=(
        Advice(
            "See what changed on the server between the last good use and the refusal (exportfs, "
            "a failover, a restart), and give the export an identity that stays (Linux: fsid= in "
            "/etc/exports)."
        ),
        Advice(
            "If nothing did, show the server's vendor the example frames, and those in which the "
            "other handles work."
        ),
    ),
)

_FORGOTTEN = Explanation(
    title="The server lost its handles at a restart",
    why="The client came over a new connection, after the server had reset the one before or was "
    "not there to take another: so it does as it is stopped and started. It knows none of the "
    "handles of before any more, but roots of exports. Servers in user space may keep "
    "handles in memory alone; others make them of what changes at a start, as the number of a "
    "device. Whatever programs have open then fails (ESTALE), and data not yet written is lost.",
    advice=(
        Advice("Mount again at each client (umount -l where programs hold on to the mount)."),
        Advice(
            "Give the server handles that outlive a restart: on Linux fsid= in /etc/exports, for "
            "file systems without a UUID of their own (tmpfs, overlay, FUSE); in servers in user "
            "space a database or cache of handles on disk (rclone: --nfs-cache-type disk)."
        ),
    ),
)

_CUT = Explanation(
    title="The server refused handles that the capture does not hold",
    why="The files were removed or replaced behind the client's back, or exist, and the "
    "server refused them for a moment only. Whether the same handles work later would "
    "tell which, but the packets were cut before them.",
    advice=_WHERE_GONE,
)

_GONE = Explanation(
    title="The client used handles of files that no longer exist",
    why="The file or directory was removed or replaced behind the client's back: on the "
    "server, by another client, or by a restored or failed-over file system. A client "
    "looks the path up again once; a program that has the file open, or works in the "
    "directory, gets ESTALE, and data not yet written is lost.",
    advice=_WHERE_GONE,
)


_RACE = Explanation(
    title="The client used handles of files that it was removing itself",
    why="One program on the client removed or replaced the files while another one was about to "
    "use them: the calls came while that was under way, or right behind it. Nobody else changed "
    "anything, and no data is lost but that of files that were to go. A client looks the path up "
    "again once, and finds that the file is gone, as it would on a local disk.",
    advice=(
        Advice(
            "Nothing is to be mended at the server or in mount options. If a program fails for it "
            "(ESTALE), do not let it look through files that another one is replacing, as git "
            "status beside git checkout: run one after the other."
        ),
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
        ended = "replaced" if file.remover_op == "RENAME" else "removed"
        text += f"; {file.remover} {ended} it ({file.remover_op} in frame {file.remover_frame})"
    elif file.renamed_frame is not None:
        text += f"; it was renamed in frame {file.renamed_frame}"
        if file.other_frame is not None:
            text += f", and has another handle (used well in frame {file.other_frame})"
    elif file.other_frame is not None:
        text += f"; it has another handle (used well in frame {file.other_frame})"
    elif file.last_use_frame is not None and told:
        text += "; no call in the capture removed it"
    return text + "."


RULE = Rule(
    id="stale_handle",
    title="Stale file handles",
    origin="RFC 1813 section 2.6 (NFS3ERR_STALE), RFC 8881 sections 4.2.2, 4.2.3 and 15.1.2.9",
    judge=judge,
    thresholds=(LEAST,),
)
