"""Two shares of one server, with files of the same names: none is taken for the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import opening
from pcapnfs.analyses.asking import lookup
from pcapnfs.analyses.by_file import perfile
from pcapnfs.comparison.comparing import of_sides
from pcapnfs.decoding import decode
from pcapnfs.synth.builder import Conversation, mount3, nfs3
from pcapnfs.synth.builder.nfs3 import NF3DIR, Fattr3, results
from pcapnfs.synth.builder.nfs3.results import Entry
from tests.decoded import MS, T
from tests.sides import side_in
from tests.unit.rows import call, file, trace_of

pytest.importorskip("pcapnfs._core")

A, B = "/export/a", "/export/b"


def captured(path: Path, exports: Sequence[str], srt_ms: int = 1) -> str:
    """Each export is mounted, its root looked at, and `src/f` made and written in it."""
    mounting = Conversation(client_port=801, server_port=20048).open(T)
    talk = Conversation(client_port=802)
    now = T + 100 * MS
    xid = 0
    for number, export in enumerate(exports):
        fsid = 70 + number
        root, src, made = (f"{name} {number}".encode() for name in ("root", "source", "file"))
        mounting.call(number + 1, T + (number + 1) * MS, *mount3.mnt(export))
        mounting.reply(number + 1, T + (number + 1) * MS + MS // 2, mount3.mnt_reply(root))
        top, inner = (Fattr3(type=NF3DIR, fileid=fileid, fsid=fsid) for fileid in (2, 3))
        for request, answer in (
            (nfs3.getattr_(root), results.getattr_(top)),
            (nfs3.readdir(root), results.readdir([Entry(fileid=3, name="src", cookie=1)])),
            (nfs3.lookup(root, "src"), results.lookup(src, inner)),
            (nfs3.create(src, "f"), results.create(made, Fattr3(fileid=4, fsid=fsid))),
            (nfs3.write(made, 0, bytes(512)), results.write(count=512)),
        ):
            xid += 1
            talk.call(xid, now, *request)
            talk.reply(xid, now + srt_ms * MS, answer)
            now += (srt_ms + 1) * MS
    return str((mounting.capture() + talk.capture()).write(path))


def test_paths_begin_with_the_export(tmp_path: Path) -> None:
    with pcapnfs.open(captured(tmp_path / "two.pcap", [A, B])) as trace:
        files = pcapnfs.perfile(trace).files
        assert {file.path for file in files} == {
            each for export in (A, B) for each in (export, f"{export}/src", f"{export}/src/f")
        }
        assert {file.export for file in files} == {A, B}
        groups = pcapnfs.pergroup(trace, by="directory").groups
        assert {(each.group, each.files) for each in groups} == {
            (A, 2), (f"{A}/src", 1), (B, 2), (f"{B}/src", 1),
        }  # fmt: skip
        for pattern, found in (("src/f", 2), (f"{A}/src/*", 1), ("f", 2)):
            assert len(pcapnfs.perfile(trace, match=pattern).files) == found
        for wanted in (f"{B}/src/f", "b/src/f"):
            (told,) = pcapnfs.sequence(trace, file=wanted).files
            assert (told.path, told.export) == (f"{B}/src/f", B)


def test_a_file_is_found_below_its_export_before_others_that_end_so() -> None:
    """By the path of now and by a former one."""
    files = [
        file(1, f"{A}/src/f", export=A),
        file(2, f"{A}/old/src/f", export=A),
        file(3, f"{B}/src/f", export=B),
        file(4, f"{A}/src", "directory", export=A),
        file(5, f"{A}/kept", export=A),
    ]
    calls = [call(number, "READ", 1, file=number) for number in range(1, 6)]
    names = [{"call": 1, "position": 0, "directory": 4, "name": "was", "file": 5}]
    with trace_of(files=files, calls=calls, names=names) as trace:
        assert lookup.named(trace, "src/f") == (1, 3)
        assert lookup.named(trace, f"{B}/src/f") == (3,)
        assert lookup.named(trace, "src/was") == lookup.named(trace, f"{A}/src/was") == (5,)


def test_a_single_export_does_not_stand_before_its_paths(tmp_path: Path) -> None:
    with pcapnfs.open(captured(tmp_path / "one.pcap", [A])) as trace:
        assert {file.path for file in pcapnfs.perfile(trace).files} == {".", "src", "src/f"}
        groups = pcapnfs.pergroup(trace, by="directory").groups
        assert {(each.group, each.files) for each in groups} == {(".", 2), ("src", 1)}


def test_the_same_export_of_two_clients_is_one(tmp_path: Path) -> None:
    with pcapnfs.open(captured(tmp_path / "same.pcap", [A, A])) as trace:
        assert {file.path for file in pcapnfs.perfile(trace).files} == {".", "src", "src/f"}


@pytest.mark.parametrize("way", ["views", "gathered", "merged"])
def test_so_do_those_of_traces_that_show_one_each(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether they are read as they are, into the database, or into files."""
    if way == "merged":
        monkeypatch.setattr(opening, "IN_MEMORY_BYTES", 0)
    traces = []
    for name, exports in (("a", [A]), ("b", [B]), ("both", [A, B])):
        traces.append(tmp_path / f"{name}.nfstrace")
        decode([captured(tmp_path / f"{name}.pcap", exports)], traces[-1])
    columns = None if way == "views" else perfile.READS
    told = {each for export in (A, B) for each in (export, f"{export}/src", f"{export}/src/f")}
    for together in (traces[:2], traces):
        with pcapnfs.open(list(map(str, together)), columns=columns) as trace:
            assert {file.path for file in pcapnfs.perfile(trace).files} == told
    with pcapnfs.open(str(traces[0]), columns=columns) as trace:
        assert {file.path for file in pcapnfs.perfile(trace).files} == {".", "src", "src/f"}


def test_files_are_compared_by_their_paths_below_the_export(tmp_path: Path) -> None:
    before = side_in(captured(tmp_path / "before.pcap", [A, B], srt_ms=9))
    after = side_in(captured(tmp_path / "after.pcap", ["/vol/new"]))
    assert before.listed == after.listed == {"."}
    files = of_sides(before, after).files
    assert (files.both, files.only_before, files.only_after) == (3, 0, 0)
    assert {each.path: each.calls_before for each in files.files} == {".": 4, "src": 2, "src/f": 4}


def test_exports_are_compared_by_their_paths_where_both_sides_show_several(tmp_path: Path) -> None:
    before = side_in(captured(tmp_path / "before.pcap", [A, B], srt_ms=9))
    after = side_in(captured(tmp_path / "after.pcap", [B, "/vol/new"]))
    alone = side_in(captured(tmp_path / "alone.pcap", [A]))
    rows = of_sides(before, after).exports
    assert of_sides(before, alone).exports == ()
    calls = {each.export: (each.calls_before > 0, each.calls_after > 0) for each in rows}
    assert calls == {A: (True, False), B: (True, True), "/vol/new": (False, True)}
    (both,) = (each for each in rows if each.export == B)
    assert both.time_before_s > both.time_after_s > 0
