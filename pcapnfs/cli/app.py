"""The commands, and the one place where failures become a sentence and an exit status.

Exit statuses: 0 done, 1 the capture could not be read or holds no NFS, or a result could not be
written, 2 wrong usage; besides them 130 interrupted and 141 nobody reads the output any more, as
shells have it.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Annotated, NoReturn

import typer

from pcapnfs import __version__
from pcapnfs.cli import (
    annotate,
    budget,
    cache,
    compare,
    decode,
    estimate,
    export,
    failures,
    findings,
    network,
    output,
    patterns,
    perfile,
    readdir,
    redact,
    report,
    sequence,
    show,
    sizes,
    sql,
    summarize,
    synth,
    verify,
)
from pcapnfs.errors import CaptureError, PcapnfsError, UsageError
from pcapnfs.text import sentence

INTERRUPTED = 130
"""128 and SIGINT."""

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end a command: what it would leave behind is removed."""

UNUSED = ("pandas", "pyarrow")
"""What DuckDB looks for with every parameter of a query and every table that it is handed: hundreds
of times where it is not installed, and a third of a second to import where it is. No command needs
it."""

ALLOCATOR = "retain:false"
"""What DuckDB's jemalloc is told: to give addresses back, and not memory alone. It would keep as
many as it ever had, at 10 GB of capture 600 MB, of which `ulimit -v` lets a process have so many
only. It takes no longer."""

Commands = tuple[tuple[Callable[..., None], str], ...]

COMMANDS: Commands = (
    (summarize.summarize, "What was read, how far to trust it, where the time went."),
    (report.report, "A report for a support case: one file that opens anywhere."),
    (budget.budget, "Where the time went by the clock, by client and phase."),
    (findings.findings, "What is wrong, what it costs and what to do about it."),
    (estimate.estimate, "The run time explained, and forecast for other values."),
    (compare.compare, "What changed from one run to another, and why."),
    (patterns.patterns, "Files folded into classes by what was done to them."),
    (sequence.sequence, "What happened to a file, call by call."),
    (perfile.perfile, "What each file cost: calls, time, bytes, errors."),
    (sizes.sizes, "How large the files are, and what one READ or WRITE holds."),
    (readdir.readdir, "How directories were listed, and which calls followed."),
    (cache.cache, "What clients asked again, and the mount options behind it."),
    (network.network, "Round trips, where it was captured, and what was lost."),
    (sql.sql, "Questions of your own, in SQL."),
    (verify.verify, "Every call compared with Wireshark's reading."),
    (show.show, "Wireshark's dissection of a call and its reply."),
    (decode.decode, "Captures into a trace on disk, to be asked often."),
    (export.export, "A table as CSV, JSON Lines or Parquet."),
    (annotate.annotate, "The capture with comments for Wireshark."),
    (redact.redact, "The capture without names, addresses and data."),
    (synth.synth, "A capture of a simulated client and server."),
)
"""The commands in the order of the help text, each with its line there."""


def _version(wanted: bool) -> None:
    if wanted:
        output.write([f"pcapnfs {__version__}\n"])
        raise typer.Exit


def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Explains from a packet capture why an NFS mount is slow."""


def _of(commands: Commands) -> typer.Typer:
    """The command line with these commands."""
    made = typer.Typer(
        name="pcapnfs",
        help="Explains from a packet capture why an NFS mount is slow.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_common)
    for command, line in commands:
        made.command(command.__name__, short_help=line)(command)
    return made


app = _of(COMMANDS)
"""All of it, for its help and for completion."""


def _for(arguments: Sequence[str]) -> typer.Typer:
    """The command line with the command that is named first; else all of it.

    Typer reads the signatures of all commands that it knows: 30 ms for twenty of them.
    """
    named = tuple(each for each in COMMANDS if each[0].__name__ in arguments[:1])
    return _of(named) if named else app


def _demand_command(arguments: Sequence[str]) -> None:
    """Refuse a capture in the place of the command.

    Raises:
        UsageError: It stands there.
    """
    first = arguments[0] if arguments else ""
    if any(each[0].__name__ == first for each in COMMANDS) or not os.path.isfile(first):
        return
    raise UsageError(f"the command is missing: pcapnfs summarize {_typed(first)}")


def _demand_output(arguments: Sequence[str]) -> None:
    """Refuse a capture alone where the file to write is named behind it.

    Typer would take it for that file, and miss the captures.

    Raises:
        UsageError: There is no other name.
    """
    if len(arguments) != 2:
        return
    command, capture = arguments
    out = {"annotate": "OUT.pcapng", "redact": "OUT.pcap"}.get(command)
    if out is not None and os.path.exists(capture):
        raise UsageError(f"the file to write is missing: pcapnfs {command} {_typed(capture)} {out}")


def _typed(path: str) -> str:
    """How a path is typed in a shell, so that it is not taken for an option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def _offer_path(arguments: Sequence[str], failure: BaseException | None) -> None:
    """Tell how to name a file that was taken for an option that there is not."""
    option = getattr(failure, "option_name", None)  # Of Typer's own, which are not public.
    if option is None:
        return
    for argument in arguments:
        if argument.startswith(option) and os.path.isfile(argument):
            output.tell(sentence(f"{argument} was taken for an option; write {_typed(argument)}"))
            return


def main() -> int:
    """Run the command line of this process; gives the exit status for `leave`."""
    output.open_missing()
    output.demand_whole()
    # numpy would start threads for matrices, of which there are none here; they wait busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("DUCKDB_JE_MALLOC_CONF", ALLOCATOR)
    _leave_out(UNUSED)
    _watch()
    try:
        _hear()
        status = run(sys.argv[1:])
    except KeyboardInterrupt:  # Before anything was begun.
        status = INTERRUPTED
    return ended() if _ended_by else status


def ended() -> int:
    """The exit status after a signal: that of the first, if there were several."""
    return 128 + _ended_by[0] if _ended_by else INTERRUPTED


def leave(status: int) -> NoReturn:
    """End the process. Another signal ends it at once.

    Without the interpreter's own end, which takes apart what goes with the process, 10 ms, and
    after a signal takes away what threads stand on that still interrupt the database, or wait for
    it.
    """
    for name in ENDING:
        if signal.getsignal(number := getattr(signal, name)) is _end:
            signal.signal(number, signal.SIG_DFL)
    close_all = getattr(sys.modules.get("pcapnfs.trace"), "close_all", None)
    if close_all is not None:
        close_all()
    os._exit(status)


def _leave_out(names: Sequence[str]) -> None:
    """Let imports of these fail at once, whether they are installed or not."""
    for name in names:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # As the import system has it.


def _hear() -> None:
    """End the command where a signal would end the process."""
    for name in ENDING:
        number = getattr(signal, name)
        # Ignored by whoever started us (nohup): that is to stay so.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _watch() -> None:
    """Have a thread stop what the database is doing when a signal comes.

    Python calls handlers between its own steps only, and a query is one step.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def watch() -> None:
        os.read(reading, 1)
        # Again and again: a query that begins at this moment forgets it.
        while True:
            # It may be on the way of being imported.
            interrupt = getattr(sys.modules.get("pcapnfs.trace"), "interrupt_all", None)
            if interrupt is not None:
                interrupt()
            time.sleep(0.1)

    threading.Thread(target=watch, name="signals", daemon=True).start()


_ended_by: list[int] = []
"""The signal that ended the command, if one did."""


def _end(number: int, _frame: object) -> None:
    """End with the status that shells expect, and not before everything is cleaned up."""
    _ended_by.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; gives the exit status."""
    output.prepare()
    try:
        if "" in arguments:
            raise UsageError("a name is empty; is a variable of the shell not set?")
        _demand_command(arguments)
        _demand_output(arguments)
        try:
            _for(arguments)(args=list(arguments), prog_name="pcapnfs")
        finally:
            output.flush()
    except SystemExit as end:
        # Typer writes its help itself, and ends with 1 where nobody reads it.
        if isinstance(end.__context__, BrokenPipeError):
            return output.NO_READER
        _offer_path(arguments, end.__context__)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except PcapnfsError as error:
        # After a signal anything may fail, and none of it is news.
        if _ended_by:
            return INTERRUPTED
        if isinstance(error.__cause__, BrokenPipeError):
            return output.NO_READER  # Of a pipe that was named, as /dev/stdout.
        words = sentence(error.shell)
        if isinstance(error, CaptureError):
            # Who reads a capture from standard input knows it by no name.
            words = re.sub("^-: ", "standard input: ", words)
        output.tell(words)
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if _ended_by or failures.is_interrupt(error):
            return INTERRUPTED
        told = failures.explained(error)
        if told is None:
            raise
        output.tell(told)
        return 1
    return 0
