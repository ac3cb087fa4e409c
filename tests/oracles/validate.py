"""Writes docs/validation.md: what the model foretells, held against what was measured.

    python -m tests.oracles.validate

The corpus is found as the tests find it (`PCAPNFS_CORPUS`); where it is absent the page stays as it
is. Read the difference before you keep it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.oracles import forecasts, grid
from tests.oracles.corpus import corpus_path
from tests.oracles.forecasts import (
    MEDIAN_ERROR,
    WORST_ERROR,
    Effect,
    Forecast,
    median_error,
)
from tests.oracles.grid import Cell

PAGE = Path(__file__).resolve().parents[2] / "docs" / "validation.md"

INTRODUCTION = """\
How well the forecasts of [`pcapnfs estimate`](commands.md) hold: from one capture another one \
is foretold, and the error is printed, whatever it is. What the figures mean and rest on: \
[method](method.md).

*Interval* is the one that `estimate` prints; it holds what other files would have changed, what \
storage on a clock of its own may absorb, what slow calls may have waited for the storage, and how \
streams may share the client and the storage. \
It cannot hold that the client or the machine was faster or slower in the other run.
"""

TAR = """\
`tar -x` onto a slow disk foretells the same onto an `async` export (persistence 0), onto a disk \
without delay (what a small synchronous operation takes there without NFS), and over a slow \
network (what ping measured). Kernel 6.1, whose clock is clean. *Capture* compares what \
`estimate` says of the whole capture with what the other capture took from its first call to its \
last reply; *step* compares the workload's command alone with the time that the shell measured.

The disk of these captures ends every write at the next tick of 10 ms. Most of a longer round \
trip is absorbed by that: the plain sum is too long, and the range says so.
"""

STREAMS = """\
A cold walk of 40 directories by one process foretells the same by 2, 4 and 8. Client and server \
share one processor there, and most of the time is the client's own: more processes bring \
little, and may even be slower. The forecast divides what is waited for and leaves the client's \
time as it is; its range goes from everything shared to \
nothing, which is the run as it was.
"""

NOISY = """\
The same on an emulated machine (kernel 6.12), whose processor adds milliseconds to calls at \
random and differs from run to run: what is measured there is not the mount alone. A disk \
without delay is foretold with persistence 0.
"""

LISTINGS = """\
A cold walk with the mount option `nordirplus` foretells one without it, on the same machine. The \
forecast saves the round trips of the calls that attributes spare, and the client's pauses beside \
them; the range goes from all of the client's time for them to none of it.
"""

EFFECTS = """\
A script of four commands under default options, and under others, on the emulated machine. \
*Explained* is what the phase took by default, and the calls that came in addition (or less) at \
what a round trip and persistence cost by default. `noac` and `actimeo=0` send the same calls \
here, and still differ by up to a factor of two: that is how far the machine itself varies.
"""

GRID = """\
`pcapnfs synth` makes captures of `tar -x` whose network, storage and streams are set; the model \
has to recover them. Each row holds {runs} runs: {streams} streams, NFSv3 and 4.2, captured at \
the client and at the server. The errors are the largest of the row.
"""


def tar_table(rows: list[Forecast]) -> str:
    """Forecasts and measurements, and the median of the errors."""
    head = _line(("from", "to", "change", "scope", "forecast", "range", "measured", "error"))
    rule = "| --- | --- | --- | --- | ---: | ---: | ---: | ---: |\n"
    lines = [
        _line(
            (
                each.source,
                each.target,
                each.change,
                "capture" if each.scope == "capture" else f"step {each.scope}",
                _seconds(each.forecast_s),
                f"{_seconds(each.low_s)} to {_seconds(each.high_s)}",
                _seconds(each.measured_s) + ("" if each.inside else " (outside)"),
                _percent(each.error),
            )
        )
        for each in rows
    ]
    inside = sum(each.inside for each in rows)
    return (
        head
        + rule
        + "".join(lines)
        + f"\nMedian error {_amount(median_error(each.error for each in rows))}; {inside} of "
        f"{len(rows)} measurements lie in their range.\n"
    )


def effects_table(rows: list[Effect]) -> str:
    """What options did, and what calls explain of it."""
    head = _line(
        ("capture", "phase", "calls", "stable", "by default", "explained", "measured", "error")
    )
    rule = "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    lines = [
        _line(
            (
                each.target,
                each.phase,
                f"{each.calls[0]} → {each.calls[1]}",
                f"{each.stable[0]} → {each.stable[1]}",
                _seconds(each.before_s),
                _seconds(each.explained_s),
                _seconds(each.measured_s),
                _percent(each.error),
            )
        )
        for each in rows
    ]
    median = _amount(median_error(each.error for each in rows))
    return f"{head}{rule}{''.join(lines)}\nMedian error {median}.\n"


def grid_table(cells: Iterable[Cell]) -> str:
    """A row for each network and storage."""
    head = _line(
        (
            "RTT",
            "persist",
            "verdict",
            "right",
            "round trip",
            "network",
            "persist",
            "overlap",
            "time",
        )
    )
    lines = [head, "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"]
    ordered = sorted(cells, key=lambda cell: (cell.setting.rtt_ms, cell.setting.persist_ms))
    for (rtt, persist), group in itertools.groupby(
        ordered, key=lambda cell: (cell.setting.rtt_ms, cell.setting.persist_ms)
    ):
        row = list(group)
        verdicts = {
            " and ".join(cell.found.verdict.named).replace("_", " ")
            for cell in row
            if cell.found.verdict is not None
        }
        worst = {
            name: max(cell.errors[name] for cell in row)
            for name in ("round trip", "rtt", "persist", "overlap", "time")
        }
        lines.append(
            _line(
                (
                    f"{rtt:g} ms",
                    f"{persist:g} ms",
                    ", or ".join(sorted(verdicts)),
                    f"{sum(cell.right for cell in row)} of {len(row)}",
                    *(f"{error * 100:.2f} %" for error in worst.values()),
                )
            )
        )
    return "".join(lines)


def page() -> str:
    """The text of docs/validation.md."""
    tar = list(forecasts.tar_pairs())
    streams = list(forecasts.stream_pairs())
    noisy = list(forecasts.noisy_pairs())
    listings = list(forecasts.listing_pairs())
    effects = list(forecasts.option_effects())
    cells = [grid.run(setting) for setting in grid.settings()]
    runs = len(grid.STREAMS) * len(grid.VERSIONS) * len(grid.VANTAGES)
    shown = ", ".join(f"{number}" for number in grid.STREAMS)
    every = [each.error for each in (*tar, *streams, *noisy, *listings)]
    mark = "<!-- Written by tests/oracles/validate.py: change the code, not this page. -->\n"
    summary = (
        f"Median error of all {len(every)} forecasts below: {_amount(median_error(every))}; of "
        f"`tar -x` on the clean machine {_amount(median_error(each.error for each in tar))}. Tests "
        f"hold the latter at {_amount(MEDIAN_ERROR)} at most, each of its forecasts at "
        f"{_amount(WORST_ERROR)}, and the measurements with more streams inside their ranges, "
        "where these did not take longer than one.\n"
    )
    right = sum(cell.right for cell in cells)
    return "\n".join(
        (
            f"{mark}# Validation\n",
            INTRODUCTION,
            summary,
            "## Another disk, another network\n",
            TAR,
            tar_table(tar),
            "## More streams\n",
            STREAMS,
            tar_table(streams),
            "## A machine with a mind of its own\n",
            NOISY,
            tar_table(noisy),
            "## Listings with attributes\n",
            LISTINGS,
            tar_table(listings),
            "## Mount options\n",
            EFFECTS,
            effects_table(effects),
            "## Simulated networks and disks\n",
            GRID.format(runs=runs, streams=shown),
            grid_table(cells),
            f"The verdict is right in {right} of {len(cells)} runs.\n",
        )
    )


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _seconds(value: float) -> str:
    return f"{value:.3f} s" if value < 10 else f"{value:.2f} s"


def _percent(error: float) -> str:
    return f"{error * 100:+.1f} %"


def _amount(error: float) -> str:
    return f"{error * 100:.1f} %"


def main() -> int:
    """Write the page; without a corpus, say that it stays as it is."""
    if corpus_path() is None:
        sys.stderr.write("no corpus of captures: docs/validation.md stays as it is\n")
        return 0
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
