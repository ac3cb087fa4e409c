"""What a user gives the model instead of what was measured, checked once."""

from __future__ import annotations

from pcapnfs.errors import UsageError
from pcapnfs.record import Record

LARGEST = 10**12
"""Of what may be given: more files or seconds are a slip of the pen."""


class Overrides(Record):
    """Inputs given by the user; None takes what was measured. Times in seconds."""

    files: int | None = None
    """Files; None: as measured."""
    rtt_s: float | None = None
    """The network's part of the round trip; without a trace all of it; None likewise."""
    persist_s: float | None = None
    """Persistence; None likewise."""
    rpcs_per_file: float | None = None
    """Calls for each file; None likewise."""
    syncops_per_file: float | None = None
    """Stable calls for each file; None likewise."""
    streams: int | None = None
    """Calls under way at the same time; None likewise."""
    client_s: float | None = None
    """The client's own time for each call; None likewise."""

    def __post_init__(self) -> None:
        """Refuse what no run can have.

        Raises:
            UsageError: A number is negative or beyond all measure, or there are no files or
                streams.
        """
        for name, least in (("files", 1), ("streams", 1)):
            given = getattr(self, name)
            if given is not None and not least <= given <= LARGEST:
                raise UsageError(f"{name} must be {least} at least, and {LARGEST} at most")
        for name in ("rtt_s", "persist_s", "rpcs_per_file", "syncops_per_file", "client_s"):
            given = getattr(self, name)
            if given is not None and not 0 <= given <= LARGEST:
                raise UsageError(f"{name.removesuffix('_s')} must be 0 at least, and no giant")

    @property
    def any(self) -> bool:
        """Whether anything is given."""
        return any(getattr(self, name) is not None for name in _GIVEN)

    @property
    def complete(self) -> bool:
        """Whether the plain formula needs nothing else."""
        stable = self.syncops_per_file == 0 or self.persist_s == 0
        stable = stable or None not in (self.syncops_per_file, self.persist_s)
        return None not in (self.files, self.rpcs_per_file, self.rtt_s) and stable


_GIVEN = (
    "files", "rtt_s", "persist_s", "rpcs_per_file", "syncops_per_file", "streams", "client_s",
)  # fmt: skip
