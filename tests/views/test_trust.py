"""Trust in plain words: silent when perfect, complete when not."""

from __future__ import annotations

from pcapnfs.record import replace
from pcapnfs.views.trust import PERFECT, lacks, no_verdict, trust_sentences, warning
from tests.views import samples


def test_a_perfect_capture_takes_one_sentence() -> None:
    assert trust_sentences(samples.trust(), samples.capture()) == [PERFECT]


def test_every_misfortune_has_its_sentence() -> None:
    capture = replace(
        samples.capture(),
        snaplen=96,
        cut_to=96,
        damage=("a.pcap: breaks off at byte 9",),
        followers=2,
        trailing_bytes=15,
        limits_hit={"record_limit": 2},
    )
    assert trust_sentences(samples.poor_trust(), capture) == [
        "a.pcap: breaks off at byte 9.",
        "2 captures follow another in the same file, and were read too; Wireshark reads the first "
        "alone: mergecap puts captures together for both.",
        "15 bytes behind compressed data were passed over: no more of it begins there.",
        "90.0 % of the calls have their reply; 1\u2009000 of 10\u2009000 have none, "
        "2 of them sent as the capture ended.",
        "5 replies without call, 1 of them as the capture began.",
        "8 messages not decoded to the end: 7 encrypted, 1 \\x1b[31m[bold]<script>\\u202e.",
        "3 calls whose status cannot be seen are taken for a success.",
        "2.00 KiB on the wire are not in the capture; the capturing host lost 3 packets; "
        "12 packets were cut to 96 bytes.",
        "1 call was sent more than once, counted once and timed from the first transmission.",
        "The capture holds 1 reply before the call: packets out of order.",
        "Limits of the decoder were reached: record_limit 2 times.",
    ]


def test_where_messages_contradict_the_protocol_is_told() -> None:
    trust = replace(
        samples.trust(),
        undecoded=10,
        undecoded_reasons={"truncated": 4, "malformed": 5, "trailing": 1},
        undecoded_frames={"truncated": (1, 2, 3), "malformed": (9, 10, 11), "trailing": (7,)},
        complete=False,
    )
    assert trust_sentences(trust, samples.capture())[1] == (
        "10 messages not decoded to the end: 4 cut at the snaplen, 5 contradicting the protocol "
        "(frames 9, 10, 11 …), 1 with bytes left over behind the last value (frame 7)."
    )


def test_missing_fragments_are_no_limit_of_the_decoder() -> None:
    cut = replace(samples.capture(), limits_hit={"fragments_unfinished": 6, "record_limit": 1})
    assert trust_sentences(samples.trust(), cut) == [
        "Every call has its reply.",
        "6 packets are fragments of datagrams of which others are not in the capture: what they "
        "carry is read as far as it goes.",
        "Limits of the decoder were reached: record_limit 1 time.",
    ]


def test_missing_packets_of_rdma_are_told() -> None:
    cut = replace(samples.capture(), limits_hit={"rdma_missing": 2})
    assert trust_sentences(samples.trust(), cut) == [
        "Every call has its reply.",
        "2 packets of RDMA are not in the capture, or more: messages that they belong to are "
        "missing, and data of which they bring a part.",
    ]


def test_files_that_were_forgotten_are_told_with_what_would_keep_them() -> None:
    trust = replace(samples.trust(), forgotten_files=1200)
    capture = replace(samples.capture(), limits_hit={"files_forgotten": 1200, "record_limit": 1})
    told = (
        "Memory was too small for all files: 1\u2009200 files and names used longest ago were "
        "forgotten; those that came again count as others, perhaps without a path. A larger "
        "--memory keeps them."
    )
    assert trust_sentences(trust, capture) == [
        "Every call has its reply.",
        told,
        "Limits of the decoder were reached: record_limit 1 time.",
    ]
    assert warning(trust) == f"Trust: {told}"
    assert warning(replace(trust, matched=7, rpc_calls=8, unanswered=1)).startswith(
        f"Trust: {told}"
    )


def test_a_coarse_clock_is_told() -> None:
    assert trust_sentences(replace(samples.trust(), clock_tick_s=0.01), samples.capture()) == [
        "The capture's clock ticks every 10.0 ms: shorter times cannot be told.",
        "Every call has its reply.",
    ]


def test_clocks_that_are_apart_are_told_with_what_to_do() -> None:
    little = replace(
        samples.trust(),
        negative_times=15,
        clocks_apart_s=0.0003,
        times_untold=False,
        complete=False,
    )
    does = "Capture both with one clock, or set the file of one right (editcap -t) before they are"
    assert trust_sentences(little, samples.capture())[0] == (
        "15 replies are in the capture before the call: the two directions were captured with "
        f"clocks that are 300 µs or more apart. {does} merged."
    )
    assert no_verdict(little) == warning(little) == ""
    much = replace(little, clocks_apart_s=0.05, times_untold=True)
    told = trust_sentences(much, samples.capture())[0]
    assert "are 50.0 ms or more apart. What calls took is not known. Capture" in told
    assert warning(much) == f"Trust: {told}"
    assert "clocks of the two directions are apart" in no_verdict(much)


def test_a_direction_behind_the_other_is_told_with_what_to_do() -> None:
    behind = replace(
        samples.trust(),
        put_behind="calls",
        set_back=1,
        set_back_s=2.9,
        set_back_frame=152,
        times_untold=True,
        complete=False,
    )
    told = trust_sentences(behind, samples.capture())
    assert told[0] == (
        "All that clients sent stands before what servers sent (frame 152), whose times begin "
        "anew: two files were put one behind the other (cat, mergecap -a). What calls took is not "
        "known until reordercap IN OUT puts the packets in order."
    )
    assert not any("set back" in sentence for sentence in told)
    assert warning(behind) == f"Trust: {told[0]}"
    assert "the capture holds one direction behind the other" in no_verdict(behind)
    behind = replace(behind, put_behind="replies", set_back_frame=None)
    told = trust_sentences(behind, samples.capture())
    assert told[0].startswith("All that servers sent stands before what clients sent, whose times")


def test_a_reply_that_bears_an_earlier_time_than_its_call_is_told() -> None:
    for replies, told in (
        (1, "1 reply bears an earlier time than its call, "),
        (2, "2 replies bear earlier times than their calls, "),
    ):
        earlier = replace(samples.trust(), earlier_replies=replies, complete=False)
        (sentence,) = (each for each in trust_sentences(earlier, samples.capture()) if told in each)
        assert "set back by less than a second" in sentence


def test_a_clock_that_stands_is_told_with_what_to_do() -> None:
    stands = replace(
        samples.trust(), clock_stands=True, times_untold=True, clock_tick_s=1.0, complete=False
    )
    told = trust_sentences(stands, samples.capture())
    assert told[0].startswith("No call took any time by the capture's clock: what calls took is")
    assert not any("ticks every" in sentence for sentence in told)
    assert warning(stands) == f"Trust: {told[0]}"
    assert no_verdict(stands).endswith("the capture's clock does not tell what calls took.")


def test_a_clock_by_which_chance_makes_times_is_told_with_what_to_do() -> None:
    coarse = replace(samples.trust(), times_untold=True, clock_tick_s=1.0, complete=False)
    told = trust_sentences(coarse, samples.capture())
    assert told[0].startswith("The capture's clock ticks every 1.00 s, which is longer than nearly")
    assert warning(coarse) == f"Trust: {told[0]}"
    assert no_verdict(coarse).endswith("the capture's clock does not tell what calls took.")


def test_what_was_lost_is_told_without_what_both_ends_cut_off() -> None:
    left_out = replace(samples.trust(), files_not_given=("1",), complete=False)
    assert lacks(left_out) == ["number 1 of the rotation's files was not given"]
    assert trust_sentences(left_out, samples.capture())[0] == (
        "By their names the files are of a rotation, of which number 1 was not given: what went on "
        "meanwhile is not known."
    )
    assert lacks(replace(samples.poor_trust(), damaged_files=1)) == [
        "998 calls have no reply",
        "4 replies have no call",
        "2.00 KiB on the wire are not in the capture",
        "the capturing host lost 3 packets",
        "1 capture is damaged",
    ]
    at_the_ends = replace(
        samples.trust(),
        unanswered=2,
        unanswered_at_end=2,
        orphan_replies=1,
        orphan_replies_at_start=1,
        complete=False,
    )
    assert lacks(at_the_ends) == lacks(samples.trust()) == []


def test_a_warning_says_how_sure_it_is() -> None:
    assert warning(samples.trust()) == ""
    unanswered = replace(samples.trust(), unanswered=1, complete=False)
    assert warning(unanswered) == (
        "Trust: 1 call has no reply. The server did not answer, or the capture is incomplete, and "
        "the figures with it."
    )
    assert warning(replace(unanswered, orphan_replies=1)) == (
        "Trust: 1 call has no reply, 1 reply has no call. "
        "The capture is incomplete, and the figures with it."
    )


def test_packets_without_times_are_no_measurement() -> None:
    capture = samples.capture()
    some = replace(samples.trust(), untimed_packets=1, complete=False)
    assert lacks(some) == ["1 packet has no time"]
    assert trust_sentences(some, capture)[0] == (
        "1 packet has no time: that of the packet before stands for it."
    )
    every = replace(some, untimed_packets=capture.packets)
    assert trust_sentences(every, capture)[0] == (
        "The packets of this capture have no times: what took how long is not known."
    )


def test_a_complete_capture_still_names_retransmissions() -> None:
    sentences = trust_sentences(replace(samples.trust(), retransmitted_calls=2), samples.capture())
    assert sentences[0] == "Every call has its reply."
    assert sentences[1].startswith("2 calls were sent more than once")


def test_says_that_there_is_no_call() -> None:
    empty = replace(
        samples.trust(),
        rpc_calls=0,
        matched=0,
        rpc_replies=0,
        matched_share=None,
        orphan_replies=1,
        complete=False,
    )
    assert trust_sentences(empty, samples.capture()) == [
        "No call was found.",
        "1 reply without call.",
    ]


def test_the_only_reason_needs_no_count_of_its_own() -> None:
    trust = replace(
        samples.trust(), undecoded=4, undecoded_reasons={"encrypted": 4}, complete=False
    )
    assert (
        trust_sentences(trust, samples.capture())[1]
        == "4 messages not decoded to the end: encrypted."
    )


def test_cut_packets_are_told_even_when_every_call_could_be_read() -> None:
    trust = replace(samples.trust(), truncated_packets=7)
    capture = replace(samples.capture(), snaplen=262144, cut_to=128)
    assert trust_sentences(trust, capture) == [
        "Every call has its reply.",
        "7 packets were cut to 128 bytes.",
    ]


def test_a_rotation_that_is_cut_everywhere_takes_a_few_sentences() -> None:
    damage = tuple(f"pcap{number}: the file ends within a packet" for number in range(1000))
    told = trust_sentences(samples.poor_trust(), replace(samples.capture(), damage=damage))
    assert told[:2] == [f"{each}." for each in damage[:2]]
    cut = [sentence for sentence in told if "pcap" in sentence or "damaged" in sentence]
    assert cut[-1] == f"{1000 - len(cut) + 1} more captures are damaged."
    assert len(cut) < 10


def test_a_direction_that_is_missing_is_told_instead_of_a_loss() -> None:
    calls = replace(
        samples.trust(), matched=0, unanswered=10000, rpc_replies=0, calls_alone=10000,
        matched_share=0.0, complete=False,
    )  # fmt: skip
    both = "Capture both directions: filter by host, not by src or dst."
    told = f"Only what clients sent was captured, and no reply of a server. {both}"
    assert trust_sentences(calls, samples.capture()) == [told]
    assert warning(calls) == f"Trust: o{told[1:]}"
    answered = replace(calls, rpc_replies=2, orphan_replies=2, answers_alone=2)
    assert trust_sentences(answered, samples.capture()) == [told]
    replies = replace(
        samples.trust(), matched=0, rpc_calls=0, orphan_replies=10000, replies_alone=10000,
        matched_share=None, complete=False,
    )  # fmt: skip
    assert trust_sentences(replies, samples.capture()) == [
        f"Only what servers sent was captured, and no call of a client. {both}",
    ]


def test_there_is_no_verdict_where_most_replies_are_missing() -> None:
    half = replace(samples.trust(), matched=5000, unanswered=5000, calls_alone=5000)
    assert no_verdict(half) == (
        "No verdict on what the time went into: most calls lack their replies, since only what "
        "clients sent was captured of their connections."
    )
    assert no_verdict(replace(half, matched=5001, unanswered=4999, calls_alone=4999)) == ""


def test_a_direction_that_some_connections_lack_stands_before_the_rest() -> None:
    some = replace(samples.poor_trust(), calls_alone=900, replies_alone=5)
    first, second, *_ = trust_sentences(some, samples.capture())
    assert first == (
        "Of some connections only what clients sent (900 calls) and of others only what servers "
        "sent (5 replies) was captured. "
        "Capture both directions: filter by host, not by src or dst."
    )
    assert second.startswith("90.0 % of the calls have their reply")


def test_what_is_sealed_is_told_and_why_there_is_no_verdict() -> None:
    assert no_verdict(samples.trust()) == ""
    tls = replace(samples.sealing(), connections=1, sealed_bytes=2048, bytes_share=0.9)
    trust = replace(samples.trust(), sealed=tls, complete=False)
    told = (
        "1 connection is sealed by TLS, with 2.00 KiB or 90.0 % of all payload: no call there can "
        "be seen."
    )
    assert trust_sentences(trust, samples.capture())[1] == told
    assert warning(trust) == f"Trust: {told} The figures are those of the rest."
    assert warning(replace(trust, dropped_packets=3)) == (
        f"Trust: {told} The figures are those of the rest. The capturing host lost 3 packets. "
        "The capture is incomplete, and the figures with it."
    )
    no = "No verdict on what the time went into: most of the traffic cannot be read."
    client = (
        "On a Linux client, mountstats tells what each operation takes; to see it here, capture a "
        "run"
    )
    assert no_verdict(trust) == (
        f"{no} {told} {client} without TLS (xprtsec=none), where that is allowed."
    )
    assert no_verdict(replace(trust, sealed=replace(tls, bytes_share=0.2))) == ""
    krb5p = replace(samples.sealing(), calls=7, calls_share=0.7)
    assert no_verdict(replace(trust, sealed=krb5p)) == (
        f"{no} 7 calls are sealed by Kerberos (krb5p), or 70.0 % of those that have a reply: how "
        f"long they took can be seen, not what they did. {client} with sec=krb5i or krb5, where "
        "that is allowed."
    )


def test_calls_of_which_kerberos_leaves_the_procedure_are_told_as_such() -> None:
    sealed = replace(
        samples.sealing(), calls=9, calls_share=0.3, named_calls=20, named_share=2 / 3,
        named_unknown=6,
    )  # fmt: skip
    trust = replace(samples.trust(), sealed=sealed, complete=False)
    by_kerberos = "sealed by Kerberos (krb5p), or {} of those that have a reply:"
    named = (
        f"20 calls are {by_kerberos.format('66.7 %')} their procedures and times can be seen, not "
        "their files, sizes and statuses."
    )
    assert warning(trust) == (
        f"Trust: 3 calls are {by_kerberos.format('10.0 %')} how long they took can be seen, not "
        f"what they did. {named} The figures are those of the rest."
    )
    # Of NFSv3 alone nothing else is said.
    alone = replace(trust, sealed=replace(sealed, calls=6))
    assert trust_sentences(alone, samples.capture())[1] == named


def test_connections_that_were_cut_before_a_call_tells_what_it_is_are_told() -> None:
    cut = replace(samples.sealing(), cut_connections=2, cut_bytes=4096, cut_share=0.75)
    trust = replace(samples.trust(), sealed=cut, complete=False)
    told = (
        "Of 2 connections, with 4.00 KiB or 75.0 % of all payload, no call can be seen: packets "
        "were cut before a call tells what it is."
    )
    assert trust_sentences(trust, samples.capture())[1] == told
    assert no_verdict(trust) == (
        "No verdict on what the time went into: most of the traffic cannot be read. "
        f"{told} Capture again with whole packets (tcpdump -s 0), or 512 bytes of each (-s 512)."
    )
    assert no_verdict(replace(trust, sealed=replace(cut, cut_share=0.2))) == ""


def test_a_pause_of_which_nothing_tells_is_told() -> None:
    trust = replace(samples.trust(), untold_pause_s=3600.0, untold_pause_frame=77)
    assert trust_sentences(trust, samples.capture())[0] == (
        "For 60 m 0 s before frame 77 nothing was captured, and no TCP timestamps of both ends "
        "tell whether the clock of the capturing host was set forward meanwhile: look into its "
        "log."
    )


def test_where_the_header_does_not_tell_where_packets_were_cut_the_payload_does() -> None:
    trust = replace(samples.trust(), truncated_packets=7, kept_bytes=30.0)
    capture = replace(samples.capture(), snaplen=262144)
    told = "7 packets were cut, which left 30 B of payload in each on average."
    assert trust_sentences(trust, capture)[1] == told


def test_one_is_not_many() -> None:
    one = replace(
        samples.trust(), rpc_calls=8, matched=7, matched_share=0.875, unanswered=1,
        unanswered_at_end=1, orphan_replies=1, orphan_replies_at_start=1, complete=False,
    )  # fmt: skip
    assert trust_sentences(one, replace(samples.capture(), limits_hit={"record_limit": 1})) == [
        "87.5 % of the calls have their reply; 1 of 8 has none, sent as the capture ended.",
        "1 reply without call, as the capture began.",
        "Limits of the decoder were reached: record_limit 1 time.",
    ]


def test_packets_that_were_mixed_up_are_told() -> None:
    told = replace(samples.trust(), late_packets=1)
    assert trust_sentences(told, samples.capture())[0] == (
        "1 packet stands behind others that came later, and was taken in order of time; frame "
        "numbers are those of the file. Wireshark needs reordercap for that."
    )


def test_that_most_messages_were_cut_is_told_above_every_screen() -> None:
    """Else `sizes` and others only say that nothing is known, and not why."""
    trust = replace(
        samples.trust(), rpc_calls=10, rpc_replies=10, undecoded_reasons={"truncated": 10}
    )
    assert warning(trust) == (
        "Trust: 10 of 20 messages were cut (tcpdump -s): what lay beyond is not known."
    )
    assert warning(replace(trust, undecoded_reasons={"truncated": 9})) == ""
    assert warning(replace(trust, undecoded_reasons={"malformed": 10})) == ""
