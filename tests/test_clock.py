"""Times that cannot be are not believed, and a clock that is set back or forward is counted on."""

from __future__ import annotations

import functools
import json
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

import pcapnfs
from pcapnfs.analyses.captured.trust import Trust, trust
from pcapnfs.analyses.forecasts.verdict import Verdict
from pcapnfs.analyses.forecasts.verdict_reasons import TITLES
from pcapnfs.diagnosis.judging import findings
from pcapnfs.meta import Meta
from pcapnfs.redaction import redact
from pcapnfs.verify.verification import verify
from tests.oracles.tshark import require_tshark
from tests.unit.rows import ROOT

pytest.importorskip("pcapnfs._core")

SAMPLE = ROOT / "samples" / "k61-tar-v3.pcap"
"""Microseconds; one client, one call at a time but for the end."""
HEADERS = 24, 16
"""Bytes of the file's header and of a packet's in pcap."""
MICROSECONDS = 1_000_000

Row = tuple[int, int, int | None]


def places(file: bytes) -> list[int]:
    """Where the packets begin, with their headers."""
    found, at = [], HEADERS[0]
    while at < len(file):
        found.append(at)
        at += HEADERS[1] + struct.unpack_from("<I", file, at + 8)[0]
    return found


def rewritten(target: Path, change: Callable[[int, int], int], source: Path = SAMPLE) -> Path:
    """The capture with other times: of each packet its place and its time, microseconds."""
    file = bytearray(source.read_bytes())
    for place, at in enumerate(places(bytes(file))):
        seconds, fraction = struct.unpack_from("<II", file, at)
        time = change(place, seconds * MICROSECONDS + fraction)
        struct.pack_into("<II", file, at, time // MICROSECONDS, time % MICROSECONDS)
    target.write_bytes(bytes(file))
    return target


def timestamps(file: bytes | bytearray, at: int) -> tuple[bool, int] | None:
    """Of a packet's TCP timestamps (RFC 7323) whether the client sent them, and where they lie."""
    ip = at + HEADERS[1] + 14
    tcp = ip + (file[ip] & 15) * 4
    if file[ip - 2 : ip] != b"\x08\0" or file[ip + 9] != 6:
        return None
    option, end = tcp + 20, tcp + (file[tcp + 12] >> 4) * 4
    while option < end and file[option] != 8:
        option += 1 if file[option] == 1 else file[option + 1]
    to_server = file[tcp + 2 : tcp + 4] == struct.pack(">H", 2049)
    return (to_server, option + 2) if option < end else None


def paused(target: Path, at: int, by_s: int, awake: str, source: Path = SAMPLE) -> Path:
    """The capture with a pause before this packet, which these ends, c and s, were awake for."""
    rewritten(target, lambda place, time: time + by_s * MICROSECONDS * (place >= at), source)
    file = bytearray(target.read_bytes())
    for place in places(bytes(file))[at:]:
        found = timestamps(file, place)
        if found is None:
            continue
        by_client, where = found
        ends = "cs" if by_client else "sc"
        clocks = struct.unpack_from(">II", file, where)
        on = [
            (clock + by_s * 1_000 * (end in awake)) % (1 << 32)
            for clock, end in zip(clocks, ends, strict=True)
        ]
        struct.pack_into(">II", file, where, *on)
    target.write_bytes(bytes(file))
    return target


def without_timestamps(capture: Path) -> Path:
    """The capture with NOPs in their places."""
    file = bytearray(capture.read_bytes())
    for place in places(bytes(file)):
        found = timestamps(file, place)
        if found is not None:
            file[found[1] - 2 : found[1] + 8] = b"\1" * 10
    capture.write_bytes(bytes(file))
    return capture


def both(folder: Path) -> Path:
    """The capture with one damaged time, and its clock set back by a minute before frame 1401."""
    return rewritten(
        folder / "odd.pcap",
        lambda at, time: time - (0 if at < 1400 else 60 * MICROSECONDS) ^ (at == 800) << 46,
    )


def divided(target: Path, capture: Path, at: Sequence[int]) -> Path:
    """The packets of a pcap as a pcapng, or as a pcap, that begins anew at these."""
    file = capture.read_bytes()
    found = places(file)
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    interface = struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)
    header = section + interface if target.suffix == ".pcapng" else file[: HEADERS[0]]
    parts = []
    for place, (start, end) in enumerate(pairwise([*found, len(file)])):
        if place == 0 or place in at:
            parts.append(header)
        if target.suffix == ".pcap":
            parts.append(file[start:end])
            continue
        seconds, fraction, captured, length = struct.unpack_from("<IIII", file, start)
        time = seconds * MICROSECONDS + fraction
        packet = file[start + HEADERS[1] : end] + bytes(-captured % 4)
        whole = 32 + len(packet)
        fields = 6, whole, 0, time >> 32, time & 0xFFFFFFFF, captured, length
        parts.append(struct.pack("<7I", *fields) + packet + struct.pack("<I", whole))
    target.write_bytes(b"".join(parts))
    return target


def calls(*captures: Path) -> list[Row]:
    """Frames and service time of each call, nanoseconds."""
    return _told(*captures).calls


def trust_of(*captures: Path) -> Trust:
    return _told(*captures).trust


def span(capture: Path) -> int:
    told = _told(capture).meta
    assert told.start_ns is not None
    assert told.end_ns is not None
    return told.end_ns - told.start_ns


class Told(NamedTuple):
    """What is read in captures."""

    calls: list[Row]
    trust: Trust
    meta: Meta


def _told(*captures: Path) -> Told:
    """Read once as long as they stay as they are: most tests hold the sample against another."""
    return _told_of(captures, tuple(capture.stat().st_mtime_ns for capture in captures))


@functools.lru_cache(maxsize=8)
def _told_of(captures: tuple[Path, ...], _modified_ns: tuple[int, ...]) -> Told:
    with pcapnfs.open([str(capture) for capture in captures]) as trace:
        rows = trace.rows("select call_frame, reply_frame, srt from calls order by call")
        return Told(rows, trust(trace), trace.meta)


@pytest.mark.parametrize("by_s", [2, 300, 1 << 18, 1 << 30, -2, -300, -(1 << 18), -(1 << 30)])
@pytest.mark.parametrize("place", [0, 1, 2, 700, 701, 2000, 2535])
def test_one_packets_time_changes_no_other(place: int, by_s: int, tmp_path: Path) -> None:
    if place == 0 and by_s in (-2, -300, -(1 << 18)):
        pytest.skip("nobody knows how long before the others the first packet came")
    odd = rewritten(
        tmp_path / "odd.pcap",
        lambda at, time: time + (by_s * MICROSECONDS if at == place else 0),
    )
    whole, found = calls(SAMPLE), calls(odd)
    frame = place + 1
    untouched = [row for row in whole if frame not in row[:2]]
    assert [row for row in found if frame not in row[:2]] == untouched
    # That of the packet before stands for it: it was captured between that and the next one.
    for before, after in zip(whole, found, strict=True):
        assert before[:2] == after[:2]
        assert abs((before[2] or 0) - (after[2] or 0)) < 100_000_000
    assert abs(span(odd) - span(SAMPLE)) < 100_000_000
    told = trust_of(odd)
    assert (told.mistimed_packets, told.set_back, told.complete) == (1, 0, False)


@pytest.mark.parametrize(("by_s", "mistimed"), [(-3600, 1), (3600, 0)])
def test_the_last_packets_time_is_believed_unless_it_goes_back(
    by_s: int, mistimed: int, tmp_path: Path
) -> None:
    last = len(places(SAMPLE.read_bytes())) - 1
    odd = rewritten(
        tmp_path / "odd.pcap",
        lambda at, time: time + by_s * MICROSECONDS if at == last else time,
    )
    assert trust_of(odd).mistimed_packets == mistimed


def test_times_that_are_wrong_here_and_there_are_all_found(tmp_path: Path) -> None:
    wrong = {300, 303, 304, 900, 1500, 1508}
    odd = rewritten(
        tmp_path / "odd.pcap",
        lambda at, time: time ^ (1 << (20 + at % 8)) * MICROSECONDS if at in wrong else time,
    )
    frames = {place + 1 for place in wrong}
    assert trust_of(odd).mistimed_packets == len(wrong)
    assert [row for row in calls(odd) if not frames & set(row[:2])] == [
        row for row in calls(SAMPLE) if not frames & set(row[:2])
    ]


@pytest.mark.parametrize("by_s", [2, 5, 3600, 400_000_000])
def test_a_clock_that_is_set_back_is_counted_on(by_s: int, tmp_path: Path) -> None:
    steps = 700
    back = rewritten(
        tmp_path / "back.pcap",
        lambda at, time: time - by_s * MICROSECONDS if at >= steps else time,
    )
    assert all((row[2] or 0) >= 0 for row in calls(back))
    across = [row for row in calls(SAMPLE) if row[0] <= steps < (row[1] or 0)]
    assert len(across) <= 1
    assert [row for row in calls(back) if row[:2] not in [each[:2] for each in across]] == [
        row for row in calls(SAMPLE) if row not in across
    ]
    # What passed between the two packets is not known, and taken for nothing.
    assert 0 <= span(SAMPLE) - span(back) < 100_000_000
    told = trust_of(back)
    assert (told.set_back, told.set_back_frame, told.mistimed_packets) == (1, steps + 1, 0)
    assert told.set_back_s == pytest.approx(by_s, abs=0.1)


@pytest.mark.parametrize("by_s", [2, 300, 1 << 18, 1 << 30])
@pytest.mark.parametrize("steps", [100, 700, 701, 2000, 2500])
def test_a_clock_that_is_set_forward_is_counted_on(steps: int, by_s: int, tmp_path: Path) -> None:
    forward = paused(tmp_path / "forward.pcap", steps, by_s, awake="")
    for before, after in zip(calls(SAMPLE), calls(forward), strict=True):
        assert before[:2] == after[:2]
        across = before[0] <= steps < (before[1] or 0)
        assert abs((before[2] or 0) - (after[2] or 0)) <= (10_000_000 if across else 0)
    assert abs(span(forward) - span(SAMPLE)) < 10_000_000
    told = trust_of(forward)
    assert (told.set_forward, told.set_forward_frame) == (1, steps + 1)
    assert told.set_forward_s == pytest.approx(by_s, abs=0.01)
    assert (told.set_back, told.mistimed_packets) == (0, 0)


BEGINNINGS = [
    ("k61-sec-krb5i-v3", 61),
    ("k61-sec-krb5i-v3", 307),
    ("k61-two-clients-v42-server", 57),
    ("k61-locks-v42-server", 129),
    ("k61-walk-v3", 261),
]
"""Packets of samples before which a connection was heard for a moment only, or behind which one
begins."""


@pytest.mark.parametrize(("sample", "packet"), BEGINNINGS)
@pytest.mark.parametrize("by_s", [5, 3600, 1 << 18])
def test_connections_that_were_heard_for_a_moment_tell_of_a_clock_that_is_set_forward(
    sample: str, packet: int, by_s: int, tmp_path: Path
) -> None:
    source = SAMPLE.with_stem(sample)
    forward = paused(tmp_path / "forward.pcap", packet - 1, by_s, awake="", source=source)
    told = trust_of(forward)
    assert (told.set_forward, told.set_forward_frame, told.set_back) == (1, packet, 0)
    assert told.set_forward_s == pytest.approx(by_s, abs=0.05)
    assert abs(span(forward) - span(source)) < 50_000_000


@pytest.mark.parametrize("by_s", [2, 30, 3600])
def test_a_capture_of_a_tenth_of_a_second_tells_of_it(by_s: int, tmp_path: Path) -> None:
    whole = SAMPLE.with_stem("k61-walk-v3").read_bytes()
    brief = tmp_path / "brief.pcap"
    starts = places(whole)
    brief.write_bytes(whole[: HEADERS[0]] + whole[starts[700] : starts[900]])
    assert span(brief) < 100_000_000
    told = trust_of(paused(tmp_path / "forward.pcap", 100, by_s, awake="", source=brief))
    assert (told.set_forward, told.set_forward_frame) == (1, 101)
    assert told.set_forward_s == pytest.approx(by_s, abs=0.05)


@pytest.mark.parametrize(("sample", "packet"), BEGINNINGS)
@pytest.mark.parametrize("awake", ["cs", "c", "s"])
@pytest.mark.parametrize("by_s", [5, 3600, 1 << 18])
def test_a_pause_where_connections_begin_is_one_that_an_end_was_awake_for(
    sample: str, packet: int, awake: str, by_s: int, tmp_path: Path
) -> None:
    source = SAMPLE.with_stem(sample)
    real = paused(tmp_path / "paused.pcap", packet - 1, by_s, awake, source=source)
    assert trust_of(real).set_forward == 0
    assert span(real) == span(source) + by_s * 10**9


@pytest.mark.parametrize("awake", ["cs", "c", "s"])
@pytest.mark.parametrize("by_s", [2, 300, 1 << 18])
def test_a_pause_that_an_end_was_awake_for_is_one(by_s: int, awake: str, tmp_path: Path) -> None:
    real = paused(tmp_path / "paused.pcap", 700, by_s, awake)
    assert trust_of(real).set_forward == 0
    assert span(real) == span(SAMPLE) + by_s * 10**9


def test_a_clock_is_set_forward_and_back(tmp_path: Path) -> None:
    forward = paused(tmp_path / "forward.pcap", 700, 60, awake="")
    twice = paused(tmp_path / "twice.pcap", 1100, 3, awake="", source=forward)
    odd = rewritten(
        tmp_path / "odd.pcap",
        lambda at, time: time - (63 * MICROSECONDS if at >= 1400 else 0),
        source=twice,
    )
    told = trust_of(odd)
    assert (told.set_forward, told.set_forward_frame) == (2, 701)
    assert (told.set_back, told.set_back_frame) == (1, 1401)
    assert abs(span(odd) - span(SAMPLE)) < 200_000_000


def test_without_timestamps_nothing_tells(tmp_path: Path) -> None:
    forward = without_timestamps(paused(tmp_path / "forward.pcap", 700, 60, awake=""))
    assert trust_of(forward).set_forward == 0
    assert span(forward) == span(SAMPLE) + 60 * 10**9


def test_a_pause_of_which_nothing_tells_is_told_and_findings_on_it_are_doubtful(
    tmp_path: Path,
) -> None:
    def told(capture: Path) -> tuple[float | None, int | None, str]:
        with pcapnfs.open(str(capture)) as trace:
            (found,) = (each for each in findings(trace).findings if each.id == "client_bound")
            return (*_pause(trust(trace)), found.confidence)

    # Between a reply and the next call.
    at = next(reply for _, reply, _ in calls(SAMPLE) if reply and reply > 700)
    set_forward = without_timestamps(paused(tmp_path / "forward.pcap", at, 3600, awake=""))
    pause_s, *rest = told(set_forward)
    assert pause_s == pytest.approx(3600, abs=0.1)
    assert rest == [at + 1, "possible"]
    # Within a call, which stood still.
    with pcapnfs.open(
        str(without_timestamps(paused(tmp_path / "call.pcap", at - 1, 3600, awake="")))
    ) as trace:
        (still,) = (each for each in findings(trace).findings if each.id == "stalled_calls")
        assert (still.severity, still.confidence) == ("warning", "possible")
    # An end was awake.
    real = paused(tmp_path / "real.pcap", at, 3600, awake="cs")
    assert told(real) == (None, None, "certain")
    # It is little of the capture, or little.
    for by_s in (20, 5):
        little = without_timestamps(paused(tmp_path / "little.pcap", at, by_s, awake=""))
        assert _pause(trust_of(little)) == (None, None)


def test_the_verdict_says_that_it_counts_such_a_pause(tmp_path: Path) -> None:
    def told(capture: Path) -> Verdict:
        with pcapnfs.open(str(capture)) as trace:
            found = pcapnfs.model(trace).verdict
            assert found is not None
            return found

    at = next(reply for _, reply, _ in calls(SAMPLE) if reply and reply > 700)
    doubtful = told(without_timestamps(paused(tmp_path / "forward.pcap", at, 29, awake="")))
    (largest,) = told(SAMPLE).named
    title = TITLES[largest]
    assert doubtful.named[0] == "client"
    assert doubtful.doubt is not None
    assert doubtful.sentence.endswith(doubtful.doubt)
    assert doubtful.doubt.startswith(
        f"The time holds 29.0 s before frame {at + 1} in which nothing was captured: if the clock "
        "of the capturing host was set forward there, they did not pass, and the rest went into "
        f"{title} "
    )
    assert told(paused(tmp_path / "real.pcap", at, 29, awake="cs")).doubt is None
    # Within a call, which is not left out however long it is.
    within = told(without_timestamps(paused(tmp_path / "call.pcap", at - 1, 3600, awake="")))
    assert within.named == ("server",)
    assert within.doubt is not None
    assert within.doubt.startswith(f"The time holds 60 m 0 s before frame {at} in which")
    # A long one between calls is no part of what the verdict is about, whether it passed or not.
    for awake in ("", "cs"):
        longer = paused(tmp_path / "long.pcap", at, 3600, awake=awake)
        long = told(longer if awake else without_timestamps(longer))
        assert (long.named, long.doubt) == ((largest,), None)
        assert long.sentence.startswith(f"The time went into {title} ")
        assert long.sentence.endswith(
            " Counted: 28.6 s from the first call to the last reply. Not counted: 60 m 0 s in "
            "pauses of 30 s or more."
        )
    # Before the first call: no part of what the verdict is about.
    first = min(call for call, _, _ in calls(SAMPLE) if call)
    early = told(without_timestamps(paused(tmp_path / "early.pcap", first - 1, 3600, awake="")))
    assert (early.named, early.doubt) == ((largest,), None)
    # Within the first call of all, which looks for a port to mount by: that is told beside it.
    asked = 4
    mounting = told(without_timestamps(paused(tmp_path / "mount.pcap", asked, 3600, awake="")))
    assert mounting.sentence.endswith(" Not counted: 60 m 0 s of mounting.")
    assert (mounting.named, mounting.doubt) == ((largest,), None)


def _pause(told: Trust) -> tuple[float | None, int | None]:
    return told.untold_pause_s, told.untold_pause_frame


@pytest.mark.parametrize("steps", [100, 700, 2000])
def test_both_formats_tell_the_same(steps: int, tmp_path: Path) -> None:
    forward = paused(tmp_path / "forward.pcap", steps, 60, awake="")
    other = divided(tmp_path / "forward.pcapng", forward, at=[])
    assert calls(other) == calls(forward)
    assert trust_of(other) == trust_of(forward)


def test_a_rotation_goes_on_with_the_clock_of_the_file_before(tmp_path: Path) -> None:
    first, second = tmp_path / "1.pcap", tmp_path / "2.pcap"
    back = rewritten(
        tmp_path / "back.pcap",
        lambda at, time: time - 5 * MICROSECONDS if at >= 700 else time,
    ).read_bytes()
    cut = places(back)[2400]
    first.write_bytes(back[:cut])
    second.write_bytes(back[: HEADERS[0]] + back[cut:])
    assert calls(first, second) == calls(tmp_path / "back.pcap")


def test_two_clocks_in_one_capture_are_no_clock_that_is_set_back(tmp_path: Path) -> None:
    odd = rewritten(
        tmp_path / "two.pcap",
        lambda at, time: time - 10 * MICROSECONDS * (at < 2500 and at // 5 % 2),
    )
    told = trust_of(odd)
    assert (told.set_back, told.set_forward, told.mistimed_packets) == (0, 0, 0)


def test_disorder_that_captures_have_is_left_alone(tmp_path: Path) -> None:
    odd = rewritten(
        tmp_path / "disorder.pcap", lambda at, time: time - (900_000 if at % 7 == 3 else 0)
    )
    told = trust_of(odd)
    assert (told.set_back, told.mistimed_packets) == (0, 0)


def test_pauses_are_no_odd_times(tmp_path: Path) -> None:
    pauses = without_timestamps(
        rewritten(
            tmp_path / "paused.pcap", lambda at, time: time + at // 100 * 86_400 * MICROSECONDS
        )
    )
    told = trust_of(pauses)
    assert (told.set_back, told.mistimed_packets) == (0, 0)
    assert span(pauses) > 25 * 86_400 * 10**9


@pytest.mark.parametrize("format", ["pcapng", "nsecpcap"])
def test_so_it_is_in_other_formats(format: str, tmp_path: Path) -> None:
    require_tshark()
    odd = both(tmp_path)
    other = tmp_path / f"odd.{format}"
    subprocess.run(["editcap", "-F", format, odd, other], check=True)
    assert calls(other) == calls(odd)
    mine, theirs = trust_of(odd), trust_of(other)
    assert (mine.mistimed_packets, mine.set_back, mine.set_back_frame) == (1, 1, 1401)
    assert theirs == mine


@pytest.mark.parametrize("suffix", [".pcap", ".pcapng"])
def test_so_it_is_in_each_of_several_captures_in_one_file(suffix: str, tmp_path: Path) -> None:
    odd = both(tmp_path)
    several = divided(tmp_path / f"several{suffix}", odd, at=[400, 700, 1300])
    assert calls(several) == calls(odd)
    told = trust_of(several)
    assert (told.mistimed_packets, told.set_back, told.set_back_frame) == (1, 1, 1401)


@pytest.mark.parametrize("suffix", [".pcap", ".pcapng"])
def test_each_of_several_captures_in_one_file_has_its_own_clock(
    suffix: str, tmp_path: Path
) -> None:
    apart = rewritten(
        tmp_path / "apart.pcap", lambda at, time: time - 60 * MICROSECONDS * (at >= 1400)
    )
    told = trust_of(divided(tmp_path / f"several{suffix}", apart, at=[700, 1400]))
    assert (told.mistimed_packets, told.set_back) == (0, 0)


def test_summarize_tells_of_both(tmp_path: Path) -> None:
    odd = both(tmp_path)
    command = [sys.executable, "-m", "pcapnfs", "summarize", str(odd)]
    text = " ".join(subprocess.run(command, capture_output=True, text=True).stdout.split())
    assert "1 packet states a time that cannot be: that of the packet before stands for it." in text
    assert (
        "The clock of the capturing host was set back by 1 m 0 s before frame 1401: times" in text
    )
    document = subprocess.run([*command, "--json"], capture_output=True, text=True).stdout
    told = json.loads(document)["trust"]
    assert (told["mistimed_packets"], told["set_back"], told["set_back_frame"]) == (1, 1, 1401)


def test_summarize_tells_of_a_clock_set_forward(tmp_path: Path) -> None:
    forward = paused(tmp_path / "forward.pcap", 700, 60, awake="")
    command = [sys.executable, "-m", "pcapnfs", "summarize", str(forward)]
    text = " ".join(subprocess.run(command, capture_output=True, text=True).stdout.split())
    assert (
        "The clock of the capturing host was set forward by 1 m 0 s before frame 701, as the TCP "
        "timestamps of both ends tell" in text
    )


def test_what_is_written_keeps_the_times_that_the_capture_states(tmp_path: Path) -> None:
    odd = both(tmp_path)
    kept = tmp_path / "kept.pcap"
    redact(odd, kept)

    def stated(capture: Path) -> Sequence[bytes]:
        file = capture.read_bytes()
        return [file[at : at + 8] for at in places(file)]

    assert stated(kept) == stated(odd)


def test_tshark_differs_there_for_that_reason(tmp_path: Path) -> None:
    require_tshark()
    odd = both(tmp_path)
    with pcapnfs.open(str(odd)) as trace:
        reasons = {each.reason for each in verify(trace, [str(odd)]).differences}
    assert reasons == {"odd_time"}


def test_tshark_differs_over_a_clock_set_forward_for_that_reason(tmp_path: Path) -> None:
    require_tshark()
    across = next(row for row in calls(SAMPLE) if row[0] > 700 and row[1] != row[0] + 1)
    forward = paused(tmp_path / "forward.pcap", across[0], 60, awake="")
    with pcapnfs.open(str(forward)) as trace:
        reasons = {each.reason for each in verify(trace, [str(forward)]).differences}
    assert reasons == {"odd_time"}
