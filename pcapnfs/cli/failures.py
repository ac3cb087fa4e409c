"""Failures that pcapnfs does not raise itself, in words for the user who typed the command.

Takes an exception of the database, the operating system or Python; gives a sentence that says what
happened and what can be done. Imports none of the libraries whose exceptions it knows.
"""

from __future__ import annotations

import errno
import re
import resource
import sys
from pathlib import Path

from pcapnfs import units
from pcapnfs.errors import said
from pcapnfs.text import escape

NO_ADDRESSES = ("failed to map segment", "Cannot allocate memory", "can't start new thread")
"""What the dynamic linker, and Python, say where a library or the stack of a thread does not fit
into what `ulimit -v` allows."""

NOT_ALLOCATED = "bad allocation"
"""What the database says where the system gave it no memory at all, as the C++ library has it."""

OWN_LIMIT = re.compile(r"\(([^()/]+)/([^()/]+) used\)")
"""What DuckDB says of how much it has where that is its own limit, and not the system's."""


def is_interrupt(error: Exception) -> bool:
    """Whether it is what DuckDB makes of an interrupt: of its own, or of a signal in a query."""
    database = sys.modules.get("pcapnfs.database")
    if database is not None and isinstance(error, database.InterruptException):
        return True
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"


def explained(error: Exception) -> str | None:
    """The sentence for the user; None for a failure that nobody foresaw, which is a bug here."""
    if isinstance(error, MemoryError) or _is_without_addresses(error):
        return f"there is not enough memory; {_advice()}"
    # Typer writes its help itself.
    if isinstance(error, OSError) and error.errno in (errno.EIO, errno.EFBIG, errno.ENOSPC):
        return f"the output cannot be written: {said(error)}"
    if isinstance(error, FileNotFoundError) and _is_nowhere():
        return "the directory in which pcapnfs runs is gone; change to another one"
    if _is_from_database(error):
        return escape(f"the database gave up: {of_database(str(error))}")
    return None


def _is_without_addresses(error: Exception) -> bool:
    """Whether `ulimit -v` left no addresses for a library, or for a thread."""
    return _addresses() is not None and (
        isinstance(error, ImportError | RuntimeError)
        and any(words in str(error) for words in NO_ADDRESSES)
    )


def _is_nowhere() -> bool:
    """Whether the working directory was removed, from which names without a slash are taken."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _is_from_database(error: Exception) -> bool:
    """Whether DuckDB raised it (out of memory, disk full)."""
    database = sys.modules.get("pcapnfs.database")
    return database is not None and isinstance(error, database.Error)


def of_database(message: str) -> str:
    """DuckDB's message with advice that a user of pcapnfs can follow.

    DuckDB's own advice is about settings that no command has.
    """
    whole = " ".join(message.split())
    what = re.split(" (?:This limit was|Possible solutions|Database is launched)", whole)[0]
    what = re.sub("^.*Producer error: ", "", what.removesuffix("."))
    if "max_temp_directory_size" in whole or "No space left" in whole:
        return f"{what}; TMPDIR names another place for what does not fit into memory"
    if "Too many open files" in whole:
        return f"{what.split(' LINE 1')[0]}; name fewer traces, or raise the limit (ulimit -n)"
    if OWN_LIMIT.search(whole):
        # What it names is less than what was asked for: the process takes the rest.
        of_it = OWN_LIMIT.sub(r"(\1 used of \2, its part of --memory)", what)
        return f"{of_it}; a larger --memory may do"
    if "Out of Memory" in whole:
        return f"{what}; {_advice()}"
    if NOT_ALLOCATED in whole:
        return f"there is not enough memory; {_advice()}"
    return what


def _advice() -> str:
    """What can be done where the system gives no more memory."""
    allowed = _addresses()
    if allowed is None:
        return "--memory limits what is taken"
    return f"ulimit -v leaves this process {units.size(allowed)} of addresses, more may do"


def _addresses() -> int | None:
    """Bytes of addresses that the process may have; None for as many as it likes."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if allowed == resource.RLIM_INFINITY else allowed
