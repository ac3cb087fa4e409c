"""ACLs that clients asked for, object by object."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.acl_queries import AclQueries, acl_queries
from tests.unit.rows import call, operation, trace_of

ASKED = {"program": 100227, "protocol": "nfsacl3"}


def test_calls_are_counted_by_client_with_their_objects_and_time() -> None:
    calls = [
        call(1, "GETACL", 2, file=1, **ASKED),
        call(2, "GETACL", 3, file=2, **ASKED),
        call(3, "GETACL", 4, file=2, **ASKED),
        call(4, "GETATTR", 5, file=1),
        call(5, "GETACL", None, file=3, **ASKED),
        call(7, "SETACL", 9, file=4, stability="stable", **ASKED),
        call(8, "SETACL", None, file=5, **ASKED),
        call(6, "GETACL", 1, file=1, client="10.0.0.3", mount=1, **ASKED),
    ]
    with trace_of(calls=calls) as trace:
        first, second = acl_queries(trace)
    assert (first.client, first.server, first.calls, first.objects) == (
        "10.0.0.2", "10.0.0.1", 5, 2,
    )  # fmt: skip
    assert (first.asked.calls, first.asked.frames) == (3, (1, 3, 5))
    assert (first.changed, second.changed) == (1, 0)
    assert first.asked.time_s == pytest.approx(0.009)
    assert (second.client, second.asked.calls) == ("10.0.0.3", 1)


def test_of_nfsv4_what_asks_for_the_acl_alone_is_counted_with_names_of_attributes() -> None:
    calls = [
        call(1, "GETATTR", 2, file=1, protocol="4.2"),
        call(2, "GETATTR", 3, file=2, protocol="4.2"),
        call(3, "GETATTR", 4, file=2, protocol="4.2"),
        call(4, "LISTXATTRS", 5, file=1, protocol="4.2"),
        call(5, "SETATTR", 6, file=1, protocol="4.2", stability="stable"),
        call(6, "GETATTR", 7, file=3, protocol="3"),
        call(7, "GETXATTR", 8, file=3, protocol="4.2"),
        call(8, "GETXATTR", 8, file=3, protocol="4.2", status=10095),
        call(9, "SETXATTR", 8, file=3, protocol="4.2", stability="stable"),
    ]
    operations = [
        operation(1, "GETATTR", attributes="00001000:00000000:00000000"),
        operation(2, "GETATTR", attributes="00001000"),
        operation(3, "GETATTR", attributes="0010111a:00b0a23a"),
        operation(4, "LISTXATTRS"),
        operation(5, "SETATTR", attributes="00001000:00000000"),
        operation(6, "GETATTR"),
    ]
    with trace_of(calls=calls, operations=operations) as trace:
        (found,) = acl_queries(trace)
    assert (found.asked.calls, found.by_attribute, found.objects) == (2, 2, 2)
    assert found.asked.time_s == pytest.approx(0.005)
    assert found.listed.calls == 1
    assert found.listed.time_s == pytest.approx(0.005)
    assert (found.changed, found.extended) == (1, 2)


ACL = "00001000:00000000"


def of_acls(*asked: tuple[str, int], set_status: int = 0) -> AclQueries:
    """Those of calls that read and set an ACL or an extended attribute of files, in that order."""
    calls = [
        call(
            number,
            op,
            2 * number,
            file=file,
            protocol="4.2",
            stability=stability,
            status=set_status if op.startswith("SET") else 0,
        )
        for number, (op, file) in enumerate(asked, 1)
        for stability in ["stable" if op.startswith("SET") else "unstable"]
    ]
    operations = [
        operation(number, op, attributes=ACL if op.endswith("ETATTR") else None)
        for number, (op, _) in enumerate(asked, 1)
    ]
    with trace_of(calls=calls, operations=operations) as trace:
        (found,) = acl_queries(trace)
    return found


def test_what_is_set_on_an_object_of_which_none_was_read_is_copied() -> None:
    found = of_acls(
        ("GETXATTR", 1), ("SETXATTR", 11), ("GETATTR", 1), ("SETATTR", 11),
        # Two programs at once.
        ("GETATTR", 2), ("GETATTR", 3), ("SETATTR", 12), ("SETATTR", 13),
    )  # fmt: skip
    assert (found.changed, found.copied.calls, found.copied_acls) == (0, 4, 3)
    assert found.copied_from.calls == 1
    assert found.extended == 2


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param([("GETATTR", 2), ("GETATTR", 1), ("SETATTR", 1)], id="read before"),
        pytest.param([("SETATTR", 1), ("GETATTR", 2)], id="none read before"),
        pytest.param([("GETXATTR", 2), ("SETATTR", 1), ("GETATTR", 2)], id="of another kind"),
        # Two of them may be read for each that is set.
        pytest.param([*(("GETATTR", file) for file in (2, 3, 4)), ("SETATTR", 1)], id="listed"),
    ],
)
def test_what_a_program_sets_that_changes_acls_is_no_copy(asked: list[tuple[str, int]]) -> None:
    found = of_acls(*asked)
    assert (found.changed, found.copied.calls, found.copied_from.calls) == (1, 0, 0)


def test_what_the_server_refuses_to_set_is_neither_a_copy_nor_a_change() -> None:
    """As one without ACLs: NFS4ERR_ATTRNOTSUPP."""
    found = of_acls(
        ("GETATTR", 1), ("SETATTR", 1), ("SETATTR", 11), ("SETXATTR", 12), set_status=10032
    )  # fmt: skip
    assert (found.changed, found.copied.calls, found.extended) == (0, 0, 0)


def test_extended_attributes_alone_are_none() -> None:
    with trace_of(calls=[call(1, "LISTXATTRS", 5, file=1, protocol="4.2")]) as trace:
        assert acl_queries(trace) == ()


def test_that_of_nfsv4_or_of_an_attribute_is_none() -> None:
    calls = [call(1, "GETACL", 2, file=1, protocol="4.2"), call(2, "SETACL", 2, file=1, **ASKED)]
    with trace_of(calls=calls) as trace:
        assert acl_queries(trace) == ()
