"""Clients that wait until another gives its delegation back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.diagnosis.wording import NO_DELEGATIONS, places, several

if TYPE_CHECKING:
    from pcapnfs.analyses.caching.recalls import Recalls
    from pcapnfs.diagnosis.material import Material

SLOW = Threshold(
    "delegation_recall.slow", 0.1, "s",
    "one recall, from CB_RECALL to DELEGRETURN, or all waiting for recalls", "default of this tool",
)  # fmt: skip


ADVICE = (
    Advice(
        "If several clients really share these files, switch delegations off for the "
        f"export or server ({NO_DELEGATIONS}).",
        "clients that have a file for themselves ask for its attributes again.",
    ),
    Advice(
        "Have the programs on different clients work on different files, or close them before "
        "the other one opens them."
    ),
)

OWN = (
    Advice(
        "The client waited for a delegation of its own: its call came by another way, which the "
        "server does not take for the holder (pNFS, whose data go to a data server by NFSv3; the "
        "same files mounted with two versions). Use one way: mount them with one version, and "
        "where the server is its own data server, export without pnfs."
    ),
    Advice(
        f"Or switch delegations off for the export or server ({NO_DELEGATIONS}).",
        "clients ask for the attributes of their files again.",
    ),
)
"""Where nobody else waited than the holder."""

REACHED = (
    Advice(
        "See whether the client that holds it is up, and can be reached from the server: one that "
        "crashed, sleeps or changed its address keeps it until its lease is over."
    ),
    Advice(
        "With NFSv4.0, let the server reach the client's callback port through firewalls and NAT; "
        "NFSv4.1 needs no port of its own."
    ),
)
"""Where a recall was not answered: the first before anything else, the second behind it."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each holder and server."""
    for pair in material.recalls:
        waited = sum(pair.time_s.values())
        if max(waited, pair.longest_s or 0.0) <= values[SLOW.name]:
            continue
        claims = by_row(pair.time_s)
        advice = OWN if _own(pair) else ADVICE
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="Clients wait until a delegation is given back"
            if pair.calls
            else "A delegation is given back late",
            seen=_seen(pair, waited),
            why=_why(pair),
            advice=advice
            if pair.returned == pair.recalled
            else (REACHED[0], *advice, *REACHED[1:]),
            confidence="certain",
            data=units.counted(pair.recalled, "recall"),
            frames=pair.frames,
            claims=claims,
            about=(pair.holder, pair.server),
            waiting=pair.waiting,
        )


def _own(pair: Recalls) -> bool:
    """Whether nobody is seen to wait but the holder itself."""
    return pair.waiting == (pair.holder,)


def _why(pair: Recalls) -> str:
    other = "client that asks" if _own(pair) else "other client"
    text = (
        "Before anybody else may open or change the file, the holder has to write back what it "
        "changed and return the delegation."
    )
    if pair.time_s.get("waiting"):
        text += (
            f" A server that answers DELAY meanwhile makes the {other} pause for 0.1 s and more, "
            "however fast the return is."
        )
    if pair.recalled > pair.returned:
        text += " A holder that cannot be reached blocks the file for the lease time (90 s)."
    return text


def _seen(pair: Recalls, waited: float) -> str:
    one = pair.recalled == 1
    if pair.files == pair.recalled:
        which = "a delegation" if one else units.counted(pair.recalled, "delegation")
        text = f"The server called {which} of {pair.holder} back"
    else:
        text = (
            f"The server called delegations of {pair.holder} back "
            f"{units.counted(pair.recalled, 'time')}, of {units.counted(pair.files, 'file')}"
        )
    if pair.paths:
        text += f" ({places(pair.paths)}{', …' if pair.files > len(pair.paths) else ''})"
    if pair.longest_s is not None:
        longest = "the return" if one else "the longest return"
        text += f"; {longest} took {units.duration(pair.longest_s)}"
    text += "."
    if pair.recalled > pair.returned:
        late = units.count(pair.recalled - pair.returned)
        text += f" Not returned in the capture{'' if one else f': {late}'}."
    if pair.calls:
        text += (
            f" Meanwhile {units.counted(pair.calls, 'call')} of {several(pair.waiting)} waited, "
            f"{units.duration(waited)}{'' if pair.calls == 1 else ' in all'}"
        )
        if pair.time_s.get("waiting"):
            again = "the pause until it" if pair.calls == 1 else "the pauses until they"
            text += f" with {again} came again"
        text += "."
    return text


RULE = Rule(
    id="delegation_recall",
    title="Delegations recalled while others wait",
    origin="RFC 8881 sections 10.4 and 20.2",
    judge=judge,
    thresholds=(SLOW,),
)
