//! The dissector against etherparse, on packets that etherparse builds and on damaged ones.

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use proptest::prelude::*;

use super::{Content, Dissector};
use crate::capture::{LinkType, Packet};

/// What both sides are asked: source, destination, then what the transport says.
#[derive(Debug, PartialEq, Eq)]
enum View {
    Tcp {
        ports: (u16, u16),
        sequence: u32,
        acknowledgement: u32,
        flags: u8,
        window: u16,
        options: Vec<u8>,
        payload: Vec<u8>,
    },
    Udp {
        ports: (u16, u16),
        payload: Vec<u8>,
    },
    Other,
}

fn ours(frame: &[u8]) -> View {
    let packet = Packet {
        number: 1,
        time_ns: 0,
        stated_ns: 0,
        link: LinkType::ETHERNET,
        wire_length: frame.len() as u32,
        bytes: frame,
    };
    let mut dissector = Dissector::new();
    let content = dissector.dissect(&packet);
    super::tests::check_plain(&packet, &content);
    match content {
        Content::Segment(segment) => View::Tcp {
            ports: (segment.source.port(), segment.destination.port()),
            sequence: segment.sequence,
            acknowledgement: segment.acknowledgement,
            flags: segment.flags.0 & 0x1f,
            window: segment.window,
            options: segment.options.to_vec(),
            payload: segment.payload.bytes.to_vec(),
        },
        Content::Datagram(datagram) => View::Udp {
            ports: (datagram.source.port(), datagram.destination.port()),
            payload: datagram.payload.bytes.to_vec(),
        },
        Content::Roce(_) | Content::Other(_) => View::Other,
    }
}

fn theirs(frame: &[u8]) -> View {
    let Ok(packet) = SlicedPacket::from_ethernet(frame) else { return View::Other };
    if packet.net.as_ref().and_then(NetSlice::ip_payload_ref).is_some_and(|payload| payload.fragmented) {
        return View::Other;
    }
    match packet.transport {
        Some(TransportSlice::Tcp(tcp)) => View::Tcp {
            ports: (tcp.source_port(), tcp.destination_port()),
            sequence: tcp.sequence_number(),
            acknowledgement: tcp.acknowledgment_number(),
            flags: u8::from(tcp.fin())
                | u8::from(tcp.syn()) << 1
                | u8::from(tcp.rst()) << 2
                | u8::from(tcp.psh()) << 3
                | u8::from(tcp.ack()) << 4,
            window: tcp.window_size(),
            options: tcp.options().to_vec(),
            payload: tcp.payload().to_vec(),
        },
        Some(TransportSlice::Udp(udp)) => {
            View::Udp { ports: (udp.source_port(), udp.destination_port()), payload: udp.payload().to_vec() }
        }
        _ => View::Other,
    }
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let shape = (any::<bool>(), any::<bool>(), any::<bool>());
    let tcp = (any::<(u16, u16)>(), any::<(u32, u32)>(), any::<u16>(), any::<[bool; 5]>());
    let options = (0..=10_usize).prop_map(|words| vec![1_u8; words * 4]);
    let payload = prop::collection::vec(any::<u8>(), 0..100);
    (shape, tcp, options, payload).prop_map(|((v6, tagged, is_udp), tcp, options, payload)| {
        let ((source, destination), (sequence, acknowledgement), window, [fin, syn, rst, psh, ack]) = tcp;
        let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let network = match (tagged, v6) {
            (false, false) => ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
            (false, true) => ethernet.ipv6([1; 16], [2; 16], 64),
            (true, false) => {
                ethernet.single_vlan(5.try_into().unwrap()).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            }
            (true, true) => ethernet.single_vlan(5.try_into().unwrap()).ipv6([1; 16], [2; 16], 64),
        };
        let mut frame = Vec::new();
        if is_udp {
            network.udp(source, destination).write(&mut frame, &payload).unwrap();
            return frame;
        }
        let mut header = etherparse::TcpHeader::new(source, destination, sequence, window);
        header.acknowledgment_number = acknowledgement;
        (header.fin, header.syn, header.rst, header.psh, header.ack) = (fin, syn, rst, psh, ack);
        header.set_options_raw(&options).unwrap();
        network.tcp_header(header).write(&mut frame, &payload).unwrap();
        frame
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn whole_packets_look_the_same(frame in frame()) {
        let view = ours(&frame);
        prop_assert_ne!(&view, &View::Other);
        prop_assert_eq!(view, theirs(&frame));
    }

    /// Damaged packets: what etherparse accepts, we see the same way. We accept more, as documented
    /// at `Payload::of_length`: IP may promise more than the frame holds.
    #[test]
    fn damaged_packets_look_the_same(mut frame in frame(), position: prop::sample::Index, value: u8) {
        let index = position.index(frame.len().min(80));
        frame[index] = value;
        let (ours, theirs) = (ours(&frame), theirs(&frame));
        if theirs != View::Other {
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn arbitrary_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..200), wire in 0..2_000_u32) {
        let mut dissector = Dissector::new();
        for link in [0, 1, 9, 12, 50, 51, 101, 104, 108, 113, 228, 229, 239, 242, 247, 258, 276, 999] {
            let packet = Packet { number: 1, time_ns: 0, stated_ns: 0, link: LinkType(link), wire_length: wire, bytes: &bytes };
            dissector.dissect(&packet);
        }
    }
}
