//! What is told of a connection, on segments written by hand: a client `C` and a server `S`.

use std::net::SocketAddr;

use proptest::prelude::*;

use super::*;
use crate::packet::{Payload, TcpFlags};

const US: i64 = 1_000;
const ACK: u8 = 0x10;
const FIN_ACK: u8 = 0x11;
const SYN: u8 = 0x02;
const SYN_ACK: u8 = 0x12;
const RST: u8 = 0x04;
const RST_ACK: u8 = 0x14;

/// Segments as they are captured; sequence numbers count from 1 behind the SYN.
#[derive(Default)]
struct Wire {
    connections: Connections,
    id: ConnectionId,
    frame: u64,
    window: Option<u16>,
    client_port: Option<u16>,
    options: Vec<u8>,
}

impl Wire {
    /// A segment at a time in microseconds: who sends it, flags, sequence, acknowledgement, length.
    fn send(
        &mut self,
        at_us: i64,
        from: char,
        flags: u8,
        sequence: u32,
        acknowledgement: u32,
        length: usize,
    ) {
        let client = SocketAddr::new("10.0.0.2".parse().unwrap(), self.client_port.unwrap_or(700));
        let server: SocketAddr = "10.0.0.3:2049".parse().unwrap();
        let (source, destination) = if from == 'C' { (client, server) } else { (server, client) };
        self.frame += 1;
        let data = vec![0; length];
        let segment = Segment {
            source,
            destination,
            sequence,
            acknowledgement,
            flags: TcpFlags(flags),
            window: self.window.unwrap_or(500),
            options: &self.options,
            payload: Payload::new(&data, length),
        };
        let stamp = Stamp { frame: self.frame, time_ns: at_us * US };
        self.id = self.connections.segment(&segment, stamp, |_, _, _, _| ());
    }

    fn connection(&self) -> &Connection {
        self.connections.get(self.id).unwrap()
    }

    /// Microseconds of the shortest ACK alone and with data of `C` and `S`.
    fn least(&self) -> [Option<i64>; 4] {
        let acks = &self.connection().acks;
        [acks.low.alone(), acks.low.with_data(), acks.high.alone(), acks.high.with_data()]
            .map(|times| times.least().map(|ns| ns / US))
    }

    fn counts(&self) -> [u64; 4] {
        let acks = &self.connection().acks;
        [acks.low.alone(), acks.low.with_data(), acks.high.alone(), acks.high.with_data()]
            .map(|times| times.count)
    }
}

#[test]
fn an_ack_alone_is_told_from_one_with_data() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(240, 'S', ACK, 1, 101, 0);
    wire.send(5_240, 'S', ACK, 1, 101, 50); // The reply.
    wire.send(5_250, 'C', ACK, 101, 51, 0);
    wire.send(9_000, 'C', ACK, 101, 51, 100);
    wire.send(9_700, 'S', ACK, 51, 201, 50);
    wire.send(9_780, 'C', ACK, 201, 101, 100);
    assert_eq!(wire.least(), [Some(10), Some(80), Some(240), Some(700)]);
    assert_eq!(wire.counts(), [1, 1, 1, 1]);
}

/// A server whose reply's second piece comes after an ACK that took so long, at so many microseconds behind
/// that; then the client's next call. How often a side waited for the other's ACK.
fn waits_for_acks(ack_us: i64, after_us: i64, ack: u32) -> [u32; 2] {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(200, 'S', ACK, 1, 101, 1000);
    wire.send(220, 'C', ACK, 101, 1001, 0); // Nothing else is timed at this end.
    for i in 0..3 {
        let (at, next) = (1_000_000 * i64::from(i), 1001 + 1100 * i);
        wire.send(at + 500_000, 'S', ACK, next, 101, 100);
        wire.send(at + 500_000 + ack_us, 'C', ACK, 101, next + ack, 0);
        wire.send(at + 500_000 + ack_us + after_us, 'S', ACK, next + 100, 101, 1000);
        wire.send(at + 900_000, 'C', ACK, 101, next + 1100, 0);
    }
    let counts = &wire.connection().counts;
    [counts.low.ack_waits, counts.high.ack_waits]
}

#[test]
fn a_sender_that_goes_on_after_a_delayed_ack_waited_for_it() {
    assert_eq!(waits_for_acks(39_000, 200, 100), [0, 3]);
    assert_eq!(waits_for_acks(39_000, 2_000, 100), [0, 0], "it had something else to do");
    assert_eq!(waits_for_acks(25_000, 200, 100), [0, 0], "too soon for a timer");
    assert_eq!(waits_for_acks(39_000, 200, 50), [0, 0], "more was under way");
}

#[test]
fn an_ack_that_comes_before_the_other_sides_next_call_sets_nobody_free() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(200, 'S', ACK, 1, 101, 100);
    wire.send(220, 'C', ACK, 101, 101, 0);
    wire.send(500_000, 'S', ACK, 101, 101, 100);
    wire.send(540_000, 'C', ACK, 101, 201, 0);
    wire.send(540_010, 'C', ACK, 101, 201, 100); // A call, which the server answers.
    wire.send(540_300, 'S', ACK, 201, 201, 100);
    assert_eq!(wire.connection().counts.high.ack_waits, 0);
    wire.send(600_000, 'C', ACK, 201, 301, 0);
    wire.send(600_200, 'S', ACK, 301, 201, 100);
    assert_eq!(wire.connection().counts.high.ack_waits, 1);
}

#[test]
fn a_late_ack_sets_nobody_free_who_has_not_all_of_the_other_sides_data_yet() {
    // A call fills the link for 42 ms, and its reply follows the last of it.
    let waits = |arrived: u32| {
        let mut wire = Wire::default();
        wire.send(0, 'C', ACK, 1, 1, 100);
        wire.send(200, 'S', ACK, 1, 101, 100);
        wire.send(220, 'C', ACK, 101, 101, 0);
        wire.send(1_000, 'S', ACK, 101, 101, 100);
        wire.send(1_010, 'C', ACK, 101, 101, 1000);
        wire.send(30_000, 'S', ACK, 201, 101 + arrived, 0);
        wire.send(41_000, 'C', ACK, 1101, 201, 0);
        wire.send(41_500, 'S', ACK, 201, 1101, 100);
        wire.connection().counts.high.ack_waits
    };
    assert_eq!((waits(1000), waits(900)), (1, 0));
}

#[test]
fn what_was_sent_twice_is_not_timed() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(200_000, 'C', ACK, 1, 1, 100);
    wire.send(200_010, 'S', ACK, 1, 101, 0);
    assert_eq!(wire.counts(), [0; 4]);
    wire.send(300_000, 'C', ACK, 101, 1, 100);
    wire.send(300_240, 'S', ACK, 1, 201, 0);
    assert_eq!(wire.least(), [None, None, Some(240), None]);
    assert_eq!(wire.connection().counts.low.retransmitted, 1);
}

#[test]
fn what_was_sent_twice_in_part_is_not_timed() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(240, 'S', ACK, 1, 101, 0);
    // Its first half came before, so that the ACK may be of either.
    wire.send(300_000, 'C', ACK, 51, 1, 100);
    wire.send(300_010, 'S', ACK, 1, 151, 0);
    assert_eq!((wire.least(), wire.counts()), ([None, None, Some(240), None], [0, 0, 1, 0]));
}

#[test]
fn what_the_receiver_had_before_was_sent_again_in_vain() {
    let mut wire = Wire::default();
    let sack = |from: u32, until: u32| {
        [&[1, 1, 5, 10], from.to_be_bytes().as_slice(), &until.to_be_bytes()].concat()
    };
    for _ in 0..2 {
        wire.send(0, 'C', ACK, 1, 1, 100);
    }
    wire.send(40_000, 'S', ACK, 1, 101, 0); // Sent before the second came.
    wire.options = sack(1, 101);
    wire.send(40_100, 'S', ACK, 1, 101, 0);
    wire.send(40_200, 'S', ACK, 1, 101, 0); // Of a third that is not in the capture.
    wire.options.clear();
    wire.send(50_000, 'C', ACK, 101, 1, 100);
    wire.send(300_000, 'C', ACK, 101, 1, 100); // The first was lost behind the capture point.
    wire.send(301_000, 'S', ACK, 1, 201, 50);
    wire.send(301_000, 'S', ACK, 1, 201, 50);
    wire.options = sack(1, 51);
    wire.send(301_100, 'C', ACK, 201, 51, 0);
    let counts = &wire.connection().counts;
    assert_eq!((counts.low.retransmitted, counts.low.spurious), (2, 1));
    assert_eq!((counts.high.retransmitted, counts.high.spurious), (1, 1));
}

#[test]
fn when_something_was_sent_again_before_a_time_is_known_of_the_last_two() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    assert_eq!(wire.connection().resent_before(i64::MAX), None);
    for at_us in [300_000, 700_000, 700_000] {
        wire.send(at_us, 'C', ACK, 1, 1, 100);
    }
    let before = |at_us: i64| wire.connection().resent_before(at_us * US);
    assert_eq!(before(700_001), Some(700_000 * US));
    assert_eq!(before(700_000), Some(300_000 * US));
    assert_eq!(before(300_000), None);
}

#[test]
fn what_is_sent_again_before_the_timer_runs_out_is_early() {
    let mut wire = Wire::default();
    wire.send(0, 'S', ACK, 1, 1, 0);
    wire.send(500_000, 'C', ACK, 1, 1, 100); // Nothing is under way: the timer starts.
    wire.send(500_010, 'C', ACK, 101, 1, 100);
    wire.send(520_000, 'C', ACK, 101, 1, 100); // A tail loss probe.
    wire.send(689_000, 'C', ACK, 1, 1, 100);
    assert_eq!(wire.connection().counts.low.early, 2);
    wire.send(701_000, 'C', ACK, 1, 1, 100); // The timer ran out.
    wire.send(702_000, 'S', ACK, 1, 101, 0); // It starts again.
    wire.send(891_000, 'C', ACK, 101, 1, 100);
    wire.send(893_000, 'C', ACK, 101, 1, 100);
    let counts = &wire.connection().counts;
    assert_eq!((counts.low.retransmitted, counts.low.early), (5, 3));
}

#[test]
fn without_an_acknowledgement_nothing_tells_that_it_was_early() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(10, 'C', ACK, 1, 1, 100);
    let counts = &wire.connection().counts;
    assert_eq!((counts.low.retransmitted, counts.low.early), (1, 0));
}

#[test]
fn what_came_out_of_order_or_after_a_gap_is_not_timed() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(10, 'C', ACK, 201, 1, 100);
    wire.send(5_000, 'C', ACK, 101, 1, 100); // Lost on the way here, or overtaken.
    wire.send(5_010, 'S', ACK, 1, 301, 0);
    assert_eq!(wire.counts(), [0; 4]);
    let counts = &wire.connection().counts.low;
    assert_eq!((counts.out_of_order, counts.refilled, counts.retransmitted), (1, 1, 0));
    wire.send(6_000, 'C', ACK, 301, 1, 100);
    wire.send(7_000, 'S', ACK, 1, 501, 0); // Of data that is not in the capture.
    assert_eq!(wire.counts(), [0; 4]);
    wire.send(8_000, 'C', ACK, 601, 1, 100);
    wire.send(8_010, 'C', ACK, 401, 1, 200); // Overtaken.
    let counts = &wire.connection().counts.low;
    assert_eq!((counts.out_of_order, counts.refilled), (2, 1));
}

#[test]
fn what_comes_sooner_than_a_round_trip_was_overtaken_and_not_sent_again() {
    // Captured at the server, 10 ms away.
    let handshake = |wire: &mut Wire| {
        wire.send(0, 'C', SYN, 0, 0, 0);
        wire.send(10, 'S', SYN_ACK, 0, 1, 0);
        wire.send(10_010, 'C', ACK, 1, 1, 0);
    };
    for (filled, refilled) in [(8_900, 0), (9_100, 1)] {
        let mut wire = Wire::default();
        handshake(&mut wire);
        wire.send(20_000, 'C', ACK, 101, 1, 100);
        wire.send(20_000 + filled, 'C', ACK, 1, 1, 100);
        let counts = &wire.connection().counts.low;
        assert_eq!((counts.out_of_order, counts.refilled), (1, refilled), "{filled}");
    }
    // An empty segment has the server send no ACK by which the client knew what is missing.
    let mut wire = Wire::default();
    handshake(&mut wire);
    wire.send(20_000, 'C', ACK, 101, 1, 0);
    wire.send(26_000, 'C', ACK, 1, 1, 100);
    assert_eq!(wire.connection().counts.low.refilled, 1);
}

/// Options with a timestamp of the sender's clock.
fn clock(value: u32) -> Vec<u8> {
    [&[1, 1, 8, 10], value.to_be_bytes().as_slice(), &[0; 4]].concat()
}

#[test]
fn the_senders_clock_tells_what_was_sent_again_from_what_was_overtaken() {
    // Captured at the server, 1 ms away. What fills the hole, after so many microseconds, was sent so many
    // ticks after what shows it.
    for (filled, later, refilled) in [(1_100, 2, 1), (1_100, 0, 0), (50_000, -2, 0), (50_000, 0, 1)] {
        for before in [7, u32::MAX] {
            let mut wire = Wire { options: clock(before), ..Wire::default() };
            wire.send(0, 'C', SYN, 0, 0, 0);
            wire.send(10, 'S', SYN_ACK, 0, 1, 0);
            wire.send(1_010, 'C', ACK, 1, 1, 0);
            wire.send(20_000, 'C', ACK, 101, 1, 100);
            wire.options = clock(before.wrapping_add_signed(later));
            wire.send(20_000 + filled, 'C', ACK, 1, 1, 100);
            let counts = &wire.connection().counts.low;
            assert_eq!((counts.out_of_order, counts.refilled), (1, refilled), "{filled} {later} {before}");
        }
    }
}

#[test]
fn the_senders_clock_is_that_of_what_came_in_order() {
    let mut wire = Wire { options: clock(7), ..Wire::default() };
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.options = clock(9);
    wire.send(1_000, 'S', ACK, 1, 101, 100);
    let clocks = |wire: &Wire| (wire.connection().clocks.low, wire.connection().clocks.high);
    assert_eq!(clocks(&wire), (7, 9));
    // Of what waited for a hole to be filled, the clock is older than the time.
    wire.options = clock(12);
    wire.send(3_000, 'C', ACK, 201, 101, 100);
    assert_eq!(clocks(&wire), (7, 9));
    wire.send(9_000, 'C', ACK, 101, 101, 100);
    assert_eq!(clocks(&wire), (0, 9));
    wire.options = Vec::new();
    wire.send(10_000, 'S', ACK, 101, 301, 100);
    assert_eq!(clocks(&wire), (0, 0));
}

#[test]
fn nothing_is_sent_again_within_a_tick_of_a_clock_that_ticks_faster_than_a_round_trip() {
    // Captured at the server, 10 ms away; a hole is filled 50 ms after what shows it, with the same timestamp.
    // Before that the clock was heard to tick every millisecond, or every 10 ms, or for too short a while.
    for (ticks, heard_ms, refilled) in [(100, 100, 0), (25, 250, 1), (19, 19, 1)] {
        let mut wire = Wire { options: clock(7), ..Wire::default() };
        wire.send(0, 'C', SYN, 0, 0, 0);
        wire.send(10, 'S', SYN_ACK, 0, 1, 0);
        wire.send(10_010, 'C', ACK, 1, 1, 0);
        wire.send(20_000, 'C', ACK, 101, 1, 100);
        wire.send(21_000, 'C', ACK, 1, 1, 100);
        wire.options = clock(7 + ticks);
        wire.send(20_000 + heard_ms * 1_000, 'C', ACK, 301, 1, 100);
        wire.send(70_000 + heard_ms * 1_000, 'C', ACK, 201, 1, 100);
        let counts = &wire.connection().counts.low;
        assert_eq!((counts.out_of_order, counts.refilled), (2, refilled), "{ticks}");
    }
}

#[test]
fn each_hole_is_held_against_what_shows_it() {
    // Two segments were overtaken, the second by what was sent later.
    let mut wire = Wire::default();
    for (at, sent, sequence) in [(0, 5, 1), (100, 7, 201), (200, 9, 401), (5_000, 6, 101), (5_100, 8, 301)] {
        wire.options = clock(sent);
        wire.send(at, 'C', ACK, sequence, 1, 100);
    }
    assert_eq!(wire.connection().counts.low.refilled, 0);
    for (at, sent, sequence) in [(6_000, 11, 601), (6_100, 13, 801), (7_000, 14, 501), (7_100, 14, 701)] {
        wire.options = clock(sent);
        wire.send(at, 'C', ACK, sequence, 1, 100);
    }
    assert_eq!(wire.connection().counts.low.refilled, 2);
}

#[test]
fn the_quicker_of_what_tells_the_round_trip_tells_what_was_sent_again() {
    // The handshake took 10 ms, for the server was busy; each side acknowledges after 2 ms.
    let mut wire = Wire::default();
    wire.send(0, 'C', SYN, 0, 0, 0);
    wire.send(8_000, 'S', SYN_ACK, 0, 1, 0);
    wire.send(10_000, 'C', ACK, 1, 1, 0);
    wire.send(20_000, 'C', ACK, 1, 1, 100);
    wire.send(22_000, 'S', ACK, 1, 101, 100);
    wire.send(24_000, 'C', ACK, 101, 101, 0);
    wire.send(30_000, 'C', ACK, 201, 101, 100);
    wire.send(34_000, 'C', ACK, 101, 101, 100);
    assert_eq!(wire.connection().counts.low.refilled, 1);
}

#[test]
fn what_an_empty_segment_shows_to_be_lost_counts_when_it_is_sent_again() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(1_000, 'C', ACK, 201, 1, 0); // 101 to 200 were lost before they came here.
    wire.send(201_000, 'C', ACK, 101, 1, 100);
    wire.send(202_000, 'C', ACK, 201, 1, 100);
    wire.send(203_000, 'C', ACK, 400, 1, 0);
    wire.send(203_100, 'C', ACK, 301, 1, 99); // Overtaken.
    let counts = &wire.connection().counts.low;
    assert_eq!((counts.refilled, counts.retransmitted, counts.out_of_order), (1, 0, 0));
}

#[test]
fn a_hole_that_several_segments_fill_ends_where_the_one_behind_it_begins() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(1_000, 'C', ACK, 301, 1, 100);
    wire.send(201_000, 'C', ACK, 101, 1, 100);
    assert_eq!(wire.connection().counts.low.refilled, 0, "it may go on as if there were no hole");
    wire.send(202_000, 'C', ACK, 201, 1, 100);
    assert_eq!(wire.connection().counts.low.refilled, 2);
    // One that is sent again together with what was sent behind it.
    wire.send(203_000, 'C', ACK, 501, 1, 100);
    wire.send(403_000, 'C', ACK, 401, 1, 300);
    assert_eq!(wire.connection().counts.low.refilled, 3);
}

#[test]
fn a_damaged_sequence_number_makes_nothing_of_what_follows_one_that_was_sent_again() {
    for stray in [101 + 150, 101 + (1 << 12), 101 + (1 << 20), 101 + (1 << 27)] {
        for empty in [false, true] {
            let mut wire = Wire::default();
            wire.send(0, 'C', ACK, 1, 1, 100);
            wire.send(1_000, 'C', ACK, stray, 1, if empty { 0 } else { 100 });
            for n in 0..100_u32 {
                wire.send(10_000 * i64::from(n + 1), 'C', ACK, 101 + 100 * n, 1, 100);
                wire.send(10_000 * i64::from(n + 1) + 10, 'S', ACK, 1, 201 + 100 * n, 0);
            }
            let counts = &wire.connection().counts.low;
            assert_eq!((counts.refilled, counts.retransmitted), (0, 0), "{stray} empty: {empty}");
        }
    }
}

#[test]
fn a_hole_that_is_given_up_leads_no_further_than_to_what_came_behind_it() {
    let mut wire = Wire::default();
    let numbers = (0..200_u32).map(|n| 1 + 100 * n + 100 * u32::from(n >= 100)); // One is lost.
    for (n, number) in (0_i64..).zip(numbers) {
        wire.send(1_000 * n, 'S', ACK, number, 1, 100);
        if n == 10 {
            wire.send(1_000 * n + 10, 'S', ACK, 500_001, 1, 100); // Its number is damaged,
            wire.send(1_000 * n + 20, 'C', ACK, 1, 9_000_001, 0); // and so is this one.
        }
        wire.send(1_000 * n + 500, 'C', ACK, 1, number + 100, 0);
    }
    let counts = &wire.connection().counts.high;
    assert_eq!((counts.retransmitted, counts.missing_bytes), (0, 100));
}

#[test]
fn a_direction_that_was_not_captured_is_missing_as_far_as_it_was_acknowledged() {
    let missing = |wire: &Wire| {
        let counts = &wire.connection().counts;
        [counts.low.missing_bytes, counts.high.missing_bytes]
    };
    // The server alone, across the wrap of the client's numbers; an ACK that comes late changes nothing.
    let mut wire = Wire::default();
    for (at, acknowledged) in (0_u32..).zip([0_u32, 100, 200, 150, 200, 1_200]) {
        wire.send(i64::from(at), 'S', ACK, 1 + 50 * at, acknowledged.wrapping_sub(150), 50);
    }
    assert_eq!(missing(&wire), [1_200, 0]);
    // Numbers out of nowhere say nothing, nor does a reset.
    wire.send(10, 'S', ACK, 301, 900_000_000, 50);
    wire.send(11, 'S', ACK, 351, 1_050, 50);
    wire.send(12, 'S', ACK, 401, 3_000_000_000, 50);
    wire.send(13, 'S', ACK, 451, 1_150, 50);
    assert_eq!(missing(&wire), [1_200, 0]);
    wire.send(14, 'S', ACK, 501, 1_250, 50);
    wire.send(15, 'S', RST_ACK, 551, 2_000, 0);
    assert_eq!(missing(&wire), [1_300, 0]);
    // Once the client is there, what came before is what a capture has not of a connection that is open.
    wire.send(20, 'C', ACK, 1_250, 551, 100);
    assert_eq!(missing(&wire), [0, 0]);
    wire.send(21, 'S', ACK, 551, 1_350, 50);
    assert_eq!(missing(&wire), [0, 0]);
    wire.send(1_000_000, 'S', ACK, 601, 1_550, 50);
    wire.send(2_000_000, 'S', ACK, 651, 1_550, 50);
    assert_eq!(missing(&wire), [200, 0]);
}

#[test]
fn an_opening_and_an_ending_alone_are_no_missing_bytes() {
    for (acknowledged, expected) in [(1, 0), (2, 0), (3, 2), (1 + (1 << 21), 1 << 21), (2 + (1 << 21), 0)] {
        let mut wire = Wire::default();
        wire.send(0, 'S', SYN_ACK, 0, 1, 0);
        wire.send(10, 'S', FIN_ACK, 1, acknowledged, 0);
        assert_eq!(wire.connection().counts.low.missing_bytes, expected, "{acknowledged}");
    }
    // A SYN that was captured late begins the stream.
    let mut wire = Wire::default();
    wire.send(0, 'S', SYN_ACK, 0, 1, 0);
    wire.send(10, 'S', ACK, 1, 101, 0);
    wire.send(20, 'C', SYN, 0, 0, 0);
    assert_eq!(wire.connection().counts.low.missing_bytes, 0);
}

#[test]
fn openings_endings_and_keepalives_are_not_timed() {
    let mut wire = Wire::default();
    wire.send(0, 'C', SYN, 0, 0, 0);
    wire.send(240, 'S', SYN_ACK, 0, 1, 0);
    wire.send(250, 'C', ACK, 1, 1, 0);
    wire.send(1_000, 'C', ACK, 1, 1, 100);
    wire.send(1_900, 'S', ACK, 1, 101, 50);
    assert_eq!(wire.counts(), [0, 0, 0, 1]);
    wire.send(2_000, 'C', ACK, 101, 51, 0);
    wire.send(60_000_000, 'C', ACK, 100, 51, 1); // A keepalive, and its answer.
    wire.send(60_000_240, 'S', ACK, 51, 101, 0);
    assert_eq!(wire.counts(), [1, 0, 0, 1]);
    assert_eq!(wire.connection().counts.low.retransmitted, 0);
    wire.send(61_000_000, 'S', ACK, 51, 101, 50);
    wire.send(61_000_010, 'C', RST_ACK, 101, 101, 0);
    wire.send(61_000_020, 'C', FIN_ACK, 101, 101, 0);
    assert_eq!(wire.counts(), [1, 0, 0, 1]);
}

const SECOND_US: i64 = 1_000_000;

/// SYNs, SYN+ACKs, challenge ACKs, refusals and attempts before.
fn opening(wire: &Wire) -> [u32; 5] {
    let Opening { syns, syn_acks, challenges, refusals, attempts, .. } = wire.connection().opening;
    [syns, syn_acks.into(), challenges.into(), refusals, attempts]
}

/// A handshake with these initial sequence numbers, at a time.
fn shake(wire: &mut Wire, at_us: i64, isn: u32) {
    wire.send(at_us, 'C', SYN, isn, 0, 0);
    wire.send(at_us + 240, 'S', SYN_ACK, 0, isn + 1, 0);
    wire.send(at_us + 250, 'C', ACK, isn + 1, 1, 0);
}

#[test]
fn a_syn_that_is_sent_again_is_counted_from_the_first() {
    let mut wire = Wire::default();
    for at in [0, 1, 3] {
        wire.send(at * SECOND_US, 'C', SYN, 0, 0, 0);
    }
    shake(&mut wire, 7 * SECOND_US, 0);
    wire.send(7 * SECOND_US + 300, 'S', SYN_ACK, 0, 1, 0); // The ACK was lost.
    wire.send(7 * SECOND_US + 400, 'C', ACK, 1, 1, 100);
    assert_eq!(opening(&wire), [4, 2, 0, 0, 0]);
    let connection = wire.connection();
    assert_eq!(connection.opening.first_ns, Some(0));
    assert_eq!(connection.syn, Some((Side::Low, 7 * SECOND_US * US)));
    assert_eq!(connection.syn_ack, Some((7 * SECOND_US + 240) * US));
    assert_eq!(connection.established, Some((7 * SECOND_US + 250) * US));
}

#[test]
fn of_several_syns_the_answer_tells_which_one_it_is_for() {
    // Whether there are timestamps, the SYN that is answered, and whether it is known to be the last one.
    for (ticks, answered, known) in [(true, 1, true), (true, 0, false), (false, 1, false)] {
        let option = |value: u32, echo: u32| {
            let numbers = [value.to_be_bytes(), echo.to_be_bytes()].concat();
            if ticks { [&[1, 1, 8, 10], &*numbers].concat() } else { Vec::new() }
        };
        let mut wire = Wire::default();
        let sent = [(0, 5), (SECOND_US, 1_005)];
        for (at_us, value) in sent {
            wire.options = option(value, 0);
            wire.send(at_us, 'C', SYN, 0, 0, 0);
        }
        wire.options = option(77, sent[answered].1);
        wire.send(SECOND_US + 5_090, 'S', SYN_ACK, 0, 1, 0);
        assert_eq!(wire.connection().answered_syn(), known.then_some(SECOND_US * US), "{ticks} {answered}");
    }
    let mut wire = Wire::default();
    shake(&mut wire, 7, 0);
    assert_eq!(wire.connection().answered_syn(), Some(7 * US), "the only one");
}

#[test]
fn a_reset_does_not_complete_a_handshake() {
    let mut wire = Wire::default();
    wire.send(0, 'C', SYN, 0, 0, 0);
    wire.send(240, 'S', SYN_ACK, 0, 1, 0);
    wire.send(250, 'C', RST_ACK, 1, 1, 0);
    assert_eq!(wire.connection().established, None);
    assert_eq!(wire.connection().counts.low.rst, Some(250 * US));
}

#[test]
fn attempts_that_came_to_nothing_are_told_of_the_connection_that_followed() {
    let mut wire = Wire::default();
    for (attempt, isn) in (0_i64..).zip([1_000, 2_000, 3_000]) {
        wire.send(attempt * 3 * SECOND_US, 'C', SYN, isn, 0, 0);
        for copy in 0..2 {
            wire.send(attempt * 3 * SECOND_US + 100 + copy, 'S', RST_ACK, 0, isn + 1, 0);
        }
    }
    wire.send(9 * SECOND_US, 'C', SYN, 4_000, 0, 0);
    assert_eq!(wire.connections.unopened().count(), 1);
    shake(&mut wire, 10 * SECOND_US, 4_000);
    assert_eq!(opening(&wire), [2, 1, 0, 3, 3]);
    assert_eq!(wire.connection().opening.attempted_ns, Some(0));
    assert_eq!(wire.connection().counts.high.rst, None);
    assert_eq!(wire.connections.unopened().count(), 0);
    // Who wants a connection much later does not still wait for it, nor who had one.
    wire.send(11 * SECOND_US, 'C', SYN, 5_000, 0, 0);
    assert_eq!(opening(&wire), [1, 0, 0, 0, 0]);
    shake(&mut wire, 700 * SECOND_US, 6_000);
    assert_eq!(opening(&wire), [1, 1, 0, 0, 0]);
    assert_eq!(wire.connections.unopened().count(), 1);
}

#[test]
fn what_answers_another_syn_than_the_one_that_was_refused_is_another_connection() {
    // What comes first of the connection whose SYN is not in the capture, and where its numbers begin.
    for isn in [900, 40_000_000] {
        for skipped in 0..3 {
            let mut wire = Wire::default();
            wire.send(0, 'C', SYN, 100, 0, 0);
            wire.send(100, 'S', RST_ACK, 0, 101, 0);
            let first = wire.id;
            if skipped < 1 {
                wire.send(3 * SECOND_US, 'S', SYN_ACK, 0, isn + 1, 0);
            }
            if skipped < 2 {
                wire.send(3 * SECOND_US + 10, 'C', ACK, isn + 1, 1, 0);
            }
            wire.send(3 * SECOND_US + 20, 'C', ACK, isn + 1, 1, 100);
            wire.send(3 * SECOND_US + 900, 'S', ACK, 1, isn + 101, 50);
            wire.connections.flush(|_, _, _, _| ());
            let missing = wire.connection().counts.low.missing_bytes;
            if skipped == 0 || isn > 900 {
                assert_ne!(wire.id, first, "{isn} {skipped}");
                assert_eq!((missing, wire.connection().opening.attempts), (0, 1), "{isn} {skipped}");
                assert_eq!(wire.connections.unopened().count(), 0);
            } else {
                assert_eq!((wire.id, missing), (first, 800), "as many may have been lost");
            }
        }
    }
}

#[test]
fn what_answers_a_syn_that_is_waited_for_is_no_other_connection() {
    let mut wire = Wire::default();
    wire.send(0, 'C', SYN, 100, 0, 0);
    let first = wire.id;
    wire.send(100, 'S', SYN_ACK, 7, 40_000_001, 0); // It answers a SYN of before, which was given up.
    assert_eq!(wire.id, first);
    wire.send(200, 'S', RST, 8, 0, 0); // That of another connection, which the SYN crossed.
    wire.send(300, 'S', SYN_ACK, 0, 101, 0);
    wire.send(400, 'C', ACK, 1_500, 1, 100); // What came before it was lost.
    assert_eq!(wire.id, first);
}

#[test]
fn what_was_asked_for_in_vain_is_told_by_client_and_port_of_the_server() {
    let mut wire = Wire::default();
    for (at, isn) in [(0, 1_000), (3, 2_000), (4, 2_000), (6, 2_000)] {
        wire.send(at * SECOND_US, 'C', SYN, isn, 0, 0);
    }
    wire.send(6 * SECOND_US + 100, 'S', RST_ACK, 0, 2_001, 0);
    wire.client_port = Some(701);
    wire.send(9 * SECOND_US, 'C', SYN, 3_000, 0, 0);
    wire.client_port = Some(702); // Beside it: nobody gave up the other.
    wire.send(9 * SECOND_US + 1, 'C', SYN, 4_000, 0, 0);
    let (told, left_out) = vain::vain(wire.connections.unopened());
    let [one] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((one.attempts, one.syns, one.refusals, left_out), (4, 6, 1, 0));
    assert_eq!((one.first_ns, one.last_ns), (0, (9 * SECOND_US + 1) * US));
    shake(&mut wire, 10 * SECOND_US, 4_000);
    let (told, _) = vain::vain(wire.connections.unopened());
    assert_eq!(told.iter().map(|each| each.syns).collect::<Vec<_>>(), [5]);
}

#[test]
fn attempts_from_other_ports_are_those_that_are_over() {
    for (refused, next_us, attempts) in [(true, 1_000, 1), (false, 1_000, 0), (false, 4 * SECOND_US, 1)] {
        let mut wire = Wire::default();
        wire.send(0, 'C', SYN, 0, 0, 0);
        if refused {
            wire.send(100, 'S', RST_ACK, 0, 1, 0);
        }
        wire.client_port = Some(701);
        shake(&mut wire, next_us + 1, 900_000);
        assert_eq!(opening(&wire), [1, 1, 0, u32::from(refused), attempts]);
        assert_eq!(wire.connections.unopened().count(), usize::from(attempts == 0));
        // Who has a connection does not wait for it.
        wire.client_port = Some(702);
        shake(&mut wire, 100 * SECOND_US, 50_000);
        assert_eq!(opening(&wire), [1, 1, 0, 0, 0]);
    }
    // SYNs after 0, 1 and 3 s: the next one may come after 7 s.
    for (next_s, attempts) in [(6, 0), (11, 1)] {
        let mut wire = Wire::default();
        for at in [0, 1, 3] {
            wire.send(at * SECOND_US, 'C', SYN, 0, 0, 0);
        }
        wire.client_port = Some(701);
        shake(&mut wire, next_s * SECOND_US, 900_000);
        assert_eq!(opening(&wire), [1, 1, 0, 0, attempts]);
    }
}

#[test]
fn a_syn_on_ports_whose_connection_the_server_still_has_is_answered_by_an_ack() {
    let mut wire = Wire::default();
    shake(&mut wire, 0, 0);
    wire.send(1_000, 'C', ACK, 1, 1, 100);
    wire.send(2_000, 'S', ACK, 1, 101, 50);
    let first = wire.id;
    wire.send(60 * SECOND_US, 'C', SYN, 900_000, 0, 0);
    wire.send(60 * SECOND_US + 240, 'S', ACK, 51, 101, 0);
    wire.send(60 * SECOND_US + 250, 'C', RST, 101, 0, 0);
    shake(&mut wire, 61 * SECOND_US, 900_000);
    assert_ne!(wire.id, first);
    assert_eq!(opening(&wire), [2, 1, 1, 0, 0]);
    let counts = &wire.connection().counts;
    assert_eq!([counts.low.rst, counts.high.rst, counts.low.fin, counts.high.fin], [None; 4]);
}

#[test]
fn acks_behind_a_handshake_that_was_not_captured_whole_are_no_challenges() {
    let mut wire = Wire::default();
    wire.send(0, 'C', SYN, 0, 0, 0);
    wire.send(250, 'C', ACK, 1, 1, 100);
    wire.send(500, 'S', ACK, 1, 101, 0);
    wire.send(600, 'S', FIN_ACK, 1, 101, 0);
    assert_eq!(opening(&wire), [1, 0, 0, 0, 0]);
    assert_eq!(wire.connection().counts.high.fin, Some(600 * US));
}

#[test]
fn the_first_fin_and_reset_of_each_side_are_kept() {
    let mut wire = Wire::default();
    shake(&mut wire, 0, 0);
    wire.send(1_000, 'C', FIN_ACK, 1, 1, 0);
    wire.send(201_000, 'C', FIN_ACK, 1, 1, 0);
    wire.send(201_100, 'S', RST, 1, 0, 0);
    wire.send(201_200, 'S', RST, 1, 0, 0);
    let counts = &wire.connection().counts;
    assert_eq!((counts.low.fin, counts.low.rst), (Some(1_000 * US), None));
    assert_eq!((counts.high.fin, counts.high.rst), (None, Some(201_100 * US)));
}

#[test]
fn what_the_other_side_never_acknowledged_is_told_at_the_end() {
    let unacknowledged = |wire: &mut Wire| {
        wire.connections.flush(|_, _, _, _| ());
        let counts = &wire.connection().counts;
        [counts.low.unacknowledged, counts.high.unacknowledged]
    };
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    assert_eq!(unacknowledged(&mut wire), [None, None]);
    wire.send(240, 'S', ACK, 1, 61, 50);
    assert_eq!(unacknowledged(&mut wire), [Some(40), Some(50)]);
    wire.send(300, 'C', ACK, 101, 51, 100);
    wire.send(540, 'S', ACK, 51, 201, 0);
    wire.send(600, 'C', FIN_ACK, 201, 51, 0);
    assert_eq!(unacknowledged(&mut wire), [Some(0), Some(0)]);
    wire.send(700, 'S', ACK, 51, 202, 0);
    assert_eq!(unacknowledged(&mut wire), [Some(0), Some(0)]);
}

#[test]
fn both_sides_have_all_once_each_has_acknowledged_the_other() {
    let received = |wire: &Wire| wire.connections.is_received(wire.id);
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    assert!(!received(&wire));
    wire.send(240, 'S', ACK, 1, 101, 50);
    assert!(!received(&wire));
    wire.send(600, 'C', FIN_ACK, 101, 51, 0);
    assert!(received(&wire));
    wire.send(700, 'S', ACK, 51, 102, 0);
    assert!(received(&wire), "FIN counts as one more");
    wire.send(800, 'S', ACK, 51, 102, 10);
    assert!(!received(&wire));
}

#[test]
fn what_was_sent_and_never_came_is_told_by_the_number_of_an_ack() {
    let lost = |wire: &mut Wire| {
        wire.connections.flush(|_, _, _, _| ());
        let counts = &wire.connection().counts;
        [counts.low.lost_bytes, counts.high.lost_bytes]
    };
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(240, 'S', ACK, 1, 101, 50);
    assert_eq!(lost(&mut wire), [0, 0]);
    wire.send(300, 'C', ACK, 101, 51, 100);
    // A reply of 4,096 bytes was sent before it.
    wire.send(540, 'S', ACK, 4_147, 201, 0);
    assert_eq!(lost(&mut wire), [0, 4_096]);
    wire.send(600, 'S', ACK, 51, 201, 4_096);
    assert_eq!(lost(&mut wire), [0, 0]);
    // FIN takes a number, and is no byte.
    wire.send(700, 'C', FIN_ACK, 201, 4_147, 0);
    wire.send(800, 'C', ACK, 202, 4_147, 0);
    assert_eq!(lost(&mut wire), [0, 0]);
}

#[test]
fn a_hole_that_nobody_acknowledged_was_lost_on_the_way() {
    let told = |wire: &mut Wire| {
        wire.connections.flush(|_, _, _, _| ());
        let counts = &wire.connection().counts.high;
        (counts.uncaptured_bytes(), counts.lost_on_the_way(), counts.unacknowledged_since)
    };
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(240, 'S', ACK, 1, 101, 50);
    wire.send(300, 'C', ACK, 101, 51, 100);
    // What came of a reply of 1,500 bytes, and of the next one.
    wire.send(540, 'S', ACK, 1_051, 201, 500);
    wire.send(600, 'C', ACK, 201, 51, 0);
    wire.send(840, 'S', ACK, 1_651, 201, 20);
    wire.send(900, 'C', ACK, 201, 51, 100);
    assert_eq!(told(&mut wire), (0, 1_100, Some(300 * US)));
    assert_eq!(told(&mut wire), (0, 1_100, Some(300 * US)), "however often it is told");
    wire.send(1_000, 'C', ACK, 301, 1_651, 0);
    assert_eq!(told(&mut wire), (1_100, 0, Some(1_000 * US)), "the client has it");
    wire.send(1_100, 'C', ACK, 301, 1_671, 0);
    assert_eq!(told(&mut wire), (1_100, 0, None));
}

#[test]
fn of_a_hole_that_nothing_tells_of_it_stays_open_who_lost_it() {
    let told = |wire: &mut Wire| {
        wire.connections.flush(|_, _, _, _| ());
        let counts = &wire.connection().counts.high;
        (counts.uncaptured_bytes(), counts.lost_on_the_way())
    };
    // The client is not in the capture, or had the beginning of what is missing.
    for acknowledged in [None, Some(81)] {
        let mut wire = Wire::default();
        wire.send(0, 'S', ACK, 1, 101, 50);
        if let Some(acknowledged) = acknowledged {
            wire.send(100, 'C', ACK, 101, acknowledged, 0);
        }
        wire.send(240, 'S', ACK, 1_051, 101, 500);
        assert_eq!(told(&mut wire), (1_000, 0), "{acknowledged:?}");
    }
    // Longer than any record: the number is damaged.
    let mut wire = Wire::default();
    wire.send(0, 'S', ACK, 1, 101, 50);
    wire.send(100, 'C', ACK, 101, 51, 0);
    wire.send(240, 'S', ACK, 51 + (1 << 21) + 1, 101, 500);
    assert_eq!(told(&mut wire), ((1 << 21) + 1, 0));
}

#[test]
fn after_a_reset_sequence_numbers_elsewhere_are_another_connection() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(240, 'S', ACK, 1, 101, 50);
    wire.send(300, 'C', ACK, 900_000_000, 7, 100); // A damaged number: nothing was reset.
    wire.send(400, 'S', RST_ACK, 51, 101, 0);
    wire.send(500, 'C', ACK, 101, 51, 100); // It crossed the reset.
    wire.send(600, 'S', RST_ACK, 3_000_000_000, 0, 0); // The answer to it.
    let first = wire.id;
    wire.send(10_000, 'C', ACK, 2_000_000_000, 500, 100);
    assert_ne!(wire.id, first);
    assert_eq!(wire.connection().counts.low.segments, 1);
    let second = wire.id;
    wire.send(10_100, 'S', ACK, 500, 2_000_000_100, 50);
    wire.send(10_200, 'C', ACK, 900_000_000, 7, 100); // Damaged once more.
    assert_eq!(wire.id, second);
    wire.send(20_000, 'C', RST_ACK, 2_000_000_100, 550, 0);
    wire.send(30_000, 'S', SYN_ACK, 900_000_000, 1, 0); // The SYN was not captured.
    assert_ne!(wire.id, second);
}

/// A connection whose numbers go on to 10,001 and 20,001, and which ends with this.
fn ended(reset: bool) -> Wire {
    let mut wire = Wire::default();
    wire.send(0, 'C', SYN, 1_000, 0, 0);
    wire.send(100, 'S', SYN_ACK, 2_000, 1_001, 0);
    wire.send(200, 'C', ACK, 1_001, 2_001, 9_000);
    wire.send(300, 'S', ACK, 2_001, 10_001, 18_000);
    if reset {
        wire.send(400, 'S', RST_ACK, 20_001, 10_001, 0);
    } else {
        wire.send(400, 'S', FIN_ACK, 20_001, 10_001, 0);
        wire.send(500, 'C', FIN_ACK, 10_001, 20_002, 0);
    }
    wire
}

#[test]
fn behind_its_end_numbers_beside_those_of_a_connection_are_another_one() {
    // From which the stream of either side goes on: before all there was, a little or far behind it, or amid it
    // if the other is not.
    let places = [(500, 700), (500, 30_000), (12_000, 700), (50_000_000, 60_000_000), (500, 9_000)];
    for ((client, server), reset) in places.into_iter().flat_map(|place| [(place, true), (place, false)]) {
        let mut wire = ended(reset);
        wire.send(600, 'C', ACK, 10_001, 20_001, 0);
        let first = wire.id;
        wire.send(30_000, 'C', ACK, client, server, 100);
        assert_ne!(wire.id, first, "{client} {server} {reset}");
        assert_eq!(wire.connection().counts.low.segments, 1);
        let second = wire.id;
        wire.send(30_500, 'S', ACK, server, client + 100, 50);
        assert_eq!(wire.id, second);
    }
}

#[test]
fn behind_its_end_what_was_under_way_or_comes_again_is_of_the_same_connection() {
    for reset in [true, false] {
        for (from, flags, sequence, acknowledgement, length) in [
            ('C', ACK, 10_001, 2_001, 100),    // It goes on, and has not heard of the end.
            ('C', ACK, 10_001, 20_001, 100),   // The same once the answer came.
            ('C', ACK, 10_000, 20_001, 1),     // A keepalive.
            ('S', ACK, 2_001, 10_001, 18_000), // Sent again, since no acknowledgement came.
            ('S', SYN_ACK, 2_000, 1_001, 0),   // Late copies.
            ('C', ACK, 1_001, 2_001, 9_000),
        ] {
            let mut wire = ended(reset);
            let first = wire.id;
            wire.send(30_000, from, flags, sequence, acknowledgement, length);
            assert_eq!(wire.id, first, "{from} {flags} {sequence} {acknowledgement} {reset}");
        }
    }
}

#[test]
fn numbers_beside_those_of_a_connection_are_not_another_one_while_it_may_go_on() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1_001, 2_001, 9_000);
    wire.send(300, 'S', ACK, 2_001, 10_001, 18_000);
    let first = wire.id;
    wire.send(30_000, 'C', ACK, 500, 700, 100); // Nothing ended it.
    assert_eq!(wire.id, first);
    wire.send(30_400, 'S', RST_ACK, 20_001, 10_001, 0);
    wire.send(31_000, 'C', ACK, 500, 700, 100); // It may have crossed the reset.
    assert_eq!(wire.id, first);
}

#[test]
fn a_syn_behind_what_answers_it_opens_no_other_connection() {
    let answered = |wire: &mut Wire| {
        wire.send(0, 'S', SYN_ACK, 5_000, 101, 0);
        wire.send(200, 'S', ACK, 5_001, 201, 50);
        wire.send(400, 'S', ACK, 5_051, 301, 50);
        wire.id
    };
    let mut wire = Wire::default();
    let first = answered(&mut wire);
    wire.send(1_000_000, 'C', SYN, 100, 0, 0);
    wire.send(1_000_100, 'C', ACK, 101, 5_001, 100);
    assert_eq!(wire.id, first);
    assert_eq!(wire.connection().counts.low.segments, 1);
    for another in [300_u32, 0x8000_0000, u32::MAX - 3_000_000] {
        let mut wire = Wire::default();
        let first = answered(&mut wire);
        wire.send(1_000_000, 'C', SYN, another.wrapping_add(301), 0, 0);
        assert_ne!(wire.id, first);
    }
}

#[test]
fn a_window_of_zero_lasts_until_the_next_larger_one() {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.window = Some(0);
    wire.send(100, 'S', ACK, 1, 101, 0);
    wire.send(200, 'S', ACK, 1, 101, 0);
    wire.send(250, 'S', RST_ACK, 1, 101, 0);
    wire.window = None;
    wire.send(300, 'C', ACK, 101, 1, 100);
    wire.send(600, 'S', ACK, 1, 201, 0);
    wire.window = Some(0);
    wire.send(1_000, 'S', ACK, 1, 201, 0);
    let counts = &wire.connection().counts;
    let windows = &counts.high.zero_windows;
    assert_eq!((windows.count(), windows.is_shut()), (3, true));
    assert_eq!(windows.lasted_until(1_000 * US), 500 * US);
    assert_eq!(windows.lasted_until(1_700 * US), 1_200 * US);
    assert_eq!(counts.low.zero_windows.lasted_until(1_700 * US), 0);
}

/// What one side sends next in a trial of [`State::take_next`].
#[derive(Clone, Copy, Debug)]
struct Step {
    low: bool,
    flags: u8,
    /// From where the side is, most often 0.
    sequence: i32,
    /// From where the other side is, most often 0.
    acknowledged: i32,
    length: u32,
    captured: u32,
    window: u16,
    pause_ns: i64,
    /// The segment did not come to the capture.
    lost: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let flags = prop_oneof![30 => Just(ACK), 1 => Just(FIN_ACK), 1 => Just(SYN), 1 => Just(SYN_ACK), 1 => Just(RST_ACK), 1 => Just(0)];
    let astray = || prop_oneof![20 => Just(0), 3 => -300..300_i32, 1 => any::<i32>()];
    let length = prop_oneof![2 => Just(0), 3 => 1..200_u32, 1 => Just(1 << 21)];
    let window = prop_oneof![9 => Just(500_u16), 1 => Just(0)];
    let pause = prop_oneof![9 => 0..1_000_000_i64, 1 => 0..70_000_000_000_i64];
    (any::<bool>(), flags, astray(), astray(), length, 0..300_u32, window, pause, prop::bool::weighted(0.1))
        .prop_map(|(low, flags, sequence, acknowledged, length, captured, window, pause_ns, lost)| Step {
            low,
            flags,
            sequence,
            acknowledged,
            length,
            captured: captured.min(length),
            window,
            pause_ns,
            lost,
        })
}

/// Everything that comes out of a connection, and what is known of it in the end.
fn outcome(steps: &[Step], shortcut: bool) -> (Vec<String>, String, bool, usize) {
    let end = |port| SocketAddr::from(([10, 0, 0, 2], port));
    let mut connections = Connections::default();
    let id = connections.open(end(700), end(2049), Transport::Tcp, Stamp::default());
    let mut state = connections.states.remove(id).unwrap();
    let (mut told, mut at, mut time_ns) = (Vec::new(), [7_u32, u32::MAX - 90], 0);
    for (frame, step) in (1..).zip(steps) {
        let [own, other] = if step.low { [0, 1] } else { [1, 0] };
        time_ns += step.pause_ns;
        let sequence = at[own].wrapping_add_signed(step.sequence);
        if step.sequence == 0 {
            at[own] = at[own].wrapping_add(step.length);
        }
        if step.lost {
            continue;
        }
        let bytes = vec![frame as u8; step.captured as usize];
        let options = clock(frame as u32);
        let segment = Segment {
            options: &options,
            sequence,
            acknowledgement: at[other].wrapping_add_signed(step.acknowledged),
            flags: TcpFlags(step.flags),
            window: step.window,
            payload: Payload::new(&bytes, step.length as usize),
            ..Segment::EMPTY
        };
        let side = if step.low { Side::Low } else { Side::High };
        let stamp = Stamp { time_ns, frame };
        let mut sink = |connection: &Connection, side: Side, event: Event<'_>| {
            // The piece's own clock is there only where something waits.
            let event = match event {
                Event::Piece(piece) => Event::Piece(Piece { clock: 0, ..piece }),
                gap @ Event::Gap { .. } => gap,
            };
            told.push(format!("{side:?} {event:?} {:?}", connection.clocks));
        };
        if !shortcut || !state.take_next(side, &segment.part(), || segment.clock(), stamp) {
            state.take(side, &segment, stamp, &mut sink);
        } else if step.length > 0 {
            sink(&state.connection, side, Event::Piece(Piece::of(&segment.part(), stamp)));
        }
        state.held_bytes = state.holds();
    }
    (told, format!("{:?}", state.connection), state.waits(), state.holds())
}

proptest! {
    #[test]
    fn the_shortcut_for_what_comes_next_tells_the_same(steps in prop::collection::vec(step(), 1..60)) {
        prop_assert_eq!(outcome(&steps, true), outcome(&steps, false));
    }
}

#[test]
fn ends_of_the_same_number_are_told_apart() {
    let server: SocketAddr = "[fd00::3]:2049".parse().unwrap();
    let clients: [SocketAddr; 2] = ["[::1]:700".parse().unwrap(), "[100::]:700".parse().unwrap()];
    let [one, other] = clients.map(|client| number(&client, Transport::Tcp));
    assert_eq!(one, other);
    let mut connections = Connections::default();
    for _ in 0..2 {
        let found = clients
            .map(|client| connections.connection(&client, &server, Transport::Tcp, Stamp::default()).1);
        assert_eq!(found, [0, 1]);
    }
}

/// An end among few hosts and ports, of either version of IP.
fn end() -> impl Strategy<Value = SocketAddr> {
    (0..3_u8, 0..40_u8, prop::sample::select(vec![700_u16, 701, 2049, 2050])).prop_map(
        |(kind, host, port)| match kind {
            0 => SocketAddr::from(([10, 0, 0, host], port)),
            1 => SocketAddr::from(([10, host, 0, 0], port)),
            _ => SocketAddr::from(([0xfd00, 0, 0, u16::from(host), 0, 0, 0, u16::from(host)], port)),
        },
    )
}

proptest! {
    #[test]
    fn a_connection_is_found_by_its_ends_whichever_sends(
        packets in prop::collection::vec((end(), end(), any::<bool>(), 0..20_u8), 1..400)
    ) {
        let mut connections = Connections::default();
        let mut known = std::collections::HashMap::new();
        for (source, destination, udp, again) in packets {
            let transport = if udp { Transport::Udp } else { Transport::Tcp };
            let low = source <= destination;
            let ends = if low { (source, destination, udp) } else { (destination, source, udp) };
            if again == 0 && known.contains_key(&ends) {
                // The same ports anew.
                known.insert(ends, connections.open(source, destination, transport, Stamp::default()));
            }
            let (side, id) = connections.connection(&source, &destination, transport, Stamp::default());
            prop_assert_eq!(side, if low { Side::Low } else { Side::High });
            prop_assert_eq!(id, *known.entry(ends).or_insert(id));
            let (from, to) = (number(&source, transport), number(&destination, transport));
            prop_assert_eq!(connections.foresee((to, from)), Some(id));
            prop_assert_eq!(connections.fetch(id, (from, to)), Some(side));
        }
        prop_assert_eq!(connections.states.ids().last().copied(), connections.count.checked_sub(1));
        let distinct: std::collections::HashSet<_> = known.values().collect();
        prop_assert_eq!(distinct.len(), known.len());
    }
}

/// Messages of so many bytes that the server acknowledges alone, each after a time, in microseconds.
fn acknowledged_after(length: usize, times_us: impl IntoIterator<Item = i64>) -> Wire {
    let mut wire = Wire::default();
    let (mut at, mut sequence) = (0, 1);
    for time_us in times_us {
        wire.send(at, 'C', ACK, sequence, 1, length);
        sequence += length as u32;
        wire.send(at + time_us, 'S', ACK, 1, sequence, 0);
        at += time_us + 10;
    }
    wire
}

#[test]
fn a_path_that_becomes_longer_is_told_with_when_and_by_what() {
    let times = || [300; 40].into_iter().chain([60_000; 20]).chain([300; 40]);
    for (length, full) in [(100, 0), (2 * 8_948, 20)] {
        let wire = acknowledged_after(length, times());
        let acks = &wire.connection().acks;
        assert_eq!(acks.low.slower(), None);
        let slower = acks.high.slower().unwrap();
        assert_eq!((slower.from_ns, slower.until_ns), (40 * 310 * US, (40 * 310 + 20 * 60_010 - 10) * US));
        assert_eq!((slower.least, slower.alone, slower.with_data), (60_000 * US, 20, 0));
        assert_eq!(slower.soon, 0, "each comes when nothing else was under way");
        assert_eq!(slower.full, full, "segments are full from the size on that the handshake tells");
    }
}

#[test]
fn an_ack_that_comes_soon_after_another_was_not_delayed() {
    let (mut wire, mut sequence) = (Wire::default(), 1);
    for flight in 0..40 {
        let (at, took_us) = (flight * 200_000, if flight < 20 { 300 } else { 60_000 });
        for piece in 0..4 {
            wire.send(at + i64::from(piece), 'C', ACK, sequence + 1000 * piece, 1, 1000);
        }
        // The first may have been delayed for all of it, the second for 25 of 85 ms.
        for after_us in [0, 25_000, 30_000, 30_001] {
            sequence += 1000;
            wire.send(at + took_us + after_us, 'S', ACK, 1, sequence, 0);
        }
    }
    let slower = wire.connection().acks.high.slower().unwrap();
    assert_eq!((slower.alone, slower.full, slower.soon), (80, 0, 40));
}

#[test]
fn a_segment_with_a_wrong_number_is_missing_and_nothing_else() {
    let mut wire = Wire::default();
    for i in 0..40 {
        let (at, call, reply) = (100_000 * i64::from(i), 1 + 100 * i, 1 + 50 * i);
        let damaged = if i == 5 { 1 << 29 } else { 0 };
        wire.send(at, 'C', ACK, call + damaged, reply, 100);
        wire.send(at + 1_000, 'S', ACK, reply, call + 100, 50);
    }
    wire.connections.flush(|_, _, _, _| ());
    let counts = &wire.connection().counts.low;
    assert_eq!((counts.missing_bytes, counts.retransmitted), (100, 0));
    // Round trips are told again.
    assert!(wire.counts()[3] > 10, "{:?}", wire.counts());
}

#[test]
fn what_comes_after_its_acknowledgement_is_counted_and_by_how_much_it_does() {
    let mut wire = Wire::default();
    // What the server sends is captured 7 ms late; it answers after 1 ms, and the client goes on at once.
    for i in 0..10 {
        let (at, call, reply) = (10_000 * i64::from(i), 1 + 100 * i, 1 + 50 * i);
        wire.send(at, 'C', ACK, call, reply, 100);
        wire.send(at + 1_000, 'C', ACK, call + 100, reply + 50, 0);
        wire.send(at + 8_000, 'S', ACK, reply, call + 100, 50);
    }
    let belated = wire.connection().belated(Side::High).unwrap();
    assert_eq!((belated.segments, belated.lead_ns()), (10, Some(7_000 * US)));
    let belated = wire.connection().belated(Side::Low).unwrap();
    assert_eq!((belated.segments, belated.lead_ns()), (0, None));
}

#[test]
fn what_is_acknowledged_once_it_came_is_not_counted() {
    let mut wire = Wire::default();
    for i in 0..10 {
        let (at, call, reply) = (10_000 * i64::from(i), 1 + 100 * i, 1 + 50 * i);
        wire.send(at, 'C', ACK, call, reply, 100);
        // Every third reply is not in the capture.
        if i % 3 != 1 {
            wire.send(at + 1_000, 'S', ACK, reply, call + 100, 50);
        }
        wire.send(at + 1_010, 'C', ACK, call + 100, reply + 50, 0);
    }
    let belated = wire.connection().belated(Side::High).unwrap();
    assert_eq!((belated.segments, belated.lead_ns()), (0, None));
}

/// A server's segment is lost and sent again after 210 ms; the client's ACK of it is captured so many
/// microseconds earlier than that, if it is at all; then the client asks again. Bytes that are missing.
fn missing_behind_an_ack(earlier_us: Option<i64>) -> u64 {
    let mut wire = Wire::default();
    wire.send(0, 'C', ACK, 1, 1, 100);
    wire.send(200, 'S', ACK, 1, 101, 1000);
    wire.send(210, 'S', ACK, 2001, 101, 1000); // What lies before it was lost.
    wire.send(220, 'C', ACK, 101, 1001, 0);
    let again_us = 210_000;
    wire.send(again_us - earlier_us.unwrap_or(0), 'C', ACK, 101, 3001, 0);
    if earlier_us.is_some() {
        wire.send(again_us, 'S', ACK, 1001, 101, 1000);
    }
    wire.send(again_us + 40_000, 'C', ACK, 101, 3001, 100);
    wire.send(again_us + 80_000, 'C', ACK, 201, 3001, 100);
    wire.connection().counts.high.missing_bytes
}

#[test]
fn an_ack_that_is_captured_before_what_it_acknowledges_gives_up_no_hole() {
    assert_eq!(missing_behind_an_ack(Some(5)), 0);
    assert_eq!(missing_behind_an_ack(Some(15_000)), 0);
    assert_eq!(missing_behind_an_ack(None), 1000, "what the receiver has and the capture does not show");
}

#[test]
fn a_direction_that_comes_once_the_other_is_over_is_counted() {
    let mut wire = Wire::default();
    let turn = |i: u32| (10_000 * i64::from(i), 1 + 100 * i, 1 + 50 * i);
    for i in 0..10 {
        let (at, call, reply) = turn(i);
        wire.send(at, 'C', ACK, call, reply, 100);
        wire.send(at + 5_000, 'C', ACK, call + 100, reply + 50, 0);
    }
    wire.send(95_000, 'C', FIN_ACK, 1001, 502, 0);
    for i in 0..10 {
        let (at, call, reply) = turn(i);
        wire.send(at + 1_004_000, 'S', ACK, reply, call + 100, 50);
    }
    let belated = wire.connection().belated(Side::High).unwrap();
    // The last acknowledgement tells, which takes in the FIN.
    assert_eq!((belated.segments, belated.lead_ns()), (10, Some(999_000 * US)));
}

#[test]
fn a_direction_that_was_put_behind_the_other_is_counted() {
    let mut wire = Wire::default();
    wire.send(0, 'C', SYN, 0, 0, 0);
    for i in 0..10 {
        let (at, call, reply) = (10_000 * i64::from(i), 1 + 100 * i, 1 + 50 * i);
        wire.send(at, 'C', ACK, call, reply, 100);
        wire.send(at + 5_000, 'C', ACK, call + 100, reply + 50, 0);
    }
    wire.send(100_000, 'S', SYN_ACK, 0, 1, 0);
    for i in 0..10 {
        wire.send(101_000 + 10_000 * i64::from(i), 'S', ACK, 1 + 50 * i, 101 + 100 * i, 50);
    }
    let belated = wire.connection().belated(Side::High).unwrap();
    // By how much is told once all has come that was acknowledged.
    assert_eq!((belated.segments, belated.lead_ns()), (10, Some(96_000 * US)));
}

#[test]
fn a_file_that_is_in_disorder_has_no_clocks_that_are_apart() {
    let mut wire = Wire::default();
    let turn = |i: u32| (10_000 * i64::from(i), 1 + 100 * i, 1 + 50 * i);
    for i in 0..10 {
        let (at, call, reply) = turn(i);
        wire.send(at, 'C', ACK, call, reply, 100);
        wire.send(at + 5_000, 'C', ACK, call + 100, reply + 50, 0);
    }
    for i in 0..10 {
        let (at, call, reply) = turn(i);
        wire.send(at + 4_000, 'S', ACK, reply, call + 100, 50);
    }
    let belated = wire.connection().belated(Side::High);
    assert_eq!(belated.map_or((0, None), |belated| (belated.segments, belated.lead_ns())), (0, None));
}

#[test]
fn without_a_sign_nothing_is_kept_of_what_comes_after_its_acknowledgement() {
    let mut wire = Wire::default();
    for i in 0..10 {
        let (at, call, reply) = (10_000 * i64::from(i), 1 + 100 * i, 1 + 50 * i);
        wire.send(at, 'C', ACK, call, reply, 100);
        wire.send(at + 1_000, 'S', ACK, reply, call + 100, 50);
        wire.send(at + 1_010, 'C', ACK, call + 100, reply + 50, 0);
    }
    assert!(wire.connection().belated.is_none());
}

/// Options of a SYN: the largest segment is 1460 bytes, windows are shifted by 7 bits.
const SCALED: [u8; 8] = [2, 4, 0x05, 0xb4, 1, 3, 3, 7];

/// A server that sends pieces of these lengths in each round trip of 20 ms to a client whose window is of
/// 5,120 bytes, captured where the server is so far away, in microseconds.
fn rounds(options: [&[u8]; 2], server_us: i64, pieces: &[usize], rounds: i64) -> Wire {
    let round_us = 20_000;
    let mut wire = Wire { window: Some(40), ..Wire::default() };
    wire.options = options[0].to_vec();
    wire.send(0, 'C', SYN, 0, 0, 0);
    wire.options = options[1].to_vec();
    wire.send(server_us, 'S', SYN_ACK, 0, 1, 0);
    wire.options = Vec::new();
    wire.send(round_us, 'C', ACK, 1, 1, 0);
    wire.send(round_us, 'C', ACK, 1, 1, 100);
    let mut sequence = 1;
    for round in 0..rounds {
        let begin = round_us * (1 + round) + server_us + 200 * round;
        for (piece, at) in pieces.iter().zip(0..) {
            wire.send(begin + 10 * at, 'S', ACK, sequence, 101, *piece);
            sequence += *piece as u32;
        }
        wire.send(begin + round_us - server_us + 150, 'C', ACK, 101, sequence, 0);
    }
    wire
}

/// For how many milliseconds the server stood since the client's window was full, and that window.
fn stood(wire: &Wire) -> (i64, Option<u32>) {
    let full = wire.connection().full_windows.of(Side::Low);
    (full.stood_ns() / 1_000_000, full.usual())
}

#[test]
fn a_window_that_is_full_is_told_at_either_end() {
    // Of 20 rounds the first begins what is kept, so that 19 tell.
    let least = 19 * 19;
    for server_us in [50, 10_000, 19_900] {
        let wire = rounds([&SCALED; 2], server_us, &[2_896, 2_224], 20);
        let (stood_ms, window) = stood(&wire);
        assert!((least..=20 * 21).contains(&stood_ms), "{server_us}: {stood_ms}");
        assert_eq!(window, Some(5_120));
        let bytes = wire.connection().full_windows.of(Side::Low).bytes();
        assert!((18 * 5_120..=19 * 5_120).contains(&bytes), "{server_us}: {bytes}");
        assert_eq!(wire.connection().full_windows.of(Side::Low).largest(), Some(5_120));
        assert_eq!(wire.connection().is_scaled(), Some(true));
        assert_eq!(wire.connection().full_windows.of(Side::High).stood_ns(), 0);
    }
}

#[test]
fn a_window_with_room_for_a_segment_is_not_full() {
    for server_us in [50, 10_000, 19_900] {
        // A segment has 1,448 bytes: what is left is more than that, or less.
        assert_eq!(stood(&rounds([&SCALED; 2], server_us, &[1_448, 1_448, 700], 20)), (0, None));
        assert!(stood(&rounds([&SCALED; 2], server_us, &[1_448, 1_448, 900], 20)).0 > 300);
    }
}

#[test]
fn windows_are_not_told_without_both_syns_nor_scaled_where_one_has_no_scale() {
    let unscaled = SCALED[..4].to_vec();
    // 40 bytes hold nothing, and are exceeded by all that comes.
    let wire = rounds([&SCALED, &unscaled], 50, &[2_896, 2_224], 20);
    assert_eq!((stood(&wire), wire.connection().is_scaled()), ((0, None), Some(false)));
    let mut wire = Wire { window: Some(40), ..Wire::default() };
    wire.send(0, 'C', ACK, 1, 1, 100);
    for round in 0..20 {
        wire.send(1_000 + 20_000 * i64::from(round), 'S', ACK, 1 + 5_120 * round, 101, 5_120);
        wire.send(20_000 + 20_000 * i64::from(round), 'C', ACK, 101, 5_121 + 5_120 * round, 0);
    }
    assert_eq!((stood(&wire), wire.connection().is_scaled()), ((0, None), None));
}

#[test]
fn a_sender_that_waits_to_send_again_does_not_stand_for_the_window() {
    let mut wire = rounds([&SCALED; 2], 50, &[2_896, 2_224], 20);
    let before = stood(&wire).0;
    let sequence = 1 + 20 * 5_120;
    let now = 500_000;
    wire.send(now, 'S', ACK, sequence, 101, 2_896);
    wire.send(now + 10, 'S', ACK, sequence + 2_896, 101, 2_224);
    wire.send(now + 300_000, 'S', ACK, sequence, 101, 2_896);
    wire.send(now + 320_000, 'C', ACK, 101, sequence + 5_120, 0);
    assert_eq!(stood(&wire).0, before);
}

#[test]
fn a_pause_with_nothing_to_send_is_no_full_window() {
    let mut wire = rounds([&SCALED; 2], 19_900, &[2_896, 2_224], 20);
    let before = stood(&wire).0;
    let sequence = 1 + 20 * 5_120;
    let now = 90_000_000;
    wire.send(now, 'S', ACK, sequence, 101, 2_896);
    wire.send(now + 10, 'S', ACK, sequence + 2_896, 101, 2_224);
    wire.send(now + 100, 'C', ACK, 101, sequence + 5_120, 0);
    assert!((0..=21).contains(&(stood(&wire).0 - before)));
}
