"""Names from a capture cannot do anything to a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapnfs import units
from pcapnfs.text import escape, sentence, sentences, some, unescape


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("plain name.txt", "plain name.txt"),
        ("Grüße 文件", "Grüße 文件"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("\u200b\ufeff", "\\u200b\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\udc80", "\\udc80"),
        ("\u00a0\u2028", "\\xa0\\u2028"),
    ],
)
def test_makes_every_character_visible(hostile: str, harmless: str) -> None:
    assert escape(hostile) == harmless


@given(st.text())
def test_gives_printable_text_for_any_text(text: str) -> None:
    assert escape(text).isprintable()
    assert escape(escape(text)) == escape(text)


def test_numbers_in_a_sentence_keep_their_thin_spaces() -> None:
    told = f"{units.count(1234567)} of a\u2009b\x1b"
    assert sentence(told) == "1\u2009234\u2009567 of a\\u2009b\\x1b"
    assert sentence("plain") == "plain"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("One. Two (a. b). Three.", ["One", "Two (a. b)", "Three"]),
        ("6 waits took 2.5 s (Dr. No.lock). Freed.", ["6 waits took 2.5 s (Dr. No.lock)", "Freed"]),
        ("Of a) name. More (of (one). it). End", ["Of a) name", "More (of (one). it)", "End"]),
        ("", [""]),
    ],
)
def test_a_full_stop_in_a_name_ends_no_sentence(text: str, told: list[str]) -> None:
    assert sentences(text) == told


def test_many_names_are_counted_and_those_told_are_harmless() -> None:
    names = ["a\x1b", *"bcdef"]
    assert some(names, 2) == "a\\x1b, b and 4 more"
    assert some(names, 6) == "a\\x1b, b, c, d, e, f"
    assert some(names, 9, str.upper) == "A\x1b, B, C, D, E, F"
    assert some(["c"] * 2000, 1) == "c and 1\u2009999 more"
    assert some([], 3) == ""


@pytest.mark.parametrize("text", ["a\nb\x1b[2J", "\u202etxt", "\U000e0001", "plain", "a\u00a0b"])
def test_what_is_shown_can_be_typed(text: str) -> None:
    assert unescape(escape(text)) == text


@pytest.mark.parametrize("text", ["\\x41", "\\xff", "\\u001b", "\\Uffffffff", "\\x1", "\\X1B"])
def test_what_is_never_shown_so_stays(text: str) -> None:
    r"""Bytes that are no UTF-8 are texts such as `\xff` in the tables themselves."""
    assert unescape(text) == text
