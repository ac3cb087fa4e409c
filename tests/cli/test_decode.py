"""`pcapnfs decode`, with the decoder itself."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from pcapnfs.cli import app
from tests.traces import SAMPLES

CAPTURE = next(str(path) for path in SAMPLES if path.name == "published-v3-tar.pcap")
OTHER = next(str(path) for path in SAMPLES if path.name == "k61-retrans-v3.pcap")


def test_a_trace_stands_for_its_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "a.nfstrace")
    assert app.run(["decode", CAPTURE, "-o", target, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["trace"], told["captures"], told["parts"]) == (target, [CAPTURE], 1)
    for command in (["summarize", target], ["perfile"], ["summarize", CAPTURE]):
        assert app.run([*command, "--json"]) == 0
    first, using, last = capsys.readouterr(), None, None
    del using, last
    documents = first.out.split("\n}\n")
    assert documents[0] == documents[2]
    assert f"using {target} of the previous command" in first.err


def test_independent_captures_are_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "a.nfstrace")
    captures = [CAPTURE, OTHER]
    assert app.run(["decode", *captures, "-o", target, "--independent", "--jobs", "2"]) == 0
    assert "in 2 independent parts" in " ".join(capsys.readouterr().out.split())
    assert app.run(["summarize", target, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["capture"]["files"]) == set(captures)
    assert app.run(["show", target, "1"]) == 2
    assert "one stream of packets" in capsys.readouterr().err


def test_jobs_need_the_users_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "a.nfstrace")
    assert app.run(["decode", CAPTURE, OTHER, "-o", target, "--jobs", "2"]) == 2
    assert "--independent" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_nfs_there_is_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(Path(CAPTURE).read_bytes()[:24])
    assert app.run(["decode", str(empty), "-o", str(tmp_path / "a.nfstrace")]) == 1
    told = capsys.readouterr().err
    assert f"{empty}: no NFS call in it, as no packet was captured; see which" in told
    assert "--port" not in told
    assert list(tmp_path.iterdir()) == [empty]


def test_a_capture_that_breaks_off_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(Path(CAPTURE).read_bytes()[:-10])
    assert app.run(["decode", str(cut), "-o", str(tmp_path / "a.nfstrace")]) == 0
    assert "everything before that was read" in capsys.readouterr().err


@pytest.mark.parametrize("number", [1, 2])
def test_one_bad_capture_among_independent_ones_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    bad = tmp_path / "bad.pcap"
    bad.write_text("not a capture")
    named = [CAPTURE, OTHER]
    named.insert(number, str(bad))
    target = str(tmp_path / "a.nfstrace")
    assert app.run(["decode", *named, "-o", target, "--independent"]) == 1
    assert f"pcapnfs: {bad}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [bad]


def test_a_trace_is_no_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert app.run(["decode", OTHER, "-o", "-"]) == 2
    assert capsys.readouterr().err == "pcapnfs: -: a trace is a directory; name one\n"
    assert not (tmp_path / "-").exists()


def test_a_capture_that_cannot_be_read_again_is_named_and_not_the_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = Mock(side_effect=OSError(errno.EIO, os.strerror(errno.EIO)))
    monkeypatch.setattr("pcapnfs.digests.of", failed)
    assert app.run(["decode", CAPTURE, "-o", str(tmp_path / "a.nfstrace")]) == 1
    told = capsys.readouterr().err
    assert f"{CAPTURE}: {os.strerror(errno.EIO)}" in told
    assert "a.nfstrace" not in told
    assert list(tmp_path.iterdir()) == []


def test_a_capture_that_went_while_it_was_recognised_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = tmp_path / "a.pcap"
    capture.write_bytes(Path(CAPTURE).read_bytes())

    def take_away(path: str) -> None:
        Path(path).unlink()
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr("pcapnfs.digests.of", take_away)
    target = str(tmp_path / "a.nfstrace")
    assert app.run(["decode", str(capture), "-o", target, "--json"]) == 0
    assert "it was gone when the trace was written" in capsys.readouterr().out
