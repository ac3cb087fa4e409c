"""Owner, mode and times of new files are set with a call each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
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

_WHERE_THE_DISKS_ARE = Advice(
    "If they must be kept, unpack or copy where the disks are (tar or rsync over ssh, on the "
    "server), or keep many small files as one archive or image."
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them, unless they cost next to nothing."""
    for pair in material.attribute_calls:
        if pair.calls.calls < values[LEAST.name]:
            continue
        claims = left_out(pair.calls, row="stable")
        severity = by_cost(material, claims, sure=False)
        if severity == "note":
            continue
        yield Observed(
            severity=severity,
            at_most="warning",
            title="Attributes of new files are set one by one",
            seen=_seen(pair),
            why="A program that unpacks or copies sets the times, the owner and the mode of each "
            "file with a system call of its own. Each of these is a SETATTR, which waits for "
            "stable storage as the create did.",
            advice=(_leave(pair), _WHERE_THE_DISKS_ARE),
            calls=pair.calls.calls,
            confidence="certain",
            data=units.counted(pair.calls.calls, "SETATTR"),
            frames=pair.calls.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _seen(pair: AttributeCalls) -> str:
    told = [f"{kind.name} in {units.count(kind.calls(pair))}" for kind in _set_by(pair)]
    return (
        f"{units.counted(pair.calls.calls, 'SETATTR')} on {units.count(pair.files)} of "
        f"{units.counted(pair.made, 'new file')}, beside what their creates need: "
        f"{pair.calls.calls / pair.files:.1f} for each, "
        f"{units.duration(pair.calls.time_s / pair.calls.calls)} each"
        f"{f' (they set {wording.listed(told, len(told))})' if told else ''}."
    )


def _leave(pair: AttributeCalls) -> Advice:
    """The options without which a program sets what is set here; all, where that is not known."""
    kinds = _set_by(pair) or list(_KINDS)

    def listed(*values: str) -> str:
        return wording.listed(values, len(values))

    by_default = any(kind.tar.startswith("--no-same") for kind in kinds)
    return Advice(
        f"If what they set ({listed(*(kind.name for kind in kinds))}) need not be kept, have the "
        f"program leave it: tar -x with {listed(*(kind.tar for kind in kinds))}"
        f"{' (root sets owners and permissions unless told not to)' if by_default else ''}, "
        f"cp without -p and -a, rsync -a with {' '.join(kind.rsync for kind in kinds)}.",
        f"files then have {listed(*(kind.then for kind in kinds))}.",
    )


def _set_by(pair: AttributeCalls) -> list[_Kind]:
    """What is known to be set."""
    return [kind for kind in _KINDS if kind.calls(pair)]


RULE = Rule(
    id="attributes_apart",
    title="Owner, mode and times of new files, set with a call each",
    origin="practice: tar -x and cp -a over NFS; RFC 1813 section 3.3.2, RFC 8881 section 18.30",
    judge=judge,
    thresholds=(LEAST,),
)
