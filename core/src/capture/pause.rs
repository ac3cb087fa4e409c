//! What both ends tell of a pause of the capture → whether its clock was set forward there, and by how much.
//!
//! Where a capture's clock moves on by more than a second between two packets, nothing was sent meanwhile,
//! or the clock was set. Client and server have clocks of their own, of which their segments tell: where those
//! of both went on by far less, it was set. One end's alone proves nothing, since a host that sleeps stops its
//! own. Nor does a segment that had waited in a queue: one that counts echoes a timestamp of the other end
//! that is later than the first one seen behind the pause.
//!
//! Takes the clocks that were heard before the pause, and the packets behind it with their times; gives what to
//! make of it.

use std::cell::LazyCell;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::clock::USUAL_NS;
use super::timestamps::{
    APART_NS, Base, DRIFT_SHARE, Flow, Heard, Rate, SECOND_NS, Timestamps, USUAL_RATE, onwards,
};

/// Packets that are asked behind a pause, and their bytes: at first, and where both clocks may have stood
/// still.
/// The same in each format, and however much of the file was read already.
pub(super) const ASKED: [(usize, usize); 2] = [(64, 64 << 10), (4_096, 1 << 20)];

/// Bytes of a file around a packet, at most, but for what few have.
pub(super) const AROUND: usize = 64;

/// Where a counter may have come round meanwhile, only what is one in so many of all it counts tells that it
/// has not.
const ROUND_SHARE: u32 = 1_000;

/// One that comes round in less than this cannot tell.
const SHORTEST_ROUND_NS: i64 = 86_400 * SECOND_NS;

/// What to make of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// The clock of an end went on as well.
    Real,
    /// The capture's clock was set forward by so much.
    Set(i64),
    /// It may have been set; more packets could tell.
    Doubtful,
    /// Nothing tells.
    Unknown,
}

/// What a segment says of a pause: each but the first more than the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Says {
    /// Its sender's clock went on with the capture's.
    Real,
    Nothing,
    /// The capture's clock may have been set.
    Doubtful,
    /// It was set, if the segment did not wait on its way.
    Set,
}

/// By how much a direction says that the capture's clock was set forward: at least, and probably.
#[derive(Clone, Copy)]
struct Step {
    least_ns: i64,
    likely_ns: i64,
}

/// The steps of directions that count, the least of each.
type Steps = HashMap<Flow, Step, RandomState>;

/// What is known of clocks before a pause and, where that is not enough, from the packets behind it.
struct Clocks<'a, F: FnOnce() -> Timestamps> {
    before: &'a Timestamps,
    /// Learnt when it is asked, which is hardly ever.
    behind: LazyCell<Timestamps, F>,
}

/// What to make of a pause of the capture, from one time to another, by the packets behind it.
pub(super) fn judge(
    before: &Timestamps,
    (from_ns, to_ns): (i64, i64),
    behind: impl Iterator<Item = Heard> + Clone,
) -> Pause {
    let longest_ns = to_ns.saturating_sub(from_ns);
    let behind = onwards(to_ns, behind);
    let clocks = Clocks { before, behind: LazyCell::new(|| before.anew(behind.clone())) };
    // The first timestamp of each direction behind the pause, and what it is counted from.
    let mut first: HashMap<Flow, (u32, Option<Base>), RandomState> = HashMap::default();
    let mut steps = Steps::default();
    let mut doubtful = false;
    for (unknown_ns, (time_ns, told)) in with_pauses(to_ns, behind.clone()) {
        let Some(told) = told else { continue };
        let (flow, answered) = ((told.from, told.to), (told.to, told.from));
        if told.opens {
            first.remove(&flow);
        }
        let (_, base) = *first.entry(flow).or_insert_with(|| (told.value, before.base(&told)));
        let Some(base) = base else { continue };
        let Some(rate) = clocks.rate(&flow) else { continue };
        let Some(step) = base.step(rate, told.value, time_ns) else { continue };
        let says = base.says(step, time_ns, unknown_ns, longest_ns);
        if says == Says::Real {
            return Pause::Real;
        }
        doubtful |= says >= Says::Doubtful;
        // What echoes nothing that was sent behind the pause may have waited on its way.
        let counts = || first.get(&answered).is_some_and(|(first, _)| later(told.echo, *first));
        if says == Says::Set && counts() {
            let least = steps.entry(flow).or_insert(step);
            *least = if step.likely_ns < least.likely_ns { step } else { *least };
        }
    }
    if steps.keys().any(|(from, to)| steps.contains_key(&(*to, *from))) {
        clocks.agreed_ns(&steps, longest_ns).map_or(Pause::Unknown, Pause::Set)
    } else if doubtful {
        Pause::Doubtful
    } else {
        Pause::Unknown
    }
}

impl<F: FnOnce() -> Timestamps> Clocks<'_, F> {
    /// How fast the clock of a direction's sender ticks, as far as it was heard before the pause and behind it.
    fn rate(&self, flow: &Flow) -> Option<Rate> {
        let Self { before, behind } = self;
        let known = before.known_rate(flow).or_else(|| behind.known_rate(flow));
        known.or_else(|| {
            let last = before.last_between(flow).and_then(|last| before.measured_rate(last));
            let measured = [before.measured_rate(flow), behind.measured_rate(flow), last];
            measured.into_iter().flatten().max_by_key(|rate| rate.slowest)
        })
    }

    /// By how much the capture's clock was set forward, if directions agree.
    fn agreed_ns(&self, steps: &Steps, longest_ns: i64) -> Option<i64> {
        let likely = || steps.values().map(|step| step.likely_ns);
        let (least, most) = (likely().min()?, likely().max()?);
        let unsure_ns = |(flow, step): (&Flow, &Step)| {
            let tick_ns = self.rate(flow).map_or(0, |rate| SECOND_NS / rate.likely);
            2 * tick_ns + step.likely_ns - step.least_ns
        };
        let apart_ns = APART_NS + steps.iter().map(unsure_ns).max()?;
        // Those of which the rate is known tell exactly.
        let exact = steps.values().filter(|step| step.least_ns == step.likely_ns);
        let told = exact.map(|step| step.likely_ns).min().unwrap_or(least);
        let agree = most - least <= apart_ns && most <= longest_ns.saturating_add(apart_ns);
        agree.then_some(told.min(longest_ns))
    }
}

impl Base {
    /// By how much the capture's clock was set forward since, if it was, as a later timestamp tells.
    fn step(&self, rate: Rate, value: u32, time_ns: i64) -> Option<Step> {
        let over_ns = time_ns.saturating_sub(self.time_ns);
        let ticks = value.wrapping_sub(self.value);
        let round_ns = (1 << 32) / rate.likely.max(USUAL_RATE) * SECOND_NS;
        let few = ticks <= u32::MAX / ROUND_SHARE;
        let sure = if over_ns < round_ns / 2 {
            ticks.cast_signed() >= 0
        } else {
            round_ns >= SHORTEST_ROUND_NS && few
        };
        let known = rate.slowest == rate.likely;
        let set_ns =
            |ticks: u32, rate: i64| over_ns.saturating_sub(i64::from(ticks).saturating_mul(SECOND_NS / rate));
        let likely_ns = set_ns(ticks, rate.likely);
        let least_ns = if known { likely_ns } else { set_ns(ticks.saturating_add(1), rate.slowest) };
        // The clock of another connection would hardly be so near.
        let near = if much(likely_ns, over_ns) { few } else { much_ns(over_ns) > likely_ns.saturating_neg() };
        (sure && (near || !self.other)).then_some(Step { least_ns, likely_ns })
    }

    /// What that says of a pause that took as long; behind it there were others of `unknown_ns`.
    fn says(&self, step: Step, time_ns: i64, unknown_ns: i64, longest_ns: i64) -> Says {
        let over_ns = time_ns.saturating_sub(self.time_ns);
        let beyond = |set_ns: i64, unknown_ns: i64| much(set_ns.saturating_sub(unknown_ns), over_ns);
        if !much(step.likely_ns, over_ns) {
            // Over far more time than this pause, clocks may be apart by as much.
            if over_ns / DRIFT_SHARE <= longest_ns / 2 { Says::Real } else { Says::Nothing }
        } else if beyond(step.least_ns, self.unknown_ns.saturating_add(unknown_ns)) {
            Says::Set
        } else if beyond(step.likely_ns, self.unknown_ns) {
            Says::Doubtful
        } else {
            Says::Nothing
        }
    }
}

/// Packets, each with how long the pauses took up to it, all together: more is told behind them, but the clock
/// may have been set there.
fn with_pauses(time_ns: i64, packets: impl Iterator<Item = Heard>) -> impl Iterator<Item = (i64, Heard)> {
    let (mut unknown_ns, mut last_ns) = (0_i64, time_ns);
    packets.map(move |(time_ns, told)| {
        let went_on_ns = time_ns.saturating_sub(std::mem::replace(&mut last_ns, time_ns));
        unknown_ns = unknown_ns.saturating_add(if went_on_ns > USUAL_NS { went_on_ns } else { 0 });
        (unknown_ns, (time_ns, told))
    })
}

/// Whether it is more than clocks are apart.
fn much(set_ns: i64, over_ns: i64) -> bool {
    set_ns > much_ns(over_ns.saturating_sub(set_ns))
}

/// What clocks may be apart by after as long.
fn much_ns(passed_ns: i64) -> i64 {
    USUAL_NS + passed_ns / DRIFT_SHARE
}

/// Whether a timestamp is later than another.
fn later(value: u32, other: u32) -> bool {
    value.wrapping_sub(other).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use super::super::timestamps::Told;
    use super::super::timestamps::tests::{MS, clocks, listened, second, segment};
    use super::*;

    use std::net::SocketAddr;

    /// What comes behind a pause from 1 s to this time, milliseconds: each end's clock then.
    fn behind(at_ms: i64, client_ms: u32, server_ms: u32) -> Vec<Heard> {
        (0..5_u32)
            .flat_map(|turn| {
                let (at_ms, later) = (at_ms + i64::from(turn) * 10, turn * 10);
                let ([client, _], [_, server]) = (clocks(client_ms + later), clocks(server_ms + later));
                [segment(at_ms, true, client, server.wrapping_sub(1)), segment(at_ms, false, server, client)]
            })
            .collect()
    }

    fn judged(at_ms: i64, behind: Vec<Heard>) -> Pause {
        judge(&listened(), (1_000 * MS, at_ms * MS), behind.into_iter())
    }

    #[test]
    fn a_pause_that_neither_end_knows_is_a_clock_that_was_set() {
        for by_ms in [1_500, 3_600_000, 86_400_000 * 20, 86_400_000 * 365 * 50] {
            let found = judged(1_020 + by_ms, behind(1_020 + by_ms, 1_020, 1_020));
            assert_eq!(found, Pause::Set(by_ms * MS), "{by_ms}");
        }
        let half = behind(4_601_000, 1_001_000, 1_001_000);
        assert_eq!(judged(4_601_000, half), Pause::Set(3_600_000 * MS), "1,000 s were real");
    }

    #[test]
    fn a_pause_that_an_end_knows_is_real() {
        for (client_ms, server_ms) in [(61_000, 61_000), (1_010, 61_000), (61_000, 1_010)] {
            assert_eq!(judged(61_000, behind(61_000, client_ms, server_ms)), Pause::Real);
        }
    }

    #[test]
    fn what_waited_in_a_queue_does_not_tell() {
        // The client slept with the capture; what the server sent meanwhile came only then.
        let [client, server] = clocks(1_000);
        let queued = (1..9).map(|turn| segment(61_000, false, server + turn, client));
        let own = (0..8_u32).map(|turn| segment(61_000, true, client + turn, server + turn));
        let all: Vec<Heard> = queued.chain(own).collect();
        assert_eq!(judged(61_000, all.clone()), Pause::Doubtful);
        let answer = segment(61_010, false, clocks(61_000)[1], client + 5);
        assert_eq!(judged(61_000, all.into_iter().chain([answer]).collect()), Pause::Real);
    }

    #[test]
    fn one_end_alone_does_not_tell() {
        let one = behind(61_000, 1_000, 1_000).into_iter().step_by(2).collect();
        assert_eq!(judged(61_000, one), Pause::Doubtful);
        assert_eq!(judged(61_000, Vec::new()), Pause::Unknown);
    }

    #[test]
    fn ends_that_do_not_agree_do_not_tell() {
        assert_eq!(judged(61_000, behind(61_000, 1_000, 31_000)), Pause::Unknown);
    }

    #[test]
    fn nothing_is_told_over_a_pause_of_which_nothing_is_known() {
        let mut timestamps = listened();
        timestamps.unknown((1_000 * MS, 61_000 * MS));
        let found = judge(&timestamps, (1_001 * MS, 61_000 * MS), behind(61_000, 1_010, 1_010).into_iter());
        assert_eq!(found, Pause::Unknown);
    }

    #[test]
    fn a_pause_of_which_nothing_is_known_hides_no_step_that_is_far_longer() {
        let mut timestamps = listened();
        timestamps.unknown((1_000 * MS, 4_000 * MS));
        let found =
            judge(&timestamps, (4_000 * MS, 3_600_000 * MS), behind(3_600_000, 4_010, 4_010).into_iter());
        assert_eq!(found, Pause::Set(3_595_990 * MS));
    }

    /// A call and its reply each 10 ms, so many; both clocks tick each millisecond.
    fn brief(turns: u32) -> Timestamps {
        let mut timestamps = Timestamps::new(|_| None);
        for heard in exchange(turns, 0, 0, 0) {
            timestamps.learn(heard);
        }
        timestamps
    }

    /// The same from a time on, milliseconds, when as many ticks of each clock have passed.
    fn exchange(turns: u32, at_ms: i64, client: u32, server: u32) -> Vec<Heard> {
        (0..turns)
            .flat_map(|turn| {
                let (at_ms, ticks) = (at_ms + i64::from(turn) * 10, turn * 10);
                let [client, server] = [client, server].map(|begin| begin.wrapping_add(7_000 + ticks));
                [segment(at_ms, true, client, server - 1), segment(at_ms, false, server, client)]
            })
            .collect()
    }

    #[test]
    fn a_clock_that_was_heard_for_a_moment_tells_of_what_is_far_more() {
        for by_ms in [30_000, 3_600_000, 86_400_000 * 365] {
            let found =
                judge(&brief(3), (20 * MS, (30 + by_ms) * MS), exchange(5, 30 + by_ms, 30, 30).into_iter());
            assert_eq!(found, Pause::Set(by_ms * MS), "{by_ms}");
        }
        let found = judge(&brief(3), (20 * MS, 4_320 * MS), exchange(2, 4_320, 300, 300).into_iter());
        assert_eq!(found, Pause::Doubtful, "it may tick 64 times a second");
        let found = judge(&brief(3), (20 * MS, 30_020 * MS), exchange(5, 30_020, 30_000, 30_000).into_iter());
        assert_eq!(found, Pause::Real);
        let still = |at_ms: i64| [segment(at_ms, true, 5, 6), segment(at_ms, false, 6, 5)];
        let mut timestamps = Timestamps::new(|_| None);
        for heard in still(0) {
            timestamps.learn(heard);
        }
        let found = judge(&timestamps, (0, 60_000 * MS), still(60_000).into_iter());
        assert_eq!(found, Pause::Unknown, "it does not tick");
    }

    #[test]
    fn how_fast_a_clock_ticks_is_known_from_behind_the_pause_as_well() {
        let behind = || exchange(40, 4_320, 300, 300).into_iter();
        assert_eq!(judge(&brief(3), (20 * MS, 4_320 * MS), behind()), Pause::Set(4_020 * MS));
        let mut timestamps = brief(1);
        for (at_ns, told) in second() {
            timestamps.learn((at_ns, told.map(elsewhere)));
        }
        let found = judge(&timestamps, (0, 4_300 * MS), exchange(5, 4_300, 1_000, 1_000).into_iter());
        assert_eq!(found, Pause::Real, "their host counts 100 a second elsewhere");
    }

    /// What a segment tells, as of a connection that begins then.
    fn opening((at_ns, told): Heard) -> Heard {
        (at_ns, told.map(|told| Told { opens: true, ..told }))
    }

    #[test]
    fn a_connection_that_begins_behind_the_pause_may_go_on_with_the_clock() {
        let anew = |heard: Vec<Heard>| {
            let renamed = heard.into_iter().map(|(at_ns, told)| (at_ns, told.map(elsewhere)));
            renamed.collect::<Vec<_>>().into_iter()
        };
        let two = |client: u32, server: u32| {
            let mut timestamps = Timestamps::new(|_| None);
            for (at_ns, told) in exchange(50, 0, 0, 0) {
                // Each end at an address of its own.
                timestamps.learn((at_ns, told.map(apart)));
            }
            let behind = exchange(5, 61_000, client, server);
            let behind = behind.into_iter().map(|(at_ns, told)| (at_ns, told.map(apart))).collect();
            judge(&timestamps, (490 * MS, 61_000 * MS), anew(behind))
        };
        assert_eq!(two(500, 500), Pause::Set(60_500 * MS));
        assert_eq!(two(61_000, 61_000), Pause::Real);
        for (client, server) in [(1 << 31, 1 << 30), (500, 1 << 30), (u32::MAX - 900, 100)] {
            let found = two(client, server);
            assert!(matches!(found, Pause::Unknown | Pause::Doubtful), "{client} {server}: {found:?}");
        }
    }

    /// The same of another connection between these hosts.
    fn elsewhere(told: Told) -> Told {
        let other = |end: SocketAddr| SocketAddr::new(end.ip(), end.port() + 1);
        Told { from: other(told.from), to: other(told.to), ..told }
    }

    fn apart(told: Told) -> Told {
        let host = |end: SocketAddr| if end.port() == 700 { end } else { ([10, 0, 0, 2], end.port()).into() };
        Told { from: host(told.from), to: host(told.to), ..told }
    }

    #[test]
    fn a_port_that_is_used_again_behind_the_pause_has_another_clock() {
        let again = |value: u32| {
            let mut timestamps = Timestamps::new(|_| None);
            let between = |(at_ns, told): Heard| (at_ns, told.map(apart));
            exchange(50, 0, 0, 0).into_iter().map(between).for_each(|heard| timestamps.learn(heard));
            let mut behind = exchange(5, 61_000, value, value);
            behind.iter_mut().take(2).for_each(|heard| *heard = opening(*heard));
            judge(&timestamps, (490 * MS, 61_000 * MS), behind.into_iter().map(between))
        };
        assert_eq!(again(500), Pause::Set(60_500 * MS));
        assert_eq!(again(61_000), Pause::Real);
        assert_eq!(again(1 << 28), Pause::Unknown);
    }

    #[test]
    fn packets_behind_a_later_pause_tell_as_well() {
        // Too few at once for one to echo what was sent behind the pause.
        let burst = |at_ms: i64, ms: u32| behind(at_ms, ms, ms).into_iter().take(2);
        let all = burst(3_601_010, 1_010).chain(burst(3_606_010, 6_010)).chain(burst(3_606_040, 6_040));
        assert_eq!(judged(3_601_010, all.collect()), Pause::Set(3_600_000 * MS));
        // Of two that are as long, one was real: which, they do not tell.
        let all = burst(61_010, 1_010).chain(burst(121_010, 61_010)).chain(burst(121_040, 61_040));
        assert_eq!(judged(61_010, all.collect()), Pause::Doubtful);
    }

    #[test]
    fn a_later_pause_that_is_far_longer_hides_no_step() {
        let long = behind(3_611_010, 3_601_010, 3_601_010);
        let set = behind(11_010, 1_010, 1_010);
        assert_eq!(judged(11_010, set.into_iter().chain(long).collect()), Pause::Set(10_000 * MS));
    }
}
