//! The only place that indexes bytes of a message.
//!
//! A [`Cursor`] walks over the captured prefix of a message whose full length on the wire is
//! known. Running past the prefix but not past the message is *truncated* or *missing* (whichever
//! the caller said limits the prefix); running past the message is *malformed*. So each parser
//! reports the right misfortune without knowing where its bytes come from.
//!
//! XDR primitives are those of RFC 4506; each value is padded to four bytes.
//!
//! A cursor made by [`Cursor::recording`] notes in a [`Recorder`] which bytes were read, and as what
//! [`Kind`] of value: redaction keeps nothing else. Such a cursor shows no bytes to the reads below,
//! so that each takes the path on which one that does not record fails: others pay nothing for it.

mod recorder;

pub use recorder::{Kind, Recorder, Span};

use crate::error::{DecodeError, Layer, Reason};

type Result<T> = std::result::Result<T, DecodeError>;

/// A reader over the captured bytes of one message.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    /// The captured bytes after this position; of a cursor that records, only the place is there.
    rest: &'a [u8],
    /// Where `rest` ends, counted from the start of the layer: it stays where it is while bytes are read.
    end: usize,
    /// Bytes of the message on the wire, from the start of the layer.
    total: usize,
    /// Why `rest` ends before `total`, if it does.
    limit: Reason,
    layer: Layer,
    recorder: Option<&'a Recorder<'a>>,
}

impl<'a> Cursor<'a> {
    /// A cursor over a message that was captured completely.
    pub fn new(bytes: &'a [u8], layer: Layer) -> Self {
        Self::of_prefix(bytes, bytes.len(), Reason::Malformed, layer)
    }

    /// A cursor over the captured prefix of a message of `total` bytes; `limit` says why the rest is absent.
    pub fn of_prefix(bytes: &'a [u8], total: usize, limit: Reason, layer: Layer) -> Self {
        Self { rest: bytes, end: bytes.len(), total: total.max(bytes.len()), limit, layer, recorder: None }
    }

    /// A cursor over the recorder's message, the captured prefix of one of `total` bytes.
    pub fn recording(recorder: &'a Recorder<'a>, total: usize, limit: Reason, layer: Layer) -> Self {
        let (rest, all) = recorder.beginning();
        Self { rest, end: 0, total: total.max(all), limit, layer, recorder: Some(recorder) }
    }

    /// Marks the place of a cursor that records: what is read from here on belongs together.
    #[inline]
    pub fn milestone(&self) {
        if let Some(recorder) = self.recorder {
            recorder.milestone(self.rest);
        }
    }

    /// Whether what is read is recorded: then also values are read that nothing else asks for.
    pub fn records(&self) -> bool {
        self.recorder.is_some()
    }

    /// The same position, with offsets counted from here and another layer's name.
    #[must_use]
    pub fn enter(&self, layer: Layer) -> Self {
        Self { end: self.rest.len(), total: self.remaining(), layer, ..*self }
    }

    /// Bytes consumed since the start of the layer.
    #[inline]
    pub fn offset(&self) -> usize {
        self.end.saturating_sub(self.rest.len())
    }

    /// Bytes of the message after this position, captured or not.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.total.saturating_sub(self.offset())
    }

    /// The captured bytes after this position.
    pub fn rest(&self) -> &'a [u8] {
        match self.recorder {
            None => self.rest,
            Some(recorder) => recorder.ahead(self.rest, self.remaining()),
        }
    }

    /// The error for an element of `needed` bytes that is not there.
    pub fn short(&self, needed: usize) -> DecodeError {
        let reason = if needed > self.remaining() { Reason::Malformed } else { self.limit };
        DecodeError { layer: self.layer, reason, offset: self.offset(), needed, available: self.rest().len() }
    }

    /// The error for a value at this position that the protocol does not allow.
    pub fn malformed(&self) -> DecodeError {
        self.stop(Reason::Malformed)
    }

    /// The error for a stop at this position for another reason.
    pub fn stop(&self, reason: Reason) -> DecodeError {
        DecodeError {
            layer: self.layer,
            reason,
            offset: self.offset(),
            needed: 0,
            available: self.rest().len(),
        }
    }

    /// Takes `length` bytes of numbers, without padding.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        self.take_as(Kind::Number, length)
    }

    /// Takes `length` bytes that mean this, without padding.
    #[inline(always)]
    #[allow(clippy::inline_always)] // The kind is known to each caller, and of no use to most.
    pub fn take_as(&mut self, kind: Kind, length: usize) -> Result<&'a [u8]> {
        if let Some((head, tail)) = self.rest.split_at_checked(length) {
            self.rest = tail;
            return Ok(head);
        }
        let (head, tail) = self.recorded(kind, length)?;
        (self.rest, self.end) = (tail, self.end.saturating_add(length));
        Ok(head)
    }

    /// What a read does that finds too little: it fails, or the cursor is one that records. Gives what is
    /// read, and the place behind it.
    ///
    /// It does not change the cursor itself: then no read could keep what it knows of it beyond this call.
    #[cold]
    #[inline(never)]
    fn recorded(&self, kind: Kind, length: usize) -> Result<(&'a [u8], &'a [u8])> {
        let found = self.recorder.and_then(|recorder| {
            let (head, tail) = self.rest().split_at_checked(length)?;
            recorder.note(head, kind);
            Some((head, start(tail)))
        });
        found.ok_or_else(|| self.short(length))
    }

    #[cold]
    #[inline(never)]
    fn recorded_array<const N: usize>(&self, kind: Kind) -> Result<([u8; N], &'a [u8])> {
        let short = self.short(N);
        let (head, tail) = self.recorded(kind, N)?;
        Ok((*head.first_chunk().ok_or(short)?, tail))
    }

    /// Passes over `length` bytes of the message even where they were not captured.
    ///
    /// Afterwards reading goes on only if they were; the point is that the length was checked.
    pub fn skip(&mut self, length: usize) -> Result<()> {
        if length > self.remaining() {
            return Err(self.short(length));
        }
        if let Some(rest) = self.rest.get(length..) {
            self.rest = rest;
        } else {
            (self.end, self.rest) = (self.offset().saturating_add(length), self.beyond(length));
        }
        Ok(())
    }

    /// Where skipping `length` bytes leads to that are not there, or are not shown: no bytes.
    #[cold]
    fn beyond(&self, length: usize) -> &'a [u8] {
        let rest = self.rest();
        start(rest.get(length.min(rest.len())..).unwrap_or_default())
    }

    /// A cursor over the next `length` bytes, which this cursor passes over.
    ///
    /// Inside, running past `length` is malformed; running past what was captured is what it was here.
    pub fn sub(&mut self, length: usize) -> Result<Self> {
        if length > self.remaining() {
            return Err(self.short(length));
        }
        let captured = self.rest.get(..length).unwrap_or(self.rest);
        let (offset, shown) = (self.offset(), captured.len());
        let inner = Self {
            rest: captured,
            end: offset.saturating_add(shown),
            total: offset.saturating_add(length),
            ..*self
        };
        self.skip(length)?;
        Ok(inner)
    }

    /// A fixed-size array of bytes: numbers.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.array_as(Kind::Number)
    }

    /// A fixed-size array of bytes that mean this.
    #[inline(always)]
    #[allow(clippy::inline_always)] // The kind is known to each caller, and of no use to most.
    pub fn array_as<const N: usize>(&mut self, kind: Kind) -> Result<[u8; N]> {
        if let Some((head, tail)) = self.rest.split_first_chunk::<N>() {
            self.rest = tail;
            return Ok(*head);
        }
        let (head, tail) = self.recorded_array(kind)?;
        (self.rest, self.end) = (tail, self.end.saturating_add(N));
        Ok(head)
    }

    /// The next words (RFC 4506 section 4.2), if they are there to be read at once. Nobody is asked
    /// for them word by word then, so a cursor that records has none.
    #[inline]
    pub fn words<const N: usize>(&self) -> Option<[u32; N]> {
        let (words, _) = self.rest.as_chunks::<4>();
        words.first_chunk::<N>().map(|words| words.map(u32::from_be_bytes))
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    /// A 16-bit number in network byte order.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// An XDR unsigned integer (RFC 4506 section 4.2).
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// An XDR unsigned hyper integer (section 4.5).
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// An XDR signed hyper integer (section 4.5).
    pub fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// An XDR boolean (section 4.4). Only 0 and 1 are legal.
    #[inline]
    pub fn bool(&mut self) -> Result<bool> {
        let before = self.clone();
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(before.malformed()),
        }
    }

    /// An XDR unsigned integer that means this.
    #[inline]
    pub fn u32_as(&mut self, kind: Kind) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array_as(kind)?))
    }

    /// XDR variable-length opaque data of at most `limit` bytes, with its padding (section 4.10), of
    /// which nobody says what they mean.
    #[inline]
    pub fn opaque(&mut self, limit: usize) -> Result<&'a [u8]> {
        self.opaque_as(Kind::Unknown, limit)
    }

    /// XDR variable-length opaque data, or a string, that means this.
    #[inline(always)]
    #[allow(clippy::inline_always)] // The kind is known to each caller, and of no use to most.
    pub fn opaque_as(&mut self, kind: Kind, limit: usize) -> Result<&'a [u8]> {
        let length = self.opaque_length(limit)?;
        let data = self.take_as(kind, length)?;
        self.skip(padding(length))?;
        Ok(data)
    }

    /// The length of variable-length opaque data, passing over the data even where they were not
    /// captured: for file contents, whose length matters and whose bytes do not.
    pub fn opaque_skipped(&mut self) -> Result<u32> {
        let length = self.opaque_length(usize::MAX)?;
        self.skip(length)?;
        self.skip(padding(length).min(self.remaining()))?;
        Ok(length as u32)
    }

    /// A counted list: the count, checked against what can be there if each element takes at
    /// least `smallest` bytes, so that nothing is ever reserved for a count that lies.
    pub fn count(&mut self, smallest: usize) -> Result<usize> {
        let before = self.clone();
        let count = self.u32()? as usize;
        if count.saturating_mul(smallest) > self.remaining() {
            return Err(before.malformed());
        }
        Ok(count)
    }

    fn opaque_length(&mut self, limit: usize) -> Result<usize> {
        let before = self.clone();
        let length = self.u32()? as usize;
        if length > limit || length > self.remaining() {
            return Err(before.malformed());
        }
        Ok(length)
    }
}

/// Nothing, at the place where `bytes` begin.
fn start(bytes: &[u8]) -> &[u8] {
    bytes.get(..0).unwrap_or_default()
}

/// Bytes that pad `length` to a multiple of four (RFC 4506 section 3).
pub const fn padding(length: usize) -> usize {
    length.wrapping_neg() & 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_that_ends_early_is_truncated_and_a_message_that_ends_early_is_malformed() {
        let bytes = [0, 0, 0, 9, 1, 2];
        let mut cursor = Cursor::of_prefix(&bytes, 16, Reason::Truncated, Layer::Call);
        let error = cursor.opaque(64).unwrap_err();
        assert_eq!((error.reason, error.offset, error.needed, error.available), (Reason::Truncated, 4, 9, 2));
        let mut cursor = Cursor::new(&bytes, Layer::Call);
        assert_eq!(cursor.opaque(64).unwrap_err().reason, Reason::Malformed);
    }

    #[test]
    fn file_contents_are_passed_over_though_they_were_not_captured() {
        let bytes = [0, 0, 0, 8, 1, 2];
        let mut cursor = Cursor::of_prefix(&bytes, 12, Reason::Truncated, Layer::Call);
        assert_eq!(cursor.opaque_skipped(), Ok(8));
        assert_eq!(cursor.remaining(), 0);
    }

    #[test]
    fn a_count_is_limited_by_what_can_be_there() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        assert_eq!(Cursor::new(&bytes, Layer::Reply).count(4).unwrap_err().reason, Reason::Malformed);
    }

    #[test]
    fn padding_completes_four_bytes() {
        assert_eq!([0, 1, 2, 3, 4].map(padding), [0, 3, 2, 1, 0]);
    }
}
