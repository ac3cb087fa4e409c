//! Frames in rows, each with its field beside it.

use std::net::SocketAddr;

use super::*;
use crate::capture::LinkType;

const SOURCE: [u8; 4] = [10, 0, 0, 1];
const DESTINATION: [u8; 4] = [10, 0, 0, 2];
pub(super) const DATA: [u8; 4] = *b"data";

pub(super) fn ethernet(kind: u16, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2]; // destination
    frame.extend([2, 0, 0, 0, 0, 1]); // source
    frame.extend(kind.to_be_bytes()); // type
    frame.extend(rest);
    frame
}

/// An IPv4 header with no options; `flags` are those and the fragment offset.
pub(super) fn ipv4(protocol: u8, identification: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0]; // version and header length, class
    packet.extend((payload.len() as u16 + 20).to_be_bytes()); // total length
    packet.extend(identification.to_be_bytes());
    packet.extend(flags.to_be_bytes());
    packet.extend([64, protocol, 0, 0]); // time to live, protocol, checksum
    packet.extend(SOURCE);
    packet.extend(DESTINATION);
    packet.extend(payload);
    packet
}

pub(super) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0]; // version, class, flow
    packet.extend((payload.len() as u16).to_be_bytes()); // payload length
    packet.extend([next, 64]); // next header, hop limit
    packet.extend([0xfd; 16]); // source
    packet.extend([0xfe; 16]); // destination
    packet.extend(payload);
    packet
}

pub(super) fn tcp(options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![0x03, 0x20]; // source port 800
    segment.extend([0x08, 0x01]); // destination port 2049
    segment.extend([0, 0, 0, 7]); // sequence
    segment.extend([0, 0, 0, 9]); // acknowledgement
    segment.push((5 + options.len() as u8 / 4) << 4); // data offset
    segment.push(0x18); // PSH ACK
    segment.extend([0x01, 0x00]); // window
    segment.extend([0, 0, 0, 0]); // checksum, urgent pointer
    segment.extend(options);
    segment.extend(payload);
    segment
}

pub(super) fn udp(payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0x03, 0x20]; // source port 800
    datagram.extend([0x08, 0x01]); // destination port 2049
    datagram.extend((payload.len() as u16 + 8).to_be_bytes()); // length
    datagram.extend([0, 0]); // checksum
    datagram.extend(payload);
    datagram
}

pub(super) fn packet(link: LinkType, bytes: &[u8]) -> Packet<'_> {
    Packet { number: 1, time_ns: 0, stated_ns: 0, link, wire_length: bytes.len() as u32, bytes }
}

/// The bytes of a payload of which all was captured, or the reason of another content.
pub(super) fn payload(link: LinkType, bytes: &[u8]) -> Result<Vec<u8>, Other> {
    let mut dissector = Dissector::new();
    let content = dissector.dissect(&packet(link, bytes));
    if let Some(segment) = glance(&Glimpse { time_ns: 0, link, wire_length: bytes.len() as u32, bytes }) {
        assert_eq!(content, Content::Segment(segment), "what is seen at a glance");
    }
    check_plain(&packet(link, bytes), &content);
    match content {
        Content::Segment(Segment { payload, .. }) | Content::Datagram(Datagram { payload, .. }) => {
            assert_eq!(payload.bytes.len(), payload.length);
            Ok(payload.bytes.to_vec())
        }
        Content::Roce(_) => Err(Other::Rdma),
        Content::Other(other) => Err(other),
    }
}

/// What is read of plain headers at once is what the dissector says: whether there was anything.
pub(super) fn check_plain(packet: &Packet<'_>, content: &Content<'_>) -> bool {
    let Some(plain) = Plain::of(packet.link, packet.bytes, packet.wire_length) else { return false };
    let Content::Segment(segment) = content else { panic!("{content:?} is {plain:?}") };
    let number = |end: &SocketAddr| match end {
        SocketAddr::V4(end) => plain::number_v4(end.ip().to_bits(), end.port()),
        SocketAddr::V6(end) => plain::number_v6(end.ip().to_bits(), end.port()),
    };
    let ends = (segment.source, segment.destination);
    assert_eq!((plain.part, plain.clock), (segment.part(), segment.clock()));
    assert_eq!((plain.source, plain.destination), (number(&ends.0), number(&ends.1)));
    assert_eq!(plain.ends(), segment.source.is_ipv6().then_some(ends));
    true
}

pub(super) fn segment() -> Vec<u8> {
    ipv4(6, 1, 0x4000, &tcp(&[], &DATA))
}

#[test]
fn a_segment_has_its_fields() {
    let options = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let frame = ethernet(0x0800, &ipv4(6, 1, 0x4000, &tcp(&options, &DATA)));
    let mut dissector = Dissector::new();
    let packet = packet(LinkType::ETHERNET, &frame);
    let Content::Segment(segment) = dissector.dissect(&packet) else { panic!("no segment") };
    assert_eq!(segment.source.to_string(), "10.0.0.1:800");
    assert_eq!(segment.destination.to_string(), "10.0.0.2:2049");
    assert_eq!((segment.sequence, segment.acknowledgement, segment.window), (7, 9, 256));
    let flags = segment.flags;
    assert!(flags.psh() && flags.ack() && !flags.syn() && !flags.fin() && !flags.rst());
    assert_eq!(segment.options, options);
    assert_eq!(segment.payload, Payload::new(&DATA, 4));
}

#[test]
fn the_senders_clock_is_found_among_any_options() {
    let clock = [8, 10, 0, 0, 1, 7, 0, 0, 0, 2];
    let sack = [5, 10, 0, 0, 0, 9, 0, 0, 0, 12];
    for (options, expected) in [
        ([&[1, 1], clock.as_slice()].concat(), 0x107),
        ([clock.as_slice(), &[1, 1]].concat(), 0x107),
        ([&[1, 1], clock.as_slice(), &[1, 1], &sack].concat(), 0x107),
        ([&[1, 1], sack.as_slice()].concat(), 0),
        (vec![], 0),
    ] {
        let frame = ethernet(0x0800, &ipv4(6, 1, 0x4000, &tcp(&options, &DATA)));
        let packet = packet(LinkType::ETHERNET, &frame);
        let mut dissector = Dissector::new();
        let content = dissector.dissect(&packet);
        assert!(check_plain(&packet, &content));
        let Content::Segment(segment) = content else { panic!("no segment") };
        assert_eq!(segment.clock(), expected, "{options:?}");
    }
}

/// A segment's frame whose header states another total length, with a checksum that is right for so many
/// bytes (RFC 1071).
fn frame_of_length(stated: u16, checked: u16) -> Vec<u8> {
    let mut packet = segment();
    let of = |packet: &[u8]| {
        let words = packet[..20].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        !(words.sum::<u32>() % 0xffff) as u16
    };
    packet[2..4].copy_from_slice(&checked.to_be_bytes());
    let checksum = of(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet[2..4].copy_from_slice(&stated.to_be_bytes());
    ethernet(0x0800, &packet)
}

#[test]
fn a_length_that_the_checksum_refutes_is_that_of_the_frame() {
    let length_of = |frame: &[u8], wire_length: u32| {
        let mut dissector = Dissector::new();
        let packet = Packet { wire_length, ..packet(LinkType::ETHERNET, frame) };
        let content = dissector.dissect(&packet);
        check_plain(&packet, &content);
        let Content::Segment(segment) = content else { panic!("{content:?}") };
        segment.payload.length
    };
    // 20 bytes of IP, 20 of TCP, 4 of data; a bit was flipped.
    assert_eq!(length_of(&frame_of_length(44 + 2048, 44), 58), 4);
    // Cut without a word: the header is as it was sent.
    assert_eq!(length_of(&frame_of_length(1044, 1044), 58), 1004);
    // Cut at the snaplen: the frame says nothing of where the packet ends.
    assert_eq!(length_of(&frame_of_length(44 + 2048, 44), 1058), 4 + 2048);
    // The network card was to fill in the checksum.
    let mut unfilled = frame_of_length(1044, 1044);
    unfilled[24..26].copy_from_slice(&[0, 0]);
    assert_eq!(length_of(&unfilled, 58), 1004);
}

#[test]
fn most_packets_are_plain() {
    let is_plain = |link, bytes: &[u8]| {
        let packet = packet(link, bytes);
        check_plain(&packet, &Dissector::new().dissect(&packet))
    };
    let (v4, v6) = (segment(), ipv6(6, &tcp(&[1, 1, 1, 0], &DATA)));
    let cooked = [&[0; 14][..], &[0x08, 0x00], &v4].concat();
    let cooked2 = [&[0x86, 0xdd][..], &[0; 18], &v6].concat();
    assert!(is_plain(LinkType::ETHERNET, &ethernet(0x0800, &v4)));
    assert!(is_plain(LinkType::ETHERNET, &ethernet(0x86dd, &v6)));
    assert!(is_plain(LinkType::ETHERNET, &ethernet(0x8100, &[&[0, 5, 0x08, 0x00][..], &v4].concat())));
    assert!(is_plain(LinkType::ETHERNET, &ethernet(0x0800, &[&v4[..], &[0; 6]].concat())), "padding");
    assert!(is_plain(LinkType::LINUX_SLL, &cooked));
    assert!(is_plain(LinkType::LINUX_SLL2, &cooked2));
    let mut other_length = v4.clone();
    other_length[2..4].copy_from_slice(&[0, 0]); // to the end of the frame
    let mut iwarp = v4.clone();
    iwarp[22..24].copy_from_slice(&20_049_u16.to_be_bytes());
    let mut short_header = v4.clone();
    short_header[32] = 0x40;
    for others in [
        ipv4(6, 1, 0x2000, &tcp(&[], &DATA)),
        ipv4(6, 1, 1, &tcp(&[], &DATA)),
        ipv4(17, 1, 0, &udp(&DATA)),
        ipv4(47, 1, 0, &[&[0, 0, 0x08, 0x00][..], &v4].concat()),
        other_length,
        iwarp,
        short_header,
    ] {
        assert!(!is_plain(LinkType::ETHERNET, &ethernet(0x0800, &others)), "{others:02x?}");
    }
}

#[test]
fn a_datagram_has_its_fields() {
    let frame = ethernet(0x86dd, &ipv6(17, &udp(&DATA)));
    let mut dissector = Dissector::new();
    let packet = packet(LinkType::ETHERNET, &frame);
    let Content::Datagram(datagram) = dissector.dissect(&packet) else { panic!("no datagram") };
    assert_eq!(datagram.source.port(), 800);
    assert_eq!(datagram.destination.to_string(), "[fefe:fefe:fefe:fefe:fefe:fefe:fefe:fefe]:2049");
    assert_eq!(datagram.payload, Payload::new(&DATA, 4));
}

#[test]
fn every_link_type_leads_to_the_segment() {
    let v4 = segment();
    let v6 = ipv6(6, &tcp(&[], &DATA));
    let with = |header: &[u8], rest: &[u8]| [header, rest].concat();
    let tag = [0x20, 100, 0x81, 0x00]; // priority and VLAN, type
    let cooked = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]; // type, hardware, address length, address
    let cooked2 = [0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]; // reserved, interface, hardware …
    let frames = [
        (LinkType::ETHERNET, ethernet(0x0800, &v4)),
        (LinkType::ETHERNET, ethernet(0x86dd, &v6)),
        (LinkType::ETHERNET, ethernet(0x8100, &with(&[0x20, 100, 0x08, 0x00], &v4))),
        (LinkType::ETHERNET, ethernet(0x88a8, &[&tag[..], &[0, 5, 0x86, 0xdd], &v6].concat())),
        (LinkType::ETHERNET, ethernet(0x8847, &with(&[0, 1, 0x00, 64, 0, 2, 0x01, 64], &v4))),
        (LinkType::ETHERNET, ethernet(0x8926, &with(&[0, 5, 0, 9, 0x81, 0, 0, 5, 0x08, 0x00], &v4))), // VN-Tag
        (LinkType::ETHERNET, ethernet(0x8909, &with(&[1, 1, 0, 1, 0, 100, 0x08, 0x00], &v4))), // Cisco metadata
        (LinkType::ETHERNET, ethernet(0x893f, &with(&[0, 0, 0, 1, 0, 0, 0x86, 0xdd], &v6))),   // E-Tag
        (LinkType::ETHERNET, ethernet(0xf1c1, &with(&[0, 0, 0, 7, 0x08, 0x00], &v4))),         // R-Tag
        (LinkType::ETHERNET, ethernet(0x88e7, &with(&[0, 0, 0, 7], &ethernet(0x0800, &v4)))),  // I-Tag
        (
            LinkType::ETHERNET,
            ethernet(0x8903, &with(&[0, 64], &ethernet(0x8100, &with(&[0, 5, 0x86, 0xdd], &v6)))),
        ),
        (LinkType::ETHERNET, ethernet(0x8847, &with(&[0, 2, 0x01, 64], &ethernet(0x0800, &v4)))),
        (LinkType::ETHERNET, ethernet(0x8847, &with(&[0, 2, 0x01, 64, 0, 0, 0, 1], &ethernet(0x86dd, &v6)))),
        (LinkType::ETHERNET, ethernet(0x8864, &with(&[0x11, 0, 0, 1, 0, 46, 0x00, 0x21], &v4))),
        (LinkType::ETHERNET, ethernet(52, &with(&[0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00], &v4))),
        (LinkType::FDDI, [&[0x51; 13][..], &[0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00], &v4].concat()),
        (LinkType::LINUX_SLL, [&cooked[..], &[0x08, 0x00], &v4].concat()),
        (LinkType::LINUX_SLL, [&cooked[..], &[0x81, 0x00, 0, 5, 0x08, 0x00], &v4].concat()),
        (LinkType::LINUX_SLL, [&cooked[..], &[0x89, 0x26, 0, 5, 0, 9, 0x08, 0x00], &v4].concat()),
        (LinkType::LINUX_SLL2, [&[0x86, 0xdd], &cooked2[..], &v6].concat()),
        (LinkType::RAW, v4.clone()),
        (LinkType::RAW_BSD, v6.clone()),
        (LinkType::RAW_OPENBSD, v4.clone()),
        (LinkType::IPV4, v4.clone()),
        (LinkType::IPV6, v6.clone()),
        (LinkType::NULL, with(&[2, 0, 0, 0], &v4)),
        (LinkType::NULL, with(&[0, 0, 0, 2], &v4)),
        (LinkType::NULL, with(&[30, 0, 0, 0], &v6)),
        (LinkType::LOOP, with(&[0, 0, 0, 24], &v6)),
        (LinkType::PPP, with(&[0xff, 0x03, 0x00, 0x21], &v4)),
        (LinkType::PPP, with(&[0x00, 0x57], &v6)),
        (LinkType::PPP, with(&[0x21], &v4)),
        (LinkType::PPP_HDLC, with(&[0x0f, 0x00, 0x08, 0x00], &v4)),
        (LinkType::PPP_ETHER, with(&[0x11, 0, 0, 1, 0, 46, 0x00, 0x57], &v6)),
        (LinkType::C_HDLC, with(&[0x0f, 0x00, 0x86, 0xdd], &v6)),
        (LinkType::NFLOG, nflog(u16::to_le_bytes, &v4)),
        (LinkType::NFLOG, nflog(u16::to_be_bytes, &v6)),
        (LinkType::ERF, erf(2, &[], &[&[0, 0], &ethernet(0x0800, &v4)[..]].concat())),
        (LinkType::ERF, erf(20, &[0x83, 0x04], &[&[0, 0], &ethernet(0x86dd, &v6)[..]].concat())),
        (LinkType::ERF, erf(22, &[], &v4)),
        (LinkType::ERF, erf(23, &[0x01], &v6)),
        (LinkType::IPNET, [&[1, 2][..], &[0; 22], &v4].concat()),
        (LinkType::IPNET, [&[1, 26][..], &[0; 22], &v6].concat()),
        (LinkType::PKTAP, pktap(1, 1, &ethernet(0x0800, &v4))),
        (LinkType::PKTAP, pktap(1, 12, &v6)),
        (LinkType::PKTAP, pktap(1, 0, &with(&[30, 0, 0, 0], &v6))),
    ];
    for (link, frame) in frames {
        assert_eq!(payload(link, &frame), Ok(DATA.to_vec()), "{link} {frame:02x?}");
        let glimpse = Glimpse { time_ns: 0, link, wire_length: frame.len() as u32, bytes: &frame };
        assert!(glance(&glimpse).is_some_and(|segment| segment.payload == Payload::new(&DATA, 4)), "{link}");
    }
}

/// An attribute of netfilter's log, padded.
fn attribute(order: fn(u16) -> [u8; 2], kind: u16, contents: &[u8]) -> Vec<u8> {
    let mut attribute = order(contents.len() as u16 + 4).to_vec(); // length
    attribute.extend(order(kind)); // type
    attribute.extend(contents);
    attribute.resize(attribute.len().next_multiple_of(4), 0);
    attribute
}

fn nflog(order: fn(u16) -> [u8; 2], packet: &[u8]) -> Vec<u8> {
    let attribute = |kind, contents: &[u8]| attribute(order, kind, contents);
    [
        vec![2, 0, 0, 5],                             // family, version, resource
        attribute(1, &[8, 0, 3, 0]),                  // type, hook
        attribute(10, b"prefix\0"),                   // 7 bytes and one of padding
        attribute(0x8016, &[8, 0, 1, 0, 0, 5, 0, 0]), // VLAN: holds attributes itself
        attribute(11, &[0, 0, 3, 0xe8]),              // user
        attribute(9, packet),
        vec![0; 5], // no part of it
    ]
    .concat()
}

fn pktap(next: u32, link: u32, packet: &[u8]) -> Vec<u8> {
    let mut frame = 108_u32.to_le_bytes().to_vec(); // length
    frame.extend(next.to_le_bytes()); // what follows
    frame.extend(link.to_le_bytes()); // its link type
    frame.extend(b"en0");
    frame.resize(108, 0);
    frame.extend(packet);
    frame
}

/// The record of a capture card, with a further header for each of `more`, of this type.
fn erf(kind: u8, more: &[u8], packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0xe7; 8]; // time
    frame.extend([if more.is_empty() { kind } else { 0x80 | kind }, 4]); // type, flags
    frame.extend([0; 6]); // length, loss, length on the wire
    frame.extend(more.iter().flat_map(|kind| [*kind, 1, 2, 3, 4, 5, 6, 7]));
    frame.extend(packet);
    frame
}

#[test]
fn a_packet_that_netfilter_cut_has_its_length() {
    let frame = nflog(u16::to_le_bytes, &ipv4(6, 1, 0, &tcp(&[], &[5; 1000]))[..64]);
    let mut dissector = Dissector::new();
    let packet = packet(LinkType::NFLOG, &frame);
    let Content::Segment(segment) = dissector.dissect(&packet) else { panic!("no segment") };
    assert_eq!(segment.payload, Payload { bytes: &[5; 24], length: 1000 });
}

#[test]
fn every_prefix_of_a_logged_packet_is_truncated_until_its_headers_are_there() {
    for (link, frame) in [
        (LinkType::NFLOG, nflog(u16::to_le_bytes, &segment())),
        (LinkType::PKTAP, pktap(1, 1, &ethernet(0x0800, &segment()))),
    ] {
        let headers = frame.windows(4).position(|bytes| bytes == DATA).unwrap();
        for captured in 0..=frame.len() {
            let packet = Packet { bytes: &frame[..captured], ..packet(link, &frame) };
            match Dissector::new().dissect(&packet) {
                Content::Segment(segment) => assert_eq!(segment.payload.length, DATA.len()),
                other => {
                    assert_eq!(other, Content::Other(Other::TruncatedHeader), "{link}, {captured}");
                    assert!(captured < headers);
                }
            }
        }
    }
}

/// Of what else a link layer tells, nothing is a field that redaction keeps.
#[test]
fn what_is_told_of_users_and_processes_is_no_field() {
    for (link, frame, secret) in [
        (LinkType::NFLOG, nflog(u16::to_be_bytes, &segment()), &b"prefix"[..]),
        (LinkType::NFLOG, nflog(u16::to_be_bytes, &segment()), &[0, 0, 3, 0xe8]),
        (LinkType::PKTAP, pktap(1, 1, &ethernet(0x0800, &segment())), b"en0"),
        (
            LinkType::ERF,
            erf(2, &[0x83, 0x04], &[&[0, 0], &ethernet(0x0800, &segment())[..]].concat()),
            &[2, 0, 0, 0, 0, 2],
        ),
    ] {
        let mut fields = Vec::new();
        let carried = outline::outline(&packet(link, &frame), &mut fields);
        assert!(matches!(carried, outline::Carried::Segment(_)), "{link}");
        let mut kept = vec![0; frame.len()];
        for (field, from, length) in fields {
            if field != outline::Field::Hardware {
                kept[from..from + length].copy_from_slice(&frame[from..from + length]);
            }
        }
        assert!(!kept.windows(secret.len()).any(|bytes| bytes == secret), "{link}");
        kept[frame.windows(4).position(|bytes| bytes == DATA).unwrap()..][..4].copy_from_slice(&DATA);
        assert_eq!(payload(link, &kept), Ok(DATA.to_vec()), "{link}");
        assert!(!kept.windows(6).any(|bytes| bytes == [2, 0, 0, 0, 0, 2]), "a hardware address of {link}");
    }
}

#[test]
fn extension_headers_are_passed_over() {
    let hop_by_hop = [60, 0, 1, 4, 0, 0, 0, 0]; // next, length, padding option
    let destination = [51, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let authentication = [44, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    let atomic = [6, 0, 0, 0, 0, 0, 0, 1]; // a fragment that is the whole
    let chain = [&hop_by_hop[..], &destination, &authentication, &atomic, &tcp(&[], &DATA)].concat();
    assert_eq!(payload(LinkType::RAW, &ipv6(0, &chain)), Ok(DATA.to_vec()));

    let endless = [60, 0, 1, 4, 0, 0, 0, 0].repeat(17);
    assert_eq!(payload(LinkType::RAW, &ipv6(60, &endless)), Err(Other::MalformedHeader));
}

#[test]
fn padding_is_no_payload() {
    let mut frame = ethernet(0x0800, &ipv4(6, 1, 0, &tcp(&[], &[])));
    frame.resize(60, 0);
    assert_eq!(payload(LinkType::ETHERNET, &frame), Ok(vec![]));
    let mut frame = ethernet(0x86dd, &ipv6(17, &udp(b"x")));
    frame.resize(80, 0xff);
    assert_eq!(payload(LinkType::ETHERNET, &frame), Ok(b"x".to_vec()));
}

#[test]
fn a_total_length_of_zero_means_the_rest_of_the_frame() {
    let mut v4 = segment();
    v4[2..4].fill(0);
    assert_eq!(payload(LinkType::RAW, &v4), Ok(DATA.to_vec()));
    let mut v6 = ipv6(6, &tcp(&[], &DATA));
    v6[4..6].fill(0);
    assert_eq!(payload(LinkType::RAW, &v6), Ok(DATA.to_vec()));
}

#[test]
fn the_length_on_the_wire_survives_the_snaplen() {
    let frame = ethernet(0x0800, &ipv4(6, 1, 0, &tcp(&[], &[5; 1000])));
    for (captured, wire_length) in [(64, 1054), (64, 64)] {
        // In the second case something before the capture cut the frame: IP still knows.
        let packet = Packet { wire_length, bytes: &frame[..captured], ..packet(LinkType::ETHERNET, &frame) };
        let mut dissector = Dissector::new();
        let Content::Segment(segment) = dissector.dissect(&packet) else { panic!("no segment") };
        assert_eq!(segment.payload, Payload { bytes: &[5; 10], length: 1000 });
    }
}

#[test]
fn what_is_no_segment_has_its_reason() {
    let changed = |index: usize, value: u8| {
        let mut packet = segment();
        packet[index] = value;
        packet
    };
    let mut truncated = Other::ALL.to_vec();
    for (link, bytes, other) in [
        (LinkType::RAW, ipv4(1, 1, 0, &[8, 0, 0, 0]), Other::OtherProtocol),
        (LinkType::RAW, ipv6(59, &[]), Other::OtherProtocol),
        (LinkType::ETHERNET, ethernet(0x0806, &[0; 28]), Other::NotIp),
        (LinkType::ETHERNET, ethernet(38, &[0x42, 0x42, 3, 0, 0, 0, 0, 0, 0]), Other::NotIp),
        (LinkType::NULL, vec![7, 0, 0, 0, 0], Other::NotIp),
        (LinkType::RAW, ipv4(17, 1, 0x2000, &[0; 8]), Other::Fragment),
        (LinkType(147), segment(), Other::UnsupportedLink),
        (LinkType::PKTAP, pktap(1, 105, &segment()), Other::UnsupportedLink),
        (LinkType::ERF, erf(4, &[], &segment()), Other::UnsupportedLink),
        (LinkType::ERF, erf(21, &[], &segment()), Other::Rdma),
        (LinkType::ERF, erf(2, &[0x80; 40], &segment()), Other::MalformedHeader),
        (LinkType::PKTAP, pktap(1, 258, &pktap(1, 1, &segment())), Other::UnsupportedLink),
        (LinkType::PKTAP, pktap(0, 1, &segment()), Other::NotIp),
        (LinkType::NFLOG, vec![2, 0, 0, 5, 8, 0, 1, 0, 8, 0, 3, 0], Other::NotIp), // without a packet
        (LinkType::NFLOG, vec![2, 0, 0, 5, 3, 0, 1, 0, 8, 0, 3, 0], Other::NotIp), // a length of 3
        (LinkType::INFINIBAND, vec![0; 60], Other::Rdma),
        (LinkType::IPV4, changed(0, 0x65), Other::MalformedHeader), // version
        (LinkType::RAW, changed(0, 0x44), Other::MalformedHeader),  // header length
        (LinkType::RAW, changed(3, 19), Other::MalformedHeader),    // total length
        (LinkType::RAW, changed(3, 39), Other::MalformedHeader),    // total length without all of TCP
        (LinkType::RAW, changed(32, 0x40), Other::MalformedHeader), // data offset
        (LinkType::RAW, changed(32, 0x70), Other::MalformedHeader), // data offset past the end
        (LinkType::RAW, ipv4(17, 1, 0, &[0, 1, 0, 2, 0, 7, 0, 0]), Other::MalformedHeader), // UDP length
        (LinkType::RAW, ipv4(17, 1, 0, &[0, 1, 0, 2, 0, 9, 0, 0]), Other::MalformedHeader), // UDP length
        (LinkType::ETHERNET, ethernet(0x8100, &[0, 1, 0x81, 0].repeat(9)), Other::MalformedHeader),
        (LinkType::ETHERNET, vec![0; 13], Other::MalformedHeader),
    ] {
        assert_eq!(payload(link, &bytes), Err(other), "{bytes:02x?}");
        truncated.retain(|reason| *reason != other);
    }
    assert_eq!(truncated, [Other::Duplicate, Other::TruncatedHeader], "these have tests of their own");
}

#[test]
fn every_prefix_of_a_packet_is_truncated_until_its_headers_are_there() {
    let options = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let tcp_v4 = ethernet(0x8100, &[&[0, 1, 8, 0], &ipv4(6, 1, 0, &tcp(&options, &DATA))[..]].concat());
    let udp_v6 = ethernet(0x86dd, &ipv6(60, &[&[17, 0, 1, 4, 0, 0, 0, 0], &udp(&DATA)[..]].concat()));
    for frame in [tcp_v4, udp_v6] {
        for captured in 0..=frame.len() {
            let packet = Packet { bytes: &frame[..captured], ..packet(LinkType::ETHERNET, &frame) };
            let mut dissector = Dissector::new();
            match dissector.dissect(&packet) {
                Content::Segment(Segment { payload, .. }) | Content::Datagram(Datagram { payload, .. }) => {
                    assert_eq!(payload.length, DATA.len());
                    assert_eq!(payload.bytes.len() + 4, captured + 8 - frame.len());
                }
                Content::Roce(_) => panic!("no RDMA"),
                Content::Other(other) => {
                    assert_eq!(other, Other::TruncatedHeader, "of {captured}");
                    assert!(captured < frame.len() - DATA.len());
                }
            }
        }
    }
}

#[test]
fn fragments_are_delivered_with_the_frame_that_completes_them() {
    let datagram = udp(&[7; 24]);
    let first = ipv4(17, 9, 0x2000, &datagram[..16]);
    let last = ipv4(17, 9, 2, &datagram[16..]);
    let mut dissector = Dissector::new();
    assert_eq!(dissector.dissect(&packet(LinkType::RAW, &last)), Content::Other(Other::Fragment));
    assert_eq!(dissector.unfinished_fragments(), 1);
    let packet = packet(LinkType::RAW, &first);
    let Content::Datagram(whole) = dissector.dissect(&packet) else { panic!("no datagram") };
    assert_eq!(whole.payload, Payload::new(&[7; 24], 24));
    assert_eq!(dissector.unfinished_fragments(), 0);
}

#[test]
fn a_datagram_without_a_header_keeps_none_from_being_told_that_is_incomplete_too() {
    let mut dissector = Dissector::new();
    let mut begun = |number: u8, stated: u8| {
        let datagram = [0, 1, 8, 1, 0, stated, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7];
        let fragment = ipv4(17, u16::from(number), 0x2000, &datagram);
        assert_eq!(dissector.dissect(&packet(LinkType::RAW, &fragment)), Content::Other(Other::Fragment));
    };
    begun(1, 3); // Less than its header.
    begun(2, 32);
    begun(3, 4);
    let told = dissector.overdue(None).map(|late| late.datagram.payload);
    assert_eq!(told, Some(Payload::new(&[7; 8], 24)));
    assert!(dissector.overdue(None).is_none());
    assert_eq!(dissector.unfinished_fragments(), 3);
}

#[test]
fn the_first_ipv6_fragment_says_what_the_datagram_holds() {
    let datagram = [&[17, 0, 1, 4, 0, 0, 0, 0], &udp(&[7; 24])[..]].concat();
    let fragment = |next: u8, flags: u16, part: &[u8]| {
        let [high, low] = flags.to_be_bytes();
        ipv6(44, &[&[next, 0, high, low, 0, 0, 0, 1], part].concat())
    };
    let mut dissector = Dissector::new();
    let last = fragment(99, 24, &datagram[24..]);
    assert_eq!(dissector.dissect(&packet(LinkType::RAW, &last)), Content::Other(Other::Fragment));
    let first = fragment(60, 1, &datagram[..16]);
    assert_eq!(dissector.dissect(&packet(LinkType::RAW, &first)), Content::Other(Other::Fragment));
    let middle = fragment(99, 17, &datagram[16..24]);
    let packet = packet(LinkType::RAW, &middle);
    let Content::Datagram(whole) = dissector.dissect(&packet) else { panic!("no datagram") };
    assert_eq!(whole.payload.bytes, [7; 24]);
}

#[test]
fn codes_and_meanings_are_distinct() {
    for (index, other) in Other::ALL.iter().enumerate() {
        assert!(!other.meaning().starts_with(' ') && other.meaning().ends_with(['.', '…']));
        assert!(Other::ALL[..index].iter().all(|before| before.code() != other.code()));
    }
}

#[test]
fn a_syn_tells_the_largest_segment_among_other_options() {
    let told = |options: &[u8]| {
        let frame = ethernet(0x0800, &ipv4(6, 1, 0x4000, &tcp(options, &DATA)));
        match Dissector::new().dissect(&packet(LinkType::ETHERNET, &frame)) {
            Content::Segment(segment) => segment.maximum_segment_size(),
            _ => panic!("no segment"),
        }
    };
    assert_eq!(told(&[2, 4, 5, 180]), Some(1460));
    assert_eq!(told(&[1, 1, 4, 2, 2, 4, 35, 60]), Some(9020));
    assert_eq!(told(&[3, 3, 7, 0]), None);
    assert_eq!(told(&[1, 0, 2, 4, 5, 180, 0, 0]), None, "nothing counts after the end of the list");
    assert_eq!(told(&[8, 0, 2, 4, 5, 180, 0, 0]), None, "a length that leads nowhere");
    assert_eq!(told(&[1, 2, 4, 5]), None, "cut off");
}
