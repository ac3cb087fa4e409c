"""Numbers of statuses that analyses ask for."""

from __future__ import annotations

NOENT = 2
"""NFS3ERR_NOENT and NFS4ERR_NOENT: there is no such name (RFC 1813 section 2.6, RFC 8881 section
15.1)."""
