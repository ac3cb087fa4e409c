"""Finds the corpus of real captures and says what each capture is.

Takes nothing but the environment; gives `Capture` records, sorted by name; promises that a
missing corpus is a visible skip on a developer's machine and a failure where
`PCAPNFS_REQUIRE_CORPUS=1` is set.
"""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

_REPOSITORY = Path(__file__).resolve().parents[2]

_UNTRUNCATED_SNAPLEN = 262144
"""tcpdump's default: larger than any packet, so nothing was cut off."""

_MERGED = {"fmt-merged-2if.pcapng": ("fmt-plain-v42", "fmt-plain-v3")}
"""Captures that were put together from others, by the corpus' table of file formats."""


class Encryption(StrEnum):
    """What hides the arguments and results of a call."""

    KRB5P = "krb5p"
    """RPCSEC_GSS privacy (RFC 2203 section 5.3.2.3): the procedure number stays in clear, the
    arguments do not.
    """
    TLS = "tls"
    """RPC-with-TLS (RFC 9289): not even the RPC header is visible."""


@dataclass(frozen=True, slots=True)
class Capture:
    """One capture: its files in order of time, and the traits that decide what it can be compared
    with.
    """

    name: str
    files: tuple[Path, ...]
    truth_file: Path | None
    """JSON with what is known about the traffic from other sources than the packets."""
    version: str
    """NFS version of the mount as the truth file gives it: "3", "4.0", "4.1", "4.2"."""
    snaplen: int
    """Bytes kept of each packet."""
    encryption: Encryption | None
    vantage: str
    """"client1", "client2", "server", "middle", "loopback": the interface that was listened on."""
    clients: tuple[str, ...]
    """Names of the clients that took part in the run, whether this capture saw them or not."""
    started_late: bool
    """The capture began while the workload was running."""
    cut_off: bool
    """The file ends in the middle of a packet record."""
    lossy: bool
    """Packets were dropped on the network."""
    reordered: bool
    """Packets were reordered on the network."""
    seen_twice: bool
    """Each packet was recorded on two interfaces."""
    merged: bool
    """Several captures in one file; no truth file of its own."""
    ports: tuple[int, ...]
    """TCP and UDP ports of the server programs."""
    traffic: str
    """Captures of the very same traffic share this key."""

    @property
    def full(self) -> bool:
        """Every packet was kept whole."""
        return self.snaplen >= _UNTRUNCATED_SNAPLEN

    def truth(self) -> dict[str, Any]:
        """The truth file's content.

        Raises `ValueError` when the capture has none.
        """
        if self.truth_file is None:
            raise ValueError(f"{self.name} has no truth file")
        return _load(self.truth_file)

    def truths(self) -> list[dict[str, Any]]:
        """The truth of every run that the capture holds; one unless it is merged."""
        if not self.merged:
            return [self.truth()]
        return [_load(self.files[0].parent / f"{part}.json") for part in _MERGED[self.name]]


@functools.lru_cache(maxsize=256)
def _load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def corpus_path() -> Path | None:
    """The corpus' folder: `PCAPNFS_CORPUS`, else `../shared/corpus` beside the repository; `None`
    where absent.
    """
    configured = os.environ.get("PCAPNFS_CORPUS")
    path = Path(configured) if configured else _REPOSITORY.parent / "shared" / "corpus"
    return path if (path / "lab").is_dir() else None


def corpus_is_required() -> bool:
    """Whether a missing corpus is a failure (`PCAPNFS_REQUIRE_CORPUS=1`, as continuous
    integration sets it).
    """
    return os.environ.get("PCAPNFS_REQUIRE_CORPUS") == "1"


def require_corpus() -> Path:
    """The corpus' folder; skips the calling test where there is none, or fails it where one is
    required.
    """
    path = corpus_path()
    if path is not None:
        return path
    message = (
        "no corpus of captures: set PCAPNFS_CORPUS to its folder, "
        "or place it at ../shared/corpus beside the repository"
    )
    if corpus_is_required():
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def lab_captures() -> list[Capture]:
    """Captures of the Linux client and server; empty where the corpus is absent."""
    return _captures("lab")


def other_captures() -> list[Capture]:
    """Captures of other implementations; empty where the corpus is absent."""
    return _captures("other")


def _captures(folder: str) -> list[Capture]:
    root = corpus_path()
    return [] if root is None else list(_captures_in(root / folder))


@functools.cache
def _captures_in(folder: Path) -> tuple[Capture, ...]:
    """The captures of a folder, for all the test modules that ask while they are imported."""
    if not folder.is_dir():
        return ()
    captures: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if ".pcap" in path.name:
            captures.setdefault(_capture_name(path.name), []).append(path)
    return tuple(_describe(name, tuple(files)) for name, files in sorted(captures.items()))


def _capture_name(file_name: str) -> str:
    """`x.pcap` → `x`; `x.pcap0`, `x.pcap1` (one rotation) → `x`; other formats keep their whole
    name.
    """
    stem, _, suffix = file_name.partition(".pcap")
    return stem if suffix == "" or suffix.isdigit() else file_name


def _truth_file(name: str, folder: Path) -> Path | None:
    """The truth file of a capture, or of the capture that it is another format of."""
    stem = name.partition(".pcap")[0]
    for suffix in ("", "-bigendian", "-cutoff"):
        candidate = folder / f"{stem.removesuffix(suffix)}.json"
        if candidate.is_file():
            return candidate
    return None


def _describe(name: str, files: tuple[Path, ...]) -> Capture:
    truth_file = _truth_file(name, files[0].parent)
    truth = _load(truth_file) if truth_file else {}
    network = truth.get("network", {})
    netem = network.get("netem", "") if isinstance(network, dict) else ""
    recording = truth.get("capture", {})
    vantage = str(recording.get("vantage", ""))
    clients = truth.get("clients", {})
    return Capture(
        name=name,
        files=files,
        truth_file=truth_file,
        version=str(truth.get("nfs_version", "")),
        snaplen=int(recording.get("snaplen", _UNTRUNCATED_SNAPLEN)),
        encryption=_encryption(name),
        vantage=_vantage(vantage),
        clients=tuple(sorted(clients)) if isinstance(clients, dict) else (),
        started_late="-midway-" in name,
        cut_off="-cutoff" in name,
        lossy="loss" in netem,
        reordered="reorder" in netem,
        seen_twice="-i any" in str(recording.get("tcpdump", "")) and _crosses_two_interfaces(name),
        merged=name in _MERGED,
        ports=_ports(truth),
        traffic=_traffic(truth) if truth else name,
    )


def _encryption(name: str) -> Encryption | None:
    if "krb5p" in name:
        return Encryption.KRB5P
    return Encryption.TLS if "-tls-" in name else None


def _vantage(sentence: str) -> str:
    for word in ("client1", "client2"):
        if f"interface of {word}" in sentence:
            return word
    if "server side" in sentence:
        return "server"
    return "middle" if "in the middle" in sentence else "loopback"


def _crosses_two_interfaces(name: str) -> bool:
    """With `-i any` a bridge, or a VLAN above its link, shows each packet twice; a plain client
    does not.
    """
    return "-wire-any" in name or "-vlan-" in name


def _ports(truth: dict[str, Any]) -> tuple[int, ...]:
    """Ports of the server programs: as recorded, else the usual ones and those that mounts name."""
    ports = {2049, 20049}
    ports.update(int(port) for port in truth.get("server_ports", ()) if int(port) != 111)
    mounts = truth.get("mount", {})
    commands = [str(mounts.get("command", ""))] if isinstance(mounts, dict) else []
    for command in commands:
        for option in command.replace(" ", ",").split(","):
            key, _, value = option.partition("=")
            if key in {"port", "mountport"} and value.isdigit():
                ports.add(int(value))
    if "pnfs-nfs4j" in str(truth.get("name", "")):
        ports.add(2052)
    return tuple(sorted(ports))


def _traffic(truth: dict[str, Any]) -> str:
    """Names the run: all its captures carry the same server counters and the same steps."""
    names = {str(truth.get("capture", {}).get("file", ""))}
    names.update(str(name) for name in truth.get("same_traffic_also_in", ()))
    return min(names)
