"""What every COMPOUND reply has: status, tag, results in order."""

from typing import Self

from pcapnfs.synth.builder.nfs4.types import NFS4_OK
from pcapnfs.synth.builder.xdr import Packer


class ReplyBase:
    """Collects result operations; the compound's status is that of the last one."""

    def __init__(self, tag: str | bytes = b"") -> None:
        self.tag = tag
        self.opcodes: list[int] = []
        self._status = NFS4_OK
        self._results: list[bytes] = []

    def op(self, opcode: int, result: bytes = b"", status: int = NFS4_OK) -> Self:
        """Append any result; ``result`` is what follows the status, sent whatever the status."""
        self.opcodes.append(int(opcode))
        self._results.append(Packer().uints(opcode, status).raw(result).done())
        self._status = status
        return self

    def body(self, status: int | None = None, count: int | None = None) -> bytes:
        """The finished results; ``status`` and ``count`` override what was collected."""
        packer = Packer().uint(self._status if status is None else status).opaque(self.tag)
        packer.uint(len(self._results) if count is None else count)
        return packer.raw(b"".join(self._results)).done()

    def _ok(self, opcode: int, packer: Packer, status: int) -> Self:
        """Append a result whose body exists only when the operation succeeded."""
        return self.op(opcode, packer.done() if status == NFS4_OK else b"", status)
