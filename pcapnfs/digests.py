"""Whether a file is still the capture that a trace was made of.

Takes a path; gives its size and a digest. Promises to read no more than 16 MiB: of a larger file,
16 pieces of 1 MiB are taken, the first at its beginning, the last at its end, the others evenly
between. This distinguishes captures from one another, and from one that has grown; it is no
protection against deliberate forgery.
"""

from __future__ import annotations

from pathlib import Path

from pcapnfs.record import Record

PIECE_BYTES = 1 << 20
"""What is read at a time."""

PIECES = 16
"""How many pieces are read of a file that is larger than all of them."""


class Digest(Record):
    """What a file is recognised by."""

    bytes: int
    """Its size."""
    sha256: str
    """SHA-256 of the size in decimal, a line end, and what was read of the file; hexadecimal."""
    sampled: bool
    """Only pieces were read."""


def of(path: str) -> Digest | None:
    """The digest of a file; None for standard input, pipes and other things without a size.

    Raises:
        OSError: The file cannot be read.
    """
    file = Path(path)
    if not file.is_file():
        return None
    import hashlib  # OpenSSL takes 7 ms to load, and few commands recognise captures.

    size = file.stat().st_size
    whole = size <= PIECES * PIECE_BYTES
    hashed = hashlib.sha256(f"{size}\n".encode())
    with file.open("rb") as stream:
        for place in range(PIECES):
            if not whole:
                stream.seek(place * (size - PIECE_BYTES) // (PIECES - 1))
            hashed.update(stream.read(PIECE_BYTES))
    return Digest(size, hashed.hexdigest(), not whole)
