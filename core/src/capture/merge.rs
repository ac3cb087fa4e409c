//! Several files → one stream of packets in order of time.
//!
//! Takes paths; gives the packets of all, each with the index of its file. A file is opened when
//! its first packet is due: files that follow one another (a rotation of `tcpdump -C`) are read one
//! after the other, files that overlap (two interfaces, two hosts) are merged packet by packet.
//! Within a file the order stays as it is, and of packets of the same time those of the file that
//! began earlier come first, so that frames are numbered as `mergecap` numbers them.
//!
//! A file that begins when no other is open goes on with the clock of the one before it, and what that was
//! set back by: times are counted on.
//!
//! Promises: each file is read once but for its first packet; standard input and pipes, which can
//! be opened only once, stay open from the start. A file that breaks off ends its part alone, also within
//! its own header, or before it.

use std::path::{Path, PathBuf};

use super::timestamps::Find;
use super::{Packet, Reader};
use crate::error::ReadError;

/// What [`Merge::next`] gives.
#[derive(Debug)]
pub enum Next<'a> {
    /// A packet of the file with this index.
    Packet(usize, Packet<'a>),
    /// The file with this index has ended, by itself or for a reason.
    End(usize, Option<ReadError>),
}

/// A capture file, at first known by its name only.
struct Input {
    path: PathBuf,
    reader: Option<Reader>,
    /// Why it has none: the file ends before any packet.
    fault: Option<ReadError>,
    /// Time of its first packet. Without one it is read at once, to find its end.
    first_ns: Option<i64>,
    /// Bytes read of it, once it was closed.
    consumed: u64,
}

/// When an input is to be read next, and which it is: the least of all is read.
type Turn = (i64, usize);

/// Capture files that are read as one.
pub struct Merge {
    inputs: Vec<Input>,
    /// Bytes of the files as they are stored.
    total: u64,
    /// Inputs before this one were opened.
    opened: usize,
    /// Those of them that have not ended.
    live: Vec<usize>,
    /// The input that is read …
    current: Option<usize>,
    /// … as long as its turn comes before this one; `None` when there is no other.
    rival: Option<Turn>,
    /// The input that has just ended, kept open for questions about it.
    ended: Option<usize>,
    /// What is added to the times of a file that goes on from it.
    shift_ns: i64,
    /// Finds the timestamps that readers are to ask.
    find: Option<Find>,
}

impl Merge {
    /// Looks at each file's beginning, and puts them in order of their first packets.
    ///
    /// Errors: those of [`Reader::open`], for any of the files; where one ends before any packet, only if
    /// there is no other.
    pub fn open(paths: &[PathBuf]) -> Result<Self, ReadError> {
        let alone = paths.len() == 1;
        let mut inputs = Vec::with_capacity(paths.len());
        for path in paths {
            let (mut reader, fault) = match Reader::open(path) {
                Ok(reader) => (Some(reader), None),
                Err(error) if error.ends_at_once() => (None, Some(error)),
                Err(error) => return Err(error),
            };
            let first_ns = if alone { None } else { reader.as_mut().and_then(Reader::next_time_ns) };
            let reader = reader.filter(|_| alone || !path.is_file());
            inputs.push(Input { path: path.clone(), reader, fault, first_ns, consumed: 0 });
        }
        if inputs.iter().all(|input| input.fault.is_some()) {
            inputs.first_mut().and_then(|input| input.fault.take()).map_or(Ok(()), Err)?;
        }
        inputs.sort_by_key(|input| input.first_ns);
        let total = paths.iter().map(|path| size_of(path)).sum();
        let live = Vec::new();
        Ok(Self {
            inputs,
            total,
            opened: 0,
            live,
            current: None,
            rival: None,
            ended: None,
            shift_ns: 0,
            find: None,
        })
    }

    /// Has both ends of what was captured asked whether the clock was set, by their timestamps.
    #[must_use]
    pub fn asking(mut self, find: Find) -> Self {
        self.find = Some(find);
        self
    }

    /// The files in the order of their first packets, which is that of their indices.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.inputs.iter().map(|input| input.path.as_path())
    }

    /// The reader of a file that is open, or has just ended.
    pub fn reader(&self, index: usize) -> Option<&Reader> {
        self.inputs.get(index)?.reader.as_ref()
    }

    /// The reader of the file that the last packet came from, and most likely the next one will.
    pub fn current(&self) -> Option<&Reader> {
        self.reader(self.current?)
    }

    /// Bytes read so far of the files as they are stored. For progress.
    pub fn consumed(&self) -> u64 {
        let of = |input: &Input| input.reader.as_ref().map_or(input.consumed, Reader::consumed);
        self.inputs.iter().take(self.opened).map(of).sum()
    }

    /// Bytes of the files as they are stored, when they were opened; 0 when it is not known. For progress.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The part of the files, as they are stored, that was read so far, 0 to 1; 0 where their size is not known. For
    /// progress.
    pub fn done(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a share for the eye")]
        if self.total == 0 { 0.0 } else { (self.consumed() as f64 / self.total as f64).min(1.0) }
    }

    /// The next packet and its file, where it is at hand and usual, as nearly all are; else it is left to
    /// [`Merge::next`].
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    pub fn at_hand(&mut self) -> Option<(usize, Packet<'_>)> {
        let index = self.current.filter(|_| self.rival.is_none())?;
        Some((index, self.inputs.get_mut(index)?.reader.as_mut()?.at_hand()?))
    }

    /// The next packet, or the end of a file; `None` when all have ended.
    #[expect(clippy::should_implement_trait, reason = "it lends, which `Iterator` cannot")]
    pub fn next(&mut self) -> Option<Next<'_>> {
        let index = match self.turn()? {
            Ok(index) => index,
            Err((index, error)) => return Some(Next::End(index, Some(error))),
        };
        let reader = self.inputs.get_mut(index)?.reader.as_mut()?;
        let error = match reader.next() {
            Ok(Some(packet)) => return Some(Next::Packet(index, packet)),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        self.live.retain(|live| *live != index);
        self.current = None;
        self.ended = Some(index);
        Some(Next::End(index, error))
    }

    /// The input whose turn it is. An error: it could not be opened again.
    #[inline]
    fn turn(&mut self) -> Option<Result<usize, (usize, ReadError)>> {
        if let Some(current) = self.current {
            let Some(rival) = self.rival else { return Some(Ok(current)) };
            if self.turn_of(current) < rival {
                return Some(Ok(current));
            }
        }
        self.choose()
    }

    #[cold]
    fn choose(&mut self) -> Option<Result<usize, (usize, ReadError)>> {
        if let Some(input) = self.ended.take().and_then(|index| self.inputs.get_mut(index)) {
            let (consumed, shift_ns) =
                input.reader.take().map_or((0, 0), |reader| (reader.consumed(), reader.shift_ns()));
            (input.consumed, self.shift_ns) = (consumed, shift_ns);
        }
        let mut turns = Vec::with_capacity(self.live.len() + 2);
        for position in 0..self.live.len() {
            if let Some(index) = self.live.get(position).copied() {
                turns.push(self.turn_of(index));
            }
        }
        turns.extend(self.turn_of_next());
        let (_, index) = turns.iter().min().copied()?;
        self.current = Some(index);
        if index == self.opened {
            self.opened += 1;
            if let Err(error) = self.begin(index) {
                self.current = None;
                return Some(Err((index, error)));
            }
            self.live.push(index);
            turns.extend(self.turn_of_next());
        }
        self.rival = turns.into_iter().filter(|(_, other)| *other != index).min();
        Some(Ok(index))
    }

    /// An input without a further packet comes first: its end is to be told.
    #[inline]
    fn turn_of(&mut self, index: usize) -> Turn {
        let reader = self.inputs.get_mut(index).and_then(|input| input.reader.as_mut());
        (reader.and_then(Reader::next_time_ns).unwrap_or(i64::MIN), index)
    }

    /// The turn of the first input that was not opened yet.
    fn turn_of_next(&self) -> Option<Turn> {
        let next = self.inputs.get(self.opened)?;
        Some((next.first_ns.unwrap_or(i64::MIN), self.opened))
    }

    fn begin(&mut self, index: usize) -> Result<(), ReadError> {
        let Some(input) = self.inputs.get_mut(index) else { return Ok(()) };
        input.fault.take().map_or(Ok(()), Err)?;
        let opened = match input.reader.take() {
            Some(reader) => reader,
            None => Reader::open(&input.path)?,
        };
        let reader = input.reader.insert(match self.find {
            Some(find) => opened.asking(find),
            None => opened,
        });
        if self.live.is_empty() {
            reader.go_on_from(self.shift_ns);
        }
        Ok(())
    }
}

fn size_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| if metadata.is_file() { metadata.len() } else { 0 })
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
