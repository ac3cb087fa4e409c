"""Whether Kerberos contexts took long to make: only where the mount has any."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options


def expected(capture: Capture) -> Expected:
    """The kernel counts neither these calls nor what they took."""
    kerberos = any(each.get("sec", "").startswith("krb5") for each in all_options(capture))
    return Expected.MAY if kerberos else Expected.NEVER
