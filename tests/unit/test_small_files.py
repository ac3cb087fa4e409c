"""Files are read to a limit, whatever is at their path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pcapnfs import small_files


def test_what_fits_is_read_and_a_byte_more_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(2048))
    assert small_files.read(file, 2048) == bytes(2048)
    with pytest.raises(small_files.UnfitError, match=r"^is larger than 2\.00 KiB$"):
        small_files.read(file, 2047)


def test_of_what_has_no_end_no_more_than_the_limit_is_read() -> None:
    with pytest.raises(small_files.UnfitError, match="larger"):
        small_files.read(Path("/dev/zero"), 1 << 20)


def test_a_directory_and_what_is_not_there_are_the_systems_errors(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        small_files.read(tmp_path, 1)
    with pytest.raises(FileNotFoundError):
        small_files.read(tmp_path / "none", 1)


def test_only_a_regular_file_is_read_where_nothing_else_was_named(tmp_path: Path) -> None:
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.write_bytes(b"told")
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(file)
    assert small_files.read_regular(file, 4) == b"told"
    assert small_files.read_regular(tmp_path / "link", 4) == b"told"
    with pytest.raises(small_files.UnfitError, match="larger"):
        small_files.read_regular(file, 3)
    for other in (pipe, Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(small_files.UnfitError, match="is no regular file"):
            small_files.read_regular(other, 4)
    with pytest.raises(IsADirectoryError):
        small_files.read_regular(tmp_path, 4)
