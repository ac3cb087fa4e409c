use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use proptest::prelude::*;

use super::*;
use crate::packet::ROCE_PORT;
use crate::rdma::management::Managed;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

/// The queue pairs of the client and of the server.
const QUEUE_PAIRS: [u32; 2] = [17, 33];

/// The UDP ports that they send from.
const PORTS: [u16; 2] = [50_000, 60_000];

/// What the decoder was told, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Heard {
    source: String,
    destination: String,
    bytes: Vec<u8>,
    beside: Option<(Option<usize>, usize, usize)>,
    length: usize,
    limit: Reason,
    frames: (u64, u64),
}

/// A connection whose packets are taken one after the other.
#[derive(Default)]
struct Wire {
    rdma: Rdma,
    frame: u64,
    /// The next sequence numbers of client and server.
    sequences: [u32; 2],
    heard: Vec<Heard>,
    acknowledged: Vec<i64>,
    again: usize,
}

impl Wire {
    fn packet(&mut self, from_client: bool, sequence: u32, verb: Verb, bytes: &[u8]) {
        self.captured(from_client, sequence, verb, bytes, bytes.len());
    }

    fn captured(&mut self, from_client: bool, sequence: u32, verb: Verb, bytes: &[u8], length: usize) {
        let (from, to) = if from_client { (0, 1) } else { (1, 0) };
        let hosts = [CLIENT, SERVER];
        self.frame += 1;
        let packet = Roce {
            source: SocketAddr::new(hosts[from], PORTS[from]),
            destination: SocketAddr::new(hosts[to], ROCE_PORT),
            queue_pair: if verb == Verb::Management { 1 } else { QUEUE_PAIRS[to] },
            sequence,
            verb,
            payload: Payload::new(bytes, length),
        };
        let stamp = Stamp { frame: self.frame, time_ns: 1000 * self.frame.cast_signed() };
        let Self { rdma, heard, acknowledged, again, .. } = self;
        rdma.take(&packet, stamp, &mut |told| match told {
            Told::Message(message) => heard.push(of(message)),
            Told::Acknowledged { sent_ns, time_ns, .. } => acknowledged.push(time_ns - sent_ns),
            Told::Again { .. } => *again += 1,
        });
    }

    /// A request with the next sequence number.
    fn request(&mut self, from_client: bool, verb: Verb, bytes: &[u8]) -> u32 {
        let sequence = self.sequences[usize::from(!from_client)];
        self.sequences[usize::from(!from_client)] = after(sequence);
        self.packet(from_client, sequence, verb, bytes);
        sequence
    }

    fn send(&mut self, from_client: bool, bytes: &[u8]) -> u32 {
        self.request(from_client, Verb::Send(WHOLE), bytes)
    }

    fn flush(&mut self) {
        let heard = &mut self.heard;
        self.rdma.flush(&mut |told| {
            if let Told::Message(message) = told {
                heard.push(of(message));
            }
        });
    }

    /// The last message.
    fn last(&self) -> &Heard {
        self.heard.last().expect("a message was heard")
    }
}

fn of(message: &Message<'_>) -> Heard {
    Heard {
        source: message.source.to_string(),
        destination: message.destination.to_string(),
        bytes: message.bytes.to_vec(),
        beside: message.beside.map(|beside| (beside.position, beside.length, beside.bytes.len())),
        length: message.length,
        limit: message.limit,
        frames: (message.first.frame, message.last.frame),
    }
}

const WHOLE: Place = Place { first: true, last: true };
const FIRST: Place = Place { first: true, last: false };
const MIDDLE: Place = Place { first: false, last: false };
const LAST: Place = Place { first: false, last: true };

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Key, length and address of a segment, as a header has them.
fn segment(key: u32, length: u32) -> [u32; 4] {
    [key, length, 0x1_0000, key]
}

fn target(key: u32, at: u64, length: u32) -> Target {
    Target { address: (0x1_0000 << 32 | u64::from(key)) + at, key, length }
}

/// Segments to read with their position, chunks to write, the chunk for the reply.
#[derive(Default)]
struct Chunks<'c> {
    reads: &'c [(u32, u32, u32)],
    writes: &'c [&'c [(u32, u32)]],
    reply: &'c [(u32, u32)],
}

fn header(xid: u32, elsewhere: bool, chunks: &Chunks<'_>) -> Vec<u8> {
    let mut told = vec![xid, 1, 64, u32::from(elsewhere)];
    for (position, key, length) in chunks.reads {
        told.extend([1, *position]);
        told.extend(segment(*key, *length));
    }
    told.push(0);
    for chunk in chunks.writes {
        told.extend([1, chunk.len() as u32]);
        told.extend(chunk.iter().flat_map(|(key, length)| segment(*key, *length)));
    }
    told.push(0);
    if chunks.reply.is_empty() {
        told.push(0);
    } else {
        told.extend([1, chunks.reply.len() as u32]);
        told.extend(chunks.reply.iter().flat_map(|(key, length)| segment(*key, *length)));
    }
    words(&told)
}

/// A message of this length behind a header; `reply`: it answers.
fn message(xid: u32, reply: bool, length: usize) -> Vec<u8> {
    let mut bytes = words(&[xid, u32::from(reply)]);
    bytes.resize(length, 7);
    bytes
}

fn sent(xid: u32, reply: bool, chunks: &Chunks<'_>) -> Vec<u8> {
    [header(xid, false, chunks), message(xid, reply, 40)].concat()
}

const NO_CHUNKS: Chunks<'_> = Chunks { reads: &[], writes: &[], reply: &[] };

#[test]
fn a_call_and_its_reply_have_the_same_ends() {
    let mut wire = Wire::default();
    wire.send(true, &sent(5, false, &NO_CHUNKS));
    wire.send(false, &sent(5, true, &NO_CHUNKS));
    let [call, reply] = &wire.heard[..] else { panic!("{:?}", wire.heard) };
    assert_eq!((&call.source[..], &call.destination[..]), ("10.0.0.2:50000", "10.0.0.1:4791"));
    assert_eq!((&reply.source, &reply.destination), (&call.destination, &call.source));
    assert_eq!((call.length, call.limit, call.frames), (40, Reason::Truncated, (1, 1)));
    assert_eq!(call.bytes, message(5, false, 40));
    assert_eq!(reply.frames, (2, 2));
}

#[test]
fn a_reply_whose_call_is_not_there_is_no_connection_of_its_own() {
    let mut wire = Wire::default();
    wire.send(false, &sent(4, true, &NO_CHUNKS));
    assert_eq!(wire.heard, []);
    wire.send(true, &sent(5, false, &NO_CHUNKS));
    wire.send(false, &sent(5, true, &NO_CHUNKS));
    assert_eq!(wire.heard.len(), 2);
    assert_eq!(wire.heard[1].destination, wire.heard[0].source);
}

fn managed(attribute: u32, id: [u32; 2], middle: &[u32], queue_pair: u32) -> Vec<u8> {
    let mut told = vec![0x0107_0203, 0, 0, 0, attribute << 16, 0, id[0], id[1]];
    told.extend(middle);
    told.push(queue_pair << 8);
    let mut bytes = words(&told);
    bytes.resize(256, 0);
    bytes
}

#[test]
fn the_handshake_tells_the_port_of_the_service() {
    let mut wire = Wire::default();
    let request = managed(0x10, [9, 0], &[0, 0x0106_4e51, 0, 0, 0, 0], QUEUE_PAIRS[0]);
    let parsed = management::parse(&request);
    assert_eq!(parsed, Some(Managed::Request { id: 9, queue_pair: 17, port: Some(20_049) }));
    wire.packet(true, 0, Verb::Management, &request);
    let reply = managed(0x13, [77, 9], &[0], QUEUE_PAIRS[1]);
    assert_eq!(management::parse(&reply), Some(Managed::Reply { id: 9, queue_pair: 33 }));
    wire.packet(false, 0, Verb::Management, &reply);
    // A callback may come before any call: which queue pairs belong together is known.
    wire.send(true, &sent(5, false, &NO_CHUNKS));
    wire.send(false, &sent(6, false, &NO_CHUNKS));
    assert_eq!(wire.heard[0].destination, "10.0.0.1:20049");
    assert_eq!(
        (&wire.heard[1].source, &wire.heard[1].destination),
        (&wire.heard[0].destination, &wire.heard[0].source)
    );
    assert_eq!(management::parse(&managed(0x15, [0, 0], &[], 0)), None);
    assert_eq!(management::parse(&request[..40]), None);
}

#[test]
fn an_acknowledgement_is_timed_and_tells_which_queue_pairs_belong_together() {
    let mut wire = Wire::default();
    let sequence = wire.send(true, &sent(5, false, &NO_CHUNKS));
    wire.packet(false, sequence, Verb::Acknowledge, &[]);
    wire.packet(false, sequence, Verb::Acknowledge, &[]);
    assert_eq!(wire.acknowledged, [1000]);
    wire.send(false, &sent(6, false, &NO_CHUNKS));
    assert_eq!(wire.heard[1].destination, wire.heard[0].source);
}

#[test]
fn a_message_in_pieces_is_put_together() {
    let mut wire = Wire::default();
    let whole = [header(5, false, &NO_CHUNKS), message(5, false, 3000)].concat();
    wire.request(true, Verb::Send(FIRST), &whole[..1024]);
    wire.request(true, Verb::Send(MIDDLE), &whole[1024..2048]);
    wire.request(true, Verb::Send(LAST), &whole[2048..]);
    assert_eq!(wire.last().bytes, message(5, false, 3000));
    assert_eq!(wire.last().frames, (1, 3));
    assert_eq!(wire.rdma.held_bytes, 0);
}

#[test]
fn of_packets_that_were_cut_the_message_has_what_was_captured() {
    let mut wire = Wire::default();
    let whole = [header(5, false, &NO_CHUNKS), message(5, false, 3000)].concat();
    wire.captured(true, 0, Verb::Send(FIRST), &whole[..100], 1024);
    wire.captured(true, 1, Verb::Send(MIDDLE), &whole[1024..1124], 1024);
    wire.captured(true, 2, Verb::Send(LAST), &whole[2048..2148], whole.len() - 2048);
    let heard = wire.last();
    assert_eq!((heard.bytes.len(), heard.length, heard.limit), (100 - 28, 3000, Reason::Truncated));
}

#[test]
fn what_was_lost_and_sent_again_comes_once_and_not_before_that() {
    let mut wire = Wire::default();
    let whole = [header(5, false, &NO_CHUNKS), message(5, false, 3000)].concat();
    let parts = [&whole[..1024], &whole[1024..2048], &whole[2048..]];
    wire.packet(true, 0, Verb::Send(FIRST), parts[0]);
    wire.packet(true, 2, Verb::Send(LAST), parts[2]);
    assert_eq!(wire.heard, []);
    wire.packet(true, 1, Verb::Send(MIDDLE), parts[1]);
    wire.packet(true, 2, Verb::Send(LAST), parts[2]);
    assert_eq!(wire.heard.len(), 1);
    assert_eq!((wire.last().bytes.len(), wire.last().frames), (3000, (1, 3)));
    assert_eq!((wire.again, wire.rdma.lost, wire.rdma.held_bytes), (1, 0, 0));
}

#[test]
fn what_the_capture_lost_is_given_up_once_enough_follows_or_at_the_end() {
    for following in [70, 3] {
        let mut wire = Wire { sequences: [NUMBERS_END, 0], ..Wire::default() };
        wire.send(true, &sent(1, false, &NO_CHUNKS));
        wire.sequences[0] = 1;
        for xid in 0..following {
            wire.send(true, &sent(100 + xid, false, &NO_CHUNKS));
        }
        wire.flush();
        assert_eq!(wire.heard.len() as u32, 1 + following);
        assert_eq!((wire.rdma.lost, wire.rdma.held_bytes), (1, 0));
        // In the order in which they were sent.
        assert!(wire.heard.windows(2).all(|pair| pair[0].frames < pair[1].frames));
    }
}

#[test]
fn what_the_capture_lost_is_given_up_once_what_follows_is_acknowledged() {
    let mut wire = Wire::default();
    let first = wire.send(true, &sent(1, false, &NO_CHUNKS));
    wire.packet(false, first, Verb::Acknowledge, &[]);
    wire.sequences[0] += 1;
    let held = wire.send(true, &sent(2, false, &NO_CHUNKS));
    wire.packet(false, held, Verb::Acknowledge, &[]);
    assert_eq!(wire.heard.len(), 1, "the capture may only have mixed up a few");
    for _ in 0..4 {
        wire.packet(false, held, Verb::Acknowledge, &[]);
    }
    assert_eq!((wire.heard.len(), wire.rdma.lost), (2, 1));
}

#[test]
fn a_message_behind_a_hole_is_complete_no_earlier_than_its_beginning_came() {
    let mut wire = Wire::default();
    wire.send(true, &sent(1, false, &NO_CHUNKS));
    let whole = [header(5, false, &NO_CHUNKS), message(5, false, 2000)].concat();
    wire.packet(true, 3, Verb::Send(LAST), &whole[1024..]);
    wire.packet(true, 2, Verb::Send(FIRST), &whole[..1024]);
    wire.flush();
    assert_eq!((wire.last().bytes.len(), wire.last().frames), (2000, (3, 3)));
}

#[test]
fn a_queue_pair_that_another_connection_has_begins_anew() {
    let mut wire = Wire { sequences: [1 << 20, 0], ..Wire::default() };
    wire.send(true, &sent(1, false, &NO_CHUNKS));
    wire.sequences[0] = 7;
    for xid in 0..5000 {
        wire.send(true, &sent(100 + xid, false, &NO_CHUNKS));
    }
    assert_eq!((wire.heard.len(), wire.again), (1 + 5000 - 4096, 4096));
}

/// The last sequence number: the next one is 0.
const NUMBERS_END: u32 = (1 << 24) - 1;

#[test]
fn a_reply_that_was_written_to_the_clients_memory_is_read_from_there() {
    let mut wire = Wire::default();
    let long = message(5, true, 2500);
    let given = Chunks { reply: &[(8, 2000), (9, 2000)], ..NO_CHUNKS };
    wire.send(true, &sent(5, false, &given));
    wire.request(false, Verb::Write(FIRST, Some(target(8, 0, 2000))), &long[..1024]);
    wire.request(false, Verb::Write(LAST, None), &long[1024..2000]);
    wire.request(false, Verb::Write(WHOLE, Some(target(9, 0, 500))), &long[2000..]);
    // Data of files, which nobody asked to be kept.
    wire.request(false, Verb::Write(WHOLE, Some(target(7, 0, 500))), &long[..500]);
    let used = Chunks { reply: &[(8, 2000), (9, 500)], ..NO_CHUNKS };
    wire.send(false, &header(5, true, &used));
    let heard = wire.last();
    assert_eq!((&heard.bytes, heard.length, heard.frames), (&long, 2500, (2, 6)));
}

#[test]
fn of_a_reply_that_was_not_captured_whole_there_is_its_beginning() {
    let mut wire = Wire::default();
    let given = Chunks { reply: &[(8, 4000)], ..NO_CHUNKS };
    wire.send(true, &sent(5, false, &given));
    wire.request(false, Verb::Write(FIRST, Some(target(8, 0, 3000))), &message(5, true, 1024));
    wire.send(false, &header(5, true, &Chunks { reply: &[(8, 3000)], ..NO_CHUNKS }));
    let heard = wire.last();
    assert_eq!((heard.bytes.len(), heard.length, heard.limit), (1024, 3000, Reason::Missing));
}

#[test]
fn of_a_reply_that_was_not_captured_at_all_it_is_known_which_call_it_answers() {
    let mut wire = Wire::default();
    let given = Chunks { reply: &[(8, 4000)], ..NO_CHUNKS };
    wire.send(true, &sent(5, false, &given));
    wire.send(false, &header(5, true, &Chunks { reply: &[(8, 3000)], ..NO_CHUNKS }));
    let heard = wire.last();
    assert_eq!((&heard.bytes, heard.length, heard.limit), (&words(&[5, 1]), 3000, Reason::Missing));
}

#[test]
fn a_call_that_the_server_reads_is_complete_with_its_last_bytes() {
    let mut wire = Wire::default();
    let long = message(5, false, 6000);
    wire.send(true, &header(5, true, &Chunks { reads: &[(0, 3, 4096), (0, 4, 1904)], ..NO_CHUNKS }));
    let read = |key, length| Verb::ReadRequest(target(key, 0, length));
    wire.packet(false, 40, read(3, 4096), &[]);
    wire.packet(false, 44, read(4, 1904), &[]);
    wire.packet(true, 40, Verb::ReadResponse(FIRST), &long[..2048]);
    wire.packet(true, 41, Verb::ReadResponse(LAST), &long[2048..4096]);
    assert_eq!(wire.heard, []);
    wire.packet(true, 44, Verb::ReadResponse(WHOLE), &long[4096..]);
    assert_eq!((&wire.last().bytes, wire.last().frames), (&long, (1, 6)));
    // The server goes on with any number that the answers may have left.
    wire.sequences[1] = 46;
    wire.send(false, &sent(5, true, &NO_CHUNKS));
    assert_eq!(wire.heard.len(), 2);
}

#[test]
fn what_was_lost_of_an_answer_is_asked_for_again() {
    let mut wire = Wire::default();
    let long = message(5, false, 3072);
    wire.send(true, &header(5, true, &Chunks { reads: &[(0, 3, 3072)], ..NO_CHUNKS }));
    wire.packet(false, 9, Verb::ReadRequest(target(3, 0, 3072)), &[]);
    wire.packet(true, 9, Verb::ReadResponse(FIRST), &long[..1024]);
    wire.packet(true, 11, Verb::ReadResponse(LAST), &long[2048..]);
    assert_eq!(wire.heard, []);
    wire.packet(false, 10, Verb::ReadRequest(target(3, 1024, 2048)), &[]);
    wire.packet(true, 10, Verb::ReadResponse(FIRST), &long[1024..2048]);
    wire.packet(true, 11, Verb::ReadResponse(LAST), &long[2048..]);
    assert_eq!((&wire.last().bytes, wire.last().frames), (&long, (1, 7)));
}

#[test]
fn a_call_whose_data_are_read_is_complete_with_them_and_keeps_those_that_are_few() {
    for (length, kept) in [(3000, 3000), (5000, 0)] {
        let mut wire = Wire::default();
        wire.send(true, &sent(5, false, &Chunks { reads: &[(24, 3, length)], ..NO_CHUNKS }));
        wire.packet(false, 0, Verb::ReadRequest(target(3, 0, length)), &[]);
        wire.packet(true, 0, Verb::ReadResponse(WHOLE), &vec![1; length as usize]);
        let heard = wire.last();
        assert_eq!(heard.beside, Some((Some(24), length as usize, kept)));
        assert_eq!((heard.length, heard.frames), (40, (1, 3)));
    }
}

#[test]
fn a_call_whose_data_are_not_there_comes_with_its_reply_or_at_the_end() {
    let given = Chunks { reads: &[(24, 3, 3000)], ..NO_CHUNKS };
    let mut wire = Wire::default();
    wire.send(true, &sent(5, false, &given));
    wire.send(true, &sent(6, false, &given));
    wire.send(false, &sent(5, true, &NO_CHUNKS));
    assert_eq!(wire.heard.len(), 2);
    assert_eq!((wire.heard[0].beside, wire.heard[0].frames), (Some((Some(24), 3000, 0)), (1, 1)));
    wire.flush();
    assert_eq!((wire.heard.len(), wire.last().frames), (3, (2, 2)));
}

#[test]
fn data_beside_a_reply_are_told_and_kept_where_they_are_few() {
    for (length, kept) in [(3000, 3000), (5000, 0)] {
        let mut wire = Wire::default();
        let writes: &[&[(u32, u32)]] = &[&[(3, length)]];
        wire.send(true, &sent(5, false, &Chunks { writes, ..NO_CHUNKS }));
        let data = vec![1; length as usize];
        wire.request(false, Verb::Write(WHOLE, Some(target(3, 0, length))), &data);
        wire.send(false, &sent(5, true, &Chunks { writes, ..NO_CHUNKS }));
        assert_eq!(wire.last().beside, Some((None, length as usize, kept)));
    }
}

#[test]
fn other_packets_say_nothing() {
    let mut wire = Wire::default();
    let other_version = words(&[5, 2, 64, 0, 0, 0, 0, 5, 0]);
    let done = words(&[5, 1, 64, 3]);
    let of_another = [header(5, false, &NO_CHUNKS), message(6, false, 40)].concat();
    let huge = header(5, true, &Chunks { reply: &[(1, 1 << 29), (2, 1)], ..NO_CHUNKS });
    for bytes in [&other_version, &done, &of_another, &huge] {
        wire.send(true, bytes);
    }
    let whole = header(5, false, &Chunks { writes: &[&[(1, 2)]], reply: &[(3, 4)], ..NO_CHUNKS });
    for length in 0..whole.len() {
        wire.send(true, &whole[..length]);
    }
    wire.flush();
    assert_eq!(wire.heard, []);
}

#[test]
fn memory_is_bounded_however_much_is_given_away() {
    let mut wire = Wire::default();
    for xid in 0..5000 {
        let reply: Vec<_> = (0..8).map(|at| (8 * xid + at, 1 << 20)).collect();
        wire.send(true, &sent(xid, false, &Chunks { reply: &reply, ..NO_CHUNKS }));
        wire.request(false, Verb::Write(WHOLE, Some(target(8 * xid, 0, 1 << 16))), &vec![1; 1 << 16]);
        let long = header(xid, true, &Chunks { reads: &[(0, 8 * xid + 1, 64)], ..NO_CHUNKS });
        wire.send(true, &long);
    }
    assert!(wire.rdma.memory.held() <= 32 << 20);
    assert!(wire.rdma.long_calls.len() <= UNDER_WAY_LIMIT);
    assert!(wire.rdma.overlooked() > 0);
    for queue_pair in 0..QUEUES_LIMIT as u32 + 10 {
        wire.rdma.direction((CLIENT, SERVER), queue_pair);
    }
    assert_eq!(wire.rdma.queues, QUEUES_LIMIT);
}

#[test]
fn what_was_offered_for_replies_and_not_used_is_forgotten_without_a_word() {
    let mut wire = Wire::default();
    for xid in 0..20_000 {
        let given = Chunks { writes: &[&[(3 * xid, 4096)]], reply: &[(3 * xid + 1, 9000)], ..NO_CHUNKS };
        wire.send(true, &sent(xid, false, &given));
        let used = Chunks { writes: &[&[(3 * xid, 0)]], ..NO_CHUNKS };
        wire.send(false, &sent(xid, true, &used));
    }
    assert_eq!((wire.heard.len(), wire.rdma.overlooked(), wire.rdma.memory.held()), (40_000, 0, 0));
}

fn any_place() -> impl Strategy<Value = Place> {
    (any::<bool>(), any::<bool>()).prop_map(|(first, last)| Place { first, last })
}

fn any_target() -> impl Strategy<Value = Target> {
    (0_u32..4, 0_u64..3000, 0_u32..9000).prop_map(|(key, at, length)| target(key, at, length))
}

fn any_verb() -> impl Strategy<Value = Verb> {
    prop_oneof![
        any_place().prop_map(Verb::Send),
        (any_place(), proptest::option::of(any_target())).prop_map(|(place, to)| Verb::Write(place, to)),
        any_target().prop_map(Verb::ReadRequest),
        any_place().prop_map(Verb::ReadResponse),
        Just(Verb::Acknowledge),
        Just(Verb::Management),
    ]
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let chunk = || proptest::collection::vec((0_u32..4, 0_u32..6000), 0..3);
    let header = (0_u32..3, any::<bool>(), chunk(), chunk(), any::<bool>()).prop_map(
        |(xid, elsewhere, reads, reply, answers)| {
            let reads: Vec<_> = reads.iter().map(|(key, length)| (4 * (key % 2), *key, *length)).collect();
            let writes: &[&[(u32, u32)]] = &[&reply];
            let chunks = Chunks { reads: &reads, writes, reply: &reply };
            [header(xid, elsewhere, &chunks), message(xid, answers, 40)].concat()
        },
    );
    prop_oneof![header, proptest::collection::vec(any::<u8>(), 0..300)]
}

proptest! {
    #[test]
    fn any_packets_in_any_order_are_taken(
        packets in proptest::collection::vec((any::<bool>(), 0_u32..40, any_verb(), any_bytes(), 0_usize..40), 0..60),
    ) {
        let mut wire = Wire::default();
        for (from_client, sequence, verb, bytes, cut) in &packets {
            wire.captured(*from_client, *sequence, *verb, bytes, bytes.len() + cut);
        }
        wire.flush();
        prop_assert_eq!(wire.rdma.held_bytes, 0);
        prop_assert!(wire.heard.iter().all(|heard| heard.bytes.len() <= heard.length));
        prop_assert!(wire.heard.iter().all(|heard| heard.frames.0 <= heard.frames.1));
    }
}
