"""Numbers and text become each other as docs/definitions.md says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapnfs import units
from pcapnfs.errors import UsageError


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0, "0 s"),
        (340e-9, "340 ns"),
        (999.6e-9, "1.00 µs"),
        (0.2e-3, "200 µs"),
        (999.6e-6, "1.00 ms"),
        (1.25e-3, "1.25 ms"),
        (12.62e-3, "12.6 ms"),
        (0.99949, "999 ms"),
        (0.9996, "1.00 s"),
        (59.94, "59.9 s"),
        (59.96, "1 m 0 s"),
        (3660, "61 m 0 s"),
        (7500, "2 h 5 m"),
        (4 * 86400 - 31, "95 h 59 m"),
        (4 * 86400 - 29, "4 d 0 h"),
        (101 * 3600, "4 d 5 h"),
        (2e8, "2\u2009314 d 20 h"),
        (-0.002, "-2.00 ms"),
    ],
)
def test_writes_durations_in_a_fitting_unit(seconds: float | None, text: str) -> None:
    assert units.duration(seconds) == text


def test_calls_that_took_no_time_are_not_known_to() -> None:
    assert [units.taken(seconds) for seconds in (None, 0.0, 0.2e-3)] == ["-", "-", "200 µs"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("200us", 200e-6),
        ("0.2ms", 200e-6),
        ("5s", 5),
        ("1m30s", 90),
        ("1 m 30 s", 90),
        ("2h", 7200),
        ("4d 4h", 100 * 3600),
        ("0", 0),
        (".5ms", 0.5e-3),
    ],
)
def test_reads_durations_with_units(text: str, seconds: float) -> None:
    assert units.parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("rtt_s", 0.002, "2.00 ms"), ("rpcs_per_file", 2.5, "2.50"), ("client_s", None, "-")],
)
def test_a_name_tells_the_unit(name: str, value: float | None, text: str) -> None:
    assert units.named(name, value) == text


@pytest.mark.parametrize(
    "text", ["", "5", "s", "5 parsecs", "30s1m", "1s1s", "- 5s", "1e3s", "5s!", "٣s"]
)
def test_refuses_what_is_no_duration(text: str) -> None:
    with pytest.raises(UsageError, match="no duration"):
        units.parse_duration(text)


def test_what_is_negative_is_told_so() -> None:
    """Another unit would not help."""
    with pytest.raises(UsageError, match="'-5ms': a duration must not be negative"):
        units.parse_duration("-5ms")
    with pytest.raises(UsageError, match="' -1G': a size must not be negative"):
        units.parse_size(" -1G")


@given(st.floats(min_value=1e-9, max_value=1e6))
def test_a_written_duration_reads_back_to_three_digits(seconds: float) -> None:
    assert units.parse_duration(units.duration(seconds)) == pytest.approx(
        seconds, rel=0.006, abs=0.6e-9
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (65536, "64.0 KiB"),
        (1048064, "1.00 MiB"),
        (5 << 40, "5.00 TiB"),
    ],
)
def test_writes_sizes_in_powers_of_1024(number: int | None, text: str) -> None:
    assert units.size(number) == text


@pytest.mark.parametrize(
    ("bytes_per_s", "text"),
    [
        (12_499, "12.2 KiB a second"),
        (12_500, "12.2 KiB a second (0.10 Mbit/s)"),
        (2 << 20, "2.00 MiB a second (16.8 Mbit/s)"),
        (125e6, "119 MiB a second (1.00 Gbit/s)"),
    ],
)
def test_writes_rates_in_bytes_and_as_links_are_sold(bytes_per_s: float, text: str) -> None:
    assert units.rate(bytes_per_s) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [("1G", 1 << 30), ("512M", 512 << 20), ("64KiB", 65536), ("1.5k", 1536), ("1000", 1000)],
)
def test_reads_sizes(text: str, number: int) -> None:
    assert units.parse_size(text) == number


@pytest.mark.parametrize("text", ["", "G", "0", "-G", "1X", "lots", "0.0001"])
def test_refuses_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="no size"):
        units.parse_size(text)


@pytest.mark.parametrize("text", ["1048577T", "99999999999G", "9" * 400])
def test_a_size_that_nothing_has_is_called_too_large(text: str) -> None:
    with pytest.raises(UsageError, match="more than an exbibyte"):
        units.parse_size(text)
    assert units.parse_size("1048576T") == units.LARGEST_SIZE


def test_so_little_memory_was_meant_in_another_unit() -> None:
    assert units.parse_memory("1M") == 1 << 20
    for text in ("5", "512", "1023K"):
        with pytest.raises(UsageError, match="write it as in 512M"):
            units.parse_memory(text)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (None, "-"),
        (0, "0 %"),
        (1, "100 %"),
        (0.1234, "12.3 %"),
        (0.00001, "<0.1 %"),
        (0.99999, ">99.9 %"),
        (0.5, "50.0 %"),
    ],
)
def test_nearly_all_is_not_all(part: float | None, text: str) -> None:
    assert units.share(part) == text


def test_groups_digits() -> None:
    assert units.count(1234567) == "1\u2009234\u2009567"
    assert units.number(12.345) == "12.3"
    assert units.number(4.0) == "4"
    assert units.number(None) == "-"


def test_writes_timestamps_to_the_nanosecond_even_beyond_the_calendar() -> None:
    assert units.timestamp(1_000_000_000_000_000_001) == "2001-09-09T01:46:40.000000001Z"
    assert units.timestamp(2**63 - 1) == "2262-04-11T23:47:16.854775807Z"
    assert units.timestamp(10**21) == "@1000000000000.000000000"
    assert units.timestamp(None) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.5079142857142855, "4.50791"),
        (1795231887.503916, "1795231887.504"),
        (0.000012345678, "1.23457e-05"),
        (2.0, "2"),
        (-1234.5678, "-1234.568"),
        (float("nan"), "nan"),
    ],
)
def test_writes_bare_numbers_with_the_digits_that_matter(value: float, text: str) -> None:
    assert units.fraction(value) == text


def test_a_count_has_its_noun() -> None:
    assert [units.counted(number, "file") for number in (0, 1, 2)] == [
        "0 files",
        "1 file",
        "2 files",
    ]
    assert units.counted(1, "entry", "entries") == "1 entry"
    assert units.counted(1234, "entry", "entries") == "1\u2009234 entries"
