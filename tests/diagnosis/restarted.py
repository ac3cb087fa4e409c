"""A server that restarted, for the rules on it."""

from __future__ import annotations

from pcapnfs.analyses.servers.restarts import Restart

RESTARTED = Restart(
    server="10.0.0.1",
    verifiers=2,
    after_errors=0,
    errors=(),
    outlived=0,
    writes=60,
    lost_state=2,
    statuses=("NFS4ERR_BADSESSION",),
    losers=1,
    kept=False,
    kept_first=False,
    unheard_s=16.0,
    logins=2,
    moved=4,
    unreachable_s=2.0,
    refused=7,
    grace_s=10.0,
    grace_span_s=6.0,
    reclaims=1,
    rewritten=3,
    rewritten_bytes=12288,
    frames=(9, 11),
    refused_frames=(13, 15),
)
