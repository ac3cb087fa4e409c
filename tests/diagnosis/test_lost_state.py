"""The rule for state that the server took from its client."""

from __future__ import annotations

from pcapnfs.analyses.mounts.shared_names import SharedName
from pcapnfs.diagnosis.rules.lost_state import RELOCK, RULE, TWINS
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.refused import REFUSED, kinds_told, of_kind


def test_opens_and_locks_that_are_gone_are_a_problem() -> None:
    (seen,) = of_kind(RULE, "revoked", calls=1)
    assert seen.severity == "problem"
    assert seen.title == "The server took opens and locks away from the client"
    assert TWINS in seen.advice


def test_what_a_restarted_server_does_not_give_back_is_a_problem() -> None:
    (seen,) = of_kind(
        RULE, "unreclaimed", calls=21, statuses=("NFS4ERR_RECLAIM_BAD", "NFS4ERR_NO_GRACE")
    )
    assert (seen.severity, seen.confidence) == ("problem", "certain")
    assert seen.title == "The client could not reclaim what it had open or locked"
    assert seen.seen.startswith("21 calls (WRITE, CREATE) were answered NFS4ERR_RECLAIM_BAD")
    assert "nfsdcld" in seen.advice[0].action
    assert RELOCK in seen.advice


def test_a_reclaim_outside_of_a_grace_period_tells_of_no_restart() -> None:
    (seen,) = of_kind(RULE, "unreclaimed", statuses=("NFS4ERR_NO_GRACE",))
    assert seen.severity == "note"
    assert seen.title == "The client could not reclaim what it had open or locked"
    assert "nfsdcld" not in str(seen.advice)


def test_what_a_client_of_the_same_name_ended_is_put_down_to_it() -> None:
    revoked = replace(REFUSED, kind="revoked", statuses=("NFS4ERR_EXPIRED",))
    other = replace(revoked, client="10.0.0.9")
    twins = SharedName(
        server="10.0.0.1",
        name="Linux NFSv4.0 node",
        clients=("10.0.0.2", "10.0.0.3"),
        logins=8,
        turns=6,
        frames=(5,),
    )
    shared, alone = seen_by(RULE, nothing(failures=(revoked, other), shared_names=(twins,)))
    assert (shared.severity, alone.severity) == ("note", "problem")
    assert shared.why.startswith("A client of the same name logged in")
    assert "lease" not in str(shared)


def test_a_name_in_use_is_that_of_a_twin() -> None:
    (seen,) = of_kind(RULE, "in_use")
    assert seen.title == "The client's name is in use by another client"
    assert seen.advice == (TWINS,)


def test_nothing_else_is() -> None:
    assert kinds_told(RULE) == {"revoked", "unreclaimed", "in_use"}
