"""The proof over the corpus: what is redacted tells the same, and none of what it must not tell.

Without `PCAPNFS_FULL_PROOF=1` only captures up to `SMALL` bytes are taken, and some larger ones.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pcapnfs import redaction
from tests.oracles.corpus import Capture, lab_captures, other_captures, require_corpus
from tests.oracles.tshark import require_tshark
from tests.redact import leaks
from tests.redact.compare import differences
from tests.redact.test_samples import KEY

SMALL = 100_000
"""Bytes of a capture that is always taken."""

ALWAYS = {"mix-v42", "k61-sec-krb5p-v3", "sec-tls-v42", "loss-v42-server"}
"""Larger ones that are: every procedure, what is sealed, what was lost."""

FULL = os.environ.get("PCAPNFS_FULL_PROOF") == "1"


def _chosen() -> list[Capture | None]:
    captures = [*lab_captures(), *other_captures()]
    return [
        capture
        for capture in captures
        if FULL
        or capture.name in ALWAYS
        or sum(path.stat().st_size for path in capture.files) <= SMALL
    ] or [None]


_EACH = pytest.mark.parametrize("capture", _chosen(), ids=lambda one: one.name if one else "none")


@_EACH
def test_a_redacted_capture_tells_the_same_and_no_secret(
    capture: Capture | None, tmp_path: Path
) -> None:
    require_corpus()
    require_tshark()
    assert capture is not None
    wanted = list(leaks.secrets(capture.files, capture.truth_file, capture.ports))
    for path in capture.files:
        plain, packed = tmp_path / path.name, tmp_path / f"{path.name}.gz"
        if path.suffix in (".gz", ".zst"):
            plain = tmp_path / path.stem
        redaction.redact(path, plain, key=KEY, ports=capture.ports)
        assert differences(path, plain) == []
        assert leaks.found(wanted, plain.read_bytes(), path.read_bytes()) == []
        assert leaks.addresses(path, capture.ports) & leaks.addresses(plain) == set()
        redaction.redact(path, packed, key=KEY, ports=capture.ports, overwrite=True)
        assert leaks.found(wanted, packed.read_bytes()) == []
