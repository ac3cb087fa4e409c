"""How sure something is that packets do not say in so many words."""

from __future__ import annotations

from typing import Literal

Confidence = Literal["certain", "likely", "possible"]
"""`certain`: the packets say so themselves. `likely`: they have no other common cause. `possible`:
there is another one, or there is little data."""
