"""Findings on the lab captures: each one is true, and none is missing, by the captures' truth."""

from __future__ import annotations

import pytest

import pcapnfs
from pcapnfs.analyses.forecasts.bottleneck import Bottleneck, bottleneck
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.servers.restarts import restarts
from pcapnfs.diagnosis.bound import LEAST, SECOND_SHARE
from pcapnfs.diagnosis.rules import RULES
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from tests.oracles import matrix, survey
from tests.oracles.corpus import Capture, lab_captures, require_corpus
from tests.oracles.expected import expectation
from tests.oracles.opened import opened

CAPTURES = lab_captures()


def test_there_is_a_corpus() -> None:
    require_corpus()


def test_every_rule_has_its_expectation() -> None:
    for rule in RULES:
        assert callable(expectation(rule.id))


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
def test_findings_agree_with_the_truth(capture: Capture) -> None:
    row = matrix.judged(capture, opened(capture).summary.findings)
    assert row.contradictions() == []
    assert matrix.told()[capture.name] == matrix.cells(row), "python -m tests.oracles.matrix"


@pytest.mark.parametrize("capture", CAPTURES[::16], ids=lambda capture: capture.name)
def test_they_are_the_same_when_nothing_else_is_asked(capture: Capture) -> None:
    """A summary has them of what it has found out for itself, the estimate too."""
    summary = opened(capture).summary
    with pcapnfs.open([str(path) for path in capture.files]) as trace:
        found = pcapnfs.findings(trace)
        assert (found.findings, found.judged) == (summary.findings, summary.judged)
        assert model(trace) == summary.model


GENERAL = {
    "persistence": "persistence_bound",
    "round_trips": "round_trip_bound",
    "transfer": "transfer_bound",
    "client": "client_bound",
}
"""The finding for each cause that a verdict may name; the others have findings of their own."""


BESIDE = ("A part of the time", "Much of the time at work")
"""What the title begins with of a cause that the verdict does not name."""


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
def test_the_verdict_and_the_findings_name_the_same(capture: Capture) -> None:
    asked = opened(capture)
    verdict, measured = asked.summary.verdict, bottleneck(asked.trace)
    general = [each for each in asked.summary.findings if each.id in GENERAL.values()]
    beside = {each.id for each in general if each.title.startswith(BESIDE)}
    assert measured.verdict == verdict
    if verdict is not None and verdict.clients:
        assert [told.verdict for told in measured.clients[: len(verdict.clients)]] == [
            replace(told, sentence=mine.verdict.sentence)
            for told, mine in zip(verdict.clients, measured.clients, strict=False)
            if mine.verdict is not None
        ]
    named = {
        GENERAL[cause]
        for found in measured.clients or (measured,)
        for cause in _said_of(found)
        if cause in GENERAL
    }
    assert {each.id for each in general if not each.title.startswith(BESIDE)} == named
    # What it does not name is told where it takes half of what makes a cause large, of the work.
    large = {
        GENERAL[part.cause]
        for found in measured.clients or (measured,)
        for part in (found.verdict.active_causes if found.verdict is not None else ())
        if part.cause in GENERAL and part.cause not in _said_of(found)
        if part.time_s >= SECOND_SHARE * _worked_s(asked.trace, found)
    }
    assert beside <= large - {"client_bound"}


def _worked_s(trace: Trace, found: Bottleneck) -> float:
    """The time in which a client was active and worked, seconds."""
    assert found.verdict is not None
    active_s = sum(part.time_s for part in found.verdict.active_causes)
    restarted = () if found.about else restarts(trace)
    waits_s = sum(server.unreachable_s + server.grace_s for server in restarted)
    return active_s - found.rest_s - waits_s


def _said_of(found: Bottleneck) -> set[str]:
    """The causes that findings are to name, of one client."""
    if found.verdict is None or found.calls < LEAST:
        return set()
    # Long pauses, which the verdict leaves out, are the client's.
    return {*found.verdict.named, *(("client",) if found.away_s else ())}


ELSEWHERE = {
    "access_storm": "public/nfstrace/eth-ipv6-tcp-nfsv3-bad_alloc.pcap.bz2",
    "commit_cost": "other/ganesha-frag-v3",
    "open_owner_serialised": "other/nfs4j-libnfs-v40",
    "server_overload": "other/nfs4j-libnfs-v40",
    "unaligned_writes": "other/libnfs-ganesha-v40",
    "zero_window": "public/nfstrace/eth-ipv4-tcp-nfsv3.pcap.bz2",
}
"""Rules that fire on no lab capture, and a capture on which they do. What is not here fires on
captures that are simulated or built (test_bounds, test_built_findings, test_built_stalls,
test_savings)."""


@pytest.mark.parametrize("rule", ELSEWHERE)
def test_a_rule_that_the_lab_does_not_show_fires_elsewhere(rule: str) -> None:
    require_corpus()
    files = survey.captures()[ELSEWHERE[rule]]
    with pcapnfs.open([str(file) for file in files]) as trace:
        found = matrix.severities(pcapnfs.findings(trace).findings)
    assert rule in found
