//! What each sender of TCP segments has sent lately, by which a copy of a segment is told from one sent again
//! where the segment is not numbered, or was cut otherwise.
//!
//! Takes segments with timestamps (RFC 7323) of packets that are compared with others. A sender's clock never
//! goes back: what is sent again bears the time at which it is sent again, a copy that of its twin. Only where
//! the clock may not have ticked meanwhile that tells nothing.
//!
//! Memory is [`FLOWS`] times [`SENT`] places at most, and those only while copies are found.

use std::collections::VecDeque;

use super::Segment;
use super::copies::UNNUMBERED_NS;
use super::plain::{self, SPREAD};

/// Directions remembered, each in a place of its own by its ends. One that takes another's begins anew.
const FLOWS: usize = 1 << 10;

/// Segments remembered of each, which cover what is under way between two places of capture.
const SENT: usize = 1 << 9;

/// Ticks of the sender's clock after which what is sent again surely bears another time: one may pass in
/// between, and the times of capture are not those of sending.
const TICKS: u64 = 2;

/// The longest segment that is sent as one packet, in bytes: a jumbo frame's. A longer one was not cut yet, or
/// put together again.
const LONGEST: usize = 9_000;

/// Bytes of each packet at least that one of those becomes: less than any network leaves that carries IPv6.
const SHORTEST: usize = 1_200;

/// How far a number that counts around is ahead of another.
fn ahead(of: u32, other: u32) -> i32 {
    of.wrapping_sub(other).cast_signed()
}

/// What a sender's clock showed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// First, and when that was captured.
    first: (u32, i64),
    latest: u32,
    /// In the segment that is asked about.
    now: u32,
}

impl Clock {
    /// Whether this segment is a copy of one that is alike, seen at `seen_ns`, `since_ns` before. `copied`: other
    /// packets are copied, too.
    pub(super) fn tells_copy(self, seen_ns: i64, since_ns: u64, copied: bool) -> bool {
        if ahead(self.latest, self.now) > 0 {
            return true; // Sent again it would not bear an older time than what was sent before.
        }
        let ticks = u64::try_from(ahead(self.now, self.first.0)).unwrap_or(0);
        // Whether it ticks at all is not known yet.
        if ticks == 0 && !copied {
            return false;
        }
        // So many ticks end within this time, and one more at most does not: a tick is no shorter.
        let tick_ns = seen_ns.abs_diff(self.first.1) / (ticks + 1);
        since_ns >= tick_ns.saturating_mul(TICKS)
    }
}

/// What grows with each segment that a sender sends, of one.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    clock: u32,
    echo: u32,
    acknowledgement: u32,
}

impl Progress {
    fn of(segment: &Segment<'_>) -> Option<Self> {
        let (clock, echo) = segment.timestamps()?;
        Some(Self { clock, echo, acknowledgement: segment.acknowledgement })
    }

    /// Whether nothing of it is further than in the other.
    fn within(self, other: Self) -> bool {
        ahead(self.clock, other.clock) <= 0
            && ahead(self.echo, other.echo) <= 0
            && ahead(self.acknowledgement, other.acknowledgement) <= 0
    }

    fn furthest(self, other: Self) -> Self {
        let later = |one: u32, two: u32| if ahead(one, two) > 0 { one } else { two };
        Self {
            clock: later(self.clock, other.clock),
            echo: later(self.echo, other.echo),
            acknowledgement: later(self.acknowledgement, other.acknowledgement),
        }
    }
}

/// A segment whose bytes were not sent before, or the part of one.
struct Sent {
    from: u32,
    to: u32,
    progress: Progress,
    /// Of the packet; `None`: it is not numbered, or brought bytes before these.
    identification: Option<u16>,
    time_ns: i64,
    /// The index of its file.
    file: usize,
}

/// What one end sends to another.
#[derive(Default)]
struct Flow {
    /// By which it is told from others; 0 in a place never used.
    print: u64,
    first: (u32, i64),
    latest: u32,
    /// In the order of their bytes.
    sent: VecDeque<Sent>,
}

impl Flow {
    /// Whether a segment that begins within what was sent may be a part of that, or what it is a part of, by the
    /// number of its packet or, where there is none, by when it came.
    fn may_be_of(&self, sent: &Sent, passing: Passing<'_>, progress: Progress) -> bool {
        let Passing { identification, segment, time_ns, .. } = passing;
        if identification == 0 {
            let clock = Clock { first: self.first, latest: self.latest, now: progress.clock };
            let since_ns = sent.time_ns.abs_diff(time_ns);
            return since_ns <= UNNUMBERED_NS || clock.tells_copy(sent.time_ns, since_ns, true);
        }
        // A card numbers the packets into which it cuts a segment one after the other.
        let packet = if segment.payload.length > LONGEST { SHORTEST } else { segment.payload.length };
        let packets = segment.sequence.wrapping_sub(sent.from) as usize / packet;
        sent.identification.is_none_or(|first| usize::from(identification.wrapping_sub(first)) <= packets)
    }
}

/// A segment, and what tells of which flow it is.
#[derive(Clone, Copy)]
pub(super) struct Passing<'a> {
    /// Not 0; equal ends have equal ones.
    pub(super) print: u64,
    pub(super) identification: u16,
    pub(super) segment: &'a Segment<'a>,
    pub(super) time_ns: i64,
    /// The index of its file.
    pub(super) file: usize,
}

impl Passing<'_> {
    /// Where its bytes begin and end, if it has any and neither opens nor ends the connection.
    fn bytes(&self) -> Option<(u32, u32)> {
        let Segment { sequence, flags, payload, .. } = *self.segment;
        let brings = payload.length > 0 && flags.amid();
        brings.then(|| (sequence, sequence.wrapping_add(payload.length as u32)))
    }

    /// The place of its flow, which the same ends always have, so that the same capture gives the same copies.
    fn place(&self) -> usize {
        let Segment { source, destination, .. } = self.segment;
        let mixed = plain::number(*source).rotate_left(24) ^ plain::number(*destination);
        (mixed.wrapping_mul(SPREAD) >> 32) as usize % FLOWS
    }
}

/// The flows of a capture.
#[derive(Default)]
pub(super) struct Flows(Vec<Flow>);

impl Flows {
    /// What the clock of the sender shows; `None`: the segment bears no time, or is the first of its flow.
    pub(super) fn clock(&self, passing: Passing<'_>) -> Option<Clock> {
        let (now, _) = passing.segment.timestamps()?;
        let Flow { print, first, latest, .. } = *self.0.get(passing.place())?;
        (print == passing.print).then_some(Clock { first, latest, now })
    }

    /// Whether all bytes of the segment came a moment ago in segments that were cut otherwise: not longer than
    /// `patience_ns` ago, or in another file, and none that was sent before it was. How long after the first of
    /// them, nanoseconds; `None`: they did not.
    pub(super) fn covers(&self, passing: Passing<'_>, patience_ns: u64) -> Option<u64> {
        let flow = self.0.get(passing.place()).filter(|flow| flow.print == passing.print)?;
        let (from, to) = passing.bytes()?;
        let progress = Progress::of(passing.segment)?;
        let mut later_ns = None;
        let place = flow.sent.partition_point(|sent| ahead(from, sent.to) >= 0);
        let mut at = from;
        let mut furthest: Option<Progress> = None;
        for sent in flow.sent.range(place..) {
            let since_ns = sent.time_ns.abs_diff(passing.time_ns);
            let late = since_ns > patience_ns && sent.file == passing.file;
            if ahead(sent.from, at) > 0 || late || at == from && !flow.may_be_of(sent, passing, progress) {
                return None;
            }
            later_ns = later_ns.or(Some(since_ns));
            furthest = Some(furthest.map_or(sent.progress, |before| before.furthest(sent.progress)));
            at = sent.to;
            if ahead(at, to) >= 0 {
                return later_ns.filter(|_| furthest.is_some_and(|furthest| progress.within(furthest)));
            }
        }
        None
    }

    /// Takes a segment that is no copy. `copied`: copies were found a moment ago, so that its bytes are to be known.
    /// What is older than `patience_ns` is forgotten, if that is given.
    pub(super) fn take(&mut self, passing: Passing<'_>, patience_ns: Option<u64>, copied: bool) {
        /// Of a count that goes around after twice as many.
        const AROUND: i32 = 1 << 30;
        let Some(progress) = Progress::of(passing.segment) else { return };
        let now = progress.clock;
        self.0.resize_with(FLOWS, Flow::default);
        let Some(flow) = self.0.get_mut(passing.place()) else { return };
        let opens = passing.segment.flags.syn();
        if flow.print != passing.print || opens || ahead(now, flow.first.0) > AROUND {
            let sent = std::mem::take(&mut flow.sent);
            *flow = Flow { print: passing.print, first: (now, passing.time_ns), latest: now, sent };
            flow.sent.clear();
        }
        if ahead(now, flow.latest) > 0 {
            flow.latest = now;
        }
        let Some((from, to)) = passing.bytes().filter(|_| copied) else { return };
        let young = |sent: &Sent| {
            patience_ns.is_none_or(|patience_ns| sent.time_ns.abs_diff(passing.time_ns) <= patience_ns)
        };
        while flow.sent.len() >= SENT || flow.sent.front().is_some_and(|sent| !young(sent)) {
            flow.sent.pop_front();
        }
        // What is new of it: behind all that was sent, or where the capture had missed something.
        let (mut at, mut whole) = (from, true);
        let mut place = flow.sent.partition_point(|sent| ahead(from, sent.to) >= 0);
        while ahead(to, at) > 0 {
            let next = flow.sent.get(place).map_or((to, to), |next| (next.from, next.to));
            if ahead(next.0, at) <= 0 {
                at = next.1;
            } else {
                let until = if ahead(next.0, to) < 0 { next.0 } else { to };
                let identification = Some(passing.identification).filter(|number| whole && *number != 0);
                let Passing { time_ns, file, .. } = passing;
                flow.sent
                    .insert(place, Sent { from: at, to: until, progress, identification, time_ns, file });
                at = until;
            }
            place += 1;
            whole = false;
        }
    }
}
