"""Each new file costs a SETATTR more, because it is made exclusively."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "exclusive_create.least", 30, "calls", "such SETATTRs, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


_NEWER = (
    " An exclusive create of NFSv4.1 sets the mode at once. But a server that keeps the client's "
    "verifier in the file's times, as Linux and Ganesha do, leaves it to the client to set the "
    "times."
)

_ADVICE = (
    Advice(
        "If the application can do without O_EXCL (tar --overwrite, cp over files that exist, "
        "rsync --inplace; git, databases and lock files cannot), let it.",
        "a file of that name that another program makes at the same time goes unnoticed; and what "
        "is written over where it is (rsync --inplace) is seen half new meanwhile, and stays so "
        "when the program is interrupted.",
    ),
    Advice(
        "Where the server is neither Linux nor Ganesha, try vers=4.1 or 4.2: their exclusive "
        "create sets the mode at once. Those two keep the client's verifier in the file's times, "
        "so that the client sets the times afterwards, with a call that costs as much.",
        "other versions differ in more than that: locks, delegations, sessions.",
    ),
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them."""
    for pair in material.exclusive_creates:
        followed = pair.followed
        if followed.calls < values[LEAST.name]:
            continue
        claims = left_out(followed, row="stable")
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title="Exclusive creates cost a SETATTR for each new file",
            seen=f"{units.counted(pair.creates, 'exclusive create')} of "
            f"{units.counted(pair.all_creates, 'create')}; {units.count(followed.calls)} "
            f"{'was' if followed.calls == 1 else 'were'} followed "
            f"by a SETATTR of their own, {units.duration(followed.time_s / followed.calls)} each.",
            why="In NFSv3 and NFSv4.0 an exclusive create (O_CREAT with O_EXCL, as tar, cp and "
            "mktemp use it) has no room for the mode: a second call sets it, and waits for stable "
            "storage as the first did." + (_NEWER if pair.with_attributes else ""),
            advice=_ADVICE[:1] if pair.with_attributes == pair.creates else _ADVICE,
            calls=followed.calls,
            confidence="certain",
            data=units.counted(pair.creates, "exclusive create"),
            frames=followed.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


RULE = Rule(
    id="exclusive_create",
    title="Exclusive creates, each followed by a SETATTR",
    origin="RFC 1813 section 3.3.8, RFC 7530 section 16.16.5, RFC 8881 section 18.16.3",
    judge=judge,
    thresholds=(LEAST,),
)
