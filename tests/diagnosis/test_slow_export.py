"""The rule for one export of several whose storage is slower."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.mounts.software import Kind, Software
from pcapnfs.analyses.servers.exports import Exports, ExportTimes, StableKind
from pcapnfs.diagnosis.finding import Finding
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules.slow_export import RULE
from pcapnfs.record import replace
from pcapnfs.synth.builder import Conversation, mount3, nfs3
from pcapnfs.synth.builder.nfs3 import Fattr3, results
from tests.decoded import MS, T
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by

CREATE = StableKind("CREATE", 1, 1, None, 40, 0.001, 0.0008, 0.0012, 0.001, 0.04, 40.0)
SLOW_CREATE = replace(CREATE, median_s=0.008, low_s=0.006, high_s=0.012, mean_s=0.009, time_s=0.36)
QUICK = ExportTimes(
    "10.0.0.1", "10.0.0.1:/a", 1, 90, 40, 0.1, 0.1, 50, 0.0005, 0.0015, (CREATE,), (0, 100),
    (1, 3, 5, 7),
)  # fmt: skip
SLOW = replace(QUICK, export="10.0.0.1:/b", kinds=(SLOW_CREATE,), frames=(11, 13, 15, 17))


def found(*exports: ExportTimes) -> Material:
    return replace(bound_by("persistence"), exports=Exports(exports, len(exports)))


def test_an_export_whose_stable_calls_take_longer_is_told_beside_the_quickest() -> None:
    (seen,) = seen_by(RULE, found(SLOW, QUICK))
    assert seen.title == "Storage is slower behind one export of 10.0.0.1 than behind another"
    assert seen.seen == (
        "Stable calls took 8.00 ms at 10.0.0.1:/b beyond a small call of the same client, in the "
        "median, and 1.00 ms at 10.0.0.1:/a. Of like calls, with as many under way: CREATE "
        "8.00 ms (40) against 1.00 ms (40)."
    )
    (claim,) = seen.claims
    assert claim.row == "stable"
    assert claim.seconds == pytest.approx(0.36 - 40 * 0.001)
    assert seen.frames == (11, 13, 15, 1, 3, 5)
    assert (seen.confidence, seen.about, seen.calls) == ("likely", ("10.0.0.1",), 40)
    assert seen.data == "40 calls against 40, of 2 exports"


@pytest.mark.parametrize(
    "changes",
    [
        {"median_s": 0.0029},
        {"median_s": 0.0029, "low_s": 0.0025},
        {"low_s": 0.0012},
        {"calls": 29},
        {"op": "MKDIR"},
        {"at_once": 2},
        {"at_server": 2},
        {"below_bytes": 1024},
        {"time_s": 0.04},
    ],
    ids=str,
)
def test_a_near_miss_is_none(changes: dict[str, object]) -> None:
    """Less than 3 times, quartiles that meet, few calls, none that are alike, nothing that it
    costs."""
    slow = replace(SLOW, kinds=(replace(SLOW_CREATE, **changes),))  # type: ignore[arg-type]
    assert seen_by(RULE, found(slow, QUICK)) == []


def test_of_storage_that_is_quick_a_few_times_as_long_is_nothing() -> None:
    quick = replace(QUICK, kinds=(replace(CREATE, median_s=0.0001, high_s=0.0002, mean_s=0.0001),))
    slow = replace(SLOW, kinds=(replace(SLOW_CREATE, median_s=0.00209, low_s=0.0015),))
    assert seen_by(RULE, found(slow, quick)) == []
    assert len(seen_by(RULE, found(slow, quick), "slow_export.more=0.001")) == 1


def test_an_export_of_another_server_tells_nothing() -> None:
    assert seen_by(RULE, found(SLOW, replace(QUICK, server="10.0.0.9"))) == []
    assert seen_by(RULE, found(SLOW)) == []


def test_kinds_are_weighed_by_the_calls_of_the_slow_one() -> None:
    """100 WRITEs that take as long and 40 CREATEs that take longer are not slower by 3 times."""
    write = replace(CREATE, op="WRITE", below_bytes=1024, calls=100, median_s=0.004)
    both = [replace(each, kinds=(*each.kinds, write)) for each in (SLOW, QUICK)]
    assert seen_by(RULE, found(*both)) == []
    few = replace(write, calls=10, median_s=0.0001, low_s=0.0001, high_s=0.0001, mean_s=0.0001)
    (seen,) = seen_by(
        RULE,
        found(
            replace(SLOW, kinds=(SLOW_CREATE, few)),
            replace(QUICK, kinds=(CREATE, replace(few, calls=1000))),
        ),
    )
    assert "took 6.42 ms at" in seen.seen


def test_several_slow_ones_are_told_together_and_beside_the_quickest() -> None:
    slower = replace(
        SLOW,
        export="10.0.0.1:/c",
        kinds=(replace(SLOW_CREATE, median_s=0.009, time_s=0.4, mean_s=0.01),),
    )
    middle = replace(
        QUICK,
        export="10.0.0.1:/d",
        kinds=(replace(CREATE, median_s=0.002, low_s=0.0018, high_s=0.0024, mean_s=0.002),),
    )
    (seen,) = seen_by(RULE, found(SLOW, slower, middle, QUICK))
    assert seen.title == "Storage is slower behind 2 exports of 10.0.0.1 than behind another"
    assert "9.00 ms at 10.0.0.1:/c" in seen.seen
    assert "1.00 ms at 10.0.0.1:/a" in seen.seen
    assert seen.seen.endswith("Likewise: 10.0.0.1:/b (8.00 ms against 1.00 ms).")
    (claim,) = seen.claims
    assert claim.seconds == pytest.approx(0.36 + 0.32)
    assert seen.calls == 80


@pytest.mark.parametrize(("span", "sure"), [((40, 140), True), ((60, 160), False)])
def test_what_came_one_after_the_other_may_be_the_hour(
    span: tuple[int, int], *, sure: bool
) -> None:
    (seen,) = seen_by(RULE, found(replace(SLOW, span_ns=span), QUICK))
    assert seen.confidence == ("likely" if sure else "possible")
    assert ("may have been the hour" in seen.seen) is not sure


def test_one_quick_export_used_at_the_same_time_tells_that_it_is_not_the_hour() -> None:
    """Not so quick ones before and after it: storage may be slow for a while."""
    slow = replace(SLOW, span_ns=(200, 300))
    later = replace(QUICK, export="10.0.0.1:/c", span_ns=(300, 400))
    (seen,) = seen_by(RULE, found(slow, QUICK, later))
    assert seen.confidence == "possible"
    (seen,) = seen_by(RULE, found(slow, QUICK, replace(later, span_ns=(200, 390))))
    assert seen.confidence == "likely"
    assert "1.00 ms at 10.0.0.1:/c" in seen.seen
    (seen,) = seen_by(RULE, found(replace(slow, span_ns=None), QUICK, later))
    assert seen.confidence == "possible"


def test_a_server_that_is_not_linux_has_no_zfs() -> None:
    (seen,) = seen_by(RULE, found(SLOW, QUICK))
    assert "iostat" in seen.advice[0].action
    kind = Kind("NetApp Release 9.6.0 (netapp.com)", "implementation", 1, ("10.0.0.1",), 1)
    material = replace(found(SLOW, QUICK), software=Software(servers=(kind,)))
    (seen,) = seen_by(RULE, material)
    told = " ".join(advice.action for advice in seen.advice)
    assert not any(word in told for word in ("iostat", "zfs", "exportfs", "/proc"))


def two_exports(path: Path, slow_ms: int, *, turns: int = 40, nested: bool = False) -> str:
    """Names are looked at and made in turn at two exports: at one of them they take `slow_ms`.

    Args:
        path: The capture.
        slow_ms: What a create takes there, milliseconds.
        turns: So many at each.
        nested: That one is not mounted, but lies in the other, where the file system changes.
    """
    mounting = Conversation(client_port=801, server_port=20048).open(T)
    talk = Conversation(client_port=802)
    now, xid = T + 100 * MS, 0
    for number in range(2):
        root = f"root {number}".encode()
        if nested and number:
            break
        mounting.call(number + 1, T + (number + 1) * MS, *mount3.mnt(f"/export/{number}"))
        mounting.reply(number + 1, T + (number + 1) * MS + MS // 2, mount3.mnt_reply(root))
    if nested:
        outer, inner = (Fattr3(type=2, fileid=2, fsid=70 + number) for number in range(2))
        for request, answer in (
            (nfs3.getattr_(b"root 0"), results.getattr_(outer)),
            (nfs3.lookup(b"root 0", "inner"), results.lookup(b"root 1", inner)),
        ):
            xid += 1
            talk.call(xid, now, *request)
            talk.reply(xid, now + MS, answer)
            now += 2 * MS
    for turn in range(turns):
        for number, takes_ms in ((0, 2), (1, slow_ms)):
            root, made = f"root {number}".encode(), f"file {number} {turn}".encode()
            attributes = Fattr3(fileid=10 + turn, fsid=70 + number)
            for request, answer, srt_ms in (
                (nfs3.create(root, f"f{turn}"), results.create(made, attributes), takes_ms),
                (nfs3.getattr_(made), results.getattr_(attributes), 1),
            ):
                xid += 1
                talk.call(xid, now, *request)
                talk.reply(xid, now + srt_ms * MS, answer)
                now += (srt_ms + 1) * MS
    return str((mounting.capture() + talk.capture()).write(path))


def told(path: str) -> list[Finding]:
    with pcapnfs.open(path) as trace:
        findings = pcapnfs.summarize(trace).findings
    return [each for each in findings if each.id == RULE.id]


def test_a_capture_of_two_exports_tells_which_is_slow(tmp_path: Path) -> None:
    (finding,) = told(two_exports(tmp_path / "slow.pcap", 12))
    assert "took 11.0 ms at 10.0.2.10:/export/1" in finding.evidence
    assert "1.00 ms at 10.0.2.10:/export/0" in finding.evidence
    assert (finding.severity, finding.confidence) == ("problem", "likely")
    # 40 times 10 ms.
    assert finding.saving_s == pytest.approx(0.4)
    assert finding.cost_s == pytest.approx(0.4)


def test_a_file_system_below_a_mounted_one_has_storage_of_its_own(tmp_path: Path) -> None:
    (finding,) = told(two_exports(tmp_path / "nested.pcap", 12, nested=True))
    assert "took 11.0 ms at 10.0.2.10:/export/0/inner" in finding.evidence
    assert "1.00 ms at 10.0.2.10:/export/0." in finding.evidence


@pytest.mark.parametrize(("slow_ms", "turns"), [(3, 40), (2, 40), (12, 29)])
def test_one_of_two_that_are_alike_or_hardly_used_is_not(
    slow_ms: int, turns: int, tmp_path: Path
) -> None:
    assert told(two_exports(tmp_path / "alike.pcap", slow_ms, turns=turns)) == []


def test_findings_add_up(tmp_path: Path) -> None:
    with pcapnfs.open(two_exports(tmp_path / "slow.pcap", 12)) as trace:
        summary = pcapnfs.summarize(trace)
    costs = [each.cost_s for each in summary.findings if each.cost_s is not None]
    assert sum(costs) <= summary.judged.budget_s + 1e-9
