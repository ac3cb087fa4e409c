"""Results with round numbers, for views: no trace needed."""

from __future__ import annotations

from rich.console import Console, RenderableType

from pcapnfs.analyses.asking.service_time import ServiceTime
from pcapnfs.analyses.by_file.costs import Total
from pcapnfs.analyses.by_file.files import Distribution, Files
from pcapnfs.analyses.by_file.patterns import Example, PatternClass, Patterns, Run
from pcapnfs.analyses.by_file.perfile import FileCost, PerFile
from pcapnfs.analyses.by_file.pergroup import GroupCost, PerGroup
from pcapnfs.analyses.by_file.sequence import FileSequence, KnownName, Operation, Sequence, Step
from pcapnfs.analyses.by_file.sizes import Fit, SizeBin, Sizes
from pcapnfs.analyses.caching.cache import Cache, FileCache, Interval
from pcapnfs.analyses.caching.delegations import Delegations
from pcapnfs.analyses.captured.capture import Capture
from pcapnfs.analyses.captured.sealing import Sealing
from pcapnfs.analyses.captured.trust import Trust
from pcapnfs.analyses.forecasts.client_forecasts import ClientForecast
from pcapnfs.analyses.forecasts.inputs import Input
from pcapnfs.analyses.forecasts.model import Model
from pcapnfs.analyses.forecasts.verdict import Cause, ClientVerdict
from pcapnfs.analyses.forecasts.verdict import Verdict as Bottleneck
from pcapnfs.analyses.forecasts.what_if import Scenario
from pcapnfs.analyses.locks.lock_gaps import LockGaps
from pcapnfs.analyses.mounts.mount_options import Mount, Verdict
from pcapnfs.analyses.mounts.sessions import Session
from pcapnfs.analyses.mounts.software import Changed, Kind, Software
from pcapnfs.analyses.namespace.readdir import DirectoryListing, FollowUps, Readdir
from pcapnfs.analyses.times.budget import Budget
from pcapnfs.analyses.times.call_times import KindOfStable
from pcapnfs.analyses.times.concurrency import NOBODY, Concurrency, Moment
from pcapnfs.analyses.times.course import Course, Part
from pcapnfs.analyses.times.distributions import OperationSpread, Spreads
from pcapnfs.analyses.times.operations import OperationCount, OperationTimes, SignatureTimes
from pcapnfs.analyses.times.phases import Phase, PhaseOperation
from pcapnfs.analyses.times.stability import Stability, StabilityRow
from pcapnfs.analyses.times.time_budget import TimeBudget
from pcapnfs.analyses.wire.loss_rate import LossRate
from pcapnfs.analyses.wire.network import Loss, Network, Path
from pcapnfs.analyses.wire.round_trip import Half, RoundTrip
from pcapnfs.analyses.wire.slower_path import SlowerPath
from pcapnfs.annotation import Annotation
from pcapnfs.comparison.cause import Cause as Setting
from pcapnfs.comparison.clients import ClientChange, ClientForetold, ClientPart, ClientRun
from pcapnfs.comparison.comparing import Comparison
from pcapnfs.comparison.comparing import Run as ComparedRun
from pcapnfs.comparison.foretold import Foretold
from pcapnfs.comparison.matching import (
    FileChange,
    FileChanges,
    FindingChange,
    PatternChange,
    PatternChanges,
)
from pcapnfs.comparison.operations import OperationChange
from pcapnfs.comparison.waterfall import Step as WaterfallStep
from pcapnfs.decoding import Decoded
from pcapnfs.diagnosis.finding import Advice, Finding, Subject
from pcapnfs.diagnosis.judging import Findings, Judged
from pcapnfs.record import replace
from pcapnfs.redaction import Redaction
from pcapnfs.report import Mark, Report
from pcapnfs.summary import Summary
from pcapnfs.verify.dissection import Line, Message, Reading, Shown
from pcapnfs.verify.verification import Aspect, Difference, Overruled, Verification

HOSTILE = "\x1b[31m[bold]<script>\u202e"
"""An escape sequence, Rich's markup, HTML's, and a bidirectional override."""

TIMES = ServiceTime(1200, 30e-6, 1.25e-3, 1e-3, 2e-3, 4e-3, 0.25, 1.5)

NO_TIMES = ServiceTime(0, None, None, None, None, None, None, 0.0)


def capture() -> Capture:
    return Capture(
        files=("tar-x.pcap",),
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
        vlan_tags=0,
        hidden=False,
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


def stability() -> Stability:
    stable = StabilityRow(4000, 12.0, 3e-3, 2.5e-3, 0.4, 0.8)
    nothing = StabilityRow(0, 0.0, None, None, 0.0, 0.0)
    return Stability(
        stable=stable,
        unstable=StabilityRow(6000, 3.0, 0.5e-3, 0.4e-3, 0.6, 0.2),
        unstable_write=nothing,
        read=nothing,
        state=nothing,
        unknown=nothing,
        total=StabilityRow(10000, 15.0, 1.5e-3, 1e-3, 1.0, 1.0),
        unlisted=StabilityRow(1000, 1.0, 1e-3, 1e-3, 0.1, 0.0667),
    )


def budget(client: str | None = "10.0.0.2", clients: int = 1) -> Budget:
    return Budget(
        client=client,
        clients=clients,
        wall_s=61.0 * clients,
        stable_s=30.5 * clients,
        unstable_s=6.1 * clients,
        unstable_write_s=0.061 * clients,
        read_s=0.0,
        state_s=0.0,
        unknown_s=0.0,
        transfer_s=12.2 * clients,
        waiting_s=0.001 * clients,
        client_s=12.138 * clients,
        concurrency=1.25,
        calls=10000,
        added_s=0.0 if clients == 1 else 0.00045,
        placed_share=1.0 if clients == 1 else 0.25,
    )


def phase(name: str = "CREATE, WRITE", start_s: float = 0.5, client: str = "10.0.0.2") -> Phase:
    return Phase(
        client=client,
        name=name,
        start="2026-08-01T12:00:00.500000000Z",
        start_s=start_s,
        pause_s=0.5,
        calls=5000,
        files=1000,
        operations=(
            PhaseOperation(name.partition(",")[0], 3000, 20.0),
            PhaseOperation("LOOKUP", 2000, 0.25),
        ),
        budget=budget(client),
    )


def time_budget(*clients: str) -> TimeBudget:
    return TimeBudget(
        total=budget(None, 30 if len(clients) > 1 else 1),
        clients=tuple(budget(client) for client in clients),
        phases=tuple(
            phase(client=client, name=name, start_s=start_s)
            for client in clients
            for name, start_s in (("CREATE, WRITE, SETATTR", 0.5), ("REMOVE", 45.0))
        ),
    )


def lock_gaps() -> tuple[LockGaps, ...]:
    return (LockGaps("10.0.0.2", 1.5),)


def round_trip() -> RoundTrip:
    return RoundTrip(
        client="10.0.0.2",
        server="10.0.0.1",
        calls=10000,
        connections=5,
        client_side=Half(262e-6, "acks", 241e-6, 3, 270e-6, 37, 262e-6, 1200, 300e-6, 0, None),
        server_side=Half(18e-6, "handshake", 5e-6, 3, 18e-6, 0, None, 1201, 30e-6, 10000, 40e-6),
        path_s=280e-6,
        vantage="server",
        ratio=48.2,
        addition_s=262e-6,
    )


def slower_path() -> SlowerPath:
    return SlowerPath(
        client="10.0.0.2",
        server="10.0.0.1",
        side="client",
        connections=1,
        from_ns=1_700_000_000_000_000_000,
        until_ns=1_700_000_030_000_000_000,
        rtt_s=60.3e-3,
        usual_s=262e-6,
        acks=12,
        turns=200,
        full=11,
        soon=12,
        confidence="certain",
        calls=0,
        longer_s=0.0,
        time_s={},
        full_bytes_per_s=None,
        frames=(),
    )


def loss_rate() -> LossRate:
    return LossRate(
        client="10.0.0.2",
        server="10.0.0.1",
        sender="server",
        connections=4,
        lost=40,
        lost_share=0.005,
        segment_bytes=1448,
        rtt_s=10.3e-3,
        moved_bytes=12 << 20,
        moving_s=6.0,
        bytes_per_s=float(2 << 20),
        allowed_bytes_per_s=float(9 << 18),
        time_s=5.5,
    )


def network() -> Network:
    loss = Loss(24000, 12, 1, 13 / 24000, 20, 2048, 3, 0.0, 0.125)
    nothing = Loss(0, 0, 0, None, 0, 0, 0, 0.0, 0.0)
    near = Path(
        round_trip=round_trip(),
        nfs_connections=4,
        nfs_connections_at_once=4,
        transports=("TCP", "UDP"),
        flavors={"AUTH_SYS": 9990, "AUTH_NONE": 10},
        rsize_bytes=1 << 17,
        wsize_bytes=1 << 18,
        max_read_bytes=1 << 20,
        max_write_bytes=1 << 20,
        resent_calls=2,
        loss=loss,
        concurrency=Concurrency(1.25, 7, 15.0, 61.0),
    )
    hidden = Half(None, "none", None, 0, None, 0, None, 0, None, 0, None)
    bound = Half(2e-3, "gaps", None, 0, None, 0, None, 0, None, 63, 2e-3)
    unknown = replace(
        near,
        round_trip=RoundTrip(
            "10.0.0.3", "10.0.0.1", 64, 1, bound, hidden, None, "unknown", None, 2e-3
        ),
        transports=("UDP",),
        flavors={},
        rsize_bytes=None,
        max_read_bytes=None,
        resent_calls=0,
        loss=nothing,
        concurrency=NOBODY,
    )
    return Network(
        clients=2,
        servers=1,
        connections=6,
        tcp_rtt_s=280e-6,
        rtt_source="acks",
        vantage="server",
        slower_paths=(slower_path(),),
        resent_calls=2,
        loss=loss,
        loss_rates=(loss_rate(),),
        concurrency=Concurrency(1.25, 7, 15.0, 61.0),
        timeline=tuple(Moment(place * 1.0, 10, place % 7 * 0.5) for place in range(60)),
        sessions=3,
        shown_sessions=(
            Session("52" * 16, ("10.0.0.2",), ("10.0.0.1", "10.0.1.1"), 4, 462, 64, 8, 30, 64),
            Session("53" * 16, ("10.0.0.3",), ("10.0.0.1",), 1, 64, None, 1, None, None),
        ),
        paths=(near, unknown),
    )


def poor_network() -> Network:
    """What a capture without TCP and without answers says."""
    path = network().paths[1]
    return replace(
        network(),
        tcp_rtt_s=None,
        rtt_source="none",
        vantage="unknown",
        slower_paths=(),
        resent_calls=0,
        loss=path.loss,
        loss_rates=(),
        concurrency=NOBODY,
        timeline=(),
        sessions=0,
        shown_sessions=(),
        paths=(path,),
    )


def summary() -> Summary:
    spread = Distribution(12.5, 12.0, 14.0, 20)
    return Summary(
        verdict=bottleneck(),
        findings=findings().findings,
        judged=findings().judged,
        capture=capture(),
        software=software(),
        trust=trust(),
        operations=(
            OperationTimes("3", "CREATE", 1200, 3, 1197, 2, TIMES),
            OperationTimes("nfsacl3", "GETACL", 7, 0, 0, 0, NO_TIMES),
        ),
        signatures=(SignatureTimes("4.1", "OPEN", "SEQUENCE PUTFH OPEN", 1, 0, 0, 0, NO_TIMES),),
        op_counts=(OperationCount("3", "CREATE", 1200, 1200, 3),),
        stability=stability(),
        time_budget=(budget(),),
        time_budget_total=replace(budget(), client=None),
        lock_gaps=lock_gaps(),
        stood_still_s={},
        phases=(phase(), phase("REMOVE", 45.0)),
        files=Files(1000, 10, 1, 3, 2, 0, spread, Distribution(4.0, 4.0, 5.0, 6), 0, 1 << 20),
        patterns=patterns(),
        sizes=sizes(),
        readdir=readdir(),
        cache=cache(),
        network=network(),
        model=model(),
    )


def bottlenecks(*clients: str) -> Bottleneck:
    """A verdict on several clients, and on more that are not told."""
    one = bottleneck()
    each = tuple(
        ClientVerdict(
            client=client,
            clock_s=100.0,
            waited_s=12.5,
            active_s=100.0,
            sentence=f"{client} waited 12.5 s for calls: {one.sentence}",
            named=one.named,
            storage=one.storage,
            causes=one.causes,
        )
        for client in clients
    )
    return replace(
        one,
        sentence=" ".join(told.sentence for told in each),
        client=clients[0],
        clients=each,
        rest="4 more clients waited 3.00 s for calls together.",
    )


def bottleneck() -> Bottleneck:
    return Bottleneck(
        sentence="The time went into persistence 80.0 % (4 000 stable calls waited 2.50 ms each "
        "for storage); round trips 20.0 %.",
        named=("persistence",),
        storage="flash",
        causes=(
            Cause("persistence", 10.0, 0.8),
            Cause("round_trips", 2.5, 0.2),
            Cause("transfer", 0.0, 0.0),
            Cause("waiting", 0.0, 0.0),
            Cause("server", 0.0, 0.0),
            Cause("client", 0.0, 0.0),
        ),
    )


def model() -> Model:
    return Model(
        files=1000,
        rpcs_per_file=10.0,
        rtt_s=0.5e-3,
        rtt_source="calls",
        network_rtt_s=0.4e-3,
        syncops_per_file=4.0,
        persist_s=2.5e-3,
        predicted_s=15.0,
        other_s=0.5,
        client_s=3.0,
        concurrency=1.25,
        forecast_s=15.4,
        forecast_low_s=15.1,
        forecast_high_s=15.7,
        measured_s=15.4,
        holdout_error=0.021,
        single_s=None,
        counted="files",
        calls=10000,
        stable_calls=4000,
        small_calls=5000,
        vantage="server",
        transfer_s=0.25,
        waiting_s=0.0,
        pauses_s=2.0,
        unknown_calls=0,
        unseen_replies=0,
        unsure_s=0.0,
        client_number=1,
        clients=(),
        usual_s=480e-6,
        slow_s=0.1,
        clock_tick_s=None,
        absorbs_rtt=True,
        held_down_s=0.0,
        persist_by_op=(
            KindOfStable("WRITE", 1000, 4e-3),
            KindOfStable("CREATE", 1000, 2e-3),
            KindOfStable("MKDIR", 10, None),
        ),
        resent=False,
        inputs=(
            Input("files", 1000.0, 1000.0, "counted"),
            Input("rpcs_per_file", 10.0, 10.0, "counted"),
            Input("rtt_s", 0.5e-3, 0.5e-3, "calls"),
            Input("syncops_per_file", 4.0, 4.0, "counted"),
            Input("persist_s", 2.5e-3, 2.5e-3, "calls"),
            Input("concurrency", 1.25, 1.25, "calls"),
            Input("client_s", 0.1e-3, 0.1e-3, "calls"),
        ),
        missing=(),
        what_if=(
            Scenario("measured", None, 15.4, 15.1, 18.9, 1.0),
            Scenario("async", 0.0, 7.4, 7.3, 8.5, 2.081),
            Scenario("log_device", 0.0001, 7.72, 7.6, 8.9, 1.995),
            Scenario("rtt", 0.0002, 13.8, 13.5, 16.9, 1.116),
            Scenario("streams", 8.0, 4.94, 2.2, 12.7, 3.117),
            Scenario("readdirplus", 1120.0, 14.8, 14.5, 18.0, 1.04),
            Scenario("wsize", 1048576.0, 14.1, 13.9, 17.0, 1.09),
            Scenario("local", None, 4.2, 4.1, 4.5, 3.667),
        ),
        verdict=bottleneck(),
    )


def client_forecasts(*clients: str) -> tuple[ClientForecast, ...]:
    """Of clients of which only the first has stable calls enough."""
    told = ("measured", "async", "log_device", "rtt", "local")
    return tuple(
        ClientForecast(
            client=client,
            calls=1000,
            stable_calls=0 if place else 400,
            rtt_s=0.5e-3,
            persist_s=None if place else 2.5e-3,
            concurrency=1.0,
            measured_s=15.4,
            what_if=tuple(
                each
                for each in model().what_if
                if each.change in (("measured", "rtt") if place else told)
            ),
        )
        for place, client in enumerate(clients)
    )


def poor_model() -> Model:
    """Nothing but a few stable calls, and a persistence that was given too late."""
    return replace(
        model(),
        rtt_s=None,
        rtt_source="none",
        network_rtt_s=None,
        persist_s=None,
        predicted_s=None,
        other_s=None,
        client_s=None,
        forecast_s=None,
        forecast_low_s=None,
        forecast_high_s=None,
        holdout_error=None,
        single_s=None,
        stable_calls=5,
        small_calls=0,
        vantage="between",
        absorbs_rtt=None,
        held_down_s=0.0,
        persist_by_op=(KindOfStable(HOSTILE, 5, None),),
        inputs=(
            Input("files", 1.0, 1.0, "counted"),
            Input("rtt_s", None, None, "none"),
            Input("persist_s", None, None, "none"),
        ),
        missing=("rtt", "stable_calls"),
        what_if=(),
        verdict=None,
    )


def file_cost(path: str = "src/deeply/nested/directory/with/a/long/path/to/main.c") -> FileCost:
    return FileCost(
        file=1,
        path=path,
        export="/srv",
        server="10.0.0.1",
        handle="0102",
        fileid=7,
        role="file",
        type="REG",
        size_bytes=1000,
        removed=False,
        calls=12,
        ops={"GETATTR": 6, "WRITE": 3, "SETATTR": 2, "CREATE": 1},
        stable_calls=6,
        directory_calls=0,
        time_s=0.0123,
        stable_s=0.012,
        unstable_s=0.0003,
        bytes_read=0,
        bytes_written=1000,
        errors=1,
        revalidations=2,
        retransmitted=0,
        first_frame=13,
        last_frame=36,
        first_s=0.1,
        last_s=0.2,
        lifetime_s=0.1,
    )


def perfile(*files: FileCost) -> PerFile:
    shown = files or (file_cost(), file_cost("a"))
    return PerFile(
        files=shown,
        sort="time",
        shown=Total(len(shown), 24, 12, 0.0246),
        listed=Total(1000, 12000, 6000, 12.3),
        not_matched=Total(0, 0, 0, 0.0),
        left_out=Total(7, 70, 0, 0.07),
        without_file=Total(0, 3, 0, 0.003),
        total=Total(1007, 12073, 6000, 12.373),
    )


def pergroup(group: str | None = "src/lib") -> PerGroup:
    cost = GroupCost(group, 12, 144, 72, 0.5, 0.4, 0.1, 4096, 0, 1, 24, 0, 1, 300, 0.0, 1.0)
    return PerGroup(
        by="extension",
        groups=(cost, replace(cost, group=None)),
        group_count=5,
        listed=Total(24, 288, 144, 1.0),
        not_matched=Total(1, 3, 0, 0.001),
        left_out=Total(0, 0, 0, 0.0),
        without_file=Total(0, 3, 0, 0.003),
        total=Total(25, 294, 144, 1.004),
    )


def pattern_class(step: str = "WRITE[FILE_SYNC]", path: str = "src/main.c") -> PatternClass:
    example = Example(1, path, 13, 36, 0.0123)
    return PatternClass(
        pattern=f"CREATE SETATTR {step} SETATTR",
        runs=(Run("CREATE", 1, 1), Run("SETATTR", 1, 1), Run(step, 1, 16), Run("SETATTR", 3, 3)),
        kind="file",
        files=1000,
        files_share=0.9,
        calls=12000,
        calls_per_file=12.0,
        stable_calls=6000,
        stable_per_file=6.0,
        time_s=12.3,
        time_share=0.82,
        time_per_file_s=0.0123,
        stable_s=11.0,
        lifetime_s=0.02,
        example=example,
        slowest=replace(example, file=2, path="src/slow.c", time_s=0.1),
    )


def patterns(*classes: PatternClass) -> Patterns:
    cut = replace(
        pattern_class(), pattern="GETATTR ACCESS …", kind="directory", files=1,
        runs=(Run("GETATTR", 2, 2), Run("ACCESS", 1, 1)), calls_per_file=4000.5,
    )  # fmt: skip
    shown = classes or (pattern_class(), cut)
    return Patterns(
        classes=shown,
        class_count=len(shown) + 2,
        shown=Total(1001, 16000, 6000, 12.9),
        others=Total(7, 70, 0, 0.07),
        without_file=Total(0, 3, 0, 0.003),
        total=Total(1008, 16073, 6000, 12.973),
    )


def sizes() -> Sizes:
    return Sizes(
        files=1000,
        unknown=2,
        empty=1,
        total_bytes=1 << 22,
        mean_bytes=4194.3,
        p50_bytes=1000.0,
        p95_bytes=9000.5,
        max_bytes=1 << 20,
        mtu_bytes=1500,
        bins=(
            SizeBin(184, 1, 0.001, 0.001),
            SizeBin(368, 0, 0.0, 0.001),
            SizeBin(736, 899, 0.899, 0.9),
            SizeBin(1472, 100, 0.1, 1.0),
        ),
        frame=Fit(1472, "handshake", 1000, 1.0),
        jumbo_frame=Fit(8972, "assumed", 1000, 1.0),
        read=Fit(None, "unknown", None, None),
        write=Fit(32768, "calls", 900, 0.9),
    )


def sequence(path: str = "src/main.c", name: str = "main.c") -> Sequence:
    data = Operation(
        "WRITE", True, "NFS4_OK", "stable", None, None, 4096, 8192, 4096, "UNSTABLE", "FILE_SYNC",
        None,
    )  # fmt: skip
    opened = replace(
        data, op="OPEN", name=name, offset_bytes=None, requested_bytes=None, done_bytes=None,
        requested_level=None, committed_level=None,
    )  # fmt: skip
    step = Step(
        call=1,
        step="OPEN(create)",
        version="4.2",
        call_first_frame=13,
        call_frame=13,
        reply_first_frame=14,
        reply_frame=14,
        start_s=0.5,
        gap_s=None,
        srt_s=0.02,
        stability="stable",
        status=None,
        client="10.0.0.2",
        uid=1000,
        transmissions=1,
        operations=(replace(opened, op="SEQUENCE", name=None), opened),
    )
    written = replace(
        step, call=2, step="WRITE[FILE_SYNC]", call_first_frame=15, call_frame=17,
        reply_first_frame=18, reply_frame=18, gap_s=0.001, srt_s=0.01, operations=(data,),
    )  # fmt: skip
    closed = replace(
        written, call=3, step="CLOSE?", call_first_frame=20, call_frame=20, reply_first_frame=None,
        reply_frame=None, srt_s=None, stability="unknown", status=None, transmissions=2,
        operations=(), uid=None,
    )  # fmt: skip
    refused = replace(
        written, call=4, step="REMOVE!", srt_s=0.0004, stability="unstable",
        status="NFS4ERR_ACCESS", operations=(replace(opened, op="REMOVE", executed=False),),
    )  # fmt: skip
    shown = FileSequence(
        file=1,
        path=path,
        export="/srv",
        server="10.0.0.1",
        handles=("0102", "0103"),
        fileid=7,
        role="file",
        size_bytes=8192,
        removed=True,
        names=(KnownName(f"{path}.new", 14, 0.52, 30, 1.5), KnownName(path, 30, 1.5, None, None)),
        calls=200,
        stable_calls=2,
        time_s=0.0304,
        stable_s=0.03,
        lifetime_s=1.0,
        steps=(step, written, closed, refused),
    )
    return Sequence(matches=3, others=(f"{path}.orig",), files=(shown,))


def readdir() -> Readdir:
    return Readdir(
        readdir_calls=2,
        readdirplus_calls=1,
        unknown_calls=0,
        v4_plain_calls=0,
        v4_plus_calls=0,
        directories=3,
        listings=1,
        entries=3002,
        bytes=169920,
        time_s=0.0869,
        largest_request_bytes=131072,
        plus_lost=1,
        plus_won_back=0,
        revalidations=4,
        revalidation_s=0.0217,
        follow_ups=1321,
        follow_up_s=7.3,
        after_plain=FollowUps(1208, 1208, 0, 0, 6.5, 6.4),
        after_plus=FollowUps(113, 0, 100, 13, 0.8, 0.7),
        spared=1100,
        spared_perhaps=40,
        plus_entries=397,
        untouched=20,
        sort="time",
        shown=(
            DirectoryListing(
                file=1,
                path="src/deeply/nested/directory/with/a/long/path/to/thumbnails",
                server="10.0.0.1",
                readdir_calls=2,
                readdirplus_calls=1,
                unknown_calls=0,
                listings=1,
                entries=3002,
                bytes=169920,
                time_s=0.0869,
                plus_lost=1,
                plus_won_back=0,
                revalidations=4,
                revalidation_s=0.0217,
                follow_ups=1321,
                follow_up_s=7.3,
                plus_entries=397,
                untouched=20,
            ),
        ),
    )


def cache() -> Cache:
    return Cache(
        revalidations=1478,
        by_getattr=1448,
        by_open=30,
        by_verify=0,
        first_sight=1,
        unchanged=1470,
        unchanged_share=0.9959,
        changed_by_self=4,
        changed_by_other=2,
        changed_by_unknown=0,
        unknown=1,
        without_file=0,
        objects=61,
        unasked=0,
        revalidation_s=3.57,
        invalidations=3,
        not_atomic=2,
        bytes_reread=1 << 20,
        bytes_saved=784 << 10,
        intervals=(
            Interval(0.0, 0.01, 320, 738),
            Interval(0.01, 0.1, 71, 189),
            Interval(0.1, 1.0, 0, 0),
            Interval(60.0, None, 2, 1),
        ),
        delegations=Delegations(90, 30, 1, 2, 31, 0.12, 0.08, 5),
        mounts=(
            Mount(
                client="10.0.0.2",
                server="10.0.0.1",
                verdicts=(
                    Verdict(
                        ("noac", "actimeo=0"),
                        "noac or actimeo=0",
                        "likely",
                        "asked for the unchanged directory between 209 of 209 moves from one child "
                        "to the next",
                        (101, 129, 157),
                    ),
                ),
                too_little=None,
                moves=209,
                moves_asked=209,
                visits=196,
                visits_asked_twice=142,
                returns=30,
                returns_looked_up=1,
                asked_shortest_s=None,
                unasked_longest_s=0.1,
            ),
            Mount("10.0.0.3", "10.0.0.1", (), None, 40, 1, 30, 2, 25, 0, None, 12.0),
        ),
        sort="time",
        files=(
            FileCache(
                file=1,
                path="src/deeply/nested/directory/with/a/long/path/to/main.c",
                client="10.0.0.2",
                server="10.0.0.1",
                role="file",
                revalidations=938,
                unchanged=935,
                changed_by_self=1,
                changed_by_other=2,
                invalidations=3,
                interval_p50_s=0.00187,
                time_s=2.31,
                bytes_reread=1 << 20,
                bytes_saved=784 << 10,
                recalls=2,
            ),
        ),
    )


def poor_cache() -> Cache:
    """Of a capture that hardly tells."""
    return Cache(
        revalidations=0,
        by_getattr=0,
        by_open=0,
        by_verify=0,
        first_sight=0,
        unchanged=0,
        unchanged_share=None,
        changed_by_self=0,
        changed_by_other=0,
        changed_by_unknown=0,
        unknown=0,
        without_file=5,
        objects=0,
        unasked=0,
        revalidation_s=0.0,
        invalidations=0,
        not_atomic=0,
        bytes_reread=0,
        bytes_saved=0,
        intervals=(Interval(0.0, None, 0, 0),),
        delegations=Delegations(0, 0, 0, 0, 0, 0.0, None, 0),
        mounts=(
            Mount(
                "10.0.0.2",
                "10.0.0.1",
                (),
                "1 move from one child of a directory to the next and 0 visits of files; 20 of "
                "either are needed",
                1,
                0,
                0,
                0,
                0,
                0,
                None,
                None,
            ),
        ),
        sort="time",
        files=(),
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


def render(renderable: RenderableType, width: int) -> str:
    """The text that a terminal of this width without colours shows."""
    console = Console(width=width, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get()


def findings() -> Findings:
    """Three findings: with and without cost, of a mount and of the whole capture."""
    pair = ("10.0.0.2", "10.0.0.1")
    return Findings(
        findings=(
            Finding(
                id="noac",
                severity="problem",
                title="The mount keeps no attributes (noac)",
                about=pair,
                alike=tuple(
                    Subject((f"10.0.0.{host}", "10.0.0.1"), cost_s, 1460)
                    for host, cost_s in ((2, 8.0), (3, 6.0), (4, 5.0), (5, 3.0), (6, 2.0))
                ),
                evidence="Alike for 5 clients (10.0.0.2, 10.0.0.3, 10.0.0.4 and 2 more); 7,300 "
                "calls in all; 2.00 s to 8.00 s each. 10.0.0.2, the first of them: 1,460 of 1,478 "
                "GETATTRs asked for attributes that had not changed and were younger than a "
                "second.",
                why="Each of them is a round trip, and every WRITE has to be on stable storage "
                "before the program goes on.",
                cost_s=20.5,
                cost_share=0.336,
                saving_s=24.0,
                advice=(
                    Advice("Mount without noac.", "other clients' changes are seen 3 s later."),
                    Advice("Where one file needs it, open that one with O_SYNC."),
                ),
                confidence="likely",
                data="5 clients; of the first: 1,478 GETATTRs, 60 WRITEs",
                frames=(12, 30, 31),
                display_filter="frame.number in {12, 30..31}",
                also=("getattr_storm",),
                origin="nfs(5), the attribute cache",
            ),
            Finding(
                id="negative_lookups",
                severity="warning",
                title="Programs look for names that do not exist",
                about=pair,
                alike=(),
                evidence="300 of 400 LOOKUPs found nothing.",
                why="Each of them is a round trip that gives nothing.",
                cost_s=1.25,
                cost_share=0.0205,
                saving_s=1.25,
                advice=(Advice("Put the directory that holds the file first."),),
                confidence="certain",
                data="400 LOOKUPs",
                frames=(),
                display_filter=None,
                also=(),
                origin="practice",
            ),
            Finding(
                id="server_capture",
                severity="note",
                title="The capture was taken at the server",
                about=(),
                alike=(),
                evidence="The server answers SYNs within 12 µs.",
                why="Service times hold no network.",
                cost_s=None,
                cost_share=None,
                saving_s=None,
                advice=(Advice("Capture at the client: tcpdump -i eth0 -s 0 port 2049."),),
                confidence="certain",
                data="1 connection",
                frames=(1,),
                display_filter="frame.number in {1}",
                also=(),
                origin="SPEC",
            ),
        ),
        checked=34,
        budget_s=61.0,
        booked_s=21.75,
    )


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


def report() -> Report:
    parts = tuple(
        Part(place * 1.0, 200, 100, 1.5, 1e-3, 20e-3)
        if place != 5
        else Part(5.0, 0, 0, 0.0, None, None)
        for place in range(60)
    )
    return Report(
        redacted=False,
        summary=summary(),
        spreads=Spreads(
            edges_s=(1e-4, 1e-3, 1e-2, 1e-1),
            operations=(
                OperationSpread("3", "CREATE", 1000, 20e-3, 30e-3, (0, 100, 900)),
                OperationSpread("3", "GETATTR", 10, 0.3e-3, 0.5e-3, (10, 0, 0)),
            ),
            hidden=1,
        ),
        course=Course(start_s=0.5, part_s=1.0, parts=parts),
        marks=(Mark(0, 14, 3.0), Mark(0, 15, 3.1), Mark(1, 99, 40.0)),
        perfile=perfile(file_cost(), file_cost("README")),
        sequences=sequence().files,
    )


def long_report() -> Report:
    """As much as a large capture gives."""
    base = report()
    files = tuple(
        replace(
            file_cost(f"d{place % 7}/file-{place}"),
            type="DIR" if place % 3 else "REG",
            size_bytes=place * 37 % 41 * 1000,
        )
        for place in range(40)
    )
    (found, *_) = sequence().files
    steps = tuple(replace(found.steps[place % len(found.steps)]) for place in range(40))
    return replace(
        base,
        summary=replace(
            base.summary,
            operations=base.summary.operations * 20,
            signatures=base.summary.signatures * 100,
            phases=tuple(phase(f"CREATE, WRITE {place}", place * 6.0) for place in range(10)),
            patterns=patterns(*(pattern_class(f"WRITE{place}") for place in range(10))),
        ),
        perfile=perfile(*files),
        sequences=tuple(replace(found, path=f"d/file-{place}", steps=steps) for place in range(8)),
    )


def poor_report() -> Report:
    """Of a capture in which nothing was answered."""
    base = report()
    nothing = Distribution(None, None, None, None)
    return replace(
        base,
        summary=replace(
            base.summary,
            verdict=None,
            findings=(),
            judged=Judged(checked=1, budget_s=0.0, booked_s=0.0),
            trust=poor_trust(),
            operations=(),
            signatures=(),
            time_budget=(),
            time_budget_total=replace(budget(None, 0), wall_s=0.0, calls=0, placed_share=None),
            phases=(),
            files=Files(None, None, None, None, None, None, nothing, nothing, 0, None),
            patterns=replace(patterns(), classes=(), class_count=0),
            sizes=replace(sizes(), files=0, bins=()),
            readdir=replace(readdir(), readdir_calls=0, readdirplus_calls=0, shown=()),
            cache=poor_cache(),
            network=poor_network(),
            model=poor_model(),
        ),
        spreads=Spreads((), (), 0),
        course=Course(None, None, ()),
        marks=(),
        perfile=perfile(),
        sequences=(),
    )


def comparison() -> Comparison:
    before = ComparedRun(
        captures=("captures/2026-11/client1-sync-export.pcap",),
        start="2026-11-21T03:42:14.000000000Z",
        run_s=30.0,
        known=True,
        files=200,
        clients=1,
        calls=1_240,
        only_null=False,
        stable_calls=1_220,
        servers=("10.0.0.1",),
        vantage="client",
        trust=trust(),
        rtt_source="calls",
        mounting_s=0.004,
    )
    return Comparison(
        before=before,
        after=replace(before, captures=("a.pcap0", "a.pcap1"), run_s=3.0),
        change_s=-27.0,
        factor=0.1,
        same_clients=True,
        as_one=True,
        clients=(),
        together=None,
        in_common=1.0,
        by_file=True,
        causes=(
            Setting(
                subject="storage",
                before="waited for",
                after="async export, log device, write cache or faster storage",
                confidence="likely",
                evidence="CREATE, SETATTR faster: CREATE took 20.0 ms before and 250 µs after "
                "(medians)",
            ),
            Setting(
                subject="attribute_cache",
                before="default",
                after="noac or actimeo=0",
                confidence="likely",
                evidence="asked for the unchanged directory between 209 of 209 moves",
            ),
        ),
        left_open=(),
        steps=(
            WaterfallStep("files", 200.0, 200.0, 0.0, 0.0, 0.0, False),
            WaterfallStep("rpcs_per_file", 6.2, 6.2, 0.0, 0.0, 0.0, False),
            WaterfallStep("rtt_s", 250e-6, 275e-6, 0.031, 0.02, 0.05, False),
            WaterfallStep("syncops_per_file", 6.1, 6.1, 0.0, 0.0, 0.0, False),
            WaterfallStep("persist_s", 22.0e-3, 100e-6, -27.0, -28.0, -26.0, True),
            WaterfallStep("client_s", 300e-6, 275e-6, -0.031, None, None, False),
        ),
        clear_from=0.05,
        foretold=(
            Foretold("files", 200.0, 30.0, 29.0, 31.0, 3.0, 9.0),
            Foretold("set_up", 200.0, 2.7, 2.5, 2.9, 3.0, -0.1),
            Foretold("calls", 200.0, 3.0, None, None, 3.0, 0.0),
        ),
        operations=(
            OperationChange(
                version="3",
                op="WRITE[FILE_SYNC]",
                stable=True,
                calls_before=200,
                calls_after=200,
                sum_before_s=8.0,
                sum_after_s=0.06,
                p50_before_s=40e-3,
                p50_after_s=0.3e-3,
                p95_before_s=60e-3,
                p95_after_s=0.5e-3,
                shift_s=-39.7e-3,
                superiority=0.0,
                p=1e-6,
                verdict="faster",
            ),
            OperationChange(
                version="3",
                op="FSINFO",
                stable=False,
                calls_before=2,
                calls_after=0,
                sum_before_s=0.5e-3,
                sum_after_s=0.0,
                p50_before_s=0.25e-3,
                p50_after_s=None,
                p95_before_s=0.25e-3,
                p95_after_s=None,
                shift_s=None,
                superiority=None,
                p=None,
                verdict="gone",
            ),
        ),
        files=FileChanges(
            both=205,
            only_before=1,
            only_after=2,
            both_before_s=28.0,
            both_after_s=0.5,
            only_before_s=0.1,
            only_after_s=0.02,
            files=(
                FileChange(
                    path="src/deeply/nested/directory/with/a/long/path/to/main.c",
                    calls_before=6,
                    calls_after=7,
                    stable_before=6,
                    stable_after=6,
                    time_before_s=0.16,
                    time_after_s=0.002,
                ),
            ),
        ),
        patterns=PatternChanges(
            both=1,
            came=1,
            went=0,
            patterns=(
                PatternChange(
                    where="both",
                    pattern="CREATE SETATTR WRITE[FILE_SYNC] SETATTR",
                    kind="file",
                    files_before=200,
                    files_after=190,
                    time_per_file_before_s=0.14,
                    time_per_file_after_s=0.002,
                ),
                PatternChange(
                    where="came",
                    pattern="CREATE SETATTR GETATTR WRITE[FILE_SYNC] GETATTR SETATTR GETATTR",
                    kind="file",
                    files_before=0,
                    files_after=10,
                    time_per_file_before_s=None,
                    time_per_file_after_s=0.003,
                ),
            ),
        ),
        findings=(
            FindingChange(
                where="came",
                id="no_attribute_cache",
                severity="problem",
                title="the client keeps no attributes: noac or actimeo=0",
                cost_before_s=None,
                cost_after_s=1.5,
            ),
        ),
    )


def compared_client() -> ClientChange:
    """One of several clients, on both sides."""
    before = ClientRun("10.0.0.2", "client1", None, 29.5, 27.9, 1_240, 1_220, 250e-6, 22.0e-3)
    after = ClientRun("10.0.0.2", "client1", None, 1.5, 0.9, 1_240, 1_220, 250e-6, 100e-6)
    return ClientChange(
        where="both",
        client="10.0.0.2",
        matched_by="address",
        before=before,
        after=after,
        change_s=-28.0,
        parts=(
            ClientPart("persistence", 27.0, 0.1, -26.9, True),
            ClientPart("client", 2.5, 0.6, -1.9, True),
            ClientPart("server", 0.0, 0.8, 0.8, False),
        ),
        foretold=(
            ClientForetold("set_up", 2.5, 1.5, 2.5 / 1.5 - 1),
            ClientForetold("calls", 2.5, 1.5, 2.5 / 1.5 - 1),
        ),
    )


def comparison_of_clients() -> Comparison:
    """Of three clients, one of which is on one side alone."""
    client = compared_client()
    assert client.before is not None
    other = replace(client.before, address="2001:db8:85a3:8d3:1319:8a2e:370:7348", machine="node9")
    same = replace(
        client,
        client=other.address,
        matched_by="machine",
        before=other,
        after=replace(other, address="2001:db8:85a3:8d3:1319:8a2e:370:9ff"),
        change_s=0.0,
        parts=(),
        foretold=(),
    )
    gone = replace(
        same, where="went", client="10.0.0.4", matched_by=None, after=None, change_s=None
    )
    both = replace(client, client=None, matched_by=None, change_s=-28.0, foretold=())
    whole = comparison()
    storage, cache = whole.causes
    return replace(
        whole,
        same_clients=True,
        as_one=False,
        causes=(storage, replace(cache, clients=("10.0.0.2",))),
        clients=(client, same, gone),
        together=both,
        steps=(),
        foretold=(),
    )


def poor_comparison() -> Comparison:
    """Nothing that could be told, of sides that are not alike."""
    whole = comparison()
    return replace(
        whole,
        after=replace(
            whole.before,
            run_s=30.0,
            vantage="server",
            trust=replace(
                trust(), truncated_packets=2_912, undecoded=1, missing_bytes=12_152, damaged_files=1
            ),
        ),
        change_s=0.0,
        factor=1.0,
        by_file=False,
        causes=(),
        left_open=("security",),
        steps=(),
        clear_from=0.105,
        foretold=(),
        operations=(),
        files=replace(whole.files, files=()),
        patterns=PatternChanges(both=0, came=0, went=0, patterns=()),
        findings=(),
    )
