"""A trace of many rows is walked over in parts, and says the same."""

from __future__ import annotations

import pytest

import pcapnfs
from pcapnfs import summary
from pcapnfs.analyses import cache, parts, patterns, questions, readdir, shared_files
from pcapnfs.trace import Trace
from pcapnfs.views.document import document
from tests.unit.rows import ROOT


def told(trace: Trace) -> list[object]:
    """What the analyses say that walk over rows in order."""
    return [
        document(answer)
        for answer in (
            cache.cache(trace, top=0),
            list(questions.questions(trace)),
            readdir.readdir(trace, top=0),
            patterns.patterns(trace, top=0),
            list(shared_files.shared_files(trace)),
        )
    ]


@pytest.mark.parametrize(
    "name", ["k61-walk-v3.pcap", "k61-two-clients-v42-server.pcap", "opt-noac-v3.pcap"]
)
def test_parts_say_what_the_whole_says(name: str) -> None:
    with pcapnfs.open(str(ROOT / "samples" / name)) as trace:
        whole = told(trace)
        trace.walked = 60
        assert parts.number(trace, entries=False) > 1
        assert told(trace) == whole


@pytest.mark.parametrize("name", ["k61-walk-v3.pcap", "k61-two-clients-v42-server.pcap"])
def test_a_summary_of_parts_is_that_of_the_whole(name: str) -> None:
    """With the columns alone that the analyses name."""
    documents = []
    for walked in (1 << 20, 60):
        with pcapnfs.open(str(ROOT / "samples" / name), columns=summary.READS) as trace:
            trace.walked = walked
            documents.append(document(pcapnfs.summarize(trace)))
    assert documents[0] == documents[1]
