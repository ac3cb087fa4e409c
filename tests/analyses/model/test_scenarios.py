"""What the run would take with other storage, networks, streams or options."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.forecasts.inputs import base_of
from pcapnfs.analyses.forecasts.measurement import Measurement
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.resampling import resampled
from pcapnfs.analyses.forecasts.scenarios import scenarios
from pcapnfs.analyses.forecasts.what_if import LOG_DEVICE_S, STREAMS, Change
from pcapnfs.analyses.times.taken_out import Lost
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from pcapnfs.views import forecasts
from pcapnfs.views.estimate import remarks
from tests.analyses.model.runs import (
    FILES,
    RTT_MS,
    THINK_MS,
    TIMES,
    connection,
    ends,
    inputs,
    objects,
    reading,
    run,
)
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (Overrides(streams=8), Overrides(streams=8, persist_s=0.0)),
        (Overrides(streams=8, persist_s=LOG_DEVICE_S), Overrides(streams=8, persist_s=0.0)),
        (Overrides(rtt_s=0.005), Overrides(rtt_s=0.005, persist_s=0.0)),
    ],
)
def test_what_was_given_and_a_change_are_one_scenario_whichever_is_given(
    trace: Trace, given: Overrides, asked: Overrides
) -> None:
    changed = {each.change: each for each in model(trace, given).what_if}["async"]
    told = {each.change: each for each in model(trace, asked).what_if}["given"]
    assert changed.forecast_s == pytest.approx(told.forecast_s)
    assert (changed.low_s, changed.high_s) == pytest.approx((told.low_s, told.high_s))


def test_less_waiting_takes_no_longer_at_most(trace: Trace) -> None:
    found = {each.change: each for each in model(trace, Overrides(streams=8)).what_if}
    ranges = [ends(found[change]) for change in ("async", "log_device", "given")]
    for ordered in zip(*ranges, strict=True):
        assert list(ordered) == sorted(set(ordered))


def test_what_would_happen_if(trace: Trace) -> None:
    by_name = {each.change: each for each in model(trace).what_if}
    assert list(by_name) == ["measured", "async", "log_device", "rtt", "streams", "local"]
    client = 119 * 0.002
    assert by_name["async"].forecast_s == pytest.approx(40 * 0.003 + client)
    assert by_name["log_device"].forecast_s == pytest.approx(
        40 * (0.003 + 2 * LOG_DEVICE_S) + client
    )
    assert by_name["rtt"].forecast_s == pytest.approx(40 * (0.013 - 3 * 0.0004) + client)
    assert by_name["rtt"].value == pytest.approx(0.0004)
    assert by_name["streams"].forecast_s == pytest.approx(40 * 0.013 / STREAMS + client)
    assert by_name["local"].forecast_s == pytest.approx(40 * 3 * 0.0002 + client)
    assert by_name["async"].factor == pytest.approx(0.758 / (0.12 + client))


@pytest.mark.parametrize(("files", "told"), [(STREAMS, True), (STREAMS - 1, False)])
def test_no_more_streams_are_foretold_than_there_are_files(files: int, told: bool) -> None:
    calls = [{**row, "file": place % files + 1} for place, row in enumerate(run())]
    with trace_of(
        files=[file(number + 1, f"f{number}") for number in range(files)],
        calls=calls,
        connections=[connection(0.8, 0.001)],
    ) as opened:
        found, more = model(opened), model(opened, Overrides(files=40))
    assert ("streams" in {each.change for each in found.what_if}) is told
    assert "streams" in {each.change for each in more.what_if}


@pytest.mark.parametrize(("streams", "told"), [(7, True), (8, False)])
def test_no_more_streams_are_foretold_where_as_many_ran(streams: int, told: bool) -> None:
    """Each begins 57 ms after the one before, so that fewer are under way on average."""
    calls: list[Row] = []
    for stream in range(streams):
        for place, row in enumerate(run()):
            times = {
                name: int(str(row[name])) + stream * 57 * MILLISECOND
                for name in row
                if name.endswith("_time")
            }
            about = 2 * stream + place % 2 + 1
            calls.append({**row, **times, "call": len(calls) + 1, "file": about})
    with trace_of(
        files=[file(number + 1, f"f{number}") for number in range(2 * streams)],
        calls=calls,
        connections=[connection(0.8, 0.001)],
    ) as opened:
        found, given = model(opened), model(opened, Overrides(streams=4))
    assert 2 < float(inputs(found)["concurrency"][0]) < STREAMS - 1
    assert ("streams" in {each.change for each in found.what_if}) is told
    assert "streams" in {each.change for each in given.what_if}


@pytest.mark.parametrize("persist_s", [0.0, 1e-20, 1e-17])
def test_storage_that_takes_no_time_makes_no_call_shorter(persist_s: float) -> None:
    costs = Costs(
        files=10.0,
        rpcs_per_file=3.0,
        rtt_s=0.001,
        syncops_per_file=2.0,
        persist_s=persist_s,
        other_s=0.002,
        client_s=0.0,
        pauses_s=0.0,
        concurrency=1.0,
        unsure_s=0.001,
        slow_s=0.001,
    )
    for given in (0.0, 0.0001):
        change = Change(persist_s=given)
        for case in change.extremes(costs, absorbs=False):
            assert case.forecast_s == pytest.approx(change.of(costs).forecast_s)


@pytest.mark.parametrize(("late_ms", "shared"), [(4_000, False), (2_900, True)])
def test_streams_do_not_shorten_the_wait_for_a_path_that_was_cut(
    late_ms: int, *, shared: bool
) -> None:
    """The last CREATE stands still; what is shorter may be a loss of its own."""
    rows = run()
    last = dict(rows[-1])
    for name in TIMES[2:]:
        last[name] = int(str(last[name])) + late_ms * MILLISECOND
    last |= {"srt": int(str(last["reply_time"])) - int(str(last["call_time"])), "tcp_resent": True}
    calls = [{**row, "connection": 0} for row in (*rows[:-1], last)]
    lossy = {**connection(0.8, 0.001), "connection": 0, "transport": "TCP"}
    lossy |= {"client": "10.0.0.2", "server": "10.0.0.1", "client_resent": 5}
    with trace_of(files=objects(), calls=calls, connections=[lossy]) as trace:
        found, given = model(trace), model(trace, Overrides(streams=STREAMS))
    streams = next(each for each in found.what_if if each.change == "streams")
    client = (len(rows) - 1) * 0.002
    busy = float(found.measured_s or 0.0) - client - late_ms / 1000
    waited = late_ms / 1000 / (STREAMS if shared else 1)
    assert streams.forecast_s == pytest.approx(busy / STREAMS + waited + client)
    assert given.forecast_s == pytest.approx(streams.forecast_s)
    assert given.verdict is not None
    detail = "until TCP's retransmission timer ran out" if shared else "let nothing through"
    assert found.verdict is not None
    assert detail in found.verdict.sentence
    lost = next(each for each in given.verdict.causes if each.cause == "loss")
    assert lost.time_s == pytest.approx(waited, rel=0.01)


def refusing(status: str) -> Trace:
    """The server refuses an OPEN so, and takes it 4 s later."""
    late_ns = 4_000 * MILLISECOND
    rows = run()
    at = int(str(rows[-1]["reply_time"])) + 2 * MILLISECOND

    def opening(number: int, sent: int, status: str) -> Row:
        times = {"call_first_time": sent, "call_time": sent}
        times |= dict.fromkeys(("reply_first_time", "reply_time"), sent + MILLISECOND)
        return call(number, "OPEN", 1, file=1, status_name=status, **times)

    refused = opening(len(rows) + 1, at, status)
    taken = opening(len(rows) + 2, at + late_ns, "NFS4_OK")
    return trace_of(files=objects(), calls=[*rows, refused, taken])


def test_streams_do_not_shorten_the_wait_for_a_server_that_is_not_ready() -> None:
    """Eight streams wait as long as one."""
    with refusing("NFS4ERR_GRACE") as trace:
        found = model(trace)
        given = model(trace, Overrides(streams=STREAMS))
    streams = next(each for each in found.what_if if each.change == "streams")
    client = 120 * 0.002
    assert streams.forecast_s == pytest.approx(4 + (40 * 0.013 + 0.001) / STREAMS + client)
    assert given.forecast_s == pytest.approx(streams.forecast_s)
    assert given.verdict is not None
    assert given.verdict.named == ("waiting",)
    waiting = next(each for each in given.verdict.causes if each.cause == "waiting")
    assert waiting.time_s == pytest.approx(4, rel=0.01)


@pytest.mark.parametrize("streams", [None, STREAMS])
@pytest.mark.parametrize("status", ["NFS4ERR_GRACE", "NFS4ERR_DELAY"])
def test_a_local_disk_is_ready(status: str, streams: int | None) -> None:
    with refusing(status) as trace:
        found = model(trace, Overrides(streams=streams)).what_if[-1]
    assert found.change == "local"
    # 122 calls of 1 ms, and the client's own time.
    local = 0.122 / (streams or 1) + 120 * 0.002
    assert found.forecast_s == pytest.approx(local, rel=0.02)
    low, high = ends(found)
    assert low <= local <= high < 4


@pytest.mark.parametrize("streams", [None, STREAMS])
@pytest.mark.parametrize("status", ["NFS4ERR_GRACE", "NFS4ERR_DELAY"])
def test_without_waits_for_the_server_the_rest_is_as_it_was(
    status: str, streams: int | None
) -> None:
    with refusing(status) as trace:
        found = {each.change: each for each in model(trace, Overrides(streams=streams)).what_if}
    rest = (40 * 0.013 + 0.001) / (streams or 1) + 120 * 0.002
    assert found["ready"].forecast_s == pytest.approx(rest, rel=0.01)
    # What goes without network and storage is told to be without these as well.
    assert found["local"].value == pytest.approx(4, rel=0.01)
    assert "waits for the server" in forecasts.change(found["local"])


def reconnecting(asked_ms: int) -> Trace:
    """40 files, after the first 20 of which 4 s pass; a connection is asked for so long after."""
    before, pause_ms = run()[:60], 4_000
    after: list[Row] = []
    for row in run()[60:]:
        times = {key: int(str(row[key])) + pause_ms * MILLISECOND for key in TIMES}
        after.append({**row, **times, "connection": 1})
    last = int(str(before[-1]["reply_time"]))
    late: Row = {
        **connection(0.8, 0.001),
        "connection": 1,
        "first_frame": 61,
        "syns": 3,
        "syn_acks": 1,
        "syn_time": last + asked_ms * MILLISECOND,
        "syn_ack_time": int(str(after[0]["call_time"])) - MILLISECOND,
    }
    connections = [{**connection(0.8, 0.001), "first_time": START_NS}, late]
    return trace_of(files=objects(), calls=before + after, connections=connections)


def test_what_a_client_waited_for_a_connection_is_a_wait_for_the_server() -> None:
    """As the verdict has it: the server was away, and no call was under way meanwhile."""
    with reconnecting(asked_ms=1_000) as trace:
        found = model(trace)
        given = model(trace, Overrides(client_s=0.002))
    changed = {each.change: each for each in found.what_if}
    whole = changed["measured"].forecast_s
    assert changed["ready"].forecast_s == pytest.approx(whole - 3, abs=0.01)
    assert changed["local"].value == pytest.approx(3, abs=0.01)
    assert changed["async"].forecast_s > 4
    # Calls of 0.2 ms, the client's own time, and the second before it asked for a connection.
    assert changed["local"].forecast_s == pytest.approx(120 * 0.0022 + 1, rel=0.02)
    parts = {each.part: each.time_s for each in found.left_out}
    assert parts["unreached"] == found.unreached_s == pytest.approx(3, abs=0.01)
    assert parts["pauses"] == found.pauses_s == pytest.approx(1, abs=0.01)
    assert "waiting" not in parts
    # All of it is in the forecast, and in none of its other parts.
    assert found.predicted_s is not None
    assert found.other_s is not None
    assert found.client_s is not None
    assert found.concurrency is not None
    called = (found.predicted_s + found.other_s) / found.concurrency
    assert found.forecast_s == pytest.approx(called + found.client_s + found.unreached_s)
    assert given.unreached_s == 0
    # What the client takes instead is given, and holds no wait.
    assert "ready" not in {each.change for each in given.what_if}
    assert not {"waiting", "unreached"} & {each.part for each in given.left_out}


def test_without_a_network_no_call_comes_late_for_what_was_lost() -> None:
    """At the server, an outage is a gap between calls; what is given for these holds none."""
    with reconnecting(asked_ms=3_990) as trace:
        measured = measure(trace)
    lossy = replace(measured, lost=Lost(gaps_s=0.1, pauses_s=3.0))

    def without_network(measured: Measurement, given: Overrides) -> float:
        rows = scenarios(measured, given, base_of(measured, given), Change(), ())
        return next(each.forecast_s for each in rows if each.change == "local")

    for given, less_s in ((Overrides(), 3.1), (Overrides(client_s=0.002), 0.0)):
        clean_s = without_network(measured, given)
        assert without_network(lossy, given) == pytest.approx(clean_s - less_s, abs=1e-6)


def test_a_client_that_asks_for_a_connection_late_has_not_waited_for_the_server() -> None:
    with reconnecting(asked_ms=3_990) as trace:
        found = model(trace)
    assert "ready" not in {each.change for each in found.what_if}
    assert {each.part: each.time_s for each in found.left_out}["pauses"] > 3.9


def test_where_hardly_any_call_waited_nothing_is_forecast_without(trace: Trace) -> None:
    found = {each.change: each for each in model(trace).what_if}
    assert "ready" not in found
    assert found["local"].value is None
    assert forecasts.change(found["local"]) == "same calls, no network or persistence"


@pytest.mark.parametrize("status", ["NFS4ERR_DELAY", "NFS3ERR_JUKEBOX"])
def test_while_one_file_is_put_off_other_streams_go_on(status: str) -> None:
    with refusing(status) as trace:
        found = model(trace)
        given = model(trace, Overrides(streams=STREAMS))
    streams = next(each for each in found.what_if if each.change == "streams")
    client = 120 * 0.002
    assert streams.forecast_s == pytest.approx((4 + 40 * 0.013 + 0.001) / STREAMS + client)
    # Unless all of them need that file.
    assert ends(streams)[1] > 4
    assert given.forecast_s == pytest.approx(streams.forecast_s)
    assert given.verdict is not None
    waiting = next(each for each in given.verdict.causes if each.cause == "waiting")
    assert waiting.time_s == pytest.approx(4 / STREAMS, rel=0.01)


def test_streams_move_no_bytes_faster_over_a_link_that_is_full() -> None:
    """Unless it is not: then they share that time as well."""
    with reading(objects=STREAMS) as trace:
        found = model(trace)
        given = model(trace, Overrides(streams=STREAMS))
        local = model(trace, Overrides(streams=STREAMS)).what_if[-1]
    streams = next(each for each in found.what_if if each.change == "streams")
    measured = float(found.measured_s or 0.0)
    assert streams.forecast_s == pytest.approx(measured, rel=0.05)
    assert found.concurrency is not None
    assert streams.low_s == pytest.approx(measured * found.concurrency / STREAMS, rel=0.05)
    assert given.forecast_s == pytest.approx(streams.forecast_s)
    assert given.verdict is not None
    assert given.verdict.named == ("transfer",)
    assert local.change == "local"
    # The first waited 10 ms for no other.
    assert local.forecast_s == pytest.approx(0.010 / STREAMS, abs=0.001)


@pytest.mark.parametrize("moving_ms", [5000, 1000])
def test_what_small_calls_wait_behind_data_on_the_link_is_not_the_servers(moving_ms: int) -> None:
    """Of fifty, ten take 100 ms beside a READ; where it moves for a little while, nothing tells."""
    rows = run(stable=())
    begin = int(str(rows[-1]["reply_time"])) + 2 * MILLISECOND

    def add(op: str, sent: int, first: int, end: int, **columns: object) -> None:
        times = {"call_first_time": sent, "call_time": sent, "reply_first_time": first}
        times |= {"reply_time": end, "srt": end - sent, "connection": 0}
        rows.append(call(len(rows) + 1, op, 1, file=1, **(times | columns)))

    end = begin + moving_ms * MILLISECOND
    add("READ", begin, begin + MILLISECOND, end, stability="read")
    for number in range(10):
        sent = begin + (50 + 200 * number) * MILLISECOND
        answered = sent + 100 * MILLISECOND
        add("LOOKUP", sent, answered, answered, stability="unstable")
    with trace_of(files=objects(), calls=rows, connections=[connection(0.8, 0.0008)]) as trace:
        measured = measure(trace)
        local = next(each for each in model(trace).what_if if each.change == "local")
    assert measured.usual_s == pytest.approx(0.001)
    assert measured.rtt_s == pytest.approx((40 * 0.001 + 10 * 0.1) / 50)
    assert measured.mostly_moving == (moving_ms == 5000)
    # Of the mean, 20 ms each are no round trip on the network.
    served_s = local.forecast_s - measured.client_s
    assert served_s < 0.02 if measured.mostly_moving else served_s > 50 * 0.019 / 2


@pytest.mark.parametrize("persist_ms", [100, 5])
def test_where_nothing_tells_the_network_a_run_without_it_is_foretold_where_that_is_no_matter(
    persist_ms: float,
) -> None:
    """Small calls show the round trip, and no TCP which part of it a local disk spares."""
    with trace_of(files=objects(), calls=run(persist_ms=persist_ms)) as trace:
        measured, found = measure(trace), model(trace)
        given = model(trace, Overrides(rtt_s=0.0005))
    assert measured.rtt_s == pytest.approx(0.001)
    assert measured.path.rtt_s is None
    assert ("local" in {each.change for each in found.what_if}) is (persist_ms == 100)
    assert "local" in {each.change for each in given.what_if}


def test_what_one_file_moved_is_not_taken_from_runs_without_it() -> None:
    """A third of the resamples lack the only file that took 2 s on the wire."""
    rows = run()
    last = rows[-1]
    first = int(str(last["reply_time"])) + 2 * MILLISECOND
    end = first + 2000 * MILLISECOND
    times = {"call_first_time": first, "call_time": first, "reply_first_time": first + MILLISECOND}
    times |= {"reply_time": end, "srt": end - first, "connection": 0}
    rows.append(call(len(rows) + 1, "READ", 1, file=FILES, stability="read", **times))
    with trace_of(files=objects(), calls=rows, connections=[connection(0.8, 0.001)]) as trace:
        local = next(each for each in model(trace).what_if if each.change == "local")
    low, high = ends(local)
    client = 120 * 0.002
    assert client <= low <= local.forecast_s <= high < 1


def test_no_other_storage_is_forecast_where_nothing_tells_how_slow_it_is() -> None:
    """Most stable calls were sent again: what they took is the wait for that."""
    again = {"first_arrived": False}
    rows = [{**row, **again} if row["stability"] == "stable" else row for row in run()]
    with trace_of(files=objects(), calls=rows) as trace:
        found = model(trace)
        given = model(trace, Overrides(persist_s=0.005))
    assert found.resent
    assert [each.change for each in found.what_if] == ["measured", "streams"]
    assert any("nothing tells what other storage would bring" in told for told in remarks(found))
    # What the user gives is known.
    assert not given.resent
    assert "async" in {each.change for each in given.what_if}


def test_a_larger_wsize_saves_calls() -> None:
    """Files of 64 KiB in two WRITEs and a COMMIT: two calls less each, no stable one less."""
    rows = run(stable=("CREATE", "COMMIT"), small=("WRITE", "WRITE", "LOOKUP"))
    rows = [{**row, "stability": "unstable_write"} if row["op"] == "WRITE" else row for row in rows]
    operations, offset = [], 0
    for row in rows:
        if row["op"] == "WRITE":
            number, of = row["call"], row["file"]
            assert isinstance(number, int)
            operations.append(operation(number, "WRITE", file=of, offset=offset, requested=32768))
            offset = 32768 - offset
    with trace_of(files=objects(), calls=rows, operations=operations) as trace:
        found = {each.change: each for each in model(trace).what_if}
    assert found["wsize"].value == 65536
    saved = found["measured"].forecast_s - found["wsize"].forecast_s
    # Two round trips of 1 ms for each file, and perhaps the client's 2 ms.
    assert saved == pytest.approx(40 * 2 * 0.001, rel=0.02)
    saved = found["measured"].forecast_s - ends(found["wsize"])[0]
    assert saved == pytest.approx(40 * 2 * 0.003, rel=0.05)
    # Where another file went in a larger WRITE, wsize is larger, and somebody wanted the pieces.
    last = rows[-1]["call"]
    assert isinstance(last, int)
    rows.append(call(last + 1, "WRITE", 1, stability="unstable_write"))
    operations.append(operation(last + 1, "WRITE", file=1000, offset=0, requested=65536))
    with trace_of(files=objects(), calls=rows, operations=operations) as trace:
        assert "wsize" not in {each.change for each in model(trace).what_if}


def test_appended_lines_are_not_cut_by_wsize() -> None:
    rows = run(stable=("CREATE",), small=("WRITE", "WRITE", "LOOKUP"))
    operations = [
        operation(row["call"], "WRITE", file=row["file"], offset=0, requested=size)  # type: ignore[arg-type]
        for row, size in zip(
            [row for row in rows if row["op"] == "WRITE"], [100, 250] * FILES, strict=True
        )
    ]
    with trace_of(files=objects(), calls=rows, operations=operations) as trace:
        assert "wsize" not in {each.change for each in model(trace).what_if}


def test_listings_with_attributes_save_what_followed() -> None:
    folder = file(200, "d", "directory")
    inside = [{**row, "parent": 200, "name": row["path"]} for row in objects()]
    ready = START_NS + 999 * MILLISECOND
    times = {"call_first_time": ready, "call_time": ready, "reply_time": ready + MILLISECOND}
    listing = call(900, "READDIR", 1, file=200, **times)
    entries = [
        {"call": 900, "directory": 200, "name": f"f{n}", "file": n} for n in range(1, FILES + 1)
    ]
    with trace_of(
        files=[folder, *inside],
        calls=[listing, *run(stable=(), small=("GETATTR",), directory=200)],
        operations=[operation(900, "READDIR", file=200, cookie=0, entries=40)],
        entries=entries,
    ) as trace:
        found = {each.change: each for each in model(trace).what_if}
    assert found["readdirplus"].value == 40
    saved = found["measured"].forecast_s - found["readdirplus"].forecast_s
    # The client's pauses beside these calls as well: before the first and behind the last is none.
    assert saved == pytest.approx(40 * (RTT_MS + THINK_MS) / 1e3, rel=0.05)


@pytest.mark.parametrize("reads", ["one by one", "at once"])
def test_another_network_adds_a_round_trip_for_each_turn(reads: str) -> None:
    """40 calls one by one, and then 20 READs at once that take 20 ms each."""
    rows = run(stable=(), small=("LOOKUP",))
    begin = max(int(str(row["reply_time"])) for row in rows)
    for number in range(20):
        sent = begin + (0 if reads == "at once" else (20 * number) * MILLISECOND)
        end = sent + 20 * MILLISECOND
        times = dict.fromkeys(TIMES[:2], sent) | dict.fromkeys(TIMES[2:], end)
        rows.append(
            call(100 + number, "READ", 20, file=1, stability="read", srt=end - sent, **times)
        )
    with trace_of(files=objects(), calls=rows, connections=[connection(0.8, 0.0)]) as opened:
        plain, longer = model(opened), model(opened, Overrides(rtt_s=0.0108))
    assert plain.forecast_s is not None
    assert longer.forecast_s is not None
    turns = 40 + (1 if reads == "at once" else 20)
    assert longer.forecast_s == pytest.approx(plain.forecast_s + turns * 0.010)


def test_what_a_stable_call_stood_still_is_no_persistence_of_others() -> None:
    """One after the other, each holds up the clock for as long as it takes, whatever one took."""
    rows = run(stable=("CREATE",), small=("GETATTR",))
    end = max(int(str(row["reply_time"])) for row in rows)
    sent = end + MILLISECOND
    times = dict.fromkeys(TIMES[:2], sent) | dict.fromkeys(TIMES[2:], sent + 3000 * MILLISECOND)
    times["call_time"] = sent + 2000 * MILLISECOND
    last = call(900, "CREATE", 3000, file=1, stability="stable", transmissions=2, **times)
    with trace_of(files=objects(), calls=[*rows, last]) as trace:
        found = measure(trace)
    costs = found.costs()
    assert costs.persist_s < 0.1
    assert (costs.turns, costs.stored_turns) == pytest.approx((1, 1))
    resamples = resampled(found)
    assert resamples is not None
    assert np.asarray(resamples.stored_turns) == pytest.approx(1)
