"""Takes captures of the lab over into `samples/`, with what the kernels know of them.

Takes the folder of the lab corpus (a `NAME.pcap` beside each `NAME.json`, which was written from
other sources than the packets); gives copies, and `truth.json` with the facts that the README
shows and the tests compare with. Paths of the lab's own machines are shortened to file names.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CAPTURES = (
    "k61-tar-v3.pcap",
    "k61-tar-v42.pcap",
    "k61-walk-v3.pcap",
    "cachedread-v3-snap96.pcap",
    "opt-noac-v3.pcap",
    "k61-two-clients-v42-server.pcap",
    "k61-locks-v42-server.pcap",
    "k61-retrans-v3.pcap",
    "k61-sec-krb5i-v3.pcap",
    "fmt-plain-v42.pcapng",
    "fmt-plain-v42.pcap.gz",
)
"""Chosen so that every kind of slowness has one, the whole stays below 5 MB, and the timing is that
of the quieter of the lab's two machines where it matters.
"""

_WORK_FILES = re.compile(r"/\w+/data/")


def take_over(corpus: Path, samples: Path) -> None:
    """Copy the captures from `corpus` and write `truth.json`.

    Raises:
        OSError: A capture or its JSON is missing.
    """
    facts = {}
    for name in CAPTURES:
        shutil.copyfile(corpus / name, samples / name)
        stem = name.partition(".pcap")[0]
        facts[name] = _facts(json.loads((corpus / f"{stem}.json").read_text(encoding="utf-8")))
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    (samples / "truth.json").write_text(text + "\n", encoding="utf-8")


def _facts(truth: Mapping[str, Any]) -> dict[str, Any]:
    """Condense the JSON of one run."""
    server, recording = truth["server"], truth["capture"]
    counters = truth["nfsd_counters_delta"]
    return {
        "what": truth["description"],
        "nfs_version": truth["nfs_version"],
        "kernel": truth["kernel_client_and_server"],
        "export_options": server["export_options"],
        "filesystem": server["filesystem"],
        "block_device_delay_ms": server["block_device_delay_ms_per_io"],
        "ping_min_ms": truth["network"]["ping_before"]["min_ms"],
        "vantage": recording["vantage"],
        "snaplen": recording["snaplen"],
        "packets": recording["packets_captured"],
        "mounts": [
            {"who": client, "command": mount["command"]}
            for client, facts in truth["clients"].items()
            for mount in facts["mounts"]
        ],
        "steps": [
            {"who": _who(step), "command": _command(step)}
            for step in truth["steps"]
            if not step["label"].startswith("counters of")
        ],
        "server_calls": counters.get("v3") or counters["v4server"],
        "server_operations": counters.get("v3") or counters["v4ops"],
    }


def _who(step: Mapping[str, Any]) -> str:
    """Name the machine; steps of the server did not go over NFS."""
    return str(step["who"]).removesuffix(" (local, not over NFS)")


def _command(step: Mapping[str, Any]) -> str:
    """Give the command, or what was done where it was none."""
    return _WORK_FILES.sub("", str(step.get("command", step["label"])))
