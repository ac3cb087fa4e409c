"""How much memory a command may take, and what of it the database gets.

Takes what the system says; gives bytes. Promises to ask every limit that ends a process when it is
exceeded: the machine's free memory, those of the control groups that it is in (containers, systemd
units), and the address space that `ulimit -v` leaves.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

DECODING_BYTES = 128 << 20
"""What a process takes beside the database: Python and its libraries, and the decoder with what it
holds of a usual capture. Measured on 1.1 GB: 120 MB."""

LEAST_BYTES = 128 << 20
"""The least limit that commands take, and keep: a process takes some 120 MB before it is asked
anything, and the database needs 64 MB and what it does not count of them. With less, captures of
long paths took more than is allowed beside the limit, or came to an end half-way."""

BEYOND_BYTES = 150 << 20
"""What a process may take beside its limit."""

TELLING = 0.1
"""Part of what is read from which on what a decoder takes tells what it will take in the end: what
it knows of files, names and connections grows with them at most, and the beginning has most."""

CALL_BYTES = 104
"""What an analysis holds of each call beside the database, at most: when it was outstanding, with
whom, and which share of the time is its own. Measured on 3.8 million calls."""

LEAST_CALL_BYTES = 104
"""What it holds of each call in any case. Measured: 82 of 1.5 million calls, 104 of 3.8 million
that follow one another more closely: with 90, a summary of these took 14 MB more than it may, and a
report came to an end half-way; with 100, a summary took 9 MB more."""

FILE_BYTES = 130
"""What the analysis of the time holds of each file besides."""

PAIR_BYTES = 6_500
"""What analyses hold of each pair of a client and a server. Measured on 100,000 clients with seven
calls each, of which 32,768 are told apart: with 5,000, a summary took 4 MB more than it may."""

MOST_PAIRS = 1 << 15
"""Pairs that are told apart at most (`pairs_limit` in docs/robustness.md)."""

WALK_BYTES = 100
"""What a walk over rows in order (walks.py) holds of each call besides, until it is through."""

ROW_BYTES = 240
"""What a walk takes for each row of one file, which are not divided, with what the database hands
over meanwhile and does not give back. Measured on a file with 0.9 and one with 1.8 million calls:
196 for patterns, 240 for what clients learnt."""

BESIDE_WALK_BYTES = BEYOND_BYTES // 2
"""What of the rows of a walk may come on top of the limit."""

WALKED_CALLS = 1 << 23
"""Calls of which a walk holds anything at the same time, or somewhat more: those of 18 GB of a
usual capture. What clients learnt of files took 16 s of the processor's time at 10 GB, and 23 s in
six parts: each is looked for among all rows, which the database writes down first …"""

WALKED_PART = 4
"""… what fits into one of so many parts of a limit, of a tight one into half of that …"""

LEAST_WALKED_CALLS = 1 << 16
"""… and those of which it does under a limit that is too tight for more."""

WALKED_SHARE = 4
"""One of so many calls, while nothing else is held: with rows for operations and entries, and with
what the database hands over at a time, that is less than `CALL_BYTES` of all calls."""

FILES_PARTS = 4
"""Of so many parts of what a decoder may take, all but one are for what it knows of files. It takes
more while it forgets some of them: measured, a tenth, and 30 to 40 MB."""

GAPS_BYTES = 96 << 20
"""What a decoder may take beside that, where what glibc keeps of freed memory does not matter. Of
names of 200 bytes that is 70 MB, since lists that grow leave what they had before; with that given
back at once (`give_back`) their decode took two fifths more of the processor's time."""

THREAD_BYTES = 125 << 20
"""What the database wants for each of its threads: with 25 MB, joins of half a million calls came
to an end for lack of memory, or did not, as it happened."""

LEAST_DATABASE_BYTES = 64 << 20
"""What the database gets of any limit: with half of it, joins of half a million calls came to an
end for lack of memory."""

LARGE_BYTES = 1 << 20
"""Arrays from which on glibc asks the system for each of them, where memory is tight. Else it asks
for those up to 32 MB that come again and again once, keeps them when they are freed, and is left
with gaps between what is still there: 150 MB of them for 1.5 million calls. It takes a tenth more
of the processor's time."""

TIGHT = 4
"""Limits are tight that have less than so many times what an analysis holds, beside what the
process takes anyhow. Of 4.4 million calls, two gigabytes are just enough: a summary takes 1.8, and
no more time than without a limit. As a tight limit they took 61 s of the processor's time instead
of 47, and 41 s by the clock instead of 25."""

ASKING_BYTES = 64 << 20
"""What the database and the allocator hold besides for each question that is asked at a time: of
half a million calls and fewer that is as much as their arrays."""

MOST_WORKERS = 4
"""Analyses at a time at most: those that build on one another take a third of a summary."""

_MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of `mallopt`."""

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_MEMORY = Path("/proc/meminfo")
_OWN_SIZE = Path("/proc/self/statm")


def default_limit() -> int | None:
    """Half of what is free, in bytes; None where the system does not tell."""
    available = free()
    return None if available is None else max(available // 2, 1)


def chosen(limit: int | None) -> int | None:
    """The limit that was asked for, in bytes; where none was (None), the default one.

    Not more than `most`: the process would be ended before it knew that it has reached its limit.
    """
    if limit is None:
        return default_limit()
    bound = most()
    return limit if bound is None else max(min(limit, bound), 1)


def most() -> int | None:
    """The largest limit that can be kept, in bytes; None where any can.

    Where the machine's memory is short, others are ended, or it swaps. What a control group or
    `ulimit -v` allow ends this process, though. Of addresses it takes more than of memory: for
    libraries, stacks of threads, and what the allocator sets aside. Measured on 4.4 million calls:
    with half of the addresses as its limit, a summary was done; with all of them it came to an end.
    """
    rooms = [room - BEYOND_BYTES for room in _group_rooms()]
    rooms += [room // 2 for room in _address_room()]
    return min((max(room, 1) for room in rooms), default=None)


def free() -> int | None:
    """Bytes that this process could still take; None where the system does not tell."""
    return min((max(room, 0) for room in _rooms()), default=None)


def resident() -> int:
    """Bytes that this process has in memory; 0 where the system does not tell."""
    try:
        _, pages, *_ = _OWN_SIZE.read_text().split()
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def growth(limit: int) -> int:
    """By how much the process may still grow, in bytes; what it had before may be anybody's.

    Args:
        limit: That of the whole process, in bytes.
    """
    return max(limit, LEAST_BYTES) + BEYOND_BYTES - min(resident(), DECODING_BYTES)


def enough(limit: int, more: int) -> int:
    """The limit with which a process may grow by so much more, in bytes.

    Args:
        limit: That of the whole process, in bytes.
        more: By how much it would have to grow beyond `growth`, in bytes.
    """
    return max(limit, LEAST_BYTES) + max(more, 0)


def of_files(limit: int | None, decoders: int = 1) -> int | None:
    """What each decoder may take for what it knows of files, in bytes; None: what it takes unasked.

    Where a limit leaves them little beside that, what is freed is given back from now on
    (`give_back`).

    Args:
        limit: That of the whole process, in bytes; None: there is none.
        decoders: How many of them are at work at the same time.
    """
    if limit is None:
        return None
    room = _of_decoders(limit)
    if room // FILES_PARTS < GAPS_BYTES:
        give_back()
    return room * (FILES_PARTS - 1) // FILES_PARTS // decoders


def _of_decoders(limit: int) -> int:
    """What all decoders may take beside what any process does, in bytes."""
    return max(limit, LEAST_BYTES) + BEYOND_BYTES - DECODING_BYTES


def of_database(limit: int, calls: int = 0, files: int = 0) -> int:
    """What the database gets of the limit of the whole process, in bytes.

    At least three eighths (of what it does not count, it takes more when it has more); of a tight
    limit what the rest leaves, if that is less, down to half of that.
    `LEAST_DATABASE_BYTES` in any case: where that leaves not enough for the rest, the process takes
    somewhat more.

    Args:
        limit: That of the whole process, in bytes.
        calls: Calls of which analyses hold something.
        files: Files likewise.
    """
    held = workers(limit, calls) * _of_analysis(calls, limit) + files * FILE_BYTES
    least = limit * 3 // 8
    if tight(limit, calls):
        least = min(least, max(limit - held, _least_share(limit)))
    return max(limit - DECODING_BYTES - held, least, LEAST_DATABASE_BYTES)


def _least_share(limit: int) -> int:
    """What the database gets of a tight limit in any case, in bytes."""
    return limit * 3 // 16


def workers(limit: int | None, calls: int) -> int:
    """How many analyses may hold arrays at a time.

    They do not all hold as much as they may at once, so that the database's share is not taken off.
    Under a tight limit it needs that more than a second question its turn.

    Args:
        limit: That of the whole process, in bytes; None: there is none.
        calls: Calls that are analysed.
    """
    if limit is None or not calls:
        return MOST_WORKERS
    if tight(limit, calls):
        return 1
    each = _of_analysis(calls, limit) + ASKING_BYTES
    return min(max((limit - DECODING_BYTES) // each, 1), MOST_WORKERS)


def walked(limit: int | None, calls: int) -> int:
    """Calls of which a walk holds anything at a time: theirs is a quarter or eighth of the limit.

    Where one analysis has its turn at a time, a walk may have what others have for their arrays:
    each part of the objects takes a look at all rows. Under a limit that is too low for these
    arrays, it has what the least share of the database leaves.

    Args:
        limit: That of the whole process, in bytes; None: there is none.
        calls: Calls that are analysed.
    """
    beside = _walked_beside(limit, calls)
    if limit is None or workers(limit, calls) > 1:
        return beside
    room = limit + BESIDE_WALK_BYTES - DECODING_BYTES - _least_share(limit)
    return max(beside, min(calls // WALKED_SHARE, room // ROW_BYTES))


def _walked_beside(limit: int | None, calls: int) -> int:
    """The same while other analyses hold arrays."""
    if limit is None:
        return WALKED_CALLS
    room = limit // WALKED_PART // (2 if tight(limit, calls) else 1)
    return min(max(room // WALK_BYTES, LEAST_WALKED_CALLS), WALKED_CALLS)


def threads(limit: int | None, calls: int, wanted: int) -> int:
    """How many of the wanted threads the database has memory for, but at least one.

    Args:
        limit: That of the whole process, in bytes; None: there is none.
        calls: Calls that are analysed.
        wanted: Threads that would have enough to do.
    """
    if limit is None:
        return wanted
    return max(min(wanted, of_database(limit, calls) // THREAD_BYTES), 1)


def needed(calls: int, files: int = 0, pairs: int = 0) -> int:
    """The limit that an analysis of the time takes at least, in bytes.

    It holds something of each call at the same time, which no database puts on the disk.

    Args:
        calls: Calls that are analysed.
        files: Files that they were about.
        pairs: Pairs of a client and a server that they went between.
    """
    held = calls * LEAST_CALL_BYTES + files * FILE_BYTES + pairs * PAIR_BYTES
    return DECODING_BYTES + LEAST_DATABASE_BYTES + held - BEYOND_BYTES


def needed_at_once(rows: int) -> int:
    """The limit that a walk takes at least which holds so many rows at the same time, in bytes."""
    return DECODING_BYTES + LEAST_DATABASE_BYTES + rows * ROW_BYTES - BEYOND_BYTES


def beside_rows(limit: int, rows: int, together: int) -> int:
    """What the database gets while a walk holds so many rows, in bytes.

    Args:
        limit: That of the whole process, in bytes.
        rows: Rows of a part: some of what they take is what a process may take beside its limit.
        together: Rows of the file that has most: it is walked over whole, however many they are.
    """
    held = max(rows * ROW_BYTES - BESIDE_WALK_BYTES, together * ROW_BYTES)
    return max(limit - DECODING_BYTES - held, LEAST_DATABASE_BYTES)


def tight(limit: int | None, calls: int) -> bool:
    """Whether a limit is so tight that memory counts for more than time.

    Args:
        limit: That of the whole process, in bytes; None: there is none.
        calls: Calls that will be analysed.
    """
    return limit is not None and limit - DECODING_BYTES <= TIGHT * calls * CALL_BYTES


def give_back() -> None:
    """Have what is freed given back to the system at once, from now on, where glibc allocates."""
    import ctypes

    allocator = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):  # Only glibc has these.
        allocator.mallopt(_MMAP_THRESHOLD, LARGE_BYTES)
        allocator.malloc_trim(0)


def _of_analysis(calls: int, limit: int) -> int:
    """What one analysis holds beside the database, in bytes, a walk of its own included."""
    return calls * CALL_BYTES + min(calls, _walked_beside(limit, calls)) * WALK_BYTES


def _rooms() -> Iterator[int]:
    """What each limit leaves."""
    available = _field(_MEMORY, "MemAvailable:")
    if available is not None:
        yield available * 1024
    yield from _group_rooms()
    yield from _address_room()


def _address_room() -> Iterator[int]:
    """What `ulimit -v` leaves."""
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _first(_OWN_SIZE)
    if address_space != resource.RLIM_INFINITY and pages is not None:
        yield address_space - pages * os.sysconf("SC_PAGE_SIZE")


def _group_rooms() -> Iterator[int]:
    """What the control groups above this process leave, of version 2 and 1."""
    try:
        lines = _OWN_GROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            home, names = _GROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            home = _GROUPS / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        group = home / path.lstrip("/")
        for directory in [group, *group.parents]:
            if not directory.is_relative_to(home):
                break
            limit, used = _first(directory / names[0]), _first(directory / names[1])
            if limit is not None and used is not None:
                # The page cache counts as used, and gives way.
                cached = _field(directory / "memory.stat", names[2]) or 0
                yield limit - used + cached


def _first(path: Path) -> int | None:
    """The number that a file begins with; None without, as in `max`."""
    try:
        words = path.read_text().split()
    except OSError:
        return None
    return int(words[0]) if words and words[0].isdecimal() else None


def _field(path: Path, name: str) -> int | None:
    """The number behind a name at the beginning of a line."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        words = line.split()
        if len(words) > 1 and words[0] == name and words[1].isdecimal():
            return int(words[1])
    return None
