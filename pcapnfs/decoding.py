"""Captures into a trace on disk, without a database.

Takes captures and a directory; fills it with the tables while the decoder goes through the packets:
memory does not grow with the capture. Independent captures are decoded at the same time, each into
a directory of its own.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pcapnfs
from pcapnfs import digests, memory, meta, numbering, placement, schema, store, units, usage
from pcapnfs.errors import CaptureError, UsageError, WriteError, not_written, said
from pcapnfs.record import Record
from pcapnfs.text import some
from pcapnfs.usage import PathLike

if TYPE_CHECKING:
    from pcapnfs._core import Batch, Decoder
    from pcapnfs.columns import Columns

    Steps = Generator[tuple[list[Batch], tuple[int, int]], None, None]

JOB_BYTES = 256 << 20
"""Memory for each capture that is decoded at the same time as others: what the decoder holds at
most beside names, and a row group of each table."""

WRITTEN_AHEAD = 4
"""Steps of the decoder, a batch of 4,096 rows each, that may wait for being written."""

PATIENCE_S = 0.5
"""How long a decode that is given up waits for the step that is under way. One that reads from a
pipe may not come to an end before somebody writes into it: after a signal nobody waits for that."""

STRANGERS_NAMED = 3
"""Files that are named where a directory is no trace for them."""

Progress = Callable[[int, int], None]
"""Called with bytes consumed and bytes in all (0: unknown)."""


class Decoded(Record):
    """A trace that was written."""

    trace: str
    """Where it is."""
    captures: tuple[str, ...]
    """What it was made of, as it was named; `-` is standard input."""
    parts: int
    """Decodes that were put together: 1, or the number of independent captures."""
    packets: int
    """Packets read."""
    calls: int
    """Rows of the table calls."""
    undecoded: int
    """Messages that were not decoded to their end."""
    forgotten_files: int
    """Files and names that were forgotten to keep within memory (docs/robustness.md)."""
    bytes: int
    """Size of the trace."""
    damage: tuple[str, ...]
    """For each capture that breaks off or contradicts itself: where and why, and what was read all
    the same; and each that was gone when the trace was written."""


def decode(
    paths: PathLike | Sequence[PathLike],
    target: PathLike,
    *,
    ports: Sequence[int] = (),
    force: bool = False,
    independent: bool = False,
    jobs: int | None = None,
    limit: int | None = None,
    accept: Callable[[Sequence[store.Stored]], None] | None = None,
    progress: Progress | None = None,
) -> Decoded:
    """Write captures as a trace, which is there whole or not at all.

    Args:
        paths: One capture, or several that are one stream in order of time; `-` is standard input.
        target: The directory to be made.
        ports: Ports that carry RPC besides those that are recognised by themselves.
        force: Replace the trace that stands there, once the new one is whole.
        independent: The captures have nothing to do with one another: no connection, client or
            file of one is in another. Each is decoded by itself.
        jobs: How many independent captures are decoded at a time; None: as many as there are
            processors, and as memory allows.
        limit: Memory that the process may take, in bytes; None: half of what is free. Where what is
            known of files takes more, those that were of use longest ago are forgotten, and count
            as others when they come again (`files_forgotten` among the limits hit).
        accept: Called with the parts before they get the target's name; what it raises leaves
            nothing behind.
        progress: Called now and then with bytes consumed and bytes in all (0: unknown).

    Raises:
        CaptureError: A file cannot be opened or read, or is no capture.
        UsageError: Something else, or a trace without `force`, has the target's name, or that is
            `-`; no capture was named, or a trace; a port is none; of independent captures, one is
            a copy of another.
        WriteError: The disk is full, or does not take it for another reason; or a directory has the
            target's name, and what is in it cannot be seen.
    """
    captures = usage.named(paths)
    usage.demand_ports(ports)
    _demand_captures(captures)
    _demand_target(target, force=force)
    limit = memory.chosen(limit)
    try:
        with placement.placed(Path(target), replace=force) as directory:
            if independent and len(captures) > 1:
                parts = _write_parts(
                    captures, directory, ports=ports, jobs=jobs, limit=limit, progress=progress
                )
            else:
                parts = [
                    write(
                        captures,
                        directory,
                        ports=ports,
                        digest=True,
                        files_bytes=memory.of_files(limit),
                        progress=progress,
                    )
                ]
            if accept is not None:
                accept(parts)
            size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    except OSError as error:
        raise WriteError(not_written(target, error)) from error
    return _decoded(target, parts, size)


def _demand_captures(captures: Sequence[str]) -> None:
    """Refuse a trace that is named in place of a capture."""
    if stored := next(filter(store.is_trace, captures), None):
        raise UsageError(
            f"{stored} is decoded already; all commands but redact take it as it is, alone or "
            "beside others"
        )


def _demand_target(target: PathLike, *, force: bool) -> None:
    """Refuse a target that is no name of a trace, or that of something else."""
    if os.fspath(target) == placement.STANDARD_OUTPUT:
        raise UsageError("-: a trace is a directory; name one")
    place = Path(target)
    usage.demand_outside(place)
    demand_free(place, force=force)


def _write_parts(
    captures: Sequence[str],
    directory: Path,
    *,
    ports: Sequence[int],
    jobs: int | None,
    limit: int | None,
    progress: Progress | None,
) -> list[store.Stored]:
    """Decode independent captures into a trace of as many parts, in order of time."""
    streams = [[path] for path in captures]
    parts = numbering.in_order(
        write_each(streams, directory, jobs=jobs, ports=ports, limit=limit, progress=progress)
    )
    if (same := store.held_twice(parts)) is not None:
        first, again = same
        raise UsageError(f"{again}: that is a copy of {first}; everything in it would count double")
    names = [part.directory.name for part in parts]
    store.write_parts(directory, names, tool=f"pcapnfs {pcapnfs.__version__}")
    return parts


def _decoded(target: PathLike, parts: Sequence[store.Stored], size: int) -> Decoded:
    """What is told of a trace that was written, of so many bytes."""
    known = numbering.together(parts)
    return Decoded(
        trace=str(target),
        captures=tuple(file.path for file in known.files),
        parts=len(parts),
        packets=sum(file.packets for file in known.files),
        calls=known.calls,
        undecoded=known.undecoded,
        forgotten_files=known.forgotten_files,
        bytes=size,
        damage=(
            *(f"{file.path}: {file.damage}" for file in known.files if file.damage is not None),
            *(
                f"{source.path}: it was gone when the trace was written; verify and show need it"
                for part in parts
                for source in part.sources
                if source.gone
            ),
        ),
    )


def demand_free(target: Path, *, force: bool) -> None:
    """Refuse to write where something stands that is not to be replaced.

    Raises:
        UsageError: That is so.
        WriteError: What is in the directory cannot be seen.
    """
    if not os.path.lexists(target):
        return
    if target.is_symlink():
        raise UsageError(f"{target}: that is a symbolic link; name the trace that it leads to")
    try:
        if _is_empty(target):
            return
        if not store.is_trace(str(target)):
            raise UsageError(f"{target}: there is something else with this name, which is no trace")
        strangers = store.strangers(target, (table.name for table in tables()))
    except OSError as error:
        raise WriteError(
            f"{target}: a directory has this name, and what is in it cannot be seen: {said(error)}"
        ) from error
    if strangers:
        raise UsageError(
            f"{target}: there is something else with this name: {some(strangers, STRANGERS_NAMED)} "
            f"{'is' if len(strangers) == 1 else 'are'} of no trace"
        )
    if not force:
        there = f"{target}: there is a trace with this name"
        raise UsageError(f"{there}; force=True replaces it", shell=f"{there}; --force replaces it")


def tables() -> tuple[schema.Table, ...]:
    """The tables that the decoder writes."""
    from pcapnfs import _core

    return schema.parse(_core.schema())


def write(
    paths: Sequence[str],
    directory: Path,
    *,
    ports: Sequence[int] = (),
    columns: Columns | None = None,
    digest: bool = False,
    brief: bool = False,
    files_bytes: int | None = None,
    progress: Progress | None = None,
    over: threading.Event | None = None,
) -> store.Stored:
    """Decode captures into a directory that exists.

    Args:
        paths: As of `decode`.
        directory: Where the files are written.
        ports: As of `decode`.
        columns: The columns wanted, by table; None: all.
        digest: Read the captures once more, to recognise them later.
        brief: Compress nothing: the files are read often, and soon gone.
        files_bytes: Memory for what is known of files (`memory.of_files`); None: 1 GiB.
        progress: As of `decode`.
        over: Once it is set, the work is given up.

    Raises:
        CaptureError: A file cannot be opened or read, or is no capture.
        OSError: The disk is full, or does not take it for another reason.
    """
    from pcapnfs import _core

    declared = tables()
    wanted = None
    if columns is not None:
        declared = tuple(schema.narrow(declared, columns))
        wanted = {table: set(names) for table, names in columns.items()}
    files = {path: _file(path) for path in paths} if digest else {}
    try:
        decoder = begun(paths, ports, wanted, files_bytes)
        writer = _core.Writer(str(directory), wanted, brief)
        with closing(ahead(decoder, WRITTEN_AHEAD)) as steps:
            for batches, position in steps:
                if over is not None and over.is_set():
                    raise InterruptedError("given up")
                writer.write(batches)
                if progress is not None:
                    progress(*position)
        highest = json.loads(writer.finish())
    except _core.ReadError as error:
        raise CaptureError(str(error)) from error
    told = decoder.finish()
    known = meta.parse(told)
    captures = decoder.captures()
    stored = store.Stored(
        directory=directory,
        columns={table.name: tuple(column.name for column in table.columns) for table in declared},
        meta=known,
        sources=tuple(_source(path, files.get(path), digest=digest) for path in captures),
        highest=numbering.highest(highest),
        brief=brief,
        named=tuple(captures),
    )
    store.write_meta(stored, tool=f"pcapnfs {pcapnfs.__version__}", ports=ports, told=told)
    return stored


def watched(limit: int, progress: Progress | None) -> Progress:
    """Have decoding come to an end where it takes more than a limit allows that was asked for."""
    begun, growth = memory.resident(), memory.growth(limit)

    def watch(done: int, whole: int) -> None:
        grown = memory.resident() - begun
        if grown > growth:
            # Of a stream or a compressed file, nobody knows how much there is.
            read = min(done / whole, 1) if whole else 0
            share = f" after {units.share(read)} of what is read" if whole else ""
            larger = "name a larger one"
            if read >= memory.TELLING:
                least = memory.enough(limit, round(grown / read) - growth)
                larger = f"if it goes on like that, {-(-least >> 20)}M do"
            raise UsageError(
                f"a limit of {units.size(limit)} is too little to decode this: what is known of "
                f"its files, names and connections takes more{share}; {larger}"
            )
        if progress is not None:
            progress(done, whole)

    return watch


def begun(
    paths: Sequence[str],
    ports: Sequence[int],
    columns: dict[str, set[str]] | None,
    files_bytes: int | None,
) -> Decoder:
    """A decoder that has read how its captures begin.

    It does so on a thread of its own: a pipe into which nobody has written yet would keep signals
    waiting that this one is to end for.

    Args:
        paths: Captures that are one stream.
        ports: As of `decode`.
        columns: The columns wanted, by table; None: all.
        files_bytes: As of `write`.

    Raises:
        _core.ReadError: A file cannot be opened, or is no capture.
    """
    from pcapnfs import _core

    opening = ThreadPoolExecutor(max_workers=1, thread_name_prefix="open")
    try:
        opened = opening.submit(_core.Decoder, list(paths), list(ports), columns, files_bytes)
        return opened.result()
    finally:
        opening.shutdown(wait=False, cancel_futures=True)


def ahead(decoder: Decoder, steps: int) -> Steps:
    """What a decoder gives, step by step: batches, and bytes consumed and bytes in all.

    It decodes on a thread of its own while the caller is busy with what came before; to be closed,
    so that it does not go on when nobody wants more.

    Args:
        decoder: The decoder; it is at its end when nothing comes any more.
        steps: Steps that may wait for the caller.
    """

    def step() -> tuple[list[Batch] | None, tuple[int, int]]:
        return decoder.next(), decoder.progress()

    decoding = ThreadPoolExecutor(max_workers=1, thread_name_prefix="decode")
    upcoming = deque(decoding.submit(step) for _ in range(steps))
    try:
        while True:
            batches, position = upcoming[0].result()
            if batches is None:
                return
            upcoming.popleft()
            upcoming.append(decoding.submit(step))
            yield batches, position
    finally:
        decoding.shutdown(wait=False, cancel_futures=True)
        # Those that were called off would never count as done.
        wait([step for step in upcoming if not step.cancelled()], timeout=PATIENCE_S)


def write_each(
    streams: Sequence[Sequence[str]],
    directory: Path,
    *,
    jobs: int | None = None,
    ports: Sequence[int] = (),
    limit: int | None = None,
    progress: Progress | None = None,
) -> list[store.Stored]:
    """Decode streams that have nothing to do with one another, several at a time.

    The decoder works outside of Python's lock, so that threads are enough.

    Args:
        streams: The captures of each.
        directory: Where each gets a directory.
        jobs: As of `decode`.
        ports: As of `decode`.
        limit: As of `decode`; None: 1 GiB for what each knows of files.
        progress: As of `decode`, for all streams together.

    Raises:
        CaptureError: A file cannot be opened or read, or is no capture.
        OSError: The disk is full, or does not take it for another reason.
    """
    workers = min(jobs or _jobs(limit), len(streams))
    files_bytes = memory.of_files(limit, workers)
    over = threading.Event()
    tally = None if progress is None else _Tally(progress, len(streams))

    def work(number: int) -> store.Stored:
        place = directory / str(number)
        place.mkdir()
        report = None if tally is None else tally.of(number)
        return write(
            streams[number],
            place,
            ports=ports,
            digest=True,
            files_bytes=files_bytes,
            progress=report,
            over=over,
        )

    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="decode") as pool:
        results = [pool.submit(work, number) for number in range(len(streams))]
        try:
            wait(results, return_when=FIRST_EXCEPTION)
        finally:
            # After a failure or an interrupt nobody waits for what the others would still find.
            if not all(result.done() and result.exception() is None for result in results):
                over.set()
                pool.shutdown(wait=True, cancel_futures=True)
        return [result.result() for result in _failed_first(results)]


def _jobs(limit: int | None) -> int:
    """As many as there are processors for, and memory."""
    processors = len(os.sched_getaffinity(0))
    limit = memory.chosen(limit)
    return processors if limit is None else max(1, min(processors, limit // JOB_BYTES))


class _Tally:
    """Adds up how far each of several decodes is."""

    def __init__(self, report: Progress, streams: int) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._done = [(0, 0)] * streams

    def of(self, number: int) -> Progress:
        def told(done: int, total: int) -> None:
            with self._lock:
                self._done[number] = (done, total)
                known = all(total for _, total in self._done)
                self._report(
                    sum(done for done, _ in self._done),
                    sum(total for _, total in self._done) if known else 0,
                )

        return told


def _failed_first(results: Sequence[Future[store.Stored]]) -> Sequence[Future[store.Stored]]:
    """The results in order, or the one whose failure made the others give up."""
    for result in results:
        if result.done() and not result.cancelled():
            error = result.exception()
            if error is not None and not isinstance(error, InterruptedError):
                return [result]
    return results


def _is_empty(path: Path) -> bool:
    return path.is_dir() and next(path.iterdir(), None) is None


def _source(path: str, before: os.stat_result | None, *, digest: bool) -> store.Source:
    """A capture that was decoded; `before` is the file that had its name when that began."""
    if path == meta.STANDARD_INPUT:
        return store.Source(path, None)
    try:
        known = digests.of(path) if digest else None
    except FileNotFoundError:
        known = None  # It went just now.
    except OSError as error:
        raise CaptureError(f"{path}: {said(error)}") from error
    now = None if before is None else _file(path)
    # A ring of captures (tcpdump -W) takes the name away, gives it to others, or begins anew.
    gone = before is not None and (
        now is None or not os.path.samestat(before, now) or now.st_size < before.st_size
    )
    return store.Source(os.path.abspath(path), None if gone else known, gone=gone)


def _file(path: str) -> os.stat_result | None:
    """What is known of an ordinary file; None: there is none of this name."""
    try:
        found = Path(path).stat()
    except OSError:
        return None  # Who opens it says what is wrong.
    return found if stat.S_ISREG(found.st_mode) else None
