"""What changed from one trace to another, and what explains it: the way in.

Takes two traces, or what `gather` made of them; gives a `Comparison`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.asking import order
from pcapnfs.analyses.captured.trust import Trust
from pcapnfs.analyses.forecasts.verdict_evidence import MOUNTING_S
from pcapnfs.analyses.mounts.first_use import MountIdle
from pcapnfs.comparison import side as _side
from pcapnfs.comparison.borne_out import borne_out
from pcapnfs.comparison.callers import pairs
from pcapnfs.comparison.cause import Cause
from pcapnfs.comparison.causes import causes
from pcapnfs.comparison.changed_protocol import left_open
from pcapnfs.comparison.clients import ClientChange, client_changes, likeness, together
from pcapnfs.comparison.each import each
from pcapnfs.comparison.exports import ExportChange, export_changes
from pcapnfs.comparison.foretold import Foretold, foretold
from pcapnfs.comparison.gaps import broken_off, clear_from, known
from pcapnfs.comparison.matching import (
    FileChanges,
    FindingChange,
    PatternChanges,
    file_changes,
    finding_changes,
    in_common,
    looked_at,
    pattern_changes,
)
from pcapnfs.comparison.operations import OperationChange, operation_changes
from pcapnfs.comparison.side import Side, gather
from pcapnfs.comparison.waterfall import Step, comparable, waterfall
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.diagnosis.thresholds import Values
    from pcapnfs.trace import Trace

READS = _side.READS
"""The columns that a comparison reads of each trace."""


class Run(Record):
    """One side in short."""

    captures: tuple[str, ...]
    """Its captures, as they were named."""
    start: str | None
    """When the first packet was captured, ISO 8601 in UTC; None where no packet has a time."""
    run_s: float
    """From the first call to the last reply that can be seen, without `mount_idle`, seconds; see
    `known`."""
    known: bool
    """`run_s` is how long the run took. Not where no call has its reply, most of the traffic is
    under TLS or of one direction, or packets have no times."""
    files: int | None
    """Files that the model counts; None when it knows of none, but there are calls that do not
    tell."""
    clients: int
    """Clients that called NFS; those that are told as one, beyond as many as are told apart, are
    not counted."""
    calls: int
    """Calls of NFS and NFSACL."""
    only_null: bool
    """They are NULL alone, which asks whether anybody is there: no run, however long it took."""
    stable_calls: int | None
    """Stable ones; None when none is known to be, but of most calls it is not known."""
    servers: tuple[str, ...]
    """Addresses of servers that were called, those of most calls first; up to five."""
    vantage: str
    """Where it was captured: `client`, `server`, `between` or `unknown`."""
    trust: Trust
    """What was matched and decoded, and what was not: what is counted on this side may be too
    little by that."""
    rtt_source: str
    """What the round trip rests on: see `inputs[].source` of `estimate`."""
    mounting_s: float
    """For how long calls that mount and unmount were outstanding, added up, seconds; not in
    `run_s`."""
    refused: bool = False
    """The calls are those of a mount that came to nothing: no run, either."""
    away_s: float = 0.0
    """What of `run_s` are pauses of 30 s or more of the only client, in which it is not known to
    have waited for anything, seconds: in no forecast."""
    mount_idle: MountIdle = MountIdle()
    """What lies between mount and first use, and last use and unmount."""

    @property
    def of_files(self) -> bool:
        """Whether any call was for files."""
        return self.calls > 0 and not self.only_null and not self.refused


class Comparison(Record):
    """What changed."""

    before: Run
    """The run before."""
    after: Run
    """The run after."""
    change_s: float
    """How much longer the run after took, seconds; negative: shorter. It says nothing where either
    run time is not known (`known`)."""
    factor: float | None
    """Run time after by run time before; None when that was 0, when either is not known, or where
    they are of other clients (`same_clients`)."""
    same_clients: bool
    """Nearly all calls, and nearly all of the time that was waited for them, are of clients of
    both sides (19 in 20), or each side has one client. Where not, run times say nothing of what
    changed."""
    as_one: bool
    """One client makes nearly all of both sides, likewise. Where not, steps and forecasts of all
    clients taken as one would tell of none of them, and those of each stand in `clients`."""
    clients: tuple[ClientChange, ...]
    """What changed for each client, those of both sides first, who waited longest first; empty
    where either run time is not known. Of thousands on a side, the thousand that waited longest,
    without those that are on the other side but not among its thousand."""
    together: ClientChange | None
    """The clients of both sides, their runs added up; None with fewer than two of them."""
    in_common: float | None
    """What both did, 0…1: the part of the service time that is of paths of both sides, or of the
    files whose pattern is on both, on the side of which it is more; whichever of the two is more.
    Close to 0, the runs were of different work. None where a side has no files, or no version of
    NFS that the other has, or where one was cut or sealed that could be read on the other: a tenth
    of the messages or more."""
    by_file: bool
    """Both sides count files of one kind, and calls go with them; else what steps say for each file
    is for the whole run."""
    causes: tuple[Cause, ...]
    """What must have been changed, from protocol to storage; what the length of the runs alone may
    explain stands last."""
    left_open: tuple[str, ...]
    """Subjects of causes, of `version`, `transport` and `security`, that one of the sides does not
    tell: nine in ten of its calls do not have one in common, or were cut before it."""
    steps: tuple[Step, ...]
    """What the difference is made of; the steps add up to `change_s`. Empty where what the captures
    lack could make all of it (`clear_from` is 1), and of several clients (`as_one`)."""
    clear_from: float
    """Part of the longer run time from which on a step may be clear: a twentieth, or more where
    what the captures lack could make as much."""
    foretold: tuple[Foretold, ...]
    """What BEFORE would have foretold of AFTER; empty where there is no model of both, where what
    the captures lack could make all of the difference (`clear_from` is 1), and of several clients
    (`as_one`)."""
    operations: tuple[OperationChange, ...]
    """Operations, the largest difference of time first."""
    exports: tuple[ExportChange, ...]
    """Exports, the largest difference of time first; empty where a side does not show several of a
    server."""
    files: FileChanges
    """Files matched by path."""
    patterns: PatternChanges
    """Patterns that came and went."""
    findings: tuple[FindingChange, ...]
    """Findings that came and went."""

    @property
    def mounting_noticed(self) -> bool:
        """Whether mounting took so long on one side that users noticed.

        False where either run time is not known.
        """
        longest_s = max(self.before.mounting_s, self.after.mounting_s)
        return self.before.known and self.after.known and longest_s >= MOUNTING_S


def compare(
    before: Trace, after: Trace, *, top: int = 20, values: Values | None = None
) -> Comparison:
    """Say what changed from one trace to another.

    Args:
        before: The trace before.
        after: The trace after.
        top: Files and patterns to give; 0 for all.
        values: The thresholds that findings are judged by; None for their own values.

    Raises:
        UsageError: `top` is negative.
    """
    order.check("files", top=top)
    sides = gather(before, values=values), gather(after, values=values)
    return of_sides(*sides, top=top)


def of_sides(before: Side, after: Side, *, top: int = 20) -> Comparison:
    """The same of two traces that were asked already.

    Raises:
        UsageError: `top` is negative.
    """
    order.check("files", top=top)
    operations = operation_changes(before.times, after.times)
    spans = before.measured.span_s, after.measured.span_s
    least = clear_from(before, after)
    both_known = known(before) and known(after)
    ran = not any(side.only_null or side.refused for side in (before, after))
    same = pairs(before.callers, after.callers)
    alike = likeness(before, after, same)
    one = alike.as_one
    clients = client_changes(before, after, same, clear_from=least) if both_known else ()
    # Taken as one, several clients tell what changed for none of them.
    apart = () if one else each(before, after, same)
    files = file_changes(before.files, after.files, top=top)
    looked = looked_at((before.measured.files, after.measured.files), files)
    return Comparison(
        before=_run(before),
        after=_run(after),
        change_s=spans[1] - spans[0],
        factor=spans[1] / spans[0]
        if spans[0] > 0 and both_known and ran and alike.same_clients
        else None,
        same_clients=alike.same_clients,
        as_one=one,
        clients=clients,
        together=together(clients, clear_from=least),
        in_common=in_common(before, after, files),
        by_file=comparable(before.measured, after.measured) and not looked,
        causes=causes(before, after, operations, apart),
        left_open=left_open(before, after, apart),
        steps=borne_out(
            waterfall(
                before.measured,
                after.measured,
                clear_from=least,
                broken_off=broken_off(before.trust, after.trust),
                looked_at=looked,
            ),
            before,
            after,
        )
        if least < 1 and one and ran
        else (),
        clear_from=least,
        foretold=foretold(before.measured, after.measured, looked_at=looked)
        if least < 1 and one and ran
        else (),
        operations=operations,
        exports=export_changes(before.exports, after.exports),
        files=files,
        patterns=pattern_changes(before.classes, after.classes, top=top),
        findings=finding_changes(before.findings, after.findings),
    )


def _run(side: Side) -> Run:
    measured = side.measured
    return Run(
        captures=side.captures,
        start=side.capture.start,
        run_s=measured.span_s,
        known=known(side),
        files=measured.files,
        clients=len(side.callers),
        calls=measured.calls,
        only_null=side.only_null,
        refused=side.refused,
        stable_calls=measured.known_stable_calls,
        servers=side.servers,
        vantage=measured.path.vantage,
        trust=side.trust,
        rtt_source=measured.rtt_source,
        mounting_s=measured.apart_s,
        away_s=measured.away_s,
        mount_idle=measured.mount_idle,
    )
