"""Whether READs or WRITEs were limited by a small size: the one in force, and what was moved."""

from __future__ import annotations

from typing import Literal

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options, operations, readable

SMALL_BYTES = 65536
"""From here on sizes may have other causes."""

LISTING_BYTES = 32768
"""Below this, a size shows in what listings ask for, whatever the size of files."""


def small(capture: Capture, option: Literal["rsize", "wsize"]) -> Expected:
    """The lab's servers allow 512 KiB or more.

    One that no file was too large for need not show, except by listings that it cut in pieces.
    Files of a few pieces are too few.
    """
    sizes = [int(each[option]) for each in all_options(capture)]
    if min(sizes) >= SMALL_BYTES:
        return Expected.NEVER
    listed = any(
        counted["READDIR"] + counted["READDIRPLUS"] >= 3
        for counted in map(operations, capture.truths())
    )
    if min(sizes) < LISTING_BYTES and listed and readable(capture):
        return Expected.MUST
    return Expected.MAY
