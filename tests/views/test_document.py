"""The JSON contract: keys, null for unknown, no NaN, nothing that a terminal would obey."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest

from pcapnfs.record import Record, replace
from pcapnfs.views.document import document, indented, json_pieces, pieces, to_json
from tests.views import samples

PROMISED = {
    "capture": "files format link_types packets bytes start end duration_s snaplen"
    " truncated_packets",
    "trust": "rpc_calls rpc_replies matched unanswered orphan_replies retransmitted_calls undecoded"
    " undecoded_reasons missing_bytes",
    "files": "regular directories calls_per_file stable_per_file bytes_read bytes_written",
    "stability": "stable unstable unstable_write read state",
}
"""What docs/definitions.md promises; more keys are welcome."""


def test_the_summary_has_the_promised_keys() -> None:
    summary = json.loads(to_json(samples.summary()))
    for section, keys in PROMISED.items():
        assert set(keys.split()) <= set(summary[section]), section
    assert set(summary["operations"][0]) >= set("version op calls errors stable_calls srt".split())
    assert set(summary["operations"][0]["srt"]) == set(
        "count min_s mean_s p50_s p95_s p99_s max_s sum_s".split()
    )
    assert set(summary["op_counts"][0]) >= set("version op count errors".split())
    assert set(summary["stability"]["stable"]) >= set("calls sum_s mean_s p50_s".split())
    assert set(summary["time_budget"][0]) >= set(
        "client wall_s stable_s unstable_s transfer_s client_s concurrency".split()
    )
    assert set(summary["files"]["calls_per_file"]) == set("mean p50 p95 max".split())


def test_unknown_is_null() -> None:
    assert json.loads(to_json(samples.summary()))["operations"][1]["srt"]["mean_s"] is None


def test_refuses_numbers_that_json_does_not_have() -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json(replace(samples.TIMES, mean_s=float("nan")))


def test_refuses_what_has_no_place_in_a_document() -> None:
    with pytest.raises(TypeError, match="bytes has no place"):
        document({"handle": b"\x00"})


def test_is_ascii_without_control_characters() -> None:
    text = to_json({samples.HOSTILE: samples.HOSTILE})
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text) == {samples.HOSTILE: samples.HOSTILE}


def test_a_long_list_is_written_piece_by_piece() -> None:
    counted = {"shown": 0}

    def items() -> Iterator[object]:
        for number in (1, 2):
            counted["shown"] += 1
            yield {"n": number}

    text = "".join(pieces("list", items(), {"counted": counted, "name": "\x1b"}))
    assert json.loads(text) == {
        "list": [{"n": 1}, {"n": 2}],
        "counted": {"shown": 2},
        "name": "\x1b",
    }
    assert "\x1b" not in text
    assert json.loads("".join(pieces("list", [], {"a": None}))) == {"list": [], "a": None}


class Long(Record):
    """A result with a list of results and a word from the capture."""

    word: str
    parts: tuple[object, ...]


@pytest.mark.parametrize("length", [0, 1, 5_000, 20_000])
def test_an_item_that_is_long_itself_comes_in_pieces(length: int) -> None:
    part = Long("\n\x1b", (None, 1.5, {"a": (True,)}))
    item = Long(samples.HOSTILE, (part,) * length)
    found = list(indented({"matches": 2}, "items", [item, part]))
    assert "".join(found) == to_json({"matches": 2, "items": [item, part]})
    assert max(map(len, found)) < 200_000


def test_a_result_comes_in_pieces() -> None:
    result = Long(samples.HOSTILE, (Long("a", (1,)),) * 20_000)
    found = list(json_pieces(result))
    assert "".join(found) == json.dumps(document(result), indent=2) + "\n"
    assert max(map(len, found)) < 200_000


def test_a_line_for_each_value_takes_no_longer_than_the_values() -> None:
    """What Python indents goes through it word by word, five times as long; so would one by one."""
    result = Long(samples.HOSTILE, (Long("a", (1, 2.5, None, {"b": (True, "c")})),) * 20_000)

    def taken_s(write: Callable[[], object]) -> float:
        begun = time.process_time()
        write()
        return time.process_time() - begun

    runs = [
        (taken_s(lambda: to_json(result)), taken_s(lambda: json.dumps(document(result))))
        for _ in range(3)
    ]
    assert min(lines for lines, _ in runs) < min(plain for _, plain in runs)


def test_an_item_refuses_what_a_document_does() -> None:
    with pytest.raises(TypeError, match="bytes has no place"):
        list(indented({"matches": 1}, "items", [Long("", (b"\x00",) * 200)]))
    with pytest.raises(ValueError, match="JSON"):
        list(indented({"matches": 1}, "items", [Long("", (float("nan"),))]))
