"""Two runs beside one another."""

from __future__ import annotations

from pcapnfs.comparison.cause import Cause as Setting
from pcapnfs.comparison.clients import ClientChange, ClientForetold, ClientPart, ClientRun
from pcapnfs.comparison.comparing import Comparison
from pcapnfs.comparison.comparing import Run as ComparedRun
from pcapnfs.comparison.exports import ExportChange
from pcapnfs.comparison.foretold import Foretold
from pcapnfs.comparison.matching import (
    FileChange,
    FileChanges,
    FindingChange,
    PatternChange,
    PatternChanges,
)
from pcapnfs.comparison.operations import OperationChange
from pcapnfs.comparison.waterfall import Step as WaterfallStep
from pcapnfs.record import replace
from tests.views.samples.captured import trust
from tests.views.samples.rendering import HOSTILE


def comparison() -> Comparison:
    before = ComparedRun(
        captures=("captures/2026-11/client1-sync-export.pcap",),
        start="2026-11-21T03:42:14.000000000Z",
        run_s=30.0,
        known=True,
        files=200,
        clients=1,
        calls=1_240,
        only_null=False,
        stable_calls=1_220,
        servers=("10.0.0.1",),
        vantage="client",
        trust=trust(),
        rtt_source="calls",
        mounting_s=0.004,
    )
    return Comparison(
        before=before,
        after=replace(before, captures=("a.pcap0", "a.pcap1"), run_s=3.0),
        change_s=-27.0,
        factor=0.1,
        same_clients=True,
        as_one=True,
        clients=(),
        together=None,
        in_common=1.0,
        by_file=True,
        causes=(
            Setting(
                subject="storage",
                before="waited for",
                after="async export, log device, write cache or faster storage",
                confidence="likely",
                evidence="CREATE, SETATTR faster: CREATE took 20.0 ms before and 250 µs after "
                "(medians)",
            ),
            Setting(
                subject="attribute_cache",
                before="kept (default, or another timeout)",
                after="noac or actimeo=0",
                confidence="likely",
                evidence="asked for the unchanged directory between 209 of 209 moves",
            ),
        ),
        left_open=(),
        steps=(
            WaterfallStep("files", 200.0, 200.0, 0.0, 0.0, 0.0, False),
            WaterfallStep("rpcs_per_file", 6.2, 6.2, 0.0, 0.0, 0.0, False),
            WaterfallStep("rtt_s", 250e-6, 275e-6, 0.031, 0.02, 0.05, False),
            WaterfallStep("syncops_per_file", 6.1, 6.1, 0.0, 0.0, 0.0, False),
            WaterfallStep("persist_s", 22.0e-3, 100e-6, -27.0, -28.0, -26.0, True),
            WaterfallStep("client_s", 1.68e-3, 1.53e-3, -0.031, None, None, False),
        ),
        clear_from=0.05,
        foretold=(
            Foretold("files", 200.0, 30.0, 29.0, 31.0, 3.0, 9.0),
            Foretold("set_up", 200.0, 2.7, 2.5, 2.9, 3.0, -0.1),
            Foretold("calls", 200.0, 3.0, 2.8, 3.2, 3.0, 0.0),
        ),
        operations=(
            OperationChange(
                version="3",
                op="WRITE[FILE_SYNC]",
                stable=True,
                calls_before=200,
                calls_after=200,
                timed_before=200,
                timed_after=200,
                sum_before_s=8.0,
                sum_after_s=0.06,
                p50_before_s=40e-3,
                p50_after_s=0.3e-3,
                p95_before_s=60e-3,
                p95_after_s=0.5e-3,
                shift_s=-39.7e-3,
                superiority=0.0,
                p=1e-6,
                verdict="faster",
            ),
            OperationChange(
                version="3",
                op="FSINFO",
                stable=False,
                calls_before=2,
                calls_after=0,
                timed_before=2,
                timed_after=0,
                sum_before_s=0.5e-3,
                sum_after_s=0.0,
                p50_before_s=0.25e-3,
                p50_after_s=None,
                p95_before_s=0.25e-3,
                p95_after_s=None,
                shift_s=None,
                superiority=None,
                p=None,
                verdict="gone",
            ),
        ),
        exports=(
            ExportChange("/home/a", 1_200, 1_100, 900, 900, 18.0, 2.4, 0.0196, 0.0012),
            ExportChange(HOSTILE, 12, 0, 0, 0, 0.004, 0.0, None, None),
        ),
        files=FileChanges(
            both=205,
            only_before=1,
            only_after=2,
            both_before_s=28.0,
            both_after_s=0.5,
            only_before_s=0.1,
            only_after_s=0.02,
            files=(
                FileChange(
                    path="src/deeply/nested/directory/with/a/long/path/to/main.c",
                    calls_before=6,
                    calls_after=7,
                    stable_before=6,
                    stable_after=6,
                    time_before_s=0.16,
                    time_after_s=0.002,
                ),
            ),
        ),
        patterns=PatternChanges(
            both=1,
            came=1,
            went=0,
            patterns=(
                PatternChange(
                    where="both",
                    pattern="CREATE SETATTR WRITE[FILE_SYNC] SETATTR",
                    kind="file",
                    files_before=200,
                    files_after=190,
                    time_per_file_before_s=0.14,
                    time_per_file_after_s=0.002,
                ),
                PatternChange(
                    where="came",
                    pattern="CREATE SETATTR GETATTR WRITE[FILE_SYNC] GETATTR SETATTR GETATTR",
                    kind="file",
                    files_before=0,
                    files_after=10,
                    time_per_file_before_s=None,
                    time_per_file_after_s=0.003,
                ),
            ),
        ),
        findings=(
            FindingChange(
                where="came",
                id="no_attribute_cache",
                severity="problem",
                title="the client keeps no attributes: noac or actimeo=0",
                cost_before_s=None,
                cost_after_s=1.5,
            ),
        ),
    )


def compared_client() -> ClientChange:
    """One of several clients, on both sides."""
    before = ClientRun("10.0.0.2", "client1", None, 29.5, 27.9, 1_240, 1_220, 250e-6, 22.0e-3)
    after = ClientRun("10.0.0.2", "client1", None, 1.5, 0.9, 1_240, 1_220, 250e-6, 100e-6)
    return ClientChange(
        where="both",
        client="10.0.0.2",
        matched_by="address",
        before=before,
        after=after,
        change_s=-28.0,
        parts=(
            ClientPart("persistence", 27.0, 0.1, -26.9, True),
            ClientPart("client", 2.5, 0.6, -1.9, True),
            ClientPart("server", 0.0, 0.8, 0.8, False),
        ),
        foretold=(
            ClientForetold("set_up", 2.5, 1.5, 2.5 / 1.5 - 1),
            ClientForetold("calls", 2.5, 1.5, 2.5 / 1.5 - 1),
        ),
    )


def comparison_of_clients() -> Comparison:
    """Of three clients, one of which is on one side alone."""
    client = compared_client()
    assert client.before is not None
    other = replace(client.before, address="2001:db8:85a3:8d3:1319:8a2e:370:7348", machine="node9")
    same = replace(
        client,
        client=other.address,
        matched_by="machine",
        before=other,
        after=replace(other, address="2001:db8:85a3:8d3:1319:8a2e:370:9ff"),
        change_s=0.0,
        parts=(),
        foretold=(),
    )
    gone = replace(
        same, where="went", client="10.0.0.4", matched_by=None, after=None, change_s=None
    )
    both = replace(client, client=None, matched_by=None, change_s=-28.0, foretold=())
    whole = comparison()
    storage, cache = whole.causes
    return replace(
        whole,
        same_clients=True,
        as_one=False,
        causes=(storage, replace(cache, clients=("10.0.0.2",))),
        clients=(client, same, gone),
        together=both,
        steps=(),
        foretold=(),
    )


def poor_comparison() -> Comparison:
    """Nothing that could be told, of sides that are not alike."""
    whole = comparison()
    return replace(
        whole,
        after=replace(
            whole.before,
            run_s=30.0,
            vantage="server",
            trust=replace(
                trust(), truncated_packets=2_912, undecoded=1, missing_bytes=12_152, damaged_files=1
            ),
        ),
        change_s=0.0,
        factor=1.0,
        by_file=False,
        causes=(),
        left_open=("security",),
        steps=(),
        clear_from=0.105,
        foretold=(),
        operations=(),
        files=replace(whole.files, files=()),
        patterns=PatternChanges(both=0, came=0, went=0, patterns=()),
        findings=(),
    )
