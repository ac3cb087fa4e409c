//! One direction's bytes in order → records (RFC 5531 section 11), and the way back after a gap.
//!
//! A record is one or more fragments, each behind a four-byte mark with its length. Several records
//! can sit in one segment, and marks can straddle segments. As long as the marks are known, bytes
//! that are missing or were not captured only make a hole in a record. When a mark itself is lost, or
//! led to something that is no message, the reader searches for the next header (`search.rs`); and
//! where a mark claims more than its message has, it notices at the next segment that must be another.

mod memory;

mod searching;

use std::hint::black_box;
use std::ops::Range;

use crate::cursor::{Behind, Cursor, OPEN_END};
use crate::error::{Layer, Reason};
use crate::rpc::message::{Recognised, recognise};
use crate::rpc::search::{EMPTY_LIMIT, Mark, begins_message, continues, leads_on, may_restart};
pub use crate::rpc::search::{Peer, SEEN};
use crate::stream::assembler::{Piece, Stamp};
use crate::stream::seq::SeqNumber;

pub use memory::{SHORTENED, SHORTENED_MEMORY};
use searching::{Inner, Tail};

/// Bytes of a record that are kept. Linux allows 1 MiB of data and a page of headers; nothing useful
/// comes after the data. Longer records keep their boundary, and are decoded up to here.
pub const KEPT_LIMIT: usize = (1 << 20) + (1 << 16);

/// Fragments of a message whose places are kept; there are no more in sensible ones. Those beyond it are
/// read all the same, but their place is not told.
const FRAGMENTS_LIMIT: usize = 1024;

/// Bytes of a message after which the other side is asked what of it nobody will read: its data begin
/// before, as a rule.
const ASKED_AFTER: usize = 768;

/// Bytes before the first header that are searched for it before the connection is taken for
/// something else than RPC, where the port does not say that it is RPC: several READs or WRITEs of the
/// largest size that is common, amid which a capture may begin. A call that comes later still has it looked
/// at again ([`crate::rpc::search::is_call`]).
const SEARCH_LIMIT: u64 = 1 << 22;

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

    /// Where it ends in the stream, or at least its last fragment whose place is known.
    #[inline]
    pub fn end(&self) -> Option<SeqNumber> {
        self.place.last().map(|fragment| fragment.sequence.advance(fragment.length()))
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
    /// So it was, and it is complete and ended with its segment or a gap: the next one must confirm it.
    Ended,
}

/// What came of a step through a piece.
enum Step<'p> {
    /// No message yet.
    On,
    /// The message in the buffer is complete.
    Kept,
    /// A message of one fragment lies in the piece.
    Lent(Lent<'p>),
}

/// A message that need not be kept.
struct Lent<'p> {
    bytes: &'p [u8],
    length: usize,
    limit: Reason,
    first: Stamp,
    last: Stamp,
}

impl<'p> Lent<'p> {
    /// One that is all there, but for what was not captured or is too much.
    #[inline]
    fn whole(captured: &'p [u8], length: usize, first: Stamp, last: Stamp) -> Self {
        let bytes = captured.get(..KEPT_LIMIT).unwrap_or(captured);
        let limit = if captured.len() > KEPT_LIMIT { Reason::RecordLimit } else { Reason::Truncated };
        Self { bytes, length, limit, first, last }
    }

    /// The record that it is, of this fragment.
    #[inline]
    fn from(self, fragment: &'p Fragment) -> Record<'p> {
        let Self { bytes, length, limit, first, last } = self;
        let place = std::slice::from_ref(fragment);
        Record { bytes, behind: None, length, open: false, limit, first, last, place }
    }
}

/// Splits one direction into records.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, in any company")]
pub struct RecordReader {
    state: State,
    /// Bytes of a mark that is split over segments, and how many there are.
    mark: ([u8; 4], u8),
    /// Marks of empty fragments, in a row up to here.
    empty: u8,
    /// A call that may have begun inside the message.
    inner: Inner,
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
            empty: 0,
            inner: Inner::NONE,
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
        self.empty = 0;
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
            if inside == rest && last {
                if !self.tentative() || self.confirmed(stamp.frame, peer) {
                    return Some(self.complete());
                }
                self.doubt = Doubt::Ended;
            }
        }
        if length > 0 {
            self.state = State::Searching;
            // What follows a message found by a search is lost as well: only its pair can confirm it.
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
            Some(Recognised::Call { xid, .. }) => peer.answered(xid, frame),
            Some(Recognised::Reply { xid }) => peer.waits_for(xid),
            None => false,
        }
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
        while piece.length > 0 {
            let step = match self.state {
                State::Searching => {
                    self.search(piece, fresh, peer);
                    Step::On
                }
                State::Mark => self.take_mark(piece, peer),
                State::Fragment { rest, last } => self.take_fragment(piece, rest, last, peer),
            };
            match step {
                Step::On => fresh = false,
                Step::Kept => return Some(self.complete()),
                Step::Lent(lent) => return Some(lent.from(&self.fragment)),
            }
        }
        self.inside = false;
        None
    }

    /// Takes a mark. If it is not there, the message before it may end anywhere; one that cannot be right
    /// is told with what stands behind it, in which a header is searched for.
    fn take_mark<'p>(&mut self, piece: &mut Piece<'p>, peer: &dyn Peer) -> Step<'p> {
        let Piece { bytes, length, stamp, ready, .. } = *piece;
        self.read_mark(piece, peer);
        if self.state == State::Searching {
            if self.length > 0 && self.is_known(piece.ready.frame, peer) {
                self.take_rest(piece);
                return Step::Kept;
            }
            let wrong = self.length == 0 && self.found() && bytes.len() > 4 && piece.length + 4 == length;
            self.distrust();
            if wrong {
                let limit = Reason::Missing;
                return Step::Lent(Lent { bytes, length, limit, first: stamp, last: ready });
            }
        }
        if let State::Fragment { rest: 0, .. } = self.state {
            return self.end_with_mark(piece);
        }
        Step::On
    }

    /// Takes the mark of an empty last fragment for the end of its message: nothing else comes of it, maybe for long.
    #[cold]
    fn end_with_mark<'p>(&mut self, piece: &Piece<'_>) -> Step<'p> {
        self.advance(0, 0, true, piece.ready);
        self.end_message(piece)
    }

    /// The message in the buffer is complete, and this is what is left of its piece.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "once a message")]
    fn end_message<'p>(&mut self, piece: &Piece<'_>) -> Step<'p> {
        match self.doubt {
            Doubt::Found if piece.length == 0 => self.doubt = Doubt::Ended,
            Doubt::Found if !continues(piece.bytes) => self.distrust(),
            _ => {
                self.inside = piece.length > 0;
                return Step::Kept;
            }
        }
        Step::On
    }

    /// Takes what a piece has of a fragment of which `rest` bytes are to come.
    fn take_fragment<'p>(
        &mut self,
        piece: &mut Piece<'p>,
        rest: usize,
        last: bool,
        peer: &dyn Peer,
    ) -> Step<'p> {
        let taken = piece.length.min(rest);
        let captured = piece.bytes.get(..taken).unwrap_or(piece.bytes);
        let Piece { stamp, ready, .. } = *piece;
        if self.length == 0 {
            self.first = stamp;
            self.last = ready;
        }
        if last && self.length == 0 && taken == rest && !self.tentative() {
            piece.skip(taken);
            self.inside = piece.length > 0;
            self.state = State::Mark;
            self.belief = Belief::Record;
            self.searched = 0;
            return Step::Lent(Lent::whole(captured, rest, self.first.min(stamp), ready));
        }
        if self.length == 0 && !begins_message(captured) {
            // No message: to be told at once, not when a wrong mark has swallowed others.
            self.state = State::Searching;
            let (limit, first, last) = (Reason::Missing, stamp, ready);
            return Step::Lent(Lent { bytes: captured, length: rest, limit, first, last });
        }
        self.keep(captured, taken);
        piece.skip(taken);
        self.first = self.first.min(stamp);
        self.advance(taken, rest, last, ready);
        if taken < rest || !last {
            if !self.asked && self.length >= ASKED_AFTER {
                self.leave_out_unread(rest - taken, last, peer);
            }
            return Step::On;
        }
        self.end_message(piece)
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
        let lent = Lent::whole(rest.get(..length).unwrap_or(rest), length, piece.stamp, piece.ready);
        piece.skip(4 + length);
        Some(lent.from(&self.fragment))
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "once a message; it is short but for what seldom happens")]
    fn read_mark(&mut self, piece: &mut Piece<'_>, peer: &dyn Peer) {
        let (mark, have) = &mut self.mark;
        if let (0, Some(whole)) = (*have, piece.bytes.first_chunk()) {
            (*mark, *have) = (*whole, 4);
            piece.skip(4);
        }
        while *have < 4 && piece.length > 0 {
            let Some(byte) = piece.bytes.first() else {
                // The mark was not captured: the next boundary is unknown.
                self.state = State::Searching;
                piece.skip(usize::from(4 - *have).min(piece.length));
                self.mark.1 = 0;
                return;
            };
            if let Some(slot) = mark.get_mut(usize::from(*have)) {
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
        } else if self.fragments.len() < FRAGMENTS_LIMIT && !mark.is_empty() {
            if self.fragments.is_empty() {
                self.fragments.push(self.fragment);
            }
            self.fragments.push(fragment);
        }
        if mark.believable(self.length == 0) {
            self.empty = 0;
            self.state = State::Fragment { rest: mark.length, last: mark.last };
        } else if !(mark.is_empty() && self.passes_empty(piece.bytes, peer)) {
            self.distrust();
        }
    }

    /// Whether the mark of an empty fragment is one: other marks follow in these bytes, as far as they go. Its place
    /// need not be known: what is not written of a stream is 0, as it is.
    #[cold]
    fn passes_empty(&mut self, behind: &[u8], peer: &dyn Peer) -> bool {
        self.empty += 1;
        usize::from(self.empty) <= EMPTY_LIMIT && leads_on(behind, self.length == 0, peer)
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
        self.inner = Inner::NONE;
        self.doubt = Doubt::Nothing;
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
