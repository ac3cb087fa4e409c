#!/usr/bin/env python3
"""Everything that is done to this repository, one command each.

    python3 dev.py try      install into .venv and summarize a bundled sample
    python3 dev.py check    format, lints, types, both test suites, generated pages
    python3 dev.py docs     write the generated pages, samples/README.md and golden files anew
    python3 dev.py fuzz     feed mutated input to each layer of the decoder, a minute each
    python3 dev.py oldest   the package's tests with the oldest dependencies that are allowed
    python3 dev.py wheel    a wheel in dist/ whose decoder is compiled by what it meets in samples

Needs Python 3.11 or newer and cargo; everything else is installed into .venv, for `oldest` into an
environment that is removed again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
BIN = VENV / SCRIPTS
LOCK = ROOT / "requirements.lock"
FUZZ = ROOT / "core" / "fuzz"
DIST = ROOT / "dist"
SAMPLE = "samples/k61-tar-v3.pcap"
OLDEST_PYTHON = (3, 11)
HELP_PAGE = "tests/unit/test_documentation.py::test_generated_pages_are_up_to_date[commands]"
"""The test that holds the page of commands against their help."""
MOST_WORKERS = 8
"""Tests at once: each may hold a capture of some size in memory."""
KEEPING = "glibc.malloc.tcache_count=4096"
"""Freed pieces of each size that glibc keeps at hand in tests, instead of seven: plans of queries
consist of small ones, and this spares a fifth of the tests' time."""
KEEPING_PAGES = "dirty_decay_ms:-1,muzzy_decay_ms:-1"
"""Has DuckDB's own allocator keep in tests what is freed, instead of giving it back to the system
and asking for it again: of a summary's page faults this spares a third."""


class UnusableError(Exception):
    """Something that this machine lacks, with what to do about it."""


def run(*command: str | Path, aside: bool = False, **variables: str) -> None:
    """Runs a command in the repository, with such variables; its failure is ours.

    What is done aside says what it has to say in one piece, at its end.
    """
    words = [str(word) for word in command]
    variables |= {"MATURIN_NO_INSTALL_RUST": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment = os.environ | variables
    # Where Python may not keep what it compiles, each command that a test runs takes twice as long.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if not aside:
        print("·", *words, flush=True)
        subprocess.run(words, cwd=ROOT, env=environment, check=True)
        return
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    print("\n·", *words)
    print(done.stdout, flush=True)
    done.check_returncode()


def require_tools() -> None:
    """Says in one sentence what is missing. Nothing is ever downloaded in its place."""
    if sys.version_info < OLDEST_PYTHON:
        raise UnusableError(f"pcapnfs needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    if shutil.which("cargo") is None:
        raise UnusableError(
            "cargo was not found: install Rust 1.88 or newer (https://rustup.rs, or your "
            "distribution's packages) and run this again"
        )


def environment(extras: str, venv: Path = VENV, versions: Path = LOCK) -> None:
    """Makes an environment if it is not there; installs the package with the versions given."""
    python = make(venv)
    run(python, "-m", "pip", "install", "-q", "-c", versions, "-e", f".{extras}")


def make(venv: Path) -> Path:
    """Makes an environment if it is not there; gives the path of its Python."""
    python = venv / SCRIPTS / "python"
    if not python.exists():
        try:
            run(sys.executable, "-m", "venv", venv)
        except subprocess.CalledProcessError:
            shutil.rmtree(venv, ignore_errors=True)
            raise UnusableError(
                "Python could not make a virtual environment: install its venv module "
                "(Debian: apt install python3-venv) and run this again"
            ) from None
    return python


def try_it() -> None:
    """Installs, and does the main job on a sample."""
    environment("")
    run(BIN / "pcapnfs", "summarize", SAMPLE)


def check() -> None:
    """Whether all is well: what CI runs, and nothing else."""
    require_components()
    run("cargo", "fmt", "--all", "--check")
    run("cargo", "fmt", "--manifest-path", FUZZ / "Cargo.toml", "--check")
    # Compilers often keep one processor alone busy: what they leave is the other's.
    with ThreadPoolExecutor(max_workers=1) as aside:
        core = [aside.submit(step) for step in (lint_core, test_core, fuzz_core)]
        try:
            for step in (check_style, partial(environment, "[dev]"), check_types, check_package):
                step()
                for begun in core:
                    if begun.done():
                        begun.result()
        except BaseException:
            aside.shutdown(wait=False, cancel_futures=True)
            raise
        for begun in core:
            begun.result()


def require_components() -> None:
    """Says which part of the toolchain is missing, before anything takes its time."""
    for component in ("fmt", "clippy"):
        if subprocess.run(["cargo", component, "--version"], capture_output=True).returncode != 0:
            raise UnusableError(
                f"cargo {component} is missing: rustup component add rustfmt clippy"
            )


def lint_core() -> None:
    """The crates: lints."""
    lints = ("--workspace", "--all-targets", "--locked", "--", "-D", "warnings")
    run("cargo", "clippy", *lints, aside=True)


def test_core() -> None:
    """The crates: tests."""
    # With the bindings, which have no tests, other crates would be compiled otherwise, and the fuzz
    # targets could not use them.
    run("cargo", "test", "-p", "pcapnfs-core", "--locked", aside=True)


def fuzz_core() -> None:
    """The crates: a few seconds of fuzzing."""
    if shutil.which(os.environ.get("CXX", "c++")):
        # That shows that the targets work, on inputs that are the same until something is changed;
        # `make fuzz` looks for what is wrong.
        quick = ("--quick", "--seed", "1", "--seconds", "2")
        run(sys.executable, FUZZ / "fuzz.py", *quick, aside=True)
    else:
        print("dev.py: no C++ compiler, so the decoder is not fuzzed", file=sys.stderr)


def check_style() -> None:
    """The Python files: format and lints, before anything is compiled that they do not need."""
    make(VENV)
    run(BIN / "python", "-m", "pip", "install", "-q", "-c", LOCK, "ruff")
    run(BIN / "ruff", "format", "--check", ".")
    run(BIN / "ruff", "check", ".")


def check_types() -> None:
    """The Python package with the core as installed: types."""
    run(BIN / "mypy")
    run(BIN / "python", "-m", "mypy.stubtest", "pcapnfs._core")


def check_package() -> None:
    """The Python package with the core as installed: tests, which compare the generated pages."""
    run_tests(BIN / "python")


def run_tests(python: Path, *options: str) -> None:
    """The tests of the Python package."""
    # Each worker takes what stands together, so that its tests share what a module makes for them.
    workers = ("-n", "auto", "--maxprocesses", str(MOST_WORKERS), "--dist", "worksteal")
    words = ("-m", "pytest", *workers, *options)
    run(python, *words, GLIBC_TUNABLES=KEEPING, DUCKDB_JE_MALLOC_CONF=KEEPING_PAGES)


def docs() -> None:
    """Writes what is generated."""
    environment("[dev]")
    run(BIN / "python", "docs/generate.py")
    run(BIN / "python", "samples/build.py", "--readme")
    run(BIN / "python", "tests/golden/regenerate.py")
    run(BIN / "python", "-m", "tests.oracles.survey")
    run(BIN / "python", "-m", "tests.oracles.validate")


def fuzz() -> None:
    """Needs a C++ compiler beside cargo: libFuzzer is built from source."""
    run(sys.executable, FUZZ / "fuzz.py")


def wheel() -> None:
    """A package to hand on: compiled, run on the samples, compiled again by what that showed."""
    require_profiles()
    shutil.rmtree(DIST, ignore_errors=True)
    os.environ["MATURIN_PGO"] = "1"
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", DIST, ".")
    print(f"dev.py: {', '.join(str(made.relative_to(ROOT)) for made in DIST.glob('*.whl'))}")


def require_profiles() -> None:
    """Says which tool is missing, or does not fit the compiler, before it has compiled anything."""
    compiler = said_by("rustc", "-vV").splitlines()
    facts = dict(line.split(": ", 1) for line in compiler if ": " in line)
    wanted = facts["LLVM version"].split(".")[0]
    sysroot = said_by("rustc", "--print", "sysroot").strip()
    own = Path(sysroot, "lib", "rustlib", facts["host"], "bin", "llvm-profdata")
    if own.exists() or f"LLVM version {wanted}." in said_by("llvm-profdata", "show", "--version"):
        return
    # Debian's has its version in the name of the directory alone.
    debian = Path(f"/usr/lib/llvm-{wanted}/bin")
    if (debian / "llvm-profdata").exists():
        os.environ["PATH"] = f"{debian}{os.pathsep}{os.environ['PATH']}"
        return
    raise UnusableError(
        f"llvm-profdata of LLVM {wanted} was not found: rustup component add llvm-tools "
        f"(Debian: apt install llvm-{wanted}) and run this again"
    )


def said_by(*command: str) -> str:
    """What a program prints; nothing where it is not there."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def oldest() -> None:
    """The tests of the package with the oldest version of each dependency, in a new environment."""
    import tomllib  # Python 3.10 has none; it is to read that it is too old.

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    allowed = [*project["dependencies"], *project["optional-dependencies"]["synth"]]
    lowest = {name: bound.split(",")[0] for name, bound in (each.split(">=") for each in allowed)}
    others = [
        line
        for line in LOCK.read_text(encoding="utf-8").splitlines()
        if "==" in line and line.split("==")[0] not in lowest
    ]
    with tempfile.TemporaryDirectory(prefix="oldest-") as name:
        directory = Path(name)
        versions = directory / "constraints.txt"
        pinned = [f"{package}=={version}" for package, version in lowest.items()]
        versions.write_text("\n".join([*others, *pinned, ""]), encoding="utf-8")
        venv = directory / "venv"
        environment("[dev]", venv, versions)
        run_tests(
            venv / SCRIPTS / "python",
            # They meet packages of today that have deprecated what they call.
            *("-W", "ignore::DeprecationWarning"),
            # The page has the help as the locked typer lays it out.
            *("--deselect", HELP_PAGE),
        )


COMMANDS = {
    "try": try_it,
    "check": check,
    "docs": docs,
    "fuzz": fuzz,
    "oldest": oldest,
    "wheel": wheel,
}


def main(words: list[str]) -> int:
    """Runs the command that is named; 2 for a wrong one."""
    if len(words) != 1 or words[0] not in COMMANDS:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        require_tools()
        COMMANDS[words[0]]()
    except UnusableError as problem:
        print(f"dev.py: {problem}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failure:
        print(f"dev.py: failed: {' '.join(failure.cmd)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
