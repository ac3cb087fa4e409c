"""The server's files: what names there are, what changed when.

Takes changes with their time; gives nodes with the attributes and contents that both protocols
show.
"""

from __future__ import annotations

from dataclasses import dataclass, field

ENTRIES = 100
"""Entries in a reply to READDIR or READDIRPLUS."""

VERIFIER = b"synthver"
"""The server's write verifier: it never restarts."""


@dataclass(slots=True, eq=False)
class Node:
    """A file or directory."""

    fileid: int
    path: str
    """Below the export; `.` is the export itself."""
    directory: bool
    mode: int
    size: int = 0
    change: int = 1
    modified_ns: int = 0
    changed_ns: int = 0
    entries: dict[str, Node] = field(default_factory=dict)
    """Of a directory: what is in it, in order of creation."""

    @property
    def handle(self) -> bytes:
        """A file handle of 28 bytes, as Linux servers make them."""
        return b"\x01\x00\x07\x01synth-export-fsid" + self.fileid.to_bytes(7, "big")

    def touch(self, now_ns: int, *, data: bool = True) -> None:
        """A change of data, or of attributes alone, at this moment."""
        self.change += 1
        self.changed_ns = now_ns
        if data:
            self.modified_ns = now_ns

    def child(self, name: str) -> str:
        """The path of a name in this directory."""
        return name if self.path == "." else f"{self.path}/{name}"


class FileSystem:
    """One export."""

    def __init__(self, start_ns: int) -> None:
        self.root = Node(2, ".", True, 0o755, 4096, 1, start_ns, start_ns)
        self._next = 3

    def add(
        self, directory: Node, name: str, now_ns: int, *, folder: bool = False, size: int = 0
    ) -> Node:
        """A new file or directory."""
        mode = 0o755 if folder else 0o644
        node = Node(
            self._next,
            directory.child(name),
            folder,
            mode,
            4096 if folder else size,
            1,
            now_ns,
            now_ns,
        )
        self._next += 1
        directory.entries[name] = node
        directory.touch(now_ns)
        return node

    def remove(self, directory: Node, name: str, now_ns: int) -> None:
        """Take a name away."""
        del directory.entries[name]
        directory.touch(now_ns)


def contents(node: Node, offset: int, count: int) -> bytes:
    """What a file holds there, up to its end."""
    return contents_of(node, offset, max(0, min(count, node.size - offset)))


def contents_of(node: Node, offset: int, count: int) -> bytes:
    """Bytes that tell file and place apart, so that no two segments look alike."""
    unit = b"%08x%08x" % (node.fileid, offset & 0xFFFFFFFF)
    return (unit * (-(-count // len(unit))))[:count]
