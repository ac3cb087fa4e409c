"""What the kernels counted besides calls: transmissions, bytes of messages, errors, bytes of files.

Mountstats holds them for each operation between mount and unmount, nfsd's counters for the whole
run. Calls themselves are compared in test_lab.py.
"""

from __future__ import annotations

from collections import Counter

import pytest

import pcapnfs

from .oracles.corpus import Capture, Encryption, lab_captures, require_corpus
from .oracles.known import invisible
from .oracles.opened import opened

pytest.importorskip("pcapnfs._core")

_RECORD_MARK_BYTES = 4
"""The client counts the mark (RFC 5531 section 11) of what it sends, and not of what it gets."""

_ADDRESSES = {"client1": "10.0.0.11", "client2": "10.0.0.12"}


def _whole(capture: Capture) -> bool:
    """Whether it holds the whole run, one run, and every call of it."""
    part = capture.started_late or capture.cut_off or capture.merged
    return not part and capture.encryption is not Encryption.TLS and not invisible(capture)


def _answered(capture: Capture) -> bool:
    """Whether every reply is visible: not where several share a packet that was cut."""
    return _whole(capture) and not ("cachedread8m" in capture.name and not capture.full)


def _outcomes(capture: Capture) -> bool:
    """Whether the replies can be read."""
    return _whole(capture) and capture.full and capture.encryption is None


def _captures() -> list[Capture | None]:
    return [item for item in lab_captures() if _whole(item)] or [None]


def _id(capture: Capture | None) -> str:
    return capture.name if capture else "no-corpus"


def _opened(capture: Capture | None) -> tuple[Capture, pcapnfs.Trace]:
    shared = opened(capture)
    return shared.capture, shared.trace


def _told(capture: Capture, key: str) -> dict[str, Counter[str]]:
    """What mountstats of each client that the capture saw counts under a key, by operation; of
    NFSv4, whose compounds it names after their purpose, in all.
    """
    found = {}
    for name, client in capture.truth()["clients"].items():
        if capture.vantage in capture.clients and capture.vantage != name:
            continue
        rows = client["mountstats_delta_total"]["ops"]
        counts = Counter({operation: int(row[key]) for operation, row in rows.items()})
        found[name] = +(counts if capture.version == "3" else Counter({"all": counts.total()}))
    return found


def _counted(capture: Capture, trace: pcapnfs.Trace, measure: str) -> dict[str, Counter[str]]:
    """The same, by the table of calls."""
    found = {}
    for name, client in capture.truth()["clients"].items():
        if capture.vantage in capture.clients and capture.vantage != name:
            continue
        spans = " or ".join(
            f"call_time between {mount['end_ns']} and {mount['umount_start_ns']}"
            for mount in client["mounts"]
        )
        rows = trace.sql(
            f"""
            select {"op" if capture.version == "3" else "'all'"}, coalesce({measure}, 0)::bigint
            from calls
            where program = 100003 and procedure <> 0 and not callback and ({spans})
                and ($several is false or client = $address)
            group by all
            """,
            {"several": len(capture.clients) > 1, "address": _ADDRESSES[name]},
        ).fetchall()
        found[name] = +Counter(dict(rows))
    return found


@pytest.mark.parametrize("capture", _captures(), ids=_id)
def test_measures_are_those_of_the_kernels(capture: Capture | None) -> None:
    """A call that was sent again was sent in full each time, whatever the connection. The length of
    a message is that on the wire, also where packets were cut.
    """
    capture, trace = _opened(capture)
    measures = {
        "transmissions": "sum(transmissions)",
        "bytes_sent": f"sum((call_bytes + {_RECORD_MARK_BYTES}) * transmissions)",
    }
    if _answered(capture):
        measures["bytes_received"] = "sum(reply_bytes)"
    if _outcomes(capture):
        measures["errors"] = "count(*) filter (status <> 0)"
        assert _bytes_of_files(trace) == _bytes_told(capture)
    for key, measure in measures.items():
        assert _counted(capture, trace, measure) == _told(capture, key), key


def test_every_measure_is_compared_somewhere() -> None:
    require_corpus()
    captures = [item for item in _captures() if item is not None]
    for holds in (_answered, _outcomes):
        assert 50 < sum(holds(item) for item in captures) < len(captures)
    resent = [item for item in captures if "retrans" in item.name or "restart" in item.name]
    assert len(resent) == 4


def _bytes_of_files(trace: pcapnfs.Trace) -> dict[str, int]:
    ((read, written),) = trace.sql(
        """
        select coalesce(sum(count) filter (op in ('READ', 'READ_PLUS')), 0)::bigint,
               coalesce(sum(count) filter (op = 'WRITE'), 0)::bigint
        from operations
        """
    ).fetchall()
    return {"read": read, "write": written}


def _bytes_told(capture: Capture) -> dict[str, int]:
    """What the server moved; of a capture of one of two clients, what that client did."""
    truth = capture.truth()
    if len(capture.clients) > 1 and capture.vantage in capture.clients:
        moved = truth["clients"][capture.vantage]["mountstats_delta_total"]["bytes"]
        return {kind: moved.get(f"server{kind}bytes", 0) for kind in ("read", "write")}
    moved = truth["nfsd_counters_delta"].get("io", {})
    return {kind: moved.get(f"{kind}_bytes", 0) for kind in ("read", "write")}
