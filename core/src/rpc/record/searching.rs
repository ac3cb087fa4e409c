//! The way back to a record mark where none is known: the search through segments, and across two.

use crate::rpc::message::{Recognised, recognise};
use crate::rpc::record::{Belief, Doubt, RecordReader, State};
use crate::rpc::search::{HEAD, Mark, Origin, Peer, may_restart, restarts, search};
use crate::stream::assembler::{Piece, Stamp};
use crate::stream::seq::SeqNumber;

/// The end of what was searched, in which a header may begin.
#[derive(Clone, Copy)]
pub(super) struct Tail {
    bytes: [u8; HEAD - 1],
    length: usize,
    /// Where they came from.
    stamp: Stamp,
    /// They are all of their segments, from the start of one.
    pub(super) whole: bool,
}

impl Tail {
    pub(super) const EMPTY: Self =
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

/// A call with which a segment began inside of a message, and when that was, in seconds; 0: there is none.
///
/// It takes little of each connection, of which there may be very many.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Inner {
    xid: u32,
    since_s: u32,
}

impl Inner {
    pub(super) const NONE: Self = Self { xid: 0, since_s: 0 };

    /// For how long its reply is waited for, seconds: where many replies wait for their calls, they do so for
    /// about as long.
    const PATIENCE_S: u32 = 1;

    fn new(xid: u32, now: Stamp) -> Self {
        Self { xid, since_s: Self::second(now) }
    }

    /// The same, as long as its reply is waited for.
    fn at(self, now: Stamp) -> Self {
        let waited = Self::second(now).wrapping_sub(self.since_s) <= Self::PATIENCE_S;
        if waited { self } else { Self::NONE }
    }

    fn second(now: Stamp) -> u32 {
        (now.time_ns / 1_000_000_000).cast_unsigned().max(1) as u32
    }
}

impl RecordReader {
    /// Whether `piece` begins a record although a mark says that a message goes on.
    pub(super) fn contradicted(&mut self, piece: &Piece<'_>, peer: &dyn Peer) -> bool {
        let Piece { bytes, ready, .. } = *piece;
        matches!(self.state, State::Fragment { .. })
            && may_restart(bytes)
            && (restarts(bytes, &self.buffer, self.tentative(), ready.frame, peer)
                || self.inner_answered(bytes, ready, peer))
    }

    /// Whether a segment that begins like a call came before inside of the call that is said to go on, and the
    /// other side answered it: then that one is none, or its mark was wrong, and what begins with `bytes` now
    /// is a call as well.
    ///
    /// A file that holds RPC messages, as a capture does that is written to the mount, has none of which only
    /// the answer was seen.
    fn inner_answered(&mut self, bytes: &[u8], now: Stamp, peer: &dyn Peer) -> bool {
        let of_call = |message: &[u8]| match recognise(message) {
            Some(Recognised::Call { xid, .. }) => Some(xid),
            _ => None,
        };
        let Some((mark, message)) = bytes.split_first_chunk::<4>() else { return false };
        let (Some(_), Some(xid)) = (of_call(&self.buffer), of_call(message)) else { return false };
        if !Mark::of(*mark).believable(true) {
            return false;
        }
        let before = self.inner.at(now);
        if before == Inner::NONE {
            self.inner = Inner::new(xid, now);
            return false;
        }
        peer.answered(before.xid, now.frame)
    }

    /// Passes over bytes up to the next record mark, or over all of them.
    pub(super) fn search(&mut self, piece: &mut Piece<'_>, fresh: bool, peer: &dyn Peer) {
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
    pub(super) fn search_tail(&mut self, tail: &Tail, piece: &Piece<'_>, peer: &dyn Peer) -> bool {
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
        while begun.length > 0 && self.state != State::Searching {
            let State::Fragment { rest, last } = self.state else {
                self.read_mark(&mut begun, peer);
                continue;
            };
            let taken = begun.length.min(rest);
            if self.length == 0 {
                (self.first, self.last) = (stamp, stamp);
            }
            self.keep(begun.bytes.get(..taken).unwrap_or(begun.bytes), taken);
            begun.skip(taken);
            self.advance(taken, rest, last, stamp);
        }
        true
    }
}
