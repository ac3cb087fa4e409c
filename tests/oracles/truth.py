"""What the kernels counted, and which part of it a capture must reproduce.

Takes a `Capture` of the lab; gives `Expectation`s (counts with the window and the client that
they hold for) and `Exclusion`s (what cannot be compared, with the reason). Promises that every
lab capture has at least one of the two for every source of truth, so that nothing drops out
unseen.

Sources: the server's counters (`nfsd_counters_delta`, what `nfsstat -s` shows), which cover the
whole run with all its clients, mounts and unmounts; and the client's (`mountstats_delta_total`),
which cover the time between mount and unmount. Mountstats names whole compounds of NFSv4 after
their purpose, not after operations, so that by name only NFSv3 is compared, and for NFSv4 the
number of compounds. The client's `nfs_client_counters_delta` is not used: its counts by procedure
are those of all clients of the machine, and its number of RPCs includes the side protocols.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from .corpus import Capture, Encryption

NFS3_PROCEDURES = (
    "NULL",
    "GETATTR",
    "SETATTR",
    "LOOKUP",
    "ACCESS",
    "READLINK",
    "READ",
    "WRITE",
    "CREATE",
    "MKDIR",
    "SYMLINK",
    "MKNOD",
    "REMOVE",
    "RMDIR",
    "RENAME",
    "LINK",
    "READDIR",
    "READDIRPLUS",
    "FSSTAT",
    "FSINFO",
    "PATHCONF",
    "COMMIT",
)
"""NFSv3 procedures by number (RFC 1813 section 3.3)."""

NFS4_PROCEDURES = ("NULL", "COMPOUND")
"""NFSv4 procedures by number (RFC 7530 section 15)."""

_NFS4_FIRST = 3
_NFS4_NAMES = (
    # RFC 7530 section 16
    "ACCESS CLOSE COMMIT CREATE DELEGPURGE DELEGRETURN GETATTR GETFH LINK LOCK LOCKT LOCKU LOOKUP "
    "LOOKUPP NVERIFY "
    "OPEN OPENATTR OPEN_CONFIRM OPEN_DOWNGRADE PUTFH PUTPUBFH PUTROOTFH READ READDIR READLINK "
    "REMOVE RENAME RENEW "
    "RESTOREFH SAVEFH SECINFO SETATTR SETCLIENTID SETCLIENTID_CONFIRM VERIFY WRITE "
    "RELEASE_LOCKOWNER "
    # RFC 8881 section 18
    "BACKCHANNEL_CTL BIND_CONN_TO_SESSION EXCHANGE_ID CREATE_SESSION DESTROY_SESSION FREE_STATEID "
    "GET_DIR_DELEGATION GETDEVICEINFO GETDEVICELIST LAYOUTCOMMIT LAYOUTGET LAYOUTRETURN "
    "SECINFO_NO_NAME SEQUENCE "
    "SET_SSV TEST_STATEID WANT_DELEGATION DESTROY_CLIENTID RECLAIM_COMPLETE "
    # RFC 7862 section 15
    "ALLOCATE COPY COPY_NOTIFY DEALLOCATE IO_ADVISE LAYOUTERROR LAYOUTSTATS OFFLOAD_CANCEL "
    "OFFLOAD_STATUS READ_PLUS "
    "SEEK WRITE_SAME CLONE "
    # RFC 8276 section 8.4
    "GETXATTR SETXATTR LISTXATTRS REMOVEXATTR"
)
NFS4_OPERATIONS = dict(enumerate(_NFS4_NAMES.split(), start=_NFS4_FIRST))
"""NFSv4 operations by number, minor versions 0 to 2 and the extended attributes."""

_ADDRESSES = {"client1": "10.0.0.11", "client2": "10.0.0.12"}
"""Addresses of the lab's clients, as far as captures with two clients use them."""


_BACKGROUND = re.compile(r"&\s*(true)?$")
"""A command that leaves a job running when its step ends."""


class Unit(StrEnum):
    """What an expectation counts."""

    V3_CALLS = "NFSv3 calls by procedure"
    V4_CALLS = "NFSv4 calls by procedure"
    V4_OPERATIONS = "executed NFSv4 operations by name"


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time, nanoseconds since 1970, both ends included; calls are placed by the time of
    their frame.
    """

    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Expectation:
    """Counts that the capture must reproduce exactly."""

    unit: Unit
    source: str
    """Where the counts come from, for the message of a failing test."""
    counts: Mapping[str, int]
    client: str | None = None
    """Address of the client whose calls are counted; `None`: all."""
    windows: tuple[Window, ...] | None = None
    """Calls outside of them are not counted; `None`: the whole capture."""
    transmissions: bool = False
    """A call repeated on the same connection was executed and counted again."""
    at_most: bool = False
    """The counts are an upper bound: the source saw more of the run than the capture."""
    ignored: frozenset[str] = frozenset()
    """Names that this source does not count."""

    def covers(self, client: str, time_ns: int) -> bool:
        """Whether a call of that client sent at that time is among the counted."""
        if self.client is not None and client != self.client:
            return False
        return self.windows is None or any(
            window.start_ns <= time_ns <= window.end_ns for window in self.windows
        )


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A source of truth, or a part of it, that does not apply to a capture."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """All that the kernels' counters say about one capture."""

    expectations: tuple[Expectation, ...]
    exclusions: tuple[Exclusion, ...]


def verdict(capture: Capture) -> Verdict:
    """What `capture` must reproduce, and what it cannot, by the rules of the corpus."""
    server, server_exclusions = _server(capture)
    client, client_exclusions = _clients(capture)
    return Verdict((*server, *client), (*server_exclusions, *client_exclusions))


def joint_verdict(captures: list[Capture]) -> Verdict:
    """What the captures of both clients of one run hold together: the server's counters.

    Raises `ValueError` when they are not client-side captures of one run, one for each client.
    """
    seen = sorted(capture.vantage for capture in captures)
    if seen != sorted(captures[0].clients) or len({capture.traffic for capture in captures}) != 1:
        raise ValueError(f"not one capture for each client of a run: {seen}")
    return Verdict(tuple(_server_counts(captures[0])), ())


_SERVER = "the server's counters"
_CLIENT = "the client's mountstats"


def _server(capture: Capture) -> tuple[list[Expectation], list[Exclusion]]:
    """The server's counters hold for captures of the whole run and of all clients."""
    part = _part_of_the_run(capture)
    if part is not None:
        bounds = [replace(item, at_most=True) for item in _server_counts(capture)]
        return bounds, [Exclusion(f"{_SERVER}, to the full count", part)]
    obstacle = _no_message_visible(capture)
    if obstacle is None and len(capture.clients) > 1 and capture.vantage in capture.clients:
        obstacle = "the counters hold the calls of both clients, the capture those of one"
    if obstacle is not None:
        return [], [Exclusion(_SERVER, obstacle)]
    expectations = _server_counts(capture)
    hidden = _operations_hidden(capture)
    if hidden is None:
        return expectations, []
    visible = [item for item in expectations if item.unit is not Unit.V4_OPERATIONS]
    lost = len(visible) < len(expectations)
    return visible, [Exclusion(f"{_SERVER} of NFSv4 operations", hidden)] if lost else []


def _server_counts(capture: Capture) -> list[Expectation]:
    """One expectation for each kind of counter that the run moved. Merged runs are of different
    versions.
    """
    counters: dict[str, Any] = {}
    for truth in capture.truths():
        counters.update(truth["nfsd_counters_delta"])
    units = {"v3": Unit.V3_CALLS, "v4server": Unit.V4_CALLS, "v4ops": Unit.V4_OPERATIONS}
    return [
        Expectation(unit, f"{_SERVER} ({key})", dict(counters[key]), transmissions=True)
        for key, unit in units.items()
        if key in counters
    ]


def _clients(capture: Capture) -> tuple[list[Expectation], list[Exclusion]]:
    """Mountstats hold for one client each, between its mounts and unmounts."""
    obstacle = _no_message_visible(capture)
    if capture.merged:
        obstacle = "several runs in one file, the server's counters tell them apart"
    if obstacle is not None:
        return [], [Exclusion(_CLIENT, obstacle)]
    expectations: list[Expectation] = []
    exclusions: list[Exclusion] = []
    for name, client in sorted(capture.truth()["clients"].items()):
        if capture.vantage in capture.clients and capture.vantage != name:
            exclusions.append(Exclusion(f"{_CLIENT} of {name}", "its calls are in another capture"))
        elif (obstacle := _window_cut(capture)) is not None:
            expectations.extend(_whole_steps(capture, name))
            exclusions.append(Exclusion(f"{_CLIENT} of {name}, of the steps cut", obstacle))
        else:
            expectations.append(_between_mounts(capture, name, client))
    return expectations, exclusions


def _window_cut(capture: Capture) -> str | None:
    if capture.started_late:
        return "the capture started while a step was running, which later counters include"
    return "the file ends before the unmount" if capture.cut_off else None


def _between_mounts(capture: Capture, name: str, client: Mapping[str, Any]) -> Expectation:
    windows = tuple(
        Window(int(mount["end_ns"]), int(mount["umount_start_ns"])) for mount in client["mounts"]
    )
    source = f"{_CLIENT} of {name}, between mount and unmount"
    return _client_counts(capture, name, source, client["mountstats_delta_total"], windows)


def _whole_steps(capture: Capture, name: str) -> list[Expectation]:
    """Steps that lie within the capture. A background job makes the counters of the steps after
    it include its own.
    """
    truth = capture.truth()
    start_ns, stop_ns = int(truth["capture"]["start_ns"]), int(truth["capture"]["stop_ns"])
    expectations: list[Expectation] = []
    for step in truth["steps"]:
        if _BACKGROUND.search(step.get("command", "")):
            break
        if step.get("who") != name or "mountstats_delta" not in step or capture.cut_off:
            continue
        window = Window(int(step["start_ns"]), int(step["end_ns"]))
        if start_ns <= window.start_ns and window.end_ns <= stop_ns:
            source = f"{_CLIENT} of {name}, step {step['label']}"
            delta = step["mountstats_delta"]
            expectations.append(_client_counts(capture, name, source, delta, (window,)))
    return expectations


def _client_counts(
    capture: Capture,
    name: str,
    source: str,
    delta: Mapping[str, Any],
    windows: tuple[Window, ...],
) -> Expectation:
    counts = {key: int(value["count"]) for key, value in delta.get("ops", {}).items()}
    by_name = capture.version == "3"
    return Expectation(
        Unit.V3_CALLS if by_name else Unit.V4_CALLS,
        source,
        counts if by_name else {"COMPOUND": sum(counts.values())},
        client=_address(capture, name),
        windows=windows,
        ignored=frozenset({"NULL"}),
    )


def _address(capture: Capture, name: str) -> str | None:
    """With one client every call is its own, whatever its address (IPv6, VLAN)."""
    return _ADDRESSES[name] if len(capture.clients) > 1 else None


def _no_message_visible(capture: Capture) -> str | None:
    if capture.encryption is Encryption.TLS:
        return "TLS hides the RPC headers"
    return None


def _part_of_the_run(capture: Capture) -> str | None:
    if capture.started_late:
        return "the capture started late: the counters hold the whole run"
    if capture.cut_off:
        return "the file ends before the run does"
    return None


def _operations_hidden(capture: Capture) -> str | None:
    if capture.encryption is Encryption.KRB5P:
        return "RPCSEC_GSS privacy hides the compounds; only their number is visible"
    if not capture.full:
        return f"operations lie beyond the {capture.snaplen} bytes kept of each packet"
    return None


def differences(expected: Expectation, found: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Names whose counts differ: (expected, found). Names that one side lacks count zero."""
    wanted, seen = Counter(dict(expected.counts)), Counter(dict(found))
    return {
        name: (wanted[name], seen[name])
        for name in sorted(wanted.keys() | seen.keys())
        if name not in expected.ignored
        and (wanted[name] < seen[name] if expected.at_most else wanted[name] != seen[name])
    }
