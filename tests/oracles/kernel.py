"""What the client's kernel says of its mounts and calls, from a capture's truth.

Takes a truth file's content; gives mount options in force and counted operations. Promises to read
what the kernel wrote (mountstats), never what was asked for on the command line.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.oracles.corpus import Capture

Truth = dict[str, Any]


def options(truth: Truth) -> list[dict[str, str]]:
    """The options in force of each mount: by name, those without a value with an empty one."""
    return [
        {
            name: value
            for name, _, value in (
                option.partition("=") for option in mount["mountstats_opts"].split(",")
            )
        }
        for client in truth["clients"].values()
        for mount in client["mounts"]
        if mount.get("mountstats_opts")
    ]


def all_options(capture: Capture) -> list[dict[str, str]]:
    """Those of every run that the capture holds."""
    return [each for truth in capture.truths() for each in options(truth)]


def operations(truth: Truth) -> Counter[str]:
    """Operations that all clients counted between mounts and unmounts, by the kernel's name."""
    counted: Counter[str] = Counter()
    for client in truth["clients"].values():
        for name, each in client.get("mountstats_delta_total", {}).get("ops", {}).items():
            counted[name] += each["count"]
    return counted


def steps(truth: Truth) -> list[Counter[str]]:
    """The same for each step of the workload, in order."""
    return [
        Counter(
            {
                name: each["count"]
                for name, each in ((step.get("mountstats_delta") or {}).get("ops") or {}).items()
            }
        )
        for step in truth["steps"]
    ]


def readable(capture: Capture) -> bool:
    """Whether the capture has the operations, whole and from the begin."""
    return capture.full and capture.encryption is None and not capture.started_late
