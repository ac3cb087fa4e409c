"""ACLs are asked for object by object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import CHANGE
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "acl_storm.share", 0.1, "share", "calls that fetch an ACL", "default of this tool"
)
LEAST = Threshold(
    "acl_storm.least", 50, "calls", "that fetch an ACL, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them."""
    for pair in material.acl_queries:
        asked = pair.asked
        if asked.calls < values[LEAST.name] or asked.calls < values[SHARE.name] * pair.calls:
            continue
        claims = left_out(asked)
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title="ACLs are asked for one by one",
            seen=f"{units.count(asked.calls)} of {units.counted(pair.calls, 'call')} are GETACL, "
            f"about {units.counted(pair.objects, 'object')}."
            + (
                f" {units.counted(pair.changed, 'call')} set one, so that ACLs are used here."
                if pair.changed
                else ""
            ),
            why="NFSv3 has no ACLs; a client fetches them by a protocol of their own (NFSACL), "
            "with one call for each object: no listing and no LOOKUP brings them along. ls -l asks "
            "for each file, to show the + behind the mode; cp -p and rsync -A ask in order to keep "
            "ACLs, and Linux asks a new directory for what its files are to inherit. Meanwhile "
            "attributes that came with the listing expire, and are asked for as well.",
            advice=(_PROGRAM, _NEEDED) if pair.changed else (_UNUSED, _PROGRAM),
            calls=asked.calls,
            confidence="certain",
            data=units.counted(pair.calls, "call"),
            frames=asked.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


_UNUSED = Advice(
    f"Where nobody uses ACLs on this export, mount with noacl. {CHANGE}",
    "ACLs are then neither shown nor copied nor changed; the server still enforces those that "
    "exist.",
)

_PROGRAM = Advice(
    "In the program: list without -l where only names are wanted (find -printf and stat do not ask "
    "for ACLs), and copy without -p or -A."
)

_NEEDED = Advice(
    "With NFSv4 (vers=4.2) ACLs are an attribute that ls -l does not fetch. noacl would save the "
    "calls, but ACLs could then be neither shown nor set: it is not for this mount.",
    "NFSv4 has ACLs of another kind, set by nfs4_setfacl; other versions differ in more than that.",
)

RULE = Rule(
    id="acl_storm",
    title="ACLs are asked for object by object",
    origin="practice: ls -l over NFSv3; nfs(5), noacl",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
