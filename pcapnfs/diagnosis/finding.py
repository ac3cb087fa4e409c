"""What a finding is, and what a rule says before costs are settled.

A `Rule` judges; it gives an `Observed` for each thing that it saw, with `Claim`s on the time
budget; `settle` makes `Finding`s of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from pcapnfs.confidence import Confidence
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Threshold, Values

Severity = Literal["problem", "warning", "note"]
"""`problem`: it costs much of the time, or puts data at risk. `warning`: it may, or costs some.
`note`: worth knowing when reading the rest."""

SEVERITIES: tuple[Severity, ...] = ("problem", "warning", "note")
"""From the gravest."""

OWN_SHARE = 0.01
"""A smaller part of a cost is no more than a trace."""


class Advice(Record):
    """Something that can be done about it."""

    action: str
    """What to change, and where: a mount option, an export option, hardware, the application."""
    risk: str | None = None
    """What it may break or lose; None when it is safe."""


class Explanation(Record):
    """What a rule says of something that it saw, where that goes by what else it saw."""

    title: str
    """It in a few words."""
    why: str
    """Why that matters, or what it comes from."""
    advice: tuple[Advice, ...]
    """What can be done, best first."""


class Claim(Record):
    """Time that a rule holds its finding responsible for."""

    row: str
    """The row of the time budget in which that time is booked."""
    seconds: float
    """How much of it would not have been spent otherwise, seconds."""


class Subject(Record):
    """One of several of whom a finding says the same."""

    about: tuple[str, ...]
    """Addresses of the client and the server, or of the server alone."""
    saving_s: float | None
    """What would be saved if it were mended for this one alone, seconds; None when it costs no
    time, or the capture cannot tell how much."""
    calls: int | None
    """Calls of this one that it is about; None where it is not about calls."""


class Observed(Record):
    """What a rule saw."""

    severity: Severity
    """How grave it is."""
    title: str
    """It in a few words."""
    seen: str
    """What was counted and measured, in sentences."""
    why: str
    """Why that matters."""
    advice: tuple[Advice, ...]
    """What can be done, best first."""
    confidence: Confidence
    """How sure it is."""
    data: str
    """How much there was to judge by."""
    frames: tuple[int, ...] = ()
    """Example frames, most telling first."""
    claims: tuple[Claim, ...] = ()
    """What it costs; empty when it costs no time, or the capture cannot tell how much."""
    about: tuple[str, ...] = ()
    """Whom it concerns: client and server, or empty for the whole capture."""
    calls: int | None = None
    """Calls that it is about, which several clients' add up to; None where it is not about calls,
    or another number says more."""
    at_most: Severity | None = None
    """How grave the costs of several alike can make it; None: its severity does not go by cost."""
    also: tuple[str, ...] = ()
    """Rules that leave to this one what they would say of the same."""
    display_filter: str | None = None
    """A Wireshark display filter for all evidence; None: one for the example frames."""
    part: str | None = None
    """The file systems that it is about, where one of several mounts is told from others; not
    escaped. None: all that they exchanged."""
    waiting: tuple[str, ...] | None = None
    """Addresses of the clients whose time it takes; None: of the client that it is about."""
    client_share: float | None = None
    """What it costs as a share of the time in which these were active, 0…1, by which it is judged,
    too (`severity.by_client`); None where it is not."""


class Rule(Record):
    """A rule: one file in `rules`."""

    id: str
    """Its name, which never changes."""
    title: str
    """What it looks for, in a few words."""
    origin: str
    """Where it comes from: who uses it, which specification says so."""
    judge: Callable[[Material, Values], Iterable[Observed]]
    """The rule itself: a pure function."""
    thresholds: tuple[Threshold, ...] = ()
    """What it compares with."""
    topic: str | None = None
    """Rules of one topic say the same of one subject in other words: only the one with the larger
    cost is shown. None: it is alone."""
    general: bool = False
    """It speaks of time in general, whatever the cause: it claims what no particular rule did."""
    of_times: bool = False
    """It speaks of what calls took also where it claims nothing: where that is not known, it is
    silent, as are claims."""


class Finding(Record):
    """Something that is wrong, or worth knowing."""

    id: str
    """The rule's name: stable, for scripts and tickets."""
    severity: Severity
    """`problem`: it costs much of the time, or puts data at risk; `warning`: it may, or costs some;
    `note`: worth knowing when reading the rest."""
    title: str
    """It in a few words."""
    about: tuple[str, ...]
    """Addresses of the client and the server that it concerns, of the costliest where there are
    several; empty: the whole capture."""
    alike: tuple[Subject, ...]
    """All of whom it says the same, the costliest first; empty where there is only one."""
    evidence: str
    """What was counted and measured, in sentences."""
    why: str
    """Why that matters."""
    cost_s: float | None
    """What it costs beyond what is booked to graver findings, and to costlier ones of its severity,
    seconds of the time budget: these add up over all findings. None when it costs no time, or the
    capture cannot tell how much."""
    cost_share: float | None
    """The same as a share of the time budget, 0…1; None like `cost_s`."""
    saving_s: float | None
    """What would be saved if this alone were mended, seconds: findings may share time, so these do
    not add up. None like `cost_s`."""
    advice: tuple[Advice, ...]
    """What can be done, best first."""
    confidence: Confidence
    """`certain`: the packets say so themselves; `likely`: they have no other common cause;
    `possible`: there is another one, or there is little data."""
    data: str
    """How much there was to judge by."""
    frames: tuple[int, ...]
    """Example frames, most telling first."""
    display_filter: str | None
    """A Wireshark display filter for the evidence; None without any frame to show, and where they
    could only be named by number in one of several streams of packets."""
    also: tuple[str, ...]
    """Names of other rules that say the same of the same subject, and were merged into this."""
    origin: str
    """Where the rule comes from."""
    general: bool = False
    """It speaks of time in general, whatever the cause, which other findings may say."""
    client_share: float | None = None
    """What it costs by itself as a share of the time in which its client was active, or those that
    wait for it, 0…1, and of several alike the largest of these: the severity goes by that as well.
    None where there is only one client and it made no long pauses, where it costs less than a
    second, where severity does not go by cost, and where it is not known whose time it is."""
    cost_idle_s: float = 0.0
    """What of `cost_s` is time in which no call was under way (the row `client`), seconds: pauses
    that go with its calls."""

    @property
    def all_shared(self) -> bool:
        """Whether other findings have claimed all that it costs, or all but a trace."""
        return (self.cost_s or 0.0) < OWN_SHARE * (self.saving_s or 0.0)

    @property
    def mostly_shared(self) -> bool:
        """Whether they have claimed as much as is left of it, or more, but not all."""
        if self.cost_s is None or self.saving_s is None or self.all_shared:
            return False
        return 2 * self.cost_s <= self.saving_s

    @property
    def partly_shared(self) -> bool:
        """Whether they have claimed a part of what it costs."""
        saving_s = self.saving_s or 0.0
        return saving_s - (self.cost_s or 0.0) > OWN_SHARE * saving_s
