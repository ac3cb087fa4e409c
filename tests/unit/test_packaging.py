"""What a build is trained on that a profile guides: it must run, and go through what users do."""

from __future__ import annotations

import importlib.util
import shlex
import tomllib
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from pcapnfs import _core, decoding, summary
from tests.unit.rows import ROOT

SAMPLE = "published-v3-tar.pcap"


def test_the_training_that_the_project_names_decodes_writes_and_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    python, script = shlex.split(project["tool"]["maturin"]["pgo-command"])
    assert python == "python"
    spec = importlib.util.spec_from_file_location("train", ROOT / script)
    assert spec is not None
    assert spec.loader is not None
    training = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(training)
    # Each sample is met: one of them is enough to see what is done with it.
    assert (training.SAMPLES / SAMPLE).is_file()
    (tmp_path / SAMPLE).write_bytes((training.SAMPLES / SAMPLE).read_bytes())
    monkeypatch.setattr(training, "SAMPLES", tmp_path)
    done: Counter[str] = Counter()

    def counted(module: ModuleType, name: str) -> None:
        meant = getattr(module, name)

        def count(*args: object, **options: object) -> object:
            done[name] += 1
            return meant(*args, **options)

        monkeypatch.setattr(module, name, count)

    for module, name in ((_core, "Decoder"), (decoding, "write"), (summary, "summarize")):
        counted(module, name)
    training.train()
    assert done["Decoder"] >= training.DECODES
    assert (done["write"], done["summarize"]) == (2, 1)
