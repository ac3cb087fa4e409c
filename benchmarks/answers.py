"""Holds what pcapnfs says of a generated capture beside what the generator knows to be in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MEAN_TOLERANCE_S = 1e-6
"""How far a mean service time may be from the generator's."""


def differences(truth: Mapping[str, Any], answer: Mapping[str, Any], drop: float) -> list[str]:
    """Hold the answer of `summarize --json` beside what the generator wrote.

    Complete captures: calls, errors and mean service time of each main operation, and the count of
    every single operation. With dropped packets a pair is visible only while the packets with its
    headers are there: at least 1 - 3 × drop of the calls must have been matched.
    """
    if drop:
        least, most, pairs = truth["rpcs"] * (1 - 3 * drop), truth["rpcs"], matched(answer)
        return [] if least <= pairs <= most else [f"matched: {pairs}, not {least:.0f} to {most}"]
    found_calls = {(row["version"], row["op"]): row for row in answer["operations"]}
    wanted_calls = by_operation(truth["calls"])
    found_counts = {(row["version"], row["op"]): row["count"] for row in answer["op_counts"]}
    wanted_counts = {(row["version"], row["op"]): row["count"] for row in truth["operations"]}
    said = [
        f"NFSv{version} {op}: only one side has it"
        for version, op in sorted(found_calls.keys() ^ wanted_calls.keys())
    ]
    for (version, op), wanted in wanted_calls.items():
        if (found := found_calls.get((version, op))) is None:
            continue
        for key in ("calls", "errors"):
            if found[key] != wanted[key]:
                said.append(f"NFSv{version} {op}: {key}: {found[key]}, not {wanted[key]}")
        mean, expected = found["srt"]["mean_s"], wanted["mean_s"]
        if truth["exact_times"] and abs(mean - expected) > MEAN_TOLERANCE_S:
            said.append(f"NFSv{version} {op}: mean {mean:.9f} s, not {expected:.9f} s")
    for version, op in sorted(found_counts.keys() | wanted_counts.keys()):
        counts = found_counts.get((version, op), 0), wanted_counts.get((version, op), 0)
        if counts[0] != counts[1]:
            said.append(f"NFSv{version} operation {op}: {counts[0]}, not {counts[1]}")
    return said


def by_operation(calls: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Index the generator's rows by version and main operation."""
    return {(row["version"], row["op"]): row for row in calls}


def matched(answer: Mapping[str, Any]) -> int:
    """Calls that have their reply."""
    return int(answer["trust"]["matched"])
