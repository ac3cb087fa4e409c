"""Findings on a terminal: what is wrong, what it costs, what to do; gravest first.

Takes `Findings`; gives Rich renderables that fit 80 columns and use 140.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from pcapnfs import units
from pcapnfs.diagnosis.severity import PROBLEM_SHARE
from pcapnfs.diagnosis.wording import NAMED
from pcapnfs.text import escape, sentence, some
from pcapnfs.views import software
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import WARNING, note
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.mounts.software import Software
    from pcapnfs.diagnosis.finding import Advice, Finding
    from pcapnfs.diagnosis.judging import Findings, Judged

STYLES = {"problem": "bold red", "warning": f"bold {WARNING}", "note": "dim"}
"""Colours of the severities."""

OWN_SHARE = 0.01
"""A smaller part of a cost is no more than a trace."""

SHARED = "+ shared"
"""What stands behind a cost beside which other findings have claimed as much, or more."""

MORE_SHARED = f"{SHARED}: half or more of its cost is counted in other findings already."
"""What that means."""

WORTH_DOING = 0.05
"""Part of the time in which anything was done that must be saved for the summary to begin with what
to do for it: changing a mount or a program, often with a risk, for less is not worth the while. A
problem is always worth it, and a warning that costs no time tells of something else than time. A
note must cost that of all the time."""

SEVERAL = 2.0
"""What costs so many times as much as what to do first is told beside it."""

AS_GRAVE = 0.5
"""Part of what is left to a finding on time in general that another problem must cost for its
advice to come first."""

OUTAGES = ("no_connection", "unanswered_calls")
"""Rules that tell of a client that nobody answers: its programs stand still."""

CLIENT = "client_bound"
"""The rule that tells of a client that mostly waits for nothing of NFS."""

FAILING = ("no_space", "io_errors")
"""Rules of what a server refused for a fault or lack of its own, where that is a problem: a program
may have ended before its time, so that how long it took says little."""

IN_SHORT = 6
"""Findings that the summary and the report name before all others."""


def screen(result: Findings, said: Software | None = None) -> RenderableType:
    """The screen of `findings`.

    Args:
        result: What was found.
        said: What software clients and servers say that they are, where it is known.
    """
    told = None if said is None or not result.findings else software.remark(said)
    return Group(
        Prose(in_a_sentence(result.findings, result.judged)),
        *(() if told is None else (Prose(told),)),
        *(part for found in result.findings for part in _finding(found)),
    )


def in_short(findings: Sequence[Finding], judged: Judged) -> list[RenderableType]:
    """The block of the summary: a line for each of the gravest."""
    if not findings:
        return [note(in_a_sentence(findings, judged))]
    shown = findings[:IN_SHORT]
    rows = [[found.severity, cost(found), sentence(found.title), found.id] for found in shown]
    columns = (
        Column("", align="left"),
        Column("costs"),
        Column("finding", align="left", least=52, cut="wrap"),
        Column("rule", align="left", priority=1),
    )
    rest = len(findings) - len(shown)
    more = f"{units.counted(rest, 'more', 'more')}; " if rest else ""
    return [
        FittedTable(columns, rows),
        *([note(MORE_SHARED)] if any(mostly_shared(found) for found in shown) else ()),
        *(note(line) for line in first_to_do(findings, judged)),
        note(f"{more}pcapnfs findings says what was seen, why it matters and what to do."),
    ]


def failing(findings: Sequence[Finding]) -> list[str]:
    """What a verdict on the time begins with where programs failed, a sentence each."""
    return [
        f"Some calls failed: {sentence(found.title)} ({sentence(found.data)})."
        for found in findings
        if found.id in FAILING and found.severity == "problem"
    ]


def first_to_do(findings: Sequence[Finding], judged: Judged) -> list[str]:
    """The first advice of the gravest finding, with its risk, and that of one that costs far more.

    The second is a warning: to mend it takes something away, or there is another explanation. So it
    does not come first, but who looks for where the time goes must not miss it.

    Of a finding that costs hardly anything nothing is told: what is worth knowing need not be worth
    doing. Where none costs more, and the client itself takes much of the time, that is where to
    look; nothing where all are such notes.

    Args:
        findings: The findings, gravest first.
        judged: What their costs are parts of.
    """
    if not findings:
        return []
    first = _worthwhile(findings, judged)
    if first is None:
        return _little_to_gain(findings)
    if not first.advice:
        return []
    told = [f"To do first: {_advice(first.advice[0])}"]
    others = [found for found in findings if found is not first]
    dearest = max(others, key=lambda found: found.cost_s or 0.0, default=None)
    if dearest is not None and _is_far_dearer(dearest, first):
        told.append(
            f"Costs more ({cost(dearest)}): {sentence(dearest.title)}. {_advice(dearest.advice[0])}"
        )
    return told


def forecast_without(findings: Sequence[Finding], judged: Judged, run_s: float | None) -> list[str]:
    """What the run would take without what is to do first, beside forecasts of other changes.

    Nothing of several clients, whose clocks costs are parts of; nor of what speaks of time in
    general: forecasts do.

    Args:
        findings: The findings, gravest first.
        judged: What their costs are parts of.
        run_s: How long the run took, seconds; None where that is not known.
    """
    first = _worthwhile(findings, judged) if findings else None
    if first is None or first.general or first.saving_s is None or judged.clients > 1:
        return []
    if run_s is None or first.saving_s > run_s:
        return []  # It took time before the run, or after it.
    left, whole = units.duration(run_s - first.saving_s), units.duration(run_s)
    return [f"Forecast without what {first.id} costs: {left} instead of {whole}."]


def _worthwhile(findings: Sequence[Finding], judged: Judged) -> Finding | None:
    """What is to do first, if that saves enough; else the gravest that does, if it is no note."""
    first = _first(findings)
    graver = (found for found in findings if found.severity != "note" and found.advice)
    return next((found for found in (first, *graver) if _is_worth(found, judged)), None)


def _is_worth(found: Finding, judged: Judged) -> bool:
    """Whether mending it is worth the while.

    Of a note it is what it costs of the whole time: nobody need act on it.
    """
    if found.severity == "problem":
        return True
    if found.severity == "note":
        return (found.cost_share or 0.0) >= WORTH_DOING
    if found.saving_s is None:
        return True
    whole_s = judged.worked_s or judged.budget_s
    share = found.saving_s / whole_s if whole_s else 0.0
    return max(share, found.client_share or 0.0) >= WORTH_DOING


def _little_to_gain(findings: Sequence[Finding]) -> list[str]:
    """What to look at where no finding costs enough."""
    client = next((found for found in findings if found.id == CLIENT and found.advice), None)
    warned = any(found.severity != "note" for found in findings)
    little = f"No warning costs as much as {units.share(WORTH_DOING)} of the time."
    told = [] if client is None else [f"To do first: {_advice(client.advice[0])}"]
    if warned:
        told = [" ".join((*told, little))]
    return told


def _first(findings: Sequence[Finding]) -> Finding:
    """The gravest, unless another finding says what it only sums up, or programs fail.

    They fail by problems that cost no time: who has no room to write is not helped by faster
    storage. So it is with one of several clients that is cut off, whatever slows down the others.
    The gravest only sums up where it speaks of time in general, others that are about the same
    client have claimed a part of what it costs, and one of them more than is left to it, or, if
    that is a problem as well, half as much: what is advised in general spares a part of the time,
    and what mends one cause spares all that it costs.
    """
    gravest = findings[0]
    for found in findings:
        if found.severity == "problem" and found.cost_s is None and found.advice:
            return found
    for found in findings:
        outage = found.id in OUTAGES and found.client_share is not None
        if outage and found.severity == "problem" and found.advice:
            return found
    if not gravest.general or not _is_claimed(gravest):
        return gravest
    others = [
        found
        for found in findings[1:]
        if found.severity != "note" and found.advice and _share_a_client(found, gravest)
    ]
    causes = [found for found in others if found.severity == "problem" and not found.general]
    for among, share in ((causes, AS_GRAVE), (others, 1.0)):
        dearest = max(among, key=lambda found: found.cost_s or 0.0, default=None)
        if dearest and (dearest.cost_s or 0.0) > share * (gravest.cost_s or 0.0):
            return dearest
    return gravest


def _share_a_client(one: Finding, other: Finding) -> bool:
    """Whether both are about a client, as far as they say about which."""
    first, second = _clients(one), _clients(other)
    return not first or not second or bool(first & second)


def _clients(found: Finding) -> set[str]:
    """The clients that it is about; empty where it is about a server, or the whole capture."""
    abouts = [subject.about for subject in found.alike] or [found.about]
    return {about[0] for about in abouts if len(about) > 1}


def _is_claimed(found: Finding) -> bool:
    """Whether others have claimed a part of what it costs."""
    return (found.saving_s or 0.0) - (found.cost_s or 0.0) > OWN_SHARE * (found.saving_s or 0.0)


def _is_far_dearer(found: Finding, first: Finding) -> bool:
    """Whether it is worth doing, and costs several times as much as what is to do first."""
    return (
        found.severity != "note"
        and bool(found.advice)
        and (found.cost_share or 0.0) >= PROBLEM_SHARE
        and (found.cost_s or 0.0) >= SEVERAL * (first.saving_s or 0.0)
    )


def in_a_sentence(findings: Sequence[Finding], judged: Judged) -> str:
    """How many there are, and how much of the time they explain."""
    looked = units.counted(judged.checked, "rule")
    if not findings:
        return f"Nothing found by {looked}."
    counts = [
        units.counted(number, severity)
        for severity in STYLES
        if (number := sum(found.severity == severity for found in findings))
    ]
    sentence = f"{looked}: {', '.join(counts)}."
    if judged.booked_s:
        budget = units.duration(judged.budget_s)
        if judged.clients > 1:
            budget = (
                f"the {budget} that the clocks of {units.count(judged.clients)} clients add up to"
            )
        share = units.share(judged.booked_s / judged.budget_s)
        sentence += f" They account for {units.duration(judged.booked_s)} of {budget} ({share})."
    return sentence


def cost(found: Finding) -> str:
    """What it costs, in time and as a share; empty when it costs none."""
    if found.cost_s is None or found.saving_s is None:
        return ""
    if shared(found):
        return f"{units.duration(found.saving_s)}, shared"
    return f"{_own(found)} {SHARED}" if mostly_shared(found) else _own(found)


def _own(found: Finding) -> str:
    """What no other finding has claimed of it."""
    shown = units.duration(found.cost_s)
    return shown if found.cost_share is None else f"{shown}, {units.share(found.cost_share)}"


def shared(found: Finding) -> bool:
    """Whether other findings have claimed all that it costs, or all but a trace."""
    return (found.cost_s or 0.0) < OWN_SHARE * (found.saving_s or 0.0)


def mostly_shared(found: Finding) -> bool:
    """Whether they have claimed as much as is left of it, or more, but not all."""
    if found.cost_s is None or found.saving_s is None or shared(found):
        return False
    return 2 * found.cost_s <= found.saving_s


def costs(found: Finding) -> str:
    """The same in a clause of its own, with what it would cost alone where that is more."""
    if found.cost_s is None or found.saving_s is None:
        return ""
    if shared(found):
        alone = f"{units.duration(found.saving_s)}, all of it counted in other findings already"
        return alone + _of_client(found)
    clause = f"{_own(found)} of the time{_idle(found)}"
    if _is_claimed(found):
        clause += f" ({units.duration(found.saving_s)} with what other findings count, too)"
    return clause + _of_client(found)


def _of_client(found: Finding) -> str:
    """What it is of the time in which its client was active, where it is judged by that, too."""
    if found.client_share is None:
        return ""
    share = units.share(found.client_share)
    if found.alike:
        return f"; up to {share} of a client's active time"
    return f"; {share} of its client's active time"


IDLE_SHARE = 0.1
"""The part of a cost from which on it is told how much of it is no call's."""


def _idle(found: Finding) -> str:
    """What of it no service time shows: a cost may be more than all of these together."""
    idle_s, cost_s = found.cost_idle_s, found.cost_s or 0.0
    if not idle_s or idle_s < IDLE_SHARE * cost_s:
        return ""
    part = "all" if idle_s >= cost_s else units.duration(idle_s)
    return f", {part} of it while no call was under way"


def _finding(found: Finding) -> list[RenderableType]:
    # A grid of its own: a title of several lines hangs under its beginning.
    title = Table.grid(padding=(0, 2, 0, 0), expand=False)
    title.add_column(style=STYLES[found.severity], no_wrap=True)
    title.add_column(overflow="fold", style="bold")
    title.add_row(found.severity.upper(), Prose(sentence(found.title)))
    lines = [
        ("Costs", costs(found)),
        ("Where", where(found, escape)),
        ("Seen", sentence(found.evidence)),
        ("Why", sentence(found.why)),
        *(("Do" if place == 0 else "", _advice(each)) for place, each in enumerate(found.advice)),
        ("Sure", f"{found.confidence}; {sentence(found.data)}"),
        ("Filter", found.display_filter or ""),
        ("Rule", _rule(found)),
    ]
    grid = Table.grid(padding=(0, 2, 0, 0), expand=False)
    grid.add_column(width=7, justify="right", style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in lines:
        if text:
            grid.add_row(label, Prose(text))
    return [Text(""), title, grid]


def where(found: Finding, told: Callable[[str], str]) -> str:
    """Clients and servers that it concerns, the first of many; each as `told` writes it."""
    abouts = [subject.about for subject in found.alike] or [found.about]
    return " → ".join(
        some(tuple(dict.fromkeys(addresses)), NAMED, told)
        for addresses in zip(*abouts, strict=True)
    )


def _advice(advice: Advice) -> str:
    return with_risk(advice, sentence)


def with_risk(advice: Advice, visible: Callable[[str], str]) -> str:
    """What to do, and what may come of it; a command ends without a full stop to be copied."""
    action = visible(advice.action)
    if advice.risk is None:
        return action
    if action.endswith("."):
        return f"{action} Risk: {visible(advice.risk)}"
    return f"{action} (risk: {visible(advice.risk).removesuffix('.')})"


def _rule(found: Finding) -> str:
    also = f", also {', '.join(found.also)}" if found.also else ""
    return f"{found.id}{also} ({escape(found.origin)})"
