"""Listings without attributes, which are then asked for one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.caching.questions import FILE_FRESH_S
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import CHANGE, is_timeout, seconds
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.systems import is_linux
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.mounts.mount_options import Mount
    from pcapnfs.analyses.namespace.listing_costs import ListingCosts
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "readdir_without_plus.share", 0.5, "share",
    "entries listed without attributes that a LOOKUP or GETATTR follows", "default of this tool",
)  # fmt: skip
SOME = Threshold(
    "readdir_without_plus.some", 0.1, "share",
    "of them, where these calls take a tenth of the time and more: a call that lists brings dozens "
    "of entries with attributes, also those that nobody wants", "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "readdir_without_plus.least", 30, "calls", "such calls, below which nothing is reported",
    "default of this tool",
)  # fmt: skip

PLAIN = ("nordirplus",)
"""The options of a verdict that says that listings never ask for attributes."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with such listings."""
    for pair in material.listing_costs:
        claims = left_out(*pair.spared) if pair.fewer else ()
        severity = by_cost(material, claims)
        share = SOME if severity == "problem" else SHARE
        if (
            pair.asked.calls < values[LEAST.name]
            or pair.asked_entries < values[share.name] * pair.plain_entries
        ):
            continue
        yield Observed(
            severity=severity,
            at_most="problem",
            title="Directories are listed without attributes, which are then asked for one by one",
            seen=f"{_told(pair)}; {units.count(pair.asked_entries)} of them were then asked for "
            f"one by one (LOOKUP, GETATTR), most of them in {wording.places(pair.places)}. "
            f"{_with(pair)}{_unsupported(pair)}{_by_part(material, pair)}{_spared(pair)}"
            f"{_believed(material, pair)}{_later(pair)}",
            why=_why(pair),
            advice=tuple(_advice(pair, linux=is_linux(material, pair.client))),
            calls=pair.fewer,
            confidence="certain",
            data=f"{units.counted(pair.plain_calls + pair.plus_calls, 'call')} to list, "
            f"{units.counted(pair.plain_entries + pair.plus_entries, 'entry', 'entries')}",
            frames=pair.followed.frames or pair.asked.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _told(pair: ListingCosts) -> str:
    """Which entries came without attributes."""
    named = pair.plain_entries - pair.bare_entries
    told = []
    if named or not pair.bare_entries:
        told.append(
            f"{units.counted(pair.plain_calls, 'READDIR')} without attributes told of "
            f"{units.counted(named, 'entry', 'entries')}"
        )
    if pair.bare_entries:
        told.append(
            f"{units.counted(pair.bare_calls, 'listing')} asked for attributes, and the server "
            f"gave none of {units.counted(pair.bare_entries, 'entry', 'entries')}"
        )
    return "; ".join(told)


def _with(pair: ListingCosts) -> str:
    """How many others listed with attributes."""
    others = pair.plus_calls - pair.bare_calls
    if pair.bare_calls and not others:
        return ""
    return f"{units.counted(others, 'call')} listed with attributes. "


def _left_out(pair: ListingCosts) -> bool:
    """Whether it is the server, for the most part, that leaves attributes out."""
    return pair.bare_entries > pair.plain_entries / 2


def _unsupported(pair: ListingCosts) -> str:
    """That the server has no READDIRPLUS."""
    if not pair.plus_unsupported:
        return ""
    calls = units.counted(pair.plus_unsupported, "READDIRPLUS", "READDIRPLUSes")
    return f"The server answered {calls} that it has no such call (NFS3ERR_NOTSUPP). "


def _by_part(material: Material, pair: ListingCosts) -> str:
    """Which of several mounts lists without attributes; not escaped."""
    parts = [mount.part for mount in _listing(material, pair) if mount.part is not None]
    if not parts:
        return ""
    return f"Of several mounts with different options, {' and '.join(parts)} is listed so. "


def _listing(material: Material, pair: ListingCosts) -> Iterator[Mount]:
    """The mounts that the listings may be of."""
    for mount in material.cache.mounts:
        if (mount.client, mount.server) != (pair.client, pair.server):
            continue
        if mount.part is None or any(verdict.options == PLAIN for verdict in mount.verdicts):
            yield mount


def _believed(material: Material, pair: ListingCosts) -> str:
    """What the calls say of how long this client believes attributes, where it is less."""
    if not pair.followed.calls:
        return ""
    for mount in _listing(material, pair):
        for verdict in mount.verdicts:
            if "noac" in verdict.options:
                less = "none, so that only what asks for types would be spared"
            elif is_timeout(verdict.options) and seconds(verdict.options) < FILE_FRESH_S:
                less = "those of files for less"
            else:
                continue
            sure = "" if verdict.confidence == "likely" else "perhaps "
            return (
                f" That is with attributes of files that are believed for "
                f"{units.duration(FILE_FRESH_S)}, as by default; but the calls are {sure}those of "
                f"{verdict.title}, with which a client believes {less}."
            )
    return ""


def _mostly_late(pair: ListingCosts) -> bool:
    """Whether the attributes of most entries would have expired before these were asked for."""
    return pair.followed.calls < pair.asked.calls / 2


def _spared(pair: ListingCosts) -> str:
    """Which of the calls attributes would have spared."""
    number = "none" if not pair.followed.calls else units.count(pair.followed.calls)
    told = f"Attributes in the listings would have spared {number} of these calls"
    if not _mostly_late(pair):
        return f"{told}."
    return (
        f"{told}: a client believes those of a file for {units.duration(FILE_FRESH_S)} at first, "
        "and here the walk takes longer even without the calls that they spare. Then a GETATTR "
        "takes the place of the LOOKUP."
    )


def _why(pair: ListingCosts) -> str:
    """NFSv4 has no READDIRPLUS: its READDIR says which attributes it wants."""
    wanted = "ls -l, find, du, rsync and backup want the attributes of each entry."
    if _left_out(pair):
        return (
            f"{wanted} The listings asked for them, dozens in one reply, but the server left them "
            "out; so each entry costs a round trip, one after the other."
        )
    with_them = "READDIRPLUS, or a READDIR of NFSv4 that asks for them, brings"
    if pair.plain_versions == (3,):
        with_them = "READDIRPLUS brings"
    elif pair.plain_versions == (4,):
        with_them = "A READDIR that asks for them brings"
    text = (
        f"{wanted} {with_them} dozens in one reply; here each entry costs a round trip, one after "
        "the other."
    )
    if 3 in pair.plain_versions:
        text += " READDIR of NFSv3 does not even tell which entries are directories."
    return text


def _advice(pair: ListingCosts, *, linux: bool) -> Iterator[Advice]:
    only_4 = pair.plain_versions == (4,)
    if _mostly_late(pair):
        yield Advice(
            "First mend what else is asked for each entry, which other findings name: attributes "
            "that come with a listing must last until the program comes to the entry. Or let them "
            f"live longer: mount with acregmin=30. {CHANGE}",
            "changes by other clients are seen up to 30 s later.",
        )
    if pair.plus_unsupported and not pair.plus_calls:
        yield _SERVER
    elif _left_out(pair):
        yield _SETTINGS
    else:
        yield from _asking(pair, only_4=only_4, linux=linux)
    yield Advice(
        "In the program: do not stat entries of which only the name or type is needed (find "
        "without -ls, ls without -l and --color)."
    )


_SERVER = Advice(
    "Turn READDIRPLUS on at the server, if it has a switch for it, or serve these files with one "
    "that has the call (unfs3, for one, has not). No mount option helps: a client that is told so "
    "lists without attributes from then on."
)


_SETTINGS = Advice(
    "Look at the server why it leaves them out, or ask its vendor: it is free to (RFC 1813 section "
    "3.3.17), and some do where the object is kept by another node, or where a directory is large. "
    "No mount option helps: the client does ask for them."
)


def _asking(pair: ListingCosts, *, only_4: bool, linux: bool) -> Iterator[Advice]:
    """How to have the client ask for attributes."""
    heeded = " Linux obeys it with NFSv4, too." if only_4 else ""
    never = (
        ""
        if pair.plus_calls or linux
        else " macOS and FreeBSD ask only if told so: mount with rdirplus."
    )
    if not pair.listed_both_ways:
        yield Advice(
            f"If nordirplus (or rdirplus=none) is in force, mount without it.{heeded}{never} "
            f"{CHANGE}"
        )
    chooser = "The client" if pair.listed_both_ways else "If it is not, the client"
    yield Advice(
        f"{chooser} chose so: {_CHOSE}",
        "listings of which only names are wanted take longer.",
    )
    if not only_4 and not pair.plus_calls:
        yield Advice(
            "If the server refuses READDIRPLUS (NFS3ERR_NOTSUPP), turn it on there; some file "
            "servers have a switch."
        )


_CHOSE = (
    "Linux stops asking for attributes in a directory whose entries nobody looked at (ls, ls -f, a "
    "shell's *), and does not start again while it has the names cached. Where the kernel knows "
    "rdirplus=force, mount with it."
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
        "du), none. The packets are the same; half is reckoned with: "
        f"{units.counted(pair.fewer, 'call')} less in all."
    )


RULE = Rule(
    id="readdir_without_plus",
    title="Listings without attributes, followed by a call for each entry",
    origin="practice: nordirplus; Linux commit 82f2e5472e23, 16 times the calls for ls -l",
    judge=judge,
    thresholds=(SHARE, SOME, LEAST),
)
