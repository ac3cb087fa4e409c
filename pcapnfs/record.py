"""What results are made of: frozen values with named, documented fields.

Takes the annotated fields of a class below `Record`; gives its constructor, equality, hash and
repr, slots and immutability, as a frozen dataclass with slots has them. Promises that a class costs
next to nothing to create: there are hundreds, and a dataclass writes and compiles the text of its
methods (0.55 ms each, against 0.02 ms here), which was a seventh of the time of a small capture's
summary. That msgspec does it is known here only; type checkers take records for dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from msgspec import NODEFAULT, Struct, StructMeta, json, structs

Value = TypeVar("Value")

if TYPE_CHECKING:
    from dataclasses import replace as replace
    from inspect import Signature
    from typing import Any, dataclass_transform

    @dataclass_transform(frozen_default=True)
    class Record:
        """A frozen value; its fields are the annotations of its class."""

else:

    class _Told(StructMeta):
        @property
        def __signature__(self) -> Signature:
            """What `help` shows; msgspec's wants what only type checkers import."""
            return _signature(self)

    class Record(Struct, frozen=True, metaclass=_Told):
        """A frozen value; its fields are the annotations of its class."""

    def replace(record, /, **changes):  # noqa: ANN001, ANN003, ANN201  # typed above
        """The same with other values in some fields.

        Raises:
            TypeError: There is no such field.
        """
        return structs.replace(record, **changes)


def names(record: Record | type[Record]) -> tuple[str, ...]:
    """The names of its fields, in their order."""
    found: tuple[str, ...] = record.__struct_fields__  # type: ignore[union-attr]  # Struct's
    return found


def defaults(kind: type[Record]) -> dict[str, Any]:
    """The values that its fields have where none is given, by their names, in their order."""
    fields, given = kind.__struct_fields__, kind.__struct_defaults__  # type: ignore[attr-defined]
    found = zip(fields[len(fields) - len(given) :], given, strict=True)
    return {name: value for name, value in found if value is not NODEFAULT}


def fields(record: Record) -> dict[str, Any]:
    """Its values by the names of their fields, in their order."""
    found: dict[str, Any] = structs.asdict(record)  # type: ignore[arg-type]  # a Struct
    return found


def plain(record: Record) -> dict[str, Any]:
    """Its values by the names of their fields; a field that is a record likewise."""
    return {
        name: plain(value) if isinstance(value, Record) else value
        for name, value in fields(record).items()
    }


def values(record: Record) -> tuple[Any, ...]:
    """The values of its fields, in their order."""
    found: tuple[Any, ...] = structs.astuple(record)  # type: ignore[arg-type]  # a Struct
    return found


def encoded(value: Record | tuple[Any, ...]) -> bytes:
    """A record, or a tuple of numbers and texts, in one line."""
    return json.encode(value)


def spread(text: str) -> str:
    """JSON with a line for each value, as `json.dumps` gives it with an indent of 2."""
    return json.format(text, indent=2)


def decoder(kind: type[Value]) -> Callable[[bytes], Value]:
    """What makes values of such lines again.

    Args:
        kind: A record's class, whose hints name what its module imports when it runs; or `tuple`.
    """
    return json.Decoder(kind).decode


def _signature(cls: StructMeta) -> Signature:
    from inspect import Parameter, Signature, get_annotations

    hints = {
        name: hint for each in cls.__mro__[::-1] for name, hint in get_annotations(each).items()
    }
    fields, defaults = cls.__struct_fields__, cls.__struct_defaults__
    missing = (NODEFAULT,) * (len(fields) - len(defaults))
    return Signature(
        [
            Parameter(
                name,
                Parameter.POSITIONAL_OR_KEYWORD,
                default=Parameter.empty if default is NODEFAULT else default,
                annotation=hints[name],
            )
            for name, default in zip(fields, missing + defaults, strict=True)
        ]
    )
