"""Attributes are kept for a short time only: a small actimeo, acdirmin or acregmin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.caching.spared import NONE
from pcapnfs.analyses.mounts.mount_timeouts import is_longest
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import (
    TOPIC,
    UNCACHED,
    asked_again,
    is_timeout,
    judged,
    longer,
    of_part,
)
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.caching.spared import Spared
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "short_attribute_cache.share", 0.001, "share",
    "calls that longer timeouts would have spared, below which nothing is reported: too few to be "
    "what a mount does", "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose questions show it."""
    for found in judged(material, _is_short):
        asked = found.questions
        never = _is_none(found.verdict.options)
        spared = asked.fresh_files if never else asked.early
        longest = is_longest(found.verdict.options)
        again = asked_again(material, asked) if longest else NONE
        calls = spared.calls + again.calls
        if calls < values[SHARE.name] * asked.calls:
            continue
        claims = left_out(spared, again)
        yield Observed(
            severity=by_cost(material, claims, sure=found.confidence == "likely"),
            at_most="problem" if found.confidence == "likely" else "warning",
            title=f"The client keeps attributes for a short time only: {found.verdict.title}",
            seen=f"{of_part(found.part)}The client {found.verdict.evidence}. "
            f"{units.count(calls)} of its {units.counted(asked.calls, 'call')} are GETATTRs "
            "that default options would have spared it: nothing had changed, and it had known for "
            f"{'' if never else '1 s or more, but '}less than 3 s (files) or 30 s (directories)"
            f"{_doubled(again)}.",
            why="Each timeout that runs out costs a round trip for every file and directory that "
            "is used again, although next to none of them has changed.",
            advice=(
                longer(
                    "noac, actimeo=0 and acregmin=0"
                    if UNCACHED[0] in found.verdict.options
                    else "actimeo, acregmax and acdirmax"
                    if longest
                    else "actimeo, acregmin and acdirmin"
                ),
                *((_NO_OPTION,) if longest else ()),
            ),
            calls=calls,
            confidence=found.confidence,
            data=found.data,
            frames=found.verdict.frames or spared.frames or again.frames,
            claims=claims,
            about=found.about,
            part=found.part,
        )


_NO_OPTION = Advice(
    "If no such option is there, the client does not double its timeouts: where these files change "
    "only through it, or seldom, mount with actimeo=60 or more.",
    "what other clients change is seen that much later.",
)


def _doubled(again: Spared) -> str:
    """Of those that came later, why they are none of a default mount's."""
    if not again.calls:
        return ""
    return (
        f", or, {units.count(again.calls)} times, a file for less than the time to which a default "
        "mount had doubled its 3 s by then"
    )


def _is_short(options: tuple[str, ...]) -> bool:
    """`acregmin=0`, or every timeout of some seconds that would explain the pauses."""
    return _is_none(options) or is_timeout(options)


def _is_none(options: tuple[str, ...]) -> bool:
    """Whether files are not believed at all; what directories are, they may not tell."""
    return options[0] == "acregmin=0"


RULE = Rule(
    id="short_attribute_cache",
    title="Attributes are cached for a short time only (actimeo=N, acregmin=N)",
    origin="practice: mounts with a small actimeo; nfs(5), section on attribute caching",
    judge=judge,
    thresholds=(SHARE,),
    topic=TOPIC,
)
