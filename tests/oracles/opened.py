"""Captures of the corpus, open: decoded once for all the tests that stand by one another.

Takes a `Capture`; gives its trace, with all tables, and what `summarize` says of it. Promises that
at most `KEPT` traces are open at a time; `tests/conftest.py` has the tests of one capture follow
one another. For tests that only ask: whoever adds to a trace, or wants other columns, ports or an
open of its own, uses `pcapnfs.open`.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from pathlib import Path

import pcapnfs
from pcapnfs.analyses.by_file.perfile import PerFile
from pcapnfs.summary import Summary
from tests.oracles.corpus import Capture, require_corpus

KEPT = 2
"""Traces that are open at a time."""


class Opened:
    """A capture with its tables."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.trace = pcapnfs.open([str(path) for path in capture.files])

    @functools.cached_property
    def summary(self) -> Summary:
        """What `pcapnfs.summarize` gives."""
        return pcapnfs.summarize(self.trace)

    @functools.cached_property
    def costs(self) -> PerFile:
        """What `pcapnfs.perfile` gives of all files, also of those whose names are unknown."""
        return pcapnfs.perfile(self.trace, top=0, show_all=True)


_OPEN: OrderedDict[tuple[Path, ...], Opened] = OrderedDict()
"""By files, in the order of their last use."""


def opened(capture: Capture | None) -> Opened:
    """The capture, open; nobody closes it.

    Skips the calling test where there is no corpus, or fails it where one is required.
    """
    require_corpus()
    assert capture is not None
    if capture.files not in _OPEN:
        while len(_OPEN) >= KEPT:
            _, oldest = _OPEN.popitem(last=False)
            oldest.trace.close()
        _OPEN[capture.files] = Opened(capture)
    _OPEN.move_to_end(capture.files)
    return _OPEN[capture.files]
