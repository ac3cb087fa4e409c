"""Several mounts of one client and one server, told apart where they show different options.

Takes what the calls of each pair of client and server show together; gives the parts of a pair
whose options differ. No call says of which mount it is. A mount has one version of NFS, and on
Linux a file system has its options from the mount by which it was reached: one that is crossed
into has those of the mount above it. So the calls of a pair are looked at by version, file system
and mounted directory; and only where the calls of one of these are those of an option that has no
other common cause, and those of another one of the same pair cannot be sent with it, is it a mount
of its own. What shows nothing, or too little, goes with the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import count
from typing import TYPE_CHECKING

from pcapnfs import columns, text
from pcapnfs.analyses.asking import given, paths
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching.change_ids import change_ids
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.mounts.mount_evidence import MountEvidence, evidence
from pcapnfs.analyses.mounts.mount_options import (
    ASKS_ALWAYS,
    Mount,
    denies,
    judged,
    overlapping,
    sure,
)
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH, FEW
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="connection mount callback program version minor reply_time file",
    connections="connection role",
    files="file fsid_major fsid_minor export parent path",
)
"""The columns that the queries here read."""

MOST = 1000
"""Kinds of calls that are looked at, those with most calls."""

NAMED = 3
"""File systems of a part that are named."""


class Unit(Record):
    """The calls of one pair, version of NFS, file system and mounted directory."""

    mount: int
    """Number of the client and server (table calls)."""
    version: int
    """Version of NFS."""
    minor: int
    """0 of NFSv3."""
    system: int
    """Number of the file system and mounted directory: the first file of it."""
    name: str
    """What it is called, without the version; not escaped."""
    export: str | None
    """The export, or mounted directory; None where the capture began too late for that."""

    @property
    def protocol(self) -> str:
        """Its version of NFS."""
        return f"NFSv{self.version}.{self.minor}" if self.version > 3 else f"NFSv{self.version}"


class Division(Record):
    """How calls are divided: each part of a pair has a number of its own in place of the mount."""

    numbers: tuple[tuple[Unit, int], ...]
    """The number that the calls of a unit get."""
    rest: Mapping[int, int]
    """The number that all other calls of a divided pair get, by its mount."""
    parts: Mapping[int, str]
    """What the parts are called, by number; a part without name is told of nowhere."""

    @property
    def pairs(self) -> dict[int, int]:
        """The mount of the table calls, by the number of a part of it."""
        return {number: unit.mount for unit, number in self.numbers} | {
            number: mount for mount, number in self.rest.items()
        }

    def begin(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Let queries on a connection see the number of the part as `calls.mount`."""
        self._begin(cursor, "left join")

    def begin_with_parts(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """The same, without the calls of pairs that are not divided."""
        self._begin(cursor, "join")

    def _begin(self, cursor: duckdb.DuckDBPyConnection, rest: str) -> None:
        cursor.execute(_SYSTEMS)
        units = [unit for unit, _ in self.numbers]
        cursor.execute(
            _UNITS,
            {
                "mounts": given.text(unit.mount for unit in units),
                "versions": given.text(unit.version for unit in units),
                "minors": given.text(unit.minor for unit in units),
                "systems": given.text(unit.system for unit in units),
                "numbers": given.text(number for _, number in self.numbers),
            },
        )
        cursor.execute(
            _REST,
            {"mounts": given.text(self.rest), "numbers": given.text(self.rest.values())},
        )
        ((database,),) = cursor.execute("select current_database()").fetchall()
        name = str(database).replace('"', '""')
        cursor.execute(_CALLS.format(table=f'"{name}".main.calls', rest=rest))

    def answered(self, cursor: duckdb.DuckDBPyConnection) -> dict[int, int]:
        """How many calls of NFS were answered, by number, on such a connection."""
        return {
            integer(number): integer(calls)
            for number, calls in cursor.execute(_ANSWERED).fetchall()
        }

    def addresses(self, trace: Trace) -> dict[int, tuple[str, str]]:
        """Client and server by number, of undivided pairs as well."""
        known = traffic.mounts(trace)
        return dict(known) | {number: known[mount] for number, mount in self.pairs.items()}


class Apart(Record):
    """The mounts, and where to ask more about them."""

    mounts: tuple[Mount, ...]
    """What is said of each pair, or of each part of one."""
    division: Division | None
    """How pairs are divided; None where none is."""
    cursor: duckdb.DuckDBPyConnection
    """A connection with the tables of `change_ids` by these parts."""


@contextmanager
def apart(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> Iterator[Apart]:
    """Judge each pair of client and server, or the parts of it, in the order of their addresses.

    Args:
        trace: The trace.
        cursor: A connection with the tables of `change_ids` by pairs.
    """
    together = tuple(evidence(trace, cursor))
    division = told_apart(trace, together)
    if division is None:
        yield Apart(tuple(judged(seen) for seen in together), None, cursor)
        return
    with change_ids(trace, begin=division.begin) as divided:
        mounts = tuple(
            replace(judged(seen), part=division.parts.get(seen.mount))
            for seen in evidence(trace, divided, pairs=division.pairs)
            if seen.mount in division.parts or seen.mount not in division.pairs
        )
        yield Apart(mounts, division, divided)


def told_apart(trace: Trace, together: Sequence[MountEvidence]) -> Division | None:
    """How the calls of pairs are to be divided; None where nothing tells several mounts.

    Args:
        trace: The trace.
        together: What the calls of each pair show.
    """
    mixed = {seen.mount for seen in together if _mixed(seen)}
    if not mixed:
        return None
    units = _units(trace, mixed)
    if not units:
        return None
    single = _divided(trace, {unit: unit for unit in units})
    by_number = {number: unit for unit, number in single.numbers}
    with change_ids(trace, begin=single.begin_with_parts) as each:
        shown = {
            by_number[seen.mount]: seen
            for seen in evidence(trace, each, pairs=single.pairs)
            if seen.mount in by_number
        }
    return _grouped(trace, shown)


def _mixed(seen: MountEvidence) -> bool:
    """Whether what a pair shows may be that of several mounts: without it nothing is looked at."""
    least = int(ASKS_ALWAYS * ENOUGH)
    return (
        min(seen.moves_asked, seen.moves - seen.moves_asked) >= least
        or min(seen.returns_looked_up, seen.returns - seen.returns_looked_up) >= least
        or (seen.listings_plain >= ENOUGH and seen.listings_plus >= FEW)
        or seen.reads_smaller >= ENOUGH
        or seen.writes_smaller >= ENOUGH
    )


def _units(trace: Trace, mixed: set[int]) -> list[Unit]:
    """The units of these pairs that have enough calls, where a pair has several."""
    with closing(trace.cursor()) as cursor:
        cursor.execute(_SYSTEMS)
        rows = cursor.execute(
            _COUNTED, {"mixed": given.text(sorted(mixed)), "enough": ENOUGH, "most": MOST}
        ).fetchall()
    units_of = Counter(mount for mount, *_ in rows)
    systems_of = Counter(
        {(mount, system): export for mount, _, _, system, export, *_ in rows}.values()
    )
    return [
        Unit(
            mount=integer(mount),
            version=integer(version),
            minor=integer(minor),
            system=integer(system),
            name=_name(export, top, major, alone=systems_of[export] == 1),
            export=export,
        )
        for mount, version, minor, system, export, top, major in rows
        if units_of[mount] > 1
    ]


def _name(export: str | None, top: str, major: int, *, alone: bool) -> str:
    """A file system by its path; where the capture began too late for that, by its number.

    Args:
        export: The export, or mounted directory.
        top: The path below it that is next to it.
        major: The file system's number.
        alone: No other file system was reached by it.
    """
    if export is None:
        return f"file system {major:x}"
    return export if alone or top == "." else f"{export.rstrip('/')}/{top}"


def _grouped(trace: Trace, shown: Mapping[Unit, MountEvidence]) -> Division | None:
    """Put together what shows the same options, apart from what cannot have them."""
    keys = {unit: _options(unit, seen, shown) for unit, seen in shown.items()}
    divided = {unit.mount for unit, options in keys.items() if options}
    if not divided:
        return None
    return _divided(
        trace,
        {unit: options or None for unit, options in keys.items() if unit.mount in divided},
    )


def _options(
    unit: Unit, seen: MountEvidence, shown: Mapping[Unit, MountEvidence]
) -> tuple[str, ...]:
    """The options of a unit that another one of its pair cannot have, by their titles.

    What programs may do as well is one only where the other was mounted by itself: where it may
    have been crossed into, its options are those of the same mount, and it denies them for both.
    """
    ours = {other: seen for other, seen in shown.items() if other.mount == unit.mount}
    elsewhere = {other: seen for other, seen in ours.items() if _mounted_apart(unit, other)}
    return tuple(
        verdict.title
        for others, found in ((ours, sure(seen)), (elsewhere, overlapping(seen)))
        for kind, verdict in found
        if any(denies(other, kind, verdict) for other in others.values())
    )


def _mounted_apart(one: Unit, other: Unit) -> bool:
    """Whether two units are of different exports, of which none lies in the other."""
    if one.export is None or other.export is None:
        return False
    first, second = (f"{export.rstrip('/')}/" for export in (one.export, other.export))
    return not (first.startswith(second) or second.startswith(first))


def _divided(trace: Trace, keys: Mapping[Unit, object]) -> Division:
    """Give a number that no pair has to all units of a pair with one key; None: to its rest."""
    free = count(1 + int(traffic.traffic(trace).numbers["mount"].max(initial=0)))
    rest = {mount: next(free) for mount in sorted({unit.mount for unit in keys})}
    numbers: dict[tuple[int, object], int] = {
        (mount, None): number for mount, number in rest.items()
    }
    named: dict[int, list[str]] = {}
    versions = Counter(
        mount for mount, _, _ in {(unit.mount, unit.version, unit.minor) for unit in keys}
    )
    found = []
    for unit, key in keys.items():
        place = unit.mount, key
        if place not in numbers:
            numbers[place] = next(free)
        found.append((unit, numbers[place]))
        name = f"{unit.name} ({unit.protocol})" if versions[unit.mount] > 1 else unit.name
        named.setdefault(numbers[place], []).append(name)
    return Division(
        numbers=tuple(found),
        rest=rest,
        parts={
            number: text.some(sorted(set(names)), NAMED, visible=str)
            for number, names in named.items()
        },
    )


# A name that was not found has the file system of its directory.
_SYSTEMS = """
    create temp table systems as
    with placed as (
        select files.file, files.export, coalesce(files.fsid_major, above.fsid_major) as major,
               coalesce(files.fsid_minor, above.fsid_minor) as minor
        from files left join files as above on files.parent = above.file
    )
    select file, major, min(file) over (partition by major, minor, export) as system
    from placed where major is not null
"""

# Named by the path that is next to its top, which is its own where that was reached. What goes to a
# data server, by another version perhaps, is of the mount whose files these are.
_COUNTED = f"""
    with counted as (
        select mount, version, coalesce(minor, 0) as minor, system, count(*) as calls
        from calls join systems using (file)
        where not callback and program in {NFS_PROGRAMS} and reply_time is not null
              and mount in (select {given.rows("mixed", "uinteger")})
              and connection not in (select k.connection from connections k
                                     where role = 'data server')
        group by all having count(*) >= $enough
        order by calls desc, mount, version, minor, system limit $most
    ),
    named as (
        select system, any_value(export) as export, any_value(major) as major,
               arg_min(path, (length(path), path)) as top
        from (select file, export, {paths.BELOW} as path from files) join systems using (file)
        where system in (select system from counted)
        group by system
    )
    select mount, version, minor, system, export, top, major
    from counted join named using (system)
    order by mount, version, minor, system
"""

_UNITS = f"""
    create temp table units as
    select {given.rows("mounts", "uinteger")} as mount,
           {given.rows("versions", "uinteger")} as version,
           {given.rows("minors", "uinteger")} as minor,
           {given.rows("systems", "uinteger")} as system,
           {given.rows("numbers", "uinteger")} as number
"""

_REST = f"""
    create temp table others as
    select {given.rows("mounts", "uinteger")} as mount,
           {given.rows("numbers", "uinteger")} as number
"""

_CALLS = """
    create temp view calls as
    select called.* replace (
               coalesce(units.number, others.number, called.mount)::uinteger as mount)
    from {table} as called {rest} others on called.mount = others.mount
         left join systems on called.file = systems.file
         left join units
         on called.mount = units.mount and called.version = units.version
            and coalesce(called.minor, 0) = units.minor and systems.system = units.system
"""
"""It stands before the table of that name, on its own connection."""

_ANSWERED = f"""
    select mount, count(*) from calls
    where not callback and program in {NFS_PROGRAMS} and reply_time is not null group by mount
"""
