"""NFSACL version 3: Sun's side program 100227 for POSIX ACLs.

No RFC defines it; the layout is that of Solaris' ``nfs_acl.x``.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pcapnfs.synth.builder.nfs3.types import Fattr3, post_op_attr
from pcapnfs.synth.builder.rpc import NFSACL_PROGRAM, Request
from pcapnfs.synth.builder.xdr import Packer

VERSION = 3

NA_ACL = 1
NA_ACLCNT = 2
NA_DFACL = 4
NA_DFACLCNT = 8


class Ace(NamedTuple):
    """One ``aclent``: kind (USER_OBJ 1, USER 2, GROUP_OBJ 4, …), id, permission bits."""

    kind: int
    id: int
    permissions: int


def null() -> Request:
    """NULL, procedure 0."""
    return Request(NFSACL_PROGRAM, VERSION, 0, b"")


def getacl(handle: bytes, mask: int = NA_ACL | NA_ACLCNT | NA_DFACL | NA_DFACLCNT) -> Request:
    """GETACL, procedure 1: ``mask`` says which lists and counts are wanted."""
    return Request(NFSACL_PROGRAM, VERSION, 1, Packer().opaque(handle).uint(mask).done())


def setacl(
    handle: bytes,
    access: Sequence[Ace] = (),
    default: Sequence[Ace] = (),
    mask: int = NA_ACL | NA_ACLCNT,
) -> Request:
    """SETACL, procedure 2."""
    body = Packer().opaque(handle).raw(_secattr(mask, access, default))
    return Request(NFSACL_PROGRAM, VERSION, 2, body.done())


def getacl_reply(
    attributes: Fattr3 | None = None,
    access: Sequence[Ace] = (),
    default: Sequence[Ace] = (),
    mask: int = NA_ACL | NA_ACLCNT | NA_DFACL | NA_DFACLCNT,
    status: int = 0,
) -> bytes:
    """GETACL3res; a failure keeps the attributes."""
    packer = Packer().uint(status)
    post_op_attr(packer, attributes)
    if status == 0:
        packer.raw(_secattr(mask, access, default))
    return packer.done()


def setacl_reply(attributes: Fattr3 | None = None, status: int = 0) -> bytes:
    """SETACL3res."""
    return post_op_attr(Packer().uint(status), attributes).done()


def _secattr(mask: int, access: Sequence[Ace], default: Sequence[Ace]) -> bytes:
    packer = Packer().uint(mask)
    for entries in (access, default):
        packer.uint(len(entries)).array(entries, lambda p, ace: p.uints(*ace))
    return packer.done()
