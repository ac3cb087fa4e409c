//! xz streams (.xz 1.2), one after the other: what is unpacked is given as it comes, so that a file that
//! breaks off gives everything before that.

use std::io::{self, BufRead, Read};

use lzma_rust2::{Action, Status, XzStream};

/// Bytes of a file that tell how many filters its first block has.
pub(super) const HEAD: usize = 14;

/// Whether the decompressor takes the filters of a file's first block (.xz 1.2 section 3.1.2): LZMA2, and one
/// other before it.
pub(super) fn takes(head: &[u8]) -> bool {
    !matches!(head.get(..HEAD), Some([.., size, flags]) if *size > 0 && flags & 3 > 1)
}

pub(super) struct Streams<R: BufRead> {
    packed: R,
    stream: XzStream,
    /// What was wrong behind the bytes that were given.
    failure: Option<io::Error>,
}

impl<R: BufRead> Streams<R> {
    /// Streams whose decompressor may take this much memory.
    pub(super) fn new(packed: R, memory_kib: u32) -> Self {
        Self { packed, stream: XzStream::new_mem_limit(true, memory_kib), failure: None }
    }
}

impl<R: BufRead> Read for Streams<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        while !buffer.is_empty() {
            let input = self.packed.fill_buf()?;
            let action = if input.is_empty() { Action::Finish } else { Action::Run };
            let before = self.stream.total_out();
            match self.stream.process(input, buffer, action) {
                Ok(done) => {
                    self.packed.consume(done.bytes_consumed);
                    if done.bytes_produced > 0 || done.status == Status::StreamEnd {
                        return Ok(done.bytes_produced);
                    }
                    if done.bytes_consumed == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(failure) => {
                    let unpacked = self.stream.total_out().saturating_sub(before);
                    if unpacked == 0 {
                        return Err(failure);
                    }
                    self.failure = Some(failure);
                    return Ok(usize::try_from(unpacked).unwrap_or(buffer.len()).min(buffer.len()));
                }
            }
        }
        Ok(0)
    }
}
