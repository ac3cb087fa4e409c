"""Files whose paths are long: no reader has to hold many of them at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from pcapnfs.decoding import decode
from pcapnfs.synth.builder import Conversation, nfs3
from pcapnfs.synth.builder.nfs3 import Fattr3
from pcapnfs.synth.builder.rpc import Request

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
NAME = "n" * 250
DEPTH, FILES = 20, 10_000

DEEP, DIRECTORIES, ROUNDS = 16, 2_000, 20_000
LIMIT_MB, BEYOND_MB = 160, 100
"""A limit, and what a process may take beside it: commands take up to 230 MB together, and have no
room for all paths."""

PIECE_BYTES = 2 << 20
"""What DuckDB takes at once for the paths of a row group, at most, where they are long; see
`core/src/table/parquet/mod.rs`."""


def test_row_groups_of_long_paths_are_small(tmp_path: Path) -> None:
    """A column of a row group is read as a whole."""
    talk = Conversation()
    handles = [number.to_bytes(32, "big") for number in range(DEPTH + FILES + 1)]
    for number in range(DEPTH + FILES):
        name = NAME if number < DEPTH else f"{number}"
        talk.call(number, number * MS, *nfs3.lookup(handles[min(number, DEPTH)], name))
        talk.reply(number, number * MS + MS // 2, nfs3.results.lookup(handles[number + 1]))
    capture = talk.capture().write(tmp_path / "long.pcap")
    decode([capture], tmp_path / "long.nfstrace")
    stored = tmp_path / "long.nfstrace" / "files.parquet"
    sizes = duckdb.sql(
        "select row_group_num_rows, total_uncompressed_size "
        f"from parquet_metadata('{stored}') where path_in_schema = 'path'"
    ).fetchall()
    assert sum(rows for rows, _ in sizes) > FILES
    assert sum(size for _, size in sizes) > 2 * PIECE_BYTES
    assert max(size for _, size in sizes) < PIECE_BYTES


def of(number: int) -> bytes:
    return number.to_bytes(32, "big")


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """90 MB of paths, in a capture that gives each analysis files to tell."""
    talk = Conversation()
    xid = moment = 0

    def ask(request: Request, reply: bytes | None) -> None:
        nonlocal xid, moment
        xid, moment = xid + 1, moment + MS
        talk.call(xid, moment, *request)
        if reply is not None:
            talk.reply(xid, moment + MS // 2, reply)

    for level in range(DEEP):
        ask(nfs3.lookup(of(level), NAME), nfs3.results.lookup(of(level + 1)))
    for number in range(DIRECTORIES):
        place = of(1000 + number)
        ask(nfs3.lookup(of(DEEP), f"d{number}"), nfs3.results.lookup(place))
    for number in range(ROUNDS):
        file, place = of(100_000 + number), of(1000 + number % DIRECTORIES)
        ask(nfs3.lookup(place, f"f{number}"), nfs3.results.lookup(file))
        ask(nfs3.lookup(place, f"none{number % 50}"), nfs3.results.lookup(status=2))
        kind = number % 4
        if kind == 0:
            ask(nfs3.read(file, 0, 100), nfs3.results.read(status=13))
        elif kind == 1:
            ask(nfs3.getattr_(file), nfs3.results.getattr_(status=10008))
            ask(nfs3.getattr_(file), nfs3.results.getattr_(Fattr3(fileid=1000 + number)))
        elif kind == 2:
            ask(nfs3.access(file), None)
        else:
            request = nfs3.rename(place, f"f{number}", place, f".nfs{number:024x}")
            ask(request, nfs3.results.rename())
    return talk.capture().write(tmp_path_factory.mktemp("long") / "deep.pcap")


def run(*arguments: str) -> tuple[subprocess.CompletedProcess[str], int]:
    """Run a command under the limit; gives what it said, and the MB that it took at most."""
    program = (
        "import pathlib, re, sys; from pcapnfs.cli import app; code = app.run(sys.argv[1:]); "
        "status = pathlib.Path('/proc/self/status').read_text(); "
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) // 1024, file=sys.stderr); "
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments, "--memory", f"{LIMIT_MB}M"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done, int(done.stderr.split()[-1])


@pytest.mark.parametrize(
    "command",
    [
        "summarize {}",
        "perfile {} --top 0",
        "perfile {} --top 0 --json",
        "perfile {} --by directory --json",
        "compare {} {} --json",
        "compare {} {} --top 0",
        "sequence {} --file f8 --json",
        "show {} 100 --json",
        "export {} --table files --format jsonl",
        "export {} --table files --format csv",
    ],
)
def test_memory_stays_within_the_limit(deep: Path, command: str) -> None:
    done, taken = run(*command.format(deep, deep).split())
    assert done.returncode == 0, done.stderr
    assert taken <= LIMIT_MB + BEYOND_MB


def test_no_file_that_is_like_what_was_asked_for(deep: Path) -> None:
    done, taken = run("sequence", str(deep), "--file", "nothing/such")
    assert done.returncode == 2, done.stderr
    assert taken <= LIMIT_MB + BEYOND_MB


def test_files_come_in_the_order_of_their_paths(deep: Path) -> None:
    done, _ = run("perfile", str(deep), "--sort", "name", "--top", "0", "--json")
    paths = [file["path"] for file in json.loads(done.stdout)["files"]]
    assert len(paths) > ROUNDS
    assert paths == sorted(paths)
