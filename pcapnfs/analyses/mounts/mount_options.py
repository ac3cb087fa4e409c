"""Which mount options a client's questions and transfers let one infer, and how surely.

Takes what was counted of a pair of client and server (`mount_evidence`); gives a `Mount`. A verdict
names every option that would explain the traffic: options that send the same calls stand together.
It is about a client that behaves as Linux does, and there is none from too little data; what there
was stands in the `evidence`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Literal

from pcapnfs import units
from pcapnfs.analyses.caching.unopened import FILE_TIMEOUT_S
from pcapnfs.analyses.mounts.mount_sizes import in_many_pieces, read_size, write_size
from pcapnfs.analyses.mounts.mount_timeouts import timeout
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH, FEW, MANY, MountVerdict, concluded
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.mounts.mount_evidence import MountEvidence

ASKS_ALWAYS, ASKS_NEVER = 0.8, 0.2
"""Shares of moves with a question in between: with acdirmin=0 all, by default next to none."""

ASKS_TWICE = 0.3
"""Share of visits with two needless questions or more: without attribute cache all but those that
only examine or remove."""

ASKS_MOSTLY = 0.5
"""The same where nothing else speaks for it."""

LOOKS_UP_MOSTLY = 0.6
"""Share of ways back into a directory with a LOOKUP of it: without a cache of names all but those
of a program that works in the directory; by default none."""

KNOWS_FILES = 0.3
"""Share of visits with a needless question up to which the client keeps attributes: one that does
not, nor names, is a program (libnfs), and no option makes it so."""


class Mount(Record):
    """A client and a server, or a part of what they exchanged.

    Several mounts between them are taken as one, but for those that show different options
    (`mounts_apart`).
    """

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    verdicts: tuple[MountVerdict, ...]
    """What can be said; empty when the traffic is that of default options, or too little."""
    too_little: str | None
    """Why nothing can be said of attribute caching, with what there was; None when there was
    enough."""
    moves: int
    """Times that the client went from one child of a directory to another within 3 s; calls on a
    file that is open (READ, WRITE …) do not count."""
    moves_asked: int
    """Times that it asked for the unchanged directory in between: with acdirmin=0 always."""
    visits: int
    """Visits of a regular file: calls about it that are less than a second apart. One that did
    nothing but ask for what had been known for a second or longer shows nothing, and is left out.
    """
    visits_asked_twice: int
    """Visits in which it asked at least twice though it had known for less than a second, and
    nothing had changed."""
    returns: int
    """Times that it went from one name in a directory that it had found by a LOOKUP to another
    within 3 s; 0 also where it looked hardly any name up twice."""
    returns_looked_up: int
    """Times that it looked that directory up again in between: with lookupcache=none always."""
    missing_again: int
    """Times that it looked for a name less than 29.5 s after it had not found it there, in a
    directory that it never changed, and of which nothing shows that it had changed since; 0 also
    where it looked for hardly any such name twice."""
    asked_shortest_s: float | None
    """The youngest knowledge of a directory, from 3 to 29.5 s, for which it asked within a second
    before it opened or changed a child, seconds; None: it never did."""
    unasked_longest_s: float | None
    """The oldest knowledge of a directory with which it opened, examined or changed a child without
    asking, seconds: its timeout was longer than that; None: it never did, or never asked for one
    known for 3 to 29.5 s."""
    part: str | None = None
    """The file systems that this is about, by path, where the calls of others of the same client
    and server show that they are mounted with other options; with the version of NFS where that
    differs; not escaped. None: all that they exchanged."""

    @property
    def between(self) -> bool:
        """Whether it asked for directories more than default options do, and less than no cache."""
        return self.moves >= ENOUGH and (
            ASKS_NEVER * self.moves < self.moves_asked < ASKS_ALWAYS * self.moves
        )


def judged(seen: MountEvidence) -> Mount:
    """Judge a pair of client and server, or a part of one."""
    return Mount(
        client=seen.client,
        server=seen.server,
        verdicts=(
            *_attribute_cache(seen),
            *_names(seen),
            *(() if _keeps_nothing(seen) else timeout(seen)),
            *_open_unasked(seen),
            *_listings(seen),
            *(() if seen.limits_withheld else (*read_size(seen), *write_size(seen))),
            *_synchronous(seen),
        ),
        too_little=_too_little(seen),
        moves=seen.moves,
        moves_asked=seen.moves_asked,
        visits=seen.visits,
        visits_asked_twice=seen.visits_asked_twice,
        returns=seen.returns,
        returns_looked_up=seen.returns_looked_up,
        missing_again=seen.missing_again,
        asked_shortest_s=seen.pause_shortest_s,
        unasked_longest_s=seen.unasked_longest_s,
    )


Kind = Literal["attributes", "names", "listings", "rsize", "wsize"]
"""What an option is about; a mount has one of each."""


def sure(seen: MountEvidence) -> Iterator[tuple[Kind, MountVerdict]]:
    """The verdicts that have no other common cause, of options whose absence calls can show.

    That directories are always asked for has none, also where it is open which option it is; nor
    have many WRITEs in small pieces.
    """
    judges: tuple[tuple[Kind, Iterator[MountVerdict]], ...] = (
        ("attributes", _attribute_cache(seen)),
        ("names", _names(seen)),
        ("listings", _listings(seen)),
        ("rsize", read_size(seen)),
        ("wsize", write_size(seen)),
    )
    for kind, found in judges:
        for verdict in found:
            if (
                verdict.confidence == "likely"
                or (kind == "attributes" and _asks_always(seen))
                or (kind == "wsize" and in_many_pieces(seen))
            ):
                yield kind, verdict


def overlapping(seen: MountEvidence) -> Iterator[tuple[Kind, MountVerdict]]:
    """What is told of a client whose processes ask for directories side by side.

    Programs that open directories again and again may do the same, so that it is never sure.
    """
    if _asks_overlapping(seen):
        for verdict in _attribute_cache(seen):
            yield "attributes", verdict


def denies(seen: MountEvidence, kind: Kind, verdict: MountVerdict) -> bool:
    """Whether calls cannot have been sent with the options of a sure verdict.

    Args:
        seen: What was counted.
        kind: What the options are about.
        verdict: The verdict on other calls.
    """
    if kind == "attributes":
        return seen.moves >= ENOUGH and seen.moves_asked <= ASKS_NEVER * seen.moves
    if kind == "names":
        return seen.returns >= ENOUGH and seen.returns_looked_up <= ASKS_NEVER * seen.returns
    if kind == "listings":
        return seen.listings_plus >= FEW
    size = int(verdict.options[0].partition("=")[2])
    return ((seen.read_bytes if kind == "rsize" else seen.write_bytes) or 0) > size


def _too_little(seen: MountEvidence) -> str | None:
    if seen.moves >= ENOUGH or seen.visits >= ENOUGH or _asks_twice(seen):
        return None
    return _needed(seen.moves, seen.visits)


@cache
def _needed(moves: int, visits: int) -> str:
    """One text for all mounts of a hundred thousand that have as little."""
    return (
        f"{units.counted(moves, 'move')} from one child of a directory to the next and "
        f"{units.counted(visits, 'visit')} of files; {ENOUGH} of either are needed"
    )


def _asks_always(seen: MountEvidence) -> bool:
    return seen.moves >= ENOUGH and seen.moves_asked >= ASKS_ALWAYS * seen.moves


def _asks_twice(seen: MountEvidence) -> bool:
    """Whether directories are asked for in pairs, on the way to a single child, or to a few.

    No open of a directory does that: it asks once. Where there are many moves, these tell.
    """
    return (
        seen.moves < ENOUGH
        and seen.ways_asked_twice >= ENOUGH
        and seen.ways_asked_twice >= ASKS_MOSTLY * seen.ways_asked
        # A client that looks names up again caches nothing (libnfs): no option makes it so.
        and seen.lookups_again <= ASKS_NEVER * seen.ways_asked_twice
    )


def _asks_files(seen: MountEvidence) -> bool:
    return seen.visits >= ENOUGH and seen.visits_asked_twice >= ASKS_TWICE * seen.visits


def _asks_fresh_files(seen: MountEvidence) -> bool:
    """Whether fresh files are asked for, and no open explains it: that of NFSv4 asks by itself."""
    return (
        not seen.opens_ask
        and seen.visits >= ENOUGH
        and seen.visits_asked >= ASKS_ALWAYS * seen.visits
    )


def _asks_in_visits(seen: MountEvidence) -> bool:
    """Whether fresh files are asked for in most visits, not counting questions behind a LOOKUP.

    A client may ask for whatever it looks up, and believe the answer for as long as any other.
    """
    return (
        seen.visits >= ENOUGH
        and seen.visits_asked - seen.files_just_found >= ASKS_MOSTLY * seen.visits
    )


def _asks_at_any_age(seen: MountEvidence) -> bool:
    """Whether files alone are asked for, fresh ones as well as those known for a second or two."""
    return (
        (seen.moves < ENOUGH or _tells_directories(seen))
        and _asks_in_visits(seen)
        and seen.aged_objects >= MANY
        and not seen.opens_ask
        # A client that looks names up again caches nothing (libnfs): no option makes it so.
        and seen.lookups_again <= ASKS_NEVER * seen.visits_asked
    )


def _asks_at_once(seen: MountEvidence) -> bool:
    """Whether files are asked for as soon as they are known: no open of NFSv4 sends such a call.

    However many processes ask, none hides what the others do.
    """
    return (
        not seen.opens_ask
        and _asks_in_visits(seen)
        and seen.files_young >= ENOUGH
        and seen.young_objects >= MANY
        # A client that looks names up again caches nothing (libnfs): no option makes it so.
        and seen.lookups_again <= ASKS_NEVER * seen.visits_asked
    )


def _asks_overlapping(seen: MountEvidence) -> bool:
    """Whether directories are asked for as often as children are used, though not by turns.

    So it is where several processes do both: between the question of one and its next step lies
    that of another. Where there are many, one question serves several of them; then it must be for
    fresh attributes, and nearly all fresh files must be asked for.
    """
    many = (
        seen.directories_young >= ASKS_MOSTLY * seen.moves
        and seen.visits_asked >= ASKS_ALWAYS * seen.visits
    )
    return (
        not _asks_always(seen)
        and seen.moves >= ENOUGH
        and seen.moves_asked > ASKS_NEVER * seen.moves
        and (seen.directories_asked >= ASKS_ALWAYS * seen.moves or many)
        and (_asks_at_once(seen) or _asks_files(seen))
        and seen.visits_asked >= ASKS_MOSTLY * seen.visits
    )


def _keeps_nothing(seen: MountEvidence) -> bool:
    """Whether fresh knowledge is asked for, so that no timeout of some seconds is why."""
    return (
        _asks_always(seen)
        or _asks_twice(seen)
        or _asks_overlapping(seen)
        or _asks_at_once(seen)
        or _asks_at_any_age(seen)
    )


def _spares_files(seen: MountEvidence) -> bool:
    """Whether fresh files are not asked for."""
    return seen.visits >= ENOUGH and seen.visits_asked <= ASKS_NEVER * seen.visits


def _writes_through(seen: MountEvidence, files: int = FEW) -> bool:
    """Whether data went out synchronously though more followed, in so many files."""
    return (
        seen.files_sync >= files
        and seen.writes_sync >= MANY
        and seen.writes_unstable <= ASKS_NEVER * seen.writes_sync
    )


def _asks_files_twice(seen: MountEvidence) -> bool:
    """Whether files alone are asked for twice within a second."""
    return (
        seen.visits >= ENOUGH
        and seen.visits_asked_twice >= ASKS_MOSTLY * seen.visits
        and _tells_directories(seen)
        # Several opens within a second ask as often, whatever the options.
        and not seen.opens_ask
        # A client that looks names up again caches nothing (libnfs): no option makes it so.
        and seen.lookups_again <= ASKS_NEVER * seen.visits_asked_twice
    )


def _attribute_cache(seen: MountEvidence) -> Iterator[MountVerdict]:
    """`noac`, `actimeo=0`, `acdirmin=0` and `acregmin=0`."""
    if _asks_always(seen):
        if _asks_files(seen) or _asks_fresh_files(seen):
            yield _of_both(seen)
        elif _spares_files(seen):
            yield _of_directories(seen)
        else:
            yield _of_directories_at_least(seen)
    elif _asks_twice(seen):
        yield _of_ways(seen)
    elif _asks_overlapping(seen):
        yield _of_several_processes(seen)
    elif _asks_files_twice(seen):
        yield _of_files(seen)
    elif _asks_at_once(seen):
        yield _of_files_at_once(seen)
    elif _asks_at_any_age(seen):
        yield _of_files_at_any_age(seen)


def _of_both(seen: MountEvidence) -> MountVerdict:
    writing = _writing(seen)
    return concluded(
        writing.options,
        "possible" if writing.few else "likely",
        f"{_directories(seen)}; {_files(seen)}{writing.said}",
        seen.frames["moves"],
    )


def _of_directories(seen: MountEvidence) -> MountVerdict:
    return concluded(
        ("acdirmin=0",),
        "likely",
        f"{_directories(seen)}; but for a fresh file only in {units.count(seen.visits_asked)} of "
        f"{units.counted(seen.visits, 'visit')}",
        seen.frames["moves"],
    )


def _of_directories_at_least(seen: MountEvidence) -> MountVerdict:
    writing, little = _writing(seen), _fresh(seen)
    if seen.visits < ENOUGH:
        little = f"too few visits of files to tell which ({units.count(seen.visits)})"
        if seen.files_delegated:
            files_of = units.counted(seen.files_delegated, "file")
            little += f": under the delegations of {files_of} none need ask"
    return concluded(
        (*writing.options, "acdirmin=0,sync")
        if writing.through
        else ("acdirmin=0", *writing.options),
        "possible",
        f"{_directories(seen)}; {little}{writing.said}",
        seen.frames["moves"],
    )


def _of_ways(seen: MountEvidence) -> MountVerdict:
    writing = _writing(seen)
    return concluded(
        _keeping_no_directories(seen, writing),
        "possible" if writing.few else "likely",
        f"asked for an unchanged directory twice, the second time at once, in "
        f"{units.count(seen.ways_asked_twice)} of {units.counted(seen.ways_asked, 'case')} "
        "that it asked for one on its way to what lies in it (an open of the directory asks "
        f"once), and {units.counted(seen.files_fresh, 'time')} for files that it had known for "
        f"less than a second{writing.said}",
        seen.frames["ways"],
    )


def _of_several_processes(seen: MountEvidence) -> MountVerdict:
    writing, often = _writing(seen), seen.directories_asked >= ASKS_ALWAYS * seen.moves
    return concluded(
        writing.options,
        "possible",
        f"asked {units.counted(seen.directories_asked, 'time')} for directories that it had "
        f"known for less than 30 s and that were unchanged, "
        f"{'which is as often as' if often else 'where'} it moved from one child of a "
        f"directory to the next "
        f"{f'({units.count(seen.moves)}) or more' if often else _times(seen.moves)}, in "
        f"{units.count(seen.moves_asked)} cases between two moves, as "
        f"{'several' if often else 'many'} processes at once do; "
        f"{_files(seen)}{writing.said}",
        seen.frames["moves"],
    )


def _of_files(seen: MountEvidence) -> MountVerdict:
    return concluded(
        ("acregmin=0",),
        "possible",
        f"{_asked_twice(seen)}; directories were not asked for",
        seen.frames["visits"],
    )


def _of_files_at_once(seen: MountEvidence) -> MountVerdict:
    writing, told = _writing(seen), _tells_directories(seen)
    fresh = (
        f"asked in {units.count(seen.visits_asked)} of "
        f"{units.counted(seen.visits, 'visit')} of "
        f"fresh files, and {units.counted(seen.files_young, 'question')} about "
        f"{units.counted(seen.young_objects, 'file')} came less than "
        f"{units.duration(FILE_TIMEOUT_S)} after it had known them, with no call about them "
        "meanwhile, as no open of NFSv4 asks"
    )
    alone = "acregmin=0,sync" if writing.through else "acregmin=0"
    return concluded(
        ("acregmin=0",) if told else (*writing.options, alone),
        "likely" if not (told or writing.few) and _asks_fresh_files(seen) else "possible",
        f"{fresh}; {_untold(seen) if not told else 'directories were not asked for'}{writing.said}",
        seen.frames["young"],
    )


def _of_files_at_any_age(seen: MountEvidence) -> MountVerdict:
    writing = _writing(seen)
    files = (
        f"asked in {units.count(seen.visits_asked)} of "
        f"{units.counted(seen.visits, 'visit')} of fresh files, and for "
        f"{units.counted(seen.aged_objects, 'file')} known for "
        f"{units.duration(seen.aged_shortest_s or 0.0)} or longer, which no call had been "
        "about since"
    )
    options: tuple[str, ...] = ("acregmin=0",)
    why = "directories were not asked for"
    if seen.moves < ENOUGH:
        options += writing.options
        why = _untold(seen)
    return concluded(options, "possible", f"{files}; {why}{writing.said}", seen.frames["aged"])


class _Writing(Record):
    """How a client that keeps nothing wrote."""

    through: bool
    """It wrote through, as `noac` does: one file is then as good as several."""
    few: bool
    """It did so in fewer files than `sync` is told by."""
    said: str
    """What is said of it, behind the rest."""

    @property
    def options(self) -> tuple[str, ...]:
        """The options that keep nothing and explain it."""
        return ("noac", "actimeo=0,sync" if self.through else "actimeo=0")


def _keeping_no_directories(seen: MountEvidence, writing: _Writing) -> tuple[str, ...]:
    """The options of a client that asks for directories always, by what it asks of files."""
    whole = writing.options
    if not seen.opens_ask and seen.files_young >= ENOUGH:
        return whole
    if writing.through:
        return (*whole, "acdirmin=0,sync")
    # Opens of NFSv3 ask for files whatever the options.
    return (*whole, "acdirmin=0") if seen.files_fresh >= ENOUGH else ("acdirmin=0", *whole)


def _writing(seen: MountEvidence) -> _Writing:
    through = _writes_through(seen, 1)
    few = through and not _writes_through(seen)
    return _Writing(through, few, f"; {_through(seen)}" if few else "")


def _directories(seen: MountEvidence) -> str:
    """How often directories were asked for."""
    return (
        f"asked for the unchanged directory between {units.count(seen.moves_asked)} of "
        f"{units.counted(seen.moves, 'move')} from one child to the next"
    )


def _files(seen: MountEvidence) -> str:
    """How often files were, by what tells more."""
    return _asked_twice(seen) if _asks_files(seen) else _fresh(seen)


def _asked_twice(seen: MountEvidence) -> str:
    return (
        f"asked at least twice within a second in {units.count(seen.visits_asked_twice)} of "
        f"{units.counted(seen.visits, 'visit')} of files, and nothing had changed"
    )


def _fresh(seen: MountEvidence) -> str:
    return (
        f"{units.count(seen.visits_asked)} of {units.counted(seen.visits, 'visit')} of fresh "
        "files asked"
    )


def _times(number: int) -> str:
    return f"{units.count(number)} times"


def _tells_directories(seen: MountEvidence) -> bool:
    """Whether it is known that directories are hardly asked for."""
    return seen.moves >= ENOUGH and seen.moves_asked <= ASKS_NEVER * seen.moves


def _untold(seen: MountEvidence) -> str:
    """Why it is not known whether directories are asked for."""
    if seen.moves >= ENOUGH:
        return (
            f"directories were asked for between {units.count(seen.moves_asked)} of "
            f"{units.counted(seen.moves, 'move')} from one child to the next, which does not tell"
        )
    return (
        "too few moves from one child of a directory to the next to tell which "
        f"({units.count(seen.moves)}): of directories under a delegation none need ask"
    )


NO_NAMES = ("lookupcache=none",)
"""The options of a verdict on a client that keeps no names."""

NO_MISSING_NAMES = ("lookupcache=positive",)
"""The same of one that keeps those alone that it found."""


def _names(seen: MountEvidence) -> Iterator[MountVerdict]:
    """`lookupcache=none`: a name is looked up however lately it was found."""
    if seen.visits_asked > KNOWS_FILES * seen.visits:
        return
    if _goes_back(seen.returns_looked_up, seen.returns):
        looked_up, returns, frames = seen.returns_looked_up, seen.returns, seen.frames["returns"]
        files = ""
    # Where it changed the directory around it, mkdir -p does the same; but not with files.
    elif seen.files_again >= MANY and _goes_back(seen.settled_looked_up, seen.settled_returns):
        looked_up, returns = seen.settled_looked_up, seen.settled_returns
        frames = seen.frames["settled"]
        files = f", and {units.counted(seen.files_again, 'file')} three times or more"
    else:
        yield from _missing_names(seen)
        return
    yield concluded(
        NO_NAMES,
        "likely",
        f"looked up a directory again, though it was unchanged, in {units.count(looked_up)} of "
        f"{units.counted(returns, 'move')} from one name in it to another{files}; a client that "
        "has no cache of names does the same",
        frames,
    )


def _missing_names(seen: MountEvidence) -> Iterator[MountVerdict]:
    """`lookupcache=positive`, or none: that a name is not there is not kept either."""
    if not _goes_back(seen.missing_again, seen.missing):
        return
    missing = (
        f"looked {units.counted(seen.missing_again, 'time')} for a name that it had not found in "
        f"the unchanged directory shortly before, of {units.counted(seen.missing, 'time')} that it "
        "found none"
    )
    nothing = seen.found_again >= ENOUGH
    also = (
        f", and {units.counted(seen.found_again, 'time')} for one that it had found"
        if nothing
        else ""
    )
    yield concluded(
        NO_NAMES if nothing else NO_MISSING_NAMES,
        "likely" if nothing else "possible",
        f"{missing}{also}; a client that has no cache of {'names' if nothing else 'missing names'} "
        "does the same",
        seen.frames["missing"],
    )


def _goes_back(looked_up: int, returns: int) -> bool:
    return looked_up >= ENOUGH and looked_up >= LOOKS_UP_MOSTLY * returns


def _open_unasked(seen: MountEvidence) -> Iterator[MountVerdict]:
    """`nocto`: files known from a listing are read without asking."""
    if seen.reads_unasked >= MANY and seen.reads_asked <= ASKS_NEVER * seen.reads_unasked:
        yield concluded(
            ("nocto",),
            "possible",
            f"{units.counted(seen.reads_unasked, 'file')} known from a listing read without a "
            f"GETATTR before, {units.count(seen.reads_asked)} with one",
            (),
        )


def _listings(seen: MountEvidence) -> Iterator[MountVerdict]:
    """`nordirplus`: Linux asks for attributes when it lists a directory for the first time."""
    if seen.listings_plain < FEW or seen.listings_plus or seen.listings_unknown:
        return
    yield concluded(
        ("nordirplus",),
        "likely" if seen.listings_plain >= ENOUGH else "possible",
        f"{units.counted(seen.listings_plain, 'directory', 'directories')} listed without "
        "attributes, none with them; a client that asks for them only with rdirplus (macOS, "
        "FreeBSD), or a server that has none to give, does the same",
        seen.frames["listing"],
    )


def _synchronous(seen: MountEvidence) -> Iterator[MountVerdict]:
    """`sync`: data goes out at every write().

    A file of one WRITE shows nothing: the client sends that FILE_SYNC by default, which spares it
    the COMMIT.
    """
    told = _asks_always(seen) and (_asks_files(seen) or not _spares_files(seen))
    told = told or _asks_twice(seen)
    told = told or _asks_overlapping(seen)
    told = told or (_asks_at_once(seen) and not _tells_directories(seen))
    if _writes_through(seen) and not told:
        yield concluded(
            ("sync",),
            "possible",
            _through(seen),
            seen.frames["sync"],
        )


def _through(seen: MountEvidence) -> str:
    return (
        f"{units.counted(seen.writes_sync, 'WRITE')} of "
        f"{units.counted(seen.files_sync, 'file')} asked for stable storage though the next one "
        "followed; programs that open with O_SYNC do the same"
    )
