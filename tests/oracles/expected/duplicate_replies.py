"""Whether calls were sent again that had arrived: the time-out is shorter than the round trip."""

from __future__ import annotations

import re

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.rpc_retransmission import resent


def expected(capture: Capture) -> Expected:
    """A time-out (timeo, tenths of a second) below the round trip that a step set, in ms."""
    if not resent(capture):
        return Expected.NEVER
    for truth in capture.truths():
        trips = [
            int(found[1])
            for step in truth["steps"]
            if (found := re.fullmatch(r"rtt (\d+) ms", step.get("label", "")))
        ]
        for client in truth["clients"].values():
            for mount in client["mounts"]:
                timeout = re.search(r"timeo=(\d+)", mount["command"])
                if timeout and trips and max(trips) > 100 * int(timeout[1]):
                    return Expected.MUST
    return Expected.NEVER
