//! Packet → TCP segment or UDP datagram.
//!
//! Takes a captured [`Packet`]; gives a [`Content`] that borrows from it. Promises: every packet
//! comes out as exactly one content, with a reason where it is neither segment nor datagram; a
//! length is what was on the wire, however little was captured; nothing is allocated except for
//! IP fragments (`fragment.rs`), whose datagram is delivered at the frame that completes it.
//! Checksums are not looked at: capturing hosts see packets before the network card fills them in.

mod fragment;

mod ip;

mod link;

mod payload;

mod tcp;

mod udp;

use crate::capture::Packet;

pub use payload::Payload;
pub use tcp::{Segment, TcpFlags};
pub use udp::Datagram;

use fragment::Fragments;

/// What a packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A TCP segment.
    Segment(Segment<'a>),
    /// A UDP datagram.
    Datagram(Datagram<'a>),
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

/// Takes packets apart. Its only state are the IP fragments that wait for others.
#[derive(Default)]
pub struct Dissector {
    fragments: Fragments,
}

impl Dissector {
    /// A dissector that has seen no packet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one packet apart. Packets are to be given in the order of the capture.
    #[inline]
    pub fn dissect<'a>(&'a mut self, packet: &Packet<'a>) -> Content<'a> {
        self.content(packet).unwrap_or_else(Content::Other)
    }

    /// Frames held back for a datagram that is not complete: given up, or still waiting.
    pub fn unfinished_fragments(&self) -> u64 {
        self.fragments.unfinished()
    }

    #[inline]
    fn content<'a>(&'a mut self, packet: &Packet<'a>) -> Result<Content<'a>, Other> {
        let frame = Payload::new(packet.bytes, packet.wire_length as usize);
        let network = link::network(packet.link, frame)?;
        let (carried, piece) = ip::parse(network)?;
        let carried = match piece {
            None => carried,
            Some(piece) => {
                let whole = self.fragments.add(&carried, piece, packet.time_ns)?;
                ip::completed(whole.ok_or(Other::Fragment)?)?
            }
        };
        match carried.protocol {
            ip::TCP => Segment::parse(&carried).map(Content::Segment),
            ip::UDP => Datagram::parse(&carried).map(Content::Datagram),
            _ => Err(Other::OtherProtocol),
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod oracle;
