//! Calls of the lock manager that another call answers: `*_MSG` and `*_RES`, in pairs by the cookie in
//! both (X/Open C702 chapter 10).
//!
//! Takes the calls as they come, and what is replied to them at once: nothing, if anything, which says only
//! that the message arrived, and many do not send that either. Gives the answer that each call is to be
//! paired with: the call that brings its status, or, where none comes, the empty reply.
//!
//! A cookie counts between two hosts and of one procedure: hosts count theirs from the same number.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::cursor::Cursor;
use crate::error::{DecodeError, Layer};
use crate::nfs::side::nlm;
use crate::rpc::message::{AcceptStatus, Call, Head, ReplyStatus, unwrap_body, xid_of_reply};
use crate::rpc::pairing::Kept;
use crate::rpc::program::NLM;
use crate::rpc::record::Record;
use crate::stream::{ConnectionId, Side};

/// Calls whose answer is waited for; of the oldest beyond them the empty reply is all that comes.
const WAITING_LIMIT: usize = 1 << 10;

/// TEST_MSG to GRANTED_MSG; each has its answer five procedures further on, TEST_RES to GRANTED_RES.
const FIRST: u32 = 6;
const LAST: u32 = 10;
const TO_ANSWER: u32 = 5;

/// A call: its connection, the side that sent it, and its xid.
pub(super) type Place = (ConnectionId, Side, u32);

/// What an answer has in common with its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Asked {
    caller: IpAddr,
    called: IpAddr,
    procedure: u32,
    /// Hash of the cookie.
    cookie: u64,
}

/// A call without answer, or one whose empty reply is still to come.
struct Waiting {
    asked: Asked,
    /// The empty reply, which came before the answer.
    empty: Option<Kept>,
    answered: bool,
}

/// The calls that wait for an answer.
#[derive(Default)]
pub(super) struct Asynchronous {
    waiting: HashMap<Place, Waiting, RandomState>,
    by_cookie: HashMap<Asked, Place, RandomState>,
    /// In the order in which they came; also some that have both answers by now.
    order: VecDeque<Place>,
    hasher: RandomState,
    /// Answers to be paired with their calls.
    due: Vec<(Place, Kept)>,
}

impl Asynchronous {
    /// Takes a call that is new, sent between these hosts.
    #[inline]
    pub(super) fn call(&mut self, place: Place, [from, to]: [IpAddr; 2], head: &Head, record: &Record<'_>) {
        if !self.waiting.is_empty() {
            // What waited there under this xid has all that it gets.
            self.give_up(place);
        }
        if head.program == NLM && (FIRST..=LAST + TO_ANSWER).contains(&head.procedure) {
            self.take(place, [from, to], head.procedure, record);
        }
    }

    #[cold]
    #[inline(never)]
    fn take(&mut self, place: Place, [from, to]: [IpAddr; 2], procedure: u32, record: &Record<'_>) {
        // What is cut before its cookie ends has no answer, and is none.
        let Ok(cookie) = arguments(record).and_then(|mut c| nlm::cookie(&mut c).map(<[u8]>::to_vec)) else {
            return;
        };
        let cookie = self.hasher.hash_one(cookie);
        if procedure <= LAST {
            self.ask(place, Asked { caller: from, called: to, procedure, cookie });
        } else {
            let asked = Asked { caller: to, called: from, procedure: procedure - TO_ANSWER, cookie };
            if let Some(place) = self.by_cookie.remove(&asked)
                && let Some(waiting) = self.waiting.get_mut(&place)
            {
                waiting.answered = true;
                let seen = waiting.empty.take().is_some();
                if seen {
                    self.waiting.remove(&place);
                }
                self.due.push((place, Kept::beginning(record)));
            }
        }
    }

    fn ask(&mut self, place: Place, asked: Asked) {
        while self.order.len() >= WAITING_LIMIT
            && let Some(oldest) = self.order.pop_front()
        {
            if let Some(empty) = self.give_up(oldest) {
                self.due.push((oldest, empty));
            }
        }
        self.order.push_back(place);
        self.by_cookie.insert(asked, place);
        self.waiting.insert(place, Waiting { asked, empty: None, answered: false });
    }

    /// Takes a reply: whether it is an empty one, of a call that waits for its answer or has it.
    #[inline]
    pub(super) fn reply(&mut self, place: Place, record: &Record<'_>) -> bool {
        !self.waiting.is_empty() && self.is_empty_reply(place, record)
    }

    #[cold]
    #[inline(never)]
    fn is_empty_reply(&mut self, place: Place, record: &Record<'_>) -> bool {
        let Some(waiting) = self.waiting.get_mut(&place) else { return false };
        if waiting.answered {
            self.waiting.remove(&place);
            return true;
        }
        // Who refuses a call does not answer it by another one.
        let arrived = matches!(
            ReplyStatus::of_message(&mut record.cursor()),
            Ok(ReplyStatus::Accepted(AcceptStatus::SUCCESS))
        );
        if arrived {
            waiting.empty.get_or_insert_with(|| Kept::beginning(record));
        } else {
            self.give_up(place);
        }
        arrived
    }

    /// Waits no longer for an answer to a call: its empty reply, if it came.
    pub(super) fn give_up(&mut self, place: Place) -> Option<Kept> {
        let waiting = self.waiting.remove(&place)?;
        if self.by_cookie.get(&waiting.asked) == Some(&place) {
            self.by_cookie.remove(&waiting.asked);
        }
        waiting.empty
    }

    /// Whether any call is to be paired with its answer.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The next call that is to be paired with its answer.
    pub(super) fn next_due(&mut self) -> Option<(Place, Kept)> {
        self.due.pop()
    }
}

/// The status that a call brings, if this record, with which one of NLM was paired, is no reply but a call.
pub(super) fn status_in(record: &Record<'_>) -> Option<Result<u32, DecodeError>> {
    xid_of_reply(record.bytes).is_none().then(|| {
        let mut c = arguments(record)?;
        nlm::cookie(&mut c)?;
        c.u32()
    })
}

/// The arguments of a call.
fn arguments<'a>(record: &'a Record<'_>) -> Result<Cursor<'a>, DecodeError> {
    let mut c = record.cursor();
    let (header, stop) = Call::of_message(&mut c)?;
    stop.map_or(Ok(()), Err)?;
    unwrap_body(&mut c, &header.credential, Layer::Call)
}
