//! The middle of the pipeline: what connections deliver → records → pairs → rows.
//!
//! A conversation is a connection that carries RPC. This module knows which connections do and
//! which end is the NFS client, and hands each pair through [`crate::nfs`] and [`crate::names`] to
//! [`crate::table`].

use std::net::{IpAddr, SocketAddr};

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use crate::cursor::Cursor;
use crate::error::{DecodeError, Layer, Reason};
use crate::names::{Names, Placed, ServerId};
use crate::nfs::{Done, Shape, Walk, emptied, protocol};
use crate::roles::{Carried, Roles};
use crate::rpc::message::{AcceptStatus, Call, Recognised, ReplyStatus, recognise, unwrap_body};
use crate::rpc::pairing::{CallOutcome, Kept, Pairing, ReplyOutcome, Request};
use crate::rpc::record::{Record, RecordReader};
use crate::rpc::{program, tls};
use crate::stream::assembler::Stamp;
use crate::stream::{Connection, ConnectionId, Event, Side, Sides};
use crate::table::columns::Word;
use crate::table::{Exchange, Tables};

/// Other connections between the same two hosts on which a retransmitted call is looked for.
const SIBLINGS_LIMIT: usize = 8;

/// Ports learnt from portmappers; beyond it those that were learnt before stay (`ports_limit`).
const LEARNT_LIMIT: usize = 4096;

/// Memory that messages in the making may take together, with the buffers kept for the next ones.
/// Beyond it those are given back; if that is not enough, all messages are cut to their beginning, and
/// marked with `record_limit`.
const BUFFERED_LIMIT: usize = 32 << 20;

/// Longest handle of any version of NFS (RFC 7530 section 2.1, `NFS4_FHSIZE`).
const LONGEST_HANDLE: usize = 128;

/// A connection that may carry RPC.
struct Conversation {
    readers: Sides<RecordReader>,
    parties: Parties,
    /// The side with a port on which RPC is expected.
    server_port: Option<Side>,
    /// Its port, or a message that could be nothing else, says that it carries RPC.
    believed: bool,
}

/// Who talks on a connection.
struct Parties {
    addresses: Sides<Word>,
    ends: Sides<SocketAddr>,
    /// Numbers of those that were called.
    servers: Sides<Option<ServerId>>,
    /// The side of the NFS client, once a call told it.
    client: Option<Side>,
    siblings: Vec<ConnectionId>,
    /// Where in the last call the first handle stood. A client's calls are much alike, so the handle
    /// of the next call is probably there too.
    handle_at: Option<usize>,
    /// It became TLS.
    sealed: Option<Sealed>,
    /// What it carried of NFS.
    carried: Carried,
}

impl Parties {
    /// What is most often the first handle of a call, or no handle at all.
    #[inline]
    fn probable_handle<'a>(&self, call: &'a [u8]) -> Option<&'a [u8]> {
        let (before, rest) = call.split_at_checked(self.handle_at?)?;
        let length = before.last_chunk::<4>().map(|length| u32::from_be_bytes(*length) as usize);
        rest.get(..length.filter(|length| *length <= LONGEST_HANDLE)?)
    }
}

/// Where in `bytes` a part of it begins.
fn offset_in(bytes: &[u8], part: &[u8]) -> Option<usize> {
    let offset = part.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
    (offset <= bytes.len()).then_some(offset)
}

/// What is seen of a connection under TLS.
#[derive(Clone, Copy)]
struct Sealed {
    since: Stamp,
    bytes: u64,
}

/// All conversations of a decode, and what they taught.
pub(crate) struct Conversations {
    by_id: HashMap<ConnectionId, Conversation, RandomState>,
    by_hosts: HashMap<(IpAddr, IpAddr), Vec<ConnectionId>, RandomState>,
    ports: Vec<u16>,
    messages: Messages,
    /// Calls given up because too many were waiting.
    given_up: u64,
    /// Memory taken by the messages that are being put together.
    buffered: usize,
}

impl Conversations {
    /// No conversation yet. Connections with one of `ports` are taken for RPC without proof.
    pub(crate) fn new(ports: Vec<u16>) -> Self {
        Self {
            by_id: HashMap::default(),
            by_hosts: HashMap::default(),
            ports,
            messages: Messages::default(),
            given_up: 0,
            buffered: 0,
        }
    }

    /// The tables, to take rows from.
    pub(crate) fn tables(&mut self) -> &mut Tables {
        &mut self.messages.tables
    }

    /// Calls and undecoded messages so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.messages.calls, self.messages.undecoded)
    }

    /// Calls given up, or kept only in part, because too many were waiting.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up + self.messages.pairing.shortened
    }

    /// Records longer than what is kept of one.
    pub(crate) fn records_cut(&self) -> u64 {
        self.messages.records_cut
    }

    /// Services of portmappers whose port was not learnt.
    pub(crate) fn ports_overlooked(&self) -> u64 {
        self.messages.ports_overlooked
    }

    /// Servers of pNFS, and devices of data servers, that were not learnt.
    pub(crate) fn servers_overlooked(&self) -> [u64; 2] {
        [self.messages.roles.overlooked, self.messages.names.devices_overlooked()]
    }

    /// Replies that were held for their calls and gave way to others.
    pub(crate) fn replies_displaced(&self) -> u64 {
        self.messages.pairing.displaced
    }

    /// Takes what a direction of a TCP connection delivered. `false`: the connection carries no RPC.
    pub(crate) fn event(
        &mut self,
        id: ConnectionId,
        connection: &Connection,
        side: Side,
        event: Event<'_>,
    ) -> bool {
        self.meet(id, connection);
        let Some(conversation) = self.by_id.get_mut(&id) else { return false };
        if conversation.sealed(side, &event) {
            return true;
        }
        let before = conversation.readers.of(side).capacity();
        let now = match event {
            Event::Piece(mut piece) => {
                let now = piece.stamp;
                while conversation.parties.sealed.is_none() {
                    let pairing = &self.messages.pairing;
                    let peer = pairing.peer(id, side);
                    let reader = conversation.readers.of_mut(side);
                    let Some(record) = reader.next(&mut piece, &peer) else { break };
                    let heard = self.messages.take(id, &mut conversation.parties, side, &record);
                    conversation.hear(side, heard);
                }
                conversation.count_sealed(piece.length);
                Some(now)
            }
            Event::Gap { length, stamp } => {
                let peer = self.messages.pairing.peer(id, side);
                if let Some(record) = conversation.readers.of_mut(side).gap(length, stamp, &peer) {
                    let heard = self.messages.take(id, &mut conversation.parties, side, &record);
                    conversation.hear(side, heard);
                }
                None
            }
        };
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
        let believed = match recognised {
            Some(Recognised::Call { .. }) => true,
            Some(Recognised::Reply { xid }) => {
                self.known_port(connection).is_some() || self.messages.pairing.expects(id, side.other(), xid)
            }
            // Wrong versions and unknown procedures are sent too, but do not begin a conversation.
            None => self.by_id.get(&id).is_some_and(|conversation| conversation.believed),
        };
        if !believed {
            return;
        }
        self.meet(id, connection);
        if let Some(conversation) = self.by_id.get_mut(&id) {
            let heard = self.messages.take(id, &mut conversation.parties, side, record);
            conversation.hear(side, heard);
        }
        self.settle(record.last);
    }

    /// Forgets a connection that carries no RPC.
    pub(crate) fn dismiss(&mut self, id: ConnectionId) {
        self.by_id.remove(&id);
    }

    /// Takes what a connection that is over has left: messages of which the end is missing.
    fn take_last(&mut self, id: ConnectionId) {
        for side in [Side::Low, Side::High] {
            let Some(conversation) = self.by_id.get_mut(&id) else { return };
            let peer = self.messages.pairing.peer(id, side);
            if let Some(record) = conversation.readers.of_mut(side).end(&peer) {
                // Only what is a message comes out at the end.
                let _known = self.messages.take(id, &mut conversation.parties, side, &record);
            }
        }
    }

    /// Ends connections of which nothing more is to be known: their calls stay unanswered.
    pub(crate) fn forget(&mut self, forgotten: &[(ConnectionId, Connection)]) {
        let gone = |id: ConnectionId| forgotten.binary_search_by_key(&id, |(id, _)| *id).is_ok();
        for (id, _) in forgotten {
            self.take_last(*id);
        }
        for (call, request) in self.messages.pairing.abandon(gone) {
            self.unanswered(call, request);
        }
        for (id, connection) in forgotten {
            self.end(*id, Some(connection));
            self.by_id.remove(id);
        }
        let by_id = &self.by_id;
        self.by_hosts.retain(|_, known| {
            known.retain(|id| by_id.contains_key(id));
            !known.is_empty()
        });
    }

    /// Ends everything: calls without reply, replies without call, connections, files.
    pub(crate) fn finish<'c>(&mut self, connection: impl Fn(ConnectionId) -> Option<&'c Connection>) {
        let mut ids: Vec<ConnectionId> = self.by_id.keys().copied().collect();
        ids.sort_unstable();
        for id in &ids {
            self.take_last(*id);
        }
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
        self.messages.tables.append_files(&self.messages.names, &self.messages.server_texts);
    }

    /// Says what is to be said of a connection once it is over.
    fn end(&mut self, id: ConnectionId, connection: Option<&Connection>) {
        let Some(parties) = self.by_id.get(&id).map(|conversation| &conversation.parties) else { return };
        if let Some(sealed) = parties.sealed {
            self.messages.seal(id, sealed);
        }
        if let (Some(client), Some(connection)) = (parties.client, connection) {
            let sealed = parties.sealed.map(|sealed| sealed.bytes);
            let role = self.messages.roles.of(*parties.ends.of(client.other()), parties.carried);
            self.messages.tables.append_connection(id, connection, client, role, sealed);
        }
    }

    /// Counts the replies whose calls will not come any more.
    fn settle(&mut self, now: Stamp) {
        while let Some((connection, xid, reply)) = self.messages.pairing.overdue_reply(now) {
            self.orphan(connection, xid, &reply);
        }
    }

    /// A reply without call, unless its form is all that speaks for RPC on that connection.
    fn orphan(&mut self, connection: ConnectionId, xid: u32, reply: &Kept) {
        if self.by_id.get(&connection).is_none_or(|conversation| conversation.believed) {
            self.messages.orphan(connection, xid, reply);
        }
    }

    /// Gives up calls that are too many to be remembered.
    pub(crate) fn give_up_overdue(&mut self) {
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
        if let Some(conversation) = self.by_id.get_mut(&request.connection) {
            self.messages.complete(call, request, None, &mut conversation.parties);
        }
    }

    fn meet(&mut self, id: ConnectionId, connection: &Connection) {
        if self.by_id.contains_key(&id) {
            return;
        }
        let server_port = self.known_port(connection);
        let believed = server_port.is_some();
        let hosts = (connection.ends.low.ip(), connection.ends.high.ip());
        let known = self.by_hosts.entry(hosts).or_default();
        let siblings = known.iter().rev().take(SIBLINGS_LIMIT).copied().collect();
        known.push(id);
        if known.len() > 2 * SIBLINGS_LIMIT {
            known.drain(..SIBLINGS_LIMIT);
        }
        let reader = || RecordReader::new(believed);
        let parties = Parties {
            addresses: Sides { low: Word::new(hosts.0.to_string()), high: Word::new(hosts.1.to_string()) },
            ends: connection.ends,
            servers: Sides::default(),
            client: None,
            siblings,
            handle_at: None,
            sealed: None,
            carried: Carried::default(),
        };
        let readers = Sides { low: reader(), high: reader() };
        self.by_id.insert(id, Conversation { readers, parties, server_port, believed });
    }

    /// The side whose port says that it carries RPC.
    fn known_port(&self, connection: &Connection) -> Option<Side> {
        [Side::Low, Side::High].into_iter().find(|side| {
            let end = connection.ends.of(*side);
            let learnt = &self.messages.learnt;
            let server = if learnt.is_empty() { None } else { self.messages.servers.get(&end.ip()) };
            self.ports.contains(&end.port())
                || self.messages.roles.is_named(*end)
                || server.is_some_and(|server| learnt.contains(&(*server, end.port())))
        })
    }
}

impl Conversation {
    /// Whether the connection is under TLS; what came is then counted here.
    ///
    /// Where the capture began later than the connection, TLS is recognised by its form, as long as
    /// no message was found.
    fn sealed(&mut self, side: Side, event: &Event<'_>) -> bool {
        let Event::Piece(piece) = event else { return self.parties.sealed.is_some() };
        if self.parties.sealed.is_none() {
            let looks =
                self.believed && !self.readers.of(side).found() && !self.readers.of(side.other()).found();
            if !looks || !tls::is_chain(piece.bytes, piece.length) {
                return false;
            }
            self.parties.sealed = Some(Sealed { since: piece.stamp, bytes: 0 });
            self.parties.client = self.parties.client.or(self.server_port.map(Side::other));
        }
        self.count_sealed(piece.length);
        true
    }

    fn count_sealed(&mut self, length: usize) {
        if let Some(sealed) = &mut self.parties.sealed {
            sealed.bytes += length as u64;
        }
    }

    fn hear(&mut self, side: Side, heard: Result<bool, DecodeError>) {
        match heard {
            Ok(proof) => self.believed |= proof,
            // The marks led to something that is no RPC message: they are not to be trusted.
            Err(_) => self.readers.of_mut(side).distrust(),
        }
    }
}

/// What is behind the records: pairs, names, rows.
#[derive(Default)]
struct Messages {
    pairing: Pairing,
    names: Names,
    tables: Tables,
    placed: Placed,
    servers: HashMap<IpAddr, ServerId, RandomState>,
    server_texts: Vec<String>,
    /// Memory for the operations of the next call.
    operations: Vec<Done<'static>>,
    roles: Roles,
    /// Ports at which portmappers said that one of the known programs is.
    learnt: HashSet<(ServerId, u16), RandomState>,
    calls: u64,
    undecoded: u64,
    /// Records of which only the beginning was kept.
    records_cut: u64,
    /// Services whose port was not learnt, because so many were known.
    ports_overlooked: u64,
}

impl Messages {
    /// Takes a record: whether it proves that the connection carries RPC. An error: it is no RPC message.
    fn take(
        &mut self,
        id: ConnectionId,
        parties: &mut Parties,
        side: Side,
        record: &Record<'_>,
    ) -> Result<bool, DecodeError> {
        self.records_cut += u64::from(record.limit == Reason::RecordLimit);
        let mut c = Cursor::of_prefix(record.bytes, record.length, record.limit, Layer::Rpc);
        let header = c.u32().and_then(|xid| {
            let before = c.clone();
            match c.u32()? {
                0 => Ok((xid, Some(Call::parse(&mut c, xid)?.0))),
                1 => Ok((xid, None)),
                _ => Err(before.malformed()),
            }
        });
        match header {
            Ok((_, Some(call))) => {
                self.take_call(id, parties, side, record, &call);
                Ok(true)
            }
            Ok((xid, None)) => Ok(self.take_reply(id, parties, side, record, xid)),
            Err(error) => {
                self.undecoded += 1;
                let reason =
                    if error.reason == Reason::Malformed { Reason::Desynchronised } else { error.reason };
                self.tables.note(&DecodeError { reason, ..error }, record.last, Some(id), None, None);
                if error.reason == Reason::Malformed { Err(error) } else { Ok(false) }
            }
        }
    }

    fn take_call(
        &mut self,
        id: ConnectionId,
        parties: &mut Parties,
        side: Side,
        record: &Record<'_>,
        call: &Call<'_>,
    ) {
        let callback = program::is_for_client(call.program, call.procedure);
        parties.client.get_or_insert(if callback { side.other() } else { side });
        let (outcome, displaced) = self.pairing.call(id, side, &parties.siblings, record, call);
        if let Some((number, request)) = displaced {
            self.complete(number, request, None, parties);
        }
        match outcome {
            CallOutcome::New => {
                let server = parties.servers.of(if callback { side } else { side.other() });
                if let (Some(server), Some(handle)) = (*server, parties.probable_handle(record.bytes)) {
                    self.names.await_handle(server, handle);
                }
            }
            CallOutcome::Again => {}
            CallOutcome::Answered { call, request, reply } => {
                self.complete(call, request, Some(reply.record()), parties);
            }
            CallOutcome::Late { call: number } => {
                let error = limit(Reason::RetransmittedCall, record.length);
                self.tables.note(&error, record.last, Some(id), Some(number), Some(call.xid));
            }
        }
    }

    /// Whether the reply belongs to a call.
    fn take_reply(
        &mut self,
        id: ConnectionId,
        parties: &mut Parties,
        side: Side,
        record: &Record<'_>,
        xid: u32,
    ) -> bool {
        match self.pairing.reply(id, side.other(), xid, record) {
            ReplyOutcome::Early => return false,
            ReplyOutcome::Answers { call, request } => self.complete(call, request, Some(*record), parties),
            ReplyOutcome::Again { call } => {
                let error = limit(Reason::DuplicateReply, record.length);
                self.tables.note(&error, record.last, Some(id), Some(call), Some(xid));
            }
        }
        true
    }

    fn orphan(&mut self, connection: ConnectionId, xid: u32, reply: &Kept) {
        let error = limit(Reason::ReplyWithoutCall, reply.record().length);
        self.tables.note(&error, reply.last, Some(connection), None, Some(xid));
    }

    /// Decodes a call with its reply, and writes its rows.
    fn complete(
        &mut self,
        call: u64,
        request: Box<Request>,
        reply: Option<Record<'_>>,
        parties: &mut Parties,
    ) {
        self.calls += 1;
        if let Some(since) = self.write(call, &request, reply, parties) {
            parties.sealed.get_or_insert(Sealed { since, bytes: 0 });
        }
        self.pairing.recycle(request);
    }

    /// Notes a connection under TLS: one note, however long it was.
    fn seal(&mut self, id: ConnectionId, sealed: Sealed) {
        self.undecoded += 1;
        let needed = usize::try_from(sealed.bytes.min(u64::from(u32::MAX))).unwrap_or(usize::MAX);
        let error =
            DecodeError { layer: Layer::Record, reason: Reason::Encrypted, offset: 0, needed, available: 0 };
        self.tables.note(&error, sealed.since, Some(id), None, None);
    }

    /// Gives the place of the reply from which on the connection is under TLS, if this reply grants it.
    fn write(
        &mut self,
        call: u64,
        request: &Request,
        reply: Option<Record<'_>>,
        parties: &mut Parties,
    ) -> Option<Stamp> {
        let message = request.message.record();
        let mut c = Cursor::of_prefix(message.bytes, message.length, message.limit, Layer::Rpc);
        let parsed = c.u32().and_then(|xid| c.u32().and_then(|_call| Call::parse(&mut c, xid)));
        let Ok((header, stop)) = parsed else { return None }; // It was parsed when it came.
        let arguments = match stop {
            Some(stop) => Err(stop),
            None => unwrap_body(&mut c, &header.credential, Layer::Call),
        };
        let (mut reply_status, mut refusal_stop) = (None, None);
        let results = reply.map(|reply| {
            let mut c = Cursor::of_prefix(reply.bytes, reply.length, reply.limit, Layer::Rpc);
            c.u32()?; // xid
            c.u32()?; // REPLY
            let status = ReplyStatus::parse(&mut c)?;
            reply_status = Some(status);
            match status {
                ReplyStatus::Accepted(AcceptStatus::SUCCESS) => {
                    unwrap_body(&mut c, &header.credential, Layer::Reply).map(Some)
                }
                // Refused is refused, however the reply ends: the outcome is known.
                refused => {
                    refusal_stop = refused.end_of_refusal(&mut c).err();
                    Ok(None)
                }
            }
        });
        let results = results.and_then(Result::transpose);
        let protocol = protocol(header.program, header.version);
        let control = header.control();
        let shape = if control.is_some() { Shape::Void } else { protocol.shape };
        let room = emptied(std::mem::take(&mut self.operations));
        let walk = Walk::of(room, shape, header.procedure, arguments, results);
        let callback = program::is_for_client(header.program, header.procedure);
        let client = if callback { request.caller.other() } else { request.caller };
        let server = self.server(parties, client.other());
        if header.program == program::PORTMAP {
            self.learn_ports(server, &walk);
        }
        if header.program == program::NFS {
            parties.carried.add(header.version, &walk);
        }
        let handle = walk.operations.iter().find_map(|done| done.facts.handle);
        parties.handle_at = handle.and_then(|handle| offset_in(message.bytes, handle));
        self.names.place(server, &walk.operations, &mut self.placed);
        if self.placed.tells_servers {
            self.learn_servers(server, *parties.ends.of(client.other()), &walk);
        }
        let reply_stop = walk.reply_stop.or(refusal_stop);
        for (stop, record) in [(walk.call_stop, Some(message)), (reply_stop, reply)] {
            if let (Some(stop), Some(record)) = (stop, record) {
                self.undecoded += 1;
                self.tables.note(&stop, record.last, Some(request.connection), Some(call), Some(header.xid));
            }
        }
        let number;
        let procedure_name = match (control, header.procedure) {
            (Some(control), _) => control,
            (None, 0) => "NULL",
            (None, 1) if matches!(shape, Shape::Compound(_)) => "COMPOUND",
            (None, procedure) => {
                number = procedure.to_string();
                &number
            }
        };
        self.tables.append(&Exchange {
            call,
            client: parties.addresses.of(client),
            server: parties.addresses.of(client.other()),
            callback,
            request,
            header,
            reply,
            reply_status,
            protocol: protocol.name,
            statuses: protocol.statuses,
            procedure_name,
            walk: &walk,
            placed: &self.placed,
            stop: walk.call_stop.or(reply_stop),
        });
        self.operations = emptied(walk.operations);
        let granted = |reply: &Record<'_>| control == Some(tls::STARTTLS) && tls::grants(reply.bytes);
        reply.filter(granted).map(|reply| reply.last)
    }

    fn server(&mut self, parties: &mut Parties, side: Side) -> ServerId {
        let address = parties.ends.of(side).ip();
        *parties.servers.of_mut(side).get_or_insert_with(|| self.server_at(address))
    }

    fn server_at(&mut self, address: IpAddr) -> ServerId {
        let texts = &mut self.server_texts;
        *self.servers.entry(address).or_insert_with(|| {
            texts.push(address.to_string());
            (texts.len() - 1) as ServerId
        })
    }

    /// Learns what the server at `address` says of itself and of data servers.
    fn learn_servers(&mut self, server: ServerId, address: SocketAddr, walk: &Walk<'_>) {
        let succeeded = walk.operations.iter().filter(|done| done.facts.status == Some(0));
        for told in succeeded.filter_map(|done| done.facts.pnfs.as_deref()) {
            if let Some(flags) = told.server_flags {
                self.roles.tell(address, flags);
            }
            for data_server in &told.data_servers {
                if let (true, Some(device)) = (self.roles.name(*data_server), told.device) {
                    let data_server = self.server_at(data_server.address.ip());
                    self.names.locate_device(server, device, data_server);
                }
            }
        }
    }

    fn learn_ports(&mut self, server: ServerId, walk: &Walk<'_>) {
        for service in walk.operations.iter().flat_map(|done| &done.facts.services) {
            let known = service.port != 0 && program::find(service.program).is_some();
            let place = (server, service.port);
            if known && self.learnt.len() < LEARNT_LIMIT {
                self.learnt.insert(place);
            } else if known && !self.learnt.contains(&place) {
                self.ports_overlooked += 1;
            }
        }
    }
}

/// A note that is no failure of a parser: the whole message is meant.
fn limit(reason: Reason, length: usize) -> DecodeError {
    DecodeError { layer: Layer::Rpc, reason, offset: 0, needed: length, available: length }
}
