"""No attributes are kept: noac, or actimeo=0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import TOPIC, UNCACHED, judged, longer, of_part
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose questions show it."""
    del values  # What is enough, the analysis of mount options says.
    for found in judged(material, lambda options: options[:2] == UNCACHED):
        asked = found.questions
        claims = left_out(asked.fresh_files, asked.fresh_directories)
        needless = asked.fresh_files.calls + asked.fresh_directories.calls
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title=f"The client keeps no attributes: {found.verdict.title}",
            seen=f"{of_part(found.part)}The client {found.verdict.evidence}. "
            f"{units.count(needless)} of its {units.counted(asked.calls, 'call')} are GETATTRs "
            "that default options would have spared it: nothing had changed, and it had known "
            f"for less than 3 s (files, {units.count(asked.fresh_files.calls)}) or 30 s "
            f"(directories, {units.count(asked.fresh_directories.calls)}).",
            why="Every step through a path, every open and every stat waits for the server, one "
            "round trip after the other, to be told what the client knows.",
            advice=(
                longer("noac and actimeo=0"),
                Advice(
                    "If one application needs it (a database shared by hosts, mail spools), give "
                    "it an export and a mount of its own, and mount everything else without."
                ),
                Advice(
                    "If changes must be seen within seconds, actimeo=1 spares most of these calls.",
                    "other clients' changes are seen up to 1 s later.",
                ),
            ),
            calls=needless,
            confidence=found.confidence,
            data=found.data,
            frames=found.verdict.frames,
            claims=claims,
            about=found.about,
            part=found.part,
        )


RULE = Rule(
    id="no_attribute_cache",
    title="Attributes are not cached (noac, actimeo=0)",
    origin="practice: mounts with noac or actimeo=0; nfs(5), section on attribute caching",
    judge=judge,
    topic=TOPIC,
)
