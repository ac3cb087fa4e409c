"""Whether attributes of directories were kept: the timeouts in force."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options, readable


def expected(capture: Capture) -> Expected:
    """The smallest timeout of directories is 0, that of files is not."""
    mounts = all_options(capture)
    if any(each.get("acdirmin") == "0" != each.get("acregmin") for each in mounts):
        return Expected.MUST if readable(capture) else Expected.MAY
    # Without files, no attribute cache at all looks the same.
    return Expected.MAY if any(each.get("acdirmin") == "0" for each in mounts) else Expected.NEVER
