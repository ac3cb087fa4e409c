//! Packet → TCP segment, UDP datagram or packet of RDMA.
//!
//! Takes a captured [`Packet`]; gives a [`Content`] that borrows from it. Promises: every packet
//! comes out as exactly one content, with a reason where it is neither segment nor datagram; a
//! length is what was on the wire, however little was captured; nothing is allocated except for
//! IP fragments (`fragment.rs`), whose datagram is delivered at the frame that completes it.
//! A packet inside a packet (`tunnel.rs`) is delivered like the bare one, and a packet captured
//! twice (`copies.rs`) once.
//! Checksums are not looked at: capturing hosts see packets before the network card fills them in.

mod copies;

mod flows;

mod fragment;

mod ip;

mod link;

pub mod outline;

mod payload;

pub mod plain;

mod recent;

mod rdma;

mod tags;

mod tcp;

mod tunnel;

mod udp;

use std::net::IpAddr;

use crate::capture::timestamps::Told;
use crate::capture::{Glimpse, Packet};

pub use copies::Apart;
pub use fragment::Whole;
pub use payload::Payload;
pub use plain::Plain;
pub use rdma::{Place, ROCE_PORT, Roce, Target, Verb};
pub use tcp::{Blocks, Part, Segment, TcpFlags};
pub use udp::Datagram;

use copies::Copies;
use fragment::Fragments;
use ip::{Carried, Piece};
use link::Network;
use rdma::Iwarp;

/// IP packets within one another that are taken apart; what is deeper is another protocol.
pub const NESTING_LIMIT: usize = 4;

/// What a packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A TCP segment.
    Segment(Segment<'a>),
    /// A UDP datagram.
    Datagram(Datagram<'a>),
    /// A packet of RDMA over UDP.
    Roce(Roce<'a>),
    /// Something else, or nothing that could be read.
    Other(Other),
}

macro_rules! others {
    ($(#[doc = $doc:literal] $variant:ident = $code:literal,)+) => {
        /// Why a packet is neither segment nor datagram. A closed list with stable codes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Other { $(#[doc = $doc] $variant,)+ }

        impl Other {
            /// Every reason, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The stable code.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// One sentence for the documentation.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc.trim_ascii(),)+ }
            }
        }
    };
}

others! {
    /// A packet that the capture holds twice, seen on two interfaces.
    Duplicate = "duplicate",
    /// RDMA: RoCE, of which RPC over RDMA (RFC 8166) is decoded, or iWARP, of which it is not.
    Rdma = "rdma",
    /// An IP packet of another protocol than TCP and UDP: ICMP, SCTP, ESP …
    OtherProtocol = "other_protocol",
    /// A frame that holds no IP packet: ARP, LLDP, spanning tree …
    NotIp = "not_ip",
    /// A piece of an IP datagram that is held back until the datagram is complete.
    Fragment = "fragment",
    /// The capture's snaplen cut the packet within its link, IP, TCP or UDP header.
    TruncatedHeader = "truncated_header",
    /// A link, IP, TCP or UDP header that contradicts itself or the length of the packet.
    MalformedHeader = "malformed_header",
    /// The file's link type is not one that pcapnfs reads.
    UnsupportedLink = "unsupported_link",
}

/// The TCP segment that a packet holds, in whatever tunnels, unless it is a fragment. Whether it is a copy of
/// another was not asked.
pub fn glance<'a>(packet: &Glimpse<'a>) -> Option<Segment<'a>> {
    let frame = Payload::new(packet.bytes, packet.wire_length as usize);
    let mut network = link::network(packet.link, frame).ok()?;
    for _ in 0..NESTING_LIMIT {
        let (carried, None) = ip::parse(network).ok()? else { return None };
        network = match carried.protocol {
            ip::TCP => {
                let mut segment = Segment::EMPTY;
                return segment.read(carried).is_ok().then_some(segment);
            }
            ip::UDP => {
                let datagram = Datagram::parse(&carried).ok()?;
                tunnel::in_udp(datagram.destination.port(), datagram.payload)?
            }
            protocol => tunnel::in_ip(protocol, carried.payload).ok()?,
        };
    }
    None
}

/// How many VLAN tags (IEEE 802.1Q) a packet has; `None` where other labels are there.
pub fn vlan_tags(packet: &Packet<'_>) -> Option<usize> {
    tags::vlan_tags(packet.link, packet.bytes)
}

/// The timestamps of a segment that [`glance`] finds.
pub fn timestamps(packet: &Glimpse<'_>) -> Option<Told> {
    let segment = glance(packet)?;
    let (value, echo) = segment.timestamps()?;
    let Segment { source: from, destination: to, flags, .. } = segment;
    Some(Told { from, to, value, echo, opens: flags.syn() })
}

/// Takes packets apart. Its state: IP fragments that wait for others, the fingerprints of the last
/// packets, and which connections are iWARP.
#[derive(Default)]
pub struct Dissector {
    /// For each level of nesting, since a datagram put together may hold a fragment of another.
    fragments: [Fragments; NESTING_LIMIT],
    seen: Seen,
}

/// What of the packets before decides how to take this one.
#[derive(Default)]
struct Seen {
    /// Packets so far.
    packets: u64,
    time_ns: i64,
    watching: bool,
    copies: Copies,
    iwarp: Iwarp,
    /// The packet that completed a datagram last, and at which level; the outermost of several.
    completed: Option<(u64, usize)>,
}

/// Which packet, counted from 1 over all that were taken apart, and its time.
pub type At = (u64, i64);

/// A datagram of which fragments were lost, as far as it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incomplete<'a> {
    /// The datagram; its length is known, its bytes end before the first lost fragment.
    pub datagram: Datagram<'a>,
    /// Which packet of it came last, and its time.
    pub last: At,
}

impl Dissector {
    /// A dissector that has seen no packet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, of the packets of so many files.
    pub fn of_files(files: usize) -> Self {
        let mut dissector = Self::default();
        dissector.seen.copies.among(files);
        dissector
    }

    /// Takes the index of the file that the next packet comes from. One with a higher index begins later.
    #[inline]
    pub fn read_from(&mut self, file: usize) {
        self.seen.copies.read_from(file);
    }

    /// Whether a copy was found lately.
    pub fn copies_come(&self) -> bool {
        self.seen.copies.come()
    }

    /// Copies of packets of another file that came later than those of one host do.
    pub fn apart(&self) -> Apart {
        self.seen.copies.apart
    }

    /// Takes one packet apart. Packets are to be given in the order of the capture.
    pub fn dissect<'a>(&'a mut self, packet: &Packet<'a>) -> Content<'a> {
        let mut segment = Segment::EMPTY;
        self.dissect_to(packet, &mut segment).unwrap_or(Content::Segment(segment))
    }

    /// The same, with a TCP segment written to where the caller wants it; `None` then. Most packets
    /// are segments, and one that passes through results and enums by value is moved each time in
    /// pieces that the processor cannot read back at once: a twentieth of the decoder's time.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    pub fn dissect_to<'a>(
        &'a mut self,
        packet: &Packet<'a>,
        segment: &mut Segment<'a>,
    ) -> Option<Content<'a>> {
        self.seen.packets += 1;
        self.content(packet, segment).unwrap_or_else(|other| Some(Content::Other(other)))
    }

    /// The segment of a packet that need only be read: its headers are plain, and it is not compared with
    /// others. It is not counted yet ([`Dissector::pass`]).
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    pub fn plain<'a>(&self, packet: &Packet<'a>) -> Option<Plain<'a>> {
        if self.seen.copies.watches_next() {
            return None;
        }
        Plain::of(packet.link, packet.bytes, packet.wire_length)
    }

    /// Counts a packet that [`Dissector::plain`] read, and that was taken so.
    #[inline]
    pub fn pass(&mut self, plain: &Plain<'_>, time_ns: i64) {
        self.seen.packets += 1;
        self.seen.copies.pass(plain, time_ns);
    }

    /// The next datagram that waits in vain for fragments; `None` when there is no other. `now_ns`:
    /// the time of the next packet, or `None` at the end of the capture.
    #[inline]
    pub fn overdue(&mut self, now_ns: Option<i64>) -> Option<Incomplete<'_>> {
        let [fragments, ..] = &mut self.fragments;
        if fragments.waits() { Self::late(fragments, now_ns) } else { None }
    }

    fn late(fragments: &mut Fragments, now_ns: Option<i64>) -> Option<Incomplete<'_>> {
        let part = fragments.overdue(now_ns)?;
        let datagram = Datagram::parse(&part.carried).ok()?;
        let datagram = Datagram { began: Some(part.first), ..datagram };
        Some(Incomplete { datagram, last: part.last })
    }

    /// The datagram whose last missing fragment was in the packet that was dissected last.
    pub fn completed(&self) -> Option<Whole<'_>> {
        let (_, level) = self.seen.completed.filter(|(packet, _)| *packet == self.seen.packets)?;
        self.fragments.get(level)?.last()
    }

    /// Which packet began the datagram that waits for fragments; `of` names it as [`outline::Fragment`] does.
    pub fn begun(&self, of: (IpAddr, IpAddr, u8, u32)) -> Option<u64> {
        self.fragments.iter().find_map(|fragments| fragments.begun(of))
    }

    /// iWARP connections that were taken for plain TCP, because so many were known.
    pub fn overlooked_rdma(&self) -> u64 {
        self.seen.iwarp.overlooked
    }

    /// Frames held back for a datagram that is not complete: given up, or still waiting.
    pub fn unfinished_fragments(&self) -> u64 {
        self.fragments.iter().map(Fragments::unfinished).sum()
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    fn content<'a>(
        &'a mut self,
        packet: &Packet<'a>,
        segment: &mut Segment<'a>,
    ) -> Result<Option<Content<'a>>, Other> {
        let frame = Payload::new(packet.bytes, packet.wire_length as usize);
        self.seen.time_ns = packet.time_ns;
        self.seen.watching = self.seen.copies.watch();
        // Each version by itself, so that the compiler knows what kind the addresses are.
        match link::network(packet.link, frame)? {
            Network::V4(packet) => self.ip(ip::v4(packet)?, segment),
            Network::V6(packet) => self.ip(ip::v6(packet)?, segment),
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    fn ip<'a>(
        &'a mut self,
        (carried, piece): (Carried<'a>, Option<Piece>),
        segment: &mut Segment<'a>,
    ) -> Result<Option<Content<'a>>, Other> {
        if carried.protocol == ip::TCP && piece.is_none() {
            // Most packets; what can recurse would be in the way of the compiler here.
            self.seen.segment(carried, self.seen.watching, segment)?;
            return Ok(None);
        }
        self.seen.carried(carried, piece, &mut self.fragments).map(Some)
    }
}

impl Seen {
    /// What an IP packet holds; there are fragments for it and for each packet within.
    fn network<'a>(
        &mut self,
        network: Network<'a>,
        fragments: &'a mut [Fragments],
    ) -> Result<Content<'a>, Other> {
        let (carried, piece) = ip::parse(network)?;
        self.carried(carried, piece, fragments)
    }

    fn carried<'a>(
        &mut self,
        mut carried: Carried<'a>,
        piece: Option<Piece>,
        fragments: &'a mut [Fragments],
    ) -> Result<Content<'a>, Other> {
        let Some((fragments, within)) = fragments.split_first_mut() else {
            return Err(Other::OtherProtocol);
        };
        let mut began = None;
        if let Some(piece) = piece {
            if self.copies.fragment(&carried, piece, self.time_ns) {
                return Err(Other::Duplicate);
            }
            let whole = fragments.add(&carried, piece, (self.packets, self.time_ns))?;
            let (whole, first) = whole.ok_or(Other::Fragment)?;
            if self.completed.is_none_or(|(packet, _)| packet != self.packets) {
                self.completed = Some((self.packets, NESTING_LIMIT - 1 - within.len()));
            }
            carried = ip::completed(whole)?;
            began = Some(first);
        }
        let whole = piece.is_none();
        match carried.protocol {
            ip::TCP => {
                let mut segment = Segment::EMPTY;
                self.segment(carried, self.watching && whole, &mut segment)?;
                Ok(Content::Segment(segment))
            }
            ip::UDP => self.datagram(&carried, whole, began, within),
            protocol => self.network(tunnel::in_ip(protocol, carried.payload)?, within),
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    fn segment<'a>(
        &mut self,
        carried: Carried<'a>,
        watching: bool,
        segment: &mut Segment<'a>,
    ) -> Result<(), Other> {
        segment.read(carried)?;
        if watching && self.copies.segment(carried, segment, self.time_ns)
            || (!watching || self.copies.began()) && self.copies.came_again(carried, segment, self.time_ns)
        {
            return Err(Other::Duplicate);
        }
        if self.iwarp.carries(segment) { Err(Other::Rdma) } else { Ok(()) }
    }

    fn datagram<'a>(
        &mut self,
        carried: &Carried<'a>,
        whole: bool,
        began: Option<At>,
        within: &'a mut [Fragments],
    ) -> Result<Content<'a>, Other> {
        let datagram = Datagram { began, ..Datagram::parse(carried)? };
        if !within.is_empty()
            && let Some(network) = tunnel::in_udp(datagram.destination.port(), datagram.payload)
        {
            match self.network(network, within) {
                // The port misled: there is no packet inside.
                Err(Other::MalformedHeader | Other::NotIp) => {}
                content => return content,
            }
        }
        // Of RDMA there are many packets, and little is to be done with each.
        let watching = whole && (self.watching || datagram.destination.port() != ROCE_PORT);
        if watching && self.copies.datagram(carried, &datagram, self.time_ns) {
            return Err(Other::Duplicate);
        }
        Ok(Roce::of(&datagram).map_or(Content::Datagram(datagram), Content::Roce))
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod copies_tests;

#[cfg(test)]
mod tunnel_tests;

#[cfg(test)]
mod oracle;
