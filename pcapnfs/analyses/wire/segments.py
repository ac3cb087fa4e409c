"""What a TCP segment holds on a path that lowers nothing."""

from __future__ import annotations

MSS_BYTES = 1460
"""The largest segment of Ethernet, where no handshake tells another one."""

OPTION_BYTES = 12
"""What of it timestamps take (RFC 7323), which nearly all hosts send."""

FULL_BYTES = MSS_BYTES - OPTION_BYTES
"""What a full segment carries."""
