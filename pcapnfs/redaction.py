"""A capture without names and data, to be given away: its analysis is the same but for names.

Takes a capture file and a key; gives a capture file. What stays in it and what does not is said in
docs/redaction.md. Promises that the capture is written whole or not at all.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pcapnfs import placement
from pcapnfs.errors import CaptureError, PcapnfsError, UsageError

KEY_BYTES = 32
"""Length of a key."""

PACKINGS = {".gz": "gzip", ".zst": "zstd"}
"""How a redacted capture is compressed, by the end of its name."""

UNWRITTEN = (".lz4", ".xz", ".bz2")
"""Endings of compressions that are read and not written."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """What was written, and what was left out."""

    packets: int
    """Packets, each at its place."""
    messages: int
    """RPC messages of which numbers and pseudonyms stay."""
    replaced: Mapping[str, int]
    """Values replaced by pseudonyms, by what they were: names, paths, handles, owners, users,
    hosts, addresses, tokens. Addresses of packets count once each, all else as often as it is told.
    """
    removed_bytes: int
    """Bytes that are zero now: data of files, other protocols, all that is not known."""
    damage: str | None
    """Where and why the original breaks off; None when it was read to its end."""


def redact(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    key: bytes | None = None,
    strict: bool = False,
    overwrite: bool = False,
    ports: Sequence[int] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Redaction:
    """Write a capture anew without names and data.

    Args:
        source: The capture, in any form that is read; it is read twice, so it must be a file.
        target: The redacted capture: of the same format, compressed as its name says.
        key: 32 bytes; equal keys give equal pseudonyms. None: one that nobody knows afterwards.
        strict: Also replace endings of names, and the dots before them.
        overwrite: Replace what is at `target`.
        ports: TCP and UDP ports taken for RPC without proof.
        progress: Called now and then with bytes done and bytes in all; the file counts twice.

    Raises:
        CaptureError: The source cannot be opened, or is no capture. A capture that breaks off is no
            error: see `Redaction.damage`.
        UsageError: The target is there, is the source, or has a name that cannot be served; the
            source is no file; the key has another length.
        PcapnfsError: The target cannot be written.
    """
    original, redacted = Path(source), Path(target)
    _check(original, redacted, overwrite=overwrite)
    if key is None:
        key = secrets.token_bytes(KEY_BYTES)
    if len(key) != KEY_BYTES:
        raise UsageError(f"a key has {KEY_BYTES} bytes")
    from pcapnfs import _core

    try:
        size = original.stat().st_size if original.exists() else 0
        with (
            placement.placed_file(redacted) as new,
            tempfile.NamedTemporaryFile(dir=redacted.parent) as journal,
        ):
            told = _core.redact(
                os.fspath(original),
                str(new),
                journal.name,
                key,
                strict,
                PACKINGS.get(redacted.suffix, "none"),
                list(ports),
                progress and (lambda done: progress(int(2 * size * done), 2 * size)),
            )
    except _core.ReadError as error:
        raise CaptureError(str(error)) from error
    except OSError as error:
        raise PcapnfsError(f"{redacted}: {error.strerror or error}") from error
    return _parse(told)


def read_key(path: Path) -> bytes:
    """The key in a file, which is made with a new one where there is none.

    Raises:
        UsageError: The file holds something else, or can neither be read nor made.
    """
    try:
        text = path.read_text(encoding="ascii")
    except FileNotFoundError:
        return _new_key(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no key can be read from it") from error
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise UsageError(f"{path}: not a key; a file that does not exist is made with a new one")
    return key


def _new_key(path: Path) -> bytes:
    key = secrets.token_bytes(KEY_BYTES)
    try:
        # Nobody else may read it, not even for a moment.
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w", encoding="ascii") as opened:
            opened.write(key.hex() + "\n")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    return key


def _check(source: Path, target: Path, *, overwrite: bool) -> None:
    if str(source) == "-" or (source.exists() and not (source.is_file() or source.is_dir())):
        raise UsageError(f"{source}: the capture is read twice, so it must be a file")
    if target.suffix in UNWRITTEN:
        kinds = " and ".join(PACKINGS)
        raise UsageError(f"{target}: {target.suffix} is not written; {kinds} are")
    if target.is_dir():
        raise UsageError(f"{target} is a directory")
    if target.exists():
        if source.exists() and target.samefile(source):
            raise UsageError(f"{target} is the capture itself")
        if not overwrite:
            raise UsageError(f"{target} is there already; --force overwrites it")


def _parse(text: str) -> Redaction:
    told = json.loads(text)
    return Redaction(
        packets=told["packets"],
        messages=told["messages"],
        replaced=told["replaced"],
        removed_bytes=told["removed_bytes"],
        damage=told["file"]["damage"],
    )
