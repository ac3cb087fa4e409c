"""An analysis that is spared because nothing could be found would have found nothing."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import analyses, columns, summary
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.once import answers
from pcapnfs.analyses.asking.population import Calls, Operations
from pcapnfs.analyses.caching import (
    access_times,
    acl_queries,
    opened_again,
    recalls,
    repeated_access,
    returned_at_once,
    savings,
)
from pcapnfs.analyses.data import commits, layouts, transfer_runs, write_shapes
from pcapnfs.analyses.locks import dot_locks, lock_calls, lock_files, lock_waits, open_order
from pcapnfs.analyses.mounts import preliminaries, shared_names, software
from pcapnfs.analyses.namespace import (
    attribute_calls,
    directories_again,
    directory_order,
    journals,
    listing_costs,
    move_order,
    not_found,
    readdir,
    silly_renames,
    small_pages,
    voided_names,
)
from pcapnfs.analyses.servers import (
    failures,
    refusals,
    rejections,
    restarts,
    withheld_rights,
)
from pcapnfs.trace import Trace
from pcapnfs.views.document import to_json
from tests.oracles.corpus import Capture, lab_captures, require_corpus
from tests.oracles.opened import opened
from tests.summarized import summarized
from tests.unit.rows import ROOT, call, operation, trace_of

SAMPLES = sorted(path for path in (ROOT / "samples").rglob("*.pcap*") if path.is_file())

SHARED = {
    "pcapnfs.analyses.locks.asked_after_locks",
    "pcapnfs.analyses.caching.held_files",
    "pcapnfs.analyses.data.offloads",
    "pcapnfs.analyses.namespace.missing_again",
    "pcapnfs.analyses.namespace.new_files",
    "pcapnfs.analyses.servers.same_calls",
    "pcapnfs.analyses.servers.unmade",
}
"""What is made or found out for other questions, if any of them is put."""

TELLING = (
    "cachedread-v3-snap96.pcap",
    "cachedread-v42.pcap.gz",
    "files-4k-v3.pcap.gz",
    "files-default-v3.pcap.gz",
    "k61-locks-v42-server.pcap",
    "k61-retrans-v3.pcap",
    "k61-sec-krb5i-v3.pcap",
    "k61-tar-v3.pcap",
    "k61-tar-v42.pcap",
    "k61-two-clients-v42-server.pcap",
    "k61-walk-v3.pcap",
    "npm-sync-v3.pcap.gz",
    "opt-noac-v3.pcap",
    "published-v3-sizes.pcap",
    "published-v3-tar.pcap",
    "published-v41-tar.pcap",
    "tar-disks-v3.pcap.gz",
    "walk-plain-v3.pcap.gz",
)
"""One sample for each choice of questions that are spared."""

SUMMARIZED = (
    "cachedread-v3-snap96.pcap",
    "files-4k-v3.pcap.gz",
    "k61-locks-v42-server.pcap",
    "k61-walk-v3.pcap",
    "published-v3-sizes.pcap",
)
"""Of these, samples in which all that may be spared is spared, beside much that is not."""

LAB = {capture.name: capture for capture in lab_captures()}

TELLING_IN_THE_LAB = (
    "bigdir-v3", "bigdir-v42", "cachedread-v3-snap96", "cachedread-v42-snap128",
    "cachedread8m-v42-snap256", "fmt-merged-2if.pcapng", "k61-cachedread8m-v3-snap256",
    "k61-fmt-ipv6-v3", "k61-locks-v3-server", "k61-locks-v42-server", "k61-nconnect4-256k-v42",
    "k61-restart-v40", "k61-restart-v42", "k61-sec-krb5-v42", "k61-sec-krb5p-v3",
    "k61-sec-krb5p-v42", "k61-tar-sizes-v3-w32k", "k61-tar-sizes-v41-w32k",
    "k61-two-clients-v3-client1", "k61-two-clients-v3-client2", "k61-two-clients-v40-server",
    "k61-two-clients-v42-client1", "k61-walk-threads-v3", "locks-v3-server", "locks-v40-server",
    "locks-v42-server", "mix-v3", "mix-v40", "nconnect4-v42-snap256", "npm-like-v3", "npm-like-v42",
    "opt-sync-v3", "opt-sync-v42", "sec-tls-v42", "sparse-v42", "tar-v3-snap96", "xattr-v42",
)  # fmt: skip
"""Captures of the laboratory in which each question that is spared anywhere is spared beside each
kind of operation, and of call, beside which it is: what it needs is told by nothing but these."""

QUESTIONS: dict[Callable[[Trace], object], Operations | Calls] = {
    attribute_calls.attribute_calls: attribute_calls.NEEDS,
    commits.commits: commits.NEEDS,
    directories_again.directories_again: directories_again.NEEDS,
    directory_order.directory_order: directory_order.NEEDS,
    dot_locks.dot_locks: dot_locks.NEEDS,
    failures.failures: failures.NEEDS,
    journals.journals: journals.NEEDS,
    layouts.layouts: layouts.NEEDS,
    listing_costs.listing_costs: listing_costs.NEEDS,
    lock_calls.lock_calls: lock_calls.NEEDS,
    lock_files.lock_files: lock_files.NEEDS,
    lock_waits.lock_waits: lock_waits.NEEDS,
    move_order.move_order: move_order.NEEDS,
    not_found.not_found: not_found.NEEDS,
    open_order.open_order: open_order.NEEDS,
    preliminaries.preliminaries: preliminaries.NEEDS,
    readdir.readdir: readdir.NEEDS,
    recalls.recalls: recalls.NEEDS,
    refusals.refusals: refusals.NEEDS,
    rejections.rejections: rejections.NEEDS,
    repeated_access.repeated_access: repeated_access.NEEDS,
    restarts.restarts: restarts.NEEDS,
    opened_again.opened_again: opened_again.NEEDS,
    returned_at_once.returned_at_once: returned_at_once.NEEDS,
    savings.larger_writes: savings.NEEDS,
    silly_renames.silly_renames: silly_renames.NEEDS,
    small_pages.small_pages: small_pages.NEEDS,
    access_times.access_times: access_times.NEEDS,
    acl_queries.acl_queries: acl_queries.NEEDS,
    shared_names.shared_names: shared_names.NEEDS,
    software.software: software.NEEDS,
    transfer_runs.transfer_runs: transfer_runs.NEEDS,
    voided_names.voided_names: voided_names.NEEDS,
    withheld_rights.withheld_rights: withheld_rights.NEEDS,
    write_shapes.write_shapes: write_shapes.NEEDS,
}
"""What is spared, and what must be there at least."""


@contextmanager
def nothing_spared(trace: Trace) -> Iterator[None]:
    """As if there were too many kinds to tell: everything counts as present."""
    known = answers(trace).found
    kinds = [each.__wrapped__ for each in (population._operations, population._calls)]  # type: ignore[attr-defined]
    before = {each: known.pop(each) for each in kinds if each in known}
    known.update(dict.fromkeys(kinds))
    yield
    for each in kinds:
        del known[each]
    known.update(before)


def spared_and_asked(trace: Trace) -> Iterator[tuple[object, object]]:
    """The answers to questions that are spared, and those that asking gives."""
    for question, needs in QUESTIONS.items():
        if not needs.met(trace):
            # Also where the answer is remembered, it is worked out each time.
            anew = getattr(question, "__wrapped__", question)
            spared = anew(trace)
            with nothing_spared(trace):
                yield spared, anew(trace)


@pytest.mark.parametrize(
    "sample", [path for path in SAMPLES if path.name in TELLING], ids=lambda path: path.name
)
def test_what_is_spared_would_have_found_nothing(sample: Path) -> None:
    with pcapnfs.open(sample) as trace:
        for spared, asked in spared_and_asked(trace):
            assert spared == asked


@pytest.mark.parametrize(
    "sample", [path for path in SAMPLES if path.name in SUMMARIZED], ids=lambda path: path.name
)
def test_a_summary_says_the_same_where_nothing_is_spared(sample: Path) -> None:
    # Another trace than that of the summary, which remembers answers that several questions share.
    with pcapnfs.open(sample, columns=summary.READS) as trace, nothing_spared(trace):
        assert to_json(summary.summarize(trace)) == summarized(sample)


def test_in_samples_that_are_summarized_all_is_spared_that_may_be() -> None:
    read = columns.together(population.OPERATIONS_READS, population.CALLS_READS)
    needed = {question.__module__: needs for question, needs in QUESTIONS.items()}
    needed |= {name: importlib.import_module(name).NEEDS for name in SHARED}
    spared = set()
    for name in SUMMARIZED:
        (sample,) = (path for path in SAMPLES if path.name == name)
        with pcapnfs.open(sample, columns=read) as trace:
            spared |= {each for each, needs in needed.items() if not needs.met(trace)}
    assert spared == set(needed)


def test_each_choice_of_what_is_spared_has_one_sample() -> None:
    read = columns.together(population.OPERATIONS_READS, population.CALLS_READS)
    chosen: dict[tuple[bool, ...], list[str]] = {}
    for sample in SAMPLES:
        with pcapnfs.open(sample, columns=read) as trace:
            needed = tuple(needs.met(trace) for needs in QUESTIONS.values())
        chosen.setdefault(needed, []).append(sample.name)
    assert [len(set(names) & set(TELLING)) for names in chosen.values()] == [1] * len(TELLING)


def test_every_analysis_that_may_be_spared_is_tried() -> None:
    found = {
        module.name
        for module in pkgutil.walk_packages(analyses.__path__, f"{analyses.__name__}.")
        if hasattr(importlib.import_module(module.name), "NEEDS")
    }
    assert found - SHARED == {question.__module__ for question in QUESTIONS}


@pytest.mark.parametrize(
    "capture",
    [LAB.get(name) for name in TELLING_IN_THE_LAB],
    ids=lambda capture: capture.name if capture else "none",
)
def test_nor_in_captures_of_the_laboratory(capture: Capture | None) -> None:
    for spared, asked in spared_and_asked(opened(capture).trace):
        assert spared == asked


def test_others_of_the_laboratory_would_show_nothing_else() -> None:
    require_corpus()
    read = columns.together(population.OPERATIONS_READS, population.CALLS_READS)
    beside: dict[str, set[tuple[object, ...]]] = {}
    for name, capture in LAB.items():
        with pcapnfs.open(list(capture.files), columns=read) as trace:
            kinds = [*(population._operations(trace) or ()), *(population._calls(trace) or ())]
            spared = [each for each, needs in QUESTIONS.items() if not needs.met(trace)]
        beside[name] = {(question, *kind) for question in spared for kind in kinds}
    told = set().union(*(beside[name] for name in TELLING_IN_THE_LAB))
    assert set().union(*beside.values()) == told


def test_operations_are_told_by_name_and_status() -> None:
    rows = [
        operation(1, "LOOKUP", status=2, status_name="NFS3ERR_NOENT"),
        operation(2, "RENAME", status=None, status_name=None),
    ]
    with trace_of(operations=rows) as trace:
        assert Operations(("LOOKUP", "OPEN")).met(trace)
        assert Operations(("LOOKUP", "OPEN"), statuses=(2, 13)).met(trace)
        assert Operations(("LOOKUP",), names=("NFS3ERR_NOENT",)).met(trace)
        assert Operations(("RENAME",)).met(trace)
        assert not Operations(("OPEN",)).met(trace)
        assert not Operations(("LOOKUP",), statuses=(0,)).met(trace)
        assert not Operations(("RENAME",), statuses=(0,)).met(trace)
        assert not Operations(("RENAME",), names=("NFS3ERR_NOENT",)).met(trace)


def test_calls_are_told_by_main_operation_and_status() -> None:
    rows = [
        call(1, "READ", 1.0, status=70, status_name="NFS3ERR_STALE"),
        call(2, "WRITE", None, status=None, status_name=None),
    ]
    with trace_of(calls=rows) as trace:
        assert Calls(("READ",)).met(trace)
        assert Calls(statuses=(70, 10014)).met(trace)
        assert Calls(names=("NFS3ERR_STALE",)).met(trace)
        assert Calls(("WRITE",)).met(trace)
        assert not Calls(("WRITE",), statuses=(70,)).met(trace)
        assert not Calls(names=("NFS4ERR_DELAY",)).met(trace)
        assert not Calls(("COMMIT",)).met(trace)


def test_an_empty_trace_has_nothing() -> None:
    with trace_of() as trace:
        assert not Operations(("READ",)).met(trace)
        assert not Calls().met(trace)


def test_where_kinds_are_too_many_everything_counts_as_present() -> None:
    rows = [operation(1, "READ", status=number) for number in range(population.MOST + 1)]
    with trace_of(operations=rows) as trace:
        assert Operations(("LOCK",)).met(trace)
    with trace_of(operations=rows[1:]) as trace:
        assert not Operations(("LOCK",)).met(trace)
