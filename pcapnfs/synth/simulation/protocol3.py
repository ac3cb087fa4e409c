"""What a client of NFSv3 can ask, as exchanges with the simulated server (RFC 1813)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pcapnfs.synth.builder import mount3, nfs3
from pcapnfs.synth.builder.nfs3 import Fattr3, Sattr3, Wcc
from pcapnfs.synth.builder.nfs3.results import Entry
from pcapnfs.synth.builder.rpc import Request
from pcapnfs.synth.simulation.exchange import (
    READ,
    STABLE,
    STATE,
    UNSTABLE,
    UNSTABLE_WRITE,
    Answer,
    Exchange,
    Slot,
    Work,
)
from pcapnfs.synth.simulation.filesystem import (
    ENTRIES,
    VERIFIER,
    FileSystem,
    Node,
    contents,
    contents_of,
)
from pcapnfs.synth.simulation.options import Options

EXPORT = "/export"
"""The directory that is mounted."""

NOENT = 2
"""NFS3ERR_NOENT."""


class Protocol3:
    """Exchanges of one client with one file system."""

    def __init__(self, files: FileSystem, options: Options) -> None:
        self._files = files
        self._options = options

    def mount(self) -> Work:
        """MNT, FSINFO, PATHCONF; the value is the root."""
        root = self._files.root
        yield _exchange(
            "MNT",
            None,
            mount3.mnt(EXPORT),
            lambda _: mount3.mnt_reply(root.handle),
            stability=STATE,
        )
        yield _exchange(
            "FSINFO", ".", nfs3.fsinfo(root.handle), lambda _: nfs3.results.fsinfo(
                self._options.rsize, self._options.wsize, attributes=attributes(root)
            ),
        )  # fmt: skip
        yield _exchange(
            "PATHCONF",
            ".",
            nfs3.pathconf(root.handle),
            lambda _: nfs3.results.pathconf(attributes=attributes(root)),
        )
        return root

    def lookup(self, directory: Node, name: str) -> Work:
        """LOOKUP: the node, or None."""

        def serve(_slot: Slot, _now_ns: int) -> Answer:
            node = directory.entries.get(name)
            if node is None:
                body = nfs3.results.lookup(directory=attributes(directory), status=NOENT)
            else:
                body = nfs3.results.lookup(node.handle, attributes(node), attributes(directory))
            return Answer(body, node)

        path = directory.child(name)
        return (yield Exchange("LOOKUP", path, _built(nfs3.lookup(directory.handle, name)), serve))

    def getattr(self, node: Node) -> Work:
        """GETATTR: the change (here: of size, mtime and ctime)."""
        return (
            yield _exchange(
                "GETATTR",
                node.path,
                nfs3.getattr_(node.handle),
                lambda _: nfs3.results.getattr_(attributes(node)),
                lambda: node.change,
            )
        )

    def access(self, node: Node) -> Work:
        """ACCESS."""
        yield _exchange(
            "ACCESS",
            node.path,
            nfs3.access(node.handle, 0x1F),
            lambda _: nfs3.results.access(0x1F, attributes(node)),
        )

    def setattr(self, node: Node, *, mode: int | None = None, mtime_ns: int | None = None) -> Work:
        """SETATTR of the mode, or of the times."""
        wanted = Sattr3(mode=mode, atime=mtime_ns, mtime=mtime_ns)

        def serve(_slot: Slot, now_ns: int) -> Answer:
            before = attributes(node)
            node.touch(now_ns, data=False)
            node.mode = node.mode if mode is None else mode
            node.modified_ns = node.modified_ns if mtime_ns is None else mtime_ns
            body = nfs3.results.setattr_(Wcc(before, attributes(node)))
            return Answer(body, node.change, STABLE)

        yield Exchange("SETATTR", node.path, _built(nfs3.setattr_(node.handle, wanted)), serve)

    def create(self, directory: Node, name: str) -> Work:
        """CREATE: the new file."""
        return (yield self._make("CREATE", nfs3.create(directory.handle, name), directory, name))

    def mkdir(self, directory: Node, name: str) -> Work:
        """MKDIR: the new directory."""
        return (yield self._make("MKDIR", nfs3.mkdir(directory.handle, name), directory, name))

    def _make(self, operation: str, request: Request, directory: Node, name: str) -> Exchange:
        def serve(_slot: Slot, now_ns: int) -> Answer:
            before = attributes(directory)
            node = self._files.add(directory, name, now_ns, folder=operation == "MKDIR")
            wcc = Wcc(before, attributes(directory))
            body = nfs3.results.create(node.handle, attributes(node), wcc)
            return Answer(body, node, STABLE)

        return Exchange(operation, directory.child(name), _built(request), serve)

    def remove(self, directory: Node, name: str) -> Work:
        """REMOVE or RMDIR."""
        node = directory.entries[name]
        ask = nfs3.rmdir if node.directory else nfs3.remove

        def serve(_slot: Slot, now_ns: int) -> Answer:
            before = attributes(directory)
            self._files.remove(directory, name, now_ns)
            body = nfs3.results.remove(Wcc(before, attributes(directory)))
            return Answer(body, None, STABLE)

        operation = "RMDIR" if node.directory else "REMOVE"
        yield Exchange(operation, node.path, _built(ask(directory.handle, name)), serve)

    def open(self, directory: Node, name: str, node: Node) -> Work:
        """Close-to-open consistency asks for attributes: GETATTR."""
        del directory, name
        return (yield from self.getattr(node))

    def close(self, node: Node) -> Work:
        """Nothing: NFSv3 has no state."""
        del node
        yield from ()

    def read(self, node: Node, offset: int, count: int) -> Work:
        """READ."""

        def serve(_slot: Slot, _now_ns: int) -> Answer:
            data = contents(node, offset, count)
            end = offset + len(data) >= node.size
            return Answer(nfs3.results.read(data, end, attributes(node)), node.change, READ)

        request = nfs3.read(node.handle, offset, count)
        return (yield Exchange("READ", node.path, _built(request), serve))

    def write(self, node: Node, offset: int, count: int, *, stable: bool) -> Work:
        """WRITE, FILE_SYNC or UNSTABLE, granted as asked."""
        level = nfs3.FILE_SYNC if stable else nfs3.UNSTABLE

        def call(_slot: Slot) -> Request:
            return nfs3.write(node.handle, offset, contents_of(node, offset, count), level)

        def serve(_slot: Slot, now_ns: int) -> Answer:
            before = attributes(node)
            node.size = max(node.size, offset + count)
            node.touch(now_ns)
            body = nfs3.results.write(count, level, VERIFIER, Wcc(before, attributes(node)))
            return Answer(body, node.change, STABLE if stable else UNSTABLE_WRITE)

        yield Exchange("WRITE", node.path, call, serve)

    def commit(self, node: Node) -> Work:
        """COMMIT of the whole file."""
        yield _exchange(
            "COMMIT",
            node.path,
            nfs3.commit(node.handle),
            lambda _: nfs3.results.commit(Wcc(attributes(node), attributes(node)), VERIFIER),
            stability=STABLE,
        )

    def readdir(self, directory: Node, cookie: int, *, plus: bool) -> Work:
        """READDIR or READDIRPLUS from a cookie: nodes, the next cookie, whether that was all."""

        def serve(_slot: Slot, _now_ns: int) -> Answer:
            names = list(directory.entries.items())
            chosen = names[cookie : cookie + ENTRIES]
            last = cookie + len(chosen)
            entries = _entries(chosen, cookie, plus=plus)
            answer = nfs3.results.readdirplus if plus else nfs3.results.readdir
            body = answer(entries, last >= len(names), directory=attributes(directory))
            return Answer(body, ([node for _, node in chosen], last, last >= len(names)))

        ask = nfs3.readdirplus if plus else nfs3.readdir
        operation = "READDIRPLUS" if plus else "READDIR"
        request = ask(directory.handle, cookie)
        return (yield Exchange(operation, directory.path, _built(request), serve))


def attributes(node: Node) -> Fattr3:
    """A node's attributes as NFSv3 shows them."""
    return Fattr3(
        nfs3.NF3DIR if node.directory else nfs3.NF3REG,
        node.mode,
        2 if node.directory else 1,
        size=node.size,
        used=-(-node.size // 4096) * 4096,
        fsid=1,
        fileid=node.fileid,
        atime_ns=node.modified_ns,
        mtime_ns=node.modified_ns,
        ctime_ns=node.changed_ns,
    )


def _entries(chosen: Sequence[tuple[str, Node]], cookie: int, *, plus: bool) -> list[Entry]:
    return [
        Entry(
            node.fileid,
            name,
            cookie + place,
            attributes(node) if plus else None,
            node.handle if plus else None,
        )
        for place, (name, node) in enumerate(chosen, start=1)
    ]


def _built(request: Request) -> Callable[[Slot], Request]:
    """A call that needs no slot."""
    return lambda _slot: request


def _exchange(
    operation: str,
    path: str | None,
    request: Request,
    body: Callable[[int], bytes],
    value: Callable[[], object] = lambda: None,
    stability: str = UNSTABLE,
) -> Exchange:
    """An exchange that changes nothing on the server."""
    return Exchange(
        operation,
        path,
        _built(request),
        lambda _slot, now_ns: Answer(body(now_ns), value(), stability),
    )
