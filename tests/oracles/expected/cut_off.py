"""Whether a client was cut off: only where a step changed the path, or stopped the server."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.server_restart import restarted

CHANGES = ("tc qdisc", "ip link", "iptables", "nft ")
"""What changes it, as it stands in the steps' commands."""


def expected(capture: Capture) -> Expected:
    """For how long nothing came through, and whether that shows, the truth does not tell.

    Nor does it where segments are lost: a handshake may be among them.
    """
    changed = any(
        change in step.get("command", "")
        for truth in capture.truths()
        for step in truth["steps"]
        for change in CHANGES
    )
    if changed or capture.lossy or restarted(capture):
        return Expected.MAY
    return Expected.NEVER
