"""Holds what pcapnfs decoded against what tshark dissected, call by call.

Takes the files of a capture, or tshark's `Dissection` of them; gives every call as an `Exchange`
under the frame and the xid that both sides know it by, and the `Differences` of two such sets.
Promises that nothing is left out: what only one side has is a difference too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import pcapnfs

from .tshark import Call, Dissection

_TRANSIENT = 0x40000000
"""Programs of callbacks of NFSv4 begin here (RFC 5531 section 8.2)."""

Key = tuple[int, int]
"""Frame that completes a call, and its xid."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call with its reply, as far as both sides tell it in the same words."""

    program: int
    version: int
    procedure: int
    reply_frame: int | None
    srt_ns: int | None
    status: int | None
    """nfsstat3, or the status of a compound; None without a reply or where it has none."""
    operations: tuple[int, ...]
    """Of a compound, also one of a callback: the operations of the call."""
    executed: tuple[int, ...]
    """Those of them that the reply has results of."""


@dataclass(frozen=True, slots=True)
class Differences:
    """What two sets of calls do not share."""

    only_ours: frozenset[Key]
    only_theirs: frozenset[Key]
    changed: Mapping[str, frozenset[Key]]
    """Calls that both have, by the field of `Exchange` in which they differ."""

    def counts(self) -> dict[str, int]:
        """How many differences there are of each kind; kinds without any are not in it."""
        found = {"only ours": len(self.only_ours), "only tshark": len(self.only_theirs)}
        found |= {name: len(keys) for name, keys in self.changed.items()}
        return {name: number for name, number in found.items() if number}


def decoded(files: Iterable[Path]) -> dict[Key, Exchange]:
    """Every call that pcapnfs finds."""
    with pcapnfs.open([str(path) for path in files]) as trace:
        return decoded_of(trace)


def decoded_of(trace: pcapnfs.Trace, packets: int | None = None) -> dict[Key, Exchange]:
    """Every call of a trace, or of its first packets, so many: a reply behind them is none."""
    end = 2**63 - 1 if packets is None else packets
    operations, executed = _operations(trace, "true"), _operations(trace, "executed")
    rows = trace.sql(
        """
        select call_frame, xid, call, program, version, procedure,
               if(reply_frame <= $end, reply_frame, null), if(reply_frame <= $end, srt, null),
               if(reply_frame <= $end, status, null), coalesce(reply_frame > $end, false)
        from calls where call_frame is null or call_frame <= $end
        """,
        {"end": end},
    ).fetchall()
    found = {
        (row[0], row[1]): Exchange(
            program=row[3],
            version=row[4],
            procedure=row[5],
            reply_frame=row[6],
            srt_ns=row[7],
            status=row[8],
            operations=tuple(operations[row[2]]),
            executed=() if row[9] else tuple(executed[row[2]]),
        )
        for row in rows
    }
    assert len(found) == len(rows), "two calls of one xid in one frame"
    return found


def _operations(trace: pcapnfs.Trace, which: str) -> Mapping[int, list[int]]:
    """The numbers of a compound's operations by call, in order."""
    found: dict[int, list[int]] = defaultdict(list)
    rows = trace.sql(
        f"""
        select call, opcode from operations
        where {which} and call in (
            select call from calls
            where procedure = 1 and (program = 100003 and version = 4 or program >= $transient)
        )
        order by call, position
        """,
        {"transient": _TRANSIENT},
    ).fetchall()
    for call, opcode in rows:
        found[call].append(opcode)
    return found


def dissected(dissection: Dissection) -> dict[Key, Exchange]:
    """Every call that tshark finds."""
    return {_key(item): _exchange(item) for item in dissection.calls}


def _key(item: Call) -> Key:
    first = item.earlier[0] if item.earlier else item.call
    return first.frame, first.xid


def _exchange(item: Call) -> Exchange:
    call, reply = item.call, item.reply
    assert call.program is not None
    assert call.version is not None
    assert call.procedure is not None
    return Exchange(
        program=call.program,
        version=call.version,
        procedure=call.procedure,
        reply_frame=reply.frame if reply else None,
        srt_ns=reply.srt_ns if reply else None,
        status=reply.status if reply else None,
        operations=call.operations or call.callback_operations,
        executed=(reply.operations or reply.callback_operations) if reply else (),
    )


def differences(ours: Mapping[Key, Exchange], theirs: Mapping[Key, Exchange]) -> Differences:
    """What is not the same on both sides.

    tshark gives a status only where it has a field for it (NFS); elsewhere ours is not compared.
    """
    changed: dict[str, set[Key]] = defaultdict(set)
    for key in ours.keys() & theirs.keys():
        for name in (field.name for field in fields(Exchange)):
            mine, other = getattr(ours[key], name), getattr(theirs[key], name)
            if mine != other and not (name == "status" and other is None):
                changed[name].add(key)
    return Differences(
        only_ours=frozenset(ours.keys() - theirs.keys()),
        only_theirs=frozenset(theirs.keys() - ours.keys()),
        changed={name: frozenset(keys) for name, keys in changed.items()},
    )
