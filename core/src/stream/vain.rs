//! Who asked whom for a connection in vain: whom, how often, and from when to when.
//!
//! Takes connections that were asked for and never came about; gives one entry for each client and port
//! of a server, those first that went on longest. A flood of SYNs makes no more of them than
//! [`VAIN_LIMIT`].

use std::cmp::Reverse;
use std::net::{IpAddr, SocketAddr};

use crate::stream::Connection;

/// Pairs of a client and a server's port that are told, those that went on longest; the others are
/// counted (`vain_limit`).
pub const VAIN_LIMIT: usize = 64;

/// What one client asked of one port of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vain {
    /// Who asked.
    pub client: IpAddr,
    /// Who was asked.
    pub server: SocketAddr,
    /// Attempts, those before on the way to the last one included.
    pub attempts: u64,
    /// SYNs.
    pub syns: u64,
    /// Resets by which they were answered.
    pub refusals: u64,
    /// When the first SYN was sent.
    pub first_ns: i64,
    /// When the last one was.
    pub last_ns: i64,
    /// The first frame of the last attempt.
    pub frame: u64,
}

impl Vain {
    /// What a connection tells that was asked for.
    fn of(connection: &Connection) -> Option<Self> {
        let (opener, last_ns) = connection.syn?;
        let opening = &connection.opening;
        Some(Self {
            client: connection.ends.of(opener).ip(),
            server: *connection.ends.of(opener.other()),
            attempts: u64::from(opening.attempts) + 1,
            syns: u64::from(opening.syns_before) + u64::from(opening.syns),
            refusals: u64::from(opening.refusals),
            first_ns: opening.attempted_ns.or(opening.first_ns)?.min(last_ns),
            last_ns,
            frame: connection.first.frame,
        })
    }

    /// Takes in another of the same pair.
    fn join(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.syns += other.syns;
        self.refusals += other.refusals;
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.frame = self.frame.max(other.frame);
    }
}

/// Puts together what was asked for in vain, those first that went on longest; and how many pairs are
/// left out.
pub fn vain<'c>(unopened: impl Iterator<Item = &'c Connection>) -> (Vec<Vain>, u64) {
    let mut each: Vec<Vain> = unopened.filter_map(Vain::of).collect();
    each.sort_unstable_by_key(|vain| (vain.client, vain.server, vain.frame));
    each.dedup_by(|next, kept| {
        let same = (next.client, next.server) == (kept.client, kept.server);
        if same {
            kept.join(next);
        }
        same
    });
    each.sort_by_key(|vain| Reverse(vain.last_ns.saturating_sub(vain.first_ns)));
    let left_out = each.len().saturating_sub(VAIN_LIMIT) as u64;
    each.truncate(VAIN_LIMIT);
    (each, left_out)
}
