"""Connections of one client that number their calls alike, on captures that are built.

Kernels begin at random; programs that speak NFS themselves may begin each connection at 1, and ask
the same on each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.synth.builder import Capture, Conversation, nfs3
from pcapnfs.synth.builder.nfs3 import Fattr3, results

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
CALLS = 20
HANDLE = b"a handle"
ANSWER = results.getattr_(Fattr3(fileid=7))


def _counted(capture: Capture, folder: Path) -> tuple[int, int, int, int]:
    """Calls, those with a reply, those sent more than once, replies that came again."""
    with pcapnfs.open(capture.write(folder / "alike.pcap")) as trace:
        told = trust(trace)
        (again,) = trace.sql(
            "select count(*) from notes where reason = 'duplicate_reply'"
        ).fetchall()
        return told.rpc_calls, told.matched, told.retransmitted_calls, again[0]


@pytest.mark.parametrize("crossing", [True, False], ids=["at once", "in turn"])
def test_calls_of_connections_that_live_side_by_side_are_different_ones(
    crossing: bool, tmp_path: Path
) -> None:
    """Those of the second are sent before, or after, those of the first are answered."""
    first, second = (Conversation(client_port=port).open(0) for port in (801, 802))
    for number in range(1, CALLS + 1):
        for place, talk in enumerate((first, second)):
            sent_ns = number * 10 * MS + place * (MS if crossing else 4 * MS)
            talk.call(number, sent_ns, *nfs3.getattr_(HANDLE))
            talk.reply(number, sent_ns + 3 * MS, ANSWER)
    capture = Capture([*first.frames, *second.frames])
    assert _counted(capture, tmp_path) == (2 * CALLS, 2 * CALLS, 0, 0)


@pytest.mark.parametrize("answered", [False, True])
def test_a_call_on_the_connection_that_follows_is_the_same_one(
    answered: bool, tmp_path: Path
) -> None:
    """The client connects again, since it got no answer."""
    first = Conversation(client_port=801).open(0)
    first.call(1, 10 * MS, *nfs3.getattr_(HANDLE))
    if answered:
        first.reply(1, 20 * MS, ANSWER)
    second = Conversation(client_port=802).open(5_000 * MS)
    second.call(1, 5_010 * MS, *nfs3.getattr_(HANDLE)).reply(1, 5_020 * MS, ANSWER)
    capture = Capture([*first.frames, *second.frames])
    assert _counted(capture, tmp_path) == (1, 1, 1, int(answered))
