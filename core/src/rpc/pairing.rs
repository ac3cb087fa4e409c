//! Calls and replies → pairs, by connection and xid.
//!
//! A reply says nothing but its xid; all else comes from its call. Calls wait here for their reply;
//! answered calls are remembered for a while, so that a call or a reply that is sent again is
//! recognised; replies that come before their call (two capture ports, or a hole given up late) are
//! held for a moment.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::error::Reason;
use crate::rpc::message::{Call, Credential};
use crate::rpc::record::Record;
use crate::stream::assembler::Stamp;
use crate::stream::{ConnectionId, Side};

/// Calls that wait for their reply at most. Beyond it the oldest is given up as unanswered
/// (`pending_limit`). Linux keeps at most 65,536 slots per transport.
const WAITING_LIMIT: usize = 1 << 17;

/// Answered calls remembered, so that a message that comes again is recognised. A call or reply that
/// crossed its twin comes within a round trip; the table should stay in the processor's cache.
const ANSWERED_LIMIT: usize = 1 << 14;

/// Requests kept for use again.
const SPARE_LIMIT: usize = 64;

/// Bytes of waiting calls kept. Beyond it calls are kept only up to `SHORT_CALL`, which holds
/// handle, name, offset and level, and are marked with `pending_limit`.
const WAITING_BYTES_LIMIT: usize = 64 << 20;

/// What is kept of a call beyond `WAITING_BYTES_LIMIT`.
const SHORT_CALL: usize = 1024;

/// Replies held that came before their call; beyond it the oldest counts as having none.
const EARLY_LIMIT: usize = 4096;

/// How long a reply may come before its call: clocks of two capture ports, or a hole given up late.
const EARLY_NS: i64 = 1_000_000_000;

/// Bytes of a call that tell it from another with the same xid.
const DIGEST_BYTES: usize = 512;

/// Which messages belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    connection: ConnectionId,
    /// The side that called: NFSv4.1 calls go both ways on one connection, with xids of their own.
    caller: Side,
    xid: u32,
}

/// A message that had to be kept.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    bytes: Vec<u8>,
    length: usize,
    limit: Option<Reason>,
    /// The frame with its first byte.
    pub first: Stamp,
    /// The frame that completed it.
    pub last: Stamp,
}

impl Kept {
    fn fill(&mut self, record: &Record<'_>, room: usize) {
        self.bytes.clear();
        self.bytes.extend_from_slice(record.bytes.get(..room).unwrap_or(record.bytes));
        self.length = record.length;
        self.limit = Some(if record.bytes.len() > room { Reason::PendingLimit } else { record.limit });
        self.first = record.first;
        self.last = record.last;
    }

    /// The message as it was carried.
    pub fn record(&self) -> Record<'_> {
        Record {
            bytes: &self.bytes,
            length: self.length,
            limit: self.limit.unwrap_or(Reason::Truncated),
            first: self.first,
            last: self.last,
        }
    }
}

/// A call that waits, or waited, for its reply.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The connection of its last transmission.
    pub connection: ConnectionId,
    /// The side that called.
    pub caller: Side,
    /// The call.
    pub message: Kept,
    /// How often it was sent.
    pub transmissions: u32,
    digest: u64,
}

enum Entry {
    Waiting { serial: u64, request: Box<Request> },
    Answered { serial: u64, call: u64, digest: u64 },
}

/// What a call turned out to be.
#[derive(Debug)]
pub enum CallOutcome {
    /// New; it waits for its reply.
    New,
    /// New, and its reply was there already.
    Answered {
        /// Its number.
        call: u64,
        /// The call.
        request: Box<Request>,
        /// The reply that came first.
        reply: Kept,
    },
    /// Sent again before its reply: counted in `transmissions`.
    Again,
    /// Sent again after its reply.
    Late {
        /// The call's number.
        call: u64,
    },
}

/// What a reply turned out to be.
#[derive(Debug)]
pub enum ReplyOutcome {
    /// It answers this call.
    Answers {
        /// The call's number.
        call: u64,
        /// The call.
        request: Box<Request>,
    },
    /// The call had its reply already.
    Again {
        /// The call's number.
        call: u64,
    },
    /// No such call so far; held.
    Early,
}

/// Matches replies with calls.
#[derive(Default)]
pub struct Pairing {
    entries: HashMap<Key, Entry, RandomState>,
    /// The calls remembered, oldest first.
    order: VecDeque<(Key, u64)>,
    /// Calls that wait though many came after them.
    long_waiting: VecDeque<(Key, u64)>,
    early: HashMap<Key, Kept, RandomState>,
    early_order: VecDeque<Key>,
    waiting_bytes: usize,
    serial: u64,
    calls: u64,
    hasher: RandomState,
    #[allow(clippy::vec_box)] // The boxes themselves are used again.
    spare: Vec<Box<Request>>,
}

impl Pairing {
    /// Whether a call with this xid from the other side waits on the connection.
    pub fn expects(&self, connection: ConnectionId, caller: Side, xid: u32) -> bool {
        matches!(self.entries.get(&Key { connection, caller, xid }), Some(Entry::Waiting { .. }))
    }

    /// Takes a call. `siblings` are other connections between the same hosts: a call that waits on
    /// one of them and comes again here was retransmitted after a reconnect.
    ///
    /// The second value is a call whose xid this one took over: it will not be answered any more.
    pub fn call(
        &mut self,
        connection: ConnectionId,
        caller: Side,
        siblings: &[ConnectionId],
        record: &Record<'_>,
        header: &Call<'_>,
    ) -> (CallOutcome, Option<(u64, Box<Request>)>) {
        let key = Key { connection, caller, xid: header.xid };
        let digest = self.digest(record, header);
        match self.entries.get_mut(&key) {
            Some(Entry::Waiting { request, .. }) if request.digest == digest => {
                request.transmissions += 1;
                return (CallOutcome::Again, None);
            }
            Some(Entry::Answered { call, digest: before, .. }) if *before == digest => {
                return (CallOutcome::Late { call: *call }, None);
            }
            _ => {}
        }
        let displaced = match self.entries.remove(&key) {
            Some(Entry::Waiting { request, .. }) => Some(self.number(request)),
            _ => None,
        };
        if let Some(request) = self.move_from_sibling(key, siblings, digest) {
            self.insert(key, request);
            return (CallOutcome::Again, displaced);
        }
        let room = if self.waiting_bytes < WAITING_BYTES_LIMIT { usize::MAX } else { SHORT_CALL };
        let mut request = self.spare.pop().unwrap_or_default();
        request.message.fill(record, room);
        (request.connection, request.caller) = (connection, caller);
        (request.transmissions, request.digest) = (1, digest);
        if !self.early.is_empty()
            && let Some(reply) = self.early.remove(&key)
        {
            self.serial += 1;
            self.order.push_back((key, self.serial));
            let call = self.answered(key, self.serial, digest);
            return (CallOutcome::Answered { call, request, reply }, displaced);
        }
        self.insert(key, request);
        (CallOutcome::New, displaced)
    }

    /// Takes a reply to a call of the side `caller`.
    pub fn reply(
        &mut self,
        connection: ConnectionId,
        caller: Side,
        xid: u32,
        record: &Record<'_>,
    ) -> ReplyOutcome {
        let key = Key { connection, caller, xid };
        match self.entries.remove(&key) {
            Some(Entry::Waiting { serial, request }) => {
                self.waiting_bytes = self.waiting_bytes.saturating_sub(request.message.bytes.len());
                let call = self.answered(key, serial, request.digest);
                ReplyOutcome::Answers { call, request }
            }
            Some(Entry::Answered { call, serial, digest }) => {
                self.entries.insert(key, Entry::Answered { serial, call, digest });
                ReplyOutcome::Again { call }
            }
            None => {
                let mut kept = Kept::default();
                kept.fill(record, usize::MAX);
                if self.early.insert(key, kept).is_none() {
                    self.early_order.push_back(key);
                }
                ReplyOutcome::Early
            }
        }
    }

    /// Gives a request's buffer back for the next call.
    pub fn recycle(&mut self, request: Box<Request>) {
        if self.spare.len() < SPARE_LIMIT {
            self.spare.push(request);
        }
    }

    /// The next call that has to be given up because too many are waiting.
    pub fn overdue_call(&mut self) -> Option<(u64, Box<Request>)> {
        while self.order.len() > ANSWERED_LIMIT {
            let (key, serial) = self.order.pop_front()?;
            match self.entries.get(&key) {
                Some(Entry::Answered { serial: current, .. }) if *current == serial => {
                    self.entries.remove(&key);
                }
                Some(Entry::Waiting { serial: current, .. }) if *current == serial => {
                    self.long_waiting.push_back((key, serial));
                }
                _ => {}
            }
        }
        while self.long_waiting.len() > WAITING_LIMIT {
            let (key, serial) = self.long_waiting.pop_front()?;
            if let Some(given_up) = self.give_up(key, serial) {
                return Some(given_up);
            }
        }
        None
    }

    /// The next early reply whose call will not come any more.
    pub fn overdue_reply(&mut self, now: Stamp) -> Option<(ConnectionId, u32, Kept)> {
        while let Some(key) = self.early_order.front().copied() {
            let expired = self.early.get(&key).is_none_or(|reply| {
                self.early.len() > EARLY_LIMIT || now.time_ns.saturating_sub(reply.last.time_ns) > EARLY_NS
            });
            if !expired {
                return None;
            }
            self.early_order.pop_front();
            if let Some(reply) = self.early.remove(&key) {
                return Some((key.connection, key.xid, reply));
            }
        }
        None
    }

    /// At the end: the next call without reply, in the order in which they were sent.
    pub fn next_unanswered(&mut self) -> Option<(u64, Box<Request>)> {
        while let Some((key, serial)) = self.long_waiting.pop_front().or_else(|| self.order.pop_front()) {
            if let Some(given_up) = self.give_up(key, serial) {
                return Some(given_up);
            }
        }
        None
    }

    /// At the end: the next reply without call.
    pub fn next_orphan(&mut self) -> Option<(ConnectionId, u32, Kept)> {
        while let Some(key) = self.early_order.pop_front() {
            if let Some(reply) = self.early.remove(&key) {
                return Some((key.connection, key.xid, reply));
            }
        }
        None
    }

    fn give_up(&mut self, key: Key, serial: u64) -> Option<(u64, Box<Request>)> {
        if !matches!(self.entries.get(&key), Some(Entry::Waiting { serial: current, .. }) if *current == serial)
        {
            return None;
        }
        match self.entries.remove(&key) {
            Some(Entry::Waiting { request, .. }) => Some(self.number(request)),
            _ => None,
        }
    }

    fn number(&mut self, request: Box<Request>) -> (u64, Box<Request>) {
        self.waiting_bytes = self.waiting_bytes.saturating_sub(request.message.bytes.len());
        let call = self.calls;
        self.calls += 1;
        (call, request)
    }

    fn insert(&mut self, key: Key, request: Box<Request>) {
        self.serial += 1;
        self.waiting_bytes += request.message.bytes.len();
        self.order.push_back((key, self.serial));
        self.entries.insert(key, Entry::Waiting { serial: self.serial, request });
    }

    fn answered(&mut self, key: Key, serial: u64, digest: u64) -> u64 {
        let call = self.calls;
        self.calls += 1;
        self.entries.insert(key, Entry::Answered { serial, call, digest });
        call
    }

    fn move_from_sibling(
        &mut self,
        key: Key,
        siblings: &[ConnectionId],
        digest: u64,
    ) -> Option<Box<Request>> {
        let there = siblings.iter().map(|&connection| Key { connection, ..key }).find(|there| {
            matches!(self.entries.get(there), Some(Entry::Waiting { request, .. }) if request.digest == digest)
        })?;
        let Some(Entry::Waiting { mut request, .. }) = self.entries.remove(&there) else { return None };
        self.waiting_bytes = self.waiting_bytes.saturating_sub(request.message.bytes.len());
        request.connection = key.connection;
        request.transmissions += 1;
        Some(request)
    }

    /// Tells a call from another with the same xid. A call under RPCSEC_GSS changes its sequence
    /// number when it is sent again, so that only its header and length count.
    fn digest(&self, record: &Record<'_>, header: &Call<'_>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u32(header.program);
        hasher.write_u32(header.version);
        hasher.write_u32(header.procedure);
        hasher.write_usize(record.length);
        if !matches!(header.credential, Credential::Gss { .. }) {
            hasher.write(record.bytes.get(..DIGEST_BYTES).unwrap_or(record.bytes));
        }
        hasher.finish()
    }
}
