"""READs of files in order, and how far clients read ahead of programs.

Takes what the analyses know of READs and of links; gives what rules share: whose READs are in
order, and what makes a client read further ahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.analyses.data.transfer_runs import Runs
    from pcapnfs.diagnosis.material import Material

MOST = 0.5
"""The part from which on calls are mostly READs of files in order, or these sent ahead."""

WINDOW_BYTES = 262144
"""As far as Linux reads ahead since 5.4 (read_ahead_kb is 128) where a program says that it reads
in order (posix_fadvise(2)), as cp, md5sum and sort do. Of others it is half."""

RISK = "programs that read here and there fetch more than they use."
"""What reading further ahead may cost."""

FURTHER = (
    "Have the client read further ahead: since Linux 5.4 it does so by 128 KiB only (256 KiB for "
    "programs that announce to read in order, such as cp), however large rsize is "
    "(/sys/class/bdi/0:NN/read_ahead_kb, NN from mountpoint -d; for good with nfsrahead in "
    "/etc/nfs.conf). Before, it read 15 times rsize ahead. A program that reads past the cache "
    "(O_DIRECT) gains nothing by it: let it read larger pieces."
)
"""How to make it do so, and whom that helps."""


def beyond_default(under_way: float, largest_bytes: int) -> bool:
    """Whether more is under way than Linux reads ahead by itself.

    It asks for the next window while a program reads in the one before. Programs that ask for more
    than a window at once get as much in one READ as rsize allows.

    Args:
        under_way: READs under way on average.
        largest_bytes: The most that one of them brought.
    """
    return under_way * largest_bytes > 2 * max(WINDOW_BYTES, largest_bytes)


def sent_ahead(material: Material, about: tuple[str, str], calls: int) -> Runs | None:
    """READs that make most of these calls, and are under way with others of their file.

    A program's threads that read a file each have one under way in each.

    Args:
        material: What is known.
        about: Addresses of client and server.
        calls: Their calls.
    """
    reads = [pair.reads for pair in material.transfer_runs if (pair.client, pair.server) == about]
    in_runs = sum(each.in_runs for each in reads)
    if in_runs < MOST * calls or sum(each.ahead for each in reads) < MOST * in_runs:
        return None
    return max(reads, key=lambda each: each.in_runs, default=None)


def full_link(material: Material, about: tuple[str, ...], worked_s: float) -> bool:
    """Whether replies filled the link to a client for most of the time that it worked.

    Args:
        material: What is known.
        about: Addresses of client and server; none: the only ones.
        worked_s: That time, seconds.
    """
    full_ns = sum(
        each.until_ns - each.from_ns
        for each in material.slower_paths
        if each.full_of == "replies" and (not about or (each.client, each.server) == about)
    )
    return full_ns >= MOST * worked_s * NANOSECONDS > 0
