"""Generated pages are up to date, and every field of every result says what it means."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

import pcapnfs.analyses
from pcapnfs.record import Record
from tests.unit.rows import ROOT


def load(path: str) -> ModuleType:
    """A script of the repository, which is no part of the package."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = load("docs/generate.py")

OTHERS = (
    "pcapnfs.summary",
    "pcapnfs.meta",
    "pcapnfs.schema",
    "pcapnfs.verify.verification",
    "pcapnfs.verify.dissection",
    "pcapnfs.synth.simulation.truth",
    "pcapnfs.synth.simulation.options",
)
"""Modules beside the analyses whose results are written as JSON."""


def results() -> list[type]:
    """The records of all analyses, of the summary, the schema and the metadata."""
    names = [
        module.name
        for module in pkgutil.walk_packages(pcapnfs.analyses.__path__, "pcapnfs.analyses.")
    ]
    modules = [importlib.import_module(name) for name in [*names, *OTHERS]]
    found = {
        value: None
        for module in modules
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, Record) and value.__module__ == module.__name__
    }
    return list(found)


def test_every_field_of_every_result_has_its_meaning() -> None:
    assert len(results()) >= 15
    for result in results():
        for name, text in generate.field_docs(result).items():
            assert text.endswith((".", "…")), f"{result.__name__}.{name}: {text}"


def test_fields_that_can_be_none_say_when() -> None:
    for result in results():
        documented = generate.field_docs(result)
        for name, hint in inspect.get_annotations(result).items():
            if "None" in str(hint):
                assert any(word in documented[name] for word in ("None", "likewise")), (
                    f"{result.__name__}.{name}"
                )


def test_results_are_frozen_and_have_slots() -> None:
    for result in results():
        assert result.__struct_config__.frozen, result.__name__  # type: ignore[attr-defined]
        assert result.__dictoffset__ == 0, result.__name__


def test_a_field_without_meaning_is_found() -> None:
    class Silent(Record):
        told: int
        """Something."""
        untold: int

    with pytest.raises(KeyError, match="untold"):
        generate.field_docs(Silent)


@pytest.mark.parametrize("name", generate.PAGES)
def test_generated_pages_are_up_to_date(name: str) -> None:
    assert generate.main(["--check", name]) == 0


def test_what_the_oldest_dependencies_are_not_asked_is_a_test() -> None:
    """Else it would be asked under another name."""
    path, _, test = str(load("dev.py").HELP_PAGE).partition("::")
    name, _, page = test.removesuffix("]").partition("[")
    assert ROOT / path == Path(__file__)
    assert callable(globals()[name])
    assert page in generate.PAGES


def test_a_page_that_is_out_of_date_is_told(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate, "HERE", tmp_path)
    assert generate.main(["--check", "json"]) == 1
    assert "json.md is out of date" in capsys.readouterr().err
    assert generate.main(["json"]) == 0
    assert generate.main(["--check", "json"]) == 0
    assert generate.main(["nonsense"]) == 2


def test_pages_of_the_decoder_are_built_from_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {
        "schema": [
            {
                "name": "calls",
                "meaning": "A call.",
                "columns": [
                    {
                        "name": "srt",
                        "sql": "BIGINT",
                        "nullable": True,
                        "unit": "ns",
                        "meaning": "Service | time.",
                    }
                ],
            }
        ],
        "operations": [
            {
                "protocol": "nfs3",
                "number": 1,
                "name": "GETATTR",
                "first_minor": 0,
                "subject": "Object",
                "effect": "Keep",
                "stability": "Unstable",
                "rank": 1,
                "small": True,
                "source": "RFC 1813 3.3.1",
                "decoded": False,
            }
        ],
        "attributes": [
            {"number": 4, "name": "size", "first_minor": 0, "kept": True},
            {"number": 12, "name": "acl", "first_minor": 0, "kept": False},
        ],
        "reasons": [{"code": "truncated", "meaning": " Cut. "}],
    }
    monkeypatch.setattr(generate, "_core", lambda function: json.dumps(told[function]))
    assert "| `srt` | BIGINT | ns | yes | Service \\| time. |" in generate.tables()
    assert (
        "| 1 | `GETATTR` | 0 | Object | Keep | Unstable | 1 | yes | counted only | RFC 1813 3.3.1 |"
        in generate.operations()
    )
    assert "| `GETATTR` | counted only | RFC 1813 3.3.1 |" in generate.coverage()
    assert "| `nfs3` | 1 | 0 |" in generate.coverage()
    assert "| 4 | `size` | 0 | kept |\n| 12 | `acl` | 0 | skipped |\n" in generate.coverage()
    assert "| `truncated` | Cut. |" in generate.reasons()


def test_every_command_and_option_is_in_the_page() -> None:
    page = generate.commands()
    for name in generate.command_names():
        assert f"## `pcapnfs {name}`" in page
    for option in (
        "--json",
        "--port",
        "--memory",
        "--top",
        "--sort",
        "--all",
        "--format",
        "--version",
    ):
        assert option in page
