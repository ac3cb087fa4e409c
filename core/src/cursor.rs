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

//!
//! One made by [`Cursor::gauging`] reads like others, and has a [`Gauge`] know where it leaves the bytes
//! that are there.
//!
//! One made by [`Cursor::with_hole`] passes over a part of a message that was not kept, and finds what
//! is kept behind it, in the same way: by the path of a read that fails.

mod gauge;

mod recorder;

pub use gauge::Gauge;
pub use recorder::{Kind, Recorder, Span};

use std::ops::Range;

use crate::error::{DecodeError, Layer, Reason};

type Result<T> = std::result::Result<T, DecodeError>;

/// What is kept of a message behind a part that nobody reads.
#[derive(Clone, Copy, Debug)]
pub struct Behind<'a> {
    /// Length of that part.
    pub passed: usize,
    /// The bytes behind it.
    pub bytes: &'a [u8],
}

impl<'a> Behind<'a> {
    /// What stands before a part that was left out of a message, and what is behind it. `left_out` are
    /// positions in the message; where it is empty, all of `bytes` are its beginning.
    pub fn split(bytes: &'a [u8], left_out: &Range<usize>) -> (&'a [u8], Option<Self>) {
        match bytes.split_at_checked(left_out.start) {
            Some((before, bytes)) if !left_out.is_empty() => {
                (before, Some(Self { passed: left_out.len(), bytes }))
            }
            _ => (bytes, None),
        }
    }
}

/// Where a read looks that finds too little.
#[derive(Clone, Copy, Debug)]
enum Aside<'a> {
    Recorder(&'a Recorder<'a>),
    Gauge(&'a Gauge<'a>),
    /// What follows on the end of `rest`.
    Behind(&'a Behind<'a>),
}

/// The length of a message whose end is not known: no message has so many bytes, nor half of them.
pub const OPEN_END: usize = 1 << 30;

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
    aside: Option<Aside<'a>>,
}

impl<'a> Cursor<'a> {
    /// A cursor over a message that was captured completely.
    pub fn new(bytes: &'a [u8], layer: Layer) -> Self {
        Self::of_prefix(bytes, bytes.len(), Reason::Malformed, layer)
    }

    /// A cursor over the captured prefix of a message of `total` bytes; `limit` says why the rest is absent.
    pub fn of_prefix(bytes: &'a [u8], total: usize, limit: Reason, layer: Layer) -> Self {
        Self { rest: bytes, end: bytes.len(), total: total.max(bytes.len()), limit, layer, aside: None }
    }

    /// A cursor over the recorder's message, the captured prefix of one of `total` bytes.
    pub fn recording(recorder: &'a Recorder<'a>, total: usize, limit: Reason, layer: Layer) -> Self {
        let (rest, all) = recorder.beginning();
        let aside = Some(Aside::Recorder(recorder));
        Self { rest, end: 0, total: total.max(all), limit, layer, aside }
    }

    /// A cursor over the gauge's beginning of a message of `total` bytes; `limit` says why the rest is absent.
    pub fn gauging(gauge: &'a Gauge<'a>, total: usize, limit: Reason, layer: Layer) -> Self {
        let aside = Some(Aside::Gauge(gauge));
        Self { aside, ..Self::of_prefix(gauge.beginning(), total, limit, layer) }
    }

    /// A cursor over a message of `total` bytes of which only `bytes` and what is behind a hole were kept.
    ///
    /// What passes over the whole hole at once reads on behind it. What reads in it finds nothing there,
    /// as behind the end of a prefix.
    pub fn with_hole(
        bytes: &'a [u8],
        behind: &'a Behind<'a>,
        total: usize,
        limit: Reason,
        layer: Layer,
    ) -> Self {
        Self { aside: Some(Aside::Behind(behind)), ..Self::of_prefix(bytes, total, limit, layer) }
    }

    fn recorder(&self) -> Option<&'a Recorder<'a>> {
        match self.aside {
            Some(Aside::Recorder(recorder)) => Some(recorder),
            Some(Aside::Gauge(_) | Aside::Behind(_)) | None => None,
        }
    }

    fn gauge(&self) -> Option<&'a Gauge<'a>> {
        match self.aside {
            Some(Aside::Gauge(gauge)) => Some(gauge),
            Some(Aside::Recorder(_) | Aside::Behind(_)) | None => None,
        }
    }

    /// Marks the place of a cursor that records: a body begins here.
    pub fn body(&self) {
        if let Some(recorder) = self.recorder() {
            recorder.body(self.rest);
        }
    }

    /// Marks the place of a cursor that records: what is read from here on belongs together.
    #[inline]
    pub fn milestone(&self) {
        if let Some(recorder) = self.recorder() {
            recorder.milestone(self.rest);
        }
    }

    /// Has a recorder forget what was read from this place on: it is not what it was read as.
    #[cold]
    pub fn disown(&self) {
        if let Some(recorder) = self.recorder() {
            recorder.forget_from(recorder.offset(self.rest));
        }
    }

    /// Whether what is read is recorded: then also values are read that nothing else asks for.
    pub fn records(&self) -> bool {
        self.recorder().is_some()
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

    /// Whether all of the message was read, as far as it is known how long it is.
    pub fn used_up(&self) -> bool {
        self.remaining() == 0 || self.remaining() > OPEN_END / 2
    }

    /// The captured bytes after this position.
    pub fn rest(&self) -> &'a [u8] {
        match self.recorder() {
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
    #[expect(clippy::inline_always, reason = "the kind is known to each caller, and of no use to most")]
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
        let Some(recorder) = self.recorder() else {
            self.gauge().inspect(|gauge| gauge.fail());
            return Err(self.short(length));
        };
        let Some((head, tail)) = self.rest().split_at_checked(length) else {
            return Err(self.short(length));
        };
        recorder.note(head, kind);
        Ok((head, start(tail)))
    }

    #[cold]
    #[inline(never)]
    fn recorded_array<const N: usize>(&self, kind: Kind) -> Result<([u8; N], &'a [u8])> {
        let (head, tail) = self.recorded(kind, N)?;
        Ok((*head.first_chunk().ok_or_else(|| self.short(N))?, tail))
    }

    /// Passes over `length` bytes of the message even where they were not captured.
    ///
    /// Afterwards reading goes on only if they were; the point is that the length was checked.
    pub fn skip(&mut self, length: usize) -> Result<()> {
        self.pass(length, |place| {
            place.gauge().inspect(|gauge| gauge.leave(place.rest));
        })
    }

    /// Passes over `length` bytes, and says `leaving` where they are not all there.
    #[inline]
    fn pass(&mut self, length: usize, leaving: impl FnOnce(&Self)) -> Result<()> {
        if length > self.remaining() {
            return Err(self.short(length));
        }
        if let Some(rest) = self.rest.get(length..) {
            self.rest = rest;
        } else {
            leaving(self);
            let (rest, aside) = self.beyond(length);
            self.end = self.offset().saturating_add(length).saturating_add(rest.len());
            (self.rest, self.aside) = (rest, aside);
        }
        Ok(())
    }

    /// Where skipping `length` bytes leads to that are not there, or are not shown: no bytes, or those
    /// behind a hole.
    #[cold]
    fn beyond(&self, length: usize) -> (&'a [u8], Option<Aside<'a>>) {
        let Some(Aside::Behind(behind)) = self.aside else {
            let rest = self.rest();
            return (start(rest.get(length.min(rest.len())..).unwrap_or_default()), self.aside);
        };
        let into = length.saturating_sub(self.rest.len()).checked_sub(behind.passed);
        let ahead = into.and_then(|into| behind.bytes.get(into..)).unwrap_or_default();
        let own = self.remaining().saturating_sub(length);
        (ahead.get(..own).unwrap_or(ahead), None)
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
        let aside = match self.aside {
            // The hole is not in there.
            Some(Aside::Behind(_)) if length <= self.rest.len() => None,
            aside => aside,
        };
        let inner = Self {
            rest: captured,
            end: offset.saturating_add(shown),
            total: offset.saturating_add(length),
            aside,
            ..*self
        };
        self.pass(length, |_| {})?; // What is in there is left by the inner one, or not at all.
        Ok(inner)
    }

    /// A fixed-size array of bytes: numbers.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.array_as(Kind::Number)
    }

    /// A fixed-size array of bytes that mean this.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the kind is known to each caller, and of no use to most")]
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

    /// Takes the next words at once, if they are there, as they stand on the wire. A cursor that records
    /// has none, as with [`Self::words`].
    #[inline]
    pub fn take_words<const N: usize>(&mut self) -> Option<&'a [[u8; 4]; N]> {
        let (words, _) = self.rest.as_chunks::<4>();
        let taken = words.first_chunk::<N>()?;
        self.rest = self.rest.get(4 * N..)?;
        Some(taken)
    }

    /// The variable-length opaque data that come next, if they are there to be read at once. A cursor that
    /// records has none, as with [`Self::words`].
    #[inline]
    pub fn opaque_ahead(&self) -> Option<&'a [u8]> {
        let (length, data) = self.rest.split_first_chunk()?;
        data.get(..u32::from_be_bytes(*length) as usize)
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

    /// An XDR boolean (section 4.4). Only 0 and 1 are legal.
    #[inline]
    pub fn bool(&mut self) -> Result<bool> {
        if let Some((head, tail)) = self.rest.split_first_chunk()
            && let word @ (0 | 1) = u32::from_be_bytes(*head)
        {
            self.rest = tail;
            return Ok(word == 1);
        }
        let (value, after) = self.other_bool()?;
        *self = after;
        Ok(value)
    }

    /// A boolean that is none, is not there, or is to be recorded; and the cursor behind it.
    #[cold]
    #[inline(never)]
    fn other_bool(&self) -> Result<(bool, Self)> {
        let mut after = self.clone();
        match after.u32()? {
            0 => Ok((false, after)),
            1 => Ok((true, after)),
            _ => Err(self.malformed()),
        }
    }

    /// An XDR unsigned integer that means this.
    #[inline]
    pub fn u32_as(&mut self, kind: Kind) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array_as(kind)?))
    }

    /// An XDR unsigned hyper integer that means this.
    #[inline]
    pub fn u64_as(&mut self, kind: Kind) -> Result<u64> {
        Ok(u64::from_be_bytes(self.array_as(kind)?))
    }

    /// XDR variable-length opaque data of at most `limit` bytes, with its padding (section 4.10), of
    /// which nobody says what they mean.
    #[inline]
    pub fn opaque(&mut self, limit: usize) -> Result<&'a [u8]> {
        self.opaque_as(Kind::Unknown, limit)
    }

    /// XDR variable-length opaque data, or a string, that means this.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the kind is known to each caller, and of no use to most")]
    pub fn opaque_as(&mut self, kind: Kind, limit: usize) -> Result<&'a [u8]> {
        if let Some((head, tail)) = self.rest.split_first_chunk()
            && let length = u32::from_be_bytes(*head) as usize
            && length <= limit
            && let Some((data, tail)) = tail.split_at_checked(length)
            && let Some(rest) = tail.get(padding(length)..)
        {
            self.rest = rest;
            return Ok(data);
        }
        let (data, after) = self.other_opaque(kind, limit)?;
        *self = after;
        Ok(data)
    }

    /// Opaque data that are too long, are not all there, or are to be recorded; and the cursor behind them.
    #[cold]
    #[inline(never)]
    fn other_opaque(&self, kind: Kind, limit: usize) -> Result<(&'a [u8], Self)> {
        let mut after = self.clone();
        let length = after.opaque_length(limit)?;
        let data = after.take_as(kind, length)?;
        after.skip(padding(length))?;
        Ok((data, after))
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

    /// Two words, opaque data of six bytes with their padding, a word: in that order.
    const WITH_DATA: [u8; 24] = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 6, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0, 0, 3];

    #[test]
    fn what_is_behind_a_hole_is_read_as_if_there_were_none() {
        // Whatever part of the data is left out, to the end of the padding.
        for (from, to) in (12..18).flat_map(|from| (from..19).map(move |to| (from, to))) {
            let behind = Behind { passed: to - from, bytes: &WITH_DATA[to..] };
            let mut holed = Cursor::with_hole(&WITH_DATA[..from], &behind, 24, Reason::Missing, Layer::Call);
            let mut whole = Cursor::new(&WITH_DATA, Layer::Call);
            for c in [&mut holed, &mut whole] {
                assert_eq!(c.u32(), Ok(1));
                *c = c.enter(Layer::Reply);
                let mut inner = c.sub(4).unwrap();
                assert_eq!((inner.u32(), inner.remaining()), (Ok(2), 0));
                let mut inner = c.clone().sub(16).unwrap();
                assert_eq!((inner.opaque_skipped(), inner.u32()), (Ok(6), Ok(3)), "{from}..{to}");
                assert_eq!(inner.u8().unwrap_err().reason, Reason::Malformed);
                let mut inner = c.clone().sub(12).unwrap();
                assert_eq!((inner.opaque_skipped(), inner.remaining()), (Ok(6), 0), "{from}..{to}");
                assert_eq!(inner.u8().unwrap_err().reason, Reason::Malformed);
                assert_eq!((c.opaque_skipped(), c.offset(), c.rest()), (Ok(6), 16, &WITH_DATA[20..]));
                assert_eq!((c.u32(), c.offset(), c.remaining()), (Ok(3), 20, 0), "{from}..{to}");
            }
        }
    }

    #[test]
    fn what_reads_in_a_hole_finds_nothing() {
        let behind = Behind { passed: 4, bytes: &WITH_DATA[18..] };
        let mut c = Cursor::with_hole(&WITH_DATA[..14], &behind, 24, Reason::Missing, Layer::Call);
        c.skip(8).unwrap();
        assert_eq!(c.clone().opaque(64).unwrap_err().reason, Reason::Missing);
        // Nor does what stops in it.
        c.skip(8).unwrap();
        assert_eq!(c.u32().unwrap_err().reason, Reason::Missing);
        c.skip(4).unwrap();
        assert_eq!((c.u32().unwrap_err().reason, c.remaining()), (Reason::Missing, 4));
    }

    #[test]
    fn a_count_is_limited_by_what_can_be_there() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        assert_eq!(Cursor::new(&bytes, Layer::Reply).count(4).unwrap_err().reason, Reason::Malformed);
    }

    #[test]
    fn what_is_read_at_once_is_what_is_read_step_by_step() {
        // Booleans and opaque data, legal and not, and each of their prefixes.
        let values: [&'static [u8]; 5] =
            [&[0, 0, 0, 1], &[0, 0, 0, 2], &[0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0], &[0, 0, 0, 0], &[0xff; 8]];
        for (value, captured) in values.iter().flat_map(|value| (0..=value.len()).map(move |to| (value, to)))
        {
            let cursor = |total| Cursor::of_prefix(&value[..captured], total, Reason::Missing, Layer::Call);
            for total in [captured, value.len(), 100] {
                let place = |c: Cursor<'static>| (c.offset(), c.remaining(), c.rest());
                let mut fast = cursor(total);
                let slow = fast.other_bool().map(|(value, after)| (value, place(after)));
                assert_eq!(fast.bool().map(|value| (value, place(fast))), slow);
                for limit in [4, 5, usize::MAX] {
                    let mut fast = cursor(total);
                    let slow = fast.other_opaque(Kind::Unknown, limit).map(|(data, c)| (data, place(c)));
                    assert_eq!(fast.opaque(limit).map(|data| (data, place(fast))), slow);
                }
            }
        }
    }

    #[test]
    fn words_are_taken_all_or_none() {
        let mut c = Cursor::new(&WITH_DATA, Layer::Call);
        assert_eq!(c.take_words::<7>(), None);
        assert_eq!((c.offset(), c.take_words()), (0, Some(&[[0, 0, 0, 1], [0, 0, 0, 2]])));
        assert_eq!((c.offset(), c.remaining()), (8, 16));
        let recorder = Recorder::new(&WITH_DATA, Vec::new());
        let mut c = Cursor::recording(&recorder, 24, Reason::Missing, Layer::Call);
        assert_eq!((c.take_words::<1>(), c.u32()), (None, Ok(1)));
    }

    #[test]
    fn padding_completes_four_bytes() {
        assert_eq!([0, 1, 2, 3, 4].map(padding), [0, 3, 2, 1, 0]);
    }
}
