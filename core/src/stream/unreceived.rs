//! Up to where the other side had received a direction, and when: what had not arrived by then was still on
//! its way.
//!
//! Takes the acknowledgements that left something out; tells of a place in the stream when the last of them
//! came that did not reach it. Promises that this is never told too late, and that memory is bounded.
//!
//! Unlike the time that an acknowledgement takes, this holds no delay of the receiver: by the time that it
//! acknowledged less, it had not received the rest, however long it waits with the next acknowledgement.

use crate::stream::seq::SeqNumber;

/// Acknowledgements that are kept. When there are more, every second one of the older half goes.
const KEPT: usize = 64;

/// The acknowledgements of a direction that left out some of what had been sent. Most directions have none,
/// as those of small calls, and no memory for them.
#[derive(Clone, Debug, Default)]
pub struct Unreceived(Option<Box<Known>>);

/// How far the other side had received it, and when, in order of time.
#[derive(Clone, Debug, Default)]
struct Known {
    kept: Vec<(SeqNumber, i64)>,
}

impl Unreceived {
    /// Takes that the other side acknowledged up to `until`, and no further, at a time.
    #[inline(never)]
    pub(super) fn acknowledged(&mut self, until: SeqNumber, time_ns: i64) {
        let Known { kept } = &mut **self.0.get_or_insert_default();
        match kept.last_mut() {
            Some((last, since)) if *last == until => *since = time_ns,
            _ => {
                if kept.len() >= KEPT {
                    let mut at = 0;
                    kept.retain(|_| {
                        at += 1;
                        at > KEPT / 2 || at % 2 == 0
                    });
                }
                kept.push((until, time_ns));
            }
        }
    }

    /// How far the other side last acknowledged less than up to `end`, and when, if that was after a time:
    /// what ends there had not arrived when that was sent. An earlier one, where not all are kept.
    #[inline]
    pub fn before(&self, end: SeqNumber, after_ns: i64) -> Option<LeftOut> {
        self.0.as_ref().and_then(|known| known.before(end, after_ns))
    }
}

/// What an acknowledgement left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// How many bytes before the place in the stream that was asked about.
    pub bytes: u32,
    /// When it came.
    pub time_ns: i64,
}

impl Known {
    fn before(&self, end: SeqNumber, after_ns: i64) -> Option<LeftOut> {
        let since = self.kept.iter().rev().take_while(|(_, time_ns)| *time_ns > after_ns);
        since
            .copied()
            .find(|(until, _)| until.ahead_of(end) < 0)
            .map(|(until, time_ns)| LeftOut { bytes: end.0.wrapping_sub(until.0), time_ns })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(all: &[(u32, i64)]) -> Unreceived {
        let mut unreceived = Unreceived::default();
        for (until, time_ns) in all {
            unreceived.acknowledged(SeqNumber(*until), *time_ns);
        }
        unreceived
    }

    #[test]
    fn the_last_acknowledgement_that_left_it_out_tells() {
        let unreceived = of(&[(u32::MAX, 10), (99, 20), (99, 25), (199, 30)]);
        let before = |end, after_ns| {
            unreceived.before(SeqNumber(end), after_ns).map(|known| (known.bytes, known.time_ns))
        };
        assert_eq!(before(150, 5), Some((51, 25)), "the same once more tells as well");
        assert_eq!(before(99, 5), Some((100, 10)), "it was received by then; numbers begin anew");
        assert_eq!(before(300, 5), Some((101, 30)));
        assert_eq!(before(150, 25), None, "what came before it was sent says nothing");
        assert_eq!(Unreceived::default().before(SeqNumber(0), 0), None);
    }

    proptest! {
        #[test]
        fn of_many_it_is_never_told_too_late(
            steps in prop::collection::vec(1_u32..20, 1..400), end in 0_u32..4000,
        ) {
            let sums = steps.iter().scan(0, |sum, step| { *sum += step; Some(*sum) });
            let all: Vec<(u32, i64)> = sums.zip(1..).collect();
            let exact = all.iter().rev().find(|(until, _)| *until < end).map(|(_, time_ns)| *time_ns);
            let unreceived = of(&all);
            let left_out = unreceived.before(SeqNumber(end), 0);
            let told = left_out.map(|known| known.time_ns);
            prop_assert!(left_out.is_none_or(|known| all.contains(&(end - known.bytes, known.time_ns))));
            prop_assert!(told <= exact);
            let recent = all.iter().rev().take(KEPT / 2).any(|(_, time_ns)| exact == Some(*time_ns));
            prop_assert!(!recent || told == exact);
            prop_assert!(unreceived.0.is_none_or(|known| known.kept.len() <= KEPT));
        }
    }
}
