"""The finding on captures that kept only the beginning of packets."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules.capture_cut import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by


def cut(packets: int, messages: int) -> Material:
    """Material of a capture of 100 calls of which so much was cut at 96 bytes."""
    found = nothing()
    trust = replace(
        found.trust,
        rpc_calls=100,
        rpc_replies=100,
        truncated_packets=packets,
        truncated_bytes=packets * 1024,
        undecoded_reasons={"truncated": messages},
    )
    return replace(
        found,
        trust=trust,
        capture=replace(
            found.capture,
            packets=200,
            snaplen=262144,
            cut_to=96,
            servers=("10.0.0.1", "10.0.0.9"),
            protocols=("3", "mount3"),
        ),
    )


def test_what_could_not_be_read_is_counted() -> None:
    (seen,) = seen_by(RULE, cut(100, 2))
    assert seen.seen == (
        "100 of 200 packets were cut at 96 bytes; 100 KiB of payload are missing. 2 of 200 "
        "messages could not be read to their end."
    )
    assert seen.severity == "warning"
    # Mounts and locks of NFSv3 have ports of their own.
    assert "'(host 10.0.0.1 or host 10.0.0.9)'" in seen.advice[0].action


def test_data_alone_is_no_harm() -> None:
    (seen,) = seen_by(RULE, cut(100, 1))
    assert seen.severity == "note"
    assert seen.seen.endswith("1 of 200 messages could not be read to its end.")
    (seen,) = seen_by(RULE, cut(100, 0))
    assert seen.seen.endswith("All messages could be read to their end all the same.")
    assert seen_by(RULE, cut(0, 0)) == []


@pytest.mark.parametrize(
    ("share", "told", "severity"), [(0.009, "0.9 %", "note"), (0.01, "1.0 %", "warning")]
)
def test_what_tells_no_call_was_not_read(share: float, told: str, severity: str) -> None:
    """What is seen was read in full, as mounts on another connection."""
    found = cut(100, 0)
    sealed = replace(found.trust.sealed, cut_connections=1, cut_bytes=4096, cut_share=share)
    (seen,) = seen_by(RULE, replace(found, trust=replace(found.trust, sealed=sealed)))
    assert seen.severity == severity
    assert seen.seen == (
        "100 of 200 packets were cut at 96 bytes; 100 KiB of payload are missing. Of 1 connection, "
        f"with {told} of all payload, no call can be seen: packets were cut before a call tells "
        "what it is."
    )


def test_what_is_left_tells_where_they_were_cut_if_the_file_does_not() -> None:
    found = cut(1, 0)
    found = replace(
        found,
        trust=replace(found.trust, kept_bytes=30.0),
        capture=replace(found.capture, cut_to=None),
    )
    (seen,) = seen_by(RULE, found)
    assert seen.seen.startswith(
        "1 of 200 packets was cut, which left 30 B of payload in each on average; 1.00 KiB of "
        "payload are missing."
    )
