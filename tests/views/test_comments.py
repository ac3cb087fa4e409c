"""The text of comments: what it says, where, and what it never holds."""

from __future__ import annotations

from pcapnfs.analyses.times.slowest import SlowCall
from pcapnfs.annotation import Begun, Remarks
from pcapnfs.record import replace
from pcapnfs.views.comments import LONGEST, by_frame
from tests.views import samples

SLOW = SlowCall(
    version="3",
    op="READ",
    client="10.0.0.2",
    server="10.0.0.1",
    path="src/main.c",
    call_frame=30,
    reply_frame=40,
    srt_s=0.412,
    transmissions=1,
    answered=1234,
    p50_s=0.0003,
    p99_s=0.003,
)


def test_each_remark_stands_at_its_frames() -> None:
    found = samples.findings().findings[0]
    begun = Begun(samples.phase(), place=2, phases=3, frame=12)
    comments = by_frame(Remarks((found,), (SLOW,), (begun,)))
    assert list(comments) == [12, 30, 31, 40]
    usual = "(99th percentile 3.00 ms, median 300 µs of 1\u2009234 calls)"
    assert comments[30] == [
        "pcapnfs problem noac: The mount keeps no attributes (noac); see frame 12.",
        f"pcapnfs slow call 1 of 1: READ of src/main.c takes 412 ms {usual}, to frame 40.",
    ]
    assert comments[40] == [
        f"pcapnfs slow call 1 of 1: READ of src/main.c took 412 ms {usual}, from frame 30."
    ]
    whole, phase = comments[12]
    assert whole.startswith("pcapnfs problem noac: The mount keeps no attributes (noac). 10.0.0.2 ")
    assert "Costs 20.5 s, 33.6 % of the time." in whole
    assert whole.endswith("Do: Mount without noac.")
    assert phase == (
        "pcapnfs phase 2 of 3 of 10.0.0.2: CREATE, WRITE; 5\u2009000 calls on 1\u2009000 files "
        "in 1 m 1 s, after a pause of 500 ms."
    )


def test_calls_that_stand_alone() -> None:
    alone = replace(SLOW, path=None, answered=1, transmissions=3, reply_frame=30)
    assert by_frame(Remarks((), (alone,), ())) == {
        30: ["pcapnfs slow call 1 of 1: READ took 412 ms (the only one of its kind, sent 3 times)."]
    }
    assert by_frame(Remarks((), (), ())) == {}


def test_text_from_the_capture_is_escaped_and_its_length_bounded() -> None:
    hostile = samples.HOSTILE + "\n\0\udcff" + "x" * 100_000
    found = replace(samples.findings().findings[0], evidence=hostile, title=hostile)
    slow = replace(SLOW, path=hostile, op=samples.HOSTILE)
    phase = replace(samples.phase(), name=samples.HOSTILE, client=samples.HOSTILE)
    comments = by_frame(Remarks((found,), (slow,), (Begun(phase, 1, 2, 1),)))
    texts = [text for each in comments.values() for text in each]
    assert len(texts) == 6
    for text in texts:
        assert text.replace("\u2009", "").isprintable()
        assert len(text) <= LONGEST
        text.encode("utf-8")
