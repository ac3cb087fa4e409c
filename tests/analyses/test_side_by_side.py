"""Questions that are asked at the same time: their answers, and what becomes of them in the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError

import duckdb
import pytest

import pcapnfs
from pcapnfs import trace as traces
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.side_by_side import Asking, side_by_side
from pcapnfs.trace import Trace
from tests.unit.rows import ROOT

pytest.importorskip("pcapnfs._core")

ENDLESS = "select count(*) from range(1000000) a, range(1000000) b where a.range % 7 = b.range % 5"


@pytest.fixture
def trace() -> Iterator[Trace]:
    with pcapnfs.open(ROOT / "samples" / "k61-tar-v3.pcap") as opened:
        yield opened


def name_of_thread(_trace: Trace) -> str:
    return threading.current_thread().name


def test_a_small_trace_is_asked_when_an_answer_is_wanted(trace: Trace) -> None:
    order: list[int] = []

    def question(_trace: Trace, number: int) -> str:
        order.append(number)
        return threading.current_thread().name

    with side_by_side(trace) as asking:
        answers = [asking.ask(question, number) for number in range(3)]
        assert not order
        names = {answers[number]() for number in (2, 0, 1, 2)}
        assert names == {threading.current_thread().name}
        assert order == [2, 0, 1], "an answer is worked out once"


def test_questions_run_at_the_same_time_and_who_asks_takes_part(trace: Trace) -> None:
    trace.workers = 2
    together = threading.Barrier(2, timeout=30)

    def meet(_trace: Trace) -> str:
        together.wait()
        return threading.current_thread().name

    with side_by_side(trace) as asking:
        first, second = asking.ask(meet), asking.ask(meet)
        # Neither returns before the other has begun: one is this thread's.
        names = {second(), first()}
        assert len(names) == 2
        assert threading.current_thread().name in names
        assert {second(), first()} == names, "an answer can be had again"


def test_a_large_trace_is_asked_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "WORKER_CALLS", 1)
    with pcapnfs.open(ROOT / "samples" / "k61-tar-v3.pcap") as large:
        ((threads,),) = duckdb.connect().execute("select current_setting('threads')").fetchall()
        assert large.workers == min(threads, 4)
    with pcapnfs.open(ROOT / "samples" / "k61-tar-v3.pcap", memory="64M") as tight:
        assert tight.workers == 1


def test_what_another_version_of_the_database_optimizes_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(traces, "THOROUGH", ("join_order", "of_another_version"))
    with pcapnfs.open(ROOT / "samples" / "k61-tar-v3.pcap") as small:
        assert small.rows("select current_setting('disabled_optimizers')") == [("join_order",)]


def test_each_thread_has_a_connection_of_its_own(trace: Trace) -> None:
    trace.workers = 4

    def count(asked: Trace, number: int) -> list[tuple[int, int]]:
        return [
            (number, asked.rows(f"select count(*) + {number} from range(5000)")[0][0] - 5000)
            for _ in range(20)
        ]

    with side_by_side(trace) as asking:
        answers = [asking.ask(count, number) for number in range(12)]
        for number, answer in enumerate(answers):
            assert answer() == [(number, number)] * 20


def test_what_a_question_raises_is_raised_and_the_others_end(trace: Trace) -> None:
    trace.workers = 2
    begun = threading.Event()
    ended: list[str] = []
    left: list[Callable[[], object]] = []

    def waits(_trace: Trace) -> object:
        raise AssertionError("nobody begins with it any more")

    def endless(asked: Trace) -> object:
        begun.set()
        try:
            return asked.rows(ENDLESS)
        except duckdb.Error as error:
            ended.append(type(error).__name__)
            raise

    def faulty(_trace: Trace) -> object:
        raise ZeroDivisionError("of the question")

    def both() -> None:
        with side_by_side(trace) as asking:
            asking.ask(endless)
            assert begun.wait(30)
            fails = asking.ask(faulty)
            never = asking.ask(waits)
            try:
                fails()
            finally:
                left.append(never)

    since = time.monotonic()
    with pytest.raises(ZeroDivisionError, match="of the question"):
        both()
    assert ended == ["InterruptException"]
    with pytest.raises(CancelledError):
        left[0]()
    assert time.monotonic() - since < 30
    assert trace.rows("select count(*) from calls") != []


def test_an_interrupt_between_two_steps_of_who_asks_ends_all(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may come when a question was taken, and before anything could be noted of it."""
    trace.workers = 2
    begun = threading.Event()
    asker = threading.current_thread()
    take = Asking._next

    def endless(asked: Trace) -> object:
        begun.set()
        return asked.rows(ENDLESS)

    def taken(asking: Asking) -> object:
        task = take(asking)
        if task is not None and threading.current_thread() is asker and begun.is_set():
            monkeypatch.setattr(Asking, "_next", take)
            raise KeyboardInterrupt
        return task

    def both() -> None:
        with side_by_side(trace) as asking:
            asking.ask(endless)
            assert begun.wait(30)
            asking.ask(name_of_thread)()

    monkeypatch.setattr(Asking, "_next", taken)
    since = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        both()
    assert time.monotonic() - since < 30


def test_an_answer_that_is_waited_for_is_worked_out_once(trace: Trace) -> None:
    worked_out: list[str] = []

    @once
    def slow(asked: Trace) -> int:
        time.sleep(0.2)
        worked_out.append(name_of_thread(asked))
        return len(worked_out)

    trace.workers = 4
    with side_by_side(trace) as asking:
        answers = [asking.ask(slow) for _ in range(6)]
        assert [answer() for answer in answers] == [1] * 6
