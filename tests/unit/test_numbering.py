"""What is counted within a trace is known to be, column by column."""

from __future__ import annotations

import re
from pathlib import Path

from pcapnfs import meta, numbering
from pcapnfs.record import replace
from pcapnfs.store import Stored
from tests.unit.rows import tables

NUMBER = re.compile(
    r"\(table (calls|files|connections)\)|^(The |First )?[Ff]rame\b|^Number of th(e|is) "
    r"|^The (call|connection|file|object|directory|source)\b|: the directory of"
)
"""How meanings of columns begin that hold a number of the trace."""


def test_every_number_of_a_trace_is_counted_on_where_traces_are_put_together() -> None:
    unsigned = {
        column.name: column.meaning
        for table in tables()
        for column in table.columns
        if column.sql in ("UINTEGER", "UBIGINT")
    }
    meant = {name for name, meaning in unsigned.items() if NUMBER.search(meaning)}
    assert meant - set(numbering.NUMBERS) == set()
    assert {name for name in numbering.NUMBERS if "frame" in name} == {
        name for name in unsigned if "frame" in name
    }


def _part(packets: int, **clock: int) -> Stored:
    """A trace of one capture."""
    file = meta.CaptureFile(
        path="a.pcap",
        format="pcap",
        link_types=("Ethernet",),
        packets=packets,
        bytes=packets * 100,
        start_ns=0,
        end_ns=1,
        snaplen=None,
        truncated_packets=0,
        first_frame=1,
        last_frame=packets,
        dropped_packets=None,
        damage=None,
        **clock,
    )
    vain = meta.Vain("10.0.0.2", "10.0.0.1", 2049, 1, 3, 0, 0, 1, packets)
    told = meta.Meta((file,), packets={}, limits_hit={}, calls=0, undecoded=0, vain=(vain,))
    return Stored(Path("a.nfstrace"), {}, told, (), {})


def test_every_frame_that_is_told_of_a_file_is_counted_on() -> None:
    """Also those before which its clock was set."""
    parts = [
        _part(100),
        _part(50, set_back=1, set_back_frame=7, set_forward=1, set_forward_frame=9),
    ]
    whole = numbering.together(parts)
    assert [vain.frame for vain in whole.vain] == [100, 150]
    first, second = whole.files
    assert (first.first_frame, first.last_frame, first.set_back_frame) == (1, 100, None)
    assert (second.first_frame, second.last_frame) == (101, 150)
    assert (second.set_back_frame, second.set_forward_frame) == (107, 109)
    assert whole.streams == (meta.Stream(("a.pcap",), 0), meta.Stream(("a.pcap",), 100))


def test_captures_that_were_decoded_together_are_one_stream() -> None:
    part = _part(100)
    (file,) = part.meta.files
    both = replace(part.meta, files=(file, replace(file, path="b.pcap")))
    assert both.streams == (meta.Stream(("a.pcap", "b.pcap"), 0),)
    whole = numbering.together([replace(part, meta=both)])
    assert whole.streams == both.streams
    three = numbering.together([replace(part, meta=both), _part(7), _part(9)])
    assert [stream.frames_before for stream in three.streams] == [0, 200, 207]
