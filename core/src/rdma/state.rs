//! What is known of each direction, and of messages that are under way.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use super::Way;
use super::header::Segment;
use super::memory::Region;
use super::queue::Queue;
use super::told::{Beside, Message};
use crate::error::Reason;
use crate::packet::{Roce, Target};
use crate::stream::assembler::Stamp;

/// What one host sends to another.
#[derive(Default)]
pub(super) struct Traffic {
    pub(super) queues: BTreeMap<u32, Direction>,
    /// Requests of the sender to read from the receiver's memory.
    pub(super) reads: VecDeque<Read>,
}

/// What goes to one queue pair.
#[derive(Default)]
pub(super) struct Direction {
    pub(super) queue: Queue,
    pub(super) message: Option<Parts>,
    pub(super) write: Option<(Target, usize)>,
    /// The queue pair of the sender.
    pub(super) peer: Option<u32>,
    /// The port of the service that the sender asked for.
    pub(super) port: Option<u16>,
    pub(super) ends: Option<(SocketAddr, SocketAddr)>,
    pub(super) calls: VecDeque<u32>,
    /// Sequence numbers that ended messages, and when they were sent.
    pub(super) sent: VecDeque<(u32, i64)>,
}

/// A message that is sent in pieces.
pub(super) struct Parts {
    pub(super) bytes: Vec<u8>,
    pub(super) length: usize,
    pub(super) limit: Option<Reason>,
    pub(super) first: Stamp,
}

impl Parts {
    pub(super) fn begin(first: Stamp) -> Self {
        Self { bytes: Vec::new(), length: 0, limit: None, first }
    }

    /// The message, once its last piece is there.
    pub(super) fn whole(&self) -> Whole<'_> {
        let limit = self.limit.unwrap_or(Reason::Truncated);
        Whole { bytes: &self.bytes, length: self.length, limit, first: self.first }
    }
}

/// All that was sent of a message.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) length: usize,
    pub(super) limit: Reason,
    pub(super) first: Stamp,
}

impl<'a> Whole<'a> {
    /// The message that this is, complete with the packet `last`.
    pub(super) fn message(
        self,
        (source, destination): (SocketAddr, SocketAddr),
        beside: Option<Beside<'a>>,
        last: Stamp,
    ) -> Message<'a> {
        let Self { bytes, length, limit, first } = self;
        Message { source, destination, bytes, beside, length, limit, first, last }
    }
}

/// A request to read.
pub(super) struct Read {
    pub(super) sequence: u32,
    /// That of the next answer.
    pub(super) next: u32,
    pub(super) target: Target,
    /// Bytes that came.
    pub(super) came: usize,
}

/// A call of which the server is to read something that is kept: all of it, or data.
pub(super) struct LongCall {
    pub(super) way: Way,
    pub(super) queue_pair: u32,
    pub(super) source: SocketAddr,
    pub(super) xid: u32,
    /// Where that lies.
    pub(super) segments: Vec<Segment>,
    pub(super) body: Body,
    pub(super) first: Stamp,
    /// The packet that completed what was sent.
    pub(super) sent: Stamp,
}

/// What else there is of such a call.
pub(super) enum Body {
    /// Nothing; it has more data, of this length, at a position.
    ToRead(Option<(usize, usize)>),
    /// What was sent, and where in it the data belong.
    Sent { bytes: Vec<u8>, length: usize, limit: Reason, position: usize },
}

impl Body {
    /// Bytes that are kept of it.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::ToRead(_) => 0,
            Self::Sent { bytes, .. } => bytes.len(),
        }
    }
}

/// A connection that was asked for.
pub(super) struct Asked {
    pub(super) way: Way,
    pub(super) id: u32,
    pub(super) queue_pair: u32,
    pub(super) port: Option<u16>,
}

/// A packet, or one that waited.
#[derive(Clone, Copy)]
pub(super) struct Sent<'p> {
    pub(super) packet: Roce<'p>,
    /// When its turn came.
    pub(super) stamp: Stamp,
}

impl Sent<'_> {
    pub(super) fn way(&self) -> Way {
        (self.packet.source.ip(), self.packet.destination.ip())
    }
}

/// What lay in segments.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) bytes: Vec<u8>,
    pub(super) length: usize,
    pub(super) limit: Option<Reason>,
    pub(super) first: Option<Stamp>,
}

impl Gathered {
    pub(super) fn add(&mut self, region: &Region, size: usize) {
        self.length += size;
        if self.limit.is_some() {
            return;
        }
        self.first = self.first.or(region.first);
        self.bytes.extend_from_slice(region.bytes.get(..size).unwrap_or(&region.bytes));
        if region.bytes.len() < size {
            self.limit = Some(region.limit.unwrap_or(Reason::Missing));
        }
    }

    /// These as data beside a message, of which there are so many: all of them are kept, or none.
    pub(super) fn beside(&self, position: Option<usize>, length: usize) -> Beside<'_> {
        Beside { position, length, bytes: if self.bytes.len() == length { &self.bytes } else { &[] } }
    }

    /// The same of a reply, of which there is at least what the header that announces it says: which call
    /// it answers.
    pub(super) fn or_only_answers(mut self, xid: u32) -> Self {
        let told = [xid.to_be_bytes(), 1_u32.to_be_bytes()].concat();
        if self.bytes.len() < told.len() && told.len() <= self.length {
            self.bytes = told;
        }
        self
    }

    /// The message that this is.
    pub(super) fn message<'a>(
        &'a self,
        ends: (SocketAddr, SocketAddr),
        beside: Option<Beside<'a>>,
        (first, last): (Stamp, Stamp),
    ) -> Message<'a> {
        // A reply lies there before it is said to.
        let first = self.first.filter(|came| came.frame < first.frame).unwrap_or(first);
        let limit = self.limit.unwrap_or(Reason::Truncated);
        Whole { bytes: &self.bytes, length: self.length, limit, first }.message(ends, beside, last)
    }
}
