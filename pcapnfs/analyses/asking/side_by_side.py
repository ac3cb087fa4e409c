"""Questions that are asked of a trace at the same time.

Takes functions of a trace; gives their answers to whoever comes for them. Of a large trace as many
are worked out at a time as it has workers (`Trace.workers`), each by a thread of its own, that of
who asks among them: the database divides few questions as well as they divide among threads, and
what is not the database's (arrays, walks of the core) would wait for one another. Of others each is
worked out when it is wanted. Promises the same answers both ways, and that nothing is left running
when one of them fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

Answer = TypeVar("Answer")
Details = ParamSpec("Details")

Task = tuple[Future[Any], Callable[[], Any]]
"""An answer, and how to work it out."""

PATIENCE_S = 0.1
"""Time after which those are interrupted again that have just begun another query, seconds."""


class Asking:
    """Where questions are asked."""

    def __init__(self, trace: Trace, threads: ThreadPoolExecutor | None) -> None:
        """Ask a trace.

        Args:
            trace: The trace.
            threads: Those that work answers out; None: whoever asks does.
        """
        self._trace = trace
        self._threads = threads
        self._waiting: deque[Task] = deque()
        self._runs: list[Future[bool]] = []

    def ask(
        self,
        question: Callable[Concatenate[Trace, Details], Answer],
        *args: Details.args,
        **details: Details.kwargs,
    ) -> Callable[[], Answer]:
        """Ask a question; what is given gives its answer, or raises what the question did."""
        work_out = partial(question, self._trace, *args, **details)
        if self._threads is None:
            # When it is wanted: until then others may have let go of much memory.
            return cache(work_out)
        asked: Future[Answer] = Future()
        self._waiting.append((asked, work_out))
        self._runs.append(self._threads.submit(self._work))

        def answer() -> Answer:
            # Whoever waits has nothing else to do.
            while not asked.done() and self._work():
                pass
            return asked.result()

        return answer

    def _work(self) -> bool:
        """Work out the next answer; False where nobody waits for one."""
        task = self._next()
        if task is None:
            return False
        asked, work_out = task
        try:
            asked.set_result(work_out())
        except BaseException as error:
            asked.set_exception(error)  # Raised where the answer is wanted.
            if not isinstance(error, Exception):
                raise
        return True

    def _next(self) -> Task | None:
        try:
            return self._waiting.popleft()
        except IndexError:  # Another thread took it.
            return None

    def give_up(self) -> None:
        """Let the questions fail that are not answered yet, and wait until they have.

        It is the threads that are waited for: of an answer that who asks was about to work out when
        a signal came, nobody knows any more.
        """
        while task := self._next():
            asked, _ = task
            asked.cancel()
        while wait(self._runs, timeout=PATIENCE_S).not_done:
            self._trace.interrupt()


@contextmanager
def side_by_side(trace: Trace) -> Iterator[Asking]:
    """Ask a trace several questions; all are over at the end."""
    if trace.workers < 2:
        yield Asking(trace, None)
        return
    with (
        trace.divided() as workers,
        ThreadPoolExecutor(workers - 1, thread_name_prefix="ask") as threads,
    ):
        asking = Asking(trace, threads)
        try:
            yield asking
        except BaseException:
            asking.give_up()
            raise
