"""What all tests share.

As the commands have it, what is missing is looked for once, cycles are looked for rarely, and numpy
starts no threads, which would wait busily.

DuckDB tries to import some libraries with each value that a query is given; where one is missing,
Python searches all its folders each time, which took most of the time that filling a table by hand
took. Where one is installed it is used.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from pcapnfs.__main__ import NEW_OBJECTS
from pcapnfs.cli.app import UNUSED
from tests.oracles.corpus import Capture

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

for name in UNUSED:
    if importlib.util.find_spec(name) is None:
        sys.modules[name] = None  # type: ignore[assignment]  # As the import system has it.

# A machine may be busy with something else for a while: how long an example takes says nothing.
settings.register_profile(
    "patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

# Thousands of tests stay in memory as long as their process: too much to look through so often.
gc.set_threshold(NEW_OBJECTS)


@pytest.fixture(scope="session", autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what commands remember of the one before out of the account that runs the tests.

    Processes that tests begin take as much memory as those of users: what the allocators of this
    one keep at hand (dev.py), theirs give back.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        for allocator in ("GLIBC_TUNABLES", "DUCKDB_JE_MALLOC_CONF"):
            patch.delenv(allocator, raising=False)
        yield


@pytest.fixture(scope="session")
def idle_bytes(tmp_path_factory: pytest.TempPathFactory) -> int:
    """What a process needs that decodes one call."""
    # Without the core, which this imports, tests that need it are skipped.
    from pcapnfs.synth.builder import Conversation, nfs3
    from tests.decoded import T, measure

    path = tmp_path_factory.mktemp("idle") / "one.pcap"
    Conversation().call(1, T, *nfs3.access(bytes(32))).capture().write(path)
    return measure(path)[0]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of a capture of the corpus together: they share its trace (oracles/opened.py).

    Before them those that would keep one process alone busy at the end; all else follows as it
    stands.
    """
    items.sort(key=lambda item: (not item.get_closest_marker("long"), _of(item) or "~"))


def _of(item: pytest.Item) -> str | None:
    """The name of the capture that a test is about; None where it is not about one."""
    if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
        for value in item.callspec.params.values():
            if isinstance(value, Capture):
                return value.name
    return None
