//! Whether one side of a connection stood still since the other's window was full, and for how long.
//!
//! Takes the windows that a receiver announced in ACKs without data, scaled (RFC 7323 section 2.3), and how
//! far the sender's data had come by then. The sender may send up to the right edge of the last window that
//! it has seen (RFC 9293 section 3.8.6). Where data has come up to there, it sent all that it was allowed to,
//! and stood until it saw a later one.
//!
//! Which window it can have seen goes by the capture point: one that was announced a round trip between
//! capture point and sender ago, or earlier. At the sender that is next to nothing, and the data under way
//! fills the window as it does for the sender itself. At the receiver nothing seems to be under way, for all
//! that comes is acknowledged at once; but each window is filled up to its edge one round trip later. So the
//! edges of the last round trip are kept. What came was sent within one epoch, a round trip to the sender:
//! where its end touched the edge, the epoch counts.
//!
//! Promises that memory is bounded: [`KEPT`] edges, once an ACK took in several segments at once; and that an
//! epoch in which something was sent again counts for nothing, since a sender waits then for something else.

use crate::stream::seq::SeqNumber;
use crate::stream::timing::Times;

/// Edges kept: those of a round trip, one each [`GRAIN`]th part of it.
const KEPT: usize = 10;

/// The parts of a round trip of which one edge each is kept.
const GRAIN: i64 = 8;

/// A longer round trip to the sender varies, and with it what the sender can have seen …
const FAR_NS: i64 = 1_000_000;

/// … by this part of a window at most, in the time of which as much is sent.
const PART: i64 = 8;

/// Segments that an ACK takes in before anything is kept of a direction: calls and replies of usual size
/// fill no window.
const SEGMENTS: i64 = 2;

/// An edge, and when it was announced.
#[derive(Clone, Copy, Debug, Default)]
struct Edge {
    time_ns: i64,
    acknowledged: SeqNumber,
    window: u32,
}

/// An ACK without data, and what had come of the other side's data before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// When it came.
    pub(super) time_ns: i64,
    /// The end of what it acknowledges.
    pub(super) acknowledged: SeqNumber,
    /// The window that it announces, scaled, bytes.
    pub(super) window: u32,
    /// The end of what had come in order.
    pub(super) came: SeqNumber,
    /// When the receiver last acknowledged more, or the first byte came that it had not.
    pub(super) since_ns: i64,
    /// Bytes that it acknowledges anew.
    pub(super) newly: i64,
    /// Bytes of a full segment.
    pub(super) segment: i64,
    /// The shortest round trip between capture point and sender; 0 where none is known.
    pub(super) lag_ns: i64,
    /// When anything was last sent again on the connection.
    pub(super) resent_ns: i64,
}

/// The windows of a receiver, and for how long its sender stood at their edge. Most never fill.
#[derive(Clone, Debug, Default)]
pub struct FullWindows(Option<Box<Known>>);

#[derive(Clone, Debug, Default)]
struct Known {
    /// The last edges, in a ring: `count` of them, the oldest at `first`.
    edges: [Edge; KEPT],
    first: usize,
    count: usize,
    /// When the epoch began.
    from_ns: i64,
    /// The window whose edge was touched in it.
    touched: Option<u32>,
    /// What was acknowledged when the epoch began.
    acknowledged: SeqNumber,
    stood_ns: i64,
    /// Bytes that were acknowledged in epochs that count.
    bytes: u64,
    /// The windows that were full, an epoch each.
    full: Times,
    largest: u32,
}

impl FullWindows {
    /// Takes an ACK.
    pub(super) fn told(&mut self, told: &Told) {
        match &mut self.0 {
            Some(known) => known.told(told),
            // What is smaller tells nothing yet.
            None if told.newly >= SEGMENTS * told.segment => {
                self.0.get_or_insert_default().begin(told);
            }
            None => {}
        }
    }

    /// For how long the sender stood at the edge, nanoseconds.
    pub fn stood_ns(&self) -> i64 {
        self.0.as_ref().map_or(0, |known| known.stood_ns)
    }

    /// Bytes that the sender moved in that time.
    pub fn bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |known| known.bytes)
    }

    /// The usual window that was full, bytes: the median; `None` where none was.
    pub fn usual(&self) -> Option<u32> {
        self.0.as_ref()?.full.median()
    }

    /// The largest window that was announced once data moved, bytes; `None` where none moved.
    pub fn largest(&self) -> Option<u32> {
        self.0.as_ref().map(|known| known.largest)
    }
}

impl Known {
    fn begin(&mut self, told: &Told) {
        (self.from_ns, self.acknowledged) = (told.time_ns, told.acknowledged);
        self.announced(told);
    }

    fn told(&mut self, told: &Told) {
        if self.touched.is_none() {
            self.touched = self.seen(told.time_ns.saturating_sub(told.lag_ns)).and_then(|edge| {
                let at_edge = touches(&edge, told);
                at_edge.then_some(edge.window)
            });
        }
        let lasted_ns = told.time_ns.saturating_sub(self.from_ns);
        if lasted_ns >= told.lag_ns || lasted_ns < 0 {
            self.end(told);
        }
        let since_ns = self.newest().map_or(i64::MAX, |edge| told.time_ns.saturating_sub(edge.time_ns));
        if since_ns >= told.lag_ns / GRAIN || since_ns < 0 {
            self.announced(told);
        }
    }

    /// Ends the epoch.
    fn end(&mut self, told: &Told) {
        if let Some(window) = self.touched.take()
            && told.resent_ns < self.from_ns
        {
            // Before data was under way, as the sender saw it, it had nothing to send.
            let from_ns = self.from_ns.max(told.since_ns.saturating_sub(told.lag_ns));
            let stood_ns = told.time_ns.saturating_sub(from_ns).max(0);
            self.stood_ns = self.stood_ns.saturating_add(stood_ns);
            let bytes = told.acknowledged.ahead_of(self.acknowledged).max(0);
            self.bytes = self.bytes.saturating_add(bytes.cast_unsigned());
            self.full.add(window);
        }
        (self.from_ns, self.acknowledged) = (told.time_ns, told.acknowledged);
    }

    fn announced(&mut self, told: &Told) {
        let Told { time_ns, acknowledged, window, .. } = *told;
        self.largest = self.largest.max(window);
        if self.count == KEPT {
            self.first = (self.first + 1) % KEPT;
            self.count -= 1;
        }
        if let Some(place) = self.edges.get_mut((self.first + self.count) % KEPT) {
            *place = Edge { time_ns, acknowledged, window };
            self.count += 1;
        }
    }

    fn newest(&self) -> Option<Edge> {
        let last = self.count.checked_sub(1)?;
        self.edges.get((self.first + last) % KEPT).copied()
    }

    /// The newest edge that was announced by a time.
    fn seen(&self, until_ns: i64) -> Option<Edge> {
        let place = |back| (self.first + self.count - 1 - back) % KEPT;
        let newest_first = (0..self.count).filter_map(|back| self.edges.get(place(back)));
        newest_first.copied().find(|edge| edge.time_ns <= until_ns)
    }
}

/// Whether what had come ends at an edge: no segment more fits, and none less.
///
/// What goes beyond it shows that the sender had seen a later one, of which nothing is kept: that may be by
/// the grain alone. A window of 0 is no full one: it is counted by itself.
fn touches(edge: &Edge, told: &Told) -> bool {
    let window = i64::from(edge.window);
    let part = if told.lag_ns > FAR_NS { window / PART } else { 0 };
    let short = told.segment.max(part).min(window / 2);
    let under_way = told.came.ahead_of(edge.acknowledged);
    window > 0 && (window - short..=window + told.segment.max(window / GRAIN)).contains(&under_way)
}
