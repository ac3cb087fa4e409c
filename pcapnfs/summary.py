"""Everything that pcapnfs says of a trace in one document: the JSON contract of `summarize`.

Takes a trace; gives a `Summary`, whose fields are the keys of the JSON in this order. Each is the
result of one analysis, which defines its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.side_by_side import side_by_side
from pcapnfs.analyses.by_file import files as _files
from pcapnfs.analyses.by_file import patterns as _patterns
from pcapnfs.analyses.by_file import sizes as _sizes
from pcapnfs.analyses.caching import cache as _cache
from pcapnfs.analyses.captured import capture as _capture
from pcapnfs.analyses.captured import trust as _trust
from pcapnfs.analyses.forecasts import model as _model
from pcapnfs.analyses.forecasts import verdict as _verdict
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.locks import lock_gaps as _lock_gaps
from pcapnfs.analyses.mounts import first_use as _first_use
from pcapnfs.analyses.mounts import software as _software
from pcapnfs.analyses.namespace import readdir as _readdir
from pcapnfs.analyses.servers import exports as _exports
from pcapnfs.analyses.times import budget as _budget
from pcapnfs.analyses.times import operations as _operations
from pcapnfs.analyses.times import phases as _phases
from pcapnfs.analyses.times import stability as _stability
from pcapnfs.analyses.times import time_budget as _time_budget
from pcapnfs.analyses.wire import network as _network
from pcapnfs.diagnosis import judging as _judging
from pcapnfs.diagnosis import material as _material
from pcapnfs.diagnosis.finding import Finding
from pcapnfs.diagnosis.first import without_s
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from pcapnfs.diagnosis.thresholds import Values
    from pcapnfs.trace import Trace

READS = columns.together(
    _cache.READS,
    _capture.READS,
    _exports.READS,
    _files.READS,
    _judging.READS,
    _network.READS,
    _model.READS,
    _operations.READS,
    _patterns.READS,
    _readdir.READS,
    _sizes.READS,
    _software.READS,
    _stability.READS,
    _time_budget.READS,
    _trust.READS,
)
"""The columns that all of these read."""

SHOWN = 5
"""Directories, files, clients, paths and sessions that are named; the commands `readdir`,
`cache`, `budget` and `network` name more."""

PATTERNS = 10
"""Classes of files in the summary; `patterns` gives them all."""


class Summary(Record):
    """What the capture says, and how far that can be trusted."""

    verdict: _verdict.Verdict | None
    """What the time went into, in one sentence; None without calls, when nothing tells the round
    trip, or when most of the traffic is encrypted or of one direction."""
    findings: tuple[Finding, ...]
    """What is wrong, or worth knowing, as `findings` says it; gravest first, of one severity the
    costliest first."""
    judged: _judging.Judged
    """How many rules looked, and what all findings together cost."""
    capture: _capture.Capture
    """What was read."""
    software: _software.Software
    """Which software clients and servers say they are."""
    trust: _trust.Trust
    """What was matched and decoded, and what was not."""
    operations: tuple[_operations.OperationTimes, ...]
    """Service times by protocol and main operation, longest sum first."""
    signatures: tuple[_operations.SignatureTimes, ...]
    """Service times of NFSv4 calls by signature, longest sum first; the first hundred."""
    op_counts: tuple[_operations.OperationCount, ...]
    """Every single operation, also those inside compounds, most frequent first."""
    stability: _stability.Stability
    """Calls split by what they ask of the server's storage."""
    time_budget: tuple[_budget.Budget, ...]
    """Where the clock of each client went, who waited longest first; the first five."""
    time_budget_total: _budget.Budget
    """The same for all clients together."""
    lock_gaps: tuple[_lock_gaps.LockGaps, ...]
    """What of their own time clients waited for locks that others held: each that did, who waited
    longest first."""
    stood_still_s: Mapping[str, float]
    """What of these rows calls stood still until something was sent again, as in `budget`, seconds
    by row."""
    unreached_s: float
    """What of the row `client` clients had no connection to a server for, as in `budget`,
    seconds."""
    mount_idle: _first_use.MountIdle
    """What of that row lies between the only client's mount and its first use, and between its last
    use and unmount, as in `budget`."""
    phases: tuple[_phases.Phase, ...]
    """What each of these clients did one after the other."""
    exports: _exports.Exports
    """What calls took at each export, where the capture shows several of a server."""
    files: _files.Files
    """How many files, and what one of them costs in calls."""
    patterns: _patterns.Patterns
    """Files folded into classes by their calls, longest time first; the first ten."""
    sizes: _sizes.Sizes
    """How large the files are."""
    readdir: _readdir.Readdir
    """How directories were listed, and what followed; the five that cost most."""
    cache: _cache.Cache
    """What clients asked again, and what that says of mount options; the five objects that cost
    most."""
    network: _network.Network
    """Round trips, where the capture was taken, losses, calls under way; the five busiest paths and
    sessions."""
    model: _model.Model
    """The first-order model and its forecasts, as `estimate` gives them."""
    without_first_s: float | None = None
    """What the run would take without what the finding costs that is to do first (`judged.to_do`),
    seconds; None where there is none, where it speaks of time in general, of several clients, and
    where it costs more than the run took."""

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from pcapnfs.views import notebook

        return notebook.summary_html(self)


def summarize(trace: Trace, *, values: Values | None = None) -> Summary:
    """Answer the first questions about a trace.

    Args:
        trace: The trace.
        values: The thresholds that findings are judged by (`thresholds.chosen`); None for their own
            values.
    """
    with side_by_side(trace) as asking:
        ask = asking.ask
        patterns = ask(_patterns.patterns, top=PATTERNS)
        begun = _material.begin(trace, asking)
        operations = ask(_operations.operation_times)
        signatures = ask(_operations.signature_times)
        op_counts = ask(_operations.operation_counts)
        by_stability = ask(_stability.stability)
        files = ask(_files.files)
        sizes = ask(_sizes.sizes)
        software = ask(_software.software)
        paths = ask(_network.network, top=SHOWN)
        measured = measure(trace, begun.network, begun.calls, begun.booked)
        clocks = _time_budget.time_budget(
            trace, begun.calls, begun.booked, measured.lock_gaps, top=SHOWN
        )
        learned = begun.learned
        del begun  # Arrays of all calls, which nobody asks for any more.
        listings = _readdir.readdir(trace, top=SHOWN)
        model = _model.model(trace, measured=measured)
        material = _material.complete(asking, learned, measured, clocks)
        said = _judging.judge(material, values=values)
        return Summary(
            verdict=model.verdict,
            findings=said.findings,
            judged=said.judged,
            capture=material.capture,
            software=software(),
            trust=material.trust,
            operations=operations(),
            signatures=signatures(),
            op_counts=op_counts(),
            stability=by_stability(),
            time_budget=clocks.clients,
            time_budget_total=clocks.total,
            lock_gaps=clocks.lock_gaps,
            stood_still_s=clocks.stood_still_s,
            unreached_s=clocks.unreached_s,
            mount_idle=clocks.mount_idle,
            phases=clocks.phases,
            exports=material.exports,
            files=files(),
            patterns=patterns(),
            sizes=sizes(),
            readdir=listings,
            cache=replace(material.cache, files=material.cache.files[:SHOWN]),
            network=paths(),
            model=model,
            without_first_s=without_s(said.findings, said.to_do, said.clients, model.measured_s),
        )
