"""The pictures: time budget, service times by operation, what happened when, file sizes.

Takes results; gives drawings. What can be read off them stands in a table beside each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pcapnfs import units
from pcapnfs.views.budget import SHORT, title
from pcapnfs.views.report import svg
from pcapnfs.views.report.blocks import told
from pcapnfs.views.sizes import amount, spanned
from pcapnfs.views.words import protocol_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pcapnfs.analyses.by_file.sizes import Sizes
    from pcapnfs.analyses.times.budget import Budget
    from pcapnfs.analyses.times.course import Course, Part
    from pcapnfs.analyses.times.distributions import Spreads
    from pcapnfs.report import Mark

WIDTH = 720.0
"""Width of every drawing, in its own units."""

LETTER = 6.6
"""Width of a letter in them, about."""

MARK = 18.0
"""Room that a mark takes, both ways."""

LANES = 4
"""Lanes of marks at most; further ones cover one another."""


def budget(clocks: Sequence[Budget]) -> str:
    """A bar for each clock, cut into what the time went to."""
    several = len(clocks) > 1
    left = 120.0 if several else 0.0
    row, height = 34.0, 26.0
    parts = []
    for place, clock in enumerate(clocks):
        y = place * row
        if several:
            whose = told(clock.client or "all clients", 16)
            parts.append(svg.text(left - 8, y + 17, whose, text_anchor="end"))
        x = left
        for name, time_s, share in clock.shares():
            if not share:
                continue
            width = share * (WIDTH - left)
            tip = f"{title(name, clock)}: {units.duration(time_s)}, {units.share(share)}"
            parts.append(svg.rectangle(x, y, max(width - 1, 0.5), height, f"b-{name}", tip))
            label = f"{SHORT[name]} {units.share(share)}"
            if len(label) * LETTER + 8 < width:
                parts.append(svg.text(x + 6, y + 17, label, class_=f"on-{name}"))
            x += width
    told_ = "; ".join(
        f"{SHORT[name]} {units.share(share)}" for name, _, share in clocks[0].shares() if share
    )
    # On a phone one bar is drawn small and without letters; whose bar it is must be legible.
    return svg.drawing(
        "budgets-picture" if several else "budget-picture",
        "Where the time went",
        f"A bar for the whole clock: {told_}.",
        WIDTH,
        max(row * len(clocks) - 8, height),
        *parts,
    )


def spreads(found: Spreads) -> str:
    """A small histogram for each operation, one below the other on one scale of time."""
    left, row, top = 150.0, 36.0, 6.0
    low, high = found.edges_s[0], found.edges_s[-1]
    scale = svg.logarithmic(low, high, left, WIDTH - 24)
    bottom = top + row * len(found.operations)
    parts = _time_axis(low, high, scale, top, bottom)
    for place, each in enumerate(found.operations):
        floor = top + (place + 1) * row - 4
        parts.append(svg.text(left - 10, floor - 13, told(each.op, 20), text_anchor="end"))
        calls = f"{protocol_name(each.version)}, {units.counted(each.count, 'call')}"
        parts.append(svg.text(left - 10, floor, calls, text_anchor="end", class_="small"))
        most = max(each.bins)
        for number, calls_in_bin in enumerate(each.bins):
            if not calls_in_bin:
                continue
            begin, end = scale(found.edges_s[number]), scale(found.edges_s[number + 1])
            high_ = max(1.5, calls_in_bin / most * (row - 8))
            tip = (
                f"{units.count(calls_in_bin)} of {units.count(each.count)}: "
                f"{units.duration(found.edges_s[number])} to "
                f"{units.duration(found.edges_s[number + 1])}"
            )
            parts.append(
                svg.rectangle(begin, floor - high_, max(end - begin - 1, 1), high_, "bar", tip)
            )
        parts.append(svg.line(left, floor, WIDTH - 24, floor, "axis"))
        for value, style in ((each.p50_s, "median"), (each.p95_s, "p95")):
            if value is not None and value > 0:
                x = scale(value)
                parts.append(svg.line(x, floor - row + 6, x, floor + 2, style))
    slowest = found.operations[0]
    return svg.drawing(
        "spreads-picture",
        "Service times by operation",
        f"A histogram for each of {units.counted(len(found.operations), 'operation')} on a "
        "logarithmic scale from "
        f"{units.duration(low)} to {units.duration(high)}. {told(slowest.op)}, which took most "
        f"time, has its median at {units.duration(slowest.p50_s)}.",
        WIDTH,
        bottom + 20,
        *parts,
    )


def _time_axis(low: float, high: float, scale: svg.Scale, top: float, bottom: float) -> list[str]:
    """Lines at the powers of ten, with their names below; more of them where there is but one."""
    values = svg.decades(low, high)
    if len(values) < 3:
        finer = [value * each for value in svg.decades(low / 10, high) for each in (1, 2, 5)]
        values = [value for value in finer if low <= value <= high]
    parts = []
    for value in values:
        x = scale(value)
        parts.append(svg.line(x, top, x, bottom, "grid"))
        parts.append(svg.text(x, bottom + 14, _short(value), text_anchor="middle", class_="small"))
    return parts


def course(found: Course, marks: Sequence[Mark]) -> str:
    """Three panels above one axis: calls, service times, calls under way; findings on top."""
    left, right, panel, gap = 60.0, WIDTH - 24, 84.0, 26.0
    part_s = found.part_s or 1.0
    end_s = found.parts[-1].at_s + part_s
    x = svg.linear(0.0, end_s, left, right)
    placed = _lanes(marks, x)
    top = 18.0 + MARK * (max((lane for _, _, lane in placed), default=-1) + 1)
    bottom = top + 3 * panel + 2 * gap
    parts = []
    for value in svg.round_steps(end_s, 6):
        parts.append(svg.line(x(value), top, x(value), bottom, "grid"))
        parts.append(
            svg.text(x(value), bottom + 14, _short(value), text_anchor="middle", class_="small")
        )
    for row, drawing in enumerate((_calls, _times, _under_way)):
        parts += drawing(found.parts, _Panel(x, left, right, top + row * (panel + gap), panel))
    for mark, place, lane in placed:
        label = str(mark.finding + 1)
        tip = f"finding {label}: frame {mark.frame}, {units.duration(mark.at_s)}"
        y = 10.0 + lane * MARK
        parts.append(svg.line(place, y + 8, place, bottom, "mark"))
        parts.append(
            svg.element(
                "a",
                svg.element("title", tip),
                svg.element("circle", cx=place, cy=y, r=8.0, class_="mark"),
                svg.text(place, y + 4, label, text_anchor="middle", class_="on-mark"),
                href=f"#finding-{label}",
            )
        )
    calls = sum(part.calls for part in found.parts)
    most = max(part.outstanding for part in found.parts)
    return svg.drawing(
        "course-picture",
        "What happened when",
        f"{units.counted(calls, 'call')} over {units.duration(end_s)} in "
        f"{units.counted(len(found.parts), 'part')}: how "
        "many were sent and how many of them were stable, their median and 95th percentile of "
        f"service times, and how many were under way, {units.number(most)} at most.",
        WIDTH,
        bottom + 20,
        *parts,
        links=bool(placed),
    )


def _lanes(marks: Sequence[Mark], x: svg.Scale) -> list[tuple[Mark, float, int]]:
    """Where marks stand: those that would cover one another in lanes, those of one finding once."""
    lanes: list[float] = []
    before: dict[int, float] = {}
    placed = []
    for mark in sorted(marks, key=lambda mark: (mark.at_s, mark.finding)):
        place = x(mark.at_s)
        if place - before.get(mark.finding, -MARK) < MARK:
            continue
        before[mark.finding] = place
        free = (number for number, last in enumerate(lanes) if place - last >= MARK)
        lane = next(free, min(len(lanes), LANES - 1))
        lanes[lane : lane + 1] = [place]
        placed.append((mark, place, lane))
    return placed


class _Panel(NamedTuple):
    """A panel's place in the picture, and the scale of its time."""

    x: svg.Scale
    left: float
    right: float
    top: float
    height: float

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def width(self, parts: Sequence[Part]) -> float:
        """That of what is drawn for each part."""
        return max((self.right - self.left) / len(parts) - 1, 0.5)


def _calls(parts: Sequence[Part], panel: _Panel) -> list[str]:
    most = float(max(part.calls for part in parts))
    y = svg.linear(0.0, most, panel.bottom, panel.top)
    drawn = _frame("calls sent", panel, [(y(v), units.number(v)) for v in (0.0, most)])
    floor = y(0.0)
    width = panel.width(parts)
    for part in parts:
        at = panel.x(part.at_s) + 0.5
        if not part.calls:
            continue
        tip = (
            f"from {units.duration(part.at_s)}: {units.counted(part.calls, 'call')}, "
            f"{units.count(part.stable_calls)} stable"
        )
        stable, all_ = y(float(part.stable_calls)), y(float(part.calls))
        drawn.append(svg.rectangle(at, all_, width, stable - all_, "b-unstable", tip))
        if part.stable_calls:
            drawn.append(svg.rectangle(at, stable, width, floor - stable, "b-stable", tip))
    return drawn


def _times(parts: Sequence[Part], panel: _Panel) -> list[str]:
    """From median to 95th percentile, on a logarithmic scale of whole powers of ten."""
    known = [value for part in parts for value in (part.p50_s, part.p95_s) if value is not None]
    positive = [value for value in known if value > 0]
    if not positive:
        return _frame("service time", panel, [])
    low, high = min(positive), max(positive)
    lower = max((each for each in svg.decades(low / 10, low)), default=low)
    upper = min((each for each in svg.decades(high, high * 10)), default=high)
    if upper <= lower:
        upper = lower * 10
    y = svg.logarithmic(lower, upper, panel.bottom, panel.top)
    values = svg.decades(lower, upper)
    drawn = _frame(
        "service time", panel, [(y(v), _short(v)) for v in values[:: len(values) // 5 + 1]]
    )
    width = panel.width(parts)
    for part in parts:
        if part.p50_s is None or part.p95_s is None:
            continue
        at = panel.x(part.at_s) + 0.5
        tip = (
            f"from {units.duration(part.at_s)}: median {units.duration(part.p50_s)}, "
            f"95th percentile {units.duration(part.p95_s)}"
        )
        middle, upper_end = y(part.p50_s), y(part.p95_s)
        drawn.append(
            svg.rectangle(at, upper_end, width, max(middle - upper_end, 1.0), "spread", tip)
        )
        drawn.append(svg.rectangle(at, middle - 1.5, width, 3.0, "bar", tip))
    return drawn


def _under_way(parts: Sequence[Part], panel: _Panel) -> list[str]:
    most = max(part.outstanding for part in parts)
    y = svg.linear(0.0, most, panel.bottom, panel.top)
    drawn = _frame("calls under way", panel, [(y(v), units.number(v)) for v in (0.0, most)])
    width = panel.width(parts)
    for part in parts:
        if part.outstanding <= 0:
            continue
        tip = f"from {units.duration(part.at_s)}: {units.number(part.outstanding)} under way"
        at, height = panel.x(part.at_s) + 0.5, max(y(0.0) - y(part.outstanding), 0.5)
        drawn.append(svg.rectangle(at, y(0.0) - height, width, height, "bar", tip))
    return drawn


def _frame(title: str, panel: _Panel, steps: Sequence[tuple[float, str]]) -> list[str]:
    """The title of a panel, its floor, and the steps of its scale."""
    left, right, floor = panel.left, panel.right, panel.bottom
    parts = [
        svg.text(left + 4, panel.top - 4, title, class_="panel"),
        svg.line(left, floor, right, floor, "axis"),
    ]
    for y, label in steps:
        parts.append(svg.line(left, y, right, y, "grid"))
        parts.append(svg.text(left - 6, y + 4, label, text_anchor="end", class_="small"))
    return parts


def sizes(found: Sizes) -> str:
    """A bar for each bin from the first that holds files on."""
    left, row = 110.0, 20.0
    bins = [each for _, each in spanned(found)]
    most = max(each.files for each in bins)
    scale = svg.linear(0.0, float(most), 0.0, WIDTH - left - 130)
    parts = []
    for place, each in enumerate(bins):
        y = place * row
        parts.append(svg.text(left - 8, y + 14, f"≤ {amount(each.up_to_bytes)}", text_anchor="end"))
        width = max(scale(float(each.files)), 1.0) if each.files else 0.0
        if width:
            parts.append(svg.rectangle(left, y + 3, width, row - 6, "bar"))
            label = f"{units.count(each.files)} ({units.share(each.share)})"
            parts.append(svg.text(left + width + 6, y + 14, label, class_="small"))
    return svg.drawing(
        "sizes-picture",
        "Sizes of the files",
        f"{units.counted(found.files, 'file')} by size, each bin up to twice the size of the one "
        f"before; the median is {amount(found.p50_bytes)}.",
        WIDTH,
        row * len(bins) + 2,
        *parts,
    )


def _short(seconds: float) -> str:
    """A round time without needless digits: `1 ms`, `0 s`, `12.5 s`."""
    number, _, unit = units.duration(seconds).partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"
