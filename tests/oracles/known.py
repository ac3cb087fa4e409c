"""Where tshark and the kernels' counters differ, and why; established over the whole lab.

Everything that a test leaves out of a comparison is named here, with its reason; nothing else may
be left out. Differences of single captures are data (`KNOWN`). Those of the protocols and of
tshark itself hold for any capture, and the oracles honour them:

- Operations after a failed one are in the call, but the server stops at the first that fails
  (RFC 8881 section 15.2): it does not count them, and the reply does not hold them.
- RPCSEC_GSS control messages travel as calls of procedure NULL, answered by the authentication
  layer of the server (RFC 2203 section 5.2): nfsd never counts them.
- A call repeated on the same connection (`k61-retrans-v3`) is executed and counted again by nfsd;
  mountstats counts one operation with two transmissions.
- A call repeated on a new connection (`k61-restart-*`) is another call to tshark, which pairs by
  connection; the kernels count one, as the first transmission died with its connection.
- OPEN with CLAIM_DELEG_CUR_FH (RFC 8881 section 18.16) has arguments that tshark 4.0 does not
  know: it reads the rest of the call at a wrong offset; the reply is right (`mix-v42`).
- EXCHANGE_ID lists operations in its state protection, which tshark shows as `nfs.opcode` too;
  only those that are elements of the compound are taken.
- Packets seen on two interfaces are retransmitted segments to tshark, which ignores the second.
- Out-of-order segments: without `tcp.reassemble_out_of_order` tshark loses calls and replies where
  packets were lost (`loss-*`); with it, it waits for ever for bytes that a snaplen cut off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

from .corpus import Capture
from .truth import NFS4_OPERATIONS
from .tshark import Message


class Aspect(StrEnum):
    """What a difference touches."""

    OPERATIONS = "operations of call and reply: tshark sees a beginning only"
    FRAMES = "frames and times, as tshark sees them"
    COUNT = "counts of the kernel"


@dataclass(frozen=True, slots=True)
class Known:
    """One explained difference."""

    captures: str
    """Pattern of capture names, as of a shell."""
    aspects: frozenset[Aspect]
    why: str
    invisible: Mapping[str, int] = field(default_factory=dict)
    """Calls that the kernel counted and whose first byte is not in the file, by procedure."""


KNOWN = (
    Known(
        "*-snap*",
        frozenset({Aspect.OPERATIONS}),
        "Compounds are cut by the snaplen: tshark shows the operations up to the cut, the last of "
        "them perhaps without its arguments.",
    ),
    Known(
        "*cachedread*-snap*",
        frozenset({Aspect.FRAMES}),
        "tshark gives up on a message over several segments that were cut, and takes the first "
        "of them for the whole.",
    ),
    Known(
        "nconnect4-v42-snap256",
        frozenset({Aspect.FRAMES, Aspect.COUNT}),
        "The same; and frame 690 holds two calls of 192 bytes, the second of which begins at byte "
        "258 of a packet of which 256 were kept.",
        {"COMPOUND": 1},
    ),
)
"""Differences that belong to captures."""


def excused(capture: Capture, aspect: Aspect) -> str | None:
    """The reason why `aspect` of `capture` cannot be compared; `None` when it can."""
    for known in KNOWN:
        if aspect in known.aspects and fnmatchcase(capture.name, known.captures):
            return known.why
    return None


def invisible(capture: Capture) -> Mapping[str, int]:
    """Calls of which no byte is in the file, although the kernel counted them, by procedure."""
    for known in KNOWN:
        if known.invisible and fnmatchcase(capture.name, known.captures):
            return known.invisible
    return {}


def tshark_lost_its_place(call: Message) -> bool:
    """A number that is no operation betrays that tshark read the compound at a wrong offset."""
    return any(operation not in NFS4_OPERATIONS for operation in call.operations)
