"""What a capture's times do not tell, in plain words: of its trust, what its clocks are about.

Takes a `Trust` and the capture it is about; gives sentences, none for what is right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units

if TYPE_CHECKING:
    from pcapnfs.analyses.captured.capture import Capture
    from pcapnfs.analyses.captured.trust import Trust


def clock_sentences(trust: Trust, capture: Capture) -> list[str]:
    """What is not as the times of packets say, most important first; "" for what is."""
    return [
        _untimed(trust, capture),
        _mistimed(trust),
        _late(trust),
        put_behind(trust) or _set_back(trust),
        _earlier(trust),
        _set_forward(trust),
        _untold_pause(trust),
        clocks_apart(trust),
        _stands(trust) or _ticks(trust),
    ]


def untold_sentence(trust: Trust) -> str:
    """Why times do not tell what calls took, of a capture where that is so."""
    if trust.clock_untold:
        return _stands(trust) or _ticks(trust)
    return put_behind(trust) or clocks_apart(trust)


def clocks_apart(trust: Trust) -> str:
    """That the two directions have clocks of their own, in sentences; nothing where they do not."""
    if trust.clocks_apart_s is None:
        return ""
    untold = "" if not trust.times_untold else " What calls took is not known."
    before = (
        units.counted(trust.negative_times, "reply is", "replies are")
        + " in the capture before the call"
        if trust.negative_times > 1
        else "Packets are in the capture before those that they answer or acknowledge"
    )
    return (
        f"{before}: the two directions were captured with clocks "
        f"that are {units.duration(trust.clocks_apart_s)} or more apart.{untold} Capture both with "
        "one clock, or set the file of one right (editcap -t) before they are merged."
    )


def put_behind(trust: Trust) -> str:
    """That one direction stands behind the other, in sentences; nothing where it does not."""
    if trust.put_behind is None:
        return ""
    who = ["clients", "servers"]
    first, second = who if trust.put_behind == "calls" else reversed(who)
    where = f" (frame {trust.set_back_frame})" if trust.set_back_frame else ""
    return (
        f"All that {first} sent stands before what {second} sent{where}, whose times begin anew: "
        "two files were put one behind the other (cat, mergecap -a). What calls took is not "
        "known until reordercap IN OUT puts the packets in order."
    )


def _untimed(trust: Trust, capture: Capture) -> str:
    if not trust.untimed_packets:
        return ""
    if trust.untimed_packets == capture.packets:
        return "The packets of this capture have no times: what took how long is not known."
    have = units.counted(trust.untimed_packets, "packet has no time", "packets have no time")
    return f"{have}: {_INSTEAD}."


def _mistimed(trust: Trust) -> str:
    if not trust.mistimed_packets:
        return ""
    state = units.counted(trust.mistimed_packets, "packet states a time", "packets state times")
    return f"{state} that cannot be: {_INSTEAD}."


_INSTEAD = "that of the packet before stands for it"
"""What is done about a time that is not there, or cannot be."""


def _late(trust: Trust) -> str:
    if not trust.late_packets:
        return ""
    stand = units.counted(trust.late_packets, "packet stands", "packets stand")
    was = "was" if trust.late_packets == 1 else "were"
    return (
        f"{stand} behind others that came later, and {was} taken in order of time; frame numbers "
        "are those of the file. Wireshark needs reordercap for that."
    )


def _set_back(trust: Trust) -> str:
    if not trust.set_back:
        return ""
    how = _how_often(trust.set_back, trust.set_back_s, trust.set_back_frame)
    return (
        f"The clock of the capturing host was set back{how}: "
        "times are counted on from there, later than Wireshark shows them."
    )


def _earlier(trust: Trust) -> str:
    if not trust.earlier_replies:
        return ""
    bear = units.counted(
        trust.earlier_replies,
        "reply bears an earlier time than its call",
        "replies bear earlier times than their calls",
    )
    alone = "both count" if trust.earlier_replies == 1 else "all count"
    return (
        f"{bear}, as where the clock of the capturing host is set back by less than a second: "
        f"{alone} as alone, and none is missing."
    )


def _set_forward(trust: Trust) -> str:
    if not trust.set_forward:
        return ""
    how = _how_often(trust.set_forward, trust.set_forward_s, trust.set_forward_frame)
    return (
        f"The clock of the capturing host was set forward{how}, as the TCP timestamps of both ends "
        "tell: times are counted on from there, earlier than Wireshark shows them."
    )


def _untold_pause(trust: Trust) -> str:
    if trust.untold_pause_s is None:
        return ""
    where = f" before frame {trust.untold_pause_frame}" if trust.untold_pause_frame else ""
    return (
        f"For {units.duration(trust.untold_pause_s)}{where} nothing was captured, and no TCP "
        "timestamps of both ends tell whether the clock of the capturing host was set forward "
        "meanwhile: look into its log."
    )


def _ticks(trust: Trust) -> str:
    if trust.clock_tick_s is None:
        return ""
    tick = units.duration(trust.clock_tick_s)
    told = f"The capture's clock ticks every {tick}"
    if not trust.clock_untold:
        return f"{told}: shorter times cannot be told."
    return (
        f"{told}, which is longer than nearly all calls: what calls took is not known, since a few "
        f"took a tick by chance. {MICROSECONDS}"
    )


MICROSECONDS = (
    "Capture with a clock that tells microseconds, and convert captures without rounding their "
    "times."
)
"""What helps where a clock tells too little."""


def _stands(trust: Trust) -> str:
    if not trust.clock_stands:
        return ""
    return (
        "No call took any time by the capture's clock: what calls took is not known. "
        f"{MICROSECONDS}"
    )


def _how_often(times: int, by_s: float, frame: int | None) -> str:
    once = times == 1
    often = "" if once else f" {units.count(times)} times,"
    where = "" if frame is None else f"before frame {frame}"
    by = f" by {units.duration(by_s)}{'' if once else ' in all'}"
    first = f"{' ' if once else ', first '}{where}" if where else ""
    return f"{often}{by}{first}"
