"""The arguments of the 22 procedures (RFC 1813 section 3.3), in the RFC's order.

Each function gives a ``Request`` for ``Conversation.call``.  GETATTR and SETATTR are called
``getattr_`` and ``setattr_``, since Python has the names without underscore.
"""

from pcapnfs.synth.builder.nfs3.types import (
    EXCLUSIVE,
    FILE_SYNC,
    GUARDED,
    NF3BLK,
    NF3CHR,
    NF3FIFO,
    UNCHECKED,
    Sattr3,
    nfstime3,
)
from pcapnfs.synth.builder.rpc import NFS_PROGRAM, Request
from pcapnfs.synth.builder.xdr import Packer

VERSION = 3
Name = str | bytes


def null() -> Request:
    """NULL, procedure 0."""
    return _request(0, Packer())


def getattr_(handle: bytes) -> Request:
    """GETATTR, procedure 1."""
    return _request(1, Packer().opaque(handle))


def setattr_(handle: bytes, attributes: Sattr3, guard_ctime_ns: int | None = None) -> Request:
    """SETATTR, procedure 2; with a guard the server compares the object's ctime first."""
    packer = attributes.pack(Packer().opaque(handle))
    return _request(2, packer.optional(guard_ctime_ns, nfstime3))


def lookup(directory: bytes, name: Name) -> Request:
    """LOOKUP, procedure 3."""
    return _request(3, _diropargs(directory, name))


def access(handle: bytes, check: int = 0x1F) -> Request:
    """ACCESS, procedure 4: READ 1, LOOKUP 2, MODIFY 4, EXTEND 8, DELETE 16, EXECUTE 32."""
    return _request(4, Packer().opaque(handle).uint(check))


def readlink(handle: bytes) -> Request:
    """READLINK, procedure 5."""
    return _request(5, Packer().opaque(handle))


def read(handle: bytes, offset: int, count: int) -> Request:
    """READ, procedure 6; offset and count in bytes."""
    return _request(6, Packer().opaque(handle).hyper(offset).uint(count))


def write(handle: bytes, offset: int, data: bytes, stable: int = FILE_SYNC) -> Request:
    """WRITE, procedure 7; offset in bytes."""
    packer = Packer().opaque(handle).hyper(offset).uints(len(data), stable)
    return _request(7, packer.opaque(data))


def create(
    directory: bytes, name: Name, attributes: Sattr3 | None = None, how: int = UNCHECKED
) -> Request:
    """CREATE, procedure 8, UNCHECKED or GUARDED.  Raises ValueError for another ``how``."""
    if how not in (UNCHECKED, GUARDED):
        raise ValueError("EXCLUSIVE carries a verifier: use create_exclusive")
    packer = _diropargs(directory, name).uint(how)
    return _request(8, (attributes or Sattr3()).pack(packer))


def create_exclusive(directory: bytes, name: Name, verifier: bytes) -> Request:
    """CREATE, procedure 8, EXCLUSIVE with its 8-byte verifier."""
    return _request(8, _diropargs(directory, name).uint(EXCLUSIVE).fixed(verifier))


def mkdir(directory: bytes, name: Name, attributes: Sattr3 | None = None) -> Request:
    """MKDIR, procedure 9."""
    return _request(9, (attributes or Sattr3()).pack(_diropargs(directory, name)))


def symlink(
    directory: bytes, name: Name, target: Name, attributes: Sattr3 | None = None
) -> Request:
    """SYMLINK, procedure 10."""
    packer = (attributes or Sattr3()).pack(_diropargs(directory, name))
    return _request(10, packer.opaque(target))


def mknod(
    directory: bytes,
    name: Name,
    type: int = NF3FIFO,
    attributes: Sattr3 | None = None,
    device: tuple[int, int] = (0, 0),
) -> Request:
    """MKNOD, procedure 11; the device numbers travel for NF3CHR and NF3BLK only."""
    packer = (attributes or Sattr3()).pack(_diropargs(directory, name).uint(type))
    if type in (NF3CHR, NF3BLK):
        packer.uints(*device)
    return _request(11, packer)


def remove(directory: bytes, name: Name) -> Request:
    """REMOVE, procedure 12."""
    return _request(12, _diropargs(directory, name))


def rmdir(directory: bytes, name: Name) -> Request:
    """RMDIR, procedure 13."""
    return _request(13, _diropargs(directory, name))


def rename(from_directory: bytes, from_name: Name, to_directory: bytes, to_name: Name) -> Request:
    """RENAME, procedure 14."""
    packer = _diropargs(from_directory, from_name)
    return _request(14, packer.opaque(to_directory).opaque(to_name))


def link(handle: bytes, directory: bytes, name: Name) -> Request:
    """LINK, procedure 15."""
    return _request(15, Packer().opaque(handle).opaque(directory).opaque(name))


def readdir(
    directory: bytes, cookie: int = 0, verifier: bytes = bytes(8), count: int = 8192
) -> Request:
    """READDIR, procedure 16; count in bytes of the reply."""
    return _request(16, Packer().opaque(directory).hyper(cookie).fixed(verifier).uint(count))


def readdirplus(
    directory: bytes,
    cookie: int = 0,
    verifier: bytes = bytes(8),
    dircount: int = 8192,
    maxcount: int = 32768,
) -> Request:
    """READDIRPLUS, procedure 17; both counts in bytes."""
    packer = Packer().opaque(directory).hyper(cookie).fixed(verifier)
    return _request(17, packer.uints(dircount, maxcount))


def fsstat(root: bytes) -> Request:
    """FSSTAT, procedure 18."""
    return _request(18, Packer().opaque(root))


def fsinfo(root: bytes) -> Request:
    """FSINFO, procedure 19."""
    return _request(19, Packer().opaque(root))


def pathconf(handle: bytes) -> Request:
    """PATHCONF, procedure 20."""
    return _request(20, Packer().opaque(handle))


def commit(handle: bytes, offset: int = 0, count: int = 0) -> Request:
    """COMMIT, procedure 21; count 0 means up to the end of the file."""
    return _request(21, Packer().opaque(handle).hyper(offset).uint(count))


def _request(procedure: int, packer: Packer) -> Request:
    return Request(NFS_PROGRAM, VERSION, procedure, packer.done())


def _diropargs(directory: bytes, name: Name) -> Packer:
    return Packer().opaque(directory).opaque(name)
