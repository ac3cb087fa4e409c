"""A result as JSON: its fields are the keys.

Takes a frozen result; gives plain values or text. Promises that unknown is null, that there is
neither NaN nor Infinity, and that a text from the capture cannot reach the terminal as a control
character.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from pcapnfs.record import Record, names
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
"""Parts of a list up to which it is converted at once: one by one, those of many calls would take a
fifth longer."""

WORDS_AT_A_TIME = 10_000
"""Keys, values and marks that are written at once; a call has some 150."""

_PLAIN = frozenset((type(None), str, bool, int, float))


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
    yield from _words(result)
    yield "\n"


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
    yield json.dumps(document(head), indent=2, allow_nan=False)[:-2] + f',\n  "{key}": ['
    separator = ""
    for item in items:
        yield f"{separator}\n    "
        for piece in _words(item):
            # No text has a line end of its own: JSON escapes them.
            yield piece.replace("\n", "\n    ")
        separator = ","
    yield ("\n  " if separator else "") + "]\n}\n"


def _words(result: object) -> Iterator[str]:
    """The text of a result, some of it at a time."""
    encoder = json.JSONEncoder(indent=2, allow_nan=False, check_circular=False, default=_fields)
    words = encoder.iterencode(result)
    while piece := "".join(islice(words, WORDS_AT_A_TIME)):
        yield piece


def _fields(result: object) -> object:
    """What a result holds, whose long lists are left for later."""
    if not isinstance(result, Record):
        return document(result)
    return {
        name: _later(value)
        if isinstance(value, tuple | Kept) and len(value) > FEW
        else document(value)
        for name in names(result)
        for value in (getattr(result, name),)
    }


def _later(items: tuple[object, ...] | Kept[Any]) -> tuple[object, ...] | list[object]:
    return _Streamed(items) if isinstance(items, Kept) else items


class _Streamed(list[object]):
    """Rows as the encoder takes them: as a list, which it goes over by its iterator."""

    def __init__(self, rows: Kept[Any]) -> None:
        super().__init__()
        self._rows = rows

    def __iter__(self) -> Iterator[object]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def pieces(key: str, items: Iterable[object], rest: Mapping[str, object]) -> Iterator[str]:
    """An object of a long list and what follows it, piece by piece: an item a line.

    `rest` is read after the last item, so that it may hold what was counted on the way.

    Raises:
        ValueError: A number is not finite.
    """
    separator = f'{{\n  "{key}": ['
    encode = json.JSONEncoder(allow_nan=False).encode
    for item in items:
        yield f"{separator}\n    {encode(document(item))}"
        separator = ","
    yield (separator if separator != "," else "") + "\n  ],\n"
    yield json.dumps(document(rest), indent=2, allow_nan=False)[2:] + "\n"
