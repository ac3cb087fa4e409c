"""Redacted reports: the same figures, and no name or address of the capture in any form.

Names come from the trees that the lab wrote down and from tshark, as in the proof of redaction. A
name that the product itself uses as a word proves nothing and is left out, as is one whose
pseudonym another short name may have got.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import re
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import redacted, redaction
from pcapnfs import report as contents
from pcapnfs.cli.app import run
from pcapnfs.report import Report
from pcapnfs.views.document import document, to_json
from pcapnfs.views.report import markdown, page
from tests.golden.regenerate import SAMPLES
from tests.oracles.corpus import Capture, lab_captures, require_corpus
from tests.oracles.tshark import require_tshark
from tests.redact import leaks
from tests.redact.compare import tables
from tests.redact.test_samples import KEY
from tests.unit.rows import ROOT

TAR = SAMPLES / "k61-tar-v3.pcap"

ALWAYS = {"mix-v42", "k61-sec-krb5p-v3", "npm-like-v3", "two-clients-v42-server", "fmt-rotated-v3"}
"""Lab captures that are always looked at: every procedure, many names, several hosts and files."""

FULL = os.environ.get("PCAPNFS_FULL_PROOF") == "1"

WORD = re.compile(r"[\w.-]+")

SHUFFLED = 3
"""Letters before the ending of a name whose pseudonym is dealt out among all names as short."""

Printed = pytest.CaptureFixture[str]


@functools.cache
def vocabulary() -> frozenset[str]:
    """The words of the product's own sources."""
    found: set[str] = set()
    for path in (ROOT / "pcapnfs").rglob("*"):
        if path.suffix in (".py", ".html", ".css", ".js", ".json"):
            found |= words(path.read_text(encoding="utf-8"))
    found |= {row["name"] for row in json.loads(pcapnfs._core.operations())}
    return frozenset(found)


def words(text: str) -> set[str]:
    """The words of a text, and their parts between dots."""
    whole = {word.strip(".-") for word in WORD.findall(text)}
    return whole | {part for word in whole for part in re.split(r"[.-]", word)}


def forms(report: Report) -> dict[str, str]:
    """The report as it is written."""
    return {
        "html": page.html(report),
        "md": markdown.markdown(report),
        "json": to_json(report),
    }


def names(capture: Capture) -> set[str]:
    """Names that would show where the capture comes from."""
    told = {name.decode("utf-8", "replace") for name in leaks.names_of_trees(capture.truth_file)}
    for path in capture.files:
        for text in leaks.texts(path, capture.ports):
            told |= {text, *re.split(r"[/@,]", text)}
        told |= {path.name, path.stem}
    return {name for name in told if telling(name)}


def telling(name: str) -> bool:
    """Whether a name in a text can only come from the capture."""
    stem = name.lstrip(".").partition(".")[0]
    return len(stem) > SHUFFLED and not name.isdigit() and name not in vocabulary()


def chosen() -> list[Capture | None]:
    found: list[Capture | None] = [one for one in lab_captures() if FULL or one.name in ALWAYS]
    return found or [None]


@pytest.mark.parametrize("capture", chosen(), ids=lambda one: one.name if one else "none")
def test_no_form_of_a_report_holds_a_name_or_an_address(capture: Capture | None) -> None:
    require_corpus()
    require_tshark()
    assert capture is not None
    files = list(capture.files)
    with pcapnfs.open(files, ports=capture.ports, columns=contents.READS) as trace:
        before = contents.report(trace)
    pseudonyms = redacted.Pseudonyms(KEY)
    with redacted.open(files, pseudonyms, ports=capture.ports, columns=contents.READS) as trace:
        after = contents.report(trace, redacted=True)
    secret = names(capture)
    addresses = set().union(*(leaks.addresses(path, capture.ports) for path in files))
    plain = page.html(before)
    assert any(address in plain for address in addresses), "the search finds what is there"
    for form, text in forms(after).items():
        seen = words(text)
        assert sorted(secret & seen) == [], form
        assert sorted(name for name in secret if len(name) >= 8 and name in text) == [], form
        whole = set(re.findall(r"[0-9a-f.:]+", text))
        assert sorted(addresses & whole) == [], form
        assert not any(str(path.parent) in text for path in files)
    assert figures(document(after)) == figures(document(before))


def figures(value: object, key: str = "") -> object:
    """The numbers and the structure of a document; not those that order by names decides."""
    if isinstance(value, dict):
        return {each: figures(inner, each) for each, inner in value.items()}
    if isinstance(value, list):
        return len(value)
    return value if isinstance(value, int | float) and key != "redacted" else None


def test_pseudonyms_are_those_of_redact_with_the_same_key(tmp_path: Path) -> None:
    out = tmp_path / "out.pcap"
    redaction.redact(TAR, out, key=KEY)
    with redacted.open(TAR, redacted.Pseudonyms(KEY)) as trace:
        calls = trace.sql("from calls order by call").fetchall()
        assert [file.path for file in trace.meta.files] == ["capture-1"]
        assert trace.meta.files[0].packets == 2537
    assert sorted(calls) == sorted(tables(out)["calls"][1])
    with redacted.open(TAR, redacted.Pseudonyms(bytes(32))) as trace:
        other = trace.sql("select distinct client from calls").fetchall()
    with redacted.open(TAR, redacted.Pseudonyms(KEY)) as trace:
        assert trace.sql("select distinct client from calls").fetchall() != other


def test_where_there_is_no_room_for_the_redacted_capture_another_place_can_be_named(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pcapnfs._core.redact", full)
    assert run(["report", str(TAR), "--redact", "-o", str(tmp_path / "case.html")]) == 1
    told = capsys.readouterr().err
    assert "No space left on device; TMPDIR names another place for the redacted capture" in told
    assert list(tmp_path.iterdir()) == []
    # Whoever names a target needs no other directory.
    assert run(["redact", str(TAR), str(tmp_path / "out.pcap")]) == 1
    told = capsys.readouterr().err
    assert told == f"pcapnfs: {tmp_path / 'out.pcap'} cannot be written: No space left on device\n"


def test_the_command_redacts_and_says_so(tmp_path: Path, capsys: Printed) -> None:
    secret = tmp_path / "customer-7.pcap"
    secret.write_bytes(TAR.read_bytes()[:200_000])
    key = tmp_path / "key"
    arguments = ["report", str(secret), "-o", "-", "--format", "md"]
    assert run([*arguments, "--redact", "--key", str(key)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("# pcapnfs report: capture-1\n")
    assert "**Names**: pseudonyms" in told
    assert "breaks off" in told or "ends within a packet" in told
    assert "customer" not in told
    assert str(tmp_path) not in told
    assert run([*arguments, "--redact", "--key", str(key)]) == 0
    assert capsys.readouterr().out == told
    assert run([*arguments, "--redact"]) == 0
    assert capsys.readouterr().out != told
    (tmp_path / "text").write_text("no key", encoding="ascii")
    for wrong, sentence in [
        (["--key", str(key)], "not asked for"),
        (["--strict"], "not asked for"),
        (["--redact", "--key", str(tmp_path / "text")], "not a key"),
        (["--redact", "--key", str(secret)], "is the file of the key, too"),
    ]:
        assert run([*arguments, *wrong]) == 2
        assert sentence in capsys.readouterr().err
    assert run(["report", "-", "-o", "-", "--redact"]) == 2
    assert "read twice" in capsys.readouterr().err


def test_a_trace_holds_the_names_and_is_refused(tmp_path: Path, capsys: Printed) -> None:
    trace = tmp_path / "one.nfstrace"
    assert run(["decode", str(TAR), "-o", str(trace)]) == 0
    assert run(["report", str(trace), "-o", "-", "--redact"]) == 2
    assert "is a trace" in capsys.readouterr().err
