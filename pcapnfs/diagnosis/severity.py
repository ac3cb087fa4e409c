"""How grave a finding is by what it costs: the same shares for all rules.

Of the time budget of all clients; where there are several, or the only one made long pauses, also
of the time in which those were active that wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pcapnfs.diagnosis.finding import SEVERITIES, Claim, Observed, Severity
from pcapnfs.record import replace

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

PROBLEM_SHARE = 0.1
"""What costs this share of the time budget is a problem."""

WARNING_SHARE = 0.01
"""What costs this share of it is a warning; anything less is a note."""

NOTICED_S = 1.0
"""What costs less is not graver for being much of one client's time: nobody notices it, and of a
client that was there for a moment anything is much."""


def by_cost(
    material: Material, claims: Iterable[Claim], *, sure: bool = True, clients: Iterable[str] = ()
) -> Severity:
    """The severity of a finding that is grave only by its cost.

    Args:
        material: What the rules judge by.
        claims: What the finding costs.
        sure: Without it, the finding is a warning at most: there is another explanation.
        clients: Whose time it takes, for a rule that is silent where it costs next to nothing; for
            all others `by_client` asks that.
    """
    claims, most = tuple(claims), MOST[sure]
    share = share_of(material, clients, claims) or 0.0
    of_all = of_cost(_cost_s(claims), _budget_s(material), most)
    return graver(of_all, of_cost(share, 1.0, most))


MOST: Mapping[bool, Severity] = {True: "problem", False: "warning"}
"""How grave a cost makes a finding at most, by whether it is sure."""


def of_cost(cost_s: float, total_s: float, most: Severity) -> Severity:
    """The severity of a cost, seconds of a time budget of `total_s`; `most` at most."""
    if total_s <= 0 or cost_s < WARNING_SHARE * total_s or most == "note":
        return "note"
    return most if cost_s >= PROBLEM_SHARE * total_s else "warning"


def graver(one: Severity, other: Severity) -> Severity:
    """The graver one."""
    return min(one, other, key=SEVERITIES.index)


def active_s(material: Material, clients: Iterable[str]) -> float | None:
    """The time in which these clients were active, added up, seconds.

    None where that is not known of one of them; of the only client unless it made long pauses.
    """
    clients = tuple(dict.fromkeys(clients))
    if not material.bottleneck.clients:
        return material.bottleneck.active_s if clients else None
    known = {found.about[0]: found.active_s for found in material.bottleneck.clients}
    times = [known.get(client) for client in clients]
    told = [time_s for time_s in times if time_s is not None]
    return sum(told) if told and len(told) == len(times) else None


def share_of(material: Material, clients: Iterable[str], claims: Iterable[Claim]) -> float | None:
    """What something costs of the time in which these clients were active, 0…1.

    None where it is less than a second, or where that time is not known.
    """
    cost_s = _cost_s(claims)
    total_s = active_s(material, clients) if cost_s >= NOTICED_S else None
    return min(cost_s / total_s, 1.0) if total_s else None


def costs(
    material: Material, clients: Iterable[str], claims: Iterable[Claim], share: float
) -> bool:
    """Whether something costs such a share of the time budget, or of these clients' active time."""
    claims = tuple(claims)
    whole_s = share * _budget_s(material)
    return _cost_s(claims) >= whole_s or (share_of(material, clients, claims) or 0.0) >= share


def takes_much(
    material: Material, client: str, claims: Iterable[Claim], share: float = WARNING_SHARE
) -> bool:
    """Whether calls cost a client enough to be told however few of its calls they are.

    That is a second, and what makes a warning. Beside a job that sends many calls, those of another
    are a small part of all, and take as long as alone.

    Args:
        material: What the rules judge by.
        client: Who waits for them.
        claims: What they cost.
        share: Of the time, for a rule whose calls are mostly needed where they take little of it.
    """
    claims = tuple(claims)
    return _cost_s(claims) >= NOTICED_S and costs(material, (client,), claims, share)


def by_client(material: Material, seen: Observed) -> Observed:
    """What a rule saw, as grave as it is to the clients that wait for it, if that is graver.

    The time budget adds up the clocks of all clients: one that is cut off among twenty others costs
    a twentieth of what it would cost alone, and no less to those who work there; so it is with a
    minute of work in a quiet hour. Only where severity goes by cost.
    """
    share = share_of(material, _whose(seen), seen.claims)
    if seen.at_most is None or share is None:
        return seen
    severity = graver(seen.severity, of_cost(share, 1.0, seen.at_most))
    return replace(seen, severity=severity, client_share=share)


def _whose(seen: Observed) -> tuple[str, ...]:
    """The clients whose time it takes; empty where the rule is about a server."""
    if seen.waiting is not None:
        return seen.waiting
    return seen.about[:1] if len(seen.about) > 1 else ()


def _cost_s(claims: Iterable[Claim]) -> float:
    """What is claimed, seconds."""
    return sum(max(claim.seconds, 0.0) for claim in claims)


def _budget_s(material: Material) -> float:
    """The time budget of all clients, seconds."""
    return sum(material.budget_rows().values())
