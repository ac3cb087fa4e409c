"""What clients listed, and what they knew."""

from __future__ import annotations

from pcapnfs.analyses.caching.cache import Cache, FileCache, Interval
from pcapnfs.analyses.caching.delegations import Delegations
from pcapnfs.analyses.mounts.mount_options import Mount
from pcapnfs.analyses.mounts.mount_verdict import MountVerdict
from pcapnfs.analyses.namespace.readdir import DirectoryListing, FollowUps, Readdir


def readdir() -> Readdir:
    return Readdir(
        readdir_calls=2,
        readdirplus_calls=1,
        unknown_calls=0,
        v4_plain_calls=0,
        v4_plus_calls=0,
        directories=3,
        listings=1,
        entries=3002,
        bytes=169920,
        time_s=0.0869,
        largest_request_bytes=131072,
        plus_lost=1,
        plus_won_back=0,
        revalidations=4,
        revalidation_s=0.0217,
        follow_ups=1321,
        follow_up_s=7.3,
        after_plain=FollowUps(1208, 1208, 0, 0, 6.5, 6.4),
        after_plus=FollowUps(113, 0, 100, 13, 0.8, 0.7),
        spared=1100,
        spared_perhaps=40,
        plus_entries=397,
        untouched=20,
        bare_entries=0,
        sort="time",
        shown=(
            DirectoryListing(
                file=1,
                path="src/deeply/nested/directory/with/a/long/path/to/thumbnails",
                server="10.0.0.1",
                readdir_calls=2,
                readdirplus_calls=1,
                unknown_calls=0,
                listings=1,
                entries=3002,
                bytes=169920,
                time_s=0.0869,
                plus_lost=1,
                plus_won_back=0,
                revalidations=4,
                revalidation_s=0.0217,
                follow_ups=1321,
                follow_up_s=7.3,
                plus_entries=397,
                untouched=20,
            ),
        ),
    )


def cache() -> Cache:
    return Cache(
        revalidations=1478,
        by_getattr=1448,
        by_open=30,
        by_verify=0,
        first_sight=1,
        unchanged=1470,
        unchanged_share=0.9959,
        changed_by_self=4,
        changed_by_other=2,
        changed_by_unknown=0,
        for_times=0,
        unknown=1,
        without_file=0,
        objects=61,
        unasked=0,
        revalidation_s=3.57,
        invalidations=3,
        not_atomic=2,
        bytes_reread=1 << 20,
        bytes_saved=784 << 10,
        intervals=(
            Interval(0.0, 0.01, 320, 738),
            Interval(0.01, 0.1, 71, 189),
            Interval(0.1, 1.0, 0, 0),
            Interval(60.0, None, 2, 1),
        ),
        delegations=Delegations(90, 30, 1, 0, 2, 31, 0.12, 0.08, 5),
        mounts=(
            Mount(
                client="10.0.0.2",
                server="10.0.0.1",
                verdicts=(
                    MountVerdict(
                        ("noac", "actimeo=0"),
                        "noac or actimeo=0",
                        "likely",
                        "asked for the unchanged directory between 209 of 209 moves from one child "
                        "to the next",
                        (101, 129, 157),
                    ),
                ),
                too_little=None,
                moves=209,
                moves_asked=209,
                visits=196,
                visits_asked_twice=142,
                returns=30,
                returns_looked_up=1,
                missing_again=3,
                asked_shortest_s=None,
                unasked_longest_s=0.1,
            ),
            Mount("10.0.0.3", "10.0.0.1", (), None, 40, 1, 30, 2, 25, 0, 0, None, 12.0),
        ),
        sort="time",
        files=(
            FileCache(
                file=1,
                path="src/deeply/nested/directory/with/a/long/path/to/main.c",
                client="10.0.0.2",
                server="10.0.0.1",
                role="file",
                revalidations=938,
                unchanged=935,
                changed_by_self=1,
                changed_by_other=2,
                invalidations=3,
                interval_p50_s=0.00187,
                time_s=2.31,
                bytes_reread=1 << 20,
                bytes_saved=784 << 10,
                recalls=2,
            ),
        ),
    )


def poor_cache() -> Cache:
    """Of a capture that hardly tells."""
    return Cache(
        revalidations=0,
        by_getattr=0,
        by_open=0,
        by_verify=0,
        first_sight=0,
        unchanged=0,
        unchanged_share=None,
        changed_by_self=0,
        changed_by_other=0,
        changed_by_unknown=0,
        for_times=0,
        unknown=0,
        without_file=5,
        objects=0,
        unasked=0,
        revalidation_s=0.0,
        invalidations=0,
        not_atomic=0,
        bytes_reread=0,
        bytes_saved=0,
        intervals=(Interval(0.0, None, 0, 0),),
        delegations=Delegations(0, 0, 0, 0, 0, 0, 0.0, None, 0),
        mounts=(
            Mount(
                "10.0.0.2",
                "10.0.0.1",
                (),
                "1 move from one child of a directory to the next and 0 visits of files; 20 of "
                "either are needed",
                1,
                0,
                0,
                0,
                0,
                0,
                0,
                None,
                None,
            ),
        ),
        sort="time",
        files=(),
    )
