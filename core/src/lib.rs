//! Decodes NFS captures into Arrow tables.
//!
//! Data flows through one module per stage, in the order of the list below:
//! files → [`capture`] → packets → [`packet`] → segments → [`stream`] → bytes in order → [`rpc`] →
//! call/reply pairs → [`nfs`] → operations → [`names`] → files and paths → [`table`] → Arrow.
//! [`decode`] is the whole pipeline. A module uses only those above it in the list
//! (`core/src/tests/layering.rs`).
//!
//! The promise: arbitrary bytes are safe. No input makes this crate panic, and its memory stays
//! within named limits (each constant says what happens beyond it).

/// What can be wrong with input: reasons with stable codes, and their places.
pub mod error;

/// The only way to read bytes of messages; primitives of XDR.
pub mod cursor;

/// Enumerations that keep numbers without a name.
pub mod wire_enum;

/// Files → packets with frame number and time.
pub mod capture;

/// Packets → TCP segments and UDP datagrams.
pub mod packet;

/// Segments → bytes in order, and gaps, for each side of a connection.
pub mod stream;

/// Packets of RDMA → RPC messages.
mod rdma;

/// Bytes → RPC messages → calls with their replies.
pub mod rpc;

/// Bodies of a call and its reply → operations.
pub mod nfs;

/// Operations in order → files and paths.
pub mod names;

/// Which servers are data servers of pNFS.
pub mod roles;

/// All of the above → rows of Arrow tables.
pub mod table;

/// How redaction watches a decode.
pub mod witness;

/// Joins streams, messages, operations, names and tables for each connection.
mod conversation;

/// Prefetches the state that the next packets need.
mod foresight;

/// Puts packets that the capture mixed up into order of time.
pub mod order;

/// The whole pipeline.
pub mod decode;

/// Captures → captures without names, addresses and data.
pub mod redact;

/// Captures → captures with comments for Wireshark.
pub mod annotate;

/// Answers questions about the rows of each object in order of time.
pub mod walk;

/// Answers questions about times that overlap.
pub mod intervals;

#[cfg(test)]
mod tests;
