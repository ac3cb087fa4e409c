//! The stages that each packet goes through, in order: headers, connection, conversation.

use std::collections::BTreeMap;

use super::meta::{Around, Meta};
use crate::capture::Packet;
use crate::capture::merge::Merge;
use crate::conversation::Conversations;
use crate::error::Reason;
use crate::foresight;
use crate::packet::{Content, Datagram, Dissector, Other, Payload, Segment};
use crate::rdma::{Rdma, Told};
use crate::rpc::record::Record;
use crate::rpc::search;
use crate::stream::assembler::{Piece, Stamp};
use crate::stream::vain::vain;
use crate::stream::{Connection, ConnectionId, Connections, Event};

/// What is known behind the capture files, and how many packets held what.
pub(super) struct Stages {
    dissector: Dissector,
    connections: Connections,
    rdma: Rdma,
    pub(super) conversations: Conversations,
    tally: Tally,
    around: Around,
}

impl Stages {
    /// Those for so many files.
    pub(super) fn new(conversations: Conversations, files: usize) -> Self {
        Self {
            dissector: Dissector::of_files(files),
            connections: Connections::default(),
            rdma: Rdma::default(),
            conversations,
            tally: Tally::default(),
            around: Around::default(),
        }
    }

    /// Reads what the next packets of these captures will need.
    #[inline]
    pub(super) fn foresee(&self, captures: &Merge) {
        foresight::fetch(captures, &self.connections, &self.conversations);
    }

    /// Whether a copy of a packet with this number, which was cut, may bring more of it: where packets are copied,
    /// or before that could be known. Who watches takes each packet once more, by its place.
    pub(super) fn may_have_more(&mut self, frame: u64) -> bool {
        /// Copies are found within these, if all packets have one.
        const FIRST: u64 = 1 << 9;
        (frame <= FIRST || self.dissector.copies_come()) && self.conversations.witness().is_none()
    }

    /// One packet through all stages.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the loop")]
    pub(super) fn take(&mut self, file: usize, packet: Packet<'_>, frame: u64) {
        self.dissector.read_from(file);
        let stamp = Stamp { frame, time_ns: packet.time_ns };
        self.give_up(stamp);
        if self.take_next(&packet, stamp) {
            self.tally.tcp += 1;
        } else {
            let kind = self.take_any(packet, stamp);
            self.tally.count(kind);
        }
        // Whatever brought calls: fragments that were waited for, segments, datagrams or RDMA.
        self.conversations.give_up_overdue();
    }

    /// The same outside the loop.
    #[inline(never)]
    pub(super) fn take_apart(&mut self, file: usize, packet: Packet<'_>, frame: u64) {
        self.take(file, packet, frame);
    }

    /// Delivers what is still held, and says what can be said only at the end.
    pub(super) fn end(&mut self, meta: &mut Meta) {
        self.take_overdue(None);
        let Self { dissector, connections, rdma, conversations, tally, around } = self;
        rdma.flush(&mut |told| take_told(told, connections, conversations));
        connections.flush(|id, connection, side, event| {
            conversations.event(id, connection, side, event);
        });
        let connections = &*connections;
        conversations.finish(|id| connections.get(id));
        let expected = |connection: &&Connection| {
            let server = connection.syn.map(|(opener, _)| *connection.ends.of(opener.other()));
            server.is_some_and(|server| conversations.expects_at(server))
        };
        for connection in connections.unopened().filter(expected) {
            let refused = connection.opening.refusals > 0;
            meta.refused_connections += u64::from(refused);
            meta.silent_connections += u64::from(!refused);
        }
        let vain_overlooked;
        (meta.vain, vain_overlooked) = vain(connections.unopened().filter(expected));
        (meta.calls, meta.undecoded) = conversations.counts();
        meta.nfs_calls = conversations.nfs_calls();
        meta.around = *around;
        meta.apart = dissector.apart();
        tally.write(&mut meta.packets);
        let [servers_overlooked, devices_overlooked] = conversations.servers_overlooked();
        for (code, count) in [
            ("connections_forgotten", connections.forgotten),
            ("files_forgotten", conversations.files_forgotten()),
            ("vain_limit", vain_overlooked),
            ("held_limit", connections.overfull),
            (Reason::PendingLimit.code(), conversations.given_up()),
            (Reason::RecordLimit.code(), conversations.records_cut()),
            ("early_limit", conversations.replies_displaced()),
            ("ports_limit", conversations.services_overlooked()),
            ("pairs_limit", conversations.hosts_overlooked()),
            ("trunks_limit", conversations.trunks_overlooked()),
            ("servers_limit", servers_overlooked),
            ("devices_limit", devices_overlooked),
            ("rdma_limit", dissector.overlooked_rdma() + rdma.overlooked()),
            ("rdma_missing", rdma.lost),
            ("fragments_unfinished", dissector.unfinished_fragments()),
        ] {
            if count > 0 {
                meta.limits_hit.insert(code, count);
            }
        }
    }

    /// Gives up what comes too late once this packet is there.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "three questions, of which the answer is nearly always no")]
    fn give_up(&mut self, stamp: Stamp) {
        let Self { connections, conversations, .. } = self;
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
        self.take_overdue(Some(stamp.time_ns));
    }

    /// Datagrams of which the capture lost fragments, as far as they go.
    fn take_overdue(&mut self, now_ns: Option<i64>) {
        let Self { dissector, connections, conversations, .. } = self;
        let stamp = |(frame, time_ns)| Stamp { time_ns, frame };
        while let Some(part) = dissector.overdue(now_ns) {
            take_datagram(&part.datagram, stamp(part.last), Reason::Missing, connections, conversations);
        }
    }

    /// One packet through all stages, if its headers are plain and it goes on with a stream: most do.
    /// `false`: it is to be taken as any other.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "into the loop, so that what is said of the packet stays in registers"
    )]
    fn take_next(&mut self, packet: &Packet<'_>, stamp: Stamp) -> bool {
        let Self { dissector, connections, conversations, .. } = self;
        if conversations.witness().is_some() {
            return false;
        }
        let Some(plain) = dissector.plain(packet) else { return false };
        let Some((id, side, connection)) = connections.next(&plain, stamp) else { return false };
        dissector.pass(&plain, stamp.time_ns);
        let mut piece = Piece::of(&plain.part, stamp);
        if piece.length > 0
            && !conversations.go_on(id, connection, side, &mut piece)
            && !conversations.event(id, connection, side, Event::Piece(piece))
        {
            connections.ignore(id);
            conversations.dismiss(id);
        }
        true
    }

    /// Any packet through all stages; what it held.
    #[inline(never)]
    fn take_any(&mut self, packet: Packet<'_>, stamp: Stamp) -> Kind {
        let Self { dissector, connections, rdma, conversations, around, .. } = self;
        let mut segment = Segment::EMPTY;
        let mut within = false;
        match dissector.dissect_to(&packet, &mut segment) {
            None => {}
            Some(Content::Segment(inner)) => (segment, within) = (inner, true),
            Some(Content::Datagram(datagram)) => {
                let id = take_datagram(&datagram, stamp, Reason::Truncated, connections, conversations);
                around.see(id, &packet, [datagram.source, datagram.destination], false);
                return Kind::Udp;
            }
            Some(Content::Roce(packet)) => {
                // Who watches knows streams and datagrams.
                if conversations.witness().is_none() {
                    rdma.take(&packet, stamp, &mut |told| take_told(told, connections, conversations));
                }
                return Kind::Other(Other::Rdma.code());
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
        if std::mem::take(&mut connections.unheeded) {
            look_again(id, &segment, stamp, connections, conversations);
        }
        if segment.flags.syn() {
            let hosts = [segment.source.ip(), segment.destination.ip()];
            conversations.opened(hosts, |id| connections.is_received(id));
        }
        around.see(id, &packet, [segment.source, segment.destination], within);
        if let Some(witness) = conversations.witness() {
            witness.belongs(id);
        }
        if let Some(id) = no_rpc {
            connections.ignore(id);
            conversations.dismiss(id);
        }
        Kind::Tcp
    }
}

/// Takes a segment of a connection that was taken for something else than RPC, if it is a call: data of a file
/// came first, and for long.
#[cold]
#[inline(never)]
fn look_again(
    id: ConnectionId,
    segment: &Segment<'_>,
    stamp: Stamp,
    connections: &mut Connections,
    conversations: &mut Conversations,
) {
    if search::is_call(segment.payload) {
        connections.heed(id);
        connections.segment(segment, stamp, |id, connection, side, event| {
            conversations.event(id, connection, side, event);
        });
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

/// Takes what packets of RDMA told to its connection.
fn take_told(told: &Told<'_>, connections: &mut Connections, conversations: &mut Conversations) {
    match told {
        Told::Message(message) => {
            let (source, destination) = (&message.source, &message.destination);
            let whole = Payload::new(message.bytes, message.length);
            // What is missing was not cut off.
            let cut = message.limit == Reason::Truncated;
            let payload = if cut { whole } else { Payload::new(message.bytes, message.bytes.len()) };
            let (id, side) = connections.message(source, destination, payload, message.last);
            if let Some(connection) = connections.get(id) {
                conversations.carried(id, connection, side, message);
            }
        }
        Told::Acknowledged { source, destination, sent_ns, time_ns } => {
            connections.received(source, destination, *sent_ns, *time_ns);
        }
        Told::Again { source, destination, time_ns } => {
            connections.repeated(source, destination, *time_ns);
        }
    }
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
