//! One direction's bytes in order → records (RFC 5531 section 11), and the way back after a gap.
//!
//! A record is one or more fragments, each behind a four-byte mark with its length. Several records
//! can sit in one segment, and marks can straddle segments. As long as the marks are known, bytes
//! that are missing or were not captured only make a hole in a record. When a mark itself is lost, or
//! led to something that is no message, the reader searches for the next header (`search.rs`); and
//! where a mark claims more than its message has, it notices at the next segment that must be another.

use std::hint::black_box;
use std::ops::Range;

use crate::cursor::{Behind, Cursor, OPEN_END};
use crate::error::{Layer, Reason};
use crate::rpc::message::{Recognised, recognise};
use crate::rpc::search::{HEAD, Mark, Origin, begins_message, continues, may_restart, restarts, search};
pub use crate::rpc::search::{Peer, SEEN};
use crate::stream::assembler::{Piece, Stamp};
use crate::stream::seq::SeqNumber;

/// Bytes of a record that are kept. Linux allows 1 MiB of data and a page of headers; nothing useful
/// comes after the data. Longer records keep their boundary, and are decoded up to here.
pub const KEPT_LIMIT: usize = (1 << 20) + (1 << 16);

/// Fragments of a message whose places are kept; there are no more in sensible ones. Those beyond it are
/// read all the same, but their place is not told.
const FRAGMENTS_LIMIT: usize = 1024;

/// Buffers that are kept for the next messages of any connection.
const SPARE_LIMIT: usize = 16;

/// What is kept of a message whose connection takes part in using up the memory for all of them.
pub const SHORTENED: usize = 512;

/// Fragments of such a message whose places are kept.
const SHORTENED_FRAGMENTS: usize = 8;

/// What it takes at most from then on, until more of it comes.
pub const SHORTENED_MEMORY: usize = SHORTENED + SHORTENED_FRAGMENTS * size_of::<Fragment>();

/// Bytes of a message after which the other side is asked what of it nobody will read: its data begin
/// before, as a rule.
const ASKED_AFTER: usize = 768;

/// What must be missing of a message then, for that to be worth while.
const LONG_REST: usize = 8 << 10;

/// Bytes before the first header that are searched for it before the connection is taken for
/// something else than RPC, where the port does not say that it is RPC.
const SEARCH_LIMIT: u64 = 1 << 16;

/// An RPC message as it was carried.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The captured bytes up to the first hole, or to a part that nobody reads.
    pub bytes: &'a [u8],
    /// That part, and the bytes behind it.
    pub behind: Option<Behind<'a>>,
    /// Length of the message on the wire, without marks.
    pub length: usize,
    /// The mark of a later fragment is not there, and with it where the message ends: `length` is what is
    /// known to belong to it, with marks that may be among it.
    pub open: bool,
    /// Why `bytes` is shorter than `length`, if it is.
    pub limit: Reason,
    /// The frame with the message's first byte.
    pub first: Stamp,
    /// The frame that completed it: with which its bytes, and all before them in the stream, were
    /// there.
    pub last: Stamp,
    /// Where its fragments stood in the stream, in order; empty for a message that is no record of a
    /// stream, or that had to be kept.
    pub place: &'a [Fragment],
}

impl Record<'_> {
    /// A cursor at the beginning of the message.
    pub fn cursor(&self) -> Cursor<'_> {
        match &self.behind {
            None => Cursor::of_prefix(self.bytes, self.total(), self.limit, Layer::Rpc),
            Some(behind) => Cursor::with_hole(self.bytes, behind, self.total(), self.limit, Layer::Rpc),
        }
    }

    /// The length that a cursor takes it to have.
    pub fn total(&self) -> usize {
        if self.open { OPEN_END } else { self.length }
    }
}

/// A fragment of a message (RFC 5531 section 11); its length is in its mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    /// Where it begins in the message.
    pub at: usize,
    /// The sequence number of its first byte, which is that behind its mark.
    pub sequence: SeqNumber,
    /// Its mark as it was sent.
    pub mark: [u8; 4],
}

impl Fragment {
    /// Its length, as its mark says.
    pub fn length(&self) -> usize {
        Mark::of(self.mark).length
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Looking for a header; nothing is known about marks.
    Searching,
    /// The next bytes are a mark.
    Mark,
    /// Inside a fragment.
    Fragment { rest: usize, last: bool },
}

/// What speaks for RPC on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Belief {
    Nothing,
    /// Its port: a reply is believed by its form at the start of a segment.
    Port,
    /// A record that was found.
    Record,
}

/// What must still confirm the message in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    Nothing,
    /// It was found by a search, and what follows must confirm it.
    Found,
    /// So it was, and it is complete and ended with its segment: the next one must confirm it.
    Ended,
}

/// The end of what was searched, in which a header may begin.
#[derive(Clone, Copy)]
struct Tail {
    bytes: [u8; HEAD - 1],
    length: usize,
    /// Where they came from.
    stamp: Stamp,
    /// They are all of their segments, from the start of one.
    whole: bool,
}

impl Tail {
    const EMPTY: Self =
        Self { bytes: [0; HEAD - 1], length: 0, stamp: Stamp { frame: 0, time_ns: 0 }, whole: true };

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// The end of these bytes and of the segment that follows them.
    fn with(&self, piece: &Piece<'_>) -> Self {
        let mut joined = Self::EMPTY;
        let from_here = joined.bytes.len().saturating_sub(piece.bytes.len()).min(self.length);
        let old = self.bytes().get(self.length - from_here..).unwrap_or_default();
        let from = piece.bytes.len().saturating_sub(joined.bytes.len());
        let new = piece.bytes.get(from..).unwrap_or_default();
        joined.length =
            joined.bytes.iter_mut().zip(old.iter().chain(new)).map(|(to, byte)| *to = *byte).count();
        joined.stamp = if from_here > 0 { self.stamp } else { piece.stamp };
        joined.whole = self.whole && joined.length == self.length + piece.bytes.len();
        joined
    }
}

/// Splits one direction into records.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, in any company")]
pub struct RecordReader {
    state: State,
    /// Bytes of a mark that is split over segments.
    mark: ([u8; 4], usize),
    buffer: Vec<u8>,
    /// Length so far of the message in `buffer`.
    length: usize,
    /// The fragment with which the message began.
    fragment: Fragment,
    /// All of its fragments, if there are several.
    fragments: Vec<Fragment>,
    /// The first hole in the message: nothing behind it is kept.
    hole: Option<Reason>,
    /// Where the message ends is not known.
    open: bool,
    /// The part of the message that nobody will read, which is not kept either.
    unread: Range<usize>,
    /// It was asked for.
    asked: bool,
    first: Stamp,
    last: Stamp,
    /// Bytes passed over in search of a header since the last record.
    pub searched: u64,
    belief: Belief,
    /// The message in `buffer` was lent; the next call starts a new one.
    lent: bool,
    /// A record was given out of the middle of a piece, whose rest is still to come.
    inside: bool,
    doubt: Doubt,
    tail: Tail,
}

impl RecordReader {
    /// A reader that knows nothing of the stream yet. `trusted`: the connection is known to carry RPC.
    pub fn new(trusted: bool) -> Self {
        Self {
            state: State::Searching,
            mark: ([0; 4], 0),
            buffer: Vec::new(),
            length: 0,
            fragment: Fragment::default(),
            fragments: Vec::new(),
            hole: None,
            open: false,
            unread: 0..0,
            asked: false,
            first: Stamp::default(),
            last: Stamp::default(),
            searched: 0,
            belief: if trusted { Belief::Port } else { Belief::Nothing },
            lent: false,
            inside: false,
            doubt: Doubt::Nothing,
            tail: Tail::EMPTY,
        }
    }

    /// Reads from all that the next piece of the stream needs.
    #[inline]
    pub fn fetch(&self) {
        let lengths = self.length ^ self.buffer.len() ^ self.unread.start;
        black_box((lengths, self.first.frame ^ self.last.frame ^ self.searched, self.tail.whole));
    }

    /// Whether any record was found.
    pub fn found(&self) -> bool {
        self.belief == Belief::Record
    }

    fn tentative(&self) -> bool {
        self.doubt != Doubt::Nothing
    }

    /// Whether the search has gone on for longer than a stream of RPC would make it.
    pub fn hopeless(&self) -> bool {
        !self.found() && self.searched > SEARCH_LIMIT
    }

    /// The last record was no RPC message: the marks are not to be trusted.
    pub fn distrust(&mut self) {
        self.state = State::Searching;
        self.drop_message();
    }

    /// Bytes that are not in the capture. Keeps the boundaries when the gap lies inside a fragment.
    /// Gives the record that the gap completes.
    pub fn gap(&mut self, mut length: usize, stamp: Stamp, peer: &dyn Peer) -> Option<Record<'_>> {
        self.take_back();
        self.tail = Tail::EMPTY;
        if self.doubt == Doubt::Ended && self.confirmed(stamp.frame, peer) {
            self.state = State::Searching;
            return Some(self.complete());
        }
        if let State::Fragment { rest, last } = self.state {
            let inside = length.min(rest);
            // What was captured of a message says when it came; what follows the gap may be much later.
            let stamp = if self.length == 0 { stamp } else { self.last };
            if self.length == 0 {
                self.first = stamp;
                self.last = stamp;
            }
            if self.is_read(inside) {
                self.hole.get_or_insert(Reason::Missing);
            }
            self.advance(inside, rest, last, stamp);
            length -= inside;
            if length > 0 {
                self.state = State::Searching;
            }
            // What follows a message found by a search is lost as well: only its pair can confirm it.
            if inside == rest && last && (!self.tentative() || self.confirmed(stamp.frame, peer)) {
                return Some(self.complete());
            }
        }
        if length > 0 {
            self.state = State::Searching;
            if self.is_known(stamp.frame, peer) {
                // The next mark is lost, and with it where the message ends.
                self.hole.get_or_insert(Reason::Missing);
                self.open = true;
                return Some(self.complete());
            }
            self.drop_message();
        }
        None
    }

    /// Whether a message is being put together whose header is there.
    fn is_known(&self, frame: u64, peer: &dyn Peer) -> bool {
        let begun = self.length > 0 && !self.tentative() && recognise(&self.buffer).is_some();
        begun || self.confirmed(frame, peer)
    }

    /// Nothing follows any more. Gives the message that was begun, if its header is there.
    pub fn end(&mut self, peer: &dyn Peer) -> Option<Record<'_>> {
        self.take_back();
        let call = !self.tentative() && matches!(recognise(&self.buffer), Some(Recognised::Call { .. }));
        let complete = call || self.confirmed(u64::MAX, peer);
        let (rest, ends) =
            if let State::Fragment { rest, last } = self.state { (rest, last) } else { (0, false) };
        self.state = State::Searching;
        if !complete {
            self.drop_message();
            return None;
        }
        if self.doubt != Doubt::Ended {
            self.hole.get_or_insert(Reason::Missing);
            self.open = !ends;
        }
        self.length = self.length.saturating_add(rest);
        Some(self.complete())
    }

    /// Whether a message of the other side belongs to the one that was found by a search.
    fn confirmed(&self, frame: u64, peer: &dyn Peer) -> bool {
        match recognise(&self.buffer) {
            Some(Recognised::Call { xid }) => peer.answered(xid, frame),
            Some(Recognised::Reply { xid }) => peer.waits_for(xid),
            None => false,
        }
    }

    /// Memory taken by the message that is being put together.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity() + self.fragments.capacity() * size_of::<Fragment>()
    }

    /// Takes a buffer for the next message from those that others left, unless it has one.
    #[inline]
    pub fn take_buffer(&mut self, spare: &mut Vec<Vec<u8>>) {
        if self.buffer.capacity() == 0
            && let Some(buffer) = spare.pop()
        {
            self.buffer = buffer;
        }
    }

    /// Leaves its buffer for others, unless a message is being put together.
    #[inline]
    pub fn leave_buffer(&mut self, spare: &mut Vec<Vec<u8>>) {
        if self.lent || self.length == 0 {
            self.take_back();
            if self.buffer.capacity() > 0 {
                let buffer = std::mem::take(&mut self.buffer);
                if spare.len() < SPARE_LIMIT {
                    spare.push(buffer);
                }
            }
        }
    }

    /// Gives back the memory that is kept for the next message, if there is none.
    pub fn release(&mut self) {
        if self.lent || self.length == 0 {
            self.take_back();
            self.buffer.shrink_to_fit();
            self.fragments.shrink_to_fit();
        }
    }

    /// Keeps less of the message that is being put together, because too much memory is in use.
    pub fn shorten(&mut self) {
        if self.buffer.len() > SHORTENED {
            // What lies behind a part that was left out does not follow on what lies before it.
            let begun = if self.unread.is_empty() { SHORTENED } else { self.unread.start.min(SHORTENED) };
            self.buffer.truncate(begun);
            self.hole = Some(Reason::RecordLimit);
            self.unread = 0..0;
        }
        self.buffer.shrink_to_fit();
        self.fragments.truncate(SHORTENED_FRAGMENTS);
        self.fragments.shrink_to_fit();
    }

    /// The next record that `piece` completes, consuming it up to there; `None` when it is used up.
    /// Nothing comes after a record with which the piece ends.
    ///
    /// A record that lies in one piece is lent without a copy.
    pub fn next<'r, 'p: 'r>(&'r mut self, piece: &mut Piece<'p>, peer: &dyn Peer) -> Option<Record<'r>> {
        self.take_back();
        if self.doubt == Doubt::Ended {
            if continues(piece.bytes) || self.confirmed(piece.ready.frame, peer) {
                return Some(self.complete());
            }
            self.distrust();
        }
        // Here a message that goes on can only go on with the start of a segment.
        if self.length > 0 && self.contradicted(piece, peer) {
            self.state = State::Mark;
            if !self.tentative() {
                return Some(self.complete());
            }
            self.drop_message();
        }
        let mut fresh = !self.inside;
        self.inside = true;
        loop {
            if piece.length == 0 {
                self.inside = false;
                return None;
            }
            match self.state {
                State::Searching => self.search(piece, fresh, peer),
                State::Mark => {
                    self.read_mark(piece);
                    if self.state == State::Searching {
                        // The next mark was not captured, and with it where the message ends.
                        if self.length > 0 && self.is_known(piece.ready.frame, peer) {
                            self.take_rest(piece);
                            return Some(self.complete());
                        }
                        self.distrust();
                    }
                }
                State::Fragment { rest, last } => {
                    let whole = last && self.length == 0 && piece.length >= rest && !self.tentative();
                    let taken = piece.length.min(rest);
                    let captured = piece.bytes.get(..taken).unwrap_or(piece.bytes);
                    let Piece { stamp, ready, .. } = *piece;
                    if self.length == 0 {
                        self.first = stamp;
                        self.last = ready;
                    }
                    if whole {
                        piece.skip(taken);
                        self.inside = piece.length > 0;
                        self.state = State::Mark;
                        self.belief = Belief::Record;
                        self.searched = 0;
                        let first = self.first.min(stamp);
                        let kept = captured.get(..KEPT_LIMIT).unwrap_or(captured);
                        let limit =
                            if captured.len() > KEPT_LIMIT { Reason::RecordLimit } else { Reason::Truncated };
                        let place = std::slice::from_ref(&self.fragment);
                        return Some(Record {
                            bytes: kept,
                            behind: None,
                            length: rest,
                            open: false,
                            limit,
                            first,
                            last: ready,
                            place,
                        });
                    }
                    if self.length == 0 && !begins_message(captured) {
                        // No message: to be told at once, not when a wrong mark has swallowed others.
                        self.state = State::Searching;
                        return Some(Record {
                            bytes: captured,
                            behind: None,
                            length: rest,
                            open: false,
                            limit: Reason::Missing,
                            first: stamp,
                            last: ready,
                            place: std::slice::from_ref(&self.fragment),
                        });
                    }
                    self.keep(captured, taken);
                    piece.skip(taken);
                    self.first = self.first.min(stamp);
                    self.advance(taken, rest, last, ready);
                    if taken == rest && last {
                        match self.doubt {
                            Doubt::Found if piece.length == 0 => self.doubt = Doubt::Ended,
                            Doubt::Found if !continues(piece.bytes) => self.distrust(),
                            _ => {
                                self.inside = piece.length > 0;
                                return Some(self.complete());
                            }
                        }
                    } else if !self.asked && self.length >= ASKED_AFTER {
                        self.leave_out_unread(rest - taken, last, peer);
                    }
                }
            }
            fresh = false;
        }
    }

    /// Takes a piece that goes on with a message, and does not complete it, where that asks for no more
    /// than to keep its bytes. `false`: it is not so, or not plainly so, and nothing was taken.
    ///
    /// It comes to what [`RecordReader::next`] does. The piece did not have to wait.
    #[inline]
    pub fn go_on(&mut self, piece: &Piece<'_>) -> bool {
        let State::Fragment { rest, last } = self.state else { return false };
        let Piece { bytes, length, stamp, .. } = *piece;
        let total = self.length.saturating_add(length);
        let plain = self.length > 0
            && length < rest
            && self.doubt == Doubt::Nothing
            && (self.asked || total < ASKED_AFTER)
            && !may_restart(bytes);
        if !plain {
            return false;
        }
        if self.hole.is_none() {
            let read = bytes.get(self.unread.end.saturating_sub(self.length)..).unwrap_or_default();
            let kept = self.buffer.len() + read.len();
            if kept > self.buffer.capacity().min(KEPT_LIMIT) || (bytes.len() < length && self.is_read(length))
            {
                return false;
            }
            if !read.is_empty() {
                self.buffer.extend_from_slice(read);
            }
        }
        self.length = total;
        self.last = stamp;
        self.state = State::Fragment { rest: rest - length, last };
        true
    }

    /// Takes the message with which `piece` begins, if it is whole, as most are, and nothing is doubtful
    /// about it; lends it without a copy. `None`: it is not so, and nothing was taken.
    ///
    /// It comes to what [`RecordReader::next`] does. The piece did not have to wait.
    #[inline]
    pub fn whole<'r, 'p: 'r>(&'r mut self, piece: &mut Piece<'p>) -> Option<Record<'r>> {
        let plain = self.state == State::Mark
            && self.length == 0
            && self.mark.1 == 0
            && self.doubt == Doubt::Nothing
            && self.found();
        let (bytes, rest) = piece.bytes.split_first_chunk::<4>().filter(|_| plain)?;
        let mark = Mark::of(*bytes);
        let length = mark.length;
        if !mark.last
            || !mark.believable(true)
            || piece.length - 4 < length
            || rest.len().min(length) > KEPT_LIMIT
        {
            return None;
        }
        self.fragment = Fragment { at: 0, sequence: piece.sequence.advance(4), mark: *bytes };
        self.searched = 0;
        self.inside = piece.length - 4 > length;
        let record = Record {
            bytes: rest.get(..length).unwrap_or(rest),
            behind: None,
            length,
            open: false,
            limit: Reason::Truncated,
            first: piece.stamp,
            last: piece.ready,
            place: std::slice::from_ref(&self.fragment),
        };
        piece.skip(4 + length);
        Some(record)
    }

    /// Whether `piece` begins a record although a mark says that a message goes on.
    fn contradicted(&self, piece: &Piece<'_>, peer: &dyn Peer) -> bool {
        matches!(self.state, State::Fragment { .. })
            && restarts(piece.bytes, &self.buffer, self.tentative(), piece.ready.frame, peer)
    }

    /// Passes over bytes up to the next record mark, or over all of them.
    fn search(&mut self, piece: &mut Piece<'_>, fresh: bool, peer: &dyn Peer) {
        let before = std::mem::replace(&mut self.tail, Tail::EMPTY);
        if fresh && before.length > 0 && self.search_tail(&before, piece, peer) {
            return;
        }
        let origin = Origin { segment: fresh, trusted: self.belief != Belief::Nothing };
        let found = search(piece.bytes, piece.length, origin, peer);
        let passed = found.map_or(piece.length, |hit| hit.at);
        if found.is_none() && piece.bytes.len() == piece.length {
            self.tail = if fresh { before } else { Tail { whole: false, ..Tail::EMPTY } }.with(piece);
        }
        self.searched = self.searched.saturating_add(passed as u64);
        piece.skip(passed);
        if let Some(hit) = found {
            self.drop_message();
            self.doubt = if hit.tentative { Doubt::Found } else { Doubt::Nothing };
            self.state = State::Mark;
        }
    }

    /// Looks for a header that begins in the segments before and ends in this one. `true`: found.
    fn search_tail(&mut self, tail: &Tail, piece: &Piece<'_>, peer: &dyn Peer) -> bool {
        let Tail { length, stamp, .. } = *tail;
        let mut joined = [0; 2 * HEAD];
        let head = piece.bytes.get(..HEAD).unwrap_or(piece.bytes);
        let both = tail.bytes().iter().chain(head);
        let total = joined.iter_mut().zip(both).map(|(slot, byte)| *slot = *byte).count();
        let bytes = joined.get(..total).unwrap_or_default();
        let origin = Origin { segment: tail.whole, trusted: self.belief != Belief::Nothing };
        let hit = search(bytes, length + piece.length, origin, peer).filter(|hit| hit.at < length);
        let Some(hit) = hit else { return false };
        let bytes = bytes.get(hit.at..length).unwrap_or_default();
        let sequence = SeqNumber(piece.sequence.0.wrapping_sub(bytes.len() as u32));
        let mut begun = Piece { sequence, ..Piece::new(bytes, bytes.len(), stamp) };
        self.drop_message();
        self.doubt = if hit.tentative { Doubt::Found } else { Doubt::Nothing };
        self.state = State::Mark;
        self.read_mark(&mut begun);
        if let State::Fragment { rest, last } = self.state
            && begun.length > 0
        {
            let taken = begun.length.min(rest);
            (self.first, self.last) = (stamp, stamp);
            self.keep(begun.bytes, taken);
            self.advance(taken, rest, last, stamp);
        }
        true
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Once a message; it is short but for what seldom happens.
    fn read_mark(&mut self, piece: &mut Piece<'_>) {
        let (mark, have) = &mut self.mark;
        if let (0, Some(whole)) = (*have, piece.bytes.first_chunk()) {
            (*mark, *have) = (*whole, 4);
            piece.skip(4);
        }
        while *have < 4 && piece.length > 0 {
            let Some(byte) = piece.bytes.first() else {
                // The mark was not captured: the next boundary is unknown.
                self.state = State::Searching;
                piece.skip((4 - *have).min(piece.length));
                self.mark.1 = 0;
                return;
            };
            if let Some(slot) = mark.get_mut(*have) {
                *slot = *byte;
            }
            *have += 1;
            piece.skip(1);
        }
        if *have < 4 {
            return;
        }
        let fragment = Fragment { at: self.length, sequence: piece.sequence, mark: *mark };
        let mark = Mark::of(*mark);
        self.mark.1 = 0;
        if self.length == 0 {
            self.fragment = fragment;
        } else if self.fragments.len() < FRAGMENTS_LIMIT {
            if self.fragments.is_empty() {
                self.fragments.push(self.fragment);
            }
            self.fragments.push(fragment);
        }
        if mark.believable(self.length == 0) {
            self.state = State::Fragment { rest: mark.length, last: mark.last };
        } else {
            self.distrust();
        }
    }

    /// Takes the rest of a piece for that of a message whose end is not known: none of it was captured.
    /// If there are further marks, they count as bytes of the message.
    fn take_rest(&mut self, piece: &mut Piece<'_>) {
        self.hole.get_or_insert(Reason::Truncated);
        self.open = true;
        self.length = self.length.saturating_add(piece.length);
        self.last = self.last.max(piece.ready);
        piece.skip(piece.length);
        self.inside = false;
    }

    /// Counts `taken` bytes, there with the packet `ready`, of a fragment that had `rest` left.
    fn advance(&mut self, taken: usize, rest: usize, last: bool, ready: Stamp) {
        self.length = self.length.saturating_add(taken);
        self.last = self.last.max(ready);
        let rest = rest - taken;
        self.state = if rest == 0 { State::Mark } else { State::Fragment { rest, last } };
    }

    /// Keeps the captured part of `taken` bytes, unless there is a hole before them, or nobody reads them.
    fn keep(&mut self, captured: &[u8], taken: usize) {
        if self.hole.is_some() {
            return;
        }
        let read = captured.get(self.unread.end.saturating_sub(self.length)..).unwrap_or_default();
        let room = KEPT_LIMIT.saturating_sub(self.buffer.len());
        self.buffer.extend_from_slice(read.get(..room).unwrap_or(read));
        if read.len() > room {
            self.hole = Some(Reason::RecordLimit);
        } else if captured.len() < taken && self.is_read(taken) {
            self.hole = Some(Reason::Truncated);
        }
    }

    /// Whether somebody reads some of the next bytes of the message.
    fn is_read(&self, length: usize) -> bool {
        self.length < self.unread.start || self.length.saturating_add(length) > self.unread.end
    }

    /// Asks what of the message that was begun, of which `rest` bytes are missing, nobody will read.
    #[cold]
    fn leave_out_unread(&mut self, rest: usize, last: bool, peer: &dyn Peer) {
        self.asked = true;
        let whole = last && self.fragments.is_empty() && !self.tentative();
        if !whole || rest < LONG_REST {
            return;
        }
        let unread = peer.unread(&self.buffer, self.length.saturating_add(rest));
        let missed = |part: &Range<usize>| part.start <= self.buffer.len() && part.end > self.length;
        if let Some(unread) = unread.filter(missed) {
            self.buffer.truncate(unread.start);
            // What is missing so far is missing behind the buffer, and so in this part.
            self.hole = None;
            self.unread = unread;
        }
    }

    /// Lends the message in the buffer.
    fn complete(&mut self) -> Record<'_> {
        self.belief = Belief::Record;
        self.searched = 0;
        self.lent = true;
        self.doubt = Doubt::Nothing;
        let place =
            if self.fragments.is_empty() { std::slice::from_ref(&self.fragment) } else { &self.fragments };
        let (bytes, behind) = Behind::split(&self.buffer, &self.unread);
        Record {
            bytes,
            behind,
            length: self.length,
            open: self.open,
            limit: self.hole.unwrap_or(Reason::Truncated),
            first: self.first,
            last: self.last,
            place,
        }
    }

    fn take_back(&mut self) {
        if self.lent {
            self.drop_message();
        }
    }

    fn drop_message(&mut self) {
        self.buffer.clear();
        self.fragments.clear();
        self.length = 0;
        self.hole = None;
        self.open = false;
        (self.unread, self.asked) = (0..0, false);
        self.mark.1 = 0;
        self.lent = false;
        self.doubt = Doubt::Nothing;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A NULL call of NFSv3 with its record mark.
    fn null_call(xid: u8) -> Vec<u8> {
        let mut bytes = vec![
            0x80, 0, 0, 40, // mark
            0, 0, 0, xid, // xid
            0, 0, 0, 0, // CALL
            0, 0, 0, 2, // rpcvers
            0, 1, 0x86, 0xa3, // program 100003
            0, 0, 0, 3, // version
            0, 0, 0, 0, // procedure
        ];
        bytes.extend([0; 16]); // credential and verifier: AUTH_NONE
        bytes
    }

    fn stamp(frame: u64) -> Stamp {
        Stamp { frame, time_ns: 0 }
    }

    /// A peer that waits for this xid, and answered that one.
    struct Knows(Option<u32>, Option<u32>);

    impl Peer for Knows {
        fn waits_for(&self, xid: u32) -> bool {
            self.0 == Some(xid)
        }
        fn answered(&self, xid: u32, _: u64) -> bool {
            self.1 == Some(xid)
        }
    }

    const NOTHING: Knows = Knows(None, None);

    fn records(reader: &mut RecordReader, pieces: &[&[u8]]) -> Vec<(Vec<u8>, u64, u64)> {
        let mut out = Vec::new();
        for (i, bytes) in pieces.iter().enumerate() {
            let mut piece = Piece::new(bytes, bytes.len(), stamp(i as u64 + 1));
            while let Some(record) = reader.next(&mut piece, &NOTHING) {
                out.push((record.bytes.to_vec(), record.first.frame, record.last.frame));
            }
        }
        out
    }

    /// A peer that reads nothing of this part of any message.
    struct ReadsAllBut(Range<usize>);

    impl Peer for ReadsAllBut {
        fn waits_for(&self, _: u32) -> bool {
            false
        }
        fn answered(&self, _: u32, _: u64) -> bool {
            false
        }
        fn unread(&self, begun: &[u8], _: usize) -> Option<Range<usize>> {
            assert!(begun.len() >= SHORTENED);
            Some(self.0.clone())
        }
    }

    /// A call of 20,000 bytes with its mark, none like the one before.
    fn long_call() -> Vec<u8> {
        let mut call = null_call(1);
        let bytes = (0..20_004 - call.len() as u32).map(|i| i.wrapping_mul(0x9e37_79b9).to_be_bytes()[0]);
        call.extend(bytes);
        call[..4].copy_from_slice(&20_000_u32.to_be_bytes());
        call[0] = 0x80;
        call
    }

    #[test]
    fn what_nobody_reads_of_a_message_is_not_put_together() {
        let (call, unread) = (long_call(), 600..17_003);
        for size in [100, 769, 1448, 9000] {
            let mut reader = RecordReader::new(true);
            for (part, next) in [&call[..], &call[..]].concat().chunks(size).zip(1..) {
                let mut piece = Piece::new(part, part.len(), stamp(next));
                while let Some(record) = reader.next(&mut piece, &ReadsAllBut(unread.clone())) {
                    let behind = record.behind.unwrap();
                    assert_eq!(record.bytes, &call[4..][..unread.start], "in pieces of {size}");
                    assert_eq!(behind.bytes, &call[4..][unread.end..], "in pieces of {size}");
                    assert_eq!((behind.passed, record.length), (unread.len(), 20_000));
                }
                assert!(reader.buffer.len() < 20_000 - unread.len() + 2 * size, "in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_hole_in_what_nobody_reads_hides_nothing() {
        let call = long_call();
        // The first segment is cut, the second lost, of the third a part was not captured.
        for (cut, lost, cut_later) in [(700, 0, 0), (2000, 1000, 0), (2000, 0, 500), (800, 1448, 3000)] {
            let mut reader = RecordReader::new(true);
            let peer = ReadsAllBut(600..17_003);
            let mut piece = Piece::new(&call[..cut], 2000, stamp(1));
            assert!(reader.next(&mut piece, &peer).is_none());
            if lost > 0 {
                assert!(reader.gap(lost, stamp(2), &peer).is_none());
            }
            let third = &call[2000 + lost..9000];
            let mut piece = Piece::new(&third[..third.len() - cut_later], third.len(), stamp(2));
            assert!(reader.next(&mut piece, &peer).is_none());
            let mut piece = Piece::new(&call[9000..], call.len() - 9000, stamp(3));
            let record = reader.next(&mut piece, &peer).unwrap();
            assert_eq!(record.behind.unwrap().bytes, &call[17_007..], "cut {cut}, lost {lost}, {cut_later}");
            assert_eq!(record.bytes, &call[4..604]);
        }
    }

    #[test]
    fn a_hole_that_reaches_beyond_what_nobody_reads_hides_what_is_behind() {
        let (call, peer) = (long_call(), ReadsAllBut(600..17_003));
        let mut reader = RecordReader::new(true);
        let mut piece = Piece::new(&call[..2000], 2000, stamp(1));
        assert!(reader.next(&mut piece, &peer).is_none());
        assert!(reader.gap(15_100, stamp(2), &peer).is_none());
        let mut piece = Piece::new(&call[17_100..], call.len() - 17_100, stamp(2));
        let record = reader.next(&mut piece, &peer).unwrap();
        let mut c = record.cursor();
        c.skip(17_003).unwrap();
        assert_eq!(c.u32().unwrap_err().reason, Reason::Missing);
    }

    #[test]
    fn a_message_that_is_shortened_is_kept_up_to_there() {
        let (call, peer) = (long_call(), ReadsAllBut(600..17_003));
        let mut reader = RecordReader::new(true);
        let mut piece = Piece::new(&call[..2000], 2000, stamp(1));
        assert!(reader.next(&mut piece, &peer).is_none());
        reader.shorten();
        let mut piece = Piece::new(&call[2000..], call.len() - 2000, stamp(2));
        let record = reader.next(&mut piece, &peer).unwrap();
        assert_eq!((record.bytes, record.limit), (&call[4..][..SHORTENED], Reason::RecordLimit));
        assert!(record.behind.is_none());
    }

    #[test]
    fn a_shortened_message_has_nothing_from_behind_what_was_left_out() {
        // Where little was captured, the part begins before what is kept of a shortened message.
        let (call, peer) = (long_call(), ReadsAllBut(250..1500));
        let mut reader = RecordReader::new(true);
        for (from, to) in [(0, 1000), (1000, 9000)] {
            let mut piece = Piece::new(&call[from..to], to - from, stamp(1));
            assert!(reader.next(&mut piece, &peer).is_none());
        }
        reader.shorten();
        let mut piece = Piece::new(&call[9000..], call.len() - 9000, stamp(2));
        let record = reader.next(&mut piece, &peer).unwrap();
        assert_eq!((record.bytes, record.limit), (&call[4..][..250], Reason::RecordLimit));
    }

    #[test]
    fn several_records_in_a_segment_and_one_over_three() {
        let (a, b) = (null_call(1), null_call(2));
        let joined = [a.clone(), b.clone()].concat();
        let mut reader = RecordReader::new(true);
        let out = records(&mut reader, &[&joined, &a[..30], &a[30..41], &a[41..]]);
        assert_eq!(out, [(a[4..].to_vec(), 1, 1), (b[4..].to_vec(), 1, 1), (a[4..].to_vec(), 2, 4)]);
    }

    #[test]
    fn a_mark_may_be_split_over_segments() {
        let a = null_call(7);
        let mut reader = RecordReader::new(true);
        let out = records(&mut reader, &[&a, &a[..2], &a[2..]]);
        assert_eq!(out.len(), 2);
        assert_eq!(out[1], (a[4..].to_vec(), 3, 3));
    }

    #[test]
    fn a_shortened_message_of_many_fragments_takes_little() {
        let message = &null_call(1)[4..];
        let (end, begin) = message.split_last().unwrap();
        let bytes: Vec<u8> = begin.iter().flat_map(|byte| [0, 0, 0, 1, *byte]).collect();
        let mut reader = RecordReader::new(true);
        // Believed from the first whole one on.
        assert_eq!(records(&mut reader, &[&null_call(2)]).len(), 1);
        assert!(records(&mut reader, &[&bytes]).is_empty());
        assert!(reader.capacity() > SHORTENED_MEMORY);
        reader.shorten();
        assert!(reader.capacity() <= SHORTENED_MEMORY);
        let (whole, ..) = records(&mut reader, &[&[0x80, 0, 0, 1, *end]]).remove(0);
        assert_eq!(whole, message);
    }

    #[test]
    fn a_buffer_is_left_for_others_when_no_message_is_begun() {
        let mut spare = Vec::new();
        let (one, two) = (null_call(1), null_call(2));
        let mut reader = RecordReader::new(true);
        reader.take_buffer(&mut spare);
        assert_eq!(records(&mut reader, &[&two, &one[..20]]).len(), 1);
        reader.leave_buffer(&mut spare);
        assert!(spare.is_empty() && reader.capacity() > 0, "a message is being put together");
        assert_eq!(records(&mut reader, &[&one[20..]]), [(one[4..].to_vec(), 1, 2)]);
        reader.leave_buffer(&mut spare);
        assert_eq!((spare.len(), reader.capacity()), (1, 0));
        // What one connection put together is not in what another one does.
        let mut other = RecordReader::new(true);
        other.take_buffer(&mut spare);
        assert!(spare.is_empty());
        let found = records(&mut other, &[&one, &two[..30], &two[30..]]);
        assert_eq!(
            found.iter().map(|(bytes, ..)| bytes.as_slice()).collect::<Vec<_>>(),
            [&one[4..], &two[4..]]
        );
    }

    #[test]
    fn fragments_are_joined() {
        let message = &null_call(1)[4..];
        let mut bytes = vec![0, 0, 0, 28];
        bytes.extend(&message[..28]);
        bytes.extend([0x80, 0, 0, 12]);
        bytes.extend(&message[28..]);
        let mut reader = RecordReader::new(true);
        assert_eq!(records(&mut reader, &[&bytes])[0].0, message);
    }

    #[test]
    fn a_gap_inside_a_record_keeps_the_boundary() {
        let mut long = null_call(1);
        long[2..4].copy_from_slice(&[4, 0]); // 1024 bytes
        long.extend([9; 1024 - 40]);
        let next = null_call(2);
        let mut reader = RecordReader::new(true);
        let mut piece = Piece::new(&long[..100], 100, stamp(1));
        assert!(reader.next(&mut piece, &NOTHING).is_none());
        assert!(reader.gap(800, stamp(3), &NOTHING).is_none());
        let rest = [&long[900..], &next[..]].concat();
        let mut piece = Piece::new(&rest, rest.len(), stamp(3));
        let record = reader.next(&mut piece, &NOTHING).unwrap();
        assert_eq!((record.bytes.len(), record.length, record.limit), (96, 1024, Reason::Missing));
        assert_eq!(reader.next(&mut piece, &NOTHING).unwrap().bytes, &next[4..]);
    }

    #[test]
    fn bytes_past_the_snaplen_keep_the_boundary() {
        let call = null_call(1);
        let mut reader = RecordReader::new(true);
        let mut piece = Piece::new(&call[..30], call.len(), stamp(1));
        let record = reader.next(&mut piece, &NOTHING).unwrap();
        assert_eq!((record.bytes.len(), record.length, record.limit), (26, 40, Reason::Truncated));
        let mut piece = Piece::new(&call, call.len(), stamp(2));
        assert_eq!(reader.next(&mut piece, &NOTHING).unwrap().bytes, &call[4..]);
    }

    /// A call in three fragments, of which the second and third have marks that are not there.
    fn fragmented_call(xid: u8) -> Vec<u8> {
        let message = null_call(xid);
        let mut bytes = Vec::new();
        for (last, part) in [(0, &message[4..32]), (0, &message[32..40]), (0x80, &message[40..])] {
            bytes.extend([last, 0, 0, part.len() as u8]);
            bytes.extend(part);
        }
        bytes
    }

    #[test]
    fn a_message_whose_next_mark_was_not_captured_is_told_with_its_segment() {
        for captured in [32, 33, 35] {
            let (one, two) = (fragmented_call(1), fragmented_call(2));
            let mut reader = RecordReader::new(true);
            for (frame, call) in [(1, &one), (2, &two)] {
                let mut piece = Piece::new(&call[..captured], call.len(), stamp(frame));
                let record = reader.next(&mut piece, &NOTHING).unwrap();
                assert_eq!((record.bytes, record.limit), (&call[4..32], Reason::Truncated), "{captured}");
                assert_eq!((record.first.frame, record.last.frame), (frame, frame));
                assert_eq!((record.length, record.open), (44, true), "and a mark");
                assert!(reader.next(&mut piece, &NOTHING).is_none());
            }
            let mut piece = Piece::new(&one, one.len(), stamp(3));
            assert_eq!(reader.next(&mut piece, &NOTHING).unwrap().bytes, &null_call(1)[4..]);
        }
    }

    #[test]
    fn so_is_one_whose_next_mark_was_lost() {
        let (one, next) = (fragmented_call(1), null_call(2));
        let mut reader = RecordReader::new(true);
        let mut piece = Piece::new(&one[..32], 32, stamp(1));
        assert!(reader.next(&mut piece, &NOTHING).is_none());
        let record = reader.gap(one.len() - 32, stamp(2), &NOTHING).unwrap();
        assert_eq!((record.bytes, record.limit, record.last.frame), (&one[4..32], Reason::Missing, 1));
        assert!(record.open);
        let mut piece = Piece::new(&next, next.len(), stamp(2));
        assert_eq!(reader.next(&mut piece, &NOTHING).unwrap().bytes, &next[4..]);
    }

    #[test]
    fn joining_in_the_middle_finds_the_next_header() {
        let joined = [vec![0xaa; 333], null_call(5)].concat();
        let mut reader = RecordReader::new(true);
        assert!(records(&mut reader, &[&joined]).is_empty(), "not before the next segment confirms it");
        let out = records(&mut reader, &[&null_call(6)]);
        assert_eq!([out[0].0[3], out[1].0[3]], [5, 6]);
        assert!(!reader.hopeless());
    }

    #[test]
    fn a_stream_that_is_no_rpc_becomes_hopeless() {
        let mut reader = RecordReader::new(true);
        let junk = vec![0x55; 70_000];
        assert!(records(&mut reader, &[&junk]).is_empty());
        assert!(reader.hopeless());
    }

    /// A reply of NFSv3 NULL with its record mark.
    fn null_reply(xid: u8) -> Vec<u8> {
        let mut bytes = vec![0x80, 0, 0, 24, 0, 0, 0, xid, 0, 0, 0, 1];
        bytes.extend([0; 16]); // accepted, verifier AUTH_NONE, SUCCESS
        bytes
    }

    /// A call with `data` behind its header.
    fn call_with(xid: u8, data: &[u8]) -> Vec<u8> {
        let mut bytes = null_call(xid);
        bytes[2..4].copy_from_slice(&(40 + data.len() as u16).to_be_bytes());
        bytes.extend(data);
        bytes
    }

    fn take<'a>(reader: &mut RecordReader, bytes: &'a [u8], frame: u64, peer: &Knows) -> Vec<Vec<u8>> {
        let mut piece: Piece<'a> = Piece::new(bytes, bytes.len(), stamp(frame));
        let mut out = Vec::new();
        while let Some(record) = reader.next(&mut piece, peer) {
            out.push(record.bytes.to_vec());
        }
        out
    }

    /// Three records in two segments, of which a lost one before them was sent again in frame 9.
    #[test]
    fn what_waited_behind_a_hole_is_complete_when_the_hole_is_filled() {
        let stream = [null_call(1), null_call(2), null_call(3)].concat();
        let (one, other) = stream.split_at(60);
        let mut reader = RecordReader::new(true);
        let mut frames = Vec::new();
        for (bytes, frame) in [(one, 4), (other, 5)] {
            let mut piece = Piece { ready: stamp(9), ..Piece::new(bytes, bytes.len(), stamp(frame)) };
            while let Some(record) = reader.next(&mut piece, &NOTHING) {
                frames.push((record.first.frame, record.last.frame));
            }
        }
        assert_eq!(frames, [(4, 9), (4, 9), (5, 9)]);
    }

    #[test]
    fn a_header_over_two_segments_is_found_in_search() {
        let call = null_call(5);
        for cut in 1..call.len() {
            let before = [&[0xaa; 100], &call[..cut]].concat();
            let after = [&call[cut..], &null_call(6)].concat();
            let mut reader = RecordReader::new(true);
            assert!(take(&mut reader, &before, 1, &NOTHING).is_empty());
            let found = take(&mut reader, &after, 2, &NOTHING);
            assert_eq!(found, [&call[4..], &null_call(6)[4..]], "cut at {cut}");
        }
    }

    #[test]
    fn a_header_in_crumbs_is_found_in_search() {
        let call = null_call(5);
        for crumb in 1..HEAD {
            let mut reader = RecordReader::new(true);
            let stream = [&[0xaa; 100], &call[..], &null_call(6)].concat();
            let found: Vec<_> =
                stream.chunks(crumb).flat_map(|bytes| take(&mut reader, bytes, 2, &NOTHING)).collect();
            assert_eq!(found, [&call[4..], &null_call(6)[4..]], "crumbs of {crumb}");
        }
    }

    #[test]
    fn a_first_call_in_crumbs_is_told_with_its_last() {
        let call = null_call(5);
        for crumb in 1..call.len() {
            let mut reader = RecordReader::new(true);
            let found: Vec<_> =
                call.chunks(crumb).flat_map(|bytes| take(&mut reader, bytes, 2, &NOTHING)).collect();
            assert_eq!(found, [&call[4..]], "crumbs of {crumb}");
        }
    }

    #[test]
    fn several_records_behind_a_gap_are_found_when_they_lie_in_its_segment() {
        let joined = [vec![0xaa; 50], null_call(1), call_with(2, &[7; 99]), null_call(3)].concat();
        let mut reader = RecordReader::new(true);
        take(&mut reader, &null_call(9), 1, &NOTHING);
        assert!(reader.gap(1000, stamp(2), &NOTHING).is_none());
        let xids: Vec<u8> = take(&mut reader, &joined, 2, &NOTHING).iter().map(|record| record[3]).collect();
        assert_eq!(xids, [1, 2, 3]);
    }

    #[test]
    fn messages_in_the_data_of_a_file_are_not_found() {
        // A capture file: each packet behind a header of its own, none ends with the segment.
        let packet = |xid| [vec![0x11; 16 + 66], null_call(xid)].concat();
        let data = [packet(1), packet(2), packet(3), vec![0x11; 16]].concat();
        let mut reader = RecordReader::new(true);
        take(&mut reader, &null_call(9), 1, &NOTHING);
        reader.gap(1000, stamp(2), &NOTHING);
        for frame in 2..20 {
            assert!(take(&mut reader, &data, frame, &NOTHING).is_empty());
        }
        assert_eq!(take(&mut reader, &null_call(8), 20, &NOTHING), [&null_call(8)[4..]]);
    }

    #[test]
    fn a_message_found_at_the_end_of_a_segment_must_be_confirmed_by_what_follows() {
        let inner = call_with(3, &[9; 60]);
        let (head, tail) = inner.split_at(70);
        let segment = [&[0x11; 30], head].concat();
        for (after, confirmed) in [(null_call(4), true), (vec![0x11; 40], false)] {
            let mut reader = RecordReader::new(true);
            assert!(take(&mut reader, &segment, 1, &NOTHING).is_empty());
            let found = take(&mut reader, &[tail, &after].concat(), 2, &NOTHING);
            assert_eq!(found.first().is_some_and(|record| record[3] == 3), confirmed);
        }
    }

    #[test]
    fn what_is_no_message_is_told_at_once() {
        let mut reader = RecordReader::new(true);
        take(&mut reader, &null_call(1), 1, &NOTHING);
        let wrong = [&[0x80, 1, 0, 0][..], &[0x33; 60]].concat();
        assert_eq!(take(&mut reader, &wrong, 2, &NOTHING), [&[0x33; 60]]);
        assert_eq!(take(&mut reader, &null_call(2), 3, &NOTHING), [&null_call(2)[4..]]);
    }

    #[test]
    fn a_mark_that_claims_too_much_is_refuted_by_the_reply() {
        let mut call = null_call(1);
        call[1] = 1; // 64 KB more than there are
        let mut reader = RecordReader::new(true);
        assert!(take(&mut reader, &call, 1, &NOTHING).is_empty());
        // Without a reply the next call could be data of this one.
        assert!(take(&mut reader, &null_call(2), 2, &NOTHING).is_empty());
        let answered = Knows(None, Some(1));
        let xids: Vec<u8> =
            take(&mut reader, &null_call(3), 3, &answered).iter().map(|record| record[3]).collect();
        assert_eq!(xids, [1, 3]);
    }

    #[test]
    fn a_reply_whose_call_waits_ends_the_one_before() {
        let mut reply = null_reply(1);
        reply[1] = 1;
        let mut reader = RecordReader::new(true);
        assert!(take(&mut reader, &reply, 1, &NOTHING).is_empty());
        assert!(take(&mut reader, &null_reply(2), 2, &NOTHING).is_empty());
        let waits = Knows(Some(3), None);
        let xids: Vec<u8> =
            take(&mut reader, &null_reply(3), 3, &waits).iter().map(|record| record[3]).collect();
        assert_eq!(xids, [1, 3]);
    }

    #[test]
    fn a_mark_that_is_the_middle_of_a_message_does_not_swallow_those_that_follow() {
        // The header's length was damaged: the program number stands where the mark should.
        let damaged = [0, 1, 0x86, 0xa3, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut reader = RecordReader::new(true);
        take(&mut reader, &null_call(9), 1, &NOTHING);
        assert!(take(&mut reader, &damaged, 2, &NOTHING).is_empty());
        let xids: Vec<u8> =
            take(&mut reader, &null_call(3), 3, &NOTHING).iter().map(|record| record[3]).collect();
        assert!(xids.contains(&3), "{xids:?}");
    }

    #[test]
    fn a_gap_does_not_date_the_message_that_it_ends() {
        let call = call_with(1, &[7; 200]);
        let mut reader = RecordReader::new(true);
        take(&mut reader, &call[..100], 1, &NOTHING);
        let record = reader.gap(call.len() - 100, stamp(50), &NOTHING).unwrap();
        assert_eq!((record.first.frame, record.last.frame, record.limit), (1, 1, Reason::Missing));
    }

    #[test]
    fn a_message_that_was_begun_is_told_at_the_end_if_its_header_is_there() {
        let call = call_with(1, &[7; 200]);
        for (bytes, told) in [(&call[..100], true), (&call[..20], false), (&call[..4], false)] {
            let mut reader = RecordReader::new(true);
            take(&mut reader, &null_call(9), 1, &NOTHING);
            take(&mut reader, bytes, 2, &NOTHING);
            let record = reader.end(&NOTHING);
            assert_eq!(record.map(|record| record.length), told.then_some(call.len() - 4));
            assert!(reader.end(&NOTHING).is_none(), "only once");
        }
    }

    #[test]
    fn a_call_found_by_a_search_is_confirmed_by_its_reply_when_what_follows_is_lost() {
        let segment = [&[0xaa; 50], &null_call(5)[..]].concat();
        for (peer, told) in [(Knows(None, Some(5)), true), (NOTHING, false)] {
            let mut reader = RecordReader::new(true);
            assert!(take(&mut reader, &segment, 1, &NOTHING).is_empty());
            assert_eq!(reader.gap(100, stamp(2), &peer).is_some(), told);
        }
    }

    #[test]
    fn a_reply_alone_in_its_segment_is_believed_on_any_connection() {
        let mut reader = RecordReader::new(false);
        assert_eq!(take(&mut reader, &null_reply(1), 1, &NOTHING).len(), 1);
        let mut reader = RecordReader::new(false);
        let longer = [&null_reply(1), &[1, 2, 3][..]].concat();
        assert!(take(&mut reader, &longer, 1, &NOTHING).is_empty());
    }

    /// A peer that reads little of any message, as far as it is there.
    struct ReadsLittle;

    impl Peer for ReadsLittle {
        fn waits_for(&self, xid: u32) -> bool {
            xid == 2
        }
        fn answered(&self, xid: u32, _: u64) -> bool {
            xid == 3
        }
        fn unread(&self, begun: &[u8], length: usize) -> Option<Range<usize>> {
            (begun.len() >= 600).then_some(600..length.saturating_sub(50).max(600))
        }
    }

    /// What comes of a stream in pieces of these lengths, of which so many bytes each were captured: as
    /// pieces are taken that need no more than little, or as all could be.
    fn told(stream: &[u8], pieces: &[(usize, usize)], shortcuts: bool) -> Vec<String> {
        let (peer, mut reader) = (ReadsLittle, RecordReader::new(true));
        let (mut told, mut rest) = (Vec::new(), stream);
        for (frame, (length, captured)) in (1..).zip(pieces.iter().copied()) {
            let (bytes, behind) = rest.split_at(length.min(rest.len()));
            let sequence = SeqNumber((stream.len() - rest.len()) as u32);
            let cut = &bytes[..captured.min(bytes.len())];
            let mut piece = Piece { sequence, ..Piece::new(cut, bytes.len(), stamp(frame)) };
            rest = behind;
            let mut spare = vec![Vec::with_capacity(512)];
            if piece.length == 0 || shortcuts && reader.found() && reader.go_on(&piece) {
                continue;
            }
            while shortcuts && let Some(record) = reader.whole(&mut piece) {
                told.push(format!("{record:?}"));
            }
            reader.take_buffer(&mut spare);
            while piece.length > 0
                && let Some(record) = reader.next(&mut piece, &peer)
            {
                let heard = begins_message(record.bytes);
                told.push(format!("{record:?}"));
                if !heard {
                    reader.distrust();
                }
            }
            reader.leave_buffer(&mut spare);
        }
        told
    }

    proptest! {
        #[test]
        fn the_shortcuts_tell_the_same(
            messages in prop::collection::vec((any::<bool>(), 0..6_usize, 0..400_usize), 1..12),
            pieces in prop::collection::vec((1..1500_usize, 40..3000_usize), 1..60),
            damage in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let message = |(number, (call, hundreds, more)): (u8, (bool, usize, usize))| {
                if call { call_with(number, &vec![9; 100 * hundreds * hundreds * hundreds + more]) } else { null_reply(number) }
            };
            let mut stream: Vec<u8> = (1..).zip(messages).flat_map(message).collect();
            if let Some(at) = damage {
                let at = at.index(stream.len());
                stream[at] ^= 0x40;
            }
            prop_assert_eq!(told(&stream, &pieces, true), told(&stream, &pieces, false));
        }
    }
}
