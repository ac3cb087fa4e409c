//! Calls and replies → pairs, by connection and xid.
//!
//! A reply says nothing but its xid; all else comes from its call. Calls wait here for their reply;
//! answered calls are remembered for a while, so that a call or a reply that is sent again is
//! recognised; replies that come before their call (two capture ports, or a hole given up late) are
//! held for a moment.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::hash_table::OccupiedEntry;
use hashbrown::{HashMap, HashTable};

use crate::cursor::Behind;
use crate::error::Reason;
use crate::rpc::message::{Flavor, Head};
use crate::rpc::record::{Peer, Record, SEEN};
use crate::stream::assembler::Stamp;
use crate::stream::{ConnectionId, Side};

/// Calls that wait for their reply at most. Beyond it the oldest is given up as unanswered
/// (`pending_limit`). Linux keeps at most 65,536 slots per transport.
const WAITING_LIMIT: usize = 1 << 16;

/// Calls of a generation. The last two are remembered when they are answered, so that a message that
/// comes again is recognised: a call or reply that crossed its twin comes within a round trip. As many
/// as a table of 8,192 places takes, which should stay in the processor's cache.
const GENERATION_LIMIT: usize = 7 << 10;

/// Requests kept for use again.
const SPARE_LIMIT: usize = 32;

/// Memory for the message of such a request. One with more would be held by whatever call takes it
/// over, however short that is, for as long as it waits.
const SPARE_BYTES: usize = 1 << 10;

/// Memory for the messages of waiting calls. Beyond it calls are kept only up to `SHORT_CALL`, which
/// holds handle, name, offset and level, and are marked with `pending_limit`.
const WAITING_BYTES_LIMIT: usize = 32 << 20;

/// What is kept of a call beyond `WAITING_BYTES_LIMIT`.
const SHORT_CALL: usize = 512;

/// Replies held that came before their call; beyond it the oldest counts as having none.
const EARLY_LIMIT: usize = 4096;

/// Bytes of replies held that came before their call. Beyond it they are kept only up to
/// `SHORT_CALL`, and are marked with `pending_limit`.
const EARLY_BYTES_LIMIT: usize = 16 << 20;

/// How long a reply is held for its call: clocks of two capture ports, or a hole given up late.
const EARLY_NS: i64 = 1_000_000_000;

/// A reply that was captured before its call by no more than this is taken for its reply: a host that
/// captures takes packets out of the queues of its network card in any order, a few milliseconds at a
/// time. A larger distance may mean that the xid was damaged.
const DISORDER_NS: i64 = 10_000_000;

/// Unless that is the habit of the capture, because its two directions were stamped by two clocks: so
/// many pairs tell a habit, and one reply in so many has to be as early.
const HABIT: (u64, u64) = (8, 4);

/// Bytes of a call that tell it from another with the same xid.
const DIGEST_BYTES: usize = SEEN;

/// Which messages belong together: connection, the side that called, and xid. NFSv4.1 calls go both ways
/// on one connection, with xids of their own.
///
/// In one number, so that a look-up compares and hashes one: the highest bit of a connection's is never
/// reached, and has no room here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key(u64);

impl Key {
    #[inline]
    fn new(connection: ConnectionId, caller: Side, xid: u32) -> Self {
        let direction = u64::from(connection) << 1 | u64::from(caller == Side::High);
        Self(direction << 32 | u64::from(xid))
    }

    fn connection(self) -> ConnectionId {
        (self.0 >> 33) as ConnectionId
    }

    fn caller(self) -> Side {
        if self.0 >> 32 & 1 == 0 { Side::Low } else { Side::High }
    }

    fn xid(self) -> u32 {
        self.0 as u32
    }

    /// That of the same message on another connection.
    fn on(self, connection: ConnectionId) -> Self {
        Self::new(connection, self.caller(), self.xid())
    }
}

/// A message that had to be kept.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    bytes: Vec<u8>,
    /// The part of the message that nobody reads, and that was left out.
    left_out: Range<usize>,
    length: usize,
    open: bool,
    limit: Option<Reason>,
    /// The frame with its first byte.
    pub first: Stamp,
    /// The frame that completed it.
    pub last: Stamp,
}

impl Kept {
    /// Keeps a message but for its `unread` part, or if that is more than there is room for, its
    /// beginning: whether it had to be shortened so.
    fn fill(&mut self, record: &Record<'_>, unread: Option<Range<usize>>, room: usize) -> bool {
        (self.length, self.open) = (record.length, record.open);
        (self.first, self.last) = (record.first, record.last);
        if record.behind.is_some() || unread.is_some() || record.bytes.len() > room {
            return self.fill_in_part(record, unread, room);
        }
        self.limit = Some(record.limit);
        self.put(record.bytes, &[], 0);
        false
    }

    #[inline(never)]
    fn fill_in_part(&mut self, record: &Record<'_>, unread: Option<Range<usize>>, room: usize) -> bool {
        let known = record.behind.map(|behind| (record.bytes, behind.bytes, behind.passed));
        let parts = known.or_else(|| {
            let hole = unread?;
            let (head, tail) = (record.bytes.get(..hole.start)?, record.bytes.get(hole.end..)?);
            Some((head, tail, hole.len()))
        });
        let (mut head, mut tail, mut passed) = parts.unwrap_or((record.bytes, &[], 0));
        let shortened = head.len() + tail.len() > room;
        if shortened {
            (head, tail, passed) = (record.bytes.get(..room).unwrap_or(record.bytes), &[], 0);
        }
        self.limit = Some(if shortened { Reason::PendingLimit } else { record.limit });
        self.put(head, tail, passed);
        shortened
    }

    /// Takes the bytes before and behind a part of this length that is left out.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Most have nothing behind.
    fn put(&mut self, head: &[u8], tail: &[u8], passed: usize) {
        self.bytes.clear();
        let needed = head.len() + tail.len();
        if self.bytes.capacity() < needed {
            // To grow would move what was here before.
            self.bytes = Vec::with_capacity(needed);
        }
        self.bytes.extend_from_slice(head);
        self.bytes.extend_from_slice(tail);
        self.left_out = head.len()..head.len() + passed;
    }

    /// Memory that its bytes take.
    fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// The message as it was carried.
    pub fn record(&self) -> Record<'_> {
        let (bytes, behind) = Behind::split(&self.bytes, &self.left_out);
        Record {
            bytes,
            behind,
            length: self.length,
            open: self.open,
            limit: self.limit.unwrap_or(Reason::Truncated),
            first: self.first,
            last: self.last,
            place: &[],
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
    /// Its place in the order of the calls.
    serial: u64,
}

impl Request {
    /// Reads from all of it but the bytes of its message.
    #[inline]
    pub fn fetch(&self) {
        black_box(self.digest ^ self.message.first.frame ^ self.serial ^ u64::from(self.transmissions));
    }

    /// Reads from the beginning of its message, which is all of most.
    #[inline]
    pub fn fetch_message(&self) {
        const LINE: usize = 64;
        let byte = |line: usize| self.message.bytes.get(line * LINE).copied();
        black_box([byte(0), byte(1), byte(2), byte(3)]);
    }
}

struct Entry {
    key: Key,
    state: State,
}

impl Entry {
    /// Whether it is this call, and not answered yet.
    fn waits(&self, key: Key, serial: u64) -> bool {
        self.key == key && matches!(&self.state, State::Waiting(request) if request.serial == serial)
    }
}

enum State {
    Waiting(Box<Request>),
    Answered {
        call: u64,
        digest: u64,
    },
    /// It was sent again on that connection, where it now waits; the reply may still come here.
    Moved(ConnectionId),
}

/// What an entry says of a reply.
enum Found {
    Request(Box<Request>),
    Call(u64),
    Elsewhere(ConnectionId),
}

impl State {
    /// What tells the call from others; of one that was sent again elsewhere, its entry there knows.
    fn digest(&self) -> Option<u64> {
        match self {
            Self::Waiting(request) => Some(request.digest),
            Self::Answered { digest, .. } => Some(*digest),
            Self::Moved(_) => None,
        }
    }

    /// Whether it is this call, waiting or answered.
    fn holds(&self, digest: u64) -> bool {
        self.digest() == Some(digest)
    }

    /// Puts what comes `next` in the place of a waiting call: gives the request, or what there was
    /// instead of one.
    fn leave(&mut self, next: impl FnOnce(&Request) -> Self) -> Found {
        let next = match self {
            Self::Answered { call, .. } => return Found::Call(*call),
            Self::Moved(to) => return Found::Elsewhere(*to),
            Self::Waiting(request) => next(request),
        };
        match std::mem::replace(self, next) {
            Self::Waiting(request) => Found::Request(request),
            Self::Answered { call, .. } => Found::Call(call),
            Self::Moved(to) => Found::Elsewhere(to),
        }
    }
}

/// Calls by key, each hashed once for all tables. They have no keys of their own.
///
/// Most calls are answered at once and then only take up room. They are forgotten by the generation,
/// without being looked for one by one where nothing was touched for long.
#[derive(Default)]
struct Entries {
    recent: HashTable<Entry>,
    /// The generation before.
    earlier: HashTable<Entry>,
    /// Calls of generations before that, which still wait.
    long_waiting: HashTable<Entry>,
    /// Which digests there may be in `recent`, and in `earlier`.
    digests: [Digests<GENERATION_WORDS>; 2],
    /// Which there may be in `long_waiting`, and how many have been entered there: of those that were
    /// answered since, too.
    waiting_digests: (Digests<WAITING_WORDS>, usize),
    hasher: RandomState,
}

/// A set of digests, in so many words, that takes some for its own that are not, and none of its own for
/// another's.
#[derive(Default)]
struct Digests<const WORDS: usize> {
    bits: Vec<u64>,
}

/// Words for a generation: nine bits for each call.
const GENERATION_WORDS: usize = 1 << 10;

/// Words for calls that have waited for long: eight bits for each, when there are as many as may be.
const WAITING_WORDS: usize = 1 << 13;

impl<const WORDS: usize> Digests<WORDS> {
    /// Three bits of one word: of a full generation's digests, another one finds all three set once in
    /// 35 times; a single bit it would once in ten.
    #[inline]
    fn place(digest: u64) -> (usize, u64) {
        let bits = 1 << (digest % 64) | 1 << ((digest >> 6) % 64) | 1 << ((digest >> 12) % 64);
        ((digest >> 18) as usize % WORDS, bits)
    }

    #[inline]
    fn insert(&mut self, digest: u64) {
        let (word, bits) = Self::place(digest);
        match self.bits.get_mut(word) {
            Some(word) => *word |= bits,
            None => self.insert_first(digest),
        }
    }

    #[cold]
    fn insert_first(&mut self, digest: u64) {
        self.bits.resize(WORDS, 0);
        self.insert(digest);
    }

    #[inline]
    fn may_hold(&self, digest: u64) -> bool {
        let (word, bits) = Self::place(digest);
        self.bits.get(word).is_some_and(|word| word & bits == bits)
    }

    fn clear(&mut self) {
        self.bits.fill(0);
    }
}

impl Entries {
    #[inline]
    fn hash(&self, key: Key) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Whether a call with this digest may be in a table.
    fn may_hold(&self, digest: u64) -> bool {
        let long_waiting = || !self.long_waiting.is_empty() && self.waiting_digests.0.may_hold(digest);
        self.digests.iter().any(|digests| digests.may_hold(digest)) || long_waiting()
    }

    /// Whatever there is of this key, of which this is the hash.
    #[inline]
    fn find(&self, hash: u64, key: Key) -> Option<&Entry> {
        let is = |entry: &Entry| entry.key == key;
        let aged = || self.earlier.find(hash, is).or_else(|| self.find_long_waiting(hash, key));
        self.recent.find(hash, is).or_else(aged)
    }

    #[inline]
    fn find_long_waiting(&self, hash: u64, key: Key) -> Option<&Entry> {
        if self.long_waiting.is_empty() {
            return None;
        }
        self.long_waiting.find(hash, |entry| entry.key == key)
    }

    fn entry(&mut self, hash: u64, key: Key) -> Option<OccupiedEntry<'_, Entry>> {
        let is = |entry: &Entry| entry.key == key;
        let tables = [&mut self.recent, &mut self.earlier, &mut self.long_waiting];
        tables.into_iter().find_map(|table| table.find_entry(hash, is).ok())
    }

    /// Enters a call whose key, with this hash, is in no table.
    #[inline]
    fn put(&mut self, hash: u64, key: Key, state: State) {
        if let (Some(digest), [digests, _]) = (state.digest(), &mut self.digests) {
            digests.insert(digest);
        }
        let hasher = &self.hasher;
        self.recent.insert_unique(hash, Entry { key, state }, |entry| hasher.hash_one(entry.key));
    }

    /// Takes a waiting call out, as [`State::leave`] does. What stays in its place is remembered for as
    /// long as a call that came with it, or if that was long ago, like a new one.
    fn leave(
        &mut self,
        key: Key,
        whose: impl Fn(&State) -> bool,
        next: impl FnOnce(&Request) -> State,
    ) -> Option<Found> {
        let hash = self.hasher.hash_one(key);
        let is = |entry: &Entry| entry.key == key && whose(&entry.state);
        for table in [&mut self.recent, &mut self.earlier] {
            if let Some(entry) = table.find_mut(hash, is) {
                return Some(entry.state.leave(next));
            }
        }
        let (mut entry, _) = self.long_waiting.find_entry(hash, is).ok()?.remove();
        let found = entry.state.leave(next);
        self.put(hash, key, entry.state);
        Some(found)
    }

    /// Whether a call that has waited for long still does.
    fn has_waited(&self, key: Key, serial: u64) -> bool {
        self.long_waiting.find(self.hasher.hash_one(key), |entry| entry.waits(key, serial)).is_some()
    }

    /// Takes out a call that has waited for long, if it still does.
    fn give_up(&mut self, key: Key, serial: u64) -> Option<Box<Request>> {
        let waits = |entry: &Entry| entry.waits(key, serial);
        let entry = self.long_waiting.find_entry(self.hasher.hash_one(key), waits).ok()?;
        match entry.remove().0.state {
            State::Waiting(request) => Some(request),
            State::Answered { .. } | State::Moved(_) => None,
        }
    }

    /// Begins a new generation. Gives the calls that now have waited for long, in the order in which
    /// they were sent.
    fn age(&mut self) -> Vec<(Key, u64)> {
        let mut late = Vec::new();
        self.renew_waiting_digests();
        let (digests, entered) = &mut self.waiting_digests;
        for entry in self.earlier.drain() {
            if let State::Waiting(request) = &entry.state {
                late.push((entry.key, request.serial));
                digests.insert(request.digest);
                *entered += 1;
                let hasher = &self.hasher;
                let hash = hasher.hash_one(entry.key);
                self.long_waiting.insert_unique(hash, entry, |entry| hasher.hash_one(entry.key));
            }
        }
        std::mem::swap(&mut self.recent, &mut self.earlier);
        let [recent, earlier] = &mut self.digests;
        std::mem::swap(recent, earlier);
        recent.clear();
        late.sort_unstable_by_key(|(_, serial)| *serial);
        late
    }

    /// Forgets the digests of calls that have waited for long, and then were answered, once they are
    /// most of them.
    fn renew_waiting_digests(&mut self) {
        let (digests, entered) = &mut self.waiting_digests;
        if *entered > 2 * self.long_waiting.len() {
            digests.clear();
            *entered = self.long_waiting.len();
            let waiting = self.long_waiting.iter().filter_map(|entry| entry.state.digest());
            waiting.for_each(|digest| digests.insert(digest));
        }
    }

    /// Takes out everything that belongs to connections that are `gone`.
    #[allow(clippy::vec_box)] // The boxes are handed on as they are.
    fn extract(&mut self, gone: impl Fn(ConnectionId) -> bool) -> Vec<Box<Request>> {
        let mut requests = Vec::new();
        for table in [&mut self.recent, &mut self.earlier, &mut self.long_waiting] {
            requests.extend(table.extract_if(|entry| gone(entry.key.connection())).filter_map(|entry| {
                match entry.state {
                    State::Waiting(request) => Some(request),
                    State::Answered { .. } | State::Moved(_) => None,
                }
            }));
        }
        requests
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.recent.len() + self.earlier.len() + self.long_waiting.len()
    }
}

/// Where a call comes from.
#[derive(Clone, Debug)]
pub struct Origin<'a> {
    /// The connection.
    pub connection: ConnectionId,
    /// The side that calls.
    pub side: Side,
    /// Other connections between the same hosts: a call that waits on one of them and comes again here was
    /// retransmitted after a reconnect.
    pub siblings: &'a [ConnectionId],
    /// Its xid is above those of all calls before it from there: it cannot be one of them.
    pub newer: bool,
    /// Bytes of it that a client writes anew each time that it sends the call: they do not tell it from
    /// another.
    pub renewed: Option<Range<usize>>,
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

/// What the pairs tell the reader of one side's records.
pub struct Correspondence<'a> {
    pairing: &'a Pairing,
    connection: ConnectionId,
    side: Side,
}

impl<'a> Correspondence<'a> {
    /// The call with this xid from the other side, if it waits.
    pub fn request(&self, xid: u32) -> Option<&'a Request> {
        self.pairing.request(self.connection, self.side.other(), xid)
    }
}

impl Peer for Correspondence<'_> {
    fn waits_for(&self, xid: u32) -> bool {
        self.pairing.expects(self.connection, self.side.other(), xid)
    }

    fn answered(&self, xid: u32, frame: u64) -> bool {
        let key = Key::new(self.connection, self.side, xid);
        self.pairing.early.get(&key).is_some_and(|reply| reply.last.frame < frame)
    }
}

/// Matches replies with calls.
#[derive(Default)]
pub struct Pairing {
    entries: Entries,
    /// Calls that have waited for long, oldest first; some of them, at most about half, have been
    /// answered since.
    long_waiting: VecDeque<(Key, u64)>,
    early: HashMap<Key, Kept, RandomState>,
    early_order: VecDeque<Key>,
    early_bytes: usize,
    /// Pairs found, and how many calls had a reply before them by more than `DISORDER_NS`.
    order_seen: (u64, u64),
    /// Replies that gave way to others before their time was over.
    pub displaced: u64,
    waiting: Waiting,
    calls: u64,
}

/// What is kept of the calls that wait.
#[derive(Default)]
struct Waiting {
    /// Memory for their messages.
    bytes: usize,
    /// Calls so far.
    serial: u64,
    /// Calls and replies of which only the beginning was kept, because so much was waiting.
    shortened: u64,
    #[allow(clippy::vec_box)] // The boxes themselves are used again.
    spare: Vec<Box<Request>>,
}

impl Waiting {
    /// What is kept of a new call.
    #[inline]
    #[allow(clippy::unnecessary_box_returns)] // The boxes themselves are used again.
    fn request(
        &mut self,
        key: Key,
        digest: u64,
        record: &Record<'_>,
        unread: Option<Range<usize>>,
    ) -> Box<Request> {
        let room = if self.bytes < WAITING_BYTES_LIMIT { usize::MAX } else { SHORT_CALL };
        let mut request = self.spare.pop().unwrap_or_default();
        let shortened = request.message.fill(record, unread, room);
        self.shortened += u64::from(shortened);
        (request.connection, request.caller) = (key.connection(), key.caller());
        (request.transmissions, request.digest) = (1, digest);
        request
    }

    /// A call begins to wait, behind all that came before.
    #[inline]
    fn begin(&mut self, request: &mut Request) {
        self.serial += 1;
        request.serial = self.serial;
        self.bytes += request.message.memory();
    }

    /// A call waits no more.
    #[inline]
    fn end(&mut self, request: &Request) {
        self.bytes = self.bytes.saturating_sub(request.message.memory());
    }
}

/// Whether a call is of the procedure that every program has, without arguments and results (RFC 5531
/// section 12.1). RPCSEC_GSS makes its contexts under the same number.
fn is_null(head: &Head) -> bool {
    head.procedure == 0 && head.flavor != Some(Flavor::RPCSEC_GSS)
}

impl Pairing {
    /// Calls and replies of which only the beginning was kept, because so much was waiting.
    pub fn shortened(&self) -> u64 {
        self.waiting.shortened
    }

    /// Whether a call with this xid from the other side waits on the connection.
    pub fn expects(&self, connection: ConnectionId, caller: Side, xid: u32) -> bool {
        self.request(connection, caller, xid).is_some()
    }

    fn request(&self, connection: ConnectionId, caller: Side, xid: u32) -> Option<&Request> {
        let key = Key::new(connection, caller, xid);
        match &self.entries.find(self.entries.hash(key), key)?.state {
            State::Waiting(request) => Some(request),
            State::Answered { .. } | State::Moved(_) => None,
        }
    }

    /// What is known of the messages that `side` of the connection may send.
    pub fn peer(&self, connection: ConnectionId, side: Side) -> Correspondence<'_> {
        Correspondence { pairing: self, connection, side }
    }

    /// Takes a call. `unread` is a part of the message that nobody will read, as data of a WRITE: it is not
    /// kept.
    ///
    /// The second value is a call whose xid this one took over: it will not be answered any more.
    pub fn call(
        &mut self,
        origin: &Origin<'_>,
        record: &Record<'_>,
        head: &Head,
        unread: impl FnOnce() -> Option<Range<usize>>,
    ) -> (CallOutcome, Option<(u64, Box<Request>)>) {
        let key = Key::new(origin.connection, origin.side, head.xid);
        let (hash, digest) = (self.entries.hash(key), self.digest(record, head, origin.renewed.as_ref()));
        let alone = self.early.is_empty()
            && (origin.siblings.is_empty() || !self.entries.may_hold(digest))
            && (origin.newer || self.entries.find(hash, key).is_none());
        if !alone {
            // Taken apart, so that what is said of most calls need not lie in memory.
            return self.call_again(hash, key, origin.siblings, (digest, head), record, unread);
        }
        let request = self.waiting.request(key, digest, record, unread());
        self.insert(hash, key, request);
        (CallOutcome::New, None)
    }

    /// Takes a call that may have come before, here or on a sibling, or whose reply may have.
    #[inline(never)]
    fn call_again(
        &mut self,
        hash: u64,
        key: Key,
        siblings: &[ConnectionId],
        (digest, head): (u64, &Head),
        record: &Record<'_>,
        unread: impl FnOnce() -> Option<Range<usize>>,
    ) -> (CallOutcome, Option<(u64, Box<Request>)>) {
        let mut displaced = None;
        if let Some(mut entry) = self.entries.entry(hash, key) {
            match &mut entry.get_mut().state {
                State::Waiting(request) if request.digest == digest => {
                    request.transmissions += 1;
                    return (CallOutcome::Again, None);
                }
                State::Answered { call, digest: before } if *before == digest => {
                    return (CallOutcome::Late { call: *call }, None);
                }
                _ => {}
            }
            if let State::Waiting(request) = entry.remove().0.state {
                displaced = Some(self.number(request));
            }
        }
        let sibling = self.entries.may_hold(digest).then(|| self.find_on_sibling(key, siblings, digest));
        match sibling.flatten() {
            Some(Found::Request(request)) => {
                self.insert(hash, key, request);
                return (CallOutcome::Again, displaced);
            }
            // NULL says nothing but its xid, and servers begin at the same one on each connection for callbacks.
            Some(Found::Call(call)) if !is_null(head) => {
                // Its second reply is to be known as such.
                self.entries.put(hash, key, State::Answered { call, digest });
                return (CallOutcome::Late { call }, displaced);
            }
            Some(Found::Call(_) | Found::Elsewhere(_)) | None => {}
        }
        let request = self.waiting.request(key, digest, record, unread());
        if !self.early.is_empty()
            && self.believes_early(key, record.first)
            && let Some(reply) = self.take_early(key)
        {
            let call = self.next_number();
            self.entries.put(hash, key, State::Answered { call, digest });
            return (CallOutcome::Answered { call, request, reply }, displaced);
        }
        self.insert(hash, key, request);
        (CallOutcome::New, displaced)
    }

    /// Takes a reply to a call of the side `caller`.
    #[inline]
    pub fn reply(
        &mut self,
        connection: ConnectionId,
        caller: Side,
        xid: u32,
        record: &Record<'_>,
    ) -> ReplyOutcome {
        let key = Key::new(connection, caller, xid);
        match self.answer(key) {
            Some(Found::Request(request)) => self.answered(request),
            Some(Found::Call(call)) => ReplyOutcome::Again { call },
            Some(Found::Elsewhere(to)) => self.reply_elsewhere(to, key, record),
            None => self.hold(key, record),
        }
    }

    /// Takes a reply to a call that was sent again on another connection.
    #[cold]
    #[inline(never)]
    fn reply_elsewhere(&mut self, to: ConnectionId, key: Key, record: &Record<'_>) -> ReplyOutcome {
        match self.answer(key.on(to)) {
            Some(Found::Request(request)) => self.answered(request),
            Some(Found::Call(call)) => ReplyOutcome::Again { call },
            Some(Found::Elsewhere(_)) | None => self.hold(key, record),
        }
    }

    #[inline]
    fn answered(&mut self, request: Box<Request>) -> ReplyOutcome {
        self.order_seen.0 += 1;
        self.waiting.end(&request);
        ReplyOutcome::Answers { call: self.next_number(), request }
    }

    /// Answers the call with this key, if there is one.
    #[inline]
    fn answer(&mut self, key: Key) -> Option<Found> {
        let call = self.calls;
        let answered = |request: &Request| State::Answered { call, digest: request.digest };
        self.entries.leave(key, |_| true, answered)
    }

    /// Whether a reply that is held answers the call that begins here: it may just have the xid. One
    /// that does not stays, and counts as a reply without call in the end.
    fn believes_early(&mut self, key: Key, call: Stamp) -> bool {
        let Some(reply) = self.early.get(&key) else { return false };
        let (pairs, far) = &mut self.order_seen;
        *pairs += 1;
        if call.time_ns.saturating_sub(reply.last.time_ns) <= DISORDER_NS {
            return true;
        }
        *far += 1;
        *pairs <= HABIT.0 || *far * HABIT.1 >= *pairs
    }

    /// Holds a reply whose call was not seen yet.
    #[cold]
    fn hold(&mut self, key: Key, record: &Record<'_>) -> ReplyOutcome {
        let mut kept = Kept::default();
        let room = if self.early_bytes < EARLY_BYTES_LIMIT { usize::MAX } else { SHORT_CALL };
        let shortened = kept.fill(record, None, room);
        self.waiting.shortened += u64::from(shortened);
        self.early_bytes += kept.bytes.len();
        match self.early.insert(key, kept) {
            None => self.early_order.push_back(key),
            Some(twin) => self.early_bytes = self.early_bytes.saturating_sub(twin.bytes.len()),
        }
        ReplyOutcome::Early
    }

    /// Gives a request's buffer back for the next call.
    pub fn recycle(&mut self, mut request: Box<Request>) {
        if self.waiting.spare.len() < SPARE_LIMIT {
            if request.message.memory() > SPARE_BYTES {
                request.message.bytes = Vec::new();
            }
            self.waiting.spare.push(request);
        }
    }

    /// The next call that has to be given up because too many are waiting.
    pub fn overdue_call(&mut self) -> Option<(u64, Box<Request>)> {
        if self.gives_up() { self.give_up_oldest() } else { None }
    }

    /// Whether there may be such a call.
    #[inline]
    pub fn gives_up(&self) -> bool {
        self.entries.recent.len() >= GENERATION_LIMIT || self.too_many_wait()
    }

    /// Whether more calls have waited for long than may: not those that were answered since.
    #[inline]
    fn too_many_wait(&self) -> bool {
        self.entries.long_waiting.len() > WAITING_LIMIT
    }

    fn give_up_oldest(&mut self) -> Option<(u64, Box<Request>)> {
        if self.entries.recent.len() >= GENERATION_LIMIT {
            self.long_waiting.extend(self.entries.age());
            self.forget_answered();
        }
        while self.too_many_wait() {
            let (key, serial) = self.long_waiting.pop_front()?;
            if let Some(given_up) = self.give_up(key, serial) {
                return Some(given_up);
            }
        }
        None
    }

    /// Drops calls that were answered since from the order of those that have waited for long, once
    /// they are most of it: each is looked at a few times, and the order grows no further.
    fn forget_answered(&mut self) {
        if self.long_waiting.len() > 2 * self.entries.long_waiting.len() + GENERATION_LIMIT {
            let entries = &self.entries;
            self.long_waiting.retain(|(key, serial)| entries.has_waited(*key, *serial));
        }
    }

    /// Whether any reply waits for its call.
    #[inline]
    pub fn holds_replies(&self) -> bool {
        !self.early_order.is_empty()
    }

    /// The next early reply whose call will not come any more.
    pub fn overdue_reply(&mut self, now: Stamp) -> Option<(ConnectionId, u32, Kept)> {
        while let Some(key) = self.early_order.front().copied() {
            let full = self.early.len() > EARLY_LIMIT;
            let expired = self
                .early
                .get(&key)
                .is_none_or(|reply| full || now.time_ns.saturating_sub(reply.last.time_ns) > EARLY_NS);
            if !expired {
                return None;
            }
            self.early_order.pop_front();
            if let Some(reply) = self.take_early(key) {
                self.displaced += u64::from(full);
                return Some((key.connection(), key.xid(), reply));
            }
        }
        None
    }

    /// Gives up the calls of connections that are `gone`, in the order in which they were sent, and
    /// forgets what was answered there.
    pub fn abandon(&mut self, gone: impl Fn(ConnectionId) -> bool) -> Vec<(u64, Box<Request>)> {
        let mut requests = self.entries.extract(gone);
        requests.sort_unstable_by_key(|request| request.serial);
        requests.into_iter().map(|request| self.number(request)).collect()
    }

    fn take_early(&mut self, key: Key) -> Option<Kept> {
        let reply = self.early.remove(&key)?;
        self.early_bytes = self.early_bytes.saturating_sub(reply.bytes.len());
        Some(reply)
    }

    /// At the end: the next call without reply, in the order in which they were sent.
    pub fn next_unanswered(&mut self) -> Option<(u64, Box<Request>)> {
        while !(self.entries.recent.is_empty() && self.entries.earlier.is_empty()) {
            self.long_waiting.extend(self.entries.age());
        }
        while let Some((key, serial)) = self.long_waiting.pop_front() {
            if let Some(given_up) = self.give_up(key, serial) {
                return Some(given_up);
            }
        }
        None
    }

    /// At the end: the next reply without call.
    pub fn next_orphan(&mut self) -> Option<(ConnectionId, u32, Kept)> {
        while let Some(key) = self.early_order.pop_front() {
            if let Some(reply) = self.take_early(key) {
                return Some((key.connection(), key.xid(), reply));
            }
        }
        None
    }

    fn give_up(&mut self, key: Key, serial: u64) -> Option<(u64, Box<Request>)> {
        let request = self.entries.give_up(key, serial)?;
        Some(self.number(request))
    }

    fn number(&mut self, request: Box<Request>) -> (u64, Box<Request>) {
        self.waiting.end(&request);
        (self.next_number(), request)
    }

    #[inline]
    fn insert(&mut self, hash: u64, key: Key, mut request: Box<Request>) {
        self.waiting.begin(&mut request);
        self.entries.put(hash, key, State::Waiting(request));
    }

    fn next_number(&mut self) -> u64 {
        let call = self.calls;
        self.calls += 1;
        call
    }

    /// The same call on another connection: taken from there while it waits, its number if it was answered.
    fn find_on_sibling(&mut self, key: Key, siblings: &[ConnectionId], digest: u64) -> Option<Found> {
        for &connection in siblings {
            let there = key.on(connection);
            let moved = |_: &Request| State::Moved(key.connection());
            let found = self.entries.leave(there, |state| state.holds(digest), moved);
            if let Some(Found::Request(mut request)) = found {
                self.waiting.end(&request);
                request.connection = key.connection();
                request.transmissions += 1;
                return Some(Found::Request(request));
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Tells a call from another with the same xid. A call under RPCSEC_GSS changes its sequence
    /// number when it is sent again, so that only its header and length count.
    fn digest(&self, record: &Record<'_>, head: &Head, renewed: Option<&Range<usize>>) -> u64 {
        let mut hasher = self.entries.hasher.build_hasher();
        hasher.write_u64(u64::from(head.program) << 32 | u64::from(head.version));
        hasher.write_u64((record.length as u64) << 32 | u64::from(head.procedure));
        if head.flavor != Some(Flavor::RPCSEC_GSS) {
            let bytes = record.bytes.get(..DIGEST_BYTES).unwrap_or(record.bytes);
            match renewed.and_then(|part| Some((bytes.get(..part.start)?, bytes.get(part.end..)?))) {
                Some((before, after)) => {
                    hasher.write(before);
                    hasher.write(after);
                }
                None => hasher.write(bytes),
            }
        }
        hasher.finish()
    }
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
mod tests;
