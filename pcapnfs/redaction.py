"""A capture without names and data, to be given away: its analysis is the same but for names.

Takes capture files and a key; gives a capture file. What stays in it and what does not is said in
docs/redaction.md. Promises that the capture is written whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pcapnfs import memory as limits
from pcapnfs import meta, placement, rewriting, small_files, store, usage
from pcapnfs.errors import CaptureError, PcapnfsError, UsageError, WriteError, not_written, said
from pcapnfs.record import Record
from pcapnfs.usage import PathLike

KEY_BYTES = 32
"""Length of a key."""

KEY_FILE_LIMIT = 1024
"""A file with a key has 65 bytes; this leaves room for blanks between its digits. Beyond it, what
is read, such as a device without an end, is no key."""


class Redaction(Record):
    """What was written, and what was left out."""

    packets: int
    """Packets, each at its place."""
    messages: int
    """RPC messages of which numbers and pseudonyms stay."""
    replaced: Mapping[str, int]
    """Values replaced by pseudonyms, by what they were: names, paths, handles, owners, users,
    hosts, addresses, tokens, verifiers, times. Addresses of packets, hosts, users (with groups) and
    owners count once each, all else as often as it is told; what is nobody's, such as root, stays
    and is not counted.
    """
    removed_bytes: int
    """Bytes that are zero now: data of files, other protocols, all that is not known."""
    damage: str | None
    """Where and why the original breaks off or contradicts itself, and what was read, and written,
    all the same; None when it does not. Of several files, what is said of each."""


def redact(
    source: PathLike | Sequence[PathLike],
    target: PathLike,
    *,
    key: bytes | Path | None = None,
    strict: bool = False,
    overwrite: bool = False,
    ports: Sequence[int] = (),
    memory: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Redaction:
    """Write a capture anew without names and data.

    Args:
        source: The capture, in any form that is read; it is read twice, so it must be a file.
            Several that are one stream become one, in order of time.
        target: The redacted capture: of the same format, compressed as its name says.
        key: 32 bytes; equal keys give equal pseudonyms. Or the file that holds them, as
            `read_key` takes it, once it is known that the captures can be opened and the target can
            be written. None: one that nobody knows afterwards.
        strict: Also replace endings of names, and the dots before them.
        overwrite: Replace what is at `target`.
        ports: TCP and UDP ports taken for RPC without proof.
        memory: Limit for the whole process, in bytes; None: half of what is free. Beyond it, what
            is known of the files used longest ago is forgotten, of which nothing is written anyhow.
        progress: Called now and then with bytes done and bytes in all; files count twice.

    Raises:
        CaptureError: The source cannot be opened, or is no capture. A capture that breaks off is no
            error: see `Redaction.damage`.
        UsageError: The target is there, is the source, or has a name that cannot be served; the
            source is no file, or a trace; the key has another length, or is in the file that is
            read or written; a port is none.
        PcapnfsError: The target cannot be written.
    """
    redaction, _ = redact_knowing(
        source,
        target,
        key=key,
        strict=strict,
        overwrite=overwrite,
        ports=ports,
        memory=memory,
        progress=progress,
    )
    return redaction


def redact_knowing(
    source: PathLike | Sequence[PathLike],
    target: PathLike,
    *,
    key: bytes | Path | None = None,
    strict: bool = False,
    overwrite: bool = False,
    ports: Sequence[int] = (),
    memory: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Redaction, tuple[meta.CaptureFile, ...]]:
    """Do as `redact`; give also what is known of the original files, in the order of time."""
    originals, redacted = rewriting.named(source), Path(target)
    usage.demand_ports(ports)
    _demand_no_trace(originals)
    rewriting.check(originals, redacted, overwrite=overwrite)
    if isinstance(key, Path):
        demand_apart(key, [*originals, redacted])
    elif key is not None and len(key) != KEY_BYTES:
        raise UsageError(f"a key has {KEY_BYTES} bytes")
    from pcapnfs import _core

    with rewriting.writing(redacted) as new, placement.beside(redacted) as directory:
        journal = directory / "journal"
        journal.touch()
        told = _core.redact(
            [os.fspath(original) for original in originals],
            str(new),
            str(journal),
            _known(key, originals),
            strict,
            rewriting.packing(redacted),
            list(ports),
            rewriting.reporter(progress, originals, readings=2),
            limits.of_files(limits.chosen(memory)),
        )
    return _parse(told)


def demand_apart(key: Path, files: Sequence[Path]) -> None:
    """Refuse a key in a file that is read, or written: it would be given away, or be lost.

    Args:
        key: Where it is, or is to be made.
        files: The captures and what is made of them, which may be there or not.

    Raises:
        UsageError: One of them is that file, by whatever name.
    """
    for file in files:
        if rewriting.same_file(key, file):
            raise UsageError(f"{file} is the file of the key, too; name another one for the key")


def _demand_no_trace(captures: Sequence[Path]) -> None:
    for capture in captures:
        if store.is_trace(str(capture)):
            raise UsageError(f"{capture} is a trace; name its captures, which are to be redacted")


def _demand_captures(captures: Sequence[Path]) -> None:
    """Open captures, as whoever redacts them does, and read nothing of them but how they begin."""
    from pcapnfs import _core

    _demand_no_trace(captures)
    usage.demand_files(captures)
    try:
        _core.Decoder([os.fspath(capture) for capture in captures])
    except _core.ReadError as error:
        raise CaptureError(str(error)) from error


def new_key() -> bytes:
    """A key that nobody has had before."""
    return os.urandom(KEY_BYTES)


def _known(key: bytes | Path | None, captures: Sequence[Path]) -> bytes:
    """The key itself."""
    if key is None:
        return new_key()
    return read_key(key, captures) if isinstance(key, Path) else key


def read_key(path: Path, captures: Sequence[Path]) -> bytes:
    """The key in a file, which is made with a new one where there is none.

    Args:
        path: The file.
        captures: What is to be redacted with it; none is made for what cannot be opened, or is no
            capture.

    Raises:
        CaptureError: The file is not there, and a capture cannot be opened, or is none.
        UsageError: The file holds something else, or is not there and would lie in a trace, or is
            not there and a trace is to be redacted, or what cannot be read twice.
        PcapnfsError: It can neither be read nor made.
    """
    try:
        text = small_files.read(path, KEY_FILE_LIMIT).decode("ascii")
    except FileNotFoundError:
        _demand_captures(captures)
        return _new_key(path)
    except OSError as error:
        raise PcapnfsError(f"{path}: no key can be read from it: {said(error)}") from error
    except small_files.UnfitError as error:
        raise UsageError(f"{path}: not a key; it {error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: no key can be read from it") from error
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise UsageError(f"{path}: not a key; a file that does not exist is made with a new one")
    return key


def _new_key(path: Path) -> bytes:
    usage.demand_outside(path)
    key = new_key()
    try:
        # Nobody else may read it, not even for a moment.
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(file, "w", encoding="ascii") as opened:
                opened.write(key.hex() + "\n")
        except BaseException:
            path.unlink()  # Without its key it would be in the way of the next attempt.
            raise
    except OSError as error:
        raise WriteError(not_written(path, error)) from error
    return key


def _parse(text: str) -> tuple[Redaction, tuple[meta.CaptureFile, ...]]:
    told = json.loads(text)
    files = tuple(meta.file(file) for file in told["files"])
    damage = [(file.path, file.damage) for file in files if file.damage is not None]
    redaction = Redaction(
        packets=told["packets"],
        messages=told["messages"],
        replaced=told["replaced"],
        removed_bytes=told["removed_bytes"],
        damage="; ".join(what if len(files) == 1 else f"{path}: {what}" for path, what in damage)
        or None,
    )
    return redaction, files
