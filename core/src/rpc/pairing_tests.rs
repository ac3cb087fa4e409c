use super::*;
use crate::cursor::Cursor;
use crate::error::Layer;

/// An NFSv3 NULL call, from its xid on.
fn null_call(xid: u32) -> Vec<u8> {
    let words = [xid, 0, 2, 100_003, 3, 0, 0, 0, 0, 0];
    words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect()
}

fn record(bytes: &[u8]) -> Record<'_> {
    let stamp = Stamp::default();
    Record { bytes, length: bytes.len(), limit: Reason::Truncated, first: stamp, last: stamp }
}

fn call(pairing: &mut Pairing, connection: ConnectionId, siblings: &[ConnectionId], xid: u32) -> CallOutcome {
    let bytes = null_call(xid);
    let mut c = Cursor::new(&bytes, Layer::Rpc);
    c.skip(8).unwrap();
    let header = Call::parse(&mut c, xid).unwrap().0;
    let outcome = pairing.call(connection, Side::Low, siblings, &record(&bytes), &header).0;
    assert!(pairing.overdue_call().is_none());
    outcome
}

fn reply(pairing: &mut Pairing, connection: ConnectionId, xid: u32) -> ReplyOutcome {
    pairing.reply(connection, Side::Low, xid, &record(&xid.to_be_bytes()))
}

#[test]
fn what_was_answered_late_is_forgotten_like_all_that_was_answered() {
    let mut pairing = Pairing::default();
    let many = u32::try_from(4 * ANSWERED_LIMIT).unwrap();
    for xid in 0..many {
        // Each waits until a table full of others has passed by.
        assert!(matches!(call(&mut pairing, 1, &[], xid), CallOutcome::New));
        if let Some(late) = xid.checked_sub(u32::try_from(2 * ANSWERED_LIMIT).unwrap()) {
            assert!(matches!(reply(&mut pairing, 1, late), ReplyOutcome::Answers { .. }));
            assert!(matches!(reply(&mut pairing, 1, late), ReplyOutcome::Again { .. }));
        }
    }
    assert!(pairing.entries.len() <= 3 * ANSWERED_LIMIT + FORGOTTEN_TOGETHER, "{}", pairing.entries.len());
}

#[test]
fn what_moved_to_another_connection_leaves_nothing_behind() {
    let mut pairing = Pairing::default();
    for xid in 0..u32::try_from(3 * ANSWERED_LIMIT).unwrap() {
        assert!(matches!(call(&mut pairing, 1, &[], xid), CallOutcome::New));
        assert!(matches!(call(&mut pairing, 2, &[1], xid), CallOutcome::Again));
        assert!(matches!(reply(&mut pairing, 1, xid), ReplyOutcome::Answers { .. }), "by the old way");
        assert!(matches!(reply(&mut pairing, 2, xid), ReplyOutcome::Again { .. }));
    }
    assert!(pairing.entries.len() <= ANSWERED_LIMIT + FORGOTTEN_TOGETHER, "{}", pairing.entries.len());
}

#[test]
fn calls_beyond_the_limit_are_given_up_oldest_first() {
    let mut pairing = Pairing::default();
    let mut given_up = Vec::new();
    for xid in 0..u32::try_from(WAITING_LIMIT + 2 * ANSWERED_LIMIT).unwrap() {
        let bytes = null_call(xid);
        let mut c = Cursor::new(&bytes, Layer::Rpc);
        c.skip(8).unwrap();
        let header = Call::parse(&mut c, xid).unwrap().0;
        pairing.call(1, Side::Low, &[], &record(&bytes), &header);
        while let Some((call, request)) = pairing.overdue_call() {
            given_up.push(call);
            pairing.recycle(request);
        }
    }
    assert!(given_up.len() >= ANSWERED_LIMIT - FORGOTTEN_TOGETHER);
    assert!(given_up.is_sorted());
    assert!(pairing.entries.len() <= WAITING_LIMIT + ANSWERED_LIMIT + FORGOTTEN_TOGETHER);
}
