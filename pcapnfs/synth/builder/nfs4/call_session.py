"""Arguments of NFSv4.1's sessions, clients and layouts (RFC 8881 section 18)."""

from collections.abc import Iterable, Sequence
from typing import Self

from pcapnfs.synth.builder.nfs4.attributes import bitmap4
from pcapnfs.synth.builder.nfs4.call_base import CallBase
from pcapnfs.synth.builder.nfs4.types import (
    CHANNEL,
    ChannelAttributes,
    Name,
    Op,
    Stateid,
    impl_id,
    nfstime4,
)
from pcapnfs.synth.builder.xdr import Packer

WHOLE_FILE = 0xFFFFFFFFFFFFFFFF


class SessionCalls(CallBase):
    """The part of ``Compound`` that came with minor version 1."""

    def exchange_id(
        self,
        owner: Name,
        verifier: bytes = bytes(8),
        flags: int = 0,
        implementation: tuple[Name, Name] | None = None,
    ) -> Self:
        """EXCHANGE_ID with SP4_NONE; ``implementation`` is (domain, name)."""
        packer = Packer().fixed(verifier).opaque(owner).uints(flags, 0)
        packer.array([] if implementation is None else [implementation], impl_id)
        return self.op(Op.EXCHANGE_ID, packer.done())

    def create_session(
        self,
        clientid: int,
        sequence: int = 1,
        flags: int = 3,
        fore: ChannelAttributes = CHANNEL,
        back: ChannelAttributes = CHANNEL,
        program: int = 0x40000000,
    ) -> Self:
        """CREATE_SESSION; the callbacks come with AUTH_NONE."""
        packer = Packer().hyper(clientid).uints(sequence, flags)
        back.pack(fore.pack(packer)).uint(program).uint_array([0])
        return self.op(Op.CREATE_SESSION, packer.done())

    def bind_conn_to_session(self, session: bytes, direction: int = 3) -> Self:
        """BIND_CONN_TO_SESSION without RDMA; direction FORE 1, BACK 2, FORE_OR_BOTH 3."""
        packer = Packer().fixed(session).uint(direction).boolean(False)
        return self.op(Op.BIND_CONN_TO_SESSION, packer.done())

    def destroy_session(self, session: bytes) -> Self:
        """DESTROY_SESSION."""
        return self.op(Op.DESTROY_SESSION, Packer().fixed(session).done())

    def destroy_clientid(self, clientid: int) -> Self:
        """DESTROY_CLIENTID."""
        return self.op(Op.DESTROY_CLIENTID, Packer().hyper(clientid).done())

    def sequence(
        self,
        session: bytes,
        sequence: int,
        slot: int = 0,
        highest_slot: int = 0,
        cache: bool = False,
    ) -> Self:
        """SEQUENCE; ``session`` has 16 bytes."""
        packer = Packer().fixed(session).uints(sequence, slot, highest_slot).boolean(cache)
        return self.op(Op.SEQUENCE, packer.done())

    def reclaim_complete(self, one_fs: bool = False) -> Self:
        """RECLAIM_COMPLETE."""
        return self.op(Op.RECLAIM_COMPLETE, Packer().boolean(one_fs).done())

    def secinfo_no_name(self, style: int = 0) -> Self:
        """SECINFO_NO_NAME; style CURRENT_FH 0, PARENT 1."""
        return self.op(Op.SECINFO_NO_NAME, Packer().uint(style).done())

    def free_stateid(self, stateid: Stateid) -> Self:
        """FREE_STATEID."""
        return self.op(Op.FREE_STATEID, stateid.pack(Packer()).done())

    def test_stateid(self, stateids: Sequence[Stateid]) -> Self:
        """TEST_STATEID."""
        packer = Packer().array(stateids, lambda p, stateid: stateid.pack(p))
        return self.op(Op.TEST_STATEID, packer.done())

    def layoutget(
        self,
        stateid: Stateid,
        type: int = 1,
        iomode: int = 2,
        offset: int = 0,
        length: int = WHOLE_FILE,
        least: int = 4096,
        maxcount: int = 4096,
        signal: bool = False,
    ) -> Self:
        """LAYOUTGET; type FILES 1, FLEX_FILES 4; iomode READ 1, RW 2; ``least`` in bytes."""
        packer = Packer().boolean(signal).uints(type, iomode).hypers(offset, length, least)
        return self.op(Op.LAYOUTGET, stateid.pack(packer).uint(maxcount).done())

    def layoutreturn(
        self,
        stateid: Stateid,
        type: int = 1,
        iomode: int = 3,
        offset: int = 0,
        length: int = WHOLE_FILE,
        body: bytes = b"",
        reclaim: bool = False,
    ) -> Self:
        """LAYOUTRETURN of one file's layouts (LAYOUTRETURN4_FILE)."""
        packer = Packer().boolean(reclaim).uints(type, iomode, 1).hypers(offset, length)
        return self.op(Op.LAYOUTRETURN, stateid.pack(packer).opaque(body).done())

    def layoutcommit(
        self,
        stateid: Stateid,
        offset: int = 0,
        length: int = WHOLE_FILE,
        last_byte: int | None = None,
        modified_ns: int | None = None,
        type: int = 1,
        body: bytes = b"",
        reclaim: bool = False,
    ) -> Self:
        """LAYOUTCOMMIT; ``last_byte`` is the last offset written."""
        packer = stateid.pack(Packer().hypers(offset, length).boolean(reclaim))
        packer.optional(last_byte, Packer.hyper).optional(modified_ns, nfstime4)
        return self.op(Op.LAYOUTCOMMIT, packer.uint(type).opaque(body).done())

    def getdeviceinfo(
        self, device: bytes, type: int = 1, maxcount: int = 4096, notify: Iterable[int] = ()
    ) -> Self:
        """GETDEVICEINFO; ``device`` has 16 bytes."""
        packer = Packer().fixed(device).uints(type, maxcount).raw(bitmap4(notify))
        return self.op(Op.GETDEVICEINFO, packer.done())
