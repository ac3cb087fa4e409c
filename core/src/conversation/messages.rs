//! From records to rows: calls and replies are paired, decoded, placed among the files, and written.
//!
//! Takes the records of all connections, each with the parties of its own. Promises that each is
//! counted: in a row of calls, or in a note with its reason.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use super::asynchronous::{Asynchronous, Place, status_in};
use super::callbacks::Callbacks;
use super::granted::Granted;
use super::hosts::{Hosts, OTHERS};
use super::parties::{Parties, Sealed, offset_in};
use super::trunks::{Ends, Held, Login, Opening, Trunks};
use super::unread::{Listener, Unread};
use crate::cursor::Cursor;
use crate::error::{DecodeError, Layer, Reason};
use crate::names::{Names, Placed, ServerId};
use crate::nfs::v4::sequence_within;
use crate::nfs::{Done, Shape, Walk, callback_protocol, emptied, protocol};
use crate::roles::Roles;
use crate::rpc::message::{
    AcceptStatus, Call, Credential, Head, ReplyStatus, unwrap_body, unwrap_results, xid_of_reply,
};
use crate::rpc::pairing::{CallOutcome, Kept, Origin, Pairing, ReplyOutcome, Request, Slot};
use crate::rpc::record::Record;
use crate::rpc::{program, tls};
use crate::stream::assembler::Stamp;
use crate::stream::seq::SeqNumber;
use crate::stream::unreceived::LeftOut;
use crate::stream::{Connection, ConnectionId, Side};
use crate::table::columns::Word;
use crate::table::{Exchange, Tables};

/// Ports learnt from portmappers and from calls that were answered; beyond it those that were learnt
/// before stay (`ports_limit`).
const LEARNT_LIMIT: usize = 4096;

/// What is behind the records: pairs, names, rows.
#[derive(Default)]
pub(super) struct Messages {
    pub(super) pairing: Pairing,
    pub(super) asynchronous: Asynchronous,
    pub(super) names: Names,
    pub(super) tables: Tables,
    placed: Placed,
    pub(super) hosts: Hosts,
    callbacks: Callbacks,
    granted: Granted,
    pub(super) trunks: Trunks,
    /// Memory for the operations of the next call.
    operations: Vec<Done<'static>>,
    pub(super) unread: Unread,
    pub(super) roles: Roles,
    /// Ports at which RPC is expected at any host.
    ports: Vec<u16>,
    /// Those at which portmappers said that one of the known programs is, and those that answered a call.
    learnt: HashSet<(ServerId, u16), RandomState>,
    pub(super) calls: u64,
    /// Those of NFS and its access control lists, and callbacks.
    pub(super) nfs_calls: u64,
    pub(super) undecoded: u64,
    /// Records of which only the beginning was kept.
    pub(super) records_cut: u64,
    /// Services whose port was not learnt, because so many were known.
    ports_overlooked: u64,
}

impl Messages {
    /// No message yet. RPC is expected at these ports of any host.
    pub(super) fn new(ports: Vec<u16>) -> Self {
        Self { ports, ..Self::default() }
    }

    /// What is known of the messages that `side` of the connection may send. `watched`: by somebody who
    /// reads all of them.
    #[inline]
    pub(super) fn listener<'a>(
        &'a self,
        id: ConnectionId,
        parties: &'a Parties,
        side: Side,
        watched: bool,
    ) -> Listener<'a> {
        Listener {
            peer: self.pairing.peer(id, side),
            unread: &self.unread,
            callbacks: &self.callbacks,
            watched,
            parties,
            side,
        }
    }

    /// Takes a record: whether it proves that the connection carries RPC. An error: it is no RPC message.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it only says who takes it")]
    pub(super) fn take(
        &mut self,
        (id, connection): (ConnectionId, &Connection),
        parties: &mut Parties,
        side: Side,
        record: &Record<'_>,
    ) -> Result<bool, DecodeError> {
        self.records_cut += u64::from(record.limit == Reason::RecordLimit);
        if let Some(xid) = xid_of_reply(record.bytes) {
            return Ok(self.take_reply((id, connection), parties, side, record, xid));
        }
        if let Some(head) = Head::of_call(record.bytes) {
            self.take_call((id, connection), parties, side, record, &head);
            return Ok(true);
        }
        self.take_other((id, connection), parties, side, record)
    }

    /// Takes a call that breaks off within its head, or what is no message.
    #[cold]
    #[inline(never)]
    fn take_other(
        &mut self,
        (id, connection): (ConnectionId, &Connection),
        parties: &mut Parties,
        side: Side,
        record: &Record<'_>,
    ) -> Result<bool, DecodeError> {
        match read_head(record) {
            Ok(head) => {
                self.take_call((id, connection), parties, side, record, &head);
                Ok(true)
            }
            Err(error) => {
                self.undecoded += 1;
                let reason =
                    if error.reason == Reason::Malformed { Reason::Desynchronised } else { error.reason };
                self.tables.note(&DecodeError { reason, ..error }, record.last, Some(id), None, None);
                if error.reason == Reason::Malformed { Err(error) } else { Ok(false) }
            }
        }
    }

    #[inline(never)]
    fn take_call(
        &mut self,
        (id, connection): (ConnectionId, &Connection),
        parties: &mut Parties,
        side: Side,
        record: &Record<'_>,
        head: &Head,
    ) {
        let callback = self.is_for_client(head.program, head.procedure, *parties.ends.of(side.other()));
        parties.client.get_or_insert(if callback { side.other() } else { side });
        let unread = || self.unread.of_call(record);
        let newer = parties.highest_xid.of(side).is_some_and(|highest| head.xid > highest);
        let is_compound = head.program == program::NFS && head.version == 4 && head.procedure == 1;
        let sequenced = if is_compound { sequence_within(record.bytes) } else { None };
        let (renewed, slot) =
            sequenced.map(|of| (of.highest, Slot { name: of.slot, request: of.compound })).unzip();
        let origin = Origin {
            connection: id,
            side,
            siblings: &parties.siblings,
            began_ns: parties.began_ns,
            newer,
            renewed,
            left_out: parties
                .replied
                .as_ref()
                .and_then(|replied| *replied.of(side.other()))
                .and_then(|(end, sent_ns)| connection.unreceived.of(side.other()).before(end, sent_ns)),
            slot,
        };
        let (outcome, displaced) = self.pairing.call(&origin, record, head, unread);
        let highest = parties.highest_xid.of_mut(side);
        *highest = (*highest).max(Some(head.xid));
        if let Some((number, request)) = displaced {
            self.leave(number, request, parties);
        }
        if matches!(outcome, CallOutcome::New) {
            let hosts = [side, side.other()].map(|side| parties.ends.of(side).ip());
            self.asynchronous.call((id, side, head.xid), hosts, head, record);
        }
        match outcome {
            CallOutcome::New if self.names.awaits() => {
                let server = parties.servers.of(if callback { side } else { side.other() });
                if let (Some(server), Some(handle)) = (*server, parties.probable_handle(record.bytes)) {
                    self.names.await_handle(server, handle);
                }
            }
            CallOutcome::New | CallOutcome::Again => {}
            CallOutcome::Answered { call, request, reply } => {
                self.complete(call, request, Some((&reply.record(), Some(connection))), parties);
            }
            CallOutcome::Late { call: number } => {
                let error = limit(Reason::RetransmittedCall, record.length);
                self.tables.note(&error, record.last, Some(id), Some(number), Some(head.xid));
            }
        }
    }

    /// Whether the reply belongs to a call.
    #[inline(never)]
    fn take_reply(
        &mut self,
        (id, connection): (ConnectionId, &Connection),
        parties: &mut Parties,
        side: Side,
        record: &Record<'_>,
        xid: u32,
    ) -> bool {
        if self.asynchronous.reply((id, side.other(), xid), record) {
            return true;
        }
        match self.pairing.reply(id, side.other(), xid, record) {
            ReplyOutcome::Early => {
                parties.callers.of_mut(side.other()).answered_unseen(xid);
                return false;
            }
            ReplyOutcome::Answers { call, request } => {
                *parties.replied.get_or_insert_default().of_mut(side) =
                    record.end().map(|end| (end, record.last.time_ns));
                self.complete(call, request, Some((record, Some(connection))), parties);
            }
            ReplyOutcome::Again { call } => self.came_again(id, call, xid, record),
        }
        true
    }

    fn came_again(&mut self, id: ConnectionId, call: u64, xid: u32, reply: &Record<'_>) {
        let error = limit(Reason::DuplicateReply, reply.length);
        self.tables.note(&error, reply.last, Some(id), Some(call), Some(xid));
    }

    pub(super) fn orphan(&mut self, connection: ConnectionId, xid: u32, reply: &Kept) {
        let error = limit(Reason::ReplyWithoutCall, reply.record().length);
        self.tables.note(&error, reply.last, Some(connection), None, Some(xid));
    }

    /// Writes the rows of a call that no reply was paired with.
    pub(super) fn leave(&mut self, call: u64, request: Box<Request>, parties: &mut Parties) {
        let place = |head: Head| (request.connection, request.caller, head.xid);
        let asked = Head::of_call(request.message.record().bytes).map(place);
        let empty = asked.and_then(|place| self.asynchronous.give_up(place));
        let reply = empty.as_ref().map(Kept::record);
        self.complete(call, request, reply.as_ref().map(|reply| (reply, None)), parties);
    }

    /// Takes the reply to a call of a connection that did not come on this.
    pub(super) fn take_reply_from_elsewhere(
        &mut self,
        place: Place,
        record: &Record<'_>,
        parties: &mut Parties,
    ) {
        if !self.asynchronous.reply(place, record) {
            self.answer(place, record, parties);
        }
    }

    /// Pairs a call with what answers it and did not come on its connection.
    pub(super) fn answer(&mut self, (id, caller, xid): Place, record: &Record<'_>, parties: &mut Parties) {
        if !self.pairing.knows(id, caller, xid) {
            return;
        }
        match self.pairing.reply(id, caller, xid, record) {
            ReplyOutcome::Answers { call, request } => {
                self.complete(call, request, Some((record, None)), parties);
            }
            ReplyOutcome::Again { call } => self.came_again(id, call, xid, record),
            ReplyOutcome::Early => {}
        }
    }

    /// Decodes a call with its reply, and the connection that this came on, if it is that of the call, and
    /// writes its rows.
    pub(super) fn complete(
        &mut self,
        call: u64,
        request: Box<Request>,
        reply: Option<(&Record<'_>, Option<&Connection>)>,
        parties: &mut Parties,
    ) {
        self.calls += 1;
        let (reply, connection) = reply.unzip();
        let beside = Beside::of(&request, reply, connection.flatten());
        let request = if parties.settled {
            request
        } else {
            let Some(request) = self.begin(call, request, reply, &beside, parties) else { return };
            request
        };
        if let Some(since) = self.write(call, &request, reply, &beside, parties) {
            parties.sealed.get_or_insert(Sealed { since, bytes: 0 });
        }
        self.pairing.recycle(request);
    }

    /// Takes a call of a connection of which none has told yet whose they are; gives it back, unless it is held.
    #[cold]
    #[inline(never)]
    fn begin(
        &mut self,
        call: u64,
        request: Box<Request>,
        reply: Option<&Record<'_>>,
        beside: &Beside,
        parties: &mut Parties,
    ) -> Option<Box<Request>> {
        let ends = parties.ends_from(request.caller);
        let waits = match self.opening(&request, reply, parties) {
            Opening::Callback => return Some(request),
            Opening::Null => self.trunks.may_join(ends),
            Opening::Login(login) => {
                self.trunks.take(ends, login);
                self.trunks.may_join(ends) && self.trunks.meets(ends, &login)
            }
            Opening::Call(session) => {
                self.settle(request.caller, session, parties);
                false
            }
            Opening::Other => {
                parties.settled = true;
                false
            }
        };
        let Some(reply) = reply.filter(|_| waits) else {
            if !parties.settled && self.trunks.party(ends) != ends {
                self.settle(request.caller, None, parties);
            }
            self.write_held(parties);
            return Some(request);
        };
        if !self.trunks.has_room(parties.held.len(), [&request.message.record(), reply]) {
            return Some(request);
        }
        self.trunks.hold();
        parties.held.push(Held { call, request, reply: Kept::beginning(reply), beside: *beside });
        None
    }

    /// What a call at the beginning of a connection tells of who makes it.
    fn opening(&mut self, request: &Request, reply: Option<&Record<'_>>, parties: &Parties) -> Opening {
        let message = request.message.record();
        let mut c = message.cursor();
        let Ok((header, stop)) = Call::of_message(&mut c) else { return Opening::Other };
        if self.is_for_client(header.program, header.procedure, *parties.ends.of(request.caller.other())) {
            return Opening::Callback;
        }
        match (header.program, header.version, header.procedure) {
            (program::NFS, 4, 0) if header.control().is_none() => return Opening::Null,
            (program::NFS, 4, 1) => {}
            _ => return Opening::Other,
        }
        let arguments = match stop {
            Some(stop) => Err(stop),
            None => unwrap_body(&mut c, &header.credential, Layer::Call),
        };
        let answer = reply.map(|reply| Answer::of(reply, &header.credential)).unwrap_or_default();
        let room = std::mem::take(&mut self.operations);
        let shape = protocol(header.program, header.version).shape;
        let walk = Walk::of(room, shape, header.procedure, arguments, answer.results);
        let login = self.login_in(&walk, &header, request, reply);
        let session = walk.operations.first().filter(|done| done.facts.status == Some(0));
        let opening = match (login, walk.minor) {
            (Some(login), _) => Opening::Login(login),
            (None, Some(1..)) => Opening::Call(session.and_then(|done| done.facts.session)),
            (None, _) => Opening::Other,
        };
        self.operations = emptied(walk.operations);
        opening
    }

    /// The login that a call and its reply bring.
    fn login_in(
        &self,
        walk: &Walk<'_>,
        header: &Call<'_>,
        request: &Request,
        reply: Option<&Record<'_>>,
    ) -> Option<Login> {
        let told = walk.operations.iter().find(|done| done.facts.rare().server_owner.is_some())?;
        self.trunks.login(&told.facts, header.xid, request.message.first.time_ns, reply?.last.time_ns)
    }

    /// Takes the first call of a connection that names a session, or the last of one on which none does.
    fn settle(&mut self, client: Side, session: Option<[u8; 16]>, parties: &mut Parties) {
        parties.settled = true;
        let ends = parties.ends_from(client);
        self.trunks.prove(ends, session);
        let party = self.trunks.party(ends);
        if party == ends {
            self.trunks.use_ends(ends);
        } else {
            self.adopt(client, party, parties);
        }
    }

    /// Calls client and server of a connection by other addresses that they have.
    fn adopt(&mut self, client: Side, party: Ends, parties: &mut Parties) {
        let server = self.hosts.server(party.1);
        let pair = self.hosts.pair(party.0, server);
        for (side, address, one_of_many) in
            [(client, party.0, pair.any_client), (client.other(), party.1, pair.any_server)]
        {
            let name = if one_of_many { OTHERS.to_owned() } else { address.to_string() };
            parties.addresses.of_mut(side).set(&name);
        }
        *parties.servers.of_mut(client.other()) = Some(server);
        *parties.mounts.of_mut(client) = Some(pair.mount);
        let end = *parties.ends.of(client.other());
        if !self.expects_at(end) {
            let server = self.hosts.server(end.ip());
            self.remember_port(server, end.port());
        }
        self.callbacks.share(party.0, parties.ends.of(client).ip());
    }

    /// Writes the rows of calls that were held.
    fn write_held(&mut self, parties: &mut Parties) {
        let held = std::mem::take(&mut parties.held);
        self.trunks.let_go(held.len());
        for Held { call, request, reply, beside } in held {
            self.write(call, &request, Some(&reply.record()), &beside, parties);
            self.pairing.recycle(request);
        }
    }

    /// Writes what is still held of a connection that is over.
    pub(super) fn release(&mut self, parties: &mut Parties) {
        if let Some(held) = parties.held.first() {
            self.settle(held.request.caller, None, parties);
            self.write_held(parties);
        }
    }

    /// Notes a connection under TLS: one note, however long it was.
    pub(super) fn seal(&mut self, id: ConnectionId, sealed: Sealed) {
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
        reply: Option<&Record<'_>>,
        beside: &Beside,
        parties: &mut Parties,
    ) -> Option<Stamp> {
        let message = request.message.record();
        let mut c = message.cursor();
        let Ok((header, stop)) = Call::of_message(&mut c) else { return None }; // It was parsed when it came.
        let arguments = match stop {
            Some(stop) => Err(stop),
            None => unwrap_body(&mut c, &header.credential, Layer::Call),
        };
        let answer_status =
            reply.filter(|_| header.program == program::NLM).and_then(|reply| status_in(reply)?.ok());
        let answer = match answer_status {
            None => reply.map(|reply| Answer::of(reply, &header.credential)).unwrap_or_default(),
            Some(_) => {
                Answer { status: Some(ReplyStatus::Accepted(AcceptStatus::SUCCESS)), ..Answer::default() }
            }
        };
        let called_back = self.callbacks.names(parties.ends.of(request.caller.other()).ip(), header.program);
        let protocol =
            if called_back { callback_protocol() } else { protocol(header.program, header.version) };
        let control = header.control();
        let shape = if control.is_some() { Shape::Void } else { protocol.shape };
        let room = std::mem::take(&mut self.operations);
        let mut walk = Walk::of(room, shape, header.procedure, arguments, answer.results);
        if let Some(status) = answer_status {
            walk.tell(status);
        }
        // What a server calls at its client, on its own count, tells nothing of who serves.
        let answered = match answer_status {
            None => reply.and_then(|reply| xid_of_reply(reply.bytes)),
            Some(_) => Some(header.xid),
        };
        let callback = called_back || program::is_for_client(header.program, header.procedure);
        if let Some(xid) = answered.filter(|_| !callback) {
            parties.callers.of_mut(request.caller).answered(xid);
        }
        let asking = self.asking(request.caller, callback, reply.is_some(), &walk, parties);
        self.learn(&asking, &header, &walk, parties);
        if self.placed.tells_servers
            && let Some(login) = self.login_in(&walk, &header, request, reply)
        {
            self.trunks.take(parties.ends_from(asking.client), login);
        }
        let handle = walk.operations.iter().find_map(|done| done.facts.handle);
        let handle_at = handle.and_then(|handle| u32::try_from(offset_in(message.bytes, handle)?).ok());
        parties.handle_at = handle_at.and_then(NonZeroU32::new);
        let call_stop = walk.call_stop.as_ref();
        let reply_stop = walk.reply_stop.as_ref().or(answer.refusal_stop.as_ref());
        for (stop, record) in [(call_stop, Some(&message)), (reply_stop, reply)] {
            if let (Some(stop), Some(record)) = (stop, record) {
                self.undecoded += 1;
                self.tables.note(stop, record.last, Some(request.connection), Some(call), Some(header.xid));
            }
        }
        if let Credential::Sys { machine, .. } = header.credential {
            parties.names(machine);
        }
        let number;
        let procedure_name = if let Some(name) = procedure_name(control, &header, shape, &walk) {
            name
        } else {
            number = header.procedure.to_string();
            &number
        };
        let elsewhere = asking.elsewhere.map(|client| {
            let server = self.hosts.servers().get(asking.server as usize).cloned().unwrap_or_default();
            (Word::new(client.to_string()), Word::new(server))
        });
        let (client, server) = elsewhere.unzip();
        self.tables.append(&Exchange {
            call,
            machine: &parties.machine,
            client: client.as_ref().unwrap_or(parties.addresses.of(asking.client)),
            server: server.as_ref().unwrap_or(parties.addresses.of(asking.client.other())),
            mount: asking.mount,
            callback: asking.callback,
            request,
            header: &header,
            reply,
            first_arrived: request.first_arrived(reply.map(|reply| reply.last.time_ns), beside.resent),
            resent: beside.resent,
            resent_before_ns: beside.resent_before_ns,
            left_out: beside.left_out,
            left_out_before: request.left_out_before.as_deref().copied(),
            reply_clock: beside.reply_clock,
            reply_status: answer.status,
            protocol: protocol.name,
            statuses: protocol.statuses,
            procedure_name,
            walk: &walk,
            placed: &self.placed,
            stop: call_stop.or(reply_stop),
        });
        self.operations = emptied(walk.operations);
        let granted = |reply: &&Record<'_>| control == Some(tls::STARTTLS) && tls::grants(reply.bytes);
        reply.filter(granted).map(|reply| reply.last)
    }

    /// Who asks whom in a call, whose connection may be new.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it has one caller")]
    fn asking(
        &mut self,
        caller: Side,
        callback: bool,
        answered: bool,
        walk: &Walk<'_>,
        parties: &mut Parties,
    ) -> Asking {
        let client = if callback { caller.other() } else { caller };
        if callback && let Some(agreed) = self.agreed_elsewhere(client, walk, parties) {
            return agreed;
        }
        let server = self.server(parties, client.other());
        let mount = if let Some(known) = *parties.mounts.of(client) {
            known
        } else {
            if answered && !callback {
                self.learn_port(server, *parties.ends.of(client.other()));
            }
            self.mount(parties, client, server)
        };
        Asking { callback, client, server, mount, elsewhere: None }
    }

    /// Who asks whom in a callback that was agreed between other addresses than those of its connection.
    #[inline(never)]
    fn agreed_elsewhere(&self, client: Side, walk: &Walk<'_>, parties: &Parties) -> Option<Asking> {
        let mount = self.granted.of_callback(walk)?;
        let (address, server) = self.hosts.told_apart(mount)?;
        let [there, from] = [client, client.other()].map(|side| parties.ends.of(side).ip());
        let joined = *parties.mounts.of(client) == Some(mount);
        let here = joined || there == address && self.hosts.find(from) == Some(server);
        (!here).then_some(Asking { callback: true, client, server, mount, elsewhere: Some(address) })
    }

    /// Learns what a call and its reply tell for others: of files, of the connection, of servers. Where
    /// their operations belong is in `placed` then.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it has one caller")]
    fn learn(&mut self, asking: &Asking, header: &Call<'_>, walk: &Walk<'_>, parties: &mut Parties) {
        let of_nfs = matches!(header.program, program::NFS | program::NFSACL);
        self.nfs_calls += u64::from(asking.callback || of_nfs);
        if header.program == program::PORTMAP {
            self.learn_ports(asking.server, walk);
        }
        if header.program == program::NFS {
            parties.carried.add(header.version, walk);
        }
        if !asking.callback
            && matches!((header.program, header.version), (program::NFS, 4) | (program::NLM, _))
        {
            let another = self.granted.learn(asking.mount, walk, &mut parties.session);
            if another && self.trunks.knows_logins() {
                let ends = parties.ends_from(asking.client);
                if let Some(session) = parties.session.as_deref() {
                    self.trunks.use_session(ends, *session);
                }
            }
        }
        self.names.place(asking.server, &walk.operations, &mut self.placed);
        if self.placed.tells_servers {
            self.learn_servers(asking.server, *parties.ends.of(asking.client.other()), walk);
        }
        if self.placed.names_callbacks {
            let programs = walk.operations.iter().filter_map(|done| done.facts.rare().callback_program);
            programs.for_each(|program| self.callbacks.learn(parties.ends.of(asking.client).ip(), program));
        }
    }

    /// Whether the procedure is one that a server calls at the client at `called`.
    #[inline]
    pub(super) fn is_for_client(&self, program: u32, procedure: u32, called: SocketAddr) -> bool {
        program::is_for_client(program, procedure) || self.callbacks.names(called.ip(), program)
    }

    /// Services whose port was not learnt, and programs of callbacks, because so many were known.
    pub(super) fn services_overlooked(&self) -> u64 {
        self.ports_overlooked + self.callbacks.overlooked
    }

    fn server(&mut self, parties: &mut Parties, side: Side) -> ServerId {
        let address = parties.ends.of(side).ip();
        *parties.servers.of_mut(side).get_or_insert_with(|| self.hosts.server(address))
    }

    /// The number of the client with the server, of which this connection brings the first call.
    fn mount(&mut self, parties: &mut Parties, client: Side, server: ServerId) -> u32 {
        let pair = self.hosts.pair(parties.ends.of(client).ip(), server);
        for (side, one_of_many) in [(client, pair.any_client), (client.other(), pair.any_server)] {
            if one_of_many {
                parties.addresses.of_mut(side).set(OTHERS);
            }
        }
        *parties.mounts.of_mut(client) = Some(pair.mount);
        pair.mount
    }

    /// Learns what the server at `address` says of itself and of data servers.
    fn learn_servers(&mut self, server: ServerId, address: SocketAddr, walk: &Walk<'_>) {
        let succeeded = walk.operations.iter().filter(|done| done.facts.status == Some(0));
        for told in succeeded.filter_map(|done| done.facts.rare().pnfs.as_ref()) {
            if let Some(flags) = told.server_flags {
                self.roles.tell(address, flags);
            }
            for data_server in &told.data_servers {
                if let (true, Some(device)) = (self.roles.name(*data_server), told.device) {
                    let data_server = self.hosts.server(data_server.address.ip());
                    self.names.locate_device(server, device, data_server);
                }
            }
        }
    }

    fn learn_ports(&mut self, server: ServerId, walk: &Walk<'_>) {
        for service in walk.operations.iter().flat_map(|done| &done.facts.rare().services) {
            if service.port != 0 && program::find(service.program).is_some() {
                self.remember_port(server, service.port);
            }
        }
    }

    /// Learns where a server answered the first call of a connection: others go there, too, of which the
    /// first message may be one that its form alone does not prove.
    fn learn_port(&mut self, server: ServerId, end: SocketAddr) {
        if !self.expects_at(end) {
            self.remember_port(server, end.port());
        }
    }

    fn remember_port(&mut self, server: ServerId, port: u16) {
        let place = (server, port);
        if self.learnt.len() < LEARNT_LIMIT {
            self.learnt.insert(place);
        } else if !self.learnt.contains(&place) {
            self.ports_overlooked += 1;
        }
    }

    /// Whether RPC is expected at this end: by its port, or since others said so.
    pub(super) fn expects_at(&self, end: SocketAddr) -> bool {
        let server = if self.learnt.is_empty() { None } else { self.hosts.find(end.ip()) };
        self.ports.contains(&end.port())
            || self.roles.is_named(end)
            || server.is_some_and(|server| self.learnt.contains(&(server, end.port())))
    }
}

/// What the connection of a reply tells of a call, when that is answered.
#[derive(Clone, Copy, Default)]
pub(super) struct Beside {
    /// A segment was sent again meanwhile.
    resent: bool,
    /// When one was sent again before the call began.
    resent_before_ns: Option<i64>,
    /// What the last acknowledgement of less than all of the call left out.
    left_out: Option<LeftOut>,
    /// The clock of who replied.
    reply_clock: Option<u32>,
}

impl Beside {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it has one caller")]
    fn of(request: &Request, reply: Option<&Record<'_>>, connection: Option<&Connection>) -> Self {
        let Some(known) = connection else { return Self::default() };
        let clock = *known.clocks.of(request.caller.other());
        // A reply that came before its call is older than what came last.
        let told = clock != 0 && reply.is_some_and(|reply| reply.last == known.last);
        Self {
            resent: known.resent_ns >= request.message.first.time_ns,
            resent_before_ns: known.resent_before(request.message.first.time_ns),
            left_out: request.end.and_then(|end| {
                let end = SeqNumber(end.get());
                known.unreceived.of(request.caller).before(end, request.message.last.time_ns)
            }),
            reply_clock: told.then_some(clock),
        }
    }
}

/// Who asks whom in a call.
struct Asking {
    /// The server asks the client.
    callback: bool,
    client: Side,
    server: ServerId,
    mount: u32,
    /// The address of the client, where this is not that of the connection, nor may the server be.
    elsewhere: Option<IpAddr>,
}

/// What a reply says before its results, and these.
#[derive(Default)]
struct Answer<'a> {
    status: Option<ReplyStatus>,
    /// None where there are none: the call was refused.
    results: Option<Result<Cursor<'a>, DecodeError>>,
    /// Where a refusal breaks off.
    refusal_stop: Option<DecodeError>,
}

impl<'a> Answer<'a> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it has one caller")]
    fn of(reply: &'a Record<'_>, credential: &Credential<'_>) -> Self {
        let mut c = reply.cursor();
        match ReplyStatus::of_message(&mut c) {
            Err(stop) => Self { results: Some(Err(stop)), ..Self::default() },
            Ok(status @ ReplyStatus::Accepted(AcceptStatus::SUCCESS)) => {
                let results = Some(unwrap_results(&mut c, credential, reply.bytes));
                Self { status: Some(status), results, refusal_stop: None }
            }
            // Refused is refused, however the reply ends: the outcome is known.
            Ok(status) => {
                let refusal_stop = status.end_of_refusal(&mut c).err();
                Self { status: Some(status), results: None, refusal_stop }
            }
        }
    }
}

/// The name of a call's procedure; None where it has but a number.
#[inline]
fn procedure_name(
    control: Option<&'static str>,
    header: &Call<'_>,
    shape: Shape,
    walk: &Walk<'_>,
) -> Option<&'static str> {
    match (control, header.procedure) {
        (Some(control), _) => Some(control),
        (None, 0) => Some("NULL"),
        (None, 1) if matches!(shape, Shape::Compound(_)) => Some("COMPOUND"),
        (None, _) => walk.operations.first().map(|done| done.operation.name),
    }
}

/// The head of a message that is a call, or breaks off before it says so.
fn read_head(record: &Record<'_>) -> Result<Head, DecodeError> {
    let mut c = Cursor::of_prefix(record.bytes, record.total(), record.limit, Layer::Rpc);
    let xid = c.u32()?;
    let before = c.clone();
    if c.u32()? == 0 { Head::parse(&mut c, xid) } else { Err(before.malformed()) }
}

/// A note that is no failure of a parser: the whole message is meant.
pub(super) fn limit(reason: Reason, length: usize) -> DecodeError {
    DecodeError { layer: Layer::Rpc, reason, offset: 0, needed: length, available: length }
}
