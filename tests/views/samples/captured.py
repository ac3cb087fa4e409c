"""What was captured, how far it can be trusted, and by whom it was made."""

from __future__ import annotations

from pcapnfs.analyses.captured.capture import Capture
from pcapnfs.analyses.captured.sealing import Sealing
from pcapnfs.analyses.captured.trust import Trust
from pcapnfs.analyses.mounts.software import Changed, Kind, Software
from pcapnfs.annotation import Annotation
from pcapnfs.decoding import Decoded
from pcapnfs.meta import Stream
from pcapnfs.record import replace
from pcapnfs.redaction import Redaction
from pcapnfs.verify.dissection import Line, Message, Reading, Shown
from pcapnfs.verify.verification import Aspect, Difference, Overruled, Verification
from tests.views.samples.rendering import HOSTILE


def capture() -> Capture:
    return Capture(
        files=("tar-x.pcap",),
        streams=(Stream(("tar-x.pcap",), 0),),
        format="pcap",
        link_types=("ETHERNET",),
        packets=24000,
        packet_kinds={"rpc": 20000, "tcp": 4000},
        bytes=5 << 20,
        start="2026-08-01T12:00:00.000000000Z",
        end="2026-08-01T12:01:01.000000000Z",
        duration_s=61.0,
        snaplen=None,
        truncated_packets=0,
        cut_to=None,
        dropped_packets=None,
        damage=(),
        followers=0,
        trailing_bytes=0,
        vlan_tags=0,
        hidden=False,
        copies_apart=0,
        apart_s=None,
        limits_hit={},
        clients=("10.0.0.2",),
        servers=("10.0.0.1",),
        protocols=("3", "mount3"),
        data_servers=(),
        data_connections=0,
        data_calls=0,
    )


def software() -> Software:
    linux = "Linux 6.1.176 #1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 x86_64 (kernel.org)"
    return Software(
        clients=(Kind(linux, "implementation", 1, ("10.0.0.2",), 8),),
        servers=(Kind("NetApp Release 9.6.0 (netapp.com)", "implementation", 1, ("10.0.0.1",), 9),),
        changed=(Changed("client", "10.0.0.2", "Linux 5.14.0 #1 SMP (kernel.org)", linux, 5000),),
    )


def sealing() -> Sealing:
    """Nothing is sealed."""
    return Sealing(
        connections=0,
        sealed_bytes=0,
        bytes_share=0.0,
        calls=0,
        calls_share=0.0,
        named_calls=0,
        named_share=0.0,
        named_unknown=0,
        cut_connections=0,
        cut_bytes=0,
        cut_share=0.0,
    )


def trust() -> Trust:
    return Trust(
        rpc_calls=10000,
        rpc_replies=10000,
        matched=10000,
        matched_share=1.0,
        unanswered=0,
        unanswered_at_end=0,
        orphan_replies=0,
        orphan_replies_at_start=0,
        calls_alone=0,
        replies_alone=0,
        callbacks_alone=0,
        answers_alone=0,
        retransmitted_calls=0,
        duplicate_replies=0,
        assumed_outcomes=0,
        clocks_apart_s=None,
        times_untold=False,
        clock_tick_s=None,
        clock_stands=False,
        negative_times=0,
        undecoded=0,
        undecoded_reasons={},
        sealed=sealing(),
        missing_bytes=0,
        bytes_alone=0,
        truncated_bytes=0,
        kept_bytes=None,
        truncated_packets=0,
        dropped_packets=None,
        untimed_packets=0,
        mistimed_packets=0,
        late_packets=0,
        forgotten_files=0,
        lacking_share=0.0,
        set_back=0,
        set_back_s=0.0,
        set_back_frame=None,
        set_forward=0,
        set_forward_s=0.0,
        set_forward_frame=None,
        untold_pause_s=None,
        untold_pause_frame=None,
        damaged_files=0,
        complete=True,
    )


def poor_trust() -> Trust:
    return replace(
        trust(),
        matched=9000,
        matched_share=0.9,
        unanswered=1000,
        unanswered_at_end=2,
        orphan_replies=5,
        orphan_replies_at_start=1,
        rpc_replies=9005,
        retransmitted_calls=1,
        assumed_outcomes=3,
        negative_times=1,
        undecoded=8,
        undecoded_reasons={"encrypted": 7, HOSTILE: 1},
        missing_bytes=2048,
        truncated_packets=12,
        dropped_packets=3,
        complete=False,
    )


def verification() -> Verification:
    return Verification(
        tshark="4.0.17",
        packets=50000,
        calls=1200,
        tshark_calls=1199,
        pairs=1199,
        repeated=2,
        resent=1,
        unexplained=1,
        aspects=(Aspect("call", 1199, 1199), Aspect("service time", 1199, 1198)),
        differences=(
            Difference("service time", None, None, 1, (17,)),
            Difference("only pcapnfs", "behind_gap", "bytes are missing", 1, (4, 5, 9)),
        ),
        overruled=(Overruled("tcp", 993, "tls"), Overruled("tcp", 705, HOSTILE)),
        stopped="The file appears to be damaged",
        options=("-d", "tcp.port==2049,rpc"),
    )


def annotation() -> Annotation:
    return Annotation(
        packets=5000, frames=48, comments=53, findings=2, slowest=20, phases=3, damage=()
    )


def redaction() -> Redaction:
    replaced = {"addresses": 2, "handles": 4000, "hosts": 2000, "names": 1200, "users": 6000}
    return Redaction(
        packets=5000, messages=4000, replaced=replaced, removed_bytes=3 << 20, damage=None
    )


def shown() -> Shown:
    lines = (Line(0, "rpc", "Remote Procedure Call, Type:Call"), Line(1, "rpc.xid", "XID: 0x7"))
    reading = Reading(
        call=1,
        version="4.2",
        signature="SEQUENCE PUTFH RENAME",
        path="src",
        name="old" + HOSTILE,
        new_name="new",
        client="10.0.0.2",
        server="10.0.0.1",
        callback=False,
        uid=1000,
        stability="unstable_write",
        status="NFS4_OK",
        srt_s=0.0125,
        transmissions=2,
        undecoded="truncated",
        messages=(Message(10, "call", lines), Message(12, "reply", ())),
    )
    alone = replace(
        reading, name=None, new_name=None, uid=None, status=None, srt_s=None, transmissions=1,
        undecoded=None, callback=True, messages=(Message(10, "call", lines),),
    )  # fmt: skip
    return Shown(10, "4.0.17", 5, (reading, alone), None, ())


def decoded() -> Decoded:
    """Two independent captures, of which one breaks off."""
    return Decoded(
        trace="week.nfstrace",
        captures=("monday.pcap", "tue\x1b[2Jsday.pcap"),
        parts=2,
        packets=12345,
        calls=678,
        undecoded=1,
        forgotten_files=0,
        bytes=4321,
        damage=("monday.pcap: packet 7 breaks off",),
    )
