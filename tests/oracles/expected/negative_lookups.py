"""Whether programs looked for names that are not there: what the client's kernel counted."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected

LEAST = 30
"""Failed LOOKUPs below which the rule has nothing to say."""


def expected(capture: Capture) -> Expected:
    """LOOKUPs that failed, less the files that were made: who creates one looks first."""
    failed = made = 0
    for truth in capture.truths():
        for client in truth.get("clients", {}).values():
            counted = client.get("mountstats_delta_total", {}).get("ops", {})
            failed += counted.get("LOOKUP", {}).get("errors", 0)
            made += sum(
                counted.get(name, {}).get("count", 0)
                for name in ("CREATE", "OPEN", "MKDIR", "SYMLINK", "MKNOD", "RENAME", "LINK")
            )
    if failed < LEAST or failed <= made:
        return Expected.NEVER
    return Expected.MAY
