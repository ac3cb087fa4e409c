"""What captures are called, and what compressions add to that.

Takes names; gives what they say. What a file is, its first bytes tell, which the core knows.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

ENDINGS = ("pcap", "pcapng", "cap", "dmp", "dump", "tcpdump", "trc", "snoop")
"""Extensions of captures; `tcpdump -C` puts a number behind them."""

WRITTEN = {".gz": "gzip", ".zst": "zstd"}
"""Compressions that are read and written, by the extension that they add."""

COMPRESSIONS = WRITTEN | {".lz4": "lz4", ".xz": "xz", ".bz2": "bzip2"}
"""All that are read."""

_CAPTURE = re.compile(rf"(?P<stem>.+\.(?:{'|'.join(ENDINGS)}))(?P<number>\d{{0,9}})", re.DOTALL)


class Named(NamedTuple):
    """The name of a capture."""

    stem: str
    """Up to its extension, with that."""
    number: str
    """What stands behind it; nothing as a rule."""


def unpacked(name: str | os.PathLike[str]) -> str:
    """The name of a file without the extension of a compression."""
    path = os.fspath(name)
    for extension in COMPRESSIONS:
        if path.endswith(extension):
            return path.removesuffix(extension)
    return path


def capture(name: str | os.PathLike[str]) -> Named | None:
    """The name as that of a capture, without the extension of a compression; None if it is none.

    A number is one behind such an extension alone: `run.v3` and `run.v42` are two mounts.
    """
    found = _CAPTURE.fullmatch(unpacked(name))
    return None if found is None else Named(found["stem"], found["number"])
