"""COMMITs take a noticeable part of the time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import bound
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.mounted import CHECK
from pcapnfs.diagnosis.rules import sync_mount
from pcapnfs.diagnosis.severity import by_cost, costs
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.data.commits import Commits
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "commit_cost.least", 10, "calls", "COMMITs, below which nothing is reported",
    "default of this tool",
)  # fmt: skip
SHARE = Threshold(
    "commit_cost.share", 0.01, "share", "what COMMITs take beyond round trips of the time budget, "
    "or of the time in which their client was active",
    "default of this tool",
)  # fmt: skip
MEAN = Threshold(
    "commit_cost.mean", 0.002, "s", "mean of COMMITs; below, it is a note",
    "practice: less than a disk can, so storage has a cache",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    own = bound.own(material)
    through = _told_as_through(material, values)
    for pair in material.commits:
        if pair.commits < values[LEAST.name] or (pair.client, pair.server) in through:
            continue
        beyond = pair.time_s - pair.commits * (own(pair.client).rtt_s or 0.0)
        claims = (Claim("stable", max(0.0, beyond)),)
        if beyond <= 0 or not costs(material, (pair.client,), claims, values[SHARE.name]):
            continue
        slow = pair.mean_s >= values[MEAN.name]
        yield Observed(
            severity=by_cost(material, claims, sure=False) if slow else "note",
            at_most="warning" if slow else None,
            title="COMMITs that found nothing to store take time"
            if _idle(pair)
            else "Data waits for COMMIT",
            seen=f"{units.counted(pair.commits, 'COMMIT')} of {units.counted(pair.files, 'file')} "
            f"took {units.duration(pair.mean_s)} on average, {units.duration(pair.longest_s)} at "
            f"most; {_written(pair)}",
            why=_why(pair),
            advice=_advice(material, pair),
            confidence="likely" if _idle(pair) else "certain",
            data=units.counted(pair.commits, "COMMIT"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


NOTHING = 0.9
"""Share of the COMMITs from which on it is told that nothing had been written before them: as a
capture begins, a few are for data that was written before."""


def _idle(pair: Commits) -> bool:
    """Whether nearly all COMMITs came where nothing had been written UNSTABLE."""
    return pair.empty >= NOTHING * pair.commits


MOSTLY = 0.5
"""Share of the COMMITs from which on another finding tells why they come; what is left is too
little for one of its own."""


def _told_as_through(material: Material, values: Values) -> set[tuple[str, str]]:
    """Whose COMMITs mostly come behind pieces that are written through: one cause, told once."""
    return {
        (pair.client, pair.server)
        for pair in sync_mount.behind_pieces(material, values)
        if pair.places.pieces >= MOSTLY * pair.commits
    }


CLOSING = 0.9
"""Share of the COMMITs that stand alone at the end of their files, from which on closing files is
told as their reason: a few may be larger than what a client keeps, or synced by their program."""


def _copying(pair: Commits) -> bool:
    """Whether most came for what the server had copied itself."""
    return pair.copied >= MOSTLY * pair.commits


def _closing(pair: Commits) -> bool:
    """Whether nearly all came once for a file, when all of it had been sent."""
    return pair.places.at_end >= CLOSING * pair.commits


def _written(pair: Commits) -> str:
    """What had been written before them."""
    if _idle(pair):
        return (
            f"before {units.count(pair.empty)} of them no WRITE of the capture had left anything "
            "unstable."
        )
    if _copying(pair):
        return (
            f"{units.size(pair.written_bytes)} had been written or copied before them, more by "
            f"COPY than by WRITE before {units.count(pair.copied)}.{_grows(pair)}"
        )
    return f"{units.size(pair.written_bytes)} had been written before them.{_grows(pair)}"


def _why(pair: Commits) -> str:
    if _idle(pair):
        return _WHY_IDLE
    if _copying(pair):
        return _WHY_COPYING
    return _WHY_CLOSING if _closing(pair) else _WHY


_WHY = (
    "COMMIT makes the server write out what it holds of the file, and close() and fsync() wait for "
    "it."
)

_WHY_CLOSING = (
    "Each file was committed once, behind its last WRITE, as closing it does: what a client holds "
    "of a file must be on the server's stable storage before close() returns, so that who opens it "
    "next finds it (close-to-open consistency, RFC 8881 section 10.3.1). No fsync() is needed for "
    "that, and one before close() costs nothing more."
)

_WHY_IDLE = (
    "COMMIT is for data that the server took without storing it. Where WRITEs were stable when "
    "they were answered, or nothing was written, it costs a round trip, and on some servers a "
    "flush, for nothing."
)

_WHY_COPYING = (
    "A server may answer a COPY before what it copied is on stable storage (UNSTABLE, RFC 7862 "
    "section 15.2). The client then commits it before it goes on, once for each piece that a "
    "program copies, without any fsync()."
)

_NONE = Advice(
    "See what sends them: client libraries that send COMMIT whenever they close a file, or after "
    "WRITEs that ask for FILE_SYNC. One that writes UNSTABLE and commits once, or leaves COMMIT "
    "out where all was stable, waits less."
)
"""Where there was nothing to store."""


def _grows(pair: Commits) -> str:
    if pair.fixed_s is None or pair.rate_bytes is None:
        return ""
    return (
        f" A COMMIT takes {units.duration(pair.fixed_s)} and the data goes to storage at "
        f"{units.size(pair.rate_bytes)} a second."
    )


LARGEST_BYTES = 1 << 20
"""What Linux sends in one WRITE at most; and what storage takes much longer for than for one
access, so that more of it before each COMMIT is a matter of its rate."""


def _advice(material: Material, pair: Commits) -> tuple[Advice, ...]:
    if _idle(pair):
        return (_NONE,)
    if _copying(pair):
        return (_LARGER_PIECES, _FASTER)
    small = pair.written_bytes < pair.commits * LARGEST_BYTES
    if _closing(pair):
        return (_AT_ONCE, _one_write(material, pair), _FASTER) if small else _LARGE_FILES
    return (_FEWER, _FASTER) if small else (_FASTER, _EARLIER)


_FEWER = Advice(
    "If the application calls fsync() after each small write (databases, mail, logs), let it "
    "group them.",
    "what was not synced is lost when the client fails.",
)

_LARGER_PIECES = Advice(
    "Have the program copy in larger pieces (the length of copy_file_range), or clone instead, "
    "where the server's file system can (cp --reflink): a CLONE leaves nothing to commit."
)

_FASTER = Advice(
    "Give the server a log on flash with power-loss protection, or a protected write cache."
)

_EARLIER = Advice(
    "Let the server write out earlier, so that less is left for COMMIT: on a "
    "Linux server lower vm.dirty_background_bytes.",
    "more, smaller writes to the disks.",
)

_AT_ONCE = Advice(
    "Write several files at once (parallel copies, xargs -P, several rsync): their COMMITs do not "
    "wait for one another."
)

_LARGE_FILES = (_FASTER, _AT_ONCE, _EARLIER)
"""Files whose data takes the time, closed one by one."""


def _one_write(material: Material, pair: Commits) -> Advice:
    """How files of this size go out without a COMMIT."""
    runs = [
        each.writes
        for each in material.transfer_runs
        if (each.client, each.server) == (pair.client, pair.server)
    ]
    largest = max((each.largest_bytes for each in runs), default=0)
    allowed = max((each.allowed_bytes or 0 for each in runs), default=0)
    if pair.written_bytes <= pair.commits * largest:
        return Advice(
            "Most of these files fit one WRITE, and Linux has such a file stored as it is sent, "
            f"without a COMMIT, unless the mount has write=eager. {CHECK} Client libraries can do "
            "likewise: one WRITE that asks for FILE_SYNC."
        )
    of_one = (
        "Linux needs no COMMIT for a file that it sends in one WRITE: that asks for stable storage "
        f"itself. These have {units.size(pair.written_bytes / pair.commits)} on average, and "
    )
    if 0 < allowed < min(LARGEST_BYTES, pair.written_bytes / pair.commits):
        return Advice(
            f"{of_one}the server allows {units.size(allowed)} a WRITE: raise its largest transfer "
            "size (Linux: /proc/fs/nfsd/max_block_size, before nfsd starts), and mount again."
        )
    return Advice(
        f"{of_one}no WRITE brought more than {units.size(largest)}: mount without wsize and "
        f"write=eager. {CHECK}"
    )


RULE = Rule(
    id="commit_cost",
    title="COMMIT takes long for what was written",
    origin="RFC 1813 section 3.3.21; RFC 8881 section 10.3.1; practice: fsync-heavy applications",
    judge=judge,
    thresholds=(LEAST, SHARE, MEAN),
)
