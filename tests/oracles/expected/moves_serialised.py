"""Whether moves between directories waited for one another: only of programs side by side."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.server_overload import parallel


def expected(capture: Capture) -> Expected:
    """The truth does not say which program moved what when."""
    return Expected.MAY if parallel(capture) else Expected.NEVER
