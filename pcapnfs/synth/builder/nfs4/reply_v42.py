"""Results of NFSv4.2's operations (RFC 7862 section 15) and of xattrs (RFC 8276 section 8)."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from pcapnfs.synth.builder.nfs4.reply_base import ReplyBase
from pcapnfs.synth.builder.nfs4.types import CHANGED, FILE_SYNC4, ChangeInfo, Name, Op, Stateid
from pcapnfs.synth.builder.xdr import Packer


class Data(NamedTuple):
    """READ_PLUS segment NFS4_CONTENT_DATA."""

    offset: int
    data: bytes


class Hole(NamedTuple):
    """READ_PLUS segment NFS4_CONTENT_HOLE."""

    offset: int
    length: int


class Version42Replies(ReplyBase):
    """The part of ``CompoundReply`` that came with minor version 2."""

    def allocate(self, status: int = 0) -> Self:
        """ALLOCATE."""
        return self.op(Op.ALLOCATE, status=status)

    def deallocate(self, status: int = 0) -> Self:
        """DEALLOCATE."""
        return self.op(Op.DEALLOCATE, status=status)

    def clone(self, status: int = 0) -> Self:
        """CLONE."""
        return self.op(Op.CLONE, status=status)

    def copy(
        self,
        count: int = 0,
        committed: int = FILE_SYNC4,
        verifier: bytes = bytes(8),
        callback: Stateid | None = None,
        consecutive: bool = True,
        synchronous: bool = True,
        status: int = 0,
    ) -> Self:
        """COPY; ``callback`` identifies a copy that goes on asynchronously."""
        packer = Packer().optional(callback, lambda p, value: value.pack(p))
        packer.hyper(count).uint(committed).fixed(verifier)
        return self._ok(Op.COPY, packer.boolean(consecutive).boolean(synchronous), status)

    def offload_status(self, count: int = 0, complete: int | None = None, status: int = 0) -> Self:
        """OFFLOAD_STATUS: bytes copied, and the final status once there is one."""
        packer = Packer().hyper(count).optional(complete, Packer.uint)
        return self._ok(Op.OFFLOAD_STATUS, packer, status)

    def offload_cancel(self, status: int = 0) -> Self:
        """OFFLOAD_CANCEL."""
        return self.op(Op.OFFLOAD_CANCEL, status=status)

    def seek(self, offset: int = 0, eof: bool = False, status: int = 0) -> Self:
        """SEEK."""
        return self._ok(Op.SEEK, Packer().boolean(eof).hyper(offset), status)

    def read_plus(
        self, contents: Sequence[Data | Hole] = (), eof: bool = False, status: int = 0
    ) -> Self:
        """READ_PLUS."""
        packer = Packer().boolean(eof).array(contents, _content)
        return self._ok(Op.READ_PLUS, packer, status)

    def getxattr(self, value: bytes = b"", status: int = 0) -> Self:
        """GETXATTR."""
        return self._ok(Op.GETXATTR, Packer().opaque(value), status)

    def setxattr(self, change: ChangeInfo = CHANGED, status: int = 0) -> Self:
        """SETXATTR."""
        return self._ok(Op.SETXATTR, change.pack(Packer()), status)

    def listxattrs(
        self, names: Sequence[Name] = (), cookie: int = 0, eof: bool = True, status: int = 0
    ) -> Self:
        """LISTXATTRS."""
        packer = Packer().hyper(cookie).array(names, Packer.opaque).boolean(eof)
        return self._ok(Op.LISTXATTRS, packer, status)

    def removexattr(self, change: ChangeInfo = CHANGED, status: int = 0) -> Self:
        """REMOVEXATTR."""
        return self._ok(Op.REMOVEXATTR, change.pack(Packer()), status)


def _content(packer: Packer, content: Data | Hole) -> None:
    if isinstance(content, Data):
        packer.uint(0).hyper(content.offset).opaque(content.data)
    else:
        packer.uint(1).hypers(content.offset, content.length)
