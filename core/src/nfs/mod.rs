//! Program data → operations.
//!
//! Takes the bodies of a call and its reply, gives the operations in order with what each said.
//! Arguments and results are walked together, so that one fact sheet holds both and everything
//! stays borrowed. What could be decoded is always kept; where it stopped, and why, stands beside it.

pub mod types;

pub mod facts;

pub mod attributes;

pub mod status;

pub mod v2;

pub mod v3;

pub mod v4;

pub mod side;

pub mod operation;

#[cfg(test)]
mod trials;

#[cfg(test)]
mod tests;

use crate::cursor::{Cursor, Kind};
use crate::error::{DecodeError, Reason};
use crate::nfs::facts::Facts;
pub use crate::nfs::operation::catalogue;
use crate::nfs::operation::{Answer, NFS2, NFS3, NFS4, NFS4_CALLBACK, Operation, Stability};
use crate::nfs::side::operations::{
    MOUNT1, MOUNT3, NFSACL2, NFSACL3, NLM, NLM4, NSM1, PORTMAP2, RPCBIND, RQUOTA1, RQUOTA2,
};
use crate::nfs::status::Statuses;
use crate::nfs::types::StableHow;
use crate::rpc::program;

/// Operations of one compound at most. Servers accept some 50 (Linux: 50, sessions: `ca_maxoperations`).
const COMPOUND_LIMIT: u32 = 1024;

/// Operations of this rank are what a compound is about, whatever else is in it; those of higher ranks
/// may lead up to one of them: GETATTR, LOOKUP, PUTFH …
const MAIN_RANK: u8 = 1;

/// Longest compound tag.
const TAG_LIMIT: usize = 1024;

/// What answers an operation that the server does not support: `OP_ILLEGAL` and `OP_CB_ILLEGAL`.
const ILLEGAL: u32 = 10044;

/// How the procedures of a program are laid out.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A procedure is an operation; its results begin with a status.
    Procedures(&'static [Operation]),
    /// Procedure 1 is a COMPOUND of operations.
    Compound(&'static [Operation]),
    /// A program or version that pcapnfs does not know.
    Unknown,
    /// Nothing to decode.
    Void,
}

/// A program and version as pcapnfs sees it.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Name in `calls.protocol`; for NFSv4 compounds the minor version takes its place.
    pub name: &'static str,
    /// The status codes that it uses.
    pub statuses: Statuses,
    /// Its layout.
    pub shape: Shape,
}

/// What servers call at their clients (RFC 7530 section 16.33, RFC 8881 section 20), whatever number these
/// gave it.
pub fn callback_protocol() -> Protocol {
    Protocol { name: "4 callback", statuses: Statuses::Nfs4, shape: Shape::Compound(NFS4_CALLBACK) }
}

/// The protocol of a program and version.
pub fn protocol(number: u32, version: u32) -> Protocol {
    let procedures = |name, statuses, table| Protocol { name, statuses, shape: Shape::Procedures(table) };
    match (number, version) {
        (program::NFS, 4) => Protocol { name: "4", statuses: Statuses::Nfs4, shape: Shape::Compound(NFS4) },
        (program::NFS, 3) => procedures("3", Statuses::Nfs3, NFS3),
        (program::NFS, 2) => procedures("2", Statuses::Nfs2, NFS2),
        (program::NFSACL, 3) => procedures("nfsacl3", Statuses::Nfs3, NFSACL3),
        (program::NFSACL, 2) => procedures("nfsacl2", Statuses::Nfs2, NFSACL2),
        (program::MOUNT, 3) => procedures("mount3", Statuses::Mount3, MOUNT3),
        (program::MOUNT, 2) => procedures("mount2", Statuses::Unix, MOUNT1),
        (program::MOUNT, 1) => procedures("mount1", Statuses::Unix, MOUNT1),
        (program::PORTMAP, 2) => procedures("portmap2", Statuses::Nameless, PORTMAP2),
        (program::PORTMAP, 3) => procedures("rpcbind3", Statuses::Nameless, RPCBIND),
        (program::PORTMAP, 4) => procedures("rpcbind4", Statuses::Nameless, RPCBIND),
        (program::NLM, 4) => procedures("nlm4", Statuses::Nlm4, NLM4),
        (program::NLM, _) => procedures("nlm", Statuses::Nlm, NLM),
        (program::NSM, 1) => procedures("nsm1", Statuses::Nsm, NSM1),
        (program::RQUOTA, 1) => procedures("rquota", Statuses::Quota, RQUOTA1),
        (program::RQUOTA, 2) => procedures("rquota", Statuses::Quota, RQUOTA2),
        (number, _) if program::is_callback(number) => callback_protocol(),
        _ => Protocol { name: "other", statuses: Statuses::Nameless, shape: Shape::Unknown },
    }
}

/// One operation of a call.
#[derive(Clone, Debug)]
pub struct Done<'a> {
    /// Its row in the table.
    pub operation: &'static Operation,
    /// Its number, also when the table has no row for it.
    pub number: u32,
    /// The reply holds a result of it.
    pub executed: bool,
    /// How it is known what came of it.
    pub told: Told,
    /// What arguments and results said.
    pub facts: Facts<'a>,
}

/// How it is known what came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// By the reply: it holds the operation's status, or tells that it has none, since it was not executed.
    /// Also where there is no reply.
    ByReply,
    /// By the status of its compound: it succeeded, though its own result could not be read.
    ByCompound,
    /// Not at all: its compound failed, and with which operation could not be read.
    Failing,
    /// Not at all: the part of the reply with its status could not be read.
    Nowhere,
}

impl Done<'_> {
    /// The stability class of this operation by its outcome (docs/definitions.md).
    #[inline]
    pub fn class(&self) -> Class {
        match self.operation.stability {
            // Most are, whatever came of them.
            Stability::Unstable => Class::Unstable,
            Stability::Read => Class::Read,
            Stability::State => Class::State,
            _ => self.class_by_outcome(),
        }
    }

    fn class_by_outcome(&self) -> Class {
        let facts = &self.facts;
        match self.told {
            Told::ByReply => {}
            Told::ByCompound | Told::Nowhere => return self.likely_class(),
            Told::Failing => {
                let harmless = self.likely_class() == Class::Unstable;
                return if harmless { Class::Unstable } else { Class::Unknown };
            }
        }
        let succeeded = facts.status == Some(0);
        match self.operation.stability {
            Stability::Stable | Stability::Unlisted if succeeded => Class::Stable,
            Stability::Committed if succeeded => match facts.committed {
                Some(StableHow::UNSTABLE) => Class::UnstableWrite,
                Some(_) => Class::Stable,
                None => self.likely_class(), // the reply was cut behind its status
            },
            Stability::Opened if succeeded && facts.changed_by_open() => Class::Stable,
            Stability::Opened if succeeded && (facts.create.is_none() || facts.attributes_set.is_none()) => {
                self.likely_class()
            }
            _ => Class::Unstable,
        }
    }

    /// The class when what decides is not in the capture: that of a success, as far as the call tells.
    /// A server grants the level that a WRITE asked for, or a stronger one.
    fn likely_class(&self) -> Class {
        match self.operation.stability {
            Stability::Read => Class::Read,
            Stability::State => Class::State,
            Stability::Stable | Stability::Unlisted => Class::Stable,
            Stability::Committed => match self.facts.stable_requested {
                Some(StableHow::UNSTABLE) => Class::UnstableWrite,
                Some(_) => Class::Stable,
                None => Class::Unknown,
            },
            Stability::Opened if self.facts.creates_by_open() => Class::Stable,
            // Also where the call was cut before it says whether to create.
            Stability::Opened if self.facts.create != Some(false) => Class::Unknown,
            Stability::Unstable | Stability::Opened => Class::Unstable,
        }
    }
}

/// The stability class of an operation or a call, in the order in which an operation gives its class
/// to the call: the last two only when it is the main one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Had to be on stable storage before the reply.
    Stable,
    /// What would decide was cut off, lost or encrypted.
    Unknown,
    /// WRITE answered UNSTABLE.
    UnstableWrite,
    /// Reads file data.
    Read,
    /// Records client state.
    State,
    /// Everything else.
    Unstable,
}

impl Class {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Stable, Self::Unknown, Self::UnstableWrite, Self::Read, Self::State, Self::Unstable];

    /// The text in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::UnstableWrite => "unstable_write",
            Self::Read => "read",
            Self::State => "state",
            Self::Unstable => "unstable",
            Self::Unknown => "unknown",
        }
    }
}

/// What the operations of a call come to, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The place of the main operation: the first of the lowest rank, as Wireshark's `nfs.main_opcode`.
    /// `None` when operations are missing that may be it: the call and its reply were cut before them.
    pub main: Option<usize>,
    /// The class of the whole call: stable when one operation is; else by what is in it.
    pub class: Class,
    /// The class rests on operations whose outcome is not in the capture.
    pub assumed: bool,
    /// It is stable only by operations that the RFC's list of synchronous procedures omits.
    pub unlisted: bool,
}

/// A call's operations, walked to where they could be decoded.
#[derive(Debug, Default)]
pub struct Walk<'a> {
    /// The operations in order.
    pub operations: Vec<Done<'a>>,
    /// NFSv4 minor version.
    pub minor: Option<u32>,
    /// Status of the procedure, or of the compound.
    pub status: Option<u32>,
    /// It is a compound, also when none of its operations could be read.
    pub is_compound: bool,
    /// Operations in the call, as it says itself.
    pub in_call: u32,
    /// Operations in the reply, as it says itself.
    pub in_reply: u32,
    /// Where decoding of the call stopped early.
    pub call_stop: Option<DecodeError>,
    /// Where decoding of the reply stopped early.
    pub reply_stop: Option<DecodeError>,
}

impl<'a> Walk<'a> {
    /// What the call comes to.
    pub fn outcome(&self) -> Outcome {
        let (mut main, mut lowest) = (None, u8::MAX);
        let mut least = Class::Unstable;
        let (mut assumed, mut listed, mut unlisted) = (false, false, false);
        for (place, done) in self.operations.iter().enumerate() {
            let class = done.class();
            let Operation { rank, stability, .. } = *done.operation;
            if rank < lowest {
                (main, lowest) = (Some((place, class)), rank);
            }
            if class != Class::Unstable {
                least = least.min(class);
                assumed |= done.told == Told::Nowhere;
                if class == Class::Stable {
                    *(if stability == Stability::Unlisted { &mut unlisted } else { &mut listed }) = true;
                }
            }
        }
        let missing = self.operations_missing();
        let main = main.filter(|_| lowest <= MAIN_RANK || !missing);
        let told = if missing && !self.stopped_before() { least.min(Class::Unknown) } else { least };
        Outcome {
            main: main.map(|(place, _)| place),
            class: if told <= Class::Read { told } else { main.map_or(Class::Unstable, |(_, class)| class) },
            assumed,
            unlisted: unlisted && !listed,
        }
    }

    /// Whether the call has operations that are known neither from it nor from its reply.
    fn operations_missing(&self) -> bool {
        if !self.is_compound || self.call_stop.is_none() {
            return false;
        }
        let known = self.operations.len();
        // A compound that succeeded executed everything, so its reply names all operations.
        let told_by_reply = self.status == Some(0) && known > 0 && known == self.in_reply as usize;
        let told_by_call = self.in_call > 0 && known >= self.in_call as usize;
        !told_by_reply && !told_by_call
    }

    /// Whether the compound failed at an operation that is known, so that none behind it was executed.
    fn stopped_before(&self) -> bool {
        let results = 1..=self.operations.len();
        self.status.is_some_and(|status| status != 0) && results.contains(&(self.in_reply as usize))
    }

    /// Walks a call and, if there is one, its successful reply. `room` is an empty list to be filled,
    /// which saves making one for each call (see [`emptied`]).
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode, though redaction calls it too")]
    pub fn of(
        room: Vec<Done<'a>>,
        shape: Shape,
        procedure: u32,
        call: Result<Cursor<'a>, DecodeError>,
        reply: Option<Result<Cursor<'a>, DecodeError>>,
    ) -> Self {
        let mut walk = Self { operations: room, ..Self::default() };
        match shape {
            Shape::Procedures(table) => walk.procedure(table, procedure, call, reply),
            Shape::Compound(table) if procedure == 1 => walk.compound(table, call, reply),
            Shape::Unknown => {
                walk.call_stop = Some(call.map_or_else(|stop| stop, |c| c.stop(Reason::Unsupported)));
            }
            Shape::Compound(_) | Shape::Void => walk.call_stop = call.err(),
        }
        if walk.reply_stop.is_some() {
            walk.tell_unread();
        }
        walk
    }

    /// Takes the status of a procedure whose reply does not hold it.
    pub fn tell(&mut self, status: u32) {
        self.status = Some(status);
        for done in &mut self.operations {
            (done.executed, done.facts.status) = (true, Some(status));
        }
    }

    /// What is known of operations whose own status could not be read. A compound stops at the first one that
    /// fails, whose status is its own (RFC 7530 section 15.2.4, RFC 8881 section 16.2.3).
    #[cold]
    fn tell_unread(&mut self) {
        let (in_call, in_reply) = (self.in_call as usize, self.in_reply as usize);
        // More results than operations are none that can be believed.
        let counted =
            (1..=COMPOUND_LIMIT as usize).contains(&in_reply) && (in_call == 0 || in_reply <= in_call);
        let told = |place: usize| match self.status.filter(|_| self.is_compound) {
            None => Told::Nowhere,
            Some(0) => Told::ByCompound,
            Some(_) if counted && place + 1 < in_reply => Told::ByCompound,
            Some(_) if counted || place + 1 == in_call => Told::ByReply,
            Some(_) => Told::Failing,
        };
        let mut operations = std::mem::take(&mut self.operations);
        for (place, done) in operations.iter_mut().enumerate() {
            if done.facts.status.is_none() {
                done.told = told(place);
            }
        }
        self.operations = operations;
    }

    fn procedure(
        &mut self,
        table: &'static [Operation],
        procedure: u32,
        mut call: Result<Cursor<'a>, DecodeError>,
        mut reply: Option<Result<Cursor<'a>, DecodeError>>,
    ) {
        let Some(operation) = find(table, procedure) else {
            self.call_stop = call.err().or(Some(no_such(Reason::Unsupported)));
            return;
        };
        self.in_call = 1;
        let Some(done) = self.begin(operation, procedure) else { return };
        done.executed = reply.is_some();
        let facts = &mut done.facts;
        // Read where they stand: a cursor is large.
        let read = |c: &mut Cursor<'a>| {
            (operation.arguments)(c, facts)?;
            used_up(c)
        };
        let call_stop = call.as_mut().map_err(|stop| *stop).and_then(read).err();
        let (mut in_reply, mut reply_stop) = (0, None);
        if let Some(reply) = &mut reply {
            in_reply = 1;
            let read = |c: &mut Cursor<'a>| {
                match operation.answer {
                    Answer::Void => {}
                    Answer::Status => results(operation, c, facts)?,
                    Answer::Bare => (operation.results)(c, facts)?,
                }
                used_up(c)
            };
            reply_stop = reply.as_mut().map_err(|stop| *stop).and_then(read).err();
        }
        self.status = facts.status;
        (self.in_reply, self.call_stop, self.reply_stop) = (in_reply, call_stop, reply_stop);
    }

    /// Another operation, of which nothing is known yet. It is made in its place: a fact sheet is
    /// large, and one that is made first and then pushed is copied.
    fn begin(&mut self, operation: &'static Operation, number: u32) -> Option<&mut Done<'a>> {
        let new =
            || Done { operation, number, executed: false, told: Told::ByReply, facts: Facts::default() };
        self.operations.resize_with(self.operations.len() + 1, new);
        self.operations.last_mut()
    }

    /// `COMPOUND4args` and `COMPOUND4res` (RFC 7530 section 15.2, RFC 8881 section 16.2), and alike
    /// those of CB_COMPOUND, whose arguments have a callback identifier before the operations.
    fn compound(
        &mut self,
        table: &'static [Operation],
        call: Result<Cursor<'a>, DecodeError>,
        reply: Option<Result<Cursor<'a>, DecodeError>>,
    ) {
        self.is_compound = true;
        let callback = std::ptr::eq(table, NFS4_CALLBACK);
        match call {
            Ok(mut c) => self.call_stop = self.compound_arguments(table, callback, &mut c).err(),
            Err(stop) => self.call_stop = Some(stop),
        }
        match reply {
            Some(Ok(mut c)) => self.reply_stop = self.compound_results(table, &mut c).err(),
            Some(Err(stop)) => self.reply_stop = Some(stop),
            None => {}
        }
    }

    fn compound_arguments(
        &mut self,
        table: &'static [Operation],
        callback: bool,
        c: &mut Cursor<'a>,
    ) -> Result<(), DecodeError> {
        c.opaque_as(Kind::Token, TAG_LIMIT)?;
        self.minor = Some(c.u32()?);
        if callback {
            c.u32()?; // callback_ident
        }
        let before = c.clone();
        self.in_call = c.u32()?;
        if self.in_call > COMPOUND_LIMIT {
            return Err(before.malformed());
        }
        for _ in 0..self.in_call {
            let operation = match c.words().and_then(|[number]| find(table, number)) {
                Some(operation) => {
                    c.take_words::<1>();
                    operation
                }
                None => other_operation(table, c)?,
            };
            if let Some(done) = self.begin(operation, operation.number) {
                (operation.arguments)(c, &mut done.facts)?;
            }
        }
        used_up(c)
    }

    fn compound_results(
        &mut self,
        table: &'static [Operation],
        c: &mut Cursor<'a>,
    ) -> Result<(), DecodeError> {
        self.status = Some(c.u32()?);
        c.opaque_as(Kind::Token, TAG_LIMIT)?;
        let before = c.clone();
        self.in_reply = c.u32()?;
        if self.in_reply > COMPOUND_LIMIT {
            return Err(before.malformed());
        }
        for place in 0..self.in_reply as usize {
            // Most often the operation of the call is answered, and its number and status are there.
            if let (Some(done), Some([number, status])) = (self.operations.get_mut(place), c.words())
                && done.number == number
            {
                c.take_words::<2>();
                done.executed = true;
                behind_status(done.operation, status, c, &mut done.facts)?;
            } else {
                self.other_result(table, place, c)?;
            }
        }
        used_up(c)
    }

    /// The result of an operation that the call does not name, or names otherwise; or one that was cut,
    /// or is to be recorded.
    #[cold]
    #[inline(never)]
    fn other_result(
        &mut self,
        table: &'static [Operation],
        place: usize,
        c: &mut Cursor<'a>,
    ) -> Result<(), DecodeError> {
        let before = c.clone();
        let number = c.u32()?;
        let Some(operation) = find(table, number) else {
            return Err(before.stop(Reason::Unsupported));
        };
        match self.operations.get_mut(place) {
            // The call could be read up to here: its operation must be answered by the same one, or by
            // ILLEGAL, which stands for any that the server does not support (RFC 8881 section 18.52).
            Some(done) if done.number == number || number == ILLEGAL => {}
            Some(_) => return Err(before.malformed()),
            // The call could not be read so far; the reply alone names the operation.
            None => {
                self.begin(operation, number);
            }
        }
        if let Some(done) = self.operations.get_mut(place) {
            done.executed = true;
            results(operation, c, &mut done.facts)?;
        }
        Ok(())
    }
}

/// An empty list for the operations of another call, in the memory of this one.
///
/// The operations borrow from their messages, so one list cannot serve two calls; but a list
/// collected from another of the same layout takes over its memory.
pub fn emptied<'b>(mut operations: Vec<Done<'_>>) -> Vec<Done<'b>> {
    operations.clear();
    operations.into_iter().map_while(|_| None).collect()
}

/// The status and what follows it.
#[inline]
fn results<'a>(operation: &Operation, c: &mut Cursor<'a>, facts: &mut Facts<'a>) -> Result<(), DecodeError> {
    let status = c.u32()?;
    c.milestone();
    behind_status(operation, status, c, facts)
}

#[inline]
fn behind_status<'a>(
    operation: &Operation,
    status: u32,
    c: &mut Cursor<'a>,
    facts: &mut Facts<'a>,
) -> Result<(), DecodeError> {
    facts.status = Some(status);
    if status == 0 { (operation.results)(c, facts) } else { (operation.failure)(c, facts) }
}

/// The operation that a number stands for which is unknown, is not there, or is to be recorded.
#[cold]
#[inline(never)]
fn other_operation(
    table: &'static [Operation],
    c: &mut Cursor<'_>,
) -> Result<&'static Operation, DecodeError> {
    let before = c.clone();
    let number = c.u32()?;
    c.milestone();
    find(table, number).ok_or_else(|| before.stop(Reason::Unsupported))
}

/// Bytes behind the last value mean that the message is not what it was taken for.
fn used_up(c: &Cursor<'_>) -> Result<(), DecodeError> {
    if c.used_up() { Ok(()) } else { Err(c.stop(Reason::Trailing)) }
}

/// The row of an operation number. Tables are dense up to their end, but for odd numbers at the end.
fn find(table: &'static [Operation], number: u32) -> Option<&'static Operation> {
    let first = table.first()?.number;
    let guess = number.checked_sub(first).and_then(|place| table.get(place as usize));
    guess.filter(|row| row.number == number).or_else(|| table.iter().find(|row| row.number == number))
}

fn no_such(reason: Reason) -> DecodeError {
    DecodeError { layer: crate::error::Layer::Call, reason, offset: 0, needed: 0, available: 0 }
}
