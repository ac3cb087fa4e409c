"""`readdir` and `cache` on the lab against the clients' counters and the options really in force.

Each capture comes with what the client's kernel counted between mount and unmount
(/proc/self/mountstats), its line of /proc/mounts, and the server's trees before and after.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import pcapnfs
from pcapnfs.analyses.caching.change_ids import change_ids
from pcapnfs.cli.app import run
from pcapnfs.views.document import to_json
from tests.oracles.corpus import Capture, lab_captures, require_corpus
from tests.oracles.opened import opened

pytest.importorskip("pcapnfs._core")

Say = Callable[[str], Mapping[str, Any]]
"""Gives the JSON that a command prints of a capture."""

_LAB = [capture for capture in lab_captures() if capture.truth_file and not capture.merged]

_READABLE = [capture for capture in _LAB if capture.snaplen >= 256 and capture.encryption is None]
"""Captures with handles: 96 or 128 bytes end before them, and krb5p and TLS hide them."""

_FULL = [capture for capture in _READABLE if capture.full]


def _parameters(captures: list[Capture]) -> list[Any]:
    named = [pytest.param(capture, id=capture.name) for capture in captures]
    return named or [pytest.param(None, id="no-corpus")]


def _named(*words: str) -> list[Any]:
    return _parameters(
        [capture for capture in _FULL if any(word in capture.name for word in words)]
    )


@pytest.fixture
def say(capture: Capture | None) -> Say:
    """A function that gives what a command prints as JSON of the capture."""
    require_corpus()

    def command(name: str) -> Mapping[str, Any]:
        assert capture is not None
        if (capture.name, name) not in _SAID:
            answer = _ANSWERS[name](opened(capture).trace, top=0)
            _SAID[capture.name, name] = json.loads(to_json(answer))
        return _SAID[capture.name, name]

    return command


_ANSWERS: dict[str, Callable[..., object]] = {
    "cache": pcapnfs.cache,
    "perfile": pcapnfs.perfile,
    "readdir": pcapnfs.readdir,
}
"""What commands print, by their name."""

_SAID: dict[tuple[str, str], Mapping[str, Any]] = {}
"""What was said before: several tests read the same."""


@pytest.mark.parametrize("name", _ANSWERS)
@pytest.mark.parametrize("capture", _named("cachedread-"))
def test_commands_print_what_is_read_here(
    name: str,
    capture: Capture,
    say: Say,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert run([name, "--json", "--top", "0", *map(str, capture.files)]) == 0
    assert json.loads(capsys.readouterr().out) == say(name)


def _counted(capture: Capture, client: str = "client1") -> dict[str, int]:
    """What the client's kernel counted by procedure, or by the compound's purpose."""
    total = capture.truth()["clients"][client]["mountstats_delta_total"]
    return {op: int(row["count"]) for op, row in total["ops"].items()}


def _events(capture: Capture, client: str) -> dict[str, int]:
    total = capture.truth()["clients"][client]["mountstats_delta_total"]
    return {event: int(count) for event, count in (total.get("events") or {}).items()}


# Revalidations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _parameters(_READABLE))
def test_revalidations_are_those_that_the_kernel_counted(capture: Capture) -> None:
    """`inoderevalidates` counts GETATTRs for their own sake; OPENs are counted elsewhere.

    What began before the capture is not in it.
    """
    require_corpus()
    with change_ids(opened(capture).trace) as cursor:
        for name, client in capture.truth()["clients"].items():
            if capture.vantage in capture.clients and capture.vantage != name:
                continue  # this interface saw the other client alone
            windows = [
                (mount["end_ns"], mount["umount_start_ns"])
                for mount in client["mounts"]
                if mount.get("umount_start_ns")
            ]
            found = sum(
                cursor.execute(
                    "select count(*) from learned join mounts using (mount) "
                    "where question = 'getattr' and call_time between $begin and $end "
                    "and parse_path(replace(replace(client, '.', '/'), ':', '/'))[-1] = $host",
                    {"begin": begin, "end": end, "host": {"client1": "11", "client2": "12"}[name]},
                ).fetchall()[0][0]
                for begin, end in windows
            )
            counted = _events(capture, name).get("inoderevalidates", 0)
            if capture.started_late:
                assert counted - 1 <= found <= counted
            else:
                assert found == counted, name


@pytest.mark.parametrize("capture", _parameters(_FULL))
def test_questions_and_what_they_found_add_up(capture: Capture, say: Say) -> None:
    said = say("cache")
    parts = (
        "first_sight",
        "unchanged",
        "changed_by_self",
        "changed_by_other",
        "changed_by_unknown",
        "for_times",
        "unknown",
    )
    assert sum(said[part] for part in parts) == said["revalidations"]
    assert said["by_getattr"] + said["by_open"] + said["by_verify"] == said["revalidations"]
    for key in ("revalidations", "unchanged", "changed_by_self", "changed_by_other"):
        assert sum(file[key] for file in said["files"]) == said[key], key
    assert said["changed_by_other"] <= said["invalidations"]
    if len(capture.clients) == 1 and not _changed_behind_its_back(capture):
        assert (said["changed_by_other"], said["bytes_reread"]) == (0, 0)


def _changed_behind_its_back(capture: Capture) -> bool:
    return any(str(step.get("who", "")).startswith("server") for step in capture.truth()["steps"])


@pytest.mark.parametrize(
    "capture",
    _parameters(
        [capture for capture in _LAB if capture not in _READABLE and capture.version == "3"]
    ),
)
def test_questions_whose_objects_are_hidden_are_counted_apart(capture: Capture, say: Say) -> None:
    """Cut handles, or krb5p, which leaves the procedure number in clear."""
    said = say("cache")
    assert said["revalidations"] is None
    of_mounting = said["without_file"] - _counted(capture).get("GETATTR", 0)
    assert 0 <= of_mounting <= 4


# A file read again -------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _named("cachedread-"))
def test_a_second_reading_is_spared_and_a_change_voids_it(capture: Capture, say: Say) -> None:
    """Cat cold, cat again; touched, cat twice; appended, cat; replaced, cat."""
    said = say("cache")
    size = capture.truth()["facts"].get("file_size") or 512 * 1024
    files = [file for file in said["files"] if file["role"] == "file"]
    old = files[0]
    assert old["changed_by_other"] == 2  # touched, appended
    assert old["unchanged"] >= 1
    assert said["bytes_reread"] == 2 * size  # after touch and after append, what was known before
    # The cached readings: under a delegation the first of them leaves no trace.
    assert said["bytes_saved"] == (2 if capture.version == "3" else 1) * size
    perfile = {file["file"]: file for file in say("perfile")["files"]}
    named = [file for file in perfile.values() if file["role"] == "file"]
    assert len({file["fileid"] for file in named}) == 2  # replaced: another file
    if capture.version != "3":
        assert said["delegations"]["recalled"] == 1  # the touch
        assert said["delegations"]["recall_s"] > 0


# Mount options -----------------------------------------------------------------------------------


def _expected(line: str) -> tuple[set[str], set[str]]:
    """Options that must be named, and all that may be, from a line of /proc/mounts."""
    given = dict(
        option.partition("=")[::2] for option in line.split()[3].split(",") if option != "rw"
    )
    if given.get("acregmax") == "0":
        return {"noac", "actimeo=0"}, {"noac", "actimeo=0"}
    if given.get("acdirmax") == "0":
        return {"acdirmin=0"}, {"acdirmin=0"}
    if "nordirplus" in given:
        return {"nordirplus"}, {"nordirplus"}
    if "acdirmax" in given:
        seconds = int(given["acdirmax"])
        return {f"actimeo={seconds}"}, {
            f"{option}={value}" for option in ("actimeo", "acdirmin") for value in range(1, 30)
        }
    sizes = {f"{size}={given[size]}" for size in ("rsize", "wsize") if int(given[size]) <= 65536}
    return (sizes if given["rsize"] == "4096" else set()), sizes


@pytest.mark.parametrize("capture", _parameters(_FULL))
def test_verdicts_name_the_options_in_force_and_no_others(capture: Capture, say: Say) -> None:
    """Defaults, and `sync` on files of one WRITE, show nothing: no verdict."""
    said = say("cache")
    line = capture.truth()["clients"][capture.clients[0]]["mounts"][0]["proc_mounts"]
    wanted, allowed = _expected(line)
    named = {
        option
        for mount in said["mounts"]
        for verdict in mount["verdicts"]
        for option in verdict["options"]
    }
    assert wanted <= named <= allowed
    for mount in said["mounts"]:
        for verdict in mount["verdicts"]:
            assert verdict["confidence"] in ("likely", "possible")
            assert verdict["evidence"]
            assert verdict["frames"]


@pytest.mark.parametrize("capture", _named("opt-noac", "opt-actimeo0", "opt-acdirmin0"))
def test_options_that_send_the_same_calls_stand_together(capture: Capture, say: Say) -> None:
    verdicts = [verdict for mount in say("cache")["mounts"] for verdict in mount["verdicts"]]
    (verdict,) = verdicts
    assert verdict["confidence"] == "likely"
    together = ["acdirmin=0"] if "acdirmin0" in capture.name else ["noac", "actimeo=0"]
    assert verdict["options"] == together


# Two clients -------------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _named("two-clients-"))
def test_each_client_learns_what_the_other_changed(capture: Capture, say: Say) -> None:
    said = say("cache")
    clients = {file["client"] for file in said["files"] if file["changed_by_other"]}
    assert len(clients) == (2 if capture.vantage == "server" else 1)
    assert said["bytes_reread"] > 0
    if capture.version == "3":
        assert said["delegations"]["opens"] == 0
    else:
        seen = capture.clients if capture.vantage == "server" else (capture.vantage,)
        returned = sum(_counted(capture, client).get("DELEGRETURN", 0) for client in seen)
        assert said["delegations"]["returned"] == returned
        assert 0 < said["delegations"]["recalled"] <= returned
        assert said["delegations"]["recall_max_s"] > 0


# Listings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _parameters(_FULL))
def test_listings_are_those_that_the_kernel_counted(capture: Capture, say: Say) -> None:
    if len(capture.clients) > 1 or capture.started_late:
        pytest.skip("the counters are of more than the capture shows")
    said, counted = say("readdir"), _counted(capture)
    if capture.version == "3":
        assert said["readdir_calls"] == counted.get("READDIR", 0)
        assert said["readdirplus_calls"] == counted.get("READDIRPLUS", 0)
        assert said["v4_plain_calls"] == said["v4_plus_calls"] == 0
    else:
        calls = said["readdir_calls"] + said["readdirplus_calls"]
        assert calls == said["v4_plain_calls"] + said["v4_plus_calls"] == counted.get("READDIR", 0)


@pytest.mark.parametrize("capture", _named("walk-v", "walk-nordirplus-"))
def test_a_walk_lists_every_directory_once_and_asks_for_its_children(
    capture: Capture, say: Say
) -> None:
    """`find -ls` cold, again after 5 s, `ls -R` after 5 s more: all within 30 s of the listing."""
    said, counted = say("readdir"), _counted(capture)
    tree = capture.truth()["tree_before"]
    directories = 1 + sum(kind == "d" for _, kind, *_ in tree)
    assert (said["directories"], said["listings"]) == (directories, directories)
    dots = 2 * directories if capture.version == "3" else 0
    assert said["entries"] == len(tree) + dots
    plain = "nordirplus" in capture.name
    assert (said["readdir_calls"] > 0) == plain
    assert (said["readdirplus_calls"] > 0) == (not plain)
    after = said["after_plain" if plain else "after_plus"]
    assert after["calls"] == said["follow_ups"]
    assert after["lookups"] == counted.get("LOOKUP", 0)
    # Only the root is nobody's child.
    assert after["accesses"] == counted["ACCESS"] - 1
    root = next(row for row in said["shown"] if row["path"] == ".")
    assert root["revalidations"] >= 3
    assert after["getattrs"] + root["revalidations"] - _of_mounting(capture) == counted["GETATTR"]
    if not plain:
        assert (said["plus_entries"], said["untouched"]) == (len(tree), 0)


def _of_mounting(capture: Capture) -> int:
    """GETATTRs of the root by the mount itself: the client's counters begin after them."""
    return 2 if capture.version == "3" else 1


@pytest.mark.parametrize("capture", _named("walk-threads-"))
def test_walks_from_cold_ask_with_attributes_each_time(capture: Capture, say: Say) -> None:
    said, tree = say("readdir"), capture.truth()["tree_before"]
    assert said["readdir_calls"] == 0
    assert said["listings"] == said["readdirplus_calls"] == _counted(capture)["READDIRPLUS"]
    files = sum(kind == "f" for _, kind, *_ in tree)
    assert (said["plus_entries"], said["untouched"]) == (len(tree), files)
    assert said["after_plus"]["lookups"] == 0
    assert said["after_plus"]["wall_s"] <= said["after_plus"]["time_s"]


@pytest.mark.parametrize("capture", _named("bigdir-"))
def test_attributes_are_given_up_in_the_middle_of_a_large_directory(
    capture: Capture, say: Say
) -> None:
    """`ls -f`, then `ls -l`: the names are known, so the rest is looked up one by one."""
    said, counted = say("readdir"), _counted(capture)
    tree = capture.truth()["tree_before"]
    (row,) = said["shown"]
    assert (said["readdirplus_calls"], said["plus_lost"], said["plus_won_back"]) == (1, 1, 0)
    assert said["entries"] == row["entries"] >= 3000
    assert said["plus_entries"] + counted["LOOKUP"] == sum(
        kind == "f" for path, kind, *_ in tree if path.startswith("d00/") or "/" not in path
    )
    # Looking up takes longer than the 30 s in which it counts as caused by the listing.
    assert 0 < said["after_plain"]["lookups"] == said["after_plain"]["calls"] < counted["LOOKUP"]


@pytest.mark.parametrize("capture", _named("npm-like-"))
def test_reading_a_tree_asks_for_what_the_listings_had_told(capture: Capture, say: Say) -> None:
    said, counted = say("readdir"), _counted(capture)
    assert said["readdir_calls"] == 0
    assert said["after_plain"]["calls"] == 0
    assert 0 < said["after_plus"]["getattrs"] <= counted["GETATTR"]
    assert said["untouched"] == 0
    assert say("cache")["bytes_reread"] == 0  # a new mount is no invalidation
