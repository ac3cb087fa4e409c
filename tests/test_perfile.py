"""Per file: `tar -x` in the lab against the server's tree and the client's counters.

The trees are what the server had on disk after the run, inode numbers included; the counters are
what the client's kernel counted during the step `tar`, by procedure or purpose of the compound.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from pcapnfs.cli.app import run
from tests.oracles.corpus import Capture, lab_captures, require_corpus

pytest.importorskip("pcapnfs._core")

_UNPACKED = [
    capture
    for capture in lab_captures()
    if capture.name.startswith(("tar-", "k61-tar-")) and capture.full
]
_SMALL_FILES = [
    capture for capture in _UNPACKED if capture.truth()["facts"].get("file_size") == 1024
]
"""All files alike, so that what the client counted divides evenly among them."""

_STABLE = {"CREATE", "MKDIR", "OPEN", "SETATTR", "WRITE"}
"""Of what `tar -x` sends; every OPEN creates a file, every WRITE is answered FILE_SYNC."""
_ONCE_PER_OWNER = "OPEN_CONFIRM"
"""NFSv4.0 confirms an open-owner at its first OPEN (RFC 7530 section 16.18)."""


def _parameters(captures: list[Capture]) -> list[Any]:
    named = [pytest.param(capture, id=capture.name) for capture in captures]
    return named or [pytest.param(None, id="no-corpus")]


_SAID: dict[str, Mapping[str, Any]] = {}
"""What was printed, by capture: asked for once, since its tests follow one another."""


@pytest.fixture
def said(
    capture: Capture | None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, Any]:
    """What `pcapnfs perfile --json --top 0` prints."""
    require_corpus()
    assert capture is not None
    if capture.name not in _SAID:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        assert run(["perfile", "--json", "--top", "0", *map(str, capture.files)]) == 0
        _SAID[capture.name] = json.loads(capsys.readouterr().out)
    return _SAID[capture.name]


@pytest.mark.parametrize("capture", _parameters(_UNPACKED))
def test_lists_the_tree_that_the_server_had(capture: Capture, said: Mapping[str, Any]) -> None:
    truth = capture.truth()
    tree = {path: (kind, inode, size) for path, kind, inode, size in truth["tree_after"]}
    files = {file["path"]: file for file in said["files"]}
    assert len(files) == len(said["files"])
    assert files.keys() == tree.keys() | {"."}
    assert {file["export"] for file in files.values()} == {truth["server"]["export"]}
    assert files["."]["type"] == "DIR"
    for path, (kind, inode, size) in tree.items():
        file = files[path]
        assert file["type"] == {"f": "REG", "d": "DIR"}[kind], path
        assert file["fileid"] == inode, path
        assert not file["removed"], path
        if kind == "f":
            assert (file["size_bytes"], file["bytes_written"]) == (size, size), path


@pytest.mark.parametrize("capture", _parameters(_UNPACKED))
def test_calls_are_those_that_the_client_counted(capture: Capture, said: Mapping[str, Any]) -> None:
    """Everything that tar sent is about some file; calls of the mount itself are GETATTR, LOOKUP
    and the like, which tar needs none of.
    """
    found: Counter[str] = Counter()
    for file in said["files"]:
        found.update(file["ops"])
    counted = _counted(capture)
    assert {op: found[op] for op in counted} == counted


@pytest.mark.parametrize("capture", _parameters(_SMALL_FILES))
def test_every_small_file_costs_its_share(capture: Capture, said: Mapping[str, Any]) -> None:
    regular = [file for file in said["files"] if file["type"] == "REG"]
    assert len(regular) == capture.truth()["facts"]["files"]
    share = Counter({op: count // len(regular) for op, count in _counted(capture).items()})
    share += Counter()  # drops what is rarer than files
    for file in regular:
        ops = Counter(file["ops"])
        ops.pop(_ONCE_PER_OWNER, None)
        assert ops == share, file["path"]
        assert file["stable_calls"] == sum(share[op] for op in _STABLE), file["path"]
        assert file["errors"] == 0, file["path"]
    assert sum(share[op] for op in _STABLE) == 6
    assert sum(share.values()) == (6 if capture.version == "3" else 7)


def _counted(capture: Capture) -> dict[str, int]:
    """Calls of the step `tar` by procedure, or by the compound's purpose."""
    (step,) = (step for step in capture.truth()["steps"] if step["label"] == "tar")
    return {op: int(row["count"]) for op, row in step["mountstats_delta"]["ops"].items()}
