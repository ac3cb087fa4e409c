//! Bytes in order → RPC messages → call/reply pairs (RFC 5531).

pub mod program;

pub mod tls;

pub mod message;

pub mod record;

mod search;

mod kept;

mod known_calls;

pub mod pairing;
