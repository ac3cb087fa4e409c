"""Makes one finding of what a rule says alike of several clients, servers or mounts.

Takes what rules saw, each of one subject; gives it in groups. Two are alike when they say the same
but for numbers: title, why it matters, what to do, how sure. So another option, or another cause,
remains a finding of its own. Costs are added up, and so are the calls; thresholds have been judged
for each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, zip_longest

from pcapnfs import units
from pcapnfs.diagnosis.finding import SEVERITIES, Observed, Rule, Severity, Subject
from pcapnfs.diagnosis.severity import of_cost
from pcapnfs.diagnosis.wording import several
from pcapnfs.record import replace

Said = tuple[Rule, Observed, tuple[str, ...]]
"""A rule, what it saw, and the names of rules that said the same of the same subject."""

Cost = Callable[[Observed], float | None]
"""What something costs by itself, seconds."""

SUBJECTS = ("clients", "servers", "pairs of client and server")
"""What there may be several of."""


def grouped(said: Iterable[Said], alone: Cost, total_s: float) -> list[tuple[Said, Subjects]]:
    """Join what is alike; in the order in which the first of each came.

    Args:
        said: What rules saw.
        alone: What each costs by itself.
        total_s: The time budget, seconds: what costs are shares of.
    """
    groups: dict[object, list[Said]] = {}
    for place, each in enumerate(said):
        rule, seen, _ = each
        kind = (
            rule.id, seen.title, seen.why, seen.advice, seen.confidence, seen.display_filter,
            len(seen.about),
        )  # fmt: skip
        groups.setdefault(kind if seen.about else place, []).append(each)
    return [_joined(group, alone, total_s) for group in groups.values()]


Subjects = tuple[Subject, ...]
"""Those of whom something was said alike; empty when it is one."""


def _joined(group: Sequence[Said], alone: Cost, total_s: float) -> tuple[Said, Subjects]:
    if len(group) == 1:
        return group[0], ()
    ordered = sorted(group, key=lambda each: (-(alone(each[1]) or 0.0), each[1].about))
    rule, first, _ = ordered[0]
    all_seen = [seen for _, seen, _ in ordered]
    shares = [seen.client_share for seen in all_seen if seen.client_share is not None]
    subjects = tuple(Subject(seen.about, alone(seen), seen.calls) for seen in all_seen)
    joined = replace(
        first,
        claims=tuple(claim for seen in all_seen for claim in seen.claims),
        frames=_in_turn([seen.frames for seen in all_seen]),
        calls=_sum([seen.calls for seen in all_seen]),
        also=tuple(dict.fromkeys(name for seen in all_seen for name in seen.also)),
        client_share=max(shares, default=None),
    )
    joined = replace(
        joined,
        severity=_severity(all_seen, alone(joined) or 0.0, total_s),
        seen=f"{_together(subjects, joined.calls)} {first.about[0]}, the first of them: "
        f"{first.seen}",
        data=f"{_number(subjects)}; of the first: {first.data}",
    )
    also = tuple(dict.fromkeys(name for _, _, names in ordered for name in names))
    return (rule, joined, also), subjects


def _severity(all_seen: Sequence[Observed], cost_s: float, total_s: float) -> Severity:
    """The gravest of all, or what their cost together makes it where it goes by cost."""
    gravest = min((seen.severity for seen in all_seen), key=SEVERITIES.index)
    limits = [seen.at_most for seen in all_seen]
    known = [limit for limit in limits if limit is not None]
    if len(known) < len(limits):
        return gravest
    most = max(known, key=SEVERITIES.index)
    return min(gravest, of_cost(cost_s, total_s, most), key=SEVERITIES.index)


def _together(subjects: Subjects, calls: int | None) -> str:
    """Whom it concerns, and what that makes."""
    kinds = [tuple(dict.fromkeys(names)) for names in zip(*_abouts(subjects), strict=True)]
    varied = [names for names in kinds if len(names) > 1]
    pairs = tuple(dict.fromkeys(" → ".join(about) for about in _abouts(subjects)))
    names = several(varied[0] if len(varied) == 1 else pairs)
    text = f"Alike for {_number(subjects)} ({names})"
    if calls is not None:
        text += f"; {units.counted(calls, 'call')} in all"
    costs = [subject.saving_s for subject in subjects if subject.saving_s is not None]
    if costs and max(costs) > 0:
        least, most = units.duration(min(costs)), units.duration(max(costs))
        text += f"; {least} each" if least == most else f"; {least} to {most} each"
    return f"{text}."


def _number(subjects: Subjects) -> str:
    """How many of what: `12 clients`."""
    abouts = _abouts(subjects)
    several_at = [len(set(names)) > 1 for names in zip(*abouts, strict=True)]
    if several_at == [True, False]:
        kind = SUBJECTS[0]
    elif several_at in ([False, True], [True]):
        kind = SUBJECTS[1]
    else:
        kind = SUBJECTS[2] if any(several_at) else "mounts of the same addresses"
    return f"{units.count(len(set(abouts)) if any(several_at) else len(subjects))} {kind}"


def _abouts(subjects: Subjects) -> list[tuple[str, ...]]:
    return [subject.about for subject in subjects]


def _in_turn(frames: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The first of each, then the second of each …."""
    return tuple(frame for frame in chain(*zip_longest(*frames)) if frame is not None)


def _sum(calls: Sequence[int | None]) -> int | None:
    known = [each for each in calls if each is not None]
    return sum(known) if len(known) == len(calls) else None
