"""The same traffic in another form: pcapnfs says the same of it.

Samples are written anew behind other headers, with other addresses, ports and segments
(`tests/forms.py`). Calls, operations and files are compared for each form, all that `summarize`
says for some that are combined.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pcapnfs
from pcapnfs.views.document import to_json
from tests.damage import File, rows
from tests.forms import FORMS, Form
from tests.golden.regenerate import SAMPLES

pytest.importorskip("pcapnfs._core")

CHOSEN = ("k61-retrans-v3.pcap", "k61-locks-v42-server.pcap", "opt-noac-v3.pcap")
"""Samples with retransmissions and a mount over UDP, with callbacks, and with many calls."""

CALLS = """
    select c.call, xid, c.protocol, c.op, c.status_name, c.stability, c.call_time, c.srt,
           call_bytes, reply_bytes, transmissions, c.callback, c.undecoded, c.file, c.directory
    from calls c order by call
"""

OPERATIONS = """
    select call, position, op, status, file, directory, name, "offset", count, committed
    from operations order by call, position
"""

ASKED_OF_THE_CAPTURE = (
    "files", "format", "link_types", "packets", "packet_kinds", "bytes", "snaplen", "vlan_tags",
    "frame", "frames", "first_frame", "last_frame", "call_frame", "reply_frame", "display_filter",
    "mtu_bytes", "up_to_bytes", "limit_bytes", "segments",
)  # fmt: skip
"""Keys that tell of the form."""

ADDRESS = re.compile(r"fd00::[0-9a-f:]+|\d+\.\d+\.\d+\.\d+")


@functools.cache
def _original(name: str) -> File:
    file = File.read(SAMPLES / name)
    assert file is not None
    return file


@functools.cache
def _tables(name: str) -> tuple[list[Any], list[Any]]:
    return _told(SAMPLES / name)


def _told(path: Path) -> tuple[list[Any], list[Any]]:
    return rows(path, CALLS), rows(path, OPERATIONS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CHOSEN[:2])
def test_another_form_holds_the_same_calls(name: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "other.pcap"
    FORMS[form](_original(name)).write(path)
    assert path.read_bytes() != (SAMPLES / name).read_bytes()
    calls, operations = _told(path)
    assert calls == _tables(name)[0] != []
    assert operations == _tables(name)[1] != []


def _summary(path: Path) -> object:
    """All that is said, but for what tells of the form; addresses are alike."""
    with pcapnfs.open(path) as trace:
        said = json.loads(to_json(pcapnfs.summarize(trace)))
    del said["capture"]["start"], said["capture"]["end"]
    return _without(said)


def _without(value: object) -> object:
    if isinstance(value, dict):
        return {
            ADDRESS.sub("address", key): _without(item)
            for key, item in value.items()
            if key not in ASKED_OF_THE_CAPTURE
        }
    if isinstance(value, list):
        return [_without(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return ADDRESS.sub("address", value) if isinstance(value, str) else value


def _chained(*forms: str) -> Form:
    return functools.reduce(lambda first, then: lambda file: then(first(file)), _each(forms))


def _each(forms: tuple[str, ...]) -> list[Form]:
    return [FORMS[form] for form in forms]


@functools.cache
def _original_summary(name: str) -> object:
    return _summary(SAMPLES / name)


def _packed(path: Path) -> None:
    path.write_bytes(gzip.compress(path.read_bytes(), 1))


@pytest.mark.parametrize(
    ("name", "forms", "finish"),
    [
        ("opt-noac-v3.pcap", ("another port", "sequence numbers that wrap", "IPv6"), None),
        ("k61-locks-v42-server.pcap", ("renumbered", "fragments", "cooked"), _packed),
        ("k61-retrans-v3.pcap", ("sequence numbers that wrap", "cooked, version 2"), _packed),
    ],
)
def test_of_another_form_the_same_is_said(
    name: str, forms: tuple[str, ...], finish: Callable[[Path], None] | None, tmp_path: Path
) -> None:
    path = tmp_path / "other.pcap"
    _chained(*forms)(_original(name)).write(path)
    if finish:
        finish(path)
    assert _summary(path) == _original_summary(name)
