"""Traces on disk: a directory with a Parquet file for each table, and `meta.json`.

Takes directories; gives what they say of themselves, and the captures that they were made of.
Promises that what is no whole trace of this version is refused with one sentence that names the
file and what to do. `decoding.py` writes them, `attached.py` puts their tables into a database,
`numbering.py` counts on from one to the next.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcapnfs import digests, meta, schema, small_files, temporary, units
from pcapnfs.errors import DECODE_AGAIN, CaptureError, UsageError, said
from pcapnfs.record import Record, plain

if TYPE_CHECKING:
    from pcapnfs.digests import Digest

SUFFIX = ".nfstrace"
"""How the names of traces end, by custom."""

META = "meta.json"
"""What makes a directory a trace."""

DIGEST = "digest"
"""The key in meta.json of what it is recognised by itself, and a small table."""

FORMAT = "nfstrace"
"""What `format` in meta.json says."""

META_LIMIT = 64 << 20
"""Bytes of `meta.json`, at most; each capture takes 1 KB of it. A larger one is not read, since
traces come from others, too, and may be made by hand; nor is one written."""

VERSION = 1
"""Version of the tables' meaning and of meta.json. A trace also tells its columns, so that this
changes only when the same columns mean something else."""


FOOTER = "footer"
"""The key in meta.json of what the footer of a table is recognised by."""

FOOTER_END = 8
"""Bytes behind the footer of a Parquet file: its length, and `PAR1`."""

WHOLE_BYTES = 1 << 20
"""Tables up to this size are recognised by all of their bytes: that takes a millisecond. Of larger
ones a greater part is pages, which are compressed and so have checksums of their own; the few bytes
before each page have none."""

COUNTS = range(2**63)
"""Numbers that a count of the decoder may be."""

NUMBERS = range(2**48)
"""What numbers of calls, connections, files and frames may be: more than any capture has, so few
that those of thousands of traces can be counted on."""

PORTS = range(2**16)
"""What a port may be."""

TIMES = range(2**62)
"""Nanoseconds since 1970 that it gives as times."""


class Source(Record):
    """A capture that a trace was made of."""

    path: str
    """Where it was, absolute; `-` is standard input."""
    digest: Digest | None
    """What it is recognised by; None where it cannot be read a second time."""
    gone: bool = False
    """It was removed, replaced or written anew before the digest was taken."""


class Stored(Record):
    """A trace on disk."""

    directory: Path
    """Where it is."""
    columns: Mapping[str, tuple[str, ...]]
    """The columns of each table."""
    meta: meta.Meta
    """What the decoder said at its end."""
    sources: tuple[Source, ...]
    """The captures, in the order of `meta.files`; none where several decodes were put together."""
    highest: Mapping[str, int]
    """The highest number of each kind in `numbering.NUMBERS`, but frames."""
    brief: bool = False
    """Nothing is compressed: the files are not there to stay."""
    named: tuple[str, ...] = ()
    """The captures as they were named, in the same order; none of a trace that is read."""
    reached: Path | None = None
    """Another path to it, which stays when its name is given to another, or which the database can
    be told of."""

    told_as: str | None = None
    """What people call it, as it was named; None: its directory."""

    def file(self, table: str) -> Path:
        """Where a table is, for people."""
        return Path(self.told_as or self.directory) / _file(table)

    def reachable(self, table: str) -> Path:
        """Where a table is read."""
        return (self.reached or self.directory) / _file(table)


def is_trace(path: str) -> bool:
    """Whether a path is to be taken for a trace, be it a broken one."""
    directory = Path(path)
    return os.path.isdir(path) and (directory.suffix == SUFFIX or os.path.isfile(directory / META))


def around(path: Path) -> Path | None:
    """The trace that a path lies in; None where it is in none.

    A directory is one by its name, or by what its `meta.json` says: others have such a file, too.
    """
    for parent in Path(os.path.realpath(path)).parents:
        if parent.suffix == SUFFIX and os.path.isdir(parent):  # What nobody may look at is none.
            return parent
        with contextlib.suppress(OSError, ValueError, RecursionError):  # Then it is none of ours.
            told = json.loads(small_files.read_regular(parent / META, META_LIMIT))
            if isinstance(told, dict) and told.get("format") == FORMAT:
                return parent
    return None


def strangers(directory: Path, tables: Iterable[str], *, part: bool = False) -> list[str]:
    """What stands in a directory and in no trace, be it a broken one, or of another version.

    Args:
        directory: The directory.
        tables: The names that tables have in this version.
        part: It is a part of a trace, which has no parts of its own.

    Raises:
        OSError: It cannot be looked at.
    """
    tables = list(tables)
    try:
        told = json.loads(small_files.read_regular(directory / META, META_LIMIT))
    except (FileNotFoundError, ValueError, RecursionError):
        ours: set[str] = set()  # Then only names tell.
    else:
        if not isinstance(told, dict) or told.get("format") != FORMAT:
            return [META]
        theirs = told.get("tables")
        ours = set(theirs) if isinstance(theirs, dict) else set()
    ours = {META, temporary.LOCK, *map(_file, (*tables, *ours))}
    return [
        entry.name
        for entry in sorted(directory.iterdir())
        if entry.is_symlink()
        or not (
            not part and entry.name.isdecimal() and not strangers(entry, tables, part=True)
            if entry.is_dir()
            else entry.is_file() and entry.name in ours
        )
    ]


def write_parts(directory: Path, parts: Sequence[str], *, tool: str) -> None:
    """Write the `meta.json` of a trace whose parts are traces in directories of their own."""
    _write(directory, {"format": FORMAT, "version": VERSION, "tool": tool, "parts": list(parts)})


def write_meta(stored: Stored, *, tool: str, ports: Sequence[int], told: str) -> None:
    """Write `meta.json`, the last file of a trace.

    Args:
        stored: The trace; its tables are written.
        tool: Version of pcapnfs.
        ports: What `--port` named.
        told: What the decoder said at its end, as it said it.
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "tool": tool,
        "tables": {
            table: {
                "bytes": stored.file(table).stat().st_size,
                **_marks(stored.file(table)),
                "columns": columns,
            }
            for table, columns in stored.columns.items()
        },
        "highest": dict(stored.highest),
        "options": {"ports": list(ports)},
        "captures": [plain(source) for source in stored.sources],
        "decoder": json.loads(told),
    }
    _write(stored.directory, document)


def read(path: str, tables: Sequence[schema.Table], *, reached: Path | None = None) -> list[Stored]:
    """Read what a trace says of itself, and see whether it is whole; gives its parts.

    Args:
        path: The directory, as it is named to people.
        tables: The tables as the decoder of this version writes them.
        reached: Another path to it, by which it is read; None: its name.

    Raises:
        CaptureError: It is no trace, damaged, or of another version.
    """
    place = Path(path) if reached is None else reached
    document = _document(path, place)
    try:
        version, tool = int(document["version"]), str(document["tool"])
        _demand_version(path, version, tool)
        _demand_told(path, document)
        if "parts" not in document:
            return [_part(path, document, tool, tables, reached)]
        found = []
        for name in _part_names(document["parts"]):
            part = str(Path(path) / name)
            within = None if reached is None else reached / name
            told = _document(part, place / name)
            _demand_told(part, told)
            found.append(_part(part, told, tool, tables, within))
    except _UNSOUND as error:
        raise _damaged(path) from error
    if (same := held_twice(found)) is not None:
        first, again = same
        raise CaptureError(
            f"{path}: {again} is a copy of {first}: everything in it counts double; "
            "decode the captures again without it"
        )
    return found


def held_twice(parts: Sequence[Stored]) -> tuple[str, str] | None:
    """Two captures of different parts that are the same, by their digests; None where none are.

    Copies within a part do no harm: what was captured twice comes out once. Nor do captures
    without packets, which are all alike.
    """
    before: dict[digests.Digest, tuple[int, str]] = {}
    for place, part in enumerate(parts):
        for digest, source in recognised(part):
            first, path = before.setdefault(digest, (place, source))
            if first != place:
                return path, source
    return None


def recognised(part: Stored) -> Iterator[tuple[digests.Digest, str]]:
    """The captures of a part that can be told from others, by digest: those with packets."""
    for source, file in zip(part.sources, part.meta.files, strict=False):
        if source.digest is not None and file.packets:
            yield source.digest, source.path


def captures(parts: Sequence[Stored]) -> list[str]:
    """The captures that a trace was made of, where they can be read again.

    Raises:
        CaptureError: One of them is gone, or is not what it was.
        UsageError: The trace was put together from several decodes.
    """
    if len(parts) != 1 or not parts[0].sources:
        raise UsageError(
            "Wireshark counts frames over one stream of packets: name one capture, or one trace"
        )
    (part,) = parts
    for source in part.sources:
        if source.digest is None:
            if source.gone:
                raise CaptureError(
                    f"{source.path}, which {part.directory} was made of, was gone when that was "
                    "written; this needs the packets"
                )
            what = (
                "standard input" if source.path == meta.STANDARD_INPUT else f"{source.path}, a pipe"
            )
            raise CaptureError(
                f"{part.directory} was made of {what}, which cannot be read a second time"
            )
        try:
            now = digests.of(source.path)
        except OSError as error:
            raise CaptureError(f"{source.path}: {said(error)}") from error
        if now != source.digest:
            state = "not there any more" if now is None else "not what it was"
            raise CaptureError(
                f"{source.path}, which {part.directory} was made of, is {state}; "
                "this needs the packets"
            )
    return [source.path for source in part.sources]


def _file(table: str) -> str:
    """What the file of a table is called."""
    return f"{table}.parquet"


def _write(directory: Path, document: Mapping[str, object]) -> None:
    whole = {**document, DIGEST: _digest(document)}
    text = json.dumps(whole, indent=1, ensure_ascii=True) + "\n"
    if len(text) > META_LIMIT:
        raise UsageError(
            f"of so many captures {META} would be larger than {units.size(META_LIMIT)}, and not "
            "be read again; decode them into several traces"
        )
    (directory / META).write_text(text, encoding="utf-8")


def _digest(document: Mapping[str, object]) -> str:
    """SHA-256 of what a document says, in whatever way it is written; hexadecimal."""
    import hashlib  # As in `digests.py`: only traces on disk need it.

    told = {key: value for key, value in document.items() if key != DIGEST}
    text = json.dumps(told, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _demand_told(path: str, document: Mapping[str, Any]) -> None:
    """Refuse a meta.json that does not say what was written; once, no digest of it was told."""
    if DIGEST in document and document[DIGEST] != _digest(document):
        raise _damaged(path)


def _document(path: str, place: Path) -> dict[str, Any]:
    """What meta.json holds."""
    try:
        told = small_files.read_regular(place / META, META_LIMIT)
        document = json.loads(told.decode("utf-8"))
    except FileNotFoundError as error:
        raise CaptureError(
            f"{path}: no trace, or one that was not written to its end: {META} is missing; "
            f"{DECODE_AGAIN}"
        ) from error
    except OSError as error:
        raise CaptureError(f"{path}: {META}: {said(error)}") from error
    except small_files.UnfitError as error:
        raise CaptureError(f"{path}: {META} {error}; {DECODE_AGAIN}") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CaptureError(f"{path}: no trace: {META} belongs to something else")
    return document


_UNSOUND = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,  # A number that is no integer of any size: JSON has 1e999.
    RecursionError,  # Lists within lists.
)
"""What a document raises that was not written by `_write`, where it is read as if it was."""


def _part_names(told: object) -> list[str]:
    """The directories of parts, as `meta.json` tells them."""
    if not isinstance(told, list) or not told:
        raise TypeError("no parts")
    names = list(map(str, told))
    if len(set(names)) < len(names):
        raise ValueError("a part is named twice")
    if not all(name.isdecimal() for name in names):
        raise ValueError("a part leads out of the trace, or to the trace itself")
    return names


def _part(
    path: str,
    document: Mapping[str, Any],
    tool: str,
    tables: Sequence[schema.Table],
    reached: Path | None,
) -> Stored:
    """A trace without parts, whose version is known to be right."""
    columns = {
        str(name): tuple(map(str, table["columns"])) for name, table in document["tables"].items()
    }
    _demand_columns(path, tool, columns, tables)
    stored = Stored(
        directory=Path(path).absolute(),
        told_as=path,
        columns=columns,
        meta=_sound(meta.parse(json.dumps(document["decoder"]))),
        sources=tuple(_source(source) for source in document["captures"]),
        highest={
            str(kind): _counted(number, NUMBERS) for kind, number in document["highest"].items()
        },
        reached=reached,
    )
    for name, table in document["tables"].items():
        _demand_whole(stored, str(name), table)
    return stored


def _demand_version(path: str, version: int, tool: str) -> None:
    if version > VERSION:
        raise CaptureError(
            f"{path}: written by {tool}, whose traces are newer than this pcapnfs reads; "
            f"install that version, or {DECODE_AGAIN} with this one"
        )
    if version < VERSION:
        raise CaptureError(f"{path}: written by {tool}, whose traces are older; {DECODE_AGAIN}")


def _demand_columns(
    path: str, tool: str, columns: Mapping[str, tuple[str, ...]], tables: Sequence[schema.Table]
) -> None:
    wanted = {table.name: tuple(column.name for column in table.columns) for table in tables}
    differing = [
        name
        for name in sorted(wanted.keys() | columns.keys())
        if wanted.get(name) != columns.get(name)
    ]
    if differing:
        raise CaptureError(
            f"{path}: written by {tool}, whose tables have other columns "
            f"({', '.join(differing)}); {DECODE_AGAIN}"
        )


def _demand_whole(stored: Stored, table: str, told: Mapping[str, Any]) -> None:
    """Refuse a table that is not what was written; traces once told no digest of it.

    The footer says where columns are, how many values they have and which: a bit of it that is
    flipped may leave rows out, and nothing else would tell.
    """
    named = f"{stored.told_as or stored.directory}: {_file(table)}"
    size = _counted(told["bytes"], COUNTS)
    try:
        told_of = stored.reachable(table).stat()
        if not stat.S_ISREG(told_of.st_mode):
            raise CaptureError(f"{named} is no regular file; {DECODE_AGAIN}")
        found = told_of.st_size
        if found != size:
            raise CaptureError(
                f"{named} is damaged, it has {found} bytes where {size} were written; "
                f"{DECODE_AGAIN}"
            )
        place = stored.reachable(table)
        if FOOTER in told and told[FOOTER] != _footer(place):
            raise CaptureError(
                f"{stored.file(table)}: the table is damaged, its footer is not what was written; "
                f"{DECODE_AGAIN}"
            )
        if DIGEST in told and told[DIGEST] != _hashed(place):
            raise CaptureError(f"{stored.file(table)}: the table is damaged; {DECODE_AGAIN}")
    except FileNotFoundError as error:
        raise CaptureError(f"{named} is missing; {DECODE_AGAIN}") from error
    except OSError as error:
        raise CaptureError(f"{named}: {said(error)}") from error


def _marks(file: Path) -> dict[str, str]:
    """What a table is recognised by: its footer or, where it is small, all of it."""
    small = file.stat().st_size <= WHOLE_BYTES
    return {DIGEST: _hashed(file)} if small else {FOOTER: _footer(file)}


def _hashed(file: Path) -> str:
    """SHA-256 of a small file; hexadecimal."""
    import hashlib  # As in `digests.py`: only traces on disk need it.

    with file.open("rb") as stream:  # Another may say that of a large one.
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _footer(file: Path) -> str:
    """SHA-256 of a Parquet file's footer with its length and the mark at its end; hexadecimal."""
    import hashlib  # As in `digests.py`: only traces on disk need it.

    hashed = hashlib.sha256()
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - FOOTER_END))
        length = int.from_bytes(stream.read(4), "little")
        stream.seek(max(0, size - FOOTER_END - length))
        # A length that is damaged may be that of the whole file.
        while piece := stream.read(digests.PIECE_BYTES):
            hashed.update(piece)
    return hashed.hexdigest()


def _damaged(path: str) -> CaptureError:
    return CaptureError(f"{path}: {META} is damaged; {DECODE_AGAIN}")


def _counted(number: object, among: range) -> int:
    """A count or a size that `meta.json` tells."""
    if type(number) is not int or number not in among:
        raise TypeError("a count is no number")
    return number


def _sound(told: meta.Meta) -> meta.Meta:
    """Refuse values that the decoder does not write; what sums them up believes them."""
    counts = [
        told.calls,
        told.undecoded,
        told.nfs_calls,
        told.vlan_tags,
        told.silent_connections,
        told.refused_connections,
        told.copies_apart,
        *told.packets.values(),
        *told.limits_hit.values(),
    ]
    numbers: list[int] = []
    ports: list[int] = []
    times: list[int | None] = [told.apart_ns]
    texts: list[object] = []
    for vain in told.vain:
        counts += [vain.attempts, vain.syns, vain.refusals]
        ports.append(vain.port)
        numbers.append(vain.frame)
        times += [vain.first_ns, vain.last_ns]
        texts += [vain.client, vain.server]
    for file in told.files:
        numbers.append(file.packets)
        counts += [file.bytes, file.truncated_packets, file.untimed_packets]
        counts += [file.followers, file.passed_bytes, file.trailing_bytes]
        counts += [file.late_packets, file.mistimed_packets, file.set_back, file.set_back_ns]
        counts += [file.set_forward, file.set_forward_ns, file.untold_pause_ns]
        frames = (
            file.first_frame,
            file.last_frame,
            file.set_back_frame,
            file.set_forward_frame,
            file.untold_pause_frame,
        )
        numbers += [frame for frame in frames if frame is not None]
        maybe = (file.snaplen, file.dropped_packets)
        counts += [number for number in maybe if number is not None]
        times += [file.start_ns, file.end_ns]
        texts += [file.path, file.format, *file.link_types, file.damage or ""]
    for told_ones, among in ((counts, COUNTS), (numbers, NUMBERS), (ports, PORTS)):
        for number in told_ones:
            _counted(number, among)
    if type(told.hidden) is not bool:
        raise TypeError("what is hidden or not is no number")
    if not all(time is None or (type(time) is int and time in TIMES) for time in times):
        raise TypeError("a time is no number")
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a name is no text")
    return told


def _source(told: Mapping[str, object]) -> Source:
    kept = told["digest"]
    digest = None
    if kept is not None:
        if not isinstance(kept, dict):
            raise TypeError("a digest is an object")
        digest = digests.Digest(**kept)
        kinds = type(digest.bytes), type(digest.sha256), type(digest.sampled)
        if kinds != (int, str, bool):
            raise TypeError("a digest has a size, a text, and whether it is sampled")
    return Source(
        str(told["path"]),
        digest,
        gone=bool(told.get("gone", False)),  # Once, it was not told.
    )
