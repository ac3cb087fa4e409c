use proptest::prelude::*;

use super::*;

const MS: i64 = 1_000_000;

/// Bytes of a call, and of a reply.
const LENGTH: u32 = 100;

/// A frame between a client and a server with so many bytes of payload.
fn frame(from_client: bool, sequence: u32, acknowledgement: u32, length: u32) -> Vec<u8> {
    let (client, server) = (([10, 0, 0, 1], 700_u16), ([10, 0, 0, 2], 2049_u16));
    let ((source, from), (destination, to)) = if from_client { (client, server) } else { (server, client) };
    let mut frame = vec![0; 12];
    frame.extend([0x08, 0x00, 0x45, 0]); // IPv4
    frame.extend((40 + length as u16).to_be_bytes());
    frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0]); // TCP
    frame.extend(source);
    frame.extend(destination);
    frame.extend([from.to_be_bytes(), to.to_be_bytes()].concat());
    frame.extend([sequence.to_be_bytes(), acknowledgement.to_be_bytes()].concat());
    frame.extend([0x50, 0x18, 1, 0, 0, 0, 0, 0]); // PSH ACK
    frame.resize(frame.len() + length as usize, 0);
    frame
}

/// A packet as the capture has it: its time, and its frame.
type Told = (i64, Vec<u8>);

/// Calls with their replies, a turn every millisecond.
fn traffic(turns: u32) -> Vec<Told> {
    let turn = |turn: u32| {
        let (begun, passed) = (i64::from(turn) * MS, turn.wrapping_mul(LENGTH));
        [
            (begun, frame(true, passed, passed, LENGTH)),
            (begun + MS / 2, frame(false, passed, passed.wrapping_add(LENGTH), LENGTH)),
        ]
    };
    (0..turns).flat_map(turn).collect()
}

/// Brings packets into another order within blocks of so many.
fn mix(packets: &mut [Told], block: usize, mut random: u64) {
    for packets in packets.chunks_mut(block) {
        for at in (1..packets.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            packets.swap(at, (random >> 33) as usize % (at + 1));
        }
    }
}

fn packet(number: u64, time_ns: i64, bytes: &[u8]) -> Packet<'_> {
    let wire_length = bytes.len() as u32;
    Packet { number, time_ns, stated_ns: time_ns, link: LinkType::ETHERNET, wire_length, bytes }
}

/// The frames in the order in which they are taken, with their times and whether they were late; and how many
/// were held at most.
fn through(packets: &[Told]) -> (Vec<(u64, i64, bool)>, usize) {
    let (mut order, mut taken, mut most) = (Order::default(), Vec::new(), 0);
    let mut given = |placed: Placed<'_>| {
        let Placed { frame, place, late, packet, .. } = placed;
        assert_eq!(packets[frame as usize - 1], (packet.time_ns, packet.bytes.to_vec()));
        taken.push((frame, packet.time_ns, late));
        assert_eq!(place, taken.len() as u64);
    };
    for (frame, (time_ns, bytes)) in (1..).zip(packets) {
        while order.holding()
            && let Some(placed) = order.release(true)
        {
            given(placed);
        }
        let packet = packet(frame, *time_ns, bytes);
        if order.holds(*time_ns) {
            order.hold(0, frame, &packet);
            most = most.max(order.held.len() + order.sorted.len());
            assert!(order.bytes <= BYTES_LIMIT + BOOKKEEPING + 2 * bytes.len() + SPARE);
        } else {
            given(Placed { file: 0, frame, place: frame, late: false, packet });
        }
    }
    while let Some(placed) = order.release(false) {
        given(placed);
    }
    (taken, most)
}

/// Whether all were taken as they stand, and none as late.
fn as_they_stand(taken: &[(u64, i64, bool)]) -> bool {
    (1..).zip(taken).all(|(frame, taken)| (taken.0, taken.2) == (frame, false))
}

#[test]
fn packets_in_order_are_not_held_once_some_were_looked_at() {
    let packets = traffic(6_000);
    let (taken, most) = through(&packets);
    assert!(as_they_stand(&taken) && taken.len() == packets.len());
    assert_eq!(most, FIRST);
}

#[test]
fn what_was_mixed_up_is_taken_in_order_of_time() {
    for block in [2, 20, 500, LOOKED_AT / 2] {
        let mut packets = traffic(6_000);
        mix(&mut packets, block, 7);
        let late = packets.iter().scan(i64::MIN, |latest, (time_ns, _)| {
            let late = time_ns < latest;
            *latest = *time_ns.max(latest);
            Some(late)
        });
        let late = late.filter(|late| *late).count();
        let (taken, _) = through(&packets);
        assert!(taken.iter().zip(traffic(6_000)).all(|(taken, told)| taken.1 == told.0), "{block}");
        assert_eq!(taken.iter().filter(|taken| taken.2).count(), late, "{block}");
    }
}

/// As a mirror of two ports gives them, a moment after one another.
#[test]
fn what_was_captured_twice_and_mixed_up_is_taken_in_order_of_time() {
    let twice = || -> Vec<Told> {
        let copied = |(time_ns, frame): Told| [(time_ns, frame.clone()), (time_ns + MS / 50, frame)];
        traffic(6_000).into_iter().flat_map(copied).collect()
    };
    for block in [8, 500] {
        let mut packets = twice();
        mix(&mut packets, block, 7);
        let (taken, _) = through(&packets);
        assert!(taken.iter().zip(twice()).all(|(taken, told)| taken.1 == told.0), "{block}");
    }
}

#[test]
fn packets_of_two_interfaces_that_were_written_by_turns_are_put_together() {
    let (calls, replies): (Vec<Told>, Vec<Told>) =
        traffic(6_000).into_iter().partition(|told| told.0 % MS == 0);
    let turns = calls.chunks(300).zip(replies.chunks(300));
    let packets: Vec<Told> = turns.flat_map(|(calls, replies)| [calls, replies].concat()).collect();
    let (taken, _) = through(&packets);
    assert!(taken.iter().zip(traffic(6_000)).all(|(taken, told)| taken.1 == told.0));
}

#[test]
fn answers_over_udp_tell_as_well() {
    let datagram = |xid: u32, reply: bool| {
        let (from, to) = if reply { (2049_u16, 700_u16) } else { (700, 2049) };
        let (source, destination) =
            if reply { ([10, 0, 0, 2], [10, 0, 0, 1]) } else { ([10, 0, 0, 1], [10, 0, 0, 2]) };
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00, 0x45, 0, 0, 48, 0, 1, 0x40, 0, 64, 17, 0, 0]); // IPv4, UDP
        frame.extend(source);
        frame.extend(destination);
        frame.extend([from.to_be_bytes(), to.to_be_bytes(), 28_u16.to_be_bytes(), [0, 0]].concat());
        frame.extend([xid, u32::from(reply), 2, 0, 0].map(u32::to_be_bytes).concat());
        frame
    };
    let turn = |xid: u32| {
        [(i64::from(xid) * MS, datagram(xid, false)), (i64::from(xid) * MS + 9, datagram(xid, true))]
    };
    let in_order: Vec<Told> = (0..2_000).flat_map(turn).collect();
    let mut packets = in_order.clone();
    mix(&mut packets, 20, 7);
    let (taken, _) = through(&packets);
    assert!(taken.iter().zip(&in_order).all(|(taken, told)| taken.1 == told.0));
    packets.clone_from(&in_order);
    packets.iter_mut().skip(1).step_by(2).for_each(|told| told.0 -= 3 * MS);
    assert!(as_they_stand(&through(&packets).0));
}

#[test]
fn directions_with_clocks_of_their_own_stay_as_they_stand() {
    for apart in [-3 * MS, 3 * MS] {
        let mut packets = traffic(6_000);
        packets.iter_mut().skip(1).step_by(2).for_each(|told| told.0 += apart);
        assert!(as_they_stand(&through(&packets).0), "{apart}");
    }
}

#[test]
fn a_clock_that_is_set_back_leaves_packets_where_they_are() {
    let mut packets = traffic(6_000);
    for told in packets.iter_mut().skip(5_000) {
        told.0 -= 500 * MS;
    }
    assert!(as_they_stand(&through(&packets).0));
}

#[test]
fn what_the_network_mixed_up_was_captured_in_that_order() {
    let mut packets = traffic(6_000);
    let times: Vec<i64> = packets.iter().map(|told| told.0).collect();
    mix(&mut packets, 4, 7);
    packets.iter_mut().zip(times).for_each(|(told, time_ns)| told.0 = time_ns);
    assert!(as_they_stand(&through(&packets).0));
}

#[test]
fn packets_are_taken_as_they_stand_again_once_none_is_late() {
    let quiet = QUIET as u32;
    let mut packets = traffic(3_000 + quiet);
    mix(&mut packets[..6_000], 50, 7);
    let (taken, _) = through(&packets);
    assert!(taken.is_sorted_by_key(|taken| taken.1));
    let mut order = Order::default();
    for (frame, (time_ns, bytes)) in (1..).zip(&packets) {
        while order.holding() && order.release(true).is_some() {}
        if order.holds(*time_ns) {
            order.hold(0, frame, &packet(frame, *time_ns, bytes));
        }
    }
    assert!(!order.holding());
}

#[test]
fn large_packets_are_held_within_the_limit() {
    let mut packets = traffic(2_000);
    for told in &mut packets {
        told.1.resize(60_000, 0);
    }
    mix(&mut packets, 20, 7);
    let (taken, most) = through(&packets);
    assert!(most < 300, "{most}");
    assert!(taken.is_sorted_by_key(|taken| taken.1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn each_packet_is_taken_once(
        times in prop::collection::vec(-5_000_i64..5_000, 0..2 * LOOKED_AT),
        block in 1..2_000_usize,
    ) {
        let mut packets = traffic(times.len() as u32 / 2);
        mix(&mut packets, block, 7);
        for (told, odd) in packets.iter_mut().zip(&times) {
            if odd % 10 == 0 {
                told.0 += odd * MS;
            }
        }
        let (mut taken, _) = through(&packets);
        taken.sort_unstable();
        prop_assert!((1..).zip(&taken).all(|(frame, taken)| taken.0 == frame));
        prop_assert_eq!(taken.len(), packets.len());
    }
}
