"""Arguments of the operations on handles, names, attributes and data (RFC 7530 section 16)."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from pcapnfs.synth.builder.nfs4.attributes import fattr4, requested
from pcapnfs.synth.builder.nfs4.call_base import CallBase
from pcapnfs.synth.builder.nfs4.types import (
    ANONYMOUS,
    FILE_SYNC4,
    NF4BLK,
    NF4CHR,
    NF4DIR,
    NF4LNK,
    Name,
    Op,
    Stateid,
)
from pcapnfs.synth.builder.xdr import Packer


class FileCalls(CallBase):
    """The part of ``Compound`` that needs no state."""

    def access(self, check: int = 0x1F) -> Self:
        """ACCESS: READ 1, LOOKUP 2, MODIFY 4, EXTEND 8, DELETE 16, EXECUTE 32."""
        return self.op(Op.ACCESS, Packer().uint(check).done())

    def commit(self, offset: int = 0, count: int = 0) -> Self:
        """COMMIT; count 0 means up to the end of the file."""
        return self.op(Op.COMMIT, Packer().hyper(offset).uint(count).done())

    def create(
        self,
        name: Name,
        type: int = NF4DIR,
        attributes: Mapping[str, Any] | None = None,
        target: Name = b"",
        device: tuple[int, int] = (0, 0),
    ) -> Self:
        """CREATE: everything but regular files; ``target`` for links, ``device`` for nodes."""
        packer = Packer().uint(type)
        if type == NF4LNK:
            packer.opaque(target)
        elif type in (NF4BLK, NF4CHR):
            packer.uints(*device)
        return self.op(Op.CREATE, packer.opaque(name).raw(fattr4(attributes or {})).done())

    def getattr(self, names: Iterable[str | int], words: int = 0) -> Self:
        """GETATTR; ``words`` widens the bitmap, as some clients do."""
        return self.op(Op.GETATTR, requested(names, words))

    def getfh(self) -> Self:
        """GETFH."""
        return self.op(Op.GETFH)

    def link(self, name: Name) -> Self:
        """LINK: the saved handle's object gets a name in the current directory."""
        return self.op(Op.LINK, Packer().opaque(name).done())

    def lookup(self, name: Name) -> Self:
        """LOOKUP."""
        return self.op(Op.LOOKUP, Packer().opaque(name).done())

    def lookupp(self) -> Self:
        """LOOKUPP."""
        return self.op(Op.LOOKUPP)

    def nverify(self, attributes: Mapping[str, Any]) -> Self:
        """NVERIFY: go on if the attributes differ."""
        return self.op(Op.NVERIFY, fattr4(attributes))

    def openattr(self, create: bool = False) -> Self:
        """OPENATTR: the directory of named attributes."""
        return self.op(Op.OPENATTR, Packer().boolean(create).done())

    def putfh(self, handle: bytes) -> Self:
        """PUTFH."""
        return self.op(Op.PUTFH, Packer().opaque(handle).done())

    def putpubfh(self) -> Self:
        """PUTPUBFH."""
        return self.op(Op.PUTPUBFH)

    def putrootfh(self) -> Self:
        """PUTROOTFH."""
        return self.op(Op.PUTROOTFH)

    def read(self, offset: int, count: int, stateid: Stateid = ANONYMOUS) -> Self:
        """READ."""
        return self.op(Op.READ, stateid.pack(Packer()).hyper(offset).uint(count).done())

    def readdir(
        self,
        names: Iterable[str | int] = (),
        cookie: int = 0,
        verifier: bytes = bytes(8),
        dircount: int = 8192,
        maxcount: int = 32768,
    ) -> Self:
        """READDIR; ``names`` are the attributes wanted with each entry."""
        packer = Packer().hyper(cookie).fixed(verifier).uints(dircount, maxcount)
        return self.op(Op.READDIR, packer.raw(requested(names)).done())

    def readlink(self) -> Self:
        """READLINK."""
        return self.op(Op.READLINK)

    def remove(self, name: Name) -> Self:
        """REMOVE."""
        return self.op(Op.REMOVE, Packer().opaque(name).done())

    def rename(self, old: Name, new: Name) -> Self:
        """RENAME from the saved into the current directory."""
        return self.op(Op.RENAME, Packer().opaque(old).opaque(new).done())

    def restorefh(self) -> Self:
        """RESTOREFH."""
        return self.op(Op.RESTOREFH)

    def savefh(self) -> Self:
        """SAVEFH."""
        return self.op(Op.SAVEFH)

    def secinfo(self, name: Name) -> Self:
        """SECINFO."""
        return self.op(Op.SECINFO, Packer().opaque(name).done())

    def setattr(self, attributes: Mapping[str, Any], stateid: Stateid = ANONYMOUS) -> Self:
        """SETATTR."""
        return self.op(Op.SETATTR, stateid.pack(Packer()).raw(fattr4(attributes)).done())

    def verify(self, attributes: Mapping[str, Any]) -> Self:
        """VERIFY: go on if the attributes are the same."""
        return self.op(Op.VERIFY, fattr4(attributes))

    def write(
        self,
        offset: int,
        data: bytes,
        stable: int = FILE_SYNC4,
        stateid: Stateid = ANONYMOUS,
    ) -> Self:
        """WRITE."""
        packer = stateid.pack(Packer()).hyper(offset).uint(stable)
        return self.op(Op.WRITE, packer.opaque(data).done())
