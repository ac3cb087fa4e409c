"""The typed face of the decoder, which is written in Rust."""

from collections.abc import Callable
from typing import Self, final

__all__ = [
    "Batch",
    "Decoder",
    "ReadError",
    "Writer",
    "annotate",
    "attributes",
    "joined",
    "operations",
    "reasons",
    "redact",
    "schema",
    "version",
]

class ReadError(Exception):
    """A file is not a capture, or cannot be opened. The text is one sentence, the path first."""

@final
class Batch:
    """Rows of one table, handed over once as an Arrow stream."""

    @property
    def table(self) -> str: ...
    @property
    def rows(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Decoder:
    """Reads captures from first to last packet."""

    def __new__(
        cls,
        paths: list[str],
        ports: list[int] = ...,
        columns: dict[str, set[str]] | None = None,
    ) -> Self: ...
    def next(self) -> list[Batch] | None: ...
    def progress(self) -> tuple[int, int]: ...
    def finish(self) -> str: ...

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

def redact(
    paths: list[str],
    to: str,
    scratch: str,
    key: bytes,
    strict: bool = False,
    packing: str = "none",
    ports: list[int] = ...,
    progress: Callable[[float], None] | None = None,
) -> str: ...
def annotate(
    paths: list[str],
    to: str,
    comments: dict[int, list[str]],
    packing: str = "none",
    progress: Callable[[float], None] | None = None,
) -> str: ...
def joined(batches: list[Batch]) -> Batch: ...
def schema() -> str: ...
def operations() -> str: ...
def attributes() -> str: ...
def reasons() -> str: ...
def version() -> str: ...
