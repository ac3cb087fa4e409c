//! What of a call nobody reads: the data of a WRITE.
//!
//! A call waits for its reply, and clients have many megabytes of data under way. Takes a long call;
//! gives the longest part of it that its parser passes over, so that it need not be kept. The parser
//! itself says which that is, so that no operation is named here.

use std::ops::Range;

use crate::cursor::{Cursor, Recorder, padding};
use crate::error::Layer;
use crate::nfs::{Done, Walk, emptied, protocol};
use crate::rpc::message::{Call, unwrap_body};
use crate::rpc::record::Record;

/// Shorter calls are kept whole: to copy them takes less time than to read them once more.
const LONG: usize = 2 << 10;

/// A part shorter than this is kept.
const WORTHWHILE: usize = 1 << 10;

/// The longest part of a call that is passed over, if it is long, as positions in its bytes. `room` is
/// an empty list, given back as such.
///
/// Nothing of a call that cannot be read to its end: what stops the parser is to be told as it is.
pub(super) fn unread(record: &Record<'_>, room: &mut Vec<Done<'static>>) -> Option<Range<usize>> {
    if record.bytes.len() < LONG {
        return None;
    }
    let recorder = Recorder::new(record.bytes, Vec::with_capacity(READS));
    if !reads_to_its_end(&recorder, record, room) {
        return None;
    }
    let mut spans = recorder.into_spans();
    spans.sort_unstable_by_key(|span| span.at);
    let (mut longest, mut read) = (0..0, 0);
    let ends = spans.iter().map(|span| (span.at, span.at + span.length));
    for (at, end) in ends.chain([(record.bytes.len(), record.bytes.len())]) {
        if at.saturating_sub(read) > longest.len() {
            longest = read..at;
        }
        read = read.max(end);
    }
    // Padding is passed over by itself, which must not begin in what is left out.
    let longest = longest.start..longest.end.saturating_sub(LONGEST_PADDING);
    (longest.len() >= WORTHWHILE).then_some(longest)
}

/// Bytes that pad an opaque value at most.
const LONGEST_PADDING: usize = padding(1);

/// Reads that the arguments of most calls take.
const READS: usize = 64;

fn reads_to_its_end(recorder: &Recorder<'_>, record: &Record<'_>, room: &mut Vec<Done<'static>>) -> bool {
    let mut c = Cursor::recording(recorder, record.length, record.limit, Layer::Rpc);
    let parsed = c.u32().and_then(|xid| c.u32().and_then(|_call| Call::parse(&mut c, xid)));
    let Ok((header, None)) = parsed else { return false };
    let Ok(body) = unwrap_body(&mut c, &header.credential, Layer::Call) else { return false };
    let shape = protocol(header.program, header.version).shape;
    let walk = Walk::of(emptied(std::mem::take(room)), shape, header.procedure, Ok(body), None);
    *room = emptied(walk.operations);
    walk.call_stop.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;
    use crate::stream::assembler::Stamp;

    /// A WRITE of NFSv3 without credential: where its data begin, and the call.
    fn write(data: usize, behind: &[u8]) -> (usize, Vec<u8>) {
        let words: &[u32] = &[7, 0, 2, 100_003, 3, 7, 0, 0, 0, 0, 8, 1, 2, 0, 0, data as u32, 2, data as u32];
        let head: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let data = vec![9; data.next_multiple_of(4)];
        (head.len(), [&head, &data, behind].concat())
    }

    fn of(call: &[u8], captured: usize) -> Option<Range<usize>> {
        let bytes = &call[..captured];
        let (length, limit, stamp) = (call.len(), Reason::Truncated, Stamp::default());
        let record = Record { bytes, length, limit, first: stamp, last: stamp, place: &[] };
        unread(&record, &mut Vec::new())
    }

    #[test]
    fn of_a_long_write_all_but_its_data_is_kept() {
        for data in [4000, 4001, 4002, 4003] {
            let (begins, call) = write(data, &[]);
            assert_eq!(of(&call, call.len()), Some(begins..call.len() - LONGEST_PADDING));
            let captured = begins + 3000;
            assert_eq!(of(&call, captured), Some(begins..captured - LONGEST_PADDING));
        }
    }

    #[test]
    fn what_is_short_or_cannot_be_read_to_its_end_is_kept_whole() {
        let (_, short) = write(1000, &[]);
        assert_eq!(of(&short, short.len()), None);
        let (_, longer_than_it_should_be) = write(4000, &[0; 4]);
        assert_eq!(of(&longer_than_it_should_be, longer_than_it_should_be.len()), None);
        let (_, mut unknown) = write(4000, &[]);
        unknown[16..20].copy_from_slice(&9_u32.to_be_bytes());
        assert_eq!(of(&unknown, unknown.len()), None);
    }
}
