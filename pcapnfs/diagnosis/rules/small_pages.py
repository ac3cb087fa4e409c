"""Directories are listed in many small pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Explanation, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "small_pages.least", 30, "calls", "small pages, below which nothing is reported",
    "default of this tool",
)  # fmt: skip
SHARE = Threshold(
    "small_pages.share", 0.5, "share", "pages with another one behind them that are small",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them."""
    for pair in material.small_pages:
        small = pair.small
        if small.calls < values[LEAST.name] or small.calls < values[SHARE.name] * pair.pages:
            continue
        claims = left_out(small)
        told = _SHORT if pair.short > small.calls / 2 else _ASKED
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title=told.title,
            seen=f"{units.count(small.calls)} of {units.counted(pair.pages, 'page')} that did not "
            f"end a listing were small: {units.counted(round(pair.entries), 'entry', 'entries')} "
            f"and {units.size(round(pair.reply_bytes))} each, where the client asked for "
            f"{units.size(round(pair.requested_bytes))} (medians): {wording.places(pair.places)}.",
            why=told.why,
            advice=told.advice,
            calls=small.calls,
            confidence="certain",
            data=units.counted(pair.pages, "page"),
            frames=small.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


_DIVIDE = Advice(
    "Until then divide large directories into several (by day, by host, by first letters).",
    "programs that know the paths must be changed.",
)

_SHORT = Explanation(
    title="The server sends listings in small pages",
    why="A page tells where the next one begins, so that they come one after the other, each after "
    "a round trip. The client asked for more than the server put into them. Some servers read "
    "the whole directory anew for each page: then twice as many entries take four times as long.",
    advice=(
        Advice(
            "Look for a newer version of the server, or an option for how much a listing's reply "
            "holds; else show its vendor the example frames. By NFSv3 dircount bounds names and "
            "cookies alone, and maxcount all of the reply (RFC 1813 section 3.3.17)."
        ),
        _DIVIDE,
    ),
)

_ASKED = Explanation(
    title="The client asks for listings in small pages",
    why="A page tells where the next one begins, so that they come one after the other, each after "
    "a round trip. A Linux client asks for what the server prefers (dtpref of FSINFO, RFC 1813 "
    "section 3.3.19), and never for more than rsize.",
    advice=(
        Advice(
            "See with nfsstat -m whether rsize or the server's preference is why (dtsize in "
            "/proc/self/mountstats): mount with a larger rsize, or have the server prefer 32 KiB "
            "and more."
        ),
        _DIVIDE,
    ),
)

RULE = Rule(
    id="small_pages",
    title="Directories listed in small pages",
    origin="practice: NFS servers in user space; RFC 1813 sections 3.3.16, 3.3.17 and 3.3.19",
    judge=judge,
    thresholds=(LEAST, SHARE),
)
