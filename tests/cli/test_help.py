"""Help and completion: every command shows an example that it takes, and a shell can complete."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from pcapnfs.cli.app import COMMANDS, app, run
from tests.unit.rows import ROOT

NAMES = [command.__name__ for command, _ in COMMANDS]

WIDTH = 80

Printed = pytest.CaptureFixture[str]


def shown(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> list[str]:
    """The lines of a help text on a narrow terminal."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    assert run([*arguments, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    return lines


@pytest.mark.parametrize("name", NAMES)
def test_every_command_shows_an_example_that_it_takes(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    lines = shown([name], monkeypatch, capsys)
    (example,) = [line.strip() for line in lines if line.strip().startswith("Example: ")]
    program, command, *arguments = shlex.split(example.removeprefix("Example: "))
    assert (program, command) == ("pcapnfs", name)
    # Read as the command itself would read it: a wrong option or a missing argument raises.
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    parsed = commands[name].make_context(name, arguments)
    assert parsed.params


def test_the_list_of_commands_cuts_no_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    lines = shown([], monkeypatch, capsys)
    listed = dict(line.split(maxsplit=1) for line in lines[lines.index("Commands:") + 1 :])
    assert listed == {command.__name__: line for command, line in COMMANDS}


def shell(arguments: str, **variables: str) -> str:
    """What the program prints when a shell calls it to complete."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run(
        [sys.executable, "-m", "pcapnfs", *shlex.split(arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pcapnfs su", {"summarize"}),
        ("pcapnfs re", {"report", "readdir", "redact"}),
        ("pcapnfs report --re", {"--redact"}),
        ("pcapnfs annotate --f", {"--force"}),
        ("pcapnfs report --format ", {"html", "md", "json"}),
        # Nothing of ours: the shell completes names of files.
        ("pcapnfs summarize ", set()),
    ],
)
def test_bash_completes_commands_options_and_choices(words: str, expected: set[str]) -> None:
    told = shell(
        "",
        _PCAPNFS_COMPLETE="complete_bash",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split(" ")) - 1),
    )
    assert set(told.split()) == expected


def test_show_completion_prints_a_script_that_bash_runs(tmp_path: Path) -> None:
    # Which shell it is, is told by the processes above; in a test there may be none.
    script = shell("--show-completion bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "complete -o default -F _pcapnfs_completion pcapnfs" in script
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    program = tmp_path / "pcapnfs"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pcapnfs "$@"\n')
    program.chmod(0o755)
    asked = (
        f"{script}\nCOMP_WORDS=(pcapnfs fin) COMP_CWORD=1\n"
        f"_pcapnfs_completion {shlex.quote(str(program))}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        [bash, "-c", asked],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert done.stdout.split() == ["findings"]
