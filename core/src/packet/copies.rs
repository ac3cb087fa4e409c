//! Packets that were captured twice: on a VLAN and its parent, on both ports of a bridge, `-i any`.
//!
//! Takes what an IP packet carries; tells whether the same was seen a moment ago. A copy has the
//! same addresses, IP identification and transport header: everything but what is rewritten on the
//! way (time to live, checksums). A segment sent *again* is no copy: its sender gave it another
//! identification, or, where there are none (IPv6; some hosts send 0 when fragmenting is
//! forbidden), it comes later than [`UNNUMBERED_NS`]. Should one pass for a copy all the same, no
//! data is lost with it, since its twin was captured, only the count of retransmissions.
//! What does come twice within that time is a RST: a closed port answers each segment with one.
//!
//! Looking costs time that most captures need not spend, so it is done for the first packets, then
//! for a few of each [`PERIOD`], and for all as long as copies are found.

use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

use foldhash::fast::RandomState;

use super::ip::{self, Carried, Piece};

/// The longest time between a numbered packet and its copy. Less than the 200 ms after which the
/// common systems send a segment again unasked.
pub(super) const NUMBERED_NS: u64 = 150_000_000;

/// The same for packets without identification: less than a timer takes, so that only a segment
/// sent again because of duplicate ACKs on a fast network can be mistaken.
pub(super) const UNNUMBERED_NS: u64 = 2_000_000;

/// Packets remembered: the last of each set. Copies follow within a few dozen packets.
const SETS: usize = 1 << 8;
const SET_SIZE: usize = 4;

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

/// The flag of a segment that ends a connection at once.
const RST: u8 = 0x04;

#[derive(Clone, Copy, Default)]
struct Slot {
    /// Never 0, except in a place never used.
    print: u64,
    time_ns: i64,
}

/// The packets of the last moment, by their fingerprints.
#[derive(Default)]
pub(super) struct Copies {
    /// Seeded at random: the fingerprints come from the capture. The set is chosen without it, so
    /// that the same capture always gives the same copies.
    hash: RandomState,
    sets: Vec<[Slot; SET_SIZE]>,
    packets: u64,
    /// Packets up to this one are looked at.
    until: u64,
}

impl Copies {
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
        next <= self.until.max(FIRST) || next % PERIOD < SAMPLE
    }

    /// Whether this whole packet of TCP or UDP, at its own level of nesting, was seen a moment ago.
    #[cold]
    #[inline(never)]
    pub(super) fn packet(&mut self, carried: Carried<'_>, time_ns: i64) -> bool {
        let carried = &carried;
        let mut print = self.print(carried);
        let bytes = carried.payload.bytes;
        if carried.protocol == ip::TCP {
            // All but checksum and urgent pointer, then the options; the data follows from these.
            let header = bytes.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4);
            print.write(bytes.get(..16).unwrap_or_default());
            print.write(bytes.get(20..header).unwrap_or_default());
            // A closed port answers each segment with a RST, and those are alike: without an
            // identification they are copies only where other packets are copied too.
            let resets = bytes.get(13).is_some_and(|flags| flags & RST != 0);
            if resets && carried.identification == 0 && self.until < self.packets {
                return false;
            }
        } else {
            // Ports and length, then the data, as far as a call is known by it: of a copy with a tag, or
            // with another header, a snaplen leaves more or less of what follows.
            print.write(bytes.get(..6).unwrap_or_default());
            let data = bytes.get(8..).unwrap_or_default();
            print.write(data.get(..TOLD).unwrap_or(data));
        }
        self.seen(carried, print.finish(), carried.identification != 0, time_ns)
    }

    /// Whether this fragment was seen a moment ago.
    pub(super) fn fragment(&mut self, carried: &Carried<'_>, piece: Piece, time_ns: i64) -> bool {
        let mut print = self.print(carried);
        print.write_u32(piece.identification);
        print.write_usize(piece.offset);
        let bytes = carried.payload.bytes;
        print.write(bytes.get(..TOLD).unwrap_or(bytes));
        self.seen(carried, print.finish(), true, time_ns)
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

    fn seen(&mut self, carried: &Carried<'_>, print: u64, numbered: bool, time_ns: i64) -> bool {
        self.sets.resize(SETS, <[Slot; SET_SIZE]>::default());
        let print = print | 1;
        let Some(set) = self.sets.get_mut(place(carried)) else { return false };
        let patience = if numbered { NUMBERED_NS } else { UNNUMBERED_NS };
        if set.iter().any(|slot| slot.print == print && slot.time_ns.abs_diff(time_ns) <= patience) {
            self.until = self.packets + LINGER;
            return true;
        }
        set.rotate_right(1);
        let [first, ..] = set;
        *first = Slot { print, time_ns };
        false
    }
}

/// The set of a packet, by what tells it from its neighbours: identification, sequence and
/// acknowledgement (TCP), length and xid (RPC over UDP).
fn place(carried: &Carried<'_>) -> usize {
    let bytes = carried.payload.bytes;
    let word =
        |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_be_bytes(*word));
    let sequence = if carried.protocol == ip::TCP { word(4) } else { word(4) >> 16 };
    let mixed = u64::from(carried.identification) << 32 ^ u64::from(sequence) << 16 ^ u64::from(word(8));
    // The odd part of 2^64 divided by the golden ratio spreads what differs in few bits.
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SETS
}
