//! Bytes in order → RPC messages → call/reply pairs (RFC 5531).

pub mod program;

pub mod tls;

pub mod message;

pub mod record;

pub mod search;

pub mod caller;

mod kept;

mod known_calls;

pub mod pairing;
