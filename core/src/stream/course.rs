//! When an end took longer to answer for a while: a round trip that changed during the capture.
//!
//! Takes when each acknowledgement came, alone or with data, and how long after what it acknowledges; gives
//! the stretch of time in which even the quickest of them took much longer than the quickest outside of it.
//! No answer can be quicker than the round trip, so one quick answer shows that the path was no longer then.
//! Whether it was longer where all were slow, or the end itself was late, the counts help to tell: an ACK
//! acknowledges all that has arrived, so one that comes soon after another was not delayed; of two full-sized
//! segments none is while the end can take more (RFC 5681 section 4.2); others are by up to half a second.
//!
//! Promises that memory is bounded: [`KEPT`] stretches. Where there are more, those neighbours become one
//! whose answers differ least.

/// Stretches kept besides the latest.
const KEPT: usize = 16;

/// A stretch ends when it has this many answers …
const GRAIN: u32 = 8;

/// … and lasted this long …
const WIDTH_NS: i64 = 50_000_000;

/// … or where an answer takes so much longer than its quickest, as delayed ones do; or less than half as
/// long.
const JUMP_NS: u32 = 30_000_000;

/// Fewer slow answers than this show no change.
const LEAST: u32 = 8;

/// The longest for which ACKs are delayed in practice: Linux, BSD and Windows have 200 ms at most, whatever
/// RFC 1122 allows.
const DELAYED_NS: u32 = 210_000_000;

/// Nor do those that took so little longer than others: what an end that is busy does to a few.
const MORE_NS: u32 = 1_000_000;

/// A stretch of time in which an end took longer to answer than outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slower {
    /// When the first of what was answered then was sent.
    pub from_ns: i64,
    /// When the last answer came.
    pub until_ns: i64,
    /// The shortest time of them.
    pub least: i64,
    /// ACKs that came alone.
    pub alone: u64,
    /// ACKs that came with data.
    pub with_data: u64,
    /// Those that came alone for two full-sized segments or more.
    pub full: u64,
    /// Those that came alone soon after another.
    pub soon: u64,
}

/// Answers that followed one another.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    from_ns: i64,
    until_ns: i64,
    count: u32,
    alone: u32,
    full: u32,
    soon: u32,
    /// The shortest time, in nanoseconds.
    least: u32,
}

impl Stretch {
    /// Both as one.
    fn with(self, next: Self) -> Self {
        Self {
            from_ns: self.from_ns,
            until_ns: next.until_ns,
            count: self.count.saturating_add(next.count),
            alone: self.alone.saturating_add(next.alone),
            full: self.full.saturating_add(next.full),
            soon: self.soon.saturating_add(next.soon),
            least: self.least.min(next.least),
        }
    }

    /// How many of the answers, which took so much longer, show the path rather than the end's work: those
    /// that come alone; where no ACK would be delayed for as long, all of them.
    fn evidence(&self, longer: u32) -> u32 {
        if longer > DELAYED_NS { self.count } else { self.alone }
    }

    /// By how much all of the slower one's answers seem quicker where both are one.
    fn unlike(&self, other: &Self) -> u64 {
        let (quick, slow) = if self.least <= other.least { (self, other) } else { (other, self) };
        u64::from(slow.count) * u64::from(slow.least - quick.least)
    }
}

/// How many answers there were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    /// ACKs that came alone.
    pub(super) alone: u64,
    /// ACKs that came with data.
    pub(super) with_data: u64,
    /// Those that came alone for two full-sized segments or more.
    pub(super) full: u64,
    /// Those that came alone soon after another.
    pub(super) soon: u64,
}

/// How long an end took to answer, in the course of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// Until when answers go on with the latest stretch, and the shortest time in it.
    go_on_ns: i64,
    least: u32,
    from_ns: i64,
    until_ns: i64,
    /// How many answers there were before it.
    begun: Answers,
    before: Vec<Stretch>,
}

impl Course {
    /// Takes an answer that took `ns` if it is one as most are; else it must be [added](Self::add).
    #[inline]
    pub(super) fn goes_on(&mut self, time_ns: i64, ns: u32) -> bool {
        let goes_on = ns.wrapping_sub(self.least) <= JUMP_NS && time_ns < self.go_on_ns;
        if goes_on {
            self.until_ns = time_ns;
        }
        goes_on
    }

    /// Takes an answer that took `ns`; before it there were so many.
    pub(super) fn add(&mut self, time_ns: i64, ns: u32, so_far: Answers) {
        let latest = self.latest(so_far);
        let near = self.least / 2..=self.least.saturating_add(JUMP_NS);
        let over = time_ns >= self.go_on_ns && latest.count >= GRAIN || !near.contains(&ns);
        if over || latest.count == 0 {
            if latest.count > 0 {
                self.keep(latest);
            }
            self.begun = so_far;
            self.from_ns = time_ns.saturating_sub(i64::from(ns));
            self.go_on_ns = time_ns.saturating_add(WIDTH_NS);
            self.least = ns;
        }
        self.until_ns = time_ns;
        self.least = self.least.min(ns);
    }

    /// Takes a stretch that is over.
    fn keep(&mut self, stretch: Stretch) {
        if self.before.len() >= KEPT {
            self.join();
        }
        self.before.push(stretch);
    }

    /// The latest stretch, where there are so many answers.
    fn latest(&self, so_far: Answers) -> Stretch {
        let since = |now: u64, begun: u64| u32::try_from(now - begun).unwrap_or(u32::MAX);
        let alone = since(so_far.alone, self.begun.alone);
        let with_data = since(so_far.with_data, self.begun.with_data);
        Stretch {
            from_ns: self.from_ns,
            until_ns: self.until_ns,
            count: alone.saturating_add(with_data),
            alone,
            full: since(so_far.full, self.begun.full),
            soon: since(so_far.soon, self.begun.soon),
            least: self.least,
        }
    }

    /// Makes one of the two neighbours that differ least.
    fn join(&mut self) {
        let pairs = self.before.iter().zip(self.before.iter().skip(1));
        let alike = pairs.enumerate().min_by_key(|(_, (one, next))| one.unlike(next));
        if let Some((at, (one, next))) = alike {
            let both = one.with(*next);
            self.before.remove(at + 1);
            if let Some(place) = self.before.get_mut(at) {
                *place = both;
            }
        }
    }

    /// The stretch in which answers took longest together beyond the quickest of all, of so many; `None`
    /// where even the quickest did not take twice as long, or hardly longer.
    pub(super) fn slower(&self, so_far: Answers) -> Option<Slower> {
        let latest = Some(self.latest(so_far)).filter(|latest| latest.count > 0);
        let all: Vec<Stretch> = self.before.iter().copied().chain(latest).collect();
        let base = all.iter().map(|each| each.least).min()?;
        let bound = base.saturating_mul(2).max(base.saturating_add(MORE_NS));
        let mut found: Option<(u64, Stretch)> = None;
        for (at, first) in all.iter().enumerate() {
            let mut run = *first;
            for next in all.iter().skip(at + 1).map(Some).chain([None]) {
                if run.least < bound {
                    break;
                }
                let longer = run.least - base;
                let slow = u64::from(run.evidence(longer)) * u64::from(longer);
                if run.evidence(longer) >= LEAST && found.is_none_or(|(most, _)| slow > most) {
                    found = Some((slow, run));
                }
                let Some(next) = next else { break };
                run = run.with(*next);
            }
        }
        found.map(|(_, run)| Slower {
            from_ns: run.from_ns,
            until_ns: run.until_ns,
            least: i64::from(run.least),
            alone: u64::from(run.alone),
            with_data: u64::from(run.count - run.alone),
            full: u64::from(run.full),
            soon: u64::from(run.soon),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Answers one after the other, each a millisecond after the last.
    fn course(with_data: bool, all: impl IntoIterator<Item = i64>) -> (Course, Option<Slower>) {
        let mut course = Course::default();
        let mut answers = Answers::default();
        let mut now = 0;
        for ns in all {
            let took = u32::try_from(ns).unwrap();
            if !course.goes_on(now + ns, took) {
                course.add(now + ns, took, answers);
            }
            answers.full += u64::from(ns % 2 == 1);
            answers.soon += u64::from(ns % 4 == 3);
            answers.alone += u64::from(!with_data);
            answers.with_data += u64::from(with_data);
            now += ns + MS;
        }
        let slower = course.slower(answers);
        (course, slower)
    }

    fn slower(all: impl IntoIterator<Item = i64>) -> Option<Slower> {
        course(false, all).1
    }

    fn times(count: usize, ns: i64) -> impl Iterator<Item = i64> {
        std::iter::repeat_n(ns, count)
    }

    #[test]
    fn a_path_that_became_longer_for_a_while_is_found() {
        let slower = slower(
            times(100, MS)
                .chain(times(30, 300 * MS + 1))
                .chain(times(20, 300 * MS + 3))
                .chain(times(100, MS)),
        )
        .unwrap();
        assert_eq!((slower.least, slower.alone, slower.full, slower.soon), (300 * MS + 1, 50, 50, 20));
        assert_eq!(slower.from_ns, 100 * 2 * MS);
        assert_eq!(slower.until_ns, 100 * 2 * MS + 30 * (301 * MS + 1) + 20 * (301 * MS + 3) - MS);
    }

    #[test]
    fn it_is_found_behind_and_among_many_others() {
        let quick = (0..50_000).map(|i| MS + i * 7919 % 100 * 200_000);
        let (found, slower) = course(false, quick.clone().chain(times(40, 80 * MS)).chain(quick));
        let slower = slower.unwrap();
        assert_eq!((slower.least, slower.alone), (80 * MS, 40));
        assert!(found.before.len() <= KEPT);
    }

    #[test]
    fn a_longer_path_without_delayed_acks_is_found_but_for_a_few_answers() {
        let slower = slower(times(1000, MS).chain(times(1000, 9 * MS))).unwrap();
        assert_eq!(slower.least, 9 * MS);
        assert!((1000 - u64::from(GRAIN)..=1000).contains(&slower.alone), "{slower:?}");
    }

    #[test]
    fn one_quick_answer_shows_that_the_path_was_not_longer() {
        let late = (0..100).map(|i| if i % 7 == 3 { MS } else { 300 * MS });
        assert_eq!(slower(times(100, MS).chain(late)), None);
    }

    #[test]
    fn what_is_always_as_slow_is_no_change() {
        assert_eq!(slower(times(1000, 300 * MS)), None);
        assert_eq!(slower((0..1000).map(|i| MS + i % 900_000)), None);
        assert_eq!(slower([]), None);
    }

    #[test]
    fn a_few_slow_answers_show_nothing() {
        assert_eq!(slower(times(100, MS).chain(times(7, 300 * MS)).chain(times(100, MS))), None);
    }

    #[test]
    fn answers_with_data_show_the_path_where_no_ack_would_be_delayed_for_as_long() {
        let changed = |ns| times(100, MS).chain(times(100, ns)).chain(times(100, MS));
        assert_eq!(course(true, changed(150 * MS)).1, None, "the end may have worked, and delayed its ACKs");
        assert_eq!(course(true, changed(250 * MS)).1.unwrap().with_data, 100);
    }
}
