"""The rule for calls that the server put off."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.software import Kind, Software
from pcapnfs.analyses.servers.refusals import Refusals
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.server_not_ready import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.restarted import RESTARTED

TAPE = Refusals(
    client="10.0.0.2",
    server="10.0.0.1",
    status="NFS3ERR_JUKEBOX",
    calls=7,
    waits=3,
    unfinished=1,
    recalled=1,
    operations=("READ", "WRITE"),
    stopped_at=("READ", "WRITE"),
    refused_s=0.001,
    paths=("a/b", "c"),
    longest_s=15.0,
    time_s=25.0,
    recalled_s=5.0,
    frames=(3,),
)


def test_the_wait_counts_and_recalls_are_left_to_their_rule() -> None:
    (seen,) = seen_by(RULE, nothing(refusals=(TAPE,)))
    assert seen.seen == (
        "7 calls (READ, WRITE) were answered NFS3ERR_JUKEBOX. Together with the pauses until the "
        "client asked again they took 25.0 s; the longest wait, 15.0 s, was for a/b. Waits "
        "for a delegation that the server recalled: 1 of 3. Not ended when the capture did: 1."
    )
    assert seen.claims == (Claim("waiting", 20.0),)
    assert "5 s in NFSv3" in seen.why
    assert len(seen.advice) == 1


def test_a_server_that_holds_state_of_a_client_that_leaves_keeps_its_umount() -> None:
    leaving = replace(
        TAPE, status="NFS4ERR_CLIENTID_BUSY", operations=("DESTROY_CLIENTID",), paths=()
    )
    (seen,) = seen_by(RULE, nothing(refusals=(leaving,)))
    assert "umount takes that long" in seen.why
    assert [each.action[:22] for each in seen.advice] == ["See which state the se"]


@pytest.mark.parametrize("operation", ["PUTROOTFH", "PUTFH"])
def test_a_handle_that_is_put_off_late_waits_for_who_knows_the_exports(operation: str) -> None:
    held = replace(TAPE, status="NFS4ERR_DELAY", stopped_at=(operation,), refused_s=5.05)
    (seen,) = seen_by(RULE, nothing(refusals=(held,)))
    assert "Half of them took 5.05 s and more to be put off." in seen.seen
    assert f"put off at {operation}, before anything was done with a file" in seen.why
    assert "answers at once" not in seen.why
    assert not any(word in seen.why for word in ("tape", "logged in"))
    (advice,) = seen.advice
    assert "rpc.mountd" in advice.action
    kind = Kind("NetApp Release 9.6.0 (netapp.com)", "implementation", 1, (TAPE.server,), 1)
    other = nothing(refusals=(held,), software=Software(servers=(kind,)))
    assert "rpc.mountd" not in str(seen_by(RULE, other)[0].advice)


def test_the_root_is_looked_up_however_soon_it_is_put_off() -> None:
    """Also by a call that belongs to logging in; that of a file may be a volume that moves."""
    root = replace(
        TAPE,
        status="NFS4ERR_DELAY",
        operations=("SECINFO_NO_NAME",),
        stopped_at=("PUTROOTFH",),
        paths=(),
    )
    (seen,) = seen_by(RULE, nothing(refusals=(root,)))
    assert "answers at once" in seen.why
    assert "rpc.mountd" in seen.why
    (seen,) = seen_by(RULE, nothing(refusals=(replace(root, stopped_at=("SEQUENCE",)),)))
    assert "not logged in yet" in seen.why
    soon = replace(TAPE, status="NFS4ERR_DELAY", stopped_at=("PUTFH",))
    assert "tape" in seen_by(RULE, nothing(refusals=(soon,)))[0].why


def test_what_is_put_off_late_was_not_answered_at_once() -> None:
    late = replace(TAPE, refused_s=2.0)
    (seen,) = seen_by(RULE, nothing(refusals=(late,)))
    assert "did not answer at once" in seen.why
    assert "tape" in seen.why


def test_nfsv4_may_be_delegations_that_the_capture_does_not_show() -> None:
    (seen,) = seen_by(RULE, nothing(refusals=(replace(TAPE, status="NFS4ERR_DELAY"),)))
    assert "leases-enable" in seen.advice[1].action


def test_a_server_that_restarted_may_be_in_its_grace_period() -> None:
    """NFSv3 has no status for that: NFS-Ganesha answers a SETATTR that truncates with JUKEBOX."""
    ours = replace(RESTARTED, server=TAPE.server)
    (seen,) = seen_by(RULE, nothing(refusals=(TAPE,), restarts=(ours,)))
    assert "grace period that follows" in seen.why
    assert "Grace_Period" in seen.advice[0].action
    elsewhere = nothing(refusals=(TAPE,), restarts=(replace(ours, server="10.0.0.9"),))
    (seen,) = seen_by(RULE, elsewhere)
    assert "restarted" not in seen.why
    # NFSv4 has one, and a finding on it.
    delayed = replace(TAPE, status="NFS4ERR_DELAY")
    (seen,) = seen_by(RULE, nothing(refusals=(delayed,), restarts=(ours,)))
    assert "restarted" not in seen.why


def test_a_login_that_is_put_off_has_nothing_of_files() -> None:
    login = replace(
        TAPE, status="NFS4ERR_DELAY", operations=("EXCHANGE_ID", "CREATE_SESSION"), paths=()
    )
    (seen,) = seen_by(RULE, nothing(refusals=(login,)))
    assert "not logged in yet" in seen.why
    assert not any(word in str(seen.advice) for word in ("these files", "tiering", "CB_RECALL"))
    (seen,) = seen_by(RULE, nothing(refusals=(replace(login, operations=("EXCHANGE_ID", "READ")),)))
    assert "tape" in seen.why


@pytest.mark.parametrize(("logins", "clash"), [(1, False), (29, True)])
def test_a_login_that_a_second_client_of_one_name_holds_up(logins: int, clash: bool) -> None:
    login = replace(TAPE, status="NFS4ERR_DELAY", operations=("CREATE_SESSION",), paths=())
    ended = replace(
        RESTARTED,
        server=login.server,
        verifiers=1,
        lost_state=27,
        losers=1,
        logins=logins,
        kept=True,
        refused=0,
        unheard_s=4.0,
    )
    (seen,) = seen_by(RULE, nothing(refusals=(login,), restarts=(ended,)))
    assert ("somebody else had by its name" in seen.why) is clash
    assert ("Give each client a name of its own" in seen.advice[0].action) is clash


def test_what_recalls_explain_is_theirs() -> None:
    assert seen_by(RULE, nothing(refusals=(replace(TAPE, recalled=3),))) == []


def test_one_call_is_not_many() -> None:
    (seen,) = seen_by(RULE, nothing(refusals=(replace(TAPE, calls=1),)))
    assert seen.seen.startswith(
        "1 call (READ, WRITE) was answered NFS3ERR_JUKEBOX. Together with the pauses until the "
        "client asked again it took 25.0 s"
    )
