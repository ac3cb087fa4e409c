"""Every limit that would end the process counts."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import decoding, export, memory

SAMPLE = Path(__file__).parents[2] / "samples" / "k61-tar-v3.pcap"

GB = 1 << 30


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 8 GB free, no groups, no limit."""
    (tmp_path / "groups").mkdir()
    (tmp_path / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {8 * GB // 1024} kB\n")
    (tmp_path / "statm").write_text("25600 1 1 0 0 0 0\n")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_OWN_SIZE", tmp_path / "statm")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    return tmp_path


def group(directory: Path, names: tuple[str, str], limit: str, used: int, cached: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / names[0]).write_text(limit + "\n")
    (directory / names[1]).write_text(f"{used}\n")
    (directory / "memory.stat").write_text(f"anon 7\n{cached}\n")


def test_what_is_known_of_files_fits_into_what_a_limit_leaves() -> None:
    assert memory.of_files(None) is None
    room = GB + memory.BEYOND_BYTES - memory.DECODING_BYTES
    assert (one := memory.of_files(GB)) is not None
    assert room // 2 < one < room
    assert memory.of_files(GB, 2) == one // 2
    assert memory.of_files(1) == memory.of_files(memory.LEAST_BYTES)


@pytest.mark.parametrize(
    ("limit", "given"), [(None, 0), (memory.LEAST_BYTES, 1), (GB // 4, 1), (GB, 0)]
)
def test_decoders_keep_nothing_that_they_freed_where_gaps_would_exceed_the_limit(
    limit: int | None, given: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What freed arrays leave between others was 70 MB of names of 200 bytes."""
    asked = []
    monkeypatch.setattr(memory, "give_back", lambda: asked.append(1))
    monkeypatch.setattr(memory, "chosen", lambda limit: limit)
    monkeypatch.setattr(memory, "tight", lambda *_: False)  # Else the trace asks for it, too.
    decoding.decode([SAMPLE], tmp_path / "stored.nfstrace", limit=limit)
    assert len(asked) == given
    with pcapnfs.open([SAMPLE], memory=limit):
        assert len(asked) == 2 * given
    export.decode_to_file([str(SAMPLE)], "calls", tmp_path / "calls.parquet", limit=limit)
    assert len(asked) == 3 * given


def test_the_least_limit_leaves_room_for_calls_and_files() -> None:
    least = memory.needed(10_000_000, 1_000_000)
    held = 10_000_000 * memory.LEAST_CALL_BYTES + 1_000_000 * memory.FILE_BYTES
    assert least + memory.BEYOND_BYTES - held >= memory.LEAST_DATABASE_BYTES
    assert memory.LEAST_CALL_BYTES <= memory.CALL_BYTES
    assert memory.needed(500_000, 100_000) <= memory.LEAST_BYTES
    assert memory.needed(20_000_000) <= 2 * GB
    # Of calls that follow one another closely: what a summary of these took with 415 MB.
    taken = 568 << 20
    assert memory.needed(3_808_446, 63_803) + memory.BEYOND_BYTES >= taken
    some, more = memory.of_database(2 * GB, 500_000), memory.of_database(2 * GB, 500_000, 1_000_000)
    assert some - more == 1_000_000 * memory.FILE_BYTES


def test_as_many_analyses_at_a_time_as_there_is_room_for() -> None:
    calls = 1_000_000
    assert memory.workers(None, calls) == memory.MOST_WORKERS
    assert memory.workers(8 * GB, calls) == memory.MOST_WORKERS
    assert memory.workers(GB + GB // 2, calls) == 4
    assert memory.workers(GB, calls) == 3
    assert memory.workers(700 << 20, calls) == 2
    assert memory.workers(300 << 20, calls) == 1
    assert memory.workers(300 << 20, 0) == memory.MOST_WORKERS
    for limit in (700 << 20, 1 * GB, 8 * GB):
        database = memory.of_database(limit, calls)
        each = memory.CALL_BYTES + memory.WALK_BYTES
        held = memory.workers(limit, calls) * calls * each
        assert not memory.tight(limit, calls)
        assert database >= limit * 3 // 8
        assert database == limit * 3 // 8 or database + held < limit


def test_where_a_limit_is_tight_one_question_has_its_turn() -> None:
    for calls in (1, 10**4, 10**6, 4_422_363, 10**8):
        for limit in range(16 << 20, 8 * GB, 16 << 20):
            if memory.tight(limit, calls):
                assert memory.workers(limit, calls) == 1


def test_a_tight_limit_makes_walks_shorter_and_threads_fewer() -> None:
    assert memory.walked(None, 10**9) == memory.walked(8 * GB, 0) == memory.WALKED_CALLS
    assert memory.walked(20 << 20, 0) == memory.LEAST_WALKED_CALLS
    assert memory.LEAST_WALKED_CALLS < memory.walked(GB // 2, 0) < memory.WALKED_CALLS
    assert memory.walked(GB // 2, 0) * memory.WALK_BYTES <= GB // 8
    assert memory.threads(None, 1_000_000, 8) == 8
    assert memory.threads(8 * GB, 1_000_000, 8) == 8
    assert memory.threads(8 * GB, 1_000_000, 2) == 2
    assert memory.threads(GB, 1_000_000, 8) == 3
    assert memory.threads(100 << 20, 1_000_000, 8) == 1


def test_a_walk_that_has_its_turn_alone_may_be_longer() -> None:
    calls = 8_000_000
    assert memory.workers(GB, calls) == 1
    assert memory.walked(GB, calls) == 2_000_000
    assert memory.workers(8 * GB, calls) > 1
    assert memory.walked(16 * GB, 20 * calls) == 40_000_000, "alone again"
    assert memory.walked(8 * GB, calls) == memory.WALKED_CALLS


def test_a_walk_and_the_database_stay_within_a_limit_that_is_too_low_for_arrays() -> None:
    for calls in (2_000_000, 27_000_000, 400_000_000):
        for limit in range(256 << 20, 8 * GB, 256 << 20):
            rows = memory.walked(limit, calls)
            database = memory.beside_rows(limit, rows, 0)
            held = memory.DECODING_BYTES + database + rows * memory.ROW_BYTES
            if memory.tight(limit, calls):
                assert held <= limit + memory.BEYOND_BYTES
            assert rows >= min(memory.LEAST_WALKED_CALLS, calls // memory.WALKED_SHARE)


def test_the_database_leaves_room_for_the_rows_of_one_file() -> None:
    for rows in (10**5, 10**6, 10**7):
        least = memory.needed_at_once(rows)
        for limit in range(128 << 20, 8 * GB, 64 << 20):
            database = memory.beside_rows(limit, 0, rows)
            assert database >= memory.LEAST_DATABASE_BYTES
            held = memory.DECODING_BYTES + database + rows * memory.ROW_BYTES
            assert (held <= limit + memory.BEYOND_BYTES) == (limit >= least)


def test_half_of_what_the_machine_has_free(system: Path) -> None:
    assert memory.default_limit() == 4 * GB
    (system / "meminfo").unlink()
    assert memory.default_limit() is None


def test_the_tightest_group_counts_also_above(system: Path) -> None:
    (system / "own").write_text("0::/user/unit\n")
    names = ("memory.max", "memory.current")
    group(system / "groups/user/unit", names, "max", GB, "inactive_file 0")
    assert memory.free() == 8 * GB
    group(system / "groups/user", names, str(3 * GB), 2 * GB, f"inactive_file {GB // 2}")
    assert memory.free() == GB + GB // 2
    group(system / "groups/user/unit", names, str(GB), 2 * GB, "inactive_file 0")
    assert memory.default_limit() == 1, "less than nothing is left"


def test_groups_of_version_1(system: Path) -> None:
    (system / "own").write_text("5:cpu,memory:/job\n4:pids:/job\n")
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    group(system / "groups/memory/job", names, str(2 * GB), GB, "total_inactive_file 0")
    assert memory.free() == GB


@pytest.mark.usefixtures("system")
def test_the_address_space_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2 * GB, 2 * GB))
    assert memory.free() == 2 * GB - 25600 * resource.getpagesize()


@pytest.mark.usefixtures("system")
def test_no_more_can_be_chosen_than_addresses_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (memory.most(), memory.chosen(100 * GB)) == (None, 100 * GB)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2 * GB, 2 * GB))
    half = (2 * GB - 25600 * resource.getpagesize()) // 2
    assert memory.most() == half
    assert memory.chosen(2 * GB) == memory.chosen(None) == half
    assert memory.chosen(GB // 2) == GB // 2


def test_no_more_can_be_chosen_than_a_group_allows(system: Path) -> None:
    (system / "own").write_text("0::/unit\n")
    names = ("memory.max", "memory.current")
    group(system / "groups/unit", names, str(3 * GB), GB, "inactive_file 0")
    assert memory.chosen(3 * GB) == 2 * GB - memory.BEYOND_BYTES
    group(system / "groups/unit", names, str(3 * GB), 3 * GB, "inactive_file 0")
    assert memory.chosen(3 * GB) == 1, "less than nothing is left"


def test_the_database_gets_what_decoding_leaves() -> None:
    assert memory.of_database(GB) == GB - memory.DECODING_BYTES
    assert memory.of_database(200 << 20) == 75 << 20
    assert memory.of_database(1) == memory.LEAST_DATABASE_BYTES
    calls = 1_000_000
    workers = memory.workers(2 * GB, calls)
    assert workers > 1
    of_calls = workers * calls * (memory.CALL_BYTES + memory.WALK_BYTES)
    assert memory.of_database(2 * GB, calls) == memory.of_database(2 * GB) - of_calls


@pytest.mark.parametrize(("calls", "expected"), [(5, GB * 3 // 8), (7, None), (1000, GB * 3 // 16)])
def test_of_a_tight_limit_the_database_gets_less_the_more_is_held(
    calls: int, expected: int | None
) -> None:
    calls *= 1_000_000
    got = memory.of_database(GB, calls)
    if expected is None:
        walks = GB // memory.WALKED_PART // 2 // memory.WALK_BYTES * memory.WALK_BYTES
        expected = GB - calls * memory.CALL_BYTES - walks
        assert GB * 3 // 16 < expected < GB * 3 // 8
    assert got == expected


def test_a_limit_is_tight_where_calls_would_fill_much_of_it() -> None:
    calls = 500_000
    assert memory.tight(256 << 20, calls)
    assert not memory.tight(384 << 20, calls)
    assert not memory.tight(256 << 20, 1_000)
    assert not memory.tight(None, 10**9)


def test_this_machine_tells() -> None:
    free = memory.free()
    assert free is None or free > 0
    assert memory.resident() > 0


def test_what_a_process_takes_anyhow_is_part_of_what_it_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "resident", lambda: 50 << 20)
    assert memory.growth(GB) == GB + memory.BEYOND_BYTES - (50 << 20)
    assert memory.growth(1) == memory.LEAST_BYTES + memory.BEYOND_BYTES - (50 << 20)
    monkeypatch.setattr(memory, "resident", lambda: 9 * GB)
    assert memory.growth(GB) == GB + memory.BEYOND_BYTES - memory.DECODING_BYTES
