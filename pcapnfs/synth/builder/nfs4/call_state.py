"""Arguments of OPEN, locks, delegations and NFSv4.0's client identity (RFC 7530 section 16)."""

from collections.abc import Mapping
from typing import Any, Self

from pcapnfs.synth.builder.nfs4.attributes import fattr4
from pcapnfs.synth.builder.nfs4.call_base import CallBase
from pcapnfs.synth.builder.nfs4.types import (
    EXCLUSIVE4,
    EXCLUSIVE4_1,
    SHARE_BOTH,
    SHARE_READ,
    UNCHECKED4,
    Name,
    Op,
    Stateid,
    state_owner,
)
from pcapnfs.synth.builder.xdr import Packer

NOCREATE = Packer().uint(0).done()
CLAIM_FH = Packer().uint(4).done()


def create_how(
    mode: int = UNCHECKED4,
    attributes: Mapping[str, Any] | None = None,
    verifier: bytes = bytes(8),
) -> bytes:
    """openflag4 with OPEN4_CREATE (RFC 8881 section 18.16.1); EXCLUSIVE4 has no attributes."""
    packer = Packer().uints(1, mode)
    if mode in (EXCLUSIVE4, EXCLUSIVE4_1):
        packer.fixed(verifier)
    if mode != EXCLUSIVE4:
        packer.raw(fattr4(attributes or {}))
    return packer.done()


def claim_null(name: Name) -> bytes:
    """CLAIM_NULL: a name in the current directory."""
    return Packer().uint(0).opaque(name).done()


def claim_previous(delegation: int = 0) -> bytes:
    """CLAIM_PREVIOUS: reclaim after the server's restart."""
    return Packer().uints(1, delegation).done()


def claim_delegate_cur(stateid: Stateid, name: Name) -> bytes:
    """CLAIM_DELEGATE_CUR."""
    return stateid.pack(Packer().uint(2)).opaque(name).done()


def claim_delegate_prev(name: Name) -> bytes:
    """CLAIM_DELEGATE_PREV."""
    return Packer().uint(3).opaque(name).done()


def claim_deleg_cur_fh(stateid: Stateid) -> bytes:
    """CLAIM_DELEG_CUR_FH (NFSv4.1)."""
    return stateid.pack(Packer().uint(5)).done()


class StateCalls(CallBase):
    """The part of ``Compound`` about opens, locks, delegations and 4.0 clients."""

    def open(
        self,
        claim: bytes,
        how: bytes = NOCREATE,
        access: int = SHARE_READ,
        deny: int = 0,
        seqid: int = 0,
        clientid: int = 1,
        owner: Name = b"open-owner",
    ) -> Self:
        """OPEN; ``claim`` from claim_null and its like, ``how`` from create_how."""
        packer = state_owner(Packer().uints(seqid, access, deny), clientid, owner)
        return self.op(Op.OPEN, packer.raw(how).raw(claim).done())

    def open_name(
        self,
        name: Name,
        access: int = SHARE_READ,
        seqid: int = 0,
        clientid: int = 1,
        owner: Name = b"open-owner",
    ) -> Self:
        """OPEN of an existing file by name."""
        return self.open(claim_null(name), NOCREATE, access, 0, seqid, clientid, owner)

    def open_create(
        self,
        name: Name,
        attributes: Mapping[str, Any] | None = None,
        mode: int = UNCHECKED4,
        verifier: bytes = bytes(8),
        access: int = SHARE_BOTH,
        seqid: int = 0,
        clientid: int = 1,
        owner: Name = b"open-owner",
    ) -> Self:
        """OPEN that creates; mode UNCHECKED4, GUARDED4, EXCLUSIVE4 or EXCLUSIVE4_1."""
        how = create_how(mode, attributes, verifier)
        return self.open(claim_null(name), how, access, 0, seqid, clientid, owner)

    def open_fh(
        self, access: int = SHARE_READ, clientid: int = 1, owner: Name = b"open-owner"
    ) -> Self:
        """OPEN of the current handle (CLAIM_FH, NFSv4.1)."""
        return self.open(CLAIM_FH, NOCREATE, access, 0, 0, clientid, owner)

    def open_confirm(self, stateid: Stateid, seqid: int) -> Self:
        """OPEN_CONFIRM (NFSv4.0)."""
        return self.op(Op.OPEN_CONFIRM, stateid.pack(Packer()).uint(seqid).done())

    def open_downgrade(
        self, stateid: Stateid, access: int = SHARE_READ, deny: int = 0, seqid: int = 0
    ) -> Self:
        """OPEN_DOWNGRADE."""
        packer = stateid.pack(Packer()).uints(seqid, access, deny)
        return self.op(Op.OPEN_DOWNGRADE, packer.done())

    def close(self, stateid: Stateid, seqid: int = 0) -> Self:
        """CLOSE."""
        return self.op(Op.CLOSE, stateid.pack(Packer().uint(seqid)).done())

    def delegpurge(self, clientid: int) -> Self:
        """DELEGPURGE."""
        return self.op(Op.DELEGPURGE, Packer().hyper(clientid).done())

    def delegreturn(self, stateid: Stateid) -> Self:
        """DELEGRETURN."""
        return self.op(Op.DELEGRETURN, stateid.pack(Packer()).done())

    def lock_new(
        self,
        open_stateid: Stateid,
        owner: Name,
        type: int = 2,
        offset: int = 0,
        length: int = 0xFFFFFFFFFFFFFFFF,
        clientid: int = 1,
        open_seqid: int = 0,
        lock_seqid: int = 0,
        reclaim: bool = False,
    ) -> Self:
        """LOCK by an owner new to the file; type READ_LT 1, WRITE_LT 2, READW_LT 3, WRITEW_LT 4."""
        packer = Packer().uint(type).boolean(reclaim).hypers(offset, length)
        open_stateid.pack(packer.boolean(True).uint(open_seqid)).uint(lock_seqid)
        return self.op(Op.LOCK, state_owner(packer, clientid, owner).done())

    def lock(
        self,
        lock_stateid: Stateid,
        type: int = 2,
        offset: int = 0,
        length: int = 0xFFFFFFFFFFFFFFFF,
        lock_seqid: int = 0,
        reclaim: bool = False,
    ) -> Self:
        """LOCK by an owner that holds a lock stateid already."""
        packer = Packer().uint(type).boolean(reclaim).hypers(offset, length).boolean(False)
        return self.op(Op.LOCK, lock_stateid.pack(packer).uint(lock_seqid).done())

    def lockt(
        self,
        owner: Name,
        type: int = 2,
        offset: int = 0,
        length: int = 0xFFFFFFFFFFFFFFFF,
        clientid: int = 1,
    ) -> Self:
        """LOCKT: would this lock be granted?"""
        packer = Packer().uint(type).hypers(offset, length)
        return self.op(Op.LOCKT, state_owner(packer, clientid, owner).done())

    def locku(
        self,
        stateid: Stateid,
        type: int = 2,
        offset: int = 0,
        length: int = 0xFFFFFFFFFFFFFFFF,
        seqid: int = 0,
    ) -> Self:
        """LOCKU."""
        packer = stateid.pack(Packer().uints(type, seqid)).hypers(offset, length)
        return self.op(Op.LOCKU, packer.done())

    def release_lockowner(self, clientid: int, owner: Name) -> Self:
        """RELEASE_LOCKOWNER (NFSv4.0)."""
        return self.op(Op.RELEASE_LOCKOWNER, state_owner(Packer(), clientid, owner).done())

    def renew(self, clientid: int) -> Self:
        """RENEW (NFSv4.0)."""
        return self.op(Op.RENEW, Packer().hyper(clientid).done())

    def setclientid(
        self,
        id: Name,
        verifier: bytes = bytes(8),
        program: int = 0x40000000,
        netid: str = "tcp",
        address: str = "0.0.0.0.0.0",
        callback_ident: int = 1,
    ) -> Self:
        """SETCLIENTID (NFSv4.0); ``program`` is that of the callbacks."""
        packer = Packer().fixed(verifier).opaque(id).uint(program).opaque(netid).opaque(address)
        return self.op(Op.SETCLIENTID, packer.uint(callback_ident).done())

    def setclientid_confirm(self, clientid: int, verifier: bytes = bytes(8)) -> Self:
        """SETCLIENTID_CONFIRM (NFSv4.0)."""
        return self.op(Op.SETCLIENTID_CONFIRM, Packer().hyper(clientid).fixed(verifier).done())
