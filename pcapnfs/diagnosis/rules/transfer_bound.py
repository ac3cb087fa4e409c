"""Much of the time goes into moving the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.wire import full_windows
from pcapnfs.analyses.wire.loss_rate import holding
from pcapnfs.diagnosis import bound
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.rules.tcp_loss import LEAST, SHARE

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.bottleneck import Bottleneck
    from pcapnfs.analyses.forecasts.verdict import Cause
    from pcapnfs.analyses.wire.full_windows import FullWindow
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values


WINDOW_BYTES = 1 << 16
"""Bytes that TCP can have under way without window scaling (RFC 7323 section 2.1). Where no more
move in a round trip, a window may be what holds them down, on a path that is longer than this:"""

LONG_S = 0.001

NOTABLE = 0.1
"""A direction in which less than so much of the bytes moved has no rate worth telling."""

_MESSAGES = {"client": "large calls", "server": "large replies"}
"""What large messages are, by who sends them."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for the only client, or for each of several."""
    for found, cause in bound.each(material, "transfer"):
        yield _observed(material, values, found, cause)


def _observed(material: Material, values: Values, found: Bottleneck, cause: Cause) -> Observed:
    """Its bytes take the time."""
    transfer_s = cause.time_s if found.about else material.budget_rows()["transfer"]
    claims = (Claim("transfer", transfer_s),)
    held_down = _held_down(material, found, transfer_s)
    stands = _stands(material, found, transfer_s)
    lossy = not held_down and stands is None and _lossy(material, values, found)
    rates = _rates(material, found, transfer_s)
    window = (
        None
        if held_down or lossy or stands is not None
        else _window(material, found, max((rate for _, rate in rates), default=0.0))
    )
    return Observed(
        severity=bound.severity(material, found, claims, large=not held_down and stands is None),
        title=f"{bound.much(material, found, cause.cause)} goes into moving the data",
        seen=f"Bytes of calls and replies were on their way for {units.duration(transfer_s)}, "
        f"{units.share(cause.share)} of {bound.whose(material, found)}: "
        f"{units.size(found.moved_bytes)} in all{_told(rates)} while they moved." + (window or ""),
        why=_WHY_LOSSY
        if lossy
        else _stood(stands)
        if stands is not None
        else _WHY
        if window is None
        else _WHY_WINDOW,
        advice=(*(_LOST if held_down else _RATE if stands is None else _FULL_WINDOW), _LESS),
        confidence="likely" if lossy or window is not None else "certain",
        data=bound.data(found),
        claims=claims,
        client_share=bound.client_share(found, claims),
        about=found.about,
    )


def _rates(material: Material, found: Bottleneck, transfer_s: float) -> list[tuple[str, float]]:
    """How fast which messages moved, bytes a second, the longest in all first.

    The large ones tell it, for a client each way, where they are most of the bytes. Otherwise it is
    what moved, by what that took of the clock.
    """
    mine = [
        each
        for each in material.data_rates
        if not found.about or each.client in found.about
        if each.moved_bytes >= NOTABLE * found.moved_bytes
    ]
    if 2 * sum(each.moved_bytes for each in mine) >= found.moved_bytes > 0:
        clients = {each.client for each in mine}
        if len(clients) == 1:
            return [(_MESSAGES[each.sender], each.bytes_per_s) for each in mine]
    return [("", found.moved_bytes / transfer_s)] if transfer_s > 0 else []


def _told(rates: list[tuple[str, float]]) -> str:
    told = [f"{messages} at {units.rate(rate)}".lstrip() for messages, rate in rates]
    return f", {' and '.join(told)}" if told else ""


def _held_down(material: Material, found: Bottleneck, transfer_s: float) -> bool:
    """Whether it is lost segments that most of it waits for: `tcp_loss` says how grave that is."""
    mine = [each for each in material.loss_rates if each.client in (found.about or (each.client,))]
    return holding(mine, transfer_s) is not None


def _stands(material: Material, found: Bottleneck, transfer_s: float) -> FullWindow | None:
    """The full window that most of it waits for: `full_window` says how grave that is."""
    mine = (
        each for each in material.full_windows if each.client in (found.about or (each.client,))
    )
    return full_windows.holding(mine, transfer_s)


def _stood(window: FullWindow) -> str:
    return (
        f"Most of it is a sender that stood since the {window.receiver}'s TCP window of "
        f"{units.size(window.window_bytes)} was full: what does not fit takes another round trip, "
        "however fast the link is."
    )


def _window(material: Material, found: Bottleneck, rate: float) -> str | None:
    """How little moved in a round trip, where a TCP window may hold its client's data down.

    Args:
        material: What is known.
        found: What the client's time went into.
        rate: How fast its data moved, bytes a second; 0 where that is not known.
    """
    full = bound.full(material)
    trips = [
        trip
        for trip in material.round_trips.pairs
        if trip.client in (found.about or (trip.client,))
    ]
    if rate <= 0 or any((trip.client, trip.server) in full for trip in trips):
        return None
    path_s = min((trip.path_s for trip in trips if trip.path_s is not None), default=0.0)
    moved = rate * path_s
    if path_s < LONG_S or moved > WINDOW_BYTES or _windows_told(material, found):
        return None
    return f" That is {units.size(moved)} in each round trip of {units.duration(path_s)}."


def _windows_told(material: Material, found: Bottleneck) -> bool:
    """Whether its windows are known: those that are full are told, others hold nothing down."""
    mine = [
        pair
        for pair in material.tcp_stalls
        if pair.client in (found.about or (pair.client,)) and pair.segments
    ]
    return bool(mine) and all(pair.windows_told for pair in mine)


def _lossy(material: Material, values: Values, found: Bottleneck) -> bool:
    """Whether segments of its client were lost, on a path that nothing shows to be full."""
    full = bound.full(material)
    return any(
        pair.lost >= values[LEAST.name] and pair.lost > values[SHARE.name] * pair.segments
        for pair in material.tcp_stalls
        if pair.client in (found.about or (pair.client,)) and (pair.client, pair.server) not in full
    )


_WHY = "What is left is bandwidth: fewer calls or faster disks do not help."

_WHY_LOSSY = (
    "What is left is bandwidth, or TCP: where segments are lost, a sender has only a few under way "
    "at once, and what does not fit takes another round trip, however fast the link is. Faster "
    "disks do not help."
)

_WHY_WINDOW = (
    "What is left is bandwidth, or a small TCP window (socket buffers, a middlebox): a sender has "
    "no more than a window under way, and what does not fit takes another round trip, however fast "
    "the link is. Faster disks do not help."
)

_LOST = (
    Advice(
        "Mend the loss first: it holds the transfer down (see the finding on TCP), and a faster "
        "link alone would not be faster."
    ),
)

_FULL_WINDOW = (
    Advice(
        "Mend the window first (see the finding on it): it holds the transfer down, and a faster "
        "link alone would not be faster."
    ),
)

_RATE = (
    Advice(
        "Compare the rate with the link's: if it is near, a faster link, or several (nconnect, "
        "bonding), is the way."
    ),
    Advice(
        "If it is far below, look for loss, small TCP windows (net.ipv4.tcp_rmem, tcp_wmem) and a "
        "busy processor (encryption, checksums): see the findings on TCP."
    ),
)

_LESS = Advice(
    "Move less: keep what is read again in a cache (mount with fsc, cachefilesd runs), compress."
)

RULE = Rule(
    id="transfer_bound",
    title="Moving data takes a large part of the time",
    origin="practice: transfer time of messages, apart from their service time",
    judge=judge,
    general=True,
)
