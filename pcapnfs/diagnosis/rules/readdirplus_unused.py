"""Listings with attributes that take long, and nobody asks for the entries afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

TOUCHED = Threshold(
    "readdirplus_unused.touched", 0.05, "share",
    "entries listed with attributes that a later call is about", "default of this tool",
)  # fmt: skip
PER_ENTRY = Threshold(
    "readdirplus_unused.per_entry", 0.001, "s",
    "time for each entry, beyond that of a small call for each listing: the server fetches its "
    "attributes from disk", "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "readdirplus_unused.least", 200, "entries", "listed entries, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with such listings."""
    for pair in material.listing_costs:
        # The server may have looked for the attributes of those that came without them, too.
        entries = pair.plus_entries + pair.bare_entries
        if (
            pair.plus_entries < values[LEAST.name]
            or pair.touched > values[TOUCHED.name] * pair.plus_objects
            or pair.plus_extra_s < values[PER_ENTRY.name] * entries
        ):
            continue
        claims = (Claim("unstable", pair.plus_extra_s),)
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title="Listings fetch attributes that may be for nothing",
            seen=f"{units.counted(pair.plus.calls, 'listing')} with attributes took "
            f"{units.duration(pair.plus.time_s)}, "
            f"{units.duration(pair.plus_extra_s / entries)} for each of "
            f"{units.counted(entries, 'entry', 'entries')} beyond what small calls take. Later "
            f"calls were about {units.count(pair.touched)} of {units.count(pair.plus_objects)} of "
            "them.",
            why="For attributes the server reads the inode of each entry, from disk where it is "
            "not cached; names alone stand in the directory. A program that reads the attributes "
            "from the listing sends no further call: the packets do not tell it from one that "
            "only wanted the names.",
            advice=(
                Advice(
                    "If programs only want names here (ls, find -name, a shell's *), mount with "
                    "nordirplus (recent kernels: rdirplus=none).",
                    "ls -l and find -ls then cost a call for each entry.",
                ),
                Advice(
                    "Give the server memory for its inode cache, or keep its metadata on flash."
                ),
            ),
            calls=pair.plus.calls,
            confidence="possible",
            data=f"{units.counted(pair.plus.calls, 'call')} to list with attributes",
            frames=pair.plus.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


RULE = Rule(
    id="readdirplus_unused",
    title="Slow listings with attributes that may be for nothing",
    origin="practice: READDIRPLUS storms; Linux commits d69ee9b85541 and 230bc98f7a2a",
    judge=judge,
    thresholds=(TOUCHED, PER_ENTRY, LEAST),
)
