//! What may be told of the messages, between the two readings of a capture: on disk.
//!
//! Takes bytes with their place in a stream, nearly in order; gives those of any part of a stream.
//! Nothing but what the writer of the redacted capture may write ever gets here. Memory is
//! [`PENDING_LIMIT`] while it is written and [`LOADED_LIMIT`] while it is read, and an index with an
//! entry for some [`BLOCK`] bytes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Bytes of a stream that are written together.
const BLOCK: usize = 32 << 10;

/// Memory for bytes of all streams that wait for more of theirs; beyond it all are written.
const PENDING_LIMIT: usize = 32 << 20;

/// Bytes that were read and may be wanted again; beyond it all are forgotten, and read once more.
const LOADED_LIMIT: usize = 64 << 20;

/// Blocks looked at for one part of a stream. Those that hold it are next to one another, but for the few
/// bytes that came long before or after; what would lie further away is left out.
const NEIGHBOURS_LIMIT: usize = 64;

/// What an entry takes beside its bytes.
const BOOKKEEPING: usize = 16;

/// Number of a stream within a journal.
pub(super) type StreamId = u32;

/// Bytes at a place of a stream.
#[derive(Clone, Copy)]
struct Entry {
    place: u64,
    /// Where the bytes begin in the block.
    at: u32,
    length: u32,
}

impl Entry {
    fn end(&self) -> u64 {
        self.place.saturating_add(u64::from(self.length))
    }
}

/// Entries that are written together.
#[derive(Default)]
struct Block {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    /// Length of the longest entry, once the block was read.
    longest: u64,
}

impl Block {
    fn size(&self) -> usize {
        self.bytes.len() + self.entries.len() * BOOKKEEPING
    }

    /// Memory that it takes.
    fn held(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>()
    }
}

/// Where a block is.
#[derive(Clone, Copy)]
struct Written {
    /// The first place that it has, and the end of the last.
    from: u64,
    to: u64,
    /// The end of the last place of this and all blocks before it in the index.
    reach: u64,
    /// In the file.
    at: u64,
    entries: u32,
    bytes: u32,
}

#[derive(Default)]
struct Stream {
    pending: Block,
    written: Vec<Written>,
}

/// Streams of bytes that are written.
pub(super) struct Journal {
    file: File,
    length: u64,
    streams: Vec<Stream>,
    pending: usize,
    /// The first failure to write; nothing is written after it.
    failure: Option<io::Error>,
}

impl Journal {
    /// A journal in this empty file, which must be open for reading and writing.
    pub(super) fn new(file: File) -> Self {
        Self { file, length: 0, streams: Vec::new(), pending: 0, failure: None }
    }

    /// A stream of which nothing is written yet.
    pub(super) fn open_stream(&mut self) -> StreamId {
        self.streams.push(Stream::default());
        (self.streams.len() - 1) as StreamId
    }

    /// Writes bytes. Where there are some already, both are kept, and the later ones count.
    pub(super) fn write(&mut self, stream: StreamId, place: u64, bytes: &[u8]) {
        let Some(block) = self.streams.get_mut(stream as usize).map(|stream| &mut stream.pending) else {
            return;
        };
        let before = block.held();
        block.entries.push(Entry { place, at: block.bytes.len() as u32, length: bytes.len() as u32 });
        block.bytes.extend_from_slice(bytes);
        self.pending += block.held() - before;
        if block.size() >= BLOCK {
            self.flush(stream);
        } else if self.pending > PENDING_LIMIT {
            for stream in 0..self.streams.len() {
                self.flush(stream as StreamId);
            }
        }
    }

    /// Ends writing. Errors: the first that writing met.
    pub(super) fn finish(mut self) -> io::Result<Ledger> {
        for stream in 0..self.streams.len() {
            self.flush(stream as StreamId);
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let index = self.streams.into_iter().map(|mut stream| {
            stream.written.shrink_to_fit();
            stream.written.sort_by_key(|block| block.from);
            let mut reach = 0;
            for block in &mut stream.written {
                reach = block.to.max(reach);
                block.reach = reach;
            }
            stream.written
        });
        Ok(Ledger { file: self.file, index: index.collect(), loaded: HashMap::default(), size: 0 })
    }

    /// Whether writing failed: nothing more is to be gained by going on.
    pub(super) fn failed(&self) -> bool {
        self.failure.is_some()
    }

    fn flush(&mut self, stream: StreamId) {
        let Some(stream) = self.streams.get_mut(stream as usize) else { return };
        let mut block = std::mem::take(&mut stream.pending);
        self.pending = self.pending.saturating_sub(block.held());
        // Stable: of entries at one place the later one stays behind.
        block.entries.sort_by_key(|entry| entry.place);
        let (Some(first), Some(to)) =
            (block.entries.first().copied(), block.entries.iter().map(Entry::end).max())
        else {
            return;
        };
        if self.failure.is_some() {
            return;
        }
        let mut packed = Vec::with_capacity(block.size());
        for entry in &block.entries {
            packed.extend(entry.place.to_le_bytes());
            packed.extend(entry.at.to_le_bytes());
            packed.extend(entry.length.to_le_bytes());
        }
        packed.extend_from_slice(&block.bytes);
        if let Err(failure) = self.file.write_all(&packed) {
            self.failure = Some(failure);
            return;
        }
        let (entries, bytes) = (block.entries.len() as u32, block.bytes.len() as u32);
        if stream.written.is_empty() {
            stream.written.reserve_exact(1); // Of most connections, there is no other.
        }
        stream.written.push(Written { from: first.place, to, reach: to, at: self.length, entries, bytes });
        self.length += packed.len() as u64;
    }
}

/// Streams of bytes that are read.
pub(super) struct Ledger {
    file: File,
    index: Vec<Vec<Written>>,
    loaded: HashMap<(StreamId, usize), Block, RandomState>,
    size: usize,
}

impl Ledger {
    /// Copies to `to` what is there of the stream from a place on; the rest of `to` stays as it is.
    pub(super) fn read(&mut self, stream: StreamId, place: u64, to: &mut [u8]) -> io::Result<()> {
        let end = place.saturating_add(to.len() as u64);
        let Some(blocks) = self.index.get(stream as usize) else { return Ok(()) };
        let mut wanted = Vec::new();
        let after = blocks.partition_point(|block| block.from < end);
        for number in (0..after).rev().take(NEIGHBOURS_LIMIT) {
            let Some(block) = blocks.get(number).filter(|block| block.reach > place) else { break };
            if block.to > place {
                wanted.push((number, *block));
            }
        }
        for (number, block) in wanted.into_iter().rev() {
            self.load(stream, number, block)?;
            if let Some(block) = self.loaded.get(&(stream, number)) {
                block.copy(place, to);
            }
        }
        Ok(())
    }

    fn load(&mut self, stream: StreamId, number: usize, block: Written) -> io::Result<()> {
        if self.loaded.contains_key(&(stream, number)) {
            return Ok(());
        }
        if self.size > LOADED_LIMIT {
            self.loaded.clear();
            self.size = 0;
        }
        let mut packed = vec![0; block.entries as usize * BOOKKEEPING];
        let mut bytes = vec![0; block.bytes as usize];
        self.file.seek(SeekFrom::Start(block.at))?;
        self.file.read_exact(&mut packed)?;
        self.file.read_exact(&mut bytes)?;
        let entries = packed.as_chunks::<BOOKKEEPING>().0.iter().map(|entry| {
            let [p0, p1, p2, p3, p4, p5, p6, p7, a0, a1, a2, a3, l0, l1, l2, l3] = *entry;
            Entry {
                place: u64::from_le_bytes([p0, p1, p2, p3, p4, p5, p6, p7]),
                at: u32::from_le_bytes([a0, a1, a2, a3]),
                length: u32::from_le_bytes([l0, l1, l2, l3]),
            }
        });
        let entries: Vec<Entry> = entries.collect();
        let longest = entries.iter().map(|entry| u64::from(entry.length)).max().unwrap_or(0);
        let block = Block { entries, bytes, longest };
        self.size += block.size();
        self.loaded.insert((stream, number), block);
        Ok(())
    }
}

impl Block {
    fn copy(&self, place: u64, to: &mut [u8]) {
        let end = place.saturating_add(to.len() as u64);
        let first = self.entries.partition_point(|entry| entry.place.saturating_add(self.longest) <= place);
        let reaching = self.entries.iter().skip(first).take_while(|entry| entry.place < end);
        for entry in reaching.filter(|entry| entry.end() > place) {
            let from = entry.place.max(place);
            let length = (entry.end().min(end) - from) as usize;
            let start = entry.at as usize + (from - entry.place) as usize;
            let target = (from - place) as usize;
            if let (Some(bytes), Some(to)) =
                (self.bytes.get(start..start + length), to.get_mut(target..target + length))
            {
                to.copy_from_slice(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use proptest::prelude::*;

    use super::*;

    fn journal() -> Journal {
        let path =
            std::env::temp_dir().join(format!("pcapnfs-journal-{:x}", RandomState::default().hash_one(1)));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        Journal::new(file)
    }

    use std::hash::BuildHasher;

    #[test]
    fn what_waits_is_bounded_by_the_memory_that_it_takes() {
        let mut journal = journal();
        for _ in 0..400_000 {
            let stream = journal.open_stream();
            journal.write(stream, 0, &[1; 40]);
        }
        let held: usize = journal.streams.iter().map(|stream| stream.pending.held()).sum();
        assert_eq!(held, journal.pending);
        assert!(held <= PENDING_LIMIT && journal.length > 0, "{held}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn what_was_written_is_read(
            writes in prop::collection::vec((0..2_u32, 0..5000_u64, 1..3000_usize), 0..120),
            reads in prop::collection::vec((0..2_u32, 0..6000_u64, 0..4000_usize), 0..20),
        ) {
            let mut journal = journal();
            journal.open_stream();
            journal.open_stream();
            let mut model = [vec![0_u8; 12_000], vec![0_u8; 12_000]];
            for (number, (stream, place, length)) in writes.iter().enumerate() {
                // Messages do not overlap in a stream, but come out of order.
                let from = *place as usize;
                if model[*stream as usize][from..from + length].iter().any(|byte| *byte != 0) {
                    continue;
                }
                let byte = number as u8 % 255 + 1;
                journal.write(*stream, *place, &vec![byte; *length]);
                model[*stream as usize][from..from + length].fill(byte);
            }
            let mut ledger = journal.finish().unwrap();
            for (stream, place, length) in reads {
                let mut to = vec![0; length];
                ledger.read(stream, place, &mut to).unwrap();
                prop_assert_eq!(&to[..], &model[stream as usize][place as usize..place as usize + length]);
            }
        }
    }
}
