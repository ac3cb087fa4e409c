//! Reads ahead on a thread of its own, so that what unpacks works while what is unpacked is decoded.
//!
//! Takes a source; gives the same bytes and the same failures, in the same order, as copies or in the
//! buffers that they were unpacked into. At most [`PIECES`] pieces wait. The thread begins late: a small
//! file, or one of many of which only the beginning is looked at, does without.

use std::io::{self, Read};
use std::mem;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Bytes of a piece, the last one aside. Larger ones are handed over less often, which was no faster.
const PIECE: usize = 256 << 10;

/// Bytes before those of a piece, for what is wanted of the one before: the begin of a packet.
const ROOM: usize = 64 << 10;

/// Pieces that may wait.
const PIECES: usize = 4;

/// Bytes after which the thread begins.
const ALONE: usize = 1 << 20;

/// Bytes read at once: what a decompressor had unpacked in the read in which it fails is lost.
const STEP: usize = 32 << 10;

/// A source that is read ahead.
pub(super) struct Ahead(State);

enum State {
    /// The source itself, of which so much was read.
    Alone(Box<dyn Read + Send>, usize),
    /// A thread reads it.
    Threaded(Threaded),
    /// All was read, or a failure was told.
    Over,
}

struct Threaded {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// Pieces that were read, to be filled again.
    spent: Sender<Vec<u8>>,
    /// The one that is given out; its bytes stand behind [`ROOM`].
    piece: Vec<u8>,
    /// Where those begin that were not given out.
    given: usize,
}

impl Ahead {
    pub(super) fn new(source: Box<dyn Read + Send>) -> Self {
        Self(State::Alone(source, 0))
    }

    /// Gives the next piece in place of a buffer, some of whose bytes are still wanted; they come first.
    ///
    /// Where they and the piece are in the new buffer; None where there is no thread yet or any more,
    /// or more is wanted than there is room for: then `read` gives what comes.
    pub(super) fn exchange(
        &mut self,
        buffer: &mut Vec<u8>,
        wanted: Range<usize>,
    ) -> io::Result<Option<Range<usize>>> {
        let State::Threaded(threaded) = &mut self.0 else {
            return Ok(None);
        };
        if wanted.len() > ROOM {
            return Ok(None);
        }
        let exchanged = threaded.exchange(buffer, wanted);
        if !matches!(exchanged, Ok(Some(_))) {
            self.0 = State::Over;
        }
        exchanged
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if matches!(self.0, State::Alone(_, read) if read >= ALONE)
            && let State::Alone(source, _) = mem::replace(&mut self.0, State::Over)
        {
            self.0 = State::Threaded(Threaded::begin(source)?);
        }
        match &mut self.0 {
            State::Alone(source, so_far) => {
                let read = source.read(step(buffer))?;
                *so_far += read;
                Ok(read)
            }
            State::Threaded(threaded) => {
                let read = threaded.read(buffer);
                if !buffer.is_empty() && !matches!(read, Ok(1..)) {
                    self.0 = State::Over;
                }
                read
            }
            State::Over => Ok(0),
        }
    }
}

impl Threaded {
    fn begin(source: Box<dyn Read + Send>) -> io::Result<Self> {
        let (filled, pieces) = sync_channel(PIECES);
        let (spent, empty) = channel();
        thread::Builder::new().name("unpack".to_owned()).spawn(move || read_all(source, &filled, &empty))?;
        Ok(Self { pieces, spent, piece: Vec::new(), given: 0 })
    }

    /// Has a piece of which not all was given out; false at the end.
    fn have(&mut self) -> io::Result<bool> {
        if self.given == self.piece.len() {
            let stopped = |_| io::Error::other("what unpacks the file stopped");
            let next = self.pieces.recv().map_err(stopped)??;
            let spent = mem::replace(&mut self.piece, next);
            self.give_back(spent);
            self.given = ROOM;
        }
        Ok(self.given < self.piece.len())
    }

    /// Lets the thread fill a buffer again, unless a long packet made it large.
    fn give_back(&self, spent: Vec<u8>) {
        if (ROOM + PIECE..2 * PIECE).contains(&spent.capacity()) {
            // Nobody takes it once the source has ended: then it is not needed.
            let _unneeded = self.spent.send(spent);
        }
    }

    fn exchange(&mut self, buffer: &mut Vec<u8>, wanted: Range<usize>) -> io::Result<Option<Range<usize>>> {
        if !self.have()? {
            return Ok(None);
        }
        let start = self.given - wanted.len();
        if let (Some(to), Some(from)) = (self.piece.get_mut(start..self.given), buffer.get(wanted)) {
            to.copy_from_slice(from);
        }
        let spent = mem::replace(buffer, mem::take(&mut self.piece));
        self.give_back(spent);
        self.given = 0;
        Ok(Some(start..buffer.len()))
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.have()?;
        let ready = self.piece.get(self.given..).unwrap_or_default();
        let length = ready.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), ready.get(..length)) {
            to.copy_from_slice(from);
        }
        self.given += length;
        Ok(length)
    }
}

/// Sends the source piece by piece: an empty one at its end, or the failure that it ends with; or
/// until nobody listens any more.
fn read_all(
    mut source: Box<dyn Read + Send>,
    filled: &SyncSender<io::Result<Vec<u8>>>,
    empty: &Receiver<Vec<u8>>,
) {
    loop {
        let mut piece = empty.try_recv().unwrap_or_default();
        piece.resize(ROOM + PIECE, 0);
        let (length, end) = fill(&mut source, piece.get_mut(ROOM..).unwrap_or_default());
        piece.truncate(ROOM + length);
        if length > 0 && filled.send(Ok(piece)).is_err() {
            return;
        }
        if let Some(end) = end {
            // Nobody is told where nobody listens any more.
            let _unheard = filled.send(end.map(|()| vec![0; ROOM]));
            return;
        }
    }
}

/// As much of a buffer as is read at once.
fn step(buffer: &mut [u8]) -> &mut [u8] {
    let length = buffer.len().min(STEP);
    buffer.get_mut(..length).unwrap_or_default()
}

/// Reads until the piece is full, or the source is at its end, which is told, or its failure.
fn fill(source: &mut dyn Read, piece: &mut [u8]) -> (usize, Option<io::Result<()>>) {
    let mut length = 0;
    loop {
        let rest = step(piece.get_mut(length..).unwrap_or_default());
        if rest.is_empty() {
            return (length, None);
        }
        match source.read(rest) {
            Ok(0) => return (length, Some(Ok(()))),
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (length, Some(Err(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes in pieces of odd lengths, then fails if it is to.
    struct Odd {
        bytes: io::Cursor<Vec<u8>>,
        step: usize,
        fails: bool,
    }

    impl Read for Odd {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.step = self.step * 7 % 100_003;
            let length = buffer.len().min(self.step + 1);
            match self.bytes.read(buffer.get_mut(..length).unwrap_or_default())? {
                0 if mem::take(&mut self.fails) => Err(io::ErrorKind::UnexpectedEof.into()),
                read => Ok(read),
            }
        }
    }

    fn source(length: usize, fails: bool) -> (Vec<u8>, Ahead) {
        let bytes: Vec<u8> = (0..length).map(|at| ((at * 31) >> 3) as u8).collect();
        let odd = Odd { bytes: io::Cursor::new(bytes.clone()), step: 1, fails };
        (bytes, Ahead::new(Box::new(odd)))
    }

    #[test]
    fn the_bytes_are_those_of_the_source() {
        for length in [0, 1, ALONE - 1, ALONE, ALONE + 1, 3 * ALONE + 12_345, 9 * ALONE] {
            let (bytes, mut ahead) = source(length, false);
            let mut read = Vec::new();
            ahead.read_to_end(&mut read).unwrap();
            assert!(read == bytes, "{length}");
            assert_eq!(ahead.read(&mut [0; 8]).unwrap(), 0);
        }
    }

    #[test]
    fn a_failure_comes_after_the_bytes_before_it() {
        for length in [ALONE / 2, 4 * ALONE] {
            let (bytes, mut ahead) = source(length, true);
            let mut read = Vec::new();
            let error = ahead.read_to_end(&mut read).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
            assert!(read == bytes, "{length}");
        }
    }

    #[test]
    fn little_is_lost_with_the_read_that_fails() {
        /// Unpacks as much as fits into the buffer, unless it fails before.
        struct Damaged(usize);
        impl Read for Damaged {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(buffer.len()).ok_or(io::ErrorKind::InvalidData)?;
                Ok(buffer.len())
            }
        }
        for place in [ALONE / 2 - 1, 4 * ALONE - 1] {
            let mut read = Vec::new();
            Ahead::new(Box::new(Damaged(place))).read_to_end(&mut read).unwrap_err();
            assert!((place - STEP..=place).contains(&read.len()), "{} of {place}", read.len());
        }
    }

    #[test]
    fn a_reader_that_goes_away_ends_the_thread() {
        struct Endless(Sender<()>);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                Ok(buffer.len())
            }
        }
        impl Drop for Endless {
            fn drop(&mut self) {
                let _heard = self.0.send(());
            }
        }
        let (gone, ended) = channel();
        let mut ahead = Ahead::new(Box::new(Endless(gone)));
        let mut buffer = vec![0; ALONE];
        for _ in 0..4 {
            ahead.read_exact(&mut buffer).unwrap();
        }
        assert!(matches!(ahead.0, State::Threaded(_)));
        drop(ahead);
        ended.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    }
}
