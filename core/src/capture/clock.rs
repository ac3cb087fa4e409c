//! Times that packets state → times that they can have been captured at.
//!
//! A capturing host whose clock is set back, or a byte that is damaged in one packet's time, makes calls
//! that take years or less than nothing, and what is summed up tells nothing any more. Packets are written
//! in the order in which they came. So a time that is far from that of the packet before, and from those of
//! nearly all that follow, is no time: that of the packet before stands for it. Where those that follow have
//! gone back with it, the clock was set back: times are counted on from there.
//!
//! Where times go to and fro between two moments, as around a pause whose packets the capture mixed up, each
//! is believed: [`crate::order`] puts them in order.
//!
//! A clock that is set forward is told from a pause by others ([`super::timestamps`]). Nothing is said of
//! times that go back by less than [`USUAL_NS`]: a capturing host mixes up packets, and two directions may have
//! clocks of their own. Calls between which the clock was set back by less are left without their replies
//! (`rpc/pairing.rs`).
//!
//! Takes the time of each packet, and of those to come where one is odd; gives the time to go by.

use std::collections::VecDeque;

const SECOND_NS: i64 = 1_000_000_000;

/// As far as this from the packet before, a time is not looked at.
pub(super) const USUAL_NS: i64 = SECOND_NS;

/// Packets to come that are asked, where there are so many.
pub(super) const ASKED: usize = 16;

/// Bytes that are looked at for them, so that they fit into the window.
pub(super) const LOOKED_AHEAD: usize = 128 << 10;

/// One in so many of them may have an odd time itself.
const ODD_ONES: usize = 8;

/// A first packet so long before those that follow was not captured then.
const LONGEST_PAUSE_NS: i64 = 31 * 86_400 * SECOND_NS;

/// Times that a clock is set back at most, and forward. One that is set more often is not one clock.
const SET_LIMIT: u64 = 16;

/// So often times go between two moments, among those of the next packets and the latest [`REMEMBERED`] jumps of as
/// many packets as [`MIXED_WITHIN`], where packets are mixed up. Damage, a pause and a clock that is set make one or
/// two.
const MIXED: usize = 4;

/// See [`MIXED`].
const REMEMBERED: usize = 8;

/// See [`MIXED`].
const MIXED_WITHIN: u64 = 64;

/// Times are below 2^62 ns, whatever a file says, and with this still have room.
const LARGEST_SHIFT_NS: i64 = 1 << 62;

/// How often a capture's clock was set back, or forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// How often.
    pub times: u64,
    /// By how much, in all.
    pub by_ns: i64,
    /// The packet of the file, from 1, before which it was the first time; 0 for never.
    pub packet: u64,
}

/// The longest pause of a capture of which nothing tells whether its clock was set forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untold {
    /// How long.
    pub by_ns: i64,
    /// The packet of the file, from 1, behind it; 0 for none.
    pub packet: u64,
}

/// Before the first packet; no time is near it.
const NEVER: i64 = i64::MIN;

/// Two moments, between which the times of neighbours jumped at a packet.
#[derive(Clone, Copy)]
struct Jump {
    packet: u64,
    moments: (i64, i64),
}

/// The clock of one file, as its packets tell it.
pub(super) struct Clock {
    /// The time of the packet before, as far as it is believed, or [`NEVER`].
    last_ns: i64,
    /// Added to all times from here on: what the clock was set back by, less what it was set forward by, here
    /// or in the files before.
    shift_ns: i64,
    set_back: Set,
    set_forward: Set,
    untold: Untold,
    /// Packets whose times cannot be.
    mistimed: u64,
    /// The latest jumps; the next one takes the place of the first.
    jumps: VecDeque<Jump>,
}

impl Clock {
    pub(super) fn new() -> Self {
        let (never, untold) = (Set::default(), Untold::default());
        let jumps = VecDeque::new();
        Self { last_ns: NEVER, shift_ns: 0, set_back: never, set_forward: never, untold, mistimed: 0, jumps }
    }

    /// Takes the next packet's time, if it is near that of the packet before, as nearly all are.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    pub(super) fn goes_on(&mut self, time_ns: i64) -> bool {
        let usual = near(time_ns, self.last_ns);
        if usual {
            self.last_ns = time_ns;
        }
        usual
    }

    /// Whether a time is near that of the packet before.
    pub(super) fn near(&self, time_ns: i64) -> bool {
        near(time_ns, self.last_ns)
    }

    /// What is to be added to the times that are believed; they are no larger than can be written then.
    #[inline]
    pub(super) fn shift_ns(&self) -> i64 {
        self.shift_ns
    }

    /// Goes on from a file before, of the same clock.
    pub(super) fn go_on_from(&mut self, shift_ns: i64) {
        self.shift_ns = shift_ns;
    }

    /// Packets whose times cannot be: that of the packet before stands for each.
    pub(super) fn mistimed(&self) -> u64 {
        self.mistimed
    }

    /// How often it was set back.
    pub(super) fn set_back(&self) -> Set {
        self.set_back
    }

    /// How often it was set forward.
    pub(super) fn set_forward(&self) -> Set {
        self.set_forward
    }

    /// The longest pause of which nothing tells.
    pub(super) fn untold(&self) -> Untold {
        self.untold
    }

    /// Nothing tells whether it was set forward before this packet, behind so long a pause.
    pub(super) fn note_untold(&mut self, packet: u64, by_ns: i64) {
        if by_ns > self.untold.by_ns {
            self.untold = Untold { by_ns, packet };
        }
    }

    /// The time of the packet before; `None` for the first one.
    pub(super) fn last_ns(&self) -> Option<i64> {
        (self.last_ns != NEVER).then_some(self.last_ns)
    }

    /// Another capture begins in the same file: its clock is another, too.
    pub(super) fn begin(&mut self) {
        self.last_ns = NEVER;
        self.jumps.clear();
    }

    /// Takes the time of a packet, the `packet`th of its file, that is not near that of the packet before,
    /// and those of packets that follow it. Gives the time to go by.
    pub(super) fn doubt(&mut self, packet: u64, time_ns: i64, coming: &[i64]) -> i64 {
        let last_ns = self.last_ns;
        let before_ns = if last_ns == NEVER {
            coming.iter().copied().find(|coming| !near(*coming, time_ns))
        } else {
            Some(last_ns)
        };
        if before_ns.is_some_and(|before_ns| self.goes_to_and_fro(packet, (before_ns, time_ns), coming)) {
            return self.take(time_ns, time_ns);
        }
        if last_ns == NEVER {
            return self.first(time_ns, coming);
        }
        let believed = if time_ns > last_ns {
            if alone_behind(coming, time_ns) { last_ns } else { time_ns }
        } else if nearly_all(coming, |coming| coming >= last_ns.saturating_sub(USUAL_NS)) {
            last_ns
        } else {
            let gone_back = nearly_all(coming, |coming| coming < last_ns.saturating_sub(USUAL_NS));
            if gone_back && self.set_back.times < SET_LIMIT {
                self.note(packet, last_ns.saturating_sub(time_ns));
            }
            time_ns
        };
        self.take(time_ns, believed)
    }

    /// Whether times go to and fro between these two.
    fn goes_to_and_fro(&mut self, packet: u64, (one, other): (i64, i64), coming: &[i64]) -> bool {
        let moments = (one.min(other), one.max(other));
        let alike = |jump: &&Jump| {
            packet.saturating_sub(jump.packet) <= MIXED_WITHIN
                && near(jump.moments.0, moments.0)
                && near(jump.moments.1, moments.1)
        };
        let passed = self.jumps.iter().filter(alike).count();
        if self.jumps.len() == REMEMBERED {
            self.jumps.pop_front();
        }
        self.jumps.push_back(Jump { packet, moments });
        let at = |time_ns: &i64| (near(*time_ns, moments.0), near(*time_ns, moments.1));
        let mut at_one: Vec<bool> =
            coming.iter().map(at).filter(|(one, other)| one != other).map(|(one, _)| one).collect();
        at_one.dedup();
        passed + at_one.len().saturating_sub(1) >= MIXED
    }

    /// The first packet's time, of which only those that follow can tell.
    fn first(&mut self, time_ns: i64, coming: &[i64]) -> i64 {
        let long_before = |coming: i64| coming > time_ns.saturating_add(LONGEST_PAUSE_NS);
        let behind = |coming: i64| coming < time_ns.saturating_sub(USUAL_NS);
        let usual = if nearly_all(coming, behind) {
            coming.iter().copied().find(|coming| behind(*coming))
        } else if nearly_all(coming, long_before) {
            coming.iter().copied().find(|coming| long_before(*coming))
        } else {
            None
        };
        self.take(time_ns, usual.unwrap_or(time_ns))
    }

    fn take(&mut self, time_ns: i64, believed_ns: i64) -> i64 {
        self.last_ns = believed_ns;
        // One that was set back too often, so that it was not counted any more, may be before 1970 by it.
        self.shift_ns = self.shift_ns.max(-believed_ns.max(0));
        self.mistimed += u64::from(time_ns != believed_ns);
        believed_ns
    }

    /// It was set back.
    fn note(&mut self, packet: u64, by_ns: i64) {
        self.shift_ns = self.shift_ns.saturating_add(by_ns).min(LARGEST_SHIFT_NS);
        self.set_back.note(packet, by_ns);
    }

    /// Timestamps tell that it was set forward before this packet, which was believed.
    pub(super) fn note_forward(&mut self, packet: u64, by_ns: i64) {
        if self.set_forward.times < SET_LIMIT {
            self.shift_ns = self.shift_ns.saturating_sub(by_ns).max(-LARGEST_SHIFT_NS);
            self.set_forward.note(packet, by_ns);
        }
    }
}

impl Set {
    fn note(&mut self, packet: u64, by_ns: i64) {
        self.by_ns = self.by_ns.saturating_add(by_ns);
        if self.times == 0 {
            self.packet = packet;
        }
        self.times += 1;
    }
}

/// Whether times are no further apart than usual.
#[inline]
fn near(one_ns: i64, other_ns: i64) -> bool {
    one_ns.wrapping_sub(other_ns).unsigned_abs() <= USUAL_NS.unsigned_abs()
}

/// Whether a packet's time lies behind those that follow it. Nobody knows that of the last one.
fn alone_behind(coming: &[i64], time_ns: i64) -> bool {
    !coming.is_empty() && nearly_all(coming, |coming| coming < time_ns.saturating_sub(USUAL_NS))
}

/// Whether nearly all packets that follow are where this time is, or later: there are not two clocks.
pub(super) fn stay(coming: &[i64], time_ns: i64) -> bool {
    nearly_all(coming, |coming| coming >= time_ns.saturating_sub(USUAL_NS))
}

fn nearly_all(coming: &[i64], so: impl Fn(i64) -> bool) -> bool {
    coming.iter().filter(|coming| !so(**coming)).count() <= coming.len() / ODD_ONES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Believes or doubts each of these times, seconds, as a reader does; gives those to go by.
    fn through(clock: &mut Clock, stated_s: &[i64]) -> Vec<i64> {
        let stated: Vec<i64> = stated_s.iter().map(|seconds| seconds * SECOND_NS).collect();
        let mut believed = Vec::new();
        for (at, time_ns) in stated.iter().copied().enumerate() {
            let coming = stated.get(at + 1..).unwrap_or_default();
            let coming = coming.get(..ASKED.min(coming.len())).unwrap_or_default();
            let time_ns =
                if clock.goes_on(time_ns) { time_ns } else { clock.doubt(at as u64 + 1, time_ns, coming) };
            believed.push(time_ns.saturating_add(clock.shift_ns()) / SECOND_NS);
        }
        believed
    }

    const NOW: i64 = 1_800_000_000;

    fn at(offsets: &[i64]) -> Vec<i64> {
        offsets.iter().map(|offset| NOW + offset).collect()
    }

    #[test]
    fn a_time_that_all_others_contradict_is_that_of_the_packet_before() {
        for odd in [5_000, -5_000, -NOW, i64::MAX / SECOND_NS - NOW] {
            let mut clock = Clock::new();
            assert_eq!(through(&mut clock, &at(&[0, 1, odd, 2, 3, 9])), at(&[0, 1, 1, 2, 3, 9]), "{odd}");
            assert_eq!((clock.mistimed(), clock.set_back()), (1, Set::default()));
        }
    }

    #[test]
    fn of_the_first_packet_those_behind_it_tell() {
        let mut clock = Clock::new();
        assert_eq!(through(&mut clock, &at(&[5_000, 7, 8, 9])), at(&[7, 7, 8, 9]));
        assert_eq!(through(&mut Clock::new(), &at(&[-NOW, 7, 8, 9])), at(&[7, 7, 8, 9]));
        let pause = [0, 86_400, 86_401];
        assert_eq!(through(&mut Clock::new(), &at(&pause)), at(&pause));
    }

    #[test]
    fn the_last_packet_may_have_come_later_but_not_before() {
        assert_eq!(through(&mut Clock::new(), &at(&[0, 1, 500])), at(&[0, 1, 500]));
        assert_eq!(through(&mut Clock::new(), &at(&[0, 1, -500])), at(&[0, 1, 1]));
    }

    #[test]
    fn what_is_odd_does_not_hide_what_else_is() {
        let odd = [0, 900, 1, 2, -900, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
        let mut clock = Clock::new();
        let believed = through(&mut clock, &at(&odd));
        assert_eq!(believed.get(..6), Some(at(&[0, 0, 1, 2, 2, 3]).as_slice()));
        assert_eq!(clock.mistimed(), 2);
    }

    #[test]
    fn times_are_counted_on_where_the_clock_was_set_back() {
        let mut clock = Clock::new();
        assert_eq!(through(&mut clock, &at(&[0, 1, 2, -58, -57, -56])), at(&[0, 1, 2, 2, 3, 4]));
        let set_back = Set { times: 1, by_ns: 60 * SECOND_NS, packet: 4 };
        assert_eq!((clock.mistimed(), clock.set_back()), (0, set_back));
    }

    #[test]
    fn another_capture_has_another_clock() {
        let mut clock = Clock::new();
        through(&mut clock, &at(&[0, 1, 2]));
        clock.begin();
        assert_eq!(through(&mut clock, &at(&[-58, -57])), at(&[-58, -57]));
        assert_eq!(clock.set_back(), Set::default());
    }

    #[test]
    fn what_was_mixed_up_in_one_capture_excuses_nothing_in_the_next() {
        let mut clock = Clock::new();
        let mixed = [0, 600, 0, 601, 0, 600, 0, 602, 603];
        assert_eq!(through(&mut clock, &at(&mixed)), at(&mixed));
        clock.begin();
        assert_eq!(through(&mut clock, &at(&[0, 1, 600, 2, 3, 9])), at(&[0, 1, 1, 2, 3, 9]));
        assert_eq!(clock.mistimed(), 1);
    }

    #[test]
    fn times_of_packets_that_were_mixed_up_around_a_pause_are_believed() {
        let mixed = [0, 0, 600, 0, 601, 600, 0, 600, 0, 0, 601, 0, 600, 0, 601, 601, 600, 601, 0, 601, 602];
        let mut clock = Clock::new();
        let stated: Vec<i64> = mixed.into_iter().chain(603..640).collect();
        assert_eq!(through(&mut clock, &at(&stated)), at(&stated));
        assert_eq!((clock.mistimed(), clock.set_back()), (0, Set::default()));
        let first = stated.get(2..).unwrap();
        assert_eq!(through(&mut Clock::new(), &at(first)), at(first));
    }

    #[test]
    fn two_clocks_in_one_file_are_left_alone() {
        let turns: Vec<i64> = (0..200).map(|at| at / 10 - 500 * (at / 4 % 2)).collect();
        let mut clock = Clock::new();
        let (all, looked_at) = (at(&turns), 160);
        assert_eq!(through(&mut clock, &all).get(..looked_at), all.get(..looked_at));
    }

    #[test]
    fn one_that_is_set_back_again_and_again_is_believed_at_last() {
        let times: Vec<i64> = (0..3_000).map(|at| at % 100 * 10).collect();
        let mut clock = Clock::new();
        through(&mut clock, &at(&times));
        assert_eq!(clock.set_back().times, SET_LIMIT);
    }
}
