"""What `decode` says it wrote."""

from __future__ import annotations

from pcapnfs.record import replace
from pcapnfs.views import decoded
from tests.views import samples


def test_one_sentence() -> None:
    result = samples.decoded()
    assert decoded.screen(result).plain == (
        "week.nfstrace: 678 calls of 12\u2009345 packets in 2 independent parts, 4.22 KiB"
    )
    single = replace(result, trace="a\x1b[2J", parts=1, calls=1, packets=1)
    assert decoded.screen(single).plain == "a\\x1b[2J: 1 call of 1 packet, 4.22 KiB"
