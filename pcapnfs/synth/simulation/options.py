"""What a simulation is asked for, checked once."""

from __future__ import annotations

from pcapnfs import units
from pcapnfs.errors import UsageError
from pcapnfs.record import Record

VERSIONS = ("3", "4.0", "4.1", "4.2")
"""Protocol versions that a client can speak."""

WORKLOADS = ("tar", "walk", "cachedread", "npm", "noac", "lifecycle")
"""What can be simulated (``workloads.py``)."""

VANTAGES = ("client", "between", "server")
"""Where the capture is taken."""

LISTINGS = ("readdirplus", "readdir", "lookup")
"""How ``walk`` gets names and attributes."""

FILES_LIMIT = 1_000_000
"""Files of a workload: all of them are kept in memory."""

SIZE_LIMIT = 1 << 30
"""Bytes of a file; every byte written becomes part of the capture."""

DATA_LIMIT = 1 << 31
"""Bytes of all files together: the capture is made in memory."""

THREADS_LIMIT = 64
"""Threads: each has a slot of the session, of which the server grants as many."""


class Options(Record):
    """A workload, a network, a server and a place to look on; times in nanoseconds."""

    workload: str = "tar"
    """One of `WORKLOADS`."""
    version: str = "3"
    """One of `VERSIONS`."""
    files: int = 100
    """Regular files."""
    size: int = 1024
    """Bytes of each."""
    sizes: tuple[int, ...] = ()
    """Sizes that the files take in turn; none: all have `size`."""
    directories: int = 5
    """Directories that they are spread over."""
    rtt_ns: int = 200_000
    """Round trip of an empty packet."""
    persist_ns: int = 1_000_000
    """What a stable operation takes longer than another one."""
    service_ns: int = 30_000
    """What the server takes for any call."""
    think_ns: int = 20_000
    """What the client takes between a reply and its next call."""
    pause_ns: int = 1_000_000_000
    """Between the rounds of ``walk``, ``cachedread`` and ``noac``."""
    rounds: int = 3
    """Rounds of ``walk``, ``cachedread`` and ``noac``."""
    touched: int = 0
    """Round of ``cachedread`` before which somebody touches all files on the server; 0: none."""
    rsize: int = 1 << 20
    """Largest READ in bytes."""
    wsize: int = 1 << 20
    """Largest WRITE in bytes."""
    sync: bool = False
    """The mount option: what a program writes goes to the server at once, FILE_SYNC."""
    chunk: int = 4096
    """Bytes that a program writes at a time; only `sync` shows it to the server."""
    acregmin_ns: int = 3_000_000_000
    """How long a file's attributes are good at first."""
    acregmax_ns: int = 60_000_000_000
    """How long at most."""
    acdirmin_ns: int = 30_000_000_000
    """The same of directories."""
    acdirmax_ns: int = 60_000_000_000
    """How long at most."""
    listing: str = "readdirplus"
    """One of `LISTINGS`."""
    threads: int = 1
    """Threads of the client that work in parallel, each on its share of the files."""
    connections: int = 1
    """TCP connections that they share (nconnect)."""
    vantage: str = "client"
    """One of `VANTAGES`."""
    loss: float = 0.0
    """Probability with which a segment is lost, 0…0.5."""
    jitter_ns: int = 0
    """Largest delay added to a message on its way, each way."""
    bandwidth: int = 1_000_000_000
    """Bits per second of the link."""
    seed: int = 1
    """Of everything random."""
    start_ns: int = 1_700_000_000_000_000_000
    """When the capture begins, since 1970."""

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated.

        Raises:
            UsageError: A value is none of those allowed, or out of its range.
        """
        for name, allowed in (
            ("workload", WORKLOADS),
            ("version", VERSIONS),
            ("vantage", VANTAGES),
            ("listing", LISTINGS),
        ):
            if getattr(self, name) not in allowed:
                raise UsageError(
                    f"{getattr(self, name)} is no {name}; there are {', '.join(allowed)}"
                )
        for name, least, most in (
            ("files", 1, FILES_LIMIT),
            ("size", 0, SIZE_LIMIT),
            ("directories", 1, FILES_LIMIT),
            ("rounds", 1, 10_000),
            ("rsize", 512, 1 << 20),
            ("wsize", 512, 1 << 20),
            ("chunk", 1, 1 << 20),
            ("touched", 0, 10_000),
            ("threads", 1, THREADS_LIMIT),
            ("connections", 1, 16),
            ("loss", 0.0, 0.5),
            ("bandwidth", 1_000_000, 400_000_000_000),
            ("seed", 0, (1 << 63) - 1),
            ("rtt_ns", 0, _MINUTE),
            ("persist_ns", 0, _MINUTE),
            ("service_ns", 1_000, _MINUTE),
            ("think_ns", 0, _MINUTE),
            ("pause_ns", 0, 60 * _MINUTE),
            ("jitter_ns", 0, _MINUTE),
            ("acregmin_ns", 0, 60 * _MINUTE),
            ("acregmax_ns", 0, 60 * _MINUTE),
            ("acdirmin_ns", 0, 60 * _MINUTE),
            ("acdirmax_ns", 0, 60 * _MINUTE),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                said = [str(each) for each in (value, least, most)]
                if name.endswith("_ns"):
                    said = [
                        units.duration(each / units.NANOSECONDS) for each in (value, least, most)
                    ]
                plain = name.removesuffix("_ns")
                goes = f" is {said[0]}: it goes from {said[1]} to {said[2]}"
                option = "nconnect" if name == "connections" else plain
                raise UsageError(plain + goes, shell=f"--{option}{goes}")

        if self.touched > self.rounds:
            raise UsageError(
                f"touched is {self.touched}: there are {units.counted(self.rounds, 'round')}"
            )
        for size in self.sizes:
            if not 0 <= size <= SIZE_LIMIT:
                raise UsageError(f"a size is {size}: it goes from 0 to {SIZE_LIMIT}")
        if len(self.sizes) > FILES_LIMIT:
            raise UsageError(f"there are {len(self.sizes)} sizes for {FILES_LIMIT} files at most")
        if self.files * max(self.size, *self.sizes, 0) > DATA_LIMIT:
            raise UsageError(
                f"{self.files} files of up to {max(self.size, *self.sizes, 0)} bytes are more than "
                f"the {DATA_LIMIT} bytes that a capture is made of at most"
            )

    def size_of(self, number: int) -> int:
        """Bytes of the file with this number."""
        return self.sizes[number % len(self.sizes)] if self.sizes else self.size

    @property
    def minor(self) -> int | None:
        """Minor version of NFSv4; None for NFSv3."""
        return None if self.version == "3" else int(self.version.partition(".")[2])


_MINUTE = 60_000_000_000
