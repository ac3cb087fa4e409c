"""Parts of pages are written: appends, records, read-modify-write by the client or the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.data.write_shapes import WriteShapes
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "unaligned_writes.share", 0.2, "share", "WRITEs that begin or end within a page of 4 KiB",
    "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "unaligned_writes.least", 30, "calls", "such WRITEs, below which nothing is reported",
    "default of this tool",
)  # fmt: skip

READ_FIRST = Threshold(
    "unaligned_writes.read_first", 30, "calls", "READs of single pages that the client then wrote "
    "as a whole, below which nothing is reported of them", "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them."""
    for pair in material.write_shapes:
        if pair.pages_first.reads.calls >= values[READ_FIRST.name]:
            yield _read_first(material, pair)
        many = pair.unaligned.calls
        if many < values[LEAST.name] or many < values[SHARE.name] * pair.writes:
            continue
        claims = left_out(pair.read_first, row="read") if pair.read_first.calls else ()
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title="Many WRITEs cover parts of pages",
            seen=" ".join(_seen(pair)),
            why="For a part of a page the server's file system reads the rest of it, or writes the "
            "same block again and again, and a client that does not have the page reads it first: "
            "read, modify, write.",
            advice=(
                Advice(
                    "Let the application write in multiples of 4 KiB (its record or buffer size, "
                    "stdio with a larger buffer), or group what it appends and syncs.",
                    "what is still in a buffer is lost when the program fails.",
                ),
                Advice(
                    "Without sync, O_SYNC and noac, and without a lock or a close for each record, "
                    "the client puts neighbouring WRITEs together by itself."
                ),
                Advice(
                    "Match the record size of the server's file system (recordsize, stripe) to "
                    "that of the application."
                ),
            ),
            confidence="certain",
            data=units.counted(pair.writes, "WRITE"),
            frames=pair.unaligned.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _read_first(material: Material, pair: WriteShapes) -> Observed:
    """A caching client reads what it changes a part of."""
    reads = pair.pages_first.reads
    claims = left_out(reads, row="read")
    return Observed(
        severity=by_cost(material, claims, sure=False),
        at_most="warning",
        title="Pages are read one by one before parts of them are written",
        seen=f"{units.counted(reads.calls, 'READ')} of a single page of 4 KiB each, here and there "
        f"in {units.counted(pair.pages_first.files, 'file')}, were each followed by a "
        "WRITE of that whole page.",
        why="A client that does not have a page reads it before it changes a part of it, and the "
        "program waits for that; the page is written as a whole later (read, modify, write). A "
        "program that itself reads pages, and writes each of them back, looks the same.",
        advice=(
            Advice(
                "In the program: write whole pages (multiples of 4 KiB, at multiples of 4 KiB), "
                "which need not be read before."
            ),
            Advice(
                "If it only writes, open the file for writing alone (O_WRONLY): a Linux client "
                "then reads nothing before, and sends what was changed."
            ),
            Advice(
                "If the file fits into the client's memory, read it once in order before it is "
                "changed here and there: that takes few round trips, since the client reads ahead."
            ),
        ),
        confidence="possible",
        calls=reads.calls,
        data=units.counted(pair.writes, "WRITE"),
        frames=reads.frames,
        claims=claims,
        about=(pair.client, pair.server),
    )


def _seen(pair: WriteShapes) -> Iterator[str]:
    yield (
        f"{units.count(pair.unaligned.calls)} of {units.counted(pair.writes, 'WRITE')} begin or "
        f"end within a page, in {units.counted(pair.files, 'file')}; they bring "
        f"{units.size(pair.mean_bytes)} each on average."
    )
    if pair.appended:
        yield f"{units.count(pair.appended)} append to what was written before."
    if pair.read_first.calls:
        reads = units.counted(pair.read_first.calls, "READ")
        yield f"{reads} of the same page came right before."


RULE = Rule(
    id="unaligned_writes",
    title="Writing parts of pages: WRITEs that are not aligned, READs before them",
    origin="practice: read-modify-write of file systems and arrays",
    judge=judge,
    thresholds=(SHARE, LEAST, READ_FIRST),
)
