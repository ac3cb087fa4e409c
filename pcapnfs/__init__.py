"""Explains from a packet capture why an NFS mount is slow.

`open` decodes captures into a `Trace`, `decode` into one on disk; `summarize` answers the first
questions, `findings` says what is wrong, `patterns`, `sequence`, `perfile`, `pergroup` and `sizes`
answer those about files, `readdir` and `cache` those about listings and caches, `time_budget` where
the clock went, `model` what the run time is made of and would be, `compare` what changed from one
trace to another; `Trace.sql` takes all others. `to_json` writes any of these answers as the command
of the same name does with `--json`.
Heavy libraries are imported when a name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pcapnfs.errors import CaptureError, PcapnfsError, UsageError, WriteError

if TYPE_CHECKING:
    from pcapnfs.analyses.by_file.patterns import patterns
    from pcapnfs.analyses.by_file.perfile import perfile
    from pcapnfs.analyses.by_file.pergroup import pergroup
    from pcapnfs.analyses.by_file.sequence import sequence
    from pcapnfs.analyses.by_file.sizes import sizes
    from pcapnfs.analyses.caching.cache import cache
    from pcapnfs.analyses.forecasts.model import Model, model
    from pcapnfs.analyses.forecasts.overrides import Overrides
    from pcapnfs.analyses.namespace.readdir import readdir
    from pcapnfs.analyses.times.time_budget import time_budget
    from pcapnfs.analyses.wire.network import network
    from pcapnfs.comparison.comparing import Comparison, compare
    from pcapnfs.decoding import decode
    from pcapnfs.diagnosis.judging import findings
    from pcapnfs.opening import open
    from pcapnfs.summary import Summary, summarize
    from pcapnfs.trace import Trace
    from pcapnfs.views.document import to_json

__version__ = "0.1.0"

__all__ = [
    "CaptureError",
    "Comparison",
    "Model",
    "Overrides",
    "PcapnfsError",
    "Summary",
    "Trace",
    "UsageError",
    "WriteError",
    "__version__",
    "cache",
    "compare",
    "decode",
    "findings",
    "model",
    "network",
    "open",
    "patterns",
    "perfile",
    "pergroup",
    "readdir",
    "sequence",
    "sizes",
    "summarize",
    "time_budget",
    "to_json",
]

_HOMES = {
    "Comparison": "pcapnfs.comparison.comparing",
    "Model": "pcapnfs.analyses.forecasts.model",
    "Overrides": "pcapnfs.analyses.forecasts.overrides",
    "Summary": "pcapnfs.summary",
    "Trace": "pcapnfs.trace",
    "cache": "pcapnfs.analyses.caching.cache",
    "compare": "pcapnfs.comparison.comparing",
    "findings": "pcapnfs.diagnosis.judging",
    "network": "pcapnfs.analyses.wire.network",
    "model": "pcapnfs.analyses.forecasts.model",
    "decode": "pcapnfs.decoding",
    "open": "pcapnfs.opening",
    "patterns": "pcapnfs.analyses.by_file.patterns",
    "perfile": "pcapnfs.analyses.by_file.perfile",
    "pergroup": "pcapnfs.analyses.by_file.pergroup",
    "readdir": "pcapnfs.analyses.namespace.readdir",
    "sequence": "pcapnfs.analyses.by_file.sequence",
    "sizes": "pcapnfs.analyses.by_file.sizes",
    "summarize": "pcapnfs.summary",
    "time_budget": "pcapnfs.analyses.times.time_budget",
    "to_json": "pcapnfs.views.document",
}


def __getattr__(name: str) -> object:
    """Import a public name from its home at its first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The names that there are, used before or not (PEP 562)."""
    return sorted({*globals(), *_HOMES})
