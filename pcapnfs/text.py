r"""Names from a capture made harmless for terminals and tables.

Takes any text; gives text in which every character is visible. A capture is hostile input: a file
name may hold escape sequences that rewrite the screen, line breaks that forge a row, or
bidirectional overrides that turn `gpj.exe` around.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence

from pcapnfs.units import THIN_SPACE, count

ROOT = ". (export root)"
"""The root of an export as people see it."""

REMOVED = " (removed)"
"""What stands on screens behind the path of a file that is gone."""

ELLIPSIS = "…"
"""What stands on screens for the middle of a path that there is no room for."""

_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_NUMBER = re.compile(rf"(?<=[0-9]){THIN_SPACE}(?=[0-9])")


FORMULA = "=+-@\t\r"
"""What a text begins with that a spreadsheet takes for a formula."""


def numbers(told: Sequence[str]) -> tuple[str, str]:
    """Numbers, and runs of them, with their noun and the verb: `numbers 1, 3 to 5`, `were`."""
    each = ", ".join(told)
    return (f"number {each}", "was") if each.isdigit() else (f"numbers {each}", "were")


def joined(parts: Sequence[str], last: str = " and ") -> str:
    """Parts of a sentence one after the other, before the last of them another word."""
    return last.join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def escape(text: str) -> str:
    r"""Write every character that cannot be seen as `\xNN`, `\uNNNN` or `\UNNNNNNNN`.

    That is everything outside Unicode's letters, marks, numbers, punctuation and symbols, apart
    from the plain space:
    controls, format characters (bidirectional overrides, zero-width joiners), surrogates, odd
    spaces and line breaks.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _notation(ord(c)) for c in text)


def unescape(text: str) -> str:
    r"""What `escape` made of a text, taken back: a name as screens show it, typed or pasted.

    Only what `escape` would have written stands for a character: `\x41` stays as it is.
    """
    return _ESCAPED.sub(_character, text)


def unmarked(shown: str) -> str:
    """A path from one that people see: without what screens put beside it; still escaped."""
    path = shown.removesuffix(REMOVED)
    return "." if path == ROOT else path


def rooted(path: str) -> str:
    """A path as people see it: a dot alone is lost on a page, and says little; not escaped."""
    return ROOT if path == "." else path


def source(capture: str) -> str:
    """A capture as people see it: `-` is standard input; not escaped."""
    return "standard input" if capture == "-" else capture


def argument(text: str) -> str:
    r"""What a user typed as the tables write it: bytes that are no UTF-8 as `\xNN`.

    So the name of a file, typed as a terminal of Latin-1 does, is found.
    """
    return os.fsencode(text).decode(errors="backslashreplace")


def sentence(text: str) -> str:
    """Escape a sentence that holds numbers, whose digits `units.count` groups by a thin space."""
    if text.isprintable():
        return text
    return THIN_SPACE.join(escape(part) for part in _NUMBER.split(text))


def sentences(text: str) -> list[str]:
    """The sentences of a text, without their full stops; what stands in brackets is one whole.

    Names from a capture stand in brackets, and may hold a full stop and a blank.
    """
    found, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth = max(0, depth + (character == "(") - (character == ")"))
        if not depth and text.startswith(". ", at):
            found.append(text[begin:at])
            begin = at + 2
    return [*found, text[begin:].removesuffix(".")]


def some(names: Sequence[str], shown: int, visible: Callable[[str], str] = escape) -> str:
    """The first names, and how many more there are: a rotation has hundreds of captures.

    Args:
        names: As the capture or the user has them.
        shown: How many are named.
        visible: What makes a name harmless.
    """
    named = ", ".join(visible(name) for name in names[:shown])
    more = len(names) - shown
    return f"{named} and {count(more)} more" if more > 0 else named


def _character(found: re.Match[str]) -> str:
    code = int(found[1] or found[2] or found[3], 16)
    if code > sys.maxunicode or chr(code).isprintable() or _notation(code) != found[0]:
        return found[0]
    return chr(code)


def _notation(code: int) -> str:
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
