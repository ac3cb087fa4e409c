"""Where results and messages go: results to stdout, everything else to stderr.

Takes renderables or text; writes them whole. Promises that colours reach only terminals (NO_COLOR
and FORCE_COLOR are respected), that a terminal without Unicode gets characters that it has instead
of an error, that documents are UTF-8 whatever the locale, and that a reader who has gone away ends
the command silently. Where a stream is closed from the start, messages go nowhere; a result fails,
as on a disk without room, unless it is a file and stdout only tells of it.
"""

from __future__ import annotations

import codecs
import errno
import fcntl
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from pcapnfs.errors import WriteError, said
from pcapnfs.text import escape
from pcapnfs.units import THIN_SPACE

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from pcapnfs.analyses.captured.trust import Trust

STDOUT, STDERR = 1, 2
"""The numbers of the standard streams that are written to."""

PLAIN = dict(
    zip(
        f"{THIN_SPACE}→…×µ≤–·█▇▆▅▄▃▂▁▉▊▋▌▍▎▏░▸",
        " >~xu<-.#%*+=-._###=|||:>",
        strict=True,
    )
)
"""What stands for the characters of screens in a locale without them: one for one, so that columns
stay where they are."""

LINES_AT_A_TIME = 1000
"""Lines of a table that are drawn at once."""

NO_READER = 141
"""Exit status when nobody reads the output any more: 128 and SIGPIPE, as shells have it."""


def open_missing() -> None:
    """Let standard streams that were closed before the start lead nowhere; stdout not even there.

    A file that is opened next would get the number of the closed one, and messages with it.
    """
    closed = sys.stdout is None
    nowhere = os.open(os.devnull, os.O_RDWR)
    while nowhere <= STDERR:
        nowhere = os.dup(nowhere)
    os.close(nowhere)
    if closed:
        # What is written to it fails as it would if it was still closed.
        unwritable = os.open(os.devnull, os.O_RDONLY)
        os.dup2(unwritable, STDOUT)
        os.close(unwritable)
    # Python has none of those that it found closed.
    sys.stdin = sys.stdin or open(0)  # noqa: SIM115  # For as long as the process lives.
    sys.stdout = sys.stdout or open(STDOUT, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(STDERR, "w")  # noqa: SIM115


def only_tells() -> None:
    """Let what goes to a closed stdout go nowhere, since the result is a file that is written."""
    if fcntl.fcntl(STDOUT, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STDOUT)
        os.close(nowhere)


def demand_whole() -> None:
    """Have standard output taken whole, or fail, also where Python is told not to buffer it.

    With PYTHONUNBUFFERED a write to a disk that is nearly full takes what there is room for, and
    Python drops the rest without a word.
    """
    stream = sys.stdout
    if isinstance(stream, io.TextIOWrapper) and isinstance(stream.buffer, io.RawIOBase):
        # `write` flushes: nobody waits longer for it.
        sys.stdout = open(  # noqa: SIM115  # For as long as the process lives.
            stream.fileno(), "w", encoding=stream.encoding, errors=stream.errors, closefd=False
        )


def prepare() -> None:
    """Let characters that the terminal cannot show be replaced."""
    codecs.register_error("pcapnfs.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="pcapnfs.plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that the locale does not have, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(c, "?") for c in error.object[error.start : error.end]), error.end


def screen(renderable: RenderableType, trust: Trust | None = None) -> None:
    """Write a renderable at the terminal's width, below what the capture lost, if it did."""
    screens([renderable], trust)


def screens(renderables: Iterable[RenderableType], trust: Trust | None = None) -> None:
    """Write renderables one below the other, each before the next one is asked for."""
    write(_drawn(renderables, trust))


def _drawn(renderables: Iterable[RenderableType], trust: Trust | None) -> Iterator[str]:
    from rich.console import Console, Group

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=False)
    for place, renderable in enumerate(renderables):
        if trust is not None and not place:
            from pcapnfs.views.parts import trusted

            renderable = trusted(renderable, trust)
        for part in _parts(renderable, console):
            with console.capture() as captured:
                # Of a text alone Rich makes one that does not know where its lines may end.
                console.print(Group(part))
            # Rich fills lines up to the width: blanks at their ends are no use in a ticket.
            yield re.sub(r" +$", "", captured.get(), flags=re.M)
        # Rich flushes what is left here before the next, and ends with 1 where nobody reads it.
        sys.stdout.flush()


def _parts(renderable: RenderableType, console: Console) -> Iterator[RenderableType]:
    """A screen some lines at a time: of a line Rich holds twenty times as much as is written."""
    from rich.console import Group

    from pcapnfs.views.columns import FittedTable

    if isinstance(renderable, Group):
        for part in renderable.renderables:
            yield from _parts(part, console)
    elif isinstance(renderable, FittedTable):
        lines = iter(renderable.lines(console.width))
        while some := list(islice(lines, LINES_AT_A_TIME)):
            yield Group(*some)
    else:
        yield renderable


def answer(
    result: object,
    draw: Callable[[], RenderableType],
    *,
    json: bool,
    trust: Trust | None = None,
) -> None:
    """Write the result of a command: as JSON, or what `draw` makes of it.

    With `trust`, what the capture lost is told above the screen, or beside JSON.
    """
    if not json:
        screen(draw(), trust)
        return
    from pcapnfs.views import document

    if trust is not None:
        warn(trust)
    write(document.json_pieces(result))


def warn(trust: Trust) -> None:
    """Tell the user what a capture lost, if it did."""
    from pcapnfs.views.trust import warning

    if told := warning(trust):
        tell(told)


def write(pieces: Iterable[str]) -> None:
    """Write text piece by piece.

    Raises:
        SystemExit: Nobody reads any more; the status is `NO_READER`.
        WriteError: The disk is full, or does not take it for another reason.
    """
    with _reader():
        for piece in pieces:
            sys.stdout.write(piece)
        sys.stdout.flush()


def write_document(pieces: Iterable[str]) -> None:
    """Write CSV, HTML or Markdown, which are UTF-8 in files and pipes, piece by piece.

    Raises:
        SystemExit: As of `write`.
        WriteError: Likewise.
    """
    stream = sys.stdout
    if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8", errors="replace")
    write(pieces)


def flush() -> None:
    """Write what others than `write` have left to be written.

    Raises:
        SystemExit: As of `write`.
        WriteError: Likewise.
    """
    with _reader():
        sys.stdout.flush()


def write_bytes(pieces: Iterable[bytes]) -> None:
    """Write UTF-8 text with raw values: as it is into files and pipes, escaped to a terminal.

    Raises:
        SystemExit: As of `write`.
        WriteError: Likewise.
    """
    if sys.stdout.isatty():
        write(_for_a_terminal(pieces))
        return
    with _reader():
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.flush()


def _for_a_terminal(pieces: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in pieces:
        lines = decoder.decode(piece).split("\n")
        yield "\n".join(map(escape, lines))


@contextmanager
def _reader() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as gone:
        _forget()
        raise SystemExit(NO_READER) from gone
    except OSError as error:
        if error.filename is not None:
            raise  # Not of a stream: what was to be written could not be read.
        _forget()
        why = "standard output is closed" if error.errno == errno.EBADF else said(error)
        raise WriteError(f"the output cannot be written: {why}") from error


def _forget() -> None:
    """Let what is still buffered go nowhere, so that Python's own flush at exit stays silent."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def tell(message: str) -> None:
    """Write a line for the user to stderr; the caller has escaped what came from a capture."""
    sys.stderr.write(f"pcapnfs: {message}\n")
