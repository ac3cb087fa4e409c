"""What frame numbers mean: a sentence that stands once below what shows some.

Takes the streams of packets of a trace; gives text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units, wireshark
from pcapnfs.text import escape, source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pcapnfs.meta import Stream

OF_ONE = "Frame numbers are those of Wireshark."
"""Where there is one capture."""

OVER_ALL = (
    "Frame numbers count over all captures in order of time: Wireshark has them in the one file "
    "that pcapnfs annotate or mergecap makes of these."
)
"""Where several are one stream of packets."""

NAMED = 4
"""Streams of which it is told by how much their numbers differ; the others are counted."""


def sentence(streams: Sequence[Stream], visible: Callable[[str], str] = escape) -> str:
    """How Wireshark's numbers are found, for any captures.

    Args:
        streams: Those of the trace.
        visible: What makes the name of a capture harmless.
    """
    if len(streams) > 1:
        later = [stream for stream in streams if stream.files and stream.frames_before]
        lower = [
            f"{units.count(stream.frames_before)} in {name(stream, visible)}"
            for stream in later[:NAMED]
        ]
        if len(later) > NAMED:
            lower.append(f"more in {units.count(len(later) - NAMED)} others")
        told = f": those of Wireshark are lower by {', by '.join(lower)}" if lower else ""
        return f"Frame numbers are counted on from one capture to the next{told}."
    return OVER_ALL if streams and len(streams[0].files) > 1 else OF_ONE


def filters(
    frames: Iterable[int], streams: Sequence[Stream], visible: Callable[[str], str] = escape
) -> Iterator[tuple[str, str]]:
    """Display filters for some frames, each behind the captures that it is for.

    One for all captures needs no name.
    """
    for stream, pieces in wireshark.by_stream(frames, streams):
        yield "" if len(streams) == 1 else name(stream, visible), "".join(pieces)


def unless_plain(streams: Sequence[Stream]) -> str:
    """The same where they are not just those of Wireshark; else nothing."""
    told = sentence(streams)
    return "" if told == OF_ONE else told


def name(stream: Stream, visible: Callable[[str], str] = escape) -> str:
    """What a stream is called: its capture, or the first and the last of several put together."""
    first, last = (visible(source(file)) for file in (stream.files[0], stream.files[-1]))
    return first if len(stream.files) == 1 else f"{first} to {last}, put together"
