"""Captures that mixed up their packets are read as if they had not.

Their packets keep the times at which they came, as `dumpcap` of several interfaces has it, and
stand in another order.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from itertools import chain, groupby
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.captured.capture import capture
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.diagnosis.judging import findings
from pcapnfs.redaction import redact
from pcapnfs.trace import Trace
from pcapnfs.views.trust import trust_sentences
from tests.unit.rows import ROOT

pytest.importorskip("pcapnfs._core")

SAMPLES = ("k61-tar-v3.pcap", "k61-tar-v42.pcap", "k61-walk-v3.pcap")
"""Whose client waited for each reply, so that little is enough to mix it up."""

Packets = list[bytes]
"""Packets with their headers."""


def packets_of(path: Path) -> tuple[bytes, Packets]:
    """The header of a pcap file, and its packets."""
    file = path.read_bytes()
    found, at = [], 24
    while at < len(file):
        end = at + 16 + struct.unpack_from("<I", file, at + 8)[0]
        found.append(file[at:end])
        at = end
    return file[:24], found


def time_s(packet: bytes) -> float:
    seconds, fraction = struct.unpack_from("<II", packet)
    return float(seconds) + float(fraction) / 1e6


def in_blocks(packets: Packets, size: int) -> Packets:
    """Shuffled within blocks of so many, none of which takes half a second."""
    dice, blocks = random.Random(size), [[packets[0]]]
    for packet in packets[1:]:
        block = blocks[-1]
        if len(block) < size and time_s(packet) - time_s(block[0]) < 0.5:
            block.append(packet)
        else:
            blocks.append([packet])
    return [packet for block in blocks for packet in dice.sample(block, len(block))]


def by_interface(packets: Packets, turn_s: float) -> Packets:
    """As of two interfaces, one for each direction, that are written by turns."""

    def written() -> Iterator[bytes]:
        for _, turn in groupby(packets, lambda packet: time_s(packet) // turn_s):
            # Behind the header of its record and that of Ethernet, the last byte of the source.
            yield from sorted(turn, key=lambda packet: packet[16 + 14 + 15])

    return list(written())


MIXED: dict[str, Callable[[Packets], Packets]] = {
    "neighbours": lambda packets: in_blocks(packets, 2),
    "blocks of 8": lambda packets: in_blocks(packets, 8),
    "blocks of 40": lambda packets: in_blocks(packets, 40),
    "turns of 0.1 s": lambda packets: by_interface(packets, 0.1),
    "turns of 0.9 s": lambda packets: by_interface(packets, 0.9),
}


def answers(trace: Trace) -> list[tuple[object, ...]]:
    """What is known of all calls but for their frames."""
    return trace.rows(
        """
        select call, client, calls.server, calls.op, signature, status, call_time, reply_time, path
        from calls left join files using (file) order by call
        """
    )


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Path:
    return ROOT / "samples" / str(request.param)


@pytest.mark.parametrize("how", MIXED)
def test_packets_are_taken_in_order_of_time(how: str, sample: Path, tmp_path: Path) -> None:
    header, packets = packets_of(sample)
    mixed = MIXED[how](packets)
    assert mixed != packets
    path = tmp_path / "mixed.pcap"
    path.write_bytes(header + b"".join(mixed))
    with pcapnfs.open(sample) as whole, pcapnfs.open(path) as trace:
        assert answers(trace) == answers(whole)
        told, of_whole = trust(trace), trust(whole)
        assert (told.matched, told.missing_bytes, told.complete) == (
            of_whole.matched,
            of_whole.missing_bytes,
            of_whole.complete,
        )
        assert (of_whole.late_packets, told.late_packets > 0) == (0, True)
        # Frames are those of the file, so that they lead to the packet in Wireshark.
        ((frame, time),) = trace.rows(
            "select call_frame, call_time / 1e9 from calls where call = 30"
        )
        assert time_s(mixed[frame - 1]) == pytest.approx(time, abs=1e-5)
        sentences = trust_sentences(told, capture(trace))
    assert any("taken in order of time" in sentence for sentence in sentences)


def test_of_several_captures_all_are(tmp_path: Path) -> None:
    header, packets = packets_of(ROOT / "samples" / SAMPLES[0])
    parts = []
    for number, some in enumerate((packets[:1300], packets[1300:])):
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(header + b"".join(in_blocks(some, 20)))
        parts.append(path)
    with pcapnfs.open(ROOT / "samples" / SAMPLES[0]) as whole, pcapnfs.open(parts) as trace:
        assert answers(trace) == answers(whole)
        assert all(file.late_packets for file in trace.meta.files)


def test_packets_with_times_that_tell_nothing_stay_where_they_are(tmp_path: Path) -> None:
    """Where the clock was set back by less than a second, streams go on as they stand.

    Nobody knows what the call took that was under way then: it is left without its reply. But both
    are there, and no packet is missing.
    """
    header, packets = packets_of(ROOT / "samples" / SAMPLES[0])
    seconds, fraction = struct.unpack_from("<II", packets[1300])
    back = [
        struct.pack("<II", *divmod(round((time_s(packet) - 0.4) * 1e6), 1_000_000)) + packet[8:]
        for packet in packets[1300:]
    ]
    assert (seconds, fraction) > struct.unpack_from("<II", back[0])
    path = tmp_path / "back.pcap"
    path.write_bytes(header + b"".join(chain(packets[:1300], back)))
    with pcapnfs.open(path) as trace:
        told = trust(trace)
        assert not any(found.id == "capture_lossy" for found in findings(trace).findings)
    assert told.late_packets == 0
    assert (told.rpc_calls - told.matched, told.unanswered, told.orphan_replies) == (1, 1, 1)
    assert (told.earlier_replies, told.lacking_share) == (1, 0.0)


def test_what_is_redacted_is_the_same(tmp_path: Path) -> None:
    """Its packets stand where they stood, and tell the same."""
    header, packets = packets_of(ROOT / "samples" / SAMPLES[0])
    mixed, redacted = tmp_path / "mixed.pcap", tmp_path / "redacted.pcap"
    mixed.write_bytes(header + b"".join(in_blocks(packets, 20)))
    redact([mixed], redacted, key=bytes(32))
    assert list(map(time_s, packets_of(redacted)[1])) == list(map(time_s, in_blocks(packets, 20)))
    with pcapnfs.open(mixed) as whole, pcapnfs.open(redacted) as trace:
        query = (
            "select op, signature, status, call_frame, reply_frame, srt from calls order by call"
        )
        assert trace.rows(query) == whole.rows(query)
