"""Results of NFSv4.1's sessions, clients and layouts (RFC 8881 section 18)."""

from collections.abc import Iterable, Sequence
from typing import Self

from pcapnfs.synth.builder.nfs4.attributes import bitmap4
from pcapnfs.synth.builder.nfs4.reply_base import ReplyBase
from pcapnfs.synth.builder.nfs4.reply_files import secinfo4
from pcapnfs.synth.builder.nfs4.reply_state import STATE
from pcapnfs.synth.builder.nfs4.types import (
    CHANNEL,
    NFS4ERR_LAYOUTTRYLATER,
    NFS4ERR_TOOSMALL,
    ChannelAttributes,
    Layout,
    Name,
    Op,
    Stateid,
    impl_id,
)
from pcapnfs.synth.builder.rpc import AUTH_SYS
from pcapnfs.synth.builder.xdr import Packer


class SessionReplies(ReplyBase):
    """The part of ``CompoundReply`` that came with minor version 1."""

    def exchange_id(
        self,
        clientid: int = 1,
        sequence: int = 1,
        flags: int = 0,
        major: bytes = b"server",
        scope: bytes = b"server",
        implementation: tuple[Name, Name] | None = None,
        status: int = 0,
    ) -> Self:
        """EXCHANGE_ID with SP4_NONE; ``implementation`` is (domain, name).

        The flags are NON_PNFS 0x10000, PNFS_MDS 0x20000, PNFS_DS 0x40000.
        """
        packer = Packer().hyper(clientid).uints(sequence, flags, 0)
        packer.hyper(0).opaque(major).opaque(scope)
        packer.array([] if implementation is None else [implementation], impl_id)
        return self._ok(Op.EXCHANGE_ID, packer, status)

    def create_session(
        self,
        session: bytes = bytes(16),
        sequence: int = 1,
        flags: int = 3,
        fore: ChannelAttributes = CHANNEL,
        back: ChannelAttributes = CHANNEL,
        status: int = 0,
    ) -> Self:
        """CREATE_SESSION."""
        packer = fore.pack(Packer().fixed(session).uints(sequence, flags))
        return self._ok(Op.CREATE_SESSION, back.pack(packer), status)

    def bind_conn_to_session(
        self, session: bytes = bytes(16), direction: int = 3, status: int = 0
    ) -> Self:
        """BIND_CONN_TO_SESSION without RDMA."""
        packer = Packer().fixed(session).uint(direction).boolean(False)
        return self._ok(Op.BIND_CONN_TO_SESSION, packer, status)

    def destroy_session(self, status: int = 0) -> Self:
        """DESTROY_SESSION."""
        return self.op(Op.DESTROY_SESSION, status=status)

    def destroy_clientid(self, status: int = 0) -> Self:
        """DESTROY_CLIENTID."""
        return self.op(Op.DESTROY_CLIENTID, status=status)

    def sequence(
        self,
        session: bytes = bytes(16),
        sequence: int = 1,
        slot: int = 0,
        highest_slot: int = 63,
        target_highest_slot: int = 63,
        flags: int = 0,
        status: int = 0,
    ) -> Self:
        """SEQUENCE; flags are SEQ4_STATUS_*."""
        packer = Packer().fixed(session)
        packer.uints(sequence, slot, highest_slot, target_highest_slot, flags)
        return self._ok(Op.SEQUENCE, packer, status)

    def reclaim_complete(self, status: int = 0) -> Self:
        """RECLAIM_COMPLETE."""
        return self.op(Op.RECLAIM_COMPLETE, status=status)

    def secinfo_no_name(self, flavors: Sequence[int] = (AUTH_SYS,), status: int = 0) -> Self:
        """SECINFO_NO_NAME."""
        return self._ok(Op.SECINFO_NO_NAME, Packer().array(flavors, secinfo4), status)

    def free_stateid(self, status: int = 0) -> Self:
        """FREE_STATEID."""
        return self.op(Op.FREE_STATEID, status=status)

    def test_stateid(self, statuses: Sequence[int] = (), status: int = 0) -> Self:
        """TEST_STATEID: a status for each stateid asked about."""
        return self._ok(Op.TEST_STATEID, Packer().uint_array(statuses), status)

    def layoutget(
        self,
        layouts: Sequence[Layout] = (),
        stateid: Stateid = STATE,
        return_on_close: bool = False,
        will_signal: bool = False,
        status: int = 0,
    ) -> Self:
        """LAYOUTGET; ``will_signal`` is sent with NFS4ERR_LAYOUTTRYLATER."""
        if status == NFS4ERR_LAYOUTTRYLATER:
            return self.op(Op.LAYOUTGET, Packer().boolean(will_signal).done(), status)
        packer = stateid.pack(Packer().boolean(return_on_close))
        return self._ok(Op.LAYOUTGET, packer.array(layouts, lambda p, one: one.pack(p)), status)

    def layoutreturn(self, stateid: Stateid | None = None, status: int = 0) -> Self:
        """LAYOUTRETURN; no stateid when nothing is left."""
        packer = Packer().optional(stateid, lambda p, value: value.pack(p))
        return self._ok(Op.LAYOUTRETURN, packer, status)

    def layoutcommit(self, size: int | None = None, status: int = 0) -> Self:
        """LAYOUTCOMMIT; the file's size in bytes if it changed."""
        return self._ok(Op.LAYOUTCOMMIT, Packer().optional(size, Packer.hyper), status)

    def getdeviceinfo(
        self,
        address: bytes = b"",
        type: int = 1,
        notify: Iterable[int] = (),
        least: int = 0,
        status: int = 0,
    ) -> Self:
        """GETDEVICEINFO; ``least`` (bytes) is sent with NFS4ERR_TOOSMALL."""
        if status == NFS4ERR_TOOSMALL:
            return self.op(Op.GETDEVICEINFO, Packer().uint(least).done(), status)
        packer = Packer().uint(type).opaque(address).raw(bitmap4(notify))
        return self._ok(Op.GETDEVICEINFO, packer, status)


def file_device_address(
    servers: Sequence[tuple[str, str]] = (("tcp", "10.0.2.20.8.1"),),
) -> bytes:
    """nfsv4_1_file_layout_ds_addr4 (RFC 8881 section 13.2): one stripe over these addresses."""
    packer = Packer().uint_array([0]).uint(1)
    return packer.array(servers, lambda p, one: p.opaque(one[0]).opaque(one[1])).done()


def file_layout(device: bytes, handles: Sequence[bytes], stripe_bytes: int = 1 << 20) -> bytes:
    """nfsv4_1_file_layout4 (RFC 8881 section 13.2); ``device`` has 16 bytes."""
    packer = Packer().fixed(device).uints(stripe_bytes, 0).hyper(0)
    return packer.array(handles, Packer.opaque).done()


def flex_device_address(
    servers: Sequence[tuple[str, str]] = (("tcp", "10.0.2.20.8.1"),),
    versions: Sequence[tuple[int, int]] = ((3, 0),),
) -> bytes:
    """ff_device_addr4 (RFC 8435 section 4.1): one data server; versions with minor."""
    packer = Packer().array(servers, lambda p, one: p.opaque(one[0]).opaque(one[1]))

    def spoken(version: Packer, one: tuple[int, int]) -> Packer:
        return version.uints(*one, 1 << 20, 1 << 20).boolean(False)

    return packer.array(versions, spoken).done()


def flex_layout(
    device: bytes, handles: Sequence[bytes], mirrors: int = 1, user: str = "0", group: str = "0"
) -> bytes:
    """ff_layout4 (RFC 8435 section 5.1): each mirror on one data server; a handle a version."""

    def mirror(packer: Packer, _: int) -> Packer:
        packer.uint(1).fixed(device).uint(1)
        STATE.pack(packer).array(handles, Packer.opaque)
        return packer.opaque(user).opaque(group)

    return Packer().hyper(0).array(range(mirrors), mirror).uints(0, 0).done()
