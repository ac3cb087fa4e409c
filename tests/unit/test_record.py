"""Records are what frozen dataclasses with slots are, and every one of the package can be told."""

from __future__ import annotations

import importlib
import inspect
import math
import pickle
import pkgutil
import pydoc
import re
from typing import TYPE_CHECKING

import pytest

import pcapnfs
from pcapnfs.record import Record, names, plain, replace

if TYPE_CHECKING:
    from decimal import Decimal


class Pair(Record):
    """Two values."""

    first: int
    """The first."""
    second: Decimal | None = None
    """Of a type that is there for type checkers only; None: unknown."""

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("negative")

    @property
    def doubled(self) -> int:
        return 2 * self.first


class Triple(Pair):
    """A value more."""

    third: tuple[int, ...] = ()
    """The third."""


def test_values_go_in_by_place_and_by_name() -> None:
    assert Triple(1, None, (3,)) == Triple(third=(3,), first=1)
    assert (Triple(1).first, Triple(1).second, Triple(1).third) == (1, None, ())
    assert Pair(4).doubled == 8
    with pytest.raises(TypeError, match="first"):
        Pair()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="fourth"):
        Pair(1, fourth=3)  # type: ignore[call-arg]


def test_equal_values_of_one_class_are_equal() -> None:
    assert Pair(1) == Pair(1) != Pair(2)
    assert Pair(1) != Triple(1)
    assert len({Pair(1), Pair(1), Pair(2)}) == 2
    assert repr(Triple(1, third=(2,))) == "Triple(first=1, second=None, third=(2,))"
    assert Pair(1) != Pair(math.nan)  # type: ignore[arg-type]


def test_nothing_can_be_changed_or_added() -> None:
    record = Pair(1)
    with pytest.raises(AttributeError):
        record.first = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        record.other = 2  # type: ignore[attr-defined]
    assert not hasattr(record, "__dict__")


def test_a_copy_with_other_values_is_checked_as_the_first_was() -> None:
    record = Triple(1, third=(3,))
    assert replace(record, first=2) == Triple(2, third=(3,))
    assert record.first == 1
    with pytest.raises(ValueError, match="negative"):
        replace(record, first=-1)
    with pytest.raises(TypeError, match="fourth"):
        replace(record, fourth=1)  # type: ignore[call-arg]


def test_fields_are_known_by_their_order() -> None:
    assert names(Triple) == names(Triple(1)) == ("first", "second", "third")
    assert plain(Triple(1)) == {"first": 1, "second": None, "third": ()}
    assert plain(Pair(1, Pair(2)))["second"] == {"first": 2, "second": None}  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(Triple(1, third=(2,)))) == Triple(1, third=(2,))
    match Triple(5):
        case Pair(first, second):
            assert (first, second) == (5, None)


def records() -> list[type[Record]]:
    """Every record of the package."""
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(pcapnfs.__path__, "pcapnfs.")
        if not module.name.endswith("__main__")
    ]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Record) and value is not Record
    ]


def test_help_tells_what_every_record_takes() -> None:
    assert str(inspect.signature(Triple)) == (
        "(first: 'int', second: 'Decimal | None' = None, third: 'tuple[int, ...]' = ())"
    )
    found = records()
    assert len(found) > 150
    for record in found:
        assert list(inspect.signature(record).parameters) == list(names(record))
    # From Python 3.13 on each parameter has a line, from 3.14 on types have no quotes.
    shown = re.sub(r"[\s|']", "", pydoc.plain(pydoc.render_doc(Triple)))
    assert "Triple(first:int,second:" in shown
