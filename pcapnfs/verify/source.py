"""How a capture, or several, becomes the one file that tshark can read.

Takes paths as the user named them; gives a path. Promises that frames are numbered as pcapnfs
numbers them: `mergecap` puts several files into one in order of time. tshark reads gzip, zstd and
lz4 by itself, but neither bzip2 nor xz, which are unpacked into a temporary file first. It gets the
packets that were found where it would find others: pcapnfs goes on behind damage, and of a
compressed file that is damaged every program unpacks as much as it likes.
"""

from __future__ import annotations

import bz2
import lzma
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pcapnfs import rewriting, temporary, usage
from pcapnfs.errors import CaptureError, said
from pcapnfs.meta import CaptureFile
from pcapnfs.verify.tool import find, last_line


@contextmanager
def one_file(paths: Sequence[str], files: Sequence[CaptureFile]) -> Iterator[Path]:
    """A file with all packets in order of time; temporary ones go away at the end.

    Args:
        paths: The captures.
        files: What the decoder said of them.

    Raises:
        CaptureError: A file cannot be unpacked or merged.
        UsageError: Standard input or a pipe is among them, which cannot be read a second time.
    """
    usage.demand_files(paths)
    with temporary.scratch() as scratch:
        if any(map(_read_otherwise, files)):
            whole = scratch / "whole.pcapng"
            rewriting.copy([Path(path) for path in paths], whole)
            yield whole
            return
        plain = [_unpacked(Path(path), scratch, place) for place, path in enumerate(paths)]
        if len(plain) == 1:
            yield plain[0]
            return
        merged = scratch / "merged.pcapng"
        command = [find("mergecap"), "-w", str(merged), *map(str, plain)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 0 and not merged.is_file():
            raise CaptureError(f"mergecap could not merge the files: {last_line(done.stderr)}")
        yield merged


def _read_otherwise(file: CaptureFile) -> bool:
    """Whether other programs find other packets in a capture."""
    if file.compressed and file.damage is not None:
        return True
    return bool(file.passed_bytes or file.followers or file.trailing_bytes)


def _unpacked(path: Path, scratch: Path, place: int) -> Path:
    """The file itself, or what it unpacks to where tshark does not do that."""
    try:
        with path.open("rb") as stream:
            opener = _opener(stream.read(6))
        if opener is None:
            return path
        target = scratch / f"{place}.pcap"
        with opener(path) as packed, target.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    except OSError as error:
        raise CaptureError(f"{path}: {said(error)}") from error
    except (EOFError, lzma.LZMAError) as error:
        raise CaptureError(f"{path}: it cannot be unpacked: {error}") from error
    return target


def _opener(begin: bytes) -> Callable[[Path], IO[bytes]] | None:
    """How a file that begins so is unpacked; None for what tshark reads itself."""
    if begin.startswith(b"BZh"):
        return bz2.open
    return lzma.open if begin.startswith(b"\xfd7zXZ\0") else None
