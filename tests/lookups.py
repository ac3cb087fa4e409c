"""What DuckDB looks for among packages that may be installed: with each value of a list anew."""

from __future__ import annotations

import sys
from collections import Counter

import pytest


class Lookups:
    """Counts what is looked for, and finds nothing."""

    def __init__(self) -> None:
        self._of: Counter[str] = Counter()

    @property
    def most(self) -> int:
        """How often the package was looked for that was looked for most."""
        return max(self._of.values(), default=0)

    def find_spec(self, name: str, *_where: object) -> None:
        self._of[name] += 1


def counted(monkeypatch: pytest.MonkeyPatch) -> Lookups:
    """Count from now on."""
    lookups = Lookups()
    for module in ("pandas", "pyarrow"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(sys, "meta_path", [lookups, *sys.meta_path])
    return lookups
