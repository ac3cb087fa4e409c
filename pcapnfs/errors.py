"""Errors that a user can do something about: one sentence and an exit status each.

Takes nothing; gives the exceptions that the package raises on purpose. Promises that `str(error)`
is one sentence, fit for a terminal line once `text.escape` has been over it. Anything else that
escapes is a bug in pcapnfs.
"""

from __future__ import annotations

DECODE_AGAIN = "decode the capture again"
"""What helps against a trace that is damaged, or of another version."""


class PcapnfsError(Exception):
    """A failure with its exit status (1 capture, 2 usage)."""

    def __init__(self, message: str, exit_status: int = 1, *, shell: str | None = None) -> None:
        """Keep the sentence and the status that a command ends with.

        Args:
            message: The sentence for callers from Python, which names arguments of functions.
            exit_status: The status.
            shell: The same sentence for the command line, if it names an option instead.
        """
        super().__init__(message)
        self.exit_status = exit_status
        self.shell = message if shell is None else shell
        """The sentence for the command line."""


class CaptureError(PcapnfsError):
    """The capture could not be read, or holds no NFS."""

    def __init__(self, message: str) -> None:
        """Keep the sentence; the exit status is 1."""
        super().__init__(message, 1)


class UsageError(PcapnfsError):
    """A wrong argument or option: an unknown unit, a query that writes, no capture named."""

    def __init__(self, message: str, *, shell: str | None = None) -> None:
        """Keep the sentence, and that for the command line; the exit status is 2."""
        super().__init__(message, 2, shell=shell)


class WriteError(PcapnfsError):
    """A result could not be written: the disk is full, or a directory cannot be written to."""

    def __init__(self, message: str) -> None:
        """Keep the sentence; the exit status is 1."""
        super().__init__(message, 1)


def not_written(path: object, error: OSError) -> str:
    """The sentence on a result that the operating system did not take."""
    return f"{path} cannot be written: {said(error)}"


def said(error: OSError) -> str:
    """The message of the operating system without its number, or that of a library."""
    return error.strerror or str(error)
