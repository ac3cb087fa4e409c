"""Paths, file numbers and sizes of everything that the lab's traffic touched, against the server's
own tree after the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import pcapnfs
from tests.oracles.corpus import Capture, lab_captures, require_corpus
from tests.oracles.opened import opened

pytest.importorskip("pcapnfs._core")

_TYPES = {"f": "REG", "d": "DIR", "l": "LNK", "p": "FIFO", "s": "SOCK", "c": "CHR", "b": "BLK"}

_READABLE = [
    capture
    for capture in lab_captures()
    if capture.full and not capture.encryption and not capture.merged
]


def _one_of_two(capture: Capture) -> bool:
    """What the other client did to the same files is not in it."""
    return len(capture.clients) > 1 and capture.vantage in capture.clients


def _objects(trace: pcapnfs.Trace) -> list[tuple[Any, ...]]:
    return trace.sql(
        """
        select path, export, type, fileid, size, removed, listed_only
        from files where file = identity and role not in ('pseudo', 'absent')
        """
    ).fetchall()


def _below_mount(capture: Capture) -> Mapping[str, tuple[str, int, int]]:
    """The server's tree as paths have it: with NFSv3 below the directory that was mounted."""
    truth = capture.truth()
    (mount, *_) = next(iter(truth["clients"].values()))["mounts"]
    source = mount["proc_mounts"].split(" ")[0].rpartition(":")[2]
    below = source.removeprefix(truth["server"]["export"]).strip("/")
    tree = {path: (kind, inode, size) for path, kind, inode, size in truth["tree_after"]}
    if not below or capture.version != "3":
        return tree
    start = below + "/"
    inside = {path: facts for path, facts in tree.items() if path.startswith(start)}
    return {path.removeprefix(start): facts for path, facts in inside.items()}


@pytest.mark.parametrize(
    "capture",
    [pytest.param(each, id=each.name) for each in _READABLE]
    or [pytest.param(None, id="no-corpus")],
)
def test_paths_and_file_numbers_and_sizes_are_the_servers(capture: Capture | None) -> None:
    require_corpus()
    assert capture is not None
    tree = _below_mount(capture)
    objects = _objects(opened(capture).trace)
    seen: set[str] = set()
    for path, export, kind, fileid, size, removed, listed_only in objects:
        if removed or path == ".":
            continue
        if export is None:
            # Begun below the root without a mount (NFSv3): the path hangs on a short handle. What
            # was only listed as `..` of the mounted directory has no path at all.
            if listed_only:
                continue
            assert capture.started_late, path
            path = path.partition("/")[2]
            if not path:
                continue  # the highest directory known, which is the short handle itself
            ends = [known for known in tree if f"/{known}".endswith(f"/{path}")]
            (path,) = (known for known in ends if tree[known][1] == fileid)
        if path not in tree:
            # Removed or renamed by the other client, or on the server behind the client's back.
            assert _one_of_two(capture) or capture.name.startswith("mix-"), path
            continue
        assert path not in seen, f"two objects are {path}"
        seen.add(path)
        expected_kind, inode, expected_size = tree[path]
        assert kind == _TYPES[expected_kind], path
        assert fileid == inode, path
        if expected_kind == "f" and not _one_of_two(capture) and not capture.cut_off:
            assert size == expected_size, path
    # The client reads or makes the whole tree but for what stays hidden, as the name tells.
    touched = {fileid for _, _, _, fileid, _, removed, _ in objects if not removed}
    for path, (_, inode, _) in tree.items():
        if inode in touched and path not in seen:
            assert capture.started_late or _one_of_two(capture), f"{path} is known by another path"


@pytest.mark.parametrize(
    "capture",
    [pytest.param(each, id=each.name) for each in _READABLE if "cachedread" in each.name]
    or [pytest.param(None, id="no-corpus")],
)
def test_a_file_replaced_on_the_server_is_another_file(capture: Capture | None) -> None:
    require_corpus()
    assert capture is not None
    found = [row for row in _objects(opened(capture).trace) if row[0] == "big"]
    assert len(found) == 2
    before = {path: inode for path, _, inode, _ in capture.truth()["tree_before"]}
    after = {path: inode for path, _, inode, _ in capture.truth()["tree_after"]}
    assert before["big"] != after["big"]
    assert {(fileid, removed) for _, _, _, fileid, _, removed, _ in found} == {
        (before["big"], True),
        (after["big"], False),
    }


@pytest.mark.parametrize(
    "capture",
    [pytest.param(each, id=each.name) for each in _READABLE if "two-clients" in each.name]
    or [pytest.param(None, id="no-corpus")],
)
def test_a_file_number_given_again_is_another_file(capture: Capture | None) -> None:
    """The lab's file system gives the number of a removed file to the next one."""
    require_corpus()
    assert capture is not None
    shared = (
        opened(capture)
        .trace.sql(
            "select count(*), count(distinct handle), count(distinct identity) "
            "from files where fileid is not null and handle is not null"
        )
        .fetchall()
    )
    ((objects, handles, identities),) = shared
    assert objects == handles == identities
