"""Words that several rules use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.text import joined, some

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.failures import Failures
    from pcapnfs.analyses.servers.restarts import Restart

NAMED = 3
"""Of many alike so many are named."""

NO_DELEGATIONS = (
    "Linux: sysctl -w fs.leases-enable=0, which counts for all that is delegated from then on, "
    "without a restart of nfsd; NetApp: -v4.1-read-delegation disabled -v4.1-write-delegation "
    "disabled"
)
"""How delegations are switched off. Linux asks for the setting with each lease that it gives
(fs/locks.c, `generic_add_lease`); a restart of nfsd would begin a grace period for all clients."""

DELEGATIONS_ON = (
    "Linux: sysctl -w fs.leases-enable=1, the default; NetApp: -v4.1-read-delegation enabled; "
    "FreeBSD: vfs.nfsd.issue_delegations=1"
)
"""How they are switched on."""


def places(paths: Iterable[str]) -> str:
    """Paths in a sentence; not escaped."""
    return ", ".join("the root of the export" if path == "." else path for path in paths)


def several(names: Sequence[str]) -> str:
    """The first of them, and how many more there are; not escaped."""
    return some(names, NAMED, visible=str)


def listed(names: Sequence[str], shown: int) -> str:
    """All of them with an "and", or the first so many and how many more there are; not escaped."""
    if len(names) > shown:
        return some(names, shown, visible=str)
    return joined(names)


def refused(pair: Failures) -> str:
    """Which calls a server refused, how, for whom and on what; not escaped."""
    answers = " or ".join(pair.statuses)
    text = (
        f"{units.counted(pair.calls, 'call')} ({several(pair.operations)}) "
        f"{'was' if pair.calls == 1 else 'were'} answered {answers}"
    )
    if pair.users:
        text += f", asked by {'user' if len(pair.users) == 1 else 'users'} "
        text += ", ".join(str(user) for user in pair.users)
    if pair.paths:
        text += f": {places(pair.paths)}"
    return f"{text}."


def written_again(server: Restart) -> str:
    """What came again after a server's verifier had changed."""
    return (
        f"{units.counted(server.rewritten, 'WRITE')} ({units.size(server.rewritten_bytes)}) of "
        "what had been written UNSTABLE before came again."
    )
