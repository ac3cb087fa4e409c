"""Captures that begin and end among calls under way, as those of a mount in use do."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.captured.capture import capture
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.views.trust import trust_sentences, warning
from tests.test_order import packets_of
from tests.unit.rows import ROOT

pytest.importorskip("pcapnfs._core")


def part(sample: str, first: int, last: int, folder: Path) -> Path:
    """The frames of a sample from one to another."""
    header, packets = packets_of(ROOT / "samples" / sample)
    path = folder / "part.pcap"
    path.write_bytes(header + b"".join(packets[first - 1 : last]))
    return path


def sentences(path: Path) -> tuple[list[str], str]:
    """What is said of a capture's trust, and the line above other screens."""
    with pcapnfs.open(path) as trace:
        found = trust(trace)
        return trust_sentences(found, capture(trace)), warning(found)


def test_a_capture_within_a_longer_one_lacks_nothing(tmp_path: Path) -> None:
    """It begins before a reply, and ends behind a WRITE that took 60.7 ms, more than most."""
    said, above = sentences(part("k61-tar-v3.pcap", 1203, 1937, tmp_path))
    assert said == [
        "99.7 % of the calls have their reply; 1 of 366 has none, sent as the capture ended.",
        "1 reply without call, as the capture began.",
    ]
    assert above == ""


def test_a_message_that_the_end_cut_off_is_told_as_that(tmp_path: Path) -> None:
    with pcapnfs.open(ROOT / "samples" / "k61-walk-v3.pcap") as trace:
        ((first,),) = trace.sql(
            "select min(reply_first_frame) from calls "
            "where op = 'READDIRPLUS' and reply_first_frame < reply_frame"
        ).fetchall()
    said, above = sentences(part("k61-walk-v3.pcap", 1, first, tmp_path))
    assert "1 message not decoded to the end: cut off as the capture ended." in said
    assert above == ""
