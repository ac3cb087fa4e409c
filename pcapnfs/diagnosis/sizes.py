"""What the rules on rsize and wsize share: transfers in smaller pieces than need be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.mounts.mount_sizes import EAGER
from pcapnfs.diagnosis.finding import Advice, Claim, Observed
from pcapnfs.diagnosis.mounted import CHANGE, CHECK, of_part
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.systems import is_linux
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from pcapnfs.analyses.data.transfer_runs import Runs, TransferRuns
    from pcapnfs.analyses.mounts.mount_options import Mount
    from pcapnfs.analyses.mounts.mount_verdict import MountVerdict
    from pcapnfs.diagnosis.material import Material


class Transfers(Record):
    """READs or WRITEs, and how to judge them."""

    option: str
    """The mount option that limits them: `rsize` or `wsize`."""
    what: str
    """Their operation."""
    runs_of: Callable[[TransferRuns], Runs]
    """Those of a client and a server."""
    claims_of: Callable[[Runs], tuple[Claim, ...]]
    """What those cost that could be left out."""

    @property
    def limit(self) -> Threshold:
        """Below which size the server's own limit is told."""
        return Threshold(
            f"small_{self.option}.server_limit",
            65536,
            "bytes",
            f"what the server allows a {self.what}, below which that is told",
            "default of this tool",
        )

    @property
    def least(self) -> Threshold:
        """How many calls in runs are enough to tell it."""
        return Threshold(
            f"small_{self.option}.least",
            20,
            "calls",
            f"{self.what}s that continue one another, below which nothing is reported of the "
            "server's limit",
            "default of this tool",
        )

    def judge(self, material: Material, values: Values) -> Iterator[Observed]:
        """One for each client and server with small ones."""
        mounts = {
            (mount.client, mount.server, mount.part): mount for mount in material.cache.mounts
        }
        for pair in material.transfer_runs:
            about = pair.client, pair.server
            runs = self.runs_of(pair)
            verdict = self._verdict(mounts.get((*about, pair.part)))
            if verdict is not None:
                seen = self._by_client(material, about, runs, verdict)
                yield replace(seen, seen=f"{of_part(pair.part)}{seen.seen}", part=pair.part)
            elif pair.withheld and runs.in_runs >= values[self.least.name]:
                yield self._untold(about, runs)
            elif (
                runs.allowed_bytes is not None
                and runs.allowed_bytes < values[self.limit.name]
                and runs.largest_bytes >= runs.allowed_bytes
                and runs.in_runs >= values[self.least.name]
            ):
                yield self._by_server(material, about, runs, runs.allowed_bytes)

    def _verdict(self, mount: Mount | None) -> MountVerdict | None:
        """What the mount's traffic says of the option."""
        for verdict in mount.verdicts if mount is not None else ():
            if verdict.options[0].startswith(f"{self.option}="):
                return verdict
        return None

    def _by_client(
        self, material: Material, about: tuple[str, str], runs: Runs, verdict: MountVerdict
    ) -> Observed:
        sure = verdict.confidence == "likely"
        claims = self.claims_of(runs) if runs.allowed_bytes is not None else ()
        return Observed(
            severity=by_cost(material, claims, sure=sure),
            at_most="problem" if sure else "warning",
            title=f"Small {self.what}s: {verdict.title}",
            seen=f"In this capture, {verdict.evidence}. {self._fewer(runs)}",
            why=self._why(runs),
            advice=(
                Advice(
                    f"Mount without {self.option}: client and server then agree on the largest "
                    f"size that both can do, 1 MiB on Linux. {CHANGE}"
                ),
                *((_LAZY,) if EAGER in verdict.options else ()),
                Advice(
                    "If no such option is there, the client has a limit of its own (UDP, an old "
                    "kernel)"
                    + (
                        ", or the server allows no more: its FSINFO, or maxread and maxwrite of "
                        "NFSv4, say so when it is mounted."
                        if runs.allowed_bytes is None
                        else "."
                    )
                    + (
                        ""
                        if is_linux(material, about[0])
                        else _OWN.get(runs.largest_bytes, "").format(option=self.option)
                    )
                ),
            ),
            confidence="likely" if sure else "possible",
            calls=runs.merged.calls,
            data=_data(self.what, runs),
            frames=runs.merged.frames or verdict.frames,
            claims=claims,
            about=about,
        )

    def _by_server(
        self, material: Material, about: tuple[str, str], runs: Runs, allowed: int
    ) -> Observed:
        claims = self.claims_of(runs)
        return Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title=f"Small {self.what}s: the server allows no more than {units.size(allowed)}",
            seen=f"The server told the client that a {self.what} may have "
            f"{units.size(allowed)} at most, and {units.count(runs.in_runs)} of "
            f"{units.counted(runs.calls, self.what)} continued one another. {self._fewer(runs)}",
            why=self._why(runs),
            advice=(
                Advice(
                    "Raise the server's largest transfer size (Linux: "
                    "/proc/fs/nfsd/max_block_size, before nfsd starts; file servers have a setting "
                    "of the export or the protocol), and mount again."
                ),
            ),
            confidence="certain",
            calls=runs.merged.calls,
            data=_data(self.what, runs),
            frames=runs.merged.frames,
            claims=claims,
            about=about,
        )

    def _why(self, runs: Runs) -> str:
        commit = " If a file does not fit one WRITE, a COMMIT comes on top."
        why = _WHY_AHEAD if _mostly_ahead(runs) else _WHY
        return why + (commit if self.what == "WRITE" else "")

    def _untold(self, about: tuple[str, str], runs: Runs) -> Observed:
        return Observed(
            severity="warning",
            title=f"Small {self.what}s: the server does not say what it allows",
            seen=f"The client asked for what the server supports and was told neither maxread nor "
            f"maxwrite. No {self.what} had more than {units.size(runs.largest_bytes)}, and "
            f"{units.count(runs.in_runs)} of {units.counted(runs.calls, self.what)} continued one "
            "another.",
            why="These attributes of NFSv4 may be left out (RFC 8881 section 5.8.2). A Linux "
            "client then moves 1 KiB in a call, and lists directories in as small pieces, whatever "
            f"{self.option} the mount asks for. {self._why(runs)}",
            advice=(
                Advice(
                    "Ask the maker of the server for the attributes maxread and maxwrite: no mount "
                    f"option helps. {CHECK}"
                ),
                Advice("Mount with NFSv3, if the server has it: there FSINFO says what it allows."),
            ),
            confidence="likely",
            data=_data(self.what, runs),
            frames=runs.merged.frames,
            about=about,
        )

    def _fewer(self, runs: Runs) -> str:
        """How many could be left out."""
        if not runs.calls:
            return f"There was no {self.what} in it."
        if runs.allowed_bytes is None:
            return "Mount while capturing to see what the server allows."
        if not runs.merged.calls:
            return f"Nothing here would have needed fewer {self.what}s."
        size = "1 MiB"
        if runs.allowed_bytes > runs.largest_bytes:
            size = units.size(runs.allowed_bytes)
        return (
            f"Pieces of {size} would have spared {units.count(runs.merged.calls)} of "
            f"{units.counted(runs.calls, self.what)}.{self._ahead(runs)}"
        )

    def _ahead(self, runs: Runs) -> str:
        """What of their time counts, where that is not all."""
        if not runs.ahead:
            return ""
        which = "All" if runs.ahead == runs.calls else f"{units.count(runs.ahead)} of them"
        return (
            f" {which} were sent while others of their file were under way: of these, only the "
            "server's work for each call counts as cost."
        )


_LAZY = Advice(
    "If the mount has write=eager, the pieces are what programs write: mount without it, so that "
    "the client gathers them, or let programs write larger ones.",
    "what was written is sent when the file is closed or synced, or some seconds later, and not at "
    "once.",
)

_OWN = {
    32 << 10: " macOS takes 32 KiB by itself: mount with {option}=1048576 there.",
    64 << 10: " FreeBSD takes 64 KiB by itself: set vfs.maxbcachebuf=1048576 in "
    "/boot/loader.conf there.",
}
"""Clients that take such sizes without being told so."""

_WHY = (
    "Each call has its own round trip and its own work on both sides; a file that is cut into "
    "small pieces needs many of them."
)


_WHY_AHEAD = (
    "Each call has its own work on both sides. But most did not wait for the one before, so that "
    "their round trips overlapped: larger pieces save none of these where as many bytes are under "
    "way, and more than is told here where more are."
)


def _mostly_ahead(runs: Runs) -> bool:
    """Whether half of those that continue one another, or more, did not wait for one another."""
    return runs.ahead > 0 and 2 * runs.ahead >= runs.in_runs


def _data(what: str, runs: Runs) -> str:
    return f"{units.counted(runs.calls, what)}, {units.count(runs.in_runs)} of them in runs"
