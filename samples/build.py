#!/usr/bin/env python3
"""Keeps `samples/` true: the built captures, and the generated parts of README.md.

    python samples/build.py                 write the captures that are built
    python samples/build.py --readme        write README.md's generated blocks anew
    python samples/build.py --check         say what is out of date; exit status 1 if anything is
    python samples/build.py --corpus DIR    copy the lab's captures and their facts anew

A generated block stands between one of these and `<!-- end -->`:

    <!-- origin FILE -->                 how a capture of the lab was made
    <!-- made NAME -->                   the command that makes a sample
    <!-- scaled all -->                  what was made against what was published
    <!-- COMMAND FILE: SECTION; … -->    the beginning of what `pcapnfs COMMAND FILE` prints, and
                                         those of its sections that are named
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lab
import made

from pcapnfs.cli.app import run
from pcapnfs.synth import published

SAMPLES = Path(__file__).resolve().parent
README = SAMPLES / "README.md"
TRUTH = SAMPLES / "truth.json"
COLUMNS = "100"
"""Width of the screens in README.md."""

BUILT = {
    "published-v3-tar.pcap": published.nfsv3_tar,
    "published-v3-sizes.pcap": published.nfsv3_sizes,
    "published-v41-tar.pcap": published.nfsv41_tar,
}
"""Captures that are built frame by frame, always to the same bytes."""

_BLOCK = re.compile(
    r"(?P<start><!-- (?P<kind>origin|made|scaled|summarize|readdir|cache) (?P<name>[^ :]+)"
    r"(?:: (?P<sections>[^>]*?))? -->\n)"
    r".*?(?P<end><!-- end -->)",
    re.DOTALL,
)


class BuildError(Exception):
    """README.md asks for something that is not there."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description="Build samples/, or check that it is up to date.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--readme", action="store_true", help="write README.md's blocks anew")
    what.add_argument("--check", action="store_true", help="write nothing, say what differs")
    what.add_argument("--corpus", type=Path, metavar="DIR", help="copy the lab's captures anew")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            return check()
        if options.corpus:
            lab.take_over(options.corpus, SAMPLES)
        elif options.readme:
            README.write_text(readme(), encoding="utf-8")
        else:
            for name, content in built().items():
                (SAMPLES / name).parent.mkdir(exist_ok=True)
                if not _same(SAMPLES / name, content):
                    (SAMPLES / name).write_bytes(content)
    except BuildError as problem:
        sys.stderr.write(f"build.py: {problem}\n")
        return 2
    return 0


def check() -> int:
    """Compare all that is generated with what is there."""
    stale = [name for name, content in built().items() if not _same(SAMPLES / name, content)]
    stale += [README.name] if README.read_text(encoding="utf-8") != readme() else []
    for name in stale:
        sys.stderr.write(f"samples/{name} is out of date: see samples/build.py\n")
    return 1 if stale else 0


def built() -> dict[str, bytes]:
    """Give the bytes of what is built, by path below `samples/`."""
    return {name: build().pcap() for name, build in BUILT.items()} | made.make()


def _same(path: Path, content: bytes) -> bool:
    """Say whether a file holds that, however its compressor packed it."""
    if not path.is_file():
        return False
    found = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(found) == gzip.decompress(content)
    return found == content


def readme() -> str:
    """Give README.md with its blocks generated anew."""
    truth: Mapping[str, Any] = json.loads(TRUTH.read_text(encoding="utf-8"))

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        kind = match["kind"]
        if kind == "origin":
            lines = origin(truth[name])
        elif kind == "made":
            lines = list(made.said(name))
        elif kind == "scaled":
            lines = made.table(json.loads((SAMPLES / made.TRUTH).read_text(encoding="ascii")))
        else:
            sections = [title.strip() for title in (match["sections"] or "").split(";")]
            lines = ["```", f"$ pcapnfs {kind} {name}", *screen(kind, name, sections), "```"]
        return match["start"] + "\n".join(lines) + "\n" + match["end"]

    return _BLOCK.sub(block, README.read_text(encoding="utf-8"))


def origin(facts: Mapping[str, Any]) -> list[str]:
    """Say how a capture of the lab was made."""
    cut = "" if facts["snaplen"] >= 65535 else f", {facts['snaplen']} bytes of each packet"
    delay = facts["block_device_delay_ms"]
    disk = f"a disk that takes {delay} ms per I/O" if delay else "a disk without delay"
    steps = [f"{item['who']}: {item['command']}" for item in facts["mounts"] + facts["steps"]]
    return [
        f"{facts['packets']} packets, captured on the {facts['vantage']}{cut}. "
        f"Linux {facts['kernel']} on both sides, export of {facts['filesystem']} "
        f"({facts['export_options'].split(',')[1]}) on {disk}, ping {facts['ping_min_ms']} ms.",
        "```",
        *(step.removeprefix("-: ") for step in steps),
        "```",
    ]


def screen(command: str, name: str, sections: Sequence[str]) -> list[str]:
    """Run a command of pcapnfs, and give the lines above its first section and the named ones.

    Raises:
        BuildError: The command fails, or prints no section of that name.
    """
    os.environ |= {"COLUMNS": COLUMNS, "NO_COLOR": "1"}
    printed = io.StringIO()
    with contextlib.chdir(SAMPLES), contextlib.redirect_stdout(printed):
        status = run([command, name])
    if status:
        raise BuildError(f"pcapnfs {command} {name}: exit status {status}")
    head, *rest = printed.getvalue().rstrip().split("\n\n")
    by_title = {paragraph.partition("\n")[0]: paragraph for paragraph in rest}
    missing = [title for title in sections if title and title not in by_title]
    if missing:
        raise BuildError(f"pcapnfs {command} {name} prints no section {missing[0]!r}")
    shown = [head, *(by_title[title] for title in sections if title)]
    return [line.rstrip() for line in "\n\n".join(shown).splitlines()]


if __name__ == "__main__":
    sys.exit(main())
