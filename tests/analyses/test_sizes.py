"""Bins that double from an eighth of a frame's payload, and what fits into one call."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.by_file.sizes import Fit, sizes
from pcapnfs.trace import Trace
from tests.unit.rows import Row, call, file, operation, trace_of


def trace_with(*file_sizes: int | None, **rows: list[Row]) -> Trace:
    files = [file(number, f"f{number}", size=size) for number, size in enumerate(file_sizes, 1)]
    return trace_of(files=files, **rows)


def handshake(segment_size: int, client: str = "10.0.0.2") -> Row:
    return {"connection": 1, "client": client, "transport": "TCP", "segment_size": segment_size}


def test_a_bin_holds_its_upper_bound() -> None:
    with trace_with(0, 1, 184, 185, 368, 1472, 1473, 2944, 2945, None) as trace:
        result = sizes(trace)
    assert [(each.up_to_bytes, each.files) for each in result.bins] == [
        (184, 3),
        (368, 2),
        (736, 0),
        (1472, 1),
        (2944, 2),
        (5888, 1),
    ]
    assert [each.share_up_to for each in result.bins][-1] == 1.0
    assert (result.files, result.unknown, result.empty) == (9, 1, 1)
    assert (result.p50_bytes, result.max_bytes, result.total_bytes) == (368, 2945, 9572)
    assert (result.mtu_bytes, result.frame.source) == (1500, "assumed")
    assert (result.frame.limit_bytes, result.frame.files) == (1472, 6)
    assert result.jumbo_frame.share == 1.0
    assert (result.read.limit_bytes, result.read.files, result.read.share) == (None, None, None)


@pytest.mark.parametrize(
    ("segment", "client", "mtu"),
    [(1460, "10.0.0.2", 1500), (1440, "fd00::2", 1500), (8960, "10.0.0.2", 9000)],
)
def test_the_mtu_is_that_of_the_handshake(segment: int, client: str, mtu: int) -> None:
    with trace_with(mtu - 28, connections=[handshake(segment, client)]) as trace:
        result = sizes(trace)
    assert (result.mtu_bytes, result.frame.source) == (mtu, "handshake")
    assert (result.frame.files, result.bins[3].files) == (1, 1)


def test_a_segment_size_that_cannot_be_is_not_believed() -> None:
    with trace_with(1, connections=[handshake(1)]) as trace:
        assert sizes(trace).mtu_bytes == 1500


@pytest.mark.parametrize(("also", "framed"), [("MNT", False), ("LOOKUP", True)])
def test_files_that_go_by_rdma_are_held_against_no_frame(also: str, framed: bool) -> None:
    """Which MOUNT beside them does not change, but other calls of NFS."""
    program = 100005 if also == "MNT" else 100003
    calls = [call(1, "READ", 1, connection=1), call(2, also, 1, connection=2, program=program)]
    over = {"client": "10.0.0.2", "transport": "RDMA"}
    connections: list[Row] = [{"connection": 1, **over}, {**handshake(1460), "connection": 2}]
    with trace_with(1000, 3000, calls=calls, connections=connections) as trace:
        result = sizes(trace)
    assert [each.files for each in result.bins if each.files] == [1, 1]
    if framed:
        assert (result.mtu_bytes, result.frame.source, result.frame.files) == (1500, "handshake", 1)
        return
    assert result.mtu_bytes is None
    assert result.frame == result.jumbo_frame == Fit(None, "rdma", None, None)


def write(number: int, offset: int, count: int, **columns: object) -> Row:
    columns.setdefault("stable_requested", "UNSTABLE")
    return operation(number, "WRITE", file=1, offset=offset, requested=count, **columns)


def test_wsize_is_the_largest_write_where_a_file_took_more() -> None:
    offered = operation(9, "FSINFO", file=1, max_write=1 << 20, max_read=1 << 19)
    whole = [write(1, 0, 32768), offered]
    parts = [write(1, 0, 32768), write(2, 32768, 100), offered]
    odd = [write(1, 0, 100), write(2, 100, 100), offered]
    calls = [call(1, "WRITE", 1), call(2, "WRITE", 1), call(9, "FSINFO", 1)]
    for operations, limit, source in (
        (whole, 1 << 20, "server"),
        (parts, 32768, "calls"),
        (odd, 1 << 20, "server"),
    ):
        with trace_with(32768, 40000, calls=calls, operations=operations) as trace:
            result = sizes(trace)
        assert (result.write.limit_bytes, result.write.source) == (limit, source)
        assert (result.read.limit_bytes, result.read.source) == (1 << 19, "server")
        assert result.write.files == (2 if limit == 1 << 20 else 1)


def test_pages_that_were_each_made_sure_of_are_no_wsize() -> None:
    offered = operation(9, "FSINFO", file=1, max_write=1 << 20)
    apart = [write(1, 0, 8192), write(2, 1 << 22, 8192), offered]
    synced = [
        write(1, 0, 8192, stable_requested="FILE_SYNC"),
        write(2, 8192, 8192, stable_requested="FILE_SYNC"),
        offered,
    ]
    committed = [write(1, 0, 8192), operation(2, "COMMIT", file=1), write(3, 8192, 8192), offered]
    calls = [call(number, "WRITE", 1) for number in (1, 2, 3)]
    calls.append(call(9, "FSINFO", 1))
    for operations in (apart, synced, committed):
        with trace_with(40000, calls=calls, operations=operations) as trace:
            assert (sizes(trace).write.limit_bytes, sizes(trace).write.source) == (
                1 << 20,
                "server",
            )


def test_synchronous_writes_side_by_side_were_cut() -> None:
    offered = operation(9, "FSINFO", file=1, max_write=1 << 20)
    parts = [
        write(number, offset, 8192, stable_requested="FILE_SYNC")
        for number, offset in ((1, 0), (2, 8192))
    ]
    calls = [call(1, "WRITE", 40), call(2, "WRITE", 40), call(9, "FSINFO", 1)]
    with trace_with(40000, calls=calls, operations=[*parts, offered]) as trace:
        assert (sizes(trace).write.limit_bytes, sizes(trace).write.source) == (8192, "calls")


def test_files_count_once_and_listed_ones_when_asked() -> None:
    with trace_of(
        files=[
            file(1, "a", size=10),
            file(2, "a by another handle", size=10, identity=1),
            file(3, "listed", size=20, listed_only=True),
            file(4, "d", "directory", size=4096),
        ]
    ) as trace:
        assert sizes(trace).files == 1
        assert sizes(trace, listed_too=True).files == 2


def test_without_files_there_are_no_bins() -> None:
    with trace_of() as trace:
        result = sizes(trace)
    assert (result.files, result.bins, result.p50_bytes, result.frame.share) == (0, (), None, None)
