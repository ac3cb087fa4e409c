"""What `redact` and `annotate` share: checks of the files that they read and write.

Takes paths; gives a temporary path for the new capture, which is complete or not there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pcapnfs import naming, placement, usage
from pcapnfs.errors import CaptureError, PcapnfsError, UsageError, not_written
from pcapnfs.usage import PathLike


def named(sources: PathLike | Sequence[PathLike]) -> list[Path]:
    """The captures as a list: one, or several that belong together.

    Raises:
        UsageError: None is named, or one is named twice.
    """
    several = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    if not several:
        raise UsageError("name a capture")
    usage.demand_once(several)
    return [Path(source) for source in several]


def packing(target: Path) -> str:
    """How the target is to be compressed, as the core calls it."""
    return naming.WRITTEN.get(target.suffix, "none")


def check(sources: Sequence[Path], target: Path, *, overwrite: bool) -> None:
    """Refuse what cannot be done, before any of it is.

    Raises:
        UsageError: The target is there, is one of the sources, or has a name that cannot be served;
            a source is no file.
    """
    usage.demand_files(sources)
    if str(target) == placement.STANDARD_OUTPUT:
        raise UsageError("-: a capture is written into a file; name one")
    if target.suffix in naming.COMPRESSIONS.keys() - naming.WRITTEN.keys():
        kinds = " and ".join(naming.WRITTEN)
        raise UsageError(f"{target}: {target.suffix} is not written; {kinds} are")
    if os.path.isdir(target):
        raise UsageError(f"{target} is a directory")
    demand_another(sources, target)
    if os.path.exists(target) and not overwrite and not placement.only_written_to(target):
        there = f"{target} is there already"
        raise UsageError(
            f"{there}; overwrite=True overwrites it", shell=f"{there}; --force overwrites it"
        )


def demand_another(sources: Sequence[Path], target: Path) -> None:
    """Refuse to write over a source, or into a trace, be it one of them or another.

    Raises:
        UsageError: The target is one of them, or in a trace.
    """
    above = list(filter(os.path.exists, Path(os.path.realpath(target)).parents))
    for source in filter(os.path.exists, sources):
        if same_file(target, source):
            raise UsageError(f"{target} is the capture itself")
        # A trace of independent captures has directories of its own.
        if any(parent.samefile(source) for parent in above):
            there = os.path.exists(target)
            what = "a part of the trace itself" if there else "in the trace itself"
            raise UsageError(f"{target} is {what}; choose another place")
    if str(target) != placement.STANDARD_OUTPUT:
        usage.demand_outside(target)


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, or would, where it is not there yet."""
    there = os.path.exists(one) and os.path.exists(other)
    return (there and one.samefile(other)) or os.path.realpath(one) == os.path.realpath(other)


def demand_no_capture(target: Path) -> None:
    """Refuse to write over a capture: there may be no other copy, and its name is soon mistyped.

    Raises:
        UsageError: The target is one by its name or by its first bytes, or may be one: it is
            compressed, and cannot be unpacked so far.
    """
    if str(target) == placement.STANDARD_OUTPUT:
        return
    if not os.path.isfile(target) or placement.only_written_to(target):
        return
    from pcapnfs import _core

    found: bool | None = naming.capture(target) is not None
    if not found:
        with contextlib.suppress(_core.ReadError):  # What nobody may read is none.
            found = _core.is_capture(str(target))
    if found is not False:
        what = "is a capture" if found else "may be a compressed capture"
        raise UsageError(f"{target} {what}, and is not written over; choose another name")


def reporter(
    progress: Callable[[int, int], None] | None, sources: Sequence[Path], readings: int = 1
) -> Callable[[float], None] | None:
    """What the core tells how far it is, 0 to 1, for whoever wants bytes; None for nobody.

    Args:
        progress: Called with bytes done and bytes in all.
        sources: The captures.
        readings: How often each is read.
    """
    if progress is None:
        return None
    size = readings * sum(source.stat().st_size for source in sources if os.path.exists(source))
    return lambda done: progress(int(size * done), size)


def copy(sources: Sequence[Path], target: Path) -> None:
    """Write all packets that are found in captures, in order of time, into a new one (pcapng).

    Raises:
        CaptureError: What the core says of a capture that it cannot read.
        PcapnfsError: The file cannot be written.
    """
    with writing(target) as new:
        from pcapnfs import _core

        _core.annotate([str(source) for source in sources], str(new), {})


@contextmanager
def writing(target: Path) -> Iterator[Path]:
    """Give a new file beside the target, which takes its place when all went well.

    Raises:
        CaptureError: What the core says of a capture that it cannot read.
        PcapnfsError: The file cannot be written.
    """
    from pcapnfs import _core

    try:
        with placement.placed_file(target) as new:
            yield new
    except _core.ReadError as error:
        raise CaptureError(str(error)) from error
    except OSError as error:
        raise PcapnfsError(not_written(target, error)) from error
