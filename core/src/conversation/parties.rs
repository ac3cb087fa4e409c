//! Who talks on a connection, and what its calls look like.

use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use super::trunks::{Ends, Held};
use crate::names::ServerId;
use crate::names::paths::text;
use crate::roles::Carried;
use crate::rpc::caller::Caller;
use crate::rpc::pairing::Sibling;
use crate::stream::assembler::Stamp;
use crate::stream::seq::SeqNumber;
use crate::stream::{Side, Sides};
use crate::table::columns::Word;

/// Longest handle of any version of NFS (RFC 7530 section 2.1, `NFS4_FHSIZE`).
const LONGEST_HANDLE: usize = 128;

/// Where the last reply of each side ended in its stream, and when that came.
type Replied = Sides<Option<(SeqNumber, i64)>>;

/// Who talks on a connection.
pub(super) struct Parties {
    pub(super) addresses: Sides<Word>,
    pub(super) ends: Sides<SocketAddr>,
    /// Numbers of those that were called.
    pub(super) servers: Sides<Option<ServerId>>,
    /// Numbers of the pairs of client and server, by the side of the client.
    pub(super) mounts: Sides<Option<u32>>,
    /// The side of the NFS client, once a call told it.
    pub(super) client: Option<Side>,
    /// The side with a port on which RPC is expected.
    pub(super) server_port: Option<Side>,
    /// RPC is expected on the other side's port, too: they do not tell who serves.
    pub(super) same_ports: bool,
    /// The host that the last call with AUTH_SYS named.
    pub(super) machine: Word,
    pub(super) siblings: Box<[Sibling]>,
    /// Of calls with a lower number the client had the reply when another connection began; of those whose numbers
    /// do not fit, nobody asks.
    pub(super) received: u32,
    /// When its first packet came, nanoseconds since 1970.
    pub(super) began_ns: i64,
    /// Each side as it calls.
    pub(super) callers: Sides<Caller>,
    /// The highest xid that each side called with.
    pub(super) highest_xid: Sides<Option<u32>>,
    /// Where the last reply of each side ended in its stream, and when that came.
    pub(super) replied: Option<Box<Replied>>,
    /// Where in the last call the first handle stood. A client's calls are much alike, so the handle
    /// of the next call is probably there too.
    pub(super) handle_at: Option<NonZeroU32>,
    /// It became TLS.
    pub(super) sealed: Option<Sealed>,
    /// What it carried of NFS.
    pub(super) carried: Carried,
    /// The session of its last calls that told one.
    pub(super) session: Option<Box<[u8; 16]>>,
    /// A call told whose it is, so that all others are of the same client and server.
    pub(super) settled: bool,
    /// What came before that.
    pub(super) held: Vec<Held>,
}

impl Parties {
    /// Reads from all that a message needs.
    #[inline]
    pub(super) fn fetch(&self) {
        let texts = self.addresses.low.text().len() ^ self.addresses.high.text().len() ^ self.siblings.len();
        black_box((texts, self.handle_at, self.ends.low.port()));
    }

    /// Whether a call with this xid may come from a side; `for_client`: one as servers make at their clients.
    pub(super) fn may_call(&self, side: Side, xid: u32, for_client: bool) -> bool {
        let (caller, other) = (self.callers.of(side), self.callers.of(side.other()));
        let by_port = self.server_port == Some(side) && !self.same_ports;
        let serves = other.calls() || by_port && !caller.calls();
        caller.may_call(xid) && (for_client || !serves)
    }

    /// The addresses of the client, at this side, and the server.
    pub(super) fn ends_from(&self, client: Side) -> Ends {
        let [client, server]: [IpAddr; 2] = [client, client.other()].map(|side| self.ends.of(side).ip());
        (client, server)
    }

    /// Takes the host that a call names.
    #[inline]
    pub(super) fn names(&mut self, named: &[u8]) {
        if self.machine.text().as_bytes() != named {
            self.machine.set(&text(named));
        }
    }

    /// What is most often the first handle of a call, or no handle at all.
    #[inline]
    pub(super) fn probable_handle<'a>(&self, call: &'a [u8]) -> Option<&'a [u8]> {
        let (before, rest) = call.split_at_checked(self.handle_at?.get() as usize)?;
        let length = before.last_chunk::<4>().map(|length| u32::from_be_bytes(*length) as usize);
        rest.get(..length.filter(|length| *length <= LONGEST_HANDLE)?)
    }
}

/// Where in `bytes` a part of it begins.
pub(super) fn offset_in(bytes: &[u8], part: &[u8]) -> Option<usize> {
    let offset = part.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
    (offset <= bytes.len()).then_some(offset)
}

/// What is seen of a connection under TLS.
#[derive(Clone, Copy)]
pub(super) struct Sealed {
    pub(super) since: Stamp,
    pub(super) bytes: u64,
}
