"""The published frame tables, with sums that can be checked with pencil and paper.

Times are microseconds since the table's first call, as printed: call, reply.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import units
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.cli.app import run
from pcapnfs.record import replace
from tests.unit.rows import ROOT

pytest.importorskip("pcapnfs._core")
published = pytest.importorskip("pcapnfs.synth.published", reason="needs scapy")


@dataclass(frozen=True, slots=True)
class Row:
    """A call of a published table."""

    op: str
    called_us: int
    replied_us: int
    stable: bool = False
    failed: bool = False

    @property
    def service_us(self) -> int:
        return self.replied_us - self.called_us


_stable = partial(Row, stable=True)
_failed = partial(Row, failed=True)

TAR3 = (
    _failed("LOOKUP", 0, 178),
    Row("GETATTR", 438, 490),
    _stable("MKDIR", 732, 4162),
    Row("GETATTR", 4465, 4518),
    Row("ACCESS", 4791, 4861),
    Row("GETATTR", 5076, 5152),
    _failed("LOOKUP", 5327, 5371),
    Row("GETATTR", 5559, 5594),
    Row("GETATTR", 5773, 5806),
    Row("GETATTR", 5972, 6002),
    Row("GETACL", 6193, 6227),
    _failed("LOOKUP", 6430, 6463),
    _stable("CREATE", 6618, 7875),
    Row("GETATTR", 8064, 8096),
    _stable("WRITE", 8333, 9587),
    Row("GETATTR", 9789, 9826),
    _stable("SETATTR", 9998, 11082),
    _stable("SETATTR", 11337, 12334),
)
"""The 36 frames of the NFSv3 table."""


TAR41 = (
    Row("GETATTR", 3_658_097, 3_658_521),
    Row("ACCESS", 3_659_236, 3_659_366),
    _failed("LOOKUP", 3_659_744, 3_659_851),
    Row("ACCESS", 3_660_285, 3_660_432),
    Row("GETATTR", 3_660_945, 3_661_071),
    Row("GETATTR", 3_661_773, 3_661_896),
    _stable("OPEN", 3_668_453, 3_670_813),
    _stable("SETATTR", 3_671_881, 3_673_187),
    Row("ACCESS", 3_673_623, 3_673_740),
    _stable("WRITE", 3_674_939, 3_676_379),
    _stable("SETATTR", 3_677_073, 3_678_309),
    Row("CLOSE", 3_678_828, 3_678_957),
)
"""Frames 4 to 28 of the NFSv4.1 table, by main operation."""

_TABLES = {
    "NFSv3": (TAR3, published.nfsv3_tar, 36),
    "NFSv4.1": (TAR41, published.nfsv41_tar, 25),
}
"""Rows, the capture that is built from them, and its frames: in the second, one is a pure ACK."""


@dataclass(frozen=True, slots=True)
class Published:
    """A published table and its capture."""

    rows: tuple[Row, ...]
    path: Path
    frames: int

    def sum_s(self, *, stable: bool) -> float:
        return sum(row.service_us for row in self.rows if row.stable == stable) / 1e6


@pytest.fixture(scope="module", params=_TABLES)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Published:
    rows, build, frames = _TABLES[request.param]
    path = tmp_path_factory.mktemp("published") / "table.pcap"
    return Published(rows, build().write(path), frames)


def test_the_tables_have_the_sums_that_are_known_of_them() -> None:
    stable, unstable = (
        sum(row.service_us for row in TAR3 if row.stable == wanted) for wanted in (True, False)
    )
    assert (stable, unstable) == (8022, 707)
    assert [sum(row.stable for row in TAR3), len(TAR3)] == [5, 18]
    assert [sum(row.stable for row in TAR41), len(TAR41)] == [4, 12]


def test_every_call_has_its_published_time_and_stability(table: Published) -> None:
    with pcapnfs.open(table.path) as trace:
        calls = trace.sql(
            "select op, srt, stability = 'stable', status <> 0 from calls order by call_frame"
        ).fetchall()
    assert calls == [(row.op, row.service_us * 1000, row.stable, row.failed) for row in table.rows]


def test_summarize_adds_up_the_published_times(table: Published) -> None:
    with pcapnfs.open(table.path) as trace:
        summary = pcapnfs.summarize(trace)
    assert summary.capture.packets == table.frames
    assert summary.capture.duration_s == pytest.approx(
        (table.rows[-1].replied_us - table.rows[0].called_us) / 1e6
    )
    trust = summary.trust
    assert (trust.rpc_calls, trust.matched, trust.undecoded) == (len(table.rows),) * 2 + (0,)
    split = summary.stability
    assert split.stable.calls == sum(row.stable for row in table.rows)
    assert split.stable.sum_s == pytest.approx(table.sum_s(stable=True))
    assert split.unstable.calls == sum(not row.stable for row in table.rows)
    assert split.unstable.sum_s == pytest.approx(table.sum_s(stable=False))
    for row in summary.operations:
        published_rows = [item for item in table.rows if item.op == row.op]
        assert row.calls == len(published_rows)
        assert row.errors == sum(item.failed for item in published_rows)
        assert row.stable_calls == sum(item.stable for item in published_rows)
        assert row.srt.sum_s == pytest.approx(sum(i.service_us for i in published_rows) / 1e6)
    assert {row.op for row in summary.operations} == {row.op for row in table.rows}


def test_perfile_counts_every_published_call_once(table: Published) -> None:
    with pcapnfs.open(table.path) as trace:
        result = pcapnfs.perfile(trace, top=0)
    assert result.total.calls == len(table.rows)
    assert result.total.stable_calls == sum(row.stable for row in table.rows)
    assert result.total.time_s == pytest.approx(
        table.sum_s(stable=True) + table.sum_s(stable=False)
    )


def test_the_unpacked_file_costs_what_its_frames_say(tmp_path: Path) -> None:
    with pcapnfs.open(published.nfsv3_tar().write(tmp_path / "tar.pcap")) as trace:
        files = {file.path.rpartition("/")[2]: file for file in pcapnfs.perfile(trace).files}
    file = files["testfile1"]
    assert Counter(file.ops) == {"LOOKUP": 2, "CREATE": 1, "WRITE": 1, "SETATTR": 1, "GETATTR": 2}
    assert (file.calls, file.stable_calls, file.errors, file.bytes_written) == (7, 3, 2, 1024)
    # Frames 25, 29 and 33: CREATE, WRITE, SETATTR.
    assert file.stable_s == pytest.approx((1257 + 1254 + 1084) / 1e6)


def test_the_command_line_says_the_same(
    table: Published,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    assert run(["summarize", "--json", str(table.path)]) == 0
    stability = json.loads(capsys.readouterr().out)["stability"]
    for kind, stable in (("stable", True), ("unstable", False)):
        assert stability[kind]["calls"] == sum(row.stable == stable for row in table.rows)
        assert stability[kind]["sum_s"] == pytest.approx(table.sum_s(stable=stable))
    assert run(["summarize", str(table.path)]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    for kind, stable in (("stable:", True), ("unstable:", False)):
        line = next(line for line in lines if line.startswith(kind))
        assert units.duration(table.sum_s(stable=stable)) in line


@pytest.mark.parametrize(
    ("name", "from_frame", "calls", "stable", "gap_s"),
    [
        # One file from its first LOOKUP to the last SETATTR; the gaps are the network.
        ("published-v3-tar.pcap", 13, 12, 4, 0.00019),
        ("published-v41-tar.pcap", 14, 6, 4, 0.0006),
    ],
)
def test_the_formula_meets_the_run_time_of_one_file(
    name: str, from_frame: int, calls: int, stable: int, gap_s: float
) -> None:
    with pcapnfs.open(ROOT / "samples" / name) as trace:
        with closing(trace.cursor()) as cursor:
            cursor.execute("delete from calls where call_frame < $frame", {"frame": from_frame})
        found = measure(trace)
    assert found.path.vantage == "server"
    assert found.rtt_source == "gaps"
    assert (found.calls, found.stable_calls) == (calls, stable)
    assert found.rtt_s is not None
    assert found.rtt_s > gap_s
    costs = found.costs()
    assert costs.first_order_s == pytest.approx(found.span_s, rel=0.05)
    # Taking what the capture shows for what the client waited misses it.
    (added_ns,) = found.path.added_ns.values()
    with_server_times = replace(costs, rtt_s=costs.rtt_s - added_ns / 1e9)
    assert with_server_times.first_order_s < 0.85 * found.span_s


def test_service_times_of_five_files_add_up_to_the_formula() -> None:
    """The published table: calls and sums of service times in microseconds."""
    small = {"ACCESS": (7, 815), "CLOSE": (5, 598), "GETATTR": (7, 1132), "NVERIFY": (1, 107)}
    stable = {"OPEN": (5, 10205), "SETATTR": (10, 24154), "WRITE": (5, 14139)}
    (few, few_us), (many, many_us) = (
        [sum(column) for column in zip(*table.values(), strict=True)] for table in (small, stable)
    )
    rtt = few_us / few / 1e6
    given = Overrides(
        files=5,
        rpcs_per_file=(few + many) / 5,
        rtt_s=rtt,
        syncops_per_file=many / 5,
        persist_s=many_us / many / 1e6 - rtt,
    )
    assert (given.rpcs_per_file, given.syncops_per_file) == (8, 4)
    found = model(None, given)
    assert found.predicted_s == pytest.approx((few_us + many_us) / 1e6)
    assert found.verdict is not None
    assert found.verdict.named == ("persistence",)
    assert found.verdict.causes[0].share == pytest.approx(0.9, abs=0.01)


def test_npm_waited_for_a_disk_and_overlapped_its_calls() -> None:
    files, sync_s, async_s, local_s, rtt_s = 40_374, 1752.161, 30.941, 26.283, 0.000275
    persist = (sync_s - async_s) / files / 4
    given = Overrides(
        files=files, rpcs_per_file=12, rtt_s=rtt_s, syncops_per_file=4, persist_s=persist
    )
    found = model(None, given)
    assert found.verdict is not None
    assert found.verdict.storage == "disk"
    assert found.predicted_s == pytest.approx(sync_s, rel=0.06)
    serial = {each.change: each.forecast_s for each in found.what_if}["async"]
    assert serial > 4 * async_s
    overlapping = replace(given, persist_s=0.0, streams=29, client_s=local_s / files / 12)
    assert model(None, overlapping).forecast_s == pytest.approx(async_s, rel=0.05)
