//! zstd frames (RFC 8878), one after the other.

use std::io::{self, BufRead, Read};

use ::zstd::stream::raw::{DParameter, Decoder, Operation};

use super::packed::Packed;

pub(super) struct Frames {
    packed: Packed,
    decoder: Decoder<'static>,
    /// The decoder may have more than there was room for.
    more: bool,
    /// The last frame has ended.
    over: bool,
}

impl Frames {
    /// Frames whose decoder may look back so far, as a power of two.
    pub(super) fn new(packed: Packed, window_log: u32) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(window_log))?;
        Ok(Self { packed, decoder, more: false, over: false })
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() && !self.over {
            // What it has is to be had before a pipe has more.
            let input = if self.more { &[][..] } else { self.packed.fill_buf()? };
            let ended = !self.more && input.is_empty();
            let done = self.decoder.run_on_buffers(input, buffer)?;
            self.packed.consume(done.bytes_read);
            self.more = done.remaining > 0 && done.bytes_written == buffer.len();
            if done.remaining == 0 {
                self.over = !self.packed.goes_on()?;
                self.decoder.reinit()?;
            } else if ended && done.bytes_written == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if done.bytes_written > 0 {
                return Ok(done.bytes_written);
            }
        }
        Ok(0)
    }
}
