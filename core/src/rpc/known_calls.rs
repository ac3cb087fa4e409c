//! Calls by connection and xid → those that wait for their reply, or had it not long ago.
//!
//! A call that was answered is remembered for a while, so that one that is sent again is recognised, and so is
//! its reply.

use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::num::NonZeroU32;

use foldhash::fast::{FixedState, RandomState};
use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;

use crate::rpc::kept::Kept;
use crate::stream::unreceived::LeftOut;
use crate::stream::{ConnectionId, Side};

/// Calls of a generation. The last two are remembered when they are answered, so that a message that
/// comes again is recognised: a call or reply that crossed its twin comes within a round trip. As many
/// as a table of 8,192 places takes, which should stay in the processor's cache.
pub(super) const GENERATION_LIMIT: usize = 7 << 10;

/// Words for a generation: nine bits for each call.
pub(super) const GENERATION_WORDS: usize = 1 << 10;

/// Words for calls that have waited for long: eight bits for each, when there are as many as may be.
const WAITING_WORDS: usize = 1 << 13;

/// Places for slots of NFSv4.1. Of two that share one, the calls of the one that was not used last are not known
/// again there.
const SLOT_PLACES: usize = 1 << 12;

/// What clients wait for a reply over TCP before they send the call again, unless they were told otherwise
/// (timeo in nfs(5)). One that took so long need not have been too slow: a server that dropped the call only
/// answers when it comes again.
const TIMEO_NS: i64 = 60_000_000_000;

/// Which messages belong together: connection, the side that called, and xid. NFSv4.1 calls go both ways
/// on one connection, with xids of their own.
///
/// In one number, so that a look-up compares and hashes one: the highest bit of a connection's is never
/// reached, and has no room here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

impl Key {
    #[inline]
    pub(super) fn new(connection: ConnectionId, caller: Side, xid: u32) -> Self {
        let direction = u64::from(connection) << 1 | u64::from(caller == Side::High);
        Self(direction << 32 | u64::from(xid))
    }

    pub(super) fn connection(self) -> ConnectionId {
        (self.0 >> 33) as ConnectionId
    }

    pub(super) fn caller(self) -> Side {
        if self.0 >> 32 & 1 == 0 { Side::Low } else { Side::High }
    }

    pub(super) fn xid(self) -> u32 {
        self.0 as u32
    }

    /// That of the same message on another connection.
    pub(super) fn on(self, connection: ConnectionId) -> Self {
        Self::new(connection, self.caller(), self.xid())
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
    /// The sequence number at which its first transmission ended; `None` where that is not known, was on
    /// another connection, or, since many calls wait at once, is 0.
    pub end: Option<NonZeroU32>,
    /// What the caller's last acknowledgement of less than all of the reply that came before it left out, if it
    /// came after that and not after the call.
    pub left_out_before: Option<Box<LeftOut>>,
    pub(super) digest: u64,
    /// Its place in the order of the calls.
    pub(super) serial: u64,
}

impl Request {
    /// Whether a reply answers the first transmission, where `resent` says whether a TCP segment was sent again
    /// on the connection meanwhile: the call was sent once, or so soon that the client did not wait for a server
    /// which had it.
    pub fn first_arrived(&self, replied_ns: Option<i64>, resent: bool) -> bool {
        let in_time = |replied_ns: i64| replied_ns.saturating_sub(self.message.last.time_ns) < TIMEO_NS;
        self.transmissions == 1 || self.end.is_some() && !resent && replied_ns.is_some_and(in_time)
    }

    /// Reads from all of it but the bytes of its message.
    #[inline]
    pub fn fetch(&self) {
        black_box(self.digest ^ self.message.first.frame ^ self.serial ^ u64::from(self.transmissions));
    }

    /// Reads from the beginning of its message, which is all of most.
    #[inline]
    pub fn fetch_message(&self) {
        self.message.fetch();
    }
}

pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) state: State,
}

impl Entry {
    /// Whether it is this call, and not answered yet.
    fn waits(&self, key: Key, serial: u64) -> bool {
        self.key == key && matches!(&self.state, State::Waiting(request) if request.serial == serial)
    }
}

/// When a call was first sent, to 65 µs, beside one of the same week: so small that a call which was
/// answered takes no more room for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent(u32);

impl Sent {
    const STEP_BITS: u32 = 16;

    #[inline]
    pub(super) fn at(time_ns: i64) -> Self {
        Self((time_ns >> Self::STEP_BITS).cast_unsigned() as u32)
    }

    fn after(self, other: Self) -> bool {
        self.0.wrapping_sub(other.0).cast_signed() > 0
    }
}

pub(super) enum State {
    Waiting(Box<Request>),
    Answered {
        call: u64,
        digest: u64,
        sent: Sent,
    },
    /// It was sent again on that connection, where it now waits; the reply may still come here.
    Moved(Key),
}

/// What an entry says of a reply.
pub(super) enum Found {
    Request(Box<Request>),
    Call(u64),
    Elsewhere(Key),
}

impl State {
    /// What tells the call from others; of one that was sent again elsewhere, its entry there knows.
    pub(super) fn digest(&self) -> Option<u64> {
        match self {
            Self::Waiting(request) => Some(request.digest),
            Self::Answered { digest, .. } => Some(*digest),
            Self::Moved(_) => None,
        }
    }

    /// Whether it is this call, waiting or answered.
    pub(super) fn holds(&self, digest: u64) -> bool {
        self.digest() == Some(digest)
    }

    /// Whether the call was first sent after a connection began: what comes there with its xid was not
    /// sent again since this one broke.
    pub(super) fn sent_after(&self, began_ns: i64) -> bool {
        match self {
            Self::Waiting(request) => request.message.first.time_ns > began_ns,
            Self::Answered { sent, .. } => sent.after(Sent::at(began_ns)),
            Self::Moved(_) => false,
        }
    }

    /// Puts what comes `next` in the place of a waiting call: gives the request, or what there was
    /// instead of one.
    pub(super) fn leave(&mut self, next: impl FnOnce(&Request) -> Self) -> Found {
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
pub(super) struct Entries {
    pub(super) recent: HashTable<Entry>,
    /// The generation before.
    earlier: HashTable<Entry>,
    /// Calls of generations before that, which still wait.
    pub(super) long_waiting: HashTable<Entry>,
    /// Which digests there may be in `recent`, and in `earlier`.
    pub(super) digests: [Digests<GENERATION_WORDS>; 2],
    /// Which there may be in `long_waiting`, and how many have been entered there: of those that were
    /// answered since, too.
    waiting_digests: (Digests<WAITING_WORDS>, usize),
    pub(super) hasher: RandomState,
}

/// A set of digests, in so many words, that takes some for its own that are not, and none of its own for
/// another's.
#[derive(Default)]
pub(super) struct Digests<const WORDS: usize> {
    pub(super) bits: Vec<u64>,
}

impl<const WORDS: usize> Digests<WORDS> {
    /// Three bits of one word: of a full generation's digests, another one finds all three set once in
    /// 35 times; a single bit it would once in ten.
    #[inline]
    fn place(digest: u64) -> (usize, u64) {
        let bits = 1 << (digest % 64) | 1 << ((digest >> 6) % 64) | 1 << ((digest >> 12) % 64);
        ((digest >> 18) as usize % WORDS, bits)
    }

    #[inline]
    pub(super) fn insert(&mut self, digest: u64) {
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
    pub(super) fn may_hold(&self, digest: u64) -> bool {
        let (word, bits) = Self::place(digest);
        self.bits.get(word).is_some_and(|word| word & bits == bits)
    }

    pub(super) fn clear(&mut self) {
        self.bits.fill(0);
    }
}

/// The last call of each slot.
#[derive(Default)]
pub(super) struct Slots {
    places: Vec<Option<Key>>,
    /// Not seeded: which slots share a place must not differ from one decode to the next.
    hasher: FixedState,
}

impl Slots {
    /// Takes the call that is in a slot now, in place of the one before.
    #[inline]
    pub(super) fn take(&mut self, name: &[u8; 20], key: Key) -> Option<Key> {
        if self.places.is_empty() {
            self.places.resize(SLOT_PLACES, None);
        }
        let place = self.hasher.hash_one(name) as usize % SLOT_PLACES;
        self.places.get_mut(place)?.replace(key)
    }
}

impl Entries {
    #[inline]
    pub(super) fn hash(&self, key: Key) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Whether a call with this digest may be in a table.
    pub(super) fn may_hold(&self, digest: u64) -> bool {
        let long_waiting = || !self.long_waiting.is_empty() && self.waiting_digests.0.may_hold(digest);
        self.digests.iter().any(|digests| digests.may_hold(digest)) || long_waiting()
    }

    /// Whatever there is of this key, of which this is the hash.
    #[inline]
    pub(super) fn find(&self, hash: u64, key: Key) -> Option<&Entry> {
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

    pub(super) fn entry(&mut self, hash: u64, key: Key) -> Option<OccupiedEntry<'_, Entry>> {
        let is = |entry: &Entry| entry.key == key;
        let tables = [&mut self.recent, &mut self.earlier, &mut self.long_waiting];
        tables.into_iter().find_map(|table| table.find_entry(hash, is).ok())
    }

    /// Enters a call whose key, with this hash, is in no table.
    #[inline]
    pub(super) fn put(&mut self, hash: u64, key: Key, state: State) {
        if let (Some(digest), [digests, _]) = (state.digest(), &mut self.digests) {
            digests.insert(digest);
        }
        let hasher = &self.hasher;
        self.recent.insert_unique(hash, Entry { key, state }, |entry| hasher.hash_one(entry.key));
    }

    /// Takes a waiting call out, as [`State::leave`] does. What stays in its place is remembered for as
    /// long as a call that came with it, or if that was long ago, like a new one.
    pub(super) fn leave(
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
    pub(super) fn has_waited(&self, key: Key, serial: u64) -> bool {
        self.long_waiting.find(self.hasher.hash_one(key), |entry| entry.waits(key, serial)).is_some()
    }

    /// Takes out a call that has waited for long, if it still does.
    pub(super) fn give_up(&mut self, key: Key, serial: u64) -> Option<Box<Request>> {
        let waits = |entry: &Entry| entry.waits(key, serial);
        let entry = self.long_waiting.find_entry(self.hasher.hash_one(key), waits).ok()?;
        match entry.remove().0.state {
            State::Waiting(request) => Some(request),
            State::Answered { .. } | State::Moved(_) => None,
        }
    }

    /// Whether the generation has all its calls.
    #[inline]
    pub(super) fn full(&self) -> bool {
        self.recent.len() >= GENERATION_LIMIT
    }

    /// How many calls have waited for long.
    #[inline]
    pub(super) fn waiting_long(&self) -> usize {
        self.long_waiting.len()
    }

    /// Whether every call that is known has.
    pub(super) fn all_waited_long(&self) -> bool {
        self.recent.is_empty() && self.earlier.is_empty()
    }

    /// Begins a digest.
    #[inline]
    pub(super) fn digest(&self) -> impl Hasher + use<> {
        self.hasher.build_hasher()
    }

    /// Begins a new generation. Gives the calls that now have waited for long, in the order in which
    /// they were sent.
    pub(super) fn age(&mut self) -> Vec<(Key, u64)> {
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
    #[expect(clippy::vec_box, reason = "the boxes are handed on as they are")]
    pub(super) fn extract(&mut self, gone: impl Fn(ConnectionId) -> bool) -> Vec<Box<Request>> {
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
    pub(super) fn len(&self) -> usize {
        self.recent.len() + self.earlier.len() + self.long_waiting.len()
    }
}
