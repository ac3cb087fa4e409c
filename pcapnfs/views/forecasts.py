"""Forecasts in words and as tables: what a change would bring, and what that does not hold.

Takes a `Model`; gives renderables and sentences, for `estimate`, `summarize` and the report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.text import escape
from pcapnfs.views.columns import Column, FittedTable

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.model import Model
    from pcapnfs.analyses.forecasts.what_if import Scenario

_CHANGES = {
    "measured": "as measured",
    "given": "with what was given",
    "async": "async export (risks data)",
    "ready": "no waits for the server",
    "unlocked": "no waits for locks",
    "local": "same calls, no network or persistence",
}
"""Changes without a number."""

_LOCAL_READY = "same calls, no network, persistence or waits for the server"
"""What `local` is called where it leaves out waits that are much of the run."""


SHORT = {
    "measured": "measured",
    "given": "as given",
    "async": "async",
    "log_device": "log device",
    "rtt": "half the RTT",
    "local": "no network",
}
"""Changes above a column."""

_WITHOUT = {
    "files": "All are of the same calls: of how many files these are does not matter to them.",
    "outcomes": "No forecast for other storage: of most calls it is not known whether they waited "
    "for it. Their time is left as measured.",
    "stable_calls": f"No forecast for other storage: fewer than {LEAST_CALLS} stable calls. Their "
    "time is left as measured.",
}
"""What forecasts are of, for lack of what."""

BY_STORAGE = ("async", "log_device")
"""Those of storage alone."""

STORED = frozenset((*BY_STORAGE, "local"))
"""Those about storage."""


BASES = ("given", "measured")
"""What the other changes are held against: the first of them that there is."""

ALWAYS = (*BASES, "local")
"""Changes that are told whatever they bring: these, and the most that is to be gained."""

GAIN = 1.025
"""A change that makes the run less than so many times as fast (which reads as 1.02 at most), its
pauses and waits for locks left out, is not worth a row, above all where it risks data."""


def shown(model: Model) -> tuple[Scenario, ...]:
    """The changes that are told: those that bring something, or may."""
    return tuple(each for each in model.what_if if each.change in ALWAYS or _gains(each, model))


def _gains(each: Scenario, model: Model) -> bool:
    """Whether a change brings something, or may where much of the time may be the storage's."""
    found = {other.change: other for other in model.what_if}
    base = next((found[name] for name in BASES if name in found), None)
    if base is None:
        return True
    still_s = model.pauses_s + model.locked_s + model.unreached_s
    before_s, after_s = base.forecast_s - still_s, each.forecast_s - still_s
    if before_s >= GAIN * after_s:
        return True
    doubtful = each.change in STORED and (model.unsure or model.slow)
    return doubtful and base.low_s is not None and base.low_s >= GAIN * (each.low_s or 0.0)


def what_if(scenarios: tuple[Scenario, ...]) -> FittedTable:
    """A row for each change."""
    columns = [
        Column("", align="left", least=28, cut="wrap"),
        Column("forecast"),
        Column("range", 1),
        Column("faster", 2),
    ]
    rows = [
        [
            change(each),
            units.duration(each.forecast_s),
            interval(each),
            "" if each.change in ("measured", "given") else f"{units.number(each.factor)} ×",
        ]
        for each in scenarios
    ]
    return FittedTable(columns, rows, indent=2)


def told_changes(model: Model) -> list[str]:
    """The changes that are told of any client."""
    told = {each.change for client in model.clients for each in client.what_if}
    return [name for name in SHORT if name in told]


def by_client(model: Model) -> FittedTable:
    """A row for each of several clients, a column for each change and what it rests on."""
    changes = told_changes(model)
    rows = []
    for client in model.clients:
        found = {each.change: each.forecast_s for each in client.what_if}
        rows.append(
            [
                escape(client.client),
                *(units.duration(found.get(name)) for name in changes),
                units.count(client.calls),
                units.duration(client.rtt_s),
                units.duration(client.persist_s),
                units.number(client.concurrency),
            ]
        )
    columns = [
        Column("client", align="left", least=15),
        *(Column(SHORT[name], 1 if name in ("rtt", "local") else 0) for name in changes),
        Column("calls", 2),
        Column("round trip", 3),
        Column("persistence", 3),
        Column("at once", 3),
    ]
    return FittedTable(columns, rows, indent=2)


def interval(each: Scenario) -> str:
    """What most resamples give, where it has a width."""
    if each.low_s is None:
        return units.UNKNOWN
    low, high = units.duration(each.low_s), units.duration(each.high_s)
    return low if low == high else f"{low} to {high}"


def change(each: Scenario) -> str:
    """A change in words."""
    if each.change == "log_device":
        return f"log device of {units.duration(each.value)}"
    if each.change == "rtt":
        return f"network round trip of {units.duration(each.value)}"
    if each.change == "streams":
        return counted(each.value, "parallel stream")
    if each.change == "readdirplus":
        return f"listed with attributes, {counted(each.value, 'call')} less"
    if each.change == "wsize":
        return f"wsize of {units.size(each.value)} or more"
    if each.change == "local" and each.value:
        return _LOCAL_READY
    return _CHANGES[each.change]


def counted(number: float | None, one: str) -> str:
    """A mean, or a count, with its noun."""
    return f"{units.number(number)} {one if number == 1 else one + 's'}"


def given(model: Model) -> set[str]:
    """The names of the inputs that were given instead of measured."""
    return {each.name for each in model.inputs if each.source == "given"}


def about_what_if(model: Model) -> list[str]:
    """What ranges and forecasts with streams do not hold."""
    told = []
    if model.what_if:
        told += [_WITHOUT[code] for code in model.missing if code in _WITHOUT]
    told_of = shown(model)
    if vain := [change(each) for each in model.what_if if each not in told_of]:
        told.append(f"Hardly any gain (1.02 × at most): {'; '.join(vain)}.")
    if model.measured_s is not None and model.what_if:
        client = model.client_s or 0.0
        own = f", {units.duration(client)} in each forecast{_paused(model)}," if client else ""
        varies = f"client's own time{own} is"
        waits = [
            f"{what}, {units.duration(time_s)},"
            for what, time_s in (
                ("its waits for locks", model.locked_s),
                ("its time without a connection", model.unreached_s),
            )
            if time_s
        ]
        if len(waits) > 1:
            varies = f"client's own time{own or ','} {' and '.join(waits)} are"
        elif waits:
            varies = f"client's own time{own} and {waits[0]} are"
        files = "which files were worked on, and " if model.resampled else ""
        told.append(
            f"Ranges cover {files}what differs from run to run: that the {varies} half as long or "
            "twice as long, and calls take a little less or more. Four in five runs lie in them."
            f"{_unpaused(model)}"
        )
        if not files:
            few = "No file is known" if model.files is None else "Too few files"
            told.append(f"{few} to tell how unlike others would be: no range covers that.")
    if model.undivided and any(each.change == "measured" for each in model.what_if):
        told.append(
            "No forecast for another network: nothing tells what of the round trip is the "
            "network's, and what the server's storage. If you know the network's (ping), give it "
            "with --rtt."
        )
    stored = model.verdict is not None and model.verdict.storage == "uneven"
    if stored and any(each.change in STORED for each in model.what_if):
        told.append(
            "Forecasts with other storage take away what stable calls waited beyond a round trip. "
            "Many of the same kinds did not wait: if the others did so for a thread or for other "
            "calls, other storage leaves that as it is."
        )
    named = model.verdict.named if model.verdict is not None else ()
    if "server" in named and any(each.change == "local" for each in model.what_if):
        told.append(
            "What the server takes beyond a round trip stays in each of them: nothing tells for "
            "how long READs waited for its disks."
        )
    return [*told, *about_streams(model), *_in_turn(model)]


def _paused(model: Model) -> str:
    """What of the client's own time are pauses, where that is much."""
    if not model.paused:
        return ""
    return f" ({units.duration(model.pauses_s)} of it pauses of a second or more)"


def _unpaused(model: Model) -> str:
    """How long the run took without its pauses, where they are told."""
    if model.measured_s is None or not model.paused:
        return ""
    without = units.duration(max(0.0, model.measured_s - model.pauses_s))
    return f" Without these pauses the run took {without}."


def about_streams(model: Model) -> list[str]:
    """What a forecast with streams does not hold, where there is one."""
    if "concurrency" not in given(model) and all(each.change != "streams" for each in shown(model)):
        return []
    return [
        "The forecast with streams assumes that all of them are busy all the time. Most runs take "
        "longer: streams begin and end at different times, and wait for the client's processors or "
        "for one another at the storage."
    ]


def _in_turn(model: Model) -> list[str]:
    """What streams wait for one another with, where a forecast is as long as that."""
    if not any(each.serial for each in model.what_if):
        return []
    took = (
        f"{units.counted(model.serial.calls, 'call')} took {units.duration(model.serial.time_s)}, "
        "one after the other."
    )
    return [_IN_TURN[model.serial.of].format(took=took)]


_IN_TURN = {
    "directory": "However many programs of a client make, rename or remove files in one directory, "
    "they wait for one another there: {took} In directories of their own they would not.",
    "moves": "However many programs of a client move files from one directory into another, Linux "
    "moves one at a time in a file system: {took} Renamed within a directory they would not wait.",
    "owner": "However many programs of a user open files, NFSv4.0 has their OPENs and CLOSEs wait "
    "for one another: {took} With NFSv4.1 they would not.",
}


def several(model: Model, where: str) -> list[str]:
    """That clients are taken as one, where there are several.

    Args:
        model: The model.
        where: Where it is told what each of them would take, in words.
    """
    if model.client_number < 2:
        return []
    both = model.client_number == 2
    clients = "both clients" if both else f"all {units.count(model.client_number)} clients"
    told = (
        f"Forecasts take {clients} as one: where they overlap, {'either' if both else 'any'} of "
        "them may take longer, or be done sooner"
    )
    last = [change(each) for each in model.what_if if each.slowest]
    alone = f" As long as the slowest client takes alone: {'; '.join(last)}." if last else ""
    return [f"{told}; {where}.{alone}" if model.clients else f"{told}.{alone}"]


def more_clients(model: Model) -> list[str]:
    """What the forecasts by client leave out, and how many are told where not all are."""
    told = [
        "Each with its own calls, round trip and overlap, mounting included; what clients make one "
        "another wait at the server stays as it was."
    ]
    stored = STORED.intersection(told_changes(model))
    if any(stored - {each.change for each in client.what_if} for client in model.clients):
        told.append(
            f"No forecast with other storage stands where a client has fewer than {LEAST_CALLS} "
            "stable calls, sent most of them again, or has as fast a storage already."
        )
    if model.client_number > len(model.clients):
        shown, all_ = units.count(len(model.clients)), units.count(model.client_number)
        told.append(f"{shown} of {all_} clients, those that waited longest.")
    return told
