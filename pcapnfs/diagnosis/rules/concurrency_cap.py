"""The calls at once stay at one number: something limits them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import read_ahead
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.caps import Pair
    from pcapnfs.analyses.wire.turns import Turns
    from pcapnfs.diagnosis.material import Material

CALLS = Threshold(
    "concurrency_cap.calls", 16, "calls", "the most at once; below, programs must be seen to wait",
    "practice: the smallest usual limit (sunrpc.tcp_slot_table_entries was 16)",
)  # fmt: skip
SHARE = Threshold(
    "concurrency_cap.share", 0.1, "share", "of the time with calls under way, it is that many",
    "default of this tool",
)  # fmt: skip
TURNS = Threshold(
    "concurrency_cap.turns", 50, "calls",
    "with which programs go on with a file; below, nothing shows whether they wait",
    "default of this tool",
)  # fmt: skip
SOON = 0.1
"""Share of these before which few others are sent, at most: whoever need not wait goes on at once.
Of diff, four at a time, it was half; of eight programs for two calls less than a hundredth."""
MANY = 128
"""Calls at once from which on some servers slow down (SUSE, document 7023238)."""

_AHEAD = "how far the client reads ahead, "
"""What else may be the limit, of READs."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    full = {
        (session.client, session.server) for session in material.caps.slots if session.full_s > 0
    }
    for pair in material.caps.pairs:
        if (pair.client, pair.server) in full:
            continue
        if pair.peak < values[CALLS.name]:
            if (turns := _taken(pair, values)) is not None:
                yield _few(pair, turns)
            continue
        if pair.at_peak_s < values[SHARE.name] * pair.busy_s:
            continue
        ahead = tuple(_reads_ahead(material, pair))
        yield Observed(
            severity="note",
            title="The calls at once stay at one number",
            seen=_flat(pair),
            why=f"Load of its own varies. A flat top is a limit: {_AHEAD if ahead else ''}the "
            "threads of the application, the slots of the client's transport, or the queue of its "
            "block layer. What is beyond it waits in the client, where no capture sees it.",
            advice=(
                *ahead,
                Advice(
                    "See whether the application has that many threads or requests in flight; "
                    "then it is its own limit."
                ),
                Advice(
                    "If not: look at sysctl sunrpc.tcp_max_slot_table_entries on a Linux client "
                    "(65536 unless somebody lowered it; what is set counts for connections made "
                    "after it), and mount with nconnect.",
                    f"some servers slow down beyond {MANY} calls at once on a connection.",
                ),
            ),
            confidence="possible",
            data=units.counted(pair.calls, "call"),
            about=(pair.client, pair.server),
        )


def _reads_ahead(material: Material, pair: Pair) -> Iterator[Advice]:
    """What to do first where most calls are READs that a client seems to read ahead."""
    reads = read_ahead.sent_ahead(material, (pair.client, pair.server), pair.calls)
    if reads is not None:
        yield Advice(
            "Most are READs of files in order, several of a file at once: the limit may be how far "
            f"the client reads ahead ({units.count(pair.peak)} times "
            f"{units.size(reads.largest_bytes)}). {read_ahead.FURTHER}",
            read_ahead.RISK,
        )


def few(material: Material, values: Values) -> frozenset[tuple[str, str]]:
    """The clients and servers at which programs wait for so few: more programs do not help."""
    return frozenset(
        (pair.client, pair.server)
        for pair in material.caps.pairs
        if pair.peak < values[CALLS.name] and _taken(pair, values) is not None
    )


def _taken(pair: Pair, values: Values) -> Turns | None:
    """How programs take turns; None where no more of them are at it than calls are under way."""
    turns = pair.turns
    if turns is None or turns.calls < values[TURNS.name] or turns.soon > SOON * turns.calls:
        return None
    return turns


def _flat(pair: Pair) -> str:
    return (
        f"For {units.share(pair.at_peak_s / pair.busy_s)} of the "
        f"{units.duration(pair.busy_s)} with calls under way there were exactly "
        f"{units.count(pair.peak)}, and never more; {units.number(pair.mean)} on average, over "
        f"{units.counted(pair.connections, 'connection')}."
    )


def _few(pair: Pair, turns: Turns) -> Observed:
    """More programs than calls that may be under way."""
    limits = "sysctl sunrpc.tcp_max_slot_table_entries (65536 by default"
    if pair.sessions:
        limits += ") and max_session_slots of the module nfs (64 by default"
    return Observed(
        severity="warning",
        title="Programs wait until fewer calls are under way",
        seen=f"{_flat(pair)} Between the answer by which a program opens or makes a file and its "
        f"next call about that file, {units.counted(round(turns.between), 'other')} are sent "
        f"(median of {units.count(turns.calls)}): more programs are at work, and wait for their "
        "turn.",
        why="A program that need not wait goes on at once. What waits in the client no capture "
        "sees: each call seems quick, and more programs at once make nothing faster.",
        advice=(
            Advice(
                f"On a Linux client look whether somebody lowered {limits}): raise it and mount "
                "again, since it counts for connections made after it. nconnect brings each "
                "connection its own.",
                f"some servers slow down beyond {MANY} calls at once on a connection.",
            ),
            Advice(
                "If neither is low, the program has a pool of its own through which its work on "
                "files goes (Node.js: 4 threads, UV_THREADPOOL_SIZE): make that larger."
            ),
        ),
        confidence="likely",
        data=units.counted(pair.calls, "call"),
        about=(pair.client, pair.server),
    )


RULE = Rule(
    id="concurrency_cap",
    title="The number of calls at once is flat",
    origin="practice: RPC slot tables; SUSE document 7023238",
    judge=judge,
    thresholds=(CALLS, SHARE, TURNS),
    topic="calls at once",
    of_times=True,
)
