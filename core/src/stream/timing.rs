//! How long acknowledgements take: the round trip between the capture point and the end that sends them.
//!
//! Takes the segments that continued a direction and the acknowledgements of the other side; gives
//! times from data to the first ACK that covers it. Promises that no time is taken from data that may
//! have been sent twice, came out of order or followed a gap (RFC 6298 section 3, Karn's rule), and that
//! memory is bounded: a few segments under way and a fixed number of times in each direction.
//!
//! An ACK that comes alone says most: it takes a round trip, and up to half a second more where the
//! receiver delays it (RFC 1122 section 4.2.3.2). One that comes with data took a round trip and what
//! the end did meanwhile: a server's service time, or the client's thinking. So the two are kept apart,
//! and what they tell are low quantiles. The timestamps option (RFC 7323) would not help: its clock ticks
//! every millisecond, and it cannot tell when a delayed ACK could have gone. (What a path becomes longer by many
//! ticks it tells: so calls have the clock of their replies.)

use crate::stream::course::{Answers, Course, Slower};
use crate::stream::seq::SeqNumber;

/// Segments under way that are remembered. Later ones are passed over until an ACK makes room.
const UNDER_WAY: usize = 8;

/// Times kept of one kind: when there are more, every second one, then every fourth …
const KEPT: usize = 64;

/// An ACK that took this much longer than the quickest one is taken for delayed. Linux and BSD delay by
/// 40 ms or more, which a coarse timer (100 Hz) shortens by up to 10 ms.
const DELAY_NS: u32 = 30_000_000;

/// No ACK is delayed for longer (RFC 1122 section 4.2.3.2).
const DELAYED_MOST_NS: u32 = 500_000_000;

/// The data of a direction that waits for its acknowledgement.
#[derive(Clone, Copy, Default)]
pub(super) struct UnderWay {
    /// Where segments ended; `count` of them from `first` on, in a ring.
    ends: [SeqNumber; UNDER_WAY],
    /// When they were seen. (A list of pairs would take a half more.)
    times_ns: [i64; UNDER_WAY],
    first: u8,
    count: u8,
    /// Places of those after which segments were passed over, a bit each.
    passed_over: u8,
}

impl UnderWay {
    /// A segment continued the stream.
    #[inline]
    pub(super) fn sent(&mut self, end: SeqNumber, time_ns: i64) {
        let at = usize::from(self.first + self.count) % UNDER_WAY;
        match (self.ends.get_mut(at), self.times_ns.get_mut(at)) {
            (Some(place), Some(time)) if usize::from(self.count) < UNDER_WAY => {
                (*place, *time) = (end, time_ns);
                self.count += 1;
            }
            _ => self.passed_over |= 1 << Self::before(at),
        }
    }

    /// The place before another in the ring.
    fn before(at: usize) -> usize {
        (at + UNDER_WAY - 1) % UNDER_WAY
    }

    /// Reads from all of it.
    #[inline]
    pub(super) fn fetch(&self) -> u64 {
        let [end, ..] = self.ends;
        let [.., time_ns] = self.times_ns;
        u64::from(end.0) ^ time_ns.cast_unsigned() ^ u64::from(self.first)
    }

    /// Nothing that is under way can be timed any more.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.count = 0;
        self.passed_over = 0;
    }

    /// Everything before `until` was received: when the last of it was sent, where that is known.
    #[inline]
    pub(super) fn acknowledged(&mut self, until: SeqNumber) -> Option<i64> {
        if self.count == 0 { None } else { self.received(until) }
    }

    fn received(&mut self, until: SeqNumber) -> Option<i64> {
        let (begin, mut latest) = (self.first, None);
        while self.count > 0 {
            let first = usize::from(self.first);
            let (end, time_ns) = (*self.ends.get(first)?, *self.times_ns.get(first)?);
            if until.ahead_of(end) < 0 {
                break;
            }
            latest = Some((end, time_ns));
            self.first = (self.first + 1) % UNDER_WAY as u8;
            self.count -= 1;
        }
        let (end, time_ns) = latest?;
        // What was passed over may have caused this ACK.
        let sure = self.passed_over == 0 || !self.leave(begin) || end == until;
        sure.then_some(time_ns)
    }

    /// Forgets what was passed over after those received, from the place `begin` on: whether that was after
    /// the latest of them.
    #[cold]
    fn leave(&mut self, begin: u8) -> bool {
        let latest = Self::before(usize::from(self.first));
        let passed_over = self.passed_over & 1 << latest != 0;
        let received = (latest + UNDER_WAY - usize::from(begin)) % UNDER_WAY + 1;
        self.passed_over &= !(u8::MAX >> (UNDER_WAY - received)).rotate_left(begin.into());
        passed_over
    }
}

/// Times of one kind: how many, the least, and a systematic sample of them.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// How many there were.
    pub count: u64,
    least: u32,
    kept: Vec<u32>,
    /// One of so many, a power of two, is kept: this is one less.
    passed: u32,
}

impl Times {
    /// Whether nothing of a time in nanoseconds would be kept but that there was one more.
    #[inline]
    fn passes(&self, ns: u32) -> bool {
        !self.is_next() && ns >= self.least
    }

    /// Whether the next time is one of those that are kept.
    #[inline]
    fn is_next(&self) -> bool {
        self.count as u32 & self.passed == 0
    }

    /// Takes a time in nanoseconds.
    pub(super) fn add(&mut self, ns: u32) {
        self.least = if self.count == 0 { ns } else { self.least.min(ns) };
        if self.is_next() {
            self.keep(ns);
        }
        self.count += 1;
    }

    fn keep(&mut self, ns: u32) {
        if self.kept.len() >= KEPT {
            let mut even = false;
            self.kept.retain(|_| {
                even = !even;
                even
            });
            self.passed = self.passed << 1 | 1;
            if !self.is_next() {
                return;
            }
        }
        self.kept.push(ns);
    }

    /// The least; `None` without any.
    pub fn least(&self) -> Option<i64> {
        (self.count > 0).then_some(i64::from(self.least))
    }

    /// The median of those kept.
    pub(super) fn median(&self) -> Option<u32> {
        self.quantile(50, u32::MAX).and_then(|value| u32::try_from(value).ok())
    }

    /// The value below which `percent` of the kept times lie that are at most `span` above the least.
    fn quantile(&self, percent: usize, span: u32) -> Option<i64> {
        let most = self.least.saturating_add(span);
        let mut near: Vec<u32> = self.kept.iter().copied().filter(|ns| *ns <= most).collect();
        near.sort_unstable();
        // The least may not be among those kept.
        near.get(near.len() * percent / 100).copied().map(i64::from).or(self.least())
    }
}

/// Times of nothing.
static NONE: Times = Times { count: 0, least: 0, kept: Vec::new(), passed: 0 };

/// How an ACK came.
#[derive(Clone, Copy, Default)]
pub(super) struct Came {
    /// With data.
    pub(super) with_data: bool,
    /// Alone, for two full-sized segments or more.
    pub(super) full: bool,
    /// Alone, soon after another.
    pub(super) soon: bool,
}

/// How long one end took to acknowledge what the other sent.
///
/// Most connections of a scan or a flood never show it, so it has its memory once there is something.
#[derive(Clone, Debug, Default)]
pub struct AckTimes(Option<Box<Known>>);

#[derive(Clone, Debug, Default)]
struct Known {
    alone: Times,
    with_data: Times,
    /// ACKs that came alone for two full-sized segments or more.
    full: u64,
    /// ACKs that came alone soon after another.
    soon: u64,
    course: Course,
}

impl AckTimes {
    /// ACKs that came alone.
    #[inline]
    pub fn alone(&self) -> &Times {
        self.0.as_ref().map_or(&NONE, |known| &known.alone)
    }

    /// ACKs that came with data.
    pub fn with_data(&self) -> &Times {
        self.0.as_ref().map_or(&NONE, |known| &known.with_data)
    }

    /// Whether an ACK that comes alone, so long after what it acknowledges, was delayed: others were quicker by
    /// what that takes. Where there are none, nothing tells.
    #[inline]
    pub(super) fn is_delayed(&self, took_ns: i64) -> bool {
        let delayed = i64::from(DELAY_NS)..=i64::from(DELAYED_MOST_NS);
        took_ns >= i64::from(DELAY_NS)
            && self.quickest().is_some_and(|least| delayed.contains(&(took_ns - least)))
    }

    /// The shortest time of any ACK.
    #[inline]
    pub(super) fn quickest(&self) -> Option<i64> {
        self.alone().least().into_iter().chain(self.with_data().least()).min()
    }

    /// Takes an acknowledgement that came at a time, of what was sent at another. Of what it took 4.3 s are
    /// kept. A negative time shows that clocks differ, or that the capture is disordered, and says nothing.
    #[inline]
    pub(super) fn add(&mut self, time_ns: i64, sent_ns: i64, came: Came) {
        if let Some(known) = &mut self.0
            && let times = if came.with_data { &mut known.with_data } else { &mut known.alone }
            && let Ok(ns) = u32::try_from(time_ns.wrapping_sub(sent_ns))
            && times.passes(ns)
            && known.course.goes_on(time_ns, ns)
        {
            times.count += 1;
            known.full += u64::from(came.full);
            known.soon += u64::from(came.soon);
        } else {
            self.keep(time_ns, sent_ns, came);
        }
    }

    /// The same of one of which something is to be kept: a call at the end is no more than a jump.
    #[cold]
    #[inline(never)]
    fn keep(&mut self, time_ns: i64, sent_ns: i64, came: Came) {
        let took_ns = time_ns.saturating_sub(sent_ns);
        let Ok(ns) = u32::try_from(took_ns.min(i64::from(u32::MAX))) else { return };
        let known = self.0.get_or_insert_default();
        if !known.course.goes_on(time_ns, ns) {
            let so_far = known.answers();
            known.course.add(time_ns, ns, so_far);
        }
        let times = if came.with_data { &mut known.with_data } else { &mut known.alone };
        times.add(ns);
        known.full += u64::from(came.full);
        known.soon += u64::from(came.soon);
    }

    /// When even the quickest took much longer than others before or after.
    pub fn slower(&self) -> Option<Slower> {
        let known = self.0.as_ref()?;
        known.course.slower(known.answers())
    }

    /// The lower quartile of the ACKs that came alone and were not delayed: a usual round trip.
    ///
    /// Captured at both ends of one connection, this is what a call takes longer at its client: the
    /// median holds the load of the end besides, and the least is too good.
    pub fn prompt(&self) -> Option<i64> {
        self.alone().quantile(25, DELAY_NS)
    }

    /// The 5th percentile of the ACKs that came with data: no round trip takes longer as a rule.
    pub fn turn(&self) -> Option<i64> {
        self.with_data().quantile(5, u32::MAX)
    }

    /// A usual round trip to this side. Where all its ACKs without data were delayed, those with data are
    /// quicker.
    pub(super) fn usual(&self) -> Option<i64> {
        self.prompt().into_iter().chain(self.turn()).min()
    }
}

impl Known {
    fn answers(&self) -> Answers {
        let Self { alone, with_data, full, soon, .. } = self;
        Answers { alone: alone.count, with_data: with_data.count, full: *full, soon: *soon }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: i64 = 1_000_000;

    fn times(all: impl IntoIterator<Item = u32>) -> Times {
        let mut times = Times::default();
        all.into_iter().for_each(|ns| times.add(ns));
        times
    }

    #[test]
    fn an_ack_is_timed_from_the_last_segment_that_it_covers() {
        let mut under_way = UnderWay::default();
        under_way.sent(SeqNumber(u32::MAX), 10);
        under_way.sent(SeqNumber(100), 20);
        under_way.sent(SeqNumber(200), 30);
        assert_eq!(under_way.acknowledged(SeqNumber(u32::MAX - 1)), None);
        assert_eq!(under_way.acknowledged(SeqNumber(150)), Some(20));
        assert_eq!(under_way.acknowledged(SeqNumber(150)), None, "the first ACK alone counts");
        assert_eq!(under_way.acknowledged(SeqNumber(200)), Some(30));
    }

    #[test]
    fn an_ack_of_segments_that_are_not_remembered_says_nothing() {
        let mut under_way = UnderWay::default();
        for i in 1..=20 {
            under_way.sent(SeqNumber(100 * i), i64::from(i));
        }
        assert_eq!(under_way.acknowledged(SeqNumber(300)), Some(3));
        assert_eq!(under_way.acknowledged(SeqNumber(1500)), None);
        under_way.sent(SeqNumber(2100), 21);
        assert_eq!(under_way.acknowledged(SeqNumber(2000)), None);
        assert_eq!(under_way.acknowledged(SeqNumber(2100)), Some(21));
        under_way.sent(SeqNumber(2200), 22);
        under_way.forget();
        assert_eq!(under_way.acknowledged(SeqNumber(2200)), None);
    }

    #[test]
    fn an_ack_of_segments_between_those_that_are_remembered_says_nothing() {
        let mut under_way = UnderWay::default();
        let send = |under_way: &mut UnderWay, numbers: std::ops::RangeInclusive<u32>| {
            numbers.for_each(|i| under_way.sent(SeqNumber(100 * i), i64::from(i)));
        };
        send(&mut under_way, 1..=12);
        assert_eq!(under_way.acknowledged(SeqNumber(200)), Some(2));
        send(&mut under_way, 13..=20);
        assert_eq!(under_way.acknowledged(SeqNumber(1000)), None, "8 was received, but 9 and 10 later");
        assert_eq!(under_way.acknowledged(SeqNumber(1200)), None, "12 was passed over");
        assert_eq!(under_way.acknowledged(SeqNumber(1350)), Some(13));
        assert_eq!(under_way.acknowledged(SeqNumber(1400)), Some(14));
        assert_eq!(under_way.acknowledged(SeqNumber(1600)), None);
        send(&mut under_way, 21..=21);
        assert_eq!(under_way.acknowledged(SeqNumber(2100)), Some(21));
    }

    #[test]
    fn delayed_acks_are_left_out() {
        let mut times = AckTimes::default();
        for ns in [41 * MS, 210_000, 43 * MS, 200_000, 220_000, 40 * MS, 230_000, 49 * MS] {
            times.add(ns, 0, Came::default());
        }
        assert_eq!(
            (times.alone().count, times.alone().least(), times.prompt()),
            (8, Some(200_000), Some(210_000))
        );
        assert_eq!(times.turn(), None);
        times.add(900_000, 0, Came { with_data: true, ..Came::default() });
        assert_eq!(times.turn(), Some(900_000));
    }

    #[test]
    fn an_ack_is_delayed_where_others_were_much_quicker() {
        let mut times = AckTimes::default();
        assert!(!times.is_delayed(40 * MS), "nothing tells how long the path is");
        times.add(200_000, 0, Came { with_data: true, ..Came::default() });
        assert!(times.is_delayed(40 * MS) && times.is_delayed(500 * MS));
        assert!(!times.is_delayed(30 * MS) && !times.is_delayed(501 * MS));
        let mut far = AckTimes::default();
        far.add(80 * MS, 0, Came::default());
        assert!(!far.is_delayed(100 * MS) && far.is_delayed(120 * MS));
    }

    #[test]
    fn many_times_are_thinned_and_keep_their_shape() {
        let times = times((0..100_000).map(|i| i * 7919 % 100_000));
        assert!(times.kept.len() <= KEPT && times.kept.len() >= KEPT / 2);
        assert_eq!((times.count, times.least()), (100_000, Some(0)));
        let median = times.quantile(50, u32::MAX).unwrap();
        assert!((35_000..65_000).contains(&median), "{median}");
    }

    #[test]
    fn a_time_that_cannot_be_is_none() {
        let mut times = AckTimes::default();
        times.add(0, 5, Came::default());
        assert_eq!(times.alone().least(), None);
        times.add(i64::MAX, -1, Came::default());
        times.add(7, 0, Came::default());
        assert_eq!(times.alone().least(), Some(7));
    }

    proptest! {
        #[test]
        fn what_an_ack_is_timed_from_is_the_last_segment_that_it_covers(
            steps in prop::collection::vec((0_u32..6, 0_u32..80), 1..200),
        ) {
            let (mut under_way, mut sent, mut received) = (UnderWay::default(), 0, 0);
            for (segments, bytes) in steps {
                for _ in 0..segments {
                    sent += 1;
                    under_way.sent(SeqNumber(sent * 10), i64::from(sent));
                }
                received = (received + bytes).min(sent * 10);
                if let Some(time_ns) = under_way.acknowledged(SeqNumber(received)) {
                    prop_assert_eq!(time_ns, i64::from(received / 10));
                }
            }
        }
    }
}
