"""What clients and servers say they are, from packets to what is told of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import redaction
from pcapnfs.analyses.mounts.software import OWNERS, Software, software
from pcapnfs.comparison.causes import causes
from pcapnfs.comparison.side import gather
from pcapnfs.synth.builder import Compound, CompoundReply, Conversation
from pcapnfs.views import screen
from tests.decoded import MS, T
from tests.unit.rows import ROOT
from tests.views.samples import render

from .oracles.corpus import Capture, other_captures, require_corpus
from .oracles.tshark import require_tshark

pytest.importorskip("pcapnfs._core")

OLD, NEW = ("kernel.org", "Linux 5.14.0 #1 SMP x86_64"), ("kernel.org", "Linux 6.1.0 #1 SMP x86_64")
ONTAP = ("netapp.com\0\0", "NetApp Release 9.6.0\0\0")

Implementation = tuple[str | bytes, str | bytes]


def exchanged(
    path: Path, *said: tuple[Implementation | None, Implementation | None], minor: int = 1
) -> Path:
    """A capture of EXCHANGE_IDs by one client, one after the other."""
    talk = Conversation()
    for xid, (client, server) in enumerate(said, 1):
        now_ns = T + xid * 10 * MS
        talk.call(
            xid,
            now_ns,
            *Compound(minor).exchange_id("Linux NFSv4.1 me", implementation=client).request(),
        )
        answer = CompoundReply().exchange_id(implementation=server)
        talk.reply(xid, now_ns + MS, answer.body())
    return talk.capture().write(path)


def of(path: Path) -> Software:
    with pcapnfs.open(path) as trace:
        return software(trace)


def test_both_sides_are_told_by_the_packets(tmp_path: Path) -> None:
    path = exchanged(tmp_path / "both.pcap", (NEW, ONTAP))
    found = of(path)
    assert [kind.software for kind in found.clients] == ["Linux 6.1.0 #1 SMP x86_64 (kernel.org)"]
    assert [kind.software for kind in found.servers] == ["NetApp Release 9.6.0 (netapp.com)"]
    with pcapnfs.open(path) as trace:
        text = render(screen.summary(pcapnfs.summarize(trace)), 80)
    assert "Client: Linux 6.1.0; server: NetApp Release 9.6.0 (netapp.com)\n" in text


def test_where_it_is_not_said_the_name_of_the_client_tells(tmp_path: Path) -> None:
    found = of(exchanged(tmp_path / "none.pcap", (None, None)))
    assert [(kind.software, kind.source) for kind in found.clients] == [("Linux", "owner")]
    assert found.servers == ()


def test_an_upgrade_between_two_captures_is_among_what_must_have_changed(tmp_path: Path) -> None:
    sides = []
    for name, told in (("before", (OLD, ONTAP)), ("after", (NEW, ONTAP)), ("silent", (None, None))):
        with pcapnfs.open(exchanged(tmp_path / f"{name}.pcap", told)) as trace:
            sides.append(gather(trace))
    before, after, silent = sides
    (cause,) = causes(before, after, ())
    assert (cause.subject, cause.before, cause.after, cause.confidence) == (
        "client_software",
        "Linux 5.14.0",
        "Linux 6.1.0",
        "certain",
    )
    frame = before.software.clients[0].frame
    client = before.software.clients[0].addresses[0]
    assert cause.evidence == (
        f"EXCHANGE_ID of {client} in frame {frame} before, of {client} in frame {frame} after"
    )
    # What one side leaves open is not known to have changed.
    for one, other in ((before, before), (before, silent), (silent, after)):
        assert causes(one, other, ()) == ()


def test_a_client_that_joined_is_no_change(tmp_path: Path) -> None:
    with pcapnfs.open(exchanged(tmp_path / "one.pcap", (OLD, ONTAP))) as trace:
        one = gather(trace)
    turns = exchanged(tmp_path / "two.pcap", *[(OLD, ONTAP), (NEW, ONTAP)] * 2)
    with pcapnfs.open(turns) as trace:
        two = gather(trace)
    assert len(two.software.clients) == 2
    assert causes(one, two, ()) == causes(two, one, ()) == ()


@pytest.mark.parametrize(
    "name",
    [b"\xff\xfe\x00", b"\x1b[31mred", b"a" * 60_000, "\u202egpj", "", "\n\n"],
    ids=["bytes", "escape", "long", "bidi", "empty", "lines"],
)
def test_whatever_is_said_is_bounded_and_visible(tmp_path: Path, name: str | bytes) -> None:
    path = exchanged(tmp_path / "hostile.pcap", (("", name), (name, "")))
    for kind in (*of(path).clients, *of(path).servers):
        assert len(kind.software) <= 4 * 256
    with pcapnfs.open(path) as trace:
        text = render(screen.summary(pcapnfs.summarize(trace)), 80)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "a" * 60 not in text


def test_a_redacted_capture_does_not_tell(tmp_path: Path) -> None:
    path = exchanged(tmp_path / "open.pcap", (OLD, ONTAP), (NEW, ONTAP))
    redaction.redact(path, tmp_path / "hidden.pcap")
    data = (tmp_path / "hidden.pcap").read_bytes()
    for told in (b"kernel", b"Linux", b"NetApp", b"netapp", b"5.14"):
        assert told not in data
    found = of(tmp_path / "hidden.pcap")
    assert (len(found.clients), len(found.servers), len(found.changed)) == (1, 1, 1)


def test_no_query_is_put_where_nobody_can_have_said_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pcapnfs.open(ROOT / "samples" / "k61-tar-v3.pcap") as trace:
        pcapnfs.summarize(trace)
        monkeypatch.setattr(type(trace), "cursor", lambda _: pytest.fail("asked"))
        assert software(trace) == Software()


def by_tshark(path: Path) -> set[tuple[str, str]]:
    """Name and domain of each nfs_impl_id4 that tshark finds."""
    told = subprocess.run(
        [
            *("tshark", "-r", path, "-Y", "nfs.nii_name4", "-T", "fields", "-E", "separator=|"),
            *("-e", "nfs.nii_name4", "-e", "nfs.nii_domain4"),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {
        (name, domain)
        for name, _, domain in (line.partition("|") for line in told.split("\n")[:-1])
    }


def _names(path: Path) -> set[str]:
    with pcapnfs.open(path) as trace:
        return {
            said
            for row in trace.rows(
                "select distinct client_software, server_software from operations"
            )
            for said in row
            if said is not None
        }


@pytest.mark.parametrize("sample", ["k61-tar-v42.pcap", "k61-two-clients-v42-server.pcap"])
def test_tshark_reads_the_same_in_the_samples(sample: str) -> None:
    require_tshark()
    path = ROOT / "samples" / sample
    assert _names(path) == {f"{name} ({domain})" for name, domain in by_tshark(path)}


@pytest.mark.parametrize(
    "capture",
    [each for each in other_captures() if "-v4" in each.name] or [None],
    ids=lambda capture: capture.name if capture else "no-corpus",
)
def test_tshark_reads_the_same_of_other_servers(capture: Capture | None) -> None:
    require_tshark()
    require_corpus()
    assert capture is not None
    (path,) = capture.files
    assert _names(path) == {f"{name} ({domain})" for name, domain in by_tshark(path)}
    # A client without an implementation has an owner, and the owners known are those of the corpus.
    owner = of(path).clients[0]
    assert owner.source == "implementation" or owner.software in OWNERS.values()
