"""Findings on the lab captures: each one is true, and none is missing, by the captures' truth."""

from __future__ import annotations

import pytest

import pcapnfs
from pcapnfs.diagnosis.rules import RULES
from tests.oracles import matrix, survey
from tests.oracles.corpus import Capture, lab_captures, require_corpus
from tests.oracles.expected import expectation

CAPTURES = lab_captures()


def test_there_is_a_corpus() -> None:
    require_corpus()


def test_every_rule_has_its_expectation() -> None:
    for rule in RULES:
        assert callable(expectation(rule.id))


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
def test_findings_agree_with_the_truth(capture: Capture) -> None:
    row = matrix.row(capture)
    assert row.contradictions() == []
    assert matrix.told()[capture.name] == matrix.cells(row), "python -m tests.oracles.matrix"


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
        found = matrix.severities(pcapnfs.findings(trace))
    assert rule in found
