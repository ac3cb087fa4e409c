"""What several rules on mount options share: the verdicts of a mount beside what it asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.caching.spared import NONE
from pcapnfs.analyses.mounts.mount_options import NO_NAMES
from pcapnfs.confidence import Confidence
from pcapnfs.diagnosis.finding import Advice
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.caching.questions import Questions
    from pcapnfs.analyses.caching.spared import Spared
    from pcapnfs.analyses.mounts.mount_options import Mount
    from pcapnfs.analyses.mounts.mount_verdict import MountVerdict
    from pcapnfs.diagnosis.material import Material

UNCACHED = ("noac", "actimeo=0")
"""The options of a verdict that says that no attributes are kept."""

CHECK = "On the client, nfsstat -m shows the options in force."

CHANGE = f"{CHECK[:-1]}; a remount leaves them as they are: unmount first."
"""Of options of NFS alone; generic ones, as sync, a remount changes (nfs(5))."""

TOPIC = "attribute cache"
"""What the rules on it have in common: one client asks too much for one reason."""


class Judged(Record):
    """A verdict on a mount, with what was asked on it."""

    mount: Mount
    verdict: MountVerdict
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
    def part(self) -> str | None:
        """The file systems that it is about, where their mount is told from others."""
        return self.mount.part

    @property
    def data(self) -> str:
        """How much there was to judge by."""
        return (
            f"{units.counted(self.questions.calls, 'call')}; "
            f"{units.counted(self.mount.moves, 'move')} from one child of a directory to the next; "
            f"{units.counted(self.mount.visits, 'visit')} of files"
        )


def judged(material: Material, wanted: Callable[[tuple[str, ...]], bool]) -> Iterator[Judged]:
    """The verdicts whose options are wanted, of mounts that asked for attributes."""
    asked = {(each.client, each.server, each.part): each for each in material.questions}
    for mount in material.cache.mounts:
        questions = asked.get((mount.client, mount.server, mount.part))
        for verdict in mount.verdicts:
            if questions is not None and wanted(verdict.options):
                yield Judged(mount, verdict, questions)


def asked_again(material: Material, questions: Questions) -> Spared:
    """What a client asked again though its timeouts, doubled by default, had not run out."""
    for each in material.asked_again:
        if (each.client, each.server, each.part) == (
            questions.client,
            questions.server,
            questions.part,
        ):
            return each.asked
    return NONE


def of_part(part: str | None) -> str:
    """What a finding on one of several mounts begins with; not escaped."""
    if part is None:
        return ""
    return f"Of several mounts with different options, this is about {part}. "


def is_attribute_cache(options: tuple[str, ...]) -> bool:
    """Whether a verdict is about how long attributes are kept."""
    return any("noac" in option or option.startswith("ac") for option in options)


def is_timeout(options: tuple[str, ...]) -> bool:
    """Whether a verdict says that attributes are kept for some seconds."""
    name, _, value = options[0].partition("=")
    return name == "actimeo" and value.isdigit() and value != "0"


def seconds(options: tuple[str, ...]) -> int:
    """The longest of the timeouts of such a verdict."""
    return max(int(option.partition("=")[2]) for option in options)


def is_written_through(options: tuple[str, ...]) -> bool:
    """Whether a verdict says that nothing is cached, and data is written through as well."""
    return options[:2] == ("noac", "actimeo=0,sync")


def longer(option: str) -> Advice:
    """The advice to keep attributes for as long as by default."""
    return Advice(
        f"Mount without {option}, so that attributes are kept for 3 to 60 s (files) and 30 to "
        f"60 s (directories). {CHANGE}",
        "what other clients change is seen up to 60 s later, but files are still checked at open; "
        "programs that share files without locks may need the option.",
    )


def without_names(material: Material) -> set[tuple[str, str]]:
    """Clients and servers with a mount on which the client seems to keep no names at all."""
    return {
        (mount.client, mount.server)
        for mount in material.cache.mounts
        for verdict in mount.verdicts
        if verdict.options == NO_NAMES
    }
