//! Finding the next record when the marks are lost: after a gap, in the middle of a stream, behind
//! bytes that no mark explains.
//!
//! Takes the bytes of a segment, gives the place of the next record mark. Each place is looked at
//! once, and what is believed is verified: a reply by its waiting call; a call by the header that
//! follows it, or by its place at the start of a segment. So data that hold RPC messages themselves
//! (the copy of a capture) do not lead the search astray.

use std::ops::Range;

use crate::packet::Payload;
use crate::rpc::message::{CALL_HEADER, Recognised, recognise, recognise_named};

/// A fragment longer than this is not believed: no server accepts one.
pub(super) const FRAGMENT_LIMIT: usize = 1 << 26;

/// Shortest message: a denied reply is 20 bytes.
pub(super) const SHORTEST_MESSAGE: usize = 20;

/// Bytes of mark and header of a call.
pub(super) const HEAD: usize = 4 + CALL_HEADER;

/// Marks of empty fragments in a row that are passed over. RFC 5531 allows any number; bytes that are 0 look like
/// them, and nobody sends many.
pub(super) const EMPTY_LIMIT: usize = 64;

/// First bytes of a message by which it is recognised, and told from another.
pub const SEEN: usize = 512;

const LAST_FRAGMENT: u32 = 0x8000_0000;

/// First byte of the mark of a message in one fragment, shorter than 16 MiB.
const ORDINARY: u8 = 0x80;

/// What the other direction of the connection knows.
pub trait Peer {
    /// Whether a reply with this xid is waited for.
    fn waits_for(&self, xid: u32) -> bool;
    /// Whether a call with this xid was answered before `frame`, though it has not been seen whole.
    fn answered(&self, xid: u32, frame: u64) -> bool;
    /// Whether a call with this xid may come from this side, by those that were answered. `for_client`: one
    /// as servers make at their clients.
    fn may_call(&self, _xid: u32, _for_client: bool) -> bool {
        true
    }
    /// Whether the other side named this program for its callbacks.
    fn calls_back(&self, _program: u32) -> bool {
        false
    }
    /// The part that nobody will read of a message of `length` bytes that begins with these: data of a
    /// file. It begins before their end or there, and leaves [`SEEN`] bytes before it, if there are so many.
    fn unread(&self, _begun: &[u8], _length: usize) -> Option<Range<usize>> {
        None
    }
}

/// Recognises a message from this side.
fn recognise_from(message: &[u8], peer: &dyn Peer) -> Option<Recognised> {
    recognise_named(message, |program| peer.calls_back(program))
}

/// A record mark (RFC 5531 section 11).
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) length: usize,
    pub(super) last: bool,
}

impl Mark {
    pub(super) fn of(bytes: [u8; 4]) -> Self {
        let word = u32::from_be_bytes(bytes);
        Self { length: (word & !LAST_FRAGMENT) as usize, last: word & LAST_FRAGMENT != 0 }
    }

    /// Whether the fragment has no bytes, and others follow.
    pub(super) fn is_empty(self) -> bool {
        self.length == 0 && !self.last
    }

    /// Whether a fragment with bytes can be so long; `begins`: it is the first of its message.
    pub(super) fn believable(self, begins: bool) -> bool {
        self.length <= FRAGMENT_LIMIT
            && (!begins || !self.last || self.length >= SHORTEST_MESSAGE)
            && !self.is_empty()
    }
}

/// A place that the search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// Where the record mark stands.
    pub(super) at: usize,
    /// The record reaches beyond the bytes searched: what follows it must still confirm it.
    pub(super) tentative: bool,
}

/// Where the bytes that are searched come from.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    /// They begin with a segment, as most messages do.
    pub(super) segment: bool,
    /// The connection is known to carry RPC.
    pub(super) trusted: bool,
}

/// The next place at which a record begins in `bytes`, of which `length` were on the wire.
pub(super) fn search(bytes: &[u8], length: usize, origin: Origin, peer: &dyn Peer) -> Option<Hit> {
    if origin.segment && begins_in_pieces(bytes, origin, peer) {
        return Some(Hit { at: 0, tentative: false });
    }
    let places = bytes.len().saturating_sub(3 + SHORTEST_MESSAGE);
    let mut at = 0;
    while at < places {
        let rest = bytes.get(at..)?;
        // Fast: most places fail here. Message type and, of a call, the RPC version are small numbers. The last
        // of three bytes that are 0 tells of three places at once.
        match rest {
            [_, _, _, _, _, _, _, _, _, _, last, ..] if *last != 0 => at += 3,
            [_, _, _, _, _, _, _, _, 0, 0, 0, 0 | 1, 0, 0, ..] => {
                let origin = Origin { segment: at == 0 && origin.segment, ..origin };
                if let Some(tentative) = begins_record(rest, length - at, origin, peer) {
                    return Some(Hit { at, tentative });
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    None
}

/// Whether a record mark and a believable header stand at the start of `bytes`: `Some(true)` if
/// what follows the record must still confirm it.
///
/// A reply is believed by its form at the start of a segment, if the connection is trusted or the segment
/// ends with it; elsewhere only if its call waits.
fn begins_record(bytes: &[u8], length: usize, origin: Origin, peer: &dyn Peer) -> Option<bool> {
    let (mark, header) = bytes.split_first_chunk::<4>()?;
    let mark = Mark::of(*mark);
    if !mark.believable(true) || !(mark.last || origin.segment) {
        return None;
    }
    // A segment that is one message, no byte more: nothing but RPC has marks.
    let alone = origin.segment && mark.last && 4 + mark.length == length;
    match recognise_from(header.get(..mark.length).unwrap_or(header), peer)? {
        Recognised::Reply { xid } if peer.waits_for(xid) => return Some(false),
        Recognised::Reply { .. } if !(alone || origin.segment && origin.trusted) => return None,
        Recognised::Call { .. } if mark.last && mark.length < CALL_HEADER => return None,
        Recognised::Call { xid, for_client } if !peer.may_call(xid, for_client) => return None,
        _ => {}
    }
    match header.get(mark.length..) {
        // Where a segment ends, many things end: the next one must confirm it.
        _ if 4 + mark.length == length => Some(!origin.segment),
        Some(after) if mark.last => continues(after).then_some(false),
        Some(after) => {
            let next = behind_empty(after).first_chunk();
            let next = next.is_none_or(|mark| Mark::of(*mark).believable(false));
            next.then_some(!origin.segment)
        }
        // A long message of a trusted connection may lose its end as well.
        None => Some(!(origin.segment && origin.trusted)),
    }
}

/// Whether a record begins a segment whose first fragment is shorter than a header, which those behind it
/// complete (RFC 5531 section 11: a fragment has any length). Marks that lead from one to the next prove as
/// much there as what follows a record.
fn begins_in_pieces(bytes: &[u8], origin: Origin, peer: &dyn Peer) -> bool {
    let first = bytes.first_chunk().map(|mark| Mark::of(*mark));
    if !first.is_some_and(|mark| !mark.last && mark.length < CALL_HEADER) {
        return false;
    }
    let (mut header, mut rest) = (Vec::with_capacity(CALL_HEADER), bytes);
    while header.len() < CALL_HEADER
        && let Some((mark, fragment)) = rest.split_first_chunk::<4>()
    {
        let mark = Mark::of(*mark);
        if !mark.believable(false) && !mark.is_empty() {
            return false;
        }
        let (part, behind) = fragment.split_at_checked(mark.length).unwrap_or((fragment, &[]));
        header.extend(part.iter().take(CALL_HEADER - header.len()));
        if mark.last {
            break;
        }
        rest = behind;
    }
    match recognise_from(&header, peer) {
        Some(Recognised::Call { xid, for_client }) => peer.may_call(xid, for_client),
        Some(Recognised::Reply { xid }) => origin.trusted || peer.waits_for(xid),
        None => false,
    }
}

/// Whether a segment is one call, no byte more: what tells a connection that carries RPC from any other, of
/// which nothing but a segment is looked at.
pub fn is_call(payload: Payload<'_>) -> bool {
    let Payload { bytes, length } = payload;
    let Some((mark, message)) = bytes.split_first_chunk::<4>().filter(|_| may_restart(bytes)) else {
        return false;
    };
    let mark = Mark::of(*mark);
    let alone = mark.last && mark.length.checked_add(4) == Some(length) && message.len() >= CALL_HEADER;
    alone && matches!(recognise(message), Some(Recognised::Call { .. }))
}

/// Whether `bytes`, which follow a record, can be the next one, as far as they go.
///
/// Few bytes prove little: then the mark must be an ordinary one, of a message in one fragment.
pub(super) fn continues(bytes: &[u8]) -> bool {
    match behind_empty(bytes).split_first_chunk::<4>() {
        Some((mark, message)) => {
            let mark = Mark::of(*mark);
            mark.believable(true) && begins_message(message) && (mark.last || message.len() >= 8)
        }
        None => bytes.first().is_none_or(|byte| *byte == ORDINARY),
    }
}

/// Whether `bytes`, which follow the mark of an empty fragment, lead on to marks that can be, as far as they go.
/// `begins`: nothing of the message came before.
pub(super) fn leads_on(bytes: &[u8], begins: bool, peer: &dyn Peer) -> bool {
    let Some((mark, behind)) = behind_empty(bytes).split_first_chunk::<4>() else { return true };
    let mark = Mark::of(*mark);
    if mark.is_empty() || !begins {
        return mark.is_empty() || mark.believable(false);
    }
    // A message begins with its xid and type.
    if mark.length < 8 && behind.len() >= 8 {
        return begins_in_pieces(bytes, Origin { segment: false, trusted: true }, peer);
    }
    mark.believable(true) && begins_message(behind)
}

/// What stands behind the marks of empty fragments; the last of them, if nothing does.
fn behind_empty(mut bytes: &[u8]) -> &[u8] {
    for _ in 0..EMPTY_LIMIT {
        match bytes {
            [0, 0, 0, 0, rest @ ..] if !rest.is_empty() => bytes = rest,
            _ => break,
        }
    }
    bytes
}

/// Whether `bytes` can be the beginning of a message, as far as they go: a call of RPC version 2, or
/// a reply.
pub(super) fn begins_message(bytes: &[u8]) -> bool {
    match bytes {
        [_, _, _, _, 0, 0, 0, 0, version @ ..] => {
            version.first_chunk::<4>().is_none_or(|word| *word == [0, 0, 0, 2])
        }
        [_, _, _, _, kind @ ..] => kind.first_chunk::<4>().is_none_or(|word| *word == [0, 0, 0, 1]),
        _ => true,
    }
}

/// Whether `bytes` may be those of which [`restarts`] tells: most are not.
#[inline]
pub(super) fn may_restart(bytes: &[u8]) -> bool {
    matches!(bytes, [_, _, _, _, _, _, _, _, 0, 0, 0, 0 | 1, ..])
}

/// Whether a segment that begins with `bytes` begins a new record, though a mark before claims it for
/// the message of which `buffered` is there: the mark was wrong, or that was no message.
///
/// Only what cannot be otherwise counts: a reply whose call waits; a call after the reply to the message
/// that is said to go on; or a call where that message is doubtful, since nothing confirmed the search
/// that found it (`tentative`), or its own header is none that is known.
pub(super) fn restarts(bytes: &[u8], buffered: &[u8], tentative: bool, frame: u64, peer: &dyn Peer) -> bool {
    let Some((mark, header)) = bytes.split_first_chunk::<4>().filter(|_| may_restart(bytes)) else {
        return false;
    };
    let mark = Mark::of(*mark);
    if !mark.believable(true) {
        return false;
    }
    match recognise_from(header.get(..mark.length).unwrap_or(header), peer) {
        Some(Recognised::Reply { xid }) => peer.waits_for(xid),
        Some(Recognised::Call { xid, for_client }) if !peer.may_call(xid, for_client) => false,
        Some(Recognised::Call { .. }) => match recognise(buffered) {
            _ if tentative => true,
            Some(Recognised::Call { xid, .. }) => peer.answered(xid, frame),
            Some(Recognised::Reply { xid }) => !peer.waits_for(xid),
            None => true,
        },
        None => false,
    }
}
