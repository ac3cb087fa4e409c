"""For each rule a file: whether the truth about a lab capture makes its finding due.

A file is named like its rule and has a function `expected`, from a `Capture` to an `Expected`. It
judges by the truth file alone (mount options, export options, disk, network, the kernels' counters,
trees), never by what pcapnfs says.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module

from tests.oracles.corpus import Capture


class Expected(StrEnum):
    """Whether a finding is due."""

    MUST = "must"
    """The truth says that it is so, and the capture has enough of it."""
    MAY = "may"
    """The truth does not decide: too little of it, at the edge, or not in the truth file."""
    NEVER = "never"
    """The truth says that it is not so."""


def expectation(rule: str) -> Callable[[Capture], Expected]:
    """What is expected of a rule.

    Raises:
        ModuleNotFoundError: The rule has no file here.
    """
    module = import_module(f"tests.oracles.expected.{rule}")
    expected: Callable[[Capture], Expected] = module.expected
    return expected
