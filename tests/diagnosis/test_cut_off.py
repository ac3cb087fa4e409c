"""The rule for pauses in which the client could not reach the server."""

from __future__ import annotations

from pcapnfs.analyses.wire.cut_off import CutOff
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.cut_off import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

ONCE = CutOff(
    client="10.0.0.2",
    server="10.0.0.1",
    times=1,
    moved=1,
    unacknowledged=0,
    together=0,
    longest_s=19.4,
    from_ns=1_700_000_000_000_000_000,
    own_s=6.9,
    idle_s=12.5,
    frames=(9,),
)


def test_what_may_be_the_clients_own_is_no_part_of_the_cost() -> None:
    (seen,) = seen_by(RULE, nothing(cut_off=(ONCE,)))
    assert seen.seen == (
        "From 22:13:20 UTC on nothing of the client came for 19.4 s. Then its next call came on a "
        "new connection, though neither side had ended the former one. How long the client paused "
        "by itself before is not to be seen: other pauses between its calls took up to 6.90 s, "
        "which are left out of what it costs."
    )
    assert (seen.confidence, seen.claims) == ("likely", (Claim("client", 12.5),))


def test_what_the_server_sent_again_makes_it_certain() -> None:
    (seen,) = seen_by(RULE, nothing(cut_off=(replace(ONCE, unacknowledged=1, idle_s=19.4),)))
    assert seen.seen.endswith(
        "the former one, on which the server had sent again what the client never acknowledged."
    )
    assert (seen.confidence, seen.claims) == ("certain", (Claim("client", 19.4),))


def test_calls_that_come_at_once() -> None:
    (seen,) = seen_by(RULE, nothing(cut_off=(replace(ONCE, moved=0, together=1, own_s=0.0),)))
    assert seen.seen.endswith(
        "Then a call came several times at once, which the client sends again only after its timer "
        "ran out (timeo): they had waited in its TCP."
    )


def test_where_it_may_have_paused_as_long_it_is_possible_and_costs_nothing() -> None:
    (seen,) = seen_by(RULE, nothing(cut_off=(replace(ONCE, idle_s=0.0, own_s=50.0),)))
    assert (seen.severity, seen.confidence, seen.claims) == ("note", "possible", ())
    assert seen.seen.endswith("so that nothing is taken for certain to be the path's.")


def test_several_times() -> None:
    (seen,) = seen_by(RULE, nothing(cut_off=(replace(ONCE, times=3, moved=2, together=1),)))
    assert seen.seen.startswith(
        "3 times nothing of the client came for a second or more; the longest was 19.4 s, from "
        "22:13:20 UTC on. 2 times it ended as its next call came on a new connection"
    )
    assert "1 time it ended as a call came several times at once" in seen.seen


def test_a_short_one_is_not_told() -> None:
    assert seen_by(RULE, nothing(cut_off=(ONCE,)), "cut_off.least=20") == []
