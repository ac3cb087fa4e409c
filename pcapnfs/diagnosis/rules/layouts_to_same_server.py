"""pNFS that gains nothing: the layouts name the very server that gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "layouts_to_same_server.least", 30, "calls", "calls that ask for a layout and nothing else, "
    "below which nothing is reported", "default of this tool",
)  # fmt: skip

_ADVICE = (
    Advice(
        "Switch pNFS off at the server (Linux: without pnfs in /etc/exports; NetApp: -v4.1-pnfs "
        "disabled).",
        "exports that have data servers elsewhere lose them as well.",
    ),
    Advice(
        "Where the server cannot be changed, keep a Linux client from loading the driver: a line "
        "install nfs_layout_flexfiles /bin/false (or nfs_layout_nfsv41_files) in a file of "
        "/etc/modprobe.d, and mount anew; lsmod shows which of them it is.",
        "this client then uses pNFS with no other server either.",
    ),
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and metadata server whose data all go where the layouts came from."""
    for pair in material.layouts:
        if pair.got.calls < values[LEAST.name] or not 0 < pair.there == pair.apart:
            continue
        claims = left_out(pair.got)
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="Layouts lead to the server that gives them: pNFS gains nothing",
            seen=f"{units.counted(pair.got.calls, 'call')} asked for a layout and nothing else, "
            f"{units.duration(pair.got.time_s / pair.got.calls)} each. All of the "
            f"{units.counted(pair.there, 'READ or WRITE', 'READs and WRITEs')} by layouts went to "
            "the address and port of the server that gave them.",
            why="With pNFS a client asks for a layout of each file that it reads or writes, and "
            "moves the data to and from the servers that this names, so that several share the "
            "work. Here these are one: the client waits for a round trip more with each file, and "
            "the data takes the way that it would take without.",
            advice=_ADVICE,
            calls=pair.got.calls,
            confidence="certain",
            data=units.counted(pair.there, "READ or WRITE", "READs and WRITEs"),
            frames=pair.got.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


RULE = Rule(
    id="layouts_to_same_server",
    title="Layouts that lead to the server that gives them",
    origin="RFC 8881 sections 12.2.3 and 18.43; RFC 8435",
    judge=judge,
    thresholds=(LEAST,),
)
