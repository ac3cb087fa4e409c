"""Findings on a terminal: what is wrong, what it costs, what to do; gravest first.

Takes `Findings`; gives Rich renderables that fit 80 columns and use 140.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from pcapnfs import units
from pcapnfs.diagnosis.first import WORTH_DOING, tells_of_failure
from pcapnfs.diagnosis.wording import NAMED
from pcapnfs.text import escape, sentence, some
from pcapnfs.views import numbered, software
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import WARNING, note
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.forecasts.model import Model
    from pcapnfs.analyses.mounts.software import Software
    from pcapnfs.diagnosis.finding import Advice, Finding
    from pcapnfs.diagnosis.judging import Findings, Judged
    from pcapnfs.meta import Stream

STYLES = {"problem": "bold red", "warning": f"bold {WARNING}", "note": "dim"}
"""Colours of the severities."""

SHARED = "+ shared"
"""What stands behind a cost beside which other findings have claimed as much, or more."""

ALL_SHARED = "shared"
"""What stands behind a cost all of which others have claimed."""

MORE_SHARED = f"{SHARED}: half or more of its cost is counted in other findings already."
"""What the one means …"""

WHOLLY_SHARED = f"{ALL_SHARED}: all of its cost is."
"""… and the other, behind that …"""

ONLY_SHARED = f"{ALL_SHARED}: all of its cost is counted in other findings already."
"""… or alone."""

IN_SHORT = 6
"""Findings that the summary and the report name before all others."""


def screen(
    result: Findings,
    said: Software | None = None,
    streams: Sequence[Stream] = (),
    *,
    unread: bool = False,
) -> RenderableType:
    """The screen of `findings`.

    Args:
        result: What was found.
        said: What software clients and servers say that they are, where it is known.
        streams: The streams of packets, where it is to be told how their frames are numbered.
        unread: Most of the traffic could not be read.
    """
    told = None if said is None or not result.findings else software.remark(said)
    by_number = any(found.frames for found in result.findings)
    counted = numbered.unless_plain(streams) if by_number else ""
    return Group(
        Prose(in_a_sentence(result.findings, result.judged, unread=unread)),
        *(() if told is None else (Prose(told),)),
        *(part for found in result.findings for part in _finding(found, streams)),
        *((Text(""), Prose(counted, style="dim")) if counted else ()),
    )


def judged_s(model: Model) -> float | None:
    """How long the run took that a verdict names causes of, seconds; None without one."""
    named = model.verdict is not None and model.verdict.named
    return model.measured_s if named else None


def in_short(
    findings: Sequence[Finding],
    judged: Judged,
    *,
    run_s: float | None = None,
    unread: bool = False,
) -> list[RenderableType]:
    """The block of the summary: a line for each of the gravest.

    Args:
        findings: The findings, gravest first.
        judged: What was decided of them.
        run_s: How long the run took that the verdict is about, seconds; None without one.
        unread: Most of the traffic could not be read.
    """
    if not findings:
        return [note(in_a_sentence(findings, judged, unread=unread))]
    shown = findings[:IN_SHORT]
    rows = [[found.severity, cost(found), sentence(found.title), found.id] for found in shown]
    columns = (
        Column("", align="left"),
        Column("costs"),
        Column("finding", align="left", least=52, cut="wrap"),
        Column("rule", align="left", priority=1),
    )
    rest = len(findings) - len(shown)
    more = f"{units.counted(rest, 'more finding')}; " if rest else ""
    return [
        FittedTable(columns, rows),
        *(note(line) for line in (*about_base(shown, judged, run_s), *about_shares(shown))),
        *(note(line) for line in first_to_do(findings, judged)),
        note(f"{more}pcapnfs findings says what was seen, why it matters and what to do."),
    ]


BASES_DIFFER = 0.9
"""Part of the time budget, less of which the run must be for shares of both to be told apart."""


def about_base(findings: Sequence[Finding], judged: Judged, run_s: float | None) -> list[str]:
    """What costs are shares of, where the verdict beside them has shares of far less.

    Args:
        findings: The findings whose costs are told.
        judged: What was decided of them.
        run_s: How long the run took that the verdict is about, seconds; None without one.
    """
    told = any(found.cost_share and not found.all_shared for found in findings)
    # Of several clients the verdict is about each by itself.
    if not told or judged.clients > 1 or not run_s or run_s >= BASES_DIFFER * judged.budget_s:
        return []
    whole = units.duration(judged.budget_s)
    return [f"Costs are shares of all {whole} of the capture; the verdict's are of the run alone."]


def about_shares(findings: Sequence[Finding]) -> list[str]:
    """What the words behind their costs mean, a line where there are any."""
    mostly = any(found.mostly_shared for found in findings)
    wholly = any(found.all_shared for found in findings)
    if mostly:
        return [f"{MORE_SHARED} {WHOLLY_SHARED}" if wholly else MORE_SHARED]
    return [ONLY_SHARED] if wholly else []


def failing(findings: Sequence[Finding]) -> list[str]:
    """What a verdict on the time begins with where programs failed, a sentence each."""
    return [
        f"Some calls failed: {sentence(found.title)} ({sentence(found.data)})."
        for found in findings
        if tells_of_failure(found.id, found.severity)
    ]


def first_to_do(findings: Sequence[Finding], judged: Judged) -> list[str]:
    """What is to do first, with its risk, and what costs far more; empty where nothing is.

    Args:
        findings: The findings, gravest first.
        judged: What was decided of them.
    """
    told, said = judged.to_do, []
    if told.first is not None:
        said.append(f"To do first: {_advice(findings[told.first].advice[0])}")
    if told.dearer is not None:
        dearer = findings[told.dearer]
        said.append(
            f"Costs more ({cost(dearer)}): {sentence(dearer.title)}. {_advice(dearer.advice[0])}"
        )
    if told.little_to_gain:
        little = f"No warning costs as much as {units.share(WORTH_DOING)} of the time."
        said = [" ".join((*said, little))]
    return said


def forecast_without(
    findings: Sequence[Finding], judged: Judged, run_s: float | None, without_s: float | None
) -> list[str]:
    """What the run would take without what is to do first, beside forecasts of other changes.

    Args:
        findings: The findings, gravest first.
        judged: What was decided of them.
        run_s: How long the run took, seconds; None where that is not known.
        without_s: How long it would take, seconds; None where that is not told.
    """
    if judged.to_do.first is None or without_s is None:
        return []
    first, left = findings[judged.to_do.first], units.duration(without_s)
    title = sentence(first.title)
    return [f'Forecast without "{title}": {left} instead of {units.duration(run_s)}.']


def in_a_sentence(findings: Sequence[Finding], judged: Judged, *, unread: bool = False) -> str:
    """How many there are, and how much of the time they explain.

    Args:
        findings: The findings, gravest first.
        judged: What was decided of them.
        unread: Most of the traffic could not be read: that nothing was found does not say much.
    """
    looked = units.counted(judged.checked, "rule")
    if not findings:
        little = ", most of which need what could not be read" if unread else ""
        return f"Nothing found by {looked}{little}."
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
    if found.all_shared:
        return f"{units.duration(found.saving_s)}, {ALL_SHARED}"
    return f"{_own(found)} {SHARED}" if found.mostly_shared else _own(found)


def _own(found: Finding) -> str:
    """What no other finding has claimed of it."""
    shown = units.duration(found.cost_s)
    return shown if found.cost_share is None else f"{shown}, {units.share(found.cost_share)}"


def costs(found: Finding) -> str:
    """The same in a clause of its own, with what it would cost alone where that is more."""
    if found.cost_s is None or found.saving_s is None:
        return ""
    if found.all_shared:
        alone = f"{units.duration(found.saving_s)}, all of it counted in other findings already"
        return alone + _of_client(found)
    clause = f"{_own(found)} of the time{_idle(found)}"
    if found.partly_shared:
        clause += f" ({units.duration(found.saving_s)} with what other findings count, too)"
    return clause + _of_client(found)


def _of_client(found: Finding) -> str:
    """What it is of the time in which its client was active, where it is judged by that, too."""
    if found.client_share is None:
        return ""
    share = units.share(found.client_share)
    if found.alike:
        return f"; up to {share} of a client's active time"
    if not found.about:
        return f"; {share} of the active time of its clients"
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


def _finding(found: Finding, streams: Sequence[Stream]) -> list[RenderableType]:
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
        *_filters(found, streams),
        ("Rule", _rule(found)),
    ]
    grid = Table.grid(padding=(0, 2, 0, 0), expand=False)
    grid.add_column(width=7, justify="right", style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in lines:
        if text:
            grid.add_row(label, Prose(text))
    return [Text(""), title, grid]


def _filters(found: Finding, streams: Sequence[Stream]) -> Iterator[tuple[str, str]]:
    if found.display_filter or len(streams) < 2:
        yield "Filter", found.display_filter or ""
        return
    for place, (captures, text) in enumerate(numbered.filters(found.frames, streams)):
        yield "" if place else "Filter", f"{text} in {captures}"


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
