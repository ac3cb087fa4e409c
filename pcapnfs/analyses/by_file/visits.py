"""Which calls about a file belong together: one visit of a program."""

from __future__ import annotations

from pcapnfs.units import NANOSECONDS

TOGETHER_S = 1.0
"""Calls of one client that are closer together belong to one visit: a program that opens a file
makes some clients ask several times, but only one reading is saved. What a client has known for
less is surely fresh: the smallest timeout that is not 0 is a second."""

TOGETHER_NS = int(TOGETHER_S * NANOSECONDS)
"""The same, nanoseconds."""
