"""ACLs are asked for object by object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.mounted import CHANGE
from pcapnfs.diagnosis.severity import by_cost, takes_much
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.caching.acl_queries import AclQueries
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "acl_storm.share",
    0.1,
    "share",
    "calls that fetch an ACL; fewer are told where they cost a second and a hundredth of the time",
    "default of this tool",
)
LEAST = Threshold(
    "acl_storm.least", 50, "calls", "that fetch an ACL, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them."""
    for pair in material.acl_queries:
        asked = pair.asked
        if not many(material, pair, values):
            continue
        claims = _claims(material, pair)
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title="ACLs are asked for one by one",
            seen=_seen(pair) + (_IN_PLACE if _replaced(material, pair) else ""),
            why=f"{_WHY_NOT if pair.by_attribute else _NONE_IN_V3} ls -l asks for each file, to "
            "show the + behind the mode; cp -p and rsync -A ask in order to keep ACLs"
            f"{'' if pair.by_attribute else _INHERITED}. Meanwhile attributes that came with the "
            "listing expire, and are asked for as well.",
            advice=_advice(pair),
            calls=sum(each.calls for each in (asked, pair.listed, pair.copied, pair.copied_from)),
            confidence="certain",
            data=units.counted(pair.calls, "call"),
            frames=asked.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def many(material: Material, pair: AclQueries, values: Values) -> bool:
    """Whether a client fetches so many ACLs that it is told."""
    fetched = pair.asked.calls
    return fetched >= values[LEAST.name] and (
        fetched >= values[SHARE.name] * pair.calls
        or takes_much(material, pair.client, _claims(material, pair))
    )


def _replaced(material: Material, pair: AclQueries) -> bool:
    """Whether GETATTRs would take the place of what is asked: attributes of files expire early.

    An answer of NFSACL brings them along (RFC 1813's post_op_attr), one that holds an ACL of NFSv4
    does not.
    """
    if pair.by_attribute == pair.asked.calls:
        return False
    return any(
        any(option.startswith(_EARLY) for option in verdict.options)
        for mount in material.cache.mounts
        if (mount.client, mount.server) == (pair.client, pair.server)
        for verdict in mount.verdicts
    )


_EARLY = ("noac", "acregmin=")
"""What the options begin with of verdicts by which attributes of files expire early."""


def _claims(material: Material, pair: AclQueries) -> tuple[Claim, ...]:
    """What they cost for sure, with those for extended attributes, and those that copy."""
    asked = () if _replaced(material, pair) else (pair.asked,)
    unstable, client = left_out(*asked, pair.listed, pair.copied_from)
    if not pair.copied.calls:
        return unstable, client
    stable, more = left_out(pair.copied, row="stable")
    return unstable, stable, Claim("client", client.seconds + more.seconds)


def _seen(pair: AclQueries) -> str:
    fetched, by_attribute = pair.asked.calls, pair.by_attribute
    are = "are GETACL"
    if by_attribute == fetched:
        are = "are GETATTRs of the ACL alone"
    elif by_attribute:
        are = f"fetch an ACL ({units.count(by_attribute)} as GETATTRs of it alone)"
    told = (
        f"{units.count(fetched)} of {units.counted(pair.calls, 'call')} {are}, about "
        f"{units.counted(pair.objects, 'object')}."
    )
    if pair.listed.calls:
        told += f" {units.count(pair.listed.calls)} LISTXATTRS ask for extended attributes as well"
        if pair.extended:
            told += f"; {units.counted(pair.extended, 'call')} read or changed one"
        told += "."
    if pair.copied.calls:
        told += _copied(pair)
    if pair.changed:
        told += f" {units.counted(pair.changed, 'call')} set one, so that ACLs are used here."
    return told


def _copied(pair: AclQueries) -> str:
    """How many calls copied an ACL or extended attributes; that of an ACL tells of no use."""
    extended = pair.copied.calls - pair.copied_acls
    kinds = (
        f"{units.count(pair.copied_acls)} an ACL" if pair.copied_acls else "",
        f"{units.count(extended)} an extended attribute" if extended else "",
    )
    told = (
        f" {units.counted(pair.copied.calls, 'call')} copied what was read "
        f"({', '.join(filter(None, kinds))}): on an object of which none was read."
    )
    if pair.copied_acls and not pair.changed:
        told += " Each object has an ACL, which may say no more than the mode."
    return told


def _advice(pair: AclQueries) -> tuple[Advice, ...]:
    """What helps by version: noacl is for NFSv3 alone."""
    without = (_WITHOUT_XATTRS,) if pair.listed.calls and not pair.extended else ()
    if pair.by_attribute == pair.asked.calls:
        return (_COPY if pair.copied.calls else _PROGRAM, *without)
    return (_PROGRAM, _NEEDED, *without) if pair.changed else (_UNUSED, _PROGRAM, *without)


_NONE_IN_V3 = (
    "NFSv3 has no ACLs; a client fetches them by a protocol of their own (NFSACL), with one call "
    "for each object: no listing and no LOOKUP brings them along."
)

_WHY_NOT = (
    "An ACL may be long, so that a client does not ask for it with the other attributes: no "
    "listing and no LOOKUP brings it along, and each object takes a call of its own."
)

_INHERITED = ", and Linux asks a new directory for what its files are to inherit"

_IN_PLACE = (
    " Each answer also brings the object's attributes, which expire early on this mount: without "
    "these calls GETATTRs may take their place, so that nothing is sure to be saved."
)

_WITHOUT_XATTRS = Advice(
    "Where nobody uses extended attributes, mount with vers=4.1: they came with NFSv4.2, and "
    f"clients do not ask before it. {CHANGE}",
    "copies within the server, holes and clones are of NFSv4.2, too.",
)

NOACL_RISK = (
    "ACLs are then neither shown nor copied nor changed; the server still enforces those that "
    "exist."
)

_UNUSED = Advice(f"Where nobody uses ACLs on this export, mount with noacl. {CHANGE}", NOACL_RISK)

_PROGRAM = Advice(
    "In the program: list without -l where only names are wanted (find -printf and stat do not ask "
    "for ACLs), and copy without -p or -A."
)

_COPY = Advice(
    "In the program: copy without ACLs and extended attributes (cp -dR --preserve=links,timestamps "
    "in place of -a or -p, rsync without -A and -X).",
    "ACLs and extended attributes that files have are then not copied, nor, by cp, their owners "
    "and modes.",
)

_NEEDED = Advice(
    "noacl would save the calls, but ACLs could then be neither shown nor set: it is not for this "
    "mount. Nor does NFSv4 spare them: there, too, a recent ls -l asks for each file."
)

RULE = Rule(
    id="acl_storm",
    title="ACLs are asked for object by object",
    origin="practice: ls -l; nfs(5), noacl; RFC 8881 sections 5.8.1 and 6.2.1",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
