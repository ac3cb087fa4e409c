//! xz streams (.xz 1.2), one after the other: what is unpacked is given as it comes, so that a file that
//! breaks off gives everything before that.

use std::io::{self, BufRead, Read};

use lzma_rust2::{Action, Status, XzStream};

use super::packed::Packed;

/// Bytes of a file that tell how many filters its first block has.
pub(super) const HEAD: usize = 14;

/// Whether the decompressor takes the filters of a file's first block (.xz 1.2 section 3.1.2): LZMA2, and one
/// other before it.
pub(super) fn takes(head: &[u8]) -> bool {
    !matches!(head.get(..HEAD), Some([.., size, flags]) if *size > 0 && flags & 3 > 1)
}

pub(super) struct Streams {
    packed: Packed,
    /// The stream that is being unpacked; none behind the last one.
    stream: Option<XzStream>,
    memory_kib: u32,
    /// What was wrong behind the bytes that were given.
    failure: Option<io::Error>,
}

impl Streams {
    /// Streams whose decompressor may take this much memory.
    pub(super) fn new(packed: Packed, memory_kib: u32) -> Self {
        Self { packed, stream: Some(begun(memory_kib)), memory_kib, failure: None }
    }
}

fn begun(memory_kib: u32) -> XzStream {
    XzStream::new_mem_limit(false, memory_kib)
}

impl Read for Streams {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        while !buffer.is_empty()
            && let Some(stream) = &mut self.stream
        {
            let input = self.packed.fill_buf()?;
            let action = if input.is_empty() { Action::Finish } else { Action::Run };
            let before = stream.total_out();
            match stream.process(input, buffer, action) {
                Ok(done) => {
                    self.packed.consume(done.bytes_consumed);
                    if done.status == Status::StreamEnd {
                        // What was unpacked is given before what cannot be read behind it.
                        let more = self.packed.goes_on().or_else(|failure| {
                            if done.bytes_produced == 0 {
                                return Err(failure);
                            }
                            self.failure = Some(failure);
                            Ok(false)
                        })?;
                        self.stream = more.then(|| begun(self.memory_kib));
                    } else if done.bytes_consumed == 0 && done.bytes_produced == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    if done.bytes_produced > 0 {
                        return Ok(done.bytes_produced);
                    }
                }
                Err(failure) => {
                    let unpacked = stream.total_out().saturating_sub(before);
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
