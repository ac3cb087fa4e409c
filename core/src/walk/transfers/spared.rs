//! Calls that could have been left out, with what they cost.

use super::Transfer;

/// Calls, and what they took of the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spared {
    /// How many.
    pub calls: u64,
    /// Their shares of the clock, ns.
    pub share: i64,
    /// The client's own time beside them, ns.
    pub pause: i64,
    /// Their first frames, in order, as many as are told.
    pub frames: Vec<u64>,
}

/// Frames that are told.
const EXAMPLES: usize = 5;

impl Spared {
    /// Adds a call.
    pub(super) fn add(&mut self, transfer: &Transfer) {
        self.calls += 1;
        self.share = self.share.saturating_add(transfer.share);
        self.pause = self.pause.saturating_add(transfer.pause);
        let place = self.frames.partition_point(|frame| *frame <= transfer.frame);
        if place < EXAMPLES {
            self.frames.insert(place, transfer.frame);
            self.frames.truncate(EXAMPLES);
        }
    }
}
