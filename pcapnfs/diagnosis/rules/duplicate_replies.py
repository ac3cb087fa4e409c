"""Calls answered twice: the server was slow, nothing was lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.rules.rpc_retransmission import TOPIC
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "duplicate_replies.share", 0.5, "share",
    "of the calls sent again, those answered twice, and late: then nothing was lost",
    "nfsstat practice: badxid about as many as timeouts",
)  # fmt: skip
GRAVE = Threshold(
    "duplicate_replies.grave", 0.05, "share", "of all calls, sent again: a warning",
    "nfsstat practice, IBM AIX",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server where most of what was sent again had arrived."""
    for pair in material.resent_calls:
        if not pair.answered_late or pair.answered_late < values[SHARE.name] * pair.resent:
            continue
        took = ("It took {}", "") if pair.resent == 1 else ("They took {}", " (median)")
        slow = (
            f" {took[0].format(units.duration(pair.resent_s))} from the first transmission"
            f"{took[1]}, the others {units.duration(pair.usual_s)}."
            if pair.resent_s is not None and pair.usual_s is not None
            else ""
        )
        # Calls that were sent three times may have been answered three times.
        often = "twice" if pair.duplicate_replies == pair.answered_twice else "more than once"
        yield Observed(
            severity="warning" if pair.resent > values[GRAVE.name] * pair.calls else "note",
            title="The client sends calls again that the server has already got",
            seen=f"{units.count(pair.answered_twice)} of {units.counted(pair.resent, 'call')} sent "
            f"again {'was' if pair.answered_twice == 1 else 'were'} answered {often} "
            f"({units.counted(pair.duplicate_replies, 'reply', 'replies')} too many, "
            f"{units.counted(pair.calls, 'call')} in all).{slow}",
            why="Both transmissions arrived, so nothing was lost: the answer took longer than the "
            "client's timer (timeo). Sending again costs the server the same work twice and "
            "does not make it faster.",
            advice=(
                Advice(
                    "Set timeo back to its default (timeo=600: 60 s over TCP), or well above the "
                    "longest service time."
                ),
                Advice(
                    "Find out why the answers are late: the round trip (compare its length here "
                    "with that of ping), the server's disks, its threads."
                ),
            ),
            confidence="certain",
            data=units.counted(pair.calls, "call"),
            frames=pair.frames,
            about=(pair.client, pair.server),
        )


RULE = Rule(
    id="duplicate_replies",
    title="Replies that came twice: a slow server, not a lossy network",
    origin="practice: badxid against timeouts of nfsstat -c",
    judge=judge,
    thresholds=(SHARE, GRAVE),
    topic=TOPIC,
)
