//! What is a copy, and what was sent again.

use super::copies::{NUMBERED_NS, UNNUMBERED_NS};
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
    for unnumbered in [numbered(0), ipv6(6, &tcp(&[], &DATA)), ipv4(17, 0, 0, &udp(&DATA))] {
        assert!(copy(&unnumbered, &unnumbered, UNNUMBERED_NS));
        assert!(!copy(&unnumbered, &unnumbered, UNNUMBERED_NS + 1), "sent again after a while");
    }
    let stamped = |clock: u8| ipv6(6, &tcp(&[1, 1, 8, 10, 0, 0, 0, clock, 0, 0, 0, 2], &DATA));
    assert!(!copy(&stamped(1), &stamped(2), 1_000), "another timestamp");
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

/// Copies that begin long after the first packets are found in the next sample, and from then on.
#[test]
fn copies_that_begin_late_are_found() {
    let single = (0..200_000_u64).map(|n| (n * 10_000, n as u32));
    let twice = (200_000..300_000_u64).flat_map(|n| [(n * 10_000, n as u32); 2]);
    let mut dissector = Dissector::new();
    let mut found = 0;
    for (time_ns, sequence) in single.chain(twice) {
        let mut bytes = numbered(sequence as u16);
        bytes[24..28].copy_from_slice(&sequence.to_be_bytes());
        let packet = Packet { time_ns: time_ns.cast_signed(), ..packet(LinkType::RAW, &bytes) };
        found += usize::from(dissector.dissect(&packet) == Content::Other(Other::Duplicate));
    }
    assert!((90_000..=100_000).contains(&found), "{found}");
}
