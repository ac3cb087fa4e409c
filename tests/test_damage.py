"""Damaged captures: what can still be seen is found, and nothing is invented."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

import pcapnfs
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.record import replace
from pcapnfs.synth.builder import Conversation, nfs3, nfs4
from pcapnfs.synth.builder.capture import Capture
from pcapnfs.synth.builder.damage import flip
from tests import damage
from tests.decoded import MS, T
from tests.oracles import survey
from tests.oracles.corpus import corpus_path, require_corpus
from tests.unit.rows import ROOT

_CALLS = 500
"""A capture with fewer pairs says too little about shares of 99 %."""

_Value = TypeVar("_Value")

_SHARE = 0.99
"""Of the visible pairs that are found, at least."""


def _captures() -> list[Path]:
    """Classic captures of the corpus that are large enough, by the page that has a line of each."""
    large = {row.name for row in survey.written() if _pairs(row) >= _CALLS}
    files = [file for name, each in survey.captures().items() if name in large for file in each]
    return [path for path in files if path.suffix in {".pcap", ".cap"}]


def _pairs(row: survey.Row) -> int:
    """Calls of NFS that are answered, at least: those without an answer may be of others."""
    asked = (row.protocols or {}).items()
    # NFS is named by its version alone.
    calls = sum(number for name, number in asked if name.replace(".", "").isdigit())
    return calls - row.unanswered


@pytest.fixture(scope="module", params=_captures(), ids=lambda path: path.stem)
def original(request: pytest.FixtureRequest) -> damage.Original:
    path: Path = request.param
    file = damage.File.read(path)
    assert file is not None
    found = damage.Original(path, file)
    assert len(found.pairs) >= _CALLS
    return found


def test_the_corpus_is_there() -> None:
    require_corpus()
    assert len(_captures()) > 30


def _in_turn(values: Sequence[_Value], original: damage.Original, turn: int) -> _Value:
    """One for each turn of a capture; which it begins with, the number of its frames decides."""
    return values[(len(original.file.frames) + turn) % len(values)]


def _check(
    original: damage.Original,
    harm: damage.Damage,
    scratch: Path,
    least: float,
    *,
    every_table: bool = False,
) -> None:
    target = scratch / "damaged.pcap"
    outcome = damage.outcome(original, harm, target, every_table=every_table)
    assert outcome.visible > 0
    assert outcome.invented == ()
    assert outcome.share >= least, (outcome.visible, outcome.found, outcome.missed[:5])


@pytest.mark.parametrize("turn", [0, 1])
def test_random_loss(original: damage.Original, turn: int, tmp_path: Path) -> None:
    """Seeds differ from capture to capture, so that no seed was chosen because it passes."""
    share = _in_turn((0.001, 0.01, 0.05), original, turn)
    seed = zlib.crc32(f"{len(original.file.frames)} {share}".encode())
    _check(original, damage.lose(share, seed), tmp_path, _SHARE)


def test_without_the_first_third(original: damage.Original, tmp_path: Path) -> None:
    _check(original, damage.cut_first_third, tmp_path, _SHARE)


def test_without_the_first_third_and_with_loss(original: damage.Original, tmp_path: Path) -> None:
    def harm(file: damage.File) -> damage.File:
        return damage.cut_first_third(damage.lose(0.01, len(file.frames))(file))

    _check(original, harm, tmp_path, _SHARE)


@pytest.mark.parametrize("turn", [0, 1])
def test_snaplen(original: damage.Original, turn: int, tmp_path: Path) -> None:
    """Nothing is missing, so every pair whose headers were captured is found."""
    length = _in_turn((96, 128, 256), original, turn)
    outcome = damage.outcome(original, damage.snap(length), tmp_path / "damaged.pcap")
    assert outcome.invented == ()
    assert outcome.missed == ()


def test_duplicated_frames(original: damage.Original, tmp_path: Path) -> None:
    outcome = damage.outcome(original, damage.duplicate(0.3, 1), tmp_path / "damaged.pcap")
    assert outcome.invented == ()
    assert outcome.missed == ()


def test_neighbours_swapped(original: damage.Original, tmp_path: Path) -> None:
    outcome = damage.outcome(original, damage.swap(0.2, 1), tmp_path / "damaged.pcap", slack=1)
    assert outcome.invented == ()
    assert outcome.missed == ()


@pytest.mark.parametrize("length", [66, 68, 76])
def test_connections_that_are_cut_before_a_call_tells_what_it_is_give_no_verdict(
    length: int, tmp_path: Path
) -> None:
    """Nothing is known of calls there: their time is not the client's own."""
    whole = damage.File.read(ROOT / "samples" / "k61-tar-v3.pcap")
    assert whole is not None
    # The mount is seen, and NFS is not: it came in packets that were cut.
    cut = damage.snap(length)(whole)
    cut.write(tmp_path / "cut.pcap")
    with pcapnfs.open(str(tmp_path / "cut.pcap")) as trace:
        ends = trace.rows(
            "select client, server, truncated_bytes > 0 from connections where server_port = 2049"
        )
        assert ends
        assert set(ends) == {("10.0.0.11", "10.0.0.1", True)}
        found = trust(trace)
        assert found.sealed.cut_connections >= len(ends)
        assert found.mostly_unseen
        assert model(trace).verdict is None
        total = time_budget(trace).total
        assert (total.client_s, total.unknown_s > 0.9 * total.wall_s) == (0.0, True)


_FRAMES = """
SELECT client, xid, version, procedure, call_first_frame, call_frame, reply_first_frame, reply_frame
FROM calls WHERE reply_frame IS NOT NULL ORDER BY call_frame, xid
"""


def _same_traffic() -> list[tuple[Path, Path]]:
    """Captures of one run on one interface: with whole packets, and with their beginnings."""
    root = corpus_path()
    pairs = []
    for truth in sorted((root / "lab").glob("*snap*.json")) if root else []:
        for name in json.loads(truth.read_text(encoding="utf-8"))["same_traffic_also_in"]:
            if "snap" not in name and "-server" not in name:
                pairs.append((truth.parent / name, truth.with_suffix(".pcap")))
    return pairs


@pytest.mark.parametrize(("whole", "cut"), _same_traffic(), ids=lambda path: path.stem)
def test_a_snaplen_changes_neither_calls_nor_times(whole: Path, cut: Path) -> None:
    """Where the header was captured: in these captures, of every call."""
    found = damage.rows(cut, _FRAMES)
    assert len(found) > 20
    assert found == damage.rows(whole, _FRAMES)


_SAID = """
SELECT calls.call_frame, xid, calls.op, calls.stability, calls.assumed,
       list(plus ORDER BY position) FILTER (operations.op = 'READDIR')
FROM calls LEFT JOIN operations USING (call) WHERE version = 4 AND reply_frame IS NOT NULL
GROUP BY ALL ORDER BY call_frame, xid
"""


@functools.cache
def _compounds(name: str) -> tuple[damage.File, dict[tuple[Any, ...], tuple[Any, ...]]]:
    """A sample, and what is said of its calls where nothing was cut."""
    path = ROOT / "samples" / f"{name}.pcap"
    file = damage.File.read(path)
    assert file is not None
    return file, {row[:2]: row[2:] for row in damage.rows(path, _SAID)}


@pytest.mark.parametrize("length", range(120, 320, 8))
@pytest.mark.parametrize("name", ["k61-tar-v42", "k61-locks-v42-server", "published-v41-tar"])
def test_what_a_snaplen_leaves_of_compounds_is_true(name: str, length: int, tmp_path: Path) -> None:
    """What they are about, whether they are stable and how they list is told as it is, or not."""
    file, whole = _compounds(name)
    damage.snap(length)(file).write(tmp_path / "cut.pcap")
    cut = damage.rows(tmp_path / "cut.pcap", _SAID)
    assert cut
    for frame, xid, op, stability, assumed, plus in cut:
        true_op, true_stability, _, true_plus = whole[frame, xid]
        assert op in {true_op, "COMPOUND"}
        assert stability in {true_stability, "unknown"} or assumed
        pairs = zip(plus or (), true_plus or (), strict=False)
        assert all(told in {None, true} for told, true in pairs)


def test_flipped_bytes(original: damage.Original, tmp_path: Path) -> None:
    """One frame in fifty says something wrong, be it in a sequence number or in a record mark.

    A wrong number leads astray for a few frames; what matters is that the stream is found again.
    """
    count = len(original.file.frames) // 50
    seed = _in_turn((1, 2), original, 0)
    _check(original, damage.flip(count, seed), tmp_path, 0.97, every_table=True)


@pytest.mark.parametrize("bit", range(4, 31))
@pytest.mark.parametrize("frame", [403, 404], ids=["call", "reply"])
def test_a_damaged_sequence_number_is_no_loss(bit: int, frame: int, tmp_path: Path) -> None:
    """What follows it goes on as before, and was not sent again."""
    talk = Conversation(timestamp_bases=None)
    for xid in range(500):
        at_ns = T + 2 * xid * MS
        talk.call(xid, at_ns, *nfs3.access(bytes(32)))
        talk.reply(xid, at_ns + MS, nfs3.results.access(1))
    damaged = flip(talk.capture(), frame, 41 - bit // 8, 1 << bit % 8)
    path = damaged.write(tmp_path / "number.pcap")
    sent_again = "select client_resent + server_resent from connections"
    assert sum(integer(number) for (number,) in damage.rows(path, sent_again)) <= 1
    ((found,),) = damage.rows(path, "select count(*) from calls where reply_time is not null")
    assert integer(found) >= 497


@pytest.mark.parametrize("mss", [536, 1448, 8948])
@pytest.mark.parametrize("cut", [False, True])
def test_a_hole_in_the_data_of_a_write_hides_nothing_else(
    cut: bool, mss: int, tmp_path: Path
) -> None:
    """A segment amid the data is lost, or only its beginning was captured."""
    handle, data = bytes(range(32)), bytes(60_000)
    request = nfs4.Compound(1).putfh(handle).write(7, data).getattr(["size", "change"]).request()
    talk = Conversation(mss=mss).call(1, T, *request)
    middle = len(talk.frames) // 2
    answer = nfs4.CompoundReply().putfh().write(len(data)).getattr({"size": 5, "change": 6})
    talk.reply(1, T + MS, answer.body())
    for xid in range(2, 100):  # Time enough for the capture to show the segment.
        talk.call(xid, T + xid * MS, *nfs4.Compound(1).putfh(handle).request())
        talk.reply(xid, T + xid * MS + 1000, nfs4.CompoundReply().putfh().body())
    kept = list(talk.frames)
    spoilt = kept.pop(middle)
    if cut:
        length = len(spoilt.data)
        part = replace(spoilt, data=spoilt.data[:100], original_length=length, packet=None)
        kept.insert(middle, part)
    path = Capture(kept).write(tmp_path / "hole.pcap")
    asked = "select op, requested, size, change, attributes is not null from operations o"
    of_write = "where call in (select call from calls where xid = 1) order by position"
    assert damage.rows(path, f"{asked} {of_write}") == [
        ("PUTFH", None, None, None, False),
        ("WRITE", len(data), None, None, False),
        ("GETATTR", None, 5, 6, True),
    ]
    assert damage.rows(path, "select reason from notes") == []
