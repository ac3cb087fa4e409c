//! One direction's bytes in order → records (RFC 5531 section 11), and the way back after a gap.
//!
//! A record is one or more fragments, each behind a four-byte mark with its length. Several records
//! can sit in one segment, and marks can straddle segments. As long as the marks are known, bytes
//! that are missing or were not captured only make a hole in a record; when a mark itself is lost,
//! the reader searches for the next plausible header.

use crate::error::Reason;
use crate::rpc::message::{CALL_HEADER, Recognised, recognise};
use crate::stream::assembler::{Piece, Stamp};

/// Bytes of a record that are kept. Linux allows 1 MiB of data and a page of headers; nothing useful
/// comes after the data. Longer records keep their boundary, and are decoded up to here.
pub const KEPT_LIMIT: usize = (1 << 20) + (1 << 16);

/// A fragment longer than this is not believed: no server accepts one.
const FRAGMENT_LIMIT: usize = 1 << 26;

/// Shortest message: a denied reply is 20 bytes.
const SHORTEST_MESSAGE: usize = 20;

/// Bytes before the first header that are searched for it before the connection is taken for
/// something else than RPC, where the port does not say that it is RPC.
const SEARCH_LIMIT: u64 = 1 << 16;

const LAST_FRAGMENT: u32 = 0x8000_0000;

/// An RPC message as it was carried.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The captured bytes up to the first hole.
    pub bytes: &'a [u8],
    /// Length of the message on the wire, without marks.
    pub length: usize,
    /// Why `bytes` is shorter than `length`, if it is.
    pub limit: Reason,
    /// The frame with the message's first byte.
    pub first: Stamp,
    /// The frame that completed it.
    pub last: Stamp,
}

/// Tells whether a reply with this xid is waited for in this direction.
pub type Expected<'e> = &'e dyn Fn(u32) -> bool;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Looking for a header; nothing is known about marks.
    Searching,
    /// The next bytes are a mark.
    Mark,
    /// Inside a fragment.
    Fragment { rest: usize, last: bool },
}

/// Splits one direction into records.
pub struct RecordReader {
    state: State,
    /// Bytes of a mark that is split over segments.
    mark: ([u8; 4], usize),
    buffer: Vec<u8>,
    /// Length so far of the message in `buffer`.
    length: usize,
    /// The first hole in the message: nothing behind it is kept.
    hole: Option<Reason>,
    first: Stamp,
    last: Stamp,
    /// Bytes passed over in search of a header since the last record.
    pub searched: u64,
    /// Whether any record was found.
    pub found: bool,
    /// The connection is known to carry RPC: a reply is believed by its form at the start of a segment.
    trusted: bool,
    /// The message in `buffer` was lent; the next call starts a new one.
    lent: bool,
}

impl RecordReader {
    /// A reader that knows nothing of the stream yet. `trusted`: the connection is known to carry RPC.
    pub fn new(trusted: bool) -> Self {
        Self {
            state: State::Searching,
            mark: ([0; 4], 0),
            buffer: Vec::new(),
            length: 0,
            hole: None,
            first: Stamp::default(),
            last: Stamp::default(),
            searched: 0,
            found: false,
            trusted,
            lent: false,
        }
    }

    /// Whether the search has gone on for longer than a stream of RPC would make it.
    pub fn hopeless(&self) -> bool {
        !self.found && self.searched > SEARCH_LIMIT
    }

    /// The last record was no RPC message: the marks are not to be trusted.
    pub fn distrust(&mut self) {
        self.state = State::Searching;
        self.drop_message();
    }

    /// Bytes that are not in the capture. Keeps the boundaries when the gap lies inside a fragment.
    /// Gives the record that the gap completes.
    pub fn gap(&mut self, mut length: usize, stamp: Stamp) -> Option<Record<'_>> {
        self.take_back();
        if let State::Fragment { rest, last } = self.state {
            let inside = length.min(rest);
            if self.length == 0 {
                (self.first, self.last) = (stamp, stamp);
            }
            self.hole.get_or_insert(Reason::Missing);
            self.advance(inside, rest, last, stamp);
            length -= inside;
            let complete = inside == rest && last;
            if length > 0 {
                self.state = State::Searching;
            }
            if complete {
                return Some(self.complete());
            }
        }
        if length > 0 {
            self.state = State::Searching;
            self.drop_message();
        }
        None
    }

    /// The next record that `piece` completes, consuming it up to there; `None` when it is used up.
    ///
    /// A record that lies in one piece is lent without a copy.
    pub fn next<'r, 'p: 'r>(
        &'r mut self,
        piece: &mut Piece<'p>,
        expected: Expected<'_>,
    ) -> Option<Record<'r>> {
        self.take_back();
        loop {
            if piece.length == 0 {
                return None;
            }
            match self.state {
                State::Searching => {
                    let found = search(piece.bytes, self.trusted || self.found, expected);
                    let passed = found.unwrap_or(piece.length);
                    self.searched = self.searched.saturating_add(passed as u64);
                    consume(piece, passed);
                    if found.is_some() {
                        self.drop_message();
                        self.state = State::Mark;
                    }
                }
                State::Mark => self.read_mark(piece),
                State::Fragment { rest, last } => {
                    let whole = last && self.length == 0 && piece.length >= rest;
                    let taken = piece.length.min(rest);
                    let captured = piece.bytes.get(..taken).unwrap_or(piece.bytes);
                    if self.length == 0 {
                        self.first = piece.stamp;
                        self.last = piece.stamp;
                    }
                    let stamp = piece.stamp;
                    if whole {
                        consume(piece, taken);
                        self.state = State::Mark;
                        self.found = true;
                        self.searched = 0;
                        let first = self.first.min(stamp);
                        let kept = captured.get(..KEPT_LIMIT).unwrap_or(captured);
                        let limit =
                            if captured.len() > KEPT_LIMIT { Reason::RecordLimit } else { Reason::Truncated };
                        return Some(Record { bytes: kept, length: rest, limit, first, last: stamp });
                    }
                    self.keep(captured, taken);
                    consume(piece, taken);
                    self.advance(taken, rest, last, stamp);
                    if taken == rest && last {
                        return Some(self.complete());
                    }
                }
            }
        }
    }

    fn read_mark(&mut self, piece: &mut Piece<'_>) {
        let (mark, have) = &mut self.mark;
        while *have < 4 && piece.length > 0 {
            let Some(byte) = piece.bytes.first() else {
                // The mark was not captured: the next boundary is unknown.
                self.state = State::Searching;
                self.drop_message();
                return;
            };
            if let Some(slot) = mark.get_mut(*have) {
                *slot = *byte;
            }
            *have += 1;
            consume(piece, 1);
        }
        if *have < 4 {
            return;
        }
        let mark = u32::from_be_bytes(*mark);
        self.mark.1 = 0;
        let (rest, last) = ((mark & !LAST_FRAGMENT) as usize, mark & LAST_FRAGMENT != 0);
        let begins = self.length == 0;
        let believable =
            rest <= FRAGMENT_LIMIT && (!begins || !last || rest >= SHORTEST_MESSAGE) && (last || rest > 0);
        if believable {
            self.state = State::Fragment { rest, last };
        } else {
            self.state = State::Searching;
            self.drop_message();
        }
    }

    /// Counts `taken` bytes of a fragment that had `rest` left.
    fn advance(&mut self, taken: usize, rest: usize, last: bool, stamp: Stamp) {
        self.length = self.length.saturating_add(taken);
        self.first = self.first.min(stamp);
        self.last = self.last.max(stamp);
        let rest = rest - taken;
        self.state = if rest == 0 { State::Mark } else { State::Fragment { rest, last } };
    }

    /// Keeps the captured part of `taken` bytes, unless there is a hole before them.
    fn keep(&mut self, captured: &[u8], taken: usize) {
        if self.hole.is_some() {
            return;
        }
        let room = KEPT_LIMIT.saturating_sub(self.buffer.len());
        self.buffer.extend_from_slice(captured.get(..room).unwrap_or(captured));
        if captured.len() > room {
            self.hole = Some(Reason::RecordLimit);
        } else if captured.len() < taken {
            self.hole = Some(Reason::Truncated);
        }
    }

    /// Lends the message in the buffer.
    fn complete(&mut self) -> Record<'_> {
        self.found = true;
        self.searched = 0;
        self.lent = true;
        Record {
            bytes: &self.buffer,
            length: self.length,
            limit: self.hole.unwrap_or(Reason::Truncated),
            first: self.first,
            last: self.last,
        }
    }

    fn take_back(&mut self) {
        if self.lent {
            self.drop_message();
        }
    }

    fn drop_message(&mut self) {
        self.buffer.clear();
        self.length = 0;
        self.hole = None;
        self.mark.1 = 0;
        self.lent = false;
    }
}

fn consume(piece: &mut Piece<'_>, length: usize) {
    piece.bytes = piece.bytes.get(length..).unwrap_or_default();
    piece.length -= length;
}

/// Where in `bytes` the next record mark with a believable RPC header behind it stands.
fn search(bytes: &[u8], trusted: bool, expected: Expected<'_>) -> Option<usize> {
    let mut places = 0..bytes.len().saturating_sub(3 + SHORTEST_MESSAGE);
    places.find(|&at| bytes.get(at..).is_some_and(|rest| begins_record(rest, at == 0 && trusted, expected)))
}

/// Whether a record mark and an RPC header stand at the start of `bytes`.
///
/// At the start of a segment a reply is believed by its form; elsewhere only if its call is waiting.
fn begins_record(bytes: &[u8], segment_start: bool, expected: Expected<'_>) -> bool {
    let Some((mark, header)) = bytes.split_first_chunk::<4>() else { return false };
    let mark = u32::from_be_bytes(*mark);
    let (length, last) = ((mark & !LAST_FRAGMENT) as usize, mark & LAST_FRAGMENT != 0);
    if !(last || segment_start) || length > FRAGMENT_LIMIT || (last && length < SHORTEST_MESSAGE) {
        return false;
    }
    match recognise(header.get(..length).unwrap_or(header)) {
        Some(Recognised::Call) => length >= CALL_HEADER || !last,
        Some(Recognised::Reply { xid }) => segment_start || expected(xid),
        None => false,
    }
}

#[cfg(test)]
mod tests {
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

    fn never(_: u32) -> bool {
        false
    }

    fn records(reader: &mut RecordReader, pieces: &[&[u8]]) -> Vec<(Vec<u8>, u64, u64)> {
        let mut out = Vec::new();
        for (i, bytes) in pieces.iter().enumerate() {
            let mut piece = Piece { bytes, length: bytes.len(), stamp: stamp(i as u64 + 1) };
            while let Some(record) = reader.next(&mut piece, &never) {
                out.push((record.bytes.to_vec(), record.first.frame, record.last.frame));
            }
        }
        out
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
        let mut piece = Piece { bytes: &long[..100], length: 100, stamp: stamp(1) };
        assert!(reader.next(&mut piece, &never).is_none());
        assert!(reader.gap(800, stamp(3)).is_none());
        let rest = [&long[900..], &next[..]].concat();
        let mut piece = Piece { bytes: &rest, length: rest.len(), stamp: stamp(3) };
        let record = reader.next(&mut piece, &never).unwrap();
        assert_eq!((record.bytes.len(), record.length, record.limit), (96, 1024, Reason::Missing));
        assert_eq!(reader.next(&mut piece, &never).unwrap().bytes, &next[4..]);
    }

    #[test]
    fn bytes_past_the_snaplen_keep_the_boundary() {
        let call = null_call(1);
        let mut reader = RecordReader::new(true);
        let mut piece = Piece { bytes: &call[..30], length: call.len(), stamp: stamp(1) };
        let record = reader.next(&mut piece, &never).unwrap();
        assert_eq!((record.bytes.len(), record.length, record.limit), (26, 40, Reason::Truncated));
        let mut piece = Piece { bytes: &call, length: call.len(), stamp: stamp(2) };
        assert_eq!(reader.next(&mut piece, &never).unwrap().bytes, &call[4..]);
    }

    #[test]
    fn joining_in_the_middle_finds_the_next_header() {
        let joined = [vec![0xaa; 333], null_call(5)].concat();
        let mut reader = RecordReader::new(true);
        let out = records(&mut reader, &[&joined]);
        assert_eq!(out.len(), 1);
        assert!(!reader.hopeless());
    }

    #[test]
    fn a_stream_that_is_no_rpc_becomes_hopeless() {
        let mut reader = RecordReader::new(true);
        let junk = vec![0x55; 70_000];
        assert!(records(&mut reader, &[&junk]).is_empty());
        assert!(reader.hopeless());
    }
}
