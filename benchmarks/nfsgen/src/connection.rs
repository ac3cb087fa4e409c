//! A TCP connection: Ethernet, IP and TCP around the messages of one client, and their times.

use crate::capture_file::stamp_ns;
use crate::nfs3;
use crate::nfs4::Session;
use crate::options::Options;
use crate::random::Random;
use crate::rpc::Rpc;
use crate::truth::Truth;
use std::collections::VecDeque;

/// Wire speed of 10 Gbit/s, bytes a second.
const BYTES_PER_SECOND: f64 = 10e9 / 8.0;
/// Ethernet, IPv4 and TCP with its time stamps: what the speed of the wire is worked out with.
const HEADERS: usize = 66;
/// Shorter frames are padded (IEEE 802.3).
const SHORTEST_FRAME: usize = 60;
const NFS_PORT: u16 = 2049;
const SERVER: Host = Host { mac: [2, 0, 0, 0, 1, 1], address: [10, 0, 1, 1] };
const VLAN: [u8; 4] = [0x81, 0, 0, 42];
/// fd00::/96, whose last four bytes are the IPv4 address (RFC 4193).
const IPV6_PREFIX: [u8; 12] = [0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const TCP: u8 = 6;

const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

const TO_SERVER: usize = 0;
const TO_CLIENT: usize = 1;

/// One end of a connection.
#[derive(Clone, Copy)]
struct Host {
    mac: [u8; 6],
    address: [u8; 4],
}

impl Host {
    /// The client of a connection: 10.0.0.10 and so on, without the server's network.
    fn client(number: usize) -> Host {
        let [_, high, middle, low] = (number as u32 + 10).to_be_bytes();
        if (high, middle) == (0, 0) {
            Host { mac: [2, 0, 0, 0, 0, low - 10], address: [10, 0, 0, low] }
        } else {
            Host { mac: [2, 1, 0, high, middle, low], address: [10, high + 1, middle, low] }
        }
    }

    /// The address as it is in a packet.
    fn bytes(self, ipv6: bool) -> Vec<u8> {
        let prefix: &[u8] = if ipv6 { &IPV6_PREFIX } else { &[] };
        [prefix, &self.address].concat()
    }
}

/// A packet that still has to be merged with those of other connections.
pub struct Packet {
    /// Seconds since time 0.
    pub at: f64,
    pub frame: Vec<u8>,
}

pub struct Connection<'a> {
    /// Seconds since time 0 at which the client does something next.
    pub now: f64,
    /// Packets in order of time.
    pub waiting: VecDeque<Packet>,
    pub random: Random,
    options: &'a Options,
    number: usize,
    host: String,
    /// NFSv4 only.
    session: Option<Session>,
    next_xid: u32,
    sequence: [u32; 2],
    ip_id: [u16; 2],
    unacknowledged: [u32; 2],
}

/// When the bytes that were sent arrived.
struct Sent {
    /// Time of each segment.
    segments: Vec<f64>,
    /// When the next packet can follow.
    done: f64,
}

impl<'a> Connection<'a> {
    pub fn new(number: usize, version: u32, options: &'a Options) -> Connection<'a> {
        let seed = options.seed.wrapping_mul(1_000_003).wrapping_add(number as u64);
        let mut random = Random(seed);
        let sequence = [random.next() as u32, random.next() as u32];
        let next_xid = random.next() as u32;
        let host = format!("client{number:02}.example.org");
        Connection {
            now: random.share() * 1e-3,
            waiting: VecDeque::new(),
            random,
            options,
            number,
            session: (version == 4).then(|| Session::new(number, &host)),
            host,
            next_xid,
            sequence,
            ip_id: [0; 2],
            unacknowledged: [0; 2],
        }
    }

    /// Handshake and, for NFSv4, the calls of a mount.
    pub fn open(&mut self, truth: &mut Truth) {
        self.send_segment(self.now, TO_SERVER, SYN, &[]);
        self.send_segment(self.now + 1e-4, TO_CLIENT, SYN | ACK, &[]);
        self.send_segment(self.now + 2e-4, TO_SERVER, ACK, &[]);
        truth.pure_acks += 3;
        self.now += 3e-4;
        let first = self.next_xid.wrapping_add(1);
        if let Some(session) = &mut self.session {
            let calls = session.mount(first);
            self.next_xid = self.next_xid.wrapping_add(calls.len() as u32);
            for call in calls {
                self.exchange(&[call], truth);
            }
        }
    }

    /// Sends up to `depth` calls at once, and their replies in the order in which they are ready.
    pub fn step(&mut self, truth: &mut Truth) {
        let depth = 1 + self.random.below(self.options.depth);
        let calls: Vec<Rpc> = (0..depth).map(|_| self.next_call()).collect();
        self.exchange(&calls, truth);
        self.now += self.random.exponential(200e-6);
    }

    fn next_call(&mut self) -> Rpc {
        let xid = self.next_xid;
        self.next_xid = xid.wrapping_add(1);
        match &mut self.session {
            Some(session) => session.rpc(&mut self.random, self.options, xid, self.now),
            None => nfs3::rpc(&mut self.random, self.options, xid, &self.host, self.now),
        }
    }

    fn exchange(&mut self, calls: &[Rpc], truth: &mut Truth) {
        let mut now = self.now;
        let mut replies_due = Vec::with_capacity(calls.len());
        let mut called_at = Vec::with_capacity(calls.len());
        let mut stream = Vec::new();
        let mut ends = Vec::new();
        for (position, rpc) in calls.iter().enumerate() {
            append_record(&mut stream, &rpc.call);
            ends.push(stream.len());
            // A quarter of the small calls wait for the next one and share its segment.
            let last = position + 1 == calls.len();
            if !last && stream.len() < 600 && self.random.share() < 0.25 {
                replies_due.push((position, now + rpc.latency));
                continue;
            }
            let sent = self.send(now + 2e-6, TO_SERVER, &stream, truth);
            called_at.extend(ends.drain(..).map(|end| sent.segments[(end - 1) / self.options.mss]));
            stream.clear();
            now = sent.done;
            replies_due.push((position, now + rpc.latency));
        }
        replies_due.sort_by(|one, other| one.1.total_cmp(&other.1));
        for (position, due) in replies_due {
            let rpc = &calls[position];
            let mut stream = Vec::new();
            append_record(&mut stream, &rpc.reply);
            let start = if due > now { due } else { now + 1e-6 };
            let sent = self.send(start, TO_CLIENT, &stream, truth);
            now = sent.done;
            let replied_at = sent.segments[sent.segments.len() - 1];
            self.book(rpc, called_at[position], replied_at, truth);
        }
        self.now = now + 5e-6;
    }

    fn book(&self, rpc: &Rpc, called_at: f64, replied_at: f64, truth: &mut Truth) {
        let stamp = |at| stamp_ns(at, self.options.nanoseconds);
        truth.call(rpc.version, rpc.op, rpc.failed, stamp(replied_at) - stamp(called_at));
        for op in &rpc.operations {
            truth.operation(rpc.version, op);
        }
    }

    /// Sends bytes in segments; the other side acknowledges every second full one.
    fn send(&mut self, at: f64, direction: usize, bytes: &[u8], truth: &mut Truth) -> Sent {
        let mut sent = Sent { segments: Vec::new(), done: at };
        let count = bytes.len().div_ceil(self.options.mss);
        for (position, segment) in bytes.chunks(self.options.mss).enumerate() {
            sent.done += (segment.len() + HEADERS) as f64 / BYTES_PER_SECOND;
            let full = segment.len() == self.options.mss;
            truth.full_segments += u64::from(full);
            truth.tcp_payload += segment.len() as u64;
            let push = if position + 1 == count { PSH } else { 0 };
            sent.done = self.send_segment(sent.done, direction, ACK | push, segment);
            sent.segments.push(sent.done);
            self.impair(position, truth);
            self.unacknowledged[direction] += u32::from(full);
            if self.unacknowledged[direction] >= 2 {
                self.unacknowledged[direction] = 0;
                truth.pure_acks += 1;
                sent.done = self.send_segment(sent.done + 1e-6, 1 - direction, ACK, &[]);
            }
        }
        sent
    }

    /// Repeats the last packet, or swaps it with the one before, as often as was asked for.
    fn impair(&mut self, position: usize, truth: &mut Truth) {
        if self.options.retransmit > 0.0
            && self.random.share() < self.options.retransmit
            && let Some(last) = self.waiting.back()
        {
            let again = Packet { at: last.at + 2e-6, frame: last.frame.clone() };
            self.waiting.push_back(again);
            truth.retransmitted += 1;
        }
        let length = self.waiting.len();
        if self.options.reorder > 0.0
            && length >= 2
            && position > 0
            && self.random.share() < self.options.reorder
        {
            let (earlier, later) = (self.waiting[length - 2].at, self.waiting[length - 1].at);
            self.waiting.swap(length - 2, length - 1);
            self.waiting[length - 2].at = earlier;
            self.waiting[length - 1].at = later;
            truth.reordered += 1;
        }
    }

    /// Queues one packet, never before one that is queued already; gives its time.
    fn send_segment(&mut self, at: f64, direction: usize, flags: u8, payload: &[u8]) -> f64 {
        let frame = self.frame(at, direction, flags, payload);
        self.ip_id[direction] = self.ip_id[direction].wrapping_add(1);
        let length = payload.len() as u32 + u32::from(flags & SYN != 0);
        self.sequence[direction] = self.sequence[direction].wrapping_add(length);
        let at = match self.waiting.back() {
            Some(last) if last.at >= at => last.at + 1e-6,
            _ => at,
        };
        self.waiting.push_back(Packet { at, frame });
        at
    }

    fn frame(&self, at: f64, direction: usize, flags: u8, payload: &[u8]) -> Vec<u8> {
        let client = (Host::client(self.number), self.options.port_base + self.number as u16);
        let server = (SERVER, NFS_PORT);
        let (source, destination) =
            if direction == TO_SERVER { (client, server) } else { (server, client) };
        let options = self.tcp_options(at, flags);
        let tcp_length = 20 + options.len() + payload.len();
        let addresses = [source, destination].map(|(host, _)| host.bytes(self.options.ipv6));
        let ip = if self.options.ipv6 {
            ipv6_header(&addresses, tcp_length as u16)
        } else {
            ipv4_header(&addresses, tcp_length as u16, self.ip_id[direction])
        };

        let acknowledged = if flags & ACK != 0 { self.sequence[1 - direction] } else { 0 };
        let mut tcp = Vec::with_capacity(tcp_length);
        tcp.extend_from_slice(&source.1.to_be_bytes());
        tcp.extend_from_slice(&destination.1.to_be_bytes());
        tcp.extend_from_slice(&self.sequence[direction].to_be_bytes());
        tcp.extend_from_slice(&acknowledged.to_be_bytes());
        let words = (20 + options.len()) / 4;
        tcp.extend_from_slice(&[(words as u8) << 4, flags, 0xFF, 0xF0, 0, 0, 0, 0]);
        tcp.extend_from_slice(&options);
        tcp.extend_from_slice(payload);
        // The sum of the pseudo-header is the same for IPv4 and IPv6.
        let [from, to] = &addresses;
        let pseudo_header = add_words(add_words(u64::from(TCP) + tcp_length as u64, from), to);
        let checksum = finish_checksum(add_words(pseudo_header, &tcp));
        tcp[16..18].copy_from_slice(&checksum.to_be_bytes());

        let mut frame = Vec::with_capacity(18 + ip.len() + tcp.len());
        frame.extend_from_slice(&destination.0.mac);
        frame.extend_from_slice(&source.0.mac);
        if self.options.vlan {
            frame.extend_from_slice(&VLAN);
        }
        frame.extend_from_slice(if self.options.ipv6 { &[0x86, 0xDD] } else { &[8, 0] });
        frame.extend_from_slice(&ip);
        frame.extend_from_slice(&tcp);
        if self.options.pad && frame.len() < SHORTEST_FRAME {
            frame.resize(SHORTEST_FRAME, 0);
        }
        frame
    }

    /// Time stamps in milliseconds; with SYN also segment size, SACK and window scale.
    fn tcp_options(&self, at: f64, flags: u8) -> Vec<u8> {
        let clock = (at * 1000.0) as u32;
        let mut options = Vec::with_capacity(20);
        if flags & SYN != 0 {
            options.extend_from_slice(&[2, 4]);
            options.extend_from_slice(&(self.options.mss as u16 + 12).to_be_bytes());
            options.extend_from_slice(&[4, 2]);
        } else {
            options.extend_from_slice(&[1, 1]);
        }
        options.extend_from_slice(&[8, 10]);
        options.extend_from_slice(&clock.to_be_bytes());
        options.extend_from_slice(&clock.wrapping_sub(1).to_be_bytes());
        if flags & SYN != 0 {
            options.extend_from_slice(&[1, 3, 3, 9]);
        }
        options
    }
}

fn ipv4_header(addresses: &[Vec<u8>; 2], payload: u16, id: u16) -> Vec<u8> {
    let mut ip = vec![0x45, 0];
    ip.extend_from_slice(&(20 + payload).to_be_bytes());
    ip.extend_from_slice(&id.to_be_bytes());
    ip.extend_from_slice(&[0x40, 0, 64, TCP, 0, 0]);
    ip.extend(addresses.iter().flatten());
    let checksum = finish_checksum(add_words(0, &ip));
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    ip
}

fn ipv6_header(addresses: &[Vec<u8>; 2], payload: u16) -> Vec<u8> {
    let mut ip = vec![0x60, 0, 0, 0];
    ip.extend_from_slice(&payload.to_be_bytes());
    ip.extend_from_slice(&[TCP, 64]);
    ip.extend(addresses.iter().flatten());
    ip
}

/// Record marking (RFC 5531 section 11), one fragment.
fn append_record(stream: &mut Vec<u8>, message: &[u8]) {
    let mark = 0x8000_0000 | message.len() as u32;
    stream.extend_from_slice(&mark.to_be_bytes());
    stream.extend_from_slice(message);
}

/// Adds big-endian 16-bit words to an Internet checksum (RFC 1071) that is not folded yet.
fn add_words(sum: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(2).fold(sum, |sum, word| {
        let low = word.get(1).copied().unwrap_or(0);
        sum + u64::from(u16::from_be_bytes([word[0], low]))
    })
}

fn finish_checksum(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}
