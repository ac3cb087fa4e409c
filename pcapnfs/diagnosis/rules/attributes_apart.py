"""Owner, mode and times of new files are set with a call each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.rules.journal_files import KEEP_JOURNAL
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.namespace.attribute_calls import AttributeCalls
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "attributes_apart.least", 30, "calls", "such SETATTRs, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


class _Kind(NamedTuple):
    """One of the things that are set, and what leaves it."""

    name: str
    calls: Callable[[AttributeCalls], int]
    """How many SETATTRs set it."""
    tar: str
    """The option of tar -x that leaves it."""
    rsync: str
    """Those of rsync that take it from -a."""
    then: str
    """What files have without."""


_KINDS = (
    _Kind(
        "times",
        lambda pair: pair.times,
        "-m",
        "--no-t",
        "the time of this run (what goes by times, like make, backups or the next rsync, takes "
        "them for changed)",
    ),
    _Kind(
        "owner or group",
        lambda pair: pair.owners,
        "--no-same-owner",
        "--no-o --no-g",
        "the owner and group of who makes them",
    ),
    _Kind("mode", lambda pair: pair.modes, "--no-same-permissions", "--no-p", "modes by umask"),
)

MOSTLY = 0.9
"""Share of the SETATTRs on journals from which on SQLite is told as the reason."""

AGAIN = 0.5
"""Names, by files on which attributes were set, up to which the same files are made again and
again: what unpacks or copies makes each name once."""

AGAIN_NAMES = 10
"""And no more names than these: an archive that is unpacked several times has more."""

OVER_AND_OVER = 10
"""SETATTRs for each file from which on it is no unpacking or copying: that sets times, owner and
mode once each, perhaps twice, and ACLs with them."""

_WHERE_THE_DISKS_ARE = Advice(
    "If they must be kept, unpack or copy where the disks are (tar or rsync over ssh, on the "
    "server), or keep many small files as one archive or image."
)

_LESS_OFTEN = Advice(
    "These files are made again and again: have the program do so less often, or change a file "
    "where it is, which then keeps its attributes."
)

_JOURNALS = (
    Advice(
        "Put many changes into one transaction (BEGIN … COMMIT): each one by itself begins and "
        "ends a journal, and stores it and the database.",
        "what was not committed is lost when the program fails.",
    ),
    KEEP_JOURNAL,
)

_AS_OWNER = Advice(
    "Run the program as the user who owns the database, and not as root: as root alone SQLite sets "
    "the owner of its journals."
)


_ONLY_CHANGES = Advice(
    "Find out which program sets them (pcapnfs sequence shows when; on the client, "
    "strace -f -e trace=chmod,fchmod,fchmodat,chown,utimensat), and have it set what is not set "
    "yet, once for each file."
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them, unless they cost next to nothing."""
    for pair in material.attribute_calls:
        if pair.calls.calls < values[LEAST.name]:
            continue
        claims = left_out(pair.calls, row="stable")
        severity = by_cost(material, claims, sure=False, clients=(pair.client,))
        if severity == "note":
            continue
        yield Observed(
            severity=severity,
            at_most="warning",
            title=_title(pair),
            seen=_seen(pair),
            why=_why(pair),
            advice=_advice(pair),
            calls=pair.calls.calls,
            confidence="certain",
            data=units.counted(pair.calls.calls, "SETATTR"),
            frames=pair.calls.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


_WHY = (
    "A program that unpacks or copies, or makes a file anew to change it, sets the times, the "
    "owner and the mode of each file with a system call of its own. Each of these is a SETATTR, "
    "which waits for stable storage as the create did."
)

_WHY_JOURNALS = (
    "SQLite opens a journal for each transaction, and sets its owner or mode to those of the "
    "database. Each of these is a SETATTR, which waits for stable storage, as do the create of the "
    "journal, its data and its removal."
)


_WHY_OVER_AND_OVER = (
    "What unpacks or copies sets times, owner and mode of a file once each. These files are given "
    "theirs again and again. Each of these is a SETATTR, which waits for stable storage as the "
    "create did."
)


def _title(pair: AttributeCalls) -> str:
    if _journals(pair):
        return "Attributes of SQLite's journals are set one by one"
    if _over_and_over(pair):
        return "Attributes of the same files are set again and again"
    return "Attributes of new files are set one by one"


def _why(pair: AttributeCalls) -> str:
    if _journals(pair):
        return _WHY_JOURNALS
    return _WHY_OVER_AND_OVER if _over_and_over(pair) else _WHY


def _over_and_over(pair: AttributeCalls) -> bool:
    """Whether each file is given attributes far more often than what makes it would."""
    return pair.calls.calls >= OVER_AND_OVER * pair.files


def _journals(pair: AttributeCalls) -> bool:
    """Whether nearly all are on journals of SQLite."""
    return pair.journals >= MOSTLY * pair.calls.calls


def _again(pair: AttributeCalls) -> bool:
    """Whether the same names are made again and again."""
    return pair.files > 1 and pair.names <= min(AGAIN * pair.files, AGAIN_NAMES)


def _advice(pair: AttributeCalls) -> tuple[Advice, ...]:
    if _journals(pair):
        return (_AS_OWNER, *_JOURNALS) if pair.owners else _JOURNALS
    if _over_and_over(pair):
        return (_ONLY_CHANGES,)
    return (
        (_LESS_OFTEN, _leave_again(pair)) if _again(pair) else (_leave(pair), _WHERE_THE_DISKS_ARE)
    )


def _seen(pair: AttributeCalls) -> str:
    told = [f"{kind.name} in {units.count(kind.calls(pair))}" for kind in _set_by(pair)]
    return (
        f"{units.counted(pair.calls.calls, 'SETATTR')} on {units.count(pair.files)} of "
        f"{units.counted(pair.made, 'new file')}, beside what their creates need: "
        f"{pair.calls.calls / pair.files:.1f} for each, "
        f"{units.duration(pair.calls.time_s / pair.calls.calls)} each"
        f"{f' (they set {wording.listed(told, len(told))})' if told else ''}.{_whose(pair)}"
    )


def _whose(pair: AttributeCalls) -> str:
    """What the names of the files tell."""
    most = "" if pair.most is None else f" ({wording.places((pair.most,))})"
    if _journals(pair):
        return f" The names are those of SQLite's journals{most}."
    if _again(pair):
        return f" These files had {units.counted(pair.names, 'name')}{most}."
    return ""


def _leave(pair: AttributeCalls) -> Advice:
    """The options without which a program sets what is set here; all, where that is not known."""
    kinds = _set_by(pair) or list(_KINDS)

    def listed(*values: str) -> str:
        return wording.listed(values, len(values))

    by_default = any(kind.tar.startswith("--no-same") for kind in kinds)
    unzip = ", unzip with -DD (times alone)" if any(kind.name == "times" for kind in kinds) else ""
    return Advice(
        f"If what they set ({_names(kinds)}) need not be kept, have the "
        f"program leave it: tar -x with {listed(*(kind.tar for kind in kinds))}"
        f"{' (root sets owners and permissions unless told not to)' if by_default else ''}{unzip}, "
        f"cp without -p and -a, rsync -a with {' '.join(kind.rsync for kind in kinds)}; others "
        "have settings of their own.",
        _without(kinds),
    )


def _leave_again(pair: AttributeCalls) -> Advice:
    """The same where no archive is unpacked, and no tree copied."""
    kinds = _set_by(pair) or list(_KINDS)
    return Advice(
        f"If what they set ({_names(kinds)}) need not be kept, have the program leave it: what a "
        "shell writes with > has none of it (gzip -c FILE > FILE.gz in place of gzip FILE, cat in "
        "place of cp -p).",
        _without(kinds),
    )


def _names(kinds: list[_Kind]) -> str:
    return wording.listed([kind.name for kind in kinds], len(kinds))


def _without(kinds: list[_Kind]) -> str:
    """What files have where these are left."""
    return f"files then have {wording.listed([kind.then for kind in kinds], len(kinds))}."


def _set_by(pair: AttributeCalls) -> list[_Kind]:
    """What is known to be set."""
    return [kind for kind in _KINDS if kind.calls(pair)]


RULE = Rule(
    id="attributes_apart",
    title="Owner, mode and times of new files, set with a call each",
    origin="practice: tar -x and cp -a over NFS, SQLite as root; RFC 1813 section 3.3.2, RFC 8881 "
    "section 18.30",
    judge=judge,
    thresholds=(LEAST,),
)
