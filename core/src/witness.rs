//! Who watches a decode: sees what it takes for a message, and where that stood.
//!
//! Redaction must keep and drop the very bytes that a decode reads and passes over, so it does not take
//! captures apart by itself but looks on. Most decodes have no witness. It is no type parameter: a second
//! copy of the pipeline would keep the compiler from inlining the parts of the first.

use crate::packet::Segment;
use crate::rpc::record::Record;
use crate::stream::assembler::Piece;
use crate::stream::{Connection, ConnectionId, Side};

/// Looks on while packets are decoded.
pub trait Witness: Send {
    /// A TCP segment, before what it brings is told.
    fn segment(&mut self, segment: &Segment<'_>, frame: u64);

    /// The connection to which that segment turned out to belong, after what it brought was told.
    fn belongs(&mut self, id: ConnectionId);

    /// The first piece of a TCP connection that is under TLS, by the form of what it carries.
    fn sealed(&mut self, id: ConnectionId, side: Side, piece: &Piece<'_>);

    /// A record that a side of a TCP connection sent. `understood`: its header is that of a call or of a
    /// reply, as far as it was captured.
    fn message(&mut self, id: ConnectionId, side: Side, record: &Record<'_>, understood: bool);

    /// The same of a datagram with such a header, whose fragments lie in the frames from the record's first to its last.
    fn datagram(&mut self, id: ConnectionId, connection: &Connection, side: Side, record: &Record<'_>);
}
