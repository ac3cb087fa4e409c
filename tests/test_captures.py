"""The table of every capture: docs/captures.md says what is decoded, and why not more."""

from __future__ import annotations

import difflib
import functools
from pathlib import Path

import pytest

import pcapnfs

from .oracles import survey
from .oracles.corpus import Capture, require_corpus
from .oracles.incomplete import INCOMPLETE, pattern_for
from .oracles.opened import opened

pytest.importorskip("pcapnfs._core")


_EACH = pytest.mark.parametrize(
    ("name", "capture"),
    [pytest.param(name, survey.described().get(name), id=name) for name in survey.captures()]
    or [pytest.param("none", None, id="no-corpus")],
)


@_EACH
def test_a_capture_is_what_its_line_says(name: str, capture: Capture | None) -> None:
    require_corpus()
    if capture is None:
        row = survey.row(name, survey.captures()[name])
    else:
        row = survey.told(name, opened(capture).trace, [str(path) for path in capture.files])
    assert survey.line(row) == _lines().get(name), _STALE
    assert row.calls == row.matched + row.unanswered
    assert row.calls == sum((row.protocols or {}).values())
    if row.complete:
        assert row.why == "", "complete, and yet named among the incomplete"
    elif row.calls:
        assert row.why != ""


@functools.cache
def _lines() -> dict[str, str]:
    """The line of each capture, by its folder and name."""
    return {row.name: survey.line(row) for row in survey.written()}


_STALE = "run python -m tests.oracles.survey, and read the difference"


def test_the_page_has_each_capture_and_what_they_add_up_to() -> None:
    require_corpus()
    rows = survey.written()
    assert {row.name for row in rows} == set(survey.captures()), _STALE
    known = {name: place for place, name in enumerate(survey.captures())}
    made = survey.page(sorted(rows, key=lambda row: known[row.name])).splitlines()
    text = survey.PAGE.read_text(encoding="utf-8").splitlines()
    differing = list(difflib.unified_diff(text, made, "written", "now", n=0))
    assert differing == [], _STALE


def test_every_file_of_the_corpus_is_in_the_page() -> None:
    root = require_corpus()
    surveyed = {path for files in survey.captures().values() for path in files}
    files = {path for path in root.rglob("*") if path.is_file()}
    assert {path for path in files - surveyed if path.suffix not in survey.NO_CAPTURES} == set()


def test_reasons_belong_to_captures() -> None:
    require_corpus()
    used = {pattern_for(name) for name in survey.captures()}
    assert set(INCOMPLETE) - used == set()


def test_what_was_lost_and_sent_again_is_not_missing() -> None:
    """Every byte that the network dropped was sent again, and all calls are decoded."""
    captures = {name: files for name, files in survey.captures().items() if "/loss-" in name}
    if not captures:
        require_corpus()
    for files in captures.values():
        with pcapnfs.open([str(path) for path in files]) as trace:
            missing = trace.sql("select sum(missing_bytes)::bigint from connections").fetchall()
        assert missing == [(0,)]


def test_the_page_names_no_path_of_a_machine() -> None:
    text = survey.PAGE.read_text(encoding="utf-8")
    assert str(Path.home()) not in text
    assert not any(start in text for start in ("| /", "`/", " /"))


def test_a_capture_that_cannot_be_read_has_its_sentence(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"no capture at all, but long enough to be one")
    row = survey.row("public/text", [text])
    assert row.error is not None
    assert str(tmp_path) not in row.error
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(bytes.fromhex("d4c3b2a1 02000400 00000000 00000000 00000400 01000000"))
    row = survey.row("public/empty.pcap", [empty])
    assert row.error is not None
    assert row.error.startswith("no NFS call in it")
    page = survey.page([row])
    assert "| empty.pcap | no NFS call in it" in page
    assert "| 0 captures | 0 | 0 | 0 | 0 | 0 |  |  |  |" in page
