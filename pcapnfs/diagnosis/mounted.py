"""What several rules on mount options share: the verdicts of a mount beside what it asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Claim, Confidence, Observed
from pcapnfs.diagnosis.severity import by_cost

if TYPE_CHECKING:
    from pcapnfs.analyses.mount_options import Mount, Verdict
    from pcapnfs.analyses.questions import Questions
    from pcapnfs.analyses.transfer_runs import Runs, TransferRuns
    from pcapnfs.diagnosis.material import Material

UNCACHED = (("noac", "actimeo=0"), ("noac", "actimeo=0,sync"))
"""Options of verdicts that say that nothing is cached at all."""

CHECK = "`nfsstat -m` on the client shows the options in force."

TOPIC = "attribute cache"
"""What the rules on it have in common: one client asks too much for one reason."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict on a mount, with what was asked on it."""

    mount: Mount
    verdict: Verdict
    questions: Questions

    @property
    def confidence(self) -> Confidence:
        """How sure the verdict is."""
        return "likely" if self.verdict.confidence == "likely" else "possible"

    @property
    def about(self) -> tuple[str, str]:
        """Client and server."""
        return self.mount.client, self.mount.server

    @property
    def data(self) -> str:
        """How much there was to judge by."""
        return (
            f"{units.count(self.questions.calls)} calls; {units.count(self.mount.moves)} moves "
            f"from one child of a directory to the next; {units.count(self.mount.visits)} visits "
            "of files"
        )


def judged(material: Material, wanted: Callable[[tuple[str, ...]], bool]) -> Iterator[Judged]:
    """The verdicts whose options are wanted, of mounts that asked for attributes."""
    asked = {(each.client, each.server): each for each in material.questions}
    for mount in material.cache.mounts:
        questions = asked.get((mount.client, mount.server))
        for verdict in mount.verdicts:
            if questions is not None and wanted(verdict.options):
                yield Judged(mount, verdict, questions)


def is_attribute_cache(options: tuple[str, ...]) -> bool:
    """Whether a verdict is about how long attributes are kept."""
    return any("noac" in option or option.startswith("ac") for option in options)


def is_written_through(options: tuple[str, ...]) -> bool:
    """Whether a verdict says that nothing is cached, and data is written through as well."""
    return options == ("noac", "actimeo=0,sync")


def small_transfers(
    material: Material,
    option: str,
    runs_of: Callable[[TransferRuns], Runs],
    claims_of: Callable[[Runs], tuple[Claim, ...]],
) -> Iterator[Observed]:
    """What there is to say of rsize or wsize.

    Args:
        material: What the rules judge by.
        option: `rsize` or `wsize`.
        runs_of: The transfers that it limits.
        claims_of: What those cost that could be left out.
    """
    moved = {(pair.client, pair.server): runs_of(pair) for pair in material.transfer_runs}
    what = "READ" if option == "rsize" else "WRITE"
    for mount in material.cache.mounts:
        runs = moved.get((mount.client, mount.server))
        for verdict in mount.verdicts:
            name, _, value = verdict.options[0].partition("=")
            if name != option or runs is None:
                continue
            size = units.size(int(value))
            claims = claims_of(runs)
            sure = verdict.confidence == "likely"
            yield Observed(
                severity=by_cost(material, claims, sure=sure),
                title=f"{what}s move no more than {size} each: {option}={value}",
                seen=f"In this capture, {verdict.evidence}. {_fewer(what, runs)}",
                why="Each call has its own round trip and its own work on both sides; a file that "
                "is cut into small pieces needs many of them.",
                advice=(
                    Advice(
                        f"Mount without {option}: client and server then agree on the largest size "
                        f"that both can do, 1 MiB on Linux. {CHECK}"
                    ),
                    Advice(
                        "If the option is not there, the client has a limit of its own (UDP, an "
                        "old kernel), or the server allows no more: its FSINFO, or maxread and "
                        "maxwrite of NFSv4, say so when it is mounted."
                    ),
                ),
                confidence="likely" if sure else "possible",
                data=f"{units.count(runs.calls)} {what}s, {units.count(runs.in_runs)} of them in "
                "runs",
                frames=runs.merged.frames or verdict.frames,
                claims=claims if runs.allowed_bytes else (),
                about=(mount.client, mount.server),
            )


def _fewer(what: str, runs: Runs) -> str:
    if not runs.calls:
        return f"There was no {what} in it."
    if runs.allowed_bytes is None:
        return "Mount while capturing to see what the server allows."
    if not runs.merged.calls:
        return f"Nothing here would have needed fewer {what}s."
    return (
        f"Pieces of {units.size(runs.allowed_bytes)} would have spared "
        f"{units.count(runs.merged.calls)} of {units.count(runs.calls)} {what}s."
    )


def longer(option: str) -> Advice:
    """The advice to keep attributes for as long as by default."""
    return Advice(
        f"Mount without {option}, so that attributes are kept for 3 to 60 s (files) and 30 to "
        f"60 s (directories). {CHECK}",
        "what other clients change is seen up to 60 s later, but files are still checked at open; "
        "programs that share files without locks may need the option.",
    )
