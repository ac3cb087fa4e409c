//! TCP segments (RFC 9293 section 3.1).

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use super::ip::Carried;
use super::{Other, Payload};

/// The control bits of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// The sender has no more data.
    pub const fn fin(self) -> bool {
        self.0 & 0x01 != 0
    }

    /// Sequence numbers are synchronised: the segment opens a connection.
    pub const fn syn(self) -> bool {
        self.0 & 0x02 != 0
    }

    /// The connection is reset.
    pub const fn rst(self) -> bool {
        self.0 & 0x04 != 0
    }

    /// The receiver is to hand on the data at once.
    pub const fn psh(self) -> bool {
        self.0 & 0x08 != 0
    }

    /// The acknowledgement number counts.
    pub const fn ack(self) -> bool {
        self.0 & 0x10 != 0
    }

    /// It opens or ends a connection: of SYN, FIN and RST at least one is set.
    pub const fn bounds(self) -> bool {
        self.0 & 0x07 != 0
    }

    /// The connection is open and stays so: of ACK, SYN, FIN and RST only ACK is set.
    pub const fn amid(self) -> bool {
        self.0 & 0x17 == 0x10
    }
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Address and port it came from.
    pub source: SocketAddr,
    /// Address and port it goes to.
    pub destination: SocketAddr,
    /// Sequence number of the first byte of the payload, or of the SYN.
    pub sequence: u32,
    /// The next sequence number that the sender expects, if the ACK flag is set.
    pub acknowledgement: u32,
    /// The control bits.
    pub flags: TcpFlags,
    /// Receive window as sent, not yet scaled (RFC 7323).
    pub window: u16,
    /// The options as they stand in the header.
    pub options: &'a [u8],
    /// The data.
    pub payload: Payload<'a>,
}

/// The first two blocks of the SACK option: left and right edge of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// What it was that made the receiver send it.
    pub first: [u32; 2],
    /// The next, if there is one.
    pub second: Option<[u32; 2]>,
}

/// What a segment brings to the stream between its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Sequence number of the first byte of the payload, or of the SYN.
    pub sequence: u32,
    /// The next sequence number that the sender expects, if the ACK flag is set.
    pub acknowledgement: u32,
    /// The control bits.
    pub flags: TcpFlags,
    /// Receive window as sent, not yet scaled (RFC 7323).
    pub window: u16,
    /// The data.
    pub payload: Payload<'a>,
}

impl<'a> Segment<'a> {
    /// What it brings, without the options.
    #[inline]
    pub fn part(&self) -> Part<'a> {
        let Self { sequence, acknowledgement, flags, window, payload, .. } = *self;
        Part { sequence, acknowledgement, flags, window, payload }
    }

    /// What holds no segment yet.
    pub(crate) const EMPTY: Self = {
        let nowhere = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        Self {
            source: nowhere,
            destination: nowhere,
            sequence: 0,
            acknowledgement: 0,
            flags: TcpFlags(0),
            window: 0,
            options: &[],
            payload: Payload { bytes: &[], length: 0 },
        }
    };

    /// Takes on what an IP packet carries.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that the fields are written once, to where they are needed")]
    pub(super) fn read(&mut self, carried: Carried<'a>) -> Result<(), Other> {
        let (header, rest) = carried.payload.header::<20>()?;
        let [s0, s1, d0, d1, q0, q1, q2, q3, a0, a1, a2, a3, offset, flags, w0, w1, _, _, _, _] = *header;
        let Some(options_length) = (usize::from(offset >> 4) * 4).checked_sub(20) else {
            return Err(Other::MalformedHeader);
        };
        let (options, payload) = rest.split(options_length)?;
        *self = Self {
            source: SocketAddr::new(carried.source, u16::from_be_bytes([s0, s1])),
            destination: SocketAddr::new(carried.destination, u16::from_be_bytes([d0, d1])),
            sequence: u32::from_be_bytes([q0, q1, q2, q3]),
            acknowledgement: u32::from_be_bytes([a0, a1, a2, a3]),
            flags: TcpFlags(flags),
            window: u16::from_be_bytes([w0, w1]),
            options,
            payload,
        };
        Ok(())
    }

    /// The maximum segment size that a SYN announces (RFC 9293 section 3.7.1), without the options
    /// that each segment carries.
    pub fn maximum_segment_size(&self) -> Option<u16> {
        const MAXIMUM_SEGMENT_SIZE: u8 = 2;
        self.option(MAXIMUM_SEGMENT_SIZE).map(u16::from_be_bytes)
    }

    /// By how many bits the windows behind a SYN are to be shifted (RFC 7323 section 2.2).
    pub fn window_scale(&self) -> Option<u8> {
        const WINDOW_SCALE: u8 = 3;
        self.option(WINDOW_SCALE).map(|[shift]| shift)
    }

    /// The timestamps option (RFC 7323 section 3.2): TSval and TSecr.
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        timestamps(self.options)
    }

    /// The sender's clock (TSval) when it sent the segment; 0 where it does not say.
    pub fn clock(&self) -> u32 {
        clock(self.options)
    }

    /// The SACK option (RFC 2018 section 3).
    pub fn selective_acknowledgement(&self) -> Option<Blocks> {
        const SACK: u8 = 5;
        let (numbers, _) = value(self.options, SACK, |length| length >= 8)?.as_chunks::<4>();
        let edges = |left: &[u8; 4], right: &[u8; 4]| [left, right].map(|edge| u32::from_be_bytes(*edge));
        match numbers {
            [left, right, rest @ ..] => {
                let second = if let [left, right, ..] = rest { Some(edges(left, right)) } else { None };
                Some(Blocks { first: edges(left, right), second })
            }
            _ => None,
        }
    }

    /// The value of an option, if it is of this length.
    fn option<const LENGTH: usize>(&self, wanted: u8) -> Option<[u8; LENGTH]> {
        value(self.options, wanted, |length| length == LENGTH)?.first_chunk().copied()
    }
}

/// The timestamps among the options of a segment.
fn timestamps(options: &[u8]) -> Option<(u32, u32)> {
    const TIMESTAMPS: u8 = 8;
    let [v0, v1, v2, v3, e0, e1, e2, e3] =
        *value(options, TIMESTAMPS, |length| length == 8)?.first_chunk()?;
    Some((u32::from_be_bytes([v0, v1, v2, v3]), u32::from_be_bytes([e0, e1, e2, e3])))
}

/// The sender's clock among them; 0 where it does not say.
#[cold]
#[inline(never)]
pub(super) fn clock(options: &[u8]) -> u32 {
    timestamps(options).map_or(0, |(value, _)| value)
}

/// The value of an option, if its length fits.
fn value(options: &[u8], wanted: u8, fits: impl Fn(usize) -> bool) -> Option<&[u8]> {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    let mut rest = options;
    loop {
        match *rest {
            [NO_OPERATION, ref more @ ..] => rest = more,
            [END, ..] => return None,
            [kind, length, ref value @ ..] if length >= 2 => {
                let (value, more) = value.split_at_checked(usize::from(length) - 2)?;
                if kind == wanted && fits(value.len()) {
                    return Some(value);
                }
                rest = more;
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_among_others() {
        let timestamps = [8, 10, 0, 0, 0, 1, 0xff, 0, 0, 2];
        let with = |before: &[u8], after: &[u8]| [before, &timestamps, after].concat();
        for options in [with(&[1, 1], &[]), with(&[2, 4, 5, 0xb4, 4, 2], &[3, 3, 7]), with(&[8, 2], &[0])] {
            let segment = Segment { options: &options, ..Segment::EMPTY };
            assert_eq!(segment.timestamps(), Some((1, 0xff00_0002)), "{options:?}");
        }
        for options in [with(&[0], &[]), with(&[5, 1], &[]), with(&[5, 99], &[]), timestamps[..9].to_vec()] {
            let segment = Segment { options: &options, ..Segment::EMPTY };
            assert_eq!(segment.timestamps(), None, "{options:?}");
        }
        let segment = Segment { options: &[1, 2, 4, 5, 0xb4], ..Segment::EMPTY };
        assert_eq!((segment.maximum_segment_size(), segment.window_scale()), (Some(1_460), None));
        let segment = Segment { options: &[2, 4, 5, 0xb4, 1, 3, 3, 7], ..Segment::EMPTY };
        assert_eq!(segment.window_scale(), Some(7));
    }

    #[test]
    fn two_blocks_are_read_of_those_that_there_are() {
        let numbers: Vec<u8> = (1..=6u32).flat_map(u32::to_be_bytes).collect();
        let told = |length: usize| {
            let options = [&[1, 1, 5, length as u8 + 2], &numbers[..length]].concat();
            Segment { options: &options, ..Segment::EMPTY }.selective_acknowledgement()
        };
        assert_eq!(told(8), Some(Blocks { first: [1, 2], second: None }));
        for length in [16, 24] {
            assert_eq!(told(length), Some(Blocks { first: [1, 2], second: Some([3, 4]) }));
        }
        assert_eq!(told(4), None);
    }
}
