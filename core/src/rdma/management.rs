//! Connection management: which queue pairs belong together, and which service was asked for.
//!
//! Messages of InfiniBand's communication manager (volume 1, section 12.6) in management datagrams
//! (section 13.4.3). Where the capture begins later than the connection, there are none.

use crate::cursor::Cursor;
use crate::error::{DecodeError, Layer};

/// What two hosts say to one another before they send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Managed {
    /// Asks for a connection (`ConnectRequest`).
    Request {
        /// What the sender calls it.
        id: u32,
        /// The sender's queue pair.
        queue_pair: u32,
        /// The port of the service, where it is one of IP (volume 1, annex A11).
        port: Option<u16>,
    },
    /// Grants it (`ConnectReply`).
    Reply {
        /// What the receiver calls it.
        id: u32,
        /// The sender's queue pair.
        queue_pair: u32,
    },
}

/// Reads a message. `None`: it is another, or breaks off.
pub(super) fn parse(bytes: &[u8]) -> Option<Managed> {
    read(&mut Cursor::new(bytes, Layer::Rpc)).ok().flatten()
}

fn read(c: &mut Cursor<'_>) -> Result<Option<Managed>, DecodeError> {
    /// Base version 1, the communication manager's class in its version 2, and the method that sends.
    const COMMON: u32 = 0x0107_0203;
    const REQUEST: u32 = 0x0010;
    const REPLY: u32 = 0x0013;
    if c.u32()? != COMMON {
        return Ok(None);
    }
    let _status_and_transaction = [c.u32()?, c.u32()?, c.u32()?];
    let attribute = c.u32()? >> 16;
    let _modifier = c.u32()?;
    let id = c.u32()?;
    Ok(match attribute {
        REQUEST => {
            let _reserved = c.u32()?;
            let service = c.u64()?;
            let _adapter_and_keys = [c.u32()?, c.u32()?, c.u32()?, c.u32()?];
            Some(Managed::Request { id, queue_pair: c.u32()? >> 8, port: port(service) })
        }
        REPLY => {
            let (id, _key) = (c.u32()?, c.u32()?);
            Some(Managed::Reply { id, queue_pair: c.u32()? >> 8 })
        }
        _ => None,
    })
}

/// The port within the number of a service.
fn port(service: u64) -> Option<u16> {
    /// Before the protocol, which is TCP's number, and the port.
    const OF_IP: u64 = 0x0106;
    (service >> 16 == OF_IP).then_some(service as u16)
}
