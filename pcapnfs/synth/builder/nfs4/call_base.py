"""What every COMPOUND call has: tag, minor version, operations in order."""

from typing import Self

from pcapnfs.synth.builder.rpc import NFS_PROGRAM, Request
from pcapnfs.synth.builder.xdr import Packer

VERSION = 4
COMPOUND = 1


class CallBase:
    """Collects argument operations."""

    def __init__(self, minor: int = 1, tag: str | bytes = b"") -> None:
        self.minor = minor
        self.tag = tag
        self.opcodes: list[int] = []
        self._operations: list[bytes] = []

    def op(self, opcode: int, arguments: bytes = b"") -> Self:
        """Append any operation with arguments that are XDR already (or are not, on purpose)."""
        self.opcodes.append(int(opcode))
        self._operations.append(Packer().uint(opcode).raw(arguments).done())
        return self

    def request(self, count: int | None = None) -> Request:
        """The finished call; ``count`` lies about the number of operations."""
        packer = Packer().opaque(self.tag).uint(self.minor)
        packer.uint(len(self._operations) if count is None else count)
        body = packer.raw(b"".join(self._operations)).done()
        return Request(NFS_PROGRAM, VERSION, COMPOUND, body)
