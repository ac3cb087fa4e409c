//! Tests of the crate as a whole. As modules of it: in `core/tests/` they would have the crate
//! compiled once more, without its own tests.

mod corpus_packets;
mod layering;
mod operation_table;
