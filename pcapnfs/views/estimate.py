"""The screen of `estimate`, and its lines in `summarize`.

Takes a `Model`; gives renderables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group

from pcapnfs import units
from pcapnfs.analyses.times import long_pauses
from pcapnfs.text import escape, joined, sentence
from pcapnfs.views import forecasts
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import heading, note

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.forecasts.inputs import Input
    from pcapnfs.analyses.forecasts.model import Model
    from pcapnfs.analyses.forecasts.verdict import Verdict
    from pcapnfs.analyses.forecasts.what_if import Scenario

NOT_ENOUGH = "not enough data"
"""What stands instead of a number that would rest on too little."""

WITHOUT_FIRST = (
    "How long it would take without what is to do first: pcapnfs summarize tells, where findings "
    "say what that is."
)
"""Where the forecast is that rests on findings: no rule is asked for this screen."""

WITH_DOUBTS = "with what is not known"
"""What the interval of a forecast with given inputs holds: more than resampled files."""

INPUTS = {
    "files": "files",
    "rpcs_per_file": "RPCs per file",
    "rtt_s": "round trip",
    "syncops_per_file": "stable calls per file",
    "persist_s": "persistence of a stable call",
    "concurrency": "calls at the same time",
    "client_s": "client, per call",
}
"""What the inputs are called."""

_ROUND_TRIPS = {
    "handshake": "handshakes, and the fastest answer",
    "acks": "ACKs, and the fastest answer",
    "gaps": "at most: gaps from reply to call, and answers",
}
"""Where a round trip is from that does not come from calls."""

_MISSING = {
    "clocks": "the capture's clocks do not tell what calls took",
    "files": "no answered call of NFS tells of files",
    "rtt": "nothing tells the round trip",
    "outcomes": "of most calls it is not known whether they were stable",
    "stable_calls": "fewer than 30 stable calls: no mean for persistence",
}
"""Why there is no model."""

_GIVEN = {
    "files": "--files, --rpcs-per-file and --syncops-per-file",
    "rtt": "--rtt",
    "outcomes": "--syncops-per-file and --persist",
    "stable_calls": "--persist (0 leaves these few as measured, and forecasts the rest)",
}
"""Options of `estimate` that help."""

_LEFT_OUT = {
    "pauses": "pauses of the client of a second or more, {time}",
    "client": "the client's own time between calls, {time}",
    "locked": "what the client waits for locks between calls, {time}",
    "transfer": "bytes on their way, {time}",
    "waiting": "waits for a server that was not ready or not reached, {time}",
    "unreached": "time without a connection to the server, {time}",
    "locks": "round trips of the lock manager (NLM), {time}",
    "other": "what calls took beyond round trips and persistence, {time}",
    "faster": "that other calls are faster than those that tell the round trip, {time} less",
    "overlap": "that {overlap} calls {were} under way at a time, {time} less",
}
"""What the plain formula leaves out."""


def screen(model: Model) -> RenderableType:
    """Verdict, inputs, figures, and what would happen if."""
    parts: list[RenderableType] = []
    if model.verdict is not None:
        told = (note(line) for line in verdict_sentences(model.verdict))
        parts += [heading("Verdict", first=True), *told]
    inputs = heading("Inputs", first=not parts)
    parts += [inputs, _inputs(model), *_kinds(model), heading("Estimate")]
    missing = [_why(code, "give") for code in model.missing]
    parts += [_figures(model), *(note(sentence) for sentence in (*missing, *remarks(model)))]
    if model.what_if:
        parts += [heading("What if"), forecasts.what_if(forecasts.shown(model))]
        parts += [note(line) for line in forecasts.about_what_if(model)]
        # Of several clients there is none.
        if model.measured_s is not None and not (forecasts.given(model) or model.clients):
            parts.append(note(WITHOUT_FIRST))
    if model.clients:
        parts += [heading("What if, by client"), forecasts.by_client(model)]
        parts += [note(line) for line in forecasts.more_clients(model)]
    return Group(*parts)


def verdict_sentences(verdict: Verdict) -> list[str]:
    """The verdict; of several clients a piece for each, the one that waited longest first."""
    if not verdict.clients:
        return [verdict.sentence]
    told = [sentence(each.sentence) for each in verdict.clients]
    return [*told, *(line for line in (verdict.rest, verdict.doubt) if line is not None)]


def too_few(model: Model) -> str:
    """That calls are too few for a verdict; else nothing."""
    if not model.too_few:
        return ""
    return (
        "No verdict on what the time went into: nothing but so few calls tells how long a round "
        "trip is."
    )


def lines(model: Model) -> list[str]:
    """The model in `summarize`: a sentence or two."""
    if model.missing:
        told = _faster(model, *forecasts.BY_STORAGE)
        return [*reasons(model)[:1], *told, *(_slow(model) + _unsure(model) if told else ())]
    first, whole = units.duration(model.predicted_s), units.duration(model.forecast_s)
    beyond = {"transfer", "waiting", "locks", "other"} & {each.part for each in model.left_out}
    own = (
        ", the client's own time and what else calls took"
        if beyond
        else " and the client's own time"
    )
    rest = f"with overlap{own} {whole}; "
    if first == whole or not model.formula_holds:
        rest = ""
    left = [*model.mount_idle.noticed(model.measured_s)]
    left += [long_pauses.told(model.away_s)] if model.away_s else []
    away = f", without {joined(left)}" if left else ""
    told = [f"{formula(model)} = {first}; {rest}measured {units.duration(model.measured_s)}{away}."]
    told += _left_out(model)
    told += _faster(model, *forecasts.BY_STORAGE, "streams")
    told += forecasts.several(model, "pcapnfs estimate tells what each would take")
    return [*told, *_slow(model), *_unsure(model)]


def _faster(model: Model, *changes: str) -> list[str]:
    """What these changes would bring, in a sentence; nothing where none of them is forecast."""
    others, streams = list[str](), list[str]()
    for each in forecasts.shown(model):
        if each.change in changes and not _vague(each):
            told = streams if each.change == "streams" else others
            told.append(f"{forecasts.change(each)} {_foretold(each, model)}")
    if others:
        others[-1] += _with_pauses(model, len(others))
    return [f"Forecast: {'; '.join(others + streams)}."] if others or streams else []


def _with_pauses(model: Model, cases: int) -> str:
    """That pauses, in which perhaps nothing was run, are in these forecasts, where they are much.

    Streams may share them.
    """
    if model.measured_s is None or model.pauses_s < PAUSES * model.measured_s:
        return ""
    each = "each " if cases > 1 else ""
    return f", {each}with {units.duration(model.pauses_s)} of pauses of a second or more"


PAUSES = 0.1
"""Part of the run from which on its pauses are told beside forecasts."""


NOTHING = 0.01
"""Part of the upper end of a range below which its lower end is next to nothing."""


def _vague(each: Scenario) -> bool:
    """Whether nothing is known of what streams would bring: next to nothing is left, or all of it.

    So it is where most of the time is the client's own, which they may share or not.
    """
    if each.change != "streams" or each.low_s is None:
        return False
    return each.low_s < NOTHING * (each.high_s or 0.0)


def _foretold(each: Scenario, model: Model) -> str:
    """A forecast in a line; with streams its range, since most runs come out far from it.

    With both, where much of it may be the storage's or not: the sentence that says so speaks of it.
    """
    told = units.duration(each.forecast_s)
    if each.low_s is None:
        return told
    if each.change == "streams":
        return forecasts.interval(each)
    return f"{told} ({forecasts.interval(each)})" if model.unsure or model.slow else told


def formula(model: Model) -> str:
    """The first-order formula with its inputs."""
    one = {"directories": "directory"}.get(model.counted, "file")
    many = "directories" if model.counted == "directories" else "files"
    counted = units.counted(model.files or 0, one, many)
    trips = f"{forecasts.counted(model.rpcs_per_file, 'RPC')} × {units.duration(model.rtt_s)}"
    if model.syncops_per_file == 0:
        return f"{counted} × {trips}"
    return (
        f"{counted} × ({trips} + {units.number(model.syncops_per_file)} stable × "
        f"{units.duration(model.persist_s)})"
    )


def _left_out(model: Model) -> list[str]:
    """That the plain formula does not hold, and what it leaves out."""
    if model.missing or model.formula_holds:
        return []
    parts = [
        _LEFT_OUT["faster" if each.part == "other" and each.time_s < 0 else each.part].format(
            time=units.duration(abs(each.time_s)),
            overlap=units.number(model.concurrency),
            were="are" if "concurrency" in forecasts.given(model) else "were",
        )
        for each in model.left_out
    ]
    rest = f": it leaves out {'; '.join(parts)}" if parts else ""
    return [f"The plain formula does not hold here{rest}."]


def _away(model: Model) -> list[str]:
    """That long pauses, and what lies between mount and first use, are in no figure."""
    told = []
    if idle := model.mount_idle.noticed(model.measured_s):
        told.append(f"No figure holds the {joined(idle)}.")
    if model.away_s:
        told.append(
            f"No figure holds the {long_pauses.told(model.away_s)}: perhaps nothing was run then."
        )
    if model.vain_s:
        told.append(
            f"No figure holds the {units.duration(model.vain_s)} in which the client asked for a "
            "connection in vain after its last reply."
        )
    return told


def _inputs(model: Model) -> RenderableType:
    columns = [
        Column("", align="left"),
        Column("used"),
        Column("measured", 1),
        Column("from", 0, align="left", least=16, cut="wrap"),
    ]
    rows = [
        [
            INPUTS[each.name],
            units.named(each.name, each.value),
            units.named(each.name, each.measured) if each.source == "given" else "",
            source(each, model),
        ]
        for each in model.inputs
    ]
    return FittedTable(columns, rows, indent=2)


def source(each: Input, model: Model) -> str:
    """Where an input is from, in words."""
    if each.source == "given":
        network = each.name == "rtt_s" and model.calls and model.network_rtt_s is not None
        return f"given: the network's {units.duration(model.network_rtt_s)}" if network else "given"
    if each.source == "assumed":
        return "one at a time" if each.name == "concurrency" else "none assumed"
    if each.name == "files":
        if not each.value:
            return "no answered call of NFS tells of any"
        return (
            "directories, no regular file known" if model.counted == "directories" else "addressed"
        )
    if not model.calls and each.name in ("rpcs_per_file", "syncops_per_file", "persist_s"):
        return "no call of NFS"
    if each.name in ("rpcs_per_file", "syncops_per_file"):
        number = model.calls if each.name == "rpcs_per_file" else model.stable_calls
        if number is None:
            return "not known of most calls"
        locks = ""
        if each.name == "rpcs_per_file" and model.lock_calls:
            locks = f"; and {units.count(model.lock_calls)} of the lock manager"
        return f"{units.counted(number, 'call')}, also on directories{locks}"
    if each.name == "rtt_s":
        return _round_trip(each, model)
    if each.name == "persist_s":
        if each.value is not None and model.stable_calls:
            return f"mean of {units.counted(model.stable_calls, 'stable call')}"
        return "no stable calls" if model.stable_calls == 0 else NOT_ENOUGH
    if each.name == "concurrency":
        return "mean while any was under way"
    told = "gaps between calls"
    for what, time_s in (
        ("pauses", model.pauses_s),
        ("waits for locks", model.locked_s),
        ("without a connection", model.unreached_s),
    ):
        if time_s:
            told += f"; {what} {units.duration(time_s)}"
    return told


def _round_trip(each: Input, model: Model) -> str:
    if each.source in ("calls", "few_calls"):
        few = "only " if each.source == "few_calls" else ""
        calls = units.counted(model.small_calls, "small unstable call")
        return f"mean of {few}{calls}"
    return _ROUND_TRIPS.get(each.source, NOT_ENOUGH)


def _kinds(model: Model) -> list[RenderableType]:
    """Persistence by kind of stable call, where there is more than one."""
    told = [each for each in model.persist_by_op if each.persist_s is not None]
    if len(told) < 2:
        return []
    each_kind = [
        f"{escape(each.op)} {units.duration(each.persist_s)} ({units.count(each.calls)})"
        for each in told
    ]
    return [note(f"Persistence by operation: {', '.join(each_kind)}.")]


def _figures(model: Model) -> RenderableType:
    spread = ""
    if model.forecast_low_s is not None:
        spread = interval(model)
    error = "" if model.holdout_error is None else units.share(model.holdout_error)
    formula_is = "files × (RPCs + persistence)"
    if not model.missing and not model.formula_holds:
        formula_is = "does not hold here"
    rows = [
        ["first-order formula", figure(model, model.predicted_s), formula_is],
        ["forecast", figure(model, model.forecast_s), spread or "with overlap and client"],
        ["measured", units.duration(model.measured_s), ""],
        ["error", error or units.UNKNOWN, "half of the files, by the other half"],
    ]
    if model.measured_s is None:
        del rows[2:]
    columns = [
        Column("", align="left"),
        Column(""),
        Column("", 1, align="left", least=16, cut="end"),
    ]
    return FittedTable(columns, rows, indent=2)


def interval(model: Model) -> str:
    """The interval of the forecast, and what it is of."""
    low, high = units.duration(model.forecast_low_s), units.duration(model.forecast_high_s)
    # What a change comes to where effects do not add up is no matter of which files were drawn.
    return f"{low} to {high} {WITH_DOUBTS if forecasts.given(model) else 'for 90 % of resamples'}"


def figure(model: Model, time_s: float | None) -> str:
    """A figure of the model, or that there is none."""
    return NOT_ENOUGH if model.missing else units.duration(time_s)


def _why(code: str, advice: str) -> str:
    """Why there is no model, and the options that help, if there are any."""
    given = _GIVEN.get(code)
    helps = f"; {advice} {given}" if given else ""
    return f"{NOT_ENOUGH.capitalize()}: {_MISSING[code]}{helps}."


def _elsewhere(code: str) -> str:
    """The same where there are no options for what is missing, with the command that has them."""
    if code == "files":
        return f"{NOT_ENOUGH.capitalize()}: {_MISSING[code]}."  # Nothing can be estimated of it.
    return _why(code, "pcapnfs estimate takes")


def reasons(model: Model) -> list[str]:
    """Why there is no model, in a sentence each, where there are no options for it."""
    return [_elsewhere(code) for code in model.missing]


def remarks(model: Model) -> list[str]:
    """What the figures leave open."""
    told = _away(model) + _beyond_the_calls(model) + _left_out(model) + _unlike(model)
    if model.resent:
        told.append(
            "Most stable calls were sent again before they were answered: what they took is the "
            "time until then, and nothing tells what other storage would bring."
        )
    elif model.absorbs_rtt:
        told.append(
            "Stable calls end on ticks of the storage: a longer round trip would be absorbed in "
            "part, and does not simply add up."
        )
    if model.held_down:
        told.append(
            f"For {units.duration(model.held_down_s)} data moved at the pace that lost segments "
            "allow: that goes with the round trip, so that a shorter one makes it shorter, too, "
            "and a faster link does not."
        )
    if model.windows_full:
        told.append(
            f"For {units.duration(model.full_windows_s)} data moved one full TCP window in each "
            "round trip: a shorter one makes that shorter, too, and a larger window does; a faster "
            "link does not."
        )
    told += forecasts.several(model, "what each would take stands below")
    told += _slow(model) + _unsure(model)
    if model.clock_tick_s is not None:
        tick = units.duration(model.clock_tick_s)
        told.append(
            f"The capture's clock ticks every {tick}: a round trip may be that much longer or "
            "shorter, and the ranges cover that."
        )
    if model.vantage == "server":
        told.append("Captured at the server: the network's round trip was added to each call.")
    if model.vantage == "between":
        told.append("Captured between: the way to the client was added to each call.")
    return told


def _unlike(model: Model) -> list[str]:
    """That the mean of a file says little of files: one has most of the time, or they differ."""
    told = []
    if model.single_s is not None:
        one = "directory" if model.counted == "directories" else "file"
        told.append(
            f"One {one} took {units.duration(model.single_s)}, longer than all others together: "
            "ranges and the error take it as it was, since no other is like it."
        )
    if model.unlike:
        told.append(
            "Files differ so much that one half of them does not tell what the other half takes "
            "(the error above). With other files, or another number of them, forecasts may be as "
            "wrong as that. Forecasts of the same files rest on all of their calls."
        )
    return told


def _beyond_the_calls(model: Model) -> list[str]:
    """That inputs, given or beside what was measured, are of no file that can be."""
    stable, calls = model.syncops_per_file, model.rpcs_per_file
    if stable is None or calls is None or stable <= calls:
        return []
    given = forecasts.given(model)
    others = {"rpcs_per_file": "--rpcs-per-file", "syncops_per_file": "--syncops-per-file"}
    wanted = [option for name, option in others.items() if name not in given]
    all_ = f"{units.number(calls)} {'call' if calls == 1 else 'calls'} per file"
    told = (
        f"{units.number(stable)} stable calls per file are more than the {all_}, and are among "
        "them: no run is like that"
    )
    return [f"{told}; give {wanted[0]} as well." if wanted else f"{told}."]


def _slow(model: Model) -> list[str]:
    """That a few slow calls make the round trip, where that makes much of a forecast."""
    if not model.slow:
        return []
    return [
        "A few slow calls make up the round trip: half of "
        f"{units.counted(model.small_calls, 'call')} took {units.duration(model.usual_s)} at most. "
        "The slow ones may have waited for the storage as well: the ranges with other storage "
        "cover both."
    ]


def _unsure(model: Model) -> list[str]:
    """What may have been stable or not, where that makes much of a forecast."""
    if not model.unsure:
        return []
    calls, replies = model.unknown_calls, model.unseen_replies
    told = [f"of {units.counted(calls, 'call')} the outcome is not known"] if calls else []
    if replies:
        others = f"{units.count(replies)} more" if calls else units.counted(replies, "call")
        told.append(f"of {others} only the reply was captured")
    begin = ", and ".join(told)
    return [
        f"{begin[0].upper()}{begin[1:]}: the {units.duration(model.unsure_s)} that they took "
        "beyond round trips may be persistence or not. The ranges with other storage cover both."
    ]
