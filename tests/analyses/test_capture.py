"""What was read."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.captured.capture import capture
from pcapnfs.meta import Meta
from tests.unit.rows import MILLISECOND, START_NS, call, meta, trace_of


def test_takes_several_files_together() -> None:
    first = meta(path="a.pcap").files[0]
    second = meta(
        path="b.pcapng",
        format="pcapng",
        snaplen=128,
        truncated_packets=3,
        start_ns=START_NS - 2_000 * MILLISECOND,
        dropped_packets=4,
        damage="breaks off at byte 99",
    ).files[0]
    told = Meta((first, second), {"rpc": 40}, {"record_limit": 1}, 2, 0)
    with trace_of(
        told, calls=[call(1, "NULL", 1), call(2, "MNT", 1, protocol="mount3", client="10.0.0.3")]
    ) as trace:
        result = capture(trace)
    assert result.files == ("a.pcap", "b.pcapng")
    assert (result.format, result.link_types) == ("pcap, pcapng", ("ETHERNET",))
    assert (result.packets, result.bytes, result.snaplen, result.truncated_packets) == (
        40,
        8192,
        128,
        3,
    )
    assert result.start == "2001-09-09T01:46:38.000000000Z"
    assert result.duration_s == 12.0
    assert (result.dropped_packets, result.damage) == (4, ("b.pcapng: breaks off at byte 99",))
    assert (result.clients, result.servers) == (("10.0.0.2", "10.0.0.3"), ("10.0.0.1",))
    assert (result.protocols, dict(result.limits_hit)) == (("3", "mount3"), {"record_limit": 1})


def test_without_packets_times_are_unknown() -> None:
    with trace_of(meta(start_ns=None, end_ns=None, snaplen=None)) as trace:
        result = capture(trace)
    assert (result.start, result.end, result.duration_s, result.snaplen) == (None, None, None, None)
    assert result.clients == ()


def test_data_servers_are_told_apart() -> None:
    connections = [
        {"connection": number, "client": "10.0.0.2", "server": server, "role": role}
        for number, (server, role) in enumerate(
            [
                ("10.0.0.1", "metadata server"),
                ("10.0.0.6", "data server"),
                ("10.0.0.5", "data server"),
                ("10.0.0.5", "data server"),
                ("10.0.0.7", "metadata and data server"),
                ("10.0.0.8", None),
            ]
        )
    ]
    calls = [call(1 + n, "READ", 1, connection=n) for n in (0, 1, 2, 2, 4, 5)]
    with trace_of(meta(), calls=calls, connections=connections) as trace:
        result = capture(trace)
    assert result.data_servers == ("10.0.0.5", "10.0.0.6")
    assert (result.data_connections, result.data_calls) == (3, 3)


@pytest.mark.parametrize(
    ("snaplen", "cut", "cut_to"),
    [
        (96, 20, 96),  # 4,096 bytes of packets: 20 of them may have been longer than 96.
        (262144, 20, None),
        (262144, 1, None),
        (0, 20, None),
        (None, 20, None),
        (96, 0, None),
    ],
)
def test_a_limit_that_packets_cannot_have_met_is_not_believed(
    snaplen: int | None, cut: int, cut_to: int | None
) -> None:
    with trace_of(meta(snaplen=snaplen, truncated_packets=cut)) as trace:
        assert capture(trace).cut_to == cut_to


def test_of_several_limits_the_smallest_is_told_if_all_are_known() -> None:
    whole, first, second, third = (
        meta(snaplen=snaplen, truncated_packets=cut).files[0]
        for snaplen, cut in ((64, 0), (128, 2), (256, 2), (65535, 2))
    )
    for files, cut_to in (
        ((whole, first, second), 128),
        ((first, third), None),
        ((whole,), None),
    ):
        with trace_of(Meta(files, {}, {}, 0, 0)) as trace:
            assert capture(trace).cut_to == cut_to
