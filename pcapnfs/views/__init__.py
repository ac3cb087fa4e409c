"""Results made visible: a result goes in; a renderable, a document or a text comes out.

A view computes nothing and knows nothing of captures; only `units` turns a number into text, and
every text from a capture goes through `text.escape`.

Views are modules of this package, imported when they are first named: a screen needs `rich`, which
takes longer to import than many a question to answer, and a document does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from pcapnfs.views import (
        annotate,
        budget,
        caching,
        compare,
        decoded,
        estimate,
        findings,
        listings,
        network,
        patterns,
        screen,
        sequence,
        show,
        sizes,
        verify,
    )

__all__ = [
    "annotate",
    "budget",
    "caching",
    "compare",
    "decoded",
    "estimate",
    "findings",
    "listings",
    "network",
    "patterns",
    "screen",
    "sequence",
    "show",
    "sizes",
    "verify",
]


def __getattr__(name: str) -> ModuleType:
    """Import a view."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"{__name__}.{name}")
