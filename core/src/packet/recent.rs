//! Segments with data that came a moment ago, by what tells each from all others: kept also while nobody looks
//! for copies, so that the first copy is found.
//!
//! Takes a number for each segment, and its time. It is in the way of every packet: one number is written to one
//! place, over what was there.

/// Segments remembered, each in a place that its number chooses. Copies follow within a few dozen packets; of so
/// many in between, hardly one comes to the same place.
const PLACES: usize = 1 << 9;

/// The segments of the last moment.
pub(super) struct Recent(Box<[(u64, i64); PLACES]>);

impl Default for Recent {
    fn default() -> Self {
        Self(Box::new([(0, 0); PLACES]))
    }
}

impl Recent {
    /// Takes a segment.
    #[inline]
    pub(super) fn take(&mut self, print: u64, time_ns: i64) {
        if let Some(place) = self.0.get_mut(print as usize % PLACES) {
            *place = (print, time_ns);
        }
    }

    /// Whether one with this number came within so long.
    pub(super) fn has(&self, print: u64, patience_ns: u64, now_ns: i64) -> bool {
        let known = self.0.get(print as usize % PLACES);
        known.is_some_and(|(known, time_ns)| *known == print && time_ns.abs_diff(now_ns) <= patience_ns)
    }
}
