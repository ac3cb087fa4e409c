//! Decodes NFS captures into Arrow tables.
//!
//! The way of the data, one stage per module, each knowing only those above it in this list:
//! files → [`capture`] → packets → [`packet`] → segments → [`stream`] → bytes in order → [`rpc`] →
//! call/reply pairs → [`nfs`] → operations → [`names`] → files and paths → [`table`] → Arrow.
//! [`decode`] is the whole pipeline; [`redact`] looks on and writes the capture anew, [`annotate`]
//! writes it with comments. [`walk`] answers questions about rows in order, [`intervals`] about
//! times that overlap.
//!
//! The promise: arbitrary bytes are safe. No input makes this crate panic, and its memory stays
//! within named limits (each constant says what happens beyond it) plus one entry per file handle.

pub mod error;

pub mod cursor;

pub mod wire_enum;

pub mod capture;

pub mod packet;

pub mod stream;

pub mod rpc;

pub mod nfs;

pub mod names;

pub mod roles;

pub mod table;

pub mod witness;

mod conversation;

mod foresight;

pub mod order;

pub mod decode;

pub mod redact;

pub mod annotate;

pub mod walk;

pub mod intervals;
