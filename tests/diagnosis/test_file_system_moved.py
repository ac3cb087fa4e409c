"""The rule for file systems that are at another server now."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.servers.refusals import Refusals
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules import server_not_ready
from pcapnfs.diagnosis.rules.file_system_moved import RULE
from pcapnfs.record import replace
from pcapnfs.synth.builder import Conversation
from pcapnfs.synth.builder.nfs4 import Compound, CompoundReply
from tests.decoded import MS, S, T
from tests.diagnosis.material import nothing, seen_by

GONE = Refusals(
    client="10.0.0.2",
    server="10.0.0.1",
    status="NFS4ERR_MOVED",
    calls=10,
    waits=1,
    unfinished=1,
    recalled=0,
    operations=("LOOKUP",),
    stopped_at=("LOOKUP",),
    refused_s=0.001,
    paths=("data",),
    longest_s=None,
    time_s=9.0,
    recalled_s=0.0,
    frames=(70,),
)


def test_the_wait_until_the_client_follows_counts() -> None:
    (seen,) = seen_by(RULE, nothing(refusals=(GONE,)))
    assert seen.seen == (
        "10 calls (LOOKUP) were answered NFS4ERR_MOVED. Together with the pauses until the client "
        "asked here again they took 9.00 s; the longest wait was for data. Never done here: 1 of 1."
    )
    assert seen.claims == (Claim("waiting", 9.0),)
    assert seen_by(server_not_ready.RULE, nothing(refusals=(GONE,))) == []


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(GONE, calls=1, time_s=0.001), id="a referral"),
        pytest.param(replace(GONE, status="NFS4ERR_DELAY"), id="the server is not ready"),
    ],
)
def test_else_nothing_moved(other: Refusals) -> None:
    assert seen_by(RULE, nothing(refusals=(other,))) == []


def _asked(path: Path, *, times: int) -> pcapnfs.Summary:
    """A LOOKUP that is answered so, a second apart each time, between others."""
    conversation = Conversation().open(T)
    for number in range(60 + times):
        moved = 30 <= number < 30 + times
        at = T + 10 * MS * (number + 1) + S * max(0, min(number, 29 + times) - 30)
        ask = Compound(0).putfh(b"root").lookup(b"name").getfh().request()
        reply = CompoundReply().putfh(10019) if moved else CompoundReply().putfh().lookup()
        answer = reply if moved else reply.getfh(b"file")
        conversation.call(number + 1, at, *ask).reply(number + 1, at + MS, answer.body())
    path.write_bytes(conversation.capture().pcap())
    with pcapnfs.open(path) as trace:
        return pcapnfs.summarize(trace)


def test_the_pauses_are_booked_as_waiting_for_the_server(tmp_path: Path) -> None:
    summary = _asked(tmp_path / "moved.pcap", times=6)
    (told,) = (each for each in summary.findings if each.id == RULE.id)
    assert told.saving_s == pytest.approx(5.0, abs=0.1)
    assert summary.time_budget[0].waiting_s == pytest.approx(5.0, abs=0.1)


def test_a_referral_is_none(tmp_path: Path) -> None:
    summary = _asked(tmp_path / "referral.pcap", times=1)
    assert RULE.id not in {each.id for each in summary.findings}


def _followed(path: Path, *, used: bool = False, served: bool = False) -> pcapnfs.Summary:
    """A name that is looked up every second, and answered MOVED, there or at its handle.

    Args:
        path: Where the capture is written.
        used: The client had the handle of that name before.
        served: Other names of the directory are looked up with success in between.
    """
    conversation = Conversation().open(T)
    asked = Compound(0).putfh(b"root").lookup(b"home").getfh().request()
    at, xid = T, 0
    for name in (b"a", b"b", b"c", *((b"home",) * used)):
        at, xid = at + 10 * MS, xid + 1
        ask = Compound(0).putfh(b"root").lookup(name).getfh().request()
        found = CompoundReply().putfh().lookup().getfh(b"handle of " + name)
        conversation.call(xid, at, *ask).reply(xid, at + MS, found.body())
    for number in range(6):
        at, xid = at + S, xid + 1
        reply = CompoundReply().putfh()
        moved = reply.lookup(10019) if number % 2 else reply.lookup().getfh(status=10019)
        conversation.call(xid, at, *asked).reply(xid, at + MS, moved.body())
        if served:
            xid += 1
            ask = Compound(0).putfh(b"root").lookup(b"a").getfh().request()
            found = CompoundReply().putfh().lookup().getfh(b"handle of a")
            conversation.call(xid, at + 10 * MS, *ask).reply(xid, at + 11 * MS, found.body())
    path.write_bytes(conversation.capture().pcap())
    with pcapnfs.open(path) as trace:
        return pcapnfs.summarize(trace)


def test_a_referral_that_is_followed_again_and_again_is_no_wait(tmp_path: Path) -> None:
    summary = _followed(tmp_path / "referrals.pcap")
    assert RULE.id not in {each.id for each in summary.findings}
    (budget,) = summary.time_budget
    assert budget.waiting_s == 0.0
    assert budget.client_s == pytest.approx(6.0, abs=0.1)


def test_a_name_whose_handle_was_used_before_has_moved(tmp_path: Path) -> None:
    summary = _followed(tmp_path / "moved.pcap", used=True)
    (told,) = (each for each in summary.findings if each.id == RULE.id)
    assert told.saving_s == pytest.approx(5.0, abs=0.1)


def test_nothing_waits_while_the_same_file_system_serves_other_calls(tmp_path: Path) -> None:
    summary = _followed(tmp_path / "served.pcap", used=True, served=True)
    assert RULE.id not in {each.id for each in summary.findings}
    assert summary.time_budget[0].waiting_s == pytest.approx(0.006, abs=0.001)
