use super::*;
use crate::nfs::facts::Rare;
use crate::nfs::types::{ChangeInfo, DelegationType};

pub(super) fn samples() -> Vec<Sample> {
    let mut samples = opens();
    samples.extend(open_results());
    samples.extend(locks());
    samples.extend(clients());
    samples
}

fn opens() -> Vec<Sample> {
    vec![
        arguments(
            "OPEN",
            &[
                ("seqid", Word(0)),
                ("share_access: both, want no delegation", Word(3 | 0x0400)),
                ("share_deny", Word(0)),
                ("owner.clientid", Hyper(0xc11e)),
                ("owner.owner", Opaque(b"open id:x")),
                ("opentype OPEN4_CREATE", Word(1)),
                ("mode EXCLUSIVE4_1", Word(3)),
                ("cva_verf", Hyper(1)),
                ("attrmask count", Word(2)),
                ("attrmask[0]: size", Word(1 << 4)),
                ("attrmask[1]: mode", Word(1 << 1)),
                ("attr_vals length", Word(12)),
                ("size", Hyper(0)),
                ("mode", Word(0o600)),
                ("claim CLAIM_NULL", Word(0)),
                ("file", Opaque(b"new file")),
            ],
            Facts {
                share_access: Some(3),
                client_id: Some(0xc11e),
                create: Some(true),
                create_mode: Some(3),
                attribute_mask: Some([1 << 4, 1 << 1, 0]),
                set_size: Some(0),
                name: Some(b"new file"),
                ..Facts::default()
            },
        ),
        arguments(
            "OPEN",
            &[
                ("seqid", Word(1)),
                ("share_access", Word(2)),
                ("share_deny", Word(0)),
                ("owner.clientid", Hyper(0xc11e)),
                ("owner.owner", Opaque(b"open")),
                ("opentype OPEN4_CREATE", Word(1)),
                ("mode UNCHECKED4", Word(0)),
                ("attrmask count", Word(0)),
                ("attr_vals length", Word(0)),
                ("claim CLAIM_DELEGATE_PREV", Word(3)),
                ("file_delegate_prev", Opaque(b"file")),
            ],
            Facts {
                share_access: Some(2),
                client_id: Some(0xc11e),
                create: Some(true),
                create_mode: Some(0),
                attribute_mask: Some([0; 3]),
                name: Some(b"file"),
                ..Facts::default()
            },
        ),
        arguments(
            "OPEN",
            &[
                ("seqid", Word(1)),
                ("share_access", Word(2)),
                ("share_deny", Word(0)),
                ("owner.clientid", Hyper(0xc11e)),
                ("owner.owner", Opaque(b"open")),
                ("opentype OPEN4_CREATE", Word(1)),
                ("mode EXCLUSIVE4", Word(2)),
                ("createverf", Hyper(1)),
                ("claim CLAIM_NULL", Word(0)),
                ("file", Opaque(b"file")),
            ],
            Facts {
                create: Some(true),
                create_mode: Some(2),
                name: Some(b"file"),
                share_access: Some(2),
                client_id: Some(0xc11e),
                ..Facts::default()
            },
        ),
        claim(&[("claim CLAIM_PREVIOUS", Word(1)), ("delegate_type", Word(0))], by_handle()),
        claim(
            &[
                ("claim CLAIM_DELEGATE_CUR", Word(2)),
                ("delegate_stateid.seqid", Word(3)),
                ("delegate_stateid.other", Fixed(OTHER)),
                ("file", Opaque(b"file")),
            ],
            Facts { stateid: STATE, name: Some(b"file"), by_handle: false, ..by_handle() },
        ),
        claim(&[("claim CLAIM_FH", Word(4))], by_handle()),
        claim(
            &[
                ("claim CLAIM_DELEG_CUR_FH", Word(5)),
                ("oc_delegate_stateid.seqid", Word(3)),
                ("oc_delegate_stateid.other", Fixed(OTHER)),
            ],
            Facts { stateid: STATE, ..by_handle() },
        ),
        claim(&[("claim CLAIM_DELEG_PREV_FH", Word(6))], by_handle()),
    ]
}

/// An OPEN that does not create, up to its claim.
const OPEN_NOCREATE: Rows = &[
    ("seqid", Word(0)),
    ("share_access", Word(1)),
    ("share_deny", Word(0)),
    ("owner.clientid", Hyper(0xc11e)),
    ("owner.owner", Opaque(b"open id:x")),
    ("opentype OPEN4_NOCREATE", Word(0)),
];

fn by_handle() -> Facts<'static> {
    Facts {
        share_access: Some(1),
        client_id: Some(0xc11e),
        create: Some(false),
        by_handle: true,
        ..Facts::default()
    }
}

fn claim(claim: Rows, expected: Facts<'static>) -> Sample {
    arguments("OPEN", [OPEN_NOCREATE, claim].concat().leak(), expected)
}

/// `OPEN4resok` up to its delegation.
const OPENED: Rows = &[
    ("stateid.seqid", Word(3)),
    ("stateid.other", Fixed(OTHER)),
    ("cinfo.atomic", Word(1)),
    ("cinfo.before", Hyper(10)),
    ("cinfo.after", Hyper(11)),
    ("rflags: LOCKTYPE_POSIX, MAY_NOTIFY_LOCK", Word(0x24)),
    ("attrset count", Word(2)),
    ("attrset[0]", Word(0)),
    ("attrset[1]: mode", Word(1 << 1)),
];

const ACE: Rows =
    &[("type", Word(0)), ("flag", Word(0)), ("access_mask", Word(0x0016_01bf)), ("who", Opaque(b"OWNER@.."))];

const DELEGATED: Rows =
    &[("deleg.stateid.seqid", Word(1)), ("deleg.stateid.other", Fixed(b"delegated...")), ("recall", Word(0))];

fn opened(delegation: &[Rows], kind: DelegationType) -> Sample {
    let rows = [&[OPENED], delegation].concat().concat().leak();
    let refused = matches!(kind, DelegationType::NONE | DelegationType::NONE_EXT);
    let granted = (!refused).then_some(StateId { sequence: 1, other: *b"delegated..." });
    let expected = Facts {
        stateid: STATE,
        change: Some(ChangeInfo { atomic: true, before: 10, after: 11 }),
        attributes_set: Some(true),
        may_notify_lock: Some(true),
        delegation: Some(kind),
        rare: granted.map(|_| Rare { delegation_stateid: granted, ..Rare::default() }.into()),
        ..Facts::default()
    };
    results("OPEN", rows, expected)
}

fn open_results() -> Vec<Sample> {
    const SIZE_LIMIT: Rows = &[("limitby NFS_LIMIT_SIZE", Word(1)), ("filesize", Hyper(u64::MAX))];
    const BLOCK_LIMIT: Rows =
        &[("limitby NFS_LIMIT_BLOCKS", Word(2)), ("num_blocks", Word(8)), ("bytes_per_block", Word(512))];
    vec![
        opened(&[&[("OPEN_DELEGATE_NONE", Word(0))]], DelegationType::NONE),
        opened(&[&[("OPEN_DELEGATE_READ", Word(1))], DELEGATED, ACE], DelegationType::READ),
        opened(&[&[("OPEN_DELEGATE_WRITE", Word(2))], DELEGATED, SIZE_LIMIT, ACE], DelegationType::WRITE),
        opened(&[&[("OPEN_DELEGATE_WRITE", Word(2))], DELEGATED, BLOCK_LIMIT, ACE], DelegationType::WRITE),
        opened(
            &[&[("OPEN_DELEGATE_NONE_EXT", Word(3)), ("WND4_NOT_WANTED", Word(0))]],
            DelegationType::NONE_EXT,
        ),
        opened(
            &[&[("OPEN_DELEGATE_NONE_EXT", Word(3)), ("WND4_CONTENTION", Word(1)), ("will_push", Word(0))]],
            DelegationType::NONE_EXT,
        ),
        opened(
            &[&[("OPEN_DELEGATE_NONE_EXT", Word(3)), ("WND4_RESOURCE", Word(2)), ("will_signal", Word(1))]],
            DelegationType::NONE_EXT,
        ),
        opened(&[&[("OPEN_DELEGATE_READ_ATTRS_DELEG", Word(4))], DELEGATED, ACE], DelegationType::READ_ATTRS),
        opened(
            &[&[("OPEN_DELEGATE_WRITE_ATTRS_DELEG", Word(5))], DELEGATED, SIZE_LIMIT, ACE],
            DelegationType::WRITE_ATTRS,
        ),
    ]
}

const STATEID: Rows = &[("stateid.seqid", Word(3)), ("stateid.other", Fixed(OTHER))];

fn with_state() -> Facts<'static> {
    Facts { stateid: STATE, ..Facts::default() }
}

fn locks() -> Vec<Sample> {
    const OWNER: Rows = &[("owner.clientid", Hyper(0xc11e)), ("owner.owner", Opaque(b"lock id:"))];
    const DENIED: Rows = &[
        ("offset", Hyper(50)),
        ("length", Hyper(60)),
        ("locktype", Word(2)),
        ("owner.clientid", Hyper(0xbad)),
        ("owner.owner", Opaque(b"somebody")),
    ];
    let rare = |lock_type, lock_owner| Some(Rare { lock_type, lock_owner, ..Rare::default() }.into());
    let locked = || Facts {
        rare: rare(Some(2), None),
        offset: Some(100),
        count_requested: Some(200),
        ..Facts::default()
    };
    vec![
        arguments(
            "LOCK",
            [
                &[
                    ("locktype WRITE_LT", Word(2)),
                    ("reclaim", Word(0)),
                    ("offset", Hyper(100)),
                    ("length", Hyper(200)),
                    ("new_lock_owner", Word(1)),
                    ("open_seqid", Word(1)),
                    ("open_stateid.seqid", Word(3)),
                    ("open_stateid.other", Fixed(OTHER)),
                    ("lock_seqid", Word(0)),
                ],
                OWNER,
            ]
            .concat()
            .leak(),
            Facts { stateid: STATE, client_id: Some(0xc11e), rare: rare(Some(2), LOCK_OWNER), ..locked() },
        ),
        arguments(
            "LOCK",
            &[
                ("locktype WRITE_LT", Word(2)),
                ("reclaim", Word(0)),
                ("offset", Hyper(100)),
                ("length", Hyper(200)),
                ("new_lock_owner", Word(0)),
                ("lock_stateid.seqid", Word(3)),
                ("lock_stateid.other", Fixed(OTHER)),
                ("lock_seqid", Word(1)),
            ],
            Facts { stateid: STATE, ..locked() },
        ),
        results("LOCK", STATEID, with_state()),
        failure("LOCK", 10_010, DENIED),
        failure("LOCK", 10_011, &[]),
        arguments(
            "LOCKT",
            [&[("locktype", Word(2)), ("offset", Hyper(100)), ("length", Hyper(200))], OWNER].concat().leak(),
            Facts { client_id: Some(0xc11e), rare: rare(Some(2), LOCK_OWNER), ..locked() },
        ),
        failure("LOCKT", 10_010, DENIED),
        arguments(
            "LOCKU",
            &[
                ("locktype", Word(2)),
                ("seqid", Word(1)),
                ("lock_stateid.seqid", Word(3)),
                ("lock_stateid.other", Fixed(OTHER)),
                ("offset", Hyper(100)),
                ("length", Hyper(200)),
            ],
            Facts { stateid: STATE, ..locked() },
        ),
        results("LOCKU", STATEID, with_state()),
        arguments(
            "RELEASE_LOCKOWNER",
            OWNER,
            Facts { client_id: Some(0xc11e), rare: rare(None, LOCK_OWNER), ..Facts::default() },
        ),
    ]
}

fn clients() -> Vec<Sample> {
    let client = || Facts { client_id: Some(0xc11e), ..Facts::default() };
    vec![
        arguments("CLOSE", [&[("seqid", Word(1))], STATEID].concat().leak(), with_state()),
        results("CLOSE", STATEID, with_state()),
        arguments("DELEGRETURN", STATEID, with_state()),
        arguments("DELEGPURGE", &[("clientid", Hyper(0xc11e))], client()),
        arguments("RENEW", &[("clientid", Hyper(0xc11e))], client()),
        arguments("OPENATTR", &[("createdir", Word(1))], Facts { create: Some(true), ..Facts::default() }),
        arguments("OPEN_CONFIRM", [STATEID, &[("seqid", Word(1))]].concat().leak(), with_state()),
        results("OPEN_CONFIRM", STATEID, with_state()),
        arguments(
            "OPEN_DOWNGRADE",
            [STATEID, &[("seqid", Word(1)), ("share_access", Word(1)), ("share_deny", Word(0))]]
                .concat()
                .leak(),
            Facts { share_access: Some(1), ..with_state() },
        ),
        results("OPEN_DOWNGRADE", STATEID, with_state()),
        arguments(
            "SETCLIENTID",
            &[
                ("client.verifier", Hyper(1)),
                ("client.id", Opaque(b"Linux NFSv4.0 host")),
                ("cb_program", Word(0x4000_0000)),
                ("cb_location.na_r_netid", Opaque(b"tcp")),
                ("cb_location.na_r_addr", Opaque(b"10.0.0.2.128.1")),
                ("callback_ident", Word(1)),
            ],
            Facts {
                rare: Some(
                    Rare {
                        client_owner: Some(b"Linux NFSv4.0 host"),
                        client_verifier: Some(1),
                        callback_program: Some(0x4000_0000),
                        ..Rare::default()
                    }
                    .into(),
                ),
                ..Facts::default()
            },
        ),
        results("SETCLIENTID", &[("clientid", Hyper(0xc11e)), ("setclientid_confirm", Hyper(2))], client()),
        failure(
            "SETCLIENTID",
            10_017,
            &[("na_r_netid", Opaque(b"tcp")), ("na_r_addr", Opaque(b"10.0.0.3.128.1.."))],
        ),
        arguments(
            "SETCLIENTID_CONFIRM",
            &[("clientid", Hyper(0xc11e)), ("setclientid_confirm", Hyper(2))],
            client(),
        ),
    ]
}

#[test]
fn an_unknown_claim_or_delegation_is_malformed_where_it_stands() {
    for sample in [
        claim(&[("claim", Word(7))], by_handle()),
        opened(&[&[("delegation_type", Word(6))]], DelegationType::NONE),
    ] {
        let bytes = sample.bytes();
        let (_, outcome, _) = sample.decode(&bytes, bytes.len());
        let error = outcome.unwrap_err();
        assert_eq!((error.reason, error.offset), (Reason::Malformed, bytes.len() - 4));
    }
}
