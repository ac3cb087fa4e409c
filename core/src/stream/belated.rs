//! What of a direction came in the capture after the other side had acknowledged it: the clocks of the two
//! directions are then apart.
//!
//! Takes acknowledgements of what had not come, and what comes; tells how much of it came too late, and by
//! how much. One acknowledgement after the other is looked at, so that this takes the same memory of any
//! number.

use crate::stream::seq::SeqNumber;

/// What came later than its acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Belated {
    /// Segments of which all had been acknowledged.
    pub segments: u32,
    /// How often it was measured by how much one came later.
    measured: u32,
    /// The sum of that, nanoseconds.
    later_ns: i64,
    /// An acknowledgement of what had not come, and when that was, until it comes.
    ahead: Option<(SeqNumber, i64)>,
}

impl Belated {
    /// By how much on average, nanoseconds.
    pub fn lead_ns(&self) -> Option<i64> {
        self.later_ns.checked_div(i64::from(self.measured))
    }

    /// Whether something was acknowledged that has not come.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        self.ahead.is_some()
    }

    /// Takes an acknowledgement of what has not come.
    pub(super) fn acknowledged(&mut self, end: SeqNumber, time_ns: i64) {
        self.ahead.get_or_insert((end, time_ns));
    }

    /// Takes that no more is acknowledged than has come, or was given up: an acknowledgement of more was damaged.
    pub(super) fn forget(&mut self) {
        self.ahead = None;
    }

    /// Takes what comes now, from `sequence` up to `until`; the highest acknowledgement is given with its time.
    #[cold]
    pub(super) fn came(
        &mut self,
        sequence: SeqNumber,
        until: SeqNumber,
        now_ns: i64,
        (acknowledged, acknowledged_ns): (SeqNumber, i64),
    ) {
        // Where the file has its packets in disorder, what comes later in it may be earlier.
        let late = acknowledged.ahead_of(until) >= 0 && now_ns > acknowledged_ns;
        if late {
            self.segments = self.segments.saturating_add(1);
            self.acknowledged(acknowledged, acknowledged_ns);
        }
        let Some((end, since_ns)) = self.ahead else { return };
        // FIN counts as one more.
        if until.ahead_of(end) < -1 {
            return;
        }
        if late && end.ahead_of(sequence) > 0 {
            self.measured = self.measured.saturating_add(1);
            self.later_ns = self.later_ns.saturating_add(now_ns.saturating_sub(since_ns));
        }
        let more = acknowledged.ahead_of(until) > 1;
        self.ahead = more.then_some((acknowledged, acknowledged_ns));
    }
}
