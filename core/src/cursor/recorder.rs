//! What was read of a message, and as what.
//!
//! Takes the bytes of a message and the reads of the cursors over it; gives a [`Span`] for each read.
//! What no parser read has no span.

use std::cell::{Cell, RefCell};

/// What a value is, as far as it matters to who must not see it.
///
/// A parser that reads a value without saying what it is says that it is a number. Opaque data and
/// strings have to be told apart: those of which nothing is said are [`Kind::Unknown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Numbers: lengths, statuses, sizes, times, identifiers that the server chose.
    Number,
    /// Opaque data of which the parser does not say more: they may be anything.
    Unknown,
    /// A file handle. A server may put numbers of inodes and file systems into it.
    Handle,
    /// A name of a file or an attribute: one component of a path.
    Name,
    /// A path, absolute or relative: components between slashes.
    Path,
    /// A user or a group as NFSv4 names it: `name@domain`, or a number as text.
    Principal,
    /// A number of a user.
    User,
    /// A number of a group.
    Group,
    /// A number of a user, and one of a group behind it.
    UserAndGroup,
    /// Entries of an NFSACL list: type, number of a user or a group, permissions.
    AccessEntries,
    /// A host: its name, or its address as text.
    Host,
    /// A universal address (RFC 5665 section 5.2.3): address and port as text.
    UniversalAddress,
    /// A network identifier (RFC 5665 section 4): `tcp6`.
    Network,
    /// Text or bytes that stand for somebody and are only ever compared: owners of states and locks,
    /// identifiers of clients and servers, cookies of locks, tags.
    Token,
    /// A verifier of a reply, which is empty, sealed, or the word that grants TLS.
    Verifier,
    /// What a client made up for an exclusive create, to know its own file again. BSD and macOS put an address
    /// of theirs into it.
    CreateVerifier,
    /// What a client made up to tell its incarnations apart.
    ClientVerifier,
    /// The seconds of a time. Servers keep the words of a [`Kind::CreateVerifier`] in those of a file.
    Seconds,
    /// The fraction of the time whose seconds are before it.
    Fraction,
}

/// Bytes of a message that were read as one value, or several of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where they begin.
    pub at: usize,
    /// How many.
    pub length: usize,
    /// What they mean.
    pub kind: Kind,
}

/// Notes what cursors read of a message.
#[derive(Debug)]
pub struct Recorder<'a> {
    message: &'a [u8],
    spans: RefCell<Vec<Span>>,
    /// Where in the message the latest milestone was and the one before it, and whether none was since
    /// the body began.
    milestones: Cell<Milestones>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Milestones {
    before: usize,
    latest: usize,
    fresh: bool,
}

impl<'a> Recorder<'a> {
    /// A recorder of a message of which nothing was read yet. `room` is emptied and filled again.
    pub fn new(message: &'a [u8], mut room: Vec<Span>) -> Self {
        room.clear();
        Self { message, spans: RefCell::new(room), milestones: Cell::default() }
    }

    /// What was read, in the order of the reads.
    pub fn into_spans(self) -> Vec<Span> {
        self.spans.into_inner()
    }

    /// Forgets what was read since the milestone before the latest one. What was read since that one
    /// contradicts itself; where a length or a count before it is wrong, both may be anything.
    pub fn forget(&self) {
        self.forget_from(self.milestones.get().before);
    }

    /// The last four bytes that were read, as a number.
    pub fn last_word(&self) -> Option<u32> {
        let end = self.spans.borrow().last().map(|span| span.at + span.length)?;
        Some(u32::from_be_bytes(*self.message.get(..end)?.last_chunk()?))
    }

    pub(super) fn forget_from(&self, place: usize) {
        let mut spans = self.spans.borrow_mut();
        spans.retain_mut(|span| {
            span.length = span.length.min(place.saturating_sub(span.at));
            span.length > 0
        });
    }

    /// A body begins here: nothing before it is in doubt with what it holds.
    pub(super) fn body(&self, place: &[u8]) {
        let at = self.offset(place);
        self.milestones.set(Milestones { before: at, latest: at, fresh: true });
    }

    /// What is read from here on belongs together.
    pub(super) fn milestone(&self, place: &[u8]) {
        let (at, last) = (self.offset(place), self.milestones.get());
        let before = if last.fresh { at } else { last.latest };
        self.milestones.set(Milestones { before, latest: at, fresh: false });
    }

    /// The place of the message's first byte, and how many there are.
    pub(super) fn beginning(&self) -> (&'a [u8], usize) {
        (self.message.get(..0).unwrap_or_default(), self.message.len())
    }

    /// The captured bytes from a place on, of which `remaining` belong to the cursor's part.
    pub(super) fn ahead(&self, place: &'a [u8], remaining: usize) -> &'a [u8] {
        let ahead = self.message.get(self.offset(place)..).unwrap_or_default();
        ahead.get(..remaining).unwrap_or(ahead)
    }

    pub(super) fn note(&self, read: &[u8], kind: Kind) {
        let (at, length) = (self.offset(read), read.len());
        let mut spans = self.spans.borrow_mut();
        match spans.last_mut() {
            Some(last) if kind == Kind::Number && last.kind == kind && last.at + last.length == at => {
                last.length += length;
            }
            _ => spans.push(Span { at, length, kind }),
        }
    }

    pub(super) fn offset(&self, place: &[u8]) -> usize {
        place.as_ptr().addr().saturating_sub(self.message.as_ptr().addr())
    }
}

#[cfg(test)]
mod tests {
    use crate::cursor::{Cursor, Kind, Recorder, Span};
    use crate::error::{Layer, Reason};

    /// A word, a string of three letters with its padding, data, a word.
    const MESSAGE: &[u8] =
        &[0, 0, 0, 7, 0, 0, 0, 3, b'a', b'b', b'c', 0xff, 0, 0, 0, 4, 1, 2, 3, 4, 0, 0, 0, 9];

    fn span(at: usize, length: usize, kind: Kind) -> Span {
        Span { at, length, kind }
    }

    #[test]
    fn what_is_read_is_recorded_and_what_is_passed_over_is_not() {
        let recorder = Recorder::new(MESSAGE, Vec::new());
        let mut c = Cursor::recording(&recorder, MESSAGE.len(), Reason::Malformed, Layer::Call);
        assert_eq!(c.u32(), Ok(7));
        assert_eq!(c.opaque_as(Kind::Name, 9), Ok(&b"abc"[..]));
        assert_eq!(c.opaque_skipped(), Ok(4));
        assert_eq!((c.u32(), c.remaining()), (Ok(9), 0));
        let spans = [
            span(0, 8, Kind::Number),
            span(8, 3, Kind::Name),
            span(12, 4, Kind::Number),
            span(20, 4, Kind::Number),
        ];
        assert_eq!(recorder.into_spans(), spans);
    }

    #[test]
    fn a_recording_cursor_reads_and_fails_as_another() {
        for cut in 0..=MESSAGE.len() {
            let bytes = &MESSAGE[..cut];
            let recorder = Recorder::new(bytes, Vec::new());
            let mut records = Cursor::recording(&recorder, MESSAGE.len(), Reason::Truncated, Layer::Call);
            let mut reads = Cursor::of_prefix(bytes, MESSAGE.len(), Reason::Truncated, Layer::Call);
            assert_eq!(records.u32(), reads.u32(), "cut at {cut}");
            assert_eq!(records.sub(8).map(|c| c.rest()), reads.sub(8).map(|c| c.rest()), "cut at {cut}");
            assert_eq!(records.opaque_skipped(), reads.opaque_skipped(), "cut at {cut}");
            assert_eq!(records.rest(), reads.rest(), "cut at {cut}");
            assert_eq!(records.u64(), reads.u64(), "cut at {cut}");
            assert_eq!(records.offset(), reads.offset(), "cut at {cut}");
        }
    }

    #[test]
    fn what_was_read_since_a_milestone_can_be_forgotten() {
        let recorder = Recorder::new(MESSAGE, Vec::new());
        let mut c = Cursor::recording(&recorder, MESSAGE.len(), Reason::Malformed, Layer::Call);
        assert_eq!(c.u32(), Ok(7));
        c.body();
        assert_eq!(c.opaque_as(Kind::Name, 9), Ok(&b"abc"[..]));
        recorder.forget();
        assert_eq!(recorder.into_spans(), [span(0, 4, Kind::Number)]);
    }

    #[test]
    fn with_it_goes_what_was_read_since_the_milestone_before() {
        for (only, left) in [(true, 8), (false, 4)] {
            let recorder = Recorder::new(MESSAGE, Vec::new());
            let mut c = Cursor::recording(&recorder, MESSAGE.len(), Reason::Malformed, Layer::Call);
            c.body();
            assert_eq!(c.u32(), Ok(7));
            if !only {
                c.milestone();
            }
            assert_eq!(c.u32(), Ok(3));
            c.milestone();
            assert_eq!(c.u32(), Ok(0x6162_63ff));
            recorder.forget();
            assert_eq!(recorder.into_spans(), [span(0, left, Kind::Number)]);
        }
    }

    #[test]
    fn the_last_word_is_what_was_read_last() {
        let recorder = Recorder::new(MESSAGE, Vec::new());
        let mut c = Cursor::recording(&recorder, MESSAGE.len(), Reason::Malformed, Layer::Call);
        assert_eq!(recorder.last_word(), None);
        assert_eq!((c.u32(), c.u32()), (Ok(7), Ok(3)));
        assert_eq!(recorder.last_word(), Some(3));
    }

    #[test]
    fn what_was_read_since_a_place_can_be_disowned() {
        let recorder = Recorder::new(MESSAGE, Vec::new());
        let mut c = Cursor::recording(&recorder, MESSAGE.len(), Reason::Malformed, Layer::Call);
        assert_eq!(c.u32(), Ok(7));
        let place = c.clone();
        assert_eq!(c.u32(), Ok(3));
        place.disown();
        assert_eq!(recorder.into_spans(), [span(0, 4, Kind::Number)]);
    }

    #[test]
    fn opaque_data_of_which_nothing_is_said_are_unknown() {
        let recorder = Recorder::new(&MESSAGE[4..12], Vec::new());
        let mut c = Cursor::recording(&recorder, 8, Reason::Malformed, Layer::Call);
        assert_eq!(c.opaque(9), Ok(&b"abc"[..]));
        assert_eq!(recorder.into_spans(), [span(0, 4, Kind::Number), span(4, 3, Kind::Unknown)]);
    }
}
