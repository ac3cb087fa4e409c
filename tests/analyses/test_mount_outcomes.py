"""What came of mounts that were refused otherwise than for want of permission."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.mount_outcomes import ENDS, KINDS, MountOutcome, mount_outcomes
from pcapnfs.programs import MOUNT, NFS, NFSACL, PORTMAPPER
from tests.unit.rows import Row, call, file, meta, operation, trace_of

FILES = [file(1, "/", "directory"), file(2, "/srv", "absent")]


def refused(number: int, op: str, name: str, **columns: object) -> Row:
    """A call that was answered with a status of its procedure."""
    return call(number, op, 1, status=99, status_name=name, **columns)


def rejected(number: int, op: str, name: str, **columns: object) -> Row:
    """A call that RPC answered without a result."""
    return call(number, op, 1, status=None, status_name=None, rpc_status=name, **columns)


def sought(number: int, **columns: object) -> Row:
    """A question to the portmapper."""
    return call(
        number,
        "GETPORT",
        1,
        program=PORTMAPPER,
        protocol="portmap2",
        status=None,
        status_name=None,
        **columns,
    )


def granted(number: int, **columns: object) -> Row:
    """A mount."""
    return call(number, "MNT", 1, program=MOUNT, protocol="mount3", file=1, **columns)


def outcomes(calls: list[Row], operations: list[Row] | None = None) -> tuple[MountOutcome, ...]:
    """Of these calls; operations follow from them unless given."""
    of_calls = [operation(int(str(each["call"])), str(each["op"])) for each in calls]
    with trace_of(calls=calls, operations=operations or of_calls, files=FILES) as trace:
        return mount_outcomes(trace)


def test_a_service_without_port_is_not_registered() -> None:
    calls = [sought(1), sought(2), sought(3, undecoded="truncated"), sought(4)]
    told = ("100003 v3 tcp", "100005 v3 tcp port 20048", "100005 v3 tcp", "100021 v4 tcp")
    operations = [operation(each, "GETPORT", text=text) for each, text in enumerate(told, 1)]
    (met,) = outcomes(calls, operations)
    assert met == MountOutcome(
        client="10.0.0.2",
        server="10.0.0.1",
        kind="unregistered",
        calls=1,
        asked=("100003 v3 tcp",),
        statuses=(),
        paths=(),
        flavours=(),
        went_on=False,
        tried_s=0.0,
        frames=(1,),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_each_status_is_of_its_kind(kind: str) -> None:
    for name in KINDS[kind]:
        (met,) = outcomes([rejected(1, "NULL", name)])
        assert (met.kind, met.statuses, met.asked) == (kind, (name,), ("NULL 3",))


def test_only_nfs_and_mount_are_asked_about() -> None:
    """Linux asks whether there is NFSACL, and does without."""
    assert outcomes([rejected(1, "NULL", "PROG_UNAVAIL", program=NFSACL)]) == ()
    (met,) = outcomes([rejected(1, "MNT", "PROG_MISMATCH", program=MOUNT, protocol="mount3")])
    assert met.asked == ("MNT mount3",)


def test_a_version_that_nobody_has_is_told_by_its_number() -> None:
    calls = [
        rejected(1, "NULL", "PROG_MISMATCH", version=9, protocol="other"),
        rejected(2, "NULL", "PROG_MISMATCH", version=7, protocol="other", program=MOUNT),
    ]
    (met,) = outcomes(calls)
    assert met.asked == ("NULL 9", "NULL mount7")


def test_a_client_that_reaches_files_later_went_on() -> None:
    tried = refused(1, "EXCHANGE_ID", "NFS4ERR_MINOR_VERS_MISMATCH", protocol="4.2")
    for later in (granted(2), call(2, "FSINFO", 1, file=1)):
        (met,) = outcomes([tried, later])
        assert met.went_on
    for later in (call(2, "NULL", 1), granted(2, server="10.0.0.9"), call(2, "READ", None, file=1)):
        first = outcomes([tried, later])[0]
        assert (first.kind, first.went_on) == ("version", False)


def test_what_comes_later_within_a_tick_of_the_clock_comes_later() -> None:
    tried = refused(1, "FSINFO", "PROG_MISMATCH", program=NFS)
    same = {name: tried[name] for name in ("call_time", "reply_time")}
    (met,) = outcomes([tried, call(2, "FSINFO", 0, file=1, **same)])
    assert met.went_on
    (met,) = outcomes([call(1, "FSINFO", 0, file=1, **same), {**tried, "call": 2}])
    assert not met.went_on


def test_a_try_lasts_until_something_works() -> None:
    """Each call comes 10 ms after the one before it, by its number, and takes 1 ms."""

    def tried_s(*worked: Row) -> float:
        times = (1, 3, 5, 101, 103, 105)
        tries = [rejected(number, "NULL", "PROG_UNAVAIL") for number in times]
        (met,) = outcomes([*tries, *worked, call(900, "FSINFO", 1, file=1)])
        assert met.went_on
        return met.tried_s

    assert tried_s() == pytest.approx(1.041)
    for works in (
        call(50, "GETATTR", 1, file=1),
        granted(50),
        call(50, "UMNT", 1, program=MOUNT, status=None, status_name=None),
    ):
        assert tried_s(works) == pytest.approx(0.082)
    for fails in (
        call(50, "NULL", 1),
        refused(50, "MNT", "MNT3ERR_ACCES", program=MOUNT),
        granted(50, server="10.0.0.9"),
        call(50, "READ", None, file=1),
    ):
        calls = [rejected(number, "NULL", "PROG_UNAVAIL") for number in (1, 20, 101)]
        first = outcomes([*calls, fails])[0]
        assert first.tried_s == pytest.approx(1.001)


def test_an_unmount_and_the_next_mount_are_no_try() -> None:
    """Each asks once, and the port of MOUNT need not have been captured."""
    twice = [rejected(number, "NULL", "PROG_UNAVAIL") for number in (1, 101)]
    another = rejected(60, "MNT", "PROG_UNAVAIL")
    (met,) = outcomes([*twice, another])
    assert (met.calls, met.tried_s) == (3, 0)


def test_one_that_was_refused_after_it_had_files_did_not() -> None:
    """But a client that unmounts asks for MOUNT when all is done."""
    calls = [call(1, "READ", 1, file=1), rejected(2, "READ", "PROG_UNAVAIL", file=1)]
    (met,) = outcomes(calls)
    assert not met.went_on
    calls = [call(1, "READ", 1, file=1), rejected(2, "UMNT", "PROG_UNAVAIL", program=MOUNT)]
    (met,) = outcomes(calls)
    assert met.went_on


@pytest.mark.parametrize(("flavor", "went_on"), [("AUTH_SYS", False), ("RPCSEC_GSS/krb5", True)])
def test_another_flavour_is_to_be_found(flavor: str, went_on: bool) -> None:
    calls = [
        refused(1, "LOOKUP", "NFS4ERR_WRONGSEC", protocol="4.1", file=2),
        call(2, "GETATTR", 1, protocol="4.1", file=1, flavor=flavor),
    ]
    (met,) = outcomes(calls)
    assert (met.kind, met.paths, met.went_on) == ("flavour", ("/srv",), went_on)


@pytest.mark.parametrize("reason", ["truncated", "missing", "encrypted"])
def test_calls_that_do_not_tell_their_file_may_have_reached_it(reason: str) -> None:
    dark = {"protocol": "4", "flavor": "AUTH_SYS", "undecoded": reason}
    first = refused(1, "COMPOUND", "NFS4ERR_WRONGSEC", **dark | {"flavor": "RPCSEC_GSS/krb5"})
    for known in ({}, {"status": None, "status_name": None}):
        (met,) = outcomes([first, call(2, "COMPOUND", 1, **dark | known)])
        assert met.went_on
    for late in (
        refused(2, "COMPOUND", "NFS4ERR_DELAY", **dark),
        call(2, "COMPOUND", None, **dark),
        call(2, "EXCHANGE_ID", 1, **dark),
        call(2, "COMPOUND", 1, **dark | {"flavor": "RPCSEC_GSS/krb5"}),
    ):
        (met,) = outcomes([first, late])
        assert not met.went_on


def walk(*rest: Row) -> tuple[MountOutcome, ...]:
    """A mount of NFSv4 from its root on."""
    calls = [
        call(1, "EXCHANGE_ID", 1, protocol="4.1"),
        call(2, "GETATTR", 1, protocol="4.1", file=1),
        call(3, "ACCESS", 1, protocol="4.1", file=1),
        *rest,
    ]
    return outcomes(calls, [operation(2, "PUTROOTFH"), operation(2, "GETATTR")])


def ended(number: int, name: str = "NFS4ERR_NOENT") -> Row:
    """A name that the server refuses."""
    return refused(number, "LOOKUP", name, protocol="4.1", file=2)


@pytest.mark.parametrize("name", ENDS)
def test_a_mount_ends_where_its_last_name_is_refused(name: str) -> None:
    closing = call(5, "DESTROY_SESSION", 1, protocol="4.1")
    (met,) = walk(ended(4, name), closing)
    assert (met.kind, met.statuses, met.paths) == ("path", (name,), ("/srv",))
    assert (met.asked, met.frames, met.went_on) == (("LOOKUP 4.1",), (7,), False)


def test_each_mount_that_began_at_the_root_again_is_told() -> None:
    """Three in turn, each of which is refused; before them one that was not."""
    again = [
        call(5, "GETATTR", 1, protocol="4.1", file=1),
        ended(6),
        call(400, "GETATTR", 1, protocol="4.1", file=1),
        ended(401),
    ]
    roots = [operation(number, "PUTROOTFH") for number in (2, 5, 400)]
    first = call(2, "GETATTR", 1, protocol="4.1", file=1)
    (met,) = outcomes([first, ended(3), *again], roots)
    assert (met.calls, met.frames, met.went_on) == (3, (5, 11, 801), False)
    used = call(3, "OPEN", 1, protocol="4.1", file=1)
    (met,) = outcomes([first, used, *again], roots)
    assert (met.calls, met.frames) == (2, (11, 801))
    (met,) = outcomes([first, *again], roots)
    assert met.calls == 2


@pytest.mark.parametrize(
    ("between", "mount"),
    [
        ({"op": "LOOKUP", "file": 3, "status": 2, "status_name": "NFS4ERR_NOENT"}, False),
        ({"op": "LOOKUP", "file": 3}, True),
        ({"op": "GETATTR", "file": 3}, True),
        ({"op": "GETATTR", "file": 1}, False),
        ({"op": "GETATTR", "signature": "PUTFH GET_DIR_DELEGATION GETATTR"}, False),
    ],
    ids=["another name", "a name above it", "of that", "the root again", "delegation of it"],
)
def test_programs_that_look_for_names_mount_nothing(between: Row, mount: bool) -> None:
    above = call(4, "LOOKUP", 1, protocol="4.1", directory=1, file=4)
    changed = {**call(5, "GETATTR", 1, protocol="4.1", directory=1), **between}
    assert bool(walk(above, changed, ended(6))) is mount


def test_a_name_that_is_not_there_is_otherwise_none() -> None:
    used = call(4, "OPEN", 1, protocol="4.1", file=1)
    assert walk(ended(4), call(5, "GETATTR", 1, protocol="4.1", file=1)) == ()
    assert walk(used, ended(5)) == ()
    assert walk(ended(400)) == ()
    with trace_of(calls=[ended(1)], operations=[operation(1, "LOOKUP")], files=FILES) as trace:
        assert mount_outcomes(trace) == ()


def test_a_mount_that_is_all_there_is() -> None:
    (met,) = outcomes([granted(1)], [operation(1, "MNT", text="/srv")])
    assert (met.kind, met.paths, met.statuses) == ("alone", ("/srv",), ("NFS3_OK",))
    assert outcomes([granted(1), call(2, "FSINFO", None, program=NFS)]) == ()
    # MOUNT version 1 has no name of success.
    (met,) = outcomes([{**granted(1), "protocol": "mount1", "status_name": None}])
    assert (met.asked, met.statuses) == (("MNT mount1",), ("SUCCESS",))


@pytest.mark.parametrize("flavors", ["AUTH_SYS", "KRB5"])
@pytest.mark.parametrize(
    ("server", "sealed", "answered", "told"),
    [
        ("10.0.0.1", 0, (5,), False),
        ("10.0.0.1", 100, (), False),
        ("10.0.0.1", 0, (), True),
        ("10.0.0.9", 100, (5,), True),
        # Connections without any call are not in the table.
        ("10.0.0.9", 0, (6,), False),
    ],
)
def test_a_mount_is_not_all_where_calls_were_not_captured(
    flavors: str, server: str, sealed: int, answered: tuple[int, ...], *, told: bool
) -> None:
    connection = {"connection": 5, "client": "10.0.0.2", "server": server, "sealed_bytes": sealed}
    with trace_of(
        calls=[granted(1)],
        operations=[operation(1, "MNT", text="/srv", flavors=flavors)],
        files=FILES,
        connections=[connection],
        notes=[
            {"reason": "reply_without_call", "layer": "rpc", "connection": each}
            for each in answered
        ],
    ) as trace:
        assert bool(mount_outcomes(trace)) is told


def mounted(flavors: str | None, *later: Row) -> list[tuple[str, tuple[str, ...]]]:
    """What is told of a mount that was granted for some flavours, and of what followed."""
    of_calls = [operation(int(str(each["call"])), str(each["op"])) for each in later]
    mnt = operation(1, "MNT", text="/srv", flavors=flavors)
    return [(met.kind, met.flavours) for met in outcomes([granted(1), *later], [mnt, *of_calls])]


def test_a_mount_for_flavours_that_the_client_does_not_have() -> None:
    """It gives up by itself, or is refused; what tells it the flavours is open to all."""
    kerberos = ("KRB5", "KRB5I")
    null, fsinfo = call(2, "NULL", 1, flavor="AUTH_NONE"), call(3, "FSINFO", 1, file=1)
    refused_call = rejected(4, "ACCESS", "AUTH_TOOWEAK", file=1)
    assert mounted("KRB5 KRB5I") == [("unused", kerberos)]
    assert mounted("KRB5 KRB5I", null, fsinfo, refused_call) == [("unused", kerberos)]
    assert mounted("AUTH_SYS KRB5") == [("alone", ("AUTH_SYS", "KRB5"))]
    assert mounted(None) == [("alone", ())]
    assert mounted("KRB5", null) == [("unused", ("KRB5",))]
    assert mounted("AUTH_SYS", null) == []


def test_a_mount_that_is_used_is_none() -> None:
    by_kerberos = call(2, "ACCESS", None, flavor="RPCSEC_GSS/krb5i")
    by_system = call(2, "ACCESS", 1, file=1)
    assert mounted("KRB5I", by_kerberos) == []
    assert mounted("AUTH_SYS", call(2, "ACCESS", None, file=1)) == []
    assert mounted("KRB5", by_system) == []
    assert mounted(None, rejected(2, "ACCESS", "AUTH_TOOWEAK", file=1)) == []


def test_a_mount_whose_use_was_cut_is_none() -> None:
    cut = {"undecoded": "truncated", "status": None, "status_name": None, "rpc_status": None}
    assert mounted("KRB5", call(2, "GETATTR", 1, flavor="unknown", **cut)) == []
    assert mounted("KRB5", call(2, "ACCESS", 1, **cut)) == []
    assert mounted("KRB5", call(2, "GETATTR", 1, **cut)) == [("unused", ("KRB5",))]
    told = meta(truncated_packets=3)
    with trace_of(told, calls=[granted(1)], operations=[operation(1, "MNT")], files=FILES) as trace:
        assert mount_outcomes(trace) == ()


def test_a_trace_without_mounts_has_none() -> None:
    assert outcomes([call(1, "READ", 1, file=1), refused(2, "LOOKUP", "NFS3ERR_NOENT")]) == ()
