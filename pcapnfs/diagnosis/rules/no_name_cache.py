"""No names are kept: lookupcache=none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import CHANGE, of_part
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

OPTIONS = ("lookupcache=none",)
"""The options of a verdict that says so."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose LOOKUPs show it."""
    del values  # What is enough, the analysis of mount options says.
    again = {(each.client, each.server, each.part): each for each in material.names_again}
    for mount in material.cache.mounts:
        looked_up = again.get((mount.client, mount.server, mount.part))
        for verdict in mount.verdicts:
            if looked_up is None or verdict.options != OPTIONS:
                continue
            needless = looked_up.needless
            claims = left_out(needless)
            sure = verdict.confidence == "likely"
            yield Observed(
                severity=by_cost(material, claims, sure=sure),
                at_most="problem" if sure else "warning",
                title=f"The client keeps no names: {verdict.title}",
                seen=f"{of_part(mount.part)}The client {verdict.evidence}. "
                f"{units.count(needless.calls)} of its {units.counted(looked_up.calls, 'call')} "
                "are LOOKUPs of what it had found in the same directory less than 30 s before, and "
                "nothing shows that the directory had changed.",
                why="Each use of a path waits for a round trip for every directory in it and for "
                "its last name. A client that keeps names asks once, and then only whether the "
                "directory has changed.",
                advice=(
                    Advice(
                        f"Mount without lookupcache=none. {CHANGE}",
                        "names that other clients make or remove are seen up to acdirmax (60 s) "
                        "later.",
                    ),
                    Advice(
                        "If new names must be seen at once, lookupcache=positive is enough: it "
                        "asks again only for names that were not there.",
                        "names that other clients remove or replace are seen up to 60 s later.",
                    ),
                ),
                calls=needless.calls,
                confidence="likely" if sure else "possible",
                data=f"{units.counted(looked_up.calls, 'call')}; "
                f"{units.counted(looked_up.lookups, 'LOOKUP')} that found something",
                frames=verdict.frames or needless.frames,
                claims=claims,
                about=(mount.client, mount.server),
                part=mount.part,
            )


RULE = Rule(
    id="no_name_cache",
    title="Names are not cached (lookupcache=none)",
    origin="practice: mounts with lookupcache=none; nfs(5), section on directory entry caching",
    judge=judge,
)
