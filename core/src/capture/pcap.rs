//! Classic pcap (draft-ietf-opsawg-pcap): a file header, then packets with 16 bytes before each.

use super::output::Interface;
use super::parser::Record;
use super::resume::{self, Guess};
use super::sniff::{self, Magic};
use super::window::{Fault, Window};
use super::{CREDIBLE_PACKET, Container, Glimpse, LinkType, PACKET_LIMIT, credible, credible_second};

const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

/// Bytes that a kernel patched by Alexey Kuznetzov writes after each packet header: interface
/// index, protocol, packet type, padding.
const PATCHED_EXTRA: usize = 8;

/// The low bits of the file header's last word are the link type; those above it tell of a frame
/// check sequence, which the length of the IP packet leaves out anyway.
const LINK_TYPE_MASK: u32 = 0x03ff_ffff;

/// What a file holds where nothing was written: its end was reserved, or its pages were lost in a crash.
const UNWRITTEN: [u8; PACKET_HEADER] = [0; PACKET_HEADER];

/// What a magic number says about the rest of the file.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    big_endian: bool,
    nanoseconds: bool,
    packet_header: usize,
}

/// The magic numbers, and what each says.
pub(super) const MAGICS: [([u8; 4], Layout); 6] = [
    ([0xa1, 0xb2, 0xc3, 0xd4], Layout::new(true, false, PACKET_HEADER)),
    ([0xd4, 0xc3, 0xb2, 0xa1], Layout::new(false, false, PACKET_HEADER)),
    ([0xa1, 0xb2, 0x3c, 0x4d], Layout::new(true, true, PACKET_HEADER)),
    ([0x4d, 0x3c, 0xb2, 0xa1], Layout::new(false, true, PACKET_HEADER)),
    ([0xa1, 0xb2, 0xcd, 0x34], Layout::new(true, false, PACKET_HEADER + PATCHED_EXTRA)),
    ([0x34, 0xcd, 0xb2, 0xa1], Layout::new(false, false, PACKET_HEADER + PATCHED_EXTRA)),
];

impl Layout {
    const fn new(big_endian: bool, nanoseconds: bool, packet_header: usize) -> Self {
        Self { big_endian, nanoseconds, packet_header }
    }

    pub(super) fn of_magic(magic: [u8; 4]) -> Option<Self> {
        MAGICS.iter().find_map(|(known, layout)| (*known == magic).then_some(*layout))
    }

    #[inline]
    fn u32(self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    /// The time that a packet header states.
    #[inline]
    fn time_ns(self, header: &PacketHeader) -> i64 {
        // Both are 32 bits wide: 2^32 s + 2^32 µs are less than 2^63 ns, whatever the file says.
        let unit = if self.nanoseconds { 1 } else { 1_000 };
        i64::from(header.seconds) * 1_000_000_000 + i64::from(header.fraction) * unit
    }

    /// The packet header at the start of `ahead`.
    #[inline]
    fn header(self, ahead: &[u8]) -> Option<PacketHeader> {
        let header = ahead.first_chunk::<PACKET_HEADER>()?;
        let [s0, s1, s2, s3, f0, f1, f2, f3, c0, c1, c2, c3, w0, w1, w2, w3] = *header;
        let captured = self.u32([c0, c1, c2, c3]);
        Some(PacketHeader {
            seconds: self.u32([s0, s1, s2, s3]),
            fraction: self.u32([f0, f1, f2, f3]),
            captured,
            stated_length: self.u32([w0, w1, w2, w3]),
        })
    }
}

/// What stands before a packet.
struct PacketHeader {
    seconds: u32,
    /// Microseconds or nanoseconds.
    fraction: u32,
    captured: u32,
    /// On the wire, as it is written: some write less than was captured.
    stated_length: u32,
}

impl PacketHeader {
    #[inline]
    fn wire_length(&self) -> u32 {
        self.stated_length.max(self.captured)
    }
}

/// Packets with an odd header that are held against those behind them, and are nevertheless believed. Where
/// there are more, the file was written so, or its clock was set.
const BELIEVED_LIMIT: u32 = 100;

pub(super) struct Pcap {
    layout: Layout,
    snaplen: u32,
    /// The most that a packet can have had captured, by the file's header.
    most: u32,
    /// Fractions in a second.
    fractions: u32,
    link: LinkType,
    /// The file's first bytes: again, they begin another capture.
    header: [u8; FILE_HEADER],
    /// The second of the first packet; `None` without one.
    begin: Option<u32>,
    /// Captures that follow the first in the same file.
    followers: u64,
    /// Odd headers that were believed.
    believed: u32,
}

impl Pcap {
    /// Reads the file header, whose magic gave the layout.
    pub(super) fn open(layout: Layout, window: &mut Window) -> Result<Self, Fault> {
        const CUT: &str = "the file ends within its header";
        if !window.ensure(FILE_HEADER)? {
            return Err(window.ended(CUT).unwrap_or_else(|| window.cut(CUT)));
        }
        // magic 4, version 4, reserved 8, snaplen 4, link type 4
        let Some(header) = window.ahead().first_chunk::<FILE_HEADER>().copied() else {
            return Err(window.cut(CUT));
        };
        let [.., s0, s1, s2, s3, l0, l1, l2, l3] = header;
        let snaplen = layout.u32([s0, s1, s2, s3]);
        let link = LinkType(layout.u32([l0, l1, l2, l3]) & LINK_TYPE_MASK);
        window.advance(FILE_HEADER);
        window.ensure(PACKET_HEADER)?;
        window.begin();
        let begin = layout.header(window.ahead()).map(|first| first.seconds);
        let most = if snaplen == 0 { u32::MAX } else { snaplen };
        let fractions = if layout.nanoseconds { 1_000_000_000 } else { 1_000_000 };
        Ok(Self { layout, snaplen, most, fractions, link, header, begin, followers: 0, believed: 0 })
    }

    /// Captures that follow the first one in the same file, as `cat` puts them there.
    pub(super) fn followers(&self) -> u64 {
        self.followers
    }

    pub(super) fn container(&self) -> Container {
        Container::Pcap { nanoseconds: self.layout.nanoseconds, big_endian: self.layout.big_endian }
    }

    /// The file's only interface.
    pub(super) fn interface(&self) -> Interface<'_> {
        let decimals = if self.layout.nanoseconds { 9 } else { 6 };
        Interface { link: self.link, snaplen: self.snaplen, decimals, names: &[] }
    }

    pub(super) fn link(&self) -> LinkType {
        self.link
    }

    pub(super) fn snaplen(&self) -> u32 {
        self.snaplen
    }

    /// The next packet, if the window holds all of it and it is usual and not empty, as nearly all are.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    pub(super) fn at_hand(&self, window: &mut Window) -> Option<Record> {
        let ahead = window.at_hand()?;
        let header = self.layout.header(ahead)?;
        let length = header.captured as usize;
        let there = (1..=CREDIBLE_PACKET).contains(&length)
            && self.usual(&header)
            && self.layout.packet_header + length <= ahead.len();
        there.then(|| self.record(&header, window))
    }

    /// The same, reading on in the file; `None` where it ends after a packet.
    #[cold]
    #[inline(never)]
    pub(super) fn read(&mut self, window: &mut Window) -> Result<Option<Record>, Fault> {
        let layout = self.layout;
        while window.ensure(FILE_HEADER)? && self.begins_again(window.ahead()) {
            window.advance(FILE_HEADER);
            self.followers += 1;
            window.ensure(layout.packet_header)?;
            self.begin = layout.header(window.ahead()).map_or(self.begin, |first| Some(first.seconds));
        }
        if !window.ensure(layout.packet_header)? {
            return window.ended("the file ends within a packet header").map_or(Ok(None), Err);
        }
        let Some(header) = layout.header(window.ahead()) else {
            return Ok(None);
        };
        if begins_capture(window.ahead()) {
            return Err(window.cut("another kind of capture begins"));
        }
        if window.ahead().starts_with(&UNWRITTEN) {
            return Err(window.damaged("zeros where a packet should begin"));
        }
        let length = header.captured as usize;
        if !credible(length, self.snaplen) {
            return Err(window.damaged("a packet of impossible length"));
        }
        let whole = layout.packet_header + length;
        if !window.ensure(whole)? {
            const CUT: &str = "the file ends within a packet";
            // Unless it is the length that is wrong.
            let plausible = self.guess(window.ahead()) != Guess::Nothing;
            let cut = || if plausible { window.cut(CUT) } else { window.damaged(CUT) };
            return Err(window.broken().unwrap_or_else(cut));
        }
        if !(length > 0 && self.usual(&header)) && self.contradicted(whole, window) {
            return Err(window.damaged("a packet header that cannot be"));
        }
        Ok(Some(self.record(&header, window)))
    }

    /// Whether a header says what headers of this file do. A length that is damaged mostly says more than
    /// there was; and it leads to bytes that are no header, which mostly say what none can.
    #[inline]
    fn usual(&self, header: &PacketHeader) -> bool {
        header.captured <= header.stated_length.min(self.most) && header.fraction < self.fractions
    }

    /// Whether the packets behind an odd header, `whole` bytes with what it stands before, tell that it is
    /// none: the next is none either, and those that follow one another do not begin where it leads to.
    ///
    /// A wrong length that is believed takes others' bytes for its own, a hundred packets at a time; and one
    /// that is four bytes too large leads to headers that begin four bytes too late, and these to others.
    #[cold]
    fn contradicted(&mut self, whole: usize, window: &mut Window) -> bool {
        if self.believed >= BELIEVED_LIMIT {
            return false;
        }
        // No more than that before it must be: where every packet is odd, a window is moved for each.
        let next = whole.saturating_add(self.layout.packet_header);
        let behind = matches!(window.ensure(next), Ok(true));
        if behind && self.goes_on(window.ahead(), whole) {
            return false;
        }
        // What cannot be read will be told when it is due.
        let rest = !matches!(window.ensure(resume::LOOKED_AT), Ok(true));
        let ahead = window.ahead();
        if ahead.len() == whole {
            return false;
        }
        let header = |at: usize| ahead.get(at..).and_then(|ahead| self.layout.header(ahead));
        let guess = |bytes: &[u8]| self.guess(bytes);
        let usual = resume::longest(window.passed(), guess);
        let behind = ahead.get(1..).unwrap_or_default();
        let Some(place) = resume::find(behind, rest, usual, guess).map(|place| place + 1) else {
            self.believed += 1;
            return false;
        };
        let mut at = 0;
        while at < place {
            match header(at).map(|header| header.captured as usize) {
                Some(length) if credible(length, self.snaplen) => at += self.layout.packet_header + length,
                _ => return true,
            }
        }
        let leads_there = at == place;
        self.believed += u32::from(leads_there);
        !leads_there
    }

    /// Whether a usual header of about the time of the capture stands at a place.
    fn goes_on(&self, ahead: &[u8], at: usize) -> bool {
        let next = ahead.get(at..).and_then(|ahead| self.layout.header(ahead));
        let timely =
            |header: &PacketHeader| self.begin.is_some_and(|begin| credible_second(begin, header.seconds));
        next.is_some_and(|next| self.usual(&next) && timely(&next))
    }

    /// Whether another capture of this kind begins, whatever it says of its snaplen.
    fn begins_again(&self, ahead: &[u8]) -> bool {
        const SNAPLEN: std::ops::Range<usize> = 16..20;
        let (before, behind) = (..SNAPLEN.start, SNAPLEN.end..FILE_HEADER);
        ahead.get(before) == self.header.get(before) && ahead.get(behind.clone()) == self.header.get(behind)
    }

    /// Whether a packet of this capture may begin here, behind damage.
    pub(super) fn guess(&self, bytes: &[u8]) -> Guess {
        let timely = |begin: u32, header: &PacketHeader| credible_second(begin, header.seconds);
        let header = self.layout.header(bytes);
        match (self.begin, header) {
            (Some(begin), Some(header)) if timely(begin, &header) => self.shaped(bytes),
            _ => Guess::Nothing,
        }
    }

    /// The same of a packet of any time.
    fn shaped(&self, bytes: &[u8]) -> Guess {
        let Some(header) = self.layout.header(bytes) else {
            return Guess::Nothing;
        };
        let length = header.captured as usize;
        let plausible = header.fraction < self.fractions
            && !bytes.starts_with(&UNWRITTEN)
            && credible(length, self.snaplen)
            && header.stated_length >= header.captured
            && header.stated_length as usize <= PACKET_LIMIT;
        match self.layout.packet_header + length {
            _ if !plausible => Guess::Nothing,
            whole if whole <= bytes.len() => Guess::Whole(whole),
            _ => Guess::Open,
        }
    }

    /// Takes the time of the capture from where packets of any time follow one another, and gives that
    /// place: for a file whose first packet is damaged, which does not tell it.
    pub(super) fn begin_anew(&mut self, bytes: &[u8], rest: bool) -> Option<usize> {
        let place = resume::find(bytes, rest, 0, |bytes| self.shaped(bytes))?;
        self.begin = Some(self.layout.header(bytes.get(place..)?)?.seconds);
        Some(place)
    }

    /// Passes over a packet that the window holds.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    fn record(&self, header: &PacketHeader, window: &mut Window) -> Record {
        let (captured, wire_length) = (header.captured as usize, header.wire_length());
        let start = window.position() + self.layout.packet_header;
        window.advance(self.layout.packet_header + captured);
        Record { stated_ns: self.layout.time_ns(header), link: self.link, wire_length, start, captured }
    }

    /// The packet whose header `ahead` begins with, and what is behind it.
    #[inline]
    pub(super) fn glimpse<'a>(&self, ahead: &'a [u8]) -> Option<(Glimpse<'a>, &'a [u8])> {
        let header = self.layout.header(ahead)?;
        let (_, packet) = ahead.split_at_checked(self.layout.packet_header)?;
        let (bytes, rest) = packet.split_at_checked(header.captured as usize)?;
        let (time_ns, wire_length) = (self.layout.time_ns(&header), header.wire_length());
        Some((Glimpse { time_ns, link: self.link, wire_length, bytes }, rest))
    }
}

/// Whether these are the first bytes of a capture file: in pcap, a packet of no length.
fn begins_capture(ahead: &[u8]) -> bool {
    match sniff::magic(ahead) {
        Some(Magic::Pcap(_)) => ahead.get(8..12) == Some(&[0; 4]),
        Some(Magic::Pcapng | Magic::Records(_)) => true,
        None => false,
    }
}
