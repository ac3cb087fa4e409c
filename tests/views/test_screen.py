"""Screens at 80 and 140 columns, compared with what people read and approved.

After a wanted change: `PCAPNFS_UPDATE_SCREENS=1 pytest tests/views`, then read the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from pcapnfs.analyses.by_file.costs import Total
from pcapnfs.analyses.captured.trust import Trust
from pcapnfs.analyses.mounts.software import Changed, Kind, Software
from pcapnfs.record import replace
from pcapnfs.views import (
    estimate,
    findings,
    patterns,
    perfile,
    screen,
    sequence,
    show,
    sizes,
    verify,
)
from tests.views import samples

SCREENS = Path(__file__).parent / "screens"


def renderables() -> dict[str, RenderableType]:
    poor = replace(
        samples.summary(),
        verdict=None,
        model=samples.poor_model(),
        trust=samples.poor_trust(),
        readdir=replace(samples.readdir(), readdir_calls=0, readdirplus_calls=0),
        cache=samples.poor_cache(),
        network=samples.poor_network(),
        software=Software(),
        capture=replace(
            samples.capture(),
            damage=("tar-x.pcap: breaks off at byte 99",),
            limits_hit={"record_limit": 2},
            snaplen=96,
            cut_to=96,
        ),
    )
    return {
        "summary": screen.summary(samples.summary()),
        "summary-poor": screen.summary(poor),
        "perfile": perfile.files(samples.perfile()),
        "pergroup": perfile.groups(samples.pergroup()),
        "patterns": patterns.screen(samples.patterns()),
        "sequence": sequence.screen(samples.sequence()),
        "sizes": sizes.screen(samples.sizes()),
        "verify": verify.screen(samples.verification()),
        "show": show.screen(samples.shown()),
        "show-packet": show.screen(
            replace(
                samples.shown(),
                readings=(),
                calls=0,
                packet=samples.shown().readings[0].messages[0],
                notes=("reply_without_call",),
            )
        ),
    }


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", list(renderables()))
def test_a_screen_looks_as_approved(name: str, width: int) -> None:
    text = samples.render(renderables()[name], width)
    approved = SCREENS / f"{name}-{width}.txt"
    if os.environ.get("PCAPNFS_UPDATE_SCREENS"):
        approved.parent.mkdir(exist_ok=True)
        approved.write_text(text, encoding="utf-8")
    assert text == approved.read_text(encoding="utf-8")
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_colours_can_be_read_on_light_and_on_dark_terminals() -> None:
    """White, yellow and cyan vanish on white, black and blue on black, bright ones as well."""
    result = samples.findings()
    screens = [*renderables().values(), findings.screen(result)]
    console = Console(width=80, color_system="standard", force_terminal=True, highlight=False)
    with console.capture() as captured:
        for each in screens:
            console.print(each)
    codes = {
        code
        for group in re.findall(r"\x1b\[([\d;]*)m", captured.get())
        for code in group.split(";")
    }
    assert "35" in codes
    assert codes <= {"0", "1", "2", "3", "31", "35"}


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_numbers_are_whole_at_any_width(width: int) -> None:
    text = samples.render(renderables()["summary"], width)
    assert "1\u2009200" in text
    assert "1.50 s" in text


def test_narrow_screens_shorten_paths_in_the_middle_and_wide_ones_show_them() -> None:
    narrow = samples.render(renderables()["perfile"], 80)
    assert "src/" in narrow
    assert "main.c" in narrow
    assert "…" in narrow
    assert "src/deeply/nested/directory/with/a/long/path/to/main.c" in samples.render(
        renderables()["perfile"], 140
    )


def test_where_no_call_has_a_reply_no_service_time_is_told() -> None:
    none = replace(
        samples.stability(),
        **dict.fromkeys(("stable", "unstable", "total", "unlisted"), samples.stability().read),
    )
    text = samples.render(screen.summary(replace(samples.summary(), stability=none)), 80)
    assert "No call has its reply in the capture." in text
    assert "of calls" not in text


def test_operations_that_took_next_to_nothing_are_counted_in_a_sentence() -> None:
    """Those that failed, were sent again or took their share keep their row."""
    many = samples.summary().operations[0]
    quick = replace(many, errors=0, retransmitted_calls=0, srt=replace(many.srt, sum_s=0.0001))
    rows = [replace(many, op=f"LONG{number}") for number in range(10)]
    rows += [replace(quick, op=name, version="4.2", calls=7) for name in ("ONE", "TWO", "THREE")]
    rows += [
        replace(quick, op="FAILED", errors=1),
        replace(quick, op="AGAIN", retransmitted_calls=1),
    ]
    rows += [replace(quick, op="SHARE", srt=replace(many.srt, sum_s=1.0))]
    text = samples.render(screen.summary(replace(samples.summary(), operations=tuple(rows))), 140)
    assert "Also NFSv4.2: 7 ONE, 7 TWO, 7 THREE (300 µs together)." in text.replace("\u2009", " ")
    table = [line.split()[1] for line in text.splitlines() if line.startswith("  3 ")]
    assert table == [*(f"LONG{number}" for number in range(10)), "FAILED", "AGAIN", "SHARE"]
    few = samples.render(
        screen.summary(replace(samples.summary(), operations=tuple(rows[:12]))), 140
    )
    assert "Also" not in few
    assert "TWO" in few


def test_of_thousands_of_procedures_some_are_named() -> None:
    failed = replace(samples.summary().operations[0], errors=1, calls=7)
    rows = tuple(replace(failed, op=str(number)) for number in range(20_000))
    text = samples.render(screen.summary(replace(samples.summary(), operations=rows)), 140)
    assert len([line for line in text.splitlines() if line.startswith("  3 ")]) == 100
    assert "Also NFSv3: 7 100, 7 101," in text
    plain = text.replace("\u2009", " ").replace("\n  ", " ")
    assert re.search(r"7 199 and 19 800 more \(.* together\); --json has all\.", plain)


@pytest.mark.parametrize("width", [80, 140])
def test_a_rotation_takes_no_more_than_a_few_lines(width: int) -> None:
    files = tuple(f"/var/tmp/case/nfs.pcap{number}" for number in range(1000))
    rotated = replace(samples.summary(), capture=replace(samples.capture(), files=files))
    heading = samples.render(screen.summary(rotated), width).partition("\npcap,")[0]
    assert heading.startswith("/var/tmp/case/nfs.pcap0, /var/tmp/case/nfs.pcap1,")
    assert " ".join(heading.split()).endswith("and 996 more")
    assert heading.count("\n") < 4


@pytest.mark.parametrize("width", [80, 140])
def test_each_client_of_a_verdict_begins_a_line_of_its_own(width: int) -> None:
    found = samples.bottlenecks("10.0.0.2", "10.0.0.3")
    summary = samples.summary()
    result = replace(summary, verdict=found, model=replace(summary.model, verdict=found))
    text = samples.render(screen.summary(result), width)
    begin, end = text.index("Verdict\n"), text.index("Findings\n")
    lines = [line[:18] for line in text[begin:end].splitlines()[1:]]
    starts = ["  10.0.0.2 waited ", "  10.0.0.3 waited ", "  4 more clients w"]
    assert [line for line in lines if line in starts] == starts
    estimated = samples.render(estimate.screen(result.model), width)
    assert all(start in estimated for start in starts)


def test_calls_that_the_service_times_leave_out_are_told() -> None:
    """The first lines count them: two totals that differ must not stand there without a reason."""
    summary = samples.summary()

    def told(trust: Trust) -> list[str]:
        text = samples.render(screen.summary(replace(summary, trust=trust)), 80)
        return re.findall("Not in it: (.*)", text)

    assert told(summary.trust) == []
    trust = replace(summary.trust, rpc_calls=10_003, matched=10_001, unanswered=2)
    assert told(trust) == ["1 call of a server to a client, 2 calls without a reply."]


def test_the_root_of_the_export_is_more_than_a_dot() -> None:
    root = replace(samples.perfile(), files=(samples.file_cost("."),))
    assert "\n. (export root) " in samples.render(perfile.files(root), 80)
    grouped = replace(samples.pergroup(), by="directory")
    first = replace(grouped.groups[0], group=".")
    text = samples.render(perfile.groups(replace(grouped, groups=(first,))), 80)
    assert "\n. (export root) " in text
    assert ". (export root)\n" in samples.render(sequence.screen(samples.sequence(".")), 80)


def test_standard_input_is_told_by_its_name() -> None:
    summary = samples.summary()
    piped = replace(summary, capture=replace(summary.capture, files=("-",)))
    assert samples.render(screen.summary(piped), 80).startswith("standard input\n")


def test_a_sequence_does_not_repeat_the_name_of_its_file() -> None:
    own, other = (samples.sequence("src/main.c", name) for name in ("main.c", "other.c"))
    assert "  name\n" not in samples.render(sequence.screen(own), 200)
    assert re.search("  name *\n", samples.render(sequence.screen(other), 200))


def test_nothing_hostile_reaches_the_terminal() -> None:
    hostile = samples.HOSTILE
    summary = samples.summary()
    row = replace(summary.operations[0], version=hostile, op=hostile)
    result = replace(
        summary,
        trust=samples.poor_trust(),
        model=replace(summary.model, verdict=samples.bottlenecks(hostile)),
        operations=(row,),
        software=Software(
            clients=(Kind(hostile, "implementation", 1, (hostile,), 1),),
            servers=(Kind(hostile, "implementation", 1, (hostile,), 1),),
            changed=(Changed("client", hostile, hostile, f"{hostile} 2", 3),),
        ),
        capture=replace(
            summary.capture,
            files=(hostile,),
            format=hostile,
            clients=(hostile,),
            servers=(hostile,),
            protocols=(hostile,),
            damage=(hostile,),
            limits_hit={hostile: 1},
        ),
    )
    file = replace(samples.file_cost(hostile), ops={hostile: 1})
    hidden = samples.sequence(hostile, hostile)
    for renderable in (
        screen.summary(result),
        perfile.files(samples.perfile(file)),
        perfile.groups(samples.pergroup(hostile)),
        patterns.screen(samples.patterns(samples.pattern_class(hostile, hostile))),
        sequence.screen(hidden),
    ):
        text = samples.render(renderable, 300)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\x1b[31m[bold]<script>\\u202e" in text


def test_names_that_end_alike_stay_apart_on_a_narrow_screen() -> None:
    """Bytes give way: a file whose name cannot be told is of no use to `sequence --file`."""
    (file, *_) = samples.perfile().files
    paths = [f"node_modules/pkg-{number}/lib/package.json" for number in (14, 24)]
    alike = tuple(replace(file, path=path, removed=True) for path in paths)
    text = samples.render(perfile.files(replace(samples.perfile(), files=alike)), 80)
    lines = text.splitlines()
    assert lines[1].split("(removed)")[0] != lines[2].split("(removed)")[0]
    assert "errors" in lines[0]


def test_perfile_says_why_there_is_no_file() -> None:
    known = replace(samples.perfile(), files=(), listed=Total(0, 0, 0, 0.0))
    told = {
        "No file but those that --all shows.": known,
        "No call is about a file.": replace(known, left_out=Total(0, 0, 0, 0.0)),
        "No file matches.": replace(known, not_matched=Total(3, 9, 0, 0.1)),
        "Which files is not known: calls do not tell, or their handles could not be read.": replace(
            known, listed=Total(None, 0, 0, 0.0)
        ),
    }
    for sentence, result in told.items():
        first, empty, *totals = samples.render(perfile.files(result), 120).splitlines()
        assert (first, empty) == (sentence, "")
        assert totals[-1].startswith("total")
    grouped = replace(samples.pergroup(), groups=(), listed=Total(0, 0, 0, 0.0))
    assert samples.render(perfile.groups(grouped), 120).startswith("No file matches.\n")
