"""The table of every capture: docs/captures.md says what is decoded, and why not more."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

import pcapnfs

from .oracles import survey
from .oracles.corpus import require_corpus
from .oracles.incomplete import INCOMPLETE, pattern_for
from .oracles.survey import Row

pytest.importorskip("pcapnfs._core")


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    require_corpus()
    return survey.survey()


def test_the_page_is_what_the_decoder_says(rows: list[Row]) -> None:
    written = survey.PAGE.read_text(encoding="utf-8").splitlines()
    differing = list(
        difflib.unified_diff(written, survey.page(rows).splitlines(), "written", "now", n=0)
    )
    assert differing == [], "run python -m tests.oracles.survey, and read the difference"


def test_every_file_of_the_corpus_is_in_the_page() -> None:
    root = require_corpus()
    surveyed = {path for files in survey.captures().values() for path in files}
    files = {path for path in root.rglob("*") if path.is_file()}
    assert {path for path in files - surveyed if path.suffix not in survey.NO_CAPTURES} == set()


def test_what_is_incomplete_has_its_reason(rows: list[Row]) -> None:
    incomplete = {row.name: pattern_for(row.name) for row in rows if not row.complete and row.calls}
    assert [name for name, pattern in incomplete.items() if pattern is None] == []
    named = [row.name for row in rows if row.complete and pattern_for(row.name) is not None]
    assert named == [], "complete, and yet named among the incomplete"
    used = {pattern_for(row.name) for row in rows}
    assert set(INCOMPLETE) - used == set(), "reasons that belong to no capture"


def test_what_was_lost_and_sent_again_is_not_missing() -> None:
    """Every byte that the network dropped was sent again, and all calls are decoded."""
    captures = {name: files for name, files in survey.captures().items() if "/loss-" in name}
    if not captures:
        require_corpus()
    for files in captures.values():
        with pcapnfs.open([str(path) for path in files]) as trace:
            missing = trace.sql("select sum(missing_bytes)::bigint from connections").fetchall()
        assert missing == [(0,)]


def test_every_call_is_matched_or_unanswered(rows: list[Row]) -> None:
    for row in rows:
        assert row.calls == row.matched + row.unanswered, row.name
        assert row.calls == sum((row.protocols or {}).values()), row.name


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
