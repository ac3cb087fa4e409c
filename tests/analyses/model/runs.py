"""Runs written by hand with round numbers, for the tests of the model."""

from __future__ import annotations

from typing import Any

from pcapnfs.analyses.forecasts.model import Model
from pcapnfs.analyses.forecasts.what_if import Scenario
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, trace_of

FILES = 40
RTT_MS, PERSIST_MS, THINK_MS = 1, 5, 2

TIMES = ("call_time", "call_first_time", "reply_time", "reply_first_time")
"""Columns of a call that hold a time."""


def run(
    files: int = FILES,
    *,
    stable: tuple[str, ...] = ("CREATE", "SETATTR"),
    small: tuple[str, ...] = ("LOOKUP",),
    persist_ms: float = PERSIST_MS,
    pause_ms: float = 0,
    **columns: object,
) -> list[Row]:
    """Calls of files one after the other: small ones, then stable ones, 2 ms between them."""
    rows: list[Row] = []
    now_ms = 1000.0
    for number in range(1, files + 1):
        for op in (*small, *stable):
            lasts = RTT_MS + (persist_ms if op in stable else 0)
            sent = START_NS + int(now_ms * MILLISECOND)
            end = sent + int(lasts * MILLISECOND)
            rows.append(
                call(
                    len(rows) + 1,
                    op,
                    lasts,
                    file=number,
                    stability="stable" if op in stable else "unstable",
                    **{
                        "call_time": sent,
                        "call_first_time": sent,
                        "reply_first_time": end,
                        "reply_time": end,
                        "srt": end - sent,
                    }
                    | columns,
                )
            )
            now_ms += lasts + THINK_MS
        now_ms += pause_ms
    return rows


def objects(files: int = FILES) -> list[Row]:
    return [file(number, f"f{number}") for number in range(1, files + 1)]


def connection(syn_ms: float | None, ack_ms: float | None) -> Row:
    """A connection whose handshake shows both halves of the round trip."""
    ns = [None if each is None else int(each * MILLISECOND) for each in (syn_ms, ack_ms)]
    return {
        "connection": 0,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "handshake": syn_ms is not None,
        "syn_rtt": ns[0],
        "ack_rtt": ns[1],
    }


def ends(found: Scenario) -> tuple[float, float]:
    """The range of a forecast that has one."""
    assert found.low_s is not None
    assert found.high_s is not None
    return found.low_s, found.high_s


def inputs(found: Model) -> dict[str, tuple[Any, str]]:
    return {each.name: (each.value, each.source) for each in found.inputs}


def reading(files: int = FILES, moving_ms: float = 10, objects: int = 1) -> Trace:
    """READs of objects by turns, two under way, whose replies fill the link one after the other.

    Nothing else tells the round trip, as in a capture of a copy that is under way: of 20 ms that a
    READ takes, it waits 10 for the reply before, and its own is on the wire for the rest.
    """
    rows: list[Row] = []
    for number in range(1, files + 1):
        sent = START_NS + int(number * moving_ms * MILLISECOND)
        first = sent + int(moving_ms * MILLISECOND)
        end = first + int(moving_ms * MILLISECOND)
        times = {"call_first_time": sent, "call_time": sent, "reply_first_time": first}
        times |= {"reply_time": end, "srt": end - sent, "connection": 0}
        rows.append(call(number, "READ", 1, file=number % objects + 1, stability="read", **times))
    late = {"server_turns": files, "server_turn_min": 8 * MILLISECOND}
    late |= {"server_turn_rtt": 10 * MILLISECOND, "client_acks": files}
    late |= {"client_ack_min": 1_000, "client_ack_rtt": 20_000}
    return trace_of(
        files=[file(number + 1, f"large{number}") for number in range(objects)],
        calls=rows,
        connections=[{**connection(None, None), **late}],
    )


def slowed(rows: list[Row], *numbers: int) -> list[Row]:
    """Calls of which some took 40 ms, in the 40 ms that all after them come later."""
    found: list[Row] = []
    later = 0
    for row in rows:
        late = {key: int(str(row[key])) + later for key in ("call_time", "call_first_time")}
        if row["call"] in numbers:
            later += 40 * MILLISECOND
        end = int(str(row["reply_time"])) + later
        took = {"reply_first_time": end, "reply_time": end, "srt": end - late["call_time"]}
        found.append({**row, **late, **took})
    return found
