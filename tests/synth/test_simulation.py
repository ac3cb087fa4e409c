"""Simulated captures: what pcapnfs reads in them is what the simulation wrote down.

The truth comes from the simulation's own books: who was asked what, when the last byte of each
message was seen. The capture is read by the decoder, which shares no code with it, and by tshark.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import pcapnfs
from pcapnfs.analyses.captured.trust import Trust, trust
from pcapnfs.analyses.times.operations import OperationTimes, operation_times
from pcapnfs.analyses.times.stability import Stability, stability
from pcapnfs.cli.app import run
from pcapnfs.errors import UsageError
from pcapnfs.record import replace
from pcapnfs.synth.simulation.options import LISTINGS, VANTAGES, VERSIONS, WORKLOADS, Options
from pcapnfs.synth.simulation.run import Simulation
from pcapnfs.synth.simulation.truth import Truth
from pcapnfs.verify import ours
from pcapnfs.verify.verification import verify
from tests.processor import in_time, seconds

from .tshark import assert_clean, fields, require_tshark

pytest.importorskip("pcapnfs._core")

US, MS, S = 1_000, 1_000_000, 1_000_000_000


Value = str | float | tuple[int, ...]
"""Of an option."""


def wanted(options: Mapping[str, Value]) -> Options:
    return Options(**options)  # type: ignore[arg-type]  # each test gives each its type


def made(folder: Path, **options: Value) -> tuple[Path, Truth]:
    capture, truth = Simulation(wanted(options)).run()
    return capture.write(folder / "made.pcap"), truth


def assert_read_as_written(path: Path, truth: Truth) -> None:
    """Call by call to the nanosecond, file by file, and in figures that `summarize` has."""
    with pcapnfs.open(path) as trace:
        found = trace.sql(
            "select xid, op, stability, call_time, reply_time, srt from calls"
        ).fetchall()
        files = pcapnfs.perfile(trace, top=0)
        trusted, operations, split = figures(trace)
    assert {row[0]: row[1:] for row in found} == {
        call.xid: (
            call.operation, call.stability, call.call_ns, call.reply_ns,
            call.reply_ns - call.call_ns,
        )
        for call in truth.calls
    }  # fmt: skip
    assert {
        file.path: (file.calls, file.stable_calls, round(file.time_s * S)) for file in files.files
    } == {file.path: (file.calls, file.stable_calls, file.srt_ns) for file in truth.files}
    assert trusted.matched == len(truth.calls)
    assert (trusted.unanswered, trusted.undecoded) == (0, 0)
    by_name: dict[str, list[int]] = {}
    for row in operations:
        sums = by_name.setdefault(row.op, [0, 0, 0])
        sums[0] += row.calls
        sums[1] += row.stable_calls
        sums[2] += round(row.srt.sum_s * S)
    assert by_name == {
        row.operation: [row.calls, row.stable_calls, row.srt_ns] for row in truth.operations
    }
    stable = [call for call in truth.calls if call.stability == "stable"]
    assert split.stable.calls == len(stable)
    assert split.stable.sum_s == pytest.approx(
        sum(call.reply_ns - call.call_ns for call in stable) / S, abs=1e-9
    )


def figures(trace: pcapnfs.Trace) -> tuple[Trust, tuple[OperationTimes, ...], Stability]:
    """What `summarize` says of all calls, without all else that it says."""
    return trust(trace), operation_times(trace), stability(trace)


# Truth --------------------------------------------------------------------------------------------


THREADS, PERSISTS_NS, RTTS_NS = (1, 3, 8), (0, MS, 12 * MS), (100 * US, 2 * MS, 20 * MS)


def _turned() -> Iterator[tuple[str, int, int, int]]:
    """Each value with each value of the others: a ninth of all combinations."""
    for j, version in enumerate(VERSIONS):
        for i, persist_ns in enumerate(PERSISTS_NS):
            yield version, RTTS_NS[(i + j) % 3], persist_ns, THREADS[(i + 2 * j) % 3]


@pytest.mark.parametrize(("version", "rtt_ns", "persist_ns", "threads"), list(_turned()))
def test_times_and_counts_are_the_truth(
    version: str, rtt_ns: int, persist_ns: int, threads: int, tmp_path: Path
) -> None:
    """`summarize` gives the same figures of each version."""
    path, truth = made(
        tmp_path, version=version, rtt_ns=rtt_ns, persist_ns=persist_ns, threads=threads, files=16
    )
    assert_read_as_written(path, truth)
    with pcapnfs.open(path) as trace:
        if persist_ns == 0:
            summary = pcapnfs.summarize(trace)
            assert (summary.trust, summary.operations, summary.stability) == figures(trace)
    shortest = min(
        call.reply_ns - call.call_ns for call in truth.calls if call.stability == "stable"
    )
    assert shortest >= rtt_ns + persist_ns


def _from_somewhere() -> Iterator[tuple[str, str, str]]:
    """Each workload in each version, and both from every vantage point."""
    for i, workload in enumerate(WORKLOADS):
        for j, version in enumerate(VERSIONS):
            yield VANTAGES[(i + j) % len(VANTAGES)], workload, version


@pytest.mark.parametrize(("vantage", "workload", "version"), list(_from_somewhere()))
def test_every_workload_is_read_as_written(
    vantage: str, workload: str, version: str, tmp_path: Path
) -> None:
    require_tshark()
    path, truth = made(
        tmp_path, workload=workload, version=version, vantage=vantage, files=30, size=3000,
        wsize=2048, threads=2, connections=2,
    )  # fmt: skip
    assert_read_as_written(path, truth)
    assert_clean(path)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_without_attribute_cache_is_known_for_one(version: str, tmp_path: Path) -> None:
    path, _ = made(tmp_path, workload="noac", version=version)
    with pcapnfs.open(path) as trace:
        (mount,) = pcapnfs.cache(trace).mounts
    assert [verdict.options for verdict in mount.verdicts] == [("noac", "actimeo=0")]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("listing", LISTINGS)
def test_directories_of_several_pages_are_walked(
    listing: str, version: str, tmp_path: Path
) -> None:
    path, truth = made(
        tmp_path, workload="walk", listing=listing, version=version, files=250, directories=1
    )
    assert_read_as_written(path, truth)
    asked = {row.operation: row.calls for row in truth.operations}
    pages = asked.get("READDIRPLUS", 0) + asked.get("READDIR", 0)
    assert pages == (0 if listing == "lookup" else 3)
    with pcapnfs.open(path) as trace:
        result = pcapnfs.readdir(trace)
        ((entries,),) = trace.sql("select count(*) from entries").fetchall()
    assert entries == (0 if listing == "lookup" else 250)
    assert (result.readdirplus_calls, result.readdir_calls) == (
        (3, 0) if listing == "readdirplus" else (0, pages)
    )


@pytest.mark.parametrize("vantage", VANTAGES)
@pytest.mark.parametrize(("version", "seed"), [("3", 1), ("4.2", 2)])
def test_loss_and_jitter_do_not_blur_the_truth(
    version: str, seed: int, vantage: str, tmp_path: Path
) -> None:
    """What is lost differs with the version, the place and the seed: each case is drawn anew."""
    require_tshark()
    path, truth = made(
        tmp_path, version=version, vantage=vantage, loss=0.03, jitter_ns=300 * US, threads=8,
        size=9000, files=60, seed=seed,
    )  # fmt: skip
    assert_read_as_written(path, truth)
    assert_clean(path)
    with pcapnfs.open(path, columns=ours.READS) as trace:
        ((harmed,),) = trace.rows("select sum(retransmitted + out_of_order) from connections")
        assert harmed > 10
        result = verify(trace, [str(path)])
    assert result.differences == ()


@pytest.mark.parametrize("vantage", ["client", "server"])
def test_what_arrives_comes_before_what_is_sent_at_the_same_moment(vantage: str) -> None:
    """Programs that do not think send their next call with the reply that they waited for."""
    options = Options(
        workload="cachedread", version="4.1", vantage=vantage, loss=0.02, think_ns=0, threads=8,
        connections=4, files=10, size=3 << 20,
    )  # fmt: skip
    capture, _ = Simulation(options).run()
    came: dict[tuple[int, int], int] = {}
    own = 0
    for frame in capture.frames:
        source, target, number, acknowledged = struct.unpack_from(">HHII", frame.data, 34)
        segment = frame.data[34 + (frame.data[46] >> 4) * 4 :]
        if (target == 2049) == (vantage == "client"):
            own += 1
            # The handshake and the ends count as a byte each.
            assert acknowledged - came.get((target, source), acknowledged) <= 1
        else:
            end = number + len(segment)
            came[source, target] = max(end, came.get((source, target), end))
    assert own > 100


def test_what_a_capture_away_from_the_client_lacks_is_the_network(tmp_path: Path) -> None:
    """The same run seen from three places: every service time differs by what lies between."""
    times = {}
    for vantage in VANTAGES:
        _, truth = made(tmp_path, vantage=vantage, rtt_ns=5 * MS, size=100)
        times[vantage] = [call.reply_ns - call.call_ns for call in truth.calls]
    for vantage, lacks in (("between", 5 * MS // 2), ("server", 5 * MS)):
        apart = {a - b for a, b in zip(times["client"], times[vantage], strict=True)}
        assert apart == {lacks}


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("persist_ns", [0, 12 * MS])
@pytest.mark.parametrize("vantage", VANTAGES)
def test_tcp_tells_both_halves_of_the_round_trip(
    vantage: str, persist_ns: int, threads: int, tmp_path: Path
) -> None:
    """By its handshake, and by the quickest acknowledgements of data on either side."""
    require_tshark()
    rtt = 4 * MS
    path, _ = made(
        tmp_path, vantage=vantage, rtt_ns=rtt, persist_ns=persist_ns, threads=threads, size=5000
    )
    beyond = {"client": rtt, "between": rtt // 2, "server": 0}[vantage]
    with pcapnfs.open(path) as trace:
        handshakes = trace.sql(
            "select syn_rtt, ack_rtt from connections where server_port = 2049"
        ).fetchall()
    assert handshakes == [(beyond, rtt - beyond)]
    told = ["tcp.srcport", "tcp.dstport", "tcp.analysis.ack_rtt"]
    rows = fields(path, told, "tcp.analysis.ack_rtt && tcp.port == 2049 && tcp.flags.syn == 0")
    for side, half in ((0, beyond), (1, rtt - beyond)):
        times = sorted(round(float(row[2]) * S) for row in rows if row[side] == "2049")
        assert half <= times[len(times) // 20] <= half + 20 * US


def test_acknowledgements_are_prompt_or_late_as_tcp_has_them(tmp_path: Path) -> None:
    """The server's: at once for a large WRITE, with the reply where that comes soon, else late."""
    require_tshark()
    empty = "tcp.srcport == 2049 && tcp.len == 0 && tcp.flags.syn == 0 && tcp.flags.fin == 0"
    pure = {}
    for name, options in {
        "small": {"persist_ns": MS},
        "large": {"persist_ns": MS, "size": 14_000},
        "slow": {"persist_ns": 100 * MS},
    }.items():
        path, _ = made(tmp_path, files=20, directories=1, **options)
        rows = fields(path, ["tcp.analysis.ack_rtt"], empty)
        pure[name] = [round(float(time) * S) for (time,) in rows if time]
    assert len(pure["small"]) < 10
    assert len(pure["large"]) >= 20 * 4
    assert max(pure["large"]) < MS
    assert sum(40 * MS < time < 41 * MS for time in pure["slow"]) >= 20 * 6


# What clients do ----------------------------------------------------------------------------------


def asked(**options: Value) -> Counter[str]:
    _, truth = Simulation(wanted(options)).run()
    return Counter({row.operation: row.calls for row in truth.operations})


def test_data_is_read_once_and_asked_about_again() -> None:
    found = asked(workload="cachedread", files=10, rounds=5, size=1000)
    assert found["READ"] == 10
    assert found["LOOKUP"] == 10 + 5
    assert found["GETATTR"] == 10 * 5  # what opening asks; a look afterwards costs nothing


def test_attribute_timeouts_decide_what_is_asked_again() -> None:
    """Open asks in every round, the look right after it only when attributes are never good."""
    kept = asked(workload="cachedread", files=10, rounds=4)
    never = asked(workload="cachedread", files=10, rounds=4, acregmin_ns=0, acregmax_ns=0)
    assert never["GETATTR"] - kept["GETATTR"] == 10 * 4


def test_a_file_larger_than_wsize_is_written_in_pieces_and_committed() -> None:
    found = asked(files=3, size=100_000, wsize=32768)
    assert (found["WRITE"], found["COMMIT"]) == (3 * 4, 3)
    found = asked(files=3, size=32768, wsize=32768)
    assert (found["WRITE"], found["COMMIT"]) == (3, 0)


def test_a_sync_mount_writes_what_the_program_writes() -> None:
    found = asked(workload="lifecycle", files=3, size=100_000, sync=True, chunk=10_000)
    assert (found["WRITE"], found["COMMIT"]) == (3 * 10, 0)
    _, truth = Simulation(Options(workload="lifecycle", files=3, size=100_000, sync=True)).run()
    writes = [call for call in truth.calls if call.operation == "WRITE"]
    assert {call.stability for call in writes} == {"stable"}


def test_files_take_their_sizes_in_turn(tmp_path: Path) -> None:
    path, _ = made(tmp_path, files=7, sizes=(100, 0, 3000), directories=1)
    with pcapnfs.open(path) as trace:
        found = pcapnfs.perfile(trace, top=0)
    sizes = {file.path.rpartition("/")[2]: file.size_bytes for file in found.files if file.path}
    assert [sizes[f"f{number:05}"] for number in range(7)] == [100, 0, 3000, 100, 0, 3000, 100]


def test_a_touch_on_the_server_voids_what_was_cached() -> None:
    options: dict[str, Value] = {"workload": "cachedread", "files": 4, "size": 1000, "rounds": 4}
    assert asked(**options)["READ"] == 4
    assert asked(**options, touched=3)["READ"] == 8


def test_a_second_walk_asks_for_attributes_that_are_too_old() -> None:
    """After 5 s: files' are good for 3, directories' for 30."""
    options: dict[str, Value] = {
        "workload": "walk",
        "files": 40,
        "directories": 4,
        "pause_ns": 5 * S,
    }
    first, again = asked(**options, rounds=1), asked(**options, rounds=2)
    assert again - first == Counter({"GETATTR": 40})


def test_attributes_that_are_never_good_are_asked_for_at_every_step() -> None:
    options: dict[str, Value] = {
        "workload": "lifecycle",
        "files": 30,
        "directories": 1,
        "size": 100,
    }
    kept = asked(**options)
    directory = asked(**options, acdirmin_ns=0, acdirmax_ns=0) - kept
    never = asked(**options, acdirmin_ns=0, acdirmax_ns=0, acregmin_ns=0, acregmax_ns=0) - kept
    steps = 30 + 30 + 3 + 30  # Made, listed, read, removed; the first asks anyway.
    assert directory == Counter({"GETATTR": steps - 1})
    assert never == Counter({"GETATTR": steps - 1 + 30})


def test_streams_overlap() -> None:
    """Eight threads are done in about an eighth of the time."""
    spans = []
    for threads in (1, 8):
        _, truth = Simulation(Options(files=80, threads=threads, directories=1)).run()
        spans.append(truth.calls[-1].reply_ns - truth.calls[0].call_ns)
    assert 6 < spans[0] / spans[1] < 9


def test_slots_are_used_in_order(tmp_path: Path) -> None:
    """Each thread has its slot, on which the first call is 1 and each one more than the last."""
    require_tshark()
    path, _ = made(tmp_path, version="4.1", threads=4, files=20)
    with pcapnfs.open(path) as trace:
        offered = trace.sql("select max(highest_slot) from operations").fetchall()
    assert offered == [(3,)]
    rows = fields(path, ["nfs.slotid", "nfs.seqid"], "rpc.msgtyp == 0 && nfs.slotid")
    used: dict[str, list[int]] = {}
    for slot, sequences in rows:
        used.setdefault(slot, []).append(int(sequences.split(",")[0], 0))
    assert set(used) == {"0", "1", "2", "3"}
    assert all(numbers == [*range(1, len(numbers) + 1)] for numbers in used.values())


# Files --------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes() -> None:
    options = Options(version="4.2", threads=3, loss=0.05, jitter_ns=MS)
    first, again, other = (
        Simulation(replace(options, seed=seed)).run()[0].pcap() for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other


def test_five_thousand_files_take_less_than_half_a_minute(tmp_path: Path) -> None:
    written = []

    def work() -> None:
        written.append(made(tmp_path, files=5000, version="4.2", threads=8))

    assert in_time(30, lambda: seconds(work))
    path, truth = written[-1]
    assert len(truth.files) >= 5000
    assert path.stat().st_size > 10_000_000


@pytest.mark.parametrize(
    "wrong",
    [
        {"workload": "gzip"},
        {"version": "4.3"},
        {"vantage": "moon"},
        {"listing": "guess"},
        {"files": 0},
        {"files": 1_000_000, "size": 4096},
        {"loss": 0.9},
        {"loss": float("nan")},
        {"threads": 65},
        {"wsize": 1},
        {"rtt_ns": -1},
        {"rounds": 3, "touched": 4},
        {"sizes": (10, -1)},
        {"sizes": (10, 4096), "files": 1_000_000},
    ],
)
def test_what_cannot_be_simulated_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Options(**wrong)


def test_the_command_calls_a_limit_by_its_option() -> None:
    with pytest.raises(UsageError, match="connections is 99: it goes") as refused:
        Options(connections=99)
    assert refused.value.shell == "--nconnect is 99: it goes from 1 to 16"


def test_times_out_of_range_are_told_as_they_are_written() -> None:
    with pytest.raises(UsageError, match=r"^service is 0 s: it goes from 1\.00 µs to 1 m 0 s"):
        Options(service_ns=0)


def test_the_command_writes_capture_and_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    out = tmp_path / "tar.pcap.gz"
    command = ["synth", "tar", "-o", str(out), "--nfs", "4.1", "--files", "4", "--persist", "2ms"]
    assert run(command) == 0
    assert "calls in" in capsys.readouterr().out
    truth = json.loads((tmp_path / "tar.json").read_text())
    assert truth["configured"]["persist_ns"] == 2 * MS
    assert len([file for file in truth["files"] if "/f" in file["path"]]) == 4
    with pcapnfs.open(out) as trace:
        assert trace.sql("select count(*) from calls").fetchall() == [(len(truth["calls"]),)]
    assert run(command) == 2
    assert "--force" in capsys.readouterr().err
    assert run([*command, "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == truth


@pytest.mark.parametrize("failing", ["tar.pcap", "tar.json"])
def test_capture_and_truth_are_there_whole_or_not_at_all(
    failing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that the system refuses to write stands for a full disk."""
    other = {"tar.pcap": "tar.json", "tar.json": "tar.pcap"}[failing]
    (tmp_path / failing).symlink_to("/dev/full")
    (tmp_path / other).write_text("old")
    command = ["synth", "tar", "--files", "4", "-o", str(tmp_path / "tar.pcap"), "--force"]
    assert run(command) == 1
    told = capsys.readouterr()
    assert (told.out, told.err) == (
        "",
        f"pcapnfs: {tmp_path / failing} cannot be written: No space left on device\n",
    )
    assert failing == "tar.pcap" or (tmp_path / other).read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tar.json", "tar.pcap"]


def test_the_truth_is_written_over_no_capture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, told = tmp_path / "tar.pcap", tmp_path / "tar.json"
    for path in (out, told):
        path.write_bytes(b"\x0a\x0d\x0d\x0a")
    command = ["synth", "tar", "--files", "1", "-o", str(out), "--force"]
    assert run(command) == 2
    assert f"{told} is a capture, and is not written over" in capsys.readouterr().err
    told.unlink()
    assert run(command) == 0  # A capture by a capture.


@pytest.mark.parametrize(
    "arguments",
    [
        ["synth", "tar", "-o", "x.txt"],
        ["synth", "tar", "-o", ".pcap"],
        ["synth", "zip", "-o", "x.pcap"],
        ["synth", "tar", "-o", "x.pcap", "--rtt", "5"],
        ["synth", "tar", "-o", "x.pcap", "--size", "big"],
    ],
)
def test_the_command_refuses_what_makes_no_sense(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    assert list(tmp_path.iterdir()) == []
