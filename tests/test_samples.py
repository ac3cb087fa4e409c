"""Samples, their README and their golden files, against each other and against the kernels."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import pcapnfs
from pcapnfs.cli.app import run
from tests.golden.regenerate import SAMPLES, TOP, golden, rounded, samples, snapshot

pytest.importorskip("pcapnfs._core")

_ROOT = SAMPLES.parent
_LARGEST_BYTES = 1_200_000
_ALL_BYTES = 5_000_000

_EACH = pytest.mark.parametrize("sample", samples(), ids=lambda path: path.name)


@cache
def _truth() -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = json.loads((SAMPLES / "truth.json").read_text(encoding="utf-8"))
    return loaded


_COMPARABLE = [
    sample
    for sample in samples()
    if sample.name in _truth() and _truth()[sample.name]["snaplen"] > 65535
]
"""Samples whose packets are whole, so that every operation can be seen."""


# Golden files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", samples()[::5], ids=lambda path: path.name)
def test_says_what_the_golden_file_says(sample: Path) -> None:
    """By the functions that write the files. Of each sample the commands say it below."""
    found = json.loads(snapshot(sample))
    assert found == json.loads(golden(sample).read_text(encoding="utf-8"))


def test_golden_files_belong_to_samples() -> None:
    kept = {path.name for path in golden(SAMPLES).parent.glob("*.json")}
    assert kept == {golden(sample).name for sample in samples()}


@_EACH
def test_the_commands_print_the_golden_documents(
    sample: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(SAMPLES)
    wanted = json.loads(golden(sample).read_text(encoding="utf-8"))
    for command, options in (("summarize", []), ("perfile", ["--top", str(TOP)])):
        assert run([command, "--json", *options, sample.name]) == 0
        assert rounded(json.loads(capsys.readouterr().out)) == wanted[command]


def test_rounding_keeps_nine_digits_and_whole_numbers() -> None:
    document = {"a": [1.0000000004, 12345678901, None], "b": {"c": 0.1234567894}}
    assert rounded(document) == {"a": [1.0, 12345678901, None], "b": {"c": 0.123456789}}


# README and built captures -----------------------------------------------------------------------


def _build(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return subprocess.run(
        [sys.executable, str(SAMPLES / "build.py"), *arguments],
        env=dict(os.environ, PYTHONPATH=path),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_readme_and_built_captures_are_up_to_date(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = _build("--check")
    assert (done.returncode, done.stderr) == (0, "")


@_EACH
def test_readme_describes_every_sample(sample: Path) -> None:
    text = (SAMPLES / "README.md").read_text(encoding="utf-8")
    table, _, sections = text.partition("\n## ")
    assert sample.name in table
    assert f"<!-- summarize {sample.name}" in sections


def test_samples_are_small_and_many() -> None:
    sizes = {sample.name: sample.stat().st_size for sample in samples()}
    assert len(sizes) >= 8
    assert max(sizes.values()) < _LARGEST_BYTES
    assert sum(sizes.values()) < _ALL_BYTES


# Made samples ------------------------------------------------------------------------------------

_MADE = sorted((SAMPLES / "made").glob("*.pcap.gz"))
_MADE_BYTES = 300_000


@pytest.mark.parametrize("sample", _MADE, ids=lambda path: path.name)
def test_a_made_sample_is_read_as_the_simulation_wrote_it(sample: Path) -> None:
    truth = json.loads((SAMPLES / "made" / "truth.json").read_text(encoding="ascii"))
    wanted = truth[sample.name.removesuffix(".pcap.gz")]
    with pcapnfs.open(sample) as trace:
        rows = trace.sql(
            """
            select op, count(*), count(*) filter (stability = 'stable'), sum(srt)
            from calls group by op order by op
            """
        ).fetchall()
        spans = trace.sql("select count(srt), max(reply_time) - min(call_time) from calls")
        ((answered, took),) = spans.fetchall()
    assert rows == [
        (each["operation"], each["calls"], each["stable_calls"], each["srt_ns"])
        for each in wanted["operations"]
    ]
    assert (answered, took) == (wanted["calls"], wanted["took_ns"])
    assert sample.stat().st_size < _MADE_BYTES


def test_every_made_sample_has_its_truth_and_its_place_in_the_readme() -> None:
    names = {path.name.removesuffix(".pcap.gz") for path in _MADE}
    assert len(names) >= 15
    truth = json.loads((SAMPLES / "made" / "truth.json").read_text(encoding="ascii"))
    assert set(truth) == names
    text = (SAMPLES / "README.md").read_text(encoding="utf-8")
    table, _, sections = text.partition("\n## ")
    for name in names:
        assert name in table
        assert f"<!-- made {name} -->" in sections
        assert re.search(rf"<!-- (summarize|readdir|cache) made/{name}\.pcap\.gz", sections)


# Against the kernels' counters -------------------------------------------------------------------


@pytest.mark.parametrize("sample", _COMPARABLE, ids=lambda path: path.name)
def test_operations_are_those_that_the_server_counted(sample: Path) -> None:
    truth = _truth()[sample.name]
    with pcapnfs.open(sample) as trace:
        rows = trace.sql(
            """
            select operations.op, sum(calls.transmissions)
            from operations join calls using (call)
            where operations.executed and not calls.callback and calls.program = 100003
            group by operations.op
            """
        ).fetchall()
    found = Counter({str(op): int(count) for op, count in rows})
    wanted = Counter(truth["server_operations"])
    assert found == wanted


def test_the_same_packets_in_another_format_give_the_same_answers() -> None:
    said = []
    for name in ("fmt-plain-v42.pcapng", "fmt-plain-v42.pcap.gz"):
        document = json.loads(golden(SAMPLES / name).read_text(encoding="utf-8"))
        for key in ("files", "streams", "format", "bytes"):
            document["summarize"]["capture"].pop(key)
        said.append(document)
    assert said[0] == said[1]
