"""ONC RPC version 2 (RFC 5531): message headers, credentials, record marking.

Takes a body (XDR bytes) and gives a message; ``record`` turns a message into what TCP carries.
RPCSEC_GSS is RFC 2203: the checksums and sealed bodies are whatever the caller passes, since no
reader of a capture can verify them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pcapnfs.synth.builder.xdr import Packer

NFS_PROGRAM = 100003
MOUNT_PROGRAM = 100005
NFSACL_PROGRAM = 100227

AUTH_NONE = 0
AUTH_SYS = 1
RPCSEC_GSS = 6
AUTH_TLS = 7

# accept_stat, RFC 5531 section 9
SUCCESS = 0
PROG_UNAVAIL = 1
PROG_MISMATCH = 2
PROC_UNAVAIL = 3
GARBAGE_ARGS = 4
SYSTEM_ERR = 5

# rpc_gss_service_t, RFC 2203 section 5.3.1
GSS_NONE = 1
GSS_INTEGRITY = 2
GSS_PRIVACY = 3

LAST_FRAGMENT = 0x80000000
LARGEST_FRAGMENT = 0x7FFFFFFF


class Request(NamedTuple):
    """What a call asks for; unpack it into ``Conversation.call(xid, at_ns, *request)``."""

    program: int
    version: int
    procedure: int
    body: bytes


class Auth(NamedTuple):
    """An ``opaque_auth``: a credential or a verifier (RFC 5531 section 8.2)."""

    flavor: int
    body: bytes = b""


NO_AUTH = Auth(AUTH_NONE)


def auth_sys(
    uid: int = 0,
    gid: int = 0,
    gids: Sequence[int] = (),
    machine: str | bytes = "client",
    stamp: int = 0,
) -> Auth:
    """AUTH_SYS credential (RFC 5531 appendix A)."""
    body = Packer().uint(stamp).opaque(machine).uints(uid, gid).uint_array(gids)
    return Auth(AUTH_SYS, body.done())


def auth_gss(
    sequence: int, service: int, context: bytes = b"\x00\x00\x00\x01", procedure: int = 0
) -> Auth:
    """RPCSEC_GSS version 1 credential (RFC 2203 section 5); procedure 0 is RPCSEC_GSS_DATA."""
    body = Packer().uints(1, procedure, sequence, service).opaque(context)
    return Auth(RPCSEC_GSS, body.done())


def gss_verifier(checksum: bytes = bytes(28)) -> Auth:
    """RPCSEC_GSS verifier; krb5 checksums take 28 bytes with AES (RFC 4121 section 4.2.6.1)."""
    return Auth(RPCSEC_GSS, checksum)


def gss_integrity(sequence: int, body: bytes, checksum: bytes = bytes(28)) -> bytes:
    """rpc_gss_integ_data around arguments or results: krb5i (RFC 2203 section 5.3.2.2)."""
    inner = Packer().uint(sequence).raw(body).done()
    return Packer().opaque(inner).opaque(checksum).done()


def gss_privacy(sealed: bytes) -> bytes:
    """rpc_gss_priv_data: krb5p, the sealed bytes as they are (RFC 2203 section 5.3.2.3)."""
    return Packer().opaque(sealed).done()


def call(
    xid: int,
    program: int,
    version: int,
    procedure: int,
    body: bytes = b"",
    credential: Auth = NO_AUTH,
    verifier: Auth = NO_AUTH,
    rpc_version: int = 2,
) -> bytes:
    """A call message (RFC 5531 section 9, ``call_body``)."""
    head = Packer().uints(xid, 0, rpc_version, program, version, procedure)
    return _auth(_auth(head, credential), verifier).raw(body).done()


def reply(xid: int, body: bytes = b"", verifier: Auth = NO_AUTH) -> bytes:
    """An accepted and successful reply."""
    return _auth(Packer().uints(xid, 1, 0), verifier).uint(SUCCESS).raw(body).done()


def reply_failed(
    xid: int, accept_stat: int, low: int = 0, high: int = 0, verifier: Auth = NO_AUTH
) -> bytes:
    """An accepted reply without results; ``low`` and ``high`` are sent with PROG_MISMATCH."""
    message = _auth(Packer().uints(xid, 1, 0), verifier).uint(accept_stat)
    if accept_stat == PROG_MISMATCH:
        message.uints(low, high)
    return message.done()


def reply_rpc_mismatch(xid: int, low: int = 2, high: int = 2) -> bytes:
    """A denied reply: RPC_MISMATCH."""
    return Packer().uints(xid, 1, 1, 0, low, high).done()


def reply_auth_error(xid: int, auth_stat: int) -> bytes:
    """A denied reply: AUTH_ERROR with its ``auth_stat`` (RFC 5531 section 9)."""
    return Packer().uints(xid, 1, 1, 1, auth_stat).done()


def record(message: bytes, fragments: Sequence[int] = ()) -> bytes:
    """Record marking (RFC 5531 section 11).

    ``fragments`` are the sizes in bytes of all fragments but the last, which takes the rest.
    Raises ValueError when they exceed the message or a fragment exceeds 2^31 - 1 bytes.
    """
    if sum(fragments) > len(message):
        raise ValueError(f"fragments of {sum(fragments)} bytes in {len(message)} bytes of message")
    sizes = [*fragments, len(message) - sum(fragments)]
    if max(sizes) > LARGEST_FRAGMENT:
        raise ValueError(f"a fragment of {max(sizes)} bytes cannot be marked")
    packer = Packer()
    start = 0
    for index, size in enumerate(sizes):
        last = LAST_FRAGMENT if index == len(sizes) - 1 else 0
        packer.uint(last | size).raw(message[start : start + size])
        start += size
    return packer.done()


def _auth(packer: Packer, auth: Auth) -> Packer:
    return packer.uint(auth.flavor).opaque(auth.body)
