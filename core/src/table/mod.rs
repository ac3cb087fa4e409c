//! Rows → Arrow batches: what the decoder knows of a call, written down in columns.
//!
//! The only place where borrowed facts become owned values.

pub mod columns;

pub mod parquet;

pub mod schema;

mod calls;

mod connections;

mod files;

mod operations;

mod signature;

mod texts;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::error::DecodeError;
use crate::names::{FileId, Place, Placed};
use crate::nfs::Walk;
use crate::nfs::facts::Entry;
use crate::nfs::status::Statuses;
use crate::rpc::message::{Call, ReplyStatus};
use crate::rpc::pairing::Request;
use crate::rpc::record::Record;
use crate::stream::ConnectionId;
use crate::stream::assembler::Stamp;
use crate::stream::unreceived::LeftOut;
use crate::table::columns::{Naming, Word};
use crate::table::schema::{
    CallsBatch, ConnectionsBatch, EntriesBatch, FilesBatch, NamesBatch, NotesBatch, OperationsBatch, append,
};
use crate::table::signature::Signatures;
use crate::table::texts::{Masks, file_type};

pub use files::Ending;

/// Rows of one table that leave together, but for the last: few enough for the processor's cache, and for
/// the allocator to use the memory of one batch for the next.
pub const BATCH_ROWS: usize = 4096;

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
    /// The reply answers the first transmission, as far as is known.
    pub first_arrived: bool,
    /// A segment was sent again on the connection meanwhile.
    pub resent: bool,
    /// When one was sent again before the call began, as far as it is known.
    pub resent_before_ns: Option<i64>,
    /// What the last acknowledgement of less than all of the call left out, if it came after the call.
    pub left_out: Option<LeftOut>,
    /// What the caller's last acknowledgement of less than all of the reply before the call left out, if it came
    /// after that reply.
    pub left_out_before: Option<LeftOut>,
    /// The clock of who replied when it sent the segment that completes the reply, where it says so.
    pub reply_clock: Option<u32>,
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
