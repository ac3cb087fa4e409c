"""The clock of a simulation: threads of the client, the server, and the messages between them.

Takes ``Options``; gives the capture and the truth.  Events happen in order of time; those of the
same instant in the order in which they were made.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass

from pcapnfs.record import Record
from pcapnfs.synth.builder import Capture, rpc
from pcapnfs.synth.simulation.client import Client, Server
from pcapnfs.synth.simulation.exchange import STABLE, Answer, Exchange, Pause, Slot, Work
from pcapnfs.synth.simulation.filesystem import FileSystem
from pcapnfs.synth.simulation.network import HALVES, LATEST_ACK_NS, Connection, Wire
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.protocol3 import Protocol3
from pcapnfs.synth.simulation.protocol4 import Protocol4
from pcapnfs.synth.simulation.truth import Call, Truth, tell
from pcapnfs.synth.simulation.workloads import WORKLOADS, begin, prepare

CLIENT, SERVER = "10.0.2.11", "10.0.2.10"
"""Addresses of the two."""

NFS_PORT, MOUNT_PORT = 2049, 20048
"""Ports of the server's programs."""

FIRST_PORT = 1012
"""The client's first port, which no other protocol owns; the others are below."""

FIRST_XID = 0x5E500001
"""Xid of the first call."""


@dataclass(slots=True)
class _Asked:
    """A call that was sent."""

    xid: int
    exchange: Exchange
    connection: int
    call_place: int
    """Which message of its connection's call direction it is."""
    answer: Answer | None = None
    reply_place: int = 0


class _Thread(Record):
    """A thread of the client, with its work and its slot."""

    work: Work
    slot: Slot
    connection: int


class Simulation:
    """One run; `capture` and `truth` are there when `run` is done."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._now_ns = options.start_ns
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._xids = itertools.count(FIRST_XID)
        self._asked: list[_Asked] = []
        files = FileSystem(options.start_ns)
        prepare(files, options)
        protocol: Server
        protocol = (Protocol3 if options.minor is None else Protocol4)(files, options)
        self._client = Client(protocol, options, lambda: self._now_ns)
        generator = random.Random(options.seed)
        self._connections = [
            self._connect(number, generator) for number in range(1 + options.connections)
        ]
        self._messages = [[0, 0] for _ in self._connections]
        self._credential = rpc.auth_sys(0, 0, (0,), "synth")

    def run(self) -> tuple[Capture, Truth]:
        """Let the time pass until everything is done."""
        self._start(_Thread(self._whole(), Slot(0), 1), self._connections[1].ready_ns)
        while self._events:
            self._now_ns, _, event = heapq.heappop(self._events)
            event()
        end_ns = self._now_ns + self.options.rtt_ns + LATEST_ACK_NS + 1_000_000
        mounted = self.options.minor is None
        frames = [
            frame
            for connection in self._connections[0 if mounted else 1 :]
            for frame in connection.frames(self.options.vantage, end_ns)
        ]
        return Capture(frames), tell(self.options, self._calls())

    def _connect(self, number: int, generator: random.Random) -> Connection:
        """Connection 0 is that of MOUNT."""
        options = self.options
        half = options.rtt_ns // 2
        up, down = (
            Wire(delay, options.jitter_ns, options.loss, options.bandwidth, generator)
            for delay in (half, options.rtt_ns - half)
        )
        port = NFS_PORT if number else MOUNT_PORT
        opened = options.start_ns + number * 1_000
        ends = (CLIENT, FIRST_PORT - number), (SERVER, port)
        return Connection(*ends, up, down, opened)

    def _whole(self) -> Work:
        """Mount, prepare, then start the threads that share the work."""
        options = self.options
        root = yield from self._client.server.mount()
        directories = yield from begin(self._client, options, root)
        work = WORKLOADS[options.workload]
        for number in range(1, options.threads):
            share = range(number, options.files, options.threads)
            thread = _Thread(
                work(self._client, options, directories, share),
                Slot(number),
                1 + number % options.connections,
            )
            self._start(thread, self._now_ns)
        share = range(0, options.files, options.threads)
        yield from work(self._client, options, directories, share)

    def _start(self, thread: _Thread, at_ns: int) -> None:
        self._at(at_ns, lambda: self._step(thread, None))

    def _at(self, moment: int, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, next(self._order), event))

    def _step(self, thread: _Thread, value: object) -> None:
        """A thread goes on, with what it learnt."""
        try:
            wanted = thread.work.send(value)
            while isinstance(wanted, Exchange) and wanted.unless(thread.slot):
                wanted = thread.work.send(None)
        except StopIteration:
            return
        if isinstance(wanted, Pause):
            self._at(self._now_ns + wanted.nanoseconds, lambda: self._step(thread, None))
        else:
            exchange = wanted
            self._at(self._now_ns + self.options.think_ns, lambda: self._send(thread, exchange))

    def _send(self, thread: _Thread, exchange: Exchange) -> None:
        """The client sends a call."""
        number = 0 if exchange.operation == "MNT" else thread.connection
        asked = _Asked(next(self._xids), exchange, number, self._messages[number][0])
        self._messages[number][0] += 1
        self._asked.append(asked)
        request = exchange.call(thread.slot)
        message = rpc.call(asked.xid, *request, self._credential)
        arrives = self._connections[number].up.send(self._now_ns, rpc.record(message))
        self._at(arrives, lambda: self._serve(thread, asked))

    def _serve(self, thread: _Thread, asked: _Asked) -> None:
        """The server has a call, and will have answered it after its service."""
        answer = asked.answer = asked.exchange.serve(thread.slot, self._now_ns)
        persist = self.options.persist_ns if answer.stability == STABLE else 0
        done = self._now_ns + self.options.service_ns + persist
        self._at(done, lambda: self._reply(thread, asked, answer))

    def _reply(self, thread: _Thread, asked: _Asked, answer: Answer) -> None:
        """The server sends a reply."""
        asked.reply_place = self._messages[asked.connection][1]
        self._messages[asked.connection][1] += 1
        stream = rpc.record(rpc.reply(asked.xid, answer.body))
        arrives = self._connections[asked.connection].down.send(self._now_ns, stream)
        self._at(arrives, lambda: self._step(thread, answer.value))

    def _calls(self) -> list[Call]:
        """What was asked, with the times at which the vantage point saw it complete."""
        halves = HALVES[self.options.vantage]
        calls = [each.up.completed(halves) for each in self._connections]
        replies = [each.down.completed(2 - halves) for each in self._connections]
        return [
            Call(
                xid=asked.xid,
                operation=asked.exchange.operation,
                path=asked.exchange.path,
                stability=asked.answer.stability,
                call_ns=calls[asked.connection][asked.call_place],
                reply_ns=replies[asked.connection][asked.reply_place],
            )
            for asked in self._asked
            if asked.answer is not None
        ]
