"""Whether storage takes a large part: the disk's delay, and how many calls had to wait for it."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations, readable

CHANGES = ("CREATE", "MKDIR", "REMOVE", "RMDIR", "RENAME", "SETATTR", "SYMLINK", "LINK", "OPEN",
           "WRITE", "COMMIT")  # fmt: skip
"""Operations that wait for storage, or may."""

FEW = 30
"""Fewer of them say nothing of a mean."""

CLEAR_SHARE = 0.7
"""What a run must spend in them, by the kernel's own clock, for the finding to be due."""


def expected(capture: Capture) -> Expected:
    """By the time that the client's kernel waited for such calls in the steps of the workload."""
    changes, waited_s, ran_s = 0, 0.0, 0.0
    for truth in capture.truths():
        counted = operations(truth)
        changes += sum(counted[name] for name in CHANGES)
        for client in truth["clients"].values():
            told = client.get("mountstats_delta_total", {}).get("ops", {})
            waited_s += sum(told[name]["rtt_ms"] for name in CHANGES if name in told) / 1000
        ran_s += sum(step.get("duration_s") or 0.0 for step in truth["steps"])
    if not changes:
        return Expected.NEVER
    slow = all(
        truth["server"]["block_device_delay_ms_per_io"]
        and "async" not in truth["server"]["export_options"].split(",")
        for truth in capture.truths()
    )
    clear = ran_s > 0 and waited_s >= CLEAR_SHARE * ran_s and changes >= FEW
    sound = readable(capture) and not (capture.lossy or capture.reordered or capture.merged)
    return Expected.MUST if slow and clear and sound else Expected.MAY
