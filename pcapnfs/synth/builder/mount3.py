"""MOUNT version 3 (RFC 1813 appendix I): what a mount asks before the first NFS call."""

from collections.abc import Sequence

from pcapnfs.synth.builder.rpc import AUTH_SYS, MOUNT_PROGRAM, Request
from pcapnfs.synth.builder.xdr import Packer

VERSION = 3


def null() -> Request:
    """NULL, procedure 0."""
    return Request(MOUNT_PROGRAM, VERSION, 0, b"")


def mnt(path: str | bytes) -> Request:
    """MNT, procedure 1: the handle of an exported directory."""
    return Request(MOUNT_PROGRAM, VERSION, 1, Packer().opaque(path).done())


def umnt(path: str | bytes) -> Request:
    """UMNT, procedure 3."""
    return Request(MOUNT_PROGRAM, VERSION, 3, Packer().opaque(path).done())


def mnt_reply(handle: bytes = b"", flavors: Sequence[int] = (AUTH_SYS,), status: int = 0) -> bytes:
    """mountres3: the handle and the flavors accepted; the status alone when it failed."""
    packer = Packer().uint(status)
    if status == 0:
        packer.opaque(handle).uint_array(flavors)
    return packer.done()
