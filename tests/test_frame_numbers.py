"""Frame numbers of several captures lead to the packets, or it is told what they count over."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.cli.app import run
from pcapnfs.views import numbered
from tests.unit.rows import ROOT

pytest.importorskip("pcapnfs._core")

ONE, OTHER = (ROOT / "samples" / f"k61-{name}-v3.pcap" for name in ("tar", "walk"))
WANTED = ["--name", "*", "--top", "0", "--wireshark"]


@pytest.fixture(autouse=True)
def _state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def traces(tmp_path: Path) -> list[str]:
    """Two captures that have nothing to do with one another, in order of their first packets."""
    made = []
    for capture in (ONE, OTHER):
        made.append(str(tmp_path / f"{capture.stem}.nfstrace"))
        pcapnfs.decode(capture, made[-1])
    with pcapnfs.open(made) as trace:
        ordered = [Path(stream.files[0]).stem for stream in trace.meta.streams]
    return sorted(made, key=lambda path: ordered.index(Path(path).stem))


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    assert run([*arguments]) == 0
    said = capsys.readouterr()
    return said.out, said.err


def test_filters_of_several_traces_are_those_of_each(
    traces: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    alone = [told(capsys, "sequence", trace, *WANTED) for trace in traces]
    assert [said for _, said in alone] == ["", ""]
    out, said = told(capsys, "sequence", *traces, *WANTED)
    assert out == "".join(filters for filters, _ in alone)
    with pcapnfs.open(traces) as trace:
        names = [stream.files[0] for stream in trace.meta.streams]
    assert said == "".join(f"pcapnfs: in {name}:\n" for name in names)


def test_what_one_stream_of_several_captures_counts_over_is_told_beside_the_filter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, said = told(capsys, "sequence", str(ONE), str(OTHER), *WANTED)
    assert out.startswith("frame.number in {")
    assert out.count("\n") == 1
    assert said == f"pcapnfs: {numbered.OVER_ALL}\n"


def test_findings_of_several_traces_name_the_capture_of_a_filter_by_number(
    traces: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    with pcapnfs.open(traces) as trace:
        found = pcapnfs.findings(trace)
        streams = trace.meta.streams
    assert found.findings
    for each in found.findings:
        assert "frame.number" not in (each.display_filter or "")
    by_number = [each for each in found.findings if each.frames and not each.display_filter]
    assert by_number
    screen, _ = told(capsys, "findings", *traces)
    for each in by_number:
        for where, text in numbered.filters(each.frames, streams):
            assert f"{text} in {where}\n" in screen
    assert screen.count(numbered.sentence(streams)) == 1


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_report_says_what_its_numbers_are(
    form: str, traces: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / f"case.{form}"
    for named in ([str(ONE)], [str(ONE), str(OTHER)], traces):
        told(capsys, "report", *named, "-o", str(target), "--force")
        with pcapnfs.open(named) as trace:
            streams = trace.meta.streams
        page = target.read_text(encoding="utf-8")
        end = numbered.sentence(streams)[:55]  # Before the first number or name.
        assert end in page
        assert ("those of Wireshark." in page) == (len(named) == 1)
        with ExitStack() as stack:
            each = [stack.enter_context(pcapnfs.open(name)).meta.files for name in named]
        most = [sum(file.packets for file in files) for files in each]
        # Those of a trace go no further than its own packets.
        highest = max(map(int, re.findall(r"(\d+)}", page)))
        assert highest <= (max(most) if named is traces else sum(most))
