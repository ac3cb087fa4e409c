"""What `summarize` says of a sample, as JSON: worked out once for the tests that hold it against
another way to it.

Takes the files of a capture; gives what a trace of them says that has the columns which a summary
reads, and no others. Nobody can change a text.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pcapnfs
from pcapnfs import summary
from pcapnfs.views.document import to_json


@functools.cache
def summarized(*files: Path) -> str:
    """The summary of these files."""
    with pcapnfs.open(list(files), columns=summary.READS) as trace:
        return to_json(summary.summarize(trace))
