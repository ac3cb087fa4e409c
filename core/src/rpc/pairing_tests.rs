use proptest::prelude::*;

use super::*;
use crate::cursor::Cursor;
use crate::error::Layer;
use crate::error::Reason;
use crate::rpc::known_calls::GENERATION_WORDS;

/// Calls of the first connection, which has no others beside it.
const FIRST: Origin<'static> = Origin {
    connection: 1,
    side: Side::Low,
    siblings: &[],
    began_ns: 0,
    newer: false,
    renewed: None,
    left_out: None,
    slot: None,
};

/// An NFSv3 NULL call, from its xid on.
fn null_call(xid: u32) -> Vec<u8> {
    let words = [xid, 0, 2, 100_003, 3, 0, 0, 0, 0, 0];
    words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect()
}

fn record(bytes: &[u8]) -> Record<'_> {
    record_at(bytes, Stamp::default())
}

fn record_at(bytes: &[u8], stamp: Stamp) -> Record<'_> {
    Record {
        bytes,
        behind: None,
        length: bytes.len(),
        open: false,
        limit: Reason::Truncated,
        first: stamp,
        last: stamp,
        place: &[],
    }
}

/// Other connections, of whose replies nothing tells that they were received.
fn beside<const COUNT: usize>(connections: [ConnectionId; COUNT]) -> [Sibling; COUNT] {
    connections.map(|connection| Sibling { connection, received: 0 })
}

fn call(pairing: &mut Pairing, connection: ConnectionId, siblings: &[Sibling], xid: u32) -> CallOutcome {
    call_at(pairing, connection, siblings, xid, Stamp::default())
}

fn call_at(
    pairing: &mut Pairing,
    connection: ConnectionId,
    siblings: &[Sibling],
    xid: u32,
    stamp: Stamp,
) -> CallOutcome {
    let bytes = null_call(xid);
    let mut c = Cursor::new(&bytes, Layer::Rpc);
    c.skip(8).unwrap();
    let header = Head::parse(&mut c, xid).unwrap();
    let origin = Origin { connection, siblings, ..FIRST };
    let outcome = pairing.call(&origin, &record_at(&bytes, stamp), &header, || None).0;
    assert!(pairing.overdue_call().is_none());
    outcome
}

fn reply(pairing: &mut Pairing, connection: ConnectionId, xid: u32) -> ReplyOutcome {
    pairing.reply(connection, Side::Low, xid, &record(&xid.to_be_bytes()))
}

#[test]
fn what_was_answered_is_remembered_for_a_generation_and_forgotten_after_two() {
    let mut pairing = Pairing::default();
    let generation = u32::try_from(GENERATION_LIMIT).unwrap();
    for xid in 0..=2 * generation {
        assert!(matches!(call(&mut pairing, 1, &[], xid), CallOutcome::New));
        assert!(matches!(reply(&mut pairing, 1, xid), ReplyOutcome::Answers { .. }));
        if let Some(earlier) = xid.checked_sub(generation - 1) {
            assert!(matches!(reply(&mut pairing, 1, earlier), ReplyOutcome::Again { .. }));
        }
    }
    assert!(matches!(reply(&mut pairing, 1, 0), ReplyOutcome::Early));
}

#[test]
fn what_was_answered_late_is_forgotten_like_all_that_was_answered() {
    let mut pairing = Pairing::default();
    let generation = u32::try_from(GENERATION_LIMIT).unwrap();
    let waits = 3 * generation;
    for xid in 0..12 * generation {
        // Each waits until several generations of others have passed by.
        assert!(matches!(call(&mut pairing, 1, &[], xid), CallOutcome::New));
        assert!(pairing.overdue_call().is_none());
        if let Some(late) = xid.checked_sub(waits) {
            assert!(matches!(reply(&mut pairing, 1, late), ReplyOutcome::Answers { .. }));
            assert!(matches!(reply(&mut pairing, 1, late), ReplyOutcome::Again { .. }));
        }
    }
    let most = waits as usize + 2 * GENERATION_LIMIT;
    assert!(pairing.entries.len() <= most, "{}", pairing.entries.len());
}

#[test]
fn calls_that_were_answered_late_do_not_count_as_waiting() {
    let mut pairing = Pairing::default();
    let waits = 3 * u32::try_from(GENERATION_LIMIT).unwrap();
    // One call that is never answered keeps all after it in the order of those that wait.
    assert!(matches!(call(&mut pairing, 2, &[], 0), CallOutcome::New));
    for xid in 0..4 * u32::try_from(WAITING_LIMIT).unwrap() {
        assert!(matches!(call(&mut pairing, 1, &[], xid), CallOutcome::New));
        assert!(pairing.overdue_call().is_none(), "call {xid}: no more than {waits} others wait");
        if let Some(late) = xid.checked_sub(waits) {
            assert!(matches!(reply(&mut pairing, 1, late), ReplyOutcome::Answers { .. }));
        }
        assert!(pairing.long_waiting.len() <= 2 * waits as usize + 2 * GENERATION_LIMIT);
    }
    assert!(matches!(reply(&mut pairing, 2, 0), ReplyOutcome::Answers { .. }), "it still waits");
}

/// NFS-Ganesha asks for the port of a client's lock manager on a new connection each time, with xid 1.
#[test]
fn a_question_to_the_portmapper_that_was_answered_elsewhere_is_another_call() {
    let bytes: Vec<u8> = [1, 0, 2, 100_000, 2, 3, 0, 0, 0, 0, 100_021, 4, 6, 0]
        .iter()
        .flat_map(|word: &u32| word.to_be_bytes())
        .collect();
    let ask = |pairing: &mut Pairing, connection, siblings: &[Sibling]| {
        let mut c = Cursor::new(&bytes, Layer::Rpc);
        c.skip(8).unwrap();
        let header = Head::parse(&mut c, 1).unwrap();
        let origin = Origin { connection, siblings, ..FIRST };
        pairing.call(&origin, &record(&bytes), &header, || None).0
    };
    let mut pairing = Pairing::default();
    assert!(matches!(ask(&mut pairing, 1, &[]), CallOutcome::New));
    assert!(matches!(reply(&mut pairing, 1, 1), ReplyOutcome::Answers { .. }));
    assert!(matches!(ask(&mut pairing, 2, &beside([1])), CallOutcome::New));
    assert!(matches!(reply(&mut pairing, 2, 1), ReplyOutcome::Answers { .. }));
    // On its own connection it is the same.
    assert!(matches!(ask(&mut pairing, 2, &beside([1])), CallOutcome::Late { .. }));
}

/// NFS-Ganesha pings each new connection for callbacks with xid 1.
#[test]
fn null_with_an_xid_that_was_answered_elsewhere_is_another_call() {
    let mut pairing = Pairing::default();
    assert!(matches!(call(&mut pairing, 1, &[], 1), CallOutcome::New));
    assert!(matches!(reply(&mut pairing, 1, 1), ReplyOutcome::Answers { .. }));
    assert!(matches!(call(&mut pairing, 2, &beside([1]), 1), CallOutcome::New));
    assert!(matches!(reply(&mut pairing, 2, 1), ReplyOutcome::Answers { .. }));
    // On its own connection, and while it waits, it is the same.
    assert!(matches!(call(&mut pairing, 2, &beside([1]), 1), CallOutcome::Late { .. }));
    assert!(matches!(call(&mut pairing, 3, &beside([2]), 7), CallOutcome::New));
    assert!(matches!(call(&mut pairing, 4, &beside([3]), 7), CallOutcome::Again));
}

#[test]
fn what_moved_to_another_connection_leaves_nothing_behind() {
    let mut pairing = Pairing::default();
    for xid in 0..u32::try_from(6 * GENERATION_LIMIT).unwrap() {
        assert!(matches!(call(&mut pairing, 1, &[], xid), CallOutcome::New));
        assert!(matches!(call(&mut pairing, 2, &beside([1]), xid), CallOutcome::Again));
        assert!(matches!(reply(&mut pairing, 1, xid), ReplyOutcome::Answers { .. }), "by the old way");
        assert!(matches!(reply(&mut pairing, 2, xid), ReplyOutcome::Again { .. }));
    }
    assert!(pairing.entries.len() <= 2 * GENERATION_LIMIT, "{}", pairing.entries.len());
}

#[test]
fn what_moved_after_it_had_waited_for_long_leaves_nothing_behind() {
    let mut pairing = Pairing::default();
    let generation = u32::try_from(GENERATION_LIMIT).unwrap();
    for xid in 0..8 * generation {
        assert!(matches!(call(&mut pairing, 1, &[], xid), CallOutcome::New));
        let Some(late) = xid.checked_sub(3 * generation) else { continue };
        assert!(matches!(call(&mut pairing, 2, &beside([1]), late), CallOutcome::Again));
        // Every other one is answered where it was sent first, and the rest never.
        if late % 2 == 0 {
            assert!(matches!(reply(&mut pairing, 1, late), ReplyOutcome::Answers { .. }), "by the old way");
            assert!(matches!(reply(&mut pairing, 2, late), ReplyOutcome::Again { .. }));
        }
    }
    // Those of the last three generations wait on connection 1, half of those before on 2.
    let waiting = 3 * GENERATION_LIMIT + 5 * GENERATION_LIMIT / 2;
    assert!(pairing.entries.len() <= waiting + 2 * GENERATION_LIMIT, "{}", pairing.entries.len());
    let mut unanswered = [0; 2];
    while let Some((_, request)) = pairing.next_unanswered() {
        unanswered[request.connection as usize - 1] += 1;
    }
    assert_eq!(unanswered, [3 * GENERATION_LIMIT, 5 * GENERATION_LIMIT / 2]);
    assert_eq!(pairing.entries.long_waiting.len(), 0);
}

#[test]
fn calls_without_reply_end_in_the_order_in_which_they_were_sent() {
    let mut pairing = Pairing::default();
    let generation = u32::try_from(GENERATION_LIMIT).unwrap();
    for xid in 0..5 * generation {
        assert!(matches!(call(&mut pairing, 1, &[], xid), CallOutcome::New));
        if xid % 3 > 0 {
            assert!(matches!(reply(&mut pairing, 1, xid), ReplyOutcome::Answers { .. }));
        }
    }
    let mut expected = (0..5 * generation).step_by(3);
    while let Some((_, request)) = pairing.next_unanswered() {
        let xid = expected.next().unwrap();
        assert_eq!(request.message.record().bytes.first_chunk(), Some(&xid.to_be_bytes()));
    }
    assert_eq!(expected.next(), None);
}

/// Who makes the same call at each connection, as who begins to count anew, did not send it again.
#[test]
fn a_call_whose_reply_was_received_elsewhere_is_another_one() {
    let mut pairing = Pairing::default();
    let mut bytes = null_call(7);
    bytes[23] = 1;
    let head = Head::of_call(&bytes).unwrap();
    let ask = |pairing: &mut Pairing, connection, siblings: &[Sibling]| {
        let origin = Origin { connection, siblings, ..FIRST };
        pairing.call(&origin, &record(&bytes), &head, || None).0
    };
    assert!(matches!(ask(&mut pairing, 1, &[]), CallOutcome::New));
    let before = pairing.next_call();
    assert!(matches!(reply(&mut pairing, 1, 7), ReplyOutcome::Answers { .. }));
    for (connection, received, again) in [(2, 0, true), (3, before, true), (4, pairing.next_call(), false)] {
        let outcome = ask(&mut pairing, connection, &[Sibling { connection: 1, received }]);
        assert_eq!(matches!(outcome, CallOutcome::Late { .. }), again, "{outcome:?}");
        assert_eq!(matches!(outcome, CallOutcome::New), !again, "{outcome:?}");
    }
    // One that was not answered is sent again there, whatever else was received.
    let waiting = Sibling { connection: 4, received: u64::MAX };
    assert!(matches!(ask(&mut pairing, 5, &[waiting]), CallOutcome::Again));
    assert!(matches!(reply(&mut pairing, 5, 7), ReplyOutcome::Answers { .. }));
}

#[test]
fn a_call_that_was_written_anew_is_the_same_but_for_what_changes_each_time() {
    let mut pairing = Pairing::default();
    let mut call = |connection, siblings: &[Sibling], last: u8, renewed| {
        let mut bytes = null_call(7);
        bytes.extend([1, 2, last, 4]);
        let head = Head::of_call(&bytes).unwrap();
        let origin = Origin { connection, siblings, renewed, ..FIRST };
        pairing.call(&origin, &record(&bytes), &head, || None).0
    };
    let length = null_call(7).len();
    let part = Some(length + 2..length + 3);
    assert!(matches!(call(1, &[], 3, part.clone()), CallOutcome::New));
    assert!(matches!(call(2, &beside([1]), 9, part.clone()), CallOutcome::Again));
    assert!(matches!(call(3, &beside([2]), 9, Some(length..length + 1)), CallOutcome::New));
}

/// A call in a slot: a header with an xid, then what begins the request.
fn call_in_slot(
    pairing: &mut Pairing,
    connection: ConnectionId,
    siblings: &[Sibling],
    xid: u32,
    request: &[u8],
) -> CallOutcome {
    let mut bytes = null_call(xid);
    bytes[23] = 1;
    bytes.extend(request);
    let head = Head::of_call(&bytes).unwrap();
    let slot = Some(Slot { name: [7; 20], request: null_call(xid).len() });
    let origin = Origin { connection, siblings, slot, began_ns: i64::from(connection), ..FIRST };
    let sent = Stamp { frame: 1, time_ns: i64::from(connection) };
    pairing.call(&origin, &record_at(&bytes, sent), &head, || None).0
}

#[test]
fn a_request_in_its_slot_is_the_same_under_another_xid_on_a_new_connection() {
    let mut pairing = Pairing::default();
    assert!(matches!(call_in_slot(&mut pairing, 1, &[], 7, b"1 REMOVE a"), CallOutcome::New));
    assert!(matches!(call_in_slot(&mut pairing, 2, &beside([1]), 90, b"1 REMOVE a"), CallOutcome::Again));
    // Its reply may come on either.
    let ReplyOutcome::Answers { request, .. } = reply(&mut pairing, 1, 7) else { panic!() };
    assert_eq!((request.transmissions, request.connection), (2, 2));
    assert!(matches!(reply(&mut pairing, 2, 90), ReplyOutcome::Again { .. }));
    // What was answered is asked anew on each connection that a client adds.
    assert!(matches!(call_in_slot(&mut pairing, 3, &beside([2]), 1, b"1 REMOVE a"), CallOutcome::New));
}

#[test]
fn another_request_in_a_slot_is_another_call() {
    let mut pairing = Pairing::default();
    assert!(matches!(call_in_slot(&mut pairing, 1, &[], 7, b"1 REMOVE a"), CallOutcome::New));
    // A client that gave the first one up uses its number for another, or goes on with the next.
    for (connection, other) in [(2, b"1 REMOVE b"), (3, b"2 REMOVE a")] {
        let outcome = call_in_slot(&mut pairing, connection, &beside([1]), 90, other);
        assert!(matches!(outcome, CallOutcome::New), "{outcome:?}");
    }
    // Between other hosts, or on the same connection, it is none that was sent again.
    for (connection, siblings) in [(4, &[][..]), (4, &beside([3]))] {
        let outcome =
            call_in_slot(&mut pairing, connection, siblings, 91 + siblings.len() as u32, b"2 REMOVE a");
        assert!(matches!(outcome, CallOutcome::New), "{outcome:?}");
    }
}

#[test]
fn a_request_that_was_sent_after_a_connection_began_was_not_sent_again_there() {
    let mut pairing = Pairing::default();
    assert!(matches!(call_in_slot(&mut pairing, 2, &[], 7, b"1 REMOVE a"), CallOutcome::New));
    assert!(matches!(call_in_slot(&mut pairing, 1, &beside([2]), 90, b"1 REMOVE a"), CallOutcome::New));
}

#[test]
fn calls_beyond_the_limit_are_given_up_oldest_first() {
    let mut pairing = Pairing::default();
    let mut given_up = Vec::new();
    for xid in 0..u32::try_from(WAITING_LIMIT + 4 * GENERATION_LIMIT).unwrap() {
        let bytes = null_call(xid);
        let mut c = Cursor::new(&bytes, Layer::Rpc);
        c.skip(8).unwrap();
        let header = Head::parse(&mut c, xid).unwrap();
        pairing.call(&FIRST, &record(&bytes), &header, || None);
        while let Some((_, request)) = pairing.overdue_call() {
            given_up.push(u32::from_be_bytes(*request.message.record().bytes.first_chunk().unwrap()));
            pairing.recycle(request);
        }
    }
    assert!(given_up.len() >= GENERATION_LIMIT);
    assert!(given_up.iter().zip(0..).all(|(xid, nth)| *xid == nth), "oldest first");
    assert!(pairing.entries.len() <= WAITING_LIMIT + 2 * GENERATION_LIMIT);
}

proptest! {
    /// Against one that looks for each call everywhere.
    #[test]
    fn a_call_that_cannot_have_come_before_need_not_be_looked_for(
        steps in prop::collection::vec((0..9_u8, 0..3_u32, 0..40_u32, 0..2_u32), 1..200),
    ) {
        let (mut pairing, mut thorough) = (Pairing::default(), Pairing::default());
        thorough.entries.hasher = pairing.entries.hasher.clone();
        let mut highest = [None; 3];
        for (kind, connection, xid, procedure) in steps {
            let outcomes = [(&mut pairing, true), (&mut thorough, false)].map(|(pairing, knows)| match kind {
                0..4 => {
                    let mut bytes = null_call(xid);
                    bytes[23] = procedure as u8;
                    let head = Head::of_call(&bytes).unwrap();
                    let others = [0, 1, 2].map(|other| if other == connection { 3 } else { other });
                    let others = beside(others);
                    let newer = knows && highest[connection as usize].is_some_and(|highest| xid > highest);
                    let origin = Origin { connection, siblings: &others, newer, ..FIRST };
                    format!("{:?}", pairing.call(&origin, &record(&bytes), &head, || None))
                }
                4..8 => format!("{:?}", reply(pairing, connection, xid)),
                _ => {
                    let late = pairing.entries.age();
                    pairing.long_waiting.extend(late);
                    String::new()
                }
            });
            prop_assert_eq!(&outcomes[0], &outcomes[1]);
            if kind < 4 {
                highest[connection as usize] = highest[connection as usize].max(Some(xid));
            }
            thorough.entries.digests[0].bits = vec![u64::MAX; GENERATION_WORDS];
        }
    }
}

fn at(time_ns: i64) -> Stamp {
    Stamp { time_ns, frame: 1 }
}

fn reply_at(pairing: &mut Pairing, xid: u32, time_ns: i64) -> ReplyOutcome {
    pairing.reply(1, Side::Low, xid, &record_at(&xid.to_be_bytes(), at(time_ns)))
}

/// Calls and replies in order, one each millisecond from `from` on; gives the time behind them.
fn in_order(pairing: &mut Pairing, xids: std::ops::Range<u32>, from: i64) -> i64 {
    let mut now = from;
    for xid in xids {
        assert!(matches!(call_at(pairing, 1, &[], xid, at(now)), CallOutcome::New));
        assert!(matches!(reply_at(pairing, xid, now + 500_000), ReplyOutcome::Answers { .. }));
        now += 1_000_000;
    }
    now
}

#[test]
fn a_damaged_xid_does_not_make_a_reply_of_a_call_that_comes_much_later() {
    let mut pairing = Pairing::default();
    let now = in_order(&mut pairing, 0..20, 0);
    assert!(matches!(reply_at(&mut pairing, 100, now), ReplyOutcome::Early), "its xid should be 19");
    let now = in_order(&mut pairing, 20..120, now);
    let (connection, xid, orphan) = pairing.overdue_reply(at(now + HELD_NS)).unwrap();
    assert_eq!((connection, xid, orphan.last), (1, 100, at(20_000_000)));
    assert_eq!(pairing.next_unanswered().map(|(call, _)| call), None);
}

/// The call has a hole, which is given up with what comes next on its connection.
#[test]
fn a_reply_is_held_for_a_call_that_is_complete_a_minute_later() {
    let mut pairing = Pairing::default();
    assert!(matches!(reply_at(&mut pairing, 1, 1_000_000), ReplyOutcome::Early));
    assert!(pairing.overdue_reply(at(60_000_000_000)).is_none());
    let outcome = call_at(&mut pairing, 1, &[], 1, at(0));
    assert!(matches!(outcome, CallOutcome::Answered { .. }));
}

#[test]
fn a_call_with_the_xid_of_a_reply_that_is_held_may_be_another() {
    let mut pairing = Pairing::default();
    assert!(matches!(reply_at(&mut pairing, 1, 0), ReplyOutcome::Early));
    let outcome = call_at(&mut pairing, 1, &[], 1, at(EARLY_NS + 1));
    assert!(matches!(outcome, CallOutcome::New));
    assert_eq!(pairing.overdue_reply(at(HELD_NS + 1)).map(|(_, xid, _)| xid), Some(1));
}

#[test]
fn a_reply_with_the_xid_of_one_that_is_held_does_not_hide_it() {
    let mut pairing = Pairing::default();
    for time_ns in [0, 10 * EARLY_NS] {
        assert!(matches!(reply_at(&mut pairing, 1, time_ns), ReplyOutcome::Early));
    }
    let told =
        std::iter::from_fn(|| pairing.overdue_reply(at(11 * EARLY_NS)).or_else(|| pairing.next_orphan()));
    assert_eq!(told.map(|(_, _, reply)| reply.last.time_ns).collect::<Vec<i64>>(), [0, 10 * EARLY_NS]);
}

#[test]
fn replies_are_held_longer_as_long_as_they_are_few() {
    let mut pairing = Pairing::default();
    for xid in 0..EARLY_LIMIT as u32 {
        assert!(matches!(reply_at(&mut pairing, xid, 0), ReplyOutcome::Early));
    }
    assert!(pairing.overdue_reply(at(EARLY_NS)).is_none());
    let mut given_up = 0;
    while pairing.overdue_reply(at(EARLY_NS + 1)).is_some() {
        given_up += 1;
    }
    assert_eq!((given_up, pairing.displaced), (EARLY_LIMIT / 2, 0), "half of the room is free, nothing lost");
}

#[test]
fn replies_that_found_their_calls_are_forgotten_where_time_stands_still() {
    let mut pairing = Pairing::default();
    for xid in 0..4 * EARLY_LIMIT as u32 {
        assert!(matches!(reply_at(&mut pairing, xid, 0), ReplyOutcome::Early));
        let outcome = call_at(&mut pairing, 1, &[], xid, at(0));
        assert!(matches!(outcome, CallOutcome::Answered { .. }));
        assert!(pairing.early_order.len() <= EARLY_LIMIT + 3, "{xid}");
    }
    assert!(matches!(reply_at(&mut pairing, 0, 0), ReplyOutcome::Again { .. } | ReplyOutcome::Early));
    assert!(pairing.overdue_reply(at(EARLY_NS + 1)).is_none(), "few are held, whatever found its call");
}

#[test]
fn a_reply_that_the_capture_shows_a_little_too_early_is_one() {
    let mut pairing = Pairing::default();
    let now = in_order(&mut pairing, 0..20, 0);
    assert!(matches!(reply_at(&mut pairing, 20, now), ReplyOutcome::Early));
    let outcome = call_at(&mut pairing, 1, &[], 20, at(now + DISORDER_NS));
    assert!(matches!(outcome, CallOutcome::Answered { .. }));
}

/// The two directions were stamped by two clocks that are 300 ms apart.
#[test]
fn replies_that_are_always_too_early_are_replies() {
    let mut pairing = Pairing::default();
    for xid in 0..100 {
        let now = i64::from(xid) * 1_000_000_000;
        assert!(matches!(reply_at(&mut pairing, xid, now), ReplyOutcome::Early));
        let outcome = call_at(&mut pairing, 1, &[], xid, at(now + 300_000_000));
        assert!(matches!(outcome, CallOutcome::Answered { .. }), "{xid}");
    }
}

/// Programs that count their calls from the same number on each connection, and ask the same on each.
#[test]
fn what_was_sent_after_a_connection_began_was_not_sent_again_there() {
    const SECOND_NS: i64 = 1_000_000_000;
    let bytes = {
        let mut bytes = null_call(7);
        bytes[23] = 1;
        bytes
    };
    let head = Head::of_call(&bytes).unwrap();
    for answered in [false, true] {
        // The second connection is older than the call of the first one, or took its place.
        for (began_ns, again) in [(SECOND_NS, false), (3 * SECOND_NS, true)] {
            let mut pairing = Pairing::default();
            pairing.call(&FIRST, &record_at(&bytes, at(2 * SECOND_NS)), &head, || None);
            if answered {
                assert!(matches!(reply_at(&mut pairing, 7, 2 * SECOND_NS), ReplyOutcome::Answers { .. }));
            }
            let origin = Origin { connection: 2, siblings: &beside([1]), began_ns, ..FIRST };
            let outcome = pairing.call(&origin, &record_at(&bytes, at(4 * SECOND_NS)), &head, || None).0;
            let expected = match (again, answered) {
                (false, _) => matches!(outcome, CallOutcome::New),
                (true, false) => matches!(outcome, CallOutcome::Again),
                (true, true) => matches!(outcome, CallOutcome::Late { .. }),
            };
            assert!(expected, "{answered} {began_ns}: {outcome:?}");
        }
    }
}

/// A call each millisecond, whose reply bears a time so much earlier; how many are answered.
fn answered_earlier(pairing: &mut Pairing, xids: std::ops::Range<u32>, from: i64, by: i64) -> usize {
    xids.filter(|xid| {
        let now = from + i64::from(*xid) * 1_000_000;
        assert!(matches!(call_at(pairing, 1, &[], *xid, at(now)), CallOutcome::New));
        matches!(reply_at(pairing, *xid, now - by), ReplyOutcome::Answers { .. })
    })
    .count()
}

#[test]
fn a_reply_behind_its_call_that_bears_a_much_earlier_time_tells_no_service_time() {
    let mut pairing = Pairing::default();
    let now = in_order(&mut pairing, 0..20, 0);
    assert_eq!(answered_earlier(&mut pairing, 20..24, now, DISORDER_NS), 4, "out of order");
    assert_eq!(answered_earlier(&mut pairing, 24..28, now, DISORDER_NS + 1), 0, "the clock was set back");
    assert_eq!(std::iter::from_fn(|| pairing.next_unanswered()).count(), 4);
    assert_eq!(std::iter::from_fn(|| pairing.next_orphan()).count(), 4);
}

#[test]
fn replies_that_bear_earlier_times_as_a_habit_have_a_clock_of_their_own() {
    let mut pairing = Pairing::default();
    assert_eq!(answered_earlier(&mut pairing, 0..20, 0, EARLY_NS / 2), 20);
    // It became one: from one in four on.
    let mut pairing = Pairing::default();
    let now = in_order(&mut pairing, 0..20, 0);
    let found = answered_earlier(&mut pairing, 20..60, now, EARLY_NS / 2);
    assert!((30..40).contains(&found), "{found}");
}
