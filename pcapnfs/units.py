"""Text and number: the only place where one becomes the other.

Takes seconds, bytes, counts and shares, or what a user typed; gives text with three significant
digits and a fitting unit, or the number. Promises that unknown (`None`) is written `-`, and that
rounding never turns "nearly all" into "all" or "hardly any" into "none".
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from pcapnfs.errors import UsageError

NANOSECONDS = 1_000_000_000
"""Nanoseconds in a second: whole, as times of packets are."""

UNKNOWN = "-"
"""How a value that is not known is written."""

THIN_SPACE = "\u2009"
"""Between groups of three digits (ISO 80000-1)."""

_DURATION_UNITS = {
    "d": 86400.0,
    "h": 3600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "\u00b5s": 1e-6,  # micro sign, as keyboards have it
    "\u03bcs": 1e-6,  # Greek mu, as Unicode normalisation makes it
    "ns": 1e-9,
}
_DURATION_PART = re.compile(r"(\d+\.?\d*|\.\d+)\s*(d|h|ms|m|s|us|\u00b5s|\u03bcs|ns)\s*", re.ASCII)
_SIZE = re.compile(r"(\d+\.?\d*|\.\d+)\s*([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)
LARGEST_SIZE = 1 << 60
"""No size that is asked for is larger, bytes: there are no such files, and no such memory."""

LEAST_MEMORY = 1 << 20
"""Less memory than that, bytes, nobody means: a unit was left out."""

_SIZE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def duration(seconds: float | None) -> str:
    """Write seconds in a fitting unit: `340 ns`, `1.25 ms`, `12.6 s`, `61 m 0 s`, `2 h 5 m`.

    Minutes are kept up to two hours, as people say "61 minutes" of a run, and hours up to four
    days (`4 d 5 h`), before which whole hours would be less than three digits.
    """
    if seconds is None:
        return UNKNOWN
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds == 0:
        return "0 s"
    if seconds < 999.5e-9:
        return f"{seconds * NANOSECONDS:.0f} ns"
    if seconds < 999.5e-6:
        return f"{_significant(seconds * 1e6)} \u00b5s"
    if seconds < 999.5e-3:
        return f"{_significant(seconds * 1e3)} ms"
    if seconds < 59.95:
        return f"{_significant(seconds)} s"
    whole = round(seconds)
    if whole < 7200:
        return f"{whole // 60} m {whole % 60} s"
    minutes = round(seconds / 60)
    if minutes < 96 * 60:
        return f"{minutes // 60} h {minutes % 60} m"
    hours = round(seconds / 3600)
    return f"{count(hours // 24)} d {hours % 24} h"


def taken(seconds: float | None) -> str:
    """Write what calls took, added up.

    No time is an unknown one: none of them has its reply, or no packet has a time.
    """
    return duration(seconds or None)


def parse_duration(text: str) -> float:
    """Read `200us`, `0.2ms`, `5s`, `1m30s`, `2h` or `3d` into seconds; a bare `0` needs no unit.

    Raises:
        UsageError: The text is no duration, is negative, or its units do not descend.
    """
    stripped = text.strip()
    _demand_positive(text, "a duration")
    if stripped == "0":
        return 0.0
    seconds, position, smallest = 0.0, 0, float("inf")
    while position < len(stripped):
        part = _DURATION_PART.match(stripped, position)
        if part is None or _DURATION_UNITS[part[2]] >= smallest:
            break
        smallest = _DURATION_UNITS[part[2]]
        seconds += float(part[1]) * smallest
        position = part.end()
    if position == 0 or position < len(stripped):
        raise UsageError(
            f"{text!r} is no duration; write it with a unit, as in 200us, 0.2ms, 5s or 1m30s"
        )
    return seconds


def _demand_positive(text: str, what: str) -> None:
    """Refuse a number with a minus, which is written well otherwise."""
    if re.match(r"-[.0-9]", text.strip()):
        raise UsageError(f"{text!r}: {what} must not be negative")


def size(count_bytes: float | None) -> str:
    """Write bytes in powers of 1024 (`512 B`, `1.25 MiB`), as rsize and wsize are meant."""
    if count_bytes is None:
        return UNKNOWN
    if count_bytes < 0:
        return "-" + size(-count_bytes)
    value, unit = float(count_bytes), 0
    while value >= (1023.5 if unit else 1024) and unit < len(_SIZE_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{_significant(value) if unit else format(value, '.0f')} {_SIZE_UNITS[unit]}"


def rate(bytes_per_s: float) -> str:
    """Write how fast data moves, in bytes as sizes are and in bits as links are.

    As in `2.00 MiB a second (16.8 Mbit/s)`; of less than 100 kbit/s the bytes alone.
    """
    bits, unit = bytes_per_s * 8 / 1e6, "Mbit/s"
    if bits >= 1000:
        bits, unit = bits / 1000, "Gbit/s"
    told = f"{size(bytes_per_s)} a second"
    return f"{told} ({_significant(bits)} {unit})" if bits >= 0.1 else told


def parse_size(text: str) -> int:
    """Read `1G`, `512M`, `64KiB` or `1000` into bytes; K, M, G and T are powers of 1024.

    Raises:
        UsageError: The text is no size, negative, less than one byte, or more than an exbibyte.
    """
    _demand_positive(text, "a size")
    match = _SIZE.fullmatch(text.strip())
    number = (
        0.0 if match is None else float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ")
    )
    if number > LARGEST_SIZE:
        raise UsageError(f"{text!r} is more than an exbibyte; write it as in 512M, 1G or 65536")
    if number < 1:
        raise UsageError(f"{text!r} is no size; write it as in 512M, 1G or 65536")
    return int(number)


def parse_memory(text: str) -> int:
    """Read a limit of memory into bytes, written like a size.

    Raises:
        UsageError: The text is no size, or less than a mebibyte.
    """
    number = parse_size(text)
    if number < LEAST_MEMORY:
        raise UsageError(f"{text!r} are bytes, too few for any work; write it as in 512M or 4G")
    return number


def count(number: int | None) -> str:
    """Write a whole number in groups of three digits, a thin space between them."""
    return UNKNOWN if number is None else f"{number:,}".replace(",", THIN_SPACE)


def counted(number: int | None, one: str, many: str | None = None) -> str:
    """Write a count with its noun: `1 file`, `2 files`, `1 entry`, `2 entries`.

    Of None: `an unknown number of files`.
    """
    if number is None:
        return f"an unknown number of {many or one + 's'}"
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def number(value: float | None) -> str:
    """Write a mean or a quantile of counts with three significant digits: `0.25`, `12.3`."""
    if value is None:
        return UNKNOWN
    if value == int(value):
        return count(int(value))
    return _significant(value) if abs(value) < 999.5 else count(round(value))


def named(name: str, value: float | None) -> str:
    """Write what a name tells the unit of: `rtt_s` is a time, `rpcs_per_file` a number."""
    return duration(value) if name.endswith("_s") else number(value)


def fraction(value: float) -> str:
    """Write a number without a unit: all digits before the point, three or more after it."""
    if not math.isfinite(value):
        return str(value)
    whole = len(str(abs(int(value))))
    return f"{value:.{max(6, whole + 3)}g}"


def share(part: float | None) -> str:
    """Write a share of 0…1 in per cent: `12.3 %`; `100 %` and `0 %` only when they are exact."""
    if part is None:
        return UNKNOWN
    if part in (0.0, 1.0):
        return f"{part * 100:.0f} %"
    if 0 < part < 0.001:
        return "<0.1 %"
    if 0.999 < part < 1:
        return ">99.9 %"
    return f"{part * 100:.1f} %"


def moment(iso: str) -> str:
    """Write a time in ISO 8601 as people do, to the second: `2026-11-21 03:42:14`."""
    return iso[:19].replace("T", " ")


def clock(nanoseconds: int) -> str:
    """Write the time of day of nanoseconds since 1970, in UTC: `03:56:17`."""
    told = timestamp(nanoseconds) or UNKNOWN
    return told if told.startswith("@") else told[11:19]


def timestamp(nanoseconds: int | None) -> str | None:
    """Write nanoseconds since 1970 as ISO 8601 in UTC with nine decimals; None stays None."""
    if nanoseconds is None:
        return None
    seconds, fraction = divmod(nanoseconds, NANOSECONDS)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        # A damaged capture may claim any time; beyond the calendar only the number is left.
        return f"@{seconds}.{fraction:09d}"
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"


def _significant(value: float) -> str:
    """Three significant digits, without an exponent."""
    magnitude = abs(value)
    if magnitude < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if magnitude < 99.95 else f"{value:.0f}"
