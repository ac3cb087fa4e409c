"""What other implementations counted of their own traffic (the captures in corpus/other).

Takes a truth file's content; gives the counts by name. Four kinds of client and server kept count:
NFS-Ganesha (`server_statistics`), a client that counts each call that it sends (`calls_sent`),
programs that count their calls into a client library (`library_calls`), and kernels
(`mountstats_delta_total`; of pNFS also the server's `nfsd_counters_delta`).

What they do not count, by their own definition:

- Ganesha's statistics hold neither NULL nor a call that it refused before it was executed: a
  version or procedure that does not exist, or arguments that end early. Over UDP it executes those
  too, since it reads on behind their end.
- Mountstats names compounds after their purpose; NULL and what makes a session are the client's,
  not the mount's.
- A call into a library is no RPC. Only those that cost exactly one call of one procedure are
  compared (`ONE_CALL`), and only where none of them failed: a path that is not found costs LOOKUPs
  and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

Truth = Mapping[str, Any]
"""A truth file's content."""

_MAKES = {"CREATE": ("nfs_mkdir", "nfs_mkdir_async", "nfs_symlink")}
_DROPS = {"REMOVE": ("nfs_unlink", "nfs_rmdir", "nfs_rmdir_async")}
_EITHER = {
    "RENAME": ("nfs_rename", "Rename"),
    "LINK": ("nfs_link",),
    "READLINK": ("nfs_readlink",),
    "WRITE": ("nfs_pwrite", "nfs_pwrite_async", "File.Write"),
    "READ": ("nfs_pread", "nfs_pread_async"),
}

ONE_CALL: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "3": _EITHER
    | {
        "MKDIR": ("nfs_mkdir", "nfs_mkdir_async", "Mkdir"),
        "SYMLINK": ("nfs_symlink", "Symlink"),
        "REMOVE": ("nfs_unlink", "Remove"),
        "RMDIR": ("nfs_rmdir", "nfs_rmdir_async", "RmDir"),
        "CREATE": ("nfs_creat", "OpenFile"),
        "SETATTR": ("nfs_chmod", "nfs_chown", "nfs_utimes", "nfs_truncate"),
        "GETATTR": ("nfs_lstat64", "nfs_lstat64_async", "nfs_fstat64", "Getattr"),
        "FSINFO": ("FSInfo",),
    },
    "4.0": _EITHER | _MAKES | _DROPS,
}
"""By version and procedure (of NFSv4: main operation) the calls into libnfs and go-nfs-client that
cost one call of it each."""


def server_statistics(truth: Truth, version: str) -> Counter[str] | None:
    """Operations that the server says it executed; None where it kept no count."""
    counted = truth.get("server_statistics", {}).get(f"v{version}")
    return counted and Counter({name: int(row["count"]) for name, row in counted.items()})


def server_latencies_ms(truth: Truth) -> dict[str, float]:
    """Mean time that the server itself took for a procedure of NFSv3, in milliseconds."""
    counted = truth.get("server_statistics", {}).get("v3", {})
    return {name: float(row["latency_avg_ms"]) for name, row in counted.items()}


def calls_sent(part: Truth) -> Counter[str]:
    """Calls of NFSv3 that the client says it sent in a part of its run. The call of a version that
    does not exist, and those of MOUNT, are not in it.
    """
    sent = part["calls_sent"].items()
    return Counter(
        {name: number for name, number in sent if not name.startswith(("MNT.", "(version"))}
    )


def failures(part: Truth) -> Counter[tuple[str, int]]:
    """Answers other than OK that the client says it got, by procedure and status."""
    counts: Counter[tuple[str, int]] = Counter()
    for text, number in part["not_ok"].items():
        name, _, status = text.partition(" status ")
        if status.isdigit():
            counts[name.partition(" ")[0], int(status)] += number
    return counts


def library_calls(part: Truth, version: str) -> Counter[str] | None:
    """RPCs that a part's calls into the library cost; None where one of them failed."""
    if part["errors"]:
        return None
    made = part["library_calls"]
    counts = Counter(
        {
            procedure: sum(made.get(name, 0) for name in names)
            for procedure, names in ONE_CALL[version].items()
        }
    )
    # fsync and close commit, and go-nfs-client opens a file to write it: these cost more.
    return +counts


def mountstats(truth: Truth) -> Counter[str]:
    """Operations that the kernel's client says it sent between mount and unmount; empty where the
    client was no kernel.
    """
    counts: Counter[str] = Counter()
    for total in _totals(truth):
        counts.update({name: int(row["count"]) for name, row in total["ops"].items()})
    return counts


def bytes_moved(truth: Truth) -> dict[str, int]:
    """Bytes that the kernel's client says it read from and wrote to servers; empty likewise."""
    counts: Counter[str] = Counter()
    for total in _totals(truth):
        counts["READ"] += total["bytes"]["serverreadbytes"]
        counts["WRITE"] += total["bytes"]["serverwritebytes"]
    return dict(counts)


def mounted(truth: Truth) -> list[tuple[int, int]]:
    """When it was mounted: spans of nanoseconds since 1970, without mounting and unmounting."""
    clients = truth.get("clients", {})
    mounts = (
        [mount for client in clients.values() for mount in client["mounts"]]
        if isinstance(clients, dict)
        else [truth["mount"]]
    )
    return [(int(mount["end_ns"]), int(mount["umount_start_ns"])) for mount in mounts]


def parts(truth: Truth, counter: str) -> Iterator[Mapping[str, Any]]:
    """What client programs tell of the parts of their run, as far as they kept that count."""
    for step in truth["steps"]:
        yield from (part for part in step.get("substeps", ()) if counter in part)


def _totals(truth: Truth) -> list[Mapping[str, Any]]:
    clients = truth.get("clients", {})
    if isinstance(clients, dict):
        return [client["mountstats_delta_total"] for client in clients.values()]
    return [truth["mountstats_delta_total"]] if "mountstats_delta_total" in truth else []
