"""Verdicts on mount options: from counts, and from rows that show them."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.change_ids import change_ids
from pcapnfs.analyses.mounts import mount_options
from pcapnfs.analyses.mounts.mount_evidence import SHOWN, MountEvidence, evidence
from pcapnfs.analyses.mounts.mount_options import Mount
from pcapnfs.record import replace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of

NOTHING = MountEvidence(
    client="10.0.0.2",
    server="10.0.0.1",
    moves=0,
    moves_asked=0,
    visits=0,
    files_delegated=0,
    visits_asked=0,
    visits_asked_twice=0,
    opens_ask=False,
    lookups_again=0,
    returns=0,
    returns_looked_up=0,
    pauses_asked=0,
    pauses_asked_twice=0,
    pause_shortest_s=None,
    unasked_longest_s=None,
    files_aged=0,
    files_young=0,
    aged_objects=0,
    aged_shortest_s=None,
    listings_plain=0,
    listings_plus=0,
    listings_unknown=0,
    listing_bytes=None,
    listings_continued=0,
    read_bytes=None,
    reads=0,
    reads_continued=0,
    reads_waited_for=0,
    write_bytes=None,
    writes=0,
    writes_continued=0,
    writes_sync=0,
    files_sync=0,
    writes_unstable=0,
    max_read_bytes=None,
    max_write_bytes=None,
    limits_withheld=False,
    reads_unasked=0,
    reads_asked=0,
    frames=dict.fromkeys(SHOWN, (7,)),
)

DEFAULT = replace(NOTHING, moves=100, moves_asked=3, visits=100, visits_asked=30)
"""What default options show: an open here and there."""

UNCACHED = replace(
    NOTHING, moves=100, moves_asked=100, visits=100, visits_asked=90, visits_asked_twice=60
)


def judged(seen: MountEvidence) -> Mount:
    return mount_options.judged(seen)


def options(seen: MountEvidence) -> list[tuple[tuple[str, ...], str]]:
    return [(verdict.options, verdict.confidence) for verdict in judged(seen).verdicts]


def test_default_options_give_no_verdict_and_little_data_says_so() -> None:
    assert judged(DEFAULT).verdicts == ()
    assert judged(DEFAULT).too_little is None
    little = judged(replace(UNCACHED, moves=19, moves_asked=19, visits=3, visits_asked_twice=3))
    assert little.verdicts == ()
    assert little.too_little is not None
    assert "19 moves" in little.too_little
    assert "3 visits" in little.too_little


def test_without_attribute_cache_noac_and_actimeo_0_stand_together() -> None:
    assert options(UNCACHED) == [(("noac", "actimeo=0"), "likely")]
    (verdict,) = judged(UNCACHED).verdicts
    assert verdict.title == "noac or actimeo=0"
    assert "100 of 100 moves" in verdict.evidence
    assert verdict.frames == (7,)


ONE_FILE = replace(
    NOTHING, visits=1, visits_asked=1, visits_asked_twice=1, ways_asked=100, ways_asked_twice=90,
    files_fresh=100,
)  # fmt: skip
"""A program that examines one file again and again."""


def test_a_single_file_shows_a_client_that_asks_twice_for_its_directory() -> None:
    (verdict,) = judged(replace(ONE_FILE, files_young=99)).verdicts
    assert (verdict.options, verdict.confidence) == (("noac", "actimeo=0"), "likely")
    assert "in 90 of 100 cases" in verdict.evidence
    assert "100 times for files" in verdict.evidence
    assert judged(ONE_FILE).too_little is None
    # Opens of NFSv3 ask for files in any case.
    of_v3 = replace(ONE_FILE, opens_ask=True)
    assert options(of_v3) == [(("noac", "actimeo=0", "acdirmin=0"), "likely")]
    assert options(replace(of_v3, files_fresh=19)) == [
        (("acdirmin=0", "noac", "actimeo=0"), "likely")
    ]


@pytest.mark.parametrize(
    "counts",
    [
        {"ways_asked_twice": 49},  # Processes that open it by turns.
        {"ways_asked": 20, "ways_asked_twice": 19},
        {"moves": 20, "moves_asked": 15},  # These tell, and do not.
        {"lookups_again": 19},  # It keeps no names: libnfs.
    ],
)
def test_what_opens_of_the_directory_explain_gives_no_verdict(counts: dict[str, int]) -> None:
    assert judged(replace(ONE_FILE, **counts)).verdicts == ()  # type: ignore[arg-type]


def test_one_file_that_is_written_through_tells_noac() -> None:
    through = replace(ONE_FILE, files_young=99, files_sync=1, writes_sync=40)
    assert options(through) == [(("noac", "actimeo=0,sync"), "possible")]
    several = replace(through, files_young=0, files_sync=3)
    assert options(several) == [(("noac", "actimeo=0,sync", "acdirmin=0,sync"), "likely")]


def test_writes_that_do_not_wait_tell_noac_from_actimeo_0() -> None:
    through = replace(UNCACHED, files_sync=5, writes_sync=40)
    assert options(through) == [(("noac", "actimeo=0,sync"), "likely")]


def test_fresh_files_that_are_not_asked_for_leave_acdirmin_0() -> None:
    assert options(replace(UNCACHED, visits_asked=5, visits_asked_twice=0)) == [
        (("acdirmin=0",), "likely")
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"visits": 5, "visits_asked": 5, "visits_asked_twice": 5},
        {"visits_asked": 60, "visits_asked_twice": 0},
    ],
)
def test_files_that_do_not_tell_leave_all_three(files: dict[str, int]) -> None:
    assert options(replace(UNCACHED, **files)) == [  # type: ignore[arg-type]
        (("acdirmin=0", "noac", "actimeo=0"), "possible")
    ]


def test_fresh_files_that_are_asked_for_without_an_open_leave_no_acdirmin_0() -> None:
    """Each is only examined, so that no visit has two questions."""
    stat = replace(UNCACHED, visits_asked=90, visits_asked_twice=0)
    (verdict,) = judged(stat).verdicts
    assert (verdict.options, verdict.confidence) == (("noac", "actimeo=0"), "likely")
    assert verdict.evidence.endswith("90 of 100 visits of fresh files asked")
    # An open of NFSv3 asks as well.
    (verdict,) = judged(replace(stat, opens_ask=True)).verdicts
    assert verdict.options == ("acdirmin=0", "noac", "actimeo=0")


def test_writes_that_do_not_wait_make_noac_likelier_than_two_options() -> None:
    through = replace(UNCACHED, visits_asked=60, visits_asked_twice=0, files_sync=5, writes_sync=40)
    assert options(through) == [(("noac", "actimeo=0,sync", "acdirmin=0,sync"), "possible")]


def test_sync_stands_beside_acdirmin_0() -> None:
    through = replace(UNCACHED, visits_asked=5, visits_asked_twice=0, files_sync=5, writes_sync=40)
    assert options(through) == [(("acdirmin=0",), "likely"), (("sync",), "possible")]


def test_delegations_leave_files_untold_and_one_file_that_is_written_through_tells() -> None:
    held = replace(UNCACHED, visits=1, visits_asked=0, visits_asked_twice=0, files_delegated=65)
    (verdict,) = judged(held).verdicts
    assert verdict.options == ("acdirmin=0", "noac", "actimeo=0")
    assert "under the delegations of 65 files none need ask" in verdict.evidence
    through = replace(held, files_sync=1, writes_sync=49)
    (verdict,) = judged(through).verdicts
    assert verdict.options == ("noac", "actimeo=0,sync", "acdirmin=0,sync")
    assert "49 WRITEs of 1 file asked for stable storage" in verdict.evidence


def test_one_file_that_is_written_through_makes_noac_possible_but_is_no_sync_mount() -> None:
    assert options(replace(UNCACHED, files_sync=1, writes_sync=49)) == [
        (("noac", "actimeo=0,sync"), "possible")
    ]
    assert options(replace(DEFAULT, files_sync=1, writes_sync=49)) == []
    spared = replace(UNCACHED, visits_asked=5, visits_asked_twice=0)
    assert options(replace(spared, files_sync=1, writes_sync=49)) == [(("acdirmin=0",), "likely")]


def test_files_alone_are_acregmin_0_unless_the_client_keeps_no_names() -> None:
    files = replace(DEFAULT, visits_asked=90, visits_asked_twice=60)
    assert options(files) == [(("acregmin=0",), "possible")]
    assert options(replace(files, lookups_again=50)) == []


ANY_AGE = replace(
    NOTHING, visits=40, visits_asked=20, files_aged=20, files_young=20, aged_objects=10,
    aged_shortest_s=2.0,
)  # fmt: skip
"""Files that were asked for, fresh or known for two seconds."""


def test_files_asked_for_at_any_age_are_acregmin_0_where_directories_are_not() -> None:
    unasked = replace(ANY_AGE, moves=20, moves_asked=4)
    assert options(unasked) == [(("acregmin=0",), "possible")]
    assert options(replace(unasked, moves_asked=5)) == []


def test_where_directories_show_nothing_noac_may_be_why_files_are_asked_for() -> None:
    (verdict,) = judged(replace(ANY_AGE, moves=19)).verdicts
    assert (verdict.options, verdict.confidence) == (
        ("acregmin=0", "noac", "actimeo=0"),
        "possible",
    )
    assert verdict.evidence.startswith("asked in 20 of 40 visits of fresh files, and for 10 ")
    assert "(19): of directories under a delegation none need ask" in verdict.evidence
    # Most of them after a second or two: no timeout explains the others.
    assert options(replace(ANY_AGE, files_aged=900)) == [(verdict.options, "possible")]


AT_ONCE = replace(NOTHING, visits=40, visits_asked=20, files_young=20, young_objects=10)
"""Files of NFSv4 that were asked for just after they had become known."""


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, (("noac", "actimeo=0", "acregmin=0"), "possible")),
        ({"visits_asked": 32}, (("noac", "actimeo=0", "acregmin=0"), "likely")),
        # Some of the moves are asked for: that tells neither.
        ({"moves": 20, "moves_asked": 10}, (("noac", "actimeo=0", "acregmin=0"), "possible")),
        ({"moves": 20, "moves_asked": 4}, (("acregmin=0",), "possible")),
        (
            {"visits_asked": 32, "files_sync": 1, "writes_sync": 47},
            (("noac", "actimeo=0,sync", "acregmin=0,sync"), "possible"),
        ),
        ({"files_young": 19}, None),
        ({"young_objects": 9}, None),
        ({"visits_asked": 19}, None),
        # Questions right behind a LOOKUP show nothing; those of other visits do.
        ({"files_just_found": 1}, None),
        (
            {"visits_asked": 24, "files_just_found": 4},
            (("noac", "actimeo=0", "acregmin=0"), "possible"),
        ),
        ({"lookups_again": 5}, None),
        ({"opens_ask": True}, None),
    ],
)
def test_files_of_nfsv4_that_are_asked_for_at_once_show_that_nothing_is_kept(
    changes: dict[str, int], told: tuple[tuple[str, ...], str] | None
) -> None:
    seen = replace(AT_ONCE, **changes)  # type: ignore[arg-type]
    assert options(seen) == ([] if told is None else [told])


OVERLAPPING = replace(
    DEFAULT, moves_asked=21, directories_asked=80, visits_asked=50, visits_asked_twice=30,
    opens_ask=True,
)  # fmt: skip
"""Several processes: their questions about a directory and their steps in it lie in any order."""


MANY_AT_ONCE = replace(
    OVERLAPPING, directories_asked=60, directories_young=50, visits_asked=80, visits_asked_twice=30
)
"""Many processes: one question serves several."""


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, True),
        ({"directories_young": 49}, False),
        ({"visits_asked": 79}, False),
        ({"visits_asked_twice": 29}, False),
        ({"moves_asked": 20}, False),
    ],
)
def test_many_processes_that_ask_for_fresh_directories_show_noac(
    changes: dict[str, int], *, told: bool
) -> None:
    seen = replace(MANY_AT_ONCE, **changes)  # type: ignore[arg-type]
    assert options(seen) == [(("noac", "actimeo=0"), "possible")] * told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, True),
        ({"lookups_again": 40}, True),
        ({"moves_asked": 20}, False),
        ({"directories_asked": 79}, False),
        ({"visits_asked": 49}, False),
        ({"visits_asked_twice": 29}, False),
    ],
)
def test_directories_that_several_processes_ask_for_as_often_as_they_use_them_show_noac(
    changes: dict[str, int], *, told: bool
) -> None:
    seen = replace(OVERLAPPING, **changes)  # type: ignore[arg-type]
    assert options(seen) == [(("noac", "actimeo=0"), "possible")] * told
    if told:
        assert "asked 80 times for directories" in judged(seen).verdicts[0].evidence
        written = replace(seen, files_sync=1, writes_sync=47)
        assert options(written) == [(("noac", "actimeo=0,sync"), "possible")]
        assert options(replace(written, files_sync=3)) == [(("noac", "actimeo=0,sync"), "possible")]


@pytest.mark.parametrize(
    "other",
    [{"visits_asked": 19}, {"aged_objects": 9}, {"opens_ask": True}, {"lookups_again": 5}],
)
def test_what_may_ask_for_files_otherwise_shows_no_acregmin_0(other: dict[str, int]) -> None:
    assert options(replace(ANY_AGE, **other)) == []  # type: ignore[arg-type]


def test_what_opens_of_nfs_v3_ask_for_shows_no_acregmin_0() -> None:
    files = replace(DEFAULT, visits_asked=90, visits_asked_twice=60, opens_ask=True)
    assert options(files) == []
    # Directories are not asked for at each open of a file.
    nothing_kept = replace(files, moves_asked=100)
    assert options(nothing_kept) == [(("noac", "actimeo=0"), "likely")]


def test_pauses_give_every_timeout_between_trusted_and_asked() -> None:
    seen = replace(
        DEFAULT,
        pauses_asked=2,
        pauses_asked_twice=1,
        pause_shortest_s=4.6,
        unasked_longest_s=1.7,
    )
    (verdict,) = judged(seen).verdicts
    assert verdict.options == (
        "actimeo=2",
        "actimeo=3",
        "actimeo=4",
        "acdirmin=2",
        "acdirmin=3",
        "acdirmin=4",
    )
    assert (verdict.title, verdict.confidence) == ("actimeo=2…4 or acdirmin=2…4", "possible")
    assert judged(replace(seen, pauses_asked=10)).verdicts[0].confidence == "likely"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, True),
        ({"returns_looked_up": 59}, False),
        ({"returns": 19, "returns_looked_up": 19}, False),
        # A client that asks for what a LOOKUP has just told keeps nothing.
        ({"visits_asked": 50}, False),
    ],
)
def test_unchanged_directories_that_are_looked_up_again_show_lookupcache_none(
    changes: dict[str, int], *, told: bool
) -> None:
    seen = replace(replace(DEFAULT, returns=100, returns_looked_up=80), **changes)  # type: ignore[arg-type]
    assert options(seen) == [(("lookupcache=none",), "likely")] * told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, True),
        # mkdir -p asks for directories alone.
        ({"files_again": 9}, False),
        # A cache that was dropped between three runs.
        ({"settled_looked_up": 3}, False),
        ({"visits_asked": 50}, False),
    ],
)
def test_so_do_files_that_are_looked_up_again_and_again_where_the_client_made_their_directory(
    changes: dict[str, int], *, told: bool
) -> None:
    seen = replace(DEFAULT, settled_returns=100, settled_looked_up=80, files_again=10)
    seen = replace(seen, **changes)  # type: ignore[arg-type]
    assert options(seen) == [(("lookupcache=none",), "likely")] * told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, [(("lookupcache=positive",), "possible")]),
        ({"found_again": 19}, [(("lookupcache=positive",), "possible")]),
        ({"found_again": 20}, [(("lookupcache=none",), "likely")]),
        ({"missing_again": 59}, []),
        ({"missing": 19, "missing_again": 19}, []),
        ({"visits_asked": 50}, []),
        # What directories show says it as well.
        ({"returns": 100, "returns_looked_up": 80}, [(("lookupcache=none",), "likely")]),
    ],
)
def test_names_that_are_missing_and_looked_for_again_show_that_they_are_not_kept(
    changes: dict[str, int], told: list[tuple[tuple[str, ...], str]]
) -> None:
    seen = replace(replace(DEFAULT, missing=100, missing_again=60), **changes)  # type: ignore[arg-type]
    assert options(seen) == told


AGED = replace(DEFAULT, files_aged=20, aged_objects=10, aged_shortest_s=1.4)
"""Files that were asked for after a pause of a second or two."""


@pytest.mark.parametrize(("shortest", "span"), [(0.95, "1"), (1.4, "1"), (2.1, "1…2")])
def test_files_asked_for_before_the_default_is_over_give_the_timeout(
    shortest: float, span: str
) -> None:
    (verdict,) = judged(replace(AGED, aged_shortest_s=shortest)).verdicts
    assert (verdict.title, verdict.confidence) == (
        f"actimeo={span} or acregmin={span}",
        "likely",
    )
    assert "asked 20 times for 10 files" in verdict.evidence
    assert "never for one known for less" in verdict.evidence


def test_where_nothing_was_used_sooner_again_a_timeout_is_possible_only() -> None:
    alone = replace(AGED, moves=19, visits=19, visits_asked=5)
    (verdict,) = judged(alone).verdicts
    assert (verdict.title, verdict.confidence) == ("actimeo=1 or acregmin=1", "possible")
    assert verdict.evidence.endswith("with noac it would look the same")
    for enough in ({"moves": 20}, {"visits": 20}):
        assert judged(replace(alone, **enough)).verdicts[0].confidence == "likely"  # type: ignore[arg-type]


EARLY = replace(DEFAULT, files_early=20, early_objects=10, early_shortest_s=3.6)
"""Files that were asked for after 3.6 s again and again."""


@pytest.mark.parametrize(("shortest", "span"), [(2.6, "1…2"), (3.6, "1…3"), (10.2, "1…10")])
def test_files_that_are_believed_for_no_longer_than_before_give_the_timeout(
    shortest: float, span: str
) -> None:
    (verdict,) = judged(replace(EARLY, early_shortest_s=shortest)).verdicts
    title = f"actimeo={span} or acregmax={span}"
    assert (verdict.title, verdict.confidence) == (title, "possible")
    assert verdict.evidence.startswith("asked 20 times for 10 files known for ")


@pytest.mark.parametrize("few", [{"files_early": 19}, {"early_objects": 9}])
def test_few_files_that_are_believed_for_no_longer_give_no_timeout(few: dict[str, int]) -> None:
    assert options(replace(EARLY, **few)) == []  # type: ignore[arg-type]


def test_files_tell_the_timeout_closer_than_directories_do() -> None:
    both = replace(
        AGED, pauses_asked=3, pauses_asked_twice=1, pause_shortest_s=4.6, unasked_longest_s=0.7
    )
    assert [verdict.title for verdict in judged(both).verdicts] == ["actimeo=1 or acregmin=1"]


def test_a_timeout_is_possible_only_beside_questions_behind_lookups() -> None:
    """A client that believes nothing asks so, too."""
    seldom, often = (replace(AGED, files_just_found=number) for number in (1, 2))
    assert [verdict.confidence for verdict in judged(seldom).verdicts] == ["likely"]
    (verdict,) = judged(often).verdicts
    assert (verdict.title, verdict.confidence) == ("actimeo=1 or acregmin=1", "possible")
    assert ". 2 questions right behind the LOOKUP that brought the file" in verdict.evidence


@pytest.mark.parametrize("few", [{"files_aged": 19}, {"aged_objects": 9}, {"files_young": 2}])
def test_a_file_or_two_and_younger_ones_give_no_timeout(few: dict[str, int]) -> None:
    assert options(replace(AGED, **few)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "contradiction",
    [
        {"unasked_longest_s": 5.0},
        {"unasked_longest_s": None},
        {"pauses_asked": 1},
        {"pauses_asked_twice": 0},
        {"pause_shortest_s": 3.4, "unasked_longest_s": 3.1},
    ],
)
def test_pauses_that_opens_may_explain_give_no_timeout(contradiction: dict[str, object]) -> None:
    seen = replace(
        DEFAULT, pauses_asked=3, pauses_asked_twice=1, pause_shortest_s=4.6, unasked_longest_s=1.7
    )
    assert options(replace(seen, **contradiction)) == []  # type: ignore[arg-type]


def test_small_transfers_are_no_option_where_the_server_does_not_say_what_it_allows() -> None:
    small = replace(NOTHING, read_bytes=1024, reads=99, reads_continued=98, write_bytes=1024)
    small = replace(small, writes=99, writes_continued=98, listing_bytes=1024, listings_continued=9)
    assert {names for names, _ in options(small)} >= {("rsize=1024",), ("wsize=1024",)}
    assert options(replace(small, limits_withheld=True)) == []


def test_listings_in_small_pieces_and_transfers_no_larger_show_rsize_and_wsize() -> None:
    seen = replace(
        DEFAULT,
        listings_plus=3,
        listing_bytes=4096,
        listings_continued=3,
        write_bytes=4096,
        writes=60,
        max_read_bytes=1 << 20,
        max_write_bytes=1 << 20,
    )
    assert options(seen) == [(("rsize=4096",), "likely"), (("wsize=4096",), "possible")]
    assert options(replace(seen, write_bytes=8192)) == []
    assert options(replace(seen, listings_continued=0)) == []
    assert options(replace(seen, listing_bytes=65536)) == []


def test_a_transfer_size_is_an_option_only_below_what_the_server_allows() -> None:
    seen = replace(
        DEFAULT,
        write_bytes=32768,
        writes=100,
        writes_continued=40,
        max_write_bytes=1 << 20,
        read_bytes=32768,
        reads=100,
        reads_continued=40,
        max_read_bytes=1 << 20,
    )
    assert options(seen) == [(("rsize=32768",), "possible"), (("wsize=32768",), "likely")]
    assert options(replace(seen, max_write_bytes=32768, max_read_bytes=32768)) == []
    assert options(replace(seen, writes_continued=2, reads_continued=19)) == []
    # Then READs say nothing of the mount, and the program may write so.
    apart = replace(seen, listing_bytes=65536)
    assert options(apart) == [(("wsize=32768", "write=eager"), "possible")]


def test_pieces_may_be_those_that_a_program_writes_unless_the_client_shows_that_it_gathers() -> (
    None
):
    seen = replace(
        DEFAULT, write_bytes=8192, writes=480, writes_continued=447, max_write_bytes=65536
    )
    either = [(("wsize=8192", "write=eager"), "possible")]
    assert options(seen) == either
    assert options(replace(seen, writes_alone=2)) == either
    assert options(replace(seen, writes_alone=3)) == [(("wsize=8192",), "likely")]
    read = replace(seen, reads=60, reads_continued=50, max_read_bytes=65536)
    assert options(replace(read, read_bytes=8192))[1:] == [(("wsize=8192",), "likely")]
    assert options(replace(read, read_bytes=16384))[1:] == either


def test_reads_that_a_program_waits_for_one_by_one_tell_its_size_and_not_the_mount_s() -> None:
    seen = replace(DEFAULT, read_bytes=16384, reads=60, reads_continued=50, max_read_bytes=1 << 19)
    assert options(replace(seen, reads_waited_for=39)) == [(("rsize=16384",), "possible")]
    assert options(replace(seen, reads_waited_for=40)) == []


def test_sync_needs_files_of_several_writes() -> None:
    assert options(replace(DEFAULT, writes=60, write_bytes=4096)) == []
    several = replace(DEFAULT, files_sync=3, writes_sync=30)
    assert options(several) == [(("sync",), "possible")]
    assert options(replace(several, writes_unstable=30)) == []


def test_nordirplus_is_never_to_ask_and_nocto_to_read_unasked() -> None:
    assert options(replace(DEFAULT, listings_plain=40)) == [(("nordirplus",), "likely")]
    assert options(replace(DEFAULT, listings_plain=4)) == [(("nordirplus",), "possible")]
    assert options(replace(DEFAULT, listings_plain=40, listings_plus=1)) == []
    assert options(replace(DEFAULT, listings_plain=40, listings_unknown=1)) == []
    assert options(replace(DEFAULT, reads_unasked=10, reads_asked=2)) == [(("nocto",), "possible")]
    assert options(replace(DEFAULT, reads_unasked=10, reads_asked=3)) == []


V4 = {"version": 4, "protocol": "4.1"}

ASKS = "00000018:00300000"
"""A bitmap with change (bit 3) and size (bit 4)."""


class Client:
    """Calls of one client, each 10 ms after the one before unless it sleeps.

    Of NFSv4 only GETATTR brings attributes.
    """

    def __init__(self, **columns: object) -> None:
        self.columns = columns
        self.calls: list[Row] = []
        self.operations: list[Row] = []
        self.now = START_NS

    def sleep(self, seconds: float) -> None:
        self.now += int(seconds * 1000) * MILLISECOND

    def call(self, op: str, target: int, directory: int | None = None, **facts: object) -> None:
        number = len(self.calls) + 1
        self.now += 10 * MILLISECOND
        times = {
            "call_time": self.now,
            "call_first_time": self.now,
            "reply_time": self.now + MILLISECOND,
        }
        kind = facts.pop("stability", "unstable")
        self.calls.append(
            call(
                number,
                op,
                1,
                file=target,
                directory=directory,
                stability=kind,
                **(times | self.columns),
            )
        )
        known: dict[str, object] = {"ctime": 1, "mtime": 1, "size": 1}
        if self.columns:
            known = {"change": 1, "attributes": ASKS} if op == "GETATTR" else {}
        self.operations.append(
            operation(
                number, op, file=target, directory=directory, stability=kind, **(known | facts)
            )
        )

    def seen(self) -> MountEvidence:
        objects = [file(1, ".", "directory")]
        objects += [file(number, f"f{number}", parent=1) for number in range(2, 40)]
        with (
            trace_of(files=objects, calls=self.calls, operations=self.operations) as trace,
            change_ids(trace) as cursor,
        ):
            (found,) = evidence(trace, cursor)
        return found


@pytest.mark.parametrize(("known", "opens_ask"), [({}, True), (V4, False)])
def test_programs_that_start_and_open_the_same_files_are_no_mount_option(
    known: dict[str, object], opens_ask: bool
) -> None:
    """Each of three imports the same thirty modules within a second, and opens each of them."""
    client = Client(**known)
    client.call("GETATTR", 1)
    for module in range(2, 32):
        client.call("LOOKUP", module, 1)
    for _ in range(3):
        for module in range(2, 32):
            client.call("GETATTR", module)
    seen = client.seen()
    assert (seen.visits, seen.visits_asked_twice, seen.opens_ask) == (30, 30, opens_ask)
    assert options(seen) == ([] if opens_ask else [(("acregmin=0",), "possible")])


def test_moves_and_visits_are_counted_from_calls() -> None:
    client = Client()
    client.call("GETATTR", 1)
    for child in (2, 3, 4):
        client.call("GETATTR", 1)
        client.call("LOOKUP", child, 1)
        client.call("GETATTR", child)
        client.call("GETATTR", child)
    client.call("READ", 2)
    seen = client.seen()
    assert (seen.moves, seen.moves_asked, seen.frames["moves"]) == (2, 2, (11, 19))
    assert (seen.visits, seen.visits_asked, seen.visits_asked_twice) == (3, 3, 3)
    assert seen.lookups_again == 0


def test_questions_of_two_processes_may_lie_before_the_steps_of_both() -> None:
    client = Client()
    for first in range(2, 38, 2):
        client.call("GETATTR", 1)
        client.call("GETATTR", 1)
        for child in (first, first + 1):
            client.call("GETATTR", child)
            client.call("GETATTR", child)
            client.call("GETATTR", child)
    seen = client.seen()
    assert (seen.moves, seen.moves_asked, seen.directories_asked) == (35, 17, 0)
    client.call("GETATTR", 1)
    for child in range(2, 8):
        client.call("GETATTR", 1)
        client.call("GETATTR", child)
        client.call("GETATTR", child)
    seen = client.seen()
    assert (seen.moves, seen.moves_asked, seen.directories_asked) == (41, 23, 42)
    assert options(seen) == [(("noac", "actimeo=0"), "possible")]


def test_files_that_are_asked_for_at_once_are_counted_where_there_are_some() -> None:
    client = Client(**V4)
    for target in range(2, 22):
        client.call("GETATTR", target)
        client.call("GETATTR", target)
    client.call("READ", 2)
    client.call("GETATTR", 2)  # a READ lies in between
    seen = client.seen()
    assert (seen.files_young, seen.young_objects) == (20, 20)
    assert seen.frames["young"] == (3, 7, 11)


def test_a_question_right_behind_the_lookup_that_brought_the_file_shows_nothing() -> None:
    """A client may ask for whatever it looks up, and believe the answer."""
    client = Client(**V4)
    for target in range(2, 32):
        client.call("LOOKUP", target, 1, change=1)
        client.call("GETATTR", target)
    seen = client.seen()
    assert (seen.visits, seen.visits_asked, seen.files_just_found) == (30, 30, 30)
    assert (seen.files_young, seen.young_objects, seen.frames["young"]) == (0, 0, ())
    assert options(seen) == []
    # The next question about the same file is one that a client which believes does not send.
    for target in range(2, 32):
        client.sleep(2)
        client.call("GETATTR", target)
        client.call("GETATTR", target)
    seen = client.seen()
    assert (seen.files_just_found, seen.files_young, seen.young_objects) == (30, 30, 30)


def test_questions_that_a_timeout_explains_are_no_visits_of_fresh_files() -> None:
    """Every pass but the first over a tree comes after the timeout, with any options."""
    client = Client(**V4)
    for _ in range(5):
        for child in (2, 3, 4):
            client.call("GETATTR", child)
        client.sleep(4)
    client.call("GETATTR", 2)
    client.call("GETATTR", 2)
    seen = client.seen()
    # The first look at each, and the last at one of them.
    assert (seen.visits, seen.visits_asked) == (4, 1)


def test_visits_under_a_delegation_are_not_counted() -> None:
    client = Client(**V4)
    for target in (2, 3, 4):
        client.call("LOOKUP", target, 1)
        client.call("OPEN", target, 1, delegation=None if target == 4 else "READ")
        client.sleep(2)
        client.call("READ", target)
        client.sleep(2)
    client.call("DELEGRETURN", 2)
    client.call("GETATTR", 2)
    seen = client.seen()
    assert (seen.visits, seen.files_delegated) == (3, 2)
    assert seen.visits_asked == 0


def test_moves_in_a_directory_under_a_delegation_are_not_counted() -> None:
    client = Client(**V4)
    client.call("GET_DIR_DELEGATION", 1, delegation="READ")
    for target in (2, 3, 4):
        client.call("GETATTR", target, 1)
    client.call("DELEGRETURN", 1)
    seen = client.seen()
    assert (seen.moves, seen.visits, seen.files_delegated) == (0, 3, 0)
    for target in (5, 6, 7):
        client.call("GETATTR", target, 1)
    assert client.seen().moves == 2


def test_a_delegation_that_the_capture_began_under_is_known_by_its_return() -> None:
    client = Client(**V4)
    client.call("READ", 2)
    client.sleep(2)
    client.call("READ", 2)
    client.call("DELEGRETURN", 2)
    client.sleep(2)
    client.call("READ", 2)
    seen = client.seen()
    assert (seen.visits, seen.files_delegated) == (1, 1)


def test_so_is_that_of_a_directory() -> None:
    client = Client(**V4)
    for target in (2, 3, 4):
        client.call("GETATTR", target, 1)
    client.call("DELEGRETURN", 1)
    assert client.seen().moves == 0


def test_files_that_were_left_alone_and_then_asked_for_are_counted() -> None:
    client = Client(**V4)
    for target in (2, 3):
        client.call("GETATTR", target)
    client.sleep(1.5)
    client.call("GETATTR", 2)  # counts
    client.call("GETATTR", 2)  # known for less
    client.call("READ", 3)
    client.call("GETATTR", 3)  # a READ lies in between
    client.sleep(2.6)
    client.call("GETATTR", 2)  # known for longer
    client.call("OPEN", 3, 1, delegation="READ")
    client.sleep(1.5)
    client.call("GETATTR", 3)  # under a delegation
    seen = client.seen()
    assert (seen.files_aged, seen.files_young, seen.aged_objects) == (1, 1, 1)
    assert seen.aged_shortest_s == pytest.approx(1.519)
    assert seen.frames["aged"] == (5,)


@pytest.mark.parametrize("version", [3, 4])
def test_questions_before_a_doubled_timeout_is_over_are_counted(version: int) -> None:
    client = Client(**(V4 if version == 4 else {}))
    for pause_s in (0, 3.6, 3.6, 7, 7, 13):
        # By default the first would be believed for 3 s, the next two for 6 s, the last for 12 s.
        client.sleep(pause_s)
        client.call("GETATTR", 2)
        client.call("GETATTR", 3)
    seen = client.seen()
    assert (seen.files_early, seen.early_objects) == (4, 2)
    assert seen.early_shortest_s == pytest.approx(3.6, abs=0.1)
    client.call("READ", 3)  # It is open.
    assert (client.seen().files_early, client.seen().early_objects) == (2, 1)


def test_timeouts_that_double_are_not_early() -> None:
    client = Client(**V4)
    for pause_s in (0, 3.6, 6.5, 12.5, 24.5, 50):
        client.sleep(pause_s)
        client.call("GETATTR", 2)
    assert client.seen().files_early == 0


def test_an_open_of_nfsv3_asks_so_that_its_questions_are_not_counted() -> None:
    client = Client()
    client.call("GETATTR", 2)
    client.sleep(1.5)
    client.call("GETATTR", 2)
    assert client.seen().files_aged == 0


def test_calls_of_one_packet_count_alike_however_the_table_holds_them() -> None:
    client = Client()
    for step in range(60):
        client.call("LOOKUP", 2 + step * 7 % 5, 1)
    together = {"call_frame": 1, "call_time": START_NS, "call_first_time": START_NS}
    client.calls = [dict(row) | together for row in client.calls]
    one = client.seen()
    client.calls.sort(key=lambda row: str(row["file"]))
    other = client.seen()
    assert one == other
    assert one.moves == 59


def test_a_pause_counts_when_the_directory_is_used_right_after_the_question() -> None:
    client = Client()
    client.call("GETATTR", 1)
    client.call("REMOVE", 2, 1, stability="stable", directory_ctime=1, directory_mtime=1)
    client.call("GETATTR", 1)
    client.sleep(1.5)
    client.call("ACCESS", 3)  # the directory was known for 1.5 s, and not asked for
    client.sleep(4)
    client.call("GETATTR", 1)
    client.call("GETATTR", 1)
    client.call("ACCESS", 4)
    client.sleep(5)
    client.call("GETATTR", 1)  # looked at, not used
    client.sleep(2)
    client.call("GETATTR", 1)
    seen = client.seen()
    assert (seen.pauses_asked, seen.pauses_asked_twice) == (1, 1)
    assert seen.pause_shortest_s == pytest.approx(5.519)
    assert seen.unasked_longest_s == pytest.approx(1.509)


@pytest.mark.parametrize("listing", ["READDIR", "READDIRPLUS"])
def test_a_directory_that_was_listed_is_asked_for_its_access_time_as_well(listing: str) -> None:
    client = Client()
    client.call("ACCESS", 1)
    client.call(listing, 1)
    client.sleep(4)
    client.call("GETATTR", 1)
    client.call("GETATTR", 1)
    client.call("REMOVE", 2, 1, stability="stable", directory_ctime=1, directory_mtime=1)
    seen = client.seen()
    assert (seen.pauses_asked, seen.pauses_asked_twice) == (1, 0)


def test_a_mount_asks_for_its_root_without_a_pause() -> None:
    client = Client()
    client.call("GETATTR", 1)
    client.sleep(4)
    client.call("FSINFO", 1, ctime=None, mtime=None, size=None)  # As Linux' server answers it.
    client.call("GETATTR", 1)
    client.call("GETATTR", 1)
    client.call("ACCESS", 3)
    assert client.seen().pauses_asked == 0


def test_listings_and_opens_are_counted_from_calls() -> None:
    listed = {"ctime": 1, "mtime": 1, "size": 1}
    reads = [call(number, "READ", 1, file=number) for number in (11, 12, 13)]
    with (
        trace_of(
            files=[file(1, "d", "directory"), file(2, "e", "directory")]
            + [file(number, f"f{number}", parent=1) for number in (11, 12, 13)],
            calls=[
                call(1, "READDIR", 1, file=1),
                call(2, "READDIR", 1, file=1),
                call(3, "READDIRPLUS", 1, file=2),
                call(4, "GETATTR", 1, file=13),
                *reads,
            ],
            operations=[
                operation(1, "READDIR", file=1, cookie=0, requested=4096),
                operation(2, "READDIR", file=1, cookie=9, requested=8192),
                operation(3, "READDIRPLUS", file=2, cookie=0, requested=4096),
            ],
            entries=[
                {"call": 3, "directory": 2, "name": f"f{number}", "file": number} | listed
                for number in (11, 12, 13)
            ],
        ) as trace,
        change_ids(trace) as cursor,
    ):
        (seen,) = evidence(trace, cursor)
    assert (seen.listings_plain, seen.listings_plus, seen.listings_continued) == (1, 1, 1)
    assert seen.listing_bytes == 8192
    assert (seen.reads_unasked, seen.reads_asked) == (2, 1)


def test_writes_are_continued_by_the_next_at_their_end() -> None:
    client = Client()
    for target in (2, 3):
        for offset in (0, 4096, 8192):
            client.call(
                "WRITE",
                target,
                offset=offset,
                requested=4096,
                stable_requested="UNSTABLE" if target == 2 else "FILE_SYNC",
            )
    client.call("WRITE", 4, offset=0, requested=100, stable_requested="FILE_SYNC")
    seen = client.seen()
    assert (seen.writes, seen.write_bytes, seen.writes_continued) == (7, 4096, 2)
    assert (seen.writes_sync, seen.files_sync, seen.writes_unstable) == (2, 1, 2)
    assert seen.writes_alone == 1
    assert (seen.reads, seen.read_bytes) == (0, None)


def test_a_write_that_is_committed_first_is_not_continued() -> None:
    """A program that calls fsync() after each write shows nothing of wsize."""
    client = Client()
    for offset in (0, 4096, 8192, 12288):
        client.call("WRITE", 2, offset=offset, requested=4096, stable_requested="UNSTABLE")
        if offset < 8192:
            client.call("COMMIT", 2, offset=0, requested=0)
    client.call("COMMIT", 3)
    seen = client.seen()
    assert (seen.writes, seen.write_bytes, seen.writes_continued) == (4, 4096, 1)
