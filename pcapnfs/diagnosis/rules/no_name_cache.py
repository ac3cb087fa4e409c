"""No names are kept: lookupcache=none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.caching.spared import NONE, Spared
from pcapnfs.analyses.mounts.mount_options import NO_NAMES
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import CHANGE, of_part
from pcapnfs.diagnosis.rules import negative_lookups
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Values

if TYPE_CHECKING:
    from pcapnfs.analyses.namespace.names_again import NamesAgain
    from pcapnfs.diagnosis.material import Material


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose LOOKUPs show it."""
    again = {(each.client, each.server, each.part): each for each in material.names_again}
    for mount in material.cache.mounts:
        looked_up = again.get((mount.client, mount.server, mount.part))
        for verdict in mount.verdicts:
            if looked_up is None or verdict.options != NO_NAMES:
                continue
            needless, kept = looked_up.needless, looked_up.kept
            missing = _missing(material, looked_up, values)
            claims = left_out(kept, missing)
            sure = verdict.confidence == "likely"
            yield Observed(
                severity=by_cost(material, claims, sure=sure),
                at_most="problem" if sure else "warning",
                title=f"The client keeps no names: {verdict.title}",
                seen=f"{of_part(mount.part)}The client {verdict.evidence}. "
                f"{units.count(needless.calls)} of its {units.counted(looked_up.calls, 'call')} "
                "are LOOKUPs of what it had found in the same directory less than 30 s before, and "
                "nothing shows that the directory had changed since."
                f"{_replaced(looked_up)}{_in_vain(missing)}",
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
                calls=kept.calls + missing.calls,
                confidence="likely" if sure else "possible",
                data=f"{units.counted(looked_up.calls, 'call')}; "
                f"{units.counted(looked_up.lookups, 'LOOKUP')} that found something",
                frames=verdict.frames or needless.frames,
                claims=claims,
                about=(mount.client, mount.server),
                part=mount.part,
            )


def _missing(material: Material, looked_up: NamesAgain, values: Values) -> Spared:
    """What it looked for again though it had not found it, unless a finding of its own tells that.

    Of one of several mounts that is not known.
    """
    for pair in material.not_found:
        if (pair.client, pair.server) == (looked_up.client, looked_up.server):
            if looked_up.part is not None or negative_lookups.many(pair, values):
                return NONE
            return negative_lookups.spared(pair, pair.again)
    return NONE


def _replaced(looked_up: NamesAgain) -> str:
    """What keeping names would spare, where that is not as many calls."""
    kept = looked_up.kept.calls
    if kept == looked_up.needless.calls:
        return ""
    return (
        f" A client that keeps names would have sent {units.counted(kept, 'call')} less, as far as "
        "can be told: it looks up no name that a listing with attributes told it, but sends a "
        "GETATTR in place of some LOOKUPs, when something is opened or a file's attributes expire."
    )


def _in_vain(missing: Spared) -> str:
    if not missing.calls:
        return ""
    verb = "is of a name" if missing.calls == 1 else "are of names"
    return f" {units.count(missing.calls)} more {verb} that it had looked for in vain before."


RULE = Rule(
    id="no_name_cache",
    title="Names are not cached (lookupcache=none)",
    origin="practice: mounts with lookupcache=none; nfs(5), section on directory entry caching",
    judge=judge,
)
