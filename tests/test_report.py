"""Reports of real captures: as `summarize` says, complete, and of a size that can be attached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import report as contents
from pcapnfs import units
from pcapnfs.report import Report
from pcapnfs.views.document import to_json
from pcapnfs.views.report import markdown, page
from tests.oracles.corpus import require_corpus
from tests.summarized import summarized
from tests.unit.rows import ROOT

LAB = (
    "tar-v3.pcap",
    "k61-tar-v3.pcap",
    "npm-like-v42.pcap",
    "walk-v3.pcap",
    "cachedread-v42.pcap",
    "two-clients-v42-server.pcap",
    "loss-v42.pcap",
    "k61-sec-krb5p-v42.pcap",
)

SAMPLES = ("k61-walk-v3.pcap", "opt-noac-v3.pcap", "k61-two-clients-v42-server.pcap")


def words(text: str) -> str:
    """What is read on a page, spaces of all kinds alike."""
    body = re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def check(found: Report) -> None:
    text = page.html(found)
    assert len(text.encode()) < page.LIMIT_BYTES
    assert "did not fit" not in text
    seen = words(text)
    told = words(markdown.markdown(found).replace("\\", ""))
    for row in found.summary.operations[:10]:
        for figure in (
            units.count(row.calls),
            units.duration(row.srt.mean_s),
            units.duration(row.srt.p95_s),
        ):
            wanted = re.sub(r"\s+", " ", figure)
            assert wanted in seen
            assert wanted in told
    for name, time_s, _ in found.summary.time_budget_total.shares():
        assert not time_s or units.duration(time_s) in seen, name
    for each in found.summary.findings:
        assert f"{each.id}" in seen


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_told_as_summarize_tells_them(name: str) -> None:
    with pcapnfs.open(ROOT / "samples" / name, columns=contents.READS) as trace:
        found = contents.report(trace)
    assert to_json(found.summary) == summarized(ROOT / "samples" / name)
    check(found)


@pytest.mark.parametrize("name", LAB)
def test_lab_captures_give_a_report_that_can_be_attached(name: str) -> None:
    with pcapnfs.open(require_corpus() / "lab" / name, columns=contents.READS) as trace:
        found = contents.report(trace)
        parts = found.course.parts
        (answered,) = trace.sql(
            "select count(*), count(*) filter (stability = 'stable') "
            "from calls where not callback and reply_time is not null"
        ).fetchall()
        spread = trace.sql("select count(srt) from calls").fetchall()[0][0]
    check(found)
    assert (sum(p.calls for p in parts), sum(p.stable_calls for p in parts)) == answered
    if not found.spreads.hidden:
        assert sum(each.count for each in found.spreads.operations) == spread
    # Each file is told by itself; what is not shown is said.
    for each in found.sequences:
        assert len(each.steps) == min(each.calls, contents.CALLS)


def test_an_empty_capture_has_a_report(tmp_path: Path) -> None:
    """It has no time from which others could be counted."""
    empty = tmp_path / "empty.pcap"
    empty.write_bytes((ROOT / "samples/k61-tar-v3.pcap").read_bytes()[:24])
    with pcapnfs.open(empty) as trace:
        found = contents.report(trace)
        assert pcapnfs.pergroup(trace, by="directory").groups == ()
    assert found.summary.trust.rpc_calls == 0
    assert "Verdict" in words(page.html(found))
