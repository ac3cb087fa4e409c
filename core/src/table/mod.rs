//! Rows → Arrow batches: what the decoder knows of a call, written down in columns.
//!
//! The only place where borrowed facts become owned values.

pub mod columns;

pub mod parquet;

pub mod schema;

mod signature;

mod texts;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::error::DecodeError;
use crate::names::identity::Identities;
use crate::names::paths::Paths;
use crate::names::{FileId, Names, Place, Placed};
use crate::nfs::facts::{Attributes, Entry, Facts, Rare};
use crate::nfs::status::Statuses;
use crate::nfs::{Done, Outcome, Walk};
use crate::roles::Role;
use crate::rpc::message::{Call, Credential, ReplyStatus};
use crate::rpc::pairing::Request;
use crate::rpc::record::Record;
use crate::stream::assembler::Stamp;
use crate::stream::{Connection, ConnectionId, Opening, Side, Sides, Transport};
use crate::table::columns::{Naming, Row, Word, Wording};
use crate::table::schema::{
    CallsBatch, ConnectionsBatch, EntriesBatch, FilesBatch, NamesBatch, NotesBatch, OperationsBatch, append,
};
use crate::table::signature::Signatures;
use crate::table::texts::{
    Masks, beginning, class_named, data_content, delegation, file_type, flavors, level, protocol_name,
    services, software, status_named,
};

/// Rows of one table that leave together, but for the last: few enough for the processor's cache, and for
/// the allocator to use the memory of one batch for the next.
pub const BATCH_ROWS: usize = 4096;

/// Bytes of paths that leave together, about: of 4,096 long ones they would be 50 MB, and some batches wait
/// for whoever takes them.
const PATHS_BYTES: usize = 1 << 20;

/// Everything about a call that becomes rows.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// Its number.
    pub call: u64,
    /// Address of the NFS client.
    pub client: &'a Word,
    /// Address of the NFS server.
    pub server: &'a Word,
    /// Number of this pair of client and server.
    pub mount: u32,
    /// The server called the client.
    pub callback: bool,
    /// The call as it was carried.
    pub request: &'a Request,
    /// Its header.
    pub header: &'a Call<'a>,
    /// The host that it names, if its credential is AUTH_SYS.
    pub machine: &'a Word,
    /// The reply as it was carried.
    pub reply: Option<&'a Record<'a>>,
    /// A segment was sent again on the connection meanwhile.
    pub resent: bool,
    /// When the other side last acknowledged less than all of the call, after it was sent.
    pub unreceived_ns: Option<i64>,
    /// How the reply answers.
    pub reply_status: Option<ReplyStatus>,
    /// Name of the protocol, without the minor version.
    pub protocol: &'static str,
    /// The statuses that it uses.
    pub statuses: Statuses,
    /// Name of the procedure where no operation tells it.
    pub procedure_name: &'a str,
    /// The operations.
    pub walk: &'a Walk<'a>,
    /// What they are about, and what they taught.
    pub placed: &'a Placed,
    /// Where the call or the reply stopped being decodable.
    pub stop: Option<&'a DecodeError>,
}

/// The tables of a decode.
#[derive(Default)]
pub struct Tables {
    calls: Box<CallsBatch>,
    operations: Box<OperationsBatch>,
    files: Box<FilesBatch>,
    names: Box<NamesBatch>,
    entries: Box<EntriesBatch>,
    connections: Box<ConnectionsBatch>,
    notes: Box<NotesBatch>,
    signatures: Signatures,
    text: String,
    masks: Masks,
    /// A table has enough rows to leave.
    full: bool,
}

/// What is left to write of the objects.
pub struct Ending {
    identities: Identities,
    paths: Paths,
    /// Objects that are not written now, since they are kept.
    keep: Vec<bool>,
    /// Objects that were gone through.
    passed: usize,
}

impl Ending {
    /// Of those that are to be forgotten.
    pub fn forgetting(names: &Names) -> Self {
        let identities = Identities::new(names);
        let keep = names.chosen(&identities);
        Self { identities, paths: Paths::new(names), keep, passed: 0 }
    }

    /// The objects that stay.
    pub fn kept(&self) -> &[bool] {
        &self.keep
    }

    fn keeps(&self, id: FileId) -> bool {
        self.keep.get(id as usize).copied().unwrap_or_default()
    }

    /// What stands for the file of an object: itself, where that is not written now.
    fn identity(&self, id: FileId) -> FileId {
        Some(self.identities.of(id)).filter(|identity| !self.keeps(*identity)).unwrap_or(id)
    }
}

/// Columns that are wanted, by table. A table that is not named is left out.
pub type Choice = BTreeMap<String, BTreeSet<String>>;

impl Tables {
    /// Leaves out the tables and columns that nobody wants: what is not written need not be stored.
    pub fn choose(&mut self, choice: &Choice) {
        macro_rules! choose {
            ($($table:ident)+) => {
                $(let columns = choice.get(stringify!($table));
                self.$table.choose(|column| columns.is_some_and(|columns| columns.contains(column)));)+
            };
        }
        choose!(calls operations files names entries connections notes);
    }

    /// Whether a table has enough rows to leave.
    #[inline]
    pub fn full(&self) -> bool {
        self.full
    }

    /// Hands over the tables that have enough rows to leave, or at the end all that have any.
    pub fn take(&mut self, all: bool) -> Result<Vec<(&'static str, RecordBatch)>, ArrowError> {
        let mut batches = Vec::new();
        macro_rules! take {
            ($($table:ident)+) => {
                $(self.$table.take(all, &mut batches)?;)+
            };
        }
        take!(calls operations files names entries connections notes);
        self.full = false;
        Ok(batches)
    }

    /// Writes a call, its operations, the names that they bound and the entries that they listed.
    pub fn append(&mut self, exchange: &Exchange<'_>) {
        if !self.calls.idle() {
            self.append_call(exchange);
        }
        let mut listed = exchange.placed.listed.iter();
        let (operations, entries) = (!self.operations.idle(), !self.entries.idle());
        for (position, (done, place)) in
            exchange.walk.operations.iter().zip(&exchange.placed.places).enumerate()
        {
            if operations {
                self.append_operation(exchange, position as u32, done, *place);
            }
            let Some(rare) = done.facts.rare.as_ref().filter(|_| entries) else { continue };
            for entry in &rare.entries {
                let file = listed.next().copied().flatten();
                self.append_entry(exchange.call, position as u32, *place, entry, file);
            }
        }
        let names = !self.names.idle();
        for binding in exchange.placed.bindings.iter().filter(|_| names) {
            append!(
                &mut *self.names,
                call: exchange.call,
                position: binding.position as u32,
                directory: binding.directory,
                name: exchange.placed.name(binding),
                file: binding.file,
            );
        }
        self.measure();
    }

    /// Looks whether a table that grows while packets are read has enough rows to leave.
    #[inline]
    fn measure(&mut self) {
        self.full = self.calls.is_full()
            || self.operations.is_full()
            || self.names.is_full()
            || self.entries.is_full()
            || self.notes.is_full();
    }

    /// Writes a note on something that was not decoded or came twice.
    pub fn note(
        &mut self,
        error: &DecodeError,
        at: Stamp,
        connection: Option<ConnectionId>,
        call: Option<u64>,
        xid: Option<u32>,
    ) {
        append!(
            &mut *self.notes,
            reason: Naming::Name(error.reason.code()),
            layer: Naming::Name(error.layer.name()),
            frame: at.frame,
            time: at.time_ns,
            connection: connection,
            call: call,
            xid: xid,
            offset: Some(error.offset as u32),
            needed: Some(error.needed as u32),
            available: Some(error.available as u32),
        );
        self.measure();
    }

    /// Writes a connection that carried RPC.
    ///
    /// `addresses` are what its ends are called; `role` is that of its server in pNFS; `sealed` is how many
    /// bytes of it were under TLS, if it was.
    pub fn append_connection(
        &mut self,
        id: ConnectionId,
        connection: &Connection,
        client: Side,
        addresses: &Sides<Word>,
        role: Option<Role>,
        sealed: Option<u64>,
    ) {
        let (near, far) = (connection.ends.of(client), connection.ends.of(client.other()));
        let (up, down) = (connection.counts.of(client), connection.counts.of(client.other()));
        let (from_client, from_server) = (connection.acks.of(client), connection.acks.of(client.other()));
        let (client_slow, server_slow) = (from_client.slower(), from_server.slower());
        let last_ns = connection.last.time_ns;
        let syn = connection.syn.map(|(_, time_ns)| time_ns);
        let between = |from: Option<i64>, to: Option<i64>| Some(to?.saturating_sub(from?));
        let opener_is_client = connection.syn.is_some_and(|(opener, _)| opener == client);
        let opening = if opener_is_client { connection.opening } else { Opening::default() };
        append!(
            &mut *self.connections,
            connection: id,
            transport: Naming::Name(match connection.transport {
                Transport::Tcp => "TCP",
                Transport::Udp => "UDP",
            }),
            client: Wording::Word(addresses.of(client)),
            client_port: u32::from(near.port()),
            server: Wording::Word(addresses.of(client.other())),
            server_port: u32::from(far.port()),
            role: role.map(Role::name).map(Naming::Name),
            first_frame: connection.first.frame,
            first_time: connection.first.time_ns,
            last_time: connection.last.time_ns,
            handshake: connection.established.is_some(),
            syn_rtt: between(syn, connection.syn_ack).filter(|_| opener_is_client),
            ack_rtt: between(connection.syn_ack, connection.established).filter(|_| opener_is_client),
            syns: opening.syns,
            syn_time: opening.first_ns,
            syn_acks: u32::from(opening.syn_acks),
            syn_ack_time: connection.syn_ack.filter(|_| opener_is_client),
            challenge_acks: u32::from(opening.challenges),
            refusals: opening.refusals,
            attempts: opening.attempts,
            attempted_time: opening.attempted_ns,
            client_fin_time: up.fin,
            server_fin_time: down.fin,
            client_rst_time: up.rst,
            server_rst_time: down.rst,
            client_unacked: up.unacknowledged.map(u64::from),
            server_unacked: down.unacknowledged.map(u64::from),
            server_lost: u64::from(down.lost_bytes),
            client_acks: from_client.alone().count,
            client_ack_min: from_client.alone().least(),
            client_ack_rtt: from_client.prompt(),
            client_turns: from_client.with_data().count,
            client_turn_min: from_client.with_data().least(),
            client_turn_rtt: from_client.turn(),
            client_slow_from: client_slow.map(|slow| slow.from_ns),
            client_slow_until: client_slow.map(|slow| slow.until_ns),
            client_slow_rtt: client_slow.map(|slow| slow.least),
            client_slow_acks: client_slow.map(|slow| slow.alone),
            client_slow_turns: client_slow.map(|slow| slow.with_data),
            client_slow_full: client_slow.map(|slow| slow.full),
            client_slow_soon: client_slow.map(|slow| slow.soon),
            server_acks: from_server.alone().count,
            server_ack_min: from_server.alone().least(),
            server_ack_rtt: from_server.prompt(),
            server_turns: from_server.with_data().count,
            server_turn_min: from_server.with_data().least(),
            server_turn_rtt: from_server.turn(),
            server_slow_from: server_slow.map(|slow| slow.from_ns),
            server_slow_until: server_slow.map(|slow| slow.until_ns),
            server_slow_rtt: server_slow.map(|slow| slow.least),
            server_slow_acks: server_slow.map(|slow| slow.alone),
            server_slow_turns: server_slow.map(|slow| slow.with_data),
            server_slow_full: server_slow.map(|slow| slow.full),
            server_slow_soon: server_slow.map(|slow| slow.soon),
            segment_size: connection.segment_size.map(u32::from),
            client_segments: up.segments,
            server_segments: down.segments,
            client_bytes: up.bytes,
            server_bytes: down.bytes,
            retransmitted: up.retransmitted + down.retransmitted,
            out_of_order: u64::from(up.out_of_order) + u64::from(down.out_of_order),
            client_resent: up.retransmitted + u64::from(up.refilled),
            server_resent: down.retransmitted + u64::from(down.refilled),
            client_spurious: u64::from(up.spurious),
            server_spurious: u64::from(down.spurious),
            client_early: u64::from(up.early),
            server_early: u64::from(down.early),
            client_ack_waits: u64::from(up.ack_waits),
            server_ack_waits: u64::from(down.ack_waits),
            missing_bytes: up.missing_bytes + down.missing_bytes,
            truncated_bytes: up.truncated_bytes + down.truncated_bytes,
            zero_windows: up.zero_windows + down.zero_windows,
            client_zero_window: up.zero_window_until(last_ns),
            server_zero_window: down.zero_window_until(last_ns),
            tls: sealed.is_some(),
            sealed_bytes: sealed.unwrap_or(0),
        );
    }

    /// What there is to write of the objects, once all names are known.
    pub fn ending(&self, names: &Names) -> Option<Ending> {
        let all = || Ending {
            identities: Identities::new(names),
            paths: Paths::new(names),
            keep: Vec::new(),
            passed: 0,
        };
        (!self.files.idle()).then(all)
    }

    /// Writes some objects with their paths: of a million of them, all at once would take as much memory
    /// as everything else. `false` when there are no more.
    pub fn append_files(&mut self, ending: &mut Ending, names: &Names, servers: &[String]) -> bool {
        let left = names.files().get(ending.passed..).unwrap_or_default();
        if self.files.idle() {
            return false;
        }
        let (mut bytes, mut rows) = (0, 0);
        for (id, file) in (ending.passed as FileId..).zip(left) {
            ending.passed += 1;
            if ending.keeps(id) {
                continue;
            }
            let identity = ending.identity(id);
            let location = ending.paths.locate(names, id);
            bytes += location.path.len();
            let fsid = names.fsid(file);
            append!(
                &mut *self.files,
                file: names.number(id),
                identity: names.number(identity),
                server: Wording::Text(servers.get(file.server as usize).map_or("", String::as_str)),
                handle: names.handle(id),
                r#type: file.file_type().map(file_type),
                fsid_major: fsid.map(|(major, _)| major),
                fsid_minor: fsid.map(|(_, minor)| minor),
                fileid: file.fileid,
                size: file.size,
                parent: file.parent.map(|parent| names.number(parent)),
                name: names.name(id),
                path: location.path,
                export: location.export,
                role: Naming::Name(location.role.name()),
                listed_only: !file.addressed,
                removed: file.removed || ending.identities.vanished(names, id),
            );
            rows += 1;
            if bytes >= PATHS_BYTES {
                self.files.complete();
                break;
            }
            if rows >= BATCH_ROWS {
                break;
            }
        }
        names.files().len() > ending.passed
    }

    fn append_call(&mut self, exchange: &Exchange<'_>) {
        let walk = exchange.walk;
        let Outcome { main, class, assumed, unlisted } = walk.outcome();
        let done = main.and_then(|main| walk.operations.get(main));
        let place = main.and_then(|main| exchange.placed.places.get(main)).copied().unwrap_or_default();
        let procedure = exchange.procedure_name;
        let (op, wording) = done
            .map_or((procedure, Wording::Text(procedure)), |Done { operation, .. }| {
                (operation.name, Wording::Name(operation.name))
            });
        let signature = self.signatures.word(walk, op);
        let message = &exchange.request.message;
        let slot = walk.operations.iter().find_map(|done| done.facts.slot);
        let session = walk.operations.iter().find_map(|done| done.facts.session.as_ref());
        let (uid, gid, machine) = match exchange.header.credential {
            Credential::Sys { uid, gid, .. } => (Some(uid), Some(gid), Some(Wording::Word(exchange.machine))),
            _ => (None, None, None),
        };
        let status = walk.status;
        append!(
            &mut *self.calls,
            call: exchange.call,
            connection: exchange.request.connection,
            client: Wording::Word(exchange.client),
            server: Wording::Word(exchange.server),
            mount: exchange.mount,
            callback: exchange.callback,
            xid: exchange.header.xid,
            program: exchange.header.program,
            version: exchange.header.version,
            minor: walk.minor,
            procedure: exchange.header.procedure,
            protocol: Naming::Name(protocol_name(exchange.protocol, walk.minor)),
            op: wording,
            signature: Wording::Word(signature),
            call_first_frame: message.first.frame,
            call_frame: message.last.frame,
            reply_first_frame: exchange.reply.map(|reply| reply.first.frame),
            reply_frame: exchange.reply.map(|reply| reply.last.frame),
            call_first_time: message.first.time_ns,
            call_time: message.last.time_ns,
            reply_first_time: exchange.reply.map(|reply| reply.first.time_ns),
            reply_time: exchange.reply.map(|reply| reply.last.time_ns),
            srt: exchange.reply.map(|reply| reply.last.time_ns.saturating_sub(message.last.time_ns)),
            call_bytes: message.record().length as u32,
            reply_bytes: exchange.reply.map(|reply| reply.length as u32),
            transmissions: exchange.request.transmissions,
            tcp_resent: exchange.resent,
            unreceived_time: exchange.unreceived_ns,
            rpc_status: exchange.reply_status.map(|status| Naming::Name(status.name())),
            status: status,
            status_name: status.map(|status| status_named(exchange.statuses, status)),
            flavor: Naming::Name(exchange.header.credential.flavor_name()),
            uid: uid,
            gid: gid,
            machine: machine,
            session: session.map(<[u8; 16]>::as_slice),
            slot: slot,
            stability: class_named(class),
            assumed: assumed,
            unlisted: unlisted,
            file: place.file,
            directory: place.directory,
            operations: walk.in_call,
            executed: walk.in_reply,
            undecoded: exchange.stop.map(|stop| Naming::Name(stop.reason.code())),
        );
    }

    fn append_operation(&mut self, exchange: &Exchange<'_>, position: u32, done: &Done<'_>, place: Place) {
        let facts = &done.facts;
        let at = append!(
            &mut *self.operations,
            call: exchange.call,
            position: position,
            opcode: done.number,
            op: Naming::Name(done.operation.name),
            executed: done.executed,
            status: facts.status,
            status_name: facts.status.map(|status| status_named(exchange.statuses, status)),
            stability: class_named(done.class()),
            file: place.file,
            directory: place.directory,
            target_directory: place.target_directory,
            name: facts.name,
            created: created(facts),
            create_mode: facts.create_mode,
            offset: facts.offset,
            requested: facts.count_requested,
            count: facts.count,
            eof: facts.eof,
            stable_requested: facts.stable_requested.map(level),
            committed: facts.committed.map(level),
            verifier: facts.verifier,
            set_size: facts.set_size,
            attributes: facts.attribute_mask.map(|mask| Wording::Word(self.masks.word(mask))),
            access_requested: facts.access_requested,
            access_granted: facts.access_granted,
            share_access: facts.share_access,
            delegation: facts.delegation.map(delegation),
            stateid: facts.stateid.as_ref().map(|stateid| stateid.other.as_slice()),
            highest_slot: facts.highest_slot,
            target_highest_slot: facts.target_highest_slot,
            text: facts.text,
        );
        self.operations.put_attributes(at, facts);
        if let Some(cookie) = facts.cookie {
            let entries = || facts.rare().entries.len() as u32;
            self.operations.cookie.put(at, cookie);
            self.operations.entries.put(at, facts.eof.map(|_| entries()));
        }
        if let Some(rare) = &facts.rare {
            self.operations.put_rare(at, rare);
            if facts.text.is_none() {
                self.operations.text.put(at, services(&rare.services, &mut self.text).map(str::as_bytes));
            }
            self.operations.flavors.put(at, flavors(&rare.flavors, &mut self.text).map(str::as_bytes));
            self.operations.put_software(at, rare);
        }
    }

    fn append_entry(
        &mut self,
        call: u64,
        position: u32,
        place: Place,
        entry: &Entry<'_>,
        file: Option<FileId>,
    ) {
        let attributes = entry.attributes.as_ref();
        append!(
            &mut *self.entries,
            call: call,
            position: position,
            directory: place.file,
            name: entry.name,
            file: file,
            fileid: entry.fileid.or(attributes.and_then(|attributes| attributes.fileid)),
            r#type: attributes.and_then(|attributes| attributes.file_type).map(file_type),
            size: attributes.and_then(|attributes| attributes.size),
            change: attributes.and_then(|attributes| attributes.change),
            mtime: attributes.and_then(|attributes| attributes.mtime_ns),
            ctime: attributes.and_then(|attributes| attributes.ctime_ns),
        );
    }
}

/// The columns that come from one of the groups below. Most operations lack a group altogether: its
/// columns are then passed over with one question instead of one each.
impl OperationsBatch {
    fn put_attributes(&mut self, at: Row, facts: &Facts<'_>) {
        if let Some(change) = &facts.change {
            self.change_before.put(at, change.before);
            self.change_after.put(at, change.after);
            self.change_atomic.put(at, change.atomic);
        }
        if let Some(object) = &facts.attributes {
            self.put_object(at, object);
        }
        if let Some(before) = &facts.before {
            self.before_size.put(at, before.size);
            self.before_mtime.put(at, before.mtime_ns);
            self.before_ctime.put(at, before.ctime_ns);
        }
        if let Some(directory) = &facts.directory_attributes {
            put(directory.mtime_ns, |mtime| self.directory_mtime.put(at, mtime));
            put(directory.ctime_ns, |ctime| self.directory_ctime.put(at, ctime));
        }
        if let Some(before) = &facts.directory_before {
            self.directory_before_mtime.put(at, before.mtime_ns);
            self.directory_before_ctime.put(at, before.ctime_ns);
        }
    }

    #[cold]
    #[inline(never)]
    fn put_rare(&mut self, at: Row, rare: &Rare<'_>) {
        self.new_name.put(at, rare.new_name);
        self.lock_type.put(at, rare.lock_type);
        self.plus.put(at, rare.plus);
        self.session_slots.put(at, rare.session_slots);
        if let Some(change) = &rare.target_change {
            self.target_change_before.put(at, change.before);
            self.target_change_after.put(at, change.after);
        }
        if let Some(target) = &rare.target_attributes {
            put(target.mtime_ns, |mtime| self.target_mtime.put(at, mtime));
            put(target.ctime_ns, |ctime| self.target_ctime.put(at, ctime));
        }
        if let Some(before) = &rare.target_before {
            self.target_before_mtime.put(at, before.mtime_ns);
            self.target_before_ctime.put(at, before.ctime_ns);
        }
        if let Some(sparse) = &rare.sparse {
            put(sparse.content, |content| self.content.put(at, data_content(content)));
            put(sparse.found, |found| self.found.put(at, found));
            put(sparse.segments, |segments| self.segments.put(at, segments));
            put(sparse.hole_bytes, |bytes| self.hole_bytes.put(at, bytes));
        }
    }

    fn put_software(&mut self, at: Row, rare: &Rare<'_>) {
        self.client_owner.put(at, rare.client_owner.map(beginning));
        for (told, column) in [
            (rare.client_software, &mut self.client_software),
            (rare.server_software, &mut self.server_software),
        ] {
            if let Some(told) = told.as_ref().map(software).filter(|told| !told.is_empty()) {
                column.put(at, Some(beginning(&told)));
            }
        }
    }

    fn put_object(&mut self, at: Row, object: &Attributes<'_>) {
        put(object.file_type, |of| self.r#type.put(at, file_type(of)));
        put(object.mode, |mode| self.mode.put(at, mode));
        put(object.size, |size| self.size.put(at, size));
        put(object.fsid, |(major, minor)| {
            self.fsid_major.put(at, major);
            self.fsid_minor.put(at, minor);
        });
        put(object.fileid, |fileid| self.fileid.put(at, fileid));
        put(object.change, |change| self.change.put(at, change));
        put(object.mtime_ns, |mtime| self.mtime.put(at, mtime));
        put(object.ctime_ns, |ctime| self.ctime.put(at, ctime));
        put(object.max_read, |bytes| self.max_read.put(at, bytes));
        put(object.max_write, |bytes| self.max_write.put(at, bytes));
    }
}

fn put<T>(value: Option<T>, column: impl FnOnce(T)) {
    if let Some(value) = value {
        column(value);
    }
}

fn created(facts: &Facts<'_>) -> Option<bool> {
    let succeeded = facts.status? == 0;
    let asked = facts.create?;
    // An OPEN may find the file; CREATE, MKDIR … succeed only by making the object, but for an
    // UNCHECKED CREATE of NFSv3, which does not tell. Nor does an OPEN whose reply was cut.
    match (facts.share_access, facts.create_mode) {
        (Some(_), _) if succeeded && asked && facts.change.is_none() => None,
        (Some(_), _) => Some(succeeded && facts.created_by_open()),
        (None, Some(0)) if succeeded => None,
        _ => Some(succeeded && asked),
    }
}
