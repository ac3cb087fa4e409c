//! NLM, versions 1 to 3 and 4: the samples of RFC 1813 section 6.3 and X/Open C702 chapter 10.

use super::*;
use crate::nfs::facts::{LockOwner, Rare};

const COOKIE: Rows = &[("cookie", Opaque(&[0, 0, 0, 7, 1]))];
const OWNER: Rows = &[
    ("caller_name", Opaque(b"client1")),
    ("fh", Opaque(b"handle-nlm")),
    ("oh", Opaque(b"1@client1")),
    ("svid", Word(4711)),
];
const RANGE: Rows = &[("l_offset", Word(100)), ("l_len", Word(10))];
const RANGE4: Rows = &[("l_offset", Hyper(1 << 33)), ("l_len", Hyper(0))];
const BLOCKING: Rows = &[("block", Word(1)), ("exclusive", Word(1))];
const SHARED: Rows = &[("exclusive", Word(0))];
const RECLAIM: Rows = &[("reclaim", Word(0)), ("state", Word(3))];
const RESULT: Rows = &[("cookie", Opaque(&[0, 0, 0, 7, 1])), ("stat", Word(3))];
const DENIED: Rows = &[("cookie", Opaque(b"c")), ("stat", Word(1))];
const HOLDER: Rows = &[("exclusive", Word(1)), ("svid", Word(9)), ("oh", Opaque(b"2@client2"))];

fn rare(lock_type: Option<u32>) -> Box<Rare<'static>> {
    let lock_owner = Some(LockOwner { number: 4711, name: b"1@client1" });
    Rare { lock_type, lock_owner, ..Rare::default() }.into()
}

fn lock(version: Table) -> Facts<'static> {
    let long = std::ptr::eq(version, NLM4);
    Facts {
        text: Some(b"client1"),
        handle: Some(b"handle-nlm"),
        offset: Some(if long { 1 << 33 } else { 100 }),
        count_requested: Some(if long { 0 } else { 10 }),
        rare: Some(rare(None)),
        ..Facts::default()
    }
}

fn status(status: u32) -> Facts<'static> {
    Facts { status: Some(status), ..Facts::default() }
}

pub(super) fn samples() -> Vec<Sample> {
    [(NLM, RANGE), (NLM4, RANGE4)].into_iter().flat_map(|(table, range)| of_version(table, range)).collect()
}

fn of_version(table: Table, range: Rows) -> Vec<Sample> {
    let typed = |lock_type| Facts { rare: Some(rare(Some(lock_type))), ..lock(table) };
    let mut samples = Vec::new();
    for name in ["TEST", "GRANTED", "TEST_MSG", "GRANTED_MSG"] {
        samples.push(arguments(table, name, &[COOKIE, SHARED, OWNER, range], typed(1)));
    }
    for name in ["LOCK", "LOCK_MSG", "NM_LOCK"] {
        samples.push(arguments(table, name, &[COOKIE, BLOCKING, OWNER, range, RECLAIM], typed(4)));
    }
    for name in ["CANCEL", "CANCEL_MSG"] {
        samples.push(arguments(table, name, &[COOKIE, BLOCKING, OWNER, range], typed(4)));
    }
    for name in ["UNLOCK", "UNLOCK_MSG"] {
        samples.push(arguments(table, name, &[COOKIE, OWNER, range], lock(table)));
    }
    for name in ["LOCK", "CANCEL", "UNLOCK", "GRANTED", "NM_LOCK"] {
        samples.push(results(table, name, &[RESULT], status(3)));
    }
    // What answers an asynchronous call is a call itself: its status stands in the arguments.
    for name in ["LOCK_RES", "CANCEL_RES", "UNLOCK_RES", "GRANTED_RES"] {
        samples.push(arguments(table, name, &[RESULT], status(3)));
    }
    samples.push(results(table, "TEST", &[DENIED, HOLDER, range], status(1)));
    samples.push(arguments(table, "TEST_RES", &[DENIED, HOLDER, range], status(1)));
    samples.push(results(table, "TEST", &[RESULT], status(3)));
    let share: Rows = &[
        ("caller_name", Opaque(b"client1")),
        ("fh", Opaque(b"handle-nlm")),
        ("oh", Opaque(b"owner")),
        ("mode", Word(2)),
        ("access", Word(3)),
        ("reclaim", Word(0)),
    ];
    for name in ["SHARE", "UNSHARE"] {
        let expected = Facts {
            text: Some(b"client1"),
            handle: Some(b"handle-nlm"),
            share_access: Some(3),
            ..Facts::default()
        };
        samples.push(arguments(table, name, &[COOKIE, share], expected));
        samples.push(results(table, name, &[RESULT, &[("sequence", Word(1))]], status(3)));
    }
    samples.push(arguments(
        table,
        "FREE_ALL",
        &[&[("name", Opaque(b"client1")), ("state", Word(5))]],
        Facts { text: Some(b"client1"), ..Facts::default() },
    ));
    samples
}

#[test]
fn exclusive_and_block_give_the_lock_type_of_version_4() {
    for (exclusive, block, expected) in [(0, 0, 1), (1, 0, 2), (0, 1, 3), (1, 1, 4)] {
        let flags: Rows =
            vec![("cookie", Opaque(b"")), ("block", Word(block)), ("exclusive", Word(exclusive))].leak();
        let expected = Facts { rare: Some(rare(Some(expected))), ..lock(NLM4) };
        let sample = arguments(NLM4, "CANCEL", &[flags, OWNER, RANGE4], expected);
        trials::facts_and_used_up(&[sample]);
    }
}
