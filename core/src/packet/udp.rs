//! UDP datagrams (RFC 768).

use std::net::SocketAddr;

use super::ip::Carried;
use super::{Other, Payload};

const HEADER: usize = 8;

/// A UDP datagram, whole even if IP carried it in fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Address and port it came from.
    pub source: SocketAddr,
    /// Address and port it goes to.
    pub destination: SocketAddr,
    /// The data.
    pub payload: Payload<'a>,
    /// The packet that brought its beginning, where IP carried it in fragments.
    pub began: Option<super::At>,
}

impl<'a> Datagram<'a> {
    #[inline]
    pub(super) fn parse(carried: &Carried<'a>) -> Result<Self, Other> {
        let (header, rest) = carried.payload.header::<HEADER>()?;
        let [s0, s1, d0, d1, l0, l1, _, _] = *header;
        let payload = match usize::from(u16::from_be_bytes([l0, l1])) {
            // RFC 2675 section 4: the length of a jumbogram does not fit; IP knows it.
            0 => rest,
            length if length < HEADER || length > carried.payload.length => {
                return Err(Other::MalformedHeader);
            }
            length => rest.of_length(length - HEADER),
        };
        Ok(Self {
            source: SocketAddr::new(carried.source, u16::from_be_bytes([s0, s1])),
            destination: SocketAddr::new(carried.destination, u16::from_be_bytes([d0, d1])),
            payload,
            began: None,
        })
    }
}
