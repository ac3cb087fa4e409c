"""The note on captures that began in the middle."""

from __future__ import annotations

from pcapnfs.analyses.captured.beginnings import Beginning
from pcapnfs.diagnosis.rules.capture_started_late import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

RUNNING = Beginning(
    client="10.0.0.2",
    server="10.0.0.1",
    connections=2,
    running=1,
    rdma_running=0,
    headless=0,
    rdma_headless=0,
    calls=50,
    versions=(3,),
    mounted=False,
    files=9,
    unrooted=4,
    frames=(1,),
)


def test_what_is_hidden_is_told() -> None:
    other = replace(RUNNING, client="10.0.0.3")
    (seen,) = seen_by(RULE, nothing(beginnings=(RUNNING, other)))
    assert seen.seen == ("Connections without a handshake in the capture: 2 of 4, with 100 calls.")
    assert seen.why.endswith(
        "how TCP's windows are scaled and the round trip of its handshake; the largest READ and "
        "WRITE that the server offers; the paths of 4 of 9 files and directories down from the "
        "export's root."
    )


def test_nfsv4_hides_its_session() -> None:
    pair = replace(RUNNING, versions=(4,), unrooted=0)
    (seen,) = seen_by(RULE, nothing(beginnings=(pair,)))
    assert "the session's slots and the lease" in seen.why
    assert "export's root" not in seen.why


def test_a_mount_seen_leaves_only_tcp_hidden() -> None:
    pair = replace(RUNNING, mounted=True, unrooted=0)
    (seen,) = seen_by(RULE, nothing(beginnings=(pair,)))
    assert seen.why.endswith("how TCP's windows are scaled and the round trip of its handshake.")


def test_of_rdma_nothing_is_said_of_tcp() -> None:
    pair = replace(RUNNING, rdma_running=1, versions=(4,), unrooted=0)
    (seen,) = seen_by(RULE, nothing(beginnings=(pair,)))
    assert seen.seen == (
        "Connections without an exchange of RDMA's connection manager in the capture: 1 of 2, with "
        "50 calls."
    )
    assert seen.why.endswith(
        "is not there: the port of RDMA's service; the session's slots and the lease; the largest "
        "READ and WRITE that the server offers."
    )
    (both,) = seen_by(RULE, nothing(beginnings=(pair, RUNNING)))
    assert both.seen == (
        "Connections without a handshake, or an exchange of RDMA's connection manager, in the "
        "capture: 2 of 4, with 100 calls."
    )
    assert "how TCP's windows are scaled" in both.why


def test_nor_where_it_began_in_the_capture() -> None:
    begun = replace(RUNNING, running=0, headless=1, rdma_headless=1)
    (seen,) = seen_by(RULE, nothing(beginnings=(begun,)))
    assert seen.title == "The capture lacks the beginnings of connections that began in it"
    assert seen.seen.startswith("Connections without an exchange of RDMA's connection manager in ")
    assert seen.why.endswith("no harm to counts and service times.")


def test_a_connection_that_began_in_the_capture_was_not_in_use() -> None:
    begun = replace(RUNNING, running=0, headless=1)
    (seen,) = seen_by(RULE, nothing(beginnings=(begun,)))
    assert seen.title == "The capture lacks the handshakes of connections that began in it"
    assert seen.seen == (
        "Connections without a handshake in the capture: 1 of 2. The first call on it is one with "
        "which clients begin (NULL, EXCHANGE_ID or SETCLIENTID)."
    )
    (seen,) = seen_by(RULE, nothing(beginnings=(begun, RUNNING)))
    assert seen.title == "The capture began when the mount was in use already"


def test_with_every_handshake_there_is_nothing_to_say() -> None:
    assert seen_by(RULE, nothing(beginnings=(replace(RUNNING, running=0),))) == []
