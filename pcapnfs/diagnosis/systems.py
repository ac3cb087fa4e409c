"""Which systems hosts say that they are, for advice that is for one of them.

Takes what they said of themselves (analyses/mounts/software.py). Most say nothing, and several may
be behind one address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pcapnfs.analyses.mounts.software import Kind
    from pcapnfs.diagnosis.material import Material


def is_linux(material: Material, client: str) -> bool:
    """Whether a client says that it is Linux: what others take by themselves is not its case."""
    return _linux(material.software.clients, client) == {True}


def is_other_client(material: Material, client: str) -> bool:
    """Whether a client, or one of those behind its address, says that it is another system."""
    return False in _linux(material.software.clients, client)


def is_other_server(material: Material, server: str) -> bool:
    """Whether a server says that it is another system, which does not have the tools of Linux.

    That of Linux itself says nothing.
    """
    return _linux(material.software.servers, server) == {False}


def _linux(kinds: Iterable[Kind], address: str) -> set[bool]:
    """Of each software that a host says that it is, whether that is Linux."""
    return {kind.software.startswith("Linux") for kind in kinds if address in kind.addresses}
