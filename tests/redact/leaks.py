"""What a redacted capture must not hold: its original's secrets, and where they are looked for.

Names come from the trees that the lab wrote down and from tshark: neither is known from the decoder
that redacts. A short name is looked for as XDR writes it, with its length before it, since three
letters turn up in any file by chance; a long one anywhere.
"""

from __future__ import annotations

import functools
import ipaddress
import json
import re
import struct
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

SHORTEST_NAME = 3
"""Bytes of a name that says anything."""

LONG_NAME = 8
"""Bytes that do not turn up by chance."""

START = 8
"""Bytes at the beginning of what is looked for by which it is found."""

CHUNK = 16
"""Bytes of file data that are looked for together."""

PORTS = (2049, 20049)
"""What tshark is told to be RPC where nothing else is known of a capture."""

_FIELDS = {
    "text": (
        "nfs.name",
        "nfs.full_name",
        "nfs.symlink.to",
        "nfs.symlink_data",
        "nfs.entry_name",
        "nfs.fattr4_owner",
        "nfs.fattr4_owner_group",
        "nfs.xattr_name",
        "rpc.auth.machinename",
        "mount.path",
        "mount.dump.hostname",
        "mount.dump.directory",
        "mount.export.directory",
        "nlm.lock.caller_name",
        "stat.mon_id.name",
    ),
    "data": ("nfs.data",),
    "hardware": ("eth.addr", "sll.src.eth"),
    "address": ("ip.addr", "ipv6.addr"),
}
"""Fields of tshark that name somebody or something."""

_EVERYBODY = re.compile(
    rb"\.{1,2}|0|65534|4294967294|nobody|(OWNER|GROUP|EVERYONE)@|127\.0\.0\.1|::1?|0\.0\.0\.0"
)
"""What is nobody's in particular and stays."""

_NOBODY = re.compile(
    r"127\..*|::1?|0\.0\.0\.0|255\.255\.255\.255|ff:ff:ff:ff:ff:ff|00:00:00:00:00:00"
)
"""Addresses that are nobody's."""


@functools.cache
def known_fields() -> frozenset[str]:
    """The fields that this tshark has; other versions have other names for some."""
    listed = subprocess.run(["tshark", "-G", "fields"], capture_output=True, text=True, check=True)
    fields = (line.split("\t") for line in listed.stdout.splitlines())
    return frozenset(field[2] for field in fields if field[0] == "F")


def _known(path: Path, ports: Iterable[int]) -> Mapping[str, set[str]]:
    """All values of the fields above, by kind; at once where it was just asked about the file."""
    return _known_of(path, path.stat().st_mtime_ns, tuple(ports))


@functools.lru_cache(maxsize=4)
def _known_of(path: Path, _modified_ns: int, ports: tuple[int, ...]) -> Mapping[str, set[str]]:
    known = known_fields()
    kinds = {kind: known.intersection(fields) for kind, fields in _FIELDS.items()}
    return told_by_kind(path, kinds, ports)


def told_by_kind(
    path: Path, kinds: Mapping[str, Iterable[str]], ports: Iterable[int]
) -> dict[str, set[str]]:
    """All values of the fields of each kind, from one run: most of its time goes into starting."""
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "aggregator=/s"]
    for port in ports:
        command += ["-d", f"tcp.port=={port},rpc"]
    columns = [(kind, field) for kind, fields in kinds.items() for field in sorted(fields)]
    for _, field in columns:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    found: dict[str, set[str]] = {kind: set() for kind in kinds}
    for line in done.stdout.split("\n"):
        values = line.split("\t")
        # A line break or tab in a name would move what follows to other columns: then all of the
        # line may be of any kind.
        whole = len(values) == len(columns)
        for at, value in enumerate(values):
            for kind in {columns[at][0]} if whole else kinds:
                found[kind].update(part for part in value.split(" ") if part)
    return found


def names_of_trees(truth: Path | None) -> Iterator[bytes]:
    """The names of the files that the lab worked on."""
    if truth is None:
        return
    told = json.loads(truth.read_text(encoding="utf-8"))
    for tree in (told.get("tree_before"), told.get("tree_after")):
        for path, *_ in tree if isinstance(tree, list) else ():
            for component in str(path).split("/"):
                yield component.encode("utf-8", "surrogateescape")


def secrets(
    files: Iterable[Path], truth: Path | None = None, ports: Iterable[int] = PORTS
) -> Iterator[tuple[str, bytes]]:
    """What must not be found of these captures, and bytes that would show it."""
    for name in set(names_of_trees(truth)):
        yield from as_told(name)
    for path in files:
        told = _known(path, ports)
        for text in told["text"]:
            for part in {text, *re.split(r"[/@.,]", text)}:
                yield from as_told(part.encode("utf-8", "surrogateescape"))
        for value in told["data"]:
            yield from of_data(value)
        for value in told["address"]:
            yield from of_address(value)


def as_told(name: bytes) -> Iterator[tuple[str, bytes]]:
    """A name as a string of XDR, and if it is long anywhere."""
    if len(name) < SHORTEST_NAME or _EVERYBODY.fullmatch(name):
        return
    padded = name + bytes(-len(name) % 4)
    yield f"name {name!r}", struct.pack(">I", len(name)) + padded
    if len(name) >= LONG_NAME:
        yield f"name {name!r}", name


def of_data(value: str) -> Iterator[tuple[str, bytes]]:
    """File data, in chunks that are not all alike."""
    data = bytes.fromhex(value) if re.fullmatch("([0-9a-f]{2})+", value) else b""
    for at in range(0, len(data) - CHUNK, 7 * CHUNK):
        chunk = data[at : at + CHUNK]
        if len(set(chunk)) > CHUNK // 2:
            yield f"data {chunk.hex()}", chunk


def of_address(value: str) -> Iterator[tuple[str, bytes]]:
    """An address as text, and as an IPv6 packet holds it; four bytes turn up by chance."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return
    if address.is_loopback or address.is_unspecified or str(address) == "255.255.255.255":
        return
    yield f"address {value}", value.encode() + b"."
    yield f"address {value}", struct.pack(">I", len(value)) + value.encode()
    if address.version == 6:
        yield f"address {value}", address.packed


def found(
    wanted: Iterable[tuple[str, bytes]], within: bytes, original: bytes | None = None
) -> list[str]:
    """Which secrets a file holds. Each sign has at least `START` bytes by which it is found.

    Pseudonyms of short names are dealt out by a shuffle, so that one of many may be what another
    file is really called: `m6.js` became `m1.js`, and `m1.js` something else. With the original,
    whose packets are at the same places, a short name counts only where it stood there before, or
    where no other name of its length did.
    """
    by_start: dict[bytes, list[tuple[str, bytes]]] = {}
    for what, sign in wanted:
        if len(sign) < START:
            raise ValueError(f"too short to be told from chance: {sign!r}")
        by_start.setdefault(sign[:START], []).append((what, sign))
    starts = by_start.keys()
    hits = [at for at in range(len(within)) if within[at : at + START] in starts]
    same_places = original is not None and len(original) == len(within)
    return sorted(
        {
            what
            for at in hits
            for what, sign in by_start[within[at : at + START]]
            if within.startswith(sign, at)
            and not (same_places and original and _another(sign, original[at : at + len(sign)]))
        }
    )


def _another(sign: bytes, before: bytes) -> bool:
    """Whether, where a short name is now, another one of its length stood before."""
    short = len(sign) <= 4 + LONG_NAME and struct.unpack(">I", sign[:4])[0] < LONG_NAME
    return short and before[:4] == sign[:4] and before != sign


def texts(path: Path, ports: Iterable[int] = PORTS) -> set[str]:
    """All names and other texts of the packets."""
    return _known(path, ports)["text"]


def addresses(path: Path, ports: Iterable[int] = PORTS) -> set[str]:
    """The addresses of all packets, but for those that are nobody's."""
    told = _known(path, ports)
    values = {value for text in told["hardware"] | told["address"] for value in text.split(",")}
    return {value for value in values if not _NOBODY.fullmatch(value)}
