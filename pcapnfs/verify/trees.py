"""Wireshark's dissection of chosen packets as trees, one after the other as tshark writes them.

Takes a file and a display filter; gives a packet at a time with its frame number and its tree of
protocols and fields. pyshark reads tshark's output, too, but its packet objects put all fields of
one name together, so that the operations of a compound could not be told apart; and it waits in an
event loop, where an interrupt leaves what it goes on to wait for ever for. Promises that tshark has
ended when the packets have, however they do.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import IO
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pcapnfs import temporary
from pcapnfs.errors import CaptureError
from pcapnfs.record import Record
from pcapnfs.verify.tool import find, last_line

_BAD = dict.fromkeys(
    code for code in (*range(32), 0xFFFE, 0xFFFF) if code not in (0x09, 0x0A, 0x0D)
)
"""Characters that XML does not allow and tshark writes nevertheless."""

CUT_SHORT = "cut short"
"""tshark's words for a file that breaks off, which is no failure: it reads what is before."""

_BEGIN, _END = b"<packet", b"</packet>"
"""What stands around a packet in PDML."""

_BATCH = 65_536
"""Bytes that are read of tshark's output at a time."""


class Packet(Record):
    """A dissected packet."""

    frame: int
    """Frame number in the file."""
    protocols: tuple[Element, ...]
    """The protocols from the frame down, as elements of PDML."""


def packets(
    path: Path, display_filter: str, options: Iterable[str], *, last_frame: int | None = None
) -> Generator[Packet]:
    """The packets that pass the filter, one at a time.

    `options` are tshark's own; `last_frame` is where it may stop reading.

    Raises:
        CaptureError: tshark cannot read the file.
        NoTsharkError: It is not installed.
    """
    limit = [] if last_frame is None else ["-c", str(last_frame)]
    command = [find(), "-r", str(path), "-l", "-n", *options, *limit, "-Y", display_filter]
    with ExitStack() as stack:
        told = stack.enter_context(tempfile.TemporaryFile())
        # As of `messages`: what the user set in Wireshark would show other packets.
        settings = stack.enter_context(temporary.scratch())
        process = stack.enter_context(
            subprocess.Popen(
                [*command, "-T", "pdml"],
                stdout=subprocess.PIPE,
                stderr=told,
                env={**os.environ, "WIRESHARK_CONFIG_DIR": str(settings)},
            )
        )
        stack.callback(process.kill)
        assert process.stdout is not None
        yield from _cut(process.stdout)
        why = complaint(process, told)
        if why is not None:
            raise CaptureError(f"{path}: tshark gave up: {why}")


def complaint(process: subprocess.Popen[bytes], told: IO[bytes]) -> str | None:
    """Why tshark stopped before the end; None when it did not, or the file merely breaks off."""
    status = process.wait()
    told.seek(0)
    why = told.read()
    if status == 0 or CUT_SHORT.encode() in why:
        return None
    return last_line(why)


def _cut(output: IO[bytes]) -> Generator[Packet]:
    """The packets in tshark's output, while it writes them.

    In what packets hold, tshark writes `&lt;` for the character that begins these marks.
    """
    data = b""
    # Not `read`, which waits until it has all of that.
    while more := output.read1(_BATCH):  # type: ignore[attr-defined]  # IO does not tell of it.
        data += more
        *whole, data = data.split(_END)
        for text in whole:
            yield _packet(text[text.find(_BEGIN) :] + _END)


def _packet(xml: bytes) -> Packet:
    try:
        root = ElementTree.fromstring(xml.decode("utf-8", "replace").translate(_BAD))
    except ElementTree.ParseError as error:
        raise CaptureError(f"tshark wrote what cannot be read: {error}") from error
    number = root.find("./proto[@name='geninfo']/field[@name='num']")
    if number is None:
        raise CaptureError("tshark wrote a packet without its number")
    protocols = [each for each in root if each.get("name") != "geninfo"]
    return Packet(int(number.attrib["show"]), tuple(protocols))
