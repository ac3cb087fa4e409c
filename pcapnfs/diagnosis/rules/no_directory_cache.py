"""No attributes of directories are kept: acdirmin=0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import TOPIC, judged, longer, of_part
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose questions show it."""
    del values  # What is enough, the analysis of mount options says.
    for found in judged(material, lambda options: options[0] == "acdirmin=0"):
        spared = found.questions.fresh_directories
        claims = left_out(spared)
        yield Observed(
            severity=by_cost(material, claims, sure=found.confidence == "likely"),
            at_most="problem" if found.confidence == "likely" else "warning",
            title=f"The client keeps no attributes of directories: {found.verdict.title}",
            seen=f"{of_part(found.part)}The client {found.verdict.evidence}. "
            f"{units.count(spared.calls)} of its {units.counted(found.questions.calls, 'call')} "
            "are GETATTRs about directories that had not changed and that it had known for less "
            "than 30 s.",
            why="Whoever creates, lists, opens or removes files waits for one more round trip for "
            "each name.",
            advice=(
                longer("acdirmin=0 and acdirmax=0 (noac and actimeo=0 set both)"),
                Advice(
                    "If new names must be seen within seconds, acdirmin=1,acdirmax=3 spares most "
                    "of these calls.",
                    "files that other clients make or remove are seen up to 3 s later.",
                ),
            ),
            calls=spared.calls,
            confidence=found.confidence,
            data=found.data,
            frames=found.verdict.frames,
            claims=claims,
            about=found.about,
            part=found.part,
        )


RULE = Rule(
    id="no_directory_cache",
    title="Attributes of directories are not cached (acdirmin=0)",
    origin="practice: mounts with acdirmin=0; nfs(5), section on attribute caching",
    judge=judge,
    topic=TOPIC,
)
