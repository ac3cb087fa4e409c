"""What the rules share that say what a run is bound by: the verdict's causes, and how grave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.forecasts.verdict import causes_of, named_of
from pcapnfs.analyses.forecasts.verdict_evidence import LARGE_SHARE
from pcapnfs.text import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pcapnfs.analyses.forecasts.bottleneck import Bottleneck
    from pcapnfs.analyses.forecasts.verdict import Cause
    from pcapnfs.diagnosis.finding import Claim, Severity
    from pcapnfs.diagnosis.material import Material

    Parts = Callable[[Material, Bottleneck], tuple[Cause, ...]]

BOUND_SHARE = 0.5
"""More than half of the time budget in one cause is a problem: nothing else is worth mending
before. Less is a warning, since a run has to spend its time on something."""

COMMON_SHARE = LARGE_SHARE / 2
"""What the active times of all clients, added up, name is told of those that it takes so much of:
of many that do the same, some are just below what is large."""

SECOND_SHARE = LARGE_SHARE / 2
"""A cause that the verdict does not name is told from this share on where it is one that can be
mended. Beside a larger one it has a smaller share than alone, and takes as long."""

MUCH = "Much of the time"
"""How titles begin of what takes much."""

ACTIVE = "the client's active time"
"""What shares of one of several clients are of."""

LEAST = 30
"""Calls that a finding on time in general must rest on."""


def of_each(
    material: Material, cause: str, *, parts: Parts | None = None
) -> Iterator[tuple[Bottleneck, Cause]]:
    """What a cause takes of the only client's work, or of each of several, named or not.

    Only where there are calls enough to speak of time in general, and most can be read.

    Args:
        material: What the rules judge by.
        cause: The cause.
        parts: What its shares are of instead (`active`).
    """
    if material.trust.mostly_unread:
        return
    for found in alone(material):
        if found.verdict is not None and found.calls >= LEAST:
            # Of round trips there is none where nothing tells them from the server's storage.
            for part in (parts or work)(material, found):
                if part.cause == cause:
                    yield found, part


def active(_material: Material, found: Bottleneck) -> tuple[Cause, ...]:
    """All parts of the time in which a client was active, largest first."""
    return found.verdict.active_causes if found.verdict is not None else ()


def work(material: Material, found: Bottleneck) -> tuple[Cause, ...]:
    """The same without pauses in which perhaps nothing was run, and waits for a restarted server.

    What a program waits for does not change with how long somebody waited before it began, and a
    grace period ends by itself.
    """
    causes = active(material, found)
    if not aside_s(material, found):
        return causes
    aside = {"client": found.rest_s, "waiting": _restarting_s(material, found)}
    return causes_of(
        {each.cause: max(0.0, each.time_s - aside.get(each.cause, 0.0)) for each in causes}
    )


def aside_s(material: Material, found: Bottleneck) -> float:
    """What of the time in which a client was active is no part of its work, seconds."""
    return found.rest_s + _restarting_s(material, found)


def _restarting_s(material: Material, found: Bottleneck) -> float:
    """What the only client waited for servers that had restarted, seconds; 0 of several."""
    if found.about or material.bottleneck.clients:
        return 0.0
    return sum(server.unreachable_s + server.grace_s for server in material.restarts)


def each(
    material: Material, cause: str, *, parts: Parts | None = None
) -> Iterator[tuple[Bottleneck, Cause]]:
    """Of whose time or work a cause takes much, with what it takes: the only client's, or each's.

    Where the active times of all clients, added up, name it, also those that it takes half as much
    of. The arguments are those of `of_each`.
    """
    parts = parts or work
    common = cause in _common(material, parts)
    for found, part in of_each(material, cause, parts=parts):
        named = _is_named(material, found, cause, parts)
        if named or (common and (part.share or 0.0) >= COMMON_SHARE):
            yield found, part


def seconds(material: Material, cause: str) -> Iterator[tuple[Bottleneck, Cause]]:
    """Of whose work a cause that `each` does not tell takes half of a large share, likewise.

    What nobody knows may be any cause: where that is most, none is told beside it.
    """
    named = {found.about for found, _ in each(material, cause)}
    for found, part in of_each(material, cause):
        if found.about in named or _is_named(material, found, "unknown", work):
            continue
        if (part.share or 0.0) >= SECOND_SHARE:
            yield found, part


def _is_named(material: Material, found: Bottleneck, cause: str, parts: Parts) -> bool:
    """Whether the verdict names a cause, or one on the client's work would."""
    if found.verdict is not None and cause in found.verdict.named:
        return True
    return bool(aside_s(material, found)) and cause in named_of(parts(material, found))


def _common(material: Material, parts: Parts) -> tuple[str, ...]:
    """The causes that the times of several clients name, added up."""
    whole: dict[str, float] = {}
    for found in material.bottleneck.clients:
        for part in parts(material, found):
            whole[part.cause] = whole.get(part.cause, 0.0) + part.time_s
    return named_of(causes_of(whole))


def names(material: Material, cause: str) -> bool:
    """Whether a cause takes much of any client's time; `each`, likewise."""
    return any(True for _ in each(material, cause))


def naming(material: Material, cause: str) -> Callable[[str], bool]:
    """Tells of a client's address whether a cause takes much of its time; `each`, likewise."""
    found = {found.about[:1] for found, _ in each(material, cause)}
    # The only client's verdict is about nobody else.
    return lambda client: () in found or (client,) in found


def alone(material: Material) -> tuple[Bottleneck, ...]:
    """What each client shows by itself: the only one, or each of several.

    Clients of one server may be at any distance from it: what all of them show together is then
    true of none.
    """
    return material.bottleneck.clients or (material.bottleneck,)


def own(material: Material) -> Callable[[str], Bottleneck]:
    """Tells of a client's address what it shows by itself; where that is nothing, what all do."""
    whole = material.bottleneck
    found = {each.about[0]: each for each in whole.clients}
    return lambda client: found.get(client, whole)


def full(material: Material) -> set[tuple[str, str]]:
    """Clients and servers between which a link was full."""
    return {(path.client, path.server) for path in material.slower_paths if path.full_bytes_per_s}


def active_s(material: Material, found: Bottleneck) -> float:
    """The time by which it is grave, seconds.

    That is the whole time budget without what lies between mount and first use, and last use and
    unmount; of one of several clients the time in which it was active, since others may have run
    for longer, and of the only one as well where it made long pauses.
    """
    if found.active_s is not None:
        return found.active_s
    return max(0.0, sum(material.budget_rows().values()) - found.mount_idle_s)


def worked_s(material: Material, found: Bottleneck) -> float:
    """What of that is work (`work`), seconds."""
    whole_s, work_s = (
        sum(each.time_s for each in parts(material, found)) for parts in (active, work)
    )
    return max(0.0, active_s(material, found) - (whole_s - work_s))


def client_share(found: Bottleneck, claims: Iterable[Claim]) -> float | None:
    """What something costs of the time in which its client was active, 0…1.

    None where nothing is claimed, and where it is judged by the whole time budget.
    """
    cost_s = sum(claim.seconds for claim in claims)
    return min(1.0, cost_s / found.active_s) if cost_s and found.active_s else None


def whose(material: Material, found: Bottleneck) -> str:
    """What a share is of, in words; costs are parts of the time budget, which may be longer."""
    run = ACTIVE if found.about else "the run"
    long = "its long pauses" if found.away_s and not found.about else ""
    if not aside_s(material, found):
        return f"{run} without {long}" if long else run
    pauses = "pauses in which perhaps nothing was run" if found.rest_s else long
    waits = "waits for a server that had restarted" if _restarting_s(material, found) else ""
    work_s = sum(each.time_s for each in work(material, found))
    aside = joined([each for each in (waits, pauses) if each])
    return f"the {units.duration(work_s)} of {run} without {aside}"


def much(material: Material, found: Bottleneck, cause: str) -> str:
    """How much of whose time a cause takes that is named, as a title begins."""
    named = found.verdict is not None and cause in found.verdict.named
    return MUCH if named or not aside_s(material, found) else f"{MUCH} at work"


def much_of_any(material: Material, cause: str) -> str:
    """The same of all of whose time it takes much: at work where no verdict names it."""
    told = [much(material, found, cause) for found, _ in each(material, cause)]
    return MUCH if MUCH in told or not told else told[0]


def severity(
    material: Material, found: Bottleneck, claims: Iterable[Claim], *, large: bool
) -> Severity:
    """How grave it is.

    Pauses of a few seconds may be a program's that computes: what is a problem only without them is
    a warning.

    Args:
        material: What the rules judge by.
        found: Whose time it is.
        claims: What it takes.
        large: Without it, it is a note: as good as it can be expected to be.
    """
    if not large:
        return "note"
    total = active_s(material, found) - _restarting_s(material, found)
    cost = sum(claim.seconds for claim in claims)
    return "problem" if total > 0 and cost >= BOUND_SHARE * total else "warning"


def data(found: Bottleneck) -> str:
    """How much there was to judge by."""
    stable = f"{units.count(found.stable_calls)} of them stable"
    if found.unknown_calls:
        stable = (
            f"{units.count(found.stable_calls)} of them known to be stable, "
            f"{units.count(found.unknown_calls)} of unknown outcome"
        )
    return (
        f"{units.counted(found.calls, 'call')}, {stable}; "
        f"{units.counted(found.small_calls, 'small one')} that "
        f"{'shows' if found.small_calls == 1 else 'show'} the round trip"
    )
