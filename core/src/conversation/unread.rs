//! What of a message nobody reads: the data of a READ or a WRITE.
//!
//! Most bytes of many captures are data of files. Takes a long message, or the beginning of one; gives
//! the part of it that its parser passes over, so that it need neither be put together nor kept. The
//! parser itself says which that is, by the beginning of the message alone, so that no operation is named
//! here.

use std::cell::RefCell;
use std::ops::Range;

use crate::conversation::callbacks::Callbacks;
use crate::conversation::parties::Parties;
use crate::cursor::{Behind, Cursor, Gauge, padding};
use crate::error::{DecodeError, Layer, Reason};
use crate::nfs::{Done, Shape, Walk, emptied, protocol};
use crate::rdma::{Beside, Message};
use crate::rpc::message::{AcceptStatus, Call, ReplyStatus, body_offset, unwrap_body};
use crate::rpc::pairing::{Correspondence, Request};
use crate::rpc::record::{Peer, Record, SEEN};
use crate::stream::Side;

/// Shorter messages are kept whole: to copy them takes less time than to read them once more.
const LONG: usize = 4 << 10;

/// A part shorter than this is kept.
const WORTHWHILE: usize = 1 << 10;

/// Places in a reply at which its data may have been, as the length before it says, that are tried.
const PLACES_TRIED: usize = 16;

/// Finds what nobody reads.
#[derive(Default)]
pub(super) struct Unread {
    /// Memory for the operations of the next message.
    room: RefCell<Vec<Done<'static>>>,
}

impl Unread {
    /// The part of a call that is passed over, if it is long, as positions in its bytes.
    pub(super) fn of_call(&self, record: &Record<'_>) -> Option<Range<usize>> {
        let begun = record.bytes.get(..LONG).filter(|_| record.behind.is_none())?;
        worthwhile(self.passed_over(begun, record.bytes.len(), record.length, |_| None)?.1)
    }

    /// The same of a message of `length` bytes of which only the beginning is there, and which is to go
    /// on with a part that is passed over. `request` gives the call that a reply with this xid answers.
    /// `watched`: by somebody who also reads how long the checksum behind a body is.
    fn of_begun<'r>(
        &self,
        begun: &[u8],
        length: usize,
        watched: bool,
        request: impl FnOnce(u32) -> Option<&'r Request>,
    ) -> Option<Range<usize>> {
        let (within, unread) = self.passed_over(begun, length, length, request)?;
        if watched && within > 0 {
            return None;
        }
        // Where less was captured, the other transmission of a call has no more either.
        worthwhile(unread.start.max(SEEN.min(begun.len()))..unread.end)
    }

    /// Finds where the data that RDMA moved beside a message were left out of it, with their padding (RFC 8166
    /// section 3.4.4): the message with the padding put back, and where in the whole the data would be, or with
    /// the data as well, if they are there.
    ///
    /// A call says where; of a reply its parser must tell, since only their length stands before them: where
    /// they are put in the right place, it reads to the end. `None`: there are none, or no place is right.
    pub(super) fn put_back<'r>(
        &self,
        message: &Message<'_>,
        request: impl FnOnce(u32) -> Option<&'r Request>,
    ) -> Option<(Vec<u8>, Range<usize>)> {
        let Beside { position, length, bytes } = message.beside.filter(|beside| beside.length > 0)?;
        let put_back = |begin: usize| {
            let (before, behind) = message.bytes.split_at_checked(begin)?;
            let padding = [0; 3].get(..padding(length))?;
            let left_out = if bytes.is_empty() { begin..begin + length } else { 0..0 };
            Some(([before, bytes, padding, behind].concat(), left_out))
        };
        if let Some(position) = position {
            return put_back(position);
        }
        let request = request(u32::from_be_bytes(*message.bytes.first_chunk()?))?;
        let word = u32::try_from(length).ok()?.to_be_bytes();
        let words = message.bytes.chunks_exact(word.len()).enumerate();
        let lengths = words.filter(|(_, found)| **found == word).map(|(at, _)| (at + 1) * word.len());
        let mut whole = lengths.take(PLACES_TRIED).filter_map(put_back);
        whole.find(|(bytes, data)| self.fits(message, bytes, data, request))
    }

    /// Whether a reply is read to its end where data are left out of it here.
    fn fits(&self, message: &Message<'_>, bytes: &[u8], data: &Range<usize>, request: &Request) -> bool {
        let (bytes, behind) = Behind::split(bytes, data);
        let total = message.whole();
        let mut c = match &behind {
            Some(behind) => Cursor::with_hole(bytes, behind, total, message.limit, Layer::Rpc),
            None => Cursor::of_prefix(bytes, total, message.limit, Layer::Rpc),
        };
        let read = read_success(&mut c).and_then(|()| self.read_reply(c, request));
        read.is_some_and(|(_, stop)| stop.is_none())
    }

    /// Where arguments or results begin in a body, and the part that is passed over from within the
    /// beginning of a message, of which `there` bytes will be there at most.
    ///
    /// Nothing of a message that cannot be read so far: what stops the parser is to be told as it is.
    fn passed_over<'r>(
        &self,
        begun: &[u8],
        there: usize,
        length: usize,
        request: impl FnOnce(u32) -> Option<&'r Request>,
    ) -> Option<(usize, Range<usize>)> {
        let mut c = Cursor::of_prefix(begun, length, Reason::Truncated, Layer::Rpc);
        let (xid, kind) = begun.split_first_chunk()?;
        let mut call = None;
        if *kind.first_chunk()? == [0, 0, 0, 0] {
            call = Some(read_head(&mut c)?);
        } else {
            read_success(&mut c)?;
        }
        let gauge = Gauge::new(c.rest());
        let body = Cursor::gauging(&gauge, c.remaining(), Reason::Truncated, Layer::Rpc);
        let (within, stop) = match call {
            Some(call) => self.read_call(&call, body)?,
            None => self.read_reply(body, request(u32::from_be_bytes(*xid))?)?,
        };
        let reached = match stop {
            None => c.remaining(),
            Some(DecodeError { reason: Reason::Truncated, offset, .. }) => within.checked_add(offset)?,
            Some(_) => return None,
        };
        let head = c.offset();
        let unread = gauge.unread_before(reached.min(there.saturating_sub(head)), stop.is_some());
        Some((within, head + unread.start..head + unread.end))
    }

    /// Reads the body of a call: where in it its arguments begin, and what stopped the parser.
    fn read_call(&self, call: &Call<'_>, mut c: Cursor<'_>) -> Option<(usize, Option<DecodeError>)> {
        let within = body_offset(&call.credential);
        let arguments = unwrap_body(&mut c, &call.credential, Layer::Call).ok()?;
        self.walk(call, Ok(arguments), None, |walk| (within, walk.call_stop))
    }

    /// The same of the reply to a call.
    fn read_reply(&self, mut c: Cursor<'_>, request: &Request) -> Option<(usize, Option<DecodeError>)> {
        let message = request.message.record();
        let mut arguments = message.cursor();
        let call = read_head(&mut arguments)?;
        let within = body_offset(&call.credential);
        let results = unwrap_body(&mut c, &call.credential, Layer::Reply).ok()?;
        let arguments = unwrap_body(&mut arguments, &call.credential, Layer::Call);
        self.walk(&call, arguments, Some(Ok(results)), |walk| (within, walk.reply_stop))
    }

    #[inline(never)]
    fn walk<'a, T>(
        &self,
        call: &Call<'_>,
        arguments: Result<Cursor<'a>, DecodeError>,
        results: Option<Result<Cursor<'a>, DecodeError>>,
        found: impl FnOnce(&Walk<'_>) -> T,
    ) -> Option<T> {
        let shape = protocol(call.program, call.version).shape;
        if call.control().is_some() || matches!(shape, Shape::Unknown | Shape::Void) {
            return None;
        }
        let room = emptied(self.room.take());
        let walk = Walk::of(room, shape, call.procedure, arguments, results);
        let found = found(&walk);
        self.room.replace(emptied(walk.operations));
        Some(found)
    }
}

/// Reads the head of a call, all of which somebody reads; the cursor is left at its body.
fn read_head<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    match Call::of_message(c).ok()? {
        (call, None) => Some(call),
        (_, Some(_)) => None,
    }
}

/// Reads the head of a reply that succeeded; the cursor is left at its body.
fn read_success(c: &mut Cursor<'_>) -> Option<()> {
    let status = ReplyStatus::of_message(c).ok()?;
    matches!(status, ReplyStatus::Accepted(AcceptStatus::SUCCESS)).then_some(())
}

/// A part that is long enough to be left out.
fn worthwhile(part: Range<usize>) -> Option<Range<usize>> {
    (part.len() >= WORTHWHILE).then_some(part)
}

/// What the reader of one side's records asks of the conversation.
pub(super) struct Listener<'a> {
    pub(super) peer: Correspondence<'a>,
    pub(super) unread: &'a Unread,
    pub(super) callbacks: &'a Callbacks,
    /// Somebody watches, who reads more than others.
    pub(super) watched: bool,
    /// Who talks, and which of them is asked about.
    pub(super) parties: &'a Parties,
    pub(super) side: Side,
}

impl Peer for Listener<'_> {
    fn waits_for(&self, xid: u32) -> bool {
        self.peer.waits_for(xid)
    }

    fn answered(&self, xid: u32, frame: u64) -> bool {
        self.peer.answered(xid, frame)
    }

    fn may_call(&self, xid: u32, for_client: bool) -> bool {
        self.parties.may_call(self.side, xid, for_client)
    }

    fn calls_back(&self, program: u32) -> bool {
        self.callbacks.names(self.parties.ends.of(self.side.other()).ip(), program)
    }

    fn unread(&self, begun: &[u8], length: usize) -> Option<Range<usize>> {
        self.unread.of_begun(begun, length, self.watched, |xid| self.peer.request(xid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let (open, place) = (false, &[][..]);
        let record = Record { bytes, behind: None, length, open, limit, first: stamp, last: stamp, place };
        Unread::default().of_call(&record)
    }

    #[test]
    fn of_a_long_write_all_but_its_data_is_kept() {
        for data in [5000, 5001, 5002, 5003] {
            let (begins, call) = write(data, &[]);
            assert_eq!(of(&call, call.len()), Some(begins..call.len() - 3));
            let captured = begins + 4500;
            assert_eq!(of(&call, captured), Some(begins..captured - 3));
        }
    }

    #[test]
    fn what_is_short_or_cannot_be_read_to_its_end_is_kept_whole() {
        let (_, short) = write(1000, &[]);
        assert_eq!(of(&short, short.len()), None);
        let (_, longer_than_it_should_be) = write(5000, &[0; 4]);
        assert_eq!(of(&longer_than_it_should_be, longer_than_it_should_be.len()), None);
        let (_, mut unknown) = write(5000, &[]);
        unknown[16..20].copy_from_slice(&9_u32.to_be_bytes());
        assert_eq!(of(&unknown, unknown.len()), None);
    }

    #[test]
    fn of_a_write_that_has_begun_what_follows_its_first_bytes_is_left_out_up_to_the_end_of_its_data() {
        let (begins, call) = write(5000, &[]);
        let of = |begun: usize| Unread::default().of_begun(&call[..begun], call.len(), false, |_| None);
        assert_eq!(of(800), Some(SEEN..call.len() - 3));
        // Its length is not there yet.
        assert_eq!(of(begins - 1), None);
    }
}
