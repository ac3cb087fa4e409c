"""The results of the procedures (RFC 1813 section 3.3), in the RFC's order.

Each function gives the body of a reply.  With a ``status`` other than 0 the failure arm is built,
which for most procedures still carries attributes.  NULL's result is empty: ``b""``.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pcapnfs.synth.builder.nfs3.types import (
    FILE_SYNC,
    Fattr3,
    Wcc,
    nfstime3,
    post_op_attr,
    post_op_fh3,
)
from pcapnfs.synth.builder.xdr import Packer


class Entry(NamedTuple):
    """A directory entry; attributes and handle are sent by READDIRPLUS only."""

    fileid: int
    name: str | bytes
    cookie: int
    attributes: Fattr3 | None = None
    handle: bytes | None = None


def getattr_(attributes: Fattr3 | None = None, status: int = 0) -> bytes:
    """GETATTR3res: the attributes, or the status alone."""
    packer = Packer().uint(status)
    if status == 0:
        (attributes or Fattr3()).pack(packer)
    return packer.done()


def setattr_(wcc: Wcc | None = None, status: int = 0) -> bytes:
    """SETATTR3res."""
    return _wcc(status, wcc).done()


def lookup(
    handle: bytes = b"",
    attributes: Fattr3 | None = None,
    directory: Fattr3 | None = None,
    status: int = 0,
) -> bytes:
    """LOOKUP3res; a failure carries the directory's attributes only."""
    packer = Packer().uint(status)
    if status == 0:
        post_op_attr(packer.opaque(handle), attributes)
    return post_op_attr(packer, directory).done()


def access(allowed: int = 0x1F, attributes: Fattr3 | None = None, status: int = 0) -> bytes:
    """ACCESS3res."""
    packer = post_op_attr(Packer().uint(status), attributes)
    if status == 0:
        packer.uint(allowed)
    return packer.done()


def readlink(target: str | bytes = b"", attributes: Fattr3 | None = None, status: int = 0) -> bytes:
    """READLINK3res."""
    packer = post_op_attr(Packer().uint(status), attributes)
    if status == 0:
        packer.opaque(target)
    return packer.done()


def read(
    data: bytes = b"", eof: bool = False, attributes: Fattr3 | None = None, status: int = 0
) -> bytes:
    """READ3res."""
    packer = post_op_attr(Packer().uint(status), attributes)
    if status == 0:
        packer.uint(len(data)).boolean(eof).opaque(data)
    return packer.done()


def write(
    count: int = 0,
    committed: int = FILE_SYNC,
    verifier: bytes = bytes(8),
    wcc: Wcc | None = None,
    status: int = 0,
) -> bytes:
    """WRITE3res; count in bytes."""
    packer = _wcc(status, wcc)
    if status == 0:
        packer.uints(count, committed).fixed(verifier)
    return packer.done()


def create(
    handle: bytes | None = None,
    attributes: Fattr3 | None = None,
    wcc: Wcc | None = None,
    status: int = 0,
) -> bytes:
    """CREATE3res, and the same for MKDIR, SYMLINK and MKNOD; ``wcc`` is the directory's."""
    packer = Packer().uint(status)
    if status == 0:
        post_op_attr(post_op_fh3(packer, handle), attributes)
    return (wcc or Wcc()).pack(packer).done()


mkdir = symlink = mknod = create


def remove(wcc: Wcc | None = None, status: int = 0) -> bytes:
    """REMOVE3res and RMDIR3res; ``wcc`` is the directory's."""
    return _wcc(status, wcc).done()


rmdir = remove


def rename(
    from_directory: Wcc | None = None, to_directory: Wcc | None = None, status: int = 0
) -> bytes:
    """RENAME3res."""
    return (to_directory or Wcc()).pack(_wcc(status, from_directory)).done()


def link(attributes: Fattr3 | None = None, directory: Wcc | None = None, status: int = 0) -> bytes:
    """LINK3res."""
    packer = post_op_attr(Packer().uint(status), attributes)
    return (directory or Wcc()).pack(packer).done()


def readdir(
    entries: Sequence[Entry] = (),
    eof: bool = True,
    verifier: bytes = bytes(8),
    directory: Fattr3 | None = None,
    status: int = 0,
) -> bytes:
    """READDIR3res."""
    return _listing(_entry, entries, eof, verifier, directory, status)


def readdirplus(
    entries: Sequence[Entry] = (),
    eof: bool = True,
    verifier: bytes = bytes(8),
    directory: Fattr3 | None = None,
    status: int = 0,
) -> bytes:
    """READDIRPLUS3res."""
    return _listing(_entryplus, entries, eof, verifier, directory, status)


def fsstat(
    bytes_total_free_avail: tuple[int, int, int] = (1 << 40, 1 << 39, 1 << 39),
    files_total_free_avail: tuple[int, int, int] = (1 << 24, 1 << 23, 1 << 23),
    invariant_s: int = 0,
    attributes: Fattr3 | None = None,
    status: int = 0,
) -> bytes:
    """FSSTAT3res; sizes in bytes, then counts of files, then seconds."""
    packer = post_op_attr(Packer().uint(status), attributes)
    if status == 0:
        packer.hypers(*bytes_total_free_avail, *files_total_free_avail).uint(invariant_s)
    return packer.done()


def fsinfo(
    read_max: int = 1 << 20,
    write_max: int = 1 << 20,
    directory_size: int = 1 << 16,
    largest_file: int = (1 << 63) - 1,
    time_delta_ns: int = 1,
    properties: int = 0x1B,
    attributes: Fattr3 | None = None,
    status: int = 0,
) -> bytes:
    """FSINFO3res; sizes in bytes, the preferred sizes equal the largest ones."""
    packer = post_op_attr(Packer().uint(status), attributes)
    if status == 0:
        packer.uints(read_max, read_max, 4096, write_max, write_max, 4096, directory_size)
        nfstime3(packer.hyper(largest_file), time_delta_ns).uint(properties)
    return packer.done()


def pathconf(
    largest_link_count: int = 32000,
    longest_name: int = 255,
    attributes: Fattr3 | None = None,
    status: int = 0,
) -> bytes:
    """PATHCONF3res: no truncation, chown restricted, case kept and told apart."""
    packer = post_op_attr(Packer().uint(status), attributes)
    if status == 0:
        packer.uints(largest_link_count, longest_name, 1, 1, 0, 1)
    return packer.done()


def commit(wcc: Wcc | None = None, verifier: bytes = bytes(8), status: int = 0) -> bytes:
    """COMMIT3res."""
    packer = _wcc(status, wcc)
    if status == 0:
        packer.fixed(verifier)
    return packer.done()


def _wcc(status: int, wcc: Wcc | None) -> Packer:
    return (wcc or Wcc()).pack(Packer().uint(status))


def _listing(
    pack: Callable[[Packer, Entry], None],
    entries: Sequence[Entry],
    eof: bool,
    verifier: bytes,
    directory: Fattr3 | None,
    status: int,
) -> bytes:
    """What both listings answer: they differ in what they tell of an entry."""
    packer = post_op_attr(Packer().uint(status), directory)
    if status == 0:
        packer.fixed(verifier).linked(entries, pack).boolean(eof)
    return packer.done()


def _entry(packer: Packer, entry: Entry) -> None:
    packer.hyper(entry.fileid).opaque(entry.name).hyper(entry.cookie)


def _entryplus(packer: Packer, entry: Entry) -> None:
    _entry(packer, entry)
    post_op_fh3(post_op_attr(packer, entry.attributes), entry.handle)
