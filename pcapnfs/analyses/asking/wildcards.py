r"""Names and paths chosen by a shell's pattern.

Takes a pattern; gives the SQL that holds it against a row of `files`, and the text for it. `*`, `?`
and `[…]` are those of a shell, but that `*` also stands for slashes; a pattern without a slash is
held against names, one with a slash against paths, below the export or with it.
"""

from __future__ import annotations

import re

from pcapnfs.analyses.asking import paths
from pcapnfs.text import ELLIPSIS

LIKE_PATTERN = f"""
    case when contains($pattern, '/') then path glob $pattern or ({paths.BELOW}) glob $pattern
         else parse_filename(path, false, 'forward_slash') glob $pattern end
"""
"""SQL: whether a row with a `path` and an `export` is chosen by `$pattern`, which `text` gives."""

_LITERAL_BACKSLASH = re.compile(r"\\(?![*?\[\]\\])")


def text(pattern: str) -> str:
    r"""The pattern for SQL, where a backslash that takes no meaning away stands for itself.

    Bytes that are no UTF-8 are shown as `\xe9`: a pattern copied from a screen finds them.
    """
    return _LITERAL_BACKSLASH.sub(r"\\\\", pattern)


def shortened(path: str) -> str:
    """The pattern for SQL of a path of which `…` stands for a part: all else is as it is."""
    parts = (re.sub(r"[*?\[\]\\]", r"\\\g<0>", part) for part in path.split(ELLIPSIS))
    return "*".join(parts)
