"""The calls at once stay at one number: something limits them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

CALLS = Threshold(
    "concurrency_cap.calls", 16, "calls", "the most at once; below, programs do no more",
    "practice: the smallest usual limit (sunrpc.tcp_slot_table_entries was 16)",
)  # fmt: skip
SHARE = Threshold(
    "concurrency_cap.share", 0.1, "share", "of the time with calls under way, it is that many",
    "default of this tool",
)  # fmt: skip
MANY = 128
"""Calls at once from which on some servers slow down (SUSE, document 7023238)."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    full = {
        (session.client, session.server) for session in material.caps.slots if session.full_s > 0
    }
    for pair in material.caps.pairs:
        if (
            pair.peak < values[CALLS.name]
            or pair.at_peak_s < values[SHARE.name] * pair.busy_s
            or (pair.client, pair.server) in full
        ):
            continue
        yield Observed(
            severity="note",
            title="The calls at once stay at one number",
            seen=f"For {units.share(pair.at_peak_s / pair.busy_s)} of the "
            f"{units.duration(pair.busy_s)} with calls under way there were exactly "
            f"{units.count(pair.peak)}, and never more; {units.number(pair.mean)} on average, over "
            f"{units.counted(pair.connections, 'connection')}.",
            why="Load of its own varies. A flat top is a limit: the threads of the application, "
            "the slots of the client's transport, or the queue of its block layer. What is beyond "
            "it waits in the client, where no capture sees it.",
            advice=(
                Advice(
                    "See whether the application has that many threads or requests in flight; "
                    "then it is its own limit."
                ),
                Advice(
                    "If not: look at sysctl sunrpc.tcp_max_slot_table_entries on a Linux client "
                    "(65536 unless somebody lowered it; what is set counts for connections made "
                    "after it), and mount with nconnect.",
                    f"some servers slow down beyond {MANY} calls at once on a connection.",
                ),
            ),
            confidence="possible",
            data=units.counted(pair.calls, "call"),
            about=(pair.client, pair.server),
        )


RULE = Rule(
    id="concurrency_cap",
    title="The number of calls at once is flat",
    origin="practice: RPC slot tables; SUSE document 7023238",
    judge=judge,
    thresholds=(CALLS, SHARE),
    topic="calls at once",
    of_times=True,
)
