"""Whether data was written through: the options in force, and what was written."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options, operations, readable

PER_FILE = 2
"""WRITEs of a file, in the mean, up to which a client sends the same by default."""


def expected(capture: Capture) -> Expected:
    """The mount is `sync` without `noac`, and files took several WRITEs.

    Programs of the lab that open with O_SYNC write a few times only.
    """
    sync = any("sync" in each and "noac" not in each for each in all_options(capture))
    if not sync or not cut(capture):
        return Expected.NEVER
    return Expected.MUST if readable(capture) else Expected.MAY


def cut(capture: Capture) -> bool:
    """Whether files were written in several WRITEs each."""
    for truth in capture.truths():
        counted = operations(truth)
        created = counted["CREATE"] + counted["OPEN"]
        if counted["WRITE"] > PER_FILE * created > 0:
            return True
    return False
