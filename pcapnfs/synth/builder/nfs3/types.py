"""The structures that NFSv3's arguments and results share (RFC 1813 section 2.6).

Times are integer nanoseconds since 1970; the wire has seconds and nanoseconds, 32 bits each.
"""

from typing import Literal, NamedTuple

from pcapnfs.record import Record
from pcapnfs.synth.builder.xdr import Packer

# ftype3
NF3REG = 1
NF3DIR = 2
NF3BLK = 3
NF3CHR = 4
NF3LNK = 5
NF3SOCK = 6
NF3FIFO = 7

# stable_how
UNSTABLE = 0
DATA_SYNC = 1
FILE_SYNC = 2

# createmode3
UNCHECKED = 0
GUARDED = 1
EXCLUSIVE = 2

SetTime = int | Literal["server"] | None
"""How a SETATTR sets a time: not at all, to the server's clock, to these nanoseconds."""


class Fattr3(Record):
    """fattr3 (RFC 1813 section 2.6): 84 bytes on the wire."""

    type: int = NF3REG
    mode: int = 0o644
    nlink: int = 1
    uid: int = 0
    gid: int = 0
    size: int = 0
    used: int = 0
    rdev: tuple[int, int] = (0, 0)
    fsid: int = 1
    fileid: int = 1
    atime_ns: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0

    def pack(self, packer: Packer) -> Packer:
        """Append the structure."""
        packer.uints(self.type, self.mode, self.nlink, self.uid, self.gid)
        packer.hypers(self.size, self.used).uints(*self.rdev).hypers(self.fsid, self.fileid)
        for moment in (self.atime_ns, self.mtime_ns, self.ctime_ns):
            nfstime3(packer, moment)
        return packer


class Sattr3(Record):
    """sattr3: what to set; None leaves an attribute alone."""

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    size: int | None = None
    atime: SetTime = None
    mtime: SetTime = None

    def pack(self, packer: Packer) -> Packer:
        """Append the structure."""
        for value in (self.mode, self.uid, self.gid):
            packer.optional(value, Packer.uint)
        packer.optional(self.size, Packer.hyper)
        for moment in (self.atime, self.mtime):
            if moment is None:
                packer.uint(0)
            elif moment == "server":
                packer.uint(1)
            else:
                nfstime3(packer.uint(2), moment)
        return packer


class Wcc(NamedTuple):
    """wcc_data: attributes before (only size, mtime, ctime travel) and after; None: not given."""

    before: Fattr3 | None = None
    after: Fattr3 | None = None

    def pack(self, packer: Packer) -> Packer:
        """Append the structure."""
        packer.optional(self.before, _wcc_attr)
        return post_op_attr(packer, self.after)


def nfstime3(packer: Packer, nanoseconds: int) -> Packer:
    """Append an nfstime3."""
    return packer.uints(*divmod(nanoseconds, 1_000_000_000))


def post_op_attr(packer: Packer, attributes: Fattr3 | None) -> Packer:
    """Append a post_op_attr."""
    return packer.optional(attributes, lambda p, value: value.pack(p))


def post_op_fh3(packer: Packer, handle: bytes | None) -> Packer:
    """Append a post_op_fh3."""
    return packer.optional(handle, Packer.opaque)


def _wcc_attr(packer: Packer, attributes: Fattr3) -> None:
    packer.hyper(attributes.size)
    nfstime3(packer, attributes.mtime_ns)
    nfstime3(packer, attributes.ctime_ns)
