"""The same file systems are mounted again and again, as automounters do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.mounts.repeated_mounts import AGAIN
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.mounts.repeated_mounts import RepeatedMounts
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "mounted_again.least", AGAIN, "mounts",
    "mounts of what was mounted in an earlier burst, below which they are not told as such",
    "default of this tool: who tries something out mounts once or twice",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with such mounts."""
    for pair in material.repeated_mounts:
        again = pair.again >= values[LEAST.name]
        claims = by_row(dict(pair.time_s)) if again else ()
        yield Observed(
            severity=by_cost(material, claims) if again else "note",
            at_most="problem" if again else None,
            title="The same is mounted again and again"
            if again
            else "Mounts come one by one, as they are used",
            seen=_seen(pair, again=again),
            why="An automounter (autofs, systemd) unmounts what nobody used for its timeout. The "
            "next program that asks for it waits until it is mounted, and what the client had in "
            "its caches is gone."
            if again
            else "An automounter (autofs, systemd) mounts what a program asks for, and the program "
            "waits until it is mounted.",
            advice=_advice(pair) if again else (_DIRECT,),
            confidence="likely",
            data=units.counted(pair.mounts, "mount"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _seen(pair: RepeatedMounts, *, again: bool) -> str:
    text = (
        f"{units.counted(pair.mounts, 'mount')} in {units.counted(pair.bursts, 'burst')}, ten "
        "seconds or more apart."
    )
    if not again:
        return text
    named = [f"{each.path} in {units.counted(each.bursts, 'burst')}" for each in pair.most]
    if more := pair.paths - len(named):
        named.append(f"and {units.count(more)} more")
    text += (
        f" {units.count(pair.again)} of them were of what had been mounted before: "
        f"{', '.join(named)}."
    )
    if pair.unused_s is not None and pair.longest_unused_s is not None:
        text += (
            f" It had not been called for during {units.duration(pair.unused_s)} in the median, "
            f"{units.duration(pair.longest_unused_s)} at most."
        )
    took = sum(each for _, each in pair.time_s)
    return f"{text} To mount it again took {units.duration(took)} of the clock."


def _advice(pair: RepeatedMounts) -> tuple[Advice, ...]:
    longer = (
        ""
        if pair.unused_s is None
        else f" to more than {units.duration(pair.unused_s)}, after "
        "which half of it was wanted again"
    )
    return (
        Advice(
            f"Raise the timeout of the automounter{longer}: autofs, timeout in /etc/autofs.conf or "
            "--timeout= of the map; systemd, x-systemd.idle-timeout=. 0 never unmounts."
        ),
        _DIRECT,
        Advice(
            "If jobs or containers mount for themselves: mount once on the host, and hand them the "
            "directories as bind mounts."
        ),
    )


_DIRECT = Advice(
    "What is used all day: mount it when the machine starts (/etc/fstab), or the directory above "
    "once, in place of each below it.",
    "a mount stays when its server is away: programs that touch it then wait (hard), or fail "
    "(soft).",
)

RULE = Rule(
    id="mounted_again",
    title="Mounts that come again and again",
    origin="practice: automounters with short timeouts; autofs(5), systemd.mount(5)",
    judge=judge,
    thresholds=(LEAST,),
)
