"""The decoder against the lab: the kernels' own counters, and tshark call by call.

Every capture of the lab runs through every test. What cannot be compared is named in
`oracles/truth.py` (rules of the corpus) and `oracles/known.py` (weaknesses of tshark), with the
reason.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pytest

from pcapnfs.verify.verification import settings

from .oracles.corpus import (
    Capture,
    Encryption,
    lab_captures,
    require_corpus,
)
from .oracles.known import Aspect, excused, invisible, tshark_lost_its_place
from .oracles.opened import opened
from .oracles.truth import (
    NFS3_PROCEDURES,
    NFS4_OPERATIONS,
    NFS4_PROCEDURES,
    Expectation,
    Unit,
    Verdict,
    differences,
    joint_verdict,
    verdict,
)
from .oracles.tshark import (
    NFS_PROGRAM,
    NFSACL_PROGRAM,
    Call,
    Dissection,
    Message,
    dissect,
    require_tshark,
    tshark_cache,
)

_CAPTURES = lab_captures()
_PARAMETERS: list[Capture | None] = [*_CAPTURES] or [None]
_SIDE_PROGRAMS = frozenset({100021})
"""Programs with callbacks of their own."""
_COMPARED_PROGRAMS = frozenset({NFS_PROGRAM, NFSACL_PROGRAM})


@dataclass(frozen=True, slots=True)
class DecodedCall:
    """A row of the table `calls` with its rows of `operations`."""

    client: str
    xid: int
    program: int
    version: int
    procedure: int
    op: str
    call_frame: int
    reply_frame: int | None
    call_time_ns: int
    srt_ns: int | None
    status: int | None
    callback: bool
    operations: tuple[int, ...]
    """Operation numbers of the compound, in order; of a v3 call its procedure."""
    executed: tuple[int, ...]
    """Those that the reply holds results of."""


_COLUMNS = {
    "client": "client",
    "xid": "xid",
    "program": "program",
    "version": "version",
    "procedure": "procedure",
    "op": "op",
    "call_frame": "call_frame",
    "reply_frame": "reply_frame",
    "call_time": "call_time_ns",
    "srt": "srt_ns",
    "status": "status",
    "callback": "callback",
}
"""Columns of the table `calls`, and the fields of `DecodedCall` that they fill."""


# What is compared --------------------------------------------------------------------------------


@pytest.fixture(
    scope="module", params=_PARAMETERS, ids=lambda item: item.name if item else "no-corpus"
)
def capture(request: pytest.FixtureRequest) -> Capture:
    require_corpus()
    parameter: Capture = request.param
    return parameter


@pytest.fixture(scope="module")
def dissection(capture: Capture, pytestconfig: pytest.Config) -> Dissection:
    return _dissect(capture, pytestconfig)


@pytest.fixture(scope="module")
def decoded(capture: Capture) -> list[DecodedCall]:
    return _decode(capture)


def _dissect(capture: Capture, config: pytest.Config) -> Dissection:
    require_tshark()
    return dissect(
        capture.files,
        capture.ports,
        tshark_cache(config),
        whole_packets=capture.full,
        named=settings(opened(capture).trace),
    )


def _decode(capture: Capture) -> list[DecodedCall]:
    trace = opened(capture).trace
    operations: dict[int, list[int]] = defaultdict(list)
    executed: dict[int, list[int]] = defaultdict(list)
    rows = trace.sql(
        "select call, opcode, executed from operations order by call, position"
    ).fetchall()
    for call, opcode, done in rows:
        operations[call].append(opcode)
        if done:
            executed[call].append(opcode)
    rows = trace.sql(
        f"select call, {', '.join(_COLUMNS)} from calls "
        "where call_frame is not null order by call_frame, call"
    ).fetchall()
    return [
        DecodedCall(
            **dict(zip(_COLUMNS.values(), row, strict=True)),
            operations=tuple(operations[number]),
            executed=tuple(executed[number]),
        )
        for number, *row in rows
    ]


# Against the kernels' counters -------------------------------------------------------------------


def test_tshark_agrees_with_the_kernels(capture: Capture, dissection: Dissection) -> None:
    """The oracles agree with each other, so that a difference to either is the decoder's."""
    assert _disagreements(capture, verdict(capture), _tshark_counter(dissection)) == {}


def test_counts_are_those_of_the_kernels(
    capture: Capture, decoded: list[DecodedCall], dissection: Dissection
) -> None:
    found = _decoded_counter(decoded, dissection)
    assert _disagreements(capture, verdict(capture), found) == {}


def test_every_capture_is_compared_or_excluded_with_a_reason(capture: Capture) -> None:
    result = verdict(capture)
    sources = {
        item.source.split(" of ")[0].split(" (")[0].split(",")[0] for item in result.expectations
    }
    sources |= {
        item.source.split(" of ")[0].split(" (")[0].split(",")[0] for item in result.exclusions
    }
    assert sources == {"the server's counters", "the client's mountstats"}
    assert all(item.reason for item in result.exclusions)
    assert result.expectations or capture.encryption is Encryption.TLS or len(capture.clients) > 1


@pytest.mark.parametrize("source", ["tshark", "pcapnfs"])
def test_captures_of_both_clients_together_are_the_server_counters(
    source: str, pytestconfig: pytest.Config
) -> None:
    require_corpus()
    pairs = _pairs_of_clients()
    assert pairs, "the lab has captures of each of two clients"
    for both in pairs:
        counters = []
        for capture in both:
            dissection = _dissect(capture, pytestconfig)
            if source == "tshark":
                counters.append(_tshark_counter(dissection))
            else:
                counters.append(_decoded_counter(_decode(capture), dissection))

        def together(expected: Expectation, parts: list[_Counter] = counters) -> Counter[str]:
            return sum((part(expected) for part in parts), Counter())

        assert _disagreements(both[0], joint_verdict(both), together) == {}, both[0].name


_Counter = Callable[[Expectation], Counter[str]]
"""Counts what an expectation asks for."""


def _pairs_of_clients() -> list[list[Capture]]:
    runs: dict[str, list[Capture]] = defaultdict(list)
    for item in _CAPTURES:
        if len(item.clients) > 1 and item.vantage in item.clients:
            runs[item.traffic].append(item)
    return [run for run in runs.values() if len(run) > 1]


def _disagreements(
    capture: Capture, result: Verdict, count: _Counter
) -> dict[str, dict[str, tuple[int, int]]]:
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for expected in result.expectations:
        counted = count(expected)
        if expected.unit is not Unit.V4_OPERATIONS:
            counted.update(invisible(capture))
        if differing := differences(expected, counted):
            found[f"{expected.source}: {expected.unit} (expected, found)"] = differing
    return found


def _tshark_counter(dissection: Dissection) -> _Counter:
    def count(expected: Expectation) -> Counter[str]:
        counted: Counter[str] = Counter()
        for item in dissection.calls:
            message = item.call
            if _belongs(message, expected) and not message.gss_control:
                executed = item.reply.operations if item.reply else ()
                counted.update(_names(expected.unit, message.version, message.procedure, executed))
        counted.update(_repetitions(dissection, expected))
        return counted

    return count


def _decoded_counter(decoded: Iterable[DecodedCall], dissection: Dissection) -> _Counter:
    """The server also counts repetitions, and does not count RPCSEC_GSS control: both are taken
    from tshark.
    """
    control = {
        (item.call.frame, item.call.xid) for item in dissection.calls if item.call.gss_control
    }

    def count(expected: Expectation) -> Counter[str]:
        counted: Counter[str] = Counter()
        for row in decoded:
            if (
                row.program == NFS_PROGRAM
                and expected.covers(row.client, row.call_time_ns)
                and (row.call_frame, row.xid) not in control
            ):
                counted.update(_names(expected.unit, row.version, row.procedure, row.executed))
        counted.update(_repetitions(dissection, expected))
        return counted

    return count


def _repetitions(dissection: Dissection, expected: Expectation) -> Iterable[str]:
    if not expected.transmissions:
        return
    for message in dissection.repeated:
        if not message.is_reply and _belongs(message, expected):
            yield from _names(expected.unit, message.version, message.procedure, ())


def _belongs(message: Message, expected: Expectation) -> bool:
    return message.program == NFS_PROGRAM and expected.covers(message.source, message.time_ns)


def _names(
    unit: Unit, version: int | None, procedure: int | None, executed: Iterable[int]
) -> list[str]:
    """What one call adds to the counts of a unit."""
    if procedure is None:
        return []
    if unit is Unit.V3_CALLS and version == 3:
        return [NFS3_PROCEDURES[procedure]]
    if unit is Unit.V4_CALLS and version == 4:
        return [NFS4_PROCEDURES[procedure]]
    if unit is Unit.V4_OPERATIONS and version == 4:
        return [NFS4_OPERATIONS.get(number, f"operation {number}") for number in executed]
    return []


# Against tshark, call by call --------------------------------------------------------------------


def test_calls_are_those_of_tshark(
    capture: Capture, decoded: list[DecodedCall], dissection: Dissection
) -> None:
    ours: Counter[tuple[str, int, int | None]] = Counter(
        (row.client, row.xid, row.procedure) for row in decoded if row.program in _COMPARED_PROGRAMS
    )
    theirs: Counter[tuple[str, int, int | None]] = Counter(
        (item.call.source, item.call.xid, item.call.procedure) for item in _compared(dissection)
    )
    assert theirs - ours == Counter(), f"found by tshark only in {capture.name}"
    assert ours - theirs == Counter(), f"found by the decoder only in {capture.name}"


def test_frames_and_times_are_those_of_tshark(
    capture: Capture, decoded: list[DecodedCall], dissection: Dissection
) -> None:
    if reason := excused(capture, Aspect.FRAMES):
        pytest.skip(reason)
    ours = {(row.call_frame, row.xid): row for row in decoded}
    wrong: list[tuple[object, ...]] = []
    for item in _compared(dissection):
        first = item.earlier[0] if item.earlier else item.call
        row = ours.get((first.frame, first.xid))
        found = None if row is None else (row.call_time_ns, row.reply_frame, row.srt_ns)
        expected = (first.time_ns, item.reply.frame if item.reply else None, _service_time(item))
        if found != expected:
            wrong.append((first.frame, hex(first.xid), expected, found))
    assert wrong == [], (
        "frame of the call, xid, (time, frame of the reply, service time) expected and found"
    )


def test_statuses_are_those_of_tshark(decoded: list[DecodedCall], dissection: Dissection) -> None:
    ours = {(row.call_frame, row.xid): row for row in decoded}
    wrong: list[tuple[object, ...]] = []
    for item, row in _same(ours, dissection):
        if item.reply and item.reply.status is not None and row.status != item.reply.status:
            wrong.append((item.call.frame, item.reply.status, row.status))
    assert wrong == [], "frame of the call, status expected and found"


def test_operations_are_those_of_tshark(
    capture: Capture, decoded: list[DecodedCall], dissection: Dissection
) -> None:
    agree = _same_beginning if excused(capture, Aspect.OPERATIONS) else tuple.__eq__
    ours = {(row.call_frame, row.xid): row for row in decoded}
    wrong: list[tuple[object, ...]] = []
    for item, row in _same(ours, dissection):
        if row.version != 4:
            continue
        if not tshark_lost_its_place(item.call) and not agree(item.call.operations, row.operations):
            wrong.append((item.call.frame, "call", item.call.operations, row.operations))
        if item.reply and not agree(item.reply.operations, row.executed):
            wrong.append((item.reply.frame, "reply", item.reply.operations, row.executed))
    assert wrong == [], "frame, message, operations expected and found"


def test_callbacks_are_those_of_tshark(
    capture: Capture, decoded: list[DecodedCall], dissection: Dissection
) -> None:
    """Calls of the server to the client (RFC 8881 section 20), on whichever connection."""
    ours = {
        (row.call_frame, row.xid, row.operations)
        for row in decoded
        # GRANTED of NLM is a callback too: see test_locks.py.
        if row.callback and row.program not in _SIDE_PROGRAMS
    }
    theirs = {
        (item.call.frame, item.call.xid, item.call.callback_operations)
        for item in dissection.calls
        if item.call.callback_operations
    }
    found = {row for row in ours if row[2]}
    if capture.full:
        assert found == theirs, capture.name
    else:  # pcapnfs names operations from the reply too where the call was cut off.
        assert found >= theirs, capture.name


def test_main_operation_is_one_of_tsharks(
    capture: Capture, decoded: list[DecodedCall], dissection: Dissection
) -> None:
    """tshark names every operation of the most significant tier; the main op is one of them."""
    if reason := excused(capture, Aspect.OPERATIONS):
        pytest.skip(reason)
    ours = {(row.call_frame, row.xid): row for row in decoded}
    wrong: list[tuple[object, ...]] = []
    for item, row in _same(ours, dissection):
        names = {
            NFS4_OPERATIONS[number]
            for number in item.call.main_operations
            if number in NFS4_OPERATIONS
        }
        if names and not tshark_lost_its_place(item.call) and row.op not in names:
            wrong.append((item.call.frame, sorted(names), row.op))
        if (
            item.call.version == 3
            and item.call.program == NFS_PROGRAM
            and item.call.procedure is not None
        ):
            name = NFS3_PROCEDURES[item.call.procedure]
            # Setting up an RPCSEC_GSS context travels as NULL (RFC 2203 section 5.2.2) but is none.
            if row.op != name and not (name == "NULL" and row.op.startswith("RPCSEC_GSS_")):
                wrong.append((item.call.frame, name, row.op))
    assert wrong == [], "frame of the call, main operations of tshark, main operation found"


def test_formats_of_the_same_packets_decode_alike() -> None:
    """gzip, zstd, pcapng, big-endian and nanosecond files hold the packets of the plain one."""
    require_corpus()
    by_name = {item.name: item for item in _CAPTURES}
    for plain, others in _FORMATS.items():
        expected = _decode(by_name[plain])
        assert expected
        for other in others:
            assert _decode(by_name[other]) == expected, other


def test_a_file_that_is_cut_off_decodes_up_to_the_cut() -> None:
    require_corpus()
    by_name = {item.name: item for item in _CAPTURES}
    whole = {(row.call_frame, row.xid): row for row in _decode(by_name["fmt-plain-v3"])}
    cut = _decode(by_name["fmt-plain-v3-cutoff"])
    answered = [row for row in cut if row.reply_frame is not None]
    assert len(answered) > len(whole) // 2
    assert all(whole[row.call_frame, row.xid] == row for row in answered)


_FORMATS: Mapping[str, tuple[str, ...]] = {
    "fmt-plain-v42": ("fmt-plain-v42.pcapng", "fmt-plain-v42.pcap.gz", "fmt-plain-v42.pcap.zst"),
    "fmt-plain-v3": ("fmt-plain-v3-bigendian",),
}


def _compared(dissection: Dissection) -> list[Call]:
    return [item for item in dissection.calls if item.call.program in _COMPARED_PROGRAMS]


def _same(
    ours: Mapping[tuple[int, int], DecodedCall], dissection: Dissection
) -> Iterable[tuple[Call, DecodedCall]]:
    """Calls that both found; those that only one found are reported by the test of presence."""
    for item in _compared(dissection):
        first = item.earlier[0] if item.earlier else item.call
        row = ours.get((first.frame, first.xid))
        if row is not None:
            yield item, row


def _same_beginning(theirs: tuple[int, ...], ours: tuple[int, ...]) -> bool:
    """Equal as far as both go; only an operation that is cut itself may be missing from ours."""
    shorter = min(len(theirs), len(ours))
    return theirs[:shorter] == ours[:shorter] and len(ours) >= len(theirs) - 1


def _service_time(item: Call) -> int | None:
    """From the first transmission, whatever the connection (tshark counts from the first on the
    same one).
    """
    if item.reply is None:
        return None
    return item.reply.time_ns - item.earlier[0].time_ns if item.earlier else item.reply.srt_ns
