"""What a client of NFSv4.0, 4.1 or 4.2 can ask, as compounds (RFC 7530, RFC 8881, RFC 7862)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pcapnfs.record import replace
from pcapnfs.synth.builder.nfs4 import ChangeInfo, Compound, CompoundReply
from pcapnfs.synth.builder.nfs4.reply_files import Entry4
from pcapnfs.synth.builder.nfs4.types import FILE_SYNC4, NF4DIR, SHARE_BOTH, UNSTABLE4
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
from pcapnfs.synth.simulation.state4 import (
    ABOVE,
    ASKED,
    CLIENT_ID,
    PLAIN,
    PLUS,
    SESSION,
    attributes,
    listed,
    owner,
    stateid,
)

NOENT = 2
"""NFS4ERR_NOENT."""

CONFIRM = 2
"""OPEN4_RESULT_CONFIRM."""

EXPORT = "export"
"""The name of the export below the server's root."""

Ops = Callable[[Compound, Slot], object]
"""Appends the operations of a call."""

Results = Callable[[CompoundReply, Slot, int], tuple[Any, str]]
"""Appends the results at a moment, and gives what the client learns and the call's class."""


class Protocol4:
    """Exchanges of one client with one file system."""

    def __init__(self, files: FileSystem, options: Options) -> None:
        self._files = files
        self._options = options
        self._minor = options.minor or 0

    def mount(self) -> Work:
        """The client's identity, its session, the way to the export; the value is the root."""
        if self._minor:
            yield self._bare(
                "EXCHANGE_ID",
                lambda call, _: call.exchange_id(b"synth-client", VERIFIER, 0x101),
                lambda reply, *_: reply.exchange_id(CLIENT_ID, 1, 0x10001),
            )
            yield self._bare(
                "CREATE_SESSION",
                lambda call, _: call.create_session(CLIENT_ID, 1),
                lambda reply, *_: reply.create_session(SESSION, 1),
            )
            yield self._exchange(
                "RECLAIM_COMPLETE",
                None,
                lambda call, _: call.reclaim_complete(),
                lambda reply, *_: (reply.reclaim_complete(), STATE),
            )
        else:
            yield self._bare(
                "SETCLIENTID",
                lambda call, _: call.setclientid(b"synth-client", VERIFIER),
                lambda reply, *_: reply.setclientid(CLIENT_ID, VERIFIER),
            )
            yield self._bare(
                "SETCLIENTID_CONFIRM",
                lambda call, _: call.setclientid_confirm(CLIENT_ID, VERIFIER),
                lambda reply, *_: reply.setclientid_confirm(),
            )
        root = self._files.root
        above = {**attributes(root), "fsid": (0, 0), "fileid": 1, "mounted_on_fileid": 1}
        yield self._exchange(
            "GETATTR",
            None,
            lambda call, _: call.putrootfh().getfh().getattr(ASKED),
            lambda reply, *_: (
                reply.putrootfh().getfh(ABOVE).getattr(above),
                UNSTABLE,
            ),
        )
        yield self._exchange(
            "LOOKUP",
            ".",
            lambda call, _: call.putfh(ABOVE).lookup(EXPORT).getfh().getattr(ASKED),
            lambda reply, *_: (
                reply.putfh().lookup().getfh(root.handle).getattr(attributes(root)),
                UNSTABLE,
            ),
        )
        return root

    def lookup(self, directory: Node, name: str) -> Work:
        """LOOKUP with handle and attributes: the node, or None."""

        def results(reply: CompoundReply, _slot: Slot, _now_ns: int) -> tuple[Any, str]:
            node = directory.entries.get(name)
            reply.putfh()
            if node is None:
                reply.lookup(status=NOENT)
            else:
                reply.lookup().getfh(node.handle).getattr(attributes(node))
            return node, UNSTABLE

        def ops(call: Compound, _slot: Slot) -> None:
            call.putfh(directory.handle).lookup(name).getfh().getattr(ASKED)

        return (yield self._exchange("LOOKUP", directory.child(name), ops, results))

    def getattr(self, node: Node) -> Work:
        """GETATTR: the change attribute."""

        def results(reply: CompoundReply, _slot: Slot, _now_ns: int) -> tuple[Any, str]:
            reply.putfh().getattr(attributes(node))
            return node.change, UNSTABLE

        def ops(call: Compound, _slot: Slot) -> None:
            call.putfh(node.handle).getattr(ASKED)

        return (yield self._exchange("GETATTR", node.path, ops, results))

    def access(self, node: Node) -> Work:
        """ACCESS with attributes."""
        yield self._exchange(
            "ACCESS",
            node.path,
            lambda call, _: call.putfh(node.handle).access(0x1F).getattr(ASKED),
            lambda reply, *_: (reply.putfh().access(0x1F).getattr(attributes(node)), UNSTABLE),
        )

    def setattr(self, node: Node, *, mode: int | None = None, mtime_ns: int | None = None) -> Work:
        """SETATTR of the mode, or of the times."""
        wanted: dict[str, Any] = {} if mode is None else {"mode": mode}
        if mtime_ns is not None:
            wanted |= {"time_access_set": mtime_ns, "time_modify_set": mtime_ns}

        def results(reply: CompoundReply, _slot: Slot, now_ns: int) -> tuple[Any, str]:
            node.touch(now_ns, data=False)
            node.mode = node.mode if mode is None else mode
            node.modified_ns = node.modified_ns if mtime_ns is None else mtime_ns
            reply.putfh().setattr(tuple(wanted)).getattr(attributes(node))
            return node.change, STABLE

        def ops(call: Compound, _slot: Slot) -> None:
            call.putfh(node.handle).setattr(wanted).getattr(ASKED)

        yield self._exchange("SETATTR", node.path, ops, results)

    def create(self, directory: Node, name: str) -> Work:
        """OPEN that creates: the new file, open."""

        def ops(call: Compound, slot: Slot) -> None:
            call.putfh(directory.handle).open_create(
                name,
                {"mode": 0o644},
                seqid=self._owner_sequence(slot),
                clientid=CLIENT_ID,
                owner=owner(slot),
            ).getfh().access(0x2D).getattr(ASKED)

        def results(reply: CompoundReply, slot: Slot, now_ns: int) -> tuple[Any, str]:
            before = directory.change
            node = self._files.add(directory, name, now_ns)
            change = ChangeInfo(before, directory.change)
            flags = self._flags(slot)
            reply.putfh().open(stateid(node), change, flags, ("mode",)).getfh(node.handle)
            reply.access(0x2D).getattr(attributes(node))
            return node, STABLE

        node = yield self._exchange("OPEN", directory.child(name), ops, results)
        yield from self._confirm(node)
        return node

    def open(self, directory: Node, name: str, node: Node) -> Work:
        """OPEN of a file that is there; its change attribute comes along."""

        def ops(call: Compound, slot: Slot) -> None:
            call.putfh(directory.handle).open_name(
                name, SHARE_BOTH, self._owner_sequence(slot), CLIENT_ID, owner(slot)
            ).getfh().access(0x2D).getattr(ASKED)

        def results(reply: CompoundReply, slot: Slot, _now_ns: int) -> tuple[Any, str]:
            change = ChangeInfo(directory.change, directory.change)
            reply.putfh().open(stateid(node), change, self._flags(slot)).getfh(node.handle)
            reply.access(0x2D).getattr(attributes(node))
            return node.change, UNSTABLE

        change = yield self._exchange("OPEN", node.path, ops, results)
        yield from self._confirm(node)
        return change

    def _confirm(self, node: Node) -> Work:
        """OPEN_CONFIRM, which NFSv4.0 wants of an owner that the server does not know yet."""

        def ops(call: Compound, slot: Slot) -> None:
            sequence = self._owner_sequence(slot)
            call.putfh(node.handle).open_confirm(stateid(node), sequence)

        def results(reply: CompoundReply, slot: Slot, _now_ns: int) -> tuple[Any, str]:
            slot.confirmed = True
            reply.putfh().open_confirm(stateid(node))
            return None, STATE

        if self.confirms:
            exchange = self._exchange("OPEN_CONFIRM", node.path, ops, results)
            yield replace(exchange, unless=lambda slot: slot.confirmed)

    def close(self, node: Node) -> Work:
        """CLOSE."""

        def ops(call: Compound, slot: Slot) -> None:
            call.putfh(node.handle).close(stateid(node), self._owner_sequence(slot))

        def results(reply: CompoundReply, _slot: Slot, _now_ns: int) -> tuple[Any, str]:
            reply.putfh().close(stateid(node))
            return None, UNSTABLE

        yield self._exchange("CLOSE", node.path, ops, results)

    def mkdir(self, directory: Node, name: str) -> Work:
        """CREATE of a directory: the new one."""

        def ops(call: Compound, _slot: Slot) -> None:
            call.putfh(directory.handle).create(name, NF4DIR, {"mode": 0o755})
            call.getfh().getattr(ASKED)

        def results(reply: CompoundReply, _slot: Slot, now_ns: int) -> tuple[Any, str]:
            before = directory.change
            node = self._files.add(directory, name, now_ns, folder=True)
            reply.putfh().create(ChangeInfo(before, directory.change), ("mode",))
            reply.getfh(node.handle).getattr(attributes(node))
            return node, STABLE

        return (yield self._exchange("CREATE", directory.child(name), ops, results))

    def remove(self, directory: Node, name: str) -> Work:
        """REMOVE."""
        path = directory.child(name)

        def ops(call: Compound, _slot: Slot) -> None:
            call.putfh(directory.handle).remove(name)

        def results(reply: CompoundReply, _slot: Slot, now_ns: int) -> tuple[Any, str]:
            before = directory.change
            self._files.remove(directory, name, now_ns)
            reply.putfh().remove(ChangeInfo(before, directory.change))
            return None, STABLE

        yield self._exchange("REMOVE", path, ops, results)

    def read(self, node: Node, offset: int, count: int) -> Work:
        """READ."""

        def ops(call: Compound, _slot: Slot) -> None:
            call.putfh(node.handle).read(offset, count, stateid(node))

        def results(reply: CompoundReply, _slot: Slot, _now_ns: int) -> tuple[Any, str]:
            data = contents(node, offset, count)
            reply.putfh().read(data, offset + len(data) >= node.size)
            return node.change, READ

        return (yield self._exchange("READ", node.path, ops, results))

    def write(self, node: Node, offset: int, count: int, *, stable: bool) -> Work:
        """WRITE with attributes, FILE_SYNC4 or UNSTABLE4, granted as asked."""
        level = FILE_SYNC4 if stable else UNSTABLE4

        def ops(call: Compound, _slot: Slot) -> None:
            data = contents_of(node, offset, count)
            call.putfh(node.handle).write(offset, data, level, stateid(node)).getattr(ASKED)

        def results(reply: CompoundReply, _slot: Slot, now_ns: int) -> tuple[Any, str]:
            node.size = max(node.size, offset + count)
            node.touch(now_ns)
            reply.putfh().write(count, level, VERIFIER).getattr(attributes(node))
            return node.change, STABLE if stable else UNSTABLE_WRITE

        yield self._exchange("WRITE", node.path, ops, results)

    def commit(self, node: Node) -> Work:
        """COMMIT of the whole file."""
        yield self._exchange(
            "COMMIT",
            node.path,
            lambda call, _: call.putfh(node.handle).commit(),
            lambda reply, *_: (reply.putfh().commit(VERIFIER), STABLE),
        )

    def readdir(self, directory: Node, cookie: int, *, plus: bool) -> Work:
        """READDIR from a cookie: nodes, the next cookie, whether that was all.

        Cookies 1 and 2 are reserved (RFC 7530 section 16.24): those of the server begin at 3.
        """
        wanted = PLUS if plus else PLAIN
        skipped = max(0, cookie - 2)

        def ops(call: Compound, _slot: Slot) -> None:
            call.putfh(directory.handle).readdir(wanted, cookie)

        def results(reply: CompoundReply, _slot: Slot, _now_ns: int) -> tuple[Any, str]:
            names = list(directory.entries.items())
            chosen = names[skipped : skipped + ENTRIES]
            last = skipped + len(chosen)
            entries = [
                Entry4(skipped + place + 2, name, listed(node, plus=plus))
                for place, (name, node) in enumerate(chosen, start=1)
            ]
            reply.putfh().readdir(entries, last >= len(names))
            return ([node for _, node in chosen], last + 2, last >= len(names)), UNSTABLE

        return (yield self._exchange("READDIR", directory.path, ops, results))

    def _bare(
        self,
        operation: str,
        ops: Ops,
        results: Callable[[CompoundReply, Slot, int], object],
    ) -> Exchange:
        """A compound before there is a session: it records the client's state."""

        def call(slot: Slot) -> Request:
            compound = Compound(self._minor)
            ops(compound, slot)
            return compound.request()

        def serve(slot: Slot, now_ns: int) -> Answer:
            reply = CompoundReply()
            results(reply, slot, now_ns)
            return Answer(reply.body(), None, STATE)

        return Exchange(operation, None, call, serve)

    def _exchange(self, operation: str, path: str | None, ops: Ops, results: Results) -> Exchange:
        """A compound, within the session where there is one."""
        highest = self._options.threads - 1

        def call(slot: Slot) -> Request:
            compound = Compound(self._minor)
            if self._minor:
                # The first on a slot is 1 (RFC 8881 section 2.10.6.1.3).
                slot.sequence += 1
                compound.sequence(SESSION, slot.sequence, slot.number, highest)
            ops(compound, slot)
            return compound.request()

        def serve(slot: Slot, now_ns: int) -> Answer:
            reply = CompoundReply()
            if self._minor:
                reply.sequence(SESSION, slot.sequence, slot.number)
            value, stability = results(reply, slot, now_ns)
            return Answer(reply.body(), value, stability)

        return Exchange(operation, path, call, serve)

    def _owner_sequence(self, slot: Slot) -> int:
        """NFSv4.0 counts what an open owner does; a session makes that needless."""
        if self._minor:
            return 0
        slot.owner_sequence += 1
        return slot.owner_sequence

    def _flags(self, slot: Slot) -> int:
        return CONFIRM if self.confirms and not slot.confirmed else 0

    @property
    def confirms(self) -> bool:
        """Open owners must be confirmed: NFSv4.0."""
        return not self._minor
