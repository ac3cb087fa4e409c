//! The header that RDMA puts before an RPC message: RPC over RDMA version 1 (RFC 8166 section 4).

use crate::cursor::Cursor;
use crate::error::{DecodeError, Layer};

/// The version that is in use.
const VERSION: u32 = 1;

/// Segments of all chunks of a header: those of a Linux client are a few dozen at most.
const SEGMENTS_LIMIT: usize = 1024;

/// Bytes that all of them have together: no message has so many, nor the data beside it.
const BYTES_LIMIT: usize = 1 << 29;

/// Memory that one side lets the other read or write (RFC 8166 section 3.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The key that gives access to it.
    pub(super) key: u32,
    /// Its length in bytes; in a reply, what was written to it.
    pub(super) length: u32,
    /// Its address.
    pub(super) address: u64,
}

/// What is to be read at a position of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadSegment {
    /// Where in the message its bytes belong; 0: they are the message.
    pub(super) position: u32,
    pub(super) segment: Segment,
}

/// What the header says of the message that follows it, or lies elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) xid: u32,
    /// No message follows: it is read, or was written, as a whole.
    pub(super) elsewhere: bool,
    /// What the receiver is to read.
    pub(super) reads: Vec<ReadSegment>,
    /// Chunks for data of results; in a reply with what came of them.
    pub(super) writes: Vec<Vec<Segment>>,
    /// Where a reply goes that is too long to be sent.
    pub(super) reply: Vec<Segment>,
}

impl Header {
    /// Reads a header, and gives how long it is. `None`: it is none of a message, or breaks off.
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut c = Cursor::new(bytes, Layer::Rpc);
        let mut header = Self { xid: c.u32().ok()?, ..Self::default() };
        let (version, _credits, procedure) = (c.u32().ok()?, c.u32().ok()?, c.u32().ok()?);
        // `rdma_proc` (RFC 8166 section 4.2): 0, a message follows; 1, none does.
        if version != VERSION || procedure > 1 {
            return None;
        }
        header.elsewhere = procedure == 1;
        let mut left = SEGMENTS_LIMIT;
        while c.u32().ok()? == 1 {
            left = left.checked_sub(1)?;
            let position = c.u32().ok()?;
            header.reads.push(ReadSegment { position, segment: segment(&mut c).ok()? });
        }
        while c.u32().ok()? == 1 {
            header.writes.push(chunk(&mut c, &mut left)?);
        }
        if c.u32().ok()? == 1 {
            header.reply = chunk(&mut c, &mut left)?;
        }
        let size = c.offset();
        let reads = header.reads.iter().map(|read| &read.segment);
        let all = reads.chain(header.writes.iter().flatten()).chain(&header.reply);
        (total(all) <= BYTES_LIMIT).then_some((header, size))
    }

    /// The segments of which the message is to be read, where it is.
    pub(super) fn of_message(&self) -> impl Iterator<Item = &Segment> {
        let whole = self.elsewhere;
        self.reads.iter().filter(move |read| whole && read.position == 0).map(|read| &read.segment)
    }

    /// Of a call: the position of data that the receiver is to read, and the segments in which they lie.
    pub(super) fn data_to_read(&self) -> Option<(usize, Vec<Segment>)> {
        let position = self.reads.iter().map(|read| read.position).find(|position| *position > 0)?;
        let there = self.reads.iter().filter(|read| read.position == position);
        Some((position as usize, there.map(|read| read.segment).collect()))
    }

    /// Of a reply: the first chunk into which data were written.
    pub(super) fn data_written(&self) -> Option<&[Segment]> {
        self.writes.iter().map(Vec::as_slice).find(|chunk| total(*chunk) > 0)
    }
}

/// Bytes that segments have together.
pub(super) fn total<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> usize {
    segments.into_iter().map(|segment| segment.length as usize).sum()
}

fn chunk(c: &mut Cursor<'_>, left: &mut usize) -> Option<Vec<Segment>> {
    let count = c.u32().ok()? as usize;
    *left = left.checked_sub(count)?;
    (0..count).map(|_| segment(c).ok()).collect()
}

fn segment(c: &mut Cursor<'_>) -> Result<Segment, DecodeError> {
    Ok(Segment { key: c.u32()?, length: c.u32()?, address: c.u64()? })
}
