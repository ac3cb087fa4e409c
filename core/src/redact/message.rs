//! Messages → what may be told of them, by their place in the stream.
//!
//! Looks on while a capture is decoded. Each message is read once more by the parsers of the decode, with
//! a cursor that records ([`crate::cursor::Recorder`]). Of what was recorded numbers are copied, names
//! and their like replaced, and all else stays zero: what no parser reads is not told.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::journal::{Journal, StreamId};
use super::values::Values;
use crate::cursor::{Behind, Cursor, Kind, Recorder, Span};
use crate::error::{DecodeError, Layer, Reason};
use crate::nfs::{Shape, Walk, protocol};
use crate::packet::Segment;
use crate::rpc::message::{AcceptStatus, Call, Credential, Flavor, ReplyStatus, unwrap_body, unwrap_results};
use crate::rpc::record::{Fragment, Record};
use crate::rpc::tls;
use crate::stream::assembler::Piece;
use crate::stream::{Connection, ConnectionId, Side, Sides};
use crate::witness::Witness;

/// Calls remembered for their replies; beyond it the oldest is forgotten, and of its reply only the
/// header is told.
const CALLS_LIMIT: usize = 1 << 17;

/// Replies held that came before their call; beyond it only the header of the oldest is told.
const EARLY_LIMIT: usize = 4096;

/// Bytes of them.
const EARLY_BYTES_LIMIT: usize = 16 << 20;

/// Connections on which no message was seen yet; beyond it the oldest is forgotten.
const SILENT_LIMIT: usize = 1 << 16;

/// Connections with messages; of those beyond it nothing is told.
const CONVERSATIONS_LIMIT: usize = 1 << 20;

/// Bytes of data that were left out of a message, at most: of a message with more, nothing is told behind
/// them. It is a multiple of the largest READ and WRITE that are common.
const PASSED_LIMIT: usize = 16 << 20;

/// Bytes between two values that are written as if they were told, rather than beginning anew.
const SMALL_HOLE: usize = 64;

/// All datagrams are one stream, in which each has room for its bytes.
pub(super) const DATAGRAMS: StreamId = 0;

/// The place of a datagram that began with this frame.
pub(super) fn datagram_place(frame: u64) -> u64 {
    frame << 17
}

/// Two ends of a connection, in order.
pub(super) type Ends = (SocketAddr, SocketAddr);

/// The ends of a connection by those of a segment, and the side that sent it.
pub(super) fn ordered(source: SocketAddr, destination: SocketAddr) -> (Ends, Side) {
    if source <= destination {
        ((source, destination), Side::Low)
    } else {
        ((destination, source), Side::High)
    }
}

/// Sequence numbers of one direction, counted on beyond 2^32. Both readings of the capture count alike.
#[derive(Clone, Copy, Default)]
pub(super) struct Counter(Option<u64>);

impl Counter {
    /// The place of a sequence number near the last one.
    pub(super) fn place(self, sequence: u32) -> u64 {
        match self.0 {
            // Not 0, so that what lies before has a place too.
            None => (1 << 32) + u64::from(sequence),
            Some(last) => {
                let ahead = sequence.wrapping_sub(last as u32).cast_signed();
                last.wrapping_add_signed(i64::from(ahead))
            }
        }
    }

    /// The place of the sequence number of a segment, which is now the last one.
    pub(super) fn count(&mut self, sequence: u32) -> u64 {
        let place = self.place(sequence);
        self.0 = Some(place);
        place
    }
}

/// From which frame on a connection has these ends.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    pub(super) frame: u64,
    pub(super) ends: Ends,
    pub(super) streams: Sides<StreamId>,
}

/// A TCP connection.
#[derive(Clone, Copy)]
struct Known {
    frame: u64,
    ends: Ends,
    counters: Sides<Counter>,
    /// Once a message was seen.
    streams: Option<Sides<StreamId>>,
}

/// What a call says of its reply.
#[derive(Clone, Copy)]
struct Called {
    program: u32,
    version: u32,
    procedure: u32,
    credential: Credential<'static>,
    control: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    connection: ConnectionId,
    caller: Side,
    xid: u32,
}

/// A part of a message, and its place in a stream.
#[derive(Clone, Copy)]
struct Part {
    /// In the message.
    at: usize,
    length: usize,
    place: u64,
}

/// Where a message stood.
struct Standing {
    stream: StreamId,
    parts: Vec<Part>,
}

struct Early {
    bytes: Vec<u8>,
    length: usize,
    limit: Reason,
    standing: Standing,
}

/// Writes what may be told of the messages of a decode.
pub(super) struct Redactor {
    pub(super) values: Values,
    pub(super) journal: Journal,
    pub(super) openings: Vec<Opening>,
    /// Messages of which something is told.
    pub(super) messages: u64,
    connections: HashMap<ConnectionId, Known, RandomState>,
    /// Those without a message, oldest first.
    silent: BTreeSet<ConnectionId>,
    current: Option<(Ends, Side, u32, u64)>,
    calls: HashMap<Key, Called, RandomState>,
    calls_order: VecDeque<Key>,
    early: HashMap<Key, Early, RandomState>,
    early_order: VecDeque<Key>,
    early_bytes: usize,
    spans: Vec<Span>,
    told: Vec<u8>,
}

impl Redactor {
    pub(super) fn new(values: Values, mut journal: Journal) -> Self {
        journal.open_stream(); // DATAGRAMS
        Self {
            values,
            journal,
            openings: Vec::new(),
            messages: 0,
            connections: HashMap::default(),
            silent: BTreeSet::new(),
            current: None,
            calls: HashMap::default(),
            calls_order: VecDeque::new(),
            early: HashMap::default(),
            early_order: VecDeque::new(),
            early_bytes: 0,
            spans: Vec::new(),
            told: Vec::new(),
        }
    }

    /// The connection of the current segment.
    fn meet(&mut self, id: ConnectionId) {
        let Some((ends, _, _, frame)) = self.current else { return };
        if self.connections.contains_key(&id) {
            return;
        }
        let known = Known { frame, ends, counters: Sides::default(), streams: None };
        self.connections.insert(id, known);
        self.silent.insert(id);
        if self.silent.len() > SILENT_LIMIT
            && let Some(oldest) = self.silent.pop_first()
        {
            self.connections.remove(&oldest);
        }
    }

    /// The stream of a connection's side; it is wanted from now on.
    fn stream(&mut self, id: ConnectionId, side: Side) -> Option<(StreamId, Counter)> {
        if !self.connections.contains_key(&id) {
            self.meet(id);
        }
        let known = self.connections.get_mut(&id)?;
        if known.streams.is_none() && self.openings.len() >= CONVERSATIONS_LIMIT {
            return None;
        }
        let journal = &mut self.journal;
        let streams = *known
            .streams
            .get_or_insert_with(|| Sides { low: journal.open_stream(), high: journal.open_stream() });
        if self.silent.remove(&id) {
            self.openings.push(Opening { frame: known.frame, ends: known.ends, streams });
        }
        let mut counter = *known.counters.of(side);
        if let (None, Some((ends, from, sequence, _))) = (counter.0, self.current)
            && (ends, from) == (known.ends, side)
        {
            counter.count(sequence);
        }
        Some((*streams.of(side), counter))
    }

    /// Reads a message, and tells of it what may be told.
    fn take(&mut self, id: ConnectionId, side: Side, record: &Record<'_>, standing: &Standing) {
        let bytes = laid_out(record);
        let recorder = Recorder::new(&bytes, std::mem::take(&mut self.spans));
        let mut c = Cursor::recording(&recorder, record.total(), record.limit, Layer::Rpc);
        let mut held = None;
        match (c.u32(), c.u32()) {
            (Ok(xid), Ok(0)) => {
                if let Ok((call, stop)) = Call::parse(&mut c, xid) {
                    let called = Called::of(&call);
                    if stop.is_none() {
                        called.arguments(&mut c, &recorder);
                    }
                    held = self.remember(Key { connection: id, caller: side, xid }, called);
                }
            }
            (Ok(xid), Ok(1)) => {
                let key = Key { connection: id, caller: side.other(), xid };
                match self.calls.get(&key) {
                    Some(called) => called.results(&mut c, &bytes, &recorder),
                    None if ReplyStatus::parse(&mut c).is_ok() => {
                        let bytes = bytes.to_vec();
                        let standing = Standing { stream: standing.stream, parts: standing.parts.clone() };
                        let (length, limit) = (record.total(), record.limit);
                        self.hold(key, Early { bytes, length, limit, standing });
                    }
                    None => {}
                }
            }
            _ => {}
        }
        self.spans = recorder.into_spans();
        self.tell(&bytes, standing);
        if let Some(early) = held {
            self.take_early(id, side, &early);
        }
    }

    /// Reads a reply that was held, now that its call is known.
    fn take_early(&mut self, id: ConnectionId, caller: Side, early: &Early) {
        let recorder = Recorder::new(&early.bytes, std::mem::take(&mut self.spans));
        let mut c = Cursor::recording(&recorder, early.length, early.limit, Layer::Rpc);
        if let (Ok(xid), Ok(1)) = (c.u32(), c.u32())
            && let Some(called) = self.calls.get(&Key { connection: id, caller, xid })
        {
            called.results(&mut c, &early.bytes, &recorder);
        }
        self.spans = recorder.into_spans();
        self.tell(&early.bytes, &early.standing);
    }

    /// Remembers a call for its reply; gives the reply if it came before.
    fn remember(&mut self, key: Key, called: Called) -> Option<Early> {
        if self.calls.insert(key, called).is_none() {
            self.calls_order.push_back(key);
        }
        while self.calls.len() > CALLS_LIMIT {
            let oldest = self.calls_order.pop_front()?;
            self.calls.remove(&oldest);
        }
        let early = self.early.remove(&key)?;
        self.early_bytes -= early.bytes.len();
        Some(early)
    }

    fn hold(&mut self, key: Key, early: Early) {
        self.early_bytes += early.bytes.len();
        if let Some(before) = self.early.insert(key, early) {
            self.early_bytes -= before.bytes.len();
        } else {
            self.early_order.push_back(key);
        }
        while self.early_order.len() > EARLY_LIMIT || self.early_bytes > EARLY_BYTES_LIMIT {
            let Some(oldest) = self.early_order.pop_front() else { return };
            if let Some(early) = self.early.remove(&oldest) {
                self.early_bytes -= early.bytes.len();
            }
        }
    }

    /// Writes the values that were recorded, as far as they may be told.
    fn tell(&mut self, bytes: &[u8], standing: &Standing) {
        let end = self.spans.iter().map(|span| span.at + span.length).max().unwrap_or(0);
        self.told.clear();
        self.told.resize(end, 0);
        // Should a value be read both as a number and as something else, it is something else.
        self.spans.sort_unstable_by_key(|span| (span.kind != Kind::Number, span.at));
        for span in &self.spans {
            let range = span.at..span.at + span.length;
            if let (Some(value), Some(to)) = (bytes.get(range.clone()), self.told.get_mut(range)) {
                self.values.tell(span.kind, value, to);
            }
        }
        self.spans.sort_unstable_by_key(|span| span.at);
        self.messages += 1;
        let mut extent = 0..0;
        for span in &self.spans {
            if span.at > extent.end + SMALL_HOLE {
                write(&mut self.journal, standing, &self.told, extent.start, extent.end);
                extent = span.at..span.at;
            }
            extent.end = extent.end.max(span.at + span.length);
        }
        write(&mut self.journal, standing, &self.told, extent.start, extent.end);
    }
}

/// The bytes of a message, each where it was in it: zeros stand for the part that nobody reads.
fn laid_out<'a>(record: &Record<'a>) -> Cow<'a, [u8]> {
    match record.behind {
        Some(Behind { passed, bytes }) if passed <= PASSED_LIMIT => {
            let mut whole = record.bytes.to_vec();
            whole.resize(record.bytes.len() + passed, 0);
            whole.extend_from_slice(bytes);
            Cow::Owned(whole)
        }
        _ => Cow::Borrowed(record.bytes),
    }
}

/// Writes a part of a message to its places.
fn write(journal: &mut Journal, standing: &Standing, told: &[u8], from: usize, to: usize) {
    for part in &standing.parts {
        let (from, to) = (from.max(part.at), to.min(part.at.saturating_add(part.length)));
        if let Some(bytes) = told.get(from..to).filter(|bytes| !bytes.is_empty()) {
            journal.write(standing.stream, part.place + (from - part.at) as u64, bytes);
        }
    }
}

impl Called {
    fn of(call: &Call<'_>) -> Self {
        let credential = match call.credential {
            Credential::Gss { procedure, service } => Credential::Gss { procedure, service },
            Credential::Sys { .. } => Credential::Other(Flavor::AUTH_SYS),
            Credential::Other(flavor) => Credential::Other(flavor),
            Credential::Cut(flavor) => Credential::Cut(flavor),
        };
        let Call { program, version, procedure, .. } = *call;
        Self { program, version, procedure, credential, control: call.control().is_some() }
    }

    fn shape(&self) -> Shape {
        if self.control { Shape::Void } else { protocol(self.program, self.version).shape }
    }

    fn arguments(&self, c: &mut Cursor<'_>, recorder: &Recorder<'_>) {
        c.body();
        let arguments = unwrap_body(c, &self.credential, Layer::Call);
        let walk = Walk::of(Vec::new(), self.shape(), self.procedure, arguments, None);
        distrust(walk.call_stop, recorder);
        self.end_of_body(c);
    }

    /// Reads a reply, which is `message`, behind its xid and type.
    fn results(&self, c: &mut Cursor<'_>, message: &[u8], recorder: &Recorder<'_>) {
        match ReplyStatus::parse(c) {
            Ok(ReplyStatus::Accepted(AcceptStatus::SUCCESS)) => {
                c.body();
                let results = unwrap_results(c, &self.credential, message);
                // The call was read before; here it would only be recorded with the reply.
                let call = Err(c.stop(Reason::Missing));
                let walk = Walk::of(Vec::new(), self.shape(), self.procedure, call, Some(results));
                distrust(walk.reply_stop, recorder);
                self.end_of_body(c);
            }
            // The versions that it offers; how the message ends does not matter.
            Ok(refused) => drop(refused.end_of_refusal(c)),
            Err(_) => {}
        }
    }

    /// The length of the checksum behind a body whose integrity is protected; the checksum is not read.
    fn end_of_body(&self, c: &mut Cursor<'_>) {
        if let Credential::Gss { procedure: 0, service: 2 } = self.credential {
            // What is damaged here decides nothing.
            let _length = c.opaque_skipped();
        }
    }
}

/// The highest number that an operation may ever have: those of the protocols are below 100, or 10044.
const OPERATIONS: u32 = 0xffff;

/// Of an operation that contradicts itself nothing is told, nor of the one before it: a length or a count of
/// that may be wrong, and either is something else. So it is where the next operation has no number.
fn distrust(stop: Option<DecodeError>, recorder: &Recorder<'_>) {
    let contradicts = stop.is_some_and(|stop| match stop.reason {
        // What is left over belongs to the last operation, if that is another one.
        Reason::Malformed | Reason::Trailing => true,
        Reason::Unsupported => recorder.last_word().is_some_and(|number| number > OPERATIONS),
        _ => false,
    });
    if contradicts {
        recorder.forget();
    }
}

impl Redactor {
    fn segment(&mut self, segment: &Segment<'_>, frame: u64) {
        let (ends, side) = ordered(segment.source, segment.destination);
        self.current = Some((ends, side, segment.sequence, frame));
    }

    fn belongs(&mut self, id: ConnectionId) {
        self.meet(id);
        if let (Some((_, side, sequence, _)), Some(known)) = (self.current, self.connections.get_mut(&id)) {
            known.counters.of_mut(side).count(sequence);
        }
    }

    fn sealed(&mut self, id: ConnectionId, side: Side, piece: &Piece<'_>) {
        let Some((stream, counter)) = self.stream(id, side) else { return };
        let place = counter.place(piece.sequence.0);
        for (at, header) in tls::headers(piece.bytes) {
            self.journal.write(stream, place + at as u64, header);
        }
    }

    fn message(&mut self, id: ConnectionId, side: Side, record: &Record<'_>, understood: bool) {
        let Some((stream, counter)) = self.stream(id, side) else { return };
        let mut parts = Vec::new();
        for fragment in record.place {
            let place = counter.place(fragment.sequence.0);
            let Fragment { at, mark, .. } = *fragment;
            self.journal.write(stream, place.saturating_sub(4), &mark);
            parts.push(Part { at, length: fragment.length(), place });
        }
        if understood {
            self.take(id, side, record, &Standing { stream, parts });
        }
    }

    fn datagram(&mut self, id: ConnectionId, side: Side, record: &Record<'_>) {
        let place = datagram_place(record.first.frame);
        let parts = vec![Part { at: 0, length: record.bytes.len(), place }];
        self.take(id, side, record, &Standing { stream: DATAGRAMS, parts });
    }
}

/// A redactor that a decode has too.
#[derive(Clone)]
pub(super) struct Watching(Arc<Mutex<Redactor>>);

impl Watching {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self(Arc::new(Mutex::new(redactor)))
    }

    /// The redactor, once the decode is gone.
    pub(super) fn into_inner(self) -> Option<Redactor> {
        Arc::into_inner(self.0)?.into_inner().ok()
    }

    /// Whether the journal cannot be written.
    pub(super) fn failed(&self) -> bool {
        self.redactor().journal.failed()
    }

    fn redactor(&self) -> MutexGuard<'_, Redactor> {
        // Nobody else holds it, so that nobody can have panicked while holding it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Witness for Watching {
    fn segment(&mut self, segment: &Segment<'_>, frame: u64) {
        self.redactor().segment(segment, frame);
    }

    fn belongs(&mut self, id: ConnectionId) {
        self.redactor().belongs(id);
    }

    fn sealed(&mut self, id: ConnectionId, side: Side, piece: &Piece<'_>) {
        self.redactor().sealed(id, side, piece);
    }

    fn message(&mut self, id: ConnectionId, side: Side, record: &Record<'_>, understood: bool) {
        self.redactor().message(id, side, record, understood);
    }

    fn datagram(&mut self, id: ConnectionId, _: &Connection, side: Side, record: &Record<'_>) {
        self.redactor().datagram(id, side, record);
    }
}
