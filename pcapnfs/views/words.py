"""What sentences of several views have in common: names, numbers with their nouns, lists.

Takes results, or pieces of sentences; gives sentences or pieces of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.text import escape

if TYPE_CHECKING:
    from pcapnfs.analyses.by_file.files import Files


def protocol_name(protocol: str) -> str:
    """A protocol as people say it: `3` is NFSv3; side programs keep their names."""
    return f"NFSv{protocol}" if protocol[:1].isdigit() else escape(protocol)


def aside(took_s: float | None, words: str = "") -> str:
    """What calls took, in brackets behind them; nothing where that is not known."""
    return f" ({units.duration(took_s)}{words})" if took_s else ""


def sentence(text: str) -> str:
    """A text as a sentence of its own; nothing of nothing."""
    return f"{text[0].upper()}{text[1:]}." if text else ""


def addressed(files: Files) -> list[str]:
    """How many files and directories calls addressed, as far as they tell."""
    if files.regular is None and files.directories is None:
        return ["regular files and directories not known"]
    return [
        "regular files not known"
        if files.regular is None
        else units.counted(files.regular, "regular file"),
        "directories not known"
        if files.directories is None
        else units.counted(files.directories, "directory", "directories"),
    ]


def beside_them(files: Files) -> list[str]:
    """How many objects there were that are neither, were not addressed, or are none."""
    told = []
    if files.other:
        told.append(units.counted(files.other, "other object"))
    if files.listed_only:
        told.append(f"{units.count(files.listed_only)} only listed")
    if files.absent_names:
        told.append(units.counted(files.absent_names, "name not found", "names not found"))
    if files.untold_names:
        told.append(
            units.counted(files.untold_names, "name without an answer", "names without an answer")
        )
    return told


def moved(files: Files) -> str:
    """How much was read and written, as far as replies tell."""
    read, written = files.bytes_read, files.bytes_written
    if read is None and written is None:
        return "bytes read and written not known"
    return ", ".join(
        (
            "bytes read not known" if read is None else f"{units.size(read)} read",
            "bytes written not known" if written is None else f"{units.size(written)} written",
        )
    )


_UNIT = r"(?:%|×|[KMGTP]iB\b|B\b|[nµm]?s\b|[mhd]\b)"


def quantities_held(text: str, *, blank: str, thin: str) -> str:
    """A sentence with other blanks where no line may end.

    That is between a number and its unit, between the parts of a duration (1 m 5 s, 4 d 5 h),
    between groups of digits, and between `frame` or `uid` and its number.

    Args:
        text: The sentence.
        blank: What stands for a blank there.
        thin: What stands for the thin space between digits.
    """
    text = re.sub(rf"(?<=\d){units.THIN_SPACE}(?=\d)", thin, text)
    text = re.sub(rf"(?<=\d) (?={_UNIT})", blank, text)
    text = re.sub(rf"(?<=\d{blank}[mhd]) (?=\d+{blank}[hms]\b)", blank, text)
    return re.sub(r"\b(frames?|uid) (?=\d)", rf"\1{blank}", text)
