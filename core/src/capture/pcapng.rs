//! pcapng (draft-ietf-opsawg-pcapng): sections of blocks, each of which says twice how long it is.
//!
//! Parsed here rather than by a library, because the blocks of packets are most of the file: their
//! options are passed over unread, and blocks of no interest are skipped however long they are.

mod fields;

mod resolution;

use super::output::{self, Interface};
use super::parser::Record;
use super::resume::{self, Guess};
use super::window::{Fault, Window};
use super::{CREDIBLE_PACKET, Details, Glimpse, LinkType, PACKET_LIMIT, credible};

pub(super) use fields::Fields;
use resolution::{NS_PER_S, Resolution};

/// Type of the section header block: the same in both byte orders.
pub(super) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Types of blocks by which a damaged file is taken up again: these, name resolution (4), decryption
/// secrets (10) and custom blocks. Others are rare among packets.
const FOUND_AGAIN: [u32; 10] = [
    u32::from_be_bytes(SECTION_HEADER),
    INTERFACE_DESCRIPTION,
    OBSOLETE_PACKET,
    SIMPLE_PACKET,
    4,
    INTERFACE_STATISTICS,
    ENHANCED_PACKET,
    10,
    0x0bad,
    0x4000_0bad,
];

/// Bytes of a block around its body: type and length before, length after.
const FRAME: usize = 12;

/// What a file holds where nothing was written: no block is of type 0 and of no length.
const UNWRITTEN: [u8; FRAME] = [0; FRAME];

/// Bytes of an enhanced packet block before its packet: type, length, interface, time in two halves,
/// bytes captured, bytes on the wire.
const ENHANCED_HEADER: usize = 28;

/// Bytes of a section header without options.
const SMALLEST_SECTION: usize = 28;

/// A packet block may be longer than its packet by headers and options, but not by more than this.
const PACKET_BLOCK_LIMIT: usize = PACKET_LIMIT + (1 << 20);

/// What is said of a length that no block can have.
const IMPOSSIBLE: &str = "a block of impossible length";

/// Bytes looked at of a block that describes an interface or its statistics; options past it are ignored.
const DESCRIPTION_LIMIT: usize = 64 << 10;

/// Interfaces of a section that are remembered; packets of others are taken for damage.
const INTERFACE_LIMIT: usize = 65_536;

/// Interfaces of a section whose names are kept; of the others only what reading needs is.
const NAMED_LIMIT: usize = 256;

/// Bytes kept of an interface's names; longer ones are passed over.
const NAMES_LIMIT: usize = 1 << 10;

/// Options of an interface that are bytes in any byte order, and say which it is: comment, name, description,
/// addresses, filter, operating system, length of the frame check sequence, hardware.
const NAMES: [u16; 10] = [1, 2, 3, 4, 5, 6, 11, 12, 13, 15];

const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

/// The latest time that a packet is believed to be of, in the year 2116, so that times between packets,
/// and twice as much, fit 64 bits. The earliest is 1970. A time that was damaged may be any: that of the
/// packet before stands for one beyond these.
const LATEST_NS: i64 = (1 << 62) - 1;

struct Described {
    link: LinkType,
    snaplen: u32,
    resolution: Resolution,
    offset_ns: i64,
    dropped: Option<u64>,
    names: Box<[u8]>,
}

pub(super) struct Pcapng {
    big_endian: bool,
    interfaces: Vec<Described>,
    snaplen: u32,
    /// Drops of the sections that are over.
    dropped: Option<u64>,
    last_time_ns: i64,
    /// Packets that have no time, or one that cannot be.
    untimed: u64,
    /// Section headers met.
    sections: u64,
    last: Last,
}

/// Where the packet read last says more of itself.
#[derive(Clone, Copy, Default)]
struct Last {
    interface: usize,
    /// Where its options lie in the window.
    start: usize,
    length: usize,
}

/// A block whose type and length were read. The reading position is still at its start.
struct Block {
    kind: u32,
    /// With its frame.
    length: usize,
}

impl Described {
    /// When a packet of it came; `None` for a time that no packet is believed to be of.
    #[inline]
    fn time_ns(&self, ticks: u64) -> Option<i64> {
        let time_ns = self.resolution.nanoseconds(ticks).saturating_add(self.offset_ns);
        (0..=LATEST_NS).contains(&time_ns).then_some(time_ns)
    }
}

impl Pcapng {
    /// Reads the first section header.
    pub(super) fn open(window: &mut Window) -> Result<Self, Fault> {
        let mut pcapng = Self {
            big_endian: false,
            interfaces: Vec::new(),
            snaplen: 0,
            dropped: None,
            last_time_ns: 0,
            untimed: 0,
            sections: 0,
            last: Last::default(),
        };
        match pcapng.block(window)? {
            Some(block) => pcapng.section(window, &block)?,
            None => return Err(window.damaged("the file ends within its header")),
        }
        Ok(pcapng)
    }

    pub(super) fn snaplen(&self) -> u32 {
        self.snaplen
    }

    pub(super) fn dropped(&self) -> Option<u64> {
        self.interfaces.iter().map(|interface| interface.dropped).fold(self.dropped, sum)
    }

    pub(super) fn untimed(&self) -> u64 {
        self.untimed
    }

    /// Sections, of which each may be another capture.
    pub(super) fn sections(&self) -> u64 {
        self.sections
    }

    /// The packet read last has moved in the window, from one place to another.
    pub(super) fn moved(&mut self, from: usize, to: usize) {
        self.last.start = self.last.start.wrapping_sub(from).wrapping_add(to);
    }

    /// An interface of this section.
    pub(super) fn described(&self, place: usize) -> Option<Interface<'_>> {
        let Described { link, snaplen, resolution, names, .. } = self.interfaces.get(place)?;
        Some(Interface { link: *link, snaplen: *snaplen, decimals: resolution.decimals(), names })
    }

    /// What the block of the packet read last says besides.
    pub(super) fn details<'a>(&self, window: &'a Window) -> Details<'a> {
        let Last { interface, start, length } = self.last;
        let options = Fields { rest: window.held(start, length), big_endian: self.big_endian };
        Details { interface, options }
    }

    /// The next packet, if the window holds all of its block, and that is as nearly all are: an enhanced
    /// packet, little-endian, and credible.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    pub(super) fn at_hand(&mut self, window: &mut Window) -> Option<Record> {
        let ahead = window.at_hand()?;
        let header = ahead.first_chunk::<ENHANCED_HEADER>()?;
        let [k0, k1, k2, k3, l0, l1, l2, l3, i0, i1, i2, i3, fields @ ..] = *header;
        let [h0, h1, h2, h3, t0, t1, t2, t3, c0, c1, c2, c3, w0, w1, w2, w3] = fields;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let captured = u32::from_le_bytes([c0, c1, c2, c3]) as usize;
        let end = ahead.get(length.checked_sub(4)?..length)?.first_chunk::<4>()?;
        let usual = u32::from_le_bytes([k0, k1, k2, k3]) == ENHANCED_PACKET
            && !self.big_endian
            && length.is_multiple_of(4)
            && length <= CREDIBLE_PACKET
            && *end == [l0, l1, l2, l3];
        // What follows the packet: its padding and its options.
        let behind = length.checked_sub(ENHANCED_HEADER + 4 + captured).filter(|_| usual)?;
        let place = u32::from_le_bytes([i0, i1, i2, i3]) as usize;
        let interface = self.interfaces.get(place)?;
        let ticks = u64::from(u32::from_le_bytes([h0, h1, h2, h3])) << 32
            | u64::from(u32::from_le_bytes([t0, t1, t2, t3]));
        let time_ns = interface.time_ns(ticks)?;
        let wire_length = u32::from_le_bytes([w0, w1, w2, w3]).max(captured as u32);
        let start = window.position() + ENHANCED_HEADER;
        let padding = captured.next_multiple_of(4) - captured;
        let options = start + captured + padding;
        self.last_time_ns = time_ns;
        self.last = Last { interface: place, start: options, length: behind.saturating_sub(padding) };
        let link = interface.link;
        window.advance(length);
        Some(Record { stated_ns: time_ns, link, wire_length, start, captured })
    }

    /// The same of any block, reading on in the file; `None` where it ends after a block.
    #[cold]
    #[inline(never)]
    pub(super) fn read(&mut self, window: &mut Window) -> Result<Option<Record>, Fault> {
        while let Some(block) = self.block(window)? {
            match block.kind {
                ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => {
                    return self.packet(window, &block).map(Some);
                }
                _ => self.other(window, &block)?,
            }
        }
        Ok(None)
    }

    /// The packet whose block `ahead` begins with, and what is behind that. Only enhanced packet blocks
    /// are looked at.
    #[inline]
    pub(super) fn glimpse<'a>(&self, ahead: &'a [u8]) -> Option<(Glimpse<'a>, &'a [u8])> {
        let mut frame = Fields { rest: ahead, big_endian: self.big_endian };
        if frame.u32()? != ENHANCED_PACKET {
            return None;
        }
        let (block, rest) = ahead.split_at_checked(frame.u32()? as usize)?;
        let mut fields = Fields { rest: block.get(8..)?, ..frame };
        let header = fields.enhanced()?;
        let captured = header.captured?;
        let bytes = fields.rest.get(..captured as usize)?;
        let interface = self.interfaces.get(header.interface)?;
        let (time_ns, link) = (interface.time_ns(header.ticks?).unwrap_or(self.last_time_ns), interface.link);
        Some((Glimpse { time_ns, link, wire_length: header.wire_length.max(captured), bytes }, rest))
    }

    /// Whether a block of this section may begin here, behind damage.
    pub(super) fn guess(&self, bytes: &[u8]) -> Guess {
        let mut frame = Fields { rest: bytes, big_endian: self.big_endian };
        let (Some(kind), Some(length)) = (frame.u32(), frame.u32()) else {
            return Guess::Nothing;
        };
        let length = length as usize;
        let known = FOUND_AGAIN.contains(&kind);
        if !known || length < FRAME || !length.is_multiple_of(4) || length > PACKET_BLOCK_LIMIT {
            return Guess::Nothing;
        }
        if kind == ENHANCED_PACKET {
            let header = frame.enhanced();
            let fits = |captured: u32| captured as usize <= length.saturating_sub(ENHANCED_HEADER + 4);
            let plausible = header.is_some_and(|header| {
                header.interface < self.interfaces.len() && header.captured.is_some_and(fits)
            });
            if !plausible {
                return Guess::Nothing;
            }
        }
        let after = bytes.get(length - 4..length).and_then(|end| end.first_chunk::<4>());
        match after {
            Some(after) if self.u32(*after) as usize == length => Guess::Whole(length),
            Some(_) => Guess::Nothing,
            None => Guess::Open,
        }
    }

    #[cold]
    fn other(&mut self, window: &mut Window, block: &Block) -> Result<(), Fault> {
        match block.kind {
            INTERFACE_DESCRIPTION => self.interface(window, block),
            INTERFACE_STATISTICS => self.statistics(window, block),
            kind if kind == u32::from_be_bytes(SECTION_HEADER) => self.section(window, block),
            _ => self.leave(window, block),
        }
    }

    /// Type and length of the block at the reading position; `None` at the end of the file.
    #[inline]
    fn block(&mut self, window: &mut Window) -> Result<Option<Block>, Fault> {
        if !window.ensure(FRAME)? {
            return window.ended("the file ends within a block").map_or(Ok(None), Err);
        }
        let Some([t0, t1, t2, t3, l0, l1, l2, l3, m0, m1, m2, m3]) = window.ahead().first_chunk::<FRAME>()
        else {
            return Ok(None);
        };
        if window.ahead().starts_with(&UNWRITTEN) {
            return Err(window.damaged("zeros where a block should begin"));
        }
        let kind = [*t0, *t1, *t2, *t3];
        if kind == SECTION_HEADER {
            // Only now it is known how to read the length: a section brings its own byte order.
            self.big_endian = match u32::from_be_bytes([*m0, *m1, *m2, *m3]) {
                BYTE_ORDER_MAGIC => true,
                order if order.swap_bytes() == BYTE_ORDER_MAGIC => false,
                _ => return Err(window.damaged("a section without byte-order magic")),
            };
        }
        let length = self.u32([*l0, *l1, *l2, *l3]) as usize;
        let smallest = if kind == SECTION_HEADER { SMALLEST_SECTION } else { FRAME };
        if length < smallest || !length.is_multiple_of(4) {
            return Err(window.damaged(IMPOSSIBLE));
        }
        Ok(Some(Block { kind: self.u32(kind), length }))
    }

    #[inline]
    fn packet(&mut self, window: &mut Window, block: &Block) -> Result<Record, Fault> {
        const SHORT: &str = "a packet block too short for its packet";
        if block.length > PACKET_BLOCK_LIMIT {
            return Err(window.damaged("a packet of impossible length"));
        }
        if window.ahead().len() < block.length {
            self.await_rest(window, block)?;
        }
        let ahead = window.ahead();
        let body = ahead.get(8..block.length - 4).unwrap_or_default();
        let mut fields = Fields { rest: body, big_endian: self.big_endian };
        let header = match block.kind {
            ENHANCED_PACKET => fields.enhanced(),
            OBSOLETE_PACKET => fields.obsolete(),
            _ => fields.simple(),
        };
        let Some(header) = header else {
            return Err(window.damaged(SHORT));
        };
        let Some(interface) = self.interfaces.get(header.interface) else {
            return Err(window.damaged("a packet of an interface that is not described"));
        };
        let captured = match header.captured {
            Some(captured) => captured as usize,
            // Section 4.4: only the snaplen tells how much of a simple packet is there.
            None if interface.snaplen == 0 => header.wire_length as usize,
            None => header.wire_length.min(interface.snaplen) as usize,
        };
        let snaplen = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        if !credible(captured, snaplen) {
            return Err(window.damaged("a packet of impossible length"));
        }
        if captured > fields.rest.len() {
            return Err(window.damaged(SHORT));
        }
        let time_ns = header.ticks.and_then(|ticks| interface.time_ns(ticks));
        self.last_time_ns = time_ns.unwrap_or(self.last_time_ns);
        let record = Record {
            stated_ns: self.last_time_ns,
            link: interface.link,
            wire_length: header.wire_length.max(captured as u32),
            start: window.position() + 8 + (body.len() - fields.rest.len()),
            captured,
        };
        // A simple packet has none.
        let padded = if header.ticks.is_some() { captured.next_multiple_of(4) } else { usize::MAX };
        self.last = Last {
            interface: header.interface,
            start: record.start.saturating_add(padded),
            length: fields.rest.len().saturating_sub(padded),
        };
        self.check_end(window, block)?;
        self.untimed += u64::from(time_ns.is_none());
        window.advance(block.length);
        Ok(record)
    }

    /// Compares the length after the body of a wholly available block with the one before it.
    #[inline]
    fn check_end(&self, window: &Window, block: &Block) -> Result<(), Fault> {
        let after = window.ahead().get(block.length - 4..).and_then(|end| end.first_chunk::<4>());
        if after.is_some_and(|bytes| self.u32(*bytes) as usize == block.length) {
            return Ok(());
        }
        Err(window.damaged("a block whose two lengths differ"))
    }

    fn section(&mut self, window: &mut Window, block: &Block) -> Result<(), Fault> {
        self.dropped = self.dropped();
        self.interfaces.clear();
        self.sections += 1;
        self.leave(window, block)
    }

    fn interface(&mut self, window: &mut Window, block: &Block) -> Result<(), Fault> {
        if self.interfaces.len() >= INTERFACE_LIMIT {
            // A packet that is of it will be damage.
            return self.leave(window, block);
        }
        let mut fields = self.description(window, block)?;
        let (Some(link), Some(snaplen)) = (fields.u16(), fields.u16().and_then(|_reserved| fields.u32()))
        else {
            return Err(window.damaged("an interface description that is too short"));
        };
        let mut resolution = Resolution::of_option(6);
        let mut offset_ns = 0;
        let mut names = Vec::new();
        let keeps = self.interfaces.len() < NAMED_LIMIT;
        while let Some((code, value)) = fields.option() {
            match (code, value) {
                (code, value) if NAMES.contains(&code) && keeps => {
                    let before = names.len();
                    output::option(&mut names, code, value);
                    if names.len() > NAMES_LIMIT {
                        names.truncate(before);
                    }
                }
                (IF_TSRESOL, [value, ..]) => resolution = Resolution::of_option(*value),
                (IF_TSOFFSET, value) => {
                    if let Some(seconds) = fields.signed(value) {
                        offset_ns = seconds.saturating_mul(NS_PER_S);
                    }
                }
                _ => {}
            }
        }
        let link = LinkType(u32::from(link));
        let names = names.into_boxed_slice();
        self.interfaces.push(Described { link, snaplen, resolution, offset_ns, dropped: None, names });
        self.snaplen = self.snaplen.max(snaplen);
        self.leave(window, block)
    }

    fn statistics(&mut self, window: &mut Window, block: &Block) -> Result<(), Fault> {
        let mut fields = self.description(window, block)?;
        let (Some(interface), Some(_time)) = (fields.u32(), fields.u64()) else {
            return Err(window.damaged("interface statistics that are too short"));
        };
        let mut dropped = None;
        while let Some((code, value)) = fields.option() {
            if matches!(code, ISB_IFDROP | ISB_OSDROP) {
                dropped = sum(dropped, fields.number(value));
            }
        }
        // Statistics count from the start of the capture: the last ones of an interface hold.
        if let Some(interface) = self.interfaces.get_mut(interface as usize) {
            interface.dropped = dropped.or(interface.dropped);
        }
        self.leave(window, block)
    }

    /// The body of a describing block, as far as it is looked at.
    fn description<'a>(&self, window: &'a mut Window, block: &Block) -> Result<Fields<'a>, Fault> {
        let looked_at = (block.length - 4).min(DESCRIPTION_LIMIT);
        if !window.ensure(looked_at)? {
            return Err(cut(window));
        }
        Ok(Fields { rest: window.ahead().get(8..looked_at).unwrap_or_default(), big_endian: self.big_endian })
    }

    /// Reads on in a packet's block. One much longer than those before may hold others, and no packet.
    #[cold]
    fn await_rest(&self, window: &mut Window, block: &Block) -> Result<(), Fault> {
        const MUCH: usize = 4;
        let usual = resume::longest(window.passed(), |bytes| self.guess(bytes));
        if window.ensure(block.length)? {
            return Ok(());
        }
        // A packet that is cut may hold a part of another capture.
        let wrong = block.length > MUCH.saturating_mul(usual) && self.goes_on_within(window, usual, true);
        Err(if wrong { window.damaged(IMPOSSIBLE) } else { cut(window) })
    }

    /// Passes over a block that holds no packet, whatever its length, unless blocks follow one another in
    /// it. The length after it is not compared: if the first one lied, the next block cannot be read either.
    fn leave(&self, window: &mut Window, block: &Block) -> Result<(), Fault> {
        let there = window.ensure(block.length.min(resume::LOOKED_AT))?;
        let odd = !there || block.length > resume::LOOKED_AT;
        if odd && self.goes_on_within(window, 0, !there) {
            return Err(window.damaged(IMPOSSIBLE));
        }
        if window.skip(block.length as u64)? { Ok(()) } else { Err(cut(window)) }
    }

    /// Whether blocks follow one another within the one at the reading position.
    #[cold]
    fn goes_on_within(&self, window: &Window, usual: usize, rest: bool) -> bool {
        let behind = window.ahead().get(1..).unwrap_or_default();
        resume::find(behind, rest, usual, |bytes| self.guess(bytes)).is_some()
    }

    #[inline]
    fn u32(&self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
}

fn cut(window: &Window) -> Fault {
    const CUT: &str = "the file ends within a block";
    window.ended(CUT).unwrap_or_else(|| window.cut(CUT))
}

fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.saturating_add(right)),
        _ => left.or(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Told = (i64, LinkType, u32, usize, usize, [usize; 3]);

    /// The packets of a file, and what was wrong with it, with or without the short way.
    fn packets(file: &[u8], short_way: bool) -> (Vec<Told>, Option<String>) {
        let mut window = Window::plain(Box::new(std::io::Cursor::new(file.to_vec())));
        let mut pcapng = Pcapng::open(&mut window).unwrap();
        let mut told = Vec::new();
        loop {
            let at_hand = if short_way { pcapng.at_hand(&mut window) } else { None };
            match at_hand.map_or_else(|| pcapng.read(&mut window), |record| Ok(Some(record))) {
                Ok(Some(Record { stated_ns, link, wire_length, start, captured })) => {
                    let Last { interface, start: options, length } = pcapng.last;
                    told.push((stated_ns, link, wire_length, start, captured, [interface, options, length]));
                }
                Ok(None) => return (told, None),
                Err(fault) => return (told, Some(format!("{fault:?}"))),
            }
        }
    }

    fn block(big_endian: bool, words: &[u32], bytes: &[u8]) -> Vec<u8> {
        let turned = |word: &u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
        let body = [words.get(1..).unwrap().iter().flat_map(turned).collect(), bytes.to_vec()].concat();
        let length = body.len().next_multiple_of(4) as u32 + FRAME as u32;
        let padding = vec![0; length as usize - FRAME - body.len()];
        let (kind, length) = (turned(&words[0]).to_vec(), turned(&length).to_vec());
        [kind, length.clone(), body, padding, length].concat()
    }

    proptest! {
        #[test]
        fn packets_at_hand_are_as_those_read_the_long_way(
            packets_of in prop::collection::vec(
                (0_u32..3, any::<u64>(), 0_usize..40, 0_u32..60, 0_usize..24), 1..6),
            big_endian: bool,
            resolution in prop::sample::select(vec![6_u8, 9, 12, 0x94]),
            spoilt in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let section = [u32::from_be_bytes(SECTION_HEADER), BYTE_ORDER_MAGIC, 1, u32::MAX, u32::MAX];
            let mut file = block(big_endian, &section, &[]);
            for link in [1_u32, 101] {
                let link = if big_endian { link << 16 } else { link };
                let option = if big_endian { 9 << 16 | 1 } else { 1 << 16 | 9 };
                file.extend(block(big_endian, &[INTERFACE_DESCRIPTION, link, 0, option], &[resolution]));
            }
            let described = file.len();
            for (interface, ticks, length, captured, wire) in packets_of {
                let time = [(ticks >> 32) as u32, ticks as u32];
                let header = [ENHANCED_PACKET, interface.min(1), time[0], time[1], captured, wire as u32];
                // Some say that they have more than they have.
                let held = length.max(captured as usize).saturating_sub(usize::from(wire == 0));
                file.extend(block(big_endian, &header, &vec![7; held.max(1)]));
            }
            if let Some((place, value)) = spoilt {
                let place = described + place.index(file.len() - described);
                file[place] = value;
            }
            if let Some(cut) = cut {
                file.truncate(described + cut.index(file.len() - described));
            }
            prop_assert_eq!(packets(&file, true), packets(&file, false));
        }
    }
}
