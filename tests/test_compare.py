"""What `compare` says of the lab's captures: what was changed, by their truth, and nothing else.

Pairs are of one machine and one workload. What differs between them is read from the files beside
the captures; what traffic cannot show is not asked for: `actimeo=0` and `noac` ask the same
questions, and a fast disk answers as an async export does.
"""

from __future__ import annotations

import dataclasses
import functools
import struct
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import pcapnfs
from pcapnfs import units
from pcapnfs.analyses.data.commit_places import Places
from pcapnfs.analyses.data.commits import Commits
from pcapnfs.analyses.mounts.mount_verdict import MountVerdict
from pcapnfs.comparison.causes import causes
from pcapnfs.comparison.changed_caching import KEPT, LONGER
from pcapnfs.comparison.changed_protocol import left_open
from pcapnfs.comparison.changed_storage import QUICK
from pcapnfs.comparison.comparing import Comparison, of_sides
from pcapnfs.comparison.gaps import NOTICEABLE
from pcapnfs.comparison.moved_files import MovedFiles
from pcapnfs.comparison.operations import operation_changes
from pcapnfs.comparison.side import Side, gather
from pcapnfs.comparison.waterfall import PER_CALL
from pcapnfs.record import replace
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation
from pcapnfs.views.differences import (
    NOT_FORETOLD_LACKING,
    SUBJECTS,
    not_foretold,
)
from pcapnfs.views.remarks import OTHER_WORK, remarks
from pcapnfs.views.run_time_changed import in_a_sentence
from tests.damage import Damage, File, lose, snap
from tests.diagnosis.mounts import MOUNT
from tests.diagnosis.test_sync_mount import PIECES
from tests.oracles.corpus import Capture, lab_captures, require_corpus
from tests.sides import side_in, side_of
from tests.unit.rows import ROOT, Row, call, file, operation, trace_of

CAPTURES = {capture.name: capture for capture in lab_captures()}

SAMPLE = ROOT / "samples" / "k61-tar-v3.pcap"
"""A capture without damage."""

FAMILIES = (
    (
        "k61-tar-v3", "k61-tar-v41", "k61-tar-v42", "k61-tar-async-v3", "k61-tar-async-v42",
        "k61-tar-fastdisk-v3", "k61-tar-fastdisk-v42", "k61-tar-rtt5-v3", "k61-tar-rtt5-v42",
    ),
    ("tar-v3", "tar-v42", "tar-async-v3", "tar-fastdisk-v3"),
    (
        "opt-default-v3", "opt-noac-v3", "opt-actimeo0-v3", "opt-acdirmin0-v3",
        "opt-rwsize4096-v3", "opt-default-v42",
    ),
    ("opt-default-v42", "opt-noac-v42", "opt-actimeo0-v42", "opt-acdirmin0-v42",
     "opt-rwsize4096-v42"),
    ("walk-v3", "walk-nordirplus-v3", "walk-v42", "walk-nordirplus-v42"),
    ("k61-sec-krb5-v3", "k61-sec-krb5i-v3"),
    ("k61-sec-krb5-v42", "k61-sec-krb5i-v42", "k61-sec-krb5p-v42"),
    ("k61-tar-sizes-v3", "k61-tar-sizes-v3-w32k"),
    ("k61-tar-sizes-v41", "k61-tar-sizes-v41-w32k"),
    ("tar-sizes-v3", "tar-sizes-v3-w32k"),
    ("tar-sizes-v41", "tar-sizes-v41-w32k"),
)  # fmt: skip
"""Captures of one machine and one workload."""

PAIRS = [pair for family in FAMILIES for pair in combinations(family, 2)]

SAME = [
    ("tar-v3", "tar-v3-server"),
    ("tar-v41", "tar-v41-server"),
    ("loss-v42", "loss-v42-server"),
    ("k61-fmt-vlan-v42", "k61-fmt-vlan-v42-any"),
    ("fmt-plain-v3", "fmt-plain-v3-any"),
    ("fmt-plain-v3", "fmt-plain-v3-nano"),
    ("fmt-plain-v42", "fmt-plain-v42-wire-any"),
    ("k61-tar-v3", "k61-tar-v3"),
]
"""The same traffic, captured elsewhere or in another format."""

HALVED = ("k61-tar-v3", "k61-tar-v42", "k61-tar-async-v3", "tar-v3", "tar-v42", "tar-async-v3")
"""Captures of one workload from begin to end."""


def test_there_is_a_corpus() -> None:
    require_corpus()


@functools.cache
def side(name: str) -> Side:
    with pcapnfs.open(CAPTURES[name].files) as trace:
        return gather(trace)


def settings(capture: Capture) -> dict[str, Any]:
    """What was set, as far as traffic shows it, by subject of a cause."""
    truth = capture.truth()
    server = truth["server"]
    (mount, *_) = truth["clients"]["client1"]["mounts"]
    asked = mount["command"].split(" -o ", 1)[1].split(" ", 1)[0].split(",")
    force = mount["proc_mounts"].split(" ")[3].split(",")
    cache = next(
        ("none" if option in ("noac", "actimeo=0") else option)
        for option in (*asked, "default")
        if option in ("noac", "default") or option.startswith(("actimeo=", "acdirmin="))
    )
    slow = server["block_device_delay_ms_per_io"] > 0 and "async" not in server[
        "export_options"
    ].split(",")
    return {
        "version": truth["nfs_version"],
        "storage": "slow" if slow else "fast",
        "network_rtt": truth["network"]["rtt_configured_ms"],
        "attribute_cache": cache,
        # Of files that are only written, rsize shows nothing; of files of one page, wsize.
        "rsize": "rsize=4096" if "rsize=4096" in force else "larger",
        "wsize": "wsize=32768" if "wsize=32768" in force else "larger",
        "readdirplus": "nordirplus" not in force,
        "security": next(option for option in force if option.startswith("sec=")),
    }


def expected(before: str, after: str) -> set[str]:
    """The subjects that differ, as far as traffic can show it."""
    first, second = settings(CAPTURES[before]), settings(CAPTURES[after])
    return {subject for subject in first if first[subject] != second[subject]}


@pytest.mark.parametrize(("before", "after"), PAIRS, ids=lambda name: name)
def test_what_was_changed_is_told_and_nothing_else(before: str, after: str) -> None:
    one, other = side(before), side(after)
    found = causes(one, other, operation_changes(one.times, other.times))
    assert {cause.subject for cause in found} == expected(before, after)
    words = {cause.subject: (cause.before, cause.after) for cause in found}
    told = [settings(CAPTURES[name]) for name in (before, after)]
    for place in range(2):
        if "version" in words:
            assert words["version"][place] == told[place]["version"]
        if "rsize" in words and told[place]["rsize"] == "rsize=4096":
            assert words["rsize"][place] == "rsize=4096"
        if "wsize" in words and told[place]["wsize"] == "wsize=32768":
            assert words["wsize"][place] == "wsize=32768"
        if "attribute_cache" in words:
            spoken = {"none": "noac or actimeo=0", "default": KEPT}
            option = told[place]["attribute_cache"]
            assert words["attribute_cache"][place] == spoken.get(option, option)
        if "storage" in words:
            slow = words["storage"][place].startswith("slower")
            assert slow == (told[place]["storage"] == "slow")


@pytest.mark.parametrize(
    ("returns", "again", "told"), [(20, 4, True), (20, 5, False), (19, 0, False)]
)
def test_names_are_kept_where_the_other_side_tells_it(returns: int, again: int, told: bool) -> None:
    forgets = MountVerdict(
        ("lookupcache=none",), "lookupcache=none", "likely", "looked up again", ()
    )
    bare = side_of(calls=[call(1, "GETATTR", 1)])
    none = replace(bare, mounts=(replace(MOUNT, verdicts=(forgets,)),))
    kept = replace(MOUNT, moves=0, returns=returns, returns_looked_up=again)
    default = replace(bare, mounts=(kept,))
    found = [cause for cause in causes(none, default, ()) if cause.subject == "name_cache"]
    assert bool(found) is told
    if told:
        assert (found[0].before, found[0].after) == ("lookupcache=none", "default")
        assert found[0].evidence == "looked up again; in 4 of 20 moves after"
        (back,) = causes(default, none, ())
        assert (back.before, back.after) == ("default", "lookupcache=none")
        assert back.evidence.endswith("in 4 of 20 moves before")


@pytest.mark.parametrize(
    ("files", "gathered", "unstable", "told"),
    [
        # Each file in one WRITE that needs no COMMIT.
        ((1, 2), 32768, 0, True),
        # The same pieces: it may have been a program's doing on both sides.
        ((1, 2), 4096, 0, False),
        # Other files.
        ((3, 4), 32768, 0, False),
        ((3, 4), 4096, 3, True),
    ],
)
def test_a_sync_mount_is_told_from_one_that_gathers_and_is_no_wsize(
    files: tuple[int, ...], gathered: int, unstable: int, told: bool
) -> None:
    waits = MountVerdict(("sync",), "sync", "possible", "40 WRITEs asked for stable storage", ())
    bare = side_of(calls=[call(1, "GETATTR", 1)])
    habits = replace(bare.habits, largest_write_bytes=4096, writes_stable=80)
    through = replace(
        bare,
        mounts=(replace(MOUNT, verdicts=(waits,)),),
        habits=habits,
        moved=MovedFiles(written=frozenset((1, 2))),
    )
    default = replace(
        bare,
        mounts=(MOUNT,),
        habits=replace(habits, largest_write_bytes=gathered, writes_unstable=unstable),
        moved=MovedFiles(written=frozenset(files)),
    )
    found = {cause.subject: cause for cause in causes(default, through, ())}
    assert ("sync" in found) is told
    assert "wsize" not in found
    if told:
        assert (found["sync"].before, found["sync"].after) == ("no sync", "sync")


HALF_MIB = 1 << 19
"""Twice what is written before each COMMIT of `PIECES`."""

GATHERED = replace(PIECES, commits=10, written_bytes=10 * HALF_MIB, places=Places())
"""COMMITs each of which stands behind half a MiB, and behind no piece."""


@pytest.mark.parametrize(
    ("other", "paths", "told"),
    [
        (GATHERED, (1, 2), True),
        # Two of three paths, and one of three.
        (GATHERED, (1, 2, 3), True),
        (GATHERED, (1, 3, 4), False),
        # As much a COMMIT as with larger pieces.
        (replace(GATHERED, written_bytes=10 * HALF_MIB - 1), (1, 2), False),
        # A few pieces: fewer than the rule tells of.
        (replace(GATHERED, places=replace(PIECES.places, pieces=3)), (1, 2), False),
        # Nothing that was committed.
        (None, (1, 2), False),
    ],
)
def test_a_sync_mount_is_told_by_its_commits(
    other: Commits | None, paths: tuple[int, ...], told: bool
) -> None:
    """Linux sends what is written through in WRITEs and a COMMIT where it does not fit one."""
    bare = replace(side_of(calls=[call(1, "GETATTR", 1)]), mounts=(MOUNT,))
    written = MovedFiles(written=frozenset((1, 2)))
    through = replace(bare, moved=written, commits=(PIECES,), behind_pieces=(PIECES,))
    default = replace(
        bare,
        moved=MovedFiles(written=frozenset(paths)),
        commits=() if other is None else (other,),
    )
    found = [cause for cause in causes(through, default, ()) if cause.subject == "sync"]
    assert bool(found) is told
    assert not any(cause.subject == "sync" for cause in causes(through, through, ()))
    if told:
        assert (found[0].before, found[0].after) == ("sync", "no sync")
        assert found[0].confidence == "possible"
        assert found[0].evidence.startswith(
            "40 of 40 COMMITs before came behind pieces of 256 KiB, and the file's next WRITE only "
            "after the reply; on the other side 512 KiB were written before a COMMIT, "
        )
        (back,) = (cause for cause in causes(default, through, ()) if cause.subject == "sync")
        assert (back.before, back.after) == ("no sync", "sync")
        assert back.evidence.startswith("40 of 40 COMMITs after ")


@pytest.mark.parametrize("options", [("sync",), ("noac", "actimeo=0")])
def test_commits_tell_no_sync_mount_where_its_option_is_known(options: tuple[str, ...]) -> None:
    """One that caches nothing writes through; and `sync` is told by WRITEs of either side."""
    bare = side_of(calls=[call(1, "GETATTR", 1)])
    waits = replace(MOUNT, verdicts=(MountVerdict(options, options[0], "possible", "as seen", ()),))
    written = MovedFiles(written=frozenset((1, 2)))
    through = replace(
        bare, mounts=(MOUNT,), moved=written, commits=(PIECES,), behind_pieces=(PIECES,)
    )
    default = replace(bare, mounts=(MOUNT,), moved=written, commits=(GATHERED,))
    for mounts in ((waits,), (MOUNT, waits)):
        for sides in (
            (replace(through, mounts=mounts), default),
            (through, replace(default, mounts=mounts)),
        ):
            evidence = [cause.evidence for cause in causes(*sides, ())]
            assert not any("COMMIT" in said for said in evidence)


def test_commits_behind_pieces_are_found_in_a_trace() -> None:
    """Twelve pieces of two WRITEs, each with its COMMIT; and the same WRITEs with one COMMIT."""

    def written(*, each: bool) -> Side:
        calls, operations, number = [], [], 0
        for piece in range(12):
            for half in range(2):
                number += 1
                start = (2 * piece + half) * 4096
                calls.append(call(number, "WRITE", 1, file=1, stability="unstable_write"))
                operations.append(
                    operation(
                        number, "WRITE", file=1, offset=start, count=4096, requested=4096,
                        committed="UNSTABLE",
                    )
                )  # fmt: skip
            if each or piece == 11:
                number += 1
                calls.append(call(number, "COMMIT", 1, file=1, stability="stable"))
                operations.append(operation(number, "COMMIT", file=1))
        return side_of(calls=calls, operations=operations, files=[file(1, "f")])

    through, gathered = written(each=True), written(each=False)
    ((pair,), none) = through.behind_pieces, gathered.behind_pieces
    assert (pair.commits, pair.places.pieces, none) == (12, 12, ())
    found = {cause.subject: cause for cause in causes(gathered, through, ())}
    assert (found["sync"].before, found["sync"].after) == ("no sync", "sync")


def listing(
    size: int | None,
    times: int = 3,
    read: int | None = None,
    limit: int | None = 1 << 20,
    **changes: object,
) -> Side:
    """A side whose listings began with so much."""
    bare = side_of(calls=[call(1, "GETATTR", 1)])
    habits = replace(
        bare.habits,
        listings_begun=times,
        listing_bytes=size,
        largest_read_bytes=read,
        max_read_bytes=limit,
    )
    return replace(bare, mounts=(MOUNT,), habits=habits, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (listing(16384), listing(32768)),
        (listing(28672, read=28672), listing(1 << 20, read=1 << 20)),
    ],
)
def test_rsize_is_told_by_what_listings_begin_with(small: Side, large: Side) -> None:
    (cause,) = causes(small, large, ())
    size, larger = small.habits.listing_bytes, units.size(large.habits.listing_bytes or 0)
    words = (f"rsize={size}", f"larger ({larger} were asked for at once)")
    assert (cause.subject, cause.confidence) == ("rsize", "possible")
    assert (cause.before, cause.after) == words
    assert cause.evidence.startswith(
        f"3 listings began with {units.size(size or 0)} before, 3 with {larger} after, and no READ "
        f"asked for more than {units.size(size or 0)} before; the server allows 1.00 MiB on both "
        "sides; "
    )
    (back,) = causes(large, small, ())
    assert (back.before, back.after) == words[::-1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # As much as a page, which some kernels begin with, and no whole number of them.
        (listing(4096), listing(65536)),
        (listing(16296), listing(65536)),
        # Both smaller than clients ask for by themselves, or neither.
        (listing(8192), listing(16384)),
        (listing(32768), listing(65536)),
        (listing(16384, times=2), listing(65536)),
        (listing(16384), listing(65536, times=2)),
        # Of several sizes.
        (listing(16384), listing(None)),
        # A READ that rsize would have cut.
        (listing(16384, read=16385), listing(65536)),
        # Another server may prefer another size, and another client ask for it.
        (listing(16384, limit=65536), listing(65536)),
        (listing(16384, limit=None), listing(65536, limit=None)),
        # The server allows no more.
        (listing(16384, limit=16384), listing(32768, limit=16384)),
        (listing(16384, servers=("10.0.0.9",)), listing(65536)),
        (listing(16384, callers={}), listing(65536)),
    ],
)
def test_other_listings_tell_no_rsize(first: Side, second: Side) -> None:
    for sides in ((first, second), (second, first)):
        assert not any(cause.subject == "rsize" for cause in causes(*sides, ()))


def test_rsize_that_an_option_tells_is_not_told_by_listings() -> None:
    said = MountVerdict(("rsize=16384",), "rsize=16384", "likely", "as seen", ())
    told = replace(listing(16384), mounts=(replace(MOUNT, verdicts=(said,)),))
    assert not any(cause.subject == "rsize" for cause in causes(told, listing(65536), ()))
    larger = replace(listing(65536), largest_listing_bytes=65536)
    (cause,) = (cause for cause in causes(told, larger, ()) if cause.subject == "rsize")
    assert cause.evidence.startswith("as seen; ")


def test_the_number_of_connections_is_told() -> None:
    """Two that are in use by turns are one that was made anew."""

    def over(*connections: int) -> Side:
        rows = [
            call(place, "GETATTR", 1, connection=number)
            for place, number in enumerate(connections, 1)
        ]
        return side_of(calls=rows, connections=[{"transport": "TCP"}] * 2)

    one, two, anew = over(0, 0, 0, 0), over(0, 1, 0, 1), over(0, 0, 1, 1)
    (cause,) = causes(one, two, ())
    assert (cause.subject, cause.before, cause.after) == ("connections", "1", "2")
    (back,) = causes(two, anew, ())
    assert (back.before, back.after) == ("2", "1")
    assert causes(one, anew, ()) == ()


@pytest.mark.parametrize(("used", "again", "told"), [(20, 4, True), (20, 5, False), (19, 0, False)])
def test_names_are_kept_where_directories_are_hardly_looked_up_twice(
    used: int, again: int, told: bool
) -> None:
    """What names a client keeps it does not look up, so that there are no moves between them."""
    forgets = MountVerdict(
        ("lookupcache=none",), "lookupcache=none", "likely", "looked up again", ()
    )
    # The last call of all is in a directory that was not looked up.
    looked_up = [
        call(1 + place, "LOOKUP", 1, directory=9, file=1, status=0) for place in range(again + 1)
    ]
    names = [call(50 + place, "LOOKUP", 1, directory=1, status=2) for place in range(used)]
    names += [call(99, "REMOVE", 1, directory=8)]
    found = [operation(1, "LOOKUP", status=0)]
    default = replace(
        side_of(calls=[*looked_up, *names], operations=found), mounts=(replace(MOUNT, moves=0),)
    )
    assert (default.habits.names_used, default.habits.directories_again) == (used, again)
    none = replace(default, mounts=(replace(MOUNT, verdicts=(forgets,)),))
    told_of = [cause for cause in causes(default, none, ()) if cause.subject == "name_cache"]
    assert bool(told_of) is told
    if told:
        assert (told_of[0].before, told_of[0].after) == ("default", "lookupcache=none")
        assert told_of[0].evidence == (
            "looked up again; 4 times for 20 calls by names in such directories before"
        )


def test_longer_timeouts_than_those_of_some_seconds_need_not_be_the_default() -> None:
    options = tuple(f"{name}={value}" for name in ("actimeo", "acregmax") for value in (1, 2, 3))
    short = MountVerdict(options, "actimeo=1…3 or acregmax=1…3", "possible", "asked 20 times", ())
    never = MountVerdict(("noac", "actimeo=0"), "noac or actimeo=0", "likely", "asked always", ())
    bare = side_of(calls=[call(1, "GETATTR", 1)])
    brief, none, plain = (
        replace(bare, mounts=(replace(MOUNT, verdicts=verdicts),))
        for verdicts in ((short,), (never,), ())
    )
    for before, after, words in (
        (brief, plain, (short.title, LONGER)),
        (plain, brief, (LONGER, short.title)),
        (none, plain, (never.title, KEPT)),
        (none, brief, (never.title, short.title)),
    ):
        (cause,) = causes(before, after, ())
        assert (cause.subject, cause.before, cause.after) == ("attribute_cache", *words)


@pytest.mark.parametrize(
    ("moves", "lookups", "told"), [(20, 4, True), (20, 5, False), (19, 0, False)]
)
def test_names_are_kept_where_children_are_asked_for_without_looking_them_up(
    moves: int, lookups: int, told: bool
) -> None:
    """A walk of what is known already has no calls by name."""
    forgets = MountVerdict(
        ("lookupcache=none",), "lookupcache=none", "likely", "looked up again", ()
    )
    asked = [call(1 + place, "LOOKUP", 1, directory=9) for place in range(lookups)]
    default = replace(
        side_of(calls=[*asked, call(99, "GETATTR", 1)]), mounts=(replace(MOUNT, moves=moves),)
    )
    none = replace(default, mounts=(replace(MOUNT, moves=0, verdicts=(forgets,)),))
    found = [cause for cause in causes(default, none, ()) if cause.subject == "name_cache"]
    assert bool(found) is told
    if told:
        assert (found[0].before, found[0].after) == ("default", "lookupcache=none")
        assert found[0].evidence == (
            "looked up again; 4 LOOKUPs for 20 moves from one child of a directory to the next "
            "before"
        )


def _moved(result: Comparison) -> list[str]:
    return [row.op for row in result.operations if row.verdict in ("faster", "slower")]


def moving(folder: Path, name: str, **options: object) -> Side:
    """A simulated run that reads five files of 4 MiB."""
    reading = Options(workload="cachedread", files=5, sizes=(4 << 20,), rounds=1)
    path = folder / f"{name}.pcap"
    chosen = replace(reading, **options)  # type: ignore[arg-type]
    path.write_bytes(Simulation(chosen).run()[0].pcap())
    return side_in(path)


def test_a_link_of_another_rate_is_told(tmp_path: Path) -> None:
    fast, slow = moving(tmp_path, "fast"), moving(tmp_path, "slow", bandwidth=10**8)
    (cause,) = of_sides(fast, slow).causes
    assert (cause.subject, cause.confidence) == ("bandwidth", "possible")
    # 1 Gbit/s and 100 Mbit/s carry at most 119 and 11.9 MiB a second, headers with them.
    assert (cause.before, cause.after) == ("115 MiB a second", "11.5 MiB a second")
    assert [each.subject for each in of_sides(slow, fast).causes] == ["bandwidth"]
    assert of_sides(slow, moving(tmp_path, "again", bandwidth=10**8, seed=2)).causes == ()


def unpacking(folder: Path, name: str, **options: object) -> Side:
    """A simulated run that makes 60 files."""
    path = folder / f"{name}.pcap"
    chosen = replace(Options(workload="tar", files=60), **options)  # type: ignore[arg-type]
    path.write_bytes(Simulation(chosen).run()[0].pcap())
    return side_in(path)


MS_NS = 1_000_000


@pytest.mark.parametrize("version", ["4.0", "4.2"])
def test_a_server_that_takes_longer_for_every_call_is_no_slower_storage(
    version: str, tmp_path: Path
) -> None:
    fast = unpacking(tmp_path, "fast", version=version, persist_ns=0)
    slow = unpacking(tmp_path, "slow", version=version, persist_ns=0, service_ns=3 * MS_NS)
    for before, after, words in ((fast, slow, ("30.0", "3.00 ms")), (slow, fast, ("3.00", "30.0"))):
        result = of_sides(before, after)
        (cause,) = result.causes
        assert cause.subject == "server_service"
        assert cause.before.startswith(words[0])
        assert cause.after.startswith(words[1])
        # Given what it took after, the model has the run.
        set_up = next(each for each in result.foretold if each.given == "set_up")
        assert set_up.error == pytest.approx(0.0, abs=0.02)


def test_a_storage_that_is_slower_beside_is_told_as_well(tmp_path: Path) -> None:
    fast = unpacking(tmp_path, "fast", version="4.2", persist_ns=0)
    slow = unpacking(tmp_path, "slow", version="4.2", persist_ns=20 * MS_NS, service_ns=3 * MS_NS)
    assert {cause.subject for cause in of_sides(fast, slow).causes} == {"server_service", "storage"}


def test_a_storage_that_became_slower_as_the_way_became_shorter_is_told(tmp_path: Path) -> None:
    """RTT 10 ms and storage of 0.1 ms, then 0.5 ms and 12 ms: calls take a fifth longer."""
    far = unpacking(tmp_path, "far", rtt_ns=10 * MS_NS, persist_ns=MS_NS // 10)
    near = unpacking(tmp_path, "near", rtt_ns=MS_NS // 2, persist_ns=12 * MS_NS)
    for before, after, more in ((far, near, "less"), (near, far, "more")):
        found = {cause.subject: cause for cause in of_sides(before, after).causes}
        assert set(found) == {"network_rtt", "storage"}
        told = f"though network and server took 9.50 ms {more} for every call;"
        assert told in found["storage"].evidence
        assert found["storage"].before.startswith("faster" if before is far else "slower")


@pytest.mark.parametrize(("slow_ms", "told"), [(20, True), (3, False)])
def test_a_storage_that_became_slower_as_the_way_became_longer_is_told(
    slow_ms: int, told: bool, tmp_path: Path
) -> None:
    """RTT 2 ms, then 30 ms: most of what calls take longer is the way's."""
    near = unpacking(tmp_path, "near", rtt_ns=2 * MS_NS, persist_ns=0)
    far = unpacking(tmp_path, "far", rtt_ns=30 * MS_NS, persist_ns=slow_ms * MS_NS)
    for before, after in ((far, near), (near, far)):
        found = {cause.subject: cause for cause in of_sides(before, after).causes}
        assert set(found) == ({"network_rtt", "storage"} if told else {"network_rtt"})
        if told:
            assert found["storage"].before.startswith("faster" if before is near else "slower")


@pytest.mark.parametrize(("slow_ms", "told"), [(20, True), (10, False)])
def test_storage_of_another_version_is_told_by_what_asks_the_same_of_it(
    slow_ms: int, told: bool, tmp_path: Path
) -> None:
    """Several times as long: a new file is a CREATE in NFSv3, and an OPEN in NFSv4."""
    three = unpacking(tmp_path, "three", version="3", persist_ns=4 * MS_NS)
    four = unpacking(tmp_path, "four", version="4.2", persist_ns=slow_ms * MS_NS)
    for before, after in ((three, four), (four, three)):
        found = {cause.subject: cause for cause in of_sides(before, after).causes}
        assert ("storage" in found) is told
        assert "version" in found
        if told:
            assert "CREATE or OPEN(create)" in found["storage"].evidence
            assert found["storage"].before.startswith("faster" if before is three else "slower")


@pytest.mark.parametrize(
    ("persist_us", "service_us", "told"),
    [
        # All calls take less, and so the server is faster.
        ((400, 120), (60, 20), None),
        # Those that need storage alone, by parts of a millisecond.
        ((400, 120), (60, 50), "possible"),
        ((1200, 400), (60, 50), "possible"),
        # Where it is milliseconds, what other calls take is no matter.
        ((1500, 400), (60, 20), "likely"),
    ],
)
def test_storage_is_possible_at_most_below_a_millisecond(
    persist_us: tuple[int, int], service_us: tuple[int, int], told: str | None, tmp_path: Path
) -> None:
    slow, fast = (
        unpacking(
            tmp_path, str(persist), version="4.2", rtt_ns=50_000,
            persist_ns=1000 * persist, service_ns=1000 * service,
        )
        for persist, service in zip(persist_us, service_us, strict=True)
    )  # fmt: skip
    for before, after in ((slow, fast), (fast, slow)):
        found = [each for each in of_sides(before, after).causes if each.subject == "storage"]
        assert [each.confidence for each in found] == ([told] if told else [])
        assert [QUICK in each.evidence for each in found] == [told == "possible"] * len(found)


def test_data_that_takes_little_of_the_time_or_a_longer_path_is_no_other_rate(
    tmp_path: Path,
) -> None:
    fast, slow = moving(tmp_path, "fast"), moving(tmp_path, "slow", bandwidth=10**8)
    # Most of both runs is the client's.
    busy = {"think_ns": 2 * 10**9}
    rare = moving(tmp_path, "rare", **busy), moving(tmp_path, "less", bandwidth=10**8, **busy)
    assert of_sides(*rare).causes == ()
    # Of a few bytes nobody knows how fast more of them would move.
    assert of_sides(replace(fast, moved_bytes=fast.moved_bytes // 3), slow).causes == ()
    far = moving(tmp_path, "far", bandwidth=10**8, rtt_ns=40_000_000)
    assert [each.subject for each in of_sides(fast, far).causes] == ["network_rtt"]


def test_data_that_no_path_of_that_length_holds_down_is_told_beside_the_path(
    tmp_path: Path,
) -> None:
    """3.4 KiB in each round trip, where TCP begins with 14,600 bytes."""
    fast = moving(tmp_path, "fast")
    slow = moving(tmp_path, "narrow", bandwidth=30_000_000, rtt_ns=1_000_000)
    for pair in ((fast, slow), (slow, fast)):
        assert [each.subject for each in of_sides(*pair).causes] == ["network_rtt", "bandwidth"]
    rate = slow.moved_bytes / slow.measured.moving_s
    for rtt_s, told in ((14_599 / rate, True), (14_601 / rate, False)):
        far = replace(slow, way=replace(slow.way, rtt_s=rtt_s, floor_s=rtt_s))
        subjects = [each.subject for each in of_sides(fast, far).causes]
        assert ("bandwidth" in subjects) is told


def test_a_longer_round_trip_that_replies_alone_tell_is_possible(tmp_path: Path) -> None:
    """Captured while it was mounted, of a client whose every call is answered with data."""
    work: dict[str, object] = {"workload": "tar", "files": 20, "sizes": (1024,), "persist_ns": 0}
    near = moving(tmp_path, "near", **work)
    far = moving(tmp_path, "far", rtt_ns=20_000_000, **work)
    floor_s = far.way.floor_s or 0.0

    def told(rtt_s: float, side: Side = far) -> list[str]:
        bounded = replace(side, way=replace(far.way, source="gaps", rtt_s=rtt_s))
        found = (*of_sides(near, bounded).causes, *of_sides(bounded, near).causes)
        return [cause.confidence for cause in found if cause.subject == "network_rtt"]

    assert told(1.1 * floor_s) == ["possible", "possible"]
    # Of calls that may all have waited for a disk nobody knows that it is the network's.
    way = replace(far.way, source="gaps", rtt_s=1.1 * floor_s, by_answers=True, undivided=True)
    (cause,) = of_sides(near, replace(far, way=way)).causes
    assert (cause.subject, cause.confidence) == ("network_or_server", "possible")
    assert SUBJECTS[cause.subject] == "network round trip or the server's storage"
    assert cause.evidence.startswith("no calls tell it but such as may wait for the server's disks")
    # A server that is slow answers some calls much sooner; of few calls none may be quick.
    assert told(1.5 * floor_s) == []
    assert told(1.1 * floor_s, replace(far, times={})) == []


@pytest.mark.parametrize(("before", "after"), SAME, ids=lambda name: name)
def test_the_same_traffic_differs_in_nothing(before: str, after: str) -> None:
    result = of_sides(side(before), side(after))
    assert result.causes == ()
    assert _moved(result) == []
    assert [step.factor for step in result.steps if step.clear] == []
    assert (result.files.only_before, result.files.only_after) == (0, 0)
    assert (result.patterns.came, result.patterns.went) == (0, 0)
    if result.before.vantage == result.after.vantage:
        # That packets are in one of the captures twice is true.
        unlike = {row.id for row in result.findings if row.where != "both"}
        assert unlike <= {"captured_twice"}


def test_two_runs_of_one_set_up_differ_in_nothing_but_the_minor_version() -> None:
    result = of_sides(side("k61-tar-v41"), side("k61-tar-v42"))
    assert [cause.subject for cause in result.causes] == ["version"]
    assert _moved(result) == []
    assert [step.factor for step in result.steps if step.clear] == []


def damaged(damage: Damage, folder: Path) -> Side:
    """What is said of the sample after some damage."""
    whole = File.read(SAMPLE)
    assert whole is not None
    path = folder / "damaged.pcap"
    damage(whole).write(path)
    return side_in(path)


def undamaged() -> Side:
    return side_in(SAMPLE)


def test_the_time_of_a_call_without_reply_is_no_run_time() -> None:
    unanswered = side_of(calls=[call(1, "GETATTR", None)])
    for result in (of_sides(undamaged(), unanswered), of_sides(unanswered, undamaged())):
        assert {result.before.known, result.after.known} == {False, True}
        assert (result.factor, result.steps, result.foretold) == (None, (), ())
        assert "run time is not known, since no call has its reply" in in_a_sentence(result)


def test_under_tls_nobody_knows_how_long_a_run_took() -> None:
    sealed = {"client_bytes": 600, "server_bytes": 400, "sealed_bytes": 990}
    result = of_sides(side_of(calls=[call(1, "NULL", 9)], connections=[sealed]), undamaged())
    assert (result.before.known, result.factor, result.steps) == (False, None, ())


def test_calls_that_only_ask_who_is_there_are_no_run() -> None:
    """A NULL of 0.3 ms beside a run of half a minute was `102 163 times as long`."""
    asked = [call(number, "NULL", 0.3) for number in (1, 2)]
    tar = [call(number, "CREATE", 20, file=1, stability="stable") for number in range(1, 100)]
    tcp = [{"transport": "TCP"}]
    with (
        trace_of(calls=asked, connections=tcp) as before,
        trace_of(calls=tar, files=[file(1, "a")], connections=tcp) as after,
    ):
        result = pcapnfs.compare(before, after)
        again = pcapnfs.compare(after, after)
    assert in_a_sentence(result) == "BEFORE holds no call for files; AFTER took 1.00 s."
    assert (result.before.calls, result.before.only_null, result.before.of_files) == (
        2,
        True,
        False,
    )
    assert (result.factor, result.steps, result.foretold) == (None, (), ())
    assert not again.before.only_null
    assert again.factor == 1


@pytest.mark.parametrize(
    ("before", "after", "other"),
    [
        ("k61-tar-v3", "walk-v3", True),
        ("k61-tar-v3", "k61-tar-v3", False),
        ("k61-tar-v3", "k61-tar-v42", False),
        ("opt-default-v3", "opt-noac-v3", False),
        ("tar-v3", "loss-v3", False),
        ("k61-tar-v42", "walk-v3", False),
    ],
)
def test_runs_of_other_work_are_said_to_be(before: str, after: str, other: bool) -> None:
    for sides in ((before, after), (after, before)):
        result = of_sides(*map(side, sides))
        assert (OTHER_WORK in remarks(result)) is other
        if before[-3:] != after[-3:]:
            assert result.in_common is None


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        # The same calls, cut, sealed, and cut where hardly anything but data is.
        ("tar-v42", "tar-v42-snap256", False),
        ("k61-sec-krb5i-v42", "k61-sec-krb5p-v42", False),
        ("tar-v3", "tar-v3-snap256", True),
        ("k61-sec-krb5p-v42", "k61-sec-krb5p-v42", True),
    ],
)
def test_what_could_not_be_read_of_one_side_alone_is_no_other_work(
    before: str, after: str, known: bool
) -> None:
    for sides in ((before, after), (after, before)):
        result = of_sides(*map(side, sides))
        assert result.in_common == (1.0 if known else None)
        assert OTHER_WORK not in remarks(result)
        # Where all of the difference may come of that, nothing is foretold, either.
        assert bool(result.foretold) is bool(result.steps) is known
        if not known:
            assert not_foretold(result) == NOT_FORETOLD_LACKING


def test_asking_for_tls_is_no_flavor_of_the_calls_under_it() -> None:
    before, after = side("sec-tls-v42"), side("k61-tar-v42")
    assert before.habits.flavors == {}
    assert "security" in left_open(before, after)
    assert not {cause.subject for cause in causes(before, after, ())} & {"security", "version"}


def test_what_was_cut_off_did_not_change(tmp_path: Path) -> None:
    before, after = undamaged(), damaged(snap(96), tmp_path)
    assert set(before.habits.flavors) == {"AUTH_SYS"}
    assert after.habits.flavors == {}
    assert left_open(before, before) == ()
    assert left_open(before, after) == left_open(after, before) == ("security",)
    for one, other in ((before, after), (after, before)):
        found = causes(one, other, operation_changes(one.times, other.times))
        assert {cause.subject for cause in found} & {"version", "transport", "security"} == set()


def test_what_a_capture_lost_is_told_and_is_no_clear_step(tmp_path: Path) -> None:
    before, after = undamaged(), damaged(lose(0.03, seed=7), tmp_path)
    for result in (of_sides(before, after), of_sides(after, before)):
        assert result.clear_from > NOTICEABLE
        assert [step.factor for step in result.steps if step.clear] == []
    result = of_sides(before, after)
    assert result.before.trust.complete
    lost = result.after.trust
    assert min(lost.unanswered, lost.orphan_replies, lost.missing_bytes) > 0
    (told,) = remarks(result)
    assert told.startswith(f"AFTER: {lost.unanswered_within} calls have no reply, ")


def test_of_a_side_without_replies_no_step_is_told(tmp_path: Path) -> None:
    def asked(whole: File) -> File:
        client = bytes([10, 0, 0, 11])
        sent = tuple(frame for frame in whole.frames if frame.data[26:30] == client)
        return dataclasses.replace(whole, frames=sent)

    result = of_sides(undamaged(), damaged(asked, tmp_path))
    assert result.after.trust.one_way == "replies"
    assert result.steps == ()
    (told,) = remarks(result)
    assert told.startswith("AFTER: only what clients sent was captured")


def test_a_change_that_losses_do_not_explain_stays_clear(tmp_path: Path) -> None:
    after = damaged(lose(0.01, seed=7), tmp_path)
    result = of_sides(after, side("k61-tar-async-v3"))
    assert "persist_s" in [step.factor for step in result.steps if step.clear]


def listed(op: str, looked_up: int, path: str = "d") -> Side:
    """A directory of twelve files, listed once, of which some were then looked up."""
    files = range(2, 14)
    plus = op == "READDIRPLUS"
    told = {"ctime": 1, "mtime": 1, "size": 1} if plus else {}
    return side_of(
        files=[file(1, path, "directory", parent=99), file(99, ".", "directory")]
        + [file(number, f"{path}/f{number}", parent=1, name=f"f{number}") for number in files],
        calls=[call(1, op, 1, file=1)]
        + [call(number, "LOOKUP", 1, file=number, directory=1) for number in files[:looked_up]],
        operations=[operation(1, op, file=1, cookie=0, entries=14)],
        entries=[
            {"call": 1, "directory": 1, "name": name} for name in (".", "..")
        ]
        + [
            {"call": 1, "directory": 1, "name": f"f{number}", "file": number if plus else None}
            | told
            for number in files
        ],
    )  # fmt: skip


def test_one_listing_tells_where_all_its_entries_were_then_looked_up() -> None:
    plain, plus = listed("READDIR", 12), listed("READDIRPLUS", 0)
    (cause,) = causes(plain, plus, ())
    assert (cause.subject, cause.before, cause.confidence) == (
        "readdirplus",
        "without attributes",
        "likely",
    )
    (cause,) = causes(plus, plain, ())
    assert (cause.before, cause.after) == ("with attributes", "without attributes")


def test_one_listing_tells_nothing_of_names_alone_or_of_another_directory() -> None:
    plus = listed("READDIRPLUS", 0)
    assert causes(listed("READDIR", 6), plus, ()) == ()
    assert causes(listed("READDIR", 12, "e"), plus, ()) == ()
    assert causes(plus, plus, ()) == ()


def test_what_one_side_could_not_read_is_no_clear_step(tmp_path: Path) -> None:
    result = of_sides(undamaged(), damaged(snap(96), tmp_path))
    assert result.clear_from == 1
    assert result.steps == ()
    again = of_sides(side("k61-sec-krb5p-v42"), side("k61-sec-krb5p-v42"))
    assert again.clear_from == NOTICEABLE  # Both sides lack the same.


def test_of_a_capture_that_breaks_off_only_single_calls_are_told(tmp_path: Path) -> None:
    path = tmp_path / "broken.pcap"
    data = SAMPLE.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    broken = side_in(path)
    result = of_sides(undamaged(), broken)
    steps = {step.factor: step for step in result.steps}
    assert abs(steps["files"].change_s) > result.clear_from * result.before.run_s
    assert {name for name, step in steps.items() if step.clear} <= {*PER_CALL}
    assert any("is damaged" in told for told in remarks(result))
    faster = of_sides(broken, side("k61-tar-async-v3"))
    assert "persist_s" in [step.factor for step in faster.steps if step.clear]


def made(number: int, looked_at: int = 0, took_ms: float = 8) -> Side:
    """Files that are made and asked for, and then others that are asked for alone."""
    rows: list[Row] = []
    for of in range(1, number + looked_at + 1):
        if of <= number:
            rows.append(call(len(rows) + 1, "CREATE", took_ms, file=of, stability="stable"))
        rows.append(call(len(rows) + 1, "GETATTR", 1, file=of))
    files = [file(of, f"f{of}") for of in range(1, number + looked_at + 1)]
    tcp = [{"transport": "TCP"}]
    return side_of(calls=rows, files=files, connections=tcp)


@pytest.mark.parametrize(
    ("after", "by_file"),
    [
        pytest.param((40, 40), False, id="looked at"),
        pytest.param((80, 0), True, id="worked on"),
        pytest.param((40, 4), True, id="hardly more"),
        pytest.param((60, 20), True, id="both"),
    ],
)
def test_files_that_were_only_looked_at_are_no_more_work(
    after: tuple[int, int], by_file: bool
) -> None:
    """They come and go with what a client keeps; what a file costs on average is not theirs."""
    one, other = made(40), made(*after)
    for sides in ((one, other), (other, one)):
        result = of_sides(*sides)
        assert result.by_file is by_file
        steps = {step.factor: step for step in result.steps}
        assert steps["files"].change_s == 0 or by_file
        assert steps["syncops_per_file"].change_s == pytest.approx(0, abs=1e-9) or by_file
        assert sum(step.change_s for step in result.steps) == pytest.approx(result.change_s)
        # Given all its calls, the run is foretold as a whole.
        given = {each.given: each for each in result.foretold}
        assert ("files" in given) is by_file
        assert given["calls"].files is None or by_file


def halves(path: Path, folder: Path) -> Iterator[Path]:
    """A classic little-endian capture cut in two by the number of its packets."""
    data = path.read_bytes()
    places, place = [], 24
    while place < len(data):
        places.append(place)
        place += 16 + struct.unpack_from("<I", data, place + 8)[0]
    middle = places[len(places) // 2]
    for name, body in (("first", data[24:middle]), ("second", data[middle:])):
        half = folder / f"{name}.pcap"
        half.write_bytes(data[:24] + body)
        yield half


@pytest.mark.parametrize("name", HALVED)
def test_the_halves_of_a_capture_differ_in_nothing(name: str, tmp_path: Path) -> None:
    sides = []
    for half in halves(CAPTURES[name].files[0], tmp_path):
        sides.append(side_in(half))
    first, second = sides
    operations = operation_changes(first.times, second.times)
    assert any(row.verdict == "same" for row in operations)
    assert [row.op for row in operations if row.verdict in ("faster", "slower")] == []
    assert causes(first, second, operations) == ()


@pytest.mark.parametrize(
    ("before", "after", "most"),
    [
        ("k61-tar-v3", "k61-tar-async-v3", "persist_s"),
        ("k61-tar-v3", "k61-tar-fastdisk-v3", "persist_s"),
        ("k61-tar-v42", "k61-tar-async-v42", "persist_s"),
        ("tar-v3", "tar-async-v3", "persist_s"),
        ("opt-default-v3", "opt-noac-v3", "rpcs_per_file"),
        ("opt-default-v42", "opt-actimeo0-v42", "rpcs_per_file"),
        ("walk-v3", "walk-nordirplus-v3", "rpcs_per_file"),
    ],
)
def test_the_steps_add_up_and_the_right_one_is_the_largest(
    before: str, after: str, most: str
) -> None:
    result = of_sides(side(before), side(after))
    assert sum(step.change_s for step in result.steps) == pytest.approx(result.change_s, abs=1e-9)
    largest = max(result.steps, key=lambda step: abs(step.change_s))
    assert (largest.factor, largest.clear) == (most, True)
    back = of_sides(side(after), side(before))
    for there, again in zip(result.steps, back.steps, strict=True):
        assert there.change_s == pytest.approx(-again.change_s, abs=1e-9)


@pytest.mark.parametrize(
    ("before", "after", "within"),
    [
        # That run takes 0.72 s: 0.17 s too much are foretold.
        ("k61-tar-v3", "k61-tar-async-v3", 0.25),
        ("k61-tar-v3", "k61-tar-fastdisk-v3", 0.2),
        ("k61-tar-v3", "k61-tar-rtt5-v3", 0.1),
        ("k61-tar-v42", "k61-tar-rtt5-v42", 0.1),
        ("k61-tar-async-v42", "k61-tar-v42", 0.1),
    ],
)
def test_after_is_foretold_from_before(before: str, after: str, within: float) -> None:
    result = of_sides(side(before), side(after))
    (told,) = [each for each in result.foretold if each.given == "set_up"]
    assert told.measured_s == result.after.run_s
    assert told.error == pytest.approx(told.forecast_s / told.measured_s - 1)
    assert told.error is not None
    assert abs(told.error) < within
