"""`pcapnfs estimate` from end to end: with and without a capture, screens and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcapnfs.cli.app import run
from tests.unit.rows import ROOT

Printed = pytest.CaptureFixture[str]

SAMPLE = str(ROOT / "samples" / "k61-tar-v3.pcap")
FEW = str(ROOT / "samples" / "published-v3-tar.pcap")

WHOLE = [
    "--files", "290000", "--rpcs-per-file", "12", "--rtt", "200us",
    "--syncops-per-file", "4", "--persist", "2.555ms",
]  # fmt: skip
"""Inputs that need no capture: 12.62 ms for each file."""


@pytest.mark.parametrize("columns", ["80", "140"])
def test_a_quarter_of_a_million_files_take_61_minutes(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["estimate", *WHOLE]) == 0
    told = capsys.readouterr()
    assert "61 m 0 s" in told.out
    assert "measured  " not in told.out.split("Estimate")[1]
    assert told.err == ""
    assert max(len(line) for line in told.out.splitlines()) <= int(columns)


def test_one_call_a_file_needs_no_persistence(capsys: Printed) -> None:
    given = ["--files", "290000", "--rpcs-per-file", "1", "--rtt", "12.62ms"]
    assert run(["estimate", *given, "--syncops-per-file", "0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["predicted_s"] == pytest.approx(290_000 * 0.01262)
    assert told["forecast_s"] == told["predicted_s"]
    assert told["measured_s"] is None


def test_a_capture_is_measured_and_foretold(capsys: Printed) -> None:
    assert run(["estimate", SAMPLE, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert run(["estimate", SAMPLE, "--persist", "0", "--json"]) == 0
    fast = json.loads(capsys.readouterr().out)
    assert plain["forecast_s"] == pytest.approx(plain["measured_s"])
    assert fast["forecast_s"] < plain["forecast_s"] / 20
    assert fast["measured_s"] == plain["measured_s"]
    assert {each["name"]: each["source"] for each in fast["inputs"]}["persist_s"] == "given"
    assert plain["verdict"]["named"] == ["persistence"]


def test_the_summary_holds_the_same_object(capsys: Printed) -> None:
    assert run(["estimate", SAMPLE, "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert run(["summarize", SAMPLE, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["model"] == alone
    assert next(iter(summary)) == "verdict"
    assert summary["verdict"] == alone["verdict"]


@pytest.mark.parametrize("columns", ["80", "140"])
def test_the_screen_shows_every_part(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["estimate", SAMPLE, "--streams", "4", "--client-time", "50us"]) == 0
    told = capsys.readouterr()
    for part in ("Verdict", "Inputs", "Estimate", "What if", "with what was given", "given"):
        assert part in told.out
    assert max(len(line) for line in told.out.splitlines()) <= int(columns)


def test_too_little_data_is_said_instead_of_a_number(capsys: Printed) -> None:
    assert run(["estimate", FEW]) == 0
    told = capsys.readouterr().out
    assert "not enough data" in told
    assert "give --persist" in " ".join(told.split())
    assert run(["estimate", FEW, "--persist", "1.14ms", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["forecast_s"] > 0


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["--rtt", "5"], "is no duration"),
        (["--persist", "fast"], "is no duration"),
        (["--rtt", "1ms"], "name a capture"),
    ],
)
def test_wrong_use_is_told(wrong: list[str], says: str, capsys: Printed) -> None:
    """Without a capture, and with none from a previous command, all inputs are needed."""
    assert run(["estimate", *wrong]) == 2
    assert says in capsys.readouterr().err


def test_numbers_out_of_range_are_refused(capsys: Printed) -> None:
    assert run(["estimate", SAMPLE, "--files", "0"]) == 2
    assert run(["estimate", SAMPLE, "--rpcs-per-file", "-1"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--syncops-per-file", "20"], "20 stable calls per file are more than the 6.20 calls"),
        (["--rpcs-per-file", "1.5"], "give --syncops-per-file as well."),
        (["--rpcs-per-file", "3", "--syncops-per-file", "4"], "no run is like that."),
        (["--rpcs-per-file", "4", "--syncops-per-file", "4"], None),
    ],
)
def test_stable_calls_are_among_the_calls(
    given: list[str], says: str | None, capsys: Printed
) -> None:
    """A file of more stable calls than calls is none; it was foretold like any other."""
    assert run(["estimate", SAMPLE, *given]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert says in told if says else "stable calls per file are more" not in told


def test_also_without_a_capture(capsys: Printed) -> None:
    given = ["--files", "10", "--rtt", "1ms", "--rpcs-per-file", "1", "--persist", "1ms"]
    assert run(["estimate", *given, "--syncops-per-file", "2"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "2 stable calls per file are more than the 1 call per file" in told


def test_the_capture_of_the_command_before_is_used(tmp_path: Path, capsys: Printed) -> None:
    del tmp_path
    assert run(["summarize", SAMPLE, "--json"]) == 0
    capsys.readouterr()
    assert run(["estimate", "--files", "1000", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["files"] == 1000
    assert "of the previous command" in told.err
