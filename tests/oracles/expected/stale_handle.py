"""Whether handles went stale: files removed or replaced on the server, by the steps."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """Behind the client's back: replaced while the client knows it; or by another client."""
    truth = capture.truths()[0]
    labels = {step.get("label", "") for step in truth["steps"]}
    if "replace (mv) on the server" in truth["description"]:
        # The status lies behind the header of RPC and the first operations.
        return Expected.MUST if capture.full else Expected.MAY
    if "stale-remove" in labels:
        # In NFSv4 the open file keeps its handle valid on this server.
        return Expected.MUST if capture.version == "3" else Expected.MAY
    return Expected.MAY if len(truth["clients"]) > 1 else Expected.NEVER
