"""Mounts that come again and again."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.repeated_mounts import MountedPath, RepeatedMounts, repeated_mounts
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation, trace_of

MINUTE = 6000
"""Numbers of calls that lie a minute apart."""

HOUR = meta(end_ns=START_NS + 3_600_000 * MILLISECOND)
"""A capture of an hour."""


def mounted(*mounts: tuple[int, str], failed: bool = False) -> tuple[RepeatedMounts, ...]:
    """What is told of mounts with MOUNT, each with a call for its file a second later.

    Args:
        mounts: When each comes, as the number of its call, and its path.
        failed: None of them succeeded.
    """
    answer = {"status": 13, "status_name": "MNT3ERR_ACCES"} if failed else {}
    exports = sorted({path for _, path in mounts})
    calls: list[Row] = []
    operations: list[Row] = []
    for number, path in mounts:
        calls += [
            call(number, "GETPORT", 1, program=100000),
            call(number + 1, "MNT", 4, program=100005, stability="state", **answer),
            call(number + 2, "FSINFO", 2, file=exports.index(path)),
            call(number + 100, "GETATTR", 8, file=exports.index(path)),
        ]
        operations += [
            operation(number, "GETPORT", text="100005 v3 tcp"),
            operation(number + 1, "MNT", text=path),
        ]
    files = [file(place, ".", "directory", export=path) for place, path in enumerate(exports)]
    with trace_of(HOUR, calls=calls, operations=operations, files=files) as trace:
        return repeated_mounts(trace)


def every_minute(times: int, path: str = "/home/a", since: int = 1) -> list[tuple[int, str]]:
    return [(since + number * MINUTE, path) for number in range(times)]


def test_what_is_mounted_every_minute_is_told_once() -> None:
    (found,) = mounted(*every_minute(5))
    assert (found.client, found.server) == ("10.0.0.2", "10.0.0.1")
    assert (found.mounts, found.bursts, found.again, found.paths) == (5, 5, 4, 1)
    assert found.most == (MountedPath(path="/home/a", bursts=5),)
    # From the call a second after the mount to the next mount.
    assert found.unused_s == found.longest_unused_s == pytest.approx(59.01)
    # GETPORT, MNT and FSINFO of the four that came again.
    assert dict(found.time_s) == pytest.approx({"state": 4 * 0.004, "unstable": 4 * 0.003})
    assert found.frames[0] == 2 * (MINUTE + 2) - 1


def test_of_a_burst_the_part_counts_that_came_again() -> None:
    """The first path comes in each of four bursts, another one each time beside it."""
    first = every_minute(4)
    others = [(number + 10, f"/home/{number}") for number, _ in first]
    (found,) = mounted(*first, *others)
    assert (found.mounts, found.bursts, found.again, found.paths) == (8, 4, 3, 1)
    assert dict(found.time_s) == pytest.approx({"state": 3 * 0.004, "unstable": 3 * 0.003})


def test_those_mounted_most_often_are_named() -> None:
    paths = [("/b", 3), ("/c", 5), ("/d", 2), ("/e", 2)]
    mounts = [
        each
        for place, (path, times) in enumerate(paths)
        for each in every_minute(times, path, 1 + 10 * place)
    ]
    (found,) = mounted(*mounts)
    assert [(each.path, each.bursts) for each in found.most] == [("/c", 5), ("/b", 3), ("/d", 2)]
    assert (found.again, found.paths) == (4 + 2 + 1 + 1, 4)


def test_what_a_machine_mounts_as_it_starts_is_one_burst() -> None:
    """Twenty-five of them, a second after one another, and some of them twice."""
    assert mounted(*((1 + 100 * place, f"/{place % 20}") for place in range(25))) == ()


def test_who_mounts_a_few_times_tries_something_out() -> None:
    assert mounted(*every_minute(3)) == ()
    assert mounted(*every_minute(4))


def test_those_that_fail_are_no_mounts() -> None:
    assert mounted(*every_minute(5), failed=True) == ()


def test_many_paths_in_several_bursts_are_told_though_none_comes_again() -> None:
    def apart(bursts: int, each: int) -> tuple[RepeatedMounts, ...]:
        return mounted(
            *(
                (1 + burst * MINUTE + 10 * place, f"/{burst}/{place}")
                for burst in range(bursts)
                for place in range(each)
            )
        )

    (found,) = apart(3, 4)
    assert (found.mounts, found.bursts, found.again, found.most) == (12, 3, 0, ())
    assert (found.unused_s, found.time_s) == (None, ())
    assert found.frames
    assert apart(2, 6) == ()
    assert apart(3, 3) == ()


def rooted(*, systems: tuple[str, ...], work: int = 8) -> tuple[RepeatedMounts, ...]:
    """What is told of mounts with NFSv4, a minute apart.

    Args:
        systems: The file system in which the client works after each; empty: nowhere.
        work: Calls it makes there, and on the way.
    """
    exports = sorted({path for path in systems if path})
    calls: list[Row] = []
    for place, path in enumerate(systems):
        begin = 1 + place * MINUTE
        v4 = {"protocol": "4.2", "version": 4}
        root = {"signature": "SEQUENCE PUTROOTFH GETFH GETATTR", "file": 0}
        calls += [
            call(begin, "EXCHANGE_ID", 2, stability="state", **v4),
            call(begin + 1, "GETATTR", 3, **v4, **root),
            call(begin + 2, "LOOKUP", 4, **v4, signature="SEQUENCE PUTFH LOOKUP", file=0),
        ]
        about = 1 + exports.index(path) if path else 0
        calls += [call(begin + 200 + each, "READ", 1, **v4, file=about) for each in range(work)]
    files = [file(0, "/", "directory", export=None)]
    files += [file(1 + at, ".", "directory", export=path) for at, path in enumerate(exports)]
    with trace_of(HOUR, calls=calls, files=files, operations=[operation(2, "PUTROOTFH")]) as trace:
        return repeated_mounts(trace)


def test_with_nfsv4_the_file_system_is_named_that_is_used_next() -> None:
    (found,) = rooted(systems=("/a", "/b", "/a", "/a", "/a"))
    assert (found.mounts, found.bursts, found.again) == (5, 5, 3)
    assert found.most == (MountedPath(path="/a", bursts=4),)
    # The login and the way down to the export.
    assert dict(found.time_s) == pytest.approx({"state": 3 * 0.002, "unstable": 3 * 0.007})
    # From the last of the calls of the first mount to the third, which asks for the root again.
    assert found.longest_unused_s == pytest.approx(117.94)


def test_where_nobody_uses_a_mount_nobody_knows_what_it_was_of() -> None:
    assert rooted(systems=("/a", "", "", "", "/a")) == ()


def test_who_begins_at_the_root_for_each_file_mounts_nothing() -> None:
    assert rooted(systems=("/a",) * 5, work=6)
    assert rooted(systems=("/a",) * 5, work=4) == ()
