//! The middle of the pipeline: what connections deliver → records → pairs → rows.
//!
//! A conversation is a connection that carries RPC. This module knows which connections do and
//! which end is the NFS client, and hands each pair through [`crate::nfs`] and [`crate::names`] to
//! [`crate::table`].

mod asynchronous;
mod callbacks;

mod granted;

mod hosts;

mod messages;

mod parties;

mod trunks;

mod unread;

use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use self::asynchronous::Place;
use self::messages::{Messages, limit};
use self::parties::{Parties, Sealed};
use crate::cursor::Behind;
use crate::error::{DecodeError, Reason};
use crate::rdma;
use crate::roles::Carried;
use crate::rpc::message::{CALL_HEADER, Recognised, recognise};
use crate::rpc::pairing::{Kept, Pairing, Request, Sibling};
use crate::rpc::record::{Record, RecordReader};
use crate::rpc::tls;
use crate::stream::assembler::{Piece, Stamp};
use crate::stream::by_id::ById;
use crate::stream::{Connection, ConnectionId, Event, Side, Sides};
use crate::table::columns::Word;
use crate::table::{Ending, Tables};
use crate::witness::Witness;

/// Other connections between the same two hosts on which a retransmitted call is looked for.
const SIBLINGS_LIMIT: usize = 8;

/// Messages before a connection becomes TLS: the call that asks for it, and its reply. Where the snaplen
/// cut them they look like any others.
const BEFORE_TLS: u8 = 2;

/// Memory that messages in the making may take together, with the buffers kept for the next ones.
/// Beyond it those are given back; if that is not enough, all messages are cut to their beginning, and
/// marked with `record_limit`.
const BUFFERED_LIMIT: usize = 32 << 20;

/// Memory that what is known of files may take, unless the caller allows another. Beyond it those that
/// were of use longest ago are forgotten (`files_forgotten`).
const FILES_BYTES_LIMIT: usize = 1 << 30;

/// A connection that may carry RPC.
struct Conversation {
    readers: Sides<RecordReader>,
    parties: Parties,
    /// A port, or a message that could be nothing else, says that it carries RPC.
    believed: bool,
    /// Messages so far, up to 255.
    heard: u8,
}

/// All conversations of a decode, and what they taught.
pub(crate) struct Conversations {
    by_id: ById<Conversation>,
    by_hosts: HashMap<(IpAddr, IpAddr), Vec<ConnectionId>, RandomState>,
    /// Those over UDP, by the end that calls.
    by_caller: HashMap<SocketAddr, Vec<ConnectionId>, RandomState>,
    messages: Messages,
    /// Calls given up because too many were waiting.
    given_up: u64,
    /// Memory taken by the messages that are being put together.
    buffered: usize,
    /// Buffers for the next ones.
    spare: Vec<Vec<u8>>,
    witness: Option<Box<dyn Witness>>,
    /// What is left to write at the end, or of files that are to be forgotten.
    ending: Option<Ending>,
    /// Memory that files may take, in bytes.
    files_bytes: usize,
}

impl Conversations {
    /// No conversation yet. Connections with one of `ports` are taken for RPC without proof.
    pub(crate) fn new(ports: Vec<u16>, witness: Option<Box<dyn Witness>>) -> Self {
        Self {
            by_id: ById::default(),
            by_hosts: HashMap::default(),
            by_caller: HashMap::default(),
            messages: Messages::new(ports),
            given_up: 0,
            buffered: 0,
            spare: Vec::new(),
            witness,
            ending: None,
            files_bytes: FILES_BYTES_LIMIT,
        }
    }

    /// Who watches, if anybody does.
    #[inline]
    pub(crate) fn witness(&mut self) -> Option<&mut (dyn Witness + 'static)> {
        self.witness.as_deref_mut()
    }

    /// The tables, to take rows from.
    pub(crate) fn tables(&mut self) -> &mut Tables {
        &mut self.messages.tables
    }

    /// Calls and undecoded messages so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.messages.calls, self.messages.undecoded)
    }

    /// Calls of NFS and callbacks so far.
    pub(crate) fn nfs_calls(&self) -> u64 {
        self.messages.nfs_calls
    }

    /// Calls given up, or kept only in part, because too many were waiting.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up + self.messages.pairing.shortened()
    }

    /// Records longer than what is kept of one.
    pub(crate) fn records_cut(&self) -> u64 {
        self.messages.records_cut
    }

    /// Services whose port was not learnt, and programs of callbacks.
    pub(crate) fn services_overlooked(&self) -> u64 {
        self.messages.services_overlooked()
    }

    /// Servers of pNFS, and devices of data servers, that were not learnt.
    pub(crate) fn servers_overlooked(&self) -> [u64; 2] {
        [self.messages.roles.overlooked, self.messages.names.devices_overlooked()]
    }

    /// Servers, and pairs of a client and a server, that were not told apart.
    pub(crate) fn hosts_overlooked(&self) -> u64 {
        self.messages.hosts.overlooked
    }

    /// Logins, sessions and addresses by which trunks were not told.
    pub(crate) fn trunks_overlooked(&self) -> u64 {
        self.messages.trunks.overlooked
    }

    /// Replies that were held for their calls and gave way to others.
    pub(crate) fn replies_displaced(&self) -> u64 {
        self.messages.pairing.displaced
    }

    /// Takes a piece of the stream that only goes on with a message, or holds whole ones, on a connection
    /// that is known to carry RPC. `false`: what is left of it is for [`Conversations::event`].
    ///
    /// It comes to the same; but nothing is put together here, so that there is no memory to account for.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop, so that the piece stays in registers")]
    pub(crate) fn go_on(
        &mut self,
        id: ConnectionId,
        connection: &Connection,
        side: Side,
        piece: &mut Piece<'_>,
    ) -> bool {
        let Some(conversation) = self.by_id.get_mut(id) else { return false };
        let Conversation { readers, parties, .. } = conversation;
        let known = conversation.believed && readers.of(side).found() && parties.sealed.is_none();
        if !known || self.witness.is_some() || self.buffered > BUFFERED_LIMIT {
            return false;
        }
        if !readers.of_mut(side).go_on(piece) {
            while piece.length > 0 {
                let Conversation { readers, parties, .. } = conversation;
                let Some(record) = readers.of_mut(side).whole(piece) else { return false };
                let heard = self.messages.take((id, connection), parties, side, &record);
                conversation.hear(side, heard);
                if conversation.parties.sealed.is_some() {
                    return false;
                }
            }
        }
        self.settle(piece.ready);
        true
    }

    /// Takes what a direction of a TCP connection delivered. `false`: the connection carries no RPC.
    pub(crate) fn event(
        &mut self,
        id: ConnectionId,
        connection: &Connection,
        side: Side,
        event: Event<'_>,
    ) -> bool {
        let Some(conversation) = self.by_id.get_mut(id) else {
            self.meet(id, connection);
            return self.by_id.contains(id) && self.event(id, connection, side, event);
        };
        let was_sealed = conversation.parties.sealed.is_some();
        if conversation.sealed(&event) {
            if let (false, Event::Piece(piece), Some(witness)) = (was_sealed, &event, &mut self.witness) {
                witness.sealed(id, side, piece);
            }
            return true;
        }
        let before = conversation.readers.of(side).capacity();
        conversation.readers.of_mut(side).take_buffer(&mut self.spare);
        let now = match event {
            Event::Piece(mut piece) => {
                let now = piece.ready;
                while conversation.parties.sealed.is_none() {
                    let peer =
                        self.messages.listener(id, &conversation.parties, side, self.witness.is_some());
                    let reader = conversation.readers.of_mut(side);
                    let Some(record) = reader.next(&mut piece, &peer) else { break };
                    let heard =
                        self.messages.take((id, connection), &mut conversation.parties, side, &record);
                    if let Some(witness) = &mut self.witness {
                        witness.message(id, side, &record, heard.is_ok());
                    }
                    conversation.hear(side, heard);
                    if piece.length == 0 {
                        break;
                    }
                }
                conversation.count_sealed(piece.length);
                Some(now)
            }
            Event::Gap { length, stamp } => {
                let peer = self.messages.listener(id, &conversation.parties, side, self.witness.is_some());
                if let Some(record) = conversation.readers.of_mut(side).gap(length, stamp, &peer) {
                    let heard =
                        self.messages.take((id, connection), &mut conversation.parties, side, &record);
                    if let Some(witness) = &mut self.witness {
                        witness.message(id, side, &record, heard.is_ok());
                    }
                    conversation.hear(side, heard);
                }
                None
            }
        };
        conversation.readers.of_mut(side).leave_buffer(&mut self.spare);
        self.buffered = (self.buffered + conversation.readers.of(side).capacity()).saturating_sub(before);
        let hopeless = conversation.readers.low.hopeless() || conversation.readers.high.hopeless();
        let carries_rpc = conversation.believed || !hopeless;
        if self.buffered > BUFFERED_LIMIT {
            self.shorten_buffers();
        }
        if let Some(now) = now {
            self.settle(now);
        }
        carries_rpc
    }

    /// Reads what a segment from `side` needs.
    #[inline]
    pub(crate) fn fetch(&self, id: ConnectionId, side: Side) {
        if let Some(conversation) = self.by_id.glance(id) {
            conversation.readers.of(side).fetch();
            conversation.parties.fetch();
            black_box(conversation.believed);
        }
    }

    /// Finds the call that a segment with this payload answers, where it begins a reply, and reads what
    /// the answer needs besides.
    #[inline]
    pub(crate) fn fetch_answered(&self, id: ConnectionId, side: Side, payload: &[u8]) -> Option<&Request> {
        let machine = self.by_id.glance(id)?.parties.machine.text();
        black_box(machine.as_bytes().first().copied());
        let (_mark, message) = payload.split_first_chunk::<4>()?;
        match recognise(message)? {
            Recognised::Reply { xid } => self.messages.pairing.peer(id, side).request(xid),
            Recognised::Call { .. } => None,
        }
    }

    /// Gives back memory of messages that are being put together: what is not in use, and all but the
    /// beginning of those that are.
    fn shorten_buffers(&mut self) {
        for change in [RecordReader::release, RecordReader::shorten] {
            self.buffered = 0;
            for conversation in self.by_id.values_mut() {
                for side in [Side::Low, Side::High] {
                    let reader = conversation.readers.of_mut(side);
                    change(reader);
                    self.buffered += reader.capacity();
                }
            }
            if self.buffered < BUFFERED_LIMIT / 2 {
                return;
            }
        }
    }

    /// Takes a UDP datagram: a whole message.
    pub(crate) fn datagram(
        &mut self,
        id: ConnectionId,
        connection: &Connection,
        side: Side,
        record: &Record<'_>,
    ) {
        let recognised = recognise(record.bytes);
        if let Some(Recognised::Reply { xid }) = recognised
            && let Some(place) = self.called_elsewhere(id, connection, side, xid)
        {
            if let Some(conversation) = self.by_id.get_mut(place.0) {
                self.messages.take_reply_from_elsewhere(place, record, &mut conversation.parties);
            }
            if let Some(witness) = &mut self.witness {
                witness.datagram(id, connection, side, record);
            }
            self.settle(record.last);
            return;
        }
        let believed = match recognised {
            Some(Recognised::Call { .. }) => true,
            Some(Recognised::Reply { xid }) => {
                self.known_port(connection).is_some() || self.messages.pairing.expects(id, side.other(), xid)
            }
            // Wrong versions and unknown procedures are sent too, but do not begin a conversation.
            None => self.by_id.get(id).is_some_and(|conversation| conversation.believed),
        };
        if !believed {
            if let (Some(_), Some(witness)) = (recognised, &mut self.witness) {
                // Its form tells that it is to be ignored; without it, it would count as damaged.
                witness.datagram(id, connection, side, record);
            }
            return;
        }
        if let (Some(Recognised::Call { .. }), false) = (recognised, self.by_id.contains(id)) {
            let known = self.by_caller.entry(*connection.ends.of(side)).or_default();
            known.push(id);
            if known.len() > 2 * SIBLINGS_LIMIT {
                known.drain(..SIBLINGS_LIMIT);
            }
        }
        self.meet(id, connection);
        if let Some(conversation) = self.by_id.get_mut(id) {
            let heard = self.messages.take((id, connection), &mut conversation.parties, side, record);
            if let (true, Some(witness)) = (heard.is_ok(), &mut self.witness) {
                witness.datagram(id, connection, side, record);
            }
            conversation.hear(side, heard);
        }
        self.settle(record.last);
    }

    /// The call that a reply from `side` of this connection answers, if it is one that was sent to another address
    /// of the server: a host with several may answer UDP from another than the one that was called. It came
    /// from the port that was called to the one that called.
    fn called_elsewhere(
        &self,
        id: ConnectionId,
        connection: &Connection,
        side: Side,
        xid: u32,
    ) -> Option<Place> {
        let (server, client) = (connection.ends.of(side), connection.ends.of(side.other()));
        let known = self.by_caller.get(client)?;
        let pairing = &self.messages.pairing;
        if pairing.knows(id, side.other(), xid) {
            return None;
        }
        let only = |believed: fn(&Pairing, ConnectionId, Side, u32) -> bool| {
            let mut called = known.iter().rev().take(SIBLINGS_LIMIT).filter_map(|other| {
                let ends = self.by_id.get(*other)?.parties.ends;
                let caller = if ends.low == *client { Side::Low } else { Side::High };
                let answers =
                    ends.of(caller.other()).port() == server.port() && believed(pairing, *other, caller, xid);
                answers.then_some((*other, caller, xid))
            });
            called.next().filter(|_| called.next().is_none())
        };
        // A reply that comes once more has its call answered already.
        only(Pairing::expects).or_else(|| only(Pairing::knows))
    }

    /// Takes a message that RDMA carried: one whose header says that it is one of RPC.
    pub(crate) fn carried(
        &mut self,
        id: ConnectionId,
        connection: &Connection,
        side: Side,
        message: &rdma::Message<'_>,
    ) {
        let cut = message.bytes.len() < message.length.min(CALL_HEADER);
        let believed = cut
            || recognise(message.bytes).is_some()
            || self.by_id.get(id).is_some_and(|conversation| conversation.believed);
        if !believed {
            return;
        }
        self.meet(id, connection);
        if let Some(conversation) = self.by_id.get_mut(id) {
            let peer = self.messages.pairing.peer(id, side);
            let whole = self.messages.unread.put_back(message, |xid| peer.request(xid));
            let (bytes, behind) = match &whole {
                Some((bytes, data)) => Behind::split(bytes, data),
                None => (message.bytes, None),
            };
            let (length, rdma::Message { limit, first, last, .. }) = (message.whole(), *message);
            let record = Record { bytes, behind, length, open: false, limit, first, last, place: &[] };
            let heard = self.messages.take((id, connection), &mut conversation.parties, side, &record);
            conversation.hear(side, heard);
        }
        self.settle(message.last);
    }

    /// Forgets a connection that carries no RPC.
    pub(crate) fn dismiss(&mut self, id: ConnectionId) {
        self.by_id.remove(id);
    }

    /// Takes what a connection that is over has left: messages of which the end is missing.
    fn take_last(&mut self, id: ConnectionId, connection: &Connection) {
        for side in [Side::Low, Side::High] {
            let Some(conversation) = self.by_id.get_mut(id) else { return };
            let peer = self.messages.pairing.peer(id, side);
            if let Some(record) = conversation.readers.of_mut(side).end(&peer) {
                // Only what is a message comes out at the end.
                let _known = self.messages.take((id, connection), &mut conversation.parties, side, &record);
                if let Some(witness) = &mut self.witness {
                    witness.message(id, side, &record, true);
                }
            }
        }
    }

    /// Ends connections of which nothing more is to be known: their calls stay unanswered.
    pub(crate) fn forget(&mut self, forgotten: &[(ConnectionId, Connection)]) {
        let gone = |id: ConnectionId| forgotten.binary_search_by_key(&id, |(id, _)| *id).is_ok();
        for (id, connection) in forgotten {
            self.take_last(*id, connection);
        }
        self.answer_due();
        for (call, request) in self.messages.pairing.abandon(gone) {
            self.unanswered(call, request);
        }
        for (id, connection) in forgotten {
            self.end(*id, Some(connection));
            self.by_id.remove(*id);
        }
        let by_id = &self.by_id;
        let keep = |known: &mut Vec<ConnectionId>| {
            known.retain(|id| by_id.contains(*id));
            !known.is_empty()
        };
        self.by_hosts.retain(|_, known| keep(known));
        self.by_caller.retain(|_, known| keep(known));
    }

    /// Ends everything: calls without reply, replies without call, connections; files are left
    /// ([`Conversations::write_files`]).
    pub(crate) fn finish<'c>(&mut self, connection: impl Fn(ConnectionId) -> Option<&'c Connection>) {
        let ids = self.by_id.ids();
        for id in &ids {
            if let Some(connection) = connection(*id) {
                self.take_last(*id, connection);
            }
        }
        self.answer_due();
        while let Some((connection, xid, reply)) = self.messages.pairing.next_orphan() {
            self.orphan(connection, xid, &reply);
        }
        while let Some((call, request)) = self.messages.pairing.next_unanswered() {
            self.unanswered(call, request);
        }
        for id in ids {
            self.end(id, connection(id));
        }
        self.messages.names.settle();
        self.ending = self.messages.tables.ending(&self.messages.names);
    }

    /// Writes some of the files; `false` when there are no more.
    pub(crate) fn write_files(&mut self) -> bool {
        let Messages { tables, names, hosts, .. } = &mut self.messages;
        self.ending.as_mut().is_some_and(|ending| tables.append_files(ending, names, hosts.servers()))
    }

    /// Allows what is known of files another amount of memory, in bytes.
    pub(crate) fn allow(&mut self, files_bytes: usize) {
        self.files_bytes = files_bytes;
    }

    /// Whether more is known of files than there is memory for.
    #[inline]
    pub(crate) fn crowded(&self) -> bool {
        self.messages.names.bytes() > self.files_bytes
    }

    /// Forgets some of the files, after they are written ([`Conversations::forget_files`]).
    pub(crate) fn make_room(&mut self) {
        self.messages.names.settle();
        self.ending = Some(Ending::forgetting(&self.messages.names));
    }

    /// Writes some of those that are to be forgotten, and forgets them once all are written. `false`:
    /// none are.
    #[inline]
    pub(crate) fn forget_files(&mut self) -> bool {
        self.ending.is_some() && {
            if !self.write_files()
                && let Some(ending) = self.ending.take()
            {
                self.messages.names.forget(ending.kept());
            }
            true
        }
    }

    /// Files that were forgotten.
    pub(crate) fn files_forgotten(&self) -> u64 {
        self.messages.names.forgotten()
    }

    /// Says what is to be said of a connection once it is over.
    fn end(&mut self, id: ConnectionId, connection: Option<&Connection>) {
        let Some(conversation) = self.by_id.get_mut(id) else { return };
        self.messages.release(&mut conversation.parties);
        let conversation = &*conversation;
        let parties = &conversation.parties;
        if let Some(sealed) = parties.sealed {
            self.messages.seal(id, sealed);
        }
        let client = parties.client.or_else(|| conversation.client_unread(connection?));
        if let (Some(client), Some(connection)) = (client, connection) {
            let sealed = parties.sealed.map(|sealed| sealed.bytes);
            let role = self.messages.roles.of(*parties.ends.of(client.other()), parties.carried);
            self.messages.tables.append_connection(id, connection, client, &parties.addresses, role, sealed);
        }
    }

    /// Counts the replies whose calls will not come any more.
    #[inline]
    fn settle(&mut self, now: Stamp) {
        if self.messages.pairing.holds_replies() {
            self.settle_overdue(now);
        }
        if self.messages.asynchronous.is_due() {
            self.answer_due();
        }
    }

    /// Pairs calls of the lock manager with the calls that answer them.
    #[cold]
    #[inline(never)]
    fn answer_due(&mut self) {
        while let Some((place, answer)) = self.messages.asynchronous.next_due() {
            if let Some(conversation) = self.by_id.get_mut(place.0) {
                self.messages.answer(place, &answer.record(), &mut conversation.parties);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_overdue(&mut self, now: Stamp) {
        while let Some((connection, xid, reply)) = self.messages.pairing.overdue_reply(now) {
            self.orphan(connection, xid, &reply);
        }
    }

    /// A reply without call, unless its form is all that speaks for RPC on that connection.
    fn orphan(&mut self, connection: ConnectionId, xid: u32, reply: &Kept) {
        if self.by_id.get(connection).is_none_or(|conversation| conversation.believed) {
            self.messages.orphan(connection, xid, reply);
        }
    }

    /// Gives up calls that are too many to be remembered.
    #[inline]
    pub(crate) fn give_up_overdue(&mut self) {
        if self.messages.pairing.gives_up() {
            self.give_up_oldest();
        }
    }

    #[cold]
    #[inline(never)]
    fn give_up_oldest(&mut self) {
        while let Some((call, request)) = self.messages.pairing.overdue_call() {
            self.given_up += 1;
            let error = limit(Reason::PendingLimit, request.message.record().length);
            self.messages.tables.note(
                &error,
                request.message.last,
                Some(request.connection),
                Some(call),
                None,
            );
            self.unanswered(call, request);
        }
    }

    fn unanswered(&mut self, call: u64, request: Box<Request>) {
        if let Some(conversation) = self.by_id.get_mut(request.connection) {
            self.messages.leave(call, request, &mut conversation.parties);
        }
    }

    /// Takes that a connection begins between two hosts. `received`: whether on another one both have all that was
    /// sent.
    pub(crate) fn opened(&mut self, hosts: [IpAddr; 2], received: impl Fn(ConnectionId) -> bool) {
        let [one, other] = hosts;
        let Some(known) = self.by_hosts.get(&(one.min(other), one.max(other))) else { return };
        let next = u32::try_from(self.messages.pairing.next_call()).unwrap_or(u32::MAX);
        for id in known.iter().rev().take(SIBLINGS_LIMIT) {
            if let Some(conversation) = self.by_id.get_mut(*id)
                && received(*id)
            {
                conversation.parties.received = next;
            }
        }
    }

    fn meet(&mut self, id: ConnectionId, connection: &Connection) {
        if self.by_id.contains(id) {
            return;
        }
        let server_port = self.known_port(connection);
        let believed = server_port.is_some();
        let hosts = (connection.ends.low.ip(), connection.ends.high.ip());
        let known = self.by_hosts.entry(hosts).or_default();
        let by_id = &self.by_id;
        let sibling = |connection: &ConnectionId| {
            let received = by_id.get(*connection).map_or(0, |sibling| u64::from(sibling.parties.received));
            Sibling { connection: *connection, received }
        };
        let siblings = known.iter().rev().take(SIBLINGS_LIMIT).map(sibling).collect();
        known.push(id);
        if known.len() > 2 * SIBLINGS_LIMIT {
            known.drain(..SIBLINGS_LIMIT);
        }
        let reader = || RecordReader::new(believed);
        let parties = Parties {
            addresses: Sides { low: Word::new(hosts.0.to_string()), high: Word::new(hosts.1.to_string()) },
            ends: connection.ends,
            servers: Sides::default(),
            mounts: Sides::default(),
            client: None,
            server_port,
            same_ports: [connection.ends.low, connection.ends.high].iter().all(|end| self.expects_at(*end)),
            machine: Word::default(),
            siblings,
            received: 0,
            began_ns: connection.first.time_ns,
            callers: Sides::default(),
            highest_xid: Sides::default(),
            replied: None,
            handle_at: None,
            sealed: None,
            carried: Carried::default(),
            session: None,
            settled: false,
            held: Vec::new(),
        };
        let readers = Sides { low: reader(), high: reader() };
        self.by_id.insert(id, Conversation { readers, parties, believed, heard: 0 });
    }

    /// Whether RPC is expected at this end: by its port, or since others said so.
    pub(crate) fn expects_at(&self, end: SocketAddr) -> bool {
        self.messages.expects_at(end)
    }

    /// The side whose port says that it carries RPC.
    fn known_port(&self, connection: &Connection) -> Option<Side> {
        [Side::Low, Side::High].into_iter().find(|side| self.expects_at(*connection.ends.of(*side)))
    }
}

impl Conversation {
    /// Whether the connection is under TLS; what came is then counted here.
    ///
    /// Where the capture began later than the connection, or cut the messages that ask for TLS, it is
    /// recognised by its form, as long as no others were found.
    fn sealed(&mut self, event: &Event<'_>) -> bool {
        let Event::Piece(piece) = event else { return self.parties.sealed.is_some() };
        if self.parties.sealed.is_none() {
            let Sides { low, high } = &self.readers;
            let others = self.heard > BEFORE_TLS && (low.found() || high.found());
            if !self.believed || others || !tls::is_chain(piece.bytes, piece.length) {
                return false;
            }
            self.parties.sealed = Some(Sealed { since: piece.stamp, bytes: 0 });
            self.parties.client = self.parties.client.or(self.parties.server_port.map(Side::other));
        }
        self.count_sealed(piece.length);
        true
    }

    /// The client of a connection of which no message can be read, since packets were cut before one tells
    /// what it is: the port tells.
    fn client_unread(&self, connection: &Connection) -> Option<Side> {
        let Sides { low, high } = &connection.counts;
        let cut = low.truncated_bytes + high.truncated_bytes > 0;
        self.parties.server_port.filter(|_| cut).map(Side::other)
    }

    fn count_sealed(&mut self, length: usize) {
        if let Some(sealed) = &mut self.parties.sealed {
            sealed.bytes += length as u64;
        }
    }

    fn hear(&mut self, side: Side, heard: Result<bool, DecodeError>) {
        self.heard = self.heard.saturating_add(1);
        match heard {
            Ok(proof) => self.believed |= proof,
            // The marks led to something that is no RPC message: they are not to be trusted.
            Err(_) => self.readers.of_mut(side).distrust(),
        }
    }
}
