"""Operations of two major versions of NFS that ask the same of the server's storage.

Takes the times of a side; gives them under names that versions share. A CREATE of NFSv3 and an OPEN
that creates do not do the same for the client, but a new file has to be on the disk for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.comparison.operations import operation_changes
from pcapnfs.comparison.side import Times

if TYPE_CHECKING:
    from pcapnfs.comparison.operations import OperationChange
    from pcapnfs.comparison.side import Side

NEW_FILE, NEW_OBJECT, REMOVED = "CREATE or OPEN(create)", "MKDIR or CREATE", "REMOVE"

BEFORE_4 = {
    "CREATE": NEW_FILE,
    "MKDIR": NEW_OBJECT,
    "SYMLINK": NEW_OBJECT,
    "MKNOD": NEW_OBJECT,
    "RMDIR": REMOVED,
}
"""What operations of NFSv2 and NFSv3 are called here that have other names in NFSv4."""

SINCE_4 = {"OPEN(create)": NEW_FILE, "CREATE": NEW_OBJECT}
"""The same of NFSv4. SETATTR, WRITE, COMMIT, REMOVE, RENAME and LINK are called the same."""


def stable(times: Mapping[tuple[str, str], Times]) -> dict[tuple[str, str], Times]:
    """The stable operations."""
    return {key: of_one for key, of_one in times.items() if of_one.stable}


def shared(before: Side, after: Side) -> bool:
    """Whether a stable operation of one version is on both sides, or one side has none."""
    first, second = stable(before.times), stable(after.times)
    return not (first and second) or bool(first.keys() & second.keys())


def together(times: Mapping[tuple[str, str], Times]) -> dict[tuple[str, str], Times]:
    """The stable operations under names that versions share, in the order of their calls each."""
    found: dict[str, list[Times]] = {}
    for (version, op), of_one in sorted(stable(times).items()):
        names = SINCE_4 if version == "4" else BEFORE_4
        found.setdefault(names.get(op, op), []).append(of_one)
    return {
        ("", name): Times(
            stable=True,
            calls=sum(each.calls for each in several),
            seconds=np.concatenate([each.seconds for each in several]),
        )
        for name, several in found.items()
    }


def stable_changes(before: Side, after: Side) -> tuple[OperationChange, ...]:
    """How stable operations moved: each in its version, or where none is, what asks the same."""
    names = stable if shared(before, after) else together
    return operation_changes(names(before.times), names(after.times))
