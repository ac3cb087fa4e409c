"""Operation numbers and the structures that several operations share."""

from enum import IntEnum
from typing import NamedTuple

from pcapnfs.synth.builder.xdr import Packer

Name = str | bytes


class Op(IntEnum):
    """nfs_opnum4 (RFC 7530 section 16, RFC 8881 section 18, RFC 7862 section 15, RFC 8276)."""

    ACCESS = 3
    CLOSE = 4
    COMMIT = 5
    CREATE = 6
    DELEGPURGE = 7
    DELEGRETURN = 8
    GETATTR = 9
    GETFH = 10
    LINK = 11
    LOCK = 12
    LOCKT = 13
    LOCKU = 14
    LOOKUP = 15
    LOOKUPP = 16
    NVERIFY = 17
    OPEN = 18
    OPENATTR = 19
    OPEN_CONFIRM = 20
    OPEN_DOWNGRADE = 21
    PUTFH = 22
    PUTPUBFH = 23
    PUTROOTFH = 24
    READ = 25
    READDIR = 26
    READLINK = 27
    REMOVE = 28
    RENAME = 29
    RENEW = 30
    RESTOREFH = 31
    SAVEFH = 32
    SECINFO = 33
    SETATTR = 34
    SETCLIENTID = 35
    SETCLIENTID_CONFIRM = 36
    VERIFY = 37
    WRITE = 38
    RELEASE_LOCKOWNER = 39
    BACKCHANNEL_CTL = 40
    BIND_CONN_TO_SESSION = 41
    EXCHANGE_ID = 42
    CREATE_SESSION = 43
    DESTROY_SESSION = 44
    FREE_STATEID = 45
    GET_DIR_DELEGATION = 46
    GETDEVICEINFO = 47
    GETDEVICELIST = 48
    LAYOUTCOMMIT = 49
    LAYOUTGET = 50
    LAYOUTRETURN = 51
    SECINFO_NO_NAME = 52
    SEQUENCE = 53
    SET_SSV = 54
    TEST_STATEID = 55
    WANT_DELEGATION = 56
    DESTROY_CLIENTID = 57
    RECLAIM_COMPLETE = 58
    ALLOCATE = 59
    COPY = 60
    COPY_NOTIFY = 61
    DEALLOCATE = 62
    IO_ADVISE = 63
    LAYOUTERROR = 64
    LAYOUTSTATS = 65
    OFFLOAD_CANCEL = 66
    OFFLOAD_STATUS = 67
    READ_PLUS = 68
    SEEK = 69
    WRITE_SAME = 70
    CLONE = 71
    GETXATTR = 72
    SETXATTR = 73
    LISTXATTRS = 74
    REMOVEXATTR = 75
    ILLEGAL = 10044


# nfsstat4, those whose results differ in shape
NFS4_OK = 0
NFS4ERR_TOOSMALL = 10005
NFS4ERR_SAME = 10009
NFS4ERR_DENIED = 10010
NFS4ERR_CLID_INUSE = 10017
NFS4ERR_LAYOUTTRYLATER = 10058

# nfs_ftype4
NF4REG = 1
NF4DIR = 2
NF4BLK = 3
NF4CHR = 4
NF4LNK = 5
NF4SOCK = 6
NF4FIFO = 7

# stable_how4
UNSTABLE4 = 0
DATA_SYNC4 = 1
FILE_SYNC4 = 2

# createmode4
UNCHECKED4 = 0
GUARDED4 = 1
EXCLUSIVE4 = 2
EXCLUSIVE4_1 = 3

# OPEN4_SHARE_ACCESS_*, and the delegation type of OPEN_DELEGATE_*
SHARE_READ = 1
SHARE_WRITE = 2
SHARE_BOTH = 3
DELEGATE_NONE = 0
DELEGATE_READ = 1
DELEGATE_WRITE = 2
DELEGATE_NONE_EXT = 3


class Stateid(NamedTuple):
    """stateid4 (RFC 8881 section 3.3.12): a sequence number and 12 bytes of the server's."""

    seqid: int
    other: bytes

    def pack(self, packer: Packer) -> Packer:
        """Append the structure; raises ValueError unless ``other`` has 12 bytes."""
        if len(self.other) != 12:
            raise ValueError(f"stateid4.other has 12 bytes, not {len(self.other)}")
        return packer.uint(self.seqid).fixed(self.other)


# The special stateids of RFC 8881 section 8.2.3
ANONYMOUS = Stateid(0, bytes(12))
READ_BYPASS = Stateid(0xFFFFFFFF, b"\xff" * 12)
CURRENT = Stateid(1, bytes(12))


class ChangeInfo(NamedTuple):
    """change_info4: the directory's change attribute before and after."""

    before: int = 1
    after: int = 2
    atomic: bool = True

    def pack(self, packer: Packer) -> Packer:
        """Append the structure."""
        return packer.boolean(self.atomic).hypers(self.before, self.after)


CHANGED = ChangeInfo()


class ChannelAttributes(NamedTuple):
    """channel_attrs4 (RFC 8881 section 18.36), without RDMA; sizes in bytes."""

    header_padding: int = 0
    largest_request: int = 1 << 20
    largest_response: int = 1 << 20
    largest_cached: int = 4096
    operations: int = 16
    requests: int = 64

    def pack(self, packer: Packer) -> Packer:
        """Append the structure."""
        return packer.uints(*self, 0)


CHANNEL = ChannelAttributes()


class Delegation(NamedTuple):
    """open_delegation4: a DELEGATE_* kind; ``why`` is for DELEGATE_NONE_EXT."""

    kind: int = DELEGATE_NONE
    stateid: Stateid = ANONYMOUS
    recall: bool = False
    limit_bytes: int = 0xFFFFFFFFFFFFFFFF
    who: str = ""
    why: int = 0

    def pack(self, packer: Packer) -> Packer:
        """Append the union (RFC 8881 section 18.16.2)."""
        packer.uint(self.kind)
        if self.kind in (DELEGATE_READ, DELEGATE_WRITE):
            self.stateid.pack(packer).boolean(self.recall)
            if self.kind == DELEGATE_WRITE:
                packer.uint(1).hyper(self.limit_bytes)
            packer.uints(0, 0, 0).opaque(self.who)
        elif self.kind == DELEGATE_NONE_EXT:
            packer.uint(self.why)
            if self.why in (1, 2):  # WND4_CONTENTION, WND4_RESOURCE: will the server push one?
                packer.boolean(False)
        return packer


NO_DELEGATION = Delegation()


class Layout(NamedTuple):
    """layout4: a byte range and its opaque content (RFC 8881 section 3.3.13)."""

    offset: int = 0
    length: int = 0xFFFFFFFFFFFFFFFF
    iomode: int = 2
    type: int = 1
    body: bytes = b""

    def pack(self, packer: Packer) -> Packer:
        """Append the structure."""
        packer.hypers(self.offset, self.length).uints(self.iomode, self.type)
        return packer.opaque(self.body)


def state_owner(packer: Packer, clientid: int, owner: Name) -> Packer:
    """Append an open_owner4 or lock_owner4."""
    return packer.hyper(clientid).opaque(owner)


def nfstime4(packer: Packer, nanoseconds: int) -> Packer:
    """Append an nfstime4: signed seconds, nanoseconds."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return packer.signed_hyper(seconds).uint(rest)


def impl_id(packer: Packer, value: tuple[Name, Name]) -> None:
    """Append an nfs_impl_id4: domain, name, and 1970 as its date."""
    domain, name = value
    nfstime4(packer.opaque(domain).opaque(name), 0)
