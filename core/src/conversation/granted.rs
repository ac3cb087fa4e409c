//! Between whom a callback was agreed: the client and server of the calls that it is about.
//!
//! A server calls its client from whatever address it has, at whatever address the client named (RFC 7530
//! section 16.33; RFC 8881 section 2.10.5), so that the connection does not tell. What a callback names does:
//! the delegation, by its handle and stateid; of NLM, who waits for a lock of the file; the session.
//!
//! Takes calls with what they granted. Where two pairs of a client and a server were granted the same, it
//! tells nothing of either.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::nfs::Walk;

/// What was granted, of each generation: with as much again the older one is forgotten.
const GRANTED_LIMIT: usize = 1 << 15;

/// `nlm4_stats` (RFC 1813 section 6.1.1): the lock will be granted by a callback.
const BLOCKED: u32 = 3;

/// Stands for several pairs.
const SEVERAL: u32 = u32::MAX;

/// What was granted to whom, by hashes of what names it.
#[derive(Default)]
pub(super) struct Granted {
    /// Delegations, and locks that are waited for.
    objects: Latest,
    /// Told once for each connection: what is granted in a session does not push it out.
    sessions: Latest,
}

/// Numbers of a client and server by what was granted to them, the latest of it.
#[derive(Default)]
struct Latest {
    young: HashMap<u64, u32, RandomState>,
    old: HashMap<u64, u32, RandomState>,
    hasher: RandomState,
}

impl Granted {
    /// Takes a call with its reply between a client and a server, which have a number: whether its connection now
    /// is of another session.
    #[inline]
    pub(super) fn learn(&mut self, mount: u32, walk: &Walk<'_>, known: &mut Option<Box<[u8; 16]>>) -> bool {
        let Some(first) = walk.operations.first().map(|done| &done.facts) else { return false };
        // Others name a session for connections that it only calls back on (BIND_CONN_TO_SESSION).
        let another =
            first.session.as_ref() != known.as_deref() && first.slot.is_some() && first.status == Some(0);
        if another {
            *known = first.session.map(Box::new);
            self.sessions.put(first.session, mount);
        }
        if walk.operations.iter().any(|done| done.facts.rare.is_some()) {
            self.learn_rare(mount, walk);
        }
        another
    }

    #[inline(never)]
    fn learn_rare(&mut self, mount: u32, walk: &Walk<'_>) {
        // What OPEN granted a delegation of is what the client asks the handle of (GETFH).
        let handle =
            walk.operations.iter().rev().find_map(|done| done.facts.new_handle.or(done.facts.handle));
        let Some(handle) = handle else { return };
        for done in &walk.operations {
            if let Some(delegation) = done.facts.rare().delegation_stateid {
                self.objects.put((handle, delegation.other), mount);
            }
            if let Some(owner) = done.facts.rare().lock_owner
                && walk.status == Some(BLOCKED)
            {
                self.objects.put((handle, owner.number, owner.name), mount);
            }
        }
    }

    /// The number of the client and server that a callback belongs to, if it tells.
    pub(super) fn of_callback(&self, walk: &Walk<'_>) -> Option<u32> {
        let by_what = walk.operations.iter().find_map(|done| {
            let facts = &done.facts;
            let handle = facts.handle?;
            let delegation = facts.stateid.and_then(|stateid| self.objects.get((handle, stateid.other)));
            let owner = facts.rare().lock_owner;
            delegation
                .or_else(|| owner.and_then(|owner| self.objects.get((handle, owner.number, owner.name))))
        });
        by_what.or_else(|| {
            let session = walk.operations.first()?.facts.session;
            session.and_then(|_| self.sessions.get(session))
        })
    }
}

impl Latest {
    fn put(&mut self, what: impl Hash, mount: u32) {
        if self.young.len() >= GRANTED_LIMIT {
            self.old = std::mem::take(&mut self.young);
        }
        let what = self.hasher.hash_one(what);
        let before = self.young.get(&what).or_else(|| self.old.get(&what));
        let only = before.is_none_or(|before| *before == mount);
        self.young.insert(what, if only { mount } else { SEVERAL });
    }

    fn get(&self, what: impl Hash) -> Option<u32> {
        let what = self.hasher.hash_one(what);
        let found = self.young.get(&what).or_else(|| self.old.get(&what)).copied();
        found.filter(|mount| *mount != SEVERAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_known() {
        let mut granted = Latest::default();
        for what in 0..=2 * GRANTED_LIMIT as u32 {
            granted.put(what, what % 7);
        }
        assert_eq!(granted.get(0_u32), None);
        for what in [GRANTED_LIMIT as u32, 2 * GRANTED_LIMIT as u32] {
            assert_eq!(granted.get(what), Some(what % 7));
        }
        assert!(granted.young.len() + granted.old.len() <= 2 * GRANTED_LIMIT);
    }

    #[test]
    fn what_several_were_granted_is_of_none_also_once_it_is_old() {
        let mut granted = Latest::default();
        for mount in [1, 1, 2, 1] {
            granted.put("what", mount);
        }
        assert_eq!(granted.get("what"), None);
        for what in 0..GRANTED_LIMIT as u32 {
            granted.put(what, 3);
        }
        granted.put("what", 1);
        assert_eq!(granted.get("what"), None);
    }
}
