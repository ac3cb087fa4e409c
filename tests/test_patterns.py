"""Call patterns and sequences of the lab's workloads, against what the kernels counted."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import Any

import pytest

import pcapnfs
from pcapnfs import wireshark
from pcapnfs.analyses.by_file.sequence import FileSequence
from pcapnfs.analyses.times.operations import operation_times
from pcapnfs.views import sequence as view
from tests.oracles.corpus import Capture, lab_captures, other_captures
from tests.oracles.opened import opened
from tests.synth.tshark import fields

pytest.importorskip("pcapnfs._core")

_LAB = lab_captures()

_WRITTEN = {
    "3": ("CREATE", "SETATTR", "WRITE[FILE_SYNC]", "SETATTR"),
    "4": ("OPEN(create)", "SETATTR", "WRITE[FILE_SYNC]", "SETATTR", "CLOSE"),
}
"""What `tar -x` does as root to a file that one WRITE takes: it makes it, and sets owner, mode and
times one after the other.
"""


def _named(prefix: str) -> list[Any]:
    pattern = re.compile(rf"(k61-)?{prefix}")
    chosen = [each for each in _LAB if pattern.match(each.name) and each.full]
    return [pytest.param(each, id=each.name) for each in chosen] or [
        pytest.param(None, id="no-corpus")
    ]


@pytest.fixture
def trace(capture: Capture | None) -> pcapnfs.Trace:
    return opened(capture).trace


@pytest.mark.parametrize("capture", _named("tar-(?!sizes)"))
def test_all_small_files_of_tar_are_one_pattern(capture: Capture, trace: pcapnfs.Trace) -> None:
    truth = capture.truth()
    steps = _WRITTEN[capture.version[0]]
    classes = [each for each in pcapnfs.patterns(trace, top=0).classes if each.kind == "file"]
    main = classes[0]
    # NFSv4.0 confirms an open-owner at its first OPEN (RFC 7530 section 16.18).
    confirmed = [each for each in classes[1:] if "OPEN_CONFIRM" in each.pattern]
    assert classes[1:] == confirmed
    assert len(confirmed) == (1 if capture.version == "4.0" else 0)
    assert sum(each.files for each in classes) == truth["facts"]["files"]
    assert main.pattern == " ".join(steps)
    assert [(run.least, run.most) for run in main.runs] == [
        (3, 3) if place == 3 else (1, 1) for place in range(len(steps))
    ]
    assert (main.calls_per_file, main.stable_per_file) == (len(steps) + 2, 6)
    (step,) = (step for step in truth["steps"] if step["label"] == "tar")
    writes = int(step["mountstats_delta"]["ops"]["WRITE"]["count"])
    assert sum(each.files for each in classes) == writes


@pytest.mark.parametrize("capture", _named("tar-sizes-"))
def test_a_file_larger_than_wsize_is_written_unstable_and_committed(
    capture: Capture, trace: pcapnfs.Trace
) -> None:
    truth = capture.truth()
    mount = truth["clients"][capture.vantage]["mounts"][0]["proc_mounts"]
    wsize = int(re.search(r"wsize=(\d+)", mount)[1])  # type: ignore[index]
    for size in truth["facts"]["file_sizes"]:
        (file,) = pcapnfs.sequence(trace, name=f"size*{size}").files
        steps = [step.step for step in file.steps]
        assert file.size_bytes == size
        written = [
            operation
            for step in file.steps
            for operation in step.operations
            if operation.op == "WRITE"
        ]
        assert sum(each.done_bytes or 0 for each in written) == size
        if size <= wsize:
            assert [each.committed_level for each in written] == ["FILE_SYNC"]
            assert "COMMIT" not in steps
        else:
            assert len(written) == -(-size // wsize)
            assert {each.committed_level for each in written} == {"UNSTABLE"}
            assert steps.count("COMMIT") == 1
            assert steps.index("COMMIT") > steps.index("WRITE[UNSTABLE]")
    sizes = pcapnfs.sizes(trace)
    assert sizes.files == len(truth["facts"]["file_sizes"])
    fitting = sum(size <= wsize for size in truth["facts"]["file_sizes"])
    assert sizes.write.files == fitting
    assert sizes.frame.limit_bytes == 1472
    assert sizes.frame.source == "handshake"
    assert sizes.frame.files == sum(size <= 1472 for size in truth["facts"]["file_sizes"])
    if fitting < sizes.files:
        assert (sizes.write.limit_bytes, sizes.write.source) == (wsize, "calls")


@pytest.mark.parametrize("capture", _named("walk-"))
def test_a_walk_touches_every_file_and_directory(capture: Capture, trace: pcapnfs.Trace) -> None:
    """Each `find -ls` asks for every file's attributes unless READDIRPLUS has just brought them."""
    facts = capture.truth()["facts"]
    tree = {path: kind for path, kind, _, _ in capture.truth()["tree_after"]}
    classes = pcapnfs.patterns(trace, top=0).classes
    known = trace.sql(
        "select path from files where role in ('file', 'directory') and path <> '.'"
    ).fetchall()
    assert {path for (path,) in known} == tree.keys()
    directories = sum(each.files for each in classes if each.kind == "directory")
    assert directories == facts["directories"] + 1
    counted: Counter[str] = Counter()
    for step in capture.truth()["steps"]:
        for op, row in step.get("mountstats_delta", {}).get("ops", {}).items():
            counted[op] += int(row["count"])
    if capture.version == "3":
        # The mount itself, which the steps do not hold, asks for its root's attributes.
        found = {row.op: row.calls for row in operation_times(trace)}
        assert found.get("READDIR", 0) == counted["READDIR"]
        assert found.get("READDIRPLUS", 0) == counted["READDIRPLUS"]
        assert found["GETATTR"] >= counted["GETATTR"]


@pytest.mark.parametrize("capture", _named("npm-like-"))
def test_files_of_a_package_tree_fold_into_one_pattern(
    capture: Capture, trace: pcapnfs.Trace
) -> None:
    """Copied, read after a new mount, and removed: all alike, but where READs are many."""
    facts = capture.truth()["facts"]
    result = pcapnfs.patterns(trace, top=0)
    classes = [each for each in result.classes if each.kind == "file"]
    assert sum(each.files for each in classes) == facts["files"]
    assert len(classes) <= 3
    assert classes[0].files > 0.9 * facts["files"]
    for each in classes:
        assert each.pattern.startswith(("CREATE SETATTR WRITE", "OPEN(create) SETATTR WRITE"))
        assert each.pattern.endswith("REMOVE")
    removed = trace.sql(
        "select count(*) from files where role in ('file', 'directory') and path <> '.' "
        "and not removed"
    ).fetchall()
    assert removed == [(0,)]


@pytest.mark.parametrize(
    "capture",
    [pytest.param(each, id=each.name) for each in [*_LAB, *other_captures()]]
    or [pytest.param(None, id="no-corpus")],
)
def test_patterns_hold_every_call_once(capture: Capture, trace: pcapnfs.Trace) -> None:
    every = pcapnfs.patterns(trace, top=0)
    few = pcapnfs.patterns(trace, top=2)
    costs = opened(capture).costs
    assert every.others.files == every.others.calls == 0
    assert every.shown.calls + every.without_file.calls == every.total.calls == costs.total.calls
    assert every.shown.calls == costs.listed.calls
    assert every.shown.stable_calls == costs.listed.stable_calls
    assert every.shown.time_s == pytest.approx(costs.listed.time_s)
    assert every.classes[:2] == few.classes
    assert few.shown.calls + few.others.calls == every.shown.calls
    assert few.class_count == every.class_count
    assert (every.class_count or 0) == len(every.classes)
    for each in every.classes:
        assert each.files * sum(run.least for run in each.runs) <= each.calls
        if not each.pattern.endswith("…"):
            assert each.files * sum(run.most for run in each.runs) >= each.calls
        assert all(1 <= run.least <= run.most for run in each.runs)
        steps = [run.step for run in each.runs]
        assert all(one != other for one, other in itertools.pairwise(steps))


@pytest.mark.parametrize("capture", _named("two-clients-v4[02].*server|two-clients-v3.*server"))
def test_a_renamed_file_shows_its_names_in_time(capture: Capture, trace: pcapnfs.Trace) -> None:
    del capture
    (file, *_) = pcapnfs.sequence(trace, file="shared").files
    first, second = file.names
    assert (first.path, second.path) == ("shared", "d/shared")
    assert first.until_frame == second.from_frame
    renames = [step for step in file.steps if step.step == "RENAME"]
    assert [step.reply_frame for step in renames] == [second.from_frame]
    assert pcapnfs.sequence(trace, file="d/shared").files[0].file == file.file


@pytest.mark.parametrize("capture", _named("tar-v(3|40|42)"))
def test_a_sequence_is_in_order_and_its_filter_finds_its_packets(
    capture: Capture, trace: pcapnfs.Trace
) -> None:
    result = pcapnfs.sequence(trace, name="f000[0-4]", top=0, calls=0)
    assert result.matches == len(result.files) == 5
    for file in result.files:
        _assert_in_order(file)
    filters = view.display_filters(result.files, trace.meta.streams)
    (wanted,) = ("".join(pieces) for _, pieces in filters)
    numbers = [int(row[0]) for row in fields(capture.files[0], ["frame.number"], wanted)]
    assert wireshark.frames(numbers) == wanted
    handle = result.files[0].handles[0]
    assert pcapnfs.sequence(trace, file=handle).files[0].file == result.files[0].file


def _assert_in_order(file: FileSequence) -> None:
    assert len(file.steps) == file.calls
    assert sum(step.srt_s or 0 for step in file.steps) == pytest.approx(file.time_s)
    latest = None
    for step in file.steps:
        assert step.call_first_frame <= step.call_frame
        if latest is not None:
            assert step.start_s >= latest
            assert step.gap_s is not None
        latest = step.start_s
        assert [each for each in step.operations if each.executed]
    # One after the other: service times and gaps fill the file's life but for the calls' own
    # transfer.
    spent = sum((step.srt_s or 0) + (step.gap_s or 0) for step in file.steps)
    assert file.lifetime_s is not None
    assert spent <= file.lifetime_s + 1e-9
