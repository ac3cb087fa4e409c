"""Names looked for in vain: a search path that goes over NFS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.mounts.mount_options import NO_MISSING_NAMES
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import CHANGE
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.record import replace

if TYPE_CHECKING:
    from pcapnfs.analyses.mounts.mount_verdict import MountVerdict
    from pcapnfs.analyses.namespace.not_found import NotFound
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "negative_lookups.share", 0.3, "share", "LOOKUPs that find nothing", "default of this tool"
)
LEAST = Threshold(
    "negative_lookups.least", 30, "calls", "such LOOKUPs, below which nothing is reported",
    "default of this tool",
)  # fmt: skip

MOSTLY = 0.5
"""Share of the names that are such files, or that belong to searches, from which on the finding is
about them."""

_WHY = (
    "Each of them is a round trip that gives nothing: a program searches a list of directories "
    "(PATH, LD_LIBRARY_PATH, PYTHONPATH, node_modules of each parent), and the file is further "
    "down the list, or the client does not remember that it is not there."
)

_PATHS = Advice(
    "Put the directory that holds the file first in the search path, or take directories on "
    "NFS out of it. For node_modules, start programs from a directory near the root of the "
    "file system, or bundle what they load."
)

_WHY_TRIED = (
    "Each of them is a round trip that gives nothing: programs ask in each directory that they "
    "work in, and beside files that they load, for others that need not be there (.gitignore, "
    ".htaccess, package.json, a name with another ending)."
)

_BY_NAME = {
    "for Apache, AllowOverride None where there are no .htaccess files": (".htaccess",),
    "for git, core.untrackedCache": (".git",),
    "for Node.js and the like, imports with their endings, or a bundle": (
        "package.json", "node_modules", ".js", ".mjs", ".cjs", ".ts",
    ),
    "for Python, compile its modules once (python3 -m compileall), or load them from a zip file": (
        "__pycache__", "__init__", ".py", ".pyc", ".abi3.so",
    ),
    "for make, -r where nobody needs its built-in rules": ("RCS", "SCCS"),
}  # fmt: skip
"""How programs ask less, by what such names are, begin or end with."""

_REMEMBERED = Advice(
    "If lookupcache=positive or lookupcache=none is among the mount options, mount without "
    "it, so that the client remembers names that are not there.",
    "another client's new file may be seen up to acdirmax later.",
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
    """One for each client and server with many of them; two where names are not remembered."""
    for pair in material.not_found:
        if not many(pair, values):
            continue
        verdict, again = _unremembered(material, pair)
        if verdict is None or again < values[LEAST.name]:
            yield _looked_for(material, pair, spared(pair, pair.missing))
            continue
        yield _again(material, pair, verdict, again)
        first = replace(pair, missing=pair.missing - again, lookups=pair.lookups - again)
        if many(first, values):
            yield _looked_for(material, pair, spared(pair, first.missing), apart=again)


def spared(pair: NotFound, calls: int) -> Spared:
    """So many of the LOOKUPs that found nothing, with their part of the time."""
    part = calls / pair.missing if pair.missing else 0.0
    return Spared(calls, pair.time_s * part, pair.pause_s * part, pair.frames)


def _unremembered(material: Material, pair: NotFound) -> tuple[MountVerdict | None, int]:
    """The verdict that the client remembers no name that is not there, and how often it costs.

    That is where the directory was unchanged: of one that had changed, no client remembers what is
    not there. None where it is that of one of several mounts, of which it is not known what they
    look for in vain; and of a client that looks for macOS's files, which has no such option.
    """
    for mount in material.cache.mounts:
        if (mount.client, mount.server, mount.part) != (pair.client, pair.server, None):
            continue
        for verdict in mount.verdicts:
            if verdict.options == NO_MISSING_NAMES and not _is_mac(pair):
                return verdict, min(pair.again, mount.missing_again)
    return None, 0


def _is_mac(pair: NotFound) -> bool:
    return pair.apple_double >= MOSTLY * pair.missing


def _again(material: Material, pair: NotFound, verdict: MountVerdict, calls: int) -> Observed:
    """So many that it would not have sent, had it remembered which names are not there."""
    again = spared(pair, calls)
    claims = left_out(again)
    return Observed(
        severity=by_cost(material, claims),
        at_most="problem",
        title=f"The client does not remember which names are not there: {verdict.title}",
        seen=f"The client {verdict.evidence}. {units.count(calls)} of {_looked_up(pair)} are "
        f"of names that it had looked for in vain before in the same unchanged directory; "
        f"{units.count(pair.missing)} found nothing.",
        why="A client that remembers which names are not there asks for each once, as long as the "
        "directory is unchanged: a search path then costs its round trips only the first time.",
        advice=(
            Advice(
                f"Mount without {NO_MISSING_NAMES[0]}. {CHANGE}",
                "another client's new file may be seen up to acdirmax (60 s) later.",
            ),
        ),
        calls=again.calls,
        confidence="possible",
        data=_looked_up(pair),
        frames=verdict.frames or again.frames,
        claims=claims,
        about=(pair.client, pair.server),
    )


def _looked_for(material: Material, pair: NotFound, vain: Spared, *, apart: int = 0) -> Observed:
    """What programs look for.

    Args:
        material: What the rules judge by.
        pair: What a client looked for in vain.
        vain: The LOOKUPs that this costs.
        apart: How many others it would not have sent, had it remembered names.
    """
    claims = left_out(vain)
    mac = _is_mac(pair)
    searches = pair.searched >= MOSTLY * pair.missing
    return Observed(
        severity=by_cost(material, claims),
        at_most="problem",
        title="macOS looks for files of extended attributes that do not exist"
        if mac
        else "Programs look for names that do not exist",
        seen=f"{units.count(pair.missing)} of {_looked_up(pair)} found "
        f"nothing, {units.count(pair.again)} of them for the second time or later"
        f"{_told_apart(pair, apart)}. "
        f"{_mac_names(pair) if mac else ''}"
        f"Most wanted: {_names(pair)}.{_orders(pair)}{_climbing(pair)}",
        why=_WHY_MAC if mac else _WHY if searches else _WHY_TRIED,
        advice=_FOR_MAC
        if mac
        else _advice(pair, searches=searches, remembered=apart > 0 or not pair.again),
        calls=vain.calls,
        confidence="certain",
        data=_looked_up(pair),
        frames=pair.frames,
        claims=claims,
        about=(pair.client, pair.server),
    )


def _told_apart(pair: NotFound, apart: int) -> str:
    if not apart:
        return ""
    if apart == pair.again:
        return " (whose cost another finding tells)"
    return f" (of {units.count(apart)} another finding tells the cost)"


def many(pair: NotFound, values: Values) -> bool:
    """Whether a client finds nothing so often that it is told."""
    return pair.missing >= max(values[LEAST.name], values[SHARE.name] * pair.lookups)


def _looked_up(pair: NotFound) -> str:
    """How often names were looked up; NFSv4 does so as it opens, too."""
    if pair.opens:
        return f"{units.count(pair.lookups)} LOOKUPs and OPENs by name"
    return units.counted(pair.lookups, "LOOKUP")


def _mac_names(pair: NotFound) -> str:
    verb = "begins" if pair.apple_double == 1 else "begin"
    return f"{units.count(pair.apple_double)} of the names {verb} with ._, as macOS has them. "


def _names(pair: NotFound) -> str:
    """Names that were looked for as often in the same directories are told together."""
    alike: dict[tuple[int, int, tuple[str, ...]], list[str]] = {}
    for missing in pair.names:
        where = (missing.searches, missing.directories, missing.places)
        alike.setdefault(where, []).append(missing.name)
    return "; ".join(
        f"{wording.listed(names, len(names))} ({units.counted(searches, 'time')}"
        f"{' each' if len(names) > 1 else ''}: {wording.places(places)}"
        f"{', …' if directories > len(places) else ''})"
        for (searches, directories, places), names in alike.items()
    )


def _advice(pair: NotFound, *, searches: bool, remembered: bool) -> tuple[Advice, ...]:
    """What to do; `remembered`: names are, or another finding says that they are not.

    Who never asks for a name again in a directory has it remembered.
    """
    first = _PATHS if searches else _tried(pair)
    return (first,) if remembered else (first, _REMEMBERED)


def _tried(pair: NotFound) -> Advice:
    """Programs that ask for such names; some of them where the names tell none."""
    names = [each.name for each in pair.names]
    told = [
        way
        for way, parts in _BY_NAME.items()
        if any(name.startswith(parts) or name.endswith(parts) for name in names)
    ]
    return Advice(
        f"See by the names which program asks, and have it ask less: {'; '.join(told or _BY_NAME)}."
    )


def _orders(pair: NotFound) -> str:
    # What one name was once looked for in is no list that a program goes through.
    told = [
        f"{wording.places(order.places)} "
        f"({units.counted(order.searches, 'search', 'searches')} for "
        f"{units.counted(order.names, 'name')})"
        for order in pair.orders
        if order.searches > 1
    ]
    return f" Searched in this order: {'; '.join(told)}." if told else ""


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
