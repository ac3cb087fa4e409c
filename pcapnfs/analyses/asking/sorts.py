"""What the rows of a list may be sorted by.

Here for the command line as well, which names them without loading the analysis.
"""

from __future__ import annotations

from typing import Literal

FileSort = Literal[
    "time", "calls", "stable", "stable-time", "unstable-time", "bytes", "read", "written", "size",
    "errors", "revalidations", "resent", "parent", "first", "last", "lifetime", "name", "type",
]  # fmt: skip
"""What files are sorted by; first, name and type from the smallest up, the others from the largest
down."""

DirectorySort = Literal["time", "calls", "entries", "follow-ups", "name"]
"""What listed directories are sorted by."""

CachedSort = Literal["time", "revalidations", "bytes", "name"]
"""What files that were asked for again are sorted by."""
