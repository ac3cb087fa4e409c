"""Arguments of NFSv4.2's operations (RFC 7862 section 15) and of xattrs (RFC 8276 section 8)."""

from typing import Self

from pcapnfs.synth.builder.nfs4.call_base import CallBase
from pcapnfs.synth.builder.nfs4.types import Name, Op, Stateid
from pcapnfs.synth.builder.xdr import Packer


class Version42Calls(CallBase):
    """The part of ``Compound`` that came with minor version 2."""

    def allocate(self, stateid: Stateid, offset: int, length: int) -> Self:
        """ALLOCATE."""
        return self.op(Op.ALLOCATE, stateid.pack(Packer()).hypers(offset, length).done())

    def deallocate(self, stateid: Stateid, offset: int, length: int) -> Self:
        """DEALLOCATE."""
        return self.op(Op.DEALLOCATE, stateid.pack(Packer()).hypers(offset, length).done())

    def clone(
        self,
        source: Stateid,
        destination: Stateid,
        source_offset: int = 0,
        destination_offset: int = 0,
        count: int = 0,
    ) -> Self:
        """CLONE from the saved into the current file; count 0 means up to the end."""
        packer = destination.pack(source.pack(Packer()))
        packer.hypers(source_offset, destination_offset, count)
        return self.op(Op.CLONE, packer.done())

    def copy(
        self,
        source: Stateid,
        destination: Stateid,
        source_offset: int = 0,
        destination_offset: int = 0,
        count: int = 0,
        consecutive: bool = True,
        synchronous: bool = True,
    ) -> Self:
        """COPY within one server, from the saved into the current file."""
        packer = destination.pack(source.pack(Packer()))
        packer.hypers(source_offset, destination_offset, count)
        return self.op(Op.COPY, packer.boolean(consecutive).boolean(synchronous).uint(0).done())

    def offload_status(self, stateid: Stateid) -> Self:
        """OFFLOAD_STATUS."""
        return self.op(Op.OFFLOAD_STATUS, stateid.pack(Packer()).done())

    def offload_cancel(self, stateid: Stateid) -> Self:
        """OFFLOAD_CANCEL."""
        return self.op(Op.OFFLOAD_CANCEL, stateid.pack(Packer()).done())

    def seek(self, stateid: Stateid, offset: int, what: int = 0) -> Self:
        """SEEK; what DATA 0, HOLE 1."""
        return self.op(Op.SEEK, stateid.pack(Packer()).hyper(offset).uint(what).done())

    def read_plus(self, offset: int, count: int, stateid: Stateid) -> Self:
        """READ_PLUS."""
        return self.op(Op.READ_PLUS, stateid.pack(Packer()).hyper(offset).uint(count).done())

    def getxattr(self, name: Name) -> Self:
        """GETXATTR."""
        return self.op(Op.GETXATTR, Packer().opaque(name).done())

    def setxattr(self, name: Name, value: bytes, option: int = 0) -> Self:
        """SETXATTR; option EITHER 0, CREATE 1, REPLACE 2."""
        return self.op(Op.SETXATTR, Packer().uint(option).opaque(name).opaque(value).done())

    def listxattrs(self, cookie: int = 0, maxcount: int = 4096) -> Self:
        """LISTXATTRS."""
        return self.op(Op.LISTXATTRS, Packer().hyper(cookie).uint(maxcount).done())

    def removexattr(self, name: Name) -> Self:
        """REMOVEXATTR."""
        return self.op(Op.REMOVEXATTR, Packer().opaque(name).done())
