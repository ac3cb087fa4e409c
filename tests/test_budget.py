"""The time budget of real captures against what the kernels and the workloads measured."""

from __future__ import annotations

import pytest

import pcapnfs
from pcapnfs.analyses.times import time_budget as analysis
from pcapnfs.analyses.times.budget import Budget, budgets
from pcapnfs.analyses.times.client_calls import Clients
from pcapnfs.analyses.times.outstanding import outstanding
from pcapnfs.analyses.times.phases import phases

from .oracles.corpus import Capture, lab_captures, require_corpus
from .test_mountstats import _ADDRESSES, _answered, _opened

pytest.importorskip("pcapnfs._core")

CLEAN = "k61-"
"""Names of captures from the machine whose timing is clean; the other's processor adds up to
several milliseconds to each round trip behind the place of the capture."""

TICK_MS = 1
"""What mountstats rounds each call's time to."""


def _client_side() -> list[Capture | None]:
    """Captures of whole runs at a client."""
    found = [item for item in lab_captures() if _answered(item) and item.vantage in item.clients]
    return list(found) or [None]


def _id(capture: Capture | None) -> str:
    return capture.name if capture else "no-corpus"


def _rows_ns(budget: Budget) -> int:
    return sum(round(time_s * 1e9) for _, time_s, _ in budget.shares())


@pytest.mark.parametrize("capture", _client_side(), ids=_id)
def test_budgets_add_up_to_the_clock(capture: Capture | None) -> None:
    """Of the whole capture, of each step of the workload, and of phases with their pauses."""
    capture, trace = _opened(capture)
    assert trace.meta.start_ns is not None
    assert trace.meta.end_ns is not None
    calls = outstanding(trace)
    found = analysis.time_budget(trace, calls)
    start_ns, span_ns = trace.meta.start_ns, trace.meta.end_ns - trace.meta.start_ns
    assert _rows_ns(found.total) == span_ns * len(calls.clients)
    for budget in found.clients:
        assert _rows_ns(budget) == round(budget.wall_s * 1e9) == span_ns
        mine = [phase for phase in found.phases if phase.client == budget.client]
        assert sum(phase.calls for phase in mine) == budget.calls
        lasted_ns = sum(round((phase.pause_s + phase.budget.wall_s) * 1e9) for phase in mine)
        waited_ns = sum(_rows_ns(phase.budget) for phase in mine)
        pauses_ns = sum(round(phase.pause_s * 1e9) for phase in mine)
        assert lasted_ns == waited_ns + pauses_ns <= span_ns
    client = Clients(calls).client(0)
    for step in capture.truth()["steps"]:
        if "start_ns" in step and step.get("who") == capture.vantage:
            begin, end = int(step["start_ns"]) - start_ns, int(step["end_ns"]) - start_ns
            total, _ = budgets(client.within(max(0, begin), min(end, span_ns)))
            lasted_ns = min(end, span_ns) - max(0, begin)
            assert _rows_ns(total) == lasted_ns
            assert lasted_ns == pytest.approx(step["duration_s"] * 1e9, abs=2e6)


@pytest.mark.parametrize("capture", _client_side(), ids=_id)
def test_service_times_are_those_of_the_clients_kernel(capture: Capture | None) -> None:
    """Mountstats times a call from its last transmission to its reply: it never saw less than the
    packets show, and where timing is clean not more than they and their transfer take.
    """
    capture, trace = _opened(capture)
    client = capture.truth()["clients"][capture.vantage]
    spans = " or ".join(
        f"call_time between {mount['end_ns']} and {mount['umount_start_ns']}"
        for mount in client["mounts"]
    )
    by = "op" if capture.version == "3" else "'all'"
    rows = trace.sql(
        f"""
        select {by}, count(*), sum(srt) / 1e6, sum(reply_time - call_first_time) / 1e6,
               bool_or(transmissions > 1)
        from calls
        where program = 100003 and procedure <> 0 and not callback and ({spans})
            and ($several is false or client = $address)
        group by all
        """,
        {"several": len(capture.clients) > 1, "address": _ADDRESSES[capture.vantage]},
    ).fetchall()
    told = client["mountstats_delta_total"]["ops"]
    whole = sum(int(row["rtt_ms"]) for row in told.values())
    assert rows
    for op, calls, service_ms, on_the_wire_ms, resent in rows:
        kernel_ms = whole if op == "all" else int(told[op]["rtt_ms"])
        if resent:
            assert service_ms > kernel_ms, op
            continue
        assert kernel_ms > service_ms - calls * TICK_MS, op
        if capture.name.startswith(CLEAN):
            assert kernel_ms < on_the_wire_ms + calls * TICK_MS, op


def test_both_kinds_of_machines_are_compared() -> None:
    require_corpus()
    names = [item.name for item in _client_side() if item is not None]
    clean = sum(name.startswith(CLEAN) for name in names)
    assert clean > 20
    assert len(names) - clean > 20


SAME_TRAFFIC = [
    ("tar-v3", "tar-v3-server"),
    ("tar-v41", "tar-v41-server"),
    ("two-clients-v42-client1", "two-clients-v42-server"),
    ("k61-two-clients-v3-client1", "k61-two-clients-v3-server"),
    ("k61-two-clients-v3-client2", "k61-two-clients-v3-server"),
    ("k61-two-clients-v42-client1", "k61-two-clients-v42-server"),
    ("k61-two-clients-v42-client2", "k61-two-clients-v42-server"),
    ("fmt-plain-v42", "fmt-plain-v42-wire-any"),
]
"""A capture at the client, and one of the same traffic taken elsewhere. Under packet loss the two
differ: what was lost on its way to the server is not in a capture there."""


@pytest.mark.parametrize(("near", "far"), SAME_TRAFFIC)
def test_a_client_waited_as_long_wherever_it_was_captured(near: str, far: str) -> None:
    require_corpus()
    found = {item.name: item for item in lab_captures()}
    waited = {}
    for name in (near, far):
        address = _ADDRESSES[found[near].vantage]
        with pcapnfs.open(str(found[name].files[0])) as trace:
            (budget,) = [each for each in analysis.time_budget(trace).clients
                         if each.client == address]  # fmt: skip
        waited[name] = budget.wall_s - budget.client_s, budget.stable_s
    assert waited[far] == pytest.approx(waited[near], rel=0.1)


STEPS = ("create", "list", "read", "delete")


@pytest.mark.parametrize("version", ["v3", "v42"])
@pytest.mark.parametrize("option", ["default", "actimeo3", "sync", "rwsize4096"])
def test_phases_are_the_steps_of_the_workload(option: str, version: str) -> None:
    """Where each step has a mixture of its own. With `noac`, GETATTRs are most of every step."""
    require_corpus()
    (capture,) = [item for item in lab_captures() if item.name == f"opt-{option}-{version}"]
    with pcapnfs.open(str(capture.files[0])) as trace:
        assert trace.meta.start_ns is not None
        start_ns = trace.meta.start_ns
        found = phases(trace)
        rows = trace.sql("select call_first_time from calls where not callback").fetchall()
    begins_s = [(begin - start_ns) / 1e9 for (begin,) in rows]

    def begun(first_s: float, last_s: float) -> set[float]:
        return {begin_s for begin_s in begins_s if first_s <= begin_s <= last_s}

    divided = [begun(phase.start_s, phase.start_s + phase.budget.wall_s) for phase in found]
    steps = [step for step in capture.truth()["steps"] if step["label"] in STEPS]
    assert [step["label"] for step in steps] == list(STEPS)
    for step in steps:
        mine = begun(*((int(step[key]) - start_ns) / 1e9 for key in ("start_ns", "end_ns")))
        alike = max(len(mine & phase) / len(mine | phase) for phase in divided)
        assert alike > 0.85, step["label"]
    assert len(found) <= 2 * len(STEPS)
