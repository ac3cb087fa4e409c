"""How long TCP waits before it sends a segment again."""

from __future__ import annotations

TIMEOUT_NS = 190_000_000
"""The least retransmission time-out, 200 ms, less what a round trip may vary."""

SLOW_TIMEOUT_NS = 1_000_000_000
"""The first retransmission time-out, at most on a path in use (RFC 6298 section 2). It doubles each
time: where fewer segments were sent again than that has come by, those were others."""

CUT_S = 3.0
"""From here on a call that stood still met no single loss, but a path that let nothing through: the
timer doubles each time (RFC 6298 section 5.5), so that three tries in a row came to nothing where
the first one is made after 200 ms."""
