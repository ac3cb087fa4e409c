"""What makes two runs unlike besides what was changed, in the words that screen and report share.

Takes a `Comparison`; gives sentences, escaped.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.comparison.side import SERVERS
from pcapnfs.diagnosis.first import tells_of_failure
from pcapnfs.text import joined, sentence, some
from pcapnfs.views import counts
from pcapnfs.views.clients_compared import NAMED, whose_runs
from pcapnfs.views.run_time_changed import ran
from pcapnfs.views.trust import lacks, one_way, sealed

if TYPE_CHECKING:
    from pcapnfs.comparison.comparing import Comparison

OTHER_WORK = (
    "The runs hardly have a file or a pattern of calls in common: what each took is of other work."
)
"""Where they have less."""


IDLE_SHARE = 0.05
"""Share of a run from which on it is told that its time is without what nobody used a mount."""


def remarks(result: Comparison) -> list[str]:
    """What makes the sides unlike, besides what was changed."""
    told = []
    for title, run in (("BEFORE", result.before), ("AFTER", result.after)):
        if direction := one_way(run.trust):
            told.append(f"{title}: {direction[0].lower()}{direction[1:]}")
        told += [f"{title}: {line}" for line in sealed(run.trust)]
        missing = [
            *([] if direction else lacks(run.trust)),
            *(
                units.counted(number, one, many)
                for number, one, many in (
                    (run.trust.truncated_packets, "packet was cut", "packets were cut"),
                    (
                        run.trust.undecoded,
                        "message is not decoded to its end",
                        "messages are not decoded to their end",
                    ),
                )
                if number
            ),
        ]
        if missing:
            told.append(f"{title}: {', '.join(missing)}; what is counted there may be too little.")
    if result.in_common is not None and result.in_common < counts.COMMON:
        told.append(OTHER_WORK)
    told += _failing(result)
    told += _order(result) + _mounting(result) + _not_used(result)
    told += _servers(result) + whose_runs(result)
    vantages = {result.before.vantage, result.after.vantage}
    if len(vantages) > 1 and "unknown" not in vantages:
        told.append(
            "Captured at different places; times are those that the client saw, as far as known; "
            "those of files and patterns as they were captured."
        )
    return told


def _failing(result: Comparison) -> list[str]:
    """That calls of a side, or of both, failed, so that less may have been done."""
    sides = {"came": ("AFTER", "it"), "went": ("BEFORE", "it"), "both": ("both runs", "they")}
    return [
        f"Some calls of {side} failed, so that {who} may have done less: {sentence(row.title)}."
        for row in result.findings
        if tells_of_failure(row.id, row.severity)
        for side, who in (sides[row.where],)
    ]


def _order(result: Comparison) -> list[str]:
    """That the captures may have been named the wrong way round."""
    before, after = result.before.start, result.after.start
    # Beyond the calendar times are written otherwise.
    if before is None or after is None or before.startswith("@") or before <= after:
        return []
    # Two captures of one run, from both of its ends, have no order.
    apart = datetime.fromisoformat(before) - datetime.fromisoformat(after)
    if apart.total_seconds() < result.after.run_s:
        return []
    first, second = (units.moment(start) for start in (after, before))
    return [
        f"AFTER was captured first, at {first}, and BEFORE at {second} UTC: if they are the wrong "
        "way round, name them in the other order."
    ]


def _servers(result: Comparison) -> list[str]:
    """That the server is at another address, where that is so of all of them."""
    before, after = result.before.servers, result.after.servers
    if not before or not after or max(len(before), len(after)) >= SERVERS or {*before} & {*after}:
        return []
    is_or_are = "server is" if len(before) == len(after) == 1 else "servers are"
    return [f"The {is_or_are} {some(before, NAMED)} before and {some(after, NAMED)} after."]


def _mounting(result: Comparison) -> list[str]:
    """What mounting took, where users notice it and the capture shows it."""
    before, after = result.before.mounting_s, result.after.mounting_s
    known = result.before.known and result.after.known
    if not known or (ran(result) and not result.mounting_noticed):
        return []
    took = [(before, "BEFORE"), (after, "AFTER")]
    told = " and ".join(f"{units.duration(time_s)} {title}" for time_s, title in took if time_s)
    if not told:
        return []
    refused = result.before.refused or result.after.refused
    lacking = [f", {title} holds no mount" for time_s, title in took if not time_s and not refused]
    told = f"Mounting took {told}{''.join(lacking)}"
    some = result.before.of_files or result.after.of_files
    return [f"{told}; it is no part of the run times." if some else f"{told}."]


def _not_used(result: Comparison) -> list[str]:
    """For how long nobody used what was mounted, in both runs where that is much of one."""
    sides = ((result.before, "BEFORE"), (result.after, "AFTER"))
    known = [(run, title) for run, title in sides if run.known]
    noticed = any(run.mount_idle.whole_s >= IDLE_SHARE * run.run_s > 0 for run, _ in known)
    told = [f"{joined(idle)} of {title}" for run, title in known if (idle := run.mount_idle.told)]
    return [f"The run times are without {'; '.join(told)}."] if noticed and ran(result) else []
