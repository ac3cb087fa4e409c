"""Mounted with noac: nothing is cached, and data is written through as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.mounted import CHANGE, TOPIC, is_written_through, judged, of_part
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server whose questions and WRITEs show it."""
    del values  # What is enough, the analysis of mount options says.
    written = {(pair.client, pair.server, pair.part): pair for pair in material.transfer_runs}
    for found in judged(material, is_written_through):
        asked, through = found.questions, written.get((*found.about, found.part))
        if through is None:
            continue
        saved = Claim("stable", through.sync_saved_s)
        claims = (*left_out(asked.fresh_files, asked.fresh_directories), saved)
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title=f"The client caches nothing: {found.verdict.title}",
            seen=f"{of_part(found.part)}The client {found.verdict.evidence}. "
            f"{units.count(asked.fresh_files.calls + asked.fresh_directories.calls)} of its "
            f"{units.counted(asked.calls, 'call')} are GETATTRs that default options would have "
            f"spared it. {units.count(through.sync.calls)} of "
            f"{units.counted(through.writes.in_runs, 'WRITE')} that continue one another asked for "
            "stable storage, in "
            f"{units.counted(through.sync_files, 'file')}.",
            why="noac keeps no attributes, so that every open, stat and step through a path waits "
            "for a round trip, and it makes all writes synchronous, so that each write() waits for "
            "the server's disk.",
            advice=(
                Advice(
                    f"Mount without noac. {CHANGE}",
                    "what other clients change is seen up to 60 s later (files are still checked "
                    "at open), and what was not yet closed or fsynced is lost if the client "
                    "crashes.",
                ),
                Advice(
                    "If several clients must see each other's changes at once, actimeo=0 without "
                    "sync, or actimeo=1, costs less: programs that need more lock the file, open "
                    "it with O_DIRECT, or fsync.",
                    "with actimeo=1, changes are seen up to 1 s later.",
                ),
            ),
            calls=asked.fresh_files.calls + asked.fresh_directories.calls,
            confidence=found.confidence,
            data=f"{found.data}; {units.counted(through.writes.calls, 'WRITE')}",
            frames=found.verdict.frames,
            claims=claims,
            about=found.about,
            part=found.part,
        )


RULE = Rule(
    id="noac",
    title="Nothing is cached, and data is written through (noac)",
    origin="practice: mounts with noac; nfs(5)",
    judge=judge,
    topic=TOPIC,
)
