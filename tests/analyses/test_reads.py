"""Each question reads the columns that it says it reads, and no others."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest

import pcapnfs
from pcapnfs import annotation, columns, report, summary
from pcapnfs.analyses.asking import once, parts, paths, population
from pcapnfs.analyses.by_file import files, patterns, perfile, pergroup, sequence, sizes
from pcapnfs.analyses.caching import (
    access_times,
    acl_queries,
    cache,
    opened_again,
    overwritten,
    questions,
    recalls,
    repeated_access,
    returned_at_once,
    savings,
    shared_files,
)
from pcapnfs.analyses.captured import (
    beginnings,
    capture,
    clock_ticks,
    clocks_apart,
    directions,
    earlier_replies,
    ends,
    passed_on,
    put_behind,
    statuses_untold,
    trust,
)
from pcapnfs.analyses.data import (
    commits,
    layouts,
    pages_first,
    sent_ahead,
    transfer_runs,
    write_shapes,
)
from pcapnfs.analyses.forecasts import bottleneck, model, serial_calls
from pcapnfs.analyses.locks import dot_locks, lock_calls, lock_files, lock_waits, open_order
from pcapnfs.analyses.mounts import (
    mount_outcomes,
    preliminaries,
    repeated_mounts,
    sessions,
    shared_names,
    software,
)
from pcapnfs.analyses.namespace import (
    attribute_calls,
    directories_again,
    directory_order,
    exclusive_creates,
    journals,
    listing_costs,
    move_order,
    not_found,
    readdir,
    silly_renames,
    small_pages,
    stale_handles,
    voided_lookups,
    voided_names,
)
from pcapnfs.analyses.servers import (
    exports,
    failures,
    in_turn,
    load,
    refusals,
    rejections,
    restarts,
    server_times,
    silent_calls,
    slow_storage,
    stalled_calls,
    unanswered,
    warm_calls,
    withheld_rights,
    write_verifiers,
)
from pcapnfs.analyses.times import (
    concurrency,
    course,
    distributions,
    operations,
    outstanding,
    shares,
    slowest,
    stability,
    time_budget,
)
from pcapnfs.analyses.wire import (
    caps,
    cut_off,
    data_rates,
    full_windows,
    held_segments,
    late_connections,
    late_successions,
    links_to_clients,
    loss_rate,
    lost_replies,
    lost_tails,
    network,
    own_ways,
    rdma_losses,
    rdma_stalls,
    resent_calls,
    round_trip,
    slower_path,
    tcp_stalls,
    uneven_connections,
    vain_connections,
)
from pcapnfs.comparison import habits, side
from pcapnfs.errors import UsageError
from pcapnfs.meta import Vain
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from tests.analyses.listening import listen, listened
from tests.analyses.plans import watch, watching
from tests.unit.rows import ROOT, tables

ANOTHER_FILE_FORMAT = "fmt-plain-v42.pcapng"
"""The packets of another sample: the tables are the same, whichever columns are read."""

SAMPLES = sorted(
    path
    for path in (ROOT / "samples").iterdir()
    if ".pcap" in path.name and path.name != ANOTHER_FILE_FORMAT
)


def _sequence(trace: Trace, **which: str) -> object:
    """A sequence, or why there is none: also that is an answer."""
    try:
        return sequence.sequence(trace, **which)  # type: ignore[arg-type]
    except UsageError as error:
        return str(error)


def _asked_in_vain(trace: Trace) -> object:
    """No sample has any: where its first client asked for a connection at the end."""
    ((client, server, end),) = trace.rows(
        "select any_value(client order by call), any_value(server), max(reply_time) from calls"
    )
    asked = Vain(client, server, 2049, 1, 1, 0, end + 1, end + 1, 1)
    told, trace.meta = trace.meta, replace(trace.meta, vain=(asked,))
    try:
        with as_decoded(trace):
            return vain_connections.vain_connections(trace)
    finally:
        trace.meta = told


def _shares(trace: Trace) -> object:
    shares.register(trace)
    return trace.sql("from shares order by call").fetchall()


QUESTIONS: dict[str, tuple[columns.Columns, Callable[[Trace], object]]] = {
    "access_times": (access_times.READS, access_times.access_times),
    "acl_queries": (acl_queries.READS, acl_queries.acl_queries),
    "annotation": (annotation.READS, annotation.remarks),
    "attribute_calls": (attribute_calls.READS, attribute_calls.attribute_calls),
    "beginnings": (beginnings.READS, beginnings.beginnings),
    "bottleneck": (bottleneck.READS, bottleneck.bottleneck),
    "caps": (caps.READS, caps.caps),
    "commits": (commits.READS, commits.commits),
    "directories_again": (directories_again.READS, directories_again.directories_again),
    "directory_order": (directory_order.READS, directory_order.in_order),
    "exclusive_creates": (exclusive_creates.READS, exclusive_creates.exclusive_creates),
    "exports": (exports.READS, exports.exports),
    "in_turn": (
        columns.together(server_times.READS, in_turn.READS),
        lambda trace: in_turn.in_turn(trace, server_times.server_times(trace)),
    ),
    "load": (load.READS, load.load),
    "open_order": (open_order.READS, open_order.open_order),
    "restarts": (restarts.READS, restarts.restarts),
    "opened_again": (opened_again.READS, opened_again.opened_again),
    "returned_at_once": (returned_at_once.READS, returned_at_once.returned_at_once),
    "server_times": (server_times.READS, server_times.server_times),
    "slow_storage": (slow_storage.READS, slow_storage.slow_storage),
    "stalled_calls": (stalled_calls.READS, stalled_calls.stalled_calls),
    "data_rates": (data_rates.READS, data_rates.data_rates),
    "full_windows": (full_windows.READS, full_windows.full_windows),
    "loss_rate": (loss_rate.READS, loss_rate.loss_rates),
    "slower_path": (slower_path.READS, slower_path.slower_paths),
    "warm_calls": (
        warm_calls.READS,
        # Of a server that takes long, whichever that is in the sample.
        lambda trace: warm_calls.warm_calls(
            trace,
            [replace(each, kind="small", sure_s=1.0) for each in server_times.server_times(trace)],
        ),
    ),
    "write_shapes": (write_shapes.READS, write_shapes.write_shapes),
    "cache": (cache.READS, cache.cache),
    "capture": (capture.READS, capture.capture),
    "clock_ticks": (clock_ticks.READS, clock_ticks.clock),
    "clocks_apart": (clocks_apart.READS, clocks_apart.clocks_apart),
    "dot_locks": (dot_locks.READS, dot_locks.dot_locks),
    "failures": (failures.READS, failures.failures),
    "withheld_rights": (withheld_rights.READS, withheld_rights.withheld_rights),
    "files": (files.READS, files.files),
    "cut_off": (cut_off.READS, cut_off.cut_off),
    "late_connections": (late_connections.READS, late_connections.late_connections),
    "rdma_losses": (rdma_losses.READS, rdma_losses.rdma_losses),
    "journals": (journals.READS, journals.journals),
    "layouts": (layouts.READS, layouts.layouts),
    "listing_costs": (listing_costs.READS, listing_costs.listing_costs),
    "held_segments": (held_segments.READS, held_segments.held_segments),
    "lock_calls": (lock_calls.READS, lock_calls.lock_calls),
    "lock_files": (lock_files.READS, lock_files.lock_files),
    "lock_waits": (lock_waits.READS, lock_waits.lock_waits),
    "mount_outcomes": (mount_outcomes.READS, mount_outcomes.mount_outcomes),
    "move_order": (move_order.READS, move_order.move_order),
    "not_found": (not_found.READS, not_found.not_found),
    # Arrays are compared as they are written: equality of them is an array.
    "comparison": (side.READS, lambda trace: repr(side.gather(trace))),
    "concurrency": (
        concurrency.READS,
        lambda trace: (concurrency.concurrency(trace), concurrency.timeline(trace)),
    ),
    "course": (
        course.READS,
        lambda trace: (course.course(trace), course.times_of(trace, range(1, 100))),
    ),
    "distributions": (distributions.READS, distributions.spreads),
    "network": (network.READS, network.network),
    "model": (model.READS, model.model),
    "operations": (
        operations.READS,
        lambda trace: (
            operations.operation_times(trace),
            operations.signature_times(trace),
            operations.operation_counts(trace),
        ),
    ),
    "overwritten": (overwritten.READS, overwritten.overwritten),
    "own_ways": (own_ways.READS, own_ways.longer_ns),
    "passed_on": (passed_on.READS, passed_on.passed_on),
    "patterns": (patterns.READS, patterns.patterns),
    "perfile": (perfile.READS, perfile.perfile),
    "pergroup": (
        pergroup.READS,
        lambda trace: [
            pergroup.pergroup(trace, by)
            for by in ("directory", "export", "client", "uid", "extension")
        ],
    ),
    "preliminaries": (preliminaries.READS, preliminaries.preliminaries),
    "earlier_replies": (earlier_replies.READS, earlier_replies.earlier_replies),
    "repeated_mounts": (repeated_mounts.READS, repeated_mounts.repeated_mounts),
    "put_behind": (put_behind.READS, put_behind.put_behind),
    "questions": (questions.READS, questions.questions),
    "readdir": (readdir.READS, readdir.readdir),
    "repeated_access": (repeated_access.READS, repeated_access.repeated_access),
    "recalls": (recalls.READS, recalls.recalls),
    "refusals": (refusals.READS, refusals.refusals),
    "rejections": (rejections.READS, rejections.rejections),
    "resent_calls": (resent_calls.READS, resent_calls.resent_calls),
    "report": (report.READS, report.report),
    "round_trip": (round_trip.READS, round_trip.round_trips),
    "sequence": (
        sequence.READS,
        lambda trace: (_sequence(trace, name="*"), _sequence(trace, file="/")),
    ),
    "shared_files": (shared_files.READS, shared_files.shared_files),
    "shares": (
        shares.READS,
        _shares,
    ),
    "sessions": (sessions.READS, sessions.sessions),
    "silly_renames": (silly_renames.READS, silly_renames.silly_renames),
    "small_pages": (small_pages.READS, small_pages.small_pages),
    "slowest": (slowest.READS, slowest.slowest),
    "sizes": (sizes.READS, sizes.sizes),
    "shared_names": (shared_names.READS, shared_names.shared_names),
    "software": (software.READS, software.software),
    "stability": (stability.READS, stability.stability),
    "stale_handles": (stale_handles.READS, stale_handles.stale_handles),
    "summary": (summary.READS, summary.summarize),
    "tcp_stalls": (tcp_stalls.READS, tcp_stalls.tcp_stalls),
    "time_budget": (time_budget.READS, time_budget.time_budget),
    "transfer_runs": (transfer_runs.READS, transfer_runs.transfer_runs),
    "trust": (trust.READS, trust.trust),
    "unanswered": (unanswered.READS, unanswered.unanswered),
    "uneven_connections": (uneven_connections.READS, uneven_connections.uneven_connections),
    "vain_connections": (vain_connections.READS, _asked_in_vain),
    "voided_names": (voided_names.READS, voided_names.voided_names),
}
"""Every question, with what it says it reads."""

SHOWN_BY = {
    "attribute_calls": "k61-tar-v42.pcap",
    "cut_off": "k61-locks-v42-server.pcap",
    "directory_order": "k61-tar-v42.pcap",
    "exclusive_creates": "k61-tar-v3.pcap",
    "journals": "k61-tar-v42.pcap",
    "lock_waits": "k61-locks-v42-server.pcap",
    "move_order": "k61-two-clients-v42-server.pcap",
    "overwritten": "k61-two-clients-v42-server.pcap",
    "preliminaries": "k61-locks-v42-server.pcap",
    "recalls": "k61-locks-v42-server.pcap",
    "refusals": "k61-locks-v42-server.pcap",
    "returned_at_once": "k61-locks-v42-server.pcap",
    "resent_calls": "k61-retrans-v3.pcap",
    "network": "k61-retrans-v3.pcap",
    "server_times": "k61-retrans-v3.pcap",
    "shared_files": "k61-locks-v42-server.pcap",
    "full_windows": "k61-retrans-v3.pcap",
    "loss_rate": "k61-retrans-v3.pcap",
    "slow_storage": "k61-retrans-v3.pcap",
    "slower_path": "k61-retrans-v3.pcap",
    "shared_names": "k61-tar-v42.pcap",
    "software": "k61-tar-v42.pcap",
    "stalled_calls": "k61-retrans-v3.pcap",
    "tcp_stalls": "k61-retrans-v3.pcap",
    "time_budget": "k61-retrans-v3.pcap",
}
"""Samples for questions that ask no further where there is nothing to tell."""

COMPOSED = {"annotation", "comparison", "report", "summary"}
"""Questions that put most of the others: what those ask for is tried with them."""

PUT_IN = {
    "cachedread-v3-snap96.pcap",
    "k61-locks-v42-server.pcap",
    "k61-retrans-v3.pcap",
    "k61-tar-v42.pcap",
    "k61-two-clients-v42-server.pcap",
    "k61-walk-v3.pcap",
    "published-v3-sizes.pcap",
}
"""Samples in which these put, together, every query that they put in any sample."""

PUT_BESIDES = {"opt-noac-v3.pcap", "published-v3-tar.pcap", "published-v41-tar.pcap"}
"""Samples in which the report puts a query besides."""

OF_AN_OUTER_QUERY = {
    (question, "notes", "call")
    for question, (reads, _) in QUESTIONS.items()
    if trust.READS["notes"] <= reads.get("notes", frozenset())
}
"""Columns whose absence DuckDB does not refuse, because an outer query has one of that name."""


ASKED_ELSEWHERE = {
    ("open_order", "calls", "call_frame"),
    # What directories are called in which changes waited.
    ("directory_order", "files", "path"),
    ("move_order", "files", "path"),
    *(
        ("restarts", "operations", column)
        for column in ("op", "file", "offset", "requested", "committed")
    ),
    # Whether the server says what it allows: where the client moves little at a time.
    ("transfer_runs", "operations", "attributes"),
    # With what a connection begins: where its handshake is not in the capture.
    ("beginnings", "calls", "op"),
    # Whether small calls vary: likewise.
    *(
        (question, "calls", column)
        for question in ("round_trip", "cut_off")
        for column in ("op", "first_arrived")
    ),
    # Whether it was a restart that had calls sent again: where any was.
    *((question, "operations", "verifier") for question in ("bottleneck", "model")),
    # What listens where a connection was asked for in vain: where one was.
    *((question, "operations", "text") for question in ("bottleneck", "model", "time_budget")),
    ("own_ways", "calls", "call"),
    # Who goes on first: where calls at once stay at a number.
    ("caps", "calls", "op"),
    ("caps", "calls", "file"),
    # What clients learnt: where a call was cut that may have changed anything.
    ("cache", "files", "name"),
    # What the client may have changed itself: where somebody else seems to have.
    ("cache", "calls", "stability"),
    ("cache", "files", "handle"),
    ("cache", "files", "identity"),
    ("cache", "notes", "time"),
    # Which mount calls are of: where what they show may be that of several.
    ("cache", "calls", "minor"),
    *(("cache", "files", column) for column in ("fsid_major", "fsid_minor", "export")),
    ("questions", "files", "name"),
    ("questions", "files", "handle"),
    ("questions", "notes", "time"),
    ("voided_names", "files", "handle"),
    ("directories_again", "files", "handle"),
    ("directories_again", "files", "name"),
    # What a mount asked for: where one failed.
    ("mount_outcomes", "files", "file"),
    ("mount_outcomes", "files", "path"),
    ("round_trip", "calls", "call"),
    ("round_trip", "calls", "call_first_time"),
    ("round_trip", "calls", "reply_time"),
    # When calls were outstanding: where any was sent again.
    *(
        (question, "connections", "first_time")
        for question, (reads, _) in QUESTIONS.items()
        if outstanding.READS["connections"] <= reads.get("connections", frozenset())
    ),
    # Whether a connection was asked for in vain: where one was.
    *(
        (question, "connections", "server_port")
        for question in QUESTIONS
        if question != "vain_connections"
    ),
}
"""Columns that are asked for in other captures than the one that is tried below."""

LITERALS = (
    (r"'[^']*'", "''"),
    (r"\b\d+(\.\d+)?\b", "0"),
    (r"('', )+''", "''"),
    (r"(0, ?)+0", "0"),
    (r"(\(0\), ?)+\(0\)", "(0)"),
)
"""Values that stand in queries, and what they are read as: which columns a query needs, none
tells."""

DECODED = {table.name for table in tables()}
"""The tables of a trace; those that a question makes are others."""


@pytest.mark.parametrize("question", [name for name in QUESTIONS if name not in COMPOSED])
def test_an_answer_needs_no_other_columns(question: str, heard: Callable[[Path], Heard]) -> None:
    """With nothing but its columns decoded, the answer is the same.

    Of as few samples as it puts all of its queries in that it puts in any: whether a query can do
    without a column shows in its text, and not in the rows.
    """
    reads, ask = QUESTIONS[question]
    put, answers = {}, {}
    for sample in SAMPLES:
        put[sample], answers[sample] = heard(sample).ask(question)
    untried: set[str] = set().union(*put.values())
    tried: list[Path] = []
    while untried or not tried:
        tried.append(max(SAMPLES, key=lambda sample: len(put[sample] & untried)))
        untried -= put[tried[-1]]
    for sample in tried:
        with pcapnfs.open(sample, columns=reads) as narrow:
            assert ask(narrow) == answers[sample], sample.name


class Heard:
    """A trace, and what is put to it for each question.

    Answers that several questions build on are worked out for the first of them alone; what was put
    for them is put for each of these.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.put_for: dict[Callable[..., Any], set[str]] = {}
        self.under_way: list[set[str]] = []

    def ask(self, question: str) -> tuple[set[str], object]:
        """All that is put for a question, and its answer."""
        _, ask = QUESTIONS[question]
        self.under_way = [set()]
        with pytest.MonkeyPatch.context() as patch, listened(self.trace, self.look):
            patch.setattr(once.Answers, "get", self.getting(once.Answers.get))
            return self.under_way[0], ask(self.trace)

    def look(self, _: duckdb.DuckDBPyConnection, query: str, /, *_given: object) -> None:
        self.under_way[-1].add(without_values(query))

    def getting(self, get: Callable[..., object]) -> Callable[..., object]:
        """What takes an answer that several questions build on from where such are kept."""

        def heard(
            kept: once.Answers, asked: Callable[..., Any], work_out: Callable[[], object]
        ) -> object:
            self.under_way.append(set(self.put_for.get(asked, ())))
            try:
                return get(kept, asked, work_out)
            finally:
                put = self.put_for[asked] = self.under_way.pop()
                self.under_way[-1] |= put

        return heard


@functools.cache
def without_values(query: str) -> str:
    """A query, but for the values that stand in it."""
    for literal, told in LITERALS:
        query = re.sub(literal, told, query)
    return query


@pytest.fixture(scope="module")
def heard() -> Iterator[Callable[[Path], Heard]]:
    """Samples with all of their columns, each decoded once; nobody else asks these traces."""
    with ExitStack() as opened:
        yield functools.cache(lambda path: Heard(opened.enter_context(pcapnfs.open(path))))


def composed() -> tuple[str, ...]:
    """Questions that put others, in an order in which each reads all that the one before reads."""
    return tuple(sorted(COMPOSED, key=lambda question: len(columns_of(question))))


def columns_of(question: str) -> frozenset[tuple[str, str]]:
    """The columns that a question says it reads, each with its table."""
    reads, _ = QUESTIONS[question]
    return frozenset((table, name) for table, names in reads.items() for name in names)


@contextmanager
def put_away(trace: Trace, away: frozenset[tuple[str, str]]) -> Iterator[None]:
    """A trace as if these columns had not been decoded."""
    with closing(trace.cursor()) as cursor:
        for table, name in away:
            cursor.execute(f'alter table {table} rename column "{name}" to "without {name}"')
        try:
            yield
        finally:
            for table, name in away:
                cursor.execute(f'alter table {table} rename column "without {name}" to "{name}"')


def assert_others_need_no_more(narrow: Trace, whole: Trace, questions: Sequence[str]) -> None:
    """The answers are the same with nothing but the columns of a question decoded.

    What one has found out serves the next ones, which read as much and more: nobody has to find it
    out from more columns than the first of them says it reads.
    """
    for question in questions:
        _, ask = QUESTIONS[question]
        with put_away(narrow, columns_of(questions[-1]) - columns_of(question)):
            found = ask(narrow)
        assert found == ask(whole), question


@pytest.mark.parametrize(
    "sample",
    [path for path in SAMPLES if path.name in PUT_IN | PUT_BESIDES],
    ids=lambda path: path.name,
)
def test_nor_do_those_that_put_others(sample: Path) -> None:
    """On samples in each of which they put some that they put in none of the others, as above. None
    of their queries can wait for itself, either (`test_streams.py`).
    """
    questions = composed() if sample.name in PUT_IN else composed()[-1:]
    reads, _ = QUESTIONS[questions[-1]]
    waiting: list[str] = []
    with pcapnfs.open(sample) as whole, pcapnfs.open(sample, columns=reads) as narrow:
        watch(narrow, waiting)
        assert_others_need_no_more(narrow, whole, questions)
    assert waiting == []


def test_each_that_puts_others_reads_what_the_one_before_reads() -> None:
    """Else nothing would show what a question needs whose answers another one has found out."""
    assert all(columns_of(one) <= columns_of(another) for one, another in pairwise(composed()))


@pytest.fixture(scope="module")
def whole() -> Iterator[Callable[[Path], Trace]]:
    """Samples with all of their columns, each decoded once for the questions that it shows."""
    with ExitStack() as opened:
        yield functools.cache(lambda path: opened.enter_context(pcapnfs.open(path)))


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace is walked over and joined some calls at a time, as a large one is."""
    monkeypatch.setattr(parts, "BLOCK", 16)
    monkeypatch.setattr(parts, "STRETCH_ROWS", 200)


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("question", [name for name in sorted(QUESTIONS) if name not in COMPOSED])
def test_an_answer_in_parts_needs_no_other_columns(
    question: str, whole: Callable[[Path], Trace]
) -> None:
    reads, ask = QUESTIONS[question]
    sample = ROOT / "samples" / SHOWN_BY.get(question, "k61-walk-v3.pcap")
    with pcapnfs.open(sample, columns=reads) as narrow:
        narrow.walked = 60
        assert ask(narrow) == ask(whole(sample))


@pytest.mark.usefixtures("in_parts")
def test_nor_do_those_that_put_others_in_parts(whole: Callable[[Path], Trace]) -> None:
    sample = ROOT / "samples" / "k61-walk-v3.pcap"
    reads, _ = QUESTIONS[composed()[-1]]
    with pcapnfs.open(sample, columns=reads) as narrow:
        narrow.walked = 60
        assert_others_need_no_more(narrow, whole(sample), composed())


GATES: tuple[tuple[ModuleType, str], ...] = (
    (access_times, "any_asked"),
    (access_times, "any_many"),
    (clocks_apart, "any_below"),
    (clocks_apart, "any_early"),
    (cut_off, "any_second"),
    (cut_off, "any_sign"),
    (directories_again, "any_again"),
    (directions, "any_called"),
    (directions, "any_orphan"),
    (dot_locks, "any_often"),
    (earlier_replies, "any_orphan"),
    (ends, "any_orphan"),
    (ends, "any_unanswered"),
    (exclusive_creates, "any_newer"),
    (exports, "any_several"),
    (full_windows, "any_full"),
    (habits, "any_resending"),
    (late_connections, "any_late"),
    (late_successions, "any_left"),
    (links_to_clients, "any_behind"),
    (links_to_clients, "any_left_out"),
    (lock_waits, "any_orphan"),
    (move_order, "any_often"),
    (repeated_mounts, "any_often"),
    (loss_rate, "any_lost"),
    (rdma_stalls, "any_resent"),
    (lost_replies, "any_again"),
    (lost_tails, "any_late"),
    (not_found, "any_step"),
    (open_order, "any_opened"),
    (overwritten, "any_written"),
    (outstanding, "any_orphan"),
    (own_ways, "any_of"),
    (pages_first, "any_page"),
    (opened_again, "any_ungranted"),
    (passed_on, "any_other"),
    (put_behind, "any_place"),
    (readdir, "any_plain"),
    (savings, "any_cuttable"),
    (sent_ahead, "any_cut"),
    (serial_calls, "any_long"),
    (server_times, "any_slow"),
    (silent_calls, "any_found"),
    (silent_calls, "any_silent"),
    (silent_calls, "any_waited"),
    (sizes, "has_rdma"),
    (sizes, "may_limit"),
    (slow_storage, "any_slow"),
    (stalled_calls, "any_long"),
    (statuses_untold, "any_cut"),
    (round_trip, "any_trunk"),
    (uneven_connections, "any_found"),
    (withheld_rights, "any_withheld"),
    (write_verifiers, "any_change"),
    (voided_lookups, "any_changed"),
    (voided_names, "any_changed"),
)
"""What questions ask first, to ask no more where there is nothing."""


@pytest.mark.parametrize("question", sorted(QUESTIONS))
def test_an_answer_needs_each_of_its_columns(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any one of its columns, the question cannot be asked, if it is asked at all.

    None of its queries can wait for itself (`test_streams.py`); those of questions that put others
    are looked at above, in more samples.
    """
    for kind in (population.Operations, population.Calls):
        asked: Callable[[Any, Trace], bool] = kind.met
        monkeypatch.setattr(kind, "met", lambda *given, asked=asked: asked(*given) or True)
    for module, gate in GATES:
        opens: Callable[..., bool] = getattr(module, gate)
        monkeypatch.setattr(module, gate, lambda *given, opens=opens: opens(*given) or True)
    # How many files there are is asked of many calls only.
    monkeypatch.setattr("pcapnfs.trace.FEW_CALLS", 0)
    monkeypatch.setattr(paths, "together", paths_together)
    reads, ask = QUESTIONS[question]
    untried = {
        table: set(names - asked_by_parts(question, table)) for table, names in reads.items()
    }
    waiting: list[str] = []
    watched = watching(waiting)

    def look(connection: duckdb.DuckDBPyConnection, query: str, /, *given: object) -> None:
        """Plan the query without each column that it names, until one cannot be left out.

        Asking the whole question without each of its columns would tell no more: what comes before
        that query does so either way. Of most tables it needs none, which shows at once.
        """
        if question not in COMPOSED:
            watched(connection, query, *given)
        words = set(re.findall(r"\w+", query))
        named = {table: sorted(words.intersection(names)) for table, names in untried.items()}
        if not any(named.values()):
            return
        with not_optimized(connection):
            connection.execute(f"explain {query}", *given)
            for table, names in named.items():
                if names and needs(connection, table, names, query, *given):
                    for name in names:
                        if needs(connection, table, [name], query, *given):
                            untried[table].remove(name)

    with pcapnfs.open(
        ROOT / "samples" / SHOWN_BY.get(question, "k61-walk-v3.pcap"), columns=reads
    ) as trace:
        listen(trace, look)
        ask(trace)
    superfluous = [
        f"{table}.{name}"
        for table, names in sorted(untried.items())
        for name in sorted(names)
        if (question, table, name) not in OF_AN_OUTER_QUERY | ASKED_ELSEWHERE
    ]
    assert superfluous == []
    assert waiting == []


_paths_together = paths.together


def paths_together(
    cursor: duckdb.DuckDBPyConnection, files: paths.Files, part: str
) -> Iterator[list[tuple[int, str]]]:
    """The paths of files, asked for also where there is no file to tell."""
    found = list(_paths_together(cursor, files if len(files) else [0], part))
    return iter(found if len(files) else [])


def asked_by_parts(question: str, table: str) -> frozenset[str]:
    """Columns of a table that a composed question needs for the questions that it is made of."""
    if question not in COMPOSED:
        return frozenset()
    others = (reads for name, (reads, _) in QUESTIONS.items() if name not in COMPOSED)
    return columns.together(*others).get(table, frozenset())


@contextmanager
def not_optimized(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Plans are made without what makes them fast: which columns there are shows before."""
    connection.execute("pragma disable_optimizer")
    try:
        yield
    finally:
        connection.execute("pragma enable_optimizer")


def needs(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    names: Sequence[str],
    query: str,
    *given: object,
) -> bool:
    """Whether a query cannot be planned where none of these columns was decoded."""
    for name in names:
        connection.execute(f'alter table {table} rename column "{name}" to "without {name}"')
    try:
        connection.execute(f"explain {query}", *given)
    except duckdb.Error:
        return True
    finally:
        for name in names:
            connection.execute(f'alter table {table} rename column "without {name}" to "{name}"')
    return False


@contextmanager
def as_decoded(trace: Trace) -> Iterator[None]:
    """What questions add to a trace is not there, and goes away: the next one asks for it all."""
    forget(trace)
    try:
        yield
    finally:
        forget(trace)


def forget(trace: Trace) -> None:
    """Leave nothing of a trace but what was decoded."""
    once.ANSWERS.pop(trace, None)
    with closing(trace.cursor()) as cursor:
        made = cursor.execute("select table_name from duckdb_tables() where not temporary")
        for (name,) in made.fetchall():
            if name not in DECODED:
                cursor.execute(f'drop table "{name}"')


def test_a_column_that_does_not_exist_is_refused() -> None:
    """A slip of the pen is no empty table."""
    with pytest.raises(ValueError, match="calls has no column sort"):
        pcapnfs.open(SAMPLES[0], columns=columns.of(calls="call sort"))
