"""Whether the server is slow without storage: the round trips that the kernel timed, and ping."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected

SMALL = ("GETATTR", "LOOKUP", "ACCESS", "READLINK", "CLOSE", "STATFS", "FSSTAT")
"""Operations, as the kernel names them, that need no storage."""

FAST_MS = 0.6
"""Mean of a small call beyond ping, below which no kind of it can have a median of a millisecond
except for a few calls."""


def expected(capture: Capture) -> Expected:
    """By the mean of all small calls, since the kernel keeps sums."""
    calls, took_ms, pings = 0, 0.0, []
    reads = 0
    for truth in capture.truths():
        pings.append((truth["network"].get("ping_before") or {}).get("min_ms", 0.0))
        for client in truth["clients"].values():
            told = client.get("mountstats_delta_total", {}).get("ops", {})
            for name in SMALL:
                if name in told:
                    calls += told[name]["count"]
                    took_ms += told[name]["rtt_ms"]
            reads += sum(told[name]["count"] for name in ("READ", "READ_PLUS") if name in told)
    if not calls:
        return Expected.MAY
    mean = took_ms / calls - min(pings)
    if mean < FAST_MS and not reads and not capture.lossy:
        return Expected.NEVER
    return Expected.MAY
