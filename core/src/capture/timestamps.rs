//! TCP timestamps of both ends (RFC 7323) → whether a capture's clock was set forward, and by how much.
//!
//! Where a capture's clock moves on by more than a second between two packets, nothing was sent meanwhile,
//! or the clock was set. Client and server have clocks of their own, of which their segments tell: where those
//! of both went on by far less, it was set. One end's alone proves nothing, since a host that sleeps stops its
//! own. Nor does a segment that had waited in a queue: one that counts echoes a timestamp of the other end
//! that is later than the first one seen behind the pause.
//!
//! How fast a clock ticks is known once it was listened to for a while, or another of the same host was. Of one
//! that was heard for less, no more is believed than holds at the slowest rate that it can have. A connection that
//! begins behind the pause may go on with the clock that the connections between these hosts had before.
//!
//! Takes packets before and behind the pause, with their times; gives what to make of it. Is asked only at a
//! pause, and listens to some packets five times a second to know how fast the clocks tick.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use foldhash::fast::RandomState;

use super::Glimpse;
use super::clock::USUAL_NS;

const SECOND_NS: i64 = 1_000_000_000;

/// Packets that are asked behind a pause, and their bytes: at first, and where both clocks may have stood
/// still.
/// The same in each format, and however much of the file was read already.
pub(super) const ASKED: [(usize, usize); 2] = [(64, 64 << 10), (4_096, 1 << 20)];

/// Bytes of a file around a packet, at most, but for what few have.
pub(super) const AROUND: usize = 64;

/// Packets that are listened to at a time.
pub(super) const LISTENED: usize = 16;

/// Directions of connections that are known; of more, all are learnt anew.
const FLOWS_LIMIT: usize = 4_096;

/// Ticks in a second that hosts are known to count. One that counts otherwise is not known. Those who count 512
/// or 1,024 are taken for a little slower, so that no less time has passed than they say.
const RATES: [i64; 10] = [2, 10, 64, 100, 128, 250, 300, 500, 1_000, 1_000_000];

/// What is measured is within one in so many of such a rate.
const RATE_SHARE: i64 = 20;

/// As long, and over as many ticks, a clock is listened to before it is known.
const LEARNT_NS: i64 = SECOND_NS / 5;
const LEARNT_TICKS: i64 = 20;

/// What a segment waited for on its way has no weight any more over as long: a clock that is still at no known
/// rate stood still meanwhile, or is measured anew.
const MEASURED_NS: i64 = 2 * SECOND_NS;

/// Ticks in a second: RFC 7323 section 5.4 allows no fewer, hardly any host counts more, and none as many.
const SLOWEST: i64 = 1;
const USUAL_RATE: i64 = 1_000;
const FASTEST: i64 = 1_000_000;

/// A clock of which fewer ticks were heard may be none.
const HEARD_TICKS: i64 = 2;

/// As far apart is what clocks say that agree, beside two ticks.
const APART_NS: i64 = SECOND_NS / 4;

/// A clock may be wrong by one in so many.
const DRIFT_SHARE: i64 = 100;

/// Where a counter may have come round meanwhile, only what is one in so many of all it counts tells that it
/// has not.
const ROUND_SHARE: u32 = 1_000;

/// One that comes round in less than this cannot tell.
const SHORTEST_ROUND_NS: i64 = 86_400 * SECOND_NS;

/// What a segment tells of the clocks of both ends.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Address and port of the sender.
    pub from: SocketAddr,
    /// Address and port of the receiver.
    pub to: SocketAddr,
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the receiver's clock, in the segment that the sender answers.
    pub echo: u32,
    /// It opens a connection, whose clock may begin anywhere.
    pub opens: bool,
}

/// Finds the timestamps of a packet, if it is a segment that has them.
pub type Find = fn(&Glimpse<'_>) -> Option<Told>;

/// A direction of a connection.
type Flow = (SocketAddr, SocketAddr);

/// The clock of a direction's sender.
struct Ticking {
    /// Ticks counted, and since when.
    ticks: i64,
    since_ns: i64,
    /// The last segment's.
    value: u32,
    time_ns: i64,
    /// How long pauses took until then, all together, of which nothing is known.
    unknown_ns: i64,
    /// Ticks in a second, once they are known.
    rate: Option<i64>,
}

/// How many times in a second a clock ticks: at least, and probably. The same where it is known.
#[derive(Clone, Copy)]
struct Rate {
    slowest: i64,
    likely: i64,
}

/// What a direction's timestamps behind a pause are counted from.
#[derive(Clone, Copy)]
struct Base {
    value: u32,
    time_ns: i64,
    /// How long the pauses took since then, all together, of which nothing is known: there the clock may have
    /// been set as well.
    unknown_ns: i64,
    /// It is that of another connection between the same hosts, which need not have the same clock.
    other: bool,
}

/// By how much a direction says that the capture's clock was set forward: at least, and probably.
#[derive(Clone, Copy)]
struct Step {
    least_ns: i64,
    likely_ns: i64,
    /// That the clock was set, and not merely that it may have been.
    proves: bool,
    /// It went on with the capture's clock.
    denies: bool,
}

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

/// A packet's time, and what it tells besides.
pub(super) type Heard = (i64, Option<Told>);

/// The clocks that segments tell of. Times are those that are gone by.
pub(super) struct Timestamps {
    find: Find,
    flows: HashMap<Flow, Ticking, RandomState>,
    /// The connection that was heard last from one host to another.
    pairs: HashMap<(IpAddr, IpAddr), Flow, RandomState>,
    /// The slowest rate that is known of a host.
    hosts: HashMap<IpAddr, i64, RandomState>,
    listened_ns: i64,
    /// How long the pauses took, all together, of which nothing is known.
    unknown_ns: i64,
}

impl Timestamps {
    pub(super) fn new(find: Find) -> Self {
        Self {
            find,
            flows: HashMap::default(),
            pairs: HashMap::default(),
            hosts: HashMap::default(),
            listened_ns: i64::MIN,
            unknown_ns: 0,
        }
    }

    /// Another capture begins, by another clock.
    pub(super) fn begin(&mut self) {
        *self = Self::new(self.find);
    }

    /// What a packet tells; `shift_ns` is added to its time.
    pub(super) fn hear(&self, packet: &Glimpse<'_>, shift_ns: i64) -> Heard {
        (packet.time_ns.saturating_add(shift_ns), (self.find)(packet))
    }

    /// Whether it is time to listen again.
    pub(super) fn due(&self, time_ns: i64) -> bool {
        time_ns.saturating_sub(self.listened_ns) >= LEARNT_NS
    }

    /// Listens to packets that follow one of this time.
    pub(super) fn listen(&mut self, time_ns: i64, packets: impl Iterator<Item = Heard> + Clone) {
        self.listened_ns = time_ns;
        for heard in usual(time_ns, packets) {
            self.learn(heard);
        }
    }

    /// Takes what a packet tells of its sender's clock.
    pub(super) fn learn(&mut self, (time_ns, told): Heard) {
        let Some(told) = told else { return };
        if self.flows.len() >= FLOWS_LIMIT {
            self.flows.clear();
            self.pairs.clear();
            self.hosts.clear();
        }
        let flow = (told.from, told.to);
        let unknown_ns = self.unknown_ns;
        let begun =
            || Ticking { ticks: 0, since_ns: time_ns, value: told.value, time_ns, unknown_ns, rate: None };
        let ticking = self.flows.entry(flow).or_insert_with(begun);
        if told.opens || ticking.restarted(&told, time_ns) {
            *ticking = begun();
        }
        if let Some(learnt) = ticking.tick(&told, time_ns, unknown_ns) {
            let slowest = self.hosts.entry(told.from.ip()).or_insert(learnt);
            *slowest = learnt.min(*slowest);
        }
        self.pairs.insert((told.from.ip(), told.to.ip()), flow);
    }

    /// What both ends tell of a pause of the capture, from one time to another, by the packets behind it.
    pub(super) fn judge(&self, pause_ns: (i64, i64), behind: impl Iterator<Item = Heard> + Clone) -> Pause {
        let (from_ns, to_ns) = pause_ns;
        let longest_ns = to_ns.saturating_sub(from_ns);
        let behind = onwards(to_ns, behind);
        // Hardly ever needed.
        let after = LazyCell::new(|| {
            let mut after = Self::new(self.find);
            behind.clone().for_each(|heard| after.learn(heard));
            after
        });
        // The first timestamp of each direction behind the pause, what it is counted from, and what those
        // which count tell.
        let mut first: HashMap<Flow, (u32, Option<Base>), RandomState> = HashMap::default();
        let mut tell: HashMap<Flow, Step, RandomState> = HashMap::default();
        let mut doubtful = false;
        // Behind a later pause more is told, but the clock may have been set there.
        let (mut unknown_ns, mut last_ns) = (0_i64, to_ns);
        for (time_ns, told) in behind.clone() {
            let went_on_ns = time_ns.saturating_sub(std::mem::replace(&mut last_ns, time_ns));
            unknown_ns = unknown_ns.saturating_add(if went_on_ns > USUAL_NS { went_on_ns } else { 0 });
            let Some(told) = told else { continue };
            let (flow, answered) = ((told.from, told.to), (told.to, told.from));
            if told.opens {
                first.insert(flow, (told.value, self.base(&told)));
            }
            let (_, base) = *first.entry(flow).or_insert_with(|| (told.value, self.base(&told)));
            let Some((base, rate)) = base.and_then(|base| Some((base, self.rate(&after, &flow)?))) else {
                continue;
            };
            let over_ns = time_ns.saturating_sub(base.time_ns);
            let Some(step) = base.step(rate, told.value, time_ns, unknown_ns) else { continue };
            if step.denies {
                // Over far more time than this pause, clocks may be apart by as much.
                if over_ns / DRIFT_SHARE <= longest_ns / 2 {
                    return Pause::Real;
                }
                continue;
            }
            doubtful |= much(step.likely_ns.saturating_sub(base.unknown_ns), over_ns);
            if step.proves && first.get(&answered).is_some_and(|(first, _)| later(told.echo, *first)) {
                let least = tell.entry(flow).or_insert(step);
                *least = if step.likely_ns < least.likely_ns { step } else { *least };
            }
        }
        let both = tell.keys().any(|(from, to)| tell.contains_key(&(*to, *from)));
        let likely = || tell.values().map(|step| step.likely_ns);
        let (Some(least), Some(most), true) = (likely().min(), likely().max(), both) else {
            return if doubtful { Pause::Doubtful } else { Pause::Unknown };
        };
        let unsure_ns = |(flow, step): (&Flow, &Step)| {
            let tick_ns = self.rate(&after, flow).map_or(0, |rate| SECOND_NS / rate.likely);
            2 * tick_ns + step.likely_ns - step.least_ns
        };
        let apart_ns = APART_NS + tell.iter().map(unsure_ns).max().unwrap_or_default();
        if most - least <= apart_ns && most <= longest_ns.saturating_add(apart_ns) {
            // Those of which the rate is known tell exactly.
            let exact = tell.values().filter(|step| step.least_ns == step.likely_ns);
            let exact = exact.map(|step| step.likely_ns).min();
            Pause::Set(exact.unwrap_or(least).min(longest_ns))
        } else {
            Pause::Unknown
        }
    }

    /// There was a pause, from one time to another, of which nothing is known.
    pub(super) fn unknown(&mut self, (from_ns, to_ns): (i64, i64)) {
        self.unknown_ns = self.unknown_ns.saturating_add(to_ns.saturating_sub(from_ns));
    }

    /// What the timestamps of this segment's direction are counted from: its last one before the pause, or that
    /// of another connection between these hosts.
    fn base(&self, told: &Told) -> Option<Base> {
        let own = self.flows.get(&(told.from, told.to)).filter(|_| !told.opens);
        let before = || self.flows.get(self.pairs.get(&(told.from.ip(), told.to.ip()))?);
        let Ticking { value, time_ns, unknown_ns, .. } = own.or_else(before)?;
        let unknown_ns = self.unknown_ns.saturating_sub(*unknown_ns);
        let base = Base { value: *value, time_ns: *time_ns, unknown_ns, other: own.is_none() };
        // Clocks that begin anew with each connection go back.
        (!base.other || told.value.wrapping_sub(base.value).cast_signed() >= 0).then_some(base)
    }

    /// How fast the clock of a direction's sender ticks, as far as it was heard before the pause and behind it.
    fn rate<F: FnOnce() -> Self>(&self, after: &LazyCell<Self, F>, flow: &Flow) -> Option<Rate> {
        let (from, to) = flow;
        let known = |heard: &Self| {
            let own = heard.flows.get(flow).and_then(|ticking| ticking.rate);
            own.or_else(|| heard.hosts.get(&from.ip()).copied())
        };
        if let Some(rate) = known(self).or_else(|| known(after)) {
            return Some(Rate { slowest: rate, likely: rate });
        }
        let before = self.pairs.get(&(from.ip(), to.ip())).and_then(|flow| self.flows.get(flow));
        let heard = [self.flows.get(flow), after.flows.get(flow), before].into_iter().flatten();
        heard.filter_map(Ticking::measured).max_by_key(|rate| rate.slowest)
    }
}

impl Base {
    /// By how much the capture's clock was set forward since, if it was, as a later timestamp tells; behind the
    /// pause there were others of `unknown_ns`.
    fn step(&self, rate: Rate, value: u32, time_ns: i64, unknown_ns: i64) -> Option<Step> {
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
        let denies = !much(likely_ns, over_ns);
        // The clock of another connection would hardly be so near.
        let near = if denies { much_ns(over_ns) > likely_ns.saturating_neg() } else { few };
        let proves = much(least_ns.saturating_sub(self.unknown_ns.saturating_add(unknown_ns)), over_ns);
        (sure && (near || !self.other)).then_some(Step { least_ns, likely_ns, proves, denies })
    }
}

impl Ticking {
    /// Whether it is the clock of another connection: it goes back for long, or on by far too much.
    fn restarted(&self, told: &Told, time_ns: i64) -> bool {
        let passed_ns = time_ns.saturating_sub(self.time_ns);
        let ticks = i64::from(told.value.wrapping_sub(self.value).cast_signed());
        let most = self.rate.map_or(i64::MAX, |rate| {
            (passed_ns.saturating_add(passed_ns / DRIFT_SHARE).saturating_add(SECOND_NS)) / (SECOND_NS / rate)
        });
        passed_ns > USUAL_NS && ticks < 0 || ticks > most
    }

    /// Counts on; gives its rate where that was not known before.
    fn tick(&mut self, told: &Told, time_ns: i64, unknown_ns: i64) -> Option<i64> {
        let ticks = told.value.wrapping_sub(self.value).cast_signed();
        if ticks < 0 || time_ns < self.time_ns {
            return None;
        }
        self.ticks += i64::from(ticks);
        (self.value, self.time_ns, self.unknown_ns) = (told.value, time_ns, unknown_ns);
        let over_ns = time_ns.saturating_sub(self.since_ns);
        if self.rate.is_some() || over_ns < LEARNT_NS || self.ticks < LEARNT_TICKS {
            return None;
        }
        self.rate = rate(self.ticks, over_ns);
        if self.rate.is_none() && over_ns >= MEASURED_NS {
            (self.ticks, self.since_ns) = (0, time_ns);
        }
        self.rate
    }

    /// The rate at which it was heard, for however short a time.
    fn measured(&self) -> Option<Rate> {
        let over_ns = self.time_ns.saturating_sub(self.since_ns);
        let slowest = per_second(self.ticks - 1, over_ns.saturating_add(APART_NS))?.max(SLOWEST);
        let likely = nearest(per_second(self.ticks, over_ns.max(1))?)?.max(slowest);
        (self.ticks >= HEARD_TICKS && slowest <= FASTEST).then_some(Rate { slowest, likely })
    }
}

/// The rate that so many ticks in this time are nearest to, if they are near one.
fn rate(ticks: i64, over_ns: i64) -> Option<i64> {
    let measured = per_second(ticks, over_ns)?;
    nearest(measured).filter(|nearest| (measured - nearest).abs() <= nearest / RATE_SHARE)
}

fn per_second(ticks: i64, over_ns: i64) -> Option<i64> {
    i64::try_from(i128::from(ticks) * i128::from(SECOND_NS) / i128::from(over_ns)).ok()
}

fn nearest(measured: i64) -> Option<i64> {
    RATES.into_iter().min_by_key(|rate| (measured - rate).saturating_abs().saturating_mul(1_000) / rate)
}

/// Packets up to the next pause, or to a time that is odd.
fn usual(time_ns: i64, packets: impl Iterator<Item = Heard> + Clone) -> impl Iterator<Item = Heard> {
    let mut last_ns = time_ns;
    onwards(time_ns, packets).take_while(move |(time_ns, _)| {
        time_ns.saturating_sub(std::mem::replace(&mut last_ns, *time_ns)) <= USUAL_NS
    })
}

/// Packets up to one whose time goes back.
fn onwards(
    time_ns: i64,
    packets: impl Iterator<Item = Heard> + Clone,
) -> impl Iterator<Item = Heard> + Clone {
    let mut last_ns = time_ns;
    packets.take_while(move |(time_ns, _)| {
        std::mem::replace(&mut last_ns, *time_ns).saturating_sub(*time_ns) <= USUAL_NS
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
    use super::*;

    const MS: i64 = 1_000_000;

    fn end(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], port))
    }

    /// A segment of a connection, by its client or its server: when, milliseconds, and both clocks.
    fn segment(at_ms: i64, client: bool, value: u32, echo: u32) -> Heard {
        let (from, to) = if client { (end(700), end(2049)) } else { (end(2049), end(700)) };
        (at_ms * MS, Some(Told { from, to, value, echo, opens: false }))
    }

    /// A call and its reply each 10 ms, for a second: the client's clock begins at 5,000 and ticks each
    /// millisecond, the server's at 2^32 - 100, each 10 ms.
    fn listened() -> Timestamps {
        let mut timestamps = Timestamps::new(|_| None);
        for turn in 0..=100_u32 {
            let (at_ms, [client, server]) = (i64::from(turn) * 10, clocks(turn * 10));
            timestamps.learn(segment(at_ms, true, client, server.wrapping_sub(1)));
            timestamps.learn(segment(at_ms, false, server, client));
        }
        timestamps
    }

    fn clocks(ms: u32) -> [u32; 2] {
        [5_000 + ms, (u32::MAX - 99).wrapping_add(ms / 10)]
    }

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
        listened().judge((1_000 * MS, at_ms * MS), behind.into_iter())
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
        let found = timestamps.judge((1_001 * MS, 61_000 * MS), behind(61_000, 1_010, 1_010).into_iter());
        assert_eq!(found, Pause::Unknown);
    }

    #[test]
    fn a_pause_of_which_nothing_is_known_hides_no_step_that_is_far_longer() {
        let mut timestamps = listened();
        timestamps.unknown((1_000 * MS, 4_000 * MS));
        let found =
            timestamps.judge((4_000 * MS, 3_600_000 * MS), behind(3_600_000, 4_010, 4_010).into_iter());
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
                brief(3).judge((20 * MS, (30 + by_ms) * MS), exchange(5, 30 + by_ms, 30, 30).into_iter());
            assert_eq!(found, Pause::Set(by_ms * MS), "{by_ms}");
        }
        let found = brief(3).judge((20 * MS, 4_320 * MS), exchange(2, 4_320, 300, 300).into_iter());
        assert_eq!(found, Pause::Doubtful, "it may tick 64 times a second");
        let found = brief(3).judge((20 * MS, 30_020 * MS), exchange(5, 30_020, 30_000, 30_000).into_iter());
        assert_eq!(found, Pause::Real);
        let still = |at_ms: i64| [segment(at_ms, true, 5, 6), segment(at_ms, false, 6, 5)];
        let mut timestamps = Timestamps::new(|_| None);
        for heard in still(0) {
            timestamps.learn(heard);
        }
        let found = timestamps.judge((0, 60_000 * MS), still(60_000).into_iter());
        assert_eq!(found, Pause::Unknown, "it does not tick");
    }

    #[test]
    fn how_fast_a_clock_ticks_is_known_from_behind_the_pause_as_well() {
        let behind = || exchange(40, 4_320, 300, 300).into_iter();
        assert_eq!(brief(3).judge((20 * MS, 4_320 * MS), behind()), Pause::Set(4_020 * MS));
        let mut timestamps = brief(1);
        timestamps.hosts = listened().hosts;
        let found = timestamps.judge((0, 4_300 * MS), exchange(5, 4_300, 1_000, 1_000).into_iter());
        assert_eq!(found, Pause::Real, "their host counts 100 a second elsewhere");
    }

    /// What a segment tells, as of a connection that begins then.
    fn opening((at_ns, told): Heard) -> Heard {
        (at_ns, told.map(|told| Told { opens: true, ..told }))
    }

    #[test]
    fn a_connection_that_begins_behind_the_pause_may_go_on_with_the_clock() {
        let anew = |heard: Vec<Heard>| {
            let other = |end: SocketAddr| SocketAddr::new(end.ip(), end.port() + 1);
            let renamed = heard.into_iter().map(move |(at_ns, told)| {
                (at_ns, told.map(|told| Told { from: other(told.from), to: other(told.to), ..told }))
            });
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
            timestamps.judge((490 * MS, 61_000 * MS), anew(behind))
        };
        assert_eq!(two(500, 500), Pause::Set(60_500 * MS));
        assert_eq!(two(61_000, 61_000), Pause::Real);
        for (client, server) in [(1 << 31, 1 << 30), (500, 1 << 30), (u32::MAX - 900, 100)] {
            let found = two(client, server);
            assert!(matches!(found, Pause::Unknown | Pause::Doubtful), "{client} {server}: {found:?}");
        }
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
            timestamps.judge((490 * MS, 61_000 * MS), behind.into_iter().map(between))
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

    #[test]
    fn what_waited_on_its_way_only_delays_that_a_rate_is_known() {
        let mut timestamps = Timestamps::new(|_| None);
        for turn in 0..200_u32 {
            // The first one came 40 ms late.
            let at_ms = (i64::from(turn) * 10).max(40);
            timestamps.learn(segment(at_ms, true, 5_000 + turn * 10, 0));
            let rate = timestamps.flows.values().next().unwrap().rate;
            assert_eq!(rate.is_some(), turn >= 83, "{turn}: {rate:?}");
        }
        assert_eq!(timestamps.flows.values().next().unwrap().rate, Some(1_000));
    }

    #[test]
    fn another_connection_has_another_clock() {
        let mut timestamps = listened();
        for (value, opens) in [(77, true), (5_000_000, false)] {
            let (at, told) = segment(1_010, true, value, 0);
            timestamps.learn((at, told.map(|told| Told { opens, ..told })));
            assert_eq!(timestamps.flows.get(&(end(700), end(2049))).unwrap().rate, None);
        }
    }

    #[test]
    fn rates_are_those_that_hosts_have() {
        for (ticks, over_ms, expected) in
            [(1_003, 1_000, Some(1_000)), (251, 1_000, Some(250)), (20, 200, Some(100)), (700, 1_000, None)]
        {
            assert_eq!(rate(ticks, over_ms * MS), expected, "{ticks} in {over_ms} ms");
        }
        assert_eq!(rate(i64::from(u32::MAX), LEARNT_NS), None);
    }
}
