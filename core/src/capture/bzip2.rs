//! bzip2 streams, one after the other, by whole blocks: what a block unpacks to is held against its checksum
//! before any of it is given, since a single wrong byte scrambles all of it.

use std::io::{self, BufRead, Read};

use ::bzip2::{Decompress, Status};

use super::packed::Packed;

/// Bytes by which the room for a block grows. It has at most 900,000 before runs of a byte are made of their
/// lengths, five bytes of 259 at most: 47 MB.
const ROOM: usize = 256 << 10;

pub(super) struct Streams {
    packed: Packed,
    /// The stream that is being unpacked; none behind the last one.
    stream: Option<Decompress>,
    block: Vec<u8>,
    /// Bytes of the block that were given.
    given: usize,
}

impl Streams {
    pub(super) fn new(packed: Packed) -> Self {
        Self { packed, stream: Some(Decompress::new(false)), block: Vec::new(), given: 0 }
    }

    /// Unpacks the next block; false behind the last one.
    fn next_block(&mut self) -> io::Result<bool> {
        (self.block, self.given) = (Vec::new(), 0);
        while let Some(stream) = &mut self.stream {
            let input = self.packed.fill_buf()?;
            let ended = input.is_empty();
            let before = stream.total_in();
            // Without room, it takes no more than up to the end of a block.
            let status = held(stream.decompress(input, &mut [])?)?;
            let taken = stream.total_in().wrapping_sub(before);
            self.packed.consume(usize::try_from(taken).unwrap_or(usize::MAX));
            if status == Status::StreamEnd {
                self.stream = self.packed.goes_on()?.then(|| Decompress::new(false));
                continue;
            }
            unpack(stream, &mut self.block)?;
            if !self.block.is_empty() {
                return Ok(true);
            }
            if ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(false)
    }
}

/// What the block that was taken unpacks to; nothing if it was not taken to its end.
fn unpack(stream: &mut Decompress, block: &mut Vec<u8>) -> io::Result<()> {
    loop {
        block.reserve(ROOM);
        // Without input, it gives no more than up to the end of a block, whose checksum it holds against it.
        held(stream.decompress_vec(&[], block)?)?;
        if block.len() < block.capacity() {
            return Ok(());
        }
    }
}

/// Whether there was memory for what the decompressor holds.
fn held(status: Status) -> io::Result<Status> {
    if status == Status::MemNeeded { Err(io::ErrorKind::OutOfMemory.into()) } else { Ok(status) }
}

impl Read for Streams {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || (self.given == self.block.len() && !self.next_block()?) {
            return Ok(0);
        }
        let read = self.block.get(self.given..).unwrap_or_default().read(buffer)?;
        self.given += read;
        Ok(read)
    }
}
