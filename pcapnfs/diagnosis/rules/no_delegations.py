"""Files are opened again and again at the server, because it grants no delegations, or none yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost, takes_much
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.diagnosis.wording import DELEGATIONS_ON

if TYPE_CHECKING:
    from pcapnfs.analyses.caching.opened_again import OpenedAgain
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "no_delegations.share",
    0.1,
    "share",
    "calls that are such an OPEN or CLOSE; fewer are told where they cost "
    "a second and a hundredth of the time",
    "default of this tool",
)
LEAST = Threshold(
    "no_delegations.least", 50, "calls",
    "OPENs and CLOSEs of files that were opened before, below which nothing is reported",
    "default of this tool",
)  # fmt: skip

GRACE_S = 90.0
"""For so long after its start a Linux server grants none by default (fs/nfsd, `locks_in_grace`)."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them."""
    for pair in material.opened_again:
        claims = left_out(pair.spared)
        few = pair.spared.calls < values[SHARE.name] * pair.calls
        if pair.spared.calls < values[LEAST.name] or (
            few and not takes_much(material, pair.client, claims)
        ):
            continue
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title=_BEFORE if pair.later else _NEVER,
            seen=f"{_granted(pair)}. {units.count(pair.again)} of these were of "
            f"{units.counted(pair.files, 'file')} that "
            "the client had opened before, to read, as everybody did, and that had not changed. "
            f"These and their CLOSEs are {units.count(pair.spared.calls)} of "
            f"{units.counted(pair.calls, 'call')}.",
            why=_WHY,
            advice=_advice(pair),
            calls=pair.spared.calls,
            confidence="possible" if _may_begin(pair) else "likely",
            data=units.counted(pair.calls, "call"),
            frames=pair.spared.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _granted(pair: OpenedAgain) -> str:
    """With which OPENs there was no delegation."""
    if not pair.later:
        return f"The server granted a delegation with none of {units.counted(pair.opens, 'OPEN')}"
    return (
        f"The server granted a delegation with none of the first {units.count(pair.opens)} of "
        f"{units.counted(pair.opens + pair.later, 'OPEN')}"
    )


def _may_begin(pair: OpenedAgain) -> bool:
    """Whether the server may have been started so lately that it grants none yet."""
    return pair.span_s < GRACE_S


def _advice(pair: OpenedAgain) -> tuple[Advice, ...]:
    """What brings delegations, by version, and what does without them."""
    if pair.later:
        return (*((_AT_FIRST,) if _may_begin(pair) else ()), _KEEP_OPEN)
    begins = (_LATER,) if _may_begin(pair) else ()
    return (_GRANT, *begins, *((_CALL_BACK,) if pair.called_back_apart else ()), _KEEP_OPEN)


_NEVER = "Files are opened again and again, and the server grants no delegations"
_BEFORE = "Files were opened again and again before the server granted a delegation"
"""What it is called."""

_WHY = (
    "Each open() and close() is a round trip to the server, whatever the client has cached. Under "
    "a read delegation, which a server may grant as long as nobody writes to the file, the client "
    "opens it by itself from the second time on."
)

_GRANT = Advice(
    f"See whether the server is set to grant delegations, and let it ({DELEGATIONS_ON}).",
    "it holds for all clients and programs: who writes to such a file, or removes it, then waits "
    "until the others have given theirs back.",
)

_STARTED = (
    "If the server had been started less than a minute or two before, look again later: as long as "
    "clients may reclaim their locks (grace period), a Linux server opens files but grants nothing"
)

_LATER = Advice(f"{_STARTED}.")

_AT_FIRST = Advice(f"{_STARTED}, and afterwards it grants delegations.")

_CALL_BACK = Advice(
    "With vers=4.0 a server grants none unless it can reach the client, to call back: mount with "
    "vers=4.1 or later, which needs no connection of its own for that, or let it through "
    "(firewall, NAT, the client's callback address)."
)

_KEEP_OPEN = Advice(
    "In the program: keep files open, or what was read of them, instead of opening each anew."
)

RULE = Rule(
    id="no_delegations",
    title="Files opened again and again without delegations",
    origin="RFC 8881 section 10.4; practice of servers that grant none (fs.leases-enable=0)",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
