//! bzip2 streams, one after the other.

use std::io::{self, BufRead, Read};

use ::bzip2::{Decompress, Status};

use super::packed::Packed;

pub(super) struct Streams {
    packed: Packed,
    /// The stream that is being unpacked; none behind the last one.
    stream: Option<Decompress>,
}

impl Streams {
    pub(super) fn new(packed: Packed) -> Self {
        Self { packed, stream: Some(Decompress::new(false)) }
    }
}

impl Read for Streams {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty()
            && let Some(stream) = &mut self.stream
        {
            let input = self.packed.fill_buf()?;
            let ended = input.is_empty();
            let (taken, given) = (stream.total_in(), stream.total_out());
            let status = stream.decompress(input, buffer)?;
            let count =
                |now: u64, before: u64| usize::try_from(now.wrapping_sub(before)).unwrap_or(usize::MAX);
            let (taken, given) = (count(stream.total_in(), taken), count(stream.total_out(), given));
            self.packed.consume(taken);
            if status == Status::StreamEnd {
                self.stream = self.packed.goes_on()?.then(|| Decompress::new(false));
            } else if ended && given == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if given > 0 {
                return Ok(given);
            }
        }
        Ok(0)
    }
}
