//! gzip members (RFC 1952), one after the other.

use std::io::{self, Read};

use flate2::bufread::GzDecoder;

use super::packed::Packed;

pub(super) struct Members {
    /// The member that is being unpacked; none behind the last one.
    member: Option<GzDecoder<Packed>>,
}

impl Members {
    pub(super) fn new(packed: Packed) -> Self {
        Self { member: Some(GzDecoder::new(packed)) }
    }
}

impl Read for Members {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let unpacked = member.read(buffer)?;
            if unpacked > 0 || buffer.is_empty() {
                return Ok(unpacked);
            }
            let Some(mut packed) = self.member.take().map(GzDecoder::into_inner) else { break };
            if packed.goes_on()? {
                self.member = Some(GzDecoder::new(packed));
            }
        }
        Ok(0)
    }
}
