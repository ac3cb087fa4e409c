"""Whether stable calls are as fast as others: the export's option, and the disk's delay."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations, readable

QUIET_MS = 0.2
"""Pings of a machine that is not delayed by other work differ by less."""

LEAST = 30
"""Creates below which the rule has nothing to say."""


def expected(capture: Capture) -> Expected:
    """Due with async on a machine whose own times are short; never with a slow disk and sync."""
    due = []
    for truth in capture.truths():
        server = truth["server"]
        ping = truth["network"].get("ping_before") or {}
        scatter = ping.get("avg_ms", 1.0) - ping.get("min_ms", 0.0)
        counted = operations(truth)
        if "async" in server["export_options"].split(","):
            many = counted["CREATE"] + counted["OPEN"] >= LEAST
            due.append(many and scatter < QUIET_MS and readable(capture))
        elif server["block_device_delay_ms_per_io"]:
            return Expected.NEVER
        else:
            due.append(False)
    return Expected.MUST if all(due) else Expected.MAY
