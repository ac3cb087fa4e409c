"""A file of the user's choice: there whole or not at all, whatever its name and whatever fails."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pcapnfs import placement
from pcapnfs.cli import files
from pcapnfs.errors import UsageError, WriteError


@pytest.mark.parametrize("name", ["report.html", "n" * 255, "é" * 127])
def test_takes_its_place_under_any_name_that_a_file_may_have(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    target.write_text("old")
    with placement.placed_file(target) as fresh:
        fresh.write_text("new")
        assert target.read_text() == "old"
        assert fresh.parent.parent == tmp_path
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


class Chown:
    """chown(2) for a user who may give away nothing, or the group alone."""

    def __init__(self, error: int, *, group: bool) -> None:
        self.asked: list[tuple[int, int]] = []
        self._error, self._group = error, group

    def __call__(self, _: Path, owner: int, group: int) -> None:
        self.asked.append((owner, group))
        if owner != -1 or not self._group:
            raise OSError(self._error, os.strerror(self._error))


def another(monkeypatch: pytest.MonkeyPatch, target: Path) -> None:
    """Have a file be of another user and another group."""
    real = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        found = real(path)
        if path != target:
            return found
        return os.stat_result((*found[:4], found.st_uid + 1, found.st_gid + 1, *found[6:]))

    monkeypatch.setattr(Path, "lstat", lstat)


@pytest.mark.parametrize(
    ("group", "before", "after"),
    [(True, 0o640, 0o640), (False, 0o640, 0o600), (False, 0o664, 0o644), (False, 0o606, 0o666)],
)
@pytest.mark.parametrize("error", [errno.EPERM, errno.EINVAL])
def test_keeps_owner_and_group_as_far_as_the_system_lets_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: int,
    group: bool,
    before: int,
    after: int,
) -> None:
    """What the old group might read is not for another."""
    target = tmp_path / "report.html"
    target.write_text("old")
    target.chmod(before)
    found = target.stat()
    another(monkeypatch, target)
    chown = Chown(error, group=group)
    monkeypatch.setattr(os, "chown", chown)
    with placement.placed_file(target) as fresh:
        fresh.write_text("new")
    assert target.read_text() == "new"
    assert chown.asked == [(-1, found.st_gid + 1), (found.st_uid + 1, -1)]
    assert target.stat().st_mode & 0o777 == after


def test_of_one_s_own_file_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chown = Chown(errno.EPERM, group=False)
    monkeypatch.setattr(os, "chown", chown)
    target = tmp_path / "report.html"
    for _ in range(2):
        with placement.placed_file(target):
            pass
    assert chown.asked == []


def test_leaves_the_old_file_where_a_disk_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    another(monkeypatch, target)
    monkeypatch.setattr(os, "chown", Chown(errno.EIO, group=False))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)), placement.placed_file(target):
        pass
    assert target.read_text() == "old"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_does_not_take_a_file_away_from_its_owner(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    target.chmod(0o600)
    os.chown(target, 1000, 1001)
    with placement.placed_file(target) as fresh:
        fresh.write_text("new")
    found = target.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1000, 1001, 0o600)
    assert target.read_text() == "new"


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


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from pcapnfs import placement\n"
        "with placement.placed_file(Path(sys.argv[1])) as fresh:\n"
        "    fresh.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(target)], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    with placement.placed_file(target) as fresh:
        fresh.write_text("whole")
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


def test_keeps_who_may_read_what_it_replaces(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    target.chmod(0o600)
    with placement.placed_file(target) as fresh:
        fresh.write_text("new")
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link_and_leads_to_what_is_written(tmp_path: Path, there: bool) -> None:
    (tmp_path / "reports").mkdir()
    target, link, further = tmp_path / "reports/one", tmp_path / "latest", tmp_path / "further"
    link.symlink_to("reports/one")
    further.symlink_to(link)
    if there:
        target.write_text("old")
        target.chmod(0o600)
    with placement.placed_file(further) as fresh, placement.beside(further) as directory:
        fresh.write_text("new")
        assert fresh.parent.parent == directory.parent == target.parent
    assert further.readlink() == link
    assert link.readlink() == Path("reports/one")
    assert target.read_text() == "new"
    assert not there or target.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(
        ["reports", "one", "latest", "further"]
    )


def test_links_that_lead_in_a_circle_are_refused_in_a_sentence(tmp_path: Path) -> None:
    link = tmp_path / "latest"
    link.symlink_to(link)
    with pytest.raises(WriteError, match=r"latest cannot be written: Too many levels"):
        files.replace(link, "new", force=True)
    assert link.readlink() == link


def test_links_that_cannot_be_written_to_are_refused_before_the_work(tmp_path: Path) -> None:
    circle, astray = tmp_path / "circle", tmp_path / "astray"
    circle.symlink_to(circle)
    astray.symlink_to(tmp_path / "absent" / "report.html")
    with pytest.raises(WriteError, match=r"circle cannot be written: Too many levels"):
        files.refuse(circle, force=True)
    with pytest.raises(WriteError, match=r"there is no directory .*absent$"):
        files.refuse(astray, force=True)
    astray.parent.joinpath("absent").mkdir()
    files.refuse(astray, force=False)


def test_a_link_that_the_system_does_not_follow_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, link = tmp_path / "theirs", tmp_path / "latest"
    target.write_text("old")
    link.symlink_to(target)

    def denied(path: Path, _flags: int) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", denied)  # As protected_symlinks of Linux does it.
    with pytest.raises(WriteError, match=r"latest cannot be written: Permission denied"):
        files.replace(link, "new", force=True)
    monkeypatch.undo()
    assert target.read_text() == "old"
    assert link.readlink() == target


def test_a_pipe_stays_a_pipe_and_gets_what_is_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    assert placement.only_written_to(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with placement.placed_file(pipe) as fresh, placement.beside(pipe) as directory:
        (directory / "table").write_bytes(b"rows")
        (directory / "table").replace(fresh)
    reader.join()
    assert got == [b"rows"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_what_comes_to_nothing_leaves_a_pipe_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)

    def half() -> None:
        with placement.placed_file(pipe) as fresh:
            fresh.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()  # Opened for writing, it would wait for a reader for ever.
    assert list(tmp_path.iterdir()) == [pipe]


def test_files_and_directories_and_what_is_not_there_are_no_pipes(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for ordinary in (file, tmp_path, tmp_path / "absent", file / "below"):
        assert not placement.only_written_to(ordinary)


_TO_STANDARD_OUTPUT = """
import pathlib, sys
from pcapnfs import placement
target = pathlib.Path(sys.argv[1])
with placement.placed_file(target) as fresh:
    fresh.write_text("whole\\n")
"""


@pytest.mark.parametrize("by_pipe", [True, False], ids=["pipe", "file"])
def test_standard_output_under_a_name_is_written_to(tmp_path: Path, *, by_pipe: bool) -> None:
    # A link to a link, as /dev/stdout is: a mistake must not cost this machine its own.
    name = tmp_path / "stdout"
    name.symlink_to("/proc/self/fd/1")
    told = tmp_path / "told"
    told.write_text("before\n")
    program = [sys.executable, "-c", _TO_STANDARD_OUTPUT, str(name)]
    with told.open("ab") as file:
        if by_pipe:
            file.write(subprocess.run(program, check=True, stdout=subprocess.PIPE).stdout)
        else:
            subprocess.run(program, check=True, stdout=file)
    assert told.read_text() == "before\nwhole\n"
    assert name.is_symlink()
    assert sorted(tmp_path.iterdir()) == [name, told]
