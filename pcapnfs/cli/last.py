"""The captures that were used last, so that the next command need not name them again.

Takes and gives paths and ports; keeps them in `$XDG_STATE_HOME/pcapnfs/last.json`. It is a
convenience: a file that is missing, broken or cannot be written is as good as none, and never a
failure.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path

from pcapnfs import small_files
from pcapnfs.meta import STANDARD_INPUT
from pcapnfs.record import Record

LIMIT = 16 << 20
"""Bytes of the file, at most: more names of captures than a command line takes, as a rule. Beyond
it, it is as good as none."""


class Captures(Record):
    """What a command was about."""

    paths: tuple[str, ...]
    """The captures, absolute when they were remembered."""
    ports: tuple[int, ...]
    """Values of --port."""


def remember(captures: Captures) -> None:
    """Keep the captures for the next command.

    Standard input cannot be kept; nor is what was there before, which would then pass for it.
    """
    if STANDARD_INPUT in captures.paths:
        with contextlib.suppress(OSError, RuntimeError):  # Nothing was kept, as a rule.
            _file().unlink()
        return
    text = json.dumps(
        {
            "captures": [os.path.abspath(path) for path in captures.paths],
            "ports": list(captures.ports),
        }
    )
    # A state directory that cannot be written only costs the convenience.
    with contextlib.suppress(OSError, RuntimeError):
        home = _file()
        home.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=home.parent, prefix="last-", suffix=".json")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.replace(temporary, home)
        except BaseException:
            os.unlink(temporary)
            raise


def recall() -> Captures | None:
    """The captures of the previous command; None if there are none, or the file is broken."""
    try:
        kept = json.loads(small_files.read_regular(_file(), LIMIT).decode("utf-8"))
        paths, ports = kept["captures"], kept["ports"]
    except (OSError, RuntimeError, ValueError, KeyError, TypeError):
        return None
    sensible = (
        isinstance(paths, list)
        and isinstance(ports, list)
        and all(isinstance(path, str) and path for path in paths)
        and all(isinstance(port, int) and 0 < port < 65536 for port in ports)
    )
    return Captures(tuple(paths), tuple(ports)) if sensible and paths else None


def _file() -> Path:
    """Where it is kept (XDG Base Directory Specification: a relative XDG_STATE_HOME is ignored)."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():
        state = Path.home() / ".local" / "state"
    return state / "pcapnfs" / "last.json"
