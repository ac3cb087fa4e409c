"""One call and what answers it, before either has a time.

A workload is a generator: it yields an ``Exchange`` and is sent the value of the reply, or yields a
``Pause``.  The call is built when it is sent, the reply when the server gets to it: only then are
the slot of the session and the state of the files known.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

from pcapnfs.record import Record
from pcapnfs.synth.builder.rpc import Request

STABLE, UNSTABLE, UNSTABLE_WRITE = "stable", "unstable", "unstable_write"
READ, STATE = "read", "state"
"""Classes of calls (docs/definitions.md)."""


@dataclass(slots=True)
class Slot:
    """A slot of a session, or what NFSv4.0 has instead: an open owner and its sequence number."""

    number: int
    sequence: int = 0
    confirmed: bool = False
    """The server knows the open owner (NFSv4.0)."""
    owner_sequence: int = 0


class Answer(NamedTuple):
    """What the server makes of a call."""

    body: bytes
    """Of the reply."""
    value: Any = None
    """What the client learns from it."""
    stability: str = UNSTABLE
    """Class of the call; a stable one takes the server its persist delay longer."""


class Exchange(Record):
    """A call to come."""

    operation: str
    """Procedure, or main operation of the compound."""
    path: str | None
    """The file that it belongs to, below the export; None for none."""
    call: Callable[[Slot], Request]
    """Builds the call."""
    serve: Callable[[Slot, int], Answer]
    """Answers it at this moment, nanoseconds since 1970."""
    unless: Callable[[Slot], bool] = lambda _slot: False
    """Whether it is not needed after all; then it is passed over."""


class Pause(NamedTuple):
    """The client does something else for so long."""

    nanoseconds: int


Work = Generator[Exchange | Pause, Any, Any]
"""What a thread of the client does: yields what it asks, is sent what it learns."""
