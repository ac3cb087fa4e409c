"""The numbers that rules compare with: named, documented with their origin, adjustable.

Takes `--threshold NAME=VALUE` and a TOML file with a table `[thresholds]`; gives `Values`. Promises
that a name that no rule has, or a value that is no number, is refused in one sentence.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from pcapnfs import small_files
from pcapnfs.errors import UsageError, said
from pcapnfs.record import Record

Values = Mapping[str, float]
"""The value of every threshold, by name."""

FILE_LIMIT = 1 << 20
"""Bytes of a file of thresholds, at most: all of them, each with a comment, take a hundredth of it.
Beyond it, what is read, such as a device without an end, is none."""


class Threshold(Record):
    """A number that a rule compares with."""

    name: str
    """Its name: that of the rule, a dot, and what it limits."""
    value: float
    """Its value unless the user says otherwise."""
    unit: str
    """Its unit: `s`, `bytes`, `share` (0…1), `calls` …"""
    meaning: str
    """What happens beyond it."""
    origin: str
    """Where the value comes from."""


def chosen(
    known: Iterable[Threshold], settings: Iterable[str] = (), config: Path | None = None
) -> dict[str, float]:
    """The value of every threshold: of a setting, else of the file, else its own.

    Args:
        known: All thresholds.
        settings: `NAME=VALUE`, later ones before earlier ones.
        config: A TOML file.

    Raises:
        UsageError: The file cannot be read, a name is unknown, or a value is no finite number, or
            below 0.
    """
    values = {threshold.name: threshold.value for threshold in known}
    for name, value in _of_file(config).items() if config is not None else ():
        values[name] = _checked(values, name, value, f"{config}: ")
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"a threshold is set by NAME=VALUE, not by {setting!r}")
        values[name.strip()] = _checked(values, name.strip(), _number(text), "")
    return values


def _of_file(config: Path) -> dict[str, object]:
    import tomllib  # With its expressions, 2 ms to load.

    try:
        # Some editors begin with a byte order mark.
        settings = tomllib.loads(small_files.read(config, FILE_LIMIT).decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{config}: {said(error)}") from error
    except small_files.UnfitError as error:
        raise UsageError(f"{config}: this is no file of thresholds; it {error}") from error
    except (
        ValueError,
        RecursionError,
    ) as error:  # Also numbers and nesting beyond Python's limits.
        raise UsageError(f"{config}: this is no TOML: {error}") from error
    table = settings.get("thresholds")
    if table is None:
        raise UsageError(f"{config}: there is no table [thresholds] in it")
    if not isinstance(table, dict):
        raise UsageError(f"{config}: [thresholds] is no table of names and numbers")
    return dict(_flat(table))


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterable[tuple[str, object]]:
    """Names with dots, which TOML reads as tables within tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _checked(known: Mapping[str, float], name: str, value: object, where: str) -> float:
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        offer = f"; is it {' or '.join(near)}?" if near else "; docs/findings.md lists them"
        raise UsageError(f"{where}there is no threshold {name!r}{offer}")
    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        raise UsageError(f"{where}the threshold {name} takes a number, not {value!r}")
    if value < 0:
        raise UsageError(f"{where}the threshold {name} takes a number from 0 on, not {value!r}")
    return float(value)


def _finite(value: float) -> bool:
    """Whether a number is one of a float's; TOML's integers have any number of digits."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _number(text: str) -> float | str:
    """The number that a text writes; else the text, for the message."""
    try:
        return float(text)
    except ValueError:
        return text
