"""Kerberos contexts whose making takes a noticeable part of the time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.rules import slow_mount
from pcapnfs.diagnosis.severity import by_cost, costs
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "gss_contexts.least", 0.1, "s", "what making contexts took of the clock; below, nothing is "
    "reported", "default of this tool",
)  # fmt: skip
SHARE = Threshold(
    "gss_contexts.share", 0.01, "share", "the same of the time budget, or of the time in which "
    "the client was active; below, nothing is reported", "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    for pair in material.preliminaries:
        if pair.kind != "context" or sum(pair.time_s.values()) < values[LEAST.name]:
            continue
        claims = by_row(pair.time_s)
        if not costs(material, (pair.client,), claims, values[SHARE.name]):
            continue
        # Once for a user and a ticket it is over soon; what servers forget has to be made again.
        again = pair.refused > 0
        yield Observed(
            severity=by_cost(material, claims, sure=again),
            at_most="problem" if again else "warning",
            title="Making Kerberos contexts takes long",
            seen=slow_mount.seen(pair)
            + (
                f" The server refused {units.counted(pair.refused, 'call')}, since it knew the "
                "context no longer."
                if pair.refused
                else ""
            ),
            why="Each user needs a context with the server before the first call, and a new one "
            "when it expires or the server forgets it. The server checks the ticket in a process "
            "of its own. What the client asks the KDC before is not counted here.",
            advice=(
                Advice(
                    "See what the server's rpc.svcgssd or gssproxy waits for: look-ups of users "
                    "and groups (LDAP, DNS), entropy, a start of the service on demand."
                ),
                Advice(
                    "If contexts are made again and again for the same user, let tickets live "
                    "longer (kinit -l, renewal), and leave rpc.gssd's -t unset."
                ),
            ),
            calls=pair.calls,
            confidence="certain",
            data=units.counted(pair.calls, "call"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


RULE = Rule(
    id="gss_contexts",
    title="Kerberos contexts that take long to make",
    origin="RFC 2203 section 5.2; practice: rpc.gssd and rpc.svcgssd",
    judge=judge,
    thresholds=(LEAST, SHARE),
)
