"""What the programs on the client do, a generator for each thread.

``tar``         unpacks files: each is created, written, and gets mode, owner and times
``walk``        lists directories and looks at every file, with or without READDIRPLUS, in rounds
``cachedread``  reads the same files in rounds: only what changed is read again
``npm``         looks for names, writes small files, reads all of them, removes all of them
``noac``        looks at the same files in rounds without attribute cache, and appends to one
``lifecycle``   makes files, lists them, reads a tenth of them, removes all: what mount options are
                compared with
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pcapnfs.synth.simulation.client import Client
from pcapnfs.synth.simulation.exchange import Pause, Work
from pcapnfs.synth.simulation.filesystem import FileSystem, Node
from pcapnfs.synth.simulation.options import Options

LONG_AGO_NS = 86_400_000_000_000
"""How old the files are that were there before, and the times that ``tar`` sets."""

MAKERS = ("tar", "lifecycle")
"""Workloads that find nothing, and make their directories."""

READ_AGAIN = 10
"""``lifecycle`` reads one file in so many."""

Place = tuple[Node, str]
"""A directory and a name in it."""

Workload = Callable[[Client, Options, Sequence[Node], range], Work]
"""What one thread does: the client, the options, the directories, the numbers of its files."""


def prepare(files: FileSystem, options: Options) -> None:
    """What is there before the client comes: the directories, and files unless they are made."""
    long_ago = options.start_ns - LONG_AGO_NS
    if options.workload in MAKERS:
        return
    folders = [
        files.add(files.root, f"d{number:02}", long_ago, folder=True)
        for number in range(options.directories)
    ]
    if options.workload != "npm":
        for number in range(options.files):
            directory = folders[number % len(folders)]
            files.add(directory, file_name(number), long_ago, size=options.size_of(number))


def begin(client: Client, options: Options, root: Node) -> Work:
    """What is done once, before the threads begin: the directories, made or looked up."""
    found = []
    for number in range(options.directories):
        name = f"d{number:02}"
        if options.workload in MAKERS:
            directory = yield from client.server.mkdir(root, name)
            yield from client.server.setattr(directory, mode=0o755)
        else:
            directory = yield from client.server.lookup(root, name)
        found.append(directory)
    return found


def file_name(number: int) -> str:
    """The name of a file."""
    return f"f{number:05}"


def _place(directories: Sequence[Node], number: int) -> Place:
    return directories[number % len(directories)], file_name(number)


def tar(client: Client, options: Options, directories: Sequence[Node], numbers: range) -> Work:
    """Six calls a file with NFSv3, as a Linux client's ``tar -x`` by root."""
    server = client.server
    for number in numbers:
        directory, name = _place(directories, number)
        node = yield from server.create(directory, name)
        yield from server.setattr(node, mode=0o600)
        yield from client.write(node, options.size_of(number))
        yield from server.setattr(node, mtime_ns=options.start_ns - LONG_AGO_NS)
        yield from server.setattr(node, mode=0o644)
        yield from server.setattr(node, mode=0o640)
        yield from server.close(node)


def walk(client: Client, options: Options, directories: Sequence[Node], numbers: range) -> Work:
    """Each thread lists the directories of its share, and looks at what is in them.

    In later rounds the names are known as long as the directory is, and only attributes that are
    too old are asked for.
    """
    mine = directories[numbers.start :: options.threads]
    for turn in range(options.rounds):
        if turn:
            yield Pause(options.pause_ns)
        for directory in mine:
            yield from client.stat(directory)
            if turn == 0:
                yield from _list(client, options, directory)
            for node in list(directory.entries.values()):
                yield from client.stat(node)


def _list(client: Client, options: Options, directory: Node) -> Work:
    """The names in a directory for the first time, and what comes with them."""
    if options.listing == "lookup":
        listed = list(directory.entries.values())
    else:
        listed = yield from _pages(client, directory, plus=options.listing == "readdirplus")
    for node in listed:
        if options.listing == "readdirplus":
            client.learn(node, node.change)
        else:
            yield from client.server.lookup(directory, node.path.rpartition("/")[2])
            client.learn(node, (yield from client.server.getattr(node)))


def _pages(client: Client, directory: Node, *, plus: bool) -> Work:
    """All entries of a directory."""
    cookie, done = 0, False
    listed: list[Node] = []
    while not done:
        nodes, cookie, done = yield from client.server.readdir(directory, cookie, plus=plus)
        listed += nodes
    return listed


def cachedread(
    client: Client, options: Options, directories: Sequence[Node], numbers: range
) -> Work:
    """The same files in every round; data that is known to be the same is not read again."""
    nodes: dict[int, Node] = {}
    for turn in range(options.rounds):
        if turn:
            yield Pause(options.pause_ns)
        for number in numbers:
            directory, name = _place(directories, number)
            if turn + 1 == options.touched:
                directory.entries[name].touch(client.now_ns)
            if number not in nodes:
                nodes[number] = yield from client.server.lookup(directory, name)
            yield from client.read(directory, name, nodes[number])
            yield from client.stat(nodes[number])


def npm(client: Client, options: Options, directories: Sequence[Node], numbers: range) -> Work:
    """Install, run, clean up: nothing of it is stable that need not be."""
    server = client.server
    made: list[tuple[Node, str, Node]] = []
    for number in numbers:
        directory, name = _place(directories, number)
        yield from server.lookup(directory, name)
        node = yield from server.create(directory, name)
        yield from client.write(node, options.size_of(number))
        yield from server.close(node)
        made.append((directory, name, node))
    for directory, name, node in made:
        yield from server.access(node)
        yield from client.read(directory, name, node)
    for directory, name, _ in made:
        yield from server.remove(directory, name)


def noac(client: Client, options: Options, directories: Sequence[Node], numbers: range) -> Work:
    """Each file is looked at and opened, one directory after the other, and all of it is asked.

    The step through the directory, the look, the open, and the look at what is open. What is
    written is written through.
    """
    server = client.server
    found: list[tuple[Node, str, Node]] = []
    for number in sorted(numbers, key=lambda number: number % len(directories)):
        directory, name = _place(directories, number)
        yield from server.getattr(directory)
        found.append((directory, name, (yield from server.lookup(directory, name))))
    for turn in range(options.rounds):
        if turn:
            yield Pause(options.pause_ns)
        for directory, name, node in found:
            yield from server.getattr(directory)
            yield from server.getattr(node)
            yield from server.access(node)
            yield from server.open(directory, name, node)
            yield from server.getattr(node)
            if node is found[0][2]:
                yield from server.write(node, node.size, 512, stable=True)
            yield from server.close(node)


def lifecycle(
    client: Client, options: Options, directories: Sequence[Node], numbers: range
) -> Work:
    """Every step on a name looks at its directory first, as long as that is not known."""
    server = client.server
    made: list[tuple[Node, str, Node]] = []
    for number in numbers:
        directory, name = _place(directories, number)
        yield from client.stat(directory)
        yield from server.lookup(directory, name)
        node = yield from server.create(directory, name)
        yield from client.write(node, options.size_of(number))
        yield from server.close(node)
        client.learn(node, node.change)
        made.append((directory, name, node))
    for directory in directories[numbers.start :: options.threads]:
        for node in (yield from _pages(client, directory, plus=True)):
            client.learn(node, node.change)
            yield from client.stat(directory)
            yield from client.stat(node)
    for directory, name, node in made[::READ_AGAIN]:
        yield from client.stat(directory)
        yield from client.read(directory, name, node)
    for directory, name, _ in made:
        yield from client.stat(directory)
        yield from server.remove(directory, name)


WORKLOADS: Mapping[str, Workload] = {
    "tar": tar,
    "walk": walk,
    "cachedread": cachedread,
    "npm": npm,
    "noac": noac,
    "lifecycle": lifecycle,
}
"""By name."""
