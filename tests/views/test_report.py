"""The report as HTML and as Markdown: complete, escaped, bounded, and with legible colours."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from pcapnfs.record import Record, names, replace
from pcapnfs.report import Mark, Report
from pcapnfs.views.budget import TITLES
from pcapnfs.views.report import charts, clock, content, markdown, page
from pcapnfs.views.report.blocks import Paragraph, Section
from pcapnfs.views.report.glossary import TERMS
from tests.unit.rows import ROOT
from tests.views import samples

FROM_CAPTURES = set(
    "about action client clients damage evidence export files flavors format name new_name op path "
    "pattern protocols seen sentence server servers session shown_names signature status step "
    "title version why paths options data_servers requested_level committed_level software address "
    "addresses".split()
)
"""Fields that hold names from a capture, or sentences that may quote them."""

CODED = {"Input", "Scenario", "Budget"}
"""Results of which `name` and the like are codes of ours."""


def hostile(result: Report, attack: str) -> Report:
    """The same result with every name from the capture replaced."""

    def replaced(value: object, field: str | None) -> object:
        if isinstance(value, Record):
            coded = type(value).__name__ in CODED
            return replace(  # type: ignore[type-var]  # its class is not known
                value,
                **{
                    name: replaced(getattr(value, name), None if coded else name)
                    for name in names(value)
                },
            )
        if isinstance(value, tuple):
            return tuple(replaced(each, field) for each in value)
        if isinstance(value, dict):
            keys = field in FROM_CAPTURES
            return {
                f"{attack}{place}" if keys else key: replaced(each, None)
                for place, (key, each) in enumerate(value.items())
            }
        return attack if isinstance(value, str) and field in FROM_CAPTURES else value

    changed = replaced(result, None)
    assert isinstance(changed, Report)
    return changed


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.text += data


def test_the_page_refers_to_nothing_outside() -> None:
    text = page.html(samples.report())
    found = Page(text)
    targets = [attrs["id"] for _, attrs in found.tags if "id" in attrs]
    assert len(targets) == len(set(targets))
    for tag, attrs in found.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert not {"src", "srcset", "style", "onclick"} & set(attrs)
        if "href" in attrs:
            assert str(attrs["href"]).removeprefix("#") in targets
    assert "http" not in text.replace("http-equiv", "")
    assert "eval(" not in text
    assert "default-src 'none'" in str(
        next(a["content"] for t, a in found.tags if t == "meta" and "http-equiv" in a)
    ).replace("&#39;", "'")


def test_tables_have_headings_and_captions() -> None:
    found = Page(page.html(samples.report()))
    tags = [tag for tag, _ in found.tags]
    assert tags.count("table") == tags.count("caption") > 8
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in found.tags if tag == "th")
    drawings = [attrs for tag, attrs in found.tags if tag == "svg" and "role" in attrs]
    assert len(drawings) == 4
    # What is one image to a screen reader hides the links in it.
    assert [attrs["role"] for attrs in drawings] == ["img", "img", "group", "img"]
    assert all(attrs["aria-labelledby"] for attrs in drawings)


def test_sections_come_in_order_and_their_terms_are_defined() -> None:
    sections = content.sections(samples.report())
    assert [section.anchor for section in sections] == (
        "verdict trust budget model findings operations stability exports course files sizes "
        "readdir cache network".split()
    )
    used = {term for section in sections for term in section.terms}
    assert used == set(TERMS)


@pytest.mark.parametrize("attack", [samples.HOSTILE, '"><svg onload=x>', "\u2066\x00\x07`|*[a](b)"])
def test_names_from_captures_stay_text(attack: str) -> None:
    text = page.html(hostile(samples.report(), attack))
    assert "onload=x>" not in text.replace("&gt;", "")
    assert not set("\x1b\x00\x07\u202e\u2066") & set(text)
    assert text.count("<script>") == 1
    Page(text)
    written = markdown.markdown(hostile(samples.report(), attack))
    assert not set("\x1b\x00\x07\u202e\u2066") & set(written)
    outside_code = re.sub(r"^```\n.*?^```$", "", written, flags=re.M | re.S)
    assert "<" not in outside_code
    assert "[a](b)" not in outside_code.replace(r"\[a\](b)", "")


@pytest.mark.parametrize("letter", ['"', "\U0001f600", "\x01"])
def test_the_size_has_a_limit_whatever_the_names(letter: str) -> None:
    text = page.html(hostile(samples.long_report(), letter * 5000))
    assert len(text.encode()) < page.LIMIT_BYTES
    assert "did not fit this page" in text


def test_names_of_ordinary_length_leave_nothing_out() -> None:
    text = page.html(samples.long_report())
    assert len(text.encode()) < page.LIMIT_BYTES
    assert "did not fit" not in text


def test_the_clocks_of_several_clients_are_no_wall_clock() -> None:
    one, several = samples.budget(), samples.budget(None, 3)
    whole = samples.report()
    for total, told, other in (
        (one, "wall clock", "clocks, added up"),
        (several, "clocks, added up", "wall clock"),
    ):
        summary = replace(whole.summary, time_budget_total=total)
        text = markdown.markdown(replace(whole, summary=summary))
        assert f"| {told} |" in text
        assert f"| {other} |" not in text


def test_where_no_time_passed_no_clock_is_shown() -> None:
    """As where the only call has no reply."""
    whole, some = samples.report(), samples.budget()
    none = replace(
        some, wall_s=0.0, stable_s=0.0, unstable_s=0.0, unstable_write_s=0.0, transfer_s=0.0,
        waiting_s=0.0, client_s=0.0,
    )  # fmt: skip
    for total, shown in ((none, False), (some, True)):
        summary = replace(whole.summary, time_budget_total=total)
        text = markdown.markdown(replace(whole, summary=summary))
        assert ("**The clock**" in text) == shown
        assert (clock.NO_TIME in text) != shown


def test_a_verdict_on_several_clients_has_a_paragraph_for_each() -> None:
    found = samples.bottlenecks("10.0.0.2", "10.0.0.3")
    report = samples.report()
    report = replace(report, summary=replace(report.summary, verdict=found))
    written = page.html(report)
    told = re.findall(r'<p class="verdict">([^<]*)', written)
    assert [each[:16] for each in told] == [
        "10.0.0.2 waited ",
        "10.0.0.3 waited ",
        "4 more clients w",
    ]


def test_figures_stand_on_the_page_and_in_markdown() -> None:
    report = samples.report()
    assert report.summary.verdict is not None
    for written in (Page(page.html(report)).text, markdown.markdown(report)):
        text = written.replace("\u00a0", " ").replace("\u202f", "\u2009")
        for expected in (report.summary.verdict.sentence, "src/main.c", "1.25 ms", "1 m 1 s"):
            assert expected in text.replace("\\", "")


def test_drawings_are_well_formed_and_their_colours_exist() -> None:
    report = samples.report()
    style = (ROOT / "pcapnfs/views/report/style.css").read_text(encoding="utf-8")
    for drawing in (
        charts.budget([report.summary.time_budget_total]),
        charts.spreads(report.spreads),
        charts.course(report.course, report.marks),
        charts.sizes(report.summary.sizes),
    ):
        root = ElementTree.fromstring(drawing)
        assert root.find("title") is not None
        assert root.find("desc") is not None
        for each in root.iter():
            for name in each.get("class", "").split():
                assert f".{name} " in style or f".{name} {{" in style
            for key in ("x", "y", "width", "height"):
                if each.tag == "rect":
                    assert float(each.get(key, "nan")) >= 0


def test_what_shared_means_stands_below_the_findings_in_short() -> None:
    report = samples.report()
    first = report.summary.findings[0]

    def told(cost_s: float) -> str:
        part = replace(first, cost_s=cost_s, cost_share=cost_s / 61, saving_s=24.0)
        found = replace(report.summary, findings=(part,))
        return markdown.markdown(replace(report, summary=found))

    shared = "half or more of its cost is counted in other findings already"
    assert shared in told(12.0)
    assert shared not in told(12.1)


def test_marks_of_one_finding_side_by_side_are_one() -> None:
    report = samples.report()
    drawing = ElementTree.fromstring(charts.course(report.course, report.marks))
    links = [each.get("href") for each in drawing.iter("a")]
    assert links == ["#finding-1", "#finding-2"]


def test_marks_of_several_findings_do_not_cover_one_another() -> None:
    course = samples.report().course
    marks = [Mark(finding, 10 + finding, 3.0 + finding / 100) for finding in range(4)]
    drawing = ElementTree.fromstring(charts.course(course, marks))
    heights = [float(each.get("cy", "nan")) for each in drawing.iter("circle")]
    assert len(set(heights)) == 4
    assert min(b - a for a, b in pairwise(sorted(heights))) >= 16
    panels = [float(each.get("y", "nan")) for each in drawing.iter("text") if each.text]
    assert sum(y > max(heights) + 8 for y in panels) > 3


# Colours: WCAG 2.1, sections 1.4.3 and "relative luminance".


def colours(scheme: int) -> dict[str, str]:
    style = (ROOT / "pcapnfs/views/report/style.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, re.S)
    named: dict[str, str] = {}
    for block in [blocks[0]] if scheme == 0 else [blocks[0], blocks[scheme]]:
        named |= dict(re.findall(r"--([a-z0-9_-]+): (#[0-9a-f]{6});", block))
    return named


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "paper"])
def test_text_can_be_told_from_what_is_behind_it(scheme: int) -> None:
    named = colours(scheme)
    pairs = [
        (text, behind)
        for behind in ("page", "panel", "head")
        for text in ("text", "muted", "link", "problem", "warning", "aside")
    ]
    pairs += [("on-client" if row == "client" else "on", row) for row in TITLES]
    assert {
        pair: round(found, 2)
        for pair in pairs
        if (found := contrast(named[pair[0]], named[pair[1]])) < 4.5
    } == {}


def test_the_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_no_line_ends_within_an_option() -> None:
    told = "Risk: none. Use -s 0, (-l) and NetApp's -v4.1-read-delegation; a < b, -1.5 s, O-RAN."
    section = Section("x", "X", (Paragraph(told),))
    text = page.of_sections("title", (section,), numbers="")
    assert re.findall(r'<span class="held">([^<]*)</span>', text) == [
        "-s",
        "-l",
        "-v4.1-read-delegation",
    ]
    assert "a &lt; b" in text


def test_it_tells_whether_the_size_of_a_frame_is_assumed() -> None:
    report = samples.report()
    frame = replace(report.summary.sizes.frame, source="assumed")
    sizes = replace(report.summary.sizes, frame=frame)
    for told, found in (("as the handshake says", report.summary.sizes), ("assumed", sizes)):
        text = markdown.markdown(replace(report, summary=replace(report.summary, sizes=found)))
        assert f"MTU 1500, {told}" in text


def test_a_report_without_anything_is_still_a_page() -> None:
    poor = samples.poor_report()
    found = Page(page.html(poor))
    assert "90.0\u00a0% of the calls have their reply" in found.text
    assert [section.anchor for section in content.sections(poor)][:2] == ["verdict", "trust"]
