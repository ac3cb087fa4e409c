"""Summaries, findings and reports, which are made of the others."""

from __future__ import annotations

from pcapnfs.analyses.by_file.files import Distribution, Files
from pcapnfs.analyses.mounts.first_use import MountIdle
from pcapnfs.analyses.servers.exports import Exports, ExportTimes, StableKind
from pcapnfs.analyses.times.course import Course, Part
from pcapnfs.analyses.times.distributions import OperationSpread, Spreads
from pcapnfs.analyses.times.operations import OperationCount, OperationTimes, SignatureTimes
from pcapnfs.diagnosis.finding import Advice, Finding, Subject
from pcapnfs.diagnosis.first import ToDo
from pcapnfs.diagnosis.judging import Findings, Judged
from pcapnfs.record import replace
from pcapnfs.report import Mark, Report
from pcapnfs.summary import Summary
from tests.views.samples.by_file import file_cost, pattern_class, patterns, perfile, sequence, sizes
from tests.views.samples.caching import cache, poor_cache, readdir
from tests.views.samples.captured import capture, poor_trust, software, trust
from tests.views.samples.forecasts import model, poor_model
from tests.views.samples.times import (
    NO_TIMES,
    TIMES,
    bottleneck,
    budget,
    lock_gaps,
    phase,
    stability,
)
from tests.views.samples.wire import network, poor_network


def summary() -> Summary:
    spread = Distribution(12.5, 12.0, 14.0, 20)
    return Summary(
        verdict=bottleneck(),
        findings=findings().findings,
        judged=findings().judged,
        capture=capture(),
        software=software(),
        trust=trust(),
        operations=(
            OperationTimes("3", "CREATE", 1200, 3, 1197, 2, TIMES),
            OperationTimes("nfsacl3", "GETACL", 7, 0, 0, 0, NO_TIMES),
        ),
        signatures=(SignatureTimes("4.1", "OPEN", "SEQUENCE PUTFH OPEN", 1, 0, 0, 0, NO_TIMES),),
        op_counts=(OperationCount("3", "CREATE", 1200, 1200, 3),),
        stability=stability(),
        time_budget=(budget(),),
        time_budget_total=replace(budget(), client=None),
        lock_gaps=lock_gaps(),
        stood_still_s={},
        unreached_s=0.0,
        mount_idle=MountIdle(),
        phases=(phase(), phase("REMOVE", 45.0)),
        exports=exports(),
        files=Files(1000, 10, 1, 3, 2, 0, spread, Distribution(4.0, 4.0, 5.0, 6), 0, 1 << 20),
        patterns=patterns(),
        sizes=sizes(),
        readdir=readdir(),
        cache=cache(),
        network=network(),
        model=model(),
    )


def exports() -> Exports:
    """Six homes of one server, and one of another, with a name that is hostile and long."""
    kind = StableKind("CREATE", 1, 1, None, 60, 0.0008, 0.0006, 0.001, 0.0009, 0.054, 60.0)
    first = ExportTimes(
        "10.0.0.1", "10.0.0.1:/home/a", 2, 1200, 900, 9.5, 8.25, 200, 0.0004, 0.012,
        (
            replace(kind, median_s=0.0115),
            replace(kind, op="WRITE", below_bytes=8192, at_once=4, at_server=8),
        ),
        (1, 2), (12, 30),
    )  # fmt: skip
    second = replace(first, export="10.0.0.1:/home/b", time_s=2.5, stable_median_s=0.0012)
    names = ["10.0.0.1:/export/" + "a/very/long/way/" * 5 + "\x1b[31m", "[fd00::9]:/srv"]
    others = (
        replace(
            first, export=name, clients=1, calls=9, stable_calls=0, stable_median_s=None, kinds=()
        )
        for name in names
    )
    return Exports((first, replace(second, kinds=(kind,)), *others), 7)


def findings() -> Findings:
    """Three findings: with and without cost, of a mount and of the whole capture."""
    pair = ("10.0.0.2", "10.0.0.1")
    return Findings(
        findings=(
            Finding(
                id="noac",
                severity="problem",
                title="The mount keeps no attributes (noac)",
                about=pair,
                alike=tuple(
                    Subject((f"10.0.0.{host}", "10.0.0.1"), cost_s, 1460)
                    for host, cost_s in ((2, 8.0), (3, 6.0), (4, 5.0), (5, 3.0), (6, 2.0))
                ),
                evidence="Alike for 5 clients (10.0.0.2, 10.0.0.3, 10.0.0.4 and 2 more); 7,300 "
                "calls in all; 2.00 s to 8.00 s each. 10.0.0.2, the first of them: 1,460 of 1,478 "
                "GETATTRs asked for attributes that had not changed and were younger than a "
                "second.",
                why="Each of them is a round trip, and every WRITE has to be on stable storage "
                "before the program goes on.",
                cost_s=20.5,
                cost_share=0.336,
                saving_s=24.0,
                advice=(
                    Advice("Mount without noac.", "other clients' changes are seen 3 s later."),
                    Advice("Where one file needs it, open that one with O_SYNC."),
                ),
                confidence="likely",
                data="5 clients; of the first: 1,478 GETATTRs, 60 WRITEs",
                frames=(12, 30, 31),
                display_filter="frame.number in {12, 30..31}",
                also=("getattr_storm",),
                origin="nfs(5), the attribute cache",
            ),
            Finding(
                id="negative_lookups",
                severity="warning",
                title="Programs look for names that do not exist",
                about=pair,
                alike=(),
                evidence="300 of 400 LOOKUPs found nothing.",
                why="Each of them is a round trip that gives nothing.",
                cost_s=1.25,
                cost_share=0.0205,
                saving_s=1.25,
                advice=(Advice("Put the directory that holds the file first."),),
                confidence="certain",
                data="400 LOOKUPs",
                frames=(),
                display_filter=None,
                also=(),
                origin="practice",
            ),
            Finding(
                id="server_capture",
                severity="note",
                title="The capture was taken at the server",
                about=(),
                alike=(),
                evidence="The server answers SYNs within 12 µs.",
                why="Service times hold no network.",
                cost_s=None,
                cost_share=None,
                saving_s=None,
                advice=(Advice("Capture at the client: tcpdump -i eth0 -s 0 port 2049."),),
                confidence="certain",
                data="1 connection",
                frames=(1,),
                display_filter="frame.number in {1}",
                also=(),
                origin="SPEC",
            ),
        ),
        checked=34,
        budget_s=61.0,
        booked_s=21.75,
        to_do=ToDo(first=0),
    )


def report() -> Report:
    parts = tuple(
        Part(place * 1.0, 200, 100, 1.5, 1e-3, 20e-3)
        if place != 5
        else Part(5.0, 0, 0, 0.0, None, None)
        for place in range(60)
    )
    return Report(
        redacted=False,
        summary=summary(),
        spreads=Spreads(
            edges_s=(1e-4, 1e-3, 1e-2, 1e-1),
            operations=(
                OperationSpread("3", "CREATE", 1000, 20e-3, 30e-3, (0, 100, 900)),
                OperationSpread("3", "GETATTR", 10, 0.3e-3, 0.5e-3, (10, 0, 0)),
            ),
            hidden=1,
        ),
        course=Course(start_s=0.5, part_s=1.0, parts=parts),
        marks=(Mark(0, 14, 3.0), Mark(0, 15, 3.1), Mark(1, 99, 40.0)),
        perfile=perfile(file_cost(), file_cost("README")),
        sequences=sequence().files,
    )


def long_report() -> Report:
    """As much as a large capture gives."""
    base = report()
    files = tuple(
        replace(
            file_cost(f"d{place % 7}/file-{place}"),
            type="DIR" if place % 3 else "REG",
            size_bytes=place * 37 % 41 * 1000,
        )
        for place in range(40)
    )
    (found, *_) = sequence().files
    steps = tuple(replace(found.steps[place % len(found.steps)]) for place in range(40))
    return replace(
        base,
        summary=replace(
            base.summary,
            operations=base.summary.operations * 20,
            signatures=base.summary.signatures * 100,
            phases=tuple(phase(f"CREATE, WRITE {place}", place * 6.0) for place in range(10)),
            patterns=patterns(*(pattern_class(f"WRITE{place}") for place in range(10))),
        ),
        perfile=perfile(*files),
        sequences=tuple(replace(found, path=f"d/file-{place}", steps=steps) for place in range(8)),
    )


def poor_report() -> Report:
    """Of a capture in which nothing was answered."""
    base = report()
    nothing = Distribution(None, None, None, None)
    return replace(
        base,
        summary=replace(
            base.summary,
            verdict=None,
            findings=(),
            judged=Judged(checked=1, budget_s=0.0, booked_s=0.0),
            trust=poor_trust(),
            operations=(),
            signatures=(),
            time_budget=(),
            time_budget_total=replace(budget(None, 0), wall_s=0.0, calls=0, placed_share=None),
            phases=(),
            files=Files(None, None, None, None, None, None, nothing, nothing, 0, None),
            patterns=replace(patterns(), classes=(), class_count=0),
            sizes=replace(sizes(), files=0, bins=()),
            readdir=replace(readdir(), readdir_calls=0, readdirplus_calls=0, shown=()),
            cache=poor_cache(),
            network=poor_network(),
            model=poor_model(),
        ),
        spreads=Spreads((), (), 0),
        course=Course(None, None, ()),
        marks=(),
        perfile=perfile(),
        sequences=(),
    )
