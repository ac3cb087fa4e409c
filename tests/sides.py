"""What a comparison asks of one run, asked once of the same rows and of the same capture.

Takes the rows of a trace, or a capture; gives its `Side`. Nobody can change one: whoever wants
another replaces some of it. Each takes a third of a second to be asked for, and most tests of what
differs hold several runs against one that stays as it is. Who changes what the analyses go by has
them asked anew: `ASKED` is empty then.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import pcapnfs
from pcapnfs.comparison.side import Side, gather
from pcapnfs.meta import Meta
from pcapnfs.trace import Trace
from tests.unit.rows import Row, trace_of

ASKED: dict[bytes, Side] = {}
"""What was asked, by digest of the rows, or of the capture and its name."""


def side_of(told: Meta | None = None, /, **rows: Sequence[Row]) -> Side:
    """What is asked of a trace with these rows, by table."""
    return _asked(pickle.dumps((told, rows)), lambda: trace_of(told, **rows))


def side_in(path: str | Path) -> Side:
    """What is asked of a capture."""
    capture = Path(path)
    content = capture.name.encode() + b"\0" + capture.read_bytes()
    return _asked(content, lambda: pcapnfs.open(capture))


def _asked(content: bytes, opened: Callable[[], Trace]) -> Side:
    key = hashlib.sha256(content).digest()
    if key not in ASKED:
        with opened() as trace:
            ASKED[key] = gather(trace)
    return ASKED[key]
