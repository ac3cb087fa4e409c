//! TCP timestamps of both ends (RFC 7323) → how fast their clocks tick, and what these said last.
//!
//! How fast a clock ticks is known once it was listened to for a while, or another of the same host was. Of one
//! that was heard for less, no more is believed than holds at the slowest rate that it can have. A connection that
//! begins behind a pause may go on with the clock that the connections between these hosts had before.
//!
//! Takes packets with their times; is asked only at a pause (`pause.rs`), and listens to some packets five times
//! a second.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use foldhash::fast::RandomState;

use super::Glimpse;
use super::clock::USUAL_NS;

pub(super) const SECOND_NS: i64 = 1_000_000_000;

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
pub(super) const USUAL_RATE: i64 = 1_000;
const FASTEST: i64 = 1_000_000;

/// A clock of which fewer ticks were heard may be none.
const HEARD_TICKS: i64 = 2;

/// As far apart is what clocks say that agree, beside two ticks.
pub(super) const APART_NS: i64 = SECOND_NS / 4;

/// A clock may be wrong by one in so many.
pub(super) const DRIFT_SHARE: i64 = 100;

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
pub(super) type Flow = (SocketAddr, SocketAddr);

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
pub(super) struct Rate {
    pub(super) slowest: i64,
    pub(super) likely: i64,
}

/// What a direction's timestamps behind a pause are counted from.
#[derive(Clone, Copy)]
pub(super) struct Base {
    pub(super) value: u32,
    pub(super) time_ns: i64,
    /// How long the pauses took since then, all together, of which nothing is known: there the clock may have
    /// been set as well.
    pub(super) unknown_ns: i64,
    /// It is that of another connection between the same hosts, which need not have the same clock.
    pub(super) other: bool,
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

    /// What these packets tell, and nothing that was heard before.
    pub(super) fn anew(&self, packets: impl Iterator<Item = Heard>) -> Self {
        let mut heard = Self::new(self.find);
        packets.for_each(|packet| heard.learn(packet));
        heard
    }

    /// There was a pause, from one time to another, of which nothing is known.
    pub(super) fn unknown(&mut self, (from_ns, to_ns): (i64, i64)) {
        self.unknown_ns = self.unknown_ns.saturating_add(to_ns.saturating_sub(from_ns));
    }

    /// What the timestamps of this segment's direction are counted from: its last one before the pause, or that
    /// of another connection between these hosts.
    pub(super) fn base(&self, told: &Told) -> Option<Base> {
        let own = self.flows.get(&(told.from, told.to)).filter(|_| !told.opens);
        let before = || self.flows.get(self.last_between(&(told.from, told.to))?);
        let Ticking { value, time_ns, unknown_ns, .. } = own.or_else(before)?;
        let unknown_ns = self.unknown_ns.saturating_sub(*unknown_ns);
        let base = Base { value: *value, time_ns: *time_ns, unknown_ns, other: own.is_none() };
        // Clocks that begin anew with each connection go back.
        (!base.other || told.value.wrapping_sub(base.value).cast_signed() >= 0).then_some(base)
    }

    /// How fast the clock of a direction's sender ticks, if it was listened to for long enough, or another of its
    /// host's.
    pub(super) fn known_rate(&self, (from, to): &Flow) -> Option<Rate> {
        let own = self.flows.get(&(*from, *to)).and_then(|ticking| ticking.rate);
        let rate = own.or_else(|| self.hosts.get(&from.ip()).copied())?;
        Some(Rate { slowest: rate, likely: rate })
    }

    /// How fast it ticked while it was heard, for however short a time.
    pub(super) fn measured_rate(&self, flow: &Flow) -> Option<Rate> {
        self.flows.get(flow)?.measured()
    }

    /// The connection that was heard last from the one host to the other.
    pub(super) fn last_between(&self, (from, to): &Flow) -> Option<&Flow> {
        self.pairs.get(&(from.ip(), to.ip()))
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
pub(super) fn onwards(
    time_ns: i64,
    packets: impl Iterator<Item = Heard> + Clone,
) -> impl Iterator<Item = Heard> + Clone {
    let mut last_ns = time_ns;
    packets.take_while(move |(time_ns, _)| {
        std::mem::replace(&mut last_ns, *time_ns).saturating_sub(*time_ns) <= USUAL_NS
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::capture) const MS: i64 = 1_000_000;

    pub(in crate::capture) fn end(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], port))
    }

    /// A segment of a connection, by its client or its server: when, milliseconds, and both clocks.
    pub(in crate::capture) fn segment(at_ms: i64, client: bool, value: u32, echo: u32) -> Heard {
        let (from, to) = if client { (end(700), end(2049)) } else { (end(2049), end(700)) };
        (at_ms * MS, Some(Told { from, to, value, echo, opens: false }))
    }

    /// A call and its reply each 10 ms, for a second: the client's clock begins at 5,000 and ticks each
    /// millisecond, the server's at 2^32 - 100, each 10 ms.
    pub(in crate::capture) fn second() -> impl Iterator<Item = Heard> {
        (0..=100_u32).flat_map(|turn| {
            let (at_ms, [client, server]) = (i64::from(turn) * 10, clocks(turn * 10));
            [segment(at_ms, true, client, server.wrapping_sub(1)), segment(at_ms, false, server, client)]
        })
    }

    pub(in crate::capture) fn listened() -> Timestamps {
        Timestamps::new(|_| None).anew(second())
    }

    pub(in crate::capture) fn clocks(ms: u32) -> [u32; 2] {
        [5_000 + ms, (u32::MAX - 99).wrapping_add(ms / 10)]
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
