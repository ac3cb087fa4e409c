"""Where Wireshark's programs are, which version, and which ports they give to other protocols.

Takes names of programs; gives paths. Promises one sentence on how to install what is absent.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pcapnfs.errors import PcapnfsError

INSTALL = (
    "tshark is not installed: `apt install tshark`, `dnf install wireshark-cli` or "
    "`brew install wireshark`"
)
"""What to do without it."""


class NoTsharkError(PcapnfsError):
    """Wireshark's programs are not installed, or refuse to start."""


def find(program: str = "tshark") -> str:
    """The path of one of Wireshark's programs, as pyshark finds it.

    Raises:
        NoTsharkError: It is not installed.
    """
    from pyshark.tshark import tshark

    try:
        found = str(tshark.get_process_path())
    except tshark.TSharkNotFoundException as error:
        raise NoTsharkError(INSTALL) from error
    if program == "tshark":
        return found
    # pyshark's settings know no other program; Wireshark installs them side by side.
    beside = shutil.which(program, path=str(Path(found).parent)) or shutil.which(program)
    if beside is None:
        raise NoTsharkError(f"{program} is not installed, though tshark is: both are Wireshark's")
    return beside


def version() -> str:
    """Version of the installed tshark, as in `4.0.17`.

    Raises:
        NoTsharkError: It is not installed, or says nothing that looks like a version.
    """
    found = re.search(r"\d+\.\d+\.\d+", _output(find(), "--version"))
    if found is None:
        raise NoTsharkError("tshark does not tell its version")
    return found[0]


def owners(ports: Iterable[tuple[str, int]]) -> Mapping[tuple[str, int], str]:
    """Which protocol tshark would take each of these ports for; those without one are not in it.

    `ports` are pairs of transport, `tcp` or `udp`, and number.
    """
    wanted = {(f"{transport}.port", str(port)): (transport, port) for transport, port in ports}
    found = {}
    for line in _output(find(), "-G", "decodes").splitlines():
        table, _, rest = line.partition("\t")
        port, _, protocol = rest.partition("\t")
        if (table, port) in wanted and protocol != "rpc":
            found[wanted[table, port]] = protocol
    return found


@cache
def _output(program: str, *arguments: str) -> str:
    """What a program prints of itself, which does not change: asked once."""
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, errors="replace", check=False
    )
    return done.stdout


def last_line(text: bytes) -> str:
    """The last line that a program wrote, which says why it gave up."""
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it gave no reason"
