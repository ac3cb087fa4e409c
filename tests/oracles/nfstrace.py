"""Reads what nfstrace, another passive decoder, expects of its own captures.

Takes one of its `.ref` files; gives for each protocol the counts of the whole file and of each
session. Promises that the sessions add up to the whole.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

_SECTION = "###  Breakdown analyzer  ###\n"
_PROTOCOL = re.compile(r"NFS v(?P<version>[\d.]+) protocol\n")
_WHOLE = re.compile(r"^(?P<name>[A-Z_]+) +(?P<count>\d+) +[\d.]+%$", re.M)
_SESSION = re.compile(
    r"^Session: (?P<client>\S+):(?P<port>\d+) --> (?P<server>\S+):(?P<server_port>\d+) "
    r"\[(?P<transport>TCP|UDP)\]\n(?P<body>(?:.*\n)*?)(?=Session: |\Z)",
    re.M,
)
_ROW = re.compile(r"^(?P<name>[A-Z_]+) +Count: *(?P<count>\d+) ", re.M)


@dataclass(frozen=True, slots=True)
class Session:
    """Both ends of a connection, as nfstrace writes them."""

    transport: str
    client: str
    client_port: int
    server: str
    server_port: int


@dataclass(frozen=True, slots=True)
class Breakdown:
    """What nfstrace counted of one protocol; names are procedures, of NFSv4 also operations."""

    whole: Counter[str]
    sessions: dict[Session, Counter[str]]


def breakdowns(reference: Path) -> dict[str, Breakdown]:
    """The protocols of which nfstrace found calls, by version: "3", "4.0", "4.1".

    Raises:
        ValueError: The sessions do not add up to the whole.
    """
    found = {}
    for section in reference.read_text(encoding="utf-8").split(_SECTION):
        protocol = _PROTOCOL.match(section)
        if protocol is None:
            continue  # CIFS, or "Data transmission has not been detected."
        sessions = {_session(match): _counts(_ROW, match["body"]) for match in _sessions(section)}
        breakdown = Breakdown(_counts(_WHOLE, section), sessions)
        if sum(sessions.values(), Counter()) != breakdown.whole:
            raise ValueError(f"{reference.name}: the sessions do not add up")
        found[protocol["version"]] = breakdown
    return found


def _sessions(section: str) -> list[re.Match[str]]:
    return list(_SESSION.finditer(section))


def _session(match: re.Match[str]) -> Session:
    return Session(
        match["transport"],
        match["client"],
        int(match["port"]),
        match["server"],
        int(match["server_port"]),
    )


def _counts(row: re.Pattern[str], text: str) -> Counter[str]:
    """Counts by name; those of zero are left out."""
    return +Counter({match["name"]: int(match["count"]) for match in row.finditer(text)})
