"""A trace on disk answers as the captures do; so do captures in a file, and independent ones."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import pcapnfs
from pcapnfs import opening, redaction, summary
from pcapnfs.errors import CaptureError, UsageError
from pcapnfs.synth.builder import Capture
from pcapnfs.views.document import to_json
from tests.oracles import corpus
from tests.summarized import summarized
from tests.traces import SAMPLES, assert_same_tables, written
from tests.unit.rows import ROOT, tables

LAB = ("loss-v42", "k61-restart-v3", "k61-two-clients-v3-server", "fmt-rotated-v3", "mix-v42")
"""Captures of the corpus with losses, reconnects, several files, every procedure."""

ASKED = (
    "cachedread-v3-snap96.pcap", "k61-locks-v42-server.pcap", "k61-walk-v3.pcap",
    "loss-v42.pcap", "fmt-rotated-v3.pcap0",
)  # fmt: skip
"""First files of what is summarized from everywhere: packets that are cut, locks and delegations,
listings, losses, several files. One of each kind is enough: a summary puts its queries, and the
tables are the same."""


def captures() -> Iterator[object]:
    for path in SAMPLES:
        yield pytest.param([path], id=path.name)
    known = {} if corpus.corpus_path() is None else {c.name: c for c in corpus.lab_captures()}
    for name in LAB:
        if name in known:
            yield pytest.param(list(known[name].files), id=name)


@pytest.mark.parametrize("files", list(captures()))
def test_all_ways_of_keeping_tables_give_the_same(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tables; and where tables differ most, also what is said of them."""
    stored = written(files, tmp_path / "a.nfstrace")
    asked = files[0].name in ASKED
    with pcapnfs.open(files) as memory, pcapnfs.open(stored) as disk:
        assert_same_tables(memory, disk)
        if asked:  # The first of a trace as `memory` is one.
            assert summarized(*files) == to_json(pcapnfs.summarize(disk))
    monkeypatch.setattr(opening, "IN_MEMORY_BYTES", 0)
    with pcapnfs.open(files, memory=100 << 20) as large, pcapnfs.open(stored) as disk:
        assert "read_parquet" in view(large, "calls")
        assert_same_tables(large, disk)
    if asked:  # Files as those of `large`: asking these alone is enough.
        with pcapnfs.open(files, columns=summary.READS, memory=100 << 20) as chosen:
            assert "read_parquet" in view(chosen, "calls")
            chosen.workers = 3  # Nor does it matter what is asked at the same time.
            assert to_json(pcapnfs.summarize(chosen)) == summarized(*files)
    with pcapnfs.open(files, stored=True) as passing, pcapnfs.open(stored) as disk:
        # Views of files, as the trace on disk has them: that all rows are the same is enough.
        assert view(passing, "calls").count("read_parquet") == 1
        assert_same_tables(passing, disk)


def view(trace: pcapnfs.Trace, table: str) -> str:
    """What a table is a view of; nothing where it is none."""
    found = trace.sql("select sql from duckdb_views() where view_name = $name", {"name": table})
    return "".join(text for (text,) in found.fetchall())


def test_large_captures_whose_columns_are_named_are_files_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    columns = {"calls": frozenset({"call", "op"})}
    with pcapnfs.open(SAMPLES[0], columns=columns) as small:
        assert view(small, "calls") == ""
    monkeypatch.setattr(opening, "IN_MEMORY_BYTES", 0)
    with pcapnfs.open(SAMPLES[0], columns=columns) as large:
        (file,) = tmp_path.rglob("*.parquet")
        assert file.name == "calls.parquet"
        assert packing(file) == {"UNCOMPRESSED"}
        assert str(file) in view(large, "calls")
        # They are no trace that could be handed on; what they were made of can be read again.
        assert large.file("calls") is None
        assert large.captures() == [str(SAMPLES[0])]
        large.lock()
        assert large.calls.columns == ["call", "op"]
        assert len(large.calls.fetchall()) == large.meta.calls > 0
        # What stands at the end of a file is read once, also by queries of other threads.
        assert large.cursor().sql(
            "select current_setting('parquet_metadata_cache')"
        ).fetchall() == [(True,)]
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(opening, "BRIEF_BYTES", 0)
    with pcapnfs.open(SAMPLES[0], columns=columns) as huge:
        (file,) = tmp_path.rglob("*.parquet")
        assert packing(file) == {"ZSTD"}
        assert huge.file("calls") == file


@pytest.mark.parametrize("version", ["v3", "v42"])
def test_operations_of_one_kind_are_what_calls_are_looked_up_in(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that are no callbacks are nearly all; DuckDB takes them for a fifth."""
    monkeypatch.setattr(opening, "IN_MEMORY_BYTES", 0)
    (sample,) = (path for path in SAMPLES if path.name == f"k61-tar-{version}.pcap")
    columns = {
        "calls": frozenset({"call", "client", "callback"}),
        "operations": frozenset({"call", "op", "name"}),
    }
    query = """
        explain (format json)
        select client, name from operations join calls using (call)
        where op = 'MKDIR' and not callback
    """
    with pcapnfs.open(sample, columns=columns) as trace:
        ((_, plan),) = trace.sql(query).fetchall()
    (step,) = json.loads(plan)
    while step["name"] != "HASH_JOIN":
        (step,) = step["children"]
    looked_up, hashed = (json.dumps(side) for side in step["children"])
    assert "callback" in looked_up
    assert "MKDIR" in hashed


def packing(file: Path) -> set[str]:
    """How the columns of a Parquet file are compressed."""
    asked = "select distinct compression from parquet_metadata($file)"
    return {how for (how,) in duckdb.execute(asked, {"file": str(file)}).fetchall()}


@pytest.fixture(scope="module")
def independent() -> list[Path]:
    """Three captures that have nothing to do with one another."""
    names = ("published-v3-tar.pcap", "k61-tar-v3.pcap", "k61-two-clients-v42-server.pcap")
    found = [path for path in SAMPLES if path.name in names]
    assert len(found) == len(names)
    return found


def test_the_number_of_jobs_changes_nothing(independent: list[Path], tmp_path: Path) -> None:
    for jobs in (1, 3):
        target = tmp_path / f"{jobs}.nfstrace"
        told = pcapnfs.decode(independent, target, independent=True, jobs=jobs)
        assert told.parts == 3
    with (
        pcapnfs.open(tmp_path / "1.nfstrace") as one,
        pcapnfs.open(tmp_path / "3.nfstrace") as three,
    ):
        assert_same_tables(one, three)


def test_parts_are_those_of_each_capture_with_numbers_of_their_own(
    independent: list[Path], tmp_path: Path
) -> None:
    """Several traces named together are what the captures give when decoded as independent."""
    single = [written([path], tmp_path / f"{path.stem}.nfstrace") for path in independent]
    target = tmp_path / "all.nfstrace"
    pcapnfs.decode(independent, target, independent=True)
    with pcapnfs.open(single) as named, pcapnfs.open(target) as together:
        assert_same_tables(named, together)
        assert together.meta.calls == sum(_calls(path) for path in single)
        for table, key in (("calls", "call"), ("files", "file"), ("connections", "connection")):
            ((rows, distinct),) = together.sql(
                f"select count(*), count(distinct {key}) from {table}"
            ).fetchall()
            assert rows == distinct, table
        # Each call's operations, file, connection and frames are still its own.
        joined = """
            select count(*), count(distinct calls.server || '/' || files.server)
            from calls join files on calls.file = files.file
        """
        ((_, servers),) = together.sql(joined).fetchall()
        assert servers == len({server for path in single for server in _servers(path)})
        frames = [(file.first_frame, file.last_frame, file.packets) for file in together.meta.files]
        ends = 0
        for first, last, packets in frames:
            assert first == ends + 1
            assert last is not None
            ends += packets
            assert last == ends


def test_traces_of_few_calls_are_read_into_a_database(
    independent: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "all.nfstrace"
    pcapnfs.decode(independent, target, independent=True)
    every = {table.name: frozenset(column.name for column in table.columns) for table in tables()}
    with pcapnfs.open(target) as lazy, pcapnfs.open(target, columns=every) as gathered:
        assert view(lazy, "calls").count("read_parquet") == len(independent)
        assert view(gathered, "calls") == ""
        assert_same_tables(lazy, gathered)
        with pytest.raises(UsageError, match="one stream of packets"):
            gathered.captures()
    with pcapnfs.open(target, columns=summary.READS) as gathered:
        told = to_json(pcapnfs.summarize(gathered))
    monkeypatch.setattr(opening, "IN_MEMORY_BYTES", 0)
    with pcapnfs.open(target) as lazy, pcapnfs.open(target, columns=every) as merged:
        assert view(merged, "calls").count("read_parquet") == 1
        assert_same_tables(lazy, merged)
    with pcapnfs.open(target, columns=summary.READS, memory="256M") as merged:
        merged.lock()
        assert to_json(pcapnfs.summarize(merged)) == told
    other = next(path for path in SAMPLES if path not in independent)
    with pcapnfs.open([target, other], columns=every) as merged:
        assert view(merged, "calls").count("read_parquet") == 1
        with pcapnfs.open([target, other]) as lazy:
            assert_same_tables(lazy, merged)
    monkeypatch.setattr(opening, "GATHERED_CALLS", 0)
    with pcapnfs.open(target, columns=summary.READS) as lazy:
        assert view(lazy, "calls").count("read_parquet") == len(independent)
        assert to_json(pcapnfs.summarize(lazy)) == told


def test_one_trace_of_few_calls_is_still_that_of_its_captures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = written([SAMPLES[0]], tmp_path / "a.nfstrace")
    with pcapnfs.open(stored, columns=summary.READS) as gathered:
        assert view(gathered, "calls") == ""
        assert gathered.captures() == [str(SAMPLES[0])]
        gathered.lock()
        assert len(gathered.calls.fetchall()) == gathered.meta.calls
        calls = gathered.meta.calls
    monkeypatch.setattr(opening, "GATHERED_CALLS", calls)
    with pcapnfs.open(stored, columns=summary.READS) as gathered:
        assert view(gathered, "calls") == ""
    monkeypatch.setattr(opening, "GATHERED_CALLS", calls - 1)
    with pcapnfs.open(stored, columns=summary.READS) as lazy:
        assert "read_parquet" in view(lazy, "calls")


def _calls(path: Path) -> int:
    with pcapnfs.open(path) as trace:
        return trace.meta.calls


def _servers(path: Path) -> set[str]:
    with pcapnfs.open(path) as trace:
        query = "select distinct calls.server from calls join files using (file)"
        return {server for (server,) in trace.sql(query).fetchall()}


def test_captures_beside_a_trace_are_a_part_of_their_own(
    independent: list[Path], tmp_path: Path
) -> None:
    first, second, _ = independent
    stored = written([first], tmp_path / "first.nfstrace")
    other = written([second], tmp_path / "second.nfstrace")
    with pcapnfs.open([stored, second]) as mixed, pcapnfs.open([stored, other]) as both:
        assert_same_tables(mixed, both)
        with pytest.raises(UsageError, match="one stream of packets"):
            mixed.captures()


@pytest.mark.parametrize("stored", [False, True])
def test_a_relation_keeps_its_trace_open(
    stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, nothing else names the trace when the answer is fetched."""
    source = written([SAMPLES[0]], tmp_path / "a.nfstrace") if stored else SAMPLES[0]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    ((calls,),) = pcapnfs.open(source).sql("select count(*) from calls").fetchall()
    assert len(pcapnfs.open(source).calls.fetchall()) == calls > 1
    asked = pcapnfs.open(source).calls
    assert len(asked.fetchmany(1)) == 1
    assert list(scratch.iterdir())
    del asked
    gc.collect()
    assert list(scratch.iterdir()) == []
    # Closing is closing, whoever holds an answer.
    with pcapnfs.open(source) as trace:
        asked = trace.calls
    assert list(scratch.iterdir()) == []
    with pytest.raises(duckdb.Error):
        asked.fetchall()


def test_what_is_named_twice_is_refused(tmp_path: Path) -> None:
    capture = tmp_path / "a.pcap"
    shutil.copy(SAMPLES[0], capture)
    (tmp_path / "link.pcap").symlink_to(capture)
    os.link(capture, tmp_path / "hard.pcap")
    (tmp_path / "sub").mkdir()
    for again in ("a.pcap", "link.pcap", "hard.pcap", "sub/../a.pcap"):
        paths = [capture, tmp_path / again]
        with pytest.raises(UsageError, match="would count double"):
            pcapnfs.open(paths)
        with pytest.raises(UsageError, match="would count double"):
            pcapnfs.decode(paths, tmp_path / "b.nfstrace", independent=True)
        with pytest.raises(UsageError, match="would count double"):
            redaction.redact(paths, tmp_path / "b.pcap")
    assert not (tmp_path / "b.nfstrace").exists()
    assert not (tmp_path / "b.pcap").exists()


def test_files_without_packets_are_no_copies_of_one_another(tmp_path: Path) -> None:
    """Whoever has a full disk has several of them: they are empty, and all alike."""
    paths = [tmp_path / name for name in ("first.pcap", "second.pcap")]
    traces = [tmp_path / name for name in ("first.nfstrace", "second.nfstrace")]
    for path in paths:
        path.touch()
    for sample, path, trace in zip(SAMPLES[:2], paths, traces, strict=True):
        pcapnfs.decode([sample, path], trace)
    with pcapnfs.open(traces) as both, pcapnfs.open([SAMPLES[1], paths[1], traces[0]]) as beside:
        assert both.meta.calls == beside.meta.calls > 0
    assert opening.on_both_sides([SAMPLES[0], paths[0]], [SAMPLES[1], paths[1]]) is None
    assert opening.on_both_sides(traces[:1], traces[1:]) is None
    assert opening.on_both_sides(traces[:1], [SAMPLES[0]]) == (str(traces[0]), str(SAMPLES[0]))


def test_independent_captures_of_which_one_is_a_copy_are_refused(tmp_path: Path) -> None:
    copy = tmp_path / "copy.pcap"
    shutil.copy(SAMPLES[0], copy)
    target = tmp_path / "week.nfstrace"
    with pytest.raises(UsageError, match=r"that is a copy of .*would count double"):
        pcapnfs.decode([SAMPLES[0], SAMPLES[1], copy], target, independent=True)
    assert sorted(tmp_path.iterdir()) == [copy]
    # As one stream, what was captured twice comes out once.
    pcapnfs.decode([SAMPLES[0], copy], target)
    with pcapnfs.open(target) as trace, pcapnfs.open(SAMPLES[0]) as alone:
        assert trace.meta.calls == alone.meta.calls > 0


def test_captures_without_packets_are_no_copies(tmp_path: Path) -> None:
    """They are alike, byte by byte, and nothing in them counts."""
    empty = [tmp_path / f"{name}.pcap" for name in "ab"]
    for path in empty:
        Capture().write(path)
    assert empty[0].read_bytes() == empty[1].read_bytes()
    target = tmp_path / "week.nfstrace"
    assert pcapnfs.decode([SAMPLES[0], *empty], target, independent=True).parts == 3
    with pcapnfs.open(target) as trace:
        assert [len(stream.files) for stream in trace.meta.streams] == [1, 1, 1]


def test_a_trace_that_holds_a_capture_and_its_copy_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, such traces were written."""
    copy = tmp_path / "copy.pcap"
    shutil.copy(SAMPLES[0], copy)
    target = tmp_path / "week.nfstrace"
    with monkeypatch.context() as before:
        before.setattr("pcapnfs.store.held_twice", lambda _: None)
        pcapnfs.decode([SAMPLES[0], copy], target, independent=True)
    with pytest.raises(CaptureError, match=r"is a copy of .*: everything in it counts double"):
        pcapnfs.open(target)
    pcapnfs.decode([SAMPLES[0], SAMPLES[1]], target, independent=True, force=True)
    with pcapnfs.open(target) as trace:
        assert len(trace.meta.streams) == 2


def test_a_trace_beside_what_it_was_made_of_is_refused(tmp_path: Path) -> None:
    stored = written([SAMPLES[0]], tmp_path / "a.nfstrace")
    other = written([SAMPLES[0], SAMPLES[1]], tmp_path / "b.nfstrace")
    (tmp_path / "link.nfstrace").symlink_to(stored, target_is_directory=True)
    capture = tmp_path / "copy.pcap"
    shutil.copy(SAMPLES[0], capture)
    for again, words in (
        (stored, "is named twice"),
        (tmp_path / "link.nfstrace", "once more"),
        (stored / ".", "is named twice"),
        (other, "and so was"),
        (SAMPLES[0], "was made of it"),
        (capture, "was made of it"),
    ):
        with pytest.raises(UsageError, match=f"{words}.*would count double"):
            pcapnfs.open([stored, again])
    with pcapnfs.open([stored, SAMPLES[1]]) as trace:
        assert len(trace.meta.files) == 2


@pytest.mark.parametrize(
    "wrong", [{"ports": [0]}, {"ports": [111, 65536]}, {"ports": [-1]}, {"memory": 0}]
)
def test_what_no_port_and_no_memory_has_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        pcapnfs.open(SAMPLES[0], **wrong)
    if "ports" in wrong:
        with pytest.raises(UsageError, match="ports go from 1 to 65535"):
            pcapnfs.decode(SAMPLES[0], tmp_path / "a.nfstrace", **wrong)
        with pytest.raises(UsageError, match="ports go from 1 to 65535"):
            redaction.redact(SAMPLES[0], tmp_path / "a.pcap", **wrong)
        assert list(tmp_path.iterdir()) == []


def test_names_of_the_package_are_listed_before_they_are_used() -> None:
    listed = subprocess.run(
        [sys.executable, "-c", "import pcapnfs; print(*dir(pcapnfs))"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(pcapnfs.__all__) <= set(listed.stdout.split())


def test_ports_of_a_trace_are_refused(tmp_path: Path) -> None:
    stored = written([SAMPLES[0]], tmp_path / "a.nfstrace")
    with pytest.raises(UsageError, match="ports are named when it is written"):
        pcapnfs.open(stored, ports=[111])


def test_a_trace_is_one_file_for_each_table_and_says_what_it_is(tmp_path: Path) -> None:
    stored = written([SAMPLES[0]], tmp_path / "a.nfstrace")
    names = {table.name for table in tables()}
    assert {path.name for path in stored.iterdir()} == {f"{name}.parquet" for name in names} | {
        "meta.json"
    }
    told = json.loads((stored / "meta.json").read_text())
    assert told["format"] == "nfstrace"
    assert told["captures"][0]["path"] == str(SAMPLES[0])
    assert told["captures"][0]["digest"]["bytes"] == SAMPLES[0].stat().st_size


def test_views_read_only_the_columns_that_are_named(tmp_path: Path) -> None:
    stored = written([SAMPLES[0]], tmp_path / "a.nfstrace")
    with pcapnfs.open(stored) as trace:
        (plan,) = trace.sql("explain select op from calls where srt > 0").fetchall()
        read = plan[-1].split("Projections:")[1].split("Filters")[0]
        assert "op" in read
        assert "signature" not in plan[-1]
