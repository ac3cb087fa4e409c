//! A packet that was cut, and a copy behind it with more of its bytes → each with the bytes of the other.
//!
//! A capture of `-i any` with a snaplen sees a packet first within a tunnel's and then alone, which leaves room
//! for more of it; of two files that hold the same packets one may be cut. What comes first is decoded, at its
//! time, and what comes after it is left out. So a packet that was cut waits for its copy, and those behind it
//! wait with it. What a network card or the kernel will cut has its copy in several packets
//! ([`Parts`](super::parts::Parts)): where these bring more of it, it is given behind them.
//!
//! Takes packets with their numbers; gives them back in the same order but for those, with the same numbers and
//! times. Promises: memory is [`BYTES_LIMIT`] and one packet. Should two packets be exchanged that are no copies,
//! nothing is lost: both bring the same bytes of the same stream.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::Held;
use super::parts::{Parts, Stretch};
use crate::capture::Packet;
use crate::packet::Payload;
use crate::packet::outline::{self, Carried, outline};

/// Packets that wait at most: copies by clocks that are half a second apart follow within so many.
const HELD_LIMIT: usize = 1 << 12;

/// Bytes of packets that wait at most, and one packet.
const BYTES_LIMIT: usize = 8 << 20;

/// Bytes of a datagram that tell it from others: those of a call up to its procedure (RFC 5531 section 9).
const TOLD: usize = 24;

/// A packet that waits.
struct Waiting {
    /// `None`: it is given further behind.
    held: Option<Held>,
    /// What it has in common with its copies; `None`: it has none that would bring more.
    print: Option<u64>,
    /// What it has in common with parts of it, where these may come.
    flow: Option<u64>,
    /// Bytes that were captured of what it carries.
    captured: usize,
    /// A copy may bring more.
    waits: bool,
}

/// A packet that is given back: its file's index, its number, and the packet.
pub type Given<'a> = (usize, u64, Packet<'a>);

/// Packets that wait for copies that bring more of them.
#[derive(Default)]
pub struct Fuller {
    held: VecDeque<Waiting>,
    /// How many were given back: the number of the first that waits.
    gone: u64,
    by_print: HashMap<u64, u64, RandomState>,
    parts: Parts,
    bytes: usize,
    fields: Vec<outline::Placed>,
    /// The one that was given back last, lent until the next.
    given: Option<Held>,
}

impl Fuller {
    /// Whether packets wait: those behind them are to be held as well.
    #[inline]
    pub fn holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Holds a packet. `waits`: a copy of it may bring more; else it is held because others are.
    #[cold]
    #[inline(never)]
    pub fn hold(&mut self, file: usize, frame: u64, packet: &Packet<'_>, waits: bool) {
        let told = self.told(packet);
        let (print, captured) =
            told.map_or((None, 0), |Told { print, payload, .. }| (Some(print), payload.bytes.len()));
        let cut = told.is_some_and(|told| captured < told.payload.length);
        let held = Held::of(file, frame, packet, Vec::new());
        self.bytes = self.bytes.saturating_add(held.size());
        let mut waiting = Waiting { held: Some(held), print, flow: None, captured, waits: waits && cut };
        let number = self.gone + self.held.len() as u64;
        let mut brought = Vec::new();
        if let Some(Told { print, stretch, .. }) = told {
            let first = *self.by_print.entry(print).or_insert(number);
            if let Some(twin) = self.held.get_mut(place(first, self.gone)) {
                waiting.waits = false;
                if twin.captured < captured {
                    exchange(twin, &mut waiting);
                }
            } else if let Some(stretch) = stretch {
                if self.parts.take(&stretch, &mut brought) {
                    waiting.waits = false;
                } else if waiting.waits && self.parts.wait(&stretch, number) {
                    waiting.flow = Some(stretch.flow);
                }
            }
        }
        self.held.push_back(waiting);
        for number in brought {
            self.put_behind(number);
        }
    }

    /// Puts a packet behind all that came so far: those bring more of what it carries.
    fn put_behind(&mut self, number: u64) {
        let Some(waiting) = self.held.get_mut(place(number, self.gone)) else { return };
        (waiting.waits, waiting.flow) = (false, None);
        let (held, print) = (waiting.held.take(), waiting.print.take());
        self.forget(print, number);
        self.held.push_back(Waiting { held, print: None, flow: None, captured: 0, waits: false });
    }

    fn forget(&mut self, print: Option<u64>, number: u64) {
        if let Some(print) = print
            && self.by_print.get(&print) == Some(&number)
        {
            self.by_print.remove(&print);
        }
    }

    /// The next packet, if it waits for nothing any more. `more`: others may follow in the captures.
    #[cold]
    #[inline(never)]
    pub fn release(&mut self, more: bool) -> Option<Given<'_>> {
        let full = self.held.len() >= HELD_LIMIT || self.bytes >= BYTES_LIMIT;
        loop {
            if more && !full && self.held.front()?.waits {
                return None;
            }
            let Waiting { held, print, flow, .. } = self.held.pop_front()?;
            let number = self.gone;
            self.gone += 1;
            self.forget(print, number);
            if let Some(flow) = flow {
                self.parts.forget(flow, number);
            }
            if let Some(held) = held {
                self.bytes = self.bytes.saturating_sub(held.size());
                let held = self.given.insert(held);
                return Some((held.file, held.frame, held.packet()));
            }
        }
    }

    /// What a packet has in common with its copies, and what it carries.
    fn told<'a>(&mut self, packet: &Packet<'a>) -> Option<Told<'a>> {
        self.fields.clear();
        let mut print = self.by_print.hasher().build_hasher();
        let (payload, stretch) = match outline(packet, &mut self.fields) {
            Carried::Segment(segment) if segment.payload.length > 0 => {
                (segment.source, segment.destination, segment.flags, segment.options).hash(&mut print);
                (segment.sequence, segment.acknowledgement, segment.window).hash(&mut print);
                (segment.payload, self.parts.stretch(&segment, packet.time_ns))
            }
            Carried::Datagram(datagram) => {
                let bytes = datagram.payload.bytes;
                (datagram.source, datagram.destination, bytes.get(..TOLD)?).hash(&mut print);
                (datagram.payload, None)
            }
            _ => return None,
        };
        payload.length.hash(&mut print);
        Some(Told { print: print.finish(), payload, stretch })
    }
}

/// What is told of a packet.
#[derive(Clone, Copy)]
struct Told<'a> {
    /// What it has in common with its copies.
    print: u64,
    payload: Payload<'a>,
    /// Of a stream.
    stretch: Option<Stretch>,
}

/// The place of a packet among those that wait, of which so many were given back.
fn place(number: u64, gone: u64) -> usize {
    usize::try_from(number.saturating_sub(gone)).unwrap_or(usize::MAX)
}

/// Gives the bytes of a copy to the packet that came first, and the other way round. Places and times stay.
fn exchange(twin: &mut Waiting, copy: &mut Waiting) {
    if let (Some(first), Some(second)) = (&mut twin.held, &mut copy.held) {
        std::mem::swap(&mut first.bytes, &mut second.bytes);
        std::mem::swap(&mut first.link, &mut second.link);
        std::mem::swap(&mut first.wire_length, &mut second.wire_length);
        std::mem::swap(&mut twin.captured, &mut copy.captured);
    }
    twin.waits = false;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::LinkType;

    /// A datagram to a port in an IPv4 packet, of which a capture keeps so much, behind so many bytes.
    fn datagram(xid: u32, before: usize, snaplen: usize) -> (Vec<u8>, u32) {
        let data = [&xid.to_be_bytes()[..], &[7; 96]].concat();
        let length = 28 + data.len() as u16;
        let [l0, l1] = length.to_be_bytes();
        let [u0, u1] = (length - 20).to_be_bytes();
        let ip = [0x45, 0, l0, l1, 0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
        let mut frame = vec![0; 12];
        for _ in 0..before {
            frame.extend([0x81, 0, 0, 1]); // a VLAN's tag
        }
        frame.extend([8, 0]);
        frame.extend(ip);
        frame.extend([3, 132, 8, 1, u0, u1, 0, 0]);
        frame.extend(data);
        let wire = frame.len() as u32;
        frame.truncate(snaplen);
        (frame, wire)
    }

    /// What is given back of these packets: number, time, and captured bytes.
    fn given(packets: &[(Vec<u8>, u32)]) -> Vec<(u64, i64, usize)> {
        let (mut fuller, mut given) = (Fuller::default(), Vec::new());
        let mut take = |fuller: &mut Fuller, more: bool| {
            while let Some((_, frame, packet)) = fuller.release(more) {
                given.push((frame, packet.time_ns, packet.bytes.len()));
            }
        };
        for (number, (bytes, wire_length)) in (1_u64..).zip(packets) {
            let (time_ns, link) = (number.cast_signed() * 10, LinkType::ETHERNET);
            let packet =
                Packet { number, time_ns, stated_ns: time_ns, link, wire_length: *wire_length, bytes };
            fuller.hold(0, number, &packet, true);
            take(&mut fuller, true);
        }
        take(&mut fuller, false);
        assert!(fuller.by_print.is_empty() && fuller.parts.is_empty());
        assert!(fuller.bytes == 0 && !fuller.holding());
        given
    }

    #[test]
    fn the_first_gets_what_a_copy_brings_more() {
        // Tags take more of what is captured than the other frame is shorter.
        assert_eq!(given(&[datagram(1, 2, 100), datagram(1, 0, 98)]), [(1, 10, 98), (2, 20, 100)]);
        let (cut, whole) = (datagram(1, 0, 90), datagram(1, 2, 900));
        let other = datagram(2, 0, 90);
        let packets = [cut.clone(), other.clone(), cut.clone(), whole.clone()];
        assert_eq!(given(&packets), [(1, 10, 150), (2, 20, 90), (3, 30, 90), (4, 40, 90)]);
        assert_eq!(given(&[whole, cut, other]), [(1, 10, 150), (2, 20, 90), (3, 30, 90)]);
    }

    /// A segment with these bytes of a stream, of which a capture keeps so much.
    fn segment(from: u32, length: usize, snaplen: usize) -> (Vec<u8>, u32) {
        let [l0, l1] = (40 + length as u16).to_be_bytes();
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0, l0, l1, 0, 7, 0, 0, 64, 6, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1]);
        frame.extend([3, 132, 8, 1]);
        frame.extend(from.to_be_bytes());
        frame.extend([0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        frame.resize(54 + length, 7);
        let wire = frame.len() as u32;
        frame.truncate(snaplen);
        (frame, wire)
    }

    #[test]
    fn what_is_in_parts_behind_it_is_given_behind_them() {
        let whole = segment(0, 2_500, 154);
        let parts = [(0, 1_000), (1_000, 1_000), (2_000, 500)];
        let [one, two, three] = parts.map(|(from, length)| segment(from, length, 1_054));
        let between = datagram(1, 0, 900);
        let packets = [between.clone(), whole, one, two, between, three, segment(2_500, 10, 64)];
        let order: Vec<_> =
            given(&packets).into_iter().map(|(frame, _, captured)| (frame, captured)).collect();
        assert_eq!(order, [(1, 142), (3, 1_054), (4, 1_054), (5, 142), (6, 554), (2, 154), (7, 64)]);
        let lacks_one = [&packets[..3], &packets[4..]].concat();
        let order: Vec<_> = given(&lacks_one).into_iter().map(|(frame, ..)| frame).collect();
        assert_eq!(order, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn what_differs_stays() {
        let packets = [datagram(1, 0, 90), datagram(2, 0, 900), datagram(3, 0, 50)];
        assert_eq!(given(&packets), [(1, 10, 90), (2, 20, 142), (3, 30, 50)]);
    }

    #[test]
    fn a_packet_waits_for_so_many_others() {
        let mut fuller = Fuller::default();
        for number in 1..=HELD_LIMIT as u64 {
            assert!(fuller.release(true).is_none(), "{number}");
            let (bytes, wire_length) = datagram(number as u32, 0, 90);
            let packet = Packet {
                number,
                time_ns: 0,
                stated_ns: 0,
                link: LinkType::ETHERNET,
                wire_length,
                bytes: &bytes,
            };
            fuller.hold(0, number, &packet, true);
        }
        assert_eq!(fuller.release(true).map(|(_, frame, _)| frame), Some(1));
        assert!(fuller.release(true).is_none());
    }

    #[test]
    fn where_no_copies_come_none_waits_for_longer() {
        let (bytes, wire_length) = datagram(1, 0, 90);
        let packet = Packet {
            number: 1,
            time_ns: 0,
            stated_ns: 0,
            link: LinkType::ETHERNET,
            wire_length,
            bytes: &bytes,
        };
        let mut fuller = Fuller::default();
        fuller.hold(0, 1, &packet, false);
        assert!(fuller.release(true).is_some() && !fuller.holding());
    }
}
