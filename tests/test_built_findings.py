"""Findings for which no capture at hand is an example, on captures that the builder makes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.diagnosis.finding import Finding
from pcapnfs.synth.builder import Capture, Conversation, Packer, mount3, nfs3, rpc
from pcapnfs.synth.builder.nfs3 import NF3DIR, Fattr3, Sattr3, results
from pcapnfs.synth.builder.rpc import Request
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation
from tests.decoded import MS, T

pytest.importorskip("pcapnfs._core")

ROOT = b"root handle."
NOENT = 2
NOSPC = 28
PERM = 1
FBIG = 27
ENTRIES = 50


class Talk:
    """Calls one after the other."""

    def __init__(self) -> None:
        self.connection = Conversation()
        self.now_ns = T
        self.xid = 0

    def call(self, request: Request, answer: bytes, srt_ms: int = 1) -> None:
        """A call and its reply."""
        self.xid += 1
        self.connection.call(self.xid, self.now_ns, *request)
        self.connection.reply(self.xid, self.now_ns + srt_ms * MS, answer)
        self.now_ns += (srt_ms + 1) * MS

    def findings(self, folder: Path) -> dict[str, Finding]:
        """What there is to say of it."""
        path = self.connection.capture().write(folder / "built.pcap")
        with pcapnfs.open(path) as trace:
            return {finding.id: finding for finding in pcapnfs.findings(trace).findings}


def listed(talk: Talk, pages: int, srt_ms: int, *, bare: bool = False) -> None:
    """A directory is listed page by page, with attributes; `bare`: the server leaves them out."""
    for page in range(pages):
        entries = [
            results.Entry(
                fileid=number,
                name=f"f{number}",
                cookie=number,
                attributes=None if bare else Fattr3(fileid=number),
                handle=None if bare else b"handle %5d" % number,
            )
            for number in range(page * ENTRIES + 10, page * ENTRIES + 10 + ENTRIES)
        ]
        talk.call(
            nfs3.readdirplus(ROOT, cookie=page * ENTRIES + 9 if page else 0),
            results.readdirplus(entries, eof=page == pages - 1),
            srt_ms,
        )
        talk.call(nfs3.access(ROOT), results.access())


def test_listings_that_take_2_ms_for_each_entry_may_be_for_nothing(tmp_path: Path) -> None:
    talk = Talk()
    listed(talk, 5, 2 * ENTRIES)
    finding = talk.findings(tmp_path)["readdirplus_unused"]
    assert finding.saving_s == pytest.approx(0.1 * 5, rel=0.05)
    assert "for each of 250 entries" in finding.evidence


@pytest.mark.parametrize("bare", [True, False])
def test_a_server_that_leaves_attributes_out_of_listings_is_why_names_are_looked_up(
    tmp_path: Path, *, bare: bool
) -> None:
    talk = Talk()
    listed(talk, 2, 2, bare=bare)
    for number in range(10, 10 + 2 * ENTRIES):
        looked_up = results.lookup(b"handle %5d" % number, Fattr3(fileid=number))
        talk.call(nfs3.lookup(ROOT, f"f{number}"), looked_up, 4)
    found = talk.findings(tmp_path)
    assert ("readdir_without_plus" in found) == bare
    if bare:
        finding = found["readdir_without_plus"]
        assert "2 listings asked for attributes, and the server gave none of" in finding.evidence
        assert finding.saving_s == pytest.approx(2 * ENTRIES * 0.005, rel=0.05)


def test_quick_listings_or_few_are_not(tmp_path: Path) -> None:
    quick, few = Talk(), Talk()
    listed(quick, 5, 2)
    listed(few, 3, 2 * ENTRIES)
    assert "readdirplus_unused" not in quick.findings(tmp_path)
    assert "readdirplus_unused" not in few.findings(tmp_path)


def searched(talk: Talk, found_first: bool) -> None:
    """Twenty names are looked for in two directories, and found in the third."""
    places = ("local", "usr", "bin")
    for number, place in enumerate(places):
        attributes = Fattr3(type=NF3DIR, fileid=number + 2)
        talk.call(nfs3.lookup(ROOT, place), results.lookup(place.encode(), attributes))
    for number in range(20):
        for place in places:
            last = found_first or place == places[-1]
            answer = (
                results.lookup(b"tool %5d" % number, Fattr3(fileid=100 + number))
                if last
                else results.lookup(status=NOENT)
            )
            talk.call(nfs3.lookup(place.encode(), f"tool{number}"), answer)
            if last:
                break


def test_a_search_path_is_told_in_its_order(tmp_path: Path) -> None:
    talk = Talk()
    searched(talk, found_first=False)
    finding = talk.findings(tmp_path)["negative_lookups"]
    assert finding.evidence.startswith("40 of 63 LOOKUPs found nothing")
    assert re.search(
        r"Searched in this order: \S+/local, \S+/usr \(20 searches for 20 names\)\.$",
        finding.evidence,
    )
    # 40 calls of 1 ms, and as much again between them.
    assert finding.saving_s == pytest.approx(0.08, rel=0.05)


def test_what_is_found_in_the_first_directory_is_none(tmp_path: Path) -> None:
    talk = Talk()
    searched(talk, found_first=True)
    assert "negative_lookups" not in talk.findings(tmp_path)


@pytest.mark.parametrize("threads", [64, 32])
def test_a_session_whose_slots_are_all_taken(threads: int, tmp_path: Path) -> None:
    """The simulated server grants 64, one for each thread there may be."""
    options = Options(
        version="4.1", files=10 * threads, threads=threads, rtt_ns=MS, persist_ns=5 * MS
    )
    capture, _ = Simulation(options).run()
    with pcapnfs.open(capture.write(tmp_path / "slots.pcap")) as trace:
        findings = {finding.id: finding for finding in pcapnfs.findings(trace).findings}
    assert ("session_slots" in findings) is (threads == 64)
    if threads == 64:
        assert "grants 64 slots" in findings["session_slots"].evidence


def test_a_file_system_that_fills_up(tmp_path: Path) -> None:
    talk = Talk()
    talk.call(nfs3.create(ROOT, "big"), results.create(b"big", Fattr3(fileid=9)))
    for number in range(5):
        full = number > 2
        answer = results.write(status=NOSPC) if full else results.write(count=8192)
        talk.call(nfs3.write(b"big", number * 8192, bytes(8192)), answer)
    finding = talk.findings(tmp_path)["no_space"]
    told = r"2 calls \(WRITE\) were answered NFS3ERR_NOSPC, .*/big\. That was at [\d:]+ UTC\.$"
    assert re.match(told, finding.evidence)


@pytest.mark.parametrize(("refused", "severity"), [(20, "problem"), (19, "warning"), (9, None)])
def test_a_file_that_becomes_too_large(refused: int, severity: str | None, tmp_path: Path) -> None:
    """Data that mostly is not stored is a problem; else it goes by what these calls cost."""
    talk = Talk()
    talk.call(nfs3.create(ROOT, "big"), results.create(b"big", Fattr3(fileid=9)))
    for number in range(40):
        full = number >= 40 - refused
        answer = results.write(status=FBIG) if full else results.write(count=8192, committed=0)
        talk.call(
            nfs3.write(b"big", number * 8192, bytes(8192), stable=0), answer, 1 if full else 9
        )
    findings = talk.findings(tmp_path)
    assert ("rejected_calls" in findings) is (severity is not None)
    if severity is not None:
        finding = findings["rejected_calls"]
        assert finding.severity == severity
        assert finding.evidence.startswith(
            f"{refused} of 40 WRITE calls were answered NFS3ERR_FBIG (the file would be larger"
        )
        assert finding.saving_s == pytest.approx(refused * 0.001, rel=0.01)


@pytest.mark.parametrize("files", [10, 9])
def test_root_that_may_not_give_files_away(files: int, tmp_path: Path) -> None:
    """As tar does it, on an export with root_squash; nine may be a program that tries."""
    talk = Talk()
    for number in range(files):
        name = b"f%d" % number
        talk.call(nfs3.create(ROOT, name), results.create(name, Fattr3(fileid=9 + number)))
        talk.call(nfs3.setattr_(name, Sattr3(uid=1000)), results.setattr_(status=PERM))
    findings = talk.findings(tmp_path)
    assert ("access_denied" in findings) is (files == 10)
    assert not {"no_space", "io_errors", "lost_state"}.intersection(findings)


@pytest.mark.parametrize(("status", "told"), [(13, "EACCES"), (2, "ENOENT"), (22, "EINVAL")])
def test_a_mount_by_version_1_that_is_refused(status: int, told: str, tmp_path: Path) -> None:
    """It is refused with an error number of Unix (RFC 1094 section A.5)."""
    talk = Conversation(client_port=801, server_port=20048).open(T)
    path = Packer().opaque(b"/export").done()
    talk.call(1, T + MS, 100005, 1, 1, path).reply(1, T + 2 * MS, Packer().uint(status).done())
    with pcapnfs.open(talk.capture().write(tmp_path / "mount.pcap")) as trace:
        findings = {finding.id: finding for finding in pcapnfs.findings(trace).findings}
    finding = findings["mount_outcome" if told == "EINVAL" else "access_denied"]
    assert told in finding.evidence
    assert "/export" in finding.evidence


def test_a_mount_of_an_export_that_wants_kerberos(tmp_path: Path) -> None:
    """MNT is granted, and the client, which has no Kerberos, gives up."""
    talk = Conversation(client_port=801, server_port=20048).open(T)
    talk.call(1, T + MS, *mount3.mnt("/export"))
    talk.reply(1, T + 2 * MS, mount3.mnt_reply(ROOT, (390003, 390004)))
    talk.call(2, T + 3 * MS, *mount3.umnt("/export")).reply(2, T + 4 * MS, b"")
    with pcapnfs.open(talk.capture().write(tmp_path / "mount.pcap")) as trace:
        (finding,) = pcapnfs.findings(trace).findings
    assert (finding.id, finding.severity) == ("mount_outcome", "warning")
    assert "answered MNT3_OK: /export, for KRB5, KRB5I." in finding.evidence


def test_a_mount_that_waits_for_dns(tmp_path: Path) -> None:
    """The verdict is about the calls after it, and says so."""
    mounting = Conversation(client_port=801, server_port=20048).open(T)
    mounting.call(1, T + MS, *mount3.mnt("/export"))
    mounting.reply(1, T + 10_001 * MS, mount3.mnt_reply(ROOT))
    talk = Talk()
    talk.now_ns += 10_010 * MS
    for number in range(40):
        talk.call(nfs3.getattr_(ROOT), results.getattr_(Fattr3(type=NF3DIR, fileid=number)))
    path = (mounting.capture() + talk.connection.capture()).write(tmp_path / "mount.pcap")
    with pcapnfs.open(path) as trace:
        summary = pcapnfs.summarize(trace)
    first = summary.findings[0]
    assert (first.id, first.severity) == ("slow_mount", "problem")
    assert first.saving_s == pytest.approx(10.0, rel=0.001)
    assert summary.verdict is not None
    assert summary.verdict.sentence.startswith("The time went into ")
    assert summary.verdict.sentence.endswith(" Not counted: 10.0 s of mounting.")


def test_of_several_clients_each_is_told_what_its_mount_took(tmp_path: Path) -> None:
    """The last one has mounted at once."""
    whole = Capture()
    for client, took_ms in (("10.0.2.11", 10_000), ("10.0.2.12", 8_000), ("10.0.2.13", 10)):
        mounting = Conversation(client=client, client_port=801, server_port=20048).open(T)
        mounting.call(1, T + MS, *mount3.mnt("/export"))
        mounting.reply(1, T + (took_ms + 1) * MS, mount3.mnt_reply(ROOT))
        talk = Conversation(client=client).open(T + (took_ms + 5) * MS)
        for number in range(40):
            at_ns = T + (took_ms + 10 + number * 2) * MS
            talk.call(number, at_ns, *nfs3.getattr_(ROOT))
            talk.reply(number, at_ns + MS, results.getattr_(Fattr3(type=NF3DIR, fileid=7)))
        whole += mounting.capture() + talk.capture()
    with pcapnfs.open(whole.write(tmp_path / "mounts.pcap")) as trace:
        verdict = pcapnfs.model(trace).verdict
    assert verdict is not None
    told = [each.sentence for each in verdict.clients]
    for sentence, took in zip(told, ("10.0 s", "8.00 s"), strict=False):
        assert sentence.endswith(
            f" In 88.0 ms from its first call to its last reply it waited 44.0 ms for calls. Not "
            f"counted: {took} of mounting."
        )
        assert sentence.startswith("The time of 10.0.2.1")
        assert " went into round trips " in sentence
    assert "mounting" not in told[2]
    for each in verdict.clients:
        assert sum(cause.time_s for cause in each.causes) == pytest.approx(each.clock_s)


@pytest.mark.parametrize("contexts", [10, 1])
def test_kerberos_contexts_that_take_long(contexts: int, tmp_path: Path) -> None:
    """One of 30 ms is nothing to speak of."""
    talk = Talk()
    start = rpc.Auth(rpc.RPCSEC_GSS, Packer().uints(1, 1, 0, 1).opaque(b"").done())
    made = Packer().opaque(b"context").uints(0, 0, 128).opaque(bytes(150)).done()
    for number in range(contexts):
        talk.connection.credential = start
        talk.call(nfs3.null()._replace(body=Packer().opaque(bytes(600)).done()), made, 30)
        talk.connection.credential = rpc.auth_gss(number + 1, rpc.GSS_NONE, b"context")
        talk.call(nfs3.getattr_(ROOT), results.getattr_(Fattr3(type=NF3DIR)))
    findings = talk.findings(tmp_path)
    assert ("gss_contexts" in findings) is (contexts == 10)
    if contexts == 10:
        assert findings["gss_contexts"].saving_s == pytest.approx(0.3)
