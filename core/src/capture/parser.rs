//! The parsers of all formats as one.
//!
//! Takes a window at the start of a file; gives its packets, and what the format says of them and of the
//! file. Where they differ is known here and nowhere above.

use super::output::Interface;
use super::pcapng::Fields;
use super::resume::Guess;
use super::window::{Fault, Window};
use super::{Compression, Container, Details, Glimpse, LinkType, pcap, pcapng, records, sniff};

/// Where a format's parser found the next packet. The bytes lie in the window until it is filled again.
pub(super) struct Record {
    /// The time that the file states.
    pub(super) stated_ns: i64,
    pub(super) link: LinkType,
    pub(super) wire_length: u32,
    /// Position of the captured bytes in the window.
    pub(super) start: usize,
    pub(super) captured: usize,
}

/// The parser of the format that a file has.
pub(super) enum Parser {
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Pcapng),
    Records(records::Records),
}

impl Parser {
    /// The parser of the format that the file begins with.
    pub(super) fn open(window: &mut Window, compression: Compression) -> Result<Self, Fault> {
        Ok(match sniff::container(window, compression)? {
            sniff::Magic::Pcap(layout) => Self::Pcap(pcap::Pcap::open(layout, window)?),
            sniff::Magic::Pcapng => Self::Pcapng(pcapng::Pcapng::open(window)?),
            sniff::Magic::Records(kind) => Self::Records(records::Records::open(kind, window)?),
        })
    }

    /// The next packet, if the window holds all of it and it is usual, as nearly all are.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    pub(super) fn at_hand(&mut self, window: &mut Window) -> Option<Record> {
        match self {
            Self::Pcap(pcap) => pcap.at_hand(window),
            Self::Pcapng(pcapng) => pcapng.at_hand(window),
            Self::Records(records) => records.at_hand(window),
        }
    }

    /// The next packet, reading on in the file; `None` at its end.
    pub(super) fn read(&mut self, window: &mut Window) -> Result<Option<Record>, Fault> {
        match self {
            Self::Pcap(pcap) => pcap.read(window),
            Self::Pcapng(pcapng) => pcapng.read(window),
            Self::Records(records) => records.read(window),
        }
    }

    /// The packet that was read last lies elsewhere in the window now.
    pub(super) fn moved(&mut self, from: usize, to: usize) {
        if let Self::Pcapng(pcapng) = self {
            pcapng.moved(from, to);
        }
    }

    /// Captures begun in the file, of which each may have a clock of its own.
    pub(super) fn begun(&self) -> u64 {
        match self {
            Self::Pcap(pcap) => pcap.followers(),
            Self::Pcapng(pcapng) => pcapng.sections(),
            Self::Records(records) => records.followers(),
        }
    }

    /// The packet that `ahead` begins with, and what is behind it: `None` where that is not easily said.
    pub(super) fn glimpse<'a>(&self, ahead: &'a [u8]) -> Option<(Glimpse<'a>, &'a [u8])> {
        match self {
            Self::Pcap(pcap) => pcap.glimpse(ahead),
            Self::Pcapng(pcapng) => pcapng.glimpse(ahead),
            Self::Records(records) => records.glimpse(ahead),
        }
    }

    /// The packets that follow one another from there.
    pub(super) fn glimpses<'a>(&self, mut ahead: &'a [u8]) -> impl Iterator<Item = Glimpse<'a>> + Clone {
        std::iter::from_fn(move || {
            let (glimpse, rest) = self.glimpse(ahead)?;
            ahead = rest;
            Some(glimpse)
        })
    }

    /// Whether a packet or block begins here, as far as that can be said.
    pub(super) fn guess(&self, bytes: &[u8]) -> Guess {
        match self {
            Self::Pcap(pcap) => pcap.guess(bytes),
            Self::Pcapng(pcapng) => pcapng.guess(bytes),
            Self::Records(records) => records.guess(bytes),
        }
    }

    /// Where packets follow one another, in a file of which nothing before tells when it was captured.
    pub(super) fn begin_anew(&mut self, bytes: &[u8], rest: bool) -> Option<usize> {
        match self {
            Self::Pcap(pcap) => pcap.begin_anew(bytes, rest),
            Self::Pcapng(_) => None, // Blocks are known without their times.
            Self::Records(records) => records.begin_anew(bytes, rest),
        }
    }

    /// All packets of bytes that end with one; `None` where they do not.
    pub(super) fn walk<'a>(&self, mut bytes: &'a [u8]) -> Option<Vec<Glimpse<'a>>> {
        let mut packets = Vec::new();
        while !bytes.is_empty() {
            bytes = if let Some((glimpse, rest)) = self.glimpse(bytes) {
                packets.push(glimpse);
                rest
            } else if let Guess::Whole(length) = self.guess(bytes) {
                bytes.get(length..)?
            } else {
                return None;
            };
        }
        Some(packets)
    }

    /// What the file says of the packet that was read last.
    pub(super) fn details<'a>(&self, window: &'a Window) -> Details<'a> {
        match self {
            Self::Pcap(_) => Details { interface: 0, options: Fields::default() },
            Self::Pcapng(pcapng) => pcapng.details(window),
            Self::Records(records) => records.details(),
        }
    }

    /// An interface of the section that is read, by its place; pcap has one.
    pub(super) fn interface(&self, place: usize) -> Option<Interface<'_>> {
        match self {
            Self::Pcap(pcap) => (place == 0).then(|| pcap.interface()),
            Self::Pcapng(pcapng) => pcapng.described(place),
            Self::Records(records) => records.described(place),
        }
    }

    pub(super) fn container(&self) -> Container {
        match self {
            Self::Pcap(pcap) => pcap.container(),
            Self::Pcapng(_) => Container::Pcapng,
            Self::Records(records) => records.container(),
        }
    }

    /// The link type that the file's header states; `None` where each interface has its own.
    pub(super) fn link(&self) -> Option<LinkType> {
        match self {
            Self::Pcap(pcap) => Some(pcap.link()),
            Self::Pcapng(_) => None,
            Self::Records(records) => records.link(),
        }
    }

    /// The most bytes kept of a packet: the largest of the interfaces met so far; 0 = not stated.
    pub(super) fn snaplen(&self) -> u32 {
        match self {
            Self::Pcap(pcap) => pcap.snaplen(),
            Self::Pcapng(pcapng) => pcapng.snaplen(),
            Self::Records(_) => 0,
        }
    }

    /// Packets that the capturing machine lost, where interface statistics say so.
    pub(super) fn dropped(&self) -> Option<u64> {
        match self {
            Self::Pcap(_) => None,
            Self::Pcapng(pcapng) => pcapng.dropped(),
            Self::Records(records) => records.dropped(),
        }
    }

    /// Captures that follow the first one in the same file, as `cat` puts them there. Sections of pcapng
    /// are none: they belong there.
    pub(super) fn followers(&self) -> u64 {
        match self {
            Self::Pcap(pcap) => pcap.followers(),
            Self::Pcapng(_) => 0,
            Self::Records(records) => records.followers(),
        }
    }

    /// Packets so far without a time of their own.
    pub(super) fn untimed(&self) -> u64 {
        match self {
            Self::Pcap(_) | Self::Records(_) => 0,
            Self::Pcapng(pcapng) => pcapng.untimed(),
        }
    }
}
