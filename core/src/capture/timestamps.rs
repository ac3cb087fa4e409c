//! TCP timestamps of both ends (RFC 7323) → whether a capture's clock was set forward, and by how much.
//!
//! Where a capture's clock moves on by more than a second between two packets, nothing was sent meanwhile,
//! or the clock was set. Client and server have clocks of their own, of which their segments tell: where those
//! of both went on by far less, it was set. One end's alone proves nothing, since a host that sleeps stops its
//! own. Nor does a segment that had waited in a queue: one that counts echoes a timestamp of the other end
//! that is later than the first one seen behind the pause.
//!
//! Takes packets before and behind the pause, with their times; gives what to make of it. Is asked only at a
//! pause, and listens to some packets five times a second to know how fast the clocks tick.

use std::collections::HashMap;
use std::net::SocketAddr;

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

/// Ticks in a second that hosts are known to count. One that counts otherwise is not believed.
const RATES: [i64; 12] = [2, 10, 64, 100, 128, 250, 300, 500, 512, 1_000, 1_024, 1_000_000];

/// What is measured is within one in so many of such a rate.
const RATE_SHARE: i64 = 20;

/// As long, and over as many ticks, a clock is listened to before it is known.
const LEARNT_NS: i64 = SECOND_NS / 5;
const LEARNT_TICKS: i64 = 20;

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
    /// Ticks in a second, once they are known.
    rate: Option<i64>,
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
    listened_ns: i64,
    /// No pause since then is one of which nothing is known.
    known_ns: i64,
}

impl Timestamps {
    pub(super) fn new(find: Find) -> Self {
        Self { find, flows: HashMap::default(), listened_ns: i64::MIN, known_ns: i64::MIN }
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
    pub(super) fn listen(&mut self, time_ns: i64, packets: impl Iterator<Item = Heard>) {
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
        }
        let begun = || Ticking { ticks: 0, since_ns: time_ns, value: told.value, time_ns, rate: None };
        let ticking = self.flows.entry((told.from, told.to)).or_insert_with(begun);
        if told.opens || ticking.restarted(&told, time_ns) {
            *ticking = begun();
        }
        ticking.tick(&told, time_ns);
    }

    /// What both ends tell of a pause of the capture, from one time to another, by the packets behind it.
    pub(super) fn judge(&self, pause_ns: (i64, i64), behind: impl Iterator<Item = Heard>) -> Pause {
        let (from_ns, to_ns) = pause_ns;
        // The first timestamp of each direction behind the pause, and what those which count tell.
        let mut first: HashMap<Flow, u32, RandomState> = HashMap::default();
        let mut tell: HashMap<Flow, i64, RandomState> = HashMap::default();
        let mut doubtful = false;
        for (time_ns, told) in usual(to_ns, behind) {
            let Some(told) = told else { continue };
            let (flow, answered) = ((told.from, told.to), (told.to, told.from));
            first.entry(flow).or_insert(told.value);
            let Some((set_ns, over_ns)) = self.set_by(&told, time_ns) else { continue };
            if !much(set_ns, over_ns) {
                return Pause::Real;
            }
            doubtful = true;
            if first.get(&answered).is_some_and(|first| later(told.echo, *first)) {
                let least = tell.entry(flow).or_insert(set_ns);
                *least = set_ns.min(*least);
            }
        }
        let both = tell.keys().any(|(from, to)| tell.contains_key(&(*to, *from)));
        let (Some(least), Some(most), true) = (tell.values().min(), tell.values().max(), both) else {
            return if doubtful { Pause::Doubtful } else { Pause::Unknown };
        };
        let tick_ns = tell.keys().map(|flow| self.tick_ns(flow)).max().unwrap_or_default();
        let (apart_ns, longest_ns) = (APART_NS + 2 * tick_ns, to_ns.saturating_sub(from_ns));
        if most - least <= apart_ns && *most <= longest_ns.saturating_add(apart_ns) {
            Pause::Set((*least).min(longest_ns))
        } else {
            Pause::Unknown
        }
    }

    /// There was a pause of which nothing is known.
    pub(super) fn unknown_until(&mut self, time_ns: i64) {
        self.known_ns = time_ns;
    }

    /// By how much the capture's clock was set forward since the last segment of this direction, if it was,
    /// and how long ago that segment came.
    fn set_by(&self, told: &Told, time_ns: i64) -> Option<(i64, i64)> {
        let ticking = self.flows.get(&(told.from, told.to))?;
        let rate = ticking.rate.filter(|_| ticking.time_ns >= self.known_ns && !told.opens)?;
        let over_ns = time_ns.saturating_sub(ticking.time_ns);
        let ticks = told.value.wrapping_sub(ticking.value);
        let round_ns = (1 << 32) / rate * SECOND_NS;
        let sure = if over_ns < round_ns / 2 {
            ticks.cast_signed() >= 0
        } else {
            round_ns >= SHORTEST_ROUND_NS && ticks <= u32::MAX / ROUND_SHARE
        };
        let passed_ns = i64::from(ticks).saturating_mul(SECOND_NS / rate);
        sure.then(|| (over_ns.saturating_sub(passed_ns), over_ns))
    }

    fn tick_ns(&self, flow: &Flow) -> i64 {
        self.flows.get(flow).and_then(|ticking| ticking.rate).map_or(0, |rate| SECOND_NS / rate)
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

    fn tick(&mut self, told: &Told, time_ns: i64) {
        let ticks = told.value.wrapping_sub(self.value).cast_signed();
        if ticks < 0 || time_ns < self.time_ns {
            return;
        }
        self.ticks += i64::from(ticks);
        (self.value, self.time_ns) = (told.value, time_ns);
        let over_ns = time_ns.saturating_sub(self.since_ns);
        if self.rate.is_none() && over_ns >= LEARNT_NS && self.ticks >= LEARNT_TICKS {
            self.rate = rate(self.ticks, over_ns);
            (self.ticks, self.since_ns) = (0, time_ns);
        }
    }
}

/// The rate that so many ticks in this time are nearest to, if they are near one.
fn rate(ticks: i64, over_ns: i64) -> Option<i64> {
    let measured = i64::try_from(i128::from(ticks) * i128::from(SECOND_NS) / i128::from(over_ns)).ok()?;
    let nearest = RATES.into_iter().min_by_key(|rate| (measured - rate).abs() * 1_000 / rate)?;
    ((measured - nearest).abs() <= nearest / RATE_SHARE).then_some(nearest)
}

/// Packets up to the next pause, or to a time that is odd.
fn usual(time_ns: i64, packets: impl Iterator<Item = Heard>) -> impl Iterator<Item = Heard> {
    let mut last_ns = time_ns;
    packets.take_while(move |(time_ns, _)| {
        let before_ns = std::mem::replace(&mut last_ns, *time_ns);
        time_ns.saturating_sub(before_ns).unsigned_abs() <= USUAL_NS.unsigned_abs()
    })
}

/// Whether it is more than clocks are apart.
fn much(set_ns: i64, over_ns: i64) -> bool {
    set_ns > USUAL_NS + over_ns.saturating_sub(set_ns) / DRIFT_SHARE
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
        timestamps.unknown_until(1_001 * MS);
        let found = timestamps.judge((1_001 * MS, 61_000 * MS), behind(61_000, 1_010, 1_010).into_iter());
        assert_eq!(found, Pause::Unknown);
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
