"""Whether names were looked up again because somebody else changed their directory.

The kernel counts LOOKUPs, but not for which of them it had known the name.
"""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations

LEAST = 50
"""LOOKUPs below which the rule has nothing to say."""


def expected(capture: Capture) -> Expected:
    """Only where a client looks up that many names, and is not alone at the server."""
    for truth in capture.truths():
        # A pause has a dash; what the server does is said in more words than one.
        who = {step["who"] for step in truth["steps"]} - {"-"}
        if operations(truth)["LOOKUP"] >= LEAST and len(who) > 1:
            return Expected.MAY
    return Expected.NEVER
