"""The typed face of the decoder, which is written in Rust.

What is taken and given by walks, and by what goes over intervals, stands in `pcapnfs/walks.py`, the
only module that calls them. Times are integer nanoseconds.
"""

from collections.abc import Callable
from typing import Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Answered",
    "Batch",
    "Decoder",
    "FollowUps",
    "OneByOne",
    "Patterns",
    "ReadError",
    "RowsError",
    "SharedFiles",
    "Steps",
    "Transfers",
    "Writer",
    "annotate",
    "attributes",
    "equal_shares",
    "held",
    "in_order",
    "is_capture",
    "joined",
    "learned",
    "levels",
    "open_at_begin",
    "operations",
    "pauses",
    "reasons",
    "redact",
    "rounded_shares",
    "schema",
    "under_way",
    "version",
]

class ReadError(Exception):
    """A file is not a capture, or cannot be opened. The text is one sentence, the path first."""

class RowsError(Exception):
    """A walk could not take its rows: the query failed that gives them, or a column is wrong."""

@final
class Batch:
    """Rows of one table, or of a walk, handed over as an Arrow stream."""

    @property
    def table(self) -> str:
        """The table's name (docs/tables.md), or the walk's."""

    @property
    def rows(self) -> int: ...
    @property
    def text_bytes(self) -> int:
        """Bytes of the texts that are written out, as those of paths are."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Decoder:
    """Reads captures from first to last packet.

    `columns` names those that are decoded, by table; None: all. `files_bytes` is what may be taken
    by what is known of files, in bytes; beyond it those that were of use longest ago are forgotten.
    ReadError where a file cannot be opened or is no capture; `finish` tells of one that breaks off.
    """

    def __new__(
        cls,
        paths: list[str],
        ports: list[int] = ...,
        columns: dict[str, set[str]] | None = None,
        files_bytes: int | None = None,
    ) -> Self: ...
    def next(self) -> list[Batch] | None:
        """Rows of the packets that follow, none where these gave none; None at the end."""

    def progress(self) -> tuple[int, int]:
        """Bytes read so far, and in all (0: unknown)."""

    def captures(self) -> list[str]:
        """The files as they were named, in the order in which `finish` tells of them, which has
        replacement characters for bytes of their names that are no UTF-8."""

    def finish(self) -> str:
        """What was read and what was not, as JSON (`pcapnfs/meta.py`); complete once `next` gave
        None."""

@final
class Writer:
    """Writes batches into `TABLE.parquet`, a file for each table; OSError when that fails.

    `brief` leaves out compression, and does not wait for the disk: for files that are soon gone.
    """

    def __new__(
        cls, directory: str, columns: dict[str, set[str]] | None = None, brief: bool = False
    ) -> Self: ...
    def write(self, batches: list[Batch]) -> None: ...
    def finish(self) -> str: ...

class _Rows(Protocol):
    """Whatever gives rows as Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def held(rows: _Rows, visit: int) -> Batch:
    """A walk over transfers and what clients learnt (`core/src/walk/held.rs`); `visit` in ns."""

def learned(rows: _Rows, all: bool) -> tuple[Batch, Batch]:
    """A walk over what clients were told (`core/src/walk/learned.rs`)."""

@final
class Answered:
    """Calls, and what their replies told clients (`core/src/walk/told.rs`)."""

    def __new__(cls, calls: _Rows) -> Self: ...
    def told(self, said: _Rows) -> Batch: ...
    def learned(self, said: _Rows, all: bool) -> tuple[Batch, Batch]: ...

@final
class FollowUps:
    """A walk over listed entries and calls about them (`core/src/walk/follow_ups.rs`)."""

    def __new__(cls, longest: int) -> Self: ...
    def walk(self, rows: _Rows) -> None: ...
    def followed(self) -> Batch: ...
    def walls(self) -> list[int]: ...

@final
class OneByOne:
    """A walk over calls about listed entries (`core/src/walk/one_by_one.rs`); `longest` in ns."""

    def __new__(cls, longest: int) -> Self: ...
    def walk(self, rows: _Rows) -> Batch: ...

@final
class Patterns:
    """A walk over the calls of files (`core/src/walk/patterns.rs`)."""

    def __new__(cls, longest: int) -> Self: ...
    def walk(self, rows: _Rows) -> None: ...
    def examples(self) -> list[int]: ...
    def finish(self, top: int | None) -> tuple[int, int]: ...
    def shown(self, begin: int, end: int) -> str: ...

@final
class SharedFiles:
    """A walk over uses of files (`core/src/walk/turns.rs`)."""

    def __new__(cls, kept: int) -> Self: ...
    def walk(self, rows: _Rows) -> None: ...
    def known(self) -> Batch: ...
    def found(self) -> str: ...

@final
class Transfers:
    """A walk over transfers of files (`core/src/walk/transfers/`); spans in ns, pages in bytes."""

    def __new__(cls, together: int, soon: int, page: int) -> Self: ...
    def walk(self, rows: _Rows) -> None: ...
    def runs(self) -> Batch: ...
    def commits(self) -> Batch: ...
    def shapes(self) -> str: ...

@final
class Steps:
    """A walk over clients' steps (`core/src/walk/steps.rs`). Times are nanoseconds."""

    def __new__(
        cls, together: int, neighbours: int, at_once: int, pause: tuple[int, int], examples: int
    ) -> Self: ...
    def take(self, rows: _Rows) -> None: ...
    def walk(self, entries: _Rows) -> None: ...
    def found(self) -> list[tuple[int, str]]: ...

def redact(
    paths: list[str],
    to: str,
    scratch: str,
    key: bytes,
    strict: bool = False,
    packing: str = "none",
    ports: list[int] = ...,
    progress: Callable[[float], None] | None = None,
    files_bytes: int | None = None,
) -> str:
    """Write captures without names and data into `to`, a file; what was replaced, as JSON.

    `scratch` is another file, for what is to be known before. Both are there already. `packing` is
    none, gzip or zstd. `progress` is called with the part that is done, 0 to 1. ReadError as of
    `Decoder`; OSError where writing fails.
    """

def annotate(
    paths: list[str],
    to: str,
    comments: dict[int, list[str]],
    packing: str = "none",
    progress: Callable[[float], None] | None = None,
) -> str:
    """Write captures with comments, by number of the frame, as `redact` does; how many, as JSON."""

def equal_shares(
    intervals: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]],
    parts: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]],
    given: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]],
) -> None: ...
def rounded_shares(
    shares: NDArray[np.float64],
    group: NDArray[np.int32],
    totals: NDArray[np.int64],
    rounded: NDArray[np.int64],
) -> None: ...
def pauses(
    intervals: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]],
    groups: int,
    limit: int,
    found: NDArray[np.int32],
) -> None: ...
def in_order(
    intervals: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]],
    order: NDArray[np.int32],
    gaps: NDArray[np.int64],
) -> None: ...
def open_at_begin(
    intervals: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]],
    groups: int,
    found: NDArray[np.int32],
) -> None: ...
def under_way(
    rows: _Rows, groups: dict[int, int], longest: int
) -> list[tuple[int | None, tuple[int, int, int, int]]]: ...
def levels(rows: _Rows, groups: dict[int, int], most: int, latest: int) -> dict[int, list[int]]: ...
def joined(batches: list[Batch]) -> Batch:
    """Batches of one table as one; ValueError where there are none, or of several tables."""

def is_capture(path: str) -> bool | None:
    """Whether a file is a capture by its first bytes, unpacked where it is compressed: of a format
    that is read, or of another program's. None where it cannot be unpacked so far; ReadError where
    it cannot be opened."""

def schema() -> str:
    """The tables and their columns, as JSON (`pcapnfs/schema.py`)."""

def operations() -> str:
    """The operation table, as JSON."""

def attributes() -> str:
    """The attributes of NFSv4, as JSON."""

def reasons() -> str:
    """The reasons for which messages are not decoded, as JSON."""

def version() -> str:
    """The version of the decoder, which is that of the package."""
