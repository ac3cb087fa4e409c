"""A result as JSON: its fields are the keys.

Takes a frozen result; gives plain values or text. Promises that unknown is null, that there is
neither NaN nor Infinity, and that a text from the capture cannot reach the terminal as a control
character.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, cast

from pcapnfs.record import Record, fields, names, spread, values
from pcapnfs.spilled import Kept


def document(result: object) -> object:
    """Plain dicts, lists, strings, numbers, booleans and None, keys in the order of the fields.

    Raises:
        TypeError: The result holds something that JSON has no word for.
    """
    if type(result) in _PLAIN:
        return result
    if isinstance(result, Record):
        # Most fields are plain: a list of many files spends its time here.
        return {
            name: value if type(value) in _PLAIN else document(value)
            for name in names(result)
            for value in (getattr(result, name),)
        }
    if isinstance(result, Mapping):
        return {str(key): document(value) for key, value in result.items()}
    if isinstance(result, tuple | list | Kept):
        return [document(value) for value in result]
    if isinstance(result, str | bool | int | float):
        return result
    raise TypeError(f"{type(result).__name__} has no place in a document")


FEW = 100
"""Items that are converted at once, those of lists within them counted: of calls with an operation
each, one by one took three times as long."""

STEP = 2
"""Blanks by which each level stands further in."""

PIECE = 1 << 16
"""Characters that are given at once, or somewhat more; a call has some 1,500."""

_PLAIN = frozenset((type(None), str, bool, int, float))
_LISTS = frozenset((tuple, Kept))


def _simpler(value: object) -> object:
    """What the encoder knows in place of what it does not."""
    if isinstance(value, Record):
        return fields(value)
    if isinstance(value, Mapping):
        return {str(key): each for key, each in value.items()}
    if isinstance(value, Kept):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no place in a document")


# With an indent of its own, Python's code would go through it word by word: that took three fifths
# of what a call of a sequence does.
_encode = json.JSONEncoder(allow_nan=False, check_circular=False, default=_simpler).encode


def to_json(result: object) -> str:
    """A result as indented JSON in ASCII, with a line end; docs/json.md has its keys.

    Raises:
        TypeError: It is no result, and holds something that JSON has no word for.
        ValueError: A number is not finite: an analysis forgot to say None.
    """
    return "".join(json_pieces(result))


def json_pieces(result: object) -> Iterator[str]:
    """The same piece by piece: as one text, 41,000 files took 300 MB.

    Raises:
        TypeError: As of `to_json`.
        ValueError: Likewise.
    """
    yield from _joined(chain(_words(result), "\n"))


def indented(head: Mapping[str, object], key: str, items: Iterable[object]) -> Iterator[str]:
    """What `to_json` gives of an object that ends with a long list, piece by piece.

    An item may be as long itself: it comes in pieces, too.

    Args:
        head: What stands before the list; something does.
        key: The key of the list.
        items: What is in it.

    Raises:
        ValueError: A number is not finite.
    """
    begin = _text(head, "")[:-2] + f',\n  "{key}": '
    yield from _joined(chain([begin], _listed(items, "  "), ["\n}\n"]))


def _joined(words: Iterable[str]) -> Iterator[str]:
    """The words, many at a time."""
    held: list[str] = []
    size = 0
    for word in words:
        held.append(word)
        size += len(word)
        if size >= PIECE:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


def _words(result: object, margin: str = "") -> Iterator[str]:
    """The text of a result, some of it at a time; its lines but the first begin with a margin."""
    if _within(result) <= FEW:
        yield _text(result, margin)
    elif type(result) in _LISTS:
        yield from _listed(cast("Iterable[object]", result), margin)
    else:
        separator = "{"
        for name, value in _parts(result):
            yield f"{separator}\n{margin}  {_encode(name)}: "
            yield from _words(value, margin + "  ")
            separator = ","
        yield f"\n{margin}}}"


def _within(result: object) -> int:
    """How many items it has as a list, or the lists in it."""
    if isinstance(result, Record):
        within: Iterable[object] = values(result)
    elif isinstance(result, Mapping):
        within = result.values()
    else:
        within = (result,)
    # To ask each value whether it is a `Kept`, an abstract class, would take longer than its text.
    return sum(len(cast("Kept[Any]", value)) for value in within if type(value) in _LISTS)


def _parts(result: object) -> Iterator[tuple[str, object]]:
    """Keys and values of what is an object as JSON."""
    if isinstance(result, Record):
        return ((name, getattr(result, name)) for name in names(result))
    if isinstance(result, Mapping):
        return ((str(key), value) for key, value in result.items())
    return iter(())


def _listed(items: Iterable[object], margin: str) -> Iterator[str]:
    """The text of a list, some items at a time, likewise."""
    separator = "["
    some: list[object] = []
    held = 0
    for item in items:
        within = _within(item)
        if some and held + within >= FEW:
            yield separator + _text(some, margin)[1 : -len(margin) - 2]
            separator, some, held = ",", [], 0
        if within > FEW:
            yield f"{separator}\n{margin}  "
            yield from _words(item, margin + "  ")
            separator = ","
        else:
            some.append(item)
            held += 1 + within
    if some:
        yield separator + _text(some, margin)[1 : -len(margin) - 2]
        separator = ","
    yield "[]" if separator == "[" else f"\n{margin}]"


def _text(result: object, margin: str) -> str:
    """The text of all of it, likewise."""
    # In as many lists as the margin is deep, which a search for line ends would take longer than.
    deep = len(margin) // STEP
    spread_out = spread("[" * deep + _encode(result) + "]" * deep)
    around = sum(2 + STEP * level for level in range(deep))
    return spread_out[around + len(margin) : len(spread_out) - around]


def pieces(key: str, items: Iterable[object], rest: Mapping[str, object]) -> Iterator[str]:
    """An object of a long list and what follows it, piece by piece: an item a line.

    `rest` is read after the last item, so that it may hold what was counted on the way.

    Raises:
        ValueError: A number is not finite.
    """
    separator = f'{{\n  "{key}": ['
    for item in items:
        yield f"{separator}\n    {_encode(item)}"
        separator = ","
    yield (separator if separator != "," else "") + "\n  ],\n"
    yield _text(rest, "")[2:] + "\n"
