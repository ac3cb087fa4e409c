"""Files removed while they are open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "silly_rename.least",
    1,
    "files",
    "renamed, below which nothing is reported",
    "default of this tool",
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    for pair in material.silly_renames:
        if pair.renames < values[LEAST.name]:
            continue
        claims = (Claim("stable", pair.time_s), *left_out(pair.beside))
        more = ", …" if pair.renames > len(pair.paths) else ""
        removed = f" Removed later: {units.count(pair.removed)}"
        if pair.longest_s is not None:
            removed += f", after {units.duration(pair.longest_s)} at most"
        left = f"; not in this capture: {', '.join(pair.left)}" if pair.left else ""
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="Files are removed while they are open",
            seen=f"The client renamed {units.counted(pair.renames, 'file')} to .nfs… instead of "
            f"removing {'it' if pair.renames == 1 else 'them'}: {', '.join(pair.paths)}{more}."
            f"{removed}{left}.",
            why="A program still has the file open, and the server would forget it. Each costs a "
            f"RENAME before the REMOVE, both stable{_BESIDE if pair.beside.calls else ''}. As long "
            "as the .nfs file is there it takes space, and its directory cannot be removed; if the "
            "client crashes it stays for ever.",
            advice=(_CLOSE, _CLEAR) if pair.left else (_CLOSE,),
            calls=pair.renames + pair.beside.calls,
            confidence="certain",
            data=units.counted(pair.renames, "such RENAME"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


_BESIDE = (
    ", a LOOKUP that finds the new name free, and mostly a GETATTR; what was written is sent and "
    "committed before"
)

_CLOSE = Advice(
    "Find the program that has it open on this client (lsof, fuser on the .nfs file), and have it "
    "close files before it removes them; put temporary files on a local file system (TMPDIR)."
)

_CLEAR = Advice(
    "Remove .nfs files older than some days on the server (find -name '.nfs*' -mtime +7).",
    "a program that still has one open loses its data.",
)

RULE = Rule(
    id="silly_rename",
    title="Files renamed to .nfs… because they were open when removed",
    origin="RFC 1813 section 4.3; RFC 7530 section 16.25.5; practice",
    judge=judge,
    thresholds=(LEAST,),
)
