//! gzip members (RFC 1952), one after the other. Zeros behind the last one are padding, as tapes and block
//! devices leave it: gzip passes them over, too.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

pub(super) struct Members<R> {
    /// The member that is being unpacked; none behind the last one.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    pub(super) fn new(packed: R) -> Self {
        Self { member: Some(GzDecoder::new(packed)) }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let unpacked = member.read(buffer)?;
            if unpacked > 0 || buffer.is_empty() {
                return Ok(unpacked);
            }
            let Some(mut packed) = self.member.take().map(GzDecoder::into_inner) else { break };
            if more_than_zeros(&mut packed)? {
                self.member = Some(GzDecoder::new(packed));
            }
        }
        Ok(0)
    }
}

/// Passes over zeros; whether anything comes behind them.
fn more_than_zeros(packed: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let ahead = packed.fill_buf()?;
        let (length, zeros) = (ahead.len(), ahead.iter().take_while(|byte| **byte == 0).count());
        packed.consume(zeros);
        if length == 0 || zeros < length {
            return Ok(length > 0);
        }
    }
}
