"""Results of OPEN, locks, delegations and NFSv4.0's client identity (RFC 7530 section 16)."""

from collections.abc import Iterable
from typing import NamedTuple, Self

from pcapnfs.synth.builder.nfs4.attributes import requested
from pcapnfs.synth.builder.nfs4.reply_base import ReplyBase
from pcapnfs.synth.builder.nfs4.types import (
    CHANGED,
    NFS4ERR_CLID_INUSE,
    NFS4ERR_DENIED,
    NO_DELEGATION,
    ChangeInfo,
    Delegation,
    Name,
    Op,
    Stateid,
    state_owner,
)
from pcapnfs.synth.builder.xdr import Packer

STATE = Stateid(1, b"state-id----")


class Denied(NamedTuple):
    """LOCK4denied: who holds the lock in the way."""

    offset: int = 0
    length: int = 0xFFFFFFFFFFFFFFFF
    type: int = 2
    clientid: int = 1
    owner: Name = b"lock-owner"

    def pack(self, packer: Packer) -> Packer:
        """Append the structure."""
        packer.hypers(self.offset, self.length).uint(self.type)
        return state_owner(packer, self.clientid, self.owner)


DENIED = Denied()


class StateReplies(ReplyBase):
    """The part of ``CompoundReply`` about opens, locks, delegations and 4.0 clients."""

    def open(
        self,
        stateid: Stateid = STATE,
        change: ChangeInfo = CHANGED,
        flags: int = 0,
        attributes_set: Iterable[str | int] = (),
        delegation: Delegation = NO_DELEGATION,
        status: int = 0,
    ) -> Self:
        """OPEN; flags are OPEN4_RESULT_* (CONFIRM 2, LOCKTYPE_POSIX 4, …)."""
        packer = change.pack(stateid.pack(Packer())).uint(flags).raw(requested(attributes_set))
        return self._ok(Op.OPEN, delegation.pack(packer), status)

    def open_confirm(self, stateid: Stateid = STATE, status: int = 0) -> Self:
        """OPEN_CONFIRM (NFSv4.0)."""
        return self._ok(Op.OPEN_CONFIRM, stateid.pack(Packer()), status)

    def open_downgrade(self, stateid: Stateid = STATE, status: int = 0) -> Self:
        """OPEN_DOWNGRADE."""
        return self._ok(Op.OPEN_DOWNGRADE, stateid.pack(Packer()), status)

    def close(self, stateid: Stateid = STATE, status: int = 0) -> Self:
        """CLOSE."""
        return self._ok(Op.CLOSE, stateid.pack(Packer()), status)

    def delegpurge(self, status: int = 0) -> Self:
        """DELEGPURGE."""
        return self.op(Op.DELEGPURGE, status=status)

    def delegreturn(self, status: int = 0) -> Self:
        """DELEGRETURN."""
        return self.op(Op.DELEGRETURN, status=status)

    def lock(self, stateid: Stateid = STATE, denied: Denied = DENIED, status: int = 0) -> Self:
        """LOCK; ``denied`` is sent with NFS4ERR_DENIED."""
        if status == NFS4ERR_DENIED:
            return self.op(Op.LOCK, denied.pack(Packer()).done(), status)
        return self._ok(Op.LOCK, stateid.pack(Packer()), status)

    def lockt(self, denied: Denied = DENIED, status: int = 0) -> Self:
        """LOCKT; ``denied`` is sent with NFS4ERR_DENIED, else there is no body."""
        body = denied.pack(Packer()).done() if status == NFS4ERR_DENIED else b""
        return self.op(Op.LOCKT, body, status)

    def locku(self, stateid: Stateid = STATE, status: int = 0) -> Self:
        """LOCKU."""
        return self._ok(Op.LOCKU, stateid.pack(Packer()), status)

    def release_lockowner(self, status: int = 0) -> Self:
        """RELEASE_LOCKOWNER (NFSv4.0)."""
        return self.op(Op.RELEASE_LOCKOWNER, status=status)

    def renew(self, status: int = 0) -> Self:
        """RENEW (NFSv4.0)."""
        return self.op(Op.RENEW, status=status)

    def setclientid(
        self,
        clientid: int = 1,
        verifier: bytes = bytes(8),
        in_use_by: tuple[str, str] = ("tcp", "0.0.0.0.0.0"),
        status: int = 0,
    ) -> Self:
        """SETCLIENTID (NFSv4.0); ``in_use_by`` is sent with NFS4ERR_CLID_INUSE."""
        if status == NFS4ERR_CLID_INUSE:
            body = Packer().opaque(in_use_by[0]).opaque(in_use_by[1])
            return self.op(Op.SETCLIENTID, body.done(), status)
        return self._ok(Op.SETCLIENTID, Packer().hyper(clientid).fixed(verifier), status)

    def setclientid_confirm(self, status: int = 0) -> Self:
        """SETCLIENTID_CONFIRM (NFSv4.0)."""
        return self.op(Op.SETCLIENTID_CONFIRM, status=status)
