"""Files that clients change in turn, each invalidating what the others have cached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.captured.passed_on import one_of
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

TURNS = Threshold(
    "attribute_ping_pong.turns", 3, "turns",
    "of one file: changed by a client and next used by another", "default of this tool",
)  # fmt: skip


OVERWRITTEN = Threshold(
    "attribute_ping_pong.overwritten", 3, "calls",
    "WRITEs that appended from the end from which another client had; fewer are not told",
    "default of this tool",
)  # fmt: skip

_APART = Advice(
    "Give each client a file of its own (log, queue, counter per host), and merge them afterwards."
)

_NOAC = Advice(
    "Do not mount with noac for it: that slows all other files down, and still does not make "
    "appends atomic."
)

_LOCK = "lock it (a lock makes the client ask for attributes and write before it unlocks)"


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each server, and one for each where data was written over."""
    yield from _lost(material, values)
    yield from _turns(material, values)


def _lost(material: Material, values: Values) -> Iterator[Observed]:
    """Appends that another client's wrote over."""
    for found in material.overwritten:
        shown = [file for file in found.shown if not one_of(material.passed_on, file.clients)]
        whole = len(shown) == len(found.shown)
        writes = found.writes if whole else sum(file.writes for file in shown)
        if writes < values[OVERWRITTEN.name]:
            continue
        files = "; ".join(
            f"{file.path} ({units.counted(file.writes, 'time')}: {', '.join(file.clients[:4])})"
            for file in shown
        )
        yield Observed(
            severity="problem",
            title="Clients write over what others have appended",
            seen=f"{units.counted(writes, 'time')} a client appended to a file from the end "
            f"from which another client had appended: {files}. What was written first is lost "
            "there, unless both wrote the same.",
            why="NFS has no append: a client writes where it believes the end of the file to be "
            "(open(2), O_APPEND). Two that have been told the same size write to the same place, "
            "and the later one stays. To open and close the file each time does not help: both may "
            "be told the size before either writes.",
            advice=(
                _APART,
                Advice(
                    f"Where it has to be one file: {_LOCK} in each program that writes "
                    "to it, or have one program write for all (syslog).",
                    "each lock costs round trips.",
                ),
                _NOAC,
            ),
            calls=writes,
            confidence="likely",
            data=f"{units.counted(found.appends, 'WRITE')} that appended",
            frames=found.frames if whole else (),
            about=(found.server,),
        )


def _turns(material: Material, values: Values) -> Iterator[Observed]:
    """Files that void what others have cached."""
    for shared in material.shared_files:
        shown = [file for file in shared.shown if not one_of(material.passed_on, file.clients)]
        whole = len(shown) == len(shared.shown)
        if max((file.turns for file in shown), default=0) < values[TURNS.name]:
            continue
        turns = shared.turns if whole else sum(file.turns for file in shown)
        claims = by_row(shared.time_s) if whole else ()
        # Of several servers it is not told which data was whose.
        alone = whole and len(material.shared_files) == 1
        reread = material.cache.bytes_reread if alone else None
        again = (
            f" Clients read {units.size(reread)} again after somebody else's change."
            if reread
            else ""
        )
        files = "; ".join(
            f"{file.path} ({units.counted(file.turns, 'time')}: {', '.join(file.clients[:4])})"
            for file in shown
        )
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title="Clients use the same files in turn",
            seen=f"{units.counted(turns, 'time')} one client changed a file and another was "
            f"the next to use it: {files}.{again}",
            why="What one client writes invalidates what the others have cached: they ask for "
            "attributes and read the data again. NFS promises them the new data only when they "
            "open the file after the writer has closed it. Without locks or opens they see old "
            "data for as long as attributes are cached.",
            advice=(
                _APART,
                Advice(
                    f"Where it has to be one file: {_LOCK}. Who only reads it may open it anew "
                    "each time instead.",
                    "each costs round trips.",
                ),
                _NOAC,
            ),
            confidence="certain",
            data=f"{units.counted(shared.files, 'file')} used by several clients",
            frames=shared.frames if whole else (),
            claims=claims,
            about=(shared.server,),
        )


RULE = Rule(
    id="attribute_ping_pong",
    title="Files that several clients change in turn",
    origin="RFC 8881 section 10.3.1 (close-to-open); open(2), O_APPEND; practice",
    judge=judge,
    thresholds=(TURNS, OVERWRITTEN),
)
