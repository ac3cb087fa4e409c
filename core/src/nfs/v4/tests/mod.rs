//! Every operation's arguments, results and failure bodies, written down from the RFCs.
//!
//! The samples go through the trials of [`crate::nfs::trials`]; coverage is checked against the
//! operation table.

mod callback;
mod files;
mod layout;
mod session;
mod state;
mod v42;

use crate::cursor::Cursor;
use crate::error::{DecodeError, Layer, Reason};
use crate::nfs::facts::{Attributes, Facts, LockOwner, StateId};
use crate::nfs::operation::{NFS4, NFS4_CALLBACK, Operation};
use crate::nfs::trials::{self, Part, Rows, Sample, Value};
use proptest::prelude::*;

use Value::{Fixed, Hyper, Opaque, Skipped, Word};

fn arguments(operation: &'static str, rows: Rows, expected: Facts<'static>) -> Sample {
    Sample { row: self::operation(operation), part: Part::Arguments, rows, expected }
}

fn results(operation: &'static str, rows: Rows, expected: Facts<'static>) -> Sample {
    Sample { row: self::operation(operation), part: Part::Results, rows, expected }
}

fn failure(operation: &'static str, status: u32, rows: Rows) -> Sample {
    let expected = Facts { status: Some(status), ..Facts::default() };
    Sample { row: self::operation(operation), part: Part::Failure(status), rows, expected }
}

fn operation(name: &str) -> &'static Operation {
    let mut table = NFS4.iter().chain(NFS4_CALLBACK);
    table.find(|row| row.name == name).unwrap_or_else(|| panic!("no operation {name}"))
}

const NO_FACTS: fn() -> Facts<'static> = Facts::default;

const SESSION: &[u8; 16] = b"session-16-bytes";
const OTHER: &[u8; 12] = b"state-other.";
/// The state that samples use: `seqid` 3, `other` [`OTHER`].
const STATE: Option<StateId> = Some(StateId { sequence: 3, other: *OTHER });
/// The owner of locks that samples use.
const LOCK_OWNER: Option<LockOwner<'static>> = Some(LockOwner { number: 0xc11e, name: b"lock id:" });

fn samples() -> Vec<Sample> {
    [
        files::samples(),
        state::samples(),
        session::samples(),
        layout::samples(),
        v42::samples(),
        callback::samples(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

trials::trials!(samples(), &[NFS4, NFS4_CALLBACK]);

#[test]
fn the_tables_hold_every_operation_of_the_rfcs_in_order() {
    let numbers: Vec<u32> = NFS4.iter().map(|row| row.number).collect();
    assert_eq!(numbers, (3..=75).chain([10_044]).collect::<Vec<_>>());
    let numbers: Vec<u32> = NFS4_CALLBACK.iter().map(|row| row.number).collect();
    assert_eq!(numbers, (3..=15).chain([10_044]).collect::<Vec<_>>());
    let of_minor = |minor| NFS4.iter().filter(|row| row.first_minor == minor).count();
    assert_eq!([of_minor(0), of_minor(1), of_minor(2)], [37 + 1, 19, 13 + 4]);
}

proptest! {
    #[test]
    fn arbitrary_words_never_panic(
        words in prop::collection::vec(prop_oneof![4 => 0u32..8, 1 => any::<u32>()], 0..80),
        cut in 0usize..320,
        status in prop_oneof![10_000u32..10_100, any::<u32>()],
    ) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let captured = &bytes[..cut.min(bytes.len())];
        for row in NFS4.iter().chain(NFS4_CALLBACK) {
            for parser in [row.arguments, row.results, row.failure] {
                let mut facts = Facts { status: Some(status), ..Facts::default() };
                let mut cursor = Cursor::of_prefix(captured, bytes.len(), Reason::Missing, Layer::Reply);
                let outcome = parser(&mut cursor, &mut facts);
                prop_assert!(cursor.remaining() <= bytes.len());
                if captured.len() == bytes.len() {
                    prop_assert!(outcome.is_ok() || outcome.is_err_and(|e| e.reason == Reason::Malformed));
                }
                prop_assert!(facts.rare().entries.len() * 24 <= bytes.len());
            }
        }
    }
}
