//! Calls and replies → pairs, by connection and xid.
//!
//! A reply says nothing but its xid; all else comes from its call. Calls wait here for their reply;
//! answered calls are remembered for a while, so that a call or a reply that is sent again is
//! recognised; replies that come before their call (two capture ports, or a hole given up late) are
//! held for a while.

use std::collections::VecDeque;
use std::hash::Hasher;
use std::num::NonZeroU32;
use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

pub use crate::rpc::kept::Kept;
pub use crate::rpc::known_calls::Request;
use crate::rpc::known_calls::{Entries, Found, GENERATION_LIMIT, Key, Sent, Slots, State};
use crate::rpc::message::{Flavor, Head};
use crate::rpc::program;
use crate::rpc::record::{Peer, Record, SEEN};
use crate::stream::assembler::Stamp;
use crate::stream::unreceived::LeftOut;
use crate::stream::{ConnectionId, Side};

/// Calls that wait for their reply at most. Beyond it the oldest is given up as unanswered
/// (`pending_limit`). Linux keeps at most 65,536 slots per transport.
const WAITING_LIMIT: usize = 1 << 16;

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

/// How long a reply is held for its call in any case, and how much earlier than its call it may be: clocks
/// of two capture ports.
const EARLY_NS: i64 = 1_000_000_000;

/// How long it is held as long as there are few, so that half of their memory is free: a hole in a call is
/// given up when more comes on its connection, which after the last call may be as late as the renewal of a
/// lease or TCP's keepalive.
const HELD_NS: i64 = 120_000_000_000;

/// A reply that was captured before its call by no more than this is taken for its reply: a host that
/// captures takes packets out of the queues of its network card in any order, a few milliseconds at a
/// time. A larger distance may mean that the xid was damaged.
const DISORDER_NS: i64 = 10_000_000;

/// Unless that is the habit of the capture, because its two directions were stamped by two clocks: so
/// many pairs tell a habit, and one reply in so many has to be as early.
const HABIT: (u64, u64) = (8, 4);

/// Bytes of a call that tell it from another with the same xid.
const DIGEST_BYTES: usize = SEEN;

/// Where a call comes from.
#[derive(Clone, Debug)]
pub struct Origin<'a> {
    /// The connection.
    pub connection: ConnectionId,
    /// The side that calls.
    pub side: Side,
    /// Other connections between the same hosts: a call that waits on one of them and comes again here was
    /// retransmitted after a reconnect.
    pub siblings: &'a [Sibling],
    /// When the connection began, nanoseconds since 1970. Calls that were sent elsewhere after that do not
    /// come again here: clients send again what a connection that broke did not bring, on the next one.
    pub began_ns: i64,
    /// Its xid is above those of all calls before it from there: it cannot be one of them.
    pub newer: bool,
    /// Bytes of it that a client writes anew each time that it sends the call: they do not tell it from
    /// another.
    pub renewed: Option<Range<usize>>,
    /// What the caller's last acknowledgement of less than all of the reply before it left out.
    pub left_out: Option<LeftOut>,
    /// Its client sends the next request there only when it had the answer to this one.
    pub slot: Option<Slot>,
}

/// Where a client has one request at a time, which bears a number of its own (NFSv4.1: RFC 8881 section
/// 2.10.6.1). So it is known again whatever its xid is, which some clients count anew on each connection.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Session and slot.
    pub name: [u8; 20],
    /// Where in the message the request begins, with its number in it: not so the header before it, in which
    /// another xid may be, or another number of RPCSEC_GSS.
    pub request: usize,
}

/// Another connection between the same hosts.
#[derive(Clone, Copy, Debug)]
pub struct Sibling {
    /// The connection.
    pub connection: ConnectionId,
    /// Of calls with a lower number that were answered there, the client had the reply when this connection
    /// began: it has no reason to send them again.
    pub received: u64,
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
    /// In the order in which they came, with the time; also some, at most about half, that found their
    /// calls.
    early_order: VecDeque<(Key, i64)>,
    early_bytes: usize,
    /// Replies in whose place another one with the same xid came much later.
    outlived: Vec<(Key, Kept)>,
    /// Pairs found, and how many calls had a reply before them by more than `DISORDER_NS`.
    order_seen: (u64, u64),
    /// Replies that gave way to others before their time was over.
    pub displaced: u64,
    waiting: Waiting,
    slots: Slots,
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
    #[expect(clippy::vec_box, reason = "the boxes themselves are used again")]
    spare: Vec<Box<Request>>,
}

impl Waiting {
    /// What is kept of a new call.
    #[inline]
    #[expect(clippy::unnecessary_box_returns, reason = "the boxes themselves are used again")]
    fn request(
        &mut self,
        key: Key,
        digest: u64,
        record: &Record<'_>,
        unread: Option<Range<usize>>,
        left_out: Option<LeftOut>,
    ) -> Box<Request> {
        let room = if self.bytes < WAITING_BYTES_LIMIT { usize::MAX } else { SHORT_CALL };
        let mut request = self.spare.pop().unwrap_or_default();
        let shortened = request.message.fill(record, unread, room);
        self.shortened += u64::from(shortened);
        (request.connection, request.caller) = (key.connection(), key.caller());
        (request.transmissions, request.digest) = (1, digest);
        request.end = record.end().and_then(|end| NonZeroU32::new(end.0));
        request.left_out_before = left_out.map(Box::new);
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

/// Whether a call tells nothing but its xid from one that was answered on another connection.
///
/// Servers begin at the same xid on each connection for callbacks, with NULL; and who asks the portmapper over
/// TCP connects for that alone, libntirpc (NFS-Ganesha) with xid 1 each time.
fn begins_anew(head: &Head) -> bool {
    is_null(head) || head.program == program::PORTMAP
}

impl Pairing {
    /// Calls and replies of which only the beginning was kept, because so much was waiting.
    pub fn shortened(&self) -> u64 {
        self.waiting.shortened
    }

    /// The number of the next call that is answered or given up.
    pub fn next_call(&self) -> u64 {
        self.calls
    }

    /// Whether a call with this xid from the other side waits on the connection.
    pub fn expects(&self, connection: ConnectionId, caller: Side, xid: u32) -> bool {
        self.request(connection, caller, xid).is_some()
    }

    /// Whether a call with this xid was sent from `caller`, on this connection or again on another one, be it
    /// that it waits or that it was answered not long ago.
    pub fn knows(&self, connection: ConnectionId, caller: Side, xid: u32) -> bool {
        let of = |key: Key| Some(&self.entries.find(self.entries.hash(key), key)?.state);
        match of(Key::new(connection, caller, xid)) {
            Some(State::Moved(to)) => matches!(of(*to), Some(State::Waiting(_) | State::Answered { .. })),
            state => state.is_some(),
        }
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
        let (hash, digest) = (self.entries.hash(key), self.digest(record, head, origin));
        let before = origin.slot.and_then(|slot| self.slots.take(&slot.name, key));
        let alone = (self.early.is_empty() || !self.early.contains_key(&key))
            && (origin.siblings.is_empty() || !self.entries.may_hold(digest))
            && (origin.newer || self.entries.find(hash, key).is_none());
        if !alone {
            // Taken apart, so that what is said of most calls need not lie in memory.
            return self.call_again((hash, key, before), origin, (digest, head), record, unread);
        }
        let request = self.waiting.request(key, digest, record, unread(), origin.left_out);
        self.insert(hash, key, request);
        (CallOutcome::New, None)
    }

    /// Takes a call that may have come before, here or on a sibling, or whose reply may have. `before`: the one
    /// before it in its slot.
    #[inline(never)]
    fn call_again(
        &mut self,
        (hash, key, before): (u64, Key, Option<Key>),
        origin: &Origin<'_>,
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
                State::Answered { call, digest: before, .. } if *before == digest => {
                    return (CallOutcome::Late { call: *call }, None);
                }
                _ => {}
            }
            if let State::Waiting(request) = entry.remove().0.state {
                displaced = Some(self.number(request));
            }
        }
        let sibling =
            self.entries.may_hold(digest).then(|| self.find_on_sibling((key, before), origin, digest));
        match sibling.flatten() {
            Some(Found::Request(request)) => {
                self.insert(hash, key, request);
                return (CallOutcome::Again, displaced);
            }
            Some(Found::Call(call)) if !begins_anew(head) => {
                // Its second reply is to be known as such.
                let sent = Sent::at(record.first.time_ns);
                self.entries.put(hash, key, State::Answered { call, digest, sent });
                return (CallOutcome::Late { call }, displaced);
            }
            Some(Found::Call(_) | Found::Elsewhere(_)) | None => {}
        }
        let request = self.waiting.request(key, digest, record, unread(), origin.left_out);
        if !self.early.is_empty()
            && self.believes_early(key, record.first)
            && let Some(reply) = self.take_early(key)
        {
            let call = self.next_number();
            let sent = Sent::at(record.first.time_ns);
            self.entries.put(hash, key, State::Answered { call, digest, sent });
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
        match self.answer(key, record.last) {
            Some(Found::Request(request)) => self.answered(request, record.last),
            Some(Found::Call(call)) => ReplyOutcome::Again { call },
            Some(Found::Elsewhere(to)) => self.reply_elsewhere(to, key, record),
            None => self.hold(key, record),
        }
    }

    /// Takes a reply to a call that was sent again on another connection.
    #[cold]
    #[inline(never)]
    fn reply_elsewhere(&mut self, to: Key, key: Key, record: &Record<'_>) -> ReplyOutcome {
        match self.answer(to, record.last) {
            Some(Found::Request(request)) => self.answered(request, record.last),
            Some(Found::Call(call)) => ReplyOutcome::Again { call },
            Some(Found::Elsewhere(_)) | None => self.hold(key, record),
        }
    }

    #[inline]
    fn answered(&mut self, request: Box<Request>, reply: Stamp) -> ReplyOutcome {
        let (pairs, far) = &mut self.order_seen;
        *pairs += 1;
        *far += u64::from(request.message.last.time_ns > reply.time_ns.saturating_add(DISORDER_NS));
        self.waiting.end(&request);
        ReplyOutcome::Answers { call: self.next_number(), request }
    }

    /// Whether replies are much earlier than their calls in this capture as a habit, or may be.
    #[inline]
    fn has_habit(&self) -> bool {
        let (pairs, far) = self.order_seen;
        pairs <= HABIT.0 || far * HABIT.1 >= pairs
    }

    /// Answers the call with this key, if there is one that its reply is not much earlier than: the clock was set
    /// back between the two, and what the call took is not known.
    #[inline]
    fn answer(&mut self, key: Key, reply: Stamp) -> Option<Found> {
        let call = self.calls;
        let latest_ns = if self.has_habit() { i64::MAX } else { reply.time_ns.saturating_add(DISORDER_NS) };
        let whose = |state: &State| match state {
            State::Waiting(request) => request.message.last.time_ns <= latest_ns,
            State::Answered { .. } | State::Moved(_) => true,
        };
        let answered = |request: &Request| State::Answered {
            call,
            digest: request.digest,
            sent: Sent::at(request.message.first.time_ns),
        };
        self.entries.leave(key, whose, answered)
    }

    /// Whether a reply that is held answers the call that begins here: it may just have the xid. One
    /// that does not stays, and counts as a reply without call in the end.
    fn believes_early(&mut self, key: Key, call: Stamp) -> bool {
        let Some(reply) = self.early.get(&key) else { return false };
        let (pairs, far) = &mut self.order_seen;
        *pairs += 1;
        let earlier_ns = call.time_ns.saturating_sub(reply.last.time_ns);
        if earlier_ns <= DISORDER_NS {
            return true;
        }
        if earlier_ns > EARLY_NS {
            return false;
        }
        *far += 1;
        self.has_habit()
    }

    /// Holds a reply whose call was not seen yet.
    #[cold]
    fn hold(&mut self, key: Key, record: &Record<'_>) -> ReplyOutcome {
        let entry = self.entries.find(self.entries.hash(key), key);
        if entry.is_some_and(|entry| matches!(entry.state, State::Waiting(_))) {
            // Its call is there, much later: one more may make a habit.
            let (pairs, far) = &mut self.order_seen;
            (*pairs, *far) = (*pairs + 1, *far + 1);
        }
        let mut kept = Kept::default();
        let room = if self.early_bytes < EARLY_BYTES_LIMIT { usize::MAX } else { SHORT_CALL };
        let shortened = kept.fill(record, None, room);
        self.waiting.shortened += u64::from(shortened);
        self.early_bytes += kept.size();
        if let Some(twin) = self.early.insert(key, kept) {
            self.early_bytes = self.early_bytes.saturating_sub(twin.size());
            if record.last.time_ns.saturating_sub(twin.last.time_ns) > EARLY_NS {
                self.outlived.push((key, twin));
            }
        } else {
            self.early_order.push_back((key, record.last.time_ns));
            self.forget_found();
        }
        ReplyOutcome::Early
    }

    /// Drops replies that found their calls from the order of those that are held, once they are most of it.
    /// Time alone would not: in some captures it stands still.
    fn forget_found(&mut self) {
        if self.early_order.len() > 2 * self.early.len() + EARLY_LIMIT {
            let early = &self.early;
            self.early_order.retain(|(key, _)| early.contains_key(key));
        }
    }

    /// Gives a request's buffer back for the next call.
    pub fn recycle(&mut self, mut request: Box<Request>) {
        if self.waiting.spare.len() < SPARE_LIMIT {
            if request.message.memory() > SPARE_BYTES {
                request.message.release();
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
        self.entries.full() || self.too_many_wait()
    }

    /// Whether more calls have waited for long than may: not those that were answered since.
    #[inline]
    fn too_many_wait(&self) -> bool {
        self.entries.waiting_long() > WAITING_LIMIT
    }

    fn give_up_oldest(&mut self) -> Option<(u64, Box<Request>)> {
        if self.entries.full() {
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
        if self.long_waiting.len() > 2 * self.entries.waiting_long() + GENERATION_LIMIT {
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
        if let Some((key, reply)) = self.outlived.pop() {
            return Some((key.connection(), key.xid(), reply));
        }
        while let Some((key, since_ns)) = self.early_order.front().copied() {
            let held_ns = now.time_ns.saturating_sub(since_ns);
            let full = self.early.len() > EARLY_LIMIT;
            let half_full = self.early.len() > EARLY_LIMIT / 2 || self.early_bytes > EARLY_BYTES_LIMIT / 2;
            let expired = held_ns > if half_full { EARLY_NS } else { HELD_NS };
            if !full && !expired {
                return None;
            }
            self.early_order.pop_front();
            if let Some(reply) = self.take_early(key) {
                self.displaced += u64::from(!expired);
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
        self.early_bytes = self.early_bytes.saturating_sub(reply.size());
        Some(reply)
    }

    /// At the end: the next call without reply, in the order in which they were sent.
    pub fn next_unanswered(&mut self) -> Option<(u64, Box<Request>)> {
        while !self.entries.all_waited_long() {
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
        if let Some((key, reply)) = self.outlived.pop() {
            return Some((key.connection(), key.xid(), reply));
        }
        while let Some((key, _)) = self.early_order.pop_front() {
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
    fn find_on_sibling(
        &mut self,
        (key, before): (Key, Option<Key>),
        origin: &Origin<'_>,
        digest: u64,
    ) -> Option<Found> {
        let places = origin.siblings.iter().flat_map(|sibling| {
            let renumbered = before.filter(|key| key.connection() == sibling.connection);
            std::iter::once(key.on(sibling.connection))
                .chain(renumbered)
                .map(|there| (there, sibling.received))
        });
        for (there, received) in places {
            let moved = |_: &Request| State::Moved(key);
            let over = |state: &State| matches!(state, State::Answered { call, .. } if *call < received);
            let same =
                |state: &State| state.holds(digest) && !state.sent_after(origin.began_ns) && !over(state);
            // Linux asks the same again in a slot on each connection that it adds, after the answer.
            let told = |state: &State| there.xid() == key.xid() || matches!(state, State::Waiting(_));
            let found = self.entries.leave(there, |state| told(state) && same(state), moved);
            if let Some(Found::Request(mut request)) = found {
                self.waiting.end(&request);
                request.connection = key.connection();
                request.transmissions += 1;
                request.end = None;
                return Some(Found::Request(request));
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Tells a call from another with the same xid, or in the same slot. A call under RPCSEC_GSS changes its
    /// sequence number when it is sent again, so that only its header and length count, and its request where
    /// that can be read.
    fn digest(&self, record: &Record<'_>, head: &Head, origin: &Origin<'_>) -> u64 {
        let mut hasher = self.entries.digest();
        hasher.write_u64(u64::from(head.program) << 32 | u64::from(head.version));
        hasher.write_u64((record.length as u64) << 32 | u64::from(head.procedure));
        if head.flavor != Some(Flavor::RPCSEC_GSS) || origin.slot.is_some() {
            let bytes = record.bytes.get(..DIGEST_BYTES).unwrap_or(record.bytes);
            let request = bytes.get(origin.slot.map_or(0, |slot| slot.request)..).unwrap_or_default();
            let apart = |part: &Range<usize>| {
                let begin = bytes.len() - request.len();
                Some((request.get(..part.start.checked_sub(begin)?)?, bytes.get(part.end..)?))
            };
            match origin.renewed.as_ref().and_then(apart) {
                Some((before, after)) => {
                    hasher.write(before);
                    hasher.write(after);
                }
                None => hasher.write(request),
            }
        }
        hasher.finish()
    }
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
mod tests;
