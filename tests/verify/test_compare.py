"""Two streams of calls side by side, without tshark: what agrees, what differs, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pcapnfs.record import replace
from pcapnfs.verify.compare import WAITING_LIMIT, Tally, _Comparison, compare
from pcapnfs.verify.messages import Message, Silence
from pcapnfs.verify.ours import Call
from pcapnfs.verify.reasons import TEXTS, Situation

OURS = Call(
    connection=0, xid=7, program=100003, version=4, procedure=1, call_first_frame=10,
    call_frame=10, call_time_ns=1_000, reply_first_frame=12, reply_frame=12, srt_ns=500, status=0,
    transmissions=1, undecoded=None, missing=False, disordered=False, beginning=False,
    ending=False,
    unsure=False,
    call_bytes=200,
    operations=(53, 22, 9), executed=(53, 22, 9),
)  # fmt: skip
CALL = Message(
    frame=10, time_ns=1_000, stream="tcp 0", xid=7, is_reply=False, program=100003, version=4,
    procedure=1, call_frame=None, srt_ns=None, duplicate=False, operations=(53, 22, 9), status=None,
)  # fmt: skip
REPLY = replace(CALL, frame=12, time_ns=1_500, is_reply=True, call_frame=10, srt_ns=500, status=0)


def found(tally: Tally) -> dict[tuple[str, str | None], list[int]]:
    return {key: each.frames for key, each in tally.differences.items()}


def held(
    ours: Iterable[Call] = (OURS,),
    theirs: Iterable[Message | Silence] = (CALL, REPLY),
    **situation: object,
) -> dict[tuple[str, str | None], list[int]]:
    return found(compare(ours, theirs, situation=Situation(**situation)))  # type: ignore[arg-type]


def test_what_is_the_same_agrees() -> None:
    tally = compare([OURS], [CALL, REPLY])
    assert found(tally) == {}
    assert (tally.ours, tally.theirs, tally.pairs) == (1, 1, 1)
    assert tally.compared == tally.agreed
    assert set(tally.compared) == {
        "call", "call frame", "operations", "reply", "results", "status", "service time",
    }  # fmt: skip


def test_every_aspect_is_compared() -> None:
    for change, aspect in (
        ({"version": 3}, "call"),
        ({"operations": (53, 22, 10)}, "operations"),
        ({"executed": (53, 22)}, "results"),
        ({"status": 70}, "status"),
        ({"srt_ns": 501}, "service time"),
        ({"reply_frame": 13}, "reply"),
    ):
        assert held([replace(OURS, **change)]) == {(aspect, None): [10]}, aspect


def test_a_status_that_tshark_does_not_tell_is_not_compared() -> None:
    tally = compare([OURS], [CALL, replace(REPLY, status=None)])
    assert found(tally) == {}
    assert "status" not in tally.compared


def test_tshark_may_see_no_message_in_a_frame_at_all() -> None:
    """A message is excused where tshark has nothing in the frame that completes it."""
    for frame, reason in ((10, "not_recognized"), (9, None), (12, None)):
        assert held(theirs=[Silence(frame)]) == {("only pcapnfs", reason): [10]}
    for frame, reason in ((12, "not_recognized"), (11, None)):
        assert held(theirs=[CALL, Silence(frame)]) == {("reply", reason): [10]}
    # It waits for the rest of a message that the capture does not have, and we say so.
    cut = replace(OURS, undecoded="missing")
    assert held([cut], [Silence(10)]) == {("only pcapnfs", "beginning_only"): [10]}
    assert held([cut], [Silence(9)]) == {("only pcapnfs", None): [10]}
    # What it does see there is a difference of its own.
    other = replace(CALL, frame=11)
    assert held(theirs=[Silence(10), other]) == {
        ("only pcapnfs", "not_recognized"): [10],
        ("only tshark", None): [11],
    }


def test_of_frames_in_which_messages_end_those_to_come_are_held() -> None:
    """However many there were: calls and messages stream by."""
    xids = range(1000)
    ours = [
        replace(OURS, xid=xid, call_first_frame=2 * xid, call_frame=2 * xid,
                reply_first_frame=2 * xid + 1, reply_frame=2 * xid + 1)
        for xid in xids
    ]  # fmt: skip
    held_at_most = 0
    comparison = _Comparison(iter(ours), frozenset(), Situation())

    def theirs() -> Iterator[Message]:
        nonlocal held_at_most
        for xid in xids:
            yield replace(CALL, xid=xid, frame=2 * xid)
            yield replace(REPLY, xid=xid, frame=2 * xid + 1, call_frame=2 * xid)
            held_at_most = max(held_at_most, len(comparison._ends))

    assert found(comparison.run(theirs())) == {}
    assert held_at_most == 1


def test_a_call_of_one_side_only_is_a_difference() -> None:
    assert held(theirs=[]) == {("only pcapnfs", None): [10]}
    assert held(ours=[]) == {("only tshark", None): [10]}


def test_two_calls_of_one_xid_in_one_frame_are_not_lost() -> None:
    assert held([OURS, OURS]) == {("only pcapnfs", None): [10]}


def test_a_reply_that_one_side_does_not_pair() -> None:
    assert held(theirs=[CALL]) == {("reply", None): [10]}
    silent = replace(OURS, reply_frame=None, reply_first_frame=None, srt_ns=None, executed=())
    assert held([silent]) == {("reply", None): [10]}
    orphan = replace(REPLY, call_frame=None)
    assert held([], [orphan]) == {("reply without call", None): [12]}
    assert held([], [orphan], orphans={(12, 7)}) == {}


def test_where_packets_were_mixed_up_that_is_why_what_has_no_other_reason_differs() -> None:
    wrong = replace(OURS, srt_ns=501)
    assert held([wrong], mixed_up=True) == {("service time", "mixed_up"): [10]}
    assert held([], [CALL, REPLY], mixed_up=True) == {("only tshark", "mixed_up"): [10]}
    assert held([], [replace(CALL, program=200_000)], mixed_up=True) == {
        ("only tshark", "other_program"): [10]
    }


def test_a_call_sent_again_on_another_connection_is_one() -> None:
    """To tshark it is another call, timed from its own frame."""
    ours = replace(OURS, transmissions=3, reply_frame=40, reply_first_frame=40, srt_ns=9_000)
    second = replace(CALL, frame=20, time_ns=4_000, stream="tcp 1")
    third = replace(CALL, frame=30, time_ns=8_000, stream="tcp 2")
    reply = replace(REPLY, frame=40, time_ns=10_000, stream="tcp 2", call_frame=30, srt_ns=2_000)
    tally = compare([ours], [CALL, second, third, reply])
    assert found(tally) == {}
    assert tally.resent == 2
    wrong = replace(ours, srt_ns=2_000)
    assert held([wrong], [CALL, second, third, reply]) == {("service time", None): [10]}
    once = replace(ours, transmissions=1)
    assert ("only tshark", None) in held([once], [CALL, second, third, reply])


def test_a_message_that_was_repeated_is_counted_once() -> None:
    again = replace(CALL, frame=14)
    tally = compare([OURS], [CALL, REPLY, again], repeated={(14, 7)})
    assert (found(tally), tally.repeated) == ({}, 1)
    assert held(theirs=[CALL, REPLY, again]) == {("only tshark", None): [14]}


# Reasons ------------------------------------------------------------------------------------------


def test_a_call_that_is_sent_again_in_the_same_packet_is_one() -> None:
    """Behind a connection that stood still, a client sends both at once."""
    ours = replace(OURS, transmissions=2)
    again = replace(REPLY, frame=13, duplicate=True)
    tally = compare([ours], [CALL, CALL, REPLY, again])
    assert found(tally) == {}
    assert (tally.ours, tally.theirs, tally.pairs, tally.repeated) == (1, 1, 1, 2)
    # Not so if pcapnfs knows of one transmission alone.
    assert ("only tshark", None) in held(theirs=[CALL, CALL, REPLY])


def test_a_reply_before_its_call_is_no_mistake() -> None:
    early = replace(OURS, reply_first_frame=9, reply_frame=9, srt_ns=0)
    orphan = replace(REPLY, frame=9, time_ns=900, call_frame=None, srt_ns=None)
    assert held([early], [orphan, CALL]) == {("reply", "early_reply"): [10]}
    late = replace(early, reply_first_frame=10, reply_frame=10)
    assert held([late], [replace(orphan, frame=10), CALL]) == {("reply", None): [10]}


def test_a_call_of_the_lock_manager_may_be_answered_by_a_call() -> None:
    """To tshark the empty reply answers it, which need not be there."""
    for procedure, reason in ((7, "answered_by_call"), (2, None)):
        named: dict[str, Any] = {
            "program": 100021,
            "version": 4,
            "procedure": procedure,
            "operations": (),
        }
        ours = replace(OURS, **named, executed=(), reply_first_frame=14, reply_frame=14)
        asked = replace(CALL, **named)
        empty = replace(REPLY, **named, status=None)
        assert held([ours], [asked, empty]) == {("reply", reason): [10]}
        assert held([ours], [asked]) == {("reply", reason): [10]}


def test_a_reply_cut_before_tshark_pairs_it_is_excused_by_its_own_cut() -> None:
    cut = replace(OURS, undecoded="truncated")
    orphan = replace(REPLY, call_frame=None, srt_ns=None)
    assert held([cut], [CALL], truncated=True) == {("reply", "snaplen"): [10]}
    assert held([cut], [CALL, orphan], truncated=True) == {("reply", "snaplen"): [10]}
    assert held([OURS], [CALL, orphan], truncated=True) == {("reply", None): [10]}
    assert held([cut], [CALL]) == {("reply", None): [10]}


def test_a_call_whose_procedure_was_cut_away_is_none() -> None:
    headless = replace(CALL, procedure=None, operations=())
    assert held([], [headless], truncated=True) == {("only tshark", "header_cut"): [10]}
    assert held([], [headless]) == {("only tshark", None): [10]}
    assert held([], [CALL], truncated=True) == {("only tshark", None): [10]}


def test_the_cut_of_a_snaplen_excuses_only_what_was_cut() -> None:
    cut = replace(OURS, undecoded="truncated", operations=(53, 22), executed=(53, 22))
    assert held([cut], truncated=True) == {
        ("operations", "snaplen"): [10],
        ("results", "snaplen"): [10],
    }
    other = replace(cut, operations=(53, 10), executed=(53, 22, 9))
    assert held([other], truncated=True) == {("operations", None): [10]}
    assert held([replace(cut, undecoded=None)], truncated=True) == {
        ("operations", None): [10],
        ("results", None): [10],
    }


def test_tshark_takes_the_first_segment_of_a_cut_message_for_the_whole() -> None:
    ours = replace(OURS, reply_frame=15, srt_ns=900)
    assert held([ours], truncated=True) == {
        ("reply", "first_segment"): [10],
        ("service time", "first_segment"): [10],
    }
    assert set(held([ours])) == {("reply", None), ("service time", None)}
    call = replace(OURS, call_first_frame=10, call_frame=11)
    assert held([call], truncated=True) == {("call frame", "first_segment"): [11]}
    cut = replace(call, undecoded="truncated", operations=(53, 22))
    assert held([cut], truncated=True) == {
        ("call frame", "first_segment"): [11],
        ("operations", "snaplen"): [11],
    }


def test_tshark_stops_at_the_cut_of_the_first_segment_of_a_message_that_is_whole_to_pcapnfs() -> (
    None
):
    """Data that were cut are passed over; what stands behind them is in the last segment."""
    call = replace(OURS, call_first_frame=10, call_frame=11)
    stopped = replace(CALL, operations=(53, 22))
    assert held([call], [stopped, REPLY], truncated=True) == {
        ("call frame", "first_segment"): [11],
        ("operations", "snaplen"): [11],
    }
    assert held([call], [stopped, REPLY])["operations", None] == [11]
    # It has the last segment, too; or there is but one; or it shows another operation.
    last = replace(stopped, frame=11)
    answer = replace(REPLY, call_frame=11)
    assert held([call], [last, answer], truncated=True) == {("operations", None): [11]}
    assert held([OURS], [stopped, REPLY], truncated=True) == {("operations", None): [10]}
    other = replace(CALL, operations=(53, 10))
    assert held([call], [other, REPLY], truncated=True)["operations", None] == [11]
    reply = replace(OURS, reply_first_frame=12, reply_frame=15)
    assert held([reply], [CALL, replace(REPLY, operations=(53, 22))], truncated=True) == {
        ("reply", "first_segment"): [10],
        ("results", "snaplen"): [10],
    }


def test_what_is_malformed_is_read_up_to_the_same_place() -> None:
    broken = replace(OURS, undecoded="malformed")
    shown = [replace(CALL, operations=(53, 22)), REPLY]
    assert held([broken], shown) == {("operations", "malformed"): [10]}
    assert held([OURS], shown) == {("operations", None): [10]}
    assert held([broken], [replace(CALL, operations=(53, 10)), REPLY]) == {
        ("operations", None): [10]
    }


def test_operations_that_tshark_does_not_know() -> None:
    for unknown in (46, 54, 56):
        ours = replace(OURS, operations=(53, 22, unknown, 9))
        assert held([ours], [replace(CALL, operations=(53, 22, unknown)), REPLY]) == {
            ("operations", "unknown_operation"): [10]
        }
    assert held([ours], [replace(CALL, operations=(53, 22)), REPLY]) == {("operations", None): [10]}
    assert held(theirs=[replace(CALL, operations=(53, 22, 1)), REPLY]) == {
        ("operations", "wrong_offset"): [10]
    }


def test_a_flag_behind_an_open_that_tshark_does_not_read() -> None:
    opened = (53, 22, 18, 10, 9)
    ours, call = replace(OURS, operations=opened, executed=opened), replace(CALL, operations=opened)
    stopped = replace(REPLY, operations=opened[:3])
    for why, reason in ((1, "flag_unread"), (2, "flag_unread"), (3, None), (None, None)):
        assert held([ours], [call, replace(stopped, no_delegation=why)]) == {
            ("results", reason): [10]
        }
    elsewhere = replace(stopped, operations=opened[:4], no_delegation=2)
    assert held([ours], [call, elsewhere]) == {("results", None): [10]}
    other = replace(stopped, operations=(53, 24, 18), no_delegation=2)
    assert held([ours], [call, other]) == {("results", None): [10]}


def test_a_procedure_that_tshark_does_not_show_since_the_credential_was_cut() -> None:
    cut = replace(OURS, undecoded="truncated")
    stopped = replace(CALL, procedure=None)
    assert held([cut], [stopped, REPLY], truncated=True) == {("call", "snaplen"): [10]}
    assert held([cut], [stopped, REPLY]) == {("call", None): [10]}
    assert held([OURS], [stopped, REPLY], truncated=True) == {("call", None): [10]}
    other = replace(stopped, version=3)
    assert held([cut], [other, REPLY], truncated=True) == {("call", None): [10]}


def test_a_call_that_tshark_takes_for_the_one_before_with_its_xid() -> None:
    second = replace(OURS, call_first_frame=20, call_frame=20, reply_frame=22, operations=(53, 24))
    again = replace(CALL, frame=20, duplicate=True, operations=(53, 24))
    answer = replace(REPLY, frame=22, duplicate=True)
    theirs = [CALL, REPLY, again, answer]
    assert held([OURS, second], theirs) == {("only pcapnfs", None): [20]}
    situation = Situation(used_again={(20, 7)})
    tally = compare([OURS, second], theirs, situation=situation)
    assert found(tally) == {("only pcapnfs", "xid_again"): [20]}
    assert tally.repeated == 0
    # What tshark does not show at all is another matter.
    tally = compare([OURS, second], [CALL, REPLY], situation=situation)
    assert found(tally) == {("only pcapnfs", None): [20]}


def test_a_connection_that_tshark_takes_for_a_new_one() -> None:
    second = replace(OURS, xid=8, call_first_frame=20, call_frame=20, reply_frame=22)
    moved = replace(CALL, xid=8, frame=20, stream="tcp 1")
    assert held([OURS, second], [CALL, REPLY, moved]) == {("reply", "other_connection"): [20]}
    still = replace(moved, stream="tcp 0")
    assert held([OURS, second], [CALL, REPLY, still]) == {("reply", None): [20]}


def test_what_is_missing_and_what_is_only_begun() -> None:
    assert held([replace(OURS, missing=True)], []) == {("only pcapnfs", "behind_gap"): [10]}
    assert held([replace(OURS, beginning=True)], []) == {("only pcapnfs", "beginning_only"): [10]}
    assert held([replace(OURS, missing=True)], [CALL]) == {("reply", "behind_gap"): [10]}
    last = replace(OURS, ending=True)
    assert held([last], [CALL]) == {("reply", "beginning_only"): [10]}
    assert held([last], [CALL, replace(REPLY, frame=13)]) == {("reply", None): [10]}


def test_what_waited_behind_a_lost_segment() -> None:
    """Ours end where the hole is filled; tshark's, when it must not wait, with their own bytes."""
    late = replace(OURS, call_frame=11, call_time_ns=1_200, srt_ns=300, disordered=True)
    unknown = {("call frame", None): [11]}
    assert held([late], missing=True) == {("call frame", "hole_filled"): [11]}
    assert held([late]) == held([replace(late, disordered=False)], missing=True) == unknown
    assert held([replace(late, srt_ns=301)], missing=True) == {
        ("call frame", "hole_filled"): [11],
        ("service time", None): [11],
    }
    filled = replace(OURS, reply_frame=14, srt_ns=900, disordered=True)
    reply = {("reply", "hole_filled"): [10], ("service time", "hole_filled"): [10]}
    assert held([filled], missing=True) == reply
    assert {reason for _, reason in held([filled])} == {None}
    elsewhere = replace(filled, reply_first_frame=13)
    assert {reason for _, reason in held([elsewhere], missing=True)} == {None}


def test_programs_beside_nfs_are_not_looked_for() -> None:
    strange = replace(CALL, program=395183)
    assert held([], [strange, REPLY]) == {("only tshark", "other_program"): [10]}


def test_every_reason_has_its_words() -> None:
    assert all(text and not text.endswith(".") for text in TEXTS.values())


def test_calls_that_wait_in_vain_are_given_up_and_counted() -> None:
    many = WAITING_LIMIT + 5
    lost = (replace(OURS, xid=n, call_first_frame=n, call_frame=n) for n in range(many))
    last = replace(CALL, frame=many, xid=many)
    tally = compare(lost, [last])
    assert tally.differences["only pcapnfs", None].count == many
    assert tally.differences["only tshark", None].count == 1


def test_what_a_server_does_not_support_is_illegal_to_tshark_alone() -> None:
    refused = replace(REPLY, operations=(53, 22, 10044))
    assert held(theirs=[CALL, refused]) == {("results", "illegal"): [10]}
    otherwise = replace(REPLY, operations=(53, 10044, 9))
    assert held(theirs=[CALL, otherwise]) == {("results", None): [10]}


def test_tshark_shows_so_many_operations_of_a_compound() -> None:
    many = (24, 10) * 75
    long = replace(OURS, operations=many)
    assert held([long], [replace(CALL, operations=many[:128]), REPLY]) == {
        ("operations", "long_compound"): [10]
    }
    assert held([long], [replace(CALL, operations=many[:127]), REPLY]) == {
        ("operations", None): [10]
    }


def test_tshark_does_not_put_a_very_long_message_together() -> None:
    long = replace(OURS, call_bytes=(4 << 20) + 1)
    (found,) = held([long], [])
    assert found[1] == "long_record"
    (found,) = held([replace(long, call_bytes=4 << 20)], [])
    assert found[1] is None
