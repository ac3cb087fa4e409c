"""A client's caches: what it asks the server, and what it believes to know.

Attributes of a file are good for a while that begins at acregmin (acdirmin) and doubles up to
acregmax (acdirmax) each time they turn out unchanged, as a Linux client does it.  Data is good as
long as the change attribute is the one it was read with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pcapnfs.synth.simulation.exchange import Work
from pcapnfs.synth.simulation.filesystem import Node
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.protocol3 import Protocol3
from pcapnfs.synth.simulation.protocol4 import Protocol4

Server = Protocol3 | Protocol4
"""What a client can ask."""


@dataclass(slots=True)
class _Known:
    """What the client knows of a file."""

    change: int
    until_ns: int
    """When the attributes are no longer believed."""
    timeout_ns: int
    data: int | None = None
    """The change attribute with which its data was read; None: it was not."""


class Client:
    """A mount, shared by all threads."""

    def __init__(self, server: Server, options: Options, clock: Callable[[], int]) -> None:
        self.server = server
        self._options = options
        self._clock = clock
        self._known: dict[int, _Known] = {}

    def stat(self, node: Node) -> Work:
        """Attributes, from the cache while they are good."""
        known = self._known.get(node.fileid)
        if known is None or self._clock() >= known.until_ns:
            self.learn(node, (yield from self.server.getattr(node)))

    @property
    def now_ns(self) -> int:
        """What the clock says, nanoseconds since 1970."""
        return self._clock()

    def learn(self, node: Node, change: int) -> None:
        """Attributes came."""
        least, most = self._timeouts(node)
        known = self._known.get(node.fileid)
        if known is None:
            self._known[node.fileid] = _Known(change, self._clock() + least, least)
            return
        known.timeout_ns = min(known.timeout_ns * 2, most) if known.change == change else least
        known.change = change
        known.until_ns = self._clock() + known.timeout_ns

    def read(self, directory: Node, name: str, node: Node) -> Work:
        """Open, read what is not cached, close."""
        self.learn(node, (yield from self.server.open(directory, name, node)))
        known = self._known[node.fileid]
        if known.data != known.change:
            for offset in range(0, node.size, self._options.rsize):
                count = min(self._options.rsize, node.size - offset)
                yield from self.server.read(node, offset, count)
            known.data = known.change
        yield from self.server.close(node)

    def write(self, node: Node, size: int) -> Work:
        """The whole file: one WRITE that is stable at once, or several and a COMMIT.

        With the mount option `sync` a stable one of what the program writes at a time.
        """
        wsize = self._options.wsize
        if self._options.sync:
            wsize = min(wsize, self._options.chunk)
            for offset in range(0, size, wsize):
                count = min(wsize, size - offset)
                yield from self.server.write(node, offset, count, stable=True)
            return
        for offset in range(0, size, wsize):
            count = min(wsize, size - offset)
            yield from self.server.write(node, offset, count, stable=size <= wsize)
        if size > wsize:
            yield from self.server.commit(node)

    def _timeouts(self, node: Node) -> tuple[int, int]:
        options = self._options
        if node.directory:
            return options.acdirmin_ns, options.acdirmax_ns
        return options.acregmin_ns, options.acregmax_ns
