"""Drawings as text: elements of SVG, and scales from values to places.

Takes numbers and text; gives SVG in which every text and attribute is escaped. There is neither
style nor script in it: colours come from the page by class.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape as html_escape

Scale = Callable[[float], float]
"""From a value to a place in the drawing."""


def element(name: str, *children: str, **attributes: object) -> str:
    """An element; `class_` is written class, `text_anchor` text-anchor. None leaves one out.

    Children are elements already written; texts go through `text`.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html_escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>"


def text(x: float, y: float, content: str, **attributes: object) -> str:
    """A line of text, escaped."""
    return element("text", html_escape(content), x=x, y=y, **attributes)


def drawing(
    anchor: str,
    title: str,
    description: str,
    width: float,
    height: float,
    *parts: str,
    links: bool = False,
) -> str:
    """A drawing that says what it shows to those who do not see it.

    To them an image is one thing; a drawing with `links` in it is a group, so that they are told.
    """
    return element(
        "svg",
        element("title", html_escape(title), id=f"{anchor}-title"),
        element("desc", html_escape(description), id=f"{anchor}-desc"),
        *parts,
        role="group" if links else "img",
        aria_labelledby=f"{anchor}-title {anchor}-desc",
        viewBox=f"0 0 {_value(width)} {_value(height)}",
    )


def rectangle(x: float, y: float, width: float, height: float, class_: str, tip: str = "") -> str:
    """A rectangle, with what a pointer that rests on it shows."""
    tips = (element("title", html_escape(tip)),) if tip else ()
    return element("rect", *tips, x=x, y=y, width=width, height=height, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def linear(low: float, high: float, first: float, last: float) -> Scale:
    """Equal steps of the value are equal steps of the place."""
    width = high - low or 1.0
    return lambda value: first + (min(max(value, low), high) - low) / width * (last - first)


def logarithmic(low: float, high: float, first: float, last: float) -> Scale:
    """Equal factors of the value are equal steps of the place; both ends are above zero."""
    inner = linear(math.log10(low), math.log10(high), first, last)
    return lambda value: inner(math.log10(max(value, low)))


def decades(low: float, high: float) -> list[float]:
    """The powers of ten within a range."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**power for power in range(first, last + 1)]


def round_steps(high: float, number: int = 4) -> list[float]:
    """Round values from 0 to a maximum, about as many as asked for."""
    if high <= 0:
        return [0.0]
    rough = high / number
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= rough * 0.999)
    return [step * place for place in range(math.floor(high / step + 1e-9) + 1)]


def _value(value: object) -> str:
    """A tenth of a pixel is enough."""
    if isinstance(value, float):
        rounded = round(value, 1)
        return str(int(rounded)) if rounded == int(rounded) else str(rounded)
    return str(value)
