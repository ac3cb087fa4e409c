//! Packets that were captured twice: on a VLAN and its parent, on both ports of a bridge, `-i any`.
//!
//! Takes what an IP packet carries; tells whether the same was seen a moment ago. A copy has the
//! same addresses, IP identification and transport header: everything but what is rewritten on the
//! way (time to live, checksums). A segment sent *again* is no copy: its sender gave it another
//! identification, or, where there are none (IPv6; some hosts send 0 when fragmenting is
//! forbidden), another time, or it comes later than [`UNNUMBERED_NS`] or [`DATAGRAM_NS`]. A SYN is not sent again
//! within [`NUMBERED_NS`] (RFC 6298 section 2: after a second). Should one pass for a copy all the
//! same, no data is lost with it, since its twin was captured, only the count of retransmissions.
//!
//! Where copies are found, a segment is one too if all its bytes were seen a moment ago, cut otherwise
//! ([`Flows`]): before a network card cuts what is sent, or after one put together what came.
//!
//! Two hosts that capture the same packets have clocks that may be further apart. What is numbered, or whose
//! sender's clock tells, is therefore a copy of what another file holds at any distance, as far back as packets
//! are remembered ([`FAR_SETS`]).
//!
//! What does come twice within that time is a RST: a closed port answers each segment with one.
//!
//! Looking costs time that most captures need not spend, so it is done for the first packets, then
//! for a few of each [`PERIOD`], and for all as long as copies are found; of several files for the first
//! [`REACH`] of each. Of all that bring data it is known what came a moment ago ([`Recent`]), so that the
//! first copy is found, and those behind it are looked for.

use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

use foldhash::fast::RandomState;

use super::flows::{Clock, Flows, Passing};
use super::ip::{self, Carried, Piece};
use super::plain::{self, Plain, SPREAD};
use super::recent::Recent;
use super::{Datagram, ROCE_PORT, Segment};

/// The longest time between a numbered packet and its copy. Less than the 200 ms after which the
/// common systems send a segment again unasked.
pub(super) const NUMBERED_NS: u64 = 150_000_000;

/// The same for segments without identification whose sender's clock does not tell more ([`Clock`]): less than a
/// timer takes, so that only a segment sent again because of duplicate ACKs on a fast network can be mistaken.
pub(super) const UNNUMBERED_NS: u64 = 2_000_000;

/// The same for datagrams that have none: less than the 100 ms after which a call is sent again at the soonest (Linux:
/// `RPC_RTO_MIN`, and the least `timeo`). RDMA sends again as soon as it hears of a loss.
pub(super) const DATAGRAM_NS: u64 = 90_000_000;

/// Packets remembered: the last of each set. Copies follow within a few dozen packets.
const SETS: usize = 1 << 8;
const SET_SIZE: usize = 4;

/// The same of several files: half a million packets (12 MB), which is 5 s of a busy client's, and minutes of
/// most.
const FAR_SETS: usize = 1 << 17;

/// Packets looked at of several files from where one begins, and where a copy was found from another file: twice
/// as many as are remembered.
const REACH: u64 = 1 << 20;

/// Packets looked at from the start.
const FIRST: u64 = 1 << 13;
/// Of so many packets …
const PERIOD: u64 = 1 << 14;
/// … so many are looked at.
const SAMPLE: u64 = 1 << 8;
/// Packets looked at after a copy was found.
const LINGER: u64 = 1 << 16;

/// Bytes of a datagram that tell it from others of the same ports, length and identification: those of
/// a call up to its procedure (RFC 5531 section 9).
const TOLD: usize = 24;

#[derive(Clone, Copy, Default)]
struct Slot {
    /// Never 0, except in a place never used.
    print: u64,
    time_ns: i64,
    /// The index of its file.
    file: usize,
}

/// How long after a packet its copy comes.
#[derive(Clone, Copy)]
struct Within {
    /// At most, whatever its sender's clock shows.
    patience_ns: u64,
    /// By which it may be more, up to [`NUMBERED_NS`].
    clock: Option<Clock>,
    /// Other packets are copied, too.
    copied: bool,
    /// Nothing else of its sender has its number, so that in another file it may be any time later.
    numbered: bool,
}

impl Within {
    fn of(patience_ns: u64) -> Self {
        Self { patience_ns, clock: None, copied: false, numbered: false }
    }

    /// Whether one that came now, in this file, is a copy of the one that was seen.
    fn holds(self, seen: Slot, now_ns: i64, file: usize) -> bool {
        let since_ns = seen.time_ns.abs_diff(now_ns);
        let elsewhere = seen.file != file;
        let tells = |clock: Clock| clock.tells_copy(seen.time_ns, since_ns, self.copied);
        since_ns <= self.patience_ns
            || elsewhere && self.numbered
            || (elsewhere || since_ns <= NUMBERED_NS) && self.clock.is_some_and(tells)
    }
}

/// Copies that came later than those of one host do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// How many, all of packets of another file.
    pub copies: u64,
    /// The sum of how much later, nanoseconds.
    sum_ns: u64,
}

impl Apart {
    /// How much later on average, nanoseconds; `None` without any.
    pub fn mean_ns(self) -> Option<u64> {
        self.sum_ns.checked_div(self.copies)
    }
}

/// The packets of the last moment, by their fingerprints.
pub(super) struct Copies {
    /// Seeded at random: the fingerprints come from the capture. The set is chosen without it, so
    /// that the same capture always gives the same copies.
    hash: RandomState,
    sets: Vec<[Slot; SET_SIZE]>,
    packets: u64,
    /// Packets up to this one are looked at, because copies were found …
    until: u64,
    /// … or might be.
    looked_at: u64,
    /// Up to this one a copy may be of one that came before any were looked at.
    began: u64,
    flows: Flows,
    recent: Recent,
    /// There are several files.
    several: bool,
    /// The file that is read, and the last that began.
    file: usize,
    begun: usize,
    pub(super) apart: Apart,
}

impl Default for Copies {
    fn default() -> Self {
        Self {
            hash: RandomState::default(),
            sets: Vec::new(),
            packets: 0,
            until: 0,
            looked_at: FIRST,
            began: 0,
            flows: Flows::default(),
            recent: Recent::default(),
            several: false,
            file: 0,
            begun: 0,
            apart: Apart::default(),
        }
    }
}

impl Copies {
    /// Takes how many files there are.
    pub(super) fn among(&mut self, files: usize) {
        self.several = files > 1;
        if self.several {
            self.looked_at = REACH;
        }
    }

    /// Takes the index of the file of the next packet.
    #[inline]
    pub(super) fn read_from(&mut self, file: usize) {
        if file != self.file {
            self.turn_to(file);
        }
    }

    #[cold]
    fn turn_to(&mut self, file: usize) {
        self.file = file;
        if file > self.begun {
            self.begun = file;
            self.looked_at = self.packets + REACH;
        }
    }

    /// Whether a copy was found lately.
    pub(super) fn come(&self) -> bool {
        self.until >= self.packets
    }

    /// Whether copies were found just now, so that what they are of came before any were looked at.
    pub(super) fn began(&self) -> bool {
        self.began >= self.packets
    }

    /// Counts a packet that is not looked at, and remembers what it brings.
    #[inline]
    pub(super) fn pass(&mut self, plain: &Plain<'_>, time_ns: i64) {
        self.packets += 1;
        if plain.part.payload.length > 0 {
            self.recent.take(plain.print(), time_ns);
        }
    }

    /// Whether a segment that brings data came a moment ago, be it looked at or not.
    #[inline(never)]
    pub(super) fn came_again(&mut self, carried: Carried<'_>, segment: &Segment<'_>, time_ns: i64) -> bool {
        let Carried { identification, .. } = carried;
        let stamps = plain::stamps(segment.options);
        if segment.payload.length == 0 || segment.flags.bounds() || identification == 0 && stamps == 0 {
            return false;
        }
        let [source, destination] = [segment.source, segment.destination].map(plain::number);
        let print = plain::print([source, destination], identification, stamps, &segment.part());
        let patience_ns = if identification == 0 { UNNUMBERED_NS } else { NUMBERED_NS };
        let again = self.recent.has(print, patience_ns, time_ns);
        if again {
            if self.began() || !self.come() {
                self.began = self.packets + SAMPLE;
            }
            self.until = self.packets + LINGER;
        } else {
            self.recent.take(print, time_ns);
        }
        again
    }

    /// Counts a packet; tells whether to look at it.
    #[inline]
    pub(super) fn watch(&mut self) -> bool {
        let watches = self.watches_next();
        self.packets += 1;
        watches
    }

    /// Whether the next packet is to be looked at.
    #[inline]
    pub(super) fn watches_next(&self) -> bool {
        let next = self.packets + 1;
        next <= self.until.max(self.looked_at) || next % PERIOD < SAMPLE
    }

    /// Whether this whole packet of TCP, at its own level of nesting, was seen a moment ago, or all that it brings.
    #[cold]
    #[inline(never)]
    pub(super) fn segment(&mut self, carried: Carried<'_>, segment: &Segment<'_>, time_ns: i64) -> bool {
        let copied = self.come();
        let numbered = carried.identification != 0;
        let mut print = self.print(&carried);
        // All but checksum and urgent pointer, then the options; the data follows from these.
        print.write(carried.payload.bytes.get(..16).unwrap_or_default());
        print.write(segment.options);
        let print = print.finish();
        // Most packets, where nothing is copied.
        if numbered && !copied {
            return self.seen(&carried, print, Within { numbered, ..Within::of(NUMBERED_NS) }, time_ns);
        }
        // A closed port answers each segment with a RST, and those are alike: without an
        // identification they are copies only where other packets are copied too.
        if segment.flags.rst() && !copied {
            return false;
        }
        let identification = carried.identification;
        let passing =
            Passing { print: self.flow(segment), identification, segment, time_ns, file: self.file };
        let within = if numbered {
            Within { numbered, ..Within::of(NUMBERED_NS) }
        } else {
            let patience_ns = if segment.flags.syn() { NUMBERED_NS } else { UNNUMBERED_NS };
            let clock = self.flows.clock(passing);
            Within { patience_ns, clock, copied, numbered }
        };
        if self.seen(&carried, print, within, time_ns) {
            return true;
        }
        if copied && let Some(later_ns) = self.flows.covers(passing, NUMBERED_NS) {
            self.found(later_ns);
            return true;
        }
        let patience_ns = (!self.several).then_some(NUMBERED_NS);
        self.flows.take(passing, patience_ns, copied);
        false
    }

    /// Whether this whole datagram, at its own level of nesting, was seen a moment ago.
    #[cold]
    #[inline(never)]
    pub(super) fn datagram(&mut self, carried: &Carried<'_>, datagram: &Datagram<'_>, time_ns: i64) -> bool {
        let mut print = self.print(carried);
        let bytes = carried.payload.bytes;
        // Ports and length, then the data, as far as a call is known by it: of a copy with a tag, or
        // with another header, a snaplen leaves more or less of what follows.
        print.write(bytes.get(..6).unwrap_or_default());
        let data = bytes.get(8..).unwrap_or_default();
        print.write(data.get(..TOLD).unwrap_or(data));
        let patience_ns = match (carried.identification, datagram.destination.port()) {
            (0, ROCE_PORT) => UNNUMBERED_NS,
            (0, _) => DATAGRAM_NS,
            _ => NUMBERED_NS,
        };
        let numbered = carried.identification != 0 && datagram.destination.port() != ROCE_PORT;
        let within = Within { numbered, ..Within::of(patience_ns) };
        self.seen(carried, print.finish(), within, time_ns)
    }

    /// Whether this fragment was seen a moment ago.
    pub(super) fn fragment(&mut self, carried: &Carried<'_>, piece: Piece, time_ns: i64) -> bool {
        let mut print = self.print(carried);
        print.write_u32(piece.identification);
        print.write_usize(piece.offset);
        let bytes = carried.payload.bytes;
        print.write(bytes.get(..TOLD).unwrap_or(bytes));
        self.seen(carried, print.finish(), Within::of(NUMBERED_NS), time_ns)
    }

    fn print(&self, carried: &Carried<'_>) -> impl Hasher + use<> {
        let mut print = self.hash.build_hasher();
        for address in [carried.source, carried.destination] {
            match address {
                IpAddr::V4(address) => print.write_u32(address.to_bits()),
                IpAddr::V6(address) => print.write_u128(address.to_bits()),
            }
        }
        let rest = u64::from(carried.identification) << 8 | u64::from(carried.protocol);
        print.write_u64(rest | (carried.payload.length as u64) << 24);
        print
    }

    /// Tells the two ends of a flow from others, and its directions from one another.
    fn flow(&self, segment: &Segment<'_>) -> u64 {
        self.hash.hash_one((segment.source, segment.destination)) | 1
    }

    fn seen(&mut self, carried: &Carried<'_>, print: u64, within: Within, time_ns: i64) -> bool {
        let (print, file) = (print | 1, self.file);
        let sets = if self.several { FAR_SETS } else { SETS };
        self.sets.resize(sets, <[Slot; SET_SIZE]>::default());
        let Some(set) = self.sets.get_mut(place(carried) % sets) else { return false };
        let twin = set.iter().find(|slot| slot.print == print && within.holds(**slot, time_ns, file));
        if let Some(twin) = twin {
            let later_ns = twin.time_ns.abs_diff(time_ns);
            self.found(later_ns);
            return true;
        }
        set.rotate_right(1);
        let [first, ..] = set;
        *first = Slot { print, time_ns, file };
        false
    }

    /// Takes that a copy was found, so much later than its twin.
    fn found(&mut self, later_ns: u64) {
        self.until = self.packets + LINGER;
        if later_ns > NUMBERED_NS {
            self.apart.copies += 1;
            self.apart.sum_ns = self.apart.sum_ns.saturating_add(later_ns);
            self.looked_at = self.looked_at.max(self.packets + REACH);
        }
    }
}

/// The set of a packet, of as many as there are, by what tells it from its neighbours: identification, sequence and
/// acknowledgement (TCP), length and xid (RPC over UDP).
fn place(carried: &Carried<'_>) -> usize {
    let bytes = carried.payload.bytes;
    let word =
        |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_be_bytes(*word));
    let sequence = if carried.protocol == ip::TCP { word(4) } else { word(4) >> 16 };
    let mixed = u64::from(carried.identification) << 32 ^ u64::from(sequence) << 16 ^ u64::from(word(8));
    (mixed.wrapping_mul(SPREAD) >> 32) as usize
}
