//! Formats of records, each with its length: a file header, then packets with a header of one length
//! before each. That of snoop (RFC 1761), which Solaris and its kin write, and AIX's iptrace 2.0, which no
//! document describes: its fields are those that Wireshark found.
//!
//! What is said of damage in `pcap.rs` holds here, but for headers that contradict themselves: snoop says
//! twice how long a packet is, so that they are never believed.

use super::output::Interface;
use super::parser::Record;
use super::resume::{self, Guess};
use super::sniff;
use super::window::{Fault, Window};
use super::{
    CREDIBLE_PACKET, Container, Details, Glimpse, LinkType, PACKET_LIMIT, credible_second, pcapng::Fields,
};

const SNOOP: &[u8] = b"snoop\0\0\0";
const IPTRACE: &[u8] = b"iptrace 2.0";

/// Bytes of the longest magic number of all formats.
pub(super) const LONGEST_MAGIC: usize = IPTRACE.len();

/// Magic number 8, version 4, datalink type 4.
const SNOOP_FILE_HEADER: usize = SNOOP.len() + 8;
const SNOOP_VERSION: u32 = 2;

/// Original length 4, included length 4, record length 4, cumulative drops 4, seconds 4, microseconds 4.
const SNOOP_HEADER: usize = 24;

/// Bytes behind a packet, at most. RFC 1761 fills up to four; six were seen, and sixteen with more of the
/// time from a hardware that wrote the same format.
const SNOOP_PADDING: usize = 32;

/// Length of what follows 4, seconds 4; then, counted in that length: unknown 3, unit 1, name 4, text 12,
/// type of interface 1, sent 1, unknown 2, seconds 4, nanoseconds 4.
const IPTRACE_HEADER: usize = 40;

/// Those of its bytes that count in the length that it states.
const IPTRACE_COUNTED: usize = IPTRACE_HEADER - 8;

/// Bytes that AIX leaves before a frame of FDDI.
const IPTRACE_FDDI: usize = 3;

/// Which of the formats a file has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Snoop,
    Iptrace,
}

/// The magic numbers, and the format of each.
pub(super) const MAGICS: [(&[u8], Kind); 2] = [(SNOOP, Kind::Snoop), (IPTRACE, Kind::Iptrace)];

impl Kind {
    /// The format whose magic number bytes begin with.
    pub(super) fn of_magic(ahead: &[u8]) -> Option<Self> {
        MAGICS.iter().find_map(|(magic, kind)| ahead.starts_with(magic).then_some(*kind))
    }

    fn file_header(self) -> usize {
        match self {
            Self::Snoop => SNOOP_FILE_HEADER,
            Self::Iptrace => IPTRACE.len(),
        }
    }

    fn packet_header(self) -> usize {
        match self {
            Self::Snoop => SNOOP_HEADER,
            Self::Iptrace => IPTRACE_HEADER,
        }
    }

    /// Decimals of a second that times have.
    fn decimals(self) -> u8 {
        match self {
            Self::Snoop => 6,
            Self::Iptrace => 9,
        }
    }
}

/// What stands before a packet.
struct PacketHeader {
    seconds: u32,
    nanoseconds: u64,
    /// `None`: that of the file.
    link: Option<LinkType>,
    /// Bytes before the packet, those captured, and all of the record.
    begin: usize,
    captured: usize,
    whole: usize,
    wire_length: u32,
    /// Packets that the capturing machine lost until then.
    dropped: Option<u32>,
}

impl PacketHeader {
    fn time_ns(&self) -> i64 {
        // Both are 32 bits wide: 2^32 s + 2^32 µs are less than 2^63 ns, whatever the file says.
        i64::from(self.seconds) * 1_000_000_000 + self.nanoseconds.cast_signed()
    }

    fn snoop(header: [u32; SNOOP_HEADER / 4]) -> Option<Self> {
        let [original, included, record, dropped, seconds, microseconds] = header;
        let (captured, whole) = (included as usize, record as usize);
        let padded = SNOOP_HEADER.saturating_add(captured);
        let agrees = (padded..=padded.saturating_add(SNOOP_PADDING)).contains(&whole);
        (agrees && captured <= PACKET_LIMIT).then(|| Self {
            seconds,
            nanoseconds: u64::from(microseconds) * 1_000,
            link: None,
            begin: SNOOP_HEADER,
            captured,
            whole,
            wire_length: original.max(included),
            dropped: Some(dropped),
        })
    }

    fn iptrace(header: [u32; IPTRACE_HEADER / 4]) -> Option<Self> {
        let [length, _, _, _, _, _, _, interface, seconds, nanoseconds] = header;
        let [kind, ..] = interface.to_be_bytes();
        let link = interface_type(kind);
        let unused = if link == LinkType::FDDI { IPTRACE_FDDI } else { 0 };
        let captured = (length as usize).checked_sub(IPTRACE_COUNTED + unused)?;
        (captured <= CREDIBLE_PACKET).then(|| Self {
            seconds,
            nanoseconds: u64::from(nanoseconds),
            link: Some(link),
            begin: IPTRACE_HEADER + unused,
            captured,
            whole: IPTRACE_HEADER + unused + captured,
            wire_length: captured as u32,
            dropped: None,
        })
    }
}

/// A file of records that is read.
pub(super) struct Records {
    kind: Kind,
    /// The file's first bytes: again, they begin another capture.
    file_header: Vec<u8>,
    /// The second of the first packet; `None` without one.
    begin: Option<u32>,
    /// Of the file, or those met so far.
    links: Vec<LinkType>,
    /// That of the packet read last, among them.
    interface: usize,
    dropped: Option<u32>,
    /// Captures that follow the first in the same file.
    followers: u64,
}

impl Records {
    /// Reads the file header, whose magic gave the kind.
    #[cold]
    pub(super) fn open(kind: Kind, window: &mut Window) -> Result<Self, Fault> {
        const CUT: &str = "the file ends within its header";
        let length = kind.file_header();
        if !window.ensure(length)? {
            return Err(window.ended(CUT).unwrap_or_else(|| window.cut(CUT)));
        }
        let file_header = window.ahead().get(..length).unwrap_or_default().to_vec();
        let links = match kind {
            Kind::Snoop => vec![snoop_link(&file_header)?],
            Kind::Iptrace => Vec::new(),
        };
        window.advance(length);
        window.ensure(kind.packet_header())?;
        window.begin();
        let mut records =
            Self { kind, file_header, begin: None, links, interface: 0, dropped: None, followers: 0 };
        records.begin = records.header(window.ahead()).map(|first| first.seconds);
        Ok(records)
    }

    pub(super) fn container(&self) -> Container {
        match self.kind {
            Kind::Snoop => Container::Snoop,
            Kind::Iptrace => Container::Iptrace,
        }
    }

    /// The packet header at the start of `ahead`, if it does not contradict itself.
    fn header(&self, ahead: &[u8]) -> Option<PacketHeader> {
        match self.kind {
            Kind::Snoop => PacketHeader::snoop(words(ahead)?),
            Kind::Iptrace => PacketHeader::iptrace(words(ahead)?),
        }
    }

    /// The next packet, if the window holds all of it.
    #[inline(never)]
    pub(super) fn at_hand(&mut self, window: &mut Window) -> Option<Record> {
        let ahead = window.at_hand()?;
        let header = self.header(ahead)?;
        (header.whole <= ahead.len() && self.usual(&header)).then(|| self.record(&header, window))
    }

    /// The same, reading on in the file; `None` where it ends after a packet.
    #[cold]
    #[inline(never)]
    pub(super) fn read(&mut self, window: &mut Window) -> Result<Option<Record>, Fault> {
        let packet_header = self.kind.packet_header();
        while window.ensure(self.file_header.len())? && window.ahead().starts_with(&self.file_header) {
            window.advance(self.file_header.len());
            self.followers += 1;
            window.ensure(packet_header)?;
            self.begin = self.header(window.ahead()).map_or(self.begin, |first| Some(first.seconds));
        }
        if !window.ensure(packet_header)? {
            return window.ended("the file ends within a packet header").map_or(Ok(None), Err);
        }
        if sniff::magic(window.ahead()).is_some() {
            return Err(window.cut("another kind of capture begins"));
        }
        let unwritten = window.ahead().iter().take(packet_header).all(|byte| *byte == 0);
        let Some(header) = self.header(window.ahead()).filter(|header| self.usual(header)) else {
            return Err(window.damaged(if unwritten {
                "zeros where a packet should begin"
            } else {
                "a packet header that cannot be"
            }));
        };
        if !window.ensure(header.whole)? {
            return Err(window.broken().unwrap_or_else(|| window.cut("the file ends within a packet")));
        }
        Ok(Some(self.record(&header, window)))
    }

    /// Whether a header says what headers of this file do: where no length is stated twice, it is of about
    /// the time of the capture.
    fn usual(&self, header: &PacketHeader) -> bool {
        self.kind == Kind::Snoop || self.timely(header) && header.nanoseconds < 1_000_000_000
    }

    fn timely(&self, header: &PacketHeader) -> bool {
        self.begin.is_some_and(|begin| credible_second(begin, header.seconds))
    }

    /// Whether a packet of this capture may begin here, behind damage.
    pub(super) fn guess(&self, bytes: &[u8]) -> Guess {
        match self.header(bytes) {
            Some(header) if self.timely(&header) => Self::shaped(&header, bytes),
            _ => Guess::Nothing,
        }
    }

    /// The same of a packet of any time.
    fn shaped(header: &PacketHeader, bytes: &[u8]) -> Guess {
        let plausible = header.nanoseconds < 1_000_000_000
            && header.seconds > 0
            && header.wire_length as usize <= PACKET_LIMIT;
        match header.whole {
            _ if !plausible => Guess::Nothing,
            whole if whole <= bytes.len() => Guess::Whole(whole),
            _ => Guess::Open,
        }
    }

    /// Takes the time of the capture from where packets of any time follow one another, and gives that
    /// place: for a file whose first packet is damaged, which does not tell it.
    pub(super) fn begin_anew(&mut self, bytes: &[u8], rest: bool) -> Option<usize> {
        let shaped =
            |bytes: &[u8]| self.header(bytes).map_or(Guess::Nothing, |header| Self::shaped(&header, bytes));
        let place = resume::find(bytes, rest, 0, shaped)?;
        self.begin = Some(self.header(bytes.get(place..)?)?.seconds);
        Some(place)
    }

    /// Passes over a packet that the window holds.
    fn record(&mut self, header: &PacketHeader, window: &mut Window) -> Record {
        let link = header.link.unwrap_or_else(|| self.link().unwrap_or(LinkType::USER0));
        self.interface = self.links.iter().position(|known| *known == link).unwrap_or_else(|| {
            self.links.push(link); // Not more than `interface_type` knows.
            self.links.len() - 1
        });
        self.dropped = header.dropped;
        let start = window.position() + header.begin;
        window.advance(header.whole);
        let PacketHeader { captured, wire_length, .. } = *header;
        Record { stated_ns: header.time_ns(), link, wire_length, start, captured }
    }

    /// The packet whose header `ahead` begins with, and what is behind it.
    pub(super) fn glimpse<'a>(&self, ahead: &'a [u8]) -> Option<(Glimpse<'a>, &'a [u8])> {
        let header = self.header(ahead)?;
        let (record, rest) = ahead.split_at_checked(header.whole)?;
        let bytes = record.get(header.begin..)?.get(..header.captured)?;
        let link = header.link.or_else(|| self.link())?;
        Some((Glimpse { time_ns: header.time_ns(), link, wire_length: header.wire_length, bytes }, rest))
    }

    /// What the file says of the packet that was read last.
    pub(super) fn details(&self) -> Details<'static> {
        Details { interface: self.interface, options: Fields::default() }
    }

    /// One for each link type.
    pub(super) fn described(&self, place: usize) -> Option<Interface<'_>> {
        let link = *self.links.get(place)?;
        Some(Interface { link, snaplen: 0, decimals: self.kind.decimals(), names: &[] })
    }

    /// The link type that the file's header states; `None` where each packet has its own.
    pub(super) fn link(&self) -> Option<LinkType> {
        match self.kind {
            Kind::Snoop => self.links.first().copied(),
            Kind::Iptrace => None,
        }
    }

    /// Packets that the capturing machine lost, where the format has a place for it.
    pub(super) fn dropped(&self) -> Option<u64> {
        self.dropped.map(u64::from)
    }

    /// Captures that follow the first one in the same file, as `cat` puts them there.
    pub(super) fn followers(&self) -> u64 {
        self.followers
    }
}

/// Numbers of four bytes, big-endian, if there are so many.
fn words<const N: usize>(bytes: &[u8]) -> Option<[u32; N]> {
    let (words, _) = bytes.as_chunks::<4>();
    words.first_chunk::<N>().map(|words| words.map(u32::from_be_bytes))
}

/// The link type that the header of a snoop file states (iana.org/assignments/snoop-datalink-types, and
/// those that Solaris keeps to itself).
fn snoop_link(file_header: &[u8]) -> Result<LinkType, Fault> {
    let [version, datalink] = file_header.get(SNOOP.len()..).and_then(words).unwrap_or_default();
    if version != SNOOP_VERSION {
        return Err(Fault::Format(format!(
            "a snoop file of version {version}, not {SNOOP_VERSION}; if Wireshark opens it: editcap -F pcap IN OUT"
        )));
    }
    match datalink {
        0 | 4 => Ok(LinkType::ETHERNET),
        2 => Ok(LinkType::IEEE802_5),
        8 => Ok(LinkType::FDDI),
        26 => Ok(LinkType::IPOIB),
        0x8000_0005 => Ok(LinkType::IPNET),
        other => Err(Fault::Format(format!(
            "a snoop file of datalink type {other}, which is not read; if Wireshark opens it: editcap -F pcap IN OUT"
        ))),
    }
}

/// The link type of an interface of this type (RFC 1573 `ifType`, as AIX numbers them).
fn interface_type(kind: u8) -> LinkType {
    match kind {
        0x06 | 0x07 => LinkType::ETHERNET,
        0x09 => LinkType::IEEE802_5,
        0x0f => LinkType::FDDI,
        // X.25, the switch of the SP, the loopback and the host fabric: IP as it is.
        0x04 | 0x0c | 0x18 | 0x3d => LinkType::RAW,
        0xc7 => LinkType::INFINIBAND,
        _ => LinkType::USER0,
    }
}
