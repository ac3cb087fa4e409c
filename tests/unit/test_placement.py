"""A file of the user's choice: there whole or not at all, whatever its name and whatever fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pcapnfs import placement
from pcapnfs.cli import files
from pcapnfs.errors import UsageError


@pytest.mark.parametrize("name", ["report.html", "n" * 255, "é" * 127])
def test_takes_its_place_under_any_name_that_a_file_may_have(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    target.write_text("old")
    with placement.placed_file(target) as fresh:
        fresh.write_text("new")
        assert target.read_text() == "old"
        assert fresh.parent == tmp_path
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_is_readable_like_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with placement.placed_file(tmp_path / "new"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_leaves_the_old_one_and_nothing_else_when_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")

    def half() -> None:
        with placement.placed_file(target) as fresh:
            fresh.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_spares_a_file_that_came_meanwhile(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("another's")
    with pytest.raises(UsageError, match="exists"):
        files.replace(target, "ours", force=False)
    assert target.read_text() == "another's"
    assert list(tmp_path.iterdir()) == [target]
    files.replace(target, "ours\n", force=True)
    assert target.read_bytes() == b"ours\n"
