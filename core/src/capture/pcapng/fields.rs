//! What stands in a block's body, in the byte order of its section.

use std::borrow::Cow;

/// Options of a packet: comment, hash, verdict.
const PACKET_BYTES: [u16; 3] = [1, 3, 7];

/// Options of a packet that are a number: flags, drops, number of the packet, queue.
const PACKET_NUMBERS: [u16; 4] = [2, 4, 5, 6];

const OPTION_END: u16 = 0;

/// What a block of a packet says before its bytes.
pub(super) struct PacketHeader {
    pub(super) interface: usize,
    pub(super) ticks: Option<u64>,
    pub(super) captured: Option<u32>,
    pub(super) wire_length: u32,
}

/// The fields of a block's body, in the byte order of its section.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::capture) struct Fields<'a> {
    pub(super) rest: &'a [u8],
    pub(super) big_endian: bool,
}

impl<'a> Fields<'a> {
    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array()
            .map(|bytes| if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array()
            .map(|bytes| if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// A timestamp: its upper half stands first in both byte orders.
    #[inline]
    pub(super) fn u64(&mut self) -> Option<u64> {
        let high = self.u32()?;
        let low = self.u32()?;
        Some(u64::from(high) << 32 | u64::from(low))
    }

    /// An option's value of eight bytes, which unlike a timestamp follows the byte order throughout.
    pub(super) fn number(&self, value: &[u8]) -> Option<u64> {
        let bytes = *value.first_chunk::<8>()?;
        Some(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// The same, for a value with a sign.
    pub(super) fn signed(&self, value: &[u8]) -> Option<i64> {
        self.number(value).map(|bits| i64::from_be_bytes(bits.to_be_bytes()))
    }

    /// The next option's code and value (section 3.5).
    pub(super) fn option(&mut self) -> Option<(u16, &'a [u8])> {
        let code = self.u16()?;
        let length = usize::from(self.u16()?);
        if code == OPTION_END {
            return None;
        }
        let value = self.rest.get(..length)?;
        self.rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    }

    /// The options of a packet, for a little-endian section.
    pub(in crate::capture) fn packet_options(mut self) -> impl Iterator<Item = (u16, Cow<'a, [u8]>)> {
        let turned = self.big_endian;
        std::iter::from_fn(move || self.option()).filter_map(move |(code, value)| {
            if !turned || PACKET_BYTES.contains(&code) {
                return Some((code, Cow::Borrowed(value)));
            }
            PACKET_NUMBERS.contains(&code).then(|| (code, value.iter().rev().copied().collect()))
        })
    }

    /// Section 4.3.
    #[inline]
    pub(super) fn enhanced(&mut self) -> Option<PacketHeader> {
        let interface = self.u32()? as usize;
        let ticks = Some(self.u64()?);
        let captured = Some(self.u32()?);
        Some(PacketHeader { interface, ticks, captured, wire_length: self.u32()? })
    }

    /// Section 4.4: it belongs to the first interface.
    pub(super) fn simple(&mut self) -> Option<PacketHeader> {
        Some(PacketHeader { interface: 0, ticks: None, captured: None, wire_length: self.u32()? })
    }

    /// Appendix A.
    pub(super) fn obsolete(&mut self) -> Option<PacketHeader> {
        let interface = usize::from(self.u16()?);
        let _drops = self.u16()?;
        let ticks = Some(self.u64()?);
        let captured = Some(self.u32()?);
        Some(PacketHeader { interface, ticks, captured, wire_length: self.u32()? })
    }
}
