"""Several clients that a server takes for one, because they log in by one name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.captured.passed_on import one_of
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.wording import listed

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values

NAMED = 4
"""Addresses that are named; a finding is no list."""


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for each server and name."""
    for found in material.shared_names:
        if one_of(material.passed_on, found.clients):
            continue
        yield Observed(
            severity="problem",
            title=f"{units.count(len(found.clients))} clients of {found.server} have one name, and "
            "end each other's state",
            seen=f"{listed(found.clients, NAMED)} logged in "
            f"{units.counted(found.logins, 'time')} as {found.name}: {units.count(found.turns)} "
            "times after another of them.",
            why="A server knows an NFSv4 client by that name alone. Who logs in by it anew is "
            "taken for the client of before, come back after a crash: opens, locks and delegations "
            "of the other are ended, whose next call fails, so that it logs in again in turn. All "
            "of them are slow, programs get EIO, and locks do not hold.",
            advice=(
                Advice(
                    "Give each client a name of its own: another host name (machines cloned from "
                    "one image, containers that are all called alike), or on Linux a uniquifier "
                    "(/sys/fs/nfs/net/nfs_client/identifier, or nfs4_unique_id of the module nfs). "
                    "The name is chosen at the first mount: unmount all of that server before."
                ),
                Advice("Restart programs that held files open or locked, and check the files."),
            ),
            confidence="certain",
            data=units.counted(found.logins, "login"),
            frames=found.frames,
            about=(found.server,),
        )


RULE = Rule(
    id="shared_client_name",
    title="Clients log in by one name",
    origin="RFC 8881 section 2.4, RFC 7530 section 9.1.1; practice: cloned machines",
    judge=judge,
)
