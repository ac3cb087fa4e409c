#!/usr/bin/env python3
"""Measures pcapnfs beside tshark on a generated capture, and checks the answers.

    python benchmarks/run.py                      1.7 million packets, 1.1 GB
    python benchmarks/run.py --packets 100000     for a first look
    python benchmarks/run.py --pcapng --vlan --v3 60 --v4 60 --drop 0.001

Takes options; gives a table (or JSON) of medians, and exit status 1 when an answer differs from
what the generator knows to be in the capture. The commands take turns within each run, so that
whatever else the machine does falls on all of them alike. CPU seconds and peak memory are those
that the kernel counted for the child process (wait4). Needs pcapnfs in the Python that runs this,
cargo for the generator, and about as much free space in the temporary directory as the capture is
large; tshark is measured where it is installed. Standard library only; Linux and macOS.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from answers import differences

ROOT = Path(__file__).resolve().parent.parent
GENERATOR = ROOT / "benchmarks" / "nfsgen"
BUILD = ROOT / "target" / "nfsgen"
DIST = ROOT / "dist"
SAMPLE = ROOT / "samples" / "k61-tar-v3.pcap"

DRAIN = """
import sys
from pcapnfs import _core
decoder = _core.Decoder(sys.argv[1:])
while decoder.next() is not None:
    pass
decoder.finish()
"""
"""The decoder alone: every table is built as Arrow batches, and dropped."""

COMPILE = """
import compileall, pathlib, pcapnfs
compileall.compile_dir(pathlib.Path(pcapnfs.__file__).parent, quiet=1)
"""
"""What pip does to the modules that it installs. Else each command would compile them anew where
Python was told not to write what it compiles (PYTHONDONTWRITEBYTECODE)."""

DECODE, SUMMARIZE, TSHARK = "decode", "summarize", "tshark"
UNGUIDED = "decode, unguided"
HELP, SMALL = "help", "summarize sample"
EXPORT, TRACE = "export", "decode -o"
FIELDS, TCPDUMP, NFSTRACE = "tshark -T fields", "tcpdump", "nfstrace"

WRITTEN = "calls.parquet", "large.nfstrace"
"""What `export` and `decode -o` write: one table, and all of them, in Parquet."""

COMPARED_FIELDS = (
    "frame.number", "frame.time_epoch", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport",
    "rpc.xid", "rpc.msgtyp", "rpc.procedure", "rpc.time", "rpc.auth.uid", "nfs.opcode",
    "nfs.procedure_v3", "nfs.status", "nfs.fh.hash", "nfs.name", "nfs.offset3", "nfs.count3",
    "nfs.write.stable",
)  # fmt: skip
"""What `tshark -T fields` is asked for: less than half of what `export` writes of a call."""

COMPRESSORS = {"gzip": ".gz", "zstd": ".zst"}
"""What compresses captures, with its usual level, and the ending of what it writes."""

ALONE = {f"decode {ending}": f"{name} -t" for name, ending in COMPRESSORS.items()}
"""The row of a compressed capture, and that of its decompression alone, by the usual program."""

PER_FILE = ("patterns", "perfile", "cache")
"""Commands that have something to say of every single file."""

RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Unit of ru_maxrss, bytes."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one command took."""

    cpu_s: float
    """User and system time of the process and its threads, seconds."""
    wall_s: float
    """From start to end, seconds."""
    peak_bytes: int
    """Largest resident memory, bytes."""


@dataclass(frozen=True, slots=True)
class Row:
    """Medians of one command over all runs."""

    name: str
    command: str
    runs: int
    cost: Cost
    packets_per_cpu_s: float | None
    """Packets of the large capture per CPU second; None for commands that do not read it."""
    bytes_per_cpu_s: float | None
    """Bytes of the capture file per CPU second, likewise."""
    cpu_tshark_ratio: float | None
    """CPU seconds of tshark by those of this command; None where tshark was not measured."""
    memory_tshark_ratio: float | None
    """Peak memory of tshark by that of this command, likewise."""
    alone_ratio: float | None
    """Time of this command by the clock by that of decompression alone; None for all but those that
    read a compressed capture."""


@dataclass(frozen=True, slots=True)
class Result:
    """Everything that was measured, with what is needed to repeat it."""

    date: str
    machine: str
    versions: Mapping[str, str]
    generator: str
    packets: int
    bytes: int
    calls: int
    rows: Sequence[Row]
    differences: Sequence[str]
    """Where pcapnfs' answer is not the generator's, a sentence each; empty when all is well."""


class BenchmarkError(Exception):
    """Something that is missing or failed; the text says what to do about it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and give the exit status: 1 for wrong answers, 2 when nothing came of it."""
    options = parse(arguments)
    try:
        result = benchmark(options)
    except BenchmarkError as problem:
        sys.stderr.write(f"run.py: {problem}\n")
        return 2
    if options.json:
        json.dump(dataclasses.asdict(result), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(table(result))
    return 1 if result.differences else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Measure pcapnfs beside tshark on a generated capture."
    )
    parser.add_argument("--packets", type=int, default=1_700_000, help="packets, at least")
    parser.add_argument("--runs", type=int, default=3, help="runs whose median is given")
    parser.add_argument("--v3", type=int, default=6, help="connections that speak NFSv3")
    parser.add_argument("--v4", type=int, default=6, help="connections that speak NFSv4.1 or 4.2")
    parser.add_argument("--data", type=float, default=0.10, help="share of READ and WRITE calls")
    parser.add_argument("--drop", type=float, default=0.0, help="share of packets to leave out")
    parser.add_argument("--files", type=int, help="files in the generator's tree")
    parser.add_argument(
        "--per-file",
        action="store_true",
        help=f"also what is asked of each file: {', '.join(PER_FILE)}, each with --memory 1G",
    )
    parser.add_argument(
        "--export",
        action="store_true",
        help="also perfile and export to Parquet, beside tshark -T fields, tcpdump and nfstrace",
    )
    parser.add_argument(
        "--wheel",
        action="store_true",
        help="measure the wheel in dist/ (dev.py wheel), beside it the decoder of this Python's",
    )
    parser.add_argument("--memory", metavar="SIZE", help="what summarize may take, as 2G")
    parser.add_argument(
        "--compressed",
        action="store_true",
        help="also the decoder on the capture compressed by gzip and zstd, beside gzip -t, zstd -t",
    )
    parser.add_argument("--pcapng", action="store_true", help="write pcapng, not pcap")
    parser.add_argument("--vlan", action="store_true", help="tag every frame (802.1Q)")
    parser.add_argument("--ipv6", action="store_true", help="IPv6 instead of IPv4")
    parser.add_argument("--no-tshark", action="store_true", help="measure pcapnfs only")
    parser.add_argument("--keep", action="store_true", help="leave the capture and say where")
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    options = parser.parse_args(arguments)
    if options.runs < 1 or options.packets < 1:
        parser.error("--runs and --packets start at 1")
    return options


def benchmark(options: argparse.Namespace) -> Result:
    """Generate, measure and compare."""
    host = machine()
    generator = build_generator()
    directory = Path(tempfile.mkdtemp(prefix="pcapnfs-benchmark-"))
    capture = directory / ("large.pcapng" if options.pcapng else "large.pcap")
    words = generator_options(options)
    commands = commands_for(capture, options)
    try:
        with wheel(directory / "wheel") if options.wheel else contextlib.nullcontext():
            run([sys.executable, "-c", COMPILE])
            say(f"writing {options.packets} packets")
            truth = json.loads(run([str(generator), "-o", str(capture), *words]))
            for name, ending in COMPRESSORS.items() if options.compressed else ():
                if f"decode {ending}" in commands:
                    say(f"compressing with {name}")
                    run([name, "-q", "-k", str(capture)])
            costs = measure_in_turns(commands, options.runs, capture)
            known = versions(commands)
        if options.wheel:
            known["pcapnfs"] += " (wheel)"
        answer = json.loads((directory / f"{SUMMARIZE}.out").read_text(encoding="utf-8"))
        return Result(
            date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
            machine=host,
            versions=known,
            generator=" ".join(["nfsgen", *words]),
            packets=truth["packets"],
            bytes=capture.stat().st_size,
            calls=truth["rpcs"],
            rows=rows(commands, costs, truth["packets"], capture),
            differences=differences(truth, answer, options.drop),
        )
    finally:
        if options.keep:
            say(f"kept in {directory}")
        else:
            shutil.rmtree(directory)


# Generating and measuring ------------------------------------------------------------------------


def build_generator() -> Path:
    """Compile nfsgen, and give its path."""
    if shutil.which("cargo") is None:
        raise BenchmarkError("cargo was not found; it builds the generator of captures")
    say("building nfsgen")
    manifest, target = str(GENERATOR / "Cargo.toml"), str(BUILD)
    run(["cargo", "build", "-q", "--release", "--locked", "--manifest-path", manifest,
         "--target-dir", target])  # fmt: skip
    return BUILD / "release" / "nfsgen"


def generator_options(options: argparse.Namespace) -> list[str]:
    """Give nfsgen's options for ours."""
    words = ["-n", str(options.packets), "--v3", str(options.v3), "--v4", str(options.v4)]
    words += ["--data", str(options.data)]
    words += ["--files", str(options.files)] if options.files else []
    words += ["--drop", str(options.drop)] if options.drop else []
    words += ["--pcapng"] if options.pcapng else []
    words += ["--vlan"] if options.vlan else []
    words += ["--ipv6"] if options.ipv6 else []
    return words


@contextlib.contextmanager
def wheel(directory: Path) -> Iterator[None]:
    """Have commands import the package of the wheel in dist/, unpacked in a directory.

    Python that is told to ignore its environment (-E) imports its own all the same.
    """
    wheels = list(DIST.glob("pcapnfs-*.whl"))
    if len(wheels) != 1:
        raise BenchmarkError(f"dist/ holds {len(wheels)} wheels, not one: run dev.py wheel")
    with zipfile.ZipFile(wheels[0]) as archive:
        archive.extractall(directory)
    before = dict(os.environ)
    os.environ.update(PYTHONPATH=str(directory), PYTHONSAFEPATH="1")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def commands_for(capture: Path, options: argparse.Namespace) -> dict[str, list[str]]:
    """Name the commands to measure.

    tshark gets what it needs to take every packet for NFS (a client's port may have an owner in
    its tables), and no name resolution.
    """
    pcapnfs = [sys.executable, "-m", "pcapnfs"]
    memory = ["--memory", options.memory] if options.memory else []
    commands = {DECODE: [sys.executable, "-c", DRAIN, str(capture)]}
    if options.wheel:
        commands[UNGUIDED] = [sys.executable, "-E", "-c", DRAIN, str(capture)]
    for name, ending in COMPRESSORS.items() if options.compressed else ():
        if program := found(name):
            packed = str(capture) + ending
            commands[f"decode {ending}"] = [sys.executable, "-c", DRAIN, packed]
            commands[f"{name} -t"] = [program, "-q", "-t", packed]
    commands[SUMMARIZE] = [*pcapnfs, "summarize", "--json", *memory, str(capture)]
    for name in PER_FILE if options.per_file else ():
        commands[name] = [*pcapnfs, name, "--json", "--memory", "1G", str(capture)]
    if options.export:
        commands["perfile"] = [*pcapnfs, "perfile", "--json", str(capture)]
        calls, trace = (str(capture.with_name(name)) for name in WRITTEN)
        commands[EXPORT] = [*pcapnfs, "export", str(capture), "--table", "calls", "-o", calls]
        commands[TRACE] = [*pcapnfs, "decode", str(capture), "-o", trace, "--force"]
    if not options.no_tshark:
        tshark = found("tshark")
        read = [tshark, "-n", "-r", str(capture), "-d", "tcp.port==2049,rpc"]
        if tshark:
            taps = ["-z", "rpc,srt,100003,3", "-z", "rpc,srt,100003,4"]
            commands[TSHARK] = [*read, "-q", *taps]
        if tshark and options.export:
            fields = [word for field in COMPARED_FIELDS for word in ("-e", field)]
            commands[FIELDS] = [*read, "-Y", "rpc", "-T", "fields", *fields]
    if options.export:
        if tcpdump := found("tcpdump"):
            commands[TCPDUMP] = [tcpdump, "-nn", "-q", "-r", str(capture)]
        if nfstrace := found("nfstrace"):
            analysis = ["-a", "libbreakdown.so", "-I", str(capture)]
            commands[NFSTRACE] = [nfstrace, "-m", "stat", *analysis]
    commands[HELP] = [*pcapnfs, "--help"]
    if SAMPLE.is_file():
        commands[SMALL] = [*pcapnfs, "summarize", "--json", str(SAMPLE)]
    return commands


def found(program: str) -> str:
    """Where a program is; empty, and said, where it is not installed."""
    path = shutil.which(program) or ""
    if not path:
        say(f"{program} was not found and is not measured")
    return path


def measure_in_turns(
    commands: Mapping[str, Sequence[str]], runs: int, capture: Path
) -> dict[str, list[Cost]]:
    """Run every command once per run, one after the other."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(1, runs + 1):
        for name, command in commands.items():
            for word in command:
                if word.startswith(str(capture)):
                    warm(Path(word))
            run(commands.get(SMALL, commands[HELP]))  # Has what Python loads there, too.
            cost = measure(command, capture.with_name(f"{name}.out"))
            say(f"run {number}: {name}: {cost.cpu_s:.2f} s CPU, {cost.wall_s:.2f} s")
            costs[name].append(cost)
    return costs


def warm(capture: Path) -> None:
    """Have the capture in the page cache.

    A virtual machine may have to give up in seconds what it does not use. What reading it again
    takes, a third of a decode, is the disk's and not the command's.
    """
    buffer = bytearray(1 << 20)
    with capture.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def measure(command: Sequence[str], output: Path) -> Cost:
    """Run a command to its end; the kernel says what it took."""
    errors = output.with_suffix(".err")
    with output.open("wb") as out, errors.open("wb") as err:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise failure(command, errors.read_text(encoding="utf-8", errors="replace"))
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * RSS_UNIT)


def run(command: Sequence[str]) -> str:
    """Run a command that is not measured; give what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise failure(command, done.stderr)
    return done.stdout


def failure(command: Sequence[str], errors: str) -> BenchmarkError:
    """Say which command failed, and the last lines that it wrote."""
    last = "\n".join(errors.strip().splitlines()[-5:])
    return BenchmarkError(f"failed: {' '.join(command[:3])} …\n{last}")


# Showing -----------------------------------------------------------------------------------------


def rows(
    commands: Mapping[str, Sequence[str]],
    costs: Mapping[str, Sequence[Cost]],
    packets: int,
    capture: Path,
) -> list[Row]:
    """Condense the runs into medians, and set them against tshark."""
    medians = {name: median(items) for name, items in costs.items()}
    tshark = medians.get(TSHARK)
    made = []
    for name, cost in medians.items():
        reads = name not in (HELP, SMALL)
        compare = medians.get(FIELDS, tshark) if name in (EXPORT, TRACE) else tshark
        compare = compare if reads else None
        alone = medians.get(ALONE.get(name, ""))
        made.append(
            Row(
                name=name,
                command=shown(commands[name], capture),
                runs=len(costs[name]),
                cost=cost,
                packets_per_cpu_s=packets / cost.cpu_s if reads else None,
                bytes_per_cpu_s=capture.stat().st_size / cost.cpu_s if reads else None,
                cpu_tshark_ratio=compare.cpu_s / cost.cpu_s if compare else None,
                memory_tshark_ratio=compare.peak_bytes / cost.peak_bytes if compare else None,
                alone_ratio=cost.wall_s / alone.wall_s if alone else None,
            )
        )
    return made


def median(costs: Sequence[Cost]) -> Cost:
    """Take the median of each figure by itself."""
    return Cost(
        cpu_s=statistics.median(cost.cpu_s for cost in costs),
        wall_s=statistics.median(cost.wall_s for cost in costs),
        peak_bytes=round(statistics.median(cost.peak_bytes for cost in costs)),
    )


def shown(command: Sequence[str], capture: Path) -> str:
    """Write a command without the paths of this machine."""
    names = {str(capture): capture.name, str(SAMPLE): f"samples/{SAMPLE.name}", DRAIN: "<drain>"}
    names |= {sys.executable: "python", command[0]: Path(command[0]).stem}
    names |= {str(capture.with_name(name)): name for name in WRITTEN}
    names |= {str(capture) + ending: capture.name + ending for ending in COMPRESSORS.values()}
    return " ".join(names.get(word, word) for word in command)


def table(result: Result) -> str:
    """Lay the result out as text, fit for docs/benchmarks.md as it is."""
    megabytes = result.bytes / 1e6
    lines = [
        f"{result.date}, {result.machine}",
        ", ".join(f"{name} {version}" for name, version in result.versions.items()),
        f"{result.generator}: {result.packets:,} packets, {megabytes:,.0f} MB, "
        f"{result.calls:,} calls; medians of {result.rows[0].runs} runs",
        "",
        f"{'':18}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}{'packets':>12}{'MB':>8}"
        f"{'CPU':>9}{'memory':>9}",
        f"{'':18}{'':8}{'':8}{'':9}{'/CPU s':>12}{'/CPU s':>8}{'÷ tshark':>9}{'÷ tshark':>9}",
    ]
    for row in result.rows:
        cost = row.cost
        line = f"{row.name:18}{cost.cpu_s:8.2f}{cost.wall_s:8.2f}{cost.peak_bytes / 1e6:9.0f}"
        if row.packets_per_cpu_s is not None and row.bytes_per_cpu_s is not None:
            line += f"{row.packets_per_cpu_s:12,.0f}{row.bytes_per_cpu_s / 1e6:8,.0f}"
        if row.cpu_tshark_ratio is not None and row.memory_tshark_ratio is not None:
            line += f"{'1/' + format(row.cpu_tshark_ratio, '.1f'):>9}"
            line += f"{'1/' + format(row.memory_tshark_ratio, '.1f'):>9}"
        lines.append(line)
    lines.append("")
    lines += [
        f"{row.name}: {row.alone_ratio:.2f} of the time by the clock that {ALONE[row.name]} takes"
        for row in result.rows
        if row.alone_ratio is not None
    ]
    lines += [f"WRONG: {sentence}" for sentence in result.differences] or [
        "answers: as the generator wrote them"
    ]
    return "\n".join(lines) + "\n"


def versions(commands: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Versions of what was measured."""
    found = {"Python": platform.python_version()}
    found["pcapnfs"] = run([*commands[HELP][:-1], "--version"]).split()[-1]
    if TSHARK in commands:
        found["tshark"] = run([commands[TSHARK][0], "--version"]).split()[2]
    return found


def machine() -> str:
    """Cores that this process may use, what they are, and how busy they were before."""
    usable = getattr(os, "sched_getaffinity", None)
    cores = len(usable(0)) if usable else os.cpu_count()
    load = os.getloadavg()[0]
    return f"{cores} cores, {processor()}, {platform.system()}, load {load:.1f} before"


def processor() -> str:
    """Name of the processor, or its architecture where Linux does not tell."""
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def say(sentence: str) -> None:
    """Tell the user what is going on."""
    sys.stderr.write(f"· {sentence}\n")


if __name__ == "__main__":
    sys.exit(main())
