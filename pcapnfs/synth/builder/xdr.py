"""XDR (RFC 4506): values in, big-endian bytes padded to four out.

A value that does not fit its type raises ``struct.error``.  Lies that the tests need (a length
larger than what follows, a padding that is not zero) are written with ``uint`` and ``fixed``.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Self, TypeVar

Item = TypeVar("Item")


class Packer:
    """Collects XDR items in order; every method returns the packer itself."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def uint(self, value: int) -> Self:
        """Unsigned integer, 4 bytes (RFC 4506 section 4.2)."""
        self._parts.append(struct.pack(">I", value))
        return self

    def uints(self, *values: int) -> Self:
        """Several unsigned integers in a row."""
        self._parts.append(struct.pack(f">{len(values)}I", *values))
        return self

    def hyper(self, value: int) -> Self:
        """Unsigned hyper integer, 8 bytes (section 4.5)."""
        self._parts.append(struct.pack(">Q", value))
        return self

    def hypers(self, *values: int) -> Self:
        """Several unsigned hyper integers in a row."""
        self._parts.append(struct.pack(f">{len(values)}Q", *values))
        return self

    def signed_hyper(self, value: int) -> Self:
        """Signed hyper integer, 8 bytes (section 4.5)."""
        self._parts.append(struct.pack(">q", value))
        return self

    def boolean(self, value: bool) -> Self:
        """Boolean, 4 bytes (section 4.4)."""
        return self.uint(1 if value else 0)

    def fixed(self, value: bytes) -> Self:
        """Fixed-length opaque with its padding, without a length (section 4.9)."""
        self._parts.append(value + bytes(-len(value) % 4))
        return self

    def opaque(self, value: bytes | str) -> Self:
        """Variable-length opaque or string: length, bytes, padding (sections 4.10, 4.11)."""
        data = value.encode() if isinstance(value, str) else value
        return self.uint(len(data)).fixed(data)

    def optional(self, value: Item | None, pack: Callable[["Packer", Item], object]) -> Self:
        """Optional data: a boolean, then the value if there is one (section 4.19)."""
        self.boolean(value is not None)
        if value is not None:
            pack(self, value)
        return self

    def array(self, items: Iterable[Item], pack: Callable[["Packer", Item], object]) -> Self:
        """Variable-length array: count, then the items (section 4.13)."""
        known = list(items)
        self.uint(len(known))
        for item in known:
            pack(self, item)
        return self

    def uint_array(self, values: Iterable[int]) -> Self:
        """Variable-length array of unsigned integers."""
        return self.array(values, Packer.uint)

    def linked(self, items: Iterable[Item], pack: Callable[["Packer", Item], object]) -> Self:
        """Linked list: TRUE before each item, FALSE at the end (section 4.19)."""
        for item in items:
            self.boolean(True)
            pack(self, item)
        return self.boolean(False)

    def raw(self, data: bytes) -> Self:
        """Bytes that are XDR already, or that are meant not to be."""
        self._parts.append(data)
        return self

    def done(self) -> bytes:
        """Everything packed so far."""
        return b"".join(self._parts)
