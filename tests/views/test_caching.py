"""Screens of `readdir` and `cache` at 80 and 140 columns, compared with what people approved.

After a wanted change: `PCAPNFS_UPDATE_SCREENS=1 pytest tests/views`, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import RenderableType

from pcapnfs.analyses.namespace.readdir import FollowUps
from pcapnfs.record import replace
from pcapnfs.views import caching, listings
from tests.views import samples

SCREENS = Path(__file__).parent / "screens"


def renderables() -> dict[str, RenderableType]:
    return {
        "readdir": listings.screen(samples.readdir()),
        "cache": caching.screen(samples.cache()),
        "cache-poor": caching.screen(samples.poor_cache()),
    }


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", ["readdir", "cache", "cache-poor"])
def test_a_screen_looks_as_approved(name: str, width: int) -> None:
    text = samples.render(renderables()[name], width)
    approved = SCREENS / f"{name}-{width}.txt"
    if os.environ.get("PCAPNFS_UPDATE_SCREENS"):
        approved.write_text(text, encoding="utf-8")
    assert text == approved.read_text(encoding="utf-8")
    assert max(cell_len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_numbers_are_whole_at_any_width(width: int) -> None:
    listing = samples.render(renderables()["readdir"], width)
    assert "3\u2009002" in listing
    assert "1\u2009208" in listing
    assert "1\u2009478" in samples.render(renderables()["cache"], width)


def test_what_did_not_happen_is_not_told() -> None:
    nothing = FollowUps(0, 0, 0, 0, 0.0, 0.0)
    quiet = replace(
        samples.readdir(),
        follow_ups=0,
        after_plain=nothing,
        after_plus=nothing,
        spared=0,
        spared_perhaps=0,
        plus_lost=0,
    )
    text = samples.render(listings.screen(quiet), 140)
    assert "No LOOKUP, GETATTR or ACCESS about an entry followed." in text
    assert "would" not in text
    assert "gave up" not in text
    cut = replace(
        quiet, entries=None, follow_ups=None, shown=(replace(quiet.shown[0], entries=None),)
    )
    text = samples.render(listings.screen(cut), 140)
    assert "an unknown number of entries" in text
    assert "Which calls followed is not known" in text
    assert "an unknown number of entries" in listings.in_short(cut)
    assert "asked about" in text
    # Without any reply nobody knows what else was asked.
    silent = replace(cut, revalidations=None, revalidation_s=None)
    assert "asked about" not in samples.render(listings.screen(silent), 140)
    hidden = replace(quiet, directories=0, shown=())
    assert "Which directories is not known" in samples.render(listings.screen(hidden), 80)
    empty = replace(quiet, readdir_calls=0, readdirplus_calls=0, directories=0, shown=())
    assert samples.render(listings.screen(empty), 80).strip() == "No directory was listed."


def test_calls_that_attributes_would_not_have_spared_are_told_as_such() -> None:
    late = replace(samples.readdir(), spared=0, spared_perhaps=0)
    text = samples.render(listings.screen(late), 140)
    assert "would not have spared the LOOKUPs and GETATTRs" in text
    rights = replace(late, after_plain=FollowUps(7, 0, 0, 7, 0.1, 0.1))
    assert "would" not in samples.render(listings.screen(rights), 140)
    one = replace(late, spared=1, spared_perhaps=1)
    text = samples.render(listings.screen(one), 140)
    assert "would have spared 1 LOOKUP or GETATTR:" in text
    assert "Later walks made 1 call:" in text


def test_times_that_do_not_tell_are_left_out_of_the_sentence() -> None:
    found = replace(samples.readdir(), time_s=0.0, follow_up_s=0.0)
    assert " -" not in listings.in_short(found)
    cut = replace(found, bytes=None)
    assert not any(" -" in line for told in (found, cut) for line in listings.sentences(told))


def test_only_nfsv4_has_delegations() -> None:
    one = samples.readdir()
    assert "(actimeo)" in samples.render(listings.screen(one), 140)
    four = replace(one, v4_plus_calls=1)
    assert "(actimeo, delegations)" in samples.render(listings.screen(four), 140)


@pytest.mark.parametrize(("lookups", "dropped"), [(56, False), (57, True)])
def test_names_that_the_client_did_not_keep_are_no_matter_of_timeouts(
    lookups: int, dropped: bool
) -> None:
    found = replace(samples.readdir(), after_plus=FollowUps(113, lookups, 50, 6, 0.8, 0.7))
    (told,) = listings.after_plus(found)
    assert ("did not keep the names" in told) is dropped
    assert ("(actimeo) do not spare these" in told) is dropped
    assert told in " ".join(samples.render(listings.screen(found), 140).split())


def test_only_nfsv3_has_readdirplus() -> None:
    assert "(READDIRPLUS)" in samples.render(listings.screen(samples.readdir()), 140)
    one = samples.readdir()
    for found in (replace(one, v4_plus_calls=1), replace(one, v4_plain_calls=1)):
        assert "READDIRPLUS" not in samples.render(listings.screen(found), 140)
        assert "READDIRPLUS" not in listings.in_short(found)


def test_calls_that_may_have_asked_for_attributes_are_told_apart() -> None:
    one = samples.readdir()
    cut = replace(one, readdir_calls=None, readdirplus_calls=1, unknown_calls=40)
    text = samples.render(listings.screen(cut), 200)
    assert "with 1 call that asked for attributes and 40 that may have (cut off): " in text
    assert "1 call with attributes, 40 with or without (cut off): " in listings.in_short(cut)
    assert "unknown" not in text.partition("Directories")[2]
    (listed,) = one.shown
    shown = (replace(listed, readdir_calls=None, readdirplus_calls=None, unknown_calls=3),)
    alone = replace(cut, readdirplus_calls=None, shown=shown)
    text = samples.render(listings.screen(alone), 140)
    assert "with 40 calls that may have asked for attributes (cut off): " in text
    assert "unknown" in text.partition("Directories")[2]


def test_every_cause_of_a_verdict_has_its_frames_and_its_confidence() -> None:
    text = samples.render(renderables()["cache"], 200)
    assert "noac or actimeo=0 (likely)" in text
    assert "(frames 101, 129, 157)" in text


def test_nothing_is_said_of_answers_that_there_are_none_of() -> None:
    unasked = replace(samples.cache(), revalidations=0, unchanged_share=None, invalidations=0)
    assert caching.in_short(unasked) == "No revalidations."
    untold = replace(unasked, revalidations=3)
    assert caching.in_short(untold).startswith("3 revalidations, ")
    assert "unchanged" not in caching.in_short(untold)
    assert "answers" not in caching.revalidation_sentences(untold)[0]
    assert "answers that could be compared" in caching.revalidation_sentences(samples.cache())[0]


def test_files_of_several_clients_are_told_with_their_client_at_any_width() -> None:
    text = samples.render(caching.screen(samples.cache()), 80)
    head, row = text.split("Asked about\n")[1].splitlines()[:2]
    assert "client" in head
    assert "10.0.0.2" in row


def test_objects_that_nobody_asked_about_count_among_those_that_could_be_shown() -> None:
    more = replace(samples.cache(), unasked=2)
    assert f"{len(more.files)} of 63 (--top 0 shows all)" in samples.render(
        caching.screen(more), 140
    )


def test_many_clients_without_a_verdict_are_counted() -> None:
    cached = samples.cache()
    many = replace(cached, mounts=cached.mounts[1:] * 9)
    text = samples.render(caching.screen(many), 140)
    assert text.count("nothing that default options would not explain") == caching.MOUNTS_SHOWN
    assert "5 more pairs of client and server without a verdict." in text


def test_parts_are_named_and_what_is_between_two_options_is_told() -> None:
    cached = samples.cache()
    silent = replace(cached.mounts[1], moves=100, moves_asked=50, part=f"/{samples.HOSTILE}")
    text = samples.render(caching.screen(replace(cached, mounts=(silent,))), 400)
    assert "10.0.0.1, /" in text
    assert "\x1b" not in text
    assert (
        "would not explain, though it asked for the unchanged directory between 50 of 100 moves "
        "from one child to the next: " in text
    )
    for asked in (20, 80):
        plain = replace(silent, moves_asked=asked)
        text = samples.render(caching.screen(replace(cached, mounts=(plain,))), 400)
        assert "would not explain." in text


def test_a_summary_names_the_first_verdicts_and_counts_the_rest() -> None:
    lines = caching.verdict_sentences(samples.cache().mounts * 6)
    assert len(lines) == caching.MOUNTS_SHOWN + 1
    assert lines[0] == "10.0.0.2 → 10.0.0.1: the calls are those of noac or actimeo=0 (likely)."
    assert lines[-1] == "2 more pairs of client and server with a verdict."


def test_nothing_hostile_reaches_the_terminal() -> None:
    hostile = samples.HOSTILE
    listing, cached = samples.readdir(), samples.cache()
    mount = replace(cached.mounts[0], client=hostile, server=hostile, too_little=hostile)
    screens = (
        listings.screen(replace(listing, shown=(replace(listing.shown[0], path=hostile),))),
        caching.screen(
            replace(
                cached,
                mounts=(mount, mount),
                files=(replace(cached.files[0], path=hostile, client=hostile),),
            )
        ),
    )
    for renderable in screens:
        text = samples.render(renderable, 300)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\x1b[31m[bold]<script>\\u202e" in text


def test_delegations_of_which_replies_do_not_tell_are_not_zero() -> None:
    told = replace(samples.cache().delegations, granted_read=None, granted_write=None)
    (line, *_) = caching.delegation_sentences(told)
    assert line.endswith(" returned; how many delegations were granted is not known.")
    (line, *_) = caching.delegation_sentences(replace(told, recalled=None, returned=None))
    assert "OPENs: how many delegations were granted, recalled or returned is not known." in line


def test_delegations_of_directories_are_told_where_there_are_any() -> None:
    told = replace(samples.cache().delegations, granted_directory=4)
    (line, *_) = caching.delegation_sentences(told)
    assert "30 read and 1 write delegations and 4 of directories granted, 2 recalled" in line


def test_why_handles_could_not_be_read_is_for_the_trust_to_say() -> None:
    """They were cut, sealed, or of arguments that contradict the protocol."""
    hidden = replace(samples.readdir(), directories=0, shown=())
    assert "snaplen" not in samples.render(listings.screen(hidden), 140)
    assert "could not be read" in samples.render(listings.screen(hidden), 140)
    assert "could not be read" in samples.render(renderables()["cache-poor"], 140)


@pytest.mark.parametrize(
    ("reread", "saved", "told"),
    [
        (1 << 20, 0, "1.00 MiB read again after somebody else's change."),
        (0, 1 << 20, "Nothing read again after somebody else's change; about 1.00 MiB not read"),
    ],
)
def test_no_bytes_are_told_in_words(reread: int, saved: int, told: str) -> None:
    lines = caching.data_sentences(replace(samples.cache(), bytes_reread=reread, bytes_saved=saved))
    assert lines[0].startswith(told)
    assert "0 B" not in lines[0]


def test_nothing_is_said_of_what_the_cache_did_not_spare() -> None:
    void = replace(samples.cache(), bytes_reread=26, bytes_saved=0, invalidations=0)
    assert caching.data_sentences(void)[0] == "26 B read again after somebody else's change."
    unknown = replace(void, bytes_saved=None)
    assert caching.data_sentences(unknown) == caching.data_sentences(void)
