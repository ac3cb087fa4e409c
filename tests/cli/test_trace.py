"""Opening captures, with the stand-in decoder: database, temporary files, failures."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import decoding, memory
from pcapnfs.cli.app import run
from pcapnfs.errors import CaptureError, UsageError
from pcapnfs.trace import close_all, interrupt_all
from tests.cli import fake_core
from tests.unit.rows import call


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go in this test."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def test_loads_batches_and_meta(capture: Path) -> None:
    heard: list[tuple[int, int]] = []
    with pcapnfs.open(capture, progress=lambda done, total: heard.append((done, total))) as trace:
        assert trace.calls.count("*").fetchall() == [(3,)]
        assert trace.sql("select op from calls where call = ?", [1]).fetchall() == [("CREATE",)]
        assert trace.meta.files[0].path == str(capture)
        assert repr(trace) == f"<Trace of {capture}: 0 calls>"
    assert heard == [(1, 1)]


def test_the_order_of_a_query_with_parameters_is_kept(capture: Path) -> None:
    """More rows than DuckDB keeps in one piece, read while other threads take the processor."""
    over = threading.Event()
    busy = [threading.Thread(target=_spin, args=(over,)) for _ in range(2)]
    for thread in busy:
        thread.start()
    try:
        with pcapnfs.open(capture) as trace:
            assert trace.sql("select current_setting('preserve_insertion_order')").fetchall() == [
                (True,)
            ]
            query = "select a from range($rows) t(a) order by a desc"
            for _ in range(3):
                rows = trace.sql(query, {"rows": 100_000}).fetchall()
                assert rows == [(number,) for number in reversed(range(100_000))]
    finally:
        over.set()
        for thread in busy:
            thread.join()


def test_traces_are_closed_while_others_are_interrupted(capture: Path) -> None:
    over = threading.Event()

    def interrupt() -> None:
        while not over.is_set():
            interrupt_all()

    thread = threading.Thread(target=interrupt)
    traces = [pcapnfs.open(capture) for _ in range(10)]
    thread.start()
    try:
        for trace in traces[1:]:
            trace.close()
            trace.interrupt()
    finally:
        over.set()
        thread.join()
    assert traces[0].calls.count("*").fetchall() == [(3,)]
    traces[0].close()


def test_all_traces_can_be_closed_at_once(capture: Path, temporary: Path) -> None:
    traces = [pcapnfs.open(capture) for _ in range(2)]
    assert list(temporary.iterdir())
    close_all()
    assert not list(temporary.iterdir())
    for trace in traces:
        with pytest.raises(UsageError, match="closed"):
            trace.sql("select 1")


def _spin(over: threading.Event) -> None:
    while not over.is_set():
        pass


@pytest.mark.parametrize(
    ("suffix", "size", "memory", "files"),
    [
        (".pcap", 0, None, False),
        (".pcap", 17 << 20, "1G", False),
        # A quarter of what the database has is too little for it.
        (".pcap", 17 << 20, "48M", True),
        (".pcap", 65 << 20, "1G", True),
        (".gz", 0, None, True),
    ],
)
def test_large_and_compressed_captures_go_into_files_that_vanish(
    capture: Path, temporary: Path, suffix: str, size: int, memory: str | None, files: bool
) -> None:
    with capture.open("a") as stream:
        stream.write(" " * size)
    named = capture.rename(capture.with_suffix(suffix))
    with pcapnfs.open(named, memory=memory) as trace:
        assert bool(list(temporary.rglob("calls.parquet"))) == files
        assert trace.calls.count("*").fetchall() == [(3,)]
    assert list(temporary.iterdir()) == []


def test_nothing_is_left_behind_after_a_failure(
    capture: Path, temporary: Path, core: type[fake_core.Decoder]
) -> None:
    with pytest.raises(CaptureError, match="nowhere: No such file"):
        pcapnfs.open("/nowhere")
    core.interrupt = True
    with pytest.raises(KeyboardInterrupt):
        pcapnfs.open(capture)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("size", [0, 65 << 20], ids=["memory", "files"])
def test_decoding_ends_where_it_takes_more_than_a_limit_allows(
    capture: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    with capture.open("a") as stream:
        stream.write(" " * size)
    taken = iter([300 << 20, 300 << 20])
    monkeypatch.setattr(memory, "resident", lambda: next(taken, 900 << 20))
    with pytest.raises(UsageError, match=r"^a limit of 300 MiB is too little to decode this: "):
        pcapnfs.open(capture, memory="300M")
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("done", "whole", "told"),
    [
        # 600 MiB more than before, of 322 that 300 may grow by: 2400 for all of it.
        (250, 1000, "after 25.0 % of what is read; if it goes on like that, 2378M do"),
        (1000, 1000, "after 100 % of what is read; if it goes on like that, 578M do"),
        (99, 1000, "after 9.9 % of what is read; name a larger one"),
        (250, 0, "takes more; name a larger one"),
    ],
)
def test_where_a_limit_is_too_little_to_decode_it_says_what_would_do(
    monkeypatch: pytest.MonkeyPatch, done: int, whole: int, told: str
) -> None:
    taken = iter([300 << 20, 300 << 20])
    monkeypatch.setattr(memory, "resident", lambda: next(taken, 900 << 20))
    watch = decoding.watched(300 << 20, None)
    with pytest.raises(UsageError) as failed:
        watch(done, whole)
    assert str(failed.value).startswith("a limit of 300 MiB is too little to decode this: ")
    assert str(failed.value).endswith(told)


def test_what_a_process_had_before_does_not_count(
    capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "resident", lambda: 9 << 30)
    pcapnfs.open(capture, memory="300M").close()
    taken = iter([0, 0])
    monkeypatch.setattr(memory, "resident", lambda: next(taken, 449 << 20))
    pcapnfs.open(capture, memory="300M").close()


def test_no_capture_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="at least one"):
        pcapnfs.open([])


def test_the_memory_limit_holds_and_large_sorts_spill(capture: Path, temporary: Path) -> None:
    with pcapnfs.open(capture, memory=256 << 20) as trace:
        trace.lock()
        query = """
            select count(*) from (
                select n, row_number() over (order by hash(n)) as place,
                       repeat('x', 40) || n as text
                from range(3000000) numbers(n) order by text
            ) where place > 0
        """
        assert trace.sql("select current_setting('memory_limit')").fetchall() == [("128.0 MiB",)]
        assert trace.sql(query).fetchall() == [(3000000,)]
    assert list(temporary.iterdir()) == []


def test_all_public_names_resolve(capture: Path) -> None:
    for name in pcapnfs.__all__:
        assert getattr(pcapnfs, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        pcapnfs.nonsense  # noqa: B018
    with pcapnfs.open(capture) as trace:
        assert pcapnfs.summarize(trace).trust.matched == 3
        assert len(pcapnfs.perfile(trace).files) == 2


def test_what_is_asked_from_python_is_named_as_there(capture: Path) -> None:
    with pcapnfs.open(capture) as trace:
        for ask in (lambda: pcapnfs.sequence(trace), lambda: pcapnfs.model(None)):
            with pytest.raises(UsageError) as refused:
                ask()
            assert "--" not in str(refused.value)


def test_results_become_json_as_the_commands_write_it(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pcapnfs.open(capture) as trace:
        results = {
            "summarize": pcapnfs.to_json(pcapnfs.summarize(trace)),
            "findings": pcapnfs.to_json(pcapnfs.findings(trace)),
            "readdir": pcapnfs.to_json(pcapnfs.readdir(trace)),
        }
    for command, result in results.items():
        assert run([command, str(capture), "--json"]) == 0
        assert capsys.readouterr().out == result
    assert json.loads(results["summarize"])["trust"]["matched"] == 3


def test_ports_reach_the_decoder(capture: Path) -> None:
    pcapnfs.open([capture], ports=(111, 20490)).close()
    assert fake_core.Decoder.seen == [([str(capture)], [111, 20490])]


def test_closing_twice_does_nothing(core: object, tmp_path: Path) -> None:
    del core
    path = fake_core.write_capture(tmp_path / "c", calls=[call(1, "NULL", 1)])
    assert json.loads(path.read_text())["rows"]["calls"]
    trace = pcapnfs.open(path)
    trace.close()
    trace.close()


def test_a_closed_trace_says_so(capture: Path) -> None:
    trace = pcapnfs.open(capture)
    pcapnfs.summarize(trace)
    cursor = trace.cursor()
    trace.close()
    asks: list[Callable[[], object]] = [
        lambda: pcapnfs.summarize(trace),
        lambda: pcapnfs.findings(trace),
        lambda: pcapnfs.network(trace),
        lambda: pcapnfs.perfile(trace),
        lambda: trace.sql("from calls"),
        lambda: trace.rows("from calls"),
        lambda: list(trace.each("from calls")),
        lambda: trace.calls,
        trace.cursor,
        trace.lock,
        trace.__enter__,
    ]
    for ask in asks:
        with pytest.raises(UsageError, match="the trace is closed"):
            ask()
    cursor.close()
