//! Packets in packets: each header in rows, around one and the same segment.

use proptest::prelude::*;

use super::tests::{DATA, check_plain, ethernet, ipv4, ipv6, packet, payload, segment, tcp, udp};
use super::*;
use crate::capture::LinkType;

const VXLAN: [u8; 8] = [0x08, 0, 0, 0, 0, 0, 42, 0]; // flags, reserved 3, network 3, reserved
const GENEVE: [u8; 8] = [0, 0, 0x65, 0x58, 0, 0, 42, 0]; // version and options, flags, type 2, network 3, reserved

/// A datagram to a port, from one that suggests nothing.
fn udp_to(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = udp(payload);
    datagram[..2].copy_from_slice(&50_000_u16.to_be_bytes());
    datagram[2..4].copy_from_slice(&port.to_be_bytes());
    datagram
}

/// Every way to carry a packet: IPv4 and IPv6 as they are, or in a frame.
fn ways(v4: &[u8], v6: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let gre = |header: &[u8], inner: &[u8]| ipv4(47, 1, 0, &[header, inner].concat());
    let frame = ethernet(0x0800, v4);
    let tagged = ethernet(0x8100, &[&[0, 5, 0x86, 0xdd], v6].concat());
    let in_udp =
        |port: u16, header: &[u8], inner: &[u8]| ipv4(17, 1, 0, &udp_to(port, &[header, inner].concat()));
    let options = [&[2, 0, 0x65, 0x58, 0, 0, 42, 0][..], &[1, 2, 0, 1], &[9; 4]].concat();
    let erspan_3 = [&[0; 11][..], &[1], &[7; 8]].concat(); // the last bit announces 8 more
    vec![
        ("4 in 4", ipv4(4, 1, 0, v4)),
        ("6 in 4", ipv4(41, 1, 0, v6)),
        ("4 in 6", ipv6(4, v4)),
        ("6 in 6", ipv6(41, v6)),
        ("GRE, IPv4", gre(&[0, 0, 0x08, 0x00], v4)),
        ("GRE, IPv6", gre(&[0, 0, 0x86, 0xdd], v6)),
        ("GRE with a checksum", gre(&[0x80, 0, 0x08, 0x00, 1, 2, 0, 0], v4)),
        ("GRE with a key", gre(&[0x20, 0, 0x86, 0xdd, 0, 0, 0, 9], v6)),
        ("GRE with all", gre(&[&[0xb0, 0, 0x08, 0x00][..], &[7; 12]].concat(), v4)),
        ("GRE, Ethernet", gre(&[0x20, 0, 0x65, 0x58, 0, 0, 0, 9], &tagged)),
        ("GRE, MPLS", gre(&[0, 0, 0x88, 0x47, 0, 2, 0x01, 64], v4)),
        ("ERSPAN I", gre(&[0, 0, 0x88, 0xbe], &frame)),
        ("ERSPAN II", gre(&[&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1][..], &[0x10; 8]].concat(), &frame)),
        ("ERSPAN III", gre(&[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &erspan_3].concat(), &frame)),
        ("EtherIP", ipv4(97, 1, 0, &[&[0x30, 0][..], &frame].concat())),
        ("MPLS in IP", ipv6(137, &[&[0, 2, 0x01, 64][..], v6].concat())),
        ("VXLAN", in_udp(4789, &VXLAN, &frame)),
        ("VXLAN, IPv6 with a tag", in_udp(4789, &VXLAN, &tagged)),
        ("VXLAN with a group policy", in_udp(4789, &[0x88, 0, 0, 7, 0, 0, 42, 0], &frame)),
        ("VXLAN of old", in_udp(8472, &VXLAN, &frame)),
        ("TZSP", in_udp(37008, &[1, 0, 0, 1, 1], &frame)),
        ("TZSP with tags", in_udp(37008, &[1, 1, 0, 1, 0, 10, 1, 200, 60, 6, 2, 0, 0, 0, 0, 1, 1], &tagged)),
        ("GENEVE", in_udp(6081, &GENEVE, &tagged)),
        ("GENEVE, IPv4", in_udp(6081, &[0, 0x40, 0x08, 0x00, 0, 0, 1, 0], v4)),
        ("GENEVE with options", in_udp(6081, &options, &frame)),
    ]
}

#[test]
fn every_tunnel_leads_to_the_segment() {
    for (way, bytes) in ways(&segment(), &ipv6(6, &tcp(&[], &DATA))) {
        assert_eq!(payload(LinkType::RAW, &bytes), Ok(DATA.to_vec()), "{way}");
    }
}

#[test]
fn the_clocks_of_both_ends_are_heard_in_every_tunnel() {
    let stamps = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]; // value 7, echo 9
    let told = |bytes: &[u8]| {
        let glimpse = Glimpse { time_ns: 0, link: LinkType::RAW, wire_length: bytes.len() as u32, bytes };
        timestamps(&glimpse).map(|told| (told.value, told.echo, told.from.port()))
    };
    let v4 = ipv4(6, 1, 0x4000, &tcp(&stamps, &DATA));
    for (way, bytes) in ways(&v4, &ipv6(6, &tcp(&stamps, &DATA))) {
        assert_eq!(told(&bytes), Some((7, 9, 800)), "{way}");
    }
    let mut nested = v4;
    for _ in 0..NESTING_LIMIT {
        assert_eq!(told(&nested), Some((7, 9, 800)));
        nested = ipv4(4, 1, 0, &nested);
    }
    assert_eq!(told(&nested), None);
    assert_eq!(told(&ipv4(4, 1, 0x2000, &nested)), None, "a fragment");
}

#[test]
fn tunnels_nest_up_to_the_limit() {
    let mut nested = segment();
    for _ in 1..NESTING_LIMIT {
        nested = ipv4(4, 1, 0, &nested);
    }
    assert_eq!(payload(LinkType::RAW, &nested), Ok(DATA.to_vec()));
    nested = ipv4(4, 1, 0, &nested);
    assert_eq!(payload(LinkType::RAW, &nested), Err(Other::OtherProtocol));

    let mut datagram = segment();
    for _ in 0..NESTING_LIMIT {
        datagram = ipv4(17, 1, 0, &udp_to(4789, &[&VXLAN[..], &ethernet(0x0800, &datagram)].concat()));
    }
    let innermost = payload(LinkType::RAW, &datagram).unwrap();
    assert_eq!(innermost, [&VXLAN[..], &ethernet(0x0800, &segment())].concat());
}

#[test]
fn a_datagram_whose_port_misleads_is_delivered_as_it_is() {
    let frame = ethernet(0x0800, &segment());
    let arp = ethernet(0x0806, &[0; 28]);
    let mut version_5 = frame.clone();
    version_5[14] = 0x55;
    let call = [0x08, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 0];
    for (port, contents) in [
        (4790, [&VXLAN[..], &frame].concat()),
        (4789, DATA.to_vec()),
        (4789, call.to_vec()), // an RPC call of bad luck
        (4789, [&[0, 0, 0, 0, 0, 0, 42, 0][..], &frame].concat()), // no network given
        (4789, [&[0x0c, 0, 0, 0, 0, 0, 42, 0][..], &frame].concat()), // an unknown flag
        (4789, [&[0x08, 0, 0, 0, 0, 0, 42, 1][..], &frame].concat()), // reserved
        (4789, [&VXLAN[..], &arp].concat()),
        (4789, [&VXLAN[..], &version_5].concat()),
        (6081, [&[0x40][..], &GENEVE[1..], &frame].concat()), // version 1
        (6081, [&[0x3f][..], &GENEVE[1..], &DATA].concat()),  // options past the end
        (6081, [&[0, 0x01][..], &GENEVE[2..], &frame].concat()), // a reserved flag
        (6081, [&[0, 0, 0x12, 0x34, 0, 0, 0, 0][..], &frame].concat()), // an unknown type
    ] {
        let bytes = ipv4(17, 1, 0, &udp_to(port, &contents));
        assert_eq!(payload(LinkType::RAW, &bytes), Ok(contents), "{port}");
    }
}

#[test]
fn what_is_inside_has_its_own_reason() {
    let gre = |bytes: &[u8]| ipv4(47, 1, 0, bytes);
    let icmp = ipv4(1, 1, 0, &[8, 0, 0, 0]);
    for (bytes, other) in [
        (gre(&[0, 1, 0x08, 0x00]), Other::OtherProtocol), // version 1
        (gre(&[0x40, 0, 0x08, 0x00]), Other::OtherProtocol), // source routes
        (gre(&[0, 0, 0x08, 0x06, 0, 1]), Other::NotIp),   // ARP
        (gre(&[0xb0, 0, 0x08, 0x00, 0, 0]), Other::MalformedHeader), // a key that is not there
        (ipv4(97, 1, 0, &[0x40, 0, 1, 2]), Other::OtherProtocol), // EtherIP of another version
        (ipv4(4, 1, 0, &icmp), Other::OtherProtocol),
        (ipv4(41, 1, 0, &segment()), Other::MalformedHeader), // IPv4 where IPv6 is announced
        (
            ipv4(17, 1, 0, &udp_to(4789, &[&VXLAN[..], &ethernet(0x0800, &icmp)].concat())),
            Other::OtherProtocol,
        ),
    ] {
        assert_eq!(payload(LinkType::RAW, &bytes), Err(other), "{bytes:02x?}");
    }
}

/// The outer and the inner packet both in fragments, at first with the same identification.
#[test]
fn fragments_of_a_tunnel_and_in_it_do_not_mix() {
    let datagram = udp(&[7; 24]);
    let inner = [ipv4(17, 9, 0x2000, &datagram[..16]), ipv4(17, 9, 2, &datagram[16..])];
    let mut dissector = Dissector::new();
    let mut delivered = Vec::new();
    for (identification, inner) in [(9, &inner[0]), (10, &inner[1])] {
        let frame = [&VXLAN[..], &ethernet(0x0800, inner)].concat();
        let outer = udp_to(4789, &frame);
        for piece in
            [ipv4(17, identification, 0x2000, &outer[..32]), ipv4(17, identification, 4, &outer[32..])]
        {
            delivered.push(match dissector.dissect(&packet(LinkType::RAW, &piece)) {
                Content::Datagram(datagram) => Ok(datagram.payload.bytes.to_vec()),
                Content::Other(other) => Err(other),
                Content::Segment(_) | Content::Roce(_) => panic!("no datagram"),
            });
        }
    }
    let held = Err(Other::Fragment);
    assert_eq!(delivered, [held.clone(), held.clone(), held, Ok(vec![7; 24])]);
    assert_eq!(dissector.unfinished_fragments(), 0);
}

#[test]
fn rdma_is_named() {
    let roce = [&[0x0a, 0x40, 0xff, 0xff, 0, 0, 0, 18, 0, 0, 0, 1][..], &[0; 20]].concat();
    let named = |link, bytes: &[u8]| payload(link, bytes) == Err(Other::Rdma);
    assert!(named(LinkType::RAW, &ipv4(17, 1, 0, &udp_to(4791, &roce))));
    assert!(named(LinkType::ETHERNET, &ethernet(0x8915, &roce)));
    assert!(named(LinkType::INFINIBAND, &roce));
    // From a server's port, of an unknown class, of another version, too short.
    let mut from_nfs = udp_to(4791, &roce);
    from_nfs[..2].copy_from_slice(&2049_u16.to_be_bytes());
    assert!(!named(LinkType::RAW, &ipv4(17, 1, 0, &from_nfs)));
    for (index, value) in [(0, 0xe0), (1, 0x41)] {
        let mut other = roce.clone();
        other[index] = value;
        assert!(!named(LinkType::RAW, &ipv4(17, 1, 0, &udp_to(4791, &other))));
    }
    assert!(!named(LinkType::RAW, &ipv4(17, 1, 0, &udp_to(4791, &roce[..15]))));
}

#[test]
fn an_iwarp_connection_is_named_from_its_first_frame_to_its_end() {
    let between = |ports: [u16; 2], flags: u8, identification: u16, data: &[u8]| {
        let mut segment = tcp(&[], data);
        segment[..2].copy_from_slice(&ports[0].to_be_bytes());
        segment[2..4].copy_from_slice(&ports[1].to_be_bytes());
        segment[13] = flags;
        ipv4(6, identification, 0x4000, &segment)
    };
    let mut dissector = Dissector::new();
    let mut rdma =
        |bytes: Vec<u8>| dissector.dissect(&packet(LinkType::RAW, &bytes)) == Content::Other(Other::Rdma);
    let request = b"MPA ID Req Frame\x40\x01\x00\x00";
    assert!(!rdma(between([700, 20_049], 0x18, 1, &DATA)), "NFS over TCP");
    assert!(!rdma(between([700, 2049], 0x18, 2, request)), "on another port");
    assert!(rdma(between([700, 20_049], 0x18, 3, request)));
    assert!(rdma(between([700, 20_049], 0x18, 4, &DATA)));
    assert!(!rdma(between([701, 20_049], 0x18, 5, &DATA)), "another connection");
    assert!(!rdma(between([700, 20_049], 0x02, 6, &[])), "a new connection on the same ports");
    assert!(!rdma(between([700, 20_049], 0x18, 7, &DATA)));
}

#[test]
fn ip_over_infiniband_is_read_with_and_without_its_addresses() {
    let encapsulated = [&[0x08, 0x00, 0, 0][..], &segment()].concat();
    for frame in [encapsulated.clone(), [&[0; 40][..], &encapsulated].concat()] {
        assert_eq!(payload(LinkType::IPOIB, &frame), Ok(DATA.to_vec()));
    }
}

/// What is compared of a packet, bare and carried.
fn view(bytes: &[u8], captured: usize, beyond: usize) -> String {
    let bytes = &bytes[..bytes.len().min(captured)];
    let wire_length = (bytes.len() + beyond) as u32;
    let packet = Packet { wire_length, bytes, ..packet(LinkType::RAW, bytes) };
    let mut dissector = Dissector::new();
    let content = dissector.dissect(&packet);
    check_plain(&packet, &content);
    format!("{content:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A packet in a tunnel looks like the bare one, cut by the snaplen or not.
    #[test]
    fn a_carried_packet_looks_like_the_bare_one(
        data in prop::collection::vec(any::<u8>(), 0..100),
        is_udp: bool,
        cut in 0_usize..60,
    ) {
        let (protocol, transport) = if is_udp { (17, udp(&data)) } else { (6, tcp(&[1, 1, 1, 0], &data)) };
        let (v4, v6) = (ipv4(protocol, 1, 0, &transport), ipv6(protocol, &transport));
        for (way, bytes) in ways(&v4, &v6) {
            let inner = if bytes.ends_with(&v4) { &v4 } else { &v6 };
            let cut = cut.min(data.len());
            let bare = view(inner, inner.len() - cut, cut);
            prop_assert_eq!(view(&bytes, bytes.len() - cut, cut), bare, "{}", way);
        }
    }

    /// A spoilt tunnel is safe, however deep.
    #[test]
    fn spoilt_tunnels_are_safe(
        positions in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        captured in 0_usize..120,
    ) {
        for (_, mut bytes) in ways(&segment(), &ipv6(6, &tcp(&[], &DATA))) {
            for (position, value) in &positions {
                let index = position.index(bytes.len());
                bytes[index] = *value;
            }
            view(&bytes, captured, 0);
            view(&ipv4(4, 1, 0, &bytes), captured, 500);
        }
    }
}
