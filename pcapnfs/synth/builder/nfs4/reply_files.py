"""Results of the operations on handles, names, attributes and data (RFC 7530 section 16)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from pcapnfs.synth.builder.nfs4.attributes import fattr4, requested
from pcapnfs.synth.builder.nfs4.reply_base import ReplyBase
from pcapnfs.synth.builder.nfs4.types import CHANGED, FILE_SYNC4, NFS4ERR_SAME, ChangeInfo, Name, Op
from pcapnfs.synth.builder.rpc import AUTH_SYS, RPCSEC_GSS
from pcapnfs.synth.builder.xdr import Packer


class Entry4(NamedTuple):
    """entry4: cookie, name, attributes (name → value)."""

    cookie: int
    name: Name
    attributes: Mapping[str, Any] = {}


class FileReplies(ReplyBase):
    """The part of ``CompoundReply`` that needs no state."""

    def access(self, allowed: int = 0x1F, supported: int = 0x3F, status: int = 0) -> Self:
        """ACCESS: the bits the server can check, the bits it grants."""
        return self._ok(Op.ACCESS, Packer().uints(supported, allowed), status)

    def commit(self, verifier: bytes = bytes(8), status: int = 0) -> Self:
        """COMMIT."""
        return self._ok(Op.COMMIT, Packer().fixed(verifier), status)

    def create(
        self,
        change: ChangeInfo = CHANGED,
        attributes_set: Iterable[str | int] = (),
        status: int = 0,
    ) -> Self:
        """CREATE."""
        return self._ok(Op.CREATE, change.pack(Packer()).raw(requested(attributes_set)), status)

    def getattr(
        self, attributes: Mapping[str, Any] | None = None, words: int = 0, status: int = 0
    ) -> Self:
        """GETATTR."""
        return self._ok(Op.GETATTR, Packer().raw(fattr4(attributes or {}, words)), status)

    def getfh(self, handle: bytes = b"", status: int = 0) -> Self:
        """GETFH."""
        return self._ok(Op.GETFH, Packer().opaque(handle), status)

    def link(self, change: ChangeInfo = CHANGED, status: int = 0) -> Self:
        """LINK."""
        return self._ok(Op.LINK, change.pack(Packer()), status)

    def lookup(self, status: int = 0) -> Self:
        """LOOKUP."""
        return self.op(Op.LOOKUP, status=status)

    def lookupp(self, status: int = 0) -> Self:
        """LOOKUPP."""
        return self.op(Op.LOOKUPP, status=status)

    def nverify(self, status: int = NFS4ERR_SAME) -> Self:
        """NVERIFY: NFS4ERR_SAME is its usual end."""
        return self.op(Op.NVERIFY, status=status)

    def openattr(self, status: int = 0) -> Self:
        """OPENATTR."""
        return self.op(Op.OPENATTR, status=status)

    def putfh(self, status: int = 0) -> Self:
        """PUTFH."""
        return self.op(Op.PUTFH, status=status)

    def putpubfh(self, status: int = 0) -> Self:
        """PUTPUBFH."""
        return self.op(Op.PUTPUBFH, status=status)

    def putrootfh(self, status: int = 0) -> Self:
        """PUTROOTFH."""
        return self.op(Op.PUTROOTFH, status=status)

    def read(self, data: bytes = b"", eof: bool = False, status: int = 0) -> Self:
        """READ."""
        return self._ok(Op.READ, Packer().boolean(eof).opaque(data), status)

    def readdir(
        self,
        entries: Sequence[Entry4] = (),
        eof: bool = True,
        verifier: bytes = bytes(8),
        status: int = 0,
    ) -> Self:
        """READDIR."""
        packer = Packer().fixed(verifier).linked(entries, _entry).boolean(eof)
        return self._ok(Op.READDIR, packer, status)

    def readlink(self, target: Name = b"", status: int = 0) -> Self:
        """READLINK."""
        return self._ok(Op.READLINK, Packer().opaque(target), status)

    def remove(self, change: ChangeInfo = CHANGED, status: int = 0) -> Self:
        """REMOVE."""
        return self._ok(Op.REMOVE, change.pack(Packer()), status)

    def rename(
        self,
        source: ChangeInfo = CHANGED,
        target: ChangeInfo = CHANGED,
        status: int = 0,
    ) -> Self:
        """RENAME."""
        return self._ok(Op.RENAME, target.pack(source.pack(Packer())), status)

    def restorefh(self, status: int = 0) -> Self:
        """RESTOREFH."""
        return self.op(Op.RESTOREFH, status=status)

    def savefh(self, status: int = 0) -> Self:
        """SAVEFH."""
        return self.op(Op.SAVEFH, status=status)

    def secinfo(self, flavors: Sequence[int] = (AUTH_SYS,), status: int = 0) -> Self:
        """SECINFO; RPCSEC_GSS is sent as krb5 with integrity."""
        return self._ok(Op.SECINFO, Packer().array(flavors, secinfo4), status)

    def setattr(self, attributes_set: Iterable[str | int] = (), status: int = 0) -> Self:
        """SETATTR: the bitmap is sent whatever the status (RFC 7530 section 16.32)."""
        return self.op(Op.SETATTR, requested(attributes_set), status)

    def verify(self, status: int = 0) -> Self:
        """VERIFY."""
        return self.op(Op.VERIFY, status=status)

    def write(
        self,
        count: int = 0,
        committed: int = FILE_SYNC4,
        verifier: bytes = bytes(8),
        status: int = 0,
    ) -> Self:
        """WRITE; count in bytes."""
        return self._ok(Op.WRITE, Packer().uints(count, committed).fixed(verifier), status)


def secinfo4(packer: Packer, flavor: int) -> None:
    """Append a secinfo4; the mechanism of RPCSEC_GSS is krb5 (RFC 7530 section 3.2.1.1)."""
    packer.uint(flavor)
    if flavor == RPCSEC_GSS:
        packer.opaque(bytes.fromhex("2a864886f712010202")).uints(0, 2)


def _entry(packer: Packer, entry: Entry4) -> None:
    packer.hyper(entry.cookie).opaque(entry.name).raw(fattr4(entry.attributes))
