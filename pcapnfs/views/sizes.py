"""The screen of `sizes`: a histogram, and its line in `summarize`.

Takes a `Sizes`; gives renderables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from pcapnfs import units
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from pcapnfs.analyses.by_file.sizes import Fit, SizeBin, Sizes

BAR_CELLS = 26
"""Width of the longest bar."""

WHOLE_BYTES = 100_000
"""Sizes below this are written in bytes: 1472 says more than 1.44 KiB."""

KIBIBYTE = 1024
"""From here on there is another way to write a size."""

_COLUMNS = (
    Column("above"),
    Column("up to"),
    Column("files"),
    Column("of files"),
    Column("up to here", 2),
    Column("", 1, align="left"),
)

FITS = (
    ("frame", "one frame"),
    ("jumbo_frame", "one jumbo frame"),
    ("read", "one READ (rsize)"),
    ("write", "one WRITE (wsize)"),
)

_SOURCES = {
    "handshake": "",
    "assumed": "",
    "calls": "as the calls show",
    "server": "the server's limit",
    "unknown": "",
    "rdma": "",
}


def screen(result: Sizes) -> RenderableType:
    """The spread, what fits, and the histogram."""
    parts: list[RenderableType] = [Prose(spread(result))]
    if result.files:
        most = max(each.files for each in result.bins)
        rows = [
            [
                amount(above) if above else "",
                amount(each.up_to_bytes),
                units.count(each.files) if each.files else "",
                units.share(each.share) if each.files else "",
                units.share(each.share_up_to),
                _bar(each.files, most),
            ]
            for above, each in spanned(result)
        ]
        fits = [
            [title, amount(fit.limit_bytes), units.share(fit.share), source(name, fit, result)]
            for name, title in FITS
            for fit in (getattr(result, name),)
            if fit.limit_bytes is not None
        ]
        columns = (
            Column("fit into", align="left"),
            Column(""),
            Column("of files"),
            Column("", 1, align="left", least=10, cut="end"),
        )
        if fits:
            parts += [Text(""), FittedTable(columns, fits)]
        parts += [Text(""), FittedTable(_COLUMNS, rows)]
    return Group(*parts)


def spanned(result: Sizes) -> Iterator[tuple[int, SizeBin]]:
    """The bins from the first that holds files on, each with the size that it lies above."""
    above = 0
    for each in result.bins:
        if each.share_up_to:
            yield above, each
        above = each.up_to_bytes


def line(result: Sizes, *, read_alone: bool = False) -> str:
    """The sizes in a sentence; nothing without files of known size.

    Args:
        result: The sizes.
        read_alone: Data was read, and none written: what one WRITE holds is no matter then.
    """
    if not result.files:
        return ""
    fits: list[str] = []
    one = (result.read, "one READ") if read_alone else (result.write, "one WRITE")
    for fit, what in ((result.frame, "one frame"), one):
        if fit.limit_bytes is not None:
            verb = "" if fits else "fit "
            fits.append(f"{units.share(fit.share)} {verb}{what} ({amount(fit.limit_bytes)})")
    median, largest = amounts(result.p50_bytes, result.max_bytes)
    spread = f"median {median}, largest {largest}"
    return f"Sizes: {'; '.join([spread, *([', '.join(fits)] if fits else [])])}."


def amount(count_bytes: float | None) -> str:
    """Bytes as they are while they are few, else in powers of 1024."""
    if count_bytes is None or not _is_whole(count_bytes):
        return units.size(count_bytes)
    return f"{units.count(int(count_bytes))} B"


def amounts(*counts_bytes: float | None) -> list[str]:
    """Amounts that stand beside one another: all as they are, or all in powers of 1024."""
    known = [each for each in counts_bytes if each is not None]
    below = WHOLE_BYTES if all(map(_is_whole, known)) else KIBIBYTE
    return [
        units.size(each) if each is not None and each >= below else amount(each)
        for each in counts_bytes
    ]


def _is_whole(count_bytes: float) -> bool:
    """Whether it is written in bytes where it stands alone."""
    return count_bytes < WHOLE_BYTES and count_bytes == int(count_bytes)


def spread(result: Sizes) -> str:
    """The spread in a sentence."""
    if result.files is None:
        return "How many files there were, and how large, is not known: calls do not tell."
    facts = [
        units.counted(result.files, "regular file of known size", "regular files of known size")
    ]
    if result.files:
        median, mean, largest = amounts(result.p50_bytes, result.mean_bytes, result.max_bytes)
        facts.append(
            f"median {median}, mean {mean}, largest {largest}, "
            f"together {units.size(result.total_bytes)}"
        )
    if result.empty:
        facts.append(f"{units.count(result.empty)} empty")
    if result.unknown:
        facts.append(f"{units.count(result.unknown)} more of unknown size")
    return "; ".join(facts) + "."


def source(name: str, fit: Fit, result: Sizes) -> str:
    """Where it is from what files are held against, in a few words."""
    if name == "frame":
        told = "as the handshake says" if fit.source == "handshake" else "assumed"
        return f"MTU {result.mtu_bytes}, {told}"
    return "MTU 9000" if name == "jumbo_frame" else _SOURCES[fit.source]


def _bar(files: int, most: int) -> str:
    return "█" * max(1, round(files / most * BAR_CELLS)) if files else ""
