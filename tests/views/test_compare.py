"""Screens of `compare` at 80 and 140 columns, compared with what people approved.

After a wanted change: `PCAPNFS_UPDATE_SCREENS=1 pytest tests/views`, then read the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from pcapnfs.analyses.mounts.first_use import MountIdle
from pcapnfs.comparison.comparing import Comparison
from pcapnfs.comparison.matching import FindingChange, Where
from pcapnfs.comparison.waterfall import Step
from pcapnfs.record import replace
from pcapnfs.views import changed_figures, clients_compared, compare, differences, run_time_changed
from pcapnfs.views.remarks import remarks
from pcapnfs.views.report import compared, markdown, page
from tests.views import samples

SCREENS = Path(__file__).parent / "screens"

RESULTS = {
    "compare": samples.comparison,
    "compare-clients": samples.comparison_of_clients,
    "compare-poor": samples.poor_comparison,
}


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", RESULTS)
def test_a_screen_looks_as_approved(name: str, width: int) -> None:
    text = samples.render(compare.screen(RESULTS[name]()), width)
    approved = SCREENS / f"{name}-{width}.txt"
    if os.environ.get("PCAPNFS_UPDATE_SCREENS"):
        approved.write_text(text, encoding="utf-8")
    assert text == approved.read_text(encoding="utf-8")
    assert max(cell_len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", [60, 80, 140, 200])
def test_numbers_are_whole_at_any_width(width: int) -> None:
    text = samples.render(compare.screen(samples.comparison()), width)
    for number in ("30.0 s", "3.00 s", "-27.0 s", "-39.7 ms", "40.0 ms → 300 µs"):
        assert number in text


def test_what_is_from_a_capture_cannot_reach_the_terminal() -> None:
    whole = samples.comparison()
    (file, *_) = whole.files.files
    hostile = replace(
        whole,
        before=replace(whole.before, captures=("a\x1b[2Jb",)),
        files=replace(whole.files, files=(replace(file, path="x\x1b]0;y\x07"),)),
    )
    text = samples.render(compare.screen(hostile), 140)
    assert "\x1b" not in text
    assert "\x07" not in text


@pytest.mark.parametrize(
    ("change_s", "factor", "after_s", "told"),
    [
        (-27.0, 0.1, 3.0, "30.0 s became 3.00 s: 27.0 s less, 10 times as fast."),
        (30.0, 2.0, 60.0, "30.0 s became 60 s: 30.0 s more, 2 times as long."),
        (0.0, 1.0, 30.0, "Both runs took 30.0 s."),
        (0.1, 1.0033, 30.1, "30.0 s became 30.1 s: 100 ms more."),
        (-0.1, 0.9966, 29.9, "30.0 s became 29.9 s: 100 ms less."),
    ],
)
def test_the_difference_in_a_sentence(
    change_s: float, factor: float, after_s: float, told: str
) -> None:
    whole = samples.comparison()
    result = replace(
        whole, after=replace(whole.after, run_s=after_s), change_s=change_s, factor=factor
    )
    text = samples.render(compare.screen(result), 140)
    assert told.replace("60 s", "1 m 0 s") in text


@pytest.mark.parametrize("clear", [False, True])
def test_pauses_that_differ_are_told_beside_run_times_and_forecasts(clear: bool) -> None:
    whole = samples.comparison()
    step = Step("pauses_s", 20.0, 1.0, -19.0, None, None, clear)
    result = replace(whole, steps=(*whole.steps, step))
    text = " ".join(samples.render(compare.screen(result), 140).split())
    shown = "in which perhaps nothing was run, 10.0 s became 2.00 s." in text
    told = "Each forecast holds BEFORE's pauses, 20.0 s; AFTER had 1.00 s of them." in text
    assert (shown, told) == (clear, clear)


def test_long_pauses_are_in_no_forecast() -> None:
    whole = samples.comparison()
    before = replace(whole.before, run_s=3610.0, away_s=3600.0)
    step = Step("pauses_s", 3600.0, 0.1, -3599.9, None, None, True)
    result = replace(whole, before=before, steps=(step,))
    alone = "All without pauses of 30 s or more: 60 m 0 s of BEFORE."
    assert differences.about_foretold(result) == [alone]
    # What is shorter than that, forecasts hold.
    more = replace(result, steps=(replace(step, before=3605.0),))
    held = "Each forecast holds BEFORE's pauses, 5.00 s; AFTER had 100 ms of them."
    assert differences.about_foretold(more) == [alone, held]


@pytest.mark.parametrize(
    ("before_s", "after_s", "told"),
    [
        (
            0.0,
            5.0,
            "No forecast holds any pauses, since BEFORE had none; AFTER had 5.00 s of them.",
        ),
        (5.0, 0.0, "Each forecast holds BEFORE's pauses, 5.00 s; AFTER had none."),
    ],
)
def test_pauses_of_one_run_alone_are_told_so(before_s: float, after_s: float, told: str) -> None:
    step = Step("pauses_s", before_s, after_s, after_s - before_s, None, None, True)
    result = replace(samples.comparison(), steps=(step,))
    assert differences.about_foretold(result) == [told]


def test_the_wait_for_a_server_is_told_beside_run_times() -> None:
    whole = samples.comparison()
    wait = Step("waiting_s", 20.0, 1.0, -19.0, None, None, True)
    pause = replace(wait, factor="pauses_s", before=5.0, after=0.5, change_s=-4.5)
    unclear = replace(pause, clear=False)
    alone, both, neither = (
        run_time_changed.in_a_sentence(replace(whole, steps=(*whole.steps, *steps)))
        for steps in ((wait, unclear), (wait, pause), (replace(wait, clear=False), unclear))
    )
    assert alone.endswith(
        " Without the wait for a server that was not ready or did not answer, 10.0 s became 2.00 s."
    )
    held = "Each forecast holds BEFORE's wait for the server, 20.0 s; AFTER had 1.00 s of it."
    assert held in differences.about_foretold(replace(whole, steps=(wait, unclear)))
    assert both.endswith(
        " Without pauses of a second or more, in which perhaps nothing was run, and the wait for a "
        "server that was not ready or did not answer, 5.00 s became 1.50 s."
    )
    assert "Without" not in neither


@pytest.mark.parametrize(
    ("after_s", "files", "told"),
    [
        (
            15.0,
            100,
            "30.0 s became 15.0 s: 15.0 s less, for 100 files instead of 200. That is 150 ms for "
            "each file on both sides.",
        ),
        (
            18.0,
            60,
            "30.0 s became 18.0 s: 12.0 s less, for 60 files instead of 200. For each file, 150 ms "
            "became 300 ms: 2 times as long.",
        ),
        (
            30.0,
            400,
            "Both runs took 30.0 s, for 400 files instead of 200. For each file, 150 ms became "
            "75.0 ms: 2 times as fast.",
        ),
    ],
)
def test_less_work_is_not_called_faster(after_s: float, files: int, told: str) -> None:
    whole = samples.comparison()
    (row, *_) = whole.operations
    row = replace(row, calls_before=200, calls_after=files)
    result = replace(
        whole,
        after=replace(whole.after, run_s=after_s, files=files),
        change_s=after_s - 30.0,
        factor=after_s / 30.0,
        steps=(Step("files", 200, files, after_s - 30.0, None, None, True),),
        operations=(row,),
    )
    assert run_time_changed.in_a_sentence(result) == told
    # Where calls stay as many, files that were only looked at are no more work; nor are a few more.
    looked_at = replace(result, operations=(replace(row, calls_after=200),))
    unclear = replace(result, steps=(replace(result.steps[0], clear=False),))
    other_work = replace(result, in_common=0.05)
    for other in (looked_at, unclear, other_work):
        assert "instead of" not in run_time_changed.in_a_sentence(other)


def test_the_work_of_a_mount_that_came_to_nothing_is_not_compared() -> None:
    whole = samples.comparison()
    after = replace(whole.after, refused=True, run_s=0.138, calls=24, mounting_s=0.0)
    result = replace(whole, after=after, causes=(), steps=(), foretold=(), factor=None)
    assert run_time_changed.in_a_sentence(result) == (
        "AFTER holds a mount that came to nothing, and no call for files; BEFORE took 30.0 s."
    )
    text = samples.render(compare.screen(result), 140)
    assert "Not told: without calls for files there is no run." in text
    assert "without calls for files there is little to tell it by" in text
    assert "AFTER was not mounted: what the server refused stands among the findings." in text
    assert "neither settings nor storage" not in text
    assert "AFTER holds no mount" not in text


def test_a_run_time_that_is_not_known_is_not_compared() -> None:
    whole = samples.comparison()
    unanswered = replace(whole.after, known=False, trust=replace(whole.after.trust, matched=0))
    one = run_time_changed.in_a_sentence(replace(whole, after=unanswered))
    assert one == "AFTER's run time is not known, since no call has its reply; BEFORE took 30.0 s."
    untimed = replace(whole.before, known=False)
    both = run_time_changed.in_a_sentence(replace(whole, before=untimed, after=unanswered))
    assert both == (
        "BEFORE's run time is not known, since its packets have no times; AFTER's run time is not "
        "known, since no call has its reply."
    )
    assert run_time_changed.run_s(unanswered) is None


def test_a_mount_alone_is_no_run() -> None:
    whole = samples.comparison()
    before, after = (
        replace(run, calls=0, stable_calls=0, files=0, run_s=0.0, mounting_s=mounting_s)
        for run, mounting_s in ((whole.before, 5.0), (whole.after, 0.1))
    )
    result = replace(
        whole, before=before, after=after, operations=(), foretold=(), change_s=0.0, factor=None
    )
    text = samples.render(compare.screen(result), 140)
    assert "Both captures hold a mount alone, and no call for files." in text
    assert "Mounting took 5.00 s BEFORE and 100 ms AFTER." in text
    assert "No call for files on either side." in text
    for untold in ("0 s.", "None was answered", "together"):
        assert untold not in text
    for form in (page, markdown):
        told = form.of_sections(
            compared.title(result), compared.sections(result), "comparison", numbers=""
        )
        assert "Not told: without calls for files there is no run." in told
        assert "No call for files on either side." in told
    one = run_time_changed.in_a_sentence(replace(whole, before=before))
    assert one == "BEFORE holds a mount alone, and no call for files; AFTER took 3.00 s."
    neither = replace(result, after=replace(after, mounting_s=0.0))
    assert run_time_changed.in_a_sentence(neither) == "Neither capture holds a call for files."


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [("client", "server", True), ("client", "client", False), ("client", "unknown", False)],
)
def test_places_differ_where_both_are_known(before: str, after: str, told: bool) -> None:
    whole = samples.comparison()
    result = replace(
        whole,
        before=replace(whole.before, vantage=before),
        after=replace(whole.after, vantage=after),
    )
    assert any("different places" in remark for remark in remarks(result)) == told


@pytest.mark.parametrize("width", [60, 80, 140])
def test_operations_of_one_name_are_told_apart(width: int) -> None:
    whole = samples.comparison()
    row = whole.operations[1]
    result = replace(whole, operations=(*whole.operations, replace(row, version="nfsacl")))
    lines = samples.render(compare.screen(result), width).splitlines()
    told = [line.split() for line in lines if " FSINFO " in line]
    assert [words[:2] for words in told] == [["3", "FSINFO"], ["nfsacl", "FSINFO"]]


@pytest.mark.parametrize("left_open", [(), ("security",)])
def test_what_is_left_open_is_not_called_unchanged(left_open: tuple[str, ...]) -> None:
    whole = samples.comparison()
    steps = tuple(replace(each, clear=False) for each in whole.steps)
    result = replace(whole, causes=(), steps=steps, left_open=left_open)
    text = samples.render(compare.screen(result), 140)
    assert ("neither settings nor storage" in text) == (not left_open)
    assert ("Left open" in text) == bool(left_open)
    assert ("security flavor" in text) == bool(left_open)


@pytest.mark.parametrize("left_open", [(), ("security",)])
@pytest.mark.parametrize(
    ("after_s", "told"),
    [
        (100e-6, differences.PERSISTENCE_FAR),
        (12.2e-3, differences.PERSISTENCE_FAR),
        (12.3e-3, differences.PERSISTENCE),
    ],
)
def test_storage_is_not_called_unchanged_where_persistence_moved(
    left_open: tuple[str, ...], after_s: float, told: str
) -> None:
    """From 22 ms; by 1.8 times or more it did not move by too little."""
    whole = samples.comparison()
    steps = tuple(
        replace(each, after=after_s) if each.factor == "persist_s" else each for each in whole.steps
    )
    result = replace(whole, causes=(), left_open=left_open, steps=steps)
    text = samples.render(compare.screen(result), 140)
    assert "Nothing that the traffic shows" not in text
    assert f"{differences.NO_SETTING} {told}" in " ".join(text.split())


def test_where_nothing_can_be_told_of_the_difference_that_is_said() -> None:
    result = replace(samples.comparison(), steps=(), clear_from=1.0)
    assert differences.NO_STEPS in samples.render(compare.screen(result), 80)
    sections = compared.sections(result)
    text = page.of_sections(compared.title(result), sections, "comparison", numbers="")
    assert differences.NO_STEPS in text.replace("\u00a0", " ")


@pytest.mark.parametrize("name", RESULTS)
def test_the_page_says_what_the_screen_says(name: str) -> None:
    result = RESULTS[name]()
    sections = compared.sections(result)
    text = page.of_sections(compared.title(result), sections, "comparison", numbers="")
    assert len(text.encode()) < page.LIMIT_BYTES
    plain = text.replace("\u00a0", " ")
    for cause in result.causes:
        assert cause.after in plain
    for title in ("What must have changed", "What the difference is made of", "Operations"):
        assert f">{title}</h2>" in text
    assert run_time_changed.in_a_sentence(result) in plain
    written = markdown.of_sections(compared.title(result), sections, "comparison", numbers="")
    assert written.startswith("# pcapnfs comparison: ")
    assert written.count("\n## ") == len(sections) + 1


def test_long_patterns_are_cut_between_two_steps() -> None:
    whole = samples.comparison()
    (pattern, *_) = whole.patterns.patterns
    step = "WRITE[FILE_SYNC]"
    long = replace(pattern, pattern=" ".join([step] * 100))
    patterns = replace(whole.patterns, patterns=(long,))
    text = page.of_sections(
        compared.title(whole),
        compared.sections(replace(whole, patterns=patterns)),
        "comparison",
        numbers="",
    )
    (told,) = re.findall(rf">({re.escape(step)} [^<]*…[^<]*)<", text)
    assert set(told.split()) == {step, "…"}
    assert told.split().index("…") == len(told.split()) - 1 > 10


def test_names_stay_text_on_the_page() -> None:
    whole = samples.comparison()
    attack = "<script>alert(1)</script>\x1b[2J"
    (file, *_), (row, *_) = whole.files.files, whole.operations
    (pattern, *_), (finding, *_) = whole.patterns.patterns, whole.findings
    (cause, *_) = whole.causes
    hostile = replace(
        whole,
        before=replace(whole.before, captures=(attack,)),
        causes=(replace(cause, before=attack, evidence=attack),),
        operations=(replace(row, op=attack),),
        files=replace(whole.files, files=(replace(file, path=attack),)),
        patterns=replace(whole.patterns, patterns=(replace(pattern, pattern=attack),)),
        findings=(replace(finding, title=attack),),
    )
    text = page.of_sections(
        compared.title(hostile), compared.sections(hostile), "comparison", numbers=""
    )
    assert "<script>alert" not in text
    assert "\x1b" not in text
    assert text.count("&lt;script&gt;alert") >= 6


def test_what_run_times_are_without_is_told_from_a_twentieth_on() -> None:
    """Of both where it is as much of one: else it would seem that the other one had none."""
    result = samples.comparison()
    before = replace(result.before, run_s=20.0, mount_idle=MountIdle(before_s=1.0))
    after = replace(result.after, run_s=20.0, mount_idle=MountIdle(before_s=0.5, after_s=0.49))
    (both,) = _about_use(replace(result, before=before, after=after))
    assert both == (
        "The run times are without 1.00 s between mount and first use of BEFORE; 500 ms between "
        "mount and first use and 490 ms between last use and unmount of AFTER."
    )
    (only,) = _about_use(replace(result, before=before))
    assert only == "The run times are without 1.00 s between mount and first use of BEFORE."
    longer = replace(before, run_s=20.1)
    assert _about_use(replace(result, before=longer, after=after)) == []
    assert _about_use(result) == []


def _about_use(result: Comparison) -> list[str]:
    """What is said of it."""
    return [line for line in remarks(result) if "first use" in line]


def test_what_mounting_took_is_told_where_users_notice_it() -> None:
    result = samples.comparison()
    slow = replace(result, before=replace(result.before, mounting_s=10.0))
    told = [line for line in remarks(slow) if line.startswith("Mounting")]
    assert told == [
        "Mounting took 10.0 s BEFORE and 4.00 ms AFTER; it is no part of the run times."
    ]
    alone = replace(slow, after=replace(slow.after, mounting_s=0.0))
    told = [line for line in remarks(alone) if line.startswith("Mounting")]
    assert told == [
        "Mounting took 10.0 s BEFORE, AFTER holds no mount; it is no part of the run times."
    ]
    unseen = replace(slow, after=replace(slow.after, known=False))
    for other in (result, unseen):
        assert not any(line.startswith("Mounting") for line in remarks(other))


def test_several_clients_are_told_one_by_one() -> None:
    result = samples.comparison_of_clients()
    text = samples.render(compare.screen(result), 200)
    assert "10.0.0.4 is in BEFORE alone." in text
    assert "persistence -26.9 s, the client itself -1.90 s" in text
    assert text.count(differences.BY_CLIENT) == 1
    for form in (page, markdown):
        told = form.of_sections(
            compared.title(result), compared.sections(result), "comparison", numbers=""
        )
        assert "persistence -26.9 s, the client itself -1.90 s" in told.replace("\u00a0", " ")
    alone = samples.comparison()
    assert "Clients" not in samples.render(compare.screen(alone), 140)
    assert "clients" not in [section.anchor for section in compared.sections(alone)]


def test_runs_of_other_clients_are_not_held_against_each_other() -> None:
    whole = samples.comparison_of_clients()
    (client, _, gone) = whole.clients
    came = replace(gone, where="came", client="10.0.0.5", before=None, after=client.after)
    result = replace(whole, same_clients=False, clients=(gone, came), together=None, factor=None)
    assert run_time_changed.in_a_sentence(result) == (
        "BEFORE took 30.0 s and AFTER 3.00 s, but the clients are not the same."
    )
    text = samples.render(compare.screen(result), 140)
    assert "No client is in both captures (BEFORE: 10.0.0.4; AFTER: 10.0.0.5)" in text
    assert text.count(clients_compared.OTHER_CLIENTS) == 2


def test_clients_that_only_ran_at_other_times_are_said_to() -> None:
    whole = samples.comparison_of_clients()
    (moved, same, _) = whole.clients
    apart = replace(whole, clients=(same, replace(same, client="10.0.0.7")))
    assert any("at other times" in line for line in clients_compared.about_clients(apart))
    for other in (
        replace(apart, clients=(same, moved)),
        replace(apart, change_s=0.1),
        replace(apart, same_clients=False),
    ):
        assert not any("at other times" in line for line in clients_compared.about_clients(other))


def test_more_clients_than_a_screen_has_are_counted() -> None:
    whole = samples.comparison_of_clients()
    (client, *_) = whole.clients
    many = tuple(replace(client, client=f"10.0.1.{number}") for number in range(20))
    text = samples.render(compare.screen(replace(whole, clients=many)), 140)
    assert "12 more in JSON." in text
    assert "Those of 12 more clients in JSON." in text
    assert "10.0.1.7" in text
    assert "10.0.1.8" not in text


def test_that_some_of_thousands_are_not_told_is_said() -> None:
    whole = samples.comparison_of_clients()
    many = replace(whole, before=replace(whole.before, clients=2_500))
    (told,) = [
        line for line in clients_compared.about_clients(many) if line.startswith("Shown are ")
    ]
    assert told.startswith("Shown are 3 of 2\u2009500 clients before: those that waited longest")


def test_why_nothing_is_foretold_of_several_clients() -> None:
    whole = samples.comparison_of_clients()
    few = tuple(replace(row, foretold=()) for row in whole.clients)
    assert differences.not_foretold(replace(whole, clients=few)) == differences.FORETOLD_OF_NONE
    unknown = replace(whole, clients=(), together=None, same_clients=False)
    assert differences.not_foretold(unknown) == differences.NOT_FORETOLD


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (None, "-"),
        (0.0, "0 %"),
        (0.172, "+17.2 %"),
        (-0.0057, "-0.6 %"),
        (0.0004, "<0.1 %"),
        (-0.0004, "<0.1 %"),
        (-1.0, "-100 %"),
        (1.184, "+118 %"),
        (35.565, "+3\u2009556 %"),
    ],
)
def test_errors_are_told_to_the_digits_that_say_something(error: float | None, told: str) -> None:
    assert changed_figures.error(error) == told


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (("/data/a.pcap",), ("/data/b.pcap",), (("a.pcap",), ("b.pcap",))),
        (("/data/x/a.pcap",), ("/data/y/a.pcap",), (("x/a.pcap",), ("y/a.pcap",))),
        (("/data/x/a.pcap",), ("/data/a.pcap",), (("x/a.pcap",), ("a.pcap",))),
        (("/x/a.pcap",), ("/y/a.pcap",), (("/x/a.pcap",), ("/y/a.pcap",))),
        (("a.pcap",), ("y/a.pcap",), (("a.pcap",), ("y/a.pcap",))),
        (("x/a.nfstrace/",), ("x/a.nfstrace",), (("a.nfstrace",), ("a.nfstrace",))),
        (("x/a.pcap0", "x/a.pcap1"), (), (("a.pcap0", "a.pcap1"), ())),
    ],
)
def test_captures_are_told_without_the_directories_that_all_are_in(
    before: tuple[str, ...], after: tuple[str, ...], told: tuple[tuple[str, ...], ...]
) -> None:
    result = samples.comparison()
    runs = {"before": before, "after": after}
    named = {run: replace(getattr(result, run), captures=paths) for run, paths in runs.items()}
    assert differences.captures(replace(result, **named)) == told


@pytest.mark.parametrize("where", ["came", "went", "both"])
def test_a_run_that_failed_is_neither_faster_nor_slower(where: Where) -> None:
    """Unless both did."""
    whole = samples.comparison()
    full = FindingChange(where, "no_space", "problem", "The file system is full", None, None)
    told = run_time_changed.in_a_sentence(replace(whole, findings=(full,)))
    assert ("times as fast" in told) is (where == "both")
    noted = replace(full, severity="note")
    assert "times as fast" in run_time_changed.in_a_sentence(replace(whole, findings=(noted,)))


def test_other_work_is_neither_faster_nor_slower() -> None:
    whole = samples.comparison()
    assert "times as fast" in run_time_changed.in_a_sentence(replace(whole, in_common=0.2))
    assert "times as fast" not in run_time_changed.in_a_sentence(replace(whole, in_common=0.05))


@pytest.mark.parametrize(
    ("where", "begins"),
    [
        ("came", "Some calls of AFTER failed, so that it"),
        ("went", "Some calls of BEFORE failed, so that it"),
        ("both", "Some calls of both runs failed, so that they"),
    ],
)
def test_that_a_run_failed_is_told_beside_its_time(where: Where, begins: str) -> None:
    full = FindingChange(where, "no_space", "problem", "The file system is full", None, None)
    told = remarks(replace(samples.comparison(), findings=(full,)))
    assert [line for line in told if "failed" in line] == [
        f"{begins} may have done less: The file system is full."
    ]
    other = replace(full, id="io_errors", severity="warning")
    assert not any(
        "did not" in line for line in remarks(replace(samples.comparison(), findings=(other,)))
    )


def test_captures_that_may_be_the_wrong_way_round_are_told() -> None:
    result = samples.comparison()

    def told(start: str | None) -> list[str]:
        other = replace(result, after=replace(result.after, start=start))
        return [line for line in remarks(other) if "captured first" in line]

    assert told("2026-11-21T03:20:00.000000000Z") == [
        "AFTER was captured first, at 2026-11-21 03:20:00, and BEFORE at 2026-11-21 03:42:14 UTC: "
        "if they are the wrong way round, name them in the other order."
    ]
    for start in (result.before.start, "2026-11-22T00:00:00.000000000Z", "@9999999999999.0", None):
        assert told(start) == []
    # It was still going on: two captures of one run.
    assert result.before.start == "2026-11-21T03:42:14.000000000Z"
    assert result.after.run_s == 3.0
    assert told("2026-11-21T03:42:11.100000000Z") == []
    assert len(told("2026-11-21T03:42:10.900000000Z")) == 1


def test_patterns_that_begin_alike_can_be_told_apart_on_a_narrow_screen() -> None:
    result = samples.comparison()
    (row, *_) = result.patterns.patterns
    begun = "LOOKUP! OPEN(create) SETATTR WRITE[FILE_SYNC] CLOSE LISTXATTRS GETATTR"
    both = tuple(replace(row, pattern=f"{begun} {end}") for end in ("OPEN CLOSE", "REMOVE"))
    changed = replace(result, patterns=replace(result.patterns, patterns=both))
    text = " ".join(samples.render(compare.screen(changed), 80).split())
    for each in both:
        assert each.pattern in text


def test_no_figure_of_a_run_taken_as_one_is_called_that_of_a_file() -> None:
    assert any("per file" in name for name in differences.FACTORS.values())
    names = differences.FACTORS | differences.OF_THE_RUN
    assert [name for name in names.values() if "per file" in name] == []


def test_what_another_version_has_neither_came_nor_went() -> None:
    first = samples.comparison().operations[0]
    gone = replace(first, version="3", op="SETATTR", verdict="gone")
    new = replace(gone, version="4", verdict="new")
    other = replace(new, op="OPEN")
    rows = (gone, new, other, replace(first, op="LOOKUP", verdict="few"))
    assert [differences.verdict(row, rows) for row in rows] == [
        "other version",
        "other version",
        "new",
        "too few",
    ]
    # It makes files in one version, and all but files in the other.
    made = (replace(gone, op="CREATE"), replace(new, op="CREATE"))
    assert [differences.verdict(row, made) for row in made] == ["gone", "new"]
