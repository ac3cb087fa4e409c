"""What two captures lack, and how much of a difference that alone could make.

Takes two sides; gives a share of the run. A call or reply that the capture lost takes its time from
one factor of the model and gives it to another, and a message that could not be read does so where
it is read on the other side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pcapnfs.analyses.captured.trust import Trust
    from pcapnfs.comparison.side import Side

NOTICEABLE = 0.05
"""Part of the longer run time below which a step is none to speak of: two runs of one set-up differ
by a few per cent, which resampling the files of each does not show."""

TIMES = 2
"""How many times its share of the run what is missing may make out: a lost call may have been twice
as long as the mean one (a WRITE among SETATTRs)."""


UNLIKE = 0.1
"""By how much the shares of what could not be read must differ for the sides to be unlike by that:
less than a tenth of the work in common is what tells that runs were of other work."""


def clear_from(before: Side, after: Side) -> float:
    """Part of the longer run time that a step must have which what is missing does not explain.

    At 1 it explains anything: so it does where the time of a run is not known.
    """
    if not (known(before) and known(after)):
        return 1.0
    missing = max(_lost(before), _lost(after)) + _unlike(before, after)
    return min(1.0, max(NOTICEABLE, TIMES * missing))


def known(side: Side) -> bool:
    """Whether a capture tells how long its run took.

    Not where no call has its reply, where most cannot be seen, or where packets have no times,
    or times by clocks that are apart.
    """
    trust = side.trust
    timed = trust.untimed_packets < side.capture.packets
    return bool(trust.matched) and timed and not (trust.mostly_unseen or trust.times_untold)


def read_alike(before: Side, after: Side) -> bool:
    """Whether what could be read of the calls is alike on both sides.

    The same calls have other patterns and paths where they were cut or are sealed.
    """
    hidden = abs(before.trust.sealed.hidden_share - after.trust.sealed.hidden_share)
    return max(_unlike(before, after), hidden) < UNLIKE


def broken_off(before: Trust, after: Trust) -> bool:
    """Whether a capture breaks off, so that nobody knows what the run that it lacks was like."""
    return bool(before.damaged_files or after.damaged_files)


def _lost(side: Side) -> float:
    """Share of a run that is not in its capture, by what shows most of it.

    What lies beyond the ends of a capture is not lost: the run is what was captured.
    """
    trust, capture = side.trust, side.capture
    orphans = trust.orphans_within
    dropped = trust.dropped_packets or 0
    return max(
        (trust.unanswered_within + orphans) / max(trust.rpc_calls + orphans, 1),
        trust.lost_bytes / max(capture.bytes + trust.lost_bytes, 1),
        dropped / max(capture.packets + dropped, 1),
        (trust.untimed_packets + trust.mistimed_packets) / max(capture.packets, 1),
        trust.sealed.hidden_share,
    )


def _unlike(before: Side, after: Side) -> float:
    """By how much the shares of messages that were not decoded to their end differ."""
    return abs(_undecoded(before) - _undecoded(after))


def _undecoded(side: Side) -> float:
    """Share of the messages that were not decoded to their end."""
    messages = side.trust.rpc_calls + side.trust.rpc_replies
    return side.trust.undecoded / max(messages, 1)
