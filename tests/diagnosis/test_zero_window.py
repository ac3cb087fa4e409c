"""The rule for receivers that take no more data."""

from __future__ import annotations

from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.zero_window import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.test_tcp_loss import LOSSY


def test_each_side_is_named() -> None:
    pair = replace(LOSSY, client_zero_window_s=0.5, server_zero_window_s=2.0)
    pair = replace(pair, connections=4, client_shut=1, server_shut=2)
    server, client = seen_by(RULE, nothing(tcp_stalls=(pair,)))
    assert server.title == "The server could not take data as fast as the client sent it"
    assert server.seen == "The server's TCP window was 0 for 2.00 s, on 2 connections."
    assert server.claims == (Claim("transfer", 2.0),)
    assert client.seen == "The client's TCP window was 0 for 500 ms, on 1 connection."
    assert client.title == "The client could not take data as fast as the server sent it"
    assert client.claims == (Claim("transfer", 0.5),)


def test_a_moment_is_nothing() -> None:
    pair = replace(LOSSY, client_zero_window_s=0.01, server_zero_window_s=0.01)
    assert seen_by(RULE, nothing(tcp_stalls=(pair,))) == []
    assert seen_by(RULE, nothing(tcp_stalls=(pair,)), "zero_window.least=0.005")
