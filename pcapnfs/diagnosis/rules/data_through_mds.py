"""pNFS that is not used: data moves through the metadata server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.data.layouts import Layouts
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "data_through_mds.least", 30, "calls", "READs and WRITEs through the metadata server, below "
    "which nothing is reported", "default of this tool",
)  # fmt: skip
SHARE = Threshold(
    "data_through_mds.share", 0.5, "share", "of the client's READs and WRITEs, those through the "
    "metadata server", "default of this tool: small files may go there by design",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and metadata server."""
    for pair in material.layouts:
        moved = pair.through + pair.apart
        if pair.through < values[LEAST.name] or pair.through < values[SHARE.name] * moved:
            continue
        refused = not pair.granted
        yield Observed(
            severity="warning",
            title="pNFS is not used: data moves through the metadata server",
            seen=_seen(pair) + _vain(pair, refused=refused),
            why="All data then passes one server and one link, which pNFS is to spare. "
            + (
                "The server gives no layouts: its file system has none, or not now."
                if refused
                else "The client has layouts and does not use them: it cannot reach the data "
                "servers, gave up on them after an error, or lacks the driver for this kind of "
                "layout."
            ),
            advice=(_GIVING if refused else _USING, _OFF),
            calls=pair.through,
            confidence="certain" if refused else "likely",
            data=units.counted(moved, "READ or WRITE", "READs and WRITEs"),
            frames=pair.frames,
            claims=left_out(pair.vain) if refused else (),
            about=(pair.client, pair.server),
        )


def _seen(pair: Layouts) -> str:
    text = (
        f"{units.count(pair.through)} of "
        f"{units.counted(pair.through + pair.apart, 'READ or WRITE', 'READs and WRITEs')} "
        f"({units.size(pair.through_bytes)}) went to the server that the client asked for "
        f"layouts; it got {units.count(pair.granted)} of {units.count(pair.asked)}"
    )
    return text + (f" ({', '.join(pair.statuses)})." if pair.statuses else ".")


def _vain(pair: Layouts, *, refused: bool) -> str:
    """What it cost to ask for nothing."""
    if not refused or not pair.vain.calls:
        return ""
    return (
        f" {units.counted(pair.vain.calls, 'call')} for nothing else took "
        f"{units.duration(pair.vain.time_s)}."
    )


_USING = Advice(
    "See which addresses GETDEVICEINFO names (pcapnfs show FRAME), and reach them from the client "
    "(nc -vz ADDRESS 2049): firewalls, routes, networks of the servers among themselves. Linux "
    "tries a data server that failed again only after minutes; dmesg says so. lsmod shows its "
    "drivers: nfs_layout_nfsv41_files, nfs_layout_flexfiles, blocklayoutdriver."
)

_GIVING = Advice(
    "If the server is meant to do pNFS, look there why it gives no layouts (Linux: pnfs in "
    "/etc/exports, and a file system that can, such as XFS; an appliance's log)."
)

_OFF = Advice(
    "If it is not meant to do pNFS, switch it off (Linux: without pnfs in /etc/exports; NetApp: "
    "-v4.1-pnfs disabled), which spares the client the asking."
)

RULE = Rule(
    id="data_through_mds",
    title="pNFS that is not used",
    origin="RFC 8881 sections 12.2.3, 13.6 and 18.43; RFC 8435",
    judge=judge,
    thresholds=(LEAST, SHARE),
)
