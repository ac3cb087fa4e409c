//! What the packets of RDMA tell: messages, what was acknowledged, what was sent again.

use std::net::SocketAddr;

use crate::error::Reason;
use crate::stream::assembler::Stamp;

/// An RPC message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    /// Who sent it.
    pub(crate) source: SocketAddr,
    /// To whom.
    pub(crate) destination: SocketAddr,
    /// Its bytes, without data that were moved beside it.
    pub(crate) bytes: &'a [u8],
    /// What was moved beside it.
    pub(crate) beside: Option<Beside<'a>>,
    /// Its length on the wire, without that.
    pub(crate) length: usize,
    /// Why `bytes` are fewer, if they are.
    pub(crate) limit: Reason,
    /// The packet with its first byte.
    pub(crate) first: Stamp,
    /// The packet that completed it.
    pub(crate) last: Stamp,
}

impl Message<'_> {
    /// Its length with what was moved beside it, and the padding of that.
    pub(crate) fn whole(&self) -> usize {
        self.length + self.beside.map_or(0, |beside| beside.length.next_multiple_of(4))
    }
}

/// Data that RDMA moved beside a message (RFC 8166 section 3.4): the message has their length alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beside<'a> {
    /// Where in the message they belong; a reply does not say it.
    pub(crate) position: Option<usize>,
    /// How many bytes.
    pub(crate) length: usize,
    /// All of them, where they are few enough to be a name; else none.
    pub(crate) bytes: &'a [u8],
}

/// What packets tell.
pub(crate) enum Told<'a> {
    /// A message.
    Message(Message<'a>),
    /// The destination has received a message, and acknowledged it.
    Acknowledged {
        /// Who sent the message.
        source: SocketAddr,
        /// Who received it.
        destination: SocketAddr,
        /// When it was sent.
        sent_ns: i64,
        /// When the acknowledgement came.
        time_ns: i64,
    },
    /// A packet was sent again.
    Again {
        /// Who sent it.
        source: SocketAddr,
        /// To whom.
        destination: SocketAddr,
        /// When.
        time_ns: i64,
    },
}
