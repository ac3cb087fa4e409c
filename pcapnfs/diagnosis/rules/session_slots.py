"""All slots of a session are taken: NFSv4.1 limits the calls at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.caps import Slots
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "session_slots.share", 0.1, "share", "of the time with calls under way, all slots are taken",
    "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "session_slots.least", 100, "calls", "calls in the session, below which nothing is reported",
    "default of this tool",
)  # fmt: skip

MOSTLY = 0.5
"""What a full TCP window took, as a part of the time in which all slots were taken, from which on
it is that for which calls held them."""

LINUX_ASKS = 64
"""Slots that a Linux client asks for by default (max_session_slots of the module nfs)."""

MORE = Advice(
    "Let the server grant more: on Linux it goes by memory and by threads; on an appliance look "
    "for the slots or in-flight requests of a session."
)
"""What to do about few slots."""

TAKEN_BACK = (
    Advice(
        "Find out why the server takes slots back while the client uses them: it is short of "
        "memory, has many clients or sessions, or somebody set a limit. A new mount may get new "
        "slots, which it takes back likewise."
    ),
)
"""What to do about slots that there were."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each session that was full."""
    for session in material.caps.slots:
        if (
            session.calls < values[LEAST.name]
            or session.full_s <= 0
            or session.full_s < values[SHARE.name] * session.busy_s
        ):
            continue
        share = session.full_s / session.busy_s
        stood_s = sum(
            each.cost_s
            for each in material.full_windows
            if (each.client, each.server) == (session.client, session.server)
        )
        # Calls that wait for a window take all slots, and more slots would wait for it, too.
        held = stood_s >= session.full_s * MOSTLY
        yield Observed(
            severity="note" if held else "warning",
            title="NFSv4.1 slots limit the calls at once",
            seen=_granted(session) + f", and for {units.share(share)} of the "
            f"{units.duration(session.busy_s)} with calls under way all of them were taken.",
            why=(
                "They waited for a full TCP window (see the finding on it), and more of them would "
                "wait longer. "
                if held
                else ""
            )
            + "Each call in a session needs a slot (RFC 8881 section 2.10.6). Further calls wait "
            "in the client, where no capture sees them: the server seems fast, the application "
            "waits.",
            advice=TAKEN_BACK if session.lowered_from else (MORE, _asking(session.limit)),
            confidence="certain",
            data=units.counted(session.calls, "call"),
            about=(session.client, session.server),
        )


def _granted(session: Slots) -> str:
    slots = units.counted(session.limit, "slot")
    if session.lowered_from is None:
        return f"The server grants {slots}"
    return (
        f"The server wants no more than {slots} used, of {units.count(session.lowered_from)} that "
        "it granted before (CB_RECALL_SLOT, target_highest_slotid of SEQUENCE)"
    )


def _asking(granted: int) -> Advice:
    """What a client can do: to ask for more does not help where fewer are granted."""
    if granted < LINUX_ASKS:
        return Advice(
            f"A Linux client asks for {LINUX_ASKS} slots, more than are granted, unless "
            "max_session_slots of its module nfs is lower: look whether somebody lowered it."
        )
    return Advice(
        f"On a Linux client, raise max_session_slots of the module nfs ({LINUX_ASKS} by default), "
        "and mount again."
    )


RULE = Rule(
    id="session_slots",
    title="All slots of a session are taken",
    origin="RFC 8881 section 2.10.6.1",
    judge=judge,
    thresholds=(SHARE, LEAST),
    of_times=True,
    topic="calls at once",
)
