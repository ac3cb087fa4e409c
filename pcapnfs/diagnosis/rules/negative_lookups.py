"""Names looked for in vain: a search path that goes over NFS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.namespace.not_found import NotFound
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "negative_lookups.share", 0.3, "share", "LOOKUPs that find nothing", "default of this tool"
)
LEAST = Threshold(
    "negative_lookups.least", 30, "calls", "such LOOKUPs, below which nothing is said",
    "default of this tool",
)  # fmt: skip

MOSTLY = 0.5
"""Share of the names that are such files, from which on the finding is about them."""

_WHY = (
    "Each of them is a round trip that gives nothing: a program searches a list of directories "
    "(PATH, LD_LIBRARY_PATH, PYTHONPATH, node_modules of each parent), and the file is further "
    "down the list, or the client does not remember that it is not there."
)

_ADVICE = (
    Advice(
        "Put the directory that holds the file first in the search path, or take directories on "
        "NFS out of it. For node_modules, start programs from a directory near the root of the "
        "file system, or bundle what they load."
    ),
    Advice(
        "If lookupcache=positive or lookupcache=none is among the mount options, mount without "
        "it, so that the client remembers names that are not there.",
        "another client's new file may be seen up to acdirmax later.",
    ),
)

_WHY_MAC = (
    "NFSv3, and NFSv4 without named attributes, has no place for a file's extended attributes and "
    "its resource fork: macOS keeps them in a second file, ._NAME beside NAME. Whenever a program "
    "asks for them (Finder, ls -l, cp, tar), the client looks for that file: a round trip for "
    "nothing, where there are none."
)

_FOR_MAC = (
    Advice(
        "If the server has named attributes, mount with NFSv4 and namedattr.",
        "what ._ files hold already is not seen as attributes any more.",
    ),
    Advice(
        "If nonegnamecache is among the mount options, mount without it, so that the client "
        "remembers names that are not there.",
        "another client's new file may be seen later.",
    ),
    Advice(
        "Where nobody needs them, do not ask for them: COPYFILE_DISABLE=1 for tar, cp -X, "
        "programs of the command line instead of Finder."
    ),
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them."""
    for pair in material.not_found:
        if pair.missing < values[LEAST.name] or pair.missing < values[SHARE.name] * pair.lookups:
            continue
        claims = (Claim("unstable", pair.time_s), Claim("client", pair.pause_s))
        mac = pair.apple_double >= MOSTLY * pair.missing
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="macOS looks for files of extended attributes that do not exist"
            if mac
            else "Programs look for names that do not exist",
            seen=f"{units.count(pair.missing)} of {units.counted(pair.lookups, 'LOOKUP')} found "
            f"nothing, {units.count(pair.again)} of them for the second time or later. "
            f"{_mac_names(pair) if mac else ''}"
            f"Most wanted: {_names(pair)}.{_orders(pair)}{_climbing(pair)}",
            why=_WHY_MAC if mac else _WHY,
            advice=_FOR_MAC if mac else _ADVICE,
            calls=pair.missing,
            confidence="certain",
            data=units.counted(pair.lookups, "LOOKUP"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _mac_names(pair: NotFound) -> str:
    verb = "begins" if pair.apple_double == 1 else "begin"
    return f"{units.count(pair.apple_double)} of the names {verb} with ._, as macOS has them. "


def _names(pair: NotFound) -> str:
    told = [
        f"{missing.name} ({units.counted(missing.searches, 'time')}: "
        f"{wording.places(missing.places)}"
        f"{', …' if missing.directories > len(missing.places) else ''})"
        for missing in pair.names
    ]
    return "; ".join(told)


def _orders(pair: NotFound) -> str:
    if not pair.orders:
        return ""
    told = [
        f"{wording.places(order.places)} "
        f"({units.counted(order.searches, 'search', 'searches')} for "
        f"{units.counted(order.names, 'name')})"
        for order in pair.orders
    ]
    return f" Searched in this order: {'; '.join(told)}."


def _climbing(pair: NotFound) -> str:
    if not pair.climbing:
        return ""
    return (
        f" {units.counted(pair.climbing, 'search', 'searches')} went from a directory to its "
        "parent and on, as for node_modules."
    )


RULE = Rule(
    id="negative_lookups",
    title="Names looked for that do not exist",
    origin="practice: search paths over NFS (npm, PATH, LD_LIBRARY_PATH)",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
