"""Much of what the client asks is whether anything has changed, and nothing has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.caching.questions import FILE_FRESH_S
from pcapnfs.analyses.mounts.mount_timeouts import is_longest
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import (
    CHANGE,
    TOPIC,
    asked_again,
    is_attribute_cache,
    is_timeout,
    of_part,
)
from pcapnfs.diagnosis.rules import acl_storm
from pcapnfs.diagnosis.severity import PROBLEM_SHARE, by_cost, takes_much
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.caching.acl_queries import AclQueries
    from pcapnfs.analyses.caching.questions import Questions
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "getattr_storm.share",
    0.4,
    "share",
    "calls that are GETATTR; fewer are told where those without news cost "
    "a second and a tenth of the time",
    "default of this tool",
)
UNCHANGED = Threshold(
    "getattr_storm.unchanged", 0.8, "share",
    "answers that could be compared and were what the client knew", "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "getattr_storm.least", 50, "calls", "such GETATTRs, below which nothing is reported",
    "default of this tool",
)  # fmt: skip

EXPIRED = 0.5
"""From this part of the GETATTRs on, a timeout below the default is why."""

WALKS = 10
"""So many times a few walks through a tree, one after the other, ask about a directory, or a file,
at most."""

TREE = 30
"""So many files and more are a tree, and none that programs keep an eye on."""

AGAIN = 2
"""So many times on average each file was opened where several programs read it."""

OPENS = 0.5
"""From this part of the GETATTRs on, opens are why."""

SOME = 0.1
"""From this part on, it is told what spares opens beside longer timeouts."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server of which no rule on mount options says why."""
    options = {
        (mount.client, mount.server, mount.part): [verdict.options for verdict in mount.verdicts]
        for mount in material.cache.mounts
    }
    locking = {(each.client, each.server) for each in material.lock_calls}
    of_acls = {
        (each.client, each.server): each
        for each in material.acl_queries
        if acl_storm.many(material, each, values) and _last_long(each)
    }
    for pair in material.questions:
        if (
            any(
                _explains(material, each, pair)
                for each in options.get((pair.client, pair.server, pair.part), ())
            )
            or pair.unchanged.calls < values[LEAST.name]
            or pair.unchanged.calls < values[UNCHANGED.name] * pair.compared
        ):
            continue
        claims = left_out(pair.unchanged)
        # Opens ask, and rightly so: where that takes little of the time it is no storm. Nor is it
        # told of few where it is not known why.
        if pair.asked < values[SHARE.name] * pair.calls and (
            _doubted(pair) or not takes_much(material, pair.client, claims, PROBLEM_SHARE)
        ):
            continue
        locked = (pair.client, pair.server) in locking
        acls = of_acls.get((pair.client, pair.server))
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title="The client asks again and again what has not changed",
            seen=f"{of_part(pair.part)}{units.count(pair.asked)} of "
            f"{units.counted(pair.calls, 'call')} are GETATTR, and "
            f"{units.count(pair.unchanged.calls)} of the {units.count(pair.compared)} that could "
            f"be compared gave what the client knew already.{_young(pair)}",
            why=_why(pair, locked=locked),
            advice=_advice(pair, locked=locked, acls=acls is not None and _beside(acls, pair)),
            calls=pair.unchanged.calls,
            confidence="certain",
            data=units.counted(pair.calls, "call"),
            frames=pair.unchanged.frames,
            claims=claims,
            about=(pair.client, pair.server),
            part=pair.part,
        )


_EXPIRED = (
    "Each of them is a round trip without news. They come from attributes that expire between two "
    "looks at the same tree (status of a working copy, make, find, backup): on Linux by default "
    "after 3 s (files) or 30 s (directories), and twice as long each time nothing had changed, up "
    "to 60 s."
)
_ALSO_OPENS = " And they come from opens, which always ask."
_ALSO_LISTINGS = " And they come from opens of directories, which always ask."
_OPENS = (
    "Each of them is a round trip without news. No timeout had run out for most: an open asks "
    "whatever the client knows (close-to-open consistency), and after changes of its own a client "
    "may doubt what it knows."
)
_OPENED = (
    "Each of them is a round trip without news. Most come from opens, which ask whatever the "
    "client knows, and however long it keeps it (close-to-open consistency)."
)
_EITHER = (
    "Each of them is a round trip without news. They come from opens, which always ask "
    "(close-to-open consistency), or from attributes that expire between two looks at the same "
    "tree: on Linux by default after 3 s (files) or 30 s (directories), and twice as long each "
    "time nothing had changed, up to 60 s."
)
_DOUBTED = (
    "Each of them is a round trip without news. No timeout had run out for most, and an open of "
    "NFSv4 asks within its own compound. Beside opens, a client asks for a file that it {locked}"
    "may have changed itself, or whose delegation it gave back; mounted with noac, actimeo=0 or "
    "acregmin=0 it asks for each, whenever it uses it."
)
_LOCKED = "got a lock on, that it "
"""Why it matters, by what they come from."""


def _explains(material: Material, options: tuple[str, ...], pair: Questions) -> bool:
    """Whether options of the mount say why it asked, which is then another rule's to tell.

    A timeout of some seconds, as two pauses may show, does not where most came before it was over.
    """
    if is_timeout(options):
        again = asked_again(material, pair).calls if is_longest(options) else 0
        return pair.early.calls + again >= EXPIRED * pair.unchanged.calls
    return is_attribute_cache(options)


def _last_long(acls: AclQueries) -> bool:
    """Whether calls for ACLs, which nobody needs, took longer than files are believed at first.

    Where ACLs are set they are needed; and noacl is for NFSv3 alone.
    """
    unused = not acls.changed and acls.by_attribute < acls.asked.calls
    return unused and acls.asked.time_s + acls.asked.pause_s >= FILE_FRESH_S


def _beside(acls: AclQueries, pair: Questions) -> bool:
    """Whether ACLs were fetched all along, and not in the first of many walks alone."""
    return acls.asked.calls >= EXPIRED * pair.unchanged.calls


def _from_opens(pair: Questions) -> bool:
    """Whether most came before any timeout was over, or later by an open, and opens explain it."""
    sure = pair.young + pair.opened_late
    return sure >= OPENS * pair.unchanged.calls and not _doubted(pair)


def _from_either(pair: Questions) -> bool:
    """Whether most came from opens of many files or from looks at them, and nothing tells which.

    Some came from opens for sure: of a tree that is read once, and looked at from then on, all that
    comes late are looks.
    """
    opened = _of_files(pair)
    return (
        not _too_young(pair)
        and not _from_opens(pair)
        and pair.files >= TREE
        and opened >= SOME * pair.unchanged.calls
        and opened + pair.either >= OPENS * pair.unchanged.calls
    )


def _doubted(pair: Questions) -> bool:
    """Whether most came that early, and most of these were about files of NFSv4."""
    return _too_young(pair) and 2 * pair.young_unopened > pair.young


def _too_young(pair: Questions) -> bool:
    return pair.young >= OPENS * pair.unchanged.calls


def _from_listings(pair: Questions) -> bool:
    """Whether most of them were about directories: who lists them opens them."""
    asked = pair.young + pair.opened_late
    return _from_opens(pair) and pair.young_directories >= OPENS * asked


def _from_readers(pair: Questions) -> bool:
    """Whether most came from one or a few programs that each open many files, once."""
    return (
        _from_opens(pair)
        and not _from_listings(pair)
        and pair.files >= TREE
        and _about_files(pair) <= WALKS * pair.files
    )


def _about_files(pair: Questions) -> int:
    """Those about files that came before a default timeout was over, or later by an open."""
    return pair.young - pair.young_directories + pair.opened_late


def _expired(pair: Questions) -> int:
    """Those that came after a default timeout was over, and not by an open for all that is seen."""
    return pair.unchanged.calls - pair.young - pair.opened_late


def _from_walks(pair: Questions) -> bool:
    """Whether few of them were about each: who opens one again and again does something else."""
    return _from_listings(pair) and pair.young_directories <= WALKS * pair.directories


def _young(pair: Questions) -> str:
    if _from_either(pair):
        return _apart(pair)
    if not (_too_young(pair) or _from_opens(pair)):
        return ""
    early = (
        f"{units.count(pair.young)} of these came before any default timeout was over (3 s for "
        f"files, 30 s for directories)"
    )
    late = (
        f"{units.count(pair.opened_late)} later, right before the client asked for its rights to "
        "the file"
    )
    told = " and ".join([early, *([late] if pair.opened_late else [])])
    return (
        f" {told}{', as opens ask' if _from_opens(pair) else ''}"
        f"{_of_directories(pair)}{_of_readers(pair)}."
    )


def _apart(pair: Questions) -> str:
    return (
        f" Opens explain {units.count(_of_files(pair))} of these; {units.count(pair.either)} may "
        "come from opens or from looks at attributes that had expired: they are about files that "
        "the client also reads, and came 3 s or more after it had known them."
    )


def _of_directories(pair: Questions) -> str:
    if not _from_listings(pair):
        return ""
    return (
        f"; {units.count(pair.young_directories)} were about "
        f"{units.counted(pair.directories, 'directory', 'directories')}{_listed(pair)}"
    )


def _listed(pair: Questions) -> str:
    if not _dated(pair):
        return ""
    return (
        f", {units.count(pair.listed)} of them behind a listing and right before the next about "
        "the same, as stat() asks before an open for the access time that listing changed"
    )


def _of_readers(pair: Questions) -> str:
    if not _from_readers(pair):
        return ""
    about = _about_files(pair)
    return (
        f": {units.count(about)} about {units.counted(pair.files, 'file')}, "
        f"{units.number(about / pair.files)} for each"
    )


def _why(pair: Questions, *, locked: bool) -> str:
    if _doubted(pair):
        return _DOUBTED.format(locked=_LOCKED if locked else "")
    if _from_opens(pair):
        return _OPENS if _too_young(pair) else _OPENED
    if _from_either(pair):
        return _EITHER
    if _opened(pair) < SOME * pair.unchanged.calls:
        return _EXPIRED
    return _EXPIRED + (_ALSO_LISTINGS if _of_files(pair) <= 0 else _ALSO_OPENS)


def _opened(pair: Questions) -> int:
    """Those that opens explain."""
    return pair.young - pair.young_unopened + pair.opened_late


def _of_files(pair: Questions) -> int:
    """Those of them that were about files."""
    return _opened(pair) - pair.young_directories


def _advice(pair: Questions, *, locked: bool, acls: bool) -> tuple[Advice, ...]:
    """What spares them: timeouts do not where opens ask.

    Args:
        pair: The questions.
        locked: The client works with locks.
        acls: It fetches ACLs one by one meanwhile: a walk lasts longer than attributes live.
    """
    if _doubted(pair):
        return (_LOCK_LESS if locked else _CHANGE_LESS, _KEEP, _DELEGATIONS)
    if _from_walks(pair):
        return (_WALK_LESS, *_dated(pair), _NOCTO)
    if _from_listings(pair):
        return (_POLL_LESS, *_dated(pair), _NOCTO)
    if _from_readers(pair):
        some = _expired(pair) >= SOME * pair.unchanged.calls
        # Who had a file read already had opened it once more.
        opens = _about_files(pair) + pair.read_before
        again = (_READ_LESS,) if opens >= AGAIN * pair.files else ()
        return (_NOCTO_LONGER if some else _NOCTO, *again, _DELEGATIONS)
    if _from_opens(pair):
        return (_KEEP_OPEN, _NOCTO, _DELEGATIONS)
    # Neither spares what is never opened: a walk that asks for files by name.
    nocto = (_NOCTO,) if _opened(pair) >= SOME * pair.unchanged.calls else ()
    opened = _of_files(pair) >= SOME * pair.unchanged.calls
    first = (_WITHOUT_ACLS,) if acls else ()
    if _from_either(pair):
        return (*first, _NOCTO_LONGER, _DELEGATIONS)
    return (*first, _LONGER, *nocto, *((_DELEGATIONS,) if opened else ()))


def _dated(pair: Questions) -> tuple[Advice, ...]:
    """What spares questions for access times of directories, where they are some of them."""
    return (_NOATIME,) if pair.listed >= SOME * pair.unchanged.calls else ()


_WITHOUT_ACLS = Advice(
    "Spare the calls for ACLs before all else: where nobody uses these, mount with noacl (another "
    "finding tells more). They make a walk through a tree last longer than the attributes live "
    "that its listings brought, so that these are asked for one by one; without them both kinds "
    f"may go. {CHANGE}",
    acl_storm.NOACL_RISK,
)

_LONGER = Advice(
    "If these files change only through this client, or seldom, keep attributes for longer: "
    f"actimeo=60 or more. {CHANGE}",
    "what other clients change is seen that much later.",
)

_KEEP_OPEN = Advice(
    "In the program: keep files open instead of opening them each time (logs that are appended to "
    "line by line, files that are polled, modules that each of many processes loads). Timeouts "
    "longer than the default (actimeo) do not help: an open asks whatever they are; those of 0 to "
    "2 s (actimeo, acregmin, acdirmin), if nfsstat -m shows them, send the same calls."
)

_WALK_LESS = Advice(
    "Who walks through a tree (find, ls -R, du, rsync, backup) opens each directory, and each open "
    "asks once: walk it less often, by several processes at once, or on the server. Only "
    "acdirmin=0 (noac, actimeo=0) asks as often, if nfsstat -m shows it for one of the mounts."
)

_POLL_LESS = Advice(
    "A program opens the same directories again and again, and each open asks (it looks for new "
    "files, or lists them anew each time): have it look less often, or keep what it read. Only "
    "acdirmin=0 (noac, actimeo=0) asks as often, if nfsstat -m shows it for one of the mounts."
)

_NOATIME = Advice(
    "Mount with noatime, or nodiratime, on the client (mount -o remount,noatime, or in fstab): who "
    "calls stat() for a directory that was listed then gets the access time that it knows.",
    "programs that go by access times (cleaners of old files) see older ones.",
)

_LOCK_LESS = Advice(
    "See which files these are (pcapnfs cache), and what is done to them between: take one lock "
    "for a whole piece of work, and leave a file that is written to alone meanwhile."
)

_CHANGE_LESS = Advice(
    "See which files these are (pcapnfs cache), and what is done to them between: leave a file "
    "that is written to alone meanwhile."
)

_KEEP = Advice(
    "If nfsstat -m shows noac, actimeo=0 or acregmin=0, mount without, so that attributes are kept "
    "for 3 to 60 s: unmount first, since a remount leaves them as they are.",
    "what other clients change is seen up to 60 s later, but files are still checked at open.",
)

_NOCTO = Advice(
    "For a tree that is only read (tools, libraries), mount it with nocto as well, so that opens "
    "do not ask.",
    "a file that another client replaces may be read in its old form until its attributes expire.",
)

_NOCTO_LONGER = Advice(
    "For a tree that is only read (sources, tools, libraries, what is backed up), mount it with "
    "nocto, so that opens do not ask, and with actimeo=600 as well, so that nothing expires "
    f"between one program and the next: either alone leaves what the other spares. {CHANGE}",
    "what other clients change is seen up to 10 minutes later, and a file that they replace may be "
    "read in its old form until then.",
)

_READ_LESS = Advice(
    "In the program: each of these files was opened a few times, by one program after the other. "
    "Have one of them do the work of several (checksum and archive in one pass), or run them on "
    "the server."
)

_DELEGATIONS = Advice(
    "With NFSv4, let the server grant delegations: a file that has one is not asked for."
)


RULE = Rule(
    id="getattr_storm",
    title="Most calls ask for attributes that have not changed",
    origin="practice: GETATTR storms (nfsstat, nfsiostat)",
    judge=judge,
    thresholds=(SHARE, UNCHANGED, LEAST),
    topic=TOPIC,
)
