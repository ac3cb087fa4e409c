"""The network, and what it lost."""

from __future__ import annotations

from pcapnfs.analyses.mounts.sessions import Session
from pcapnfs.analyses.times.concurrency import NOBODY, Concurrency, Moment
from pcapnfs.analyses.wire.full_windows import FullWindow
from pcapnfs.analyses.wire.half import Half
from pcapnfs.analyses.wire.loss_rate import LossRate
from pcapnfs.analyses.wire.network import Loss, Network, Path
from pcapnfs.analyses.wire.round_trip import RoundTrip
from pcapnfs.analyses.wire.slower_path import SlowerPath
from pcapnfs.record import replace


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


def full_window() -> FullWindow:
    return FullWindow(
        client="10.0.0.2",
        server="10.0.0.1",
        receiver="client",
        connections=1,
        busy_connections=2,
        window_bytes=65_536,
        scaled=True,
        rtt_s=0.02,
        turn_s=0.021,
        stood_s=1.5,
        time_s={"read": 0.5, "transfer": 0.9},
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
    loss = Loss(24000, 12, 1, 0, 13 / 24000, 20, 2048, 3, 0.0, 0.125)
    nothing = Loss(0, 0, 0, 0, None, 0, 0, 0, 0.0, 0.0)
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
        full_windows=(full_window(),),
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
        full_windows=(),
        concurrency=NOBODY,
        timeline=(),
        sessions=0,
        shown_sessions=(),
        paths=(path,),
    )
