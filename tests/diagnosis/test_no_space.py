"""The rule for full file systems and quotas."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.rules.no_space import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.refused import REFUSED, kinds_told, of_kind
from tests.diagnosis.restarted import RESTARTED


def test_a_full_file_system_is_a_problem() -> None:
    (seen,) = of_kind(RULE, "space", calls=1, users=(7,))
    assert seen.severity == "problem"
    assert seen.seen == (
        "1 call (WRITE, CREATE) was answered NFS4ERR_NOSPC, asked by user 7: a/b, the root of the "
        "export."
    )
    assert "df -i" in seen.advice[0].action


@pytest.mark.parametrize(
    ("until_s", "told"),
    [(0, " That was at 22:13:20 UTC."), (9, " That was from 22:13:20 to 22:13:29 UTC.")],
)
def test_when_it_was_is_told_as_logs_have_it(until_s: int, told: str) -> None:
    first = 1_700_000_000 * 10**9
    (seen,) = of_kind(RULE, "space", from_ns=first, until_ns=first + until_s * 10**9)
    assert seen.seen.endswith(told)


def test_a_directory_may_have_its_limit_where_there_is_room() -> None:
    """XFS answers NOSPC, and not DQUOT, for a project quota."""
    (seen,) = of_kind(RULE, "space")
    assert "project quotas" in seen.why
    assert "report -p" in seen.advice[1].action
    (quota,) = of_kind(RULE, "quota")
    assert "df on the server" not in quota.why


def test_a_quota_is_another() -> None:
    (seen,) = of_kind(RULE, "quota")
    assert seen.title == "A quota on the server is used up"
    assert "12 calls (WRITE, CREATE) were answered NFS4ERR_DQUOT, asked by users 7, 9" in seen.seen


def test_a_server_that_makes_clients_write_again() -> None:
    changed = replace(RESTARTED, after_errors=1, errors=("NFS3ERR_NOSPC",))
    (seen,) = seen_by(RULE, nothing(failures=(REFUSED,), restarts=(changed,)))
    assert seen.seen.endswith(
        " The server changed its write verifier after that, so that clients write again what was "
        "not committed (RFC 1813 section 3.3.21, RFC 8881 section 18.32). 3 WRITEs (12.0 KiB) of "
        "what had been written "
        "UNSTABLE before came again."
    )
    for other in (
        replace(changed, server="10.0.0.9"),
        replace(changed, errors=("NFS3ERR_IO",)),
        RESTARTED,
    ):
        (seen,) = seen_by(RULE, nothing(failures=(REFUSED,), restarts=(other,)))
        assert "verifier" not in seen.seen


def test_nothing_else_is() -> None:
    assert kinds_told(RULE) == {"space", "quota"}
