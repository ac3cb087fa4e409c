"""Much of the time goes into round trips, or a part of it beside a larger cause.

Where nothing tells them from what the server's storage takes, into one of the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.forecasts.verdict_reasons import NETWORK_OR_SERVER, SKEWED
from pcapnfs.analyses.mounts.mount_sizes import SMALL_READ_BYTES
from pcapnfs.analyses.servers.server_times import scatter_s
from pcapnfs.analyses.wire.half import FEW_ACKS
from pcapnfs.diagnosis import bound, read_ahead, wording
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.one_by_one import one_by_one
from pcapnfs.diagnosis.rules import concurrency_cap
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.record import replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.analyses.data.transfer_runs import Runs, TransferRuns
    from pcapnfs.analyses.forecasts.bottleneck import Bottleneck
    from pcapnfs.analyses.forecasts.verdict import Cause
    from pcapnfs.analyses.wire.round_trip import RoundTrip
    from pcapnfs.diagnosis.material import Material

NETWORK = Threshold(
    "round_trip_bound.network", 0.001, "s",
    "the network's round trip; below, it is that of one building and a note",
    "default of this tool: switches of one site take less",
)  # fmt: skip
SHARE = Threshold(
    "round_trip_bound.share", 0.3, "share",
    "the network's part of the time budget; below, it is a note", "default of this tool",
)  # fmt: skip


MOSTLY = 0.5
"""From this part of round trips on they are the network's. Below, the title says that they are not:
what stands beside it as their cost is the network's part alone."""

STORING = 0.1
"""The part of the calls from which on it is stable ones that somebody makes or changes files;
below, somebody looks at them."""

MAKING = ("CREATE", "LINK", "MKDIR", "MKNOD", "OPEN", "SYMLINK")
"""Stable operations that make names; an OPEN that does not create is none of the stable calls."""

FILES = 30
"""So many and more are made where an archive in their place is worth a word."""

READING = 0.5
"""The part of the calls from which on it is READs of files in order that wait."""

NAMED = 4
"""Ports that are named; a finding is no list."""

NOT_THE_NETWORK = ", most of it not on the network"
"""What the title says of them otherwise."""

COSTS = " Only the network's part counts as its cost."
"""What the cost beside the verdict's share is."""

BY_CALL = " That share goes by means; the cost is the network's part of each call by itself."
"""The same where it is more than that share: most calls overlap, and those that do not wait longer
than the mean overlap has it."""

CLEARLY = 1.01
"""So many times that share the cost is more than it: less is rounded away."""

_IN_ONE_STREAM = Advice(
    "Send fewer calls: pcapnfs patterns shows what each file costs, and other findings name calls "
    "that can be spared; keep or move many small files as one archive (tar), or copy them to where "
    "the disks are (rsync or tar over ssh) if you can log in there."
)

_SEND_FEWER = Advice(
    "Send fewer calls: pcapnfs patterns shows what each file costs, and other findings name calls "
    "that can be spared."
)

_LOOK_AT_LESS = Advice(
    "Send fewer calls: pcapnfs patterns shows what each file costs, and other findings name calls "
    "that can be spared; let programs look at fewer files (find -prune, excluded directories)."
)

_AT_ONCE = Advice(
    "Do more at once: several processes or threads, make -j, parallel copy tools; calls of "
    "different files need not wait for one another."
)

_NOT_YET = Advice(
    "Let more calls through at once first: programs wait until fewer are under way, as the finding "
    "on that says, and more programs make nothing faster until then."
)

_APART = Advice(
    "Have programs not wait for one another first, as the finding on that says: more of them bring "
    "little until then."
)

_HAVE_HANDSHAKE = ", or have the capture begin before the mount, since a handshake of TCP shows it"
"""What else tells the network, where the capture has no handshake."""

_WHOSE = (
    "Find out first which part of it is the network: ping the server from the client while the "
    "work runs{otherwise}. If it is the network, run the job nearer to the server; if not, look at "
    "the server's processor, its power saving (C-states, governor) and its virtualisation."
)

_WHICH = (
    "Find out first which it is: ping the server from the client while the work runs (pcapnfs "
    "estimate --rtt takes what it says){otherwise}; and look at the server's disks meanwhile "
    "(iostat -x 1 there: r_await, %util). If it is the network, run the job nearer to the server; "
    "if the disks, faster ones or more memory for files at the server; if neither, look at its "
    "processor, power saving (C-states, governor) and virtualisation."
)

FARTHER = 5.0
"""So many times what the network takes other clients of a server (median) is told: it is a client's
own way then."""

LONGER_S = 0.001
"""And so much longer."""

_OWN_WAY = Advice(
    "Look at this client's way to the server, since others have a much shorter one: another site, "
    "a VPN or tunnel, a route over a firewall or a relay, Wi-Fi. If it is on the same site, ping "
    "and traceroute from this client and from another one tell where they part."
)

MANY = 8.0
"""Calls under way on average from which on programs do much at once already."""

_EACH_WAITS = (
    "A program that does one thing after the other waits for each call; what it takes is the "
    "number of calls times the round trip, however fast disks and links are."
)

_MANY_WAIT = (
    "Many calls are under way at a time here; but what comes before and between them is done one "
    "after the other, and waits for a round trip each, however fast disks and links are."
)

SEVERAL = 1.5
"""Calls under way on average from which on READs do not wait for one another."""

_PAST_CACHE = (
    "Most calls are READs of {size} of files in order, one at a time in each, smaller than the "
    "client may ask for: the program reads past the client's cache (O_DIRECT, dd iflag=direct, "
    "client libraries), and read_ahead_kb has no effect on that. Have it read larger pieces, "
    "several at once, or through the cache."
)

WINDOW = 0.1
"""What a full window took, as a part of what the network's round trips did, from which on it is
told before any read-ahead: what does not fit it waits, however far the client reads ahead."""

_WINDOW_FIRST = (
    "Most calls are READs of files in order, {calls} under way at a time, and the client's TCP "
    "window of {window} was full: give it a larger one first, or several connections (see the "
    "finding on the window). Until then reading further ahead (read_ahead_kb) brings little."
)

_ENOUGH_AHEAD = (
    "Most calls are READs of files in order, {calls} under way at a time, and {full}: reading "
    "further ahead brings little.{larger}"
)

_LINK = "replies filled the link to the client most of the time"
"""What READs wait for where the link is full."""

_SERVER = "the server takes most of what each waits for"
"""What they wait for where it is not the network."""

_LARGER = " Larger READs (rsize, and what the server allows) need fewer calls."

_STILL_FURTHER = (
    "Most calls are READs of files in order, {calls} under way at a time, more than Linux reads "
    "ahead of one file by itself. Reading still further ahead (read_ahead_kb) helps until the link "
    "or the server is full, which nothing shows here.{larger}"
)

_AHEAD = f"Most calls are READs of files in order, {{calls}}. {read_ahead.FURTHER}"


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for the only client, or for each of several."""
    for found, cause in bound.each(material, "round_trips"):
        if found.rtt_s is not None:
            yield _observed(material, values, found, cause)
    for found, cause in bound.each(material, NETWORK_OR_SERVER):
        if found.rtt_s is not None:
            yield _undivided(material, values, found, cause)
    for found, cause in bound.seconds(material, "round_trips"):
        # Beside a larger cause only the network is told: what the server takes, others tell.
        far = (found.network_rtt_s or 0.0) > values[NETWORK.name]
        if found.rtt_s is not None and far and _network_s(found) >= MOSTLY * cause.time_s:
            seen = _observed(material, values, found, cause)
            yield replace(seen, title="A part of the time goes into round trips")


def _network_s(found: Bottleneck) -> float:
    """The network's part of its calls, seconds."""
    return sum(seconds for _, seconds in found.network_s)


def _observed(material: Material, values: Values, found: Bottleneck, cause: Cause) -> Observed:
    """Its calls wait for round trips."""
    claims = tuple(Claim(row, seconds) for row, seconds in found.network_s if seconds > 0)
    worked_s = bound.worked_s(material, found)
    network_s = _network_s(found)
    far = (found.network_rtt_s or 0.0) > values[NETWORK.name] and (
        network_s >= values[SHARE.name] * worked_s
    )
    if found.network_rtt_s is None:
        # Whoever takes it, the server or the network: neither should.
        far = _usual_s(found) > values[NETWORK.name] and (cause.share or 0.0) >= values[SHARE.name]
    return Observed(
        severity=bound.severity(material, found, claims, large=far),
        title=f"{bound.much(material, found, cause.cause)} goes into round trips"
        + ("" if not claims or network_s >= MOSTLY * cause.time_s else NOT_THE_NETWORK),
        seen=f"{units.counted(found.calls, 'call')} at a round trip of "
        f"{units.duration(found.rtt_s)} each: {units.share(cause.share)} of "
        f"{bound.whose(material, found)}."
        f"{_network(material, found)}{_cost(cause, network_s)}",
        why=_MANY_WAIT if _many_at_once(material, found) else _EACH_WAITS,
        advice=_advice(material, values, found),
        confidence="certain"
        if found.network_rtt_s is not None and not _by_late_acks(material, found)
        else "likely",
        data=bound.data(found),
        frames=found.small,
        claims=claims,
        client_share=bound.client_share(found, claims),
        about=found.about,
    )


def _cost(cause: Cause, network_s: float) -> str:
    """What is counted as the cost, where anything is."""
    if not network_s:
        return ""
    return BY_CALL if network_s > CLEARLY * cause.time_s else COSTS


def _undivided(material: Material, values: Values, found: Bottleneck, cause: Cause) -> Observed:
    """Its calls wait for the network or for the server's storage, and nothing tells for which."""
    return replace(
        _observed(material, values, found, cause),
        title=f"{bound.much(material, found, cause.cause)} goes into the network or the server: "
        "nothing tells into which",
        seen=f"{units.counted(found.calls, 'call')} of {units.duration(found.rtt_s)} each or more: "
        f"{units.share(cause.share)} of {bound.whose(material, found)}. Nearly all of them are "
        "such as may wait for disks (READs, listings, stable ones), and neither a handshake nor a "
        "small call shows what the network takes of that.",
        why="A program that does one thing after the other waits for each call: for the way there "
        "and back, and for what the server takes, such as reading from its disks.",
        advice=(_ask(material, found, _WHICH), *_fewer(material, values, found)),
    )


def _ask(material: Material, found: Bottleneck, how: str) -> Advice:
    """How to find out what the network takes: by a handshake unless there is one already.

    It was slower than calls then, so that it tells nothing.
    """
    timed = any(
        half.handshakes
        for pair in _pairs(material, found)
        for half in (pair.client_side, pair.server_side)
    )
    return Advice(how.format(otherwise="" if timed else _HAVE_HANDSHAKE))


def _pairs(material: Material, found: Bottleneck) -> Iterator[RoundTrip]:
    """The round trips of its client and server; all where it is the only client."""
    for pair in material.round_trips.pairs:
        if not found.about or (pair.client, pair.server) == found.about:
            yield pair


def _by_late_acks(material: Material, found: Bottleneck) -> bool:
    """Whether the way to the client rests on ACKs that may be late for the client in part.

    They are preferred to a handshake, or they are few, and there is none.
    """
    halves = (pair.client_side for pair in _pairs(material, found) if pair.vantage != "client")
    return any(
        half.lucky or (half.source == "acks" and not half.handshakes and half.acks <= FEW_ACKS)
        for half in halves
    )


def _network(material: Material, found: Bottleneck) -> str:
    if found.network_rtt_s is None or found.rtt_s is None:
        if _served_mostly(found):
            most = units.duration(found.network_most_s)
            return f" The network takes at most {most} of it, as the quickest calls show."
        return " Nothing shows which part of it is the network."
    parts = _part(material, found, found.rtt_s, found.network_rtt_s), _ways(material, found)
    return "".join(parts) + _beside_others(material, found)


def _nearer_s(material: Material, found: Bottleneck) -> float | None:
    """What the network takes other clients of the same server, where that is far less, seconds."""
    others = sorted(
        each.network_rtt_s
        for each in material.bottleneck.clients
        if each.about[1:] == found.about[1:]
        and each.about != found.about
        and each.network_rtt_s is not None
    )
    if not others or found.network_rtt_s is None:
        return None
    usual_s = others[len(others) // 2]
    farther = found.network_rtt_s >= max(FARTHER * usual_s, usual_s + LONGER_S)
    return usual_s if farther else None


def _beside_others(material: Material, found: Bottleneck) -> str:
    """That other clients are far nearer to the same server."""
    nearer_s = _nearer_s(material, found)
    if nearer_s is None:
        return ""
    return (
        f" Other clients have {units.duration(nearer_s)} to this server (median): the way is long "
        "for this one."
    )


def _served_mostly(found: Bottleneck) -> bool:
    """Whether TCP tells nothing of the network, and the quickest calls bound it to less than half.

    Half of what a call usually takes: the server has the rest.
    """
    if found.network_rtt_s is not None or found.network_most_s is None:
        return False
    return found.network_most_s < _median_s(found) / 2


def _by_server(found: Bottleneck) -> bool:
    """Whether the server is known to have more than half of what a call usually takes."""
    if found.network_rtt_s is None:
        return _served_mostly(found)
    return found.network_rtt_s < _median_s(found) / 2


def _median_s(found: Bottleneck) -> float:
    """What a call usually takes, seconds: of the median where some slow calls make the mean."""
    usual = _usual_s(found)
    return usual if found.usual_s is None else min(usual, found.usual_s)


def _part(material: Material, found: Bottleneck, rtt_s: float, network_rtt_s: float) -> str:
    """Which part of the round trip is the network's."""
    usual = _usual_s(found)
    network = units.duration(min(network_rtt_s, usual))
    # Where what is left cannot be seen beside it, the server has no part worth a word.
    alone = network == units.duration(usual)
    if rtt_s > SKEWED * usual:
        parts = f"of which the network takes {network} and the server the rest"
        return (
            f" That is the mean; the median is {units.duration(usual)}, "
            f"{'all of which the network takes' if alone else parts}. Some calls took far longer."
        )
    if alone:
        return " The network takes all of it."
    if _varies(material, found, usual - network_rtt_s):
        return (
            f" The network takes {network} of it, and perhaps all: its own round trips vary by "
            "more than the rest."
        )
    return f" The network takes {network} of it, the server the rest."


def _ways(material: Material, found: Bottleneck) -> str:
    """That the network takes longer on some connections, so that its part is a mean."""
    ways = [
        way
        for way in material.own_ways
        if not found.about or (way.client, way.server) == found.about
    ]
    if not ways:
        return ""
    longest = max(ways, key=lambda way: way.longer_ns)
    ports = wording.listed([str(way.port) for way in ways], NAMED)
    on, up_to = ("connection", "") if len(ways) == 1 else ("connections", "up to ")
    others_s = (longest.rtt_ns - longest.longer_ns) / NANOSECONDS
    return (
        f" That is a mean: on the {on} from port {ports} the network takes {up_to}"
        f"{units.duration(longest.rtt_ns / NANOSECONDS)}, on others {units.duration(others_s)}."
    )


def _varies(material: Material, found: Bottleneck, rest_s: float) -> bool:
    """Whether the network's round trips vary by as much as this: then nobody else need take it."""
    return any(
        scatter_s(pair.server_side) + scatter_s(pair.client_side) >= rest_s
        for pair in _pairs(material, found)
    )


def _usual_s(found: Bottleneck) -> float:
    """What a call without storage takes of which network and server are the parts, seconds.

    The median where a few slow calls make the mean: what held these up, such as segments that were
    lost, is not what the server takes for each.
    """
    rtt = found.rtt_s or 0.0
    usual = rtt if found.usual_s is None else found.usual_s
    return usual if rtt > SKEWED * usual else rtt


def _on_reads(material: Material, found: Bottleneck) -> Advice | None:
    """What to do where most of its calls are READs that continue one another; None elsewhere."""
    reads = [
        (pair, pair.reads)
        for pair in material.transfer_runs
        if not found.about or pair.client in found.about
    ]
    in_runs = sum(each.in_runs for _, each in reads)
    if in_runs < READING * found.calls:
        return None
    by_program = [each for pair, each in reads if _past_cache(material, pair)]
    if sum(each.even for each in by_program) >= READING * in_runs:
        largest = max(each.largest_bytes for each in by_program)
        return Advice(_PAST_CACHE.format(size=units.size(largest)))
    under_way = _under_way(material, found)
    if window := _full_window(material, found):
        return Advice(_WINDOW_FIRST.format(calls=f"{under_way:.2g}", window=window))
    largest = max(each.largest_bytes for _, each in reads)
    beyond = read_ahead.beyond_default(under_way, largest)
    full = ""
    if read_ahead.full_link(material, found.about, bound.worked_s(material, found)):
        full = _LINK
    elif beyond and _by_server(found):
        full = _SERVER
    calls = f"{under_way:.3g}"
    larger = _LARGER if any(_larger_allowed(each) for _, each in reads) else ""
    if full:
        return Advice(_ENOUGH_AHEAD.format(calls=calls, full=full, larger=larger))
    if beyond:
        return Advice(_STILL_FURTHER.format(calls=calls, larger=larger), read_ahead.RISK)
    return Advice(
        _AHEAD.format(
            calls=f"{under_way:.2g} under way at a time"
            if under_way >= SEVERAL
            else "each of which waits for the one before"
        ),
        read_ahead.RISK,
    )


def _larger_allowed(reads: Runs) -> bool:
    """Whether the server is not known to allow no larger READs."""
    return reads.allowed_bytes is None or reads.largest_bytes < reads.allowed_bytes


def _past_cache(material: Material, pair: TransferRuns) -> bool:
    """Whether READs are as small as the program makes them.

    They could be larger, and no rsize limits them: that shows by READs that were sent before the
    one before was answered (`mount_sizes`).
    """
    limited = any(
        verdict.options[0].startswith("rsize=")
        for mount in material.cache.mounts
        if (mount.client, mount.server, mount.part) == (pair.client, pair.server, pair.part)
        for verdict in mount.verdicts
    )
    largest, allowed = pair.reads.largest_bytes, pair.reads.allowed_bytes
    return not limited and largest <= SMALL_READ_BYTES and (allowed is None or largest < allowed)


def _full_window(material: Material, found: Bottleneck) -> str | None:
    """The client's window that its READs filled, so that no more of them fit; None without one."""
    for each in material.full_windows:
        mine = each.client in (found.about or (each.client,)) and each.receiver == "client"
        if mine and each.cost_s >= WINDOW * sum(seconds for _, seconds in found.network_s):
            return units.size(each.window_bytes)
    return None


def _under_way(material: Material, found: Bottleneck) -> float:
    """Its calls under way on average while any was; 0 where that is not known."""
    pairs = [pair for pair in material.caps.pairs if not found.about or pair.client in found.about]
    busy_s = sum(pair.busy_s for pair in pairs)
    return sum(pair.mean * pair.busy_s for pair in pairs) / busy_s if busy_s else 0.0


def _many_at_once(material: Material, found: Bottleneck) -> bool:
    """Whether so many of its calls are under way that more programs would hardly add any."""
    return _under_way(material, found) >= MANY


def _makes(found: Bottleneck) -> bool:
    """Whether enough of its calls make files that one archive or another way would spare them."""
    made = sum(kind.calls for kind in found.kinds if kind.op in MAKING)
    return made >= max(FILES, STORING * found.calls)


def _at_once(material: Material, values: Values, found: Bottleneck) -> Advice:
    """What makes more calls overlap: where programs wait already, not more of them."""
    few = concurrency_cap.few(material, values)
    if found.about in few or (few and not found.about):
        return _NOT_YET
    return _APART if one_by_one(material, values, found) else _AT_ONCE


def _fewer(material: Material, values: Values, found: Bottleneck) -> tuple[Advice, ...]:
    """How to wait less often, whatever each call waits for."""
    more = _at_once(material, values, found)
    on_reads = _on_reads(material, found)
    if on_reads is not None:
        return on_reads, more
    if more == _AT_ONCE and _many_at_once(material, found):
        return (_IN_ONE_STREAM if _makes(found) else _SEND_FEWER,)
    if found.stable_calls >= max(1.0, STORING * found.calls):
        less = _IN_ONE_STREAM if _makes(found) else _SEND_FEWER
        return (less, more) if more == _AT_ONCE else (more, less)
    return more, _LOOK_AT_LESS


def _advice(material: Material, values: Values, found: Bottleneck) -> tuple[Advice, ...]:
    way = () if _nearer_s(material, found) is None else (_OWN_WAY,)
    nearer = Advice("Run the job nearer to the server: same site, same switch, or on the server.")
    served = Advice(
        "The server itself takes most of each round trip: look at its processor, its power "
        "saving (C-states, governor) and its virtualisation before the network."
    )
    fewer = _fewer(material, values, found)
    whose = _ask(material, found, _WHOSE)
    slow = Advice(
        "See first why some calls took so much longer than the others: where no finding on loss, "
        "waiting or slow calls tells, pcapnfs report shows when it was, perfile what they were "
        "about."
    )
    first = (slow,) if (found.rtt_s or 0.0) > SKEWED * _usual_s(found) else ()
    if found.network_rtt_s is None:
        return (*first, served if _served_mostly(found) else whose, *fewer)
    if _by_server(found):
        return (*first, served, *fewer)
    return (*first, *way, *fewer, nearer)


RULE = Rule(
    id="round_trip_bound",
    title="Round trips take a large part of the time",
    origin="practice: calls times round trip against the run time",
    judge=judge,
    thresholds=(NETWORK, SHARE),
    general=True,
)
