"""Callbacks from the server to the client: CB_COMPOUND (RFC 7530 section 17, RFC 8881 section 20).

The program number is the one that the client gave in SETCLIENTID or CREATE_SESSION.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from pcapnfs.synth.builder.nfs4.attributes import fattr4, requested
from pcapnfs.synth.builder.nfs4.types import Stateid
from pcapnfs.synth.builder.rpc import Request
from pcapnfs.synth.builder.xdr import Packer

CB_COMPOUND = 1
CB_GETATTR = 3
CB_RECALL = 4
CB_SEQUENCE = 11


class CallbackCompound:
    """The arguments of one CB_COMPOUND."""

    def __init__(
        self, minor: int = 1, tag: str | bytes = b"", program: int = 0x40000000, ident: int = 0
    ) -> None:
        self.minor = minor
        self.tag = tag
        self.program = program
        self.ident = ident
        self._operations: list[bytes] = []

    def op(self, opcode: int, arguments: bytes = b"") -> Self:
        """Append any operation."""
        self._operations.append(Packer().uint(opcode).raw(arguments).done())
        return self

    def cb_sequence(
        self, session: bytes, sequence: int, slot: int = 0, highest_slot: int = 0
    ) -> Self:
        """CB_SEQUENCE without referring calls."""
        packer = Packer().fixed(session).uints(sequence, slot, highest_slot, 0, 0)
        return self.op(CB_SEQUENCE, packer.done())

    def cb_recall(self, stateid: Stateid, handle: bytes, truncate: bool = False) -> Self:
        """CB_RECALL of a delegation."""
        packer = stateid.pack(Packer()).boolean(truncate).opaque(handle)
        return self.op(CB_RECALL, packer.done())

    def cb_getattr(self, handle: bytes, names: Iterable[str | int]) -> Self:
        """CB_GETATTR."""
        return self.op(CB_GETATTR, Packer().opaque(handle).raw(requested(names)).done())

    def request(self) -> Request:
        """The finished call."""
        packer = Packer().opaque(self.tag).uints(self.minor, self.ident, len(self._operations))
        body = packer.raw(b"".join(self._operations)).done()
        return Request(self.program, 1, CB_COMPOUND, body)


class CallbackReply:
    """The results of one CB_COMPOUND; its status is that of the last operation."""

    def __init__(self, tag: str | bytes = b"") -> None:
        self.tag = tag
        self._status = 0
        self._results: list[bytes] = []

    def op(self, opcode: int, result: bytes = b"", status: int = 0) -> Self:
        """Append any result."""
        self._results.append(Packer().uints(opcode, status).raw(result).done())
        self._status = status
        return self

    def cb_sequence(
        self, session: bytes, sequence: int, slot: int = 0, highest_slot: int = 0
    ) -> Self:
        """CB_SEQUENCE."""
        packer = Packer().fixed(session).uints(sequence, slot, highest_slot, highest_slot)
        return self.op(CB_SEQUENCE, packer.done())

    def cb_recall(self, status: int = 0) -> Self:
        """CB_RECALL."""
        return self.op(CB_RECALL, status=status)

    def cb_getattr(self, attributes: Mapping[str, Any]) -> Self:
        """CB_GETATTR."""
        return self.op(CB_GETATTR, fattr4(attributes))

    def body(self) -> bytes:
        """The finished results."""
        packer = Packer().uint(self._status).opaque(self.tag).uint(len(self._results))
        return packer.raw(b"".join(self._results)).done()
