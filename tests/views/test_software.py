"""Which software clients and servers are, in a line."""

from __future__ import annotations

from pcapnfs.analyses.mounts.software import Changed, Kind, Software
from pcapnfs.views.software import line

LINUX = "Linux 6.1.176 #1 SMP x86_64 (kernel.org)"


def kind(software: str, hosts: int = 1) -> Kind:
    return Kind(software, "implementation", hosts, ("10.0.0.2",), 1)


def test_nothing_is_said_of_a_side_that_says_nothing() -> None:
    assert line(Software()) is None
    assert line(Software(clients=(kind(LINUX),))) == "Client: Linux 6.1.176"
    assert line(Software(clients=(kind(LINUX),)), whole=True) == f"Client: {LINUX}"
    assert line(Software(servers=(kind("Chimera"),))) == "Server: Chimera"


def test_a_library_mounts_nothing() -> None:
    """Advice on mount options would send its user to a mount that is not there."""
    said = line(Software(clients=(kind("libnfs"),)))
    assert said == (
        "Client: libnfs; the client is the libnfs library, not a mount: set the values of mount "
        "options in the program"
    )
    assert "library" not in (line(Software(servers=(kind("libnfs"),))) or "")


def test_several_are_counted() -> None:
    assert line(Software(clients=(kind(LINUX, 3),))) == "Clients: Linux 6.1.176"
    kinds = (kind(LINUX, 3), kind("Windows"))
    assert line(Software(clients=kinds)) == "Clients: Linux 6.1.176 (3), Windows (1)"


def test_those_that_are_the_same_in_short_are_one() -> None:
    found = Software(clients=(kind(LINUX, 3), kind(LINUX.replace("#1", "#2"))))
    assert line(found) == "Clients: Linux 6.1.176"


def test_of_many_the_first_are_named() -> None:
    found = Software(servers=tuple(kind(f"Server {number}") for number in range(6)))
    first = ", ".join(f"Server {number} (1)" for number in range(4))
    assert line(found) == f"Servers: {first} and 2 more"


def test_one_that_changed_is_told_with_what_it_was() -> None:
    again = LINUX.replace("#1", "#2")
    found = Software(
        clients=(kind(again),),
        changed=(
            Changed("client", "10.0.0.2", "Linux 5.14.0 #1 SMP (kernel.org)", LINUX, 70),
            Changed("client", "10.0.0.2", LINUX, again, 90),
        ),
    )
    assert line(found) == (
        "Client: Linux 6.1.176; 10.0.0.2 was Linux 5.14.0 before frame 70; "
        f"10.0.0.2 was {LINUX} before frame 90"
    )
