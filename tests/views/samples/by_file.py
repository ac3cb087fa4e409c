"""What each file cost, and how files were used."""

from __future__ import annotations

from pcapnfs.analyses.by_file.call_operations import Operation
from pcapnfs.analyses.by_file.costs import Total
from pcapnfs.analyses.by_file.known_names import KnownName
from pcapnfs.analyses.by_file.patterns import Example, PatternClass, Patterns, Run
from pcapnfs.analyses.by_file.perfile import FileCost, PerFile
from pcapnfs.analyses.by_file.pergroup import GroupCost, PerGroup
from pcapnfs.analyses.by_file.sequence import FileSequence, Sequence, Step
from pcapnfs.analyses.by_file.sizes import Fit, SizeBin, Sizes
from pcapnfs.record import replace


def file_cost(path: str = "src/deeply/nested/directory/with/a/long/path/to/main.c") -> FileCost:
    return FileCost(
        file=1,
        path=path,
        export="/srv",
        server="10.0.0.1",
        handle="0102",
        fileid=7,
        role="file",
        type="REG",
        size_bytes=1000,
        removed=False,
        calls=12,
        ops={"GETATTR": 6, "WRITE": 3, "SETATTR": 2, "CREATE": 1},
        stable_calls=6,
        directory_calls=0,
        time_s=0.0123,
        stable_s=0.012,
        unstable_s=0.0003,
        bytes_read=0,
        bytes_written=1000,
        errors=1,
        revalidations=2,
        retransmitted=0,
        first_frame=13,
        last_frame=36,
        first_s=0.1,
        last_s=0.2,
        lifetime_s=0.1,
    )


def perfile(*files: FileCost) -> PerFile:
    shown = files or (file_cost(), file_cost("a"))
    return PerFile(
        files=shown,
        sort="time",
        shown=Total(len(shown), 24, 12, 0.0246),
        listed=Total(1000, 12000, 6000, 12.3),
        not_matched=Total(0, 0, 0, 0.0),
        left_out=Total(7, 70, 0, 0.07),
        without_file=Total(0, 3, 0, 0.003),
        total=Total(1007, 12073, 6000, 12.373),
    )


def pergroup(group: str | None = "src/lib") -> PerGroup:
    cost = GroupCost(group, 12, 144, 72, 0.5, 0.4, 0.1, 4096, 0, 1, 24, 0, 1, 300, 0.0, 1.0)
    return PerGroup(
        by="extension",
        groups=(cost, replace(cost, group=None)),
        group_count=5,
        listed=Total(24, 288, 144, 1.0),
        not_matched=Total(1, 3, 0, 0.001),
        left_out=Total(0, 0, 0, 0.0),
        without_file=Total(0, 3, 0, 0.003),
        total=Total(25, 294, 144, 1.004),
    )


def pattern_class(step: str = "WRITE[FILE_SYNC]", path: str = "src/main.c") -> PatternClass:
    example = Example(1, path, 13, 36, 0.0123)
    return PatternClass(
        pattern=f"CREATE SETATTR {step} SETATTR",
        runs=(Run("CREATE", 1, 1), Run("SETATTR", 1, 1), Run(step, 1, 16), Run("SETATTR", 3, 3)),
        kind="file",
        files=1000,
        files_share=0.9,
        calls=12000,
        calls_per_file=12.0,
        stable_calls=6000,
        stable_per_file=6.0,
        time_s=12.3,
        time_share=0.82,
        time_per_file_s=0.0123,
        stable_s=11.0,
        lifetime_s=0.02,
        example=example,
        slowest=replace(example, file=2, path="src/slow.c", time_s=0.1),
    )


def patterns(*classes: PatternClass) -> Patterns:
    cut = replace(
        pattern_class(), pattern="GETATTR ACCESS …", kind="directory", files=1,
        runs=(Run("GETATTR", 2, 2), Run("ACCESS", 1, 1)), calls_per_file=4000.5,
    )  # fmt: skip
    shown = classes or (pattern_class(), cut)
    return Patterns(
        classes=shown,
        class_count=len(shown) + 2,
        shown=Total(1001, 16000, 6000, 12.9),
        others=Total(7, 70, 0, 0.07),
        without_file=Total(0, 3, 0, 0.003),
        total=Total(1008, 16073, 6000, 12.973),
    )


def sizes() -> Sizes:
    return Sizes(
        files=1000,
        unknown=2,
        empty=1,
        total_bytes=1 << 22,
        mean_bytes=4194.3,
        p50_bytes=1000.0,
        p95_bytes=9000.5,
        max_bytes=1 << 20,
        mtu_bytes=1500,
        bins=(
            SizeBin(184, 1, 0.001, 0.001),
            SizeBin(368, 0, 0.0, 0.001),
            SizeBin(736, 899, 0.899, 0.9),
            SizeBin(1472, 100, 0.1, 1.0),
        ),
        frame=Fit(1472, "handshake", 1000, 1.0),
        jumbo_frame=Fit(8972, "assumed", 1000, 1.0),
        read=Fit(None, "unknown", None, None),
        write=Fit(32768, "calls", 900, 0.9),
    )


def sequence(path: str = "src/main.c", name: str = "main.c") -> Sequence:
    data = Operation(
        "WRITE", True, "NFS4_OK", "stable", None, None, 4096, 8192, 4096, "UNSTABLE", "FILE_SYNC",
        None,
    )  # fmt: skip
    opened = replace(
        data, op="OPEN", name=name, offset_bytes=None, requested_bytes=None, done_bytes=None,
        requested_level=None, committed_level=None,
    )  # fmt: skip
    step = Step(
        call=1,
        step="OPEN(create)",
        version="4.2",
        call_first_frame=13,
        call_frame=13,
        reply_first_frame=14,
        reply_frame=14,
        start_s=0.5,
        gap_s=None,
        srt_s=0.02,
        stability="stable",
        status=None,
        client="10.0.0.2",
        uid=1000,
        transmissions=1,
        operations=(replace(opened, op="SEQUENCE", name=None), opened),
    )
    written = replace(
        step, call=2, step="WRITE[FILE_SYNC]", call_first_frame=15, call_frame=17,
        reply_first_frame=18, reply_frame=18, gap_s=0.001, srt_s=0.01, operations=(data,),
    )  # fmt: skip
    closed = replace(
        written, call=3, step="CLOSE?", call_first_frame=20, call_frame=20, reply_first_frame=None,
        reply_frame=None, srt_s=None, stability="unknown", status=None, transmissions=2,
        operations=(), uid=None,
    )  # fmt: skip
    refused = replace(
        written, call=4, step="REMOVE!", srt_s=0.0004, stability="unstable",
        status="NFS4ERR_ACCESS", operations=(replace(opened, op="REMOVE", executed=False),),
    )  # fmt: skip
    shown = FileSequence(
        file=1,
        path=path,
        export="/srv",
        server="10.0.0.1",
        handles=("0102", "0103"),
        fileid=7,
        role="file",
        size_bytes=8192,
        removed=True,
        names=(KnownName(f"{path}.new", 14, 0.52, 30, 1.5), KnownName(path, 30, 1.5, None, None)),
        calls=200,
        stable_calls=2,
        time_s=0.0304,
        stable_s=0.03,
        lifetime_s=1.0,
        steps=(step, written, closed, refused),
    )
    return Sequence(matches=3, others=(f"{path}.orig",), files=(shown,))
