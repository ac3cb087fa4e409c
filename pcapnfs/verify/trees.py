"""Wireshark's dissection of chosen packets as trees, run and read by pyshark.

Takes a file and a display filter; gives a packet at a time with its frame number and its tree of
protocols and fields. pyshark runs tshark and cuts its output into packets; its own packet objects
put all fields of one name together, so that the operations of a compound could not be told apart:
the tree is kept instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pcapnfs.errors import CaptureError
from pcapnfs.record import Record
from pcapnfs.verify.tool import find

_BAD = dict.fromkeys(
    code for code in (*range(32), 0xFFFE, 0xFFFF) if code not in (0x09, 0x0A, 0x0D)
)
"""Characters that XML does not allow and tshark writes nevertheless."""

CUT_SHORT = "cut short"
"""tshark's words for a file that breaks off, which is no failure: it reads what is before."""


ENDING_S = 1.0
"""Seconds that tshark gets to end once it has written everything."""


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
    find()
    from pyshark.capture.capture import TSharkCrashException

    parameters = [*options]
    if last_frame is not None:
        parameters += ["-c", str(last_frame)]
    # A loop of its own: pyshark's way to get one is deprecated in Python 3.12 and gone in 3.14.
    with closing(asyncio.new_event_loop()) as loop:
        capture = _tree_capture(path, display_filter, parameters, loop)
        try:
            yield from capture.trees()
        except TSharkCrashException as error:
            if CUT_SHORT not in str(error):
                raise CaptureError(f"{path}: tshark gave up: {capture.last_words()}") from error
        finally:
            capture.stop()


class _Trees(Protocol):
    """What is used of the capture below."""

    def trees(self) -> Iterator[Packet]: ...
    def last_words(self) -> str: ...
    def stop(self) -> None: ...


def _tree_capture(
    path: Path, display_filter: str, parameters: list[str], loop: asyncio.AbstractEventLoop
) -> _Trees:
    """A pyshark capture that keeps trees; defined here since pyshark takes long to import."""
    import pyshark
    from pyshark.tshark.output_parser.tshark_xml import TsharkXmlParser

    class TreeParser(TsharkXmlParser):  # type: ignore[misc]  # pyshark has no types
        """Gives the tree of a packet, where pyshark would give its own object."""

        def _parse_single_packet(self, packet: bytes) -> Packet:
            text = packet.decode("utf-8", "replace").translate(_BAD)
            try:
                root = ElementTree.fromstring(text)
            except ElementTree.ParseError as error:
                raise CaptureError(f"tshark wrote what cannot be read: {error}") from error
            number = root.find("./proto[@name='geninfo']/field[@name='num']")
            if number is None:
                raise CaptureError("tshark wrote a packet without its number")
            protocols = [each for each in root if each.get("name") != "geninfo"]
            return Packet(int(number.attrib["show"]), tuple(protocols))

    class TreeCapture(pyshark.FileCapture):  # type: ignore[misc]  # likewise
        """pyshark's capture with the other parser."""

        def _setup_tshark_output_parser(self) -> TreeParser:
            return TreeParser()

        def trees(self) -> Iterator[Packet]:
            """Every packet."""
            return self._packets_from_tshark_sync()  # type: ignore[no-any-return]

        def last_words(self) -> str:
            """What tshark said last."""
            return self._last_error_line or "it gave no reason"

        async def _cleanup_subprocess(self, process: Process) -> None:
            """End tshark, unless it ends by itself; then say as pyshark does how it ended.

            Its own way to kill looks first whether the process has ended, and takes the status from
            asyncio's own waiting, which then complains of an unknown process.
            """
            if process.stdout is not None and process.stdout.at_eof():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), ENDING_S)
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):  # It has ended in this moment.
                    os.kill(process.pid, signal.SIGKILL)
                await process.wait()
            await super()._cleanup_subprocess(process)

        def stop(self) -> None:
            """End tshark, unless it has ended; how it did was told when it did."""
            self._running_processes: set[Process] = {
                each for each in self._running_processes if each.returncode is None
            }
            self.eventloop.run_until_complete(self.close_async())

    return TreeCapture(
        str(path),
        keep_packets=False,
        display_filter=display_filter,
        custom_parameters=parameters,
        eventloop=loop,
    )
