"""How long TCP waits before it sends a segment again."""

from __future__ import annotations

TIMEOUT_NS = 190_000_000
"""The least retransmission time-out, 200 ms, less what a round trip may vary."""

SLOW_TIMEOUT_NS = 1_000_000_000
"""The first retransmission time-out, at most on a path in use (RFC 6298 section 2). It doubles each
time: where fewer segments were sent again than that has come by, those were others."""
