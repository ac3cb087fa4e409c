"""The report in a real browser: it works, keeps to itself, and can be read everywhere.

Without a browser these are skipped; where `PCAPNFS_REQUIRE_BROWSER=1` is set, that is a failure.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcapnfs.views.report import page
from pcapnfs.views.report.blocks import Cell, Column, Section, name, table
from tests.browser.chromium import Browser, browser, program
from tests.views import samples
from tests.views.test_report import hostile

PHONE = 360
"""Width of a small phone, in CSS pixels."""

A4 = 695
"""What a page of A4 leaves between its margins, likewise."""

LINES = """
    [...document.querySelectorAll('tbody .name')].map(cell => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map(each => Math.round(each.top))).size;
    })
"""
"""In how many lines each name stands."""

PAGES = 7
"""What "a few A4 pages" are, for a report whose tables are all long."""


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    found = program()
    if found is None:
        if os.environ.get("PCAPNFS_REQUIRE_BROWSER") == "1":
            pytest.fail("no browser: apt-get install chromium", pytrace=False)
        pytest.skip("no browser: apt-get install chromium")
    with browser(found) as running:
        yield running


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "plain.html"
    path.write_text(page.html(samples.long_report()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "attacked.html"
    attack = "\u202e\x1b[2J<script>document.title='owned'</script><img src=x onerror=alert(1)>\""
    path.write_text(page.html(hostile(samples.long_report(), attack)), encoding="utf-8")
    return path


def test_it_renders_without_a_complaint_and_asks_nobody(chrome: Browser, plain: Path) -> None:
    chrome.open(plain)
    assert chrome.evaluate("document.querySelectorAll('main > section').length") > 8
    assert (
        chrome.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    )
    assert chrome.requests == [plain.as_uri()]
    assert chrome.complaints == []


def test_columns_sort_both_ways_by_value(chrome: Browser, plain: Path) -> None:
    chrome.open(plain)
    click = """
        const table = [...document.querySelectorAll('table')]
            .find(each => each.caption.textContent === 'Files by time');
        table.closest('details').open = true;
        const column = [...table.tHead.rows[0].cells]
            .findIndex(each => each.textContent === 'size');
        const button = table.tHead.rows[0].cells[column].querySelector('button');
        button.focus();
    """
    read = """
        [document.activeElement === button,
         table.tHead.rows[0].cells[column].getAttribute('aria-sort'),
         [...table.tBodies[0].rows].map(row => Number(row.cells[column].dataset.v))]
    """
    focused, order, values = chrome.evaluate(f"{{{click} button.click(); {read}}}")
    assert focused
    assert order == "descending"
    assert values == sorted(values, reverse=True)
    assert len(set(values)) > 5
    _, order, values = chrome.evaluate(f"{{{click} button.click(); {read}}}")
    assert order == "ascending"
    assert values == sorted(values)


def test_the_keyboard_sorts(chrome: Browser, plain: Path) -> None:
    chrome.open(plain)
    chrome.evaluate("document.querySelector('#operations thead button').focus()")
    for kind in ("keyDown", "keyUp"):
        chrome.ask(
            "Input.dispatchKeyEvent",
            type=kind,
            key="Enter",
            code="Enter",
            windowsVirtualKeyCode=13,
            text="\r" if kind == "keyDown" else "",
        )
    sorted_by = "document.querySelector('#operations thead th').getAttribute('aria-sort')"
    assert chrome.evaluate(sorted_by) == "ascending"


def test_rows_are_filtered_by_words(chrome: Browser, plain: Path) -> None:
    chrome.open(plain)
    shown = chrome.evaluate(
        """
        {
            const table = [...document.querySelectorAll('table')]
                .find(each => each.caption.textContent === 'Files by time');
            const tools = table.parentElement.previousElementSibling;
            const input = tools.querySelector('input');
            input.value = 'FILE-1 d1/';
            input.dispatchEvent(new Event('input'));
            const rows = [...table.tBodies[0].rows].filter(row => !row.hidden);
            [rows.map(row => row.cells[0].textContent),
             tools.querySelector('[role=status]').textContent, input.labels.length]
        }
        """
    )
    names, status, labels = shown
    assert names
    assert all("file-1" in name and "d1/" in name for name in names)
    assert re.fullmatch(rf"{len(names)} of \d+ rows", status)
    assert labels == 1


def test_a_filter_is_copied_or_at_least_selected(chrome: Browser, plain: Path) -> None:
    chrome.open(plain)
    told = chrome.evaluate(
        """
        (async () => {
            const place = document.querySelector('.filter');
            place.querySelector('button').click();
            await new Promise(resolve => setTimeout(resolve, 300));
            return place.querySelector('button').textContent;
        })()
        """
    )
    assert told in ("Copied", "Selected")


def test_hostile_names_stay_text(chrome: Browser, attacked: Path) -> None:
    chrome.open(attacked)
    assert chrome.evaluate("document.title").startswith("pcapnfs: ")
    assert chrome.evaluate("document.querySelectorAll('script').length") == 1
    assert chrome.evaluate("document.images.length") == 0
    text = chrome.evaluate("document.body.textContent")
    assert "<script>document.title='owned'</script>" in text
    assert "\\u202e" in text
    assert "\u202e" not in text
    assert chrome.requests == [attacked.as_uri()]
    assert chrome.complaints == []


@pytest.mark.parametrize("width", [PHONE, 768])
def test_the_page_does_not_scroll_sideways(
    chrome: Browser, plain: Path, attacked: Path, width: int
) -> None:
    for path in (plain, attacked):
        chrome.open(path, width=width)
        chrome.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        wide = chrome.evaluate(
            """
            [document.documentElement.scrollWidth - document.documentElement.clientWidth,
             ...[...document.querySelectorAll('body *')]
                 .filter(each => !each.closest('.box')
                     && each.getBoundingClientRect().right > innerWidth + 1)
                 .map(each => each.tagName + ' ' + each.textContent.slice(0, 40))]
            """
        )
        assert wide == [0]


def test_on_a_phone_the_clock_is_whole_and_what_goes_on_has_a_shadow(
    chrome: Browser, plain: Path
) -> None:
    chrome.open(plain, width=PHONE)
    drawn = "document.querySelector('svg[aria-labelledby^=budget-]').getBoundingClientRect()"
    assert chrome.evaluate(f"{drawn}.right <= innerWidth")
    shadows = chrome.evaluate(
        """
        [...document.querySelectorAll('.box')]
            .filter(each => each.scrollWidth > each.clientWidth)
            .map(each => getComputedStyle(each).backgroundAttachment)
        """
    )
    assert shadows
    assert set(shadows) == {"local, local, scroll, scroll"}


def test_on_a_phone_no_letters_are_too_small_to_read(chrome: Browser, plain: Path) -> None:
    """What those of the clock say stands in the table below it."""
    letters = """
        [...document.querySelectorAll('svg[aria-labelledby^=budget-] text')]
            .map(each => each.getBoundingClientRect().height).filter(height => height > 0)
    """
    chrome.open(plain, width=PHONE)
    assert chrome.evaluate(letters) == []
    chrome.open(plain, width=768)
    assert min(chrome.evaluate(letters)) > 10


def test_printed_addresses_are_in_one_piece(chrome: Browser, tmp_path: Path) -> None:
    columns = (Column("client", "name"), Column("server", "name"), *[Column("number")] * 14)
    rows = [(name("10.0.0.11"), name("192.168.100.111"), *[Cell("1 234 567 ms")] * 14)]
    section = Section("names", "Names", (table("Names", columns, rows),))
    path = tmp_path / "names.html"
    path.write_text(page.of_sections("names", (section,), numbers=""), encoding="utf-8")
    chrome.open(path, width=A4)
    chrome.ask("Emulation.setEmulatedMedia", media="print")
    lines = chrome.evaluate(LINES)
    chrome.ask("Emulation.setEmulatedMedia", media="")
    assert lines == [1, 1]


def test_short_names_are_not_broken_and_long_ones_are(chrome: Browser, tmp_path: Path) -> None:
    names = ("RECLAIM_COMPLETE", "BIND_CONN_TO_SESSION", "directory/" * 20)
    columns = (Column("operation", "name"), *[Column("number")] * 12)
    rows = [(name(each), *[Cell("1 234 ms")] * 12) for each in names]
    section = Section("names", "Names", (table("Names", columns, rows),))
    path = tmp_path / "names.html"
    path.write_text(page.of_sections("names", (section,), numbers=""), encoding="utf-8")
    chrome.open(path, width=768)
    lines = chrome.evaluate(LINES)
    assert lines[:2] == [1, 1]
    assert lines[2] > 1


def test_it_is_whole_without_scripts(chrome: Browser, plain: Path) -> None:
    chrome.open(plain, scripts=False)
    tree = chrome.ask("DOMSnapshot.captureSnapshot", computedStyles=["display"])
    strings = tree["strings"]
    tags = [strings[place] for place in tree["documents"][0]["nodes"]["nodeName"]]
    # Controls that do nothing would be a lie: only the script makes them.
    assert {"TABLE", "DETAILS", "svg"} <= set(tags)
    assert not {"BUTTON", "INPUT"} & set(tags)
    assert "Service times by operation" in strings
    chrome.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_it_prints_on_a_few_pages(chrome: Browser, plain: Path) -> None:
    chrome.open(plain)
    printed = base64.b64decode(
        chrome.ask("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"]
    )
    assert printed.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 1 < pages <= PAGES


def test_printed_tables_go_on_where_there_is_room_and_repeat_their_headings(
    chrome: Browser, plain: Path
) -> None:
    chrome.open(plain)
    chrome.ask("Emulation.setEmulatedMedia", media="print")

    def styles(selector: str, name: str) -> set[str]:
        every = f"Array.from(document.querySelectorAll({selector!r}))"
        told = chrome.evaluate(f"{every}.map(each => getComputedStyle(each).{name}).join()")
        return set(str(told).split(","))

    # What stands in a line cannot be divided from what stands in the one before.
    assert styles(".box", "display") == {"block"}
    assert styles(".card", "breakInside") == {"auto"}
    assert styles("table:has(.long)", "breakInside") == {"auto"}
    assert styles("table:not(:has(.long))", "breakInside") == {"avoid"}
    # Chromium leaves buttons out of a heading that it repeats.
    assert styles("thead button", "display") == {"contents"}
    chrome.ask("Emulation.setEmulatedMedia", media="")


def test_a_dark_scheme_has_its_own_colours(chrome: Browser, plain: Path) -> None:
    chrome.open(plain)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    chrome.ask("Emulation.setEmulatedMedia", features=dark)
    assert chrome.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert (
        chrome.evaluate("getComputedStyle(document.querySelector('svg text:not([class])')).fill")
        == "rgb(230, 232, 235)"
    )
    chrome.ask("Emulation.setEmulatedMedia", features=[])
