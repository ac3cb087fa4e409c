"""What groups of files cost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pcapnfs.analyses.by_file.pergroup import GroupCost, pergroup
from pcapnfs.errors import UsageError
from pcapnfs.trace import Trace
from tests.unit.rows import call, file, operation, trace_of


@pytest.fixture
def trace() -> Iterator[Trace]:
    with trace_of(
        files=[
            file(1, ".", "directory"),
            file(2, "src/lib/a.C"),
            file(3, "src/b.c"),
            file(4, "Makefile"),
            file(5, "src/missing.c", "absent", handle=None),
            file(6, "src/b.c again", identity=3),
            file(7, "/", "pseudo"),
        ],
        calls=[
            call(1, "WRITE", 8, file=2, stability="stable", uid=10),
            call(2, "READ", 4, file=3, uid=10, transmissions=2),
            call(3, "READ", 2, file=6, uid=20, client="10.0.0.3"),
            call(4, "GETATTR", 1, file=4, status=13),
            call(5, "GETATTR", 1, file=1),
            call(6, "LOOKUP", 1, file=5, status=2),
            call(7, "NULL", 1),
            call(8, "GETATTR", 1, file=7),
        ],
        operations=[
            operation(1, "WRITE", file=2, count=1000),
            operation(2, "READ", file=3, count=300),
            operation(3, "READ", file=6, count=30),
            operation(5, "GETATTR", file=1, ctime=5),
        ],
    ) as opened:
        yield opened


def costs(trace: Trace, by: str, **how: object) -> dict[str | None, GroupCost]:
    found = pergroup(trace, by, **how)  # type: ignore[arg-type]
    return {each.group: each for each in found.groups}


def test_groups_by_directory(trace: Trace) -> None:
    found = costs(trace, "directory")
    assert {name: each.calls for name, each in found.items()} == {"src/lib": 1, "src": 2, ".": 2}
    source = found["src"]
    assert (source.files, source.bytes_read, source.retransmitted) == (1, 330, 1)
    assert (source.time_s, source.stable_s) == pytest.approx((0.006, 0))
    assert (source.first_frame, source.last_frame) == (3, 6)
    assert (source.first_s, source.last_s) == pytest.approx((0.02, 0.032))
    assert (found["src/lib"].stable_calls, found["src/lib"].bytes_written) == (1, 1000)
    assert (found["."].errors, found["."].revalidations) == (1, 1)


def test_groups_by_export_as_it_is_mounted() -> None:
    files = [
        file(1, "/home/a/f", export="/home/a"),
        file(2, "/home/b/f", export="/home/b"),
        file(3, "/home/b", "directory", export="/home/b"),
        file(4, "/home/b/f", export="/home/b", server="fd00::1"),
        file(5, "[0x12345678]/f"),
    ]
    calls = [call(number, "READ", number, file=number) for number in range(1, 6)]
    with trace_of(files=files, calls=calls) as trace:
        found = pergroup(trace, "export").groups
        assert [(each.group, each.files, each.calls) for each in found] == [
            ("10.0.0.1:/home/b", 2, 2),
            (None, 1, 1),
            ("[fd00::1]:/home/b", 1, 1),
            ("10.0.0.1:/home/a", 1, 1),
        ]
        assert [each.group for each in pergroup(trace, "export", top=1).groups] == [
            "10.0.0.1:/home/b"
        ]


def test_groups_by_extension_in_small_letters(trace: Trace) -> None:
    assert {name: each.calls for name, each in costs(trace, "extension").items()} == {
        "c": 3,
        None: 2,
    }


def test_groups_by_client_and_user_count_a_file_in_each(trace: Trace) -> None:
    clients = costs(trace, "client")
    assert (clients["10.0.0.3"].files, clients["10.0.0.3"].bytes_read) == (1, 30)
    assert (clients["10.0.0.2"].files, clients["10.0.0.2"].bytes_read) == (4, 300)
    users = costs(trace, "uid")
    assert {name: each.calls for name, each in users.items()} == {"10": 2, "20": 1, None: 2}
    assert users["10"].bytes_written == 1000


def test_totals_hold_every_call_once_whatever_matches(trace: Trace) -> None:
    result = pergroup(trace, "directory", match="*.c", top=1)
    assert (result.group_count, len(result.groups)) == (1, 1)
    assert (result.listed.files, result.listed.calls) == (1, 2)
    assert (result.not_matched.calls, result.left_out.calls) == (3, 2)
    assert (result.without_file.calls, result.total.calls) == (1, 8)
    assert pergroup(trace, "uid", show_all=True).listed.calls == 7


def test_refuses_unknown_groups(trace: Trace) -> None:
    with pytest.raises(UsageError, match="grouped by directory, export, client, uid, extension"):
        pergroup(trace, "moon")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="negative"):
        pergroup(trace, "uid", top=-1)
