"""The rule for connections that answer later than the others of their client."""

from __future__ import annotations

from pcapnfs.analyses.wire.uneven_connections import UnevenConnections
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.uneven_connections import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import clock
from tests.diagnosis.material import nothing, seen_by

UNEVEN = UnevenConnections(
    client="10.0.0.2",
    server="10.0.0.1",
    ports=(670,),
    others=3,
    small_calls=78,
    floor_s=0.0307,
    usual_s=0.00114,
    usual_calls=236,
    calls=277,
    longer_s=7.98,
    time_s={"unstable": 6.0, "read": 1.98},
    frames=(5, 9),
)


def test_it_names_the_connection_and_what_its_calls_took_longer() -> None:
    found = nothing(uneven_connections=(UNEVEN,), time_budget=clock(unstable=10.0, client=6.0))
    (seen,) = seen_by(RULE, found)
    assert seen.severity == "warning"
    assert seen.title == "1 of 4 connections answers later than the 3 others"
    assert seen.seen == (
        "On the connection from port 670 the quickest small calls took 30.7 ms (tenth percentile "
        "of 78), on the 3 others meanwhile 1.14 ms (of 236). 277 calls took 7.98 s longer for it."
    )
    assert seen.claims == (Claim("read", 1.98), Claim("unstable", 6.0))
    assert seen.display_filter == "tcp.port == 670"


def test_several_are_named_and_of_many_the_first() -> None:
    (seen,) = seen_by(
        RULE, nothing(uneven_connections=(replace(UNEVEN, ports=(670, 671), others=1),))
    )
    assert seen.title == "2 of 3 connections answer later than the other"
    assert "On the connections from port 670 and 671 the quickest" in seen.seen
    (seen,) = seen_by(
        RULE, nothing(uneven_connections=(replace(UNEVEN, ports=tuple(range(670, 678))),))
    )
    assert "port 670, 671, 672, 673 and 4 more the" in seen.seen
    assert seen.display_filter is not None
    assert seen.display_filter.count("tcp.port") == 4


def test_less_than_a_millisecond_is_nothing() -> None:
    near = replace(UNEVEN, floor_s=0.0021, usual_s=0.00114)
    assert seen_by(RULE, nothing(uneven_connections=(near,))) == []


def test_what_acks_show_is_in_no_service_time() -> None:
    acks = replace(UNEVEN, shown_by="acks", time_s={"client": 7.9})
    (seen,) = seen_by(RULE, nothing(uneven_connections=(acks,)))
    assert seen.seen == (
        "On the connection from port 670 the client's ACKs usually took 30.7 ms (78), on the 3 "
        "others 1.14 ms (236). The client got the replies to 277 calls that much later, 7.98 s in "
        "all; it is in no service time, since the capture was taken away from the client."
    )
    assert seen.data == "314 ACKs of the client"
    assert seen.claims == (Claim("client", 7.9),)
