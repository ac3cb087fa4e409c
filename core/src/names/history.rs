//! When objects came, were of use, and went: what tells whether two handles lead to one file.

use crate::names::FileId;
use crate::names::forgetting::retain;

/// Number of a call among those that names were learnt from, from 1; 0: never.
pub(super) type Tick = u32;

/// A modification time, as far as two of them are to be told apart; 0: not seen. Its lowest bit is free.
pub(super) type Stamp = u32;

/// In [`Use`], beside the modification time: the call that was last of use told it.
const TOLD: Stamp = 1;

/// What is known of the life of each object.
#[derive(Default)]
pub(super) struct History {
    now: Tick,
    /// Apart from the rest, since it is written with each call.
    uses: Vec<Use>,
    lives: Vec<Life>,
}

/// What each call on an object changes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Use {
    /// When a call on it last succeeded, or a listing named it.
    pub until: Tick,
    /// Its modification time when last seen, with [`TOLD`].
    modified: Stamp,
}

impl Use {
    /// Its modification time when last seen.
    pub(super) fn modified(self) -> Stamp {
        self.modified & !TOLD
    }

    /// When that was, where it is known: with the call that was last of use.
    pub(super) fn last_told(self) -> Option<Tick> {
        (self.modified & TOLD != 0).then_some(self.until)
    }
}

/// What seldom changes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    /// When its handle was first seen.
    pub since: Tick,
    /// When it lost its last name, or was found stale; 0: it did not.
    pub gone: Tick,
    /// Its modification time when first seen.
    pub first_modified: Stamp,
    /// When that was; 0: never.
    pub first_told: Tick,
    /// How many names denote it now.
    pub names: u32,
    /// A call of the capture made it: nothing that was there before is the same object.
    pub born: bool,
}

impl History {
    /// Another call begins.
    pub(super) fn next_call(&mut self) {
        self.now = self.now.saturating_add(1);
    }

    /// Another object is known.
    pub(super) fn add(&mut self) {
        self.uses.push(Use::default());
        self.lives.push(Life::default());
    }

    /// Leaves out the objects that are not kept.
    pub(super) fn retain(&mut self, keep: &[bool]) {
        retain(&mut self.uses, keep);
        retain(&mut self.lives, keep);
    }

    pub(super) fn usage(&self, id: FileId) -> Use {
        self.uses.get(id as usize).copied().unwrap_or_default()
    }

    pub(super) fn life(&self, id: FileId) -> Life {
        self.lives.get(id as usize).copied().unwrap_or_default()
    }

    /// Its handle was seen.
    pub(super) fn began(&mut self, id: FileId) {
        let now = self.now;
        self.change(id, |life| life.since = now);
    }

    /// A call made it.
    pub(super) fn was_made(&mut self, id: FileId) {
        self.change(id, |life| life.born = true);
    }

    /// A call on it succeeded, or a listing named it.
    #[inline]
    pub(super) fn was_used(&mut self, id: FileId) {
        if let Some(usage) = self.uses.get_mut(id as usize)
            && usage.until != self.now
        {
            *usage = Use { until: self.now, modified: usage.modified() };
        }
    }

    /// Its modification time was seen.
    #[inline]
    pub(super) fn was_modified(&mut self, id: FileId, time_ns: i64) {
        // In microseconds, as NFSv2 tells it: a file may have handles of several versions.
        let time = (time_ns / 1000).cast_unsigned();
        let stamp = ((((time >> 32) ^ time) as u32) << 1).max(TOLD << 1);
        let now = self.now;
        let Some(usage) = self.uses.get_mut(id as usize) else { return };
        let told = if usage.until == now { TOLD } else { 0 };
        let before = std::mem::replace(&mut usage.modified, stamp | told);
        if before == 0 {
            self.change(id, |life| (life.first_modified, life.first_told) = (stamp, now));
        }
    }

    /// A name denotes it from now on. Gives how many names did before.
    pub(super) fn got_name(&mut self, id: FileId) -> u32 {
        self.change(id, |life| {
            life.names += 1;
            life.gone = 0;
        });
        self.life(id).names.saturating_sub(1)
    }

    /// A name denotes it no more.
    pub(super) fn lost_name(&mut self, id: FileId) {
        let now = self.now;
        self.change(id, |life| {
            life.names = life.names.saturating_sub(1);
            if life.names == 0 {
                life.gone = now;
            }
        });
    }

    /// The server said that the handle leads nowhere.
    pub(super) fn went_stale(&mut self, id: FileId) {
        let now = self.now;
        self.change(id, |life| life.gone = now);
    }

    /// A handle that was stale works again: the server was away for a while.
    pub(super) fn came_back(&mut self, id: FileId) {
        self.change(id, |life| life.gone = 0);
    }

    fn change(&mut self, id: FileId, change: impl FnOnce(&mut Life)) {
        if let Some(life) = self.lives.get_mut(id as usize) {
            change(life);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_cache_holds_the_uses_of_eight_objects() {
        assert_eq!(size_of::<Use>(), 8);
    }
}
