//! Bytes whose end may not have been captured.

use super::Other;

/// What a header carries: the captured prefix, and how long it was on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// Bytes on the wire; never less than were captured.
    pub length: usize,
}

impl<'a> Payload<'a> {
    /// A captured prefix of `length` bytes on the wire.
    pub fn new(bytes: &'a [u8], length: usize) -> Self {
        Self { bytes, length: length.max(bytes.len()) }
    }

    /// Whether all of it was captured.
    #[inline]
    pub(super) fn is_whole(self) -> bool {
        self.bytes.len() == self.length
    }

    /// Splits off a header of fixed size.
    #[inline]
    pub(super) fn header<const N: usize>(self) -> Result<(&'a [u8; N], Self), Other> {
        match self.bytes.split_first_chunk::<N>() {
            Some((header, rest)) => Ok((header, Self { bytes: rest, length: self.length - N })),
            None => Err(self.short(N)),
        }
    }

    /// Splits off a header whose size another field gave.
    #[inline]
    pub(super) fn split(self, size: usize) -> Result<(&'a [u8], Self), Other> {
        match self.bytes.split_at_checked(size) {
            Some((header, rest)) => Ok((header, Self { bytes: rest, length: self.length - size })),
            None => Err(self.short(size)),
        }
    }

    /// The same with another length, which a header states: what follows it is padding, and what
    /// it promises beyond the frame was cut off before the capture.
    #[inline]
    pub(super) fn of_length(self, length: usize) -> Self {
        Self { bytes: self.bytes.get(..length).unwrap_or(self.bytes), length }
    }

    /// Why `needed` bytes are not there: cut by the snaplen, or never sent.
    #[cold]
    fn short(self, needed: usize) -> Other {
        if needed > self.length { Other::MalformedHeader } else { Other::TruncatedHeader }
    }
}
