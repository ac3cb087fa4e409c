"""Listings without attributes, which are then asked for one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import CHANGE
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.namespace.listing_costs import ListingCosts
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "readdir_without_plus.share", 0.5, "share",
    "entries listed without attributes that a LOOKUP or GETATTR follows", "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "readdir_without_plus.least", 30, "calls", "such calls, below which nothing is said",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with such listings."""
    for pair in material.listing_costs:
        followed = pair.followed
        if (
            followed.calls < values[LEAST.name]
            or pair.followed_entries < values[SHARE.name] * pair.plain_entries
        ):
            continue
        claims = left_out(followed, pair.untyped.half())
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="Directories are listed without attributes, which are then asked for one by one",
            seen=f"{units.count(followed.calls)} LOOKUPs and GETATTRs about "
            f"{units.counted(pair.followed_entries, 'entry', 'entries')} followed "
            f"{units.counted(pair.plain_calls, 'READDIR')} without attributes, which told of "
            f"{units.counted(pair.plain_entries, 'entry', 'entries')}; most of them in "
            f"{wording.places(pair.places)}. {units.counted(pair.plus_calls, 'call')} listed with "
            f"attributes.{_later(pair)}",
            why=_why(pair),
            advice=tuple(_advice(pair)),
            calls=followed.calls,
            confidence="certain",
            data=f"{units.counted(pair.plain_calls + pair.plus_calls, 'call')} to list, "
            f"{units.counted(pair.plain_entries + pair.plus_entries, 'entry', 'entries')}",
            frames=followed.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _why(pair: ListingCosts) -> str:
    """NFSv4 has no READDIRPLUS: its READDIR says which attributes it wants."""
    with_them = "READDIRPLUS, or a READDIR of NFSv4 that asks for them, brings"
    if pair.plain_versions == (3,):
        with_them = "READDIRPLUS brings"
    elif pair.plain_versions == (4,):
        with_them = "A READDIR that asks for them brings"
    text = (
        f"ls -l, find, du, rsync and backup want the attributes of each entry. {with_them} dozens "
        "in one reply; here each entry costs a round trip, one after the other."
    )
    if 3 in pair.plain_versions:
        text += " READDIR of NFSv3 does not even tell which entries are directories."
    return text


def _advice(pair: ListingCosts) -> Iterator[Advice]:
    only_4 = pair.plain_versions == (4,)
    heeded = " Linux heeds it with NFSv4, too." if only_4 else ""
    never = (
        "" if pair.plus_calls else " macOS and FreeBSD ask only if told so: mount with rdirplus."
    )
    yield Advice(
        f"If nordirplus (or rdirplus=none) is in force, mount without it.{heeded}{never} {CHANGE}"
    )
    yield Advice(
        "If it is not, the client chose so: Linux stops asking for attributes in a directory whose "
        "entries nobody looked at (ls, ls -f, a shell's *), and does not start again while it has "
        "the names cached. Where the kernel knows rdirplus=force, mount with it.",
        "listings of which only names are wanted take longer.",
    )
    if not only_4:
        yield Advice(
            "If the server refuses READDIRPLUS (NFS3ERR_NOTSUPP), turn it on there; some file "
            "servers have a switch."
        )
    yield Advice(
        "In the program: do not stat entries of which only the name or type is needed (find "
        "without -ls, ls without -l and --color)."
    )


def _later(pair: ListingCosts) -> str:
    """What the next walks asked, of which it is not known whether attributes would spare it."""
    if not pair.untyped.calls:
        return ""
    calls = units.counted(pair.untyped.calls, "time")
    return (
        f" Later walks over entries known from such listings asked {calls} again. Names came "
        "without types: if the program only looked for directories (ls -R, find -name), listings "
        "with attributes would have spared all of that; if it wanted sizes or times (find -ls, "
        "du), none. The packets are the same; the cost holds half."
    )


RULE = Rule(
    id="readdir_without_plus",
    title="Listings without attributes, followed by a call for each entry",
    origin="practice: nordirplus; Linux commit 82f2e5472e23, 16 times the calls for ls -l",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
