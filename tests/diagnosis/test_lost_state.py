"""The rule for state that the server took from its client."""

from __future__ import annotations

from pcapnfs.diagnosis.rules.lost_state import RELOCK, RULE, TWINS
from tests.diagnosis.refused import kinds_told, of_kind


def test_opens_and_locks_that_are_gone_are_a_problem() -> None:
    (seen,) = of_kind(RULE, "revoked", calls=1)
    assert seen.severity == "problem"
    assert seen.title == "The server took opens and locks away from the client"
    assert TWINS in seen.advice


def test_what_a_restarted_server_does_not_give_back_is_a_problem() -> None:
    (seen,) = of_kind(RULE, "unreclaimed", calls=21)
    assert (seen.severity, seen.confidence) == ("problem", "certain")
    assert seen.title == "The client could not reclaim what it had open or locked"
    assert seen.seen.startswith("21 calls (WRITE, CREATE) were answered NFS4ERR_NO_GRACE")
    assert "nfsdcld" in seen.advice[0].action
    assert RELOCK in seen.advice


def test_a_name_in_use_is_that_of_a_twin() -> None:
    (seen,) = of_kind(RULE, "in_use")
    assert seen.title == "The client's name is in use by another client"
    assert seen.advice == (TWINS,)


def test_nothing_else_is() -> None:
    assert kinds_told(RULE) == {"revoked", "unreclaimed", "in_use"}
