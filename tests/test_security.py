"""Security flavours: what can be said of calls whose bodies, or all of which, cannot be read.

Real captures against the kernels' counters and tshark; what no capture of the lab has is built.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.cli.app import run
from pcapnfs.synth.builder import Capture as Built
from pcapnfs.synth.builder import Conversation, nfs3, rpc
from pcapnfs.synth.builder.damage import snap
from pcapnfs.trace import Trace
from pcapnfs.verify.verification import settings

from .oracles.corpus import Capture, lab_captures, require_corpus
from .oracles.opened import opened
from .oracles.tshark import columns, require_tshark, tshark_cache

pytest.importorskip("pcapnfs._core")

_MS = 1_000_000
_HANDLE = bytes(range(32))
_HEADERS = 14 + 20 + 32
"""Ethernet, IPv4 and TCP with time stamps before the data of a segment."""
_TLS_RECORD = bytes.fromhex("1703030020") + bytes(range(32))
_AUTH_TLS = rpc.Auth(rpc.AUTH_TLS)
_STARTTLS = rpc.Auth(rpc.AUTH_NONE, b"STARTTLS")


def _named(part: str) -> list[Capture | None]:
    return [capture for capture in lab_captures() if part in capture.name] or [None]


def _with_kerberos() -> list[Capture | None]:
    """Captures of machines with a Kerberos key, of whatever `sec=`."""
    kinds = (
        "-sec-krb5",
        "k61-locks-v42",
        "k61-nconnect4",
        "k61-fmt-port20049-v42",
        "k61-restart-v42",
    )
    found = [item for item in lab_captures() if any(kind in item.name for kind in kinds)]
    return [*found] or [None]


def _id(capture: Capture | None) -> str:
    return capture.name if capture else "no-corpus"


def _counts(trace: Trace, query: str) -> Counter[str]:
    return Counter(dict(trace.sql(query).fetchall()))


def _only(capture: Built, folder: Path) -> Trace:
    return pcapnfs.open([capture.write(folder / "built.pcap")])


# RPCSEC_GSS --------------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _named("-sec-krb5"), ids=_id)
def test_procedures_are_counted_under_every_service(capture: Capture | None) -> None:
    trace = opened(capture).trace
    assert capture is not None
    (service,) = [name for name in ("krb5p", "krb5i", "krb5") if f"-{name}-" in capture.name][:1]
    counters = capture.truth()["nfsd_counters_delta"]
    if capture.version == "3":
        query = "select op, count(*) from calls where program = 100003 group by op"
        expected = Counter(counters["v3"])
    else:
        query = """
            select if(procedure = 1, 'COMPOUND', op), count(*) from calls
            where program = 100003 group by all
        """
        expected = Counter(counters["v4server"])
    found = _counts(trace, query)
    control = {name: found.pop(name) for name in list(found) if name.startswith("RPCSEC_GSS_")}
    # The server does not count the control procedures as the NULL calls as which they travel.
    assert found == expected
    assert control["RPCSEC_GSS_INIT"] >= 1
    flavors = {row[0] for row in trace.sql("select distinct flavor from calls").fetchall()}
    assert f"RPCSEC_GSS/{service}" in flavors


@pytest.mark.parametrize("capture", _named("-sec-krb5p"), ids=_id)
def test_sealed_bodies_are_timed_and_nothing_is_made_up(capture: Capture | None) -> None:
    trace = opened(capture).trace
    sealed, timed, statuses, undecoded = trace.sql(
        """
        select count(*), count(srt), count(status), count(*) filter (undecoded = 'encrypted')
        from calls where flavor = 'RPCSEC_GSS/krb5p' and op not like 'RPCSEC_GSS_%'
        """
    ).fetchall()[0]
    assert sealed > 100
    assert (timed, statuses, undecoded) == (sealed, 0, sealed)
    assert trace.sql(
        "select count(*) from operations where status is not null and call in "
        "(select call from calls where undecoded = 'encrypted')"
    ).fetchall() == [(0,)]
    # Call and reply are a message each.
    assert trust(trace).undecoded_reasons["encrypted"] == 2 * sealed


@pytest.mark.parametrize("capture", _with_kerberos(), ids=_id)
def test_flavors_are_those_of_tshark(capture: Capture | None, pytestconfig: pytest.Config) -> None:
    """Flavor, service and control procedure of every call; one connection has several."""
    trace = opened(capture).trace
    assert capture is not None
    rows = trace.sql("select flavor, op, transmissions from calls").fetchall()
    found: Counter[tuple[str, str]] = Counter()
    for flavor, op, transmissions in rows:
        control = op if op.startswith("RPCSEC_GSS_") else "DATA"
        found[flavor, control] += transmissions
    assert found == _flavors(capture, trace, tshark_cache(pytestconfig))


@pytest.mark.parametrize("capture", _with_kerberos(), ids=_id)
def test_the_mount_option_says_how_files_are_spoken_of(capture: Capture | None) -> None:
    """By `sec=` of the mount. What makes a client's state is protected by krb5i where there is a
    machine credential, whatever the mount says (RFC 8881 section 2.4.3, SP4_MACH_CRED).
    """
    trace = opened(capture).trace
    assert capture is not None
    (option,) = {
        match[1]
        for client in capture.truth()["clients"].values()
        for mount in client["mounts"]
        for match in [re.search(r"sec=(\w+)", mount["proc_mounts"])]
        if match
    }
    wanted = {"sys": "AUTH_SYS"}.get(option, f"RPCSEC_GSS/{option}")
    data = trace.sql(
        "select distinct flavor from calls where program = 100003 and not callback "
        "and op in ('READ', 'WRITE', 'CREATE', 'OPEN', 'SETATTR') or undecoded = 'encrypted'"
    ).fetchall()
    sealed = {("RPCSEC_GSS/krb5i",)} if capture.version.startswith("4") else set()
    assert {(wanted,)} <= set(data) <= {(wanted,)} | sealed
    state = trace.sql(
        "select distinct flavor from calls where op in ('EXCHANGE_ID', 'CREATE_SESSION')"
    ).fetchall()
    assert state == ([("RPCSEC_GSS/krb5i",)] if capture.version == "4.2" else [])


_SERVICES = {"1": "krb5", "2": "krb5i", "3": "krb5p"}
_CONTROL = {"1": "RPCSEC_GSS_INIT", "2": "RPCSEC_GSS_CONTINUE_INIT", "3": "RPCSEC_GSS_DESTROY"}
_FLAVORS = {"0": "AUTH_NONE", "1": "AUTH_SYS"}


def _flavors(capture: Capture, trace: Trace, cache: Path) -> Counter[tuple[str, str]]:
    """The same, by tshark: credential and verifier are listed in this order."""
    require_tshark()
    fields = ("rpc.msgtyp", "rpc.auth.flavor", "rpc.authgss.service", "rpc.authgss.procedure")
    named, whole = settings(trace), capture.full
    rows = columns(capture.files, capture.ports, cache, *fields, whole_packets=whole, named=named)
    found: Counter[tuple[str, str]] = Counter()
    for row in rows:
        kinds, flavors, services, controls = (cell.split(",") for cell in row)
        if "0" not in kinds:
            continue
        # A frame with two calls lists the flavors of both: credential, verifier, credential …
        security = iter(zip(services, controls, strict=True))
        for flavor in flavors[::2]:
            if flavor == "6":
                service, control = next(security)
                found[f"RPCSEC_GSS/{_SERVICES[service]}", _CONTROL.get(control, "DATA")] += 1
            else:
                found[_FLAVORS[flavor], "DATA"] += 1
    return found


# RPC-with-TLS ------------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _named("sec-tls"), ids=_id)
def test_a_connection_under_tls_is_reported_as_sealed(capture: Capture | None) -> None:
    trace = opened(capture).trace
    assert capture is not None
    calls = trace.sql(
        "select op, flavor, rpc_status, reply_frame, connection from calls"
    ).fetchall()
    assert [row[:3] for row in calls] == [("STARTTLS", "AUTH_TLS", "SUCCESS")]
    ((*_, granted, connection),) = calls
    rows = trace.sql("select connection, tls, sealed_bytes from connections where tls").fetchall()
    assert rows == [(connection, True, _payload_behind(capture, granted))]
    notes = trace.sql("select reason, connection, needed from notes").fetchall()
    assert notes == [("encrypted", connection, rows[0][2])]
    assert trust(trace).undecoded_reasons == {"encrypted": 1}


@pytest.mark.parametrize("capture", _named("sec-tls"), ids=_id)
@pytest.mark.parametrize("skipped", [6, 12, 40])
def test_tls_is_recognised_when_the_capture_begins_later(
    capture: Capture | None, skipped: int, tmp_path: Path
) -> None:
    require_corpus()
    assert capture is not None
    later = _without_first(capture.files[0], skipped, tmp_path)
    trace = pcapnfs.open([later])
    assert trace.sql("select count(*) from calls").fetchall() == [(0,)]
    rows = trace.sql("select server_port, tls, sealed_bytes > 10000 from connections").fetchall()
    assert rows == [(2049, True, True)]
    assert trust(trace).undecoded_reasons == {"encrypted": 1}


@pytest.mark.parametrize("kept", range(28, 45))
def test_tls_is_recognised_where_what_asks_for_it_was_cut(kept: int, tmp_path: Path) -> None:
    talk = _tls(_STARTTLS)
    talk.send("client", 3 * _MS, _TLS_RECORD).send("server", 4 * _MS, _TLS_RECORD)
    path = tmp_path / "cut.pcap"
    snap(talk.capture(), _HEADERS + kept).write(path)
    trace = pcapnfs.open(path)
    sealed = 2 * len(_TLS_RECORD)
    assert trace.sql("select count(*) from calls").fetchall() == [(1,)]
    rows = trace.sql("select tls, sealed_bytes from connections").fetchall()
    assert rows == [(True, sealed)]


@pytest.mark.parametrize("kept", [28, 32, 36, 64])
def test_a_null_call_that_was_cut_does_not_make_data_tls(kept: int, tmp_path: Path) -> None:
    talk = Conversation().open(0)
    talk.call(1, 1 * _MS, *nfs3.null()).reply(1, 2 * _MS)
    talk.call(2, 3 * _MS, *nfs3.write(_HANDLE, 0, _TLS_RECORD * 40)).reply(2, 4 * _MS)
    path = tmp_path / "cut.pcap"
    snap(talk.capture(), _HEADERS + kept).write(path)
    trace = pcapnfs.open(path)
    assert trace.sql("select tls, sealed_bytes from connections").fetchall() == [(False, 0)]
    assert trace.sql("select count(*) from calls").fetchall() == [(2,)]


def _payload_behind(capture: Capture, frame: int) -> int:
    """Payload bytes of the frames after `frame` on its connection, each byte once, by tshark."""
    require_tshark()
    (path,) = capture.files
    wanted = (
        f"tcp.port == 2049 && frame.number > {frame} && tcp.len > 0 && !tcp.analysis.retransmission"
    )
    lengths = subprocess.run(
        ["tshark", "-r", str(path), "-Y", wanted, "-T", "fields", "-e", "tcp.len"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    return sum(map(int, lengths))


def _without_first(path: Path, count: int, folder: Path) -> Path:
    """The capture without its first packets."""
    data = path.read_bytes()
    at = 24
    for _ in range(count):
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
    later = folder / "later.pcap"
    later.write_bytes(data[:24] + data[at:])
    return later


def _tls(verifier: rpc.Auth) -> Conversation:
    """A client that asks for TLS, and gets a success with this verifier."""
    talk = Conversation().open(0)
    talk.call(1, 1 * _MS, 100003, 4, 0, credential=_AUTH_TLS)
    return talk.reply(1, 2 * _MS, verifier=verifier)


def test_a_server_without_tls_goes_on_in_the_clear(tmp_path: Path) -> None:
    talk = _tls(rpc.NO_AUTH)
    talk.call(2, 3 * _MS, *nfs3.null()).reply(2, 4 * _MS)
    trace = _only(talk.capture(), tmp_path)
    assert trace.sql("select op from calls order by call").fetchall() == [("STARTTLS",), ("NULL",)]
    assert trace.sql("select tls, sealed_bytes from connections").fetchall() == [(False, 0)]


@pytest.mark.parametrize("command", ["findings", "summarize"])
def test_that_nothing_was_found_says_little_of_what_is_sealed(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = _tls(_STARTTLS)
    talk.send("client", 3 * _MS, _TLS_RECORD * 40).send("server", 4 * _MS, _TLS_RECORD * 40)
    path = tmp_path / "sealed.pcap"
    talk.capture().write(path)
    assert run([command, str(path)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "rules, most of which need what could not be read." in told


def test_calls_inside_of_tls_bytes_are_not_believed(tmp_path: Path) -> None:
    talk = _tls(_STARTTLS)
    hidden = _TLS_RECORD + rpc.record(rpc.call(9, *nfs3.null()))
    talk.send("client", 3 * _MS, hidden).send("server", 4 * _MS, _TLS_RECORD)
    trace = _only(talk.capture(), tmp_path)
    assert trace.sql("select op from calls").fetchall() == [("STARTTLS",)]
    total = len(hidden) + len(_TLS_RECORD)
    assert trace.sql("select tls, sealed_bytes from connections").fetchall() == [(True, total)]


def test_bytes_in_the_segment_of_the_grant_are_sealed_too(tmp_path: Path) -> None:
    talk = Conversation().open(0)
    talk.call(1, 1 * _MS, 100003, 4, 0, credential=_AUTH_TLS)
    grant = rpc.record(rpc.reply(1, verifier=_STARTTLS))
    talk.send("server", 2 * _MS, grant + _TLS_RECORD)
    trace = _only(talk.capture(), tmp_path)
    rows = trace.sql("select tls, sealed_bytes from connections").fetchall()
    assert rows == [(True, len(_TLS_RECORD))]


# Replies without results -------------------------------------------------------------------------


_REFUSALS = {
    "PROG_UNAVAIL": rpc.reply_failed(7, rpc.PROG_UNAVAIL),
    "PROG_MISMATCH": rpc.reply_failed(7, rpc.PROG_MISMATCH, 2, 3),
    "PROC_UNAVAIL": rpc.reply_failed(7, rpc.PROC_UNAVAIL),
    "GARBAGE_ARGS": rpc.reply_failed(7, rpc.GARBAGE_ARGS),
    "SYSTEM_ERR": rpc.reply_failed(7, rpc.SYSTEM_ERR),
    "RPC_MISMATCH": rpc.reply_rpc_mismatch(7),
    "AUTH_TOOWEAK": rpc.reply_auth_error(7, 5),
    "RPCSEC_GSS_CREDPROBLEM": rpc.reply_auth_error(7, 13),
}


@pytest.mark.parametrize("name", _REFUSALS)
def test_a_refusal_has_its_rpc_status_and_no_results(name: str, tmp_path: Path) -> None:
    reply = _REFUSALS[name]
    talk = Conversation().open(0).call(7, 1 * _MS, *nfs3.remove(_HANDLE, "a"))
    trace = _only(talk.message("server", 2 * _MS, reply).capture(), tmp_path)
    row = trace.sql(
        "select op, rpc_status, status, srt, stability, undecoded from calls"
    ).fetchall()
    assert row == [("REMOVE", name, None, _MS, "unstable", None)]
    assert trace.sql("select name, executed, status from operations").fetchall() == [
        ("a", False, None)
    ]
    assert trace.sql("select count(*) from notes").fetchall() == [(0,)]


# Other credentials -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flavor", "body", "name"),
    [
        (2, bytes(12), "AUTH_SHORT"),
        # authdes_cred: a nickname, and a full name with key and window (RFC 2695 section 2).
        (3, struct.pack(">II", 1, 99), "AUTH_DH"),
        (3, struct.pack(">II8s8sI", 0, 8, b"unix.1@d", bytes(8), 60), "AUTH_DH"),
        (0, b"", "AUTH_NONE"),
    ],
)
def test_calls_of_any_flavor_are_decoded(
    flavor: int, body: bytes, name: str, tmp_path: Path
) -> None:
    talk = Conversation(credential=rpc.Auth(flavor, body)).open(0)
    talk.call(7, 1 * _MS, *nfs3.remove(_HANDLE, "a")).reply(7, 2 * _MS, bytes(12))
    trace = _only(talk.capture(), tmp_path)
    row = trace.sql("select op, flavor, uid, status_name, undecoded from calls").fetchall()
    assert row == [("REMOVE", name, None, "NFS3_OK", None)]


@pytest.mark.parametrize("service", [1, 2, 3])
@pytest.mark.parametrize(
    ("kept", "flavor"), [(24, "unknown"), (28, "RPCSEC_GSS"), (40, "RPCSEC_GSS"), (48, None)]
)
def test_results_are_read_where_the_service_is_known(
    kept: int, flavor: str | None, service: int, tmp_path: Path
) -> None:
    """A call that was cut within its credential does not say how its reply is wrapped, if that is
    there: one that fails with 60 or 128 is the length of what is wrapped."""
    status = b"\0\0\0\x02" + bytes(100)
    body = {1: status, 2: rpc.gss_integrity(7, status), 3: rpc.gss_privacy(status)}[service]
    credential, verifier = rpc.auth_gss(7, service), rpc.gss_verifier()
    conversation = Conversation().open(0)
    conversation.call(
        1, _MS, *nfs3.getattr_(_HANDLE), credential=credential, verifier=verifier
    ).reply(1, 2 * _MS, body, verifier=verifier)
    *opening, call, reply = conversation.frames
    cut = snap(Built([call]), _HEADERS + 4 + kept).frames
    path = Built([*opening, *cut, reply]).write(tmp_path / "cut.pcap")
    with pcapnfs.open(path) as trace:
        known = flavor is None
        assert trace.rows("SELECT rpc_status, flavor, status, status IS NULL FROM calls") == [
            (
                "SUCCESS",
                flavor or f"RPCSEC_GSS/{_SERVICES[str(service)]}",
                2 if known and service < 3 else None,
                not known or service == 3,
            )
        ]
