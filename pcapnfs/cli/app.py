"""The commands, and the one place where failures become a sentence and an exit status.

Exit statuses: 0 done, 1 the capture could not be read or holds no NFS, 2 wrong
usage; besides them 130 interrupted and 141 nobody reads the output any more, as shells have it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Annotated

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
from pcapnfs.errors import PcapnfsError
from pcapnfs.text import escape

INTERRUPTED = 130
"""128 and SIGINT."""

ENDING = ("SIGTERM", "SIGHUP")
"""Signals that end a command as an interrupt does: what it would leave behind is removed."""

UNUSED = ("pandas", "pyarrow")
"""What DuckDB looks for with every parameter of a query and every table that it is handed: hundreds
of times where it is not installed, and a third of a second to import where it is. No command needs
it."""

app = typer.Typer(
    name="pcapnfs",
    help="Explains from a packet capture why an NFS mount is slow.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: tuple[tuple[Callable[..., None], str], ...] = (
    (summarize.summarize, "What was read, how far to trust it, where the time went."),
    (report.report, "A report for a support case: one file that opens anywhere."),
    (budget.budget, "Where the time went by the clock, by client and phase."),
    (findings.findings, "What is wrong, what it costs and what to do about it."),
    (estimate.estimate, "The run time explained, and foretold with other values."),
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

for _command, _line in COMMANDS:
    app.command(_command.__name__, short_help=_line)(_command)


def _version(wanted: bool) -> None:
    if wanted:
        output.write([f"pcapnfs {__version__}\n"])
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Explains from a packet capture why an NFS mount is slow."""


def main() -> None:
    """Run the command line of this process and exit with its status."""
    # numpy would start threads for matrices, of which there are none here; they wait busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _leave_out(UNUSED)
    for name in ENDING:
        # Ignored by whoever started us (nohup): that is to stay so.
        if signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:
            signal.signal(getattr(signal, name), _end)
    _watch()
    status = run(sys.argv[1:])
    sys.exit(128 + _ended_by[0] if _ended_by else status)


def _leave_out(names: Sequence[str]) -> None:
    """Let imports of these fail at once, whether they are installed or not."""
    for name in names:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # As the import system has it.


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
            traces = sys.modules.get("pcapnfs.trace")
            if traces is not None:
                traces.interrupt_all()
            time.sleep(0.1)

    threading.Thread(target=watch, name="signals", daemon=True).start()


_ended_by: list[int] = []
"""The signal that ended the command, if one did."""


def _end(number: int, _frame: object) -> None:
    """End with the status that shells expect, and not before everything is cleaned up."""
    _ended_by.append(number)
    raise SystemExit(128 + number)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; gives the exit status."""
    output.prepare()
    try:
        app(args=list(arguments), prog_name="pcapnfs")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except PcapnfsError as error:
        output.tell(escape(str(error)))
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    except MemoryError:
        output.tell("there is not enough memory; --memory limits what is taken")
        return 1
    except Exception as error:
        if _is_interrupt(error):
            return INTERRUPTED
        if not _from_database(error):
            raise
        output.tell(escape(f"the database gave up: {' '.join(str(error).split())}"))
        return 1
    return 0


def _is_interrupt(error: Exception) -> bool:
    """Whether it is what DuckDB makes of an interrupt while a query runs."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"


def _from_database(error: Exception) -> bool:
    """Whether DuckDB raised it (out of memory, disk full), without importing it to ask."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(error, duckdb.Error)
