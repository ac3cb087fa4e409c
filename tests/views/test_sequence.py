"""What the time line of a file says of locks and gaps, and what it gives up where it is narrow."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pcapnfs.analyses.by_file.sequence import Step
from pcapnfs.record import replace
from pcapnfs.views import sequence as view
from tests.views import samples


def printed(*steps: Step, width: int = 140) -> str:
    result = samples.sequence()
    (file,) = result.files
    console = Console(file=io.StringIO(), width=width)
    console.print(view.screen(replace(result, files=(replace(file, steps=steps),))))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def locked(op: str, length: int, **columns: object) -> Step:
    (_, written, *_) = samples.sequence().files[0].steps
    (data,) = written.operations
    asked = replace(
        data, op=op, offset_bytes=0, requested_bytes=length, done_bytes=None, requested_level=None
    )
    return replace(written, step=op, operations=(asked,), **columns)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("op", "length", "told"),
    [
        ("LOCK", 0, True),  # of the lock manager
        ("UNLOCK", 0, True),
        ("LOCKU", 2**64 - 1, True),
        ("LOCK", 10, False),
        ("READ", 0, False),
    ],
)
def test_a_lock_to_the_end_of_the_file_has_no_length(op: str, length: int, told: bool) -> None:
    assert ("to end" in printed(locked(op, length))) == told


def test_long_gaps_are_marked() -> None:
    assert "▸ 1.00 s" in printed(locked("LOCK", 10, gap_s=1.0))
    assert "▸" not in printed(locked("LOCK", 10, gap_s=0.99))


def test_of_several_clients_the_client_is_told_where_there_is_no_room_for_the_length() -> None:
    clients = ("2001:db8:0:1::1001", "2001:db8:0:1::1002")
    steps = [locked("LOCK", 10, client=each, status="NFS4ERR_DENIED") for each in clients]
    narrow = printed(*steps, width=80)
    assert all(each in narrow for each in clients)
    assert "10 B" not in narrow
    assert "10 B" in printed(*steps)
