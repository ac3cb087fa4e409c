"""Notebooks get HTML in which nothing from the capture is markup."""

from __future__ import annotations

from pcapnfs.record import replace
from pcapnfs.summary import Summary
from pcapnfs.views import notebook
from tests.unit.rows import meta, trace_of
from tests.views import samples


def test_a_summary_shows_trust_and_operations() -> None:
    html = samples.summary()._repr_html_()
    assert "Every call has its reply" in html
    assert "<td>CREATE</td>" in html


def test_a_trace_shows_its_files() -> None:
    with trace_of(meta(path="<b>.pcap")) as trace:
        assert "&lt;b&gt;.pcap" in trace._repr_html_()


def test_numbers_are_grouped_as_on_screens() -> None:
    assert "<td>12\u2009345</td>" in notebook.meta_html(meta(packets=12_345))
    (row, *_) = samples.summary().operations
    told = notebook.summary_html(
        replace(samples.summary(), operations=(replace(row, calls=54_321),))
    )
    assert "<td>54\u2009321</td>" in told


def test_nothing_hostile_becomes_markup() -> None:
    summary: Summary = replace(
        samples.summary(),
        operations=(replace(samples.summary().operations[0], op=samples.HOSTILE),),
        trust=samples.poor_trust(),
    )
    for html in (
        notebook.summary_html(summary),
        notebook.meta_html(meta(path=samples.HOSTILE, damage=samples.HOSTILE)),
    ):
        assert "<script>" not in html
        assert "\x1b" not in html
        assert "&lt;script&gt;" in html
