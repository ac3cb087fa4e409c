"""Whether packets were lost: what netem was told."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """Lost on purpose, or not.

    Reordering makes TCP send again what was only late; and so do the pauses of the emulated
    machine (kernel 6.12), whose length the truth does not hold.
    """
    if capture.lossy:
        return Expected.MUST
    emulated = any("6.12" in truth["kernel_client_and_server"] for truth in capture.truths())
    return Expected.MAY if capture.reordered or emulated else Expected.NEVER
