"""Calls that a server refused, for the rules about them."""

from __future__ import annotations

from pcapnfs.analyses.servers.failures import KINDS, Failures
from pcapnfs.diagnosis.finding import Observed, Rule
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

REFUSED = Failures(
    client="10.0.0.2",
    server="10.0.0.1",
    kind="space",
    calls=12,
    statuses=("NFS3ERR_NOSPC",),
    operations=("WRITE", "CREATE"),
    users=(7, 9),
    paths=("a/b", "."),
    frames=(20, 22),
)


def of_kind(rule: Rule, kind: str, **changes: object) -> list[Observed]:
    """What a rule says of twelve calls that were refused so."""
    # No room for a session has the status of no room for a file.
    changes.setdefault("statuses", KINDS["space" if kind == "session" else kind][-1:])
    changed = replace(REFUSED, kind=kind, **changes)  # type: ignore[arg-type]
    return seen_by(rule, nothing(failures=(changed,)))


def kinds_told(rule: Rule) -> set[str]:
    """The kinds of refusals that a rule speaks of."""
    return {kind for kind in KINDS if of_kind(rule, kind)}
