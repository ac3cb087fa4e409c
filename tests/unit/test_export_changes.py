"""Exports on both sides of a comparison: which are the same, and what changed at each."""

from __future__ import annotations

from pcapnfs.analyses.servers.exports import Exports, ExportTimes
from pcapnfs.comparison.exports import ExportChange, export_changes


def times(
    server: str, path: str, time_s: float = 1.0, stable_s: float | None = 0.010
) -> ExportTimes:
    host = f"[{server}]" if ":" in server else server
    return ExportTimes(
        server=server,
        export=f"{host}:{path}",
        clients=1,
        calls=40,
        stable_calls=30,
        time_s=time_s,
        clock_s=time_s,
        small_calls=10,
        small_median_s=0.002,
        stable_median_s=stable_s,
        kinds=(),
        span_ns=None,
        frames=(),
    )


def side(*exports: ExportTimes) -> Exports:
    return Exports(exports, len(exports))


def told(before: Exports, after: Exports) -> list[str]:
    return [row.export for row in export_changes(before, after)]


def test_an_export_of_a_server_that_moved_is_the_same() -> None:
    before = side(times("10.0.0.1", "/a", 9.0, 0.012), times("10.0.0.1", "/b"))
    after = side(times("2001:db8::1", "/b"), times("2001:db8::1", "/a", 2.0, 0.003))
    first, second = export_changes(before, after)
    assert first == ExportChange("/a", 40, 40, 30, 30, 9.0, 2.0, 0.012 - 0.002, 0.003 - 0.002)
    assert (second.export, second.time_before_s, second.time_after_s) == ("/b", 1.0, 1.0)


def test_one_that_is_on_one_side_alone_has_no_calls_on_the_other() -> None:
    before = side(times("10.0.0.1", "/a"), times("10.0.0.1", "/gone", 5.0))
    after = side(times("10.0.0.1", "/a"), times("10.0.0.1", "/new", 3.0))
    gone, new, same = export_changes(before, after)
    assert (gone.export, gone.calls_before, gone.calls_after) == ("/gone", 40, 0)
    assert (gone.time_after_s, gone.beyond_after_s) == (0.0, None)
    assert (new.export, new.calls_before, new.calls_after) == ("/new", 0, 40)
    assert same.export == "/a"


def test_where_two_servers_have_a_path_their_addresses_tell_them_apart() -> None:
    both = side(times("10.0.0.1", "/a"), times("10.0.0.2", "/a"), times("10.0.0.1", "/b"))
    other = side(times("10.0.0.1", "/a"), times("10.0.0.1", "/b"))
    assert told(both, other) == ["10.0.0.2:/a", "10.0.0.1:/a", "10.0.0.1:/b"]
    assert told(other, both) == ["10.0.0.2:/a", "10.0.0.1:/a", "10.0.0.1:/b"]


def test_nothing_is_told_where_a_side_shows_no_several() -> None:
    several = side(times("10.0.0.1", "/a"), times("10.0.0.1", "/b"))
    assert told(several, Exports()) == told(Exports(), several) == told(Exports(), Exports()) == []


def test_what_the_medians_do_not_tell_is_not_known() -> None:
    before = side(times("10.0.0.1", "/a", stable_s=None), times("10.0.0.1", "/b", stable_s=0.001))
    rows = {row.export: row for row in export_changes(before, before)}
    assert rows["/a"].beyond_before_s is None
    assert rows["/b"].beyond_before_s == 0.0  # Faster than a small call is no less than nothing.
