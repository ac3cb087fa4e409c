//! The whole pipeline: capture files in, Arrow batches out.
//!
//! [`Decoder::next_batches`] is called until it gives `None`; then [`Decoder::finish`] tells what was read.
//! A file that breaks off ends its part of the decode; what was read of it stays.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::capture::merge::{Merge, Next};
use crate::capture::{LinkType, Packet, Set, Untold};
use crate::conversation::Conversations;
use crate::error::{ReadError, Reason};
use crate::foresight::{self, AT_ONCE};
use crate::order::{Order, Placed};
use crate::packet::{self, Content, Datagram, Dissector, Payload, Segment};
use crate::rpc::record::Record;
use crate::stream::assembler::{Piece, Stamp};
use crate::stream::vain::{Vain, vain};
use crate::stream::{Connection, ConnectionId, Connections, Event};
use crate::table::Choice;
use crate::witness::Witness;

/// Ports on which RPC is expected without proof: NFS, NFS over RDMA (used for TCP too), portmap.
pub const RPC_PORTS: [u16; 3] = [2049, 20049, 111];

/// Packets between two returns to the caller, so that it can show progress and be interrupted.
const PACKETS_PER_TURN: u64 = 1 << 18;

/// Link types of a file that are listed; a pcapng file can claim any number.
pub const LINKS_LIMIT: usize = 16;

/// What was read of one file.
#[derive(Clone, Debug, Default)]
pub struct FileSummary {
    /// The file.
    pub path: PathBuf,
    /// Format, with the compression.
    pub format: String,
    /// Link types met, at most [`LINKS_LIMIT`].
    pub links: Vec<LinkType>,
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Time of the first packet in nanoseconds since 1970; `None` without packets, or where none has a time.
    pub start_ns: Option<i64>,
    /// Time of the last packet.
    pub end_ns: Option<i64>,
    /// Largest capture length of its interfaces; 0 when not stated.
    pub snaplen: u32,
    /// Packets that were cut at the snaplen.
    pub truncated_packets: u64,
    /// The frame number of its first packet in this decode; `None` without packets.
    ///
    /// Frames are counted on over all files in the order of time, as `mergecap` would number them.
    /// Where `last_frame - first_frame + 1` is the number of packets, no other file has frames in
    /// between, and frame `f` of the decode is frame `f - first_frame + 1` of this file.
    pub first_frame: Option<u64>,
    /// The frame number of its last packet in this decode; `None` without packets.
    pub last_frame: Option<u64>,
    /// Packets that have no time: that of the packet before stands for it.
    pub untimed_packets: u64,
    /// Packets whose times cannot be: that of the packet before stands for it.
    pub mistimed_packets: u64,
    /// Packets that stood behind others that came later, and were put before them ([`crate::order`]).
    pub late_packets: u64,
    /// How often the capture's clock was set back; times are counted on.
    pub set_back: u64,
    /// By how much, in all, nanoseconds.
    pub set_back_ns: i64,
    /// The frame before which it was for the first time; `None` for never, and where the file's frames do not
    /// follow one another.
    pub set_back_frame: Option<u64>,
    /// How often it was set forward, as the timestamps of both ends tell; times are counted on.
    pub set_forward: u64,
    /// By how much, in all, nanoseconds.
    pub set_forward_ns: i64,
    /// The frame before which it was for the first time; `None` likewise.
    pub set_forward_frame: Option<u64>,
    /// The longest pause of which nothing tells whether the clock was set forward, nanoseconds.
    pub untold_pause_ns: i64,
    /// The frame behind it; `None` likewise.
    pub untold_pause_frame: Option<u64>,
    /// Captures that follow the first one in the file, as `cat` puts them there.
    pub followers: u64,
    /// Bytes of the file, or of what it unpacks to, that were passed over as damage.
    pub passed_bytes: u64,
    /// Packets that the capturing system dropped, where the file tells.
    pub dropped_packets: Option<u64>,
    /// Where the file breaks off or contradicts itself, if it does, and what was read all the same.
    pub damage: Option<String>,
}

/// What a decode read, and what became of it.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// The files in the order of their first packets.
    pub files: Vec<FileSummary>,
    /// Packets by what they held. The sum is the number of packets.
    pub packets: BTreeMap<&'static str, u64>,
    /// Limits that were hit, and how often.
    pub limits_hit: BTreeMap<&'static str, u64>,
    /// Calls found.
    pub calls: u64,
    /// Those of NFS and its access control lists, and callbacks.
    pub nfs_calls: u64,
    /// Messages that were not decoded to their end.
    pub undecoded: u64,
    /// What is around packets of [`RPC_PORTS`].
    pub around: Around,
    /// Connections to ports of RPC that a client asked for, and of which nothing came: nobody answered.
    pub silent_connections: u64,
    /// The same where that was refused (RST).
    pub refused_connections: u64,
    /// Who asked whom for them, at most [`crate::stream::vain::VAIN_LIMIT`] pairs.
    pub vain: Vec<Vain>,
}

/// What is around the first packets of connections, so that filters for addresses and ports do not see them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// The most VLAN tags (IEEE 802.1Q) that one has.
    pub vlan_tags: usize,
    /// Some lie in other packets, in fragments, or behind other labels.
    pub hidden: bool,
    /// The next connection.
    next: ConnectionId,
}

impl Around {
    /// Takes the first packet of a connection between these ends; `within`: it lies in another one.
    #[cold]
    #[inline(never)]
    fn note(&mut self, id: ConnectionId, packet: &Packet<'_>, ends: [SocketAddr; 2], within: bool) {
        self.next = id.saturating_add(1);
        if ends.iter().any(|end| RPC_PORTS.contains(&end.port())) {
            match packet::vlan_tags(packet).filter(|_| !within) {
                Some(tags) => self.vlan_tags = tags.max(self.vlan_tags),
                None => self.hidden = true,
            }
        }
    }
}

/// Rows of one table.
pub type Batch = (&'static str, RecordBatch);

/// Decodes captures.
pub struct Decoder {
    captures: Merge,
    order: Order,
    dissector: Dissector,
    connections: Connections,
    conversations: Conversations,
    meta: Meta,
    tally: Tally,
    frames: u64,
    /// All packets are read.
    ended: bool,
    finished: bool,
}

impl Decoder {
    /// Opens captures; several are read as one in order of time (see [`Merge`]).
    ///
    /// `ports` are taken for RPC without proof, beside [`RPC_PORTS`].
    pub fn open(paths: &[PathBuf], ports: &[u16]) -> Result<Self, ReadError> {
        Self::watched(paths, ports, None)
    }

    /// The same with somebody who watches.
    pub fn watched(
        paths: &[PathBuf],
        ports: &[u16],
        witness: Option<Box<dyn Witness>>,
    ) -> Result<Self, ReadError> {
        let captures = Merge::open(paths)?.asking(packet::timestamps);
        let file = |path: &Path| FileSummary { path: path.to_owned(), ..FileSummary::default() };
        let files = captures.paths().map(file).collect();
        Ok(Self {
            captures,
            order: Order::default(),
            dissector: Dissector::default(),
            connections: Connections::default(),
            conversations: Conversations::new(RPC_PORTS.iter().chain(ports).copied().collect(), witness),
            meta: Meta { files, ..Meta::default() },
            tally: Tally::default(),
            frames: 0,
            ended: false,
            finished: false,
        })
    }

    /// Leaves out the tables and columns that nobody wants. To be called before anything is decoded.
    pub fn choose(&mut self, choice: &Choice) {
        self.conversations.tables().choose(choice);
    }

    /// Allows what is known of files so much memory, in bytes; else it may take 1 GiB. Beyond it those that were
    /// of use longest ago are forgotten (`files_forgotten` in [`Meta::limits_hit`]).
    pub fn allow(&mut self, files_bytes: usize) {
        self.conversations.allow(files_bytes);
    }

    /// Decodes on until there are rows enough for a batch, or for a while; `None` at the end.
    pub fn next_batches(&mut self) -> Result<Option<Vec<Batch>>, ArrowError> {
        let mut turn = 0;
        while !self.finished {
            if self.ended {
                self.finished = !self.conversations.write_files();
                return self.conversations.tables().take(self.finished).map(Some);
            }
            if self.frames.is_multiple_of(AT_ONCE as u64) {
                if self.conversations.forget_files() {
                    return self.conversations.tables().take(false).map(Some);
                }
                if self.conversations.crowded() {
                    self.conversations.make_room();
                    continue;
                }
                foresight::fetch(&self.captures, &self.connections, &self.conversations);
            }
            if !self.read_packet() {
                self.end();
            }
            turn += 1;
            if self.conversations.tables().full() || turn >= PACKETS_PER_TURN {
                return self.conversations.tables().take(false).map(Some);
            }
        }
        Ok(None)
    }

    /// Bytes read of the files, and their size; 0 when it is not known.
    pub fn progress(&self) -> (u64, u64) {
        (self.captures.consumed(), self.captures.total())
    }

    /// The same as a part, 0 to 1.
    pub fn done(&self) -> f64 {
        self.captures.done()
    }

    /// What was read. Complete once [`Decoder::next_batches`] gave `None`.
    pub fn finish(&self) -> &Meta {
        &self.meta
    }

    /// Takes the next packet through all stages. `false` at the end of all files.
    #[inline(always)]
    #[allow(clippy::inline_always)] // It is the body of a loop.
    fn read_packet(&mut self) -> bool {
        if self.order.holding() {
            return self.read_other();
        }
        let Some((file, packet)) = self.captures.at_hand() else { return self.read_other() };
        self.frames += 1;
        count(&mut self.meta, file, &packet, self.frames);
        if self.order.holds(packet.time_ns) {
            self.order.hold(file, self.frames, &packet);
            return self.read_other();
        }
        let Self { dissector, connections, conversations, tally, meta, .. } = self;
        let around = &mut meta.around;
        take_packet(packet, self.frames, dissector, connections, conversations, tally, around);
        true
    }

    /// The same for packets that are not at hand, or held because the capture mixed them up.
    #[inline(never)]
    fn read_other(&mut self) -> bool {
        loop {
            if self.order.holding() && self.take_held(true) {
                return true;
            }
            match self.captures.next() {
                Some(Next::Packet(file, packet)) => {
                    self.frames += 1;
                    count(&mut self.meta, file, &packet, self.frames);
                    if self.order.holds(packet.time_ns) {
                        self.order.hold(file, self.frames, &packet);
                        continue;
                    }
                    let Self { dissector, connections, conversations, tally, meta, .. } = self;
                    let around = &mut meta.around;
                    take_other(packet, self.frames, dissector, connections, conversations, tally, around);
                    return true;
                }
                Some(Next::End(file, error)) => self.close(file, error.as_ref()),
                None => return self.order.holding() && self.take_held(false),
            }
        }
    }

    /// Takes a packet that was held because the capture mixed up its packets. `more`: it may have others.
    #[cold]
    #[inline(never)]
    fn take_held(&mut self, more: bool) -> bool {
        let Self { order, dissector, connections, conversations, tally, meta, .. } = self;
        let Some(Placed { file, frame, place, late, packet }) = order.release(more) else { return false };
        // Who takes the packets once more takes them in this order, and counts them so.
        let frame = if conversations.witness().is_some() { place } else { frame };
        if let Some(file) = meta.files.get_mut(file) {
            file.late_packets += u64::from(late);
        }
        take_other(packet, frame, dissector, connections, conversations, tally, &mut meta.around);
        true
    }

    fn close(&mut self, index: usize, error: Option<&ReadError>) {
        let Some(file) = self.meta.files.get_mut(index) else { return };
        file.damage = error.map(ReadError::what);
        file.passed_bytes = error.map_or(0, ReadError::passed_bytes);
        if let Some(reader) = self.captures.reader(index) {
            file.snaplen = reader.snaplen();
            file.dropped_packets = reader.dropped();
            file.untimed_packets = reader.untimed();
            file.mistimed_packets = reader.mistimed();
            file.note(reader.set_back(), reader.set_forward(), reader.untold());
            file.followers = reader.followers();
            if file.untimed_packets == file.packets {
                (file.start_ns, file.end_ns) = (None, None);
            }
            file.format = reader.format().to_string();
        }
    }

    /// Delivers what is still held, and what can be said only at the end.
    fn end(&mut self) {
        let conversations = &mut self.conversations;
        take_overdue(None, &mut self.dissector, &mut self.connections, conversations);
        self.connections.flush(|id, connection, side, event| {
            conversations.event(id, connection, side, event);
        });
        let connections = &self.connections;
        conversations.finish(|id| connections.get(id));
        let expected = |connection: &&Connection| {
            let server = connection.syn.map(|(opener, _)| *connection.ends.of(opener.other()));
            server.is_some_and(|server| conversations.expects_at(server))
        };
        for connection in connections.unopened().filter(expected) {
            let refused = connection.opening.refusals > 0;
            self.meta.refused_connections += u64::from(refused);
            self.meta.silent_connections += u64::from(!refused);
        }
        let vain_overlooked;
        (self.meta.vain, vain_overlooked) = vain(connections.unopened().filter(expected));
        (self.meta.calls, self.meta.undecoded) = conversations.counts();
        self.meta.nfs_calls = conversations.nfs_calls();
        self.tally.write(&mut self.meta.packets);
        let [servers_overlooked, devices_overlooked] = conversations.servers_overlooked();
        for (code, count) in [
            ("connections_forgotten", self.connections.forgotten),
            ("files_forgotten", conversations.files_forgotten()),
            ("vain_limit", vain_overlooked),
            ("held_limit", self.connections.overfull),
            (Reason::PendingLimit.code(), conversations.given_up()),
            (Reason::RecordLimit.code(), conversations.records_cut()),
            ("early_limit", conversations.replies_displaced()),
            ("ports_limit", conversations.ports_overlooked()),
            ("pairs_limit", conversations.hosts_overlooked()),
            ("servers_limit", servers_overlooked),
            ("devices_limit", devices_overlooked),
            ("rdma_limit", self.dissector.overlooked_rdma()),
            ("fragments_unfinished", self.dissector.unfinished_fragments()),
        ] {
            if count > 0 {
                self.meta.limits_hit.insert(code, count);
            }
        }
        self.ended = true;
    }
}

/// Datagrams of which the capture lost fragments, as far as they go.
fn take_overdue(
    now_ns: Option<i64>,
    dissector: &mut Dissector,
    connections: &mut Connections,
    conversations: &mut Conversations,
) {
    let stamp = |(frame, time_ns)| Stamp { time_ns, frame };
    while let Some(part) = dissector.overdue(now_ns) {
        take_datagram(&part.datagram, stamp(part.last), Reason::Missing, connections, conversations);
    }
}

fn take_datagram(
    datagram: &Datagram<'_>,
    last: Stamp,
    limit: Reason,
    connections: &mut Connections,
    conversations: &mut Conversations,
) -> ConnectionId {
    let (id, side) = connections.datagram(datagram, last);
    let first = datagram.began.map_or(last, |(frame, time_ns)| Stamp { time_ns, frame });
    let Payload { bytes, length } = datagram.payload;
    if let Some(connection) = connections.get(id) {
        let record = Record { bytes, behind: None, length, open: false, limit, first, last, place: &[] };
        conversations.datagram(id, connection, side, &record);
    }
    id
}

/// Gives up what comes too late once this packet is there.
#[inline(always)]
#[allow(clippy::inline_always)] // Three questions, of which the answer is nearly always no.
fn give_up(
    stamp: Stamp,
    dissector: &mut Dissector,
    connections: &mut Connections,
    conversations: &mut Conversations,
) {
    if connections.crowded() {
        let forgotten = connections.make_room(|id, connection, side, event| {
            conversations.event(id, connection, side, event);
        });
        conversations.forget(&forgotten);
    }
    if connections.visit_due(stamp) {
        connections.visit(stamp, |id, connection, side, event| {
            conversations.event(id, connection, side, event);
        });
    }
    take_overdue(Some(stamp.time_ns), dissector, connections, conversations);
}

fn count(meta: &mut Meta, file: usize, packet: &Packet<'_>, frame: u64) {
    if let Some(file) = meta.files.get_mut(file) {
        file.count(packet, frame);
    }
}

/// One packet through all stages.
#[inline(always)]
#[allow(clippy::inline_always)] // Into the loop.
fn take_packet(
    packet: Packet<'_>,
    frame: u64,
    dissector: &mut Dissector,
    connections: &mut Connections,
    conversations: &mut Conversations,
    tally: &mut Tally,
    around: &mut Around,
) {
    let stamp = Stamp { frame, time_ns: packet.time_ns };
    give_up(stamp, dissector, connections, conversations);
    if take_next(&packet, stamp, dissector, connections, conversations) {
        tally.tcp += 1;
    } else {
        tally.count(take(packet, stamp, dissector, connections, conversations, around));
    }
}

/// The same outside the loop.
#[inline(never)]
fn take_other(
    packet: Packet<'_>,
    frame: u64,
    dissector: &mut Dissector,
    connections: &mut Connections,
    conversations: &mut Conversations,
    tally: &mut Tally,
    around: &mut Around,
) {
    take_packet(packet, frame, dissector, connections, conversations, tally, around);
}

/// One packet through all stages, if its headers are plain and it goes on with a stream: most do.
/// `false`: it is to be taken as any other.
#[inline(always)]
#[allow(clippy::inline_always)] // Into the loop, so that what is said of the packet stays in registers.
fn take_next(
    packet: &Packet<'_>,
    stamp: Stamp,
    dissector: &mut Dissector,
    connections: &mut Connections,
    conversations: &mut Conversations,
) -> bool {
    if conversations.witness().is_some() {
        return false;
    }
    let Some(plain) = dissector.plain(packet) else { return false };
    let Some((id, side, connection)) = connections.next(&plain, stamp) else { return false };
    dissector.pass();
    let mut piece = Piece::of(&plain.part, stamp);
    if piece.length > 0
        && !conversations.go_on(id, side, &mut piece)
        && !conversations.event(id, connection, side, Event::Piece(piece))
    {
        connections.ignore(id);
        conversations.dismiss(id);
    }
    conversations.give_up_overdue();
    true
}

/// One packet through all stages; what it held.
#[inline(never)]
fn take(
    packet: Packet<'_>,
    stamp: Stamp,
    dissector: &mut Dissector,
    connections: &mut Connections,
    conversations: &mut Conversations,
    around: &mut Around,
) -> Kind {
    let mut segment = Segment::EMPTY;
    let mut within = false;
    match dissector.dissect_to(&packet, &mut segment) {
        None => {}
        Some(Content::Segment(inner)) => (segment, within) = (inner, true),
        Some(Content::Datagram(datagram)) => {
            let id = take_datagram(&datagram, stamp, Reason::Truncated, connections, conversations);
            if id >= around.next {
                around.note(id, &packet, [datagram.source, datagram.destination], false);
            }
            return Kind::Udp;
        }
        Some(Content::Other(other)) => return Kind::Other(other.code()),
    }
    let mut no_rpc = None;
    if let Some(witness) = conversations.witness() {
        witness.segment(&segment, stamp.frame);
    }
    let id = connections.segment(&segment, stamp, |id, connection, side, event| {
        if !conversations.event(id, connection, side, event) {
            no_rpc = Some(id);
        }
    });
    if id >= around.next {
        around.note(id, &packet, [segment.source, segment.destination], within);
    }
    if let Some(witness) = conversations.witness() {
        witness.belongs(id);
    }
    if let Some(id) = no_rpc {
        connections.ignore(id);
        conversations.dismiss(id);
    }
    conversations.give_up_overdue();
    Kind::Tcp
}

/// What a packet held.
#[derive(Clone, Copy)]
enum Kind {
    Tcp,
    Udp,
    Other(&'static str),
}

/// Packets by what they held; the two common kinds are counted without a look-up.
#[derive(Default)]
struct Tally {
    tcp: u64,
    udp: u64,
    others: BTreeMap<&'static str, u64>,
}

impl Tally {
    fn count(&mut self, kind: Kind) {
        match kind {
            Kind::Tcp => self.tcp += 1,
            Kind::Udp => self.udp += 1,
            Kind::Other(code) => *self.others.entry(code).or_default() += 1,
        }
    }

    fn write(&mut self, packets: &mut BTreeMap<&'static str, u64>) {
        packets.append(&mut self.others);
        for (code, count) in [("tcp", self.tcp), ("udp", self.udp)] {
            if count > 0 {
                packets.insert(code, count);
            }
        }
    }
}

impl FileSummary {
    fn count(&mut self, packet: &Packet<'_>, frame: u64) {
        self.packets += 1;
        self.last_frame = Some(frame);
        self.bytes += u64::from(packet.wire_length);
        self.truncated_packets += u64::from(packet.bytes.len() < packet.wire_length as usize);
        // Most packets are later than those before, and of the same link type.
        let later = self.end_ns.is_some_and(|end| end <= packet.time_ns);
        if later && self.links.last() == Some(&packet.link) {
            self.end_ns = Some(packet.time_ns);
        } else {
            self.count_apart(packet, frame);
        }
    }

    /// Takes what is known of its clock, once all packets are read.
    fn note(&mut self, back: Set, forward: Set, untold: Untold) {
        let apart = |(first, last): (u64, u64)| last - first + 1 > self.packets;
        let first =
            self.first_frame.zip(self.last_frame).filter(|frames| !apart(*frames)).map(|(first, _)| first);
        let frame = |packet: u64| first.filter(|_| packet > 0).map(|first| first + packet - 1);
        (self.set_back, self.set_back_ns, self.set_back_frame) = (back.times, back.by_ns, frame(back.packet));
        (self.set_forward, self.set_forward_ns) = (forward.times, forward.by_ns);
        self.set_forward_frame = frame(forward.packet);
        (self.untold_pause_ns, self.untold_pause_frame) = (untold.by_ns, frame(untold.packet));
    }

    /// Takes the first packet, and one that is not as that before.
    #[cold]
    #[inline(never)]
    fn count_apart(&mut self, packet: &Packet<'_>, frame: u64) {
        self.first_frame.get_or_insert(frame);
        self.start_ns = Some(self.start_ns.map_or(packet.time_ns, |start| start.min(packet.time_ns)).max(0));
        self.end_ns = Some(self.end_ns.map_or(packet.time_ns, |end| end.max(packet.time_ns)));
        if self.links.last() != Some(&packet.link)
            && !self.links.contains(&packet.link)
            && self.links.len() < LINKS_LIMIT
        {
            self.links.push(packet.link);
        }
    }
}
