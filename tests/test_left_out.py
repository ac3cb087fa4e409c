"""What the last acknowledgement left out of a call, and when it came, on built captures."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.wire.narrow_links import narrow_links
from pcapnfs.synth.builder import Conversation, nfs3, rpc
from tests.decoded import MS, T

pytest.importorskip("pcapnfs._core")

SEGMENT = 1448
HANDLE = bytes(range(32))


def written(folder: Path, link_ms: float, disk_ms: int, *, at_client: bool = True) -> pcapnfs.Trace:
    """Small calls, then WRITEs of four full segments and a bit, of which two are acknowledged at a
    time.

    Args:
        folder: Where the capture may be.
        link_ms: What each segment takes on the link to the server, which is 10 ms away.
        disk_ms: What the server takes for each WRITE.
        at_client: Where the capture is taken.
    """
    way_ns, link_ns = (10 * MS, round(link_ms * MS)) if at_client else (20_000, 0)
    apart_ns = 1 if at_client else round(link_ms * MS)
    talk = Conversation(mss=SEGMENT, timestamp_bases=None)
    talk.open(T, way_ns, 10 * MS + 20_000 - way_ns)
    for number in range(10):
        at_ns = T + (100 + 20 * number) * MS
        talk.call(1_000 + number, at_ns, *nfs3.getattr_(HANDLE))
        talk.reply(1_000 + number, at_ns + way_ns, bytes(100))
    for number in range(20):
        at_ns = T + (1_000 + 200 * number) * MS
        request = nfs3.write(HANDLE, 0, bytes(4 * SEGMENT))
        message = rpc.record(rpc.call(number, *request, talk.credential, rpc.NO_AUTH))
        pieces = [message[place:][:SEGMENT] for place in range(0, len(message), SEGMENT)]
        for place, piece in enumerate(pieces, start=1):
            talk.send("client", at_ns + place * apart_ns, piece)
            if place in {2, 4}:
                talk.ack("server", at_ns + place * max(link_ns, apart_ns) + way_ns)
        answered_ns = at_ns + 4 * max(link_ns, apart_ns) + way_ns + disk_ms * MS
        talk.reply(number, answered_ns + apart_ns, nfs3.results.write(4 * SEGMENT))
    return pcapnfs.open(talk.capture().write(folder / "written.pcap"))


def test_it_is_what_had_not_come_by_then(tmp_path: Path) -> None:
    """The second acknowledgement takes in four segments; of small calls nothing is left out."""
    with written(tmp_path, 2, 0) as trace:
        rows = trace.rows(
            "select op, call_bytes + 4 - unreceived_bytes, unreceived_time - call_first_time + 1 "
            "from calls order by call"
        )
    assert rows[:10] == [("GETATTR", None, None)] * 10
    assert rows[10:] == [("WRITE", 4 * SEGMENT, 18 * MS)] * 20


def read(folder: Path, *, at_server: bool = True) -> pcapnfs.Trace:
    """READs of four full segments, of which two are acknowledged at a time, and the next call.

    Each segment takes 2 ms on the link to the client, which is 10 ms away.
    """
    back_ns = 10 * MS if at_server else 20_000
    talk = Conversation(mss=SEGMENT, timestamp_bases=None)
    talk.open(T, 10 * MS + 20_000 - back_ns, back_ns)
    for number in range(20):
        at_ns = T + (1_000 + 200 * number) * MS
        talk.call(2 * number, at_ns, *nfs3.read(HANDLE, 0, 4 * SEGMENT))
        message = rpc.record(rpc.reply(2 * number, nfs3.results.read(bytes(4 * SEGMENT))))
        for place in range(1, 5):
            apart_ns = 1 if at_server else 2 * MS
            piece = message[(place - 1) * SEGMENT : place * SEGMENT if place < 4 else None]
            talk.send("server", at_ns + 1_000 + place * apart_ns, piece)
            if place == 2:
                talk.ack("client", at_ns + 1_000 + 4 * MS + back_ns)
        asked_ns = at_ns + 1_000 + 8 * MS + back_ns
        talk.call(2 * number + 1, asked_ns, *nfs3.getattr_(HANDLE))
        talk.reply(2 * number + 1, asked_ns + 1_000, bytes(100))
    return pcapnfs.open(talk.capture().write(folder / "read.pcap"))


def test_of_a_reply_the_next_call_tells(tmp_path: Path) -> None:
    """Half of it had come by the first acknowledgement, and all by the call; at the client, none
    was sent after the last of it came."""
    told = (
        "select op, round((earlier_unreceived_time - lag(reply_time) over (order by call)) / 1e6), "
        "lag(reply_bytes) over (order by call) + 4 - earlier_unreceived_bytes "
        "from calls order by call"
    )
    with read(tmp_path) as trace:
        rows = trace.rows(told)
    assert rows[2::2] == [("READ", None, None)] * 19
    assert rows[1::2] == [("GETATTR", 14, 2 * SEGMENT)] * 20
    with read(tmp_path, at_server=False) as trace:
        assert trace.rows(told)[1::2] == [("GETATTR", None, None)] * 20


@pytest.mark.parametrize(
    ("link_ms", "disk_ms", "at_client", "rate"),
    [
        (2, 0, True, SEGMENT / 0.002),
        (2, 50, True, SEGMENT / 0.002),
        # Storage as slow as that link was, and nothing else.
        (0.01, 8, True, None),
        # Captured at the server: the link is before it.
        (2, 0, False, None),
    ],
)
def test_a_link_shows_and_storage_does_not(
    link_ms: float, disk_ms: int, at_client: bool, rate: float | None, tmp_path: Path
) -> None:
    with written(tmp_path, link_ms, disk_ms, at_client=at_client) as trace:
        found = narrow_links(trace)
    assert [link.bytes_per_s for link in found] == (
        [] if rate is None else [pytest.approx(rate, rel=1e-3)]
    )
