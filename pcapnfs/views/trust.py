"""The trust of a capture in plain words.

Takes a `Trust` and the capture it is about; gives sentences, one per thing that is missing.
Promises to say nothing but the good news when nothing is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.meta import FILES_FORGOTTEN
from pcapnfs.text import escape, numbers
from pcapnfs.views.clocks import clock_sentences, untold_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pcapnfs.analyses.captured.capture import Capture
    from pcapnfs.analyses.captured.trust import Trust

PERFECT = "Every call has its reply; nothing undecoded, nothing missing."

FRAGMENTS = "fragments_unfinished"
"""Of `limits_hit`, what is no limit as a rule: the capture lacks the other fragments."""

RDMA_PACKETS = "rdma_missing"
"""The same: the capture lacks packets of RDMA."""

OF_THE_SENDER = ("malformed", "trailing", "unsupported")
"""Reasons that are no fault of the capture: where such messages are is told, to look at them."""

DAMAGES_TOLD = 4
"""Captures of which it is told where they are damaged; the others are counted."""

REASONS = {
    "truncated": "cut at the snaplen",
    "missing": "with bytes that are not in the capture",
    "malformed": "contradicting the protocol",
    "trailing": "with bytes left over behind the last value",
    "unsupported": "of a kind that pcapnfs does not decode",
    "encrypted": "encrypted",
    "record_limit": "longer than the limit",
    "pending_limit": "given up: too many calls without reply",
    "desynchronised": "lost between two record marks",
}
"""How a reason reads after "3 messages"; one that is not here is shown by its code."""


def trust_sentences(trust: Trust, capture: Capture) -> list[str]:
    """What can be relied on and what is missing, most important first."""
    remarks = (
        trust.retransmitted_calls, trust.negative_times, trust.truncated_packets,
        trust.set_back, trust.set_forward, trust.clock_tick_s, capture.limits_hit,
        capture.followers, capture.trailing_bytes, trust.untold_pause_s, trust.late_packets,
    )  # fmt: skip
    if trust.complete and not any(remarks):
        return [PERFECT]
    candidates = [
        *_damaged(capture),
        not_given(trust),
        _followers(capture),
        _trailing(capture),
        one_way(trust),
        *clock_sentences(trust, capture),
        _matched(trust),
        _orphans(trust),
        *sealed(trust),
        _undecoded(trust),
        _assumed(trust),
        _missing(trust, capture),
        _fragments(capture),
        _rdma_packets(capture),
        _retransmitted(trust),
        _negative(trust),
        forgotten(trust.forgotten_files),
        _limits(capture),
    ]
    return [sentence for sentence in candidates if sentence]


def one_way(trust: Trust) -> str:
    """Which direction was not captured, in sentences; nothing where none is missing."""
    both = "Capture both directions: filter by host, not by src or dst."
    match trust.one_way:
        case "replies":
            return f"Only what clients sent was captured, and no reply of a server. {both}"
        case "calls":
            return f"Only what servers sent was captured, and no call of a client. {both}"
    told = []
    if trust.calls_alone:
        told.append(f"only what clients sent ({units.counted(trust.calls_alone, 'call')})")
    if trust.replies_alone:
        told.append(
            f"only what servers sent ({units.counted(trust.replies_alone, 'reply', 'replies')})"
        )
    if not told:
        return ""
    return f"Of some connections {' and of others '.join(told)} was captured. {both}"


def sealed(trust: Trust) -> list[str]:
    """What is encrypted or cut off as a whole, in sentences; nothing where nothing is."""
    found = trust.sealed
    told = []
    if found.connections:
        are = units.counted(found.connections, "connection is", "connections are")
        told.append(
            f"{are} sealed by TLS, with {units.size(found.sealed_bytes)} or "
            f"{units.share(found.bytes_share)} of all payload: no call there can be seen."
        )
    if nameless := found.calls - found.named_unknown:
        share = None if found.calls_share is None else found.calls_share * nameless / found.calls
        told.append(
            f"{_by_kerberos(nameless, share)}: how long they took can be seen, not what they did."
        )
    if found.named_calls:
        told.append(
            f"{_by_kerberos(found.named_calls, found.named_share)}: their procedures and times can "
            "be seen, not their files, sizes and statuses."
        )
    if found.cut_connections:
        cut = units.counted(found.cut_connections, "connection")
        told.append(
            f"Of {cut}, with {units.size(found.cut_bytes)} or {units.share(found.cut_share)} of "
            "all payload, no call can be seen: packets were cut before a call tells what it is."
        )
    return told


def _by_kerberos(calls: int, share: float | None) -> str:
    are = units.counted(calls, "call is", "calls are")
    return f"{are} sealed by Kerberos (krb5p), or {units.share(share)} of those that have a reply"


def no_verdict(trust: Trust) -> str:
    """Why there is no verdict, where most cannot be read, or times are not known; else nothing."""
    if trust.times_untold and not trust.mostly_unread:
        why = "clocks of the two directions are apart, so that what calls took is not known"
        if trust.put_behind:
            why = (
                "capture holds one direction behind the other, so that what calls took is not known"
            )
        if trust.clock_untold:
            why = "capture's clock does not tell what calls took"
        return f"No verdict on what the time went into: the {why}."
    if not trust.mostly_unread:
        return ""
    if trust.sealed.mostly:
        why = "No verdict on what the time went into: most of the traffic cannot be read."
        return " ".join((why, *sealed(trust), _unsealed(trust)))
    return (
        "No verdict on what the time went into: most calls lack their replies, since only what "
        "clients sent was captured of their connections."
    )


def _unsealed(trust: Trust) -> str:
    """What to do where most is encrypted, to ask the client or to capture without, or cut off."""
    found = trust.sealed
    if found.mostly_cut:
        return "Capture again with whole packets (tcpdump -s 0), or 512 bytes of each (-s 512)."
    without = [
        *(("without TLS (xprtsec=none)",) if found.connections else ()),
        *(("with sec=krb5i or krb5",) if found.calls else ()),
    ]
    return (
        "On a Linux client, mountstats tells what each operation takes; to see it here, capture a "
        f"run {' and '.join(without)}, where that is allowed."
    )


def lacks(trust: Trust) -> list[str]:
    """What the capture lost of calls, replies, bytes and times, in clauses.

    What both ends cut off is no loss: every capture has ends.
    """
    calls, replies = trust.unanswered_within, trust.orphans_within
    told = []
    if calls:
        told.append(f"{units.counted(calls, 'call has', 'calls have')} no reply")
    if replies:
        told.append(f"{units.counted(replies, 'reply has', 'replies have')} no call")
    told += _lost(trust)
    if trust.untimed_packets:
        told.append(
            units.counted(trust.untimed_packets, "packet has no time", "packets have no time")
        )
    if trust.mistimed_packets:
        told.append(
            units.counted(trust.mistimed_packets, "packet has", "packets have")
            + " an impossible time"
        )
    if trust.damaged_files:
        told.append(
            units.counted(trust.damaged_files, "capture is damaged", "captures are damaged")
        )
    if trust.files_not_given:
        unseen, were = numbers(trust.files_not_given)
        told.append(f"{unseen} of the rotation's files {were} not given")
    return told


def warning(trust: Trust) -> str:
    """That figures rest on a capture which lost something, in a sentence or two; else nothing."""
    if trust.times_untold:
        return f"Trust: {untold_sentence(trust)}"
    if direction := one_way(trust):
        return f"Trust: {direction[0].lower()}{direction[1:]}"
    told, closed = lacks(trust), sealed(trust)
    if closed:
        closed.append("The figures are those of the rest.")
    if trust.mostly_cut_short:
        cut, whole = units.count(trust.cut_short), units.count(trust.rpc_calls + trust.rpc_replies)
        closed.append(
            f"{cut} of {whole} messages were cut (tcpdump -s): what lay beyond is not known."
        )
    if trust.forgotten_files:
        closed.append(forgotten(trust.forgotten_files))
    if not told:
        return f"Trust: {' '.join(closed)}" if closed else ""
    # A call without reply may be one that the server never answered.
    sure = len(told) > bool(trust.unanswered_within)
    lost = (
        f"{', '.join(told)}. "
        f"{'The' if sure else 'The server did not answer, or the'} capture is incomplete, and the "
        "figures with it."
    )
    return f"Trust: {' '.join((*closed, lost[0].upper() + lost[1:] if closed else lost))}"


def _damaged(capture: Capture) -> Iterator[str]:
    for damage in capture.damage[:DAMAGES_TOLD]:
        yield f"{escape(damage)}."
    if rest := also_damaged(capture.damage):
        yield f"{rest}."


def not_given(trust: Trust) -> str:
    """Which files of a rotation were not given; nothing where none is missing."""
    if not trust.files_not_given:
        return ""
    unseen, were = numbers(trust.files_not_given)
    return (
        f"By their names the files are of a rotation, of which {unseen} {were} not given: what "
        "went on meanwhile is not known."
    )


def _followers(capture: Capture) -> str:
    if not capture.followers:
        return ""
    follow = units.counted(capture.followers, "capture follows", "captures follow")
    was = "was" if capture.followers == 1 else "were"
    return (
        f"{follow} another in the same file, and {was} read too; Wireshark reads the first alone: "
        "mergecap puts captures together for both."
    )


def _trailing(capture: Capture) -> str:
    if not capture.trailing_bytes:
        return ""
    passed = units.counted(
        capture.trailing_bytes,
        "byte behind compressed data was passed over",
        "bytes behind compressed data were passed over",
    )
    return f"{passed}: no more of it begins there."


def also_damaged(damage: Sequence[str]) -> str:
    """How many captures are damaged besides those of which it is told where; nothing if none is."""
    more = len(damage) - DAMAGES_TOLD
    if more <= 0:
        return ""
    return f"{units.counted(more, 'more capture is', 'more captures are')} damaged"


def _matched(trust: Trust) -> str:
    if trust.one_way:
        return ""
    if not trust.rpc_calls:
        return "No call was found."
    if not trust.unanswered:
        return "Every call has its reply."
    sentence = (
        f"{units.share(trust.matched_share)} of the calls have their reply; "
        f"{units.count(trust.unanswered)} of {units.count(trust.rpc_calls)} "
        f"{'has' if trust.unanswered == 1 else 'have'} none"
    )
    if trust.unanswered_at_end:
        those = _of_them(trust.unanswered_at_end, trust.unanswered)
        sentence += f", {those}sent as the capture ended"
    return sentence + "."


def _orphans(trust: Trust) -> str:
    if trust.orphan_replies == trust.answers_alone or trust.one_way == "calls":
        return ""
    sentence = f"{units.counted(trust.orphan_replies, 'reply', 'replies')} without call"
    if trust.orphan_replies_at_start:
        those = _of_them(trust.orphan_replies_at_start, trust.orphan_replies)
        sentence += f", {those}as the capture began"
    return sentence + "."


def _of_them(some: int, all_: int) -> str:
    """How many of those that were told; nothing where there is only one."""
    return "" if all_ == 1 else f"{units.count(some)} of them "


def _undecoded(trust: Trust) -> str:
    if not trust.undecoded:
        return ""
    reasons = [
        (messages, _reason(trust, reason) + _where(trust, reason, messages))
        for reason, messages in trust.undecoded_reasons.items()
    ]
    # The only reason needs no count of its own.
    counted = ", ".join(
        f"{units.count(messages)} {words}" if len(reasons) > 1 else words
        for messages, words in reasons
    )
    return f"{units.counted(trust.undecoded, 'message')} not decoded to the end: {counted}."


def _reason(trust: Trust, reason: str) -> str:
    """Where TCP lacks nothing, only the capture's end can have cut a message off."""
    if reason == "missing" and not trust.missing_bytes:
        return "cut off as the capture ended"
    return REASONS.get(reason, escape(reason))


def _where(trust: Trust, reason: str, messages: int) -> str:
    """The frames of such messages, or the first of them."""
    frames = trust.undecoded_frames.get(reason, ()) if reason in OF_THE_SENDER else ()
    if not frames:
        return ""
    more = " …" if messages > len(frames) else ""
    title = "frame" if messages == 1 else "frames"
    return f" ({title} {', '.join(map(str, frames))}{more})"


def _assumed(trust: Trust) -> str:
    if not trust.assumed_outcomes:
        return ""
    return (
        f"{units.counted(trust.assumed_outcomes, 'call')} whose status cannot be seen "
        f"{'is' if trust.assumed_outcomes == 1 else 'are'} taken for a success."
    )


def _lost(trust: Trust) -> list[str]:
    parts = []
    if trust.lost_bytes:
        parts.append(f"{units.size(trust.lost_bytes)} on the wire are not in the capture")
    if trust.dropped_packets:
        parts.append(f"the capturing host lost {units.counted(trust.dropped_packets, 'packet')}")
    return parts


def _missing(trust: Trust, capture: Capture) -> str:
    parts = _lost(trust)
    if trust.truncated_packets:
        limit = "" if capture.cut_to is None else f" to {units.count(capture.cut_to)} bytes"
        if not limit and trust.kept_bytes is not None:
            limit = f", which left {units.size(trust.kept_bytes)} of payload in each on average"
        parts.append(
            f"{units.counted(trust.truncated_packets, 'packet was', 'packets were')} cut{limit}"
        )
    return f"{'; '.join(parts)}." if parts else ""


def _retransmitted(trust: Trust) -> str:
    if not trust.retransmitted_calls:
        return ""
    return (
        f"{units.counted(trust.retransmitted_calls, 'call was', 'calls were')} sent more than "
        "once, counted once and timed from the first transmission."
    )


def _negative(trust: Trust) -> str:
    if not trust.negative_times or trust.out_of_step:
        return ""
    replies = units.counted(trust.negative_times, "reply", "replies")
    return f"The capture holds {replies} before the call: packets out of order."


def _limits(capture: Capture) -> str:
    limits = ", ".join(
        f"{escape(code)} {units.counted(times, 'time')}"
        for code, times in capture.limits_hit.items()
        if code not in (FRAGMENTS, RDMA_PACKETS, FILES_FORGOTTEN)
    )
    return f"Limits of the decoder were reached: {limits}." if limits else ""


def forgotten(files: int) -> str:
    """Files of which nothing was known any more when they came again; nothing of none."""
    if not files:
        return ""
    told = units.counted(files, "file or name", "files and names")
    return (
        f"Memory was too small for all files: {told} used longest ago were forgotten; those that "
        "came again count as others, perhaps without a path. A larger --memory keeps them."
    )


def _rdma_packets(capture: Capture) -> str:
    """Packets of RDMA whose sequence numbers the capture lacks."""
    packets = capture.limits_hit.get(RDMA_PACKETS)
    if not packets:
        return ""
    are = "is" if packets == 1 else "are"
    return (
        f"{units.counted(packets, 'packet')} of RDMA {are} not in the capture, or more: messages "
        "that they belong to are missing, and data of which they bring a part."
    )


def _fragments(capture: Capture) -> str:
    """IP fragments whose datagram is not whole: mostly the capture lacks the others."""
    packets = capture.limits_hit.get(FRAGMENTS)
    if not packets:
        return ""
    are = "is a fragment" if packets == 1 else "are fragments"
    return (
        f"{units.counted(packets, 'packet')} {are} of datagrams of which others are not in the "
        "capture: what they carry is read as far as it goes."
    )
