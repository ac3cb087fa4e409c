"""Thresholds: settings win over the file, the file over what a rule says; nothing is guessed."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from pcapnfs.diagnosis.thresholds import Threshold, chosen
from pcapnfs.errors import UsageError

KNOWN = (
    Threshold("slow.read", 0.15, "s", "READs beyond it are slow.", "nfsstat"),
    Threshold("slow.write", 0.25, "s", "WRITEs beyond it are slow.", "nfsstat"),
)


def test_without_settings_each_has_its_own_value() -> None:
    assert chosen(KNOWN) == {"slow.read": 0.15, "slow.write": 0.25}


def test_the_file_may_nest_names_or_quote_them(tmp_path: Path) -> None:
    config = tmp_path / "pcapnfs.toml"
    config.write_text('[thresholds]\nslow.read = 1\n"slow.write" = 2.5\n[other]\nx = 1\n')
    assert chosen(KNOWN, config=config) == {"slow.read": 1.0, "slow.write": 2.5}


def test_a_file_may_begin_with_a_byte_order_mark_and_have_windows_lines(tmp_path: Path) -> None:
    config = tmp_path / "pcapnfs.toml"
    config.write_bytes(b"\xef\xbb\xbf[thresholds]\r\nslow.read = 1\r\n")
    assert chosen(KNOWN, config=config) == {"slow.read": 1.0, "slow.write": 0.25}


def test_a_setting_wins_over_the_file_and_the_last_over_the_first(tmp_path: Path) -> None:
    config = tmp_path / "pcapnfs.toml"
    config.write_text("[thresholds]\nslow.read = 1\n")
    values = chosen(KNOWN, ["slow.read=2", "slow.read = 3e-3"], config)
    assert values == {"slow.read": 0.003, "slow.write": 0.25}


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("slow.read", "set by NAME=VALUE, not by 'slow.read'"),
        ("slow.reed=1", "there is no threshold 'slow.reed'; is it slow.read"),
        ("x=1", "there is no threshold 'x'; docs/findings.md lists them"),
        ("slow.read=fast", "slow.read takes a number, not 'fast'"),
        ("slow.read=nan", "slow.read takes a number, not nan"),
        ("slow.read=inf", "slow.read takes a number, not inf"),
        ("slow.read=-1", "slow.read takes a number from 0 on, not -1.0"),
    ],
)
def test_what_is_no_threshold_is_refused(setting: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence.replace("?", r"\?")):
        chosen(KNOWN, [setting])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[thresholds]\nslow.read = true\n", "takes a number, not True"),
        ("[thresholds]\nslow.read = '1'\n", "takes a number, not '1'"),
        ("[thresholds]\nslow.read = -0.5\n", "takes a number from 0 on, not -0.5"),
        ("slow.read = 3\n", r"there is no table \[thresholds\] in it"),
        ("thresholds = 3\n", "is no table of names and numbers"),
        ("[thresholds\n", "this is no TOML"),
        ("[thresholds]\nslow.read = " + "[" * 20_000, "this is no TOML"),
        ("[thresholds]\nslow.read = " + "9" * 20_000, "this is no TOML"),
        ("[thresholds]\nslow.read = " + "9" * 400, "takes a number, not 999"),
    ],
)
def test_a_file_with_something_else_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    config = tmp_path / "pcapnfs.toml"
    config.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        chosen(KNOWN, config=config)


def test_a_pipe_is_read_and_what_has_no_end_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("[thresholds]\nslow.read = 1\n",))
    writer.start()
    assert chosen(KNOWN, config=pipe)["slow.read"] == 1
    writer.join()
    with pytest.raises(UsageError, match="no file of thresholds; it is larger"):
        chosen(KNOWN, config=Path("/dev/zero"))


def test_a_file_that_is_missing_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml: No such file"):
        chosen(KNOWN, config=tmp_path / "none.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="this is no TOML"):
        chosen(KNOWN, config=binary)
