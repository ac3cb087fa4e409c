//! What is a copy, and what was sent again.

use std::slice::from_ref;

use super::copies::{DATAGRAM_NS, NUMBERED_NS, UNNUMBERED_NS};
use super::tests::{DATA, ethernet, ipv4, ipv6, packet, tcp, udp};
use super::*;
use crate::capture::LinkType;

/// Which of the packets, given with their times, count as copies of earlier ones.
fn copies(packets: &[(u64, Vec<u8>)]) -> Vec<bool> {
    let mut dissector = Dissector::new();
    let mut dissect = |(time, bytes): &(u64, Vec<u8>)| {
        let link = if bytes[0] >> 4 >= 4 { LinkType::RAW } else { LinkType::ETHERNET };
        let packet = Packet { time_ns: time.cast_signed(), ..packet(link, bytes) };
        dissector.dissect(&packet) == Content::Other(Other::Duplicate)
    };
    packets.iter().map(&mut dissect).collect()
}

/// Whether the second of two packets is a copy of the first, `after_ns` later.
fn copy(first: &[u8], second: &[u8], after_ns: u64) -> bool {
    let found = copies(&[(0, first.to_vec()), (after_ns, second.to_vec())]);
    assert!(!found[0]);
    found[1]
}

fn numbered(identification: u16) -> Vec<u8> {
    ipv4(6, identification, 0x4000, &tcp(&[], &DATA))
}

#[test]
fn a_packet_seen_on_two_interfaces_is_a_copy() {
    let bare = numbered(7);
    let tagged = ethernet(0x8100, &[&[0, 100, 8, 0], &bare[..]].concat());
    let mut routed = bare.clone();
    routed[8] = 63; // time to live
    routed[10..12].fill(0xcc); // checksum of the header
    routed[36..38].fill(0xcc); // checksum of the segment
    for other in [bare.clone(), tagged, ethernet(0x0800, &bare), routed] {
        assert!(copy(&bare, &other, 0) && copy(&bare, &other, NUMBERED_NS));
    }
    let datagram = ipv4(17, 7, 0, &udp(&DATA));
    assert!(copy(&datagram, &datagram, 1_000));
    // Each of several copies, also when the clock of the other interface is behind.
    assert_eq!(copies(&[(9, bare.clone()), (0, bare.clone()), (20, bare)]), [false, true, true]);
}

#[test]
fn what_was_sent_again_is_no_copy() {
    assert!(!copy(&numbered(7), &numbered(8), 1_000), "another identification");
    assert!(!copy(&numbered(7), &numbered(7), NUMBERED_NS + 1), "long after");
    let mut rdma = udp(&DATA);
    rdma[2..4].copy_from_slice(&ROCE_PORT.to_be_bytes());
    for (unnumbered, patience_ns) in [
        (numbered(0), UNNUMBERED_NS),
        (ipv6(6, &tcp(&[], &DATA)), UNNUMBERED_NS),
        (ipv6(17, &udp(&DATA)), DATAGRAM_NS),
        (ipv4(17, 0, 0, &udp(&DATA)), DATAGRAM_NS),
        (ipv6(17, &rdma), UNNUMBERED_NS),
    ] {
        assert!(copy(&unnumbered, &unnumbered, patience_ns));
        assert!(!copy(&unnumbered, &unnumbered, patience_ns + 1), "sent again after a while");
    }
    assert!(!copy(&stamped(7, 1, 4), &stamped(7, 2, 4), 1_000), "another timestamp");
}

const MS: u64 = 1_000_000;

/// A segment of IPv6, which has no identification: its sequence number, what the sender's clock shows, its length.
fn stamped(sequence: u32, clock: u32, length: usize) -> Vec<u8> {
    numbered_at(0, sequence, clock, length)
}

/// The same, of IPv4 if it is numbered.
fn numbered_at(identification: u16, sequence: u32, clock: u32, length: usize) -> Vec<u8> {
    let [c0, c1, c2, c3] = clock.to_be_bytes();
    let mut segment = tcp(&[1, 1, 8, 10, c0, c1, c2, c3, 0, 0, 0, 2], &vec![7; length]);
    segment[4..8].copy_from_slice(&sequence.to_be_bytes());
    if identification == 0 { ipv6(6, &segment) } else { ipv4(6, identification, 0x4000, &segment) }
}

/// Segments of a sender whose clock ticks so often, some ms apart, each copied after a delay; and the places of those
/// among them that count as copies.
fn delayed(tick_ms: u64, apart_ms: u64, delay_ms: u64) -> (Vec<(u64, Vec<u8>)>, Vec<usize>) {
    let mut packets: Vec<(u64, bool, Vec<u8>)> = Vec::new();
    for n in 0..20 {
        let at_ms = 1_000 + n * apart_ms;
        let segment = stamped(n as u32 * 100, (at_ms / tick_ms) as u32, 100);
        packets.push((at_ms * MS, false, segment.clone()));
        packets.push(((at_ms + delay_ms) * MS, true, segment));
    }
    packets.sort_by_key(|(time, copied, _)| (*time, *copied));
    let copied = (0..).zip(&packets).filter(|(_, packet)| packet.1).map(|(place, _)| place).collect();
    (packets.into_iter().map(|(time, _, bytes)| (time, bytes)).collect(), copied)
}

fn places(found: &[bool]) -> Vec<usize> {
    (0..).zip(found).filter(|(_, copy)| **copy).map(|(place, _)| place).collect()
}

#[test]
fn a_late_copy_without_identification_is_told_by_the_clock_of_its_sender() {
    // With answers in between, and sent without waiting.
    for (tick_ms, apart_ms, delay_ms) in [(1, 7, 3), (1, 25, 10), (1, 1, 10), (4, 25, 10), (10, 3, 25)] {
        let (packets, copied) = delayed(tick_ms, apart_ms, delay_ms);
        let found = places(&copies(&packets));
        // Nothing is known of the clock when the first comes again.
        let late: Vec<usize> = copied.iter().copied().filter(|place| !found.contains(place)).collect();
        assert!(late.len() <= 1 && late.iter().all(|place| *place == copied[0]), "{tick_ms} {late:?}");
        assert!(found.iter().all(|place| copied.contains(place)), "{tick_ms} ms, {delay_ms} ms later");
    }
}

#[test]
fn what_a_slow_clock_stamps_alike_may_have_been_sent_again() {
    for (tick_ms, apart_ms, again_ms) in [(10, 40, 9), (500, 30, 25), (100_000, 30, 25)] {
        let (packets, _) = delayed(tick_ms, apart_ms, again_ms);
        assert_eq!(places(&copies(&packets)), [], "{tick_ms} ms");
    }
}

#[test]
fn what_was_sent_again_at_another_time_is_no_copy_though_others_are() {
    let (mut packets, copied) = delayed(1, 7, 3);
    let again_ms = 1_000 + 19 * 7 + 5;
    packets.push((again_ms * MS, stamped(1_900, again_ms as u32, 100)));
    let found = copies(&packets);
    assert!(found[copied[19]] && !found[40]);
}

#[test]
fn a_syn_that_comes_again_soon_is_a_copy() {
    let mut syn = ipv6(6, &tcp(&[], b""));
    syn[40 + 13] = 0x02;
    assert!(copy(&syn, &syn, 10 * MS) && !copy(&syn, &syn, 1_000 * MS));
}

/// What the host itself captures before its card cuts it, beside what is on the wire.
#[test]
fn a_segment_that_was_cut_or_put_together_is_a_copy() {
    let mss = 1_448;
    let whole = |identification| numbered_at(identification, 1_000, 5, 4 * mss + 100);
    let parts = |identification: u16, clock| {
        let part = move |n: u16| {
            let length = if n < 4 { mss } else { 100 };
            let number = if identification == 0 { 0 } else { identification + n };
            numbered_at(number, 1_000 + u32::from(n) * mss as u32, clock, length)
        };
        (0..5).map(part).collect::<Vec<_>>()
    };
    let found = |packets: &[Vec<u8>]| {
        // One packet that is copied as it is, so that copies are looked for.
        let other = numbered_at(3, 500, 5, 10);
        let all = [other.clone(), other].into_iter().chain(packets.iter().cloned());
        let timed: Vec<_> = (0..).map(|n| n * 10_000).zip(all).collect();
        copies(&timed)[2..].to_vec()
    };
    for identification in [0, 70] {
        let (one, many) = (whole(identification), parts(identification, 5));
        assert_eq!(found(&[from_ref(&one), &many[..]].concat()), [false, true, true, true, true, true]);
        assert_eq!(found(&[&many[..], from_ref(&one)].concat()), [false, false, false, false, false, true]);
        let between = [&many[..2], from_ref(&one), &many[2..]].concat();
        assert_eq!(found(&between), [false, false, false, true, true, true], "what was new is known then");
        // Sent again, at a later time.
        assert_eq!(found(&[from_ref(&one), &parts(identification, 6)[..]].concat()), [false; 6]);
        // Nothing else is copied.
        let timed: Vec<_> = (0..).map(|n| n * 10_000).zip([&[one], &many[..]].concat()).collect();
        assert_eq!(copies(&timed), [false; 6]);
    }
    // Sent again at once, so that the clock shows the same, but not the identification.
    assert_eq!(found(&[&[whole(70)], &parts(75, 5)[..4]].concat()), [false; 5]);
    assert_eq!(found(&[&parts(70, 5)[..], &[whole(75)]].concat()), [false; 6]);
    // What fills a hole is known as well, once it was sent again; and what lies beside it stays known.
    let many = parts(0, 5);
    let hole = numbered_at(0, 1_000 + 2 * mss as u32, 6, mss);
    let filled = [&many[..2], &many[3..], &[hole.clone(), numbered_at(0, 1_000, 6, 5 * mss), hole]].concat();
    assert_eq!(found(&filled), [false, false, false, false, false, false, true]);
    let halves = [0, 724].map(|at| numbered_at(0, 1_000 + 2 * mss as u32 + at, 6, 724));
    let filled = [&many[..2], &many[3..], &filled[4..5], &halves[..], &many[3..]].concat();
    assert_eq!(found(&filled), [false, false, false, false, false, true, true, true, true]);
    // In part only.
    assert_eq!(found(&[parts(70, 5)[1..].to_vec(), vec![whole(70)]].concat()), [false; 5]);
}

/// A VLAN tag takes four bytes of what the snaplen leaves.
#[test]
fn a_copy_that_is_cut_elsewhere_is_a_copy() {
    let data: Vec<u8> = (0..60).collect();
    for bare in [ipv4(17, 7, 0, &udp(&data)), ipv4(17, 7, 0x2000, &[&udp(&data), &[0; 4][..]].concat())] {
        let tagged = ethernet(0x8100, &[&[0, 100, 8, 0], &bare[..]].concat());
        let mut dissector = Dissector::new();
        let mut dissect = |bytes: &[u8]| {
            let snapped = bytes.get(..90).unwrap_or(bytes);
            let mut cut = packet(LinkType::ETHERNET, snapped);
            cut.wire_length = bytes.len() as u32;
            dissector.dissect(&cut) == Content::Other(Other::Duplicate)
        };
        assert!(!dissect(&ethernet(0x0800, &bare)));
        assert!(dissect(&tagged));
        let mut other = bare.clone();
        other[20 + 8] ^= 1; // xid
        assert!(!dissect(&ethernet(0x0800, &other)));
    }
}

#[test]
fn resets_that_are_alike_are_copies_only_where_other_packets_are() {
    let reset = |identification| {
        let mut bytes = ipv4(6, identification, 0x4000, &tcp(&[], b""));
        bytes[33] = 0x04;
        bytes
    };
    assert!(!copy(&reset(0), &reset(0), 600_000), "two segments met a closed port");
    assert!(copy(&reset(7), &reset(7), 600_000));
    let packets = [reset(0), numbered(7), numbered(7), reset(0), reset(0)];
    let timed: Vec<_> = (0..).zip(packets).collect();
    assert_eq!(copies(&timed), [false, false, true, false, true]);
}

#[test]
fn what_differs_is_no_copy() {
    let first = numbered(7);
    // Address, ports, sequence, acknowledgement, flags, window.
    for index in [15, 19, 21, 23, 27, 31, 33, 35] {
        let mut other = first.clone();
        other[index] ^= 1;
        assert!(!copy(&first, &other, 1_000), "byte {index}");
    }
    assert!(!copy(&first, &ipv4(6, 7, 0x4000, &tcp(&[], b"longer")), 1_000));
    assert!(!copy(&ipv4(17, 7, 0, &udp(b"this")), &ipv4(17, 7, 0, &udp(b"that")), 1_000));
}

#[test]
fn fragments_seen_twice_make_one_datagram_and_leave_nothing() {
    let datagram = udp(&[7; 24]);
    let first = ipv4(17, 9, 0x2000, &datagram[..16]);
    let last = ipv4(17, 9, 2, &datagram[16..]);
    let mut dissector = Dissector::new();
    let contents: Vec<_> = [&first, &first, &last, &last]
        .map(|bytes| match dissector.dissect(&packet(LinkType::RAW, bytes)) {
            Content::Datagram(datagram) => Ok(datagram.payload.length),
            Content::Segment(_) => panic!("a segment"),
            Content::Roce(_) => Err(Other::Rdma),
            Content::Other(other) => Err(other),
        })
        .to_vec();
    assert_eq!(contents, [Err(Other::Fragment), Err(Other::Duplicate), Ok(24), Err(Other::Duplicate)]);
    assert_eq!(dissector.unfinished_fragments(), 0);
}

/// Packets that nobody looked at before copies began, as [`numbered`] ones of this number.
fn late(identification: u16) -> Dissector {
    let mut dissector = Dissector::new();
    for n in 0..20_000_u32 {
        dissect(&mut dissector, 0, &numbered_at(1, n, n, 0));
    }
    let bytes = numbered_at(identification, 500, 5, 100);
    let whole = Packet { time_ns: 0, ..packet(LinkType::RAW, &bytes) };
    assert!(!matches!(dissector.dissect(&whole), Content::Other(_)));
    dissector
}

/// Whether a packet counts as a copy at this time.
fn dissect(dissector: &mut Dissector, time_ns: u64, bytes: &[u8]) -> bool {
    let packet = Packet { time_ns: time_ns.cast_signed(), ..packet(LinkType::RAW, bytes) };
    dissector.dissect(&packet) == Content::Other(Other::Duplicate)
}

/// Copies that begin long after the first packets are found from the first on.
#[test]
fn copies_that_begin_late_are_found() {
    let single = (0..200_000_u64).map(|n| (n * 10_000, n as u32));
    let twice = (200_000..300_000_u64).flat_map(|n| [(n * 10_000, n as u32); 2]);
    let mut dissector = Dissector::new();
    let mut found = 0;
    for (time_ns, sequence) in single.chain(twice) {
        let mut bytes = numbered(sequence as u16);
        bytes[24..28].copy_from_slice(&sequence.to_be_bytes());
        found += usize::from(dissect(&mut dissector, time_ns, &bytes));
    }
    assert_eq!(found, 100_000);
}

#[test]
fn of_what_nobody_looked_at_only_the_same_is_a_copy() {
    let first = |identification| numbered_at(identification, 500, 5, 100);
    for (identification, patience_ns) in [(7, NUMBERED_NS), (0, UNNUMBERED_NS)] {
        assert!(dissect(&mut late(identification), patience_ns, &first(identification)));
        assert!(!dissect(&mut late(identification), patience_ns + 1, &first(identification)), "much later");
        assert!(
            !dissect(&mut late(identification), 9, &numbered_at(identification, 500, 6, 100)),
            "its time"
        );
        assert!(!dissect(&mut late(identification), 9, &numbered_at(identification, 500, 5, 101)), "longer");
        assert!(
            !dissect(&mut late(identification), 9, &numbered_at(identification, 501, 5, 100)),
            "behind it"
        );
    }
    assert!(!dissect(&mut late(7), 9, &first(8)), "another number");
    // Nothing tells whether that was sent again.
    let mut dissector = late(7);
    let plain = ipv6(6, &tcp(&[], &DATA));
    assert!(!dissect(&mut dissector, 0, &plain) && !dissect(&mut dissector, 0, &plain));
}

#[test]
fn copies_of_a_burst_are_found_though_the_first_alone_has_others_looked_for() {
    let mut dissector = late(7);
    let burst = (0..9).map(|n| numbered_at(20 + n, 600 + u32::from(n) * 100, 5, 100)).collect::<Vec<_>>();
    let found = |dissector: &mut Dissector| burst.iter().filter(|bytes| dissect(dissector, 9, bytes)).count();
    assert_eq!((found(&mut dissector), found(&mut dissector)), (0, 9));
}

/// What [`Dissector::plain`] reads is known as what [`Dissector::dissect`] does.
#[test]
fn what_was_read_at_a_glance_is_remembered() {
    for bytes in [numbered_at(7, 900, 5, 100), numbered_at(0, 900, 5, 100)] {
        let mut dissector = late(3);
        let frame = ethernet(if bytes[0] >> 4 == 6 { 0x86dd } else { 0x0800 }, &bytes);
        let packet = packet(LinkType::ETHERNET, &frame);
        let plain = dissector.plain(&packet).unwrap();
        dissector.pass(&plain, packet.time_ns);
        assert_eq!(dissector.dissect(&packet), Content::Other(Other::Duplicate));
        assert!(dissector.plain(&packet).is_none(), "copies are looked for now");
    }
}

const SECOND: u64 = 1_000 * MS;

/// Which of the packets, given with their files and times, count as copies of earlier ones.
fn of_files(packets: &[(usize, u64, Vec<u8>)]) -> (Vec<bool>, Apart) {
    let mut dissector = Dissector::of_files(2);
    let mut take = |(file, time_ns, bytes): &(usize, u64, Vec<u8>)| {
        dissector.read_from(*file);
        dissect(&mut dissector, *time_ns, bytes)
    };
    (packets.iter().map(&mut take).collect(), dissector.apart())
}

/// Two hosts captured the same packets, and their clocks are apart.
#[test]
fn what_another_file_holds_is_a_copy_however_late() {
    let datagram = ipv4(17, 7, 0, &udp(&DATA));
    for bytes in [numbered(7), numbered_at(7, 1, 5, 100), datagram] {
        let (found, apart) = of_files(&[(0, 0, bytes.clone()), (1, 90 * SECOND, bytes.clone())]);
        assert_eq!((found, apart.copies, apart.mean_ns()), (vec![false, true], 1, Some(90 * SECOND)));
        let (found, apart) = of_files(&[(0, 0, bytes.clone()), (1, NUMBERED_NS, bytes.clone())]);
        assert_eq!((found, apart), (vec![false, true], Apart::default()), "the clocks agree");
        // Its sender counts in another way than most, or not at all.
        assert_eq!(of_files(&[(0, 0, bytes.clone()), (0, SECOND, bytes.clone())]).0, [false; 2]);
    }
    // Without a number, a later time of the sender tells.
    let packets = |again| {
        let first = (0..9).map(|n| (0, u64::from(n) * 10 * MS, stamped(n * 100, n * 10, 100)));
        let copies =
            (0..8).map(move |n| (1, SECOND + u64::from(n) * 10 * MS, stamped(n * 100, n * 10 + again, 100)));
        first.chain(copies).collect::<Vec<_>>()
    };
    let (found, apart) = of_files(&packets(0));
    assert_eq!((places(&found), apart.copies), ((9..17).collect(), 8));
    assert_eq!(places(&of_files(&packets(1_000)).0), []);
}

#[test]
fn what_was_sent_again_is_no_copy_of_what_another_file_holds() {
    let near = [(0, 0, numbered(7)), (1, SECOND, numbered(7))];
    let again = [(0, SECOND / 5, numbered(8)), (1, SECOND + SECOND / 5, numbered(8))];
    let packets = [near[0].clone(), again[0].clone(), near[1].clone(), again[1].clone()];
    assert_eq!(of_files(&packets).0, [false, false, true, true], "each is a copy of its own");
    // Neither number nor time: the host that sent it may have sent it again.
    for unnumbered in [numbered(0), ipv6(6, &tcp(&[], &DATA)), ipv4(17, 0, 0, &udp(&DATA))] {
        assert_eq!(of_files(&[(0, 0, unnumbered.clone()), (1, SECOND / 5, unnumbered)]).0, [false; 2]);
    }
}
