"""What a build is trained on that a profile guides (`MATURIN_PGO=1`, pyproject.toml).

Decodes every sample into all tables, writes them as traces of either kind, and asks everything that
`summarize` asks. The compiler then lays out what captures have day by day side by side, and what
damaged ones have apart. Runs with the instrumented package installed; prints nothing.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pcapnfs
from pcapnfs import _core, decoding, summary

SAMPLES = Path(__file__).resolve().parent.parent / "samples"

DECODES = 20
"""Times that each sample is decoded: what is done once for a capture is to weigh little."""


def train() -> None:
    """Do with each sample what is done with captures."""
    for capture in sorted(each for each in SAMPLES.rglob("*") if ".pcap" in each.name):
        for _ in range(DECODES):
            _decode(str(capture))
        for brief in (False, True):
            with tempfile.TemporaryDirectory(prefix="train-") as name:
                decoding.write([str(capture)], Path(name), brief=brief)
        with pcapnfs.open(capture, columns=summary.READS) as trace:
            summary.summarize(trace)


def _decode(capture: str) -> None:
    decoder = _core.Decoder([capture])
    while decoder.next() is not None:
        pass


if __name__ == "__main__":
    train()
