//! Every operation's arguments, results and failure bodies, written down from the RFCs.
//!
//! A [`Sample`] is bytes in rows with the RFC's field names beside them, and the facts expected.
//! All samples go through the same trials; coverage is checked against the operation table.

mod callback;
mod files;
mod layout;
mod session;
mod state;
mod v42;

use crate::cursor::{Cursor, padding};
use crate::error::{DecodeError, Layer, Reason};
use crate::nfs::facts::{Attributes, Facts, StateId};
use crate::nfs::operation::{NFS4, NFS4_CALLBACK, Operation, Parser};
use proptest::prelude::*;

use Value::{Fixed, Hyper, Opaque, Skipped, Word};

/// One value as XDR writes it.
#[derive(Clone, Copy)]
enum Value {
    Word(u32),
    Hyper(u64),
    /// Fixed-length opaque data.
    Fixed(&'static [u8]),
    /// Variable-length opaque data.
    Opaque(&'static [u8]),
    /// The same, which the parser passes over even where it was not captured.
    Skipped(&'static [u8]),
}

type Rows = &'static [(&'static str, Value)];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Arguments,
    Results,
    Failure(u32),
}

struct Sample {
    operation: &'static str,
    part: Part,
    rows: Rows,
    expected: Facts<'static>,
}

fn arguments(operation: &'static str, rows: Rows, expected: Facts<'static>) -> Sample {
    Sample { operation, part: Part::Arguments, rows, expected }
}

fn results(operation: &'static str, rows: Rows, expected: Facts<'static>) -> Sample {
    Sample { operation, part: Part::Results, rows, expected }
}

fn failure(operation: &'static str, status: u32, rows: Rows) -> Sample {
    let expected = Facts { status: Some(status), ..Facts::default() };
    Sample { operation, part: Part::Failure(status), rows, expected }
}

const NO_FACTS: fn() -> Facts<'static> = Facts::default;

const SESSION: &[u8; 16] = b"session-16-bytes";
const OTHER: &[u8; 12] = b"state-other.";
/// The state that samples use: `seqid` 3, `other` [`OTHER`].
const STATE: Option<StateId> = Some(StateId { sequence: 3, other: *OTHER });

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

fn operation(name: &str) -> &'static Operation {
    let mut table = NFS4.iter().chain(NFS4_CALLBACK);
    table.find(|row| row.name == name).unwrap_or_else(|| panic!("no operation {name}"))
}

impl Sample {
    fn parser(&self) -> Parser {
        let operation = operation(self.operation);
        match self.part {
            Part::Arguments => operation.arguments,
            Part::Results => operation.results,
            Part::Failure(_) => operation.failure,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (_, value) in self.rows {
            match value {
                Word(word) => bytes.extend(word.to_be_bytes()),
                Hyper(hyper) => bytes.extend(hyper.to_be_bytes()),
                Fixed(data) => bytes.extend(*data),
                Opaque(data) | Skipped(data) => {
                    bytes.extend((data.len() as u32).to_be_bytes());
                    bytes.extend(*data);
                    bytes.resize(bytes.len() + padding(data.len()), 0);
                }
            }
        }
        bytes
    }

    /// Bytes at the end that need not be captured: padding, and data that nobody needs.
    fn needless_tail(&self) -> usize {
        match self.rows.last() {
            Some((_, Skipped(data))) => data.len() + padding(data.len()),
            Some((_, Opaque(data))) => padding(data.len()),
            _ => 0,
        }
    }

    /// Facts and outcome, and the bytes of the message that were left over.
    fn decode<'a>(&self, captured: &'a [u8], total: usize) -> (Facts<'a>, Result<(), DecodeError>, usize) {
        let status = match self.part {
            Part::Failure(status) => Some(status),
            Part::Arguments | Part::Results => None,
        };
        let mut facts = Facts { status, ..Facts::default() };
        let mut cursor = Cursor::of_prefix(captured, total, Reason::Truncated, Layer::Call);
        let outcome = self.parser()(&mut cursor, &mut facts);
        (facts, outcome, cursor.remaining())
    }
}

#[test]
fn each_sample_gives_its_facts_and_is_used_up() {
    for sample in samples() {
        let bytes = sample.bytes();
        let (facts, outcome, left) = sample.decode(&bytes, bytes.len());
        let what = format!("{} {:?}", sample.operation, sample.part);
        assert_eq!((outcome, left), (Ok(()), 0), "{what}");
        assert_eq!(format!("{facts:#?}"), format!("{:#?}", sample.expected), "{what}");
    }
}

#[test]
fn a_sample_cut_at_any_byte_is_truncated_and_keeps_what_came_before() {
    for sample in samples() {
        let bytes = sample.bytes();
        let (full, _, _) = sample.decode(&bytes, bytes.len());
        for cut in 0..bytes.len() {
            let (facts, outcome, _) = sample.decode(&bytes[..cut], bytes.len());
            let what = format!("{} {:?} cut at byte {cut}", sample.operation, sample.part);
            let reason = outcome.err().map(|error| error.reason);
            let enough = cut >= bytes.len() - sample.needless_tail();
            assert_eq!(reason, (!enough).then_some(Reason::Truncated), "{what}");
            assert_prefix(&facts, &full, &what);
        }
    }
}

#[test]
fn a_sample_that_ends_early_is_malformed() {
    for sample in samples() {
        let bytes = sample.bytes();
        for end in 0..bytes.len() {
            let (_, outcome, _) = sample.decode(&bytes[..end], end);
            // Padding that the sender left out is forgiven where nothing follows it.
            let reason = outcome.err().map(|error| error.reason);
            assert!(
                reason == Some(Reason::Malformed)
                    || (reason.is_none() && bytes.len() - end <= padding_of_last(&sample)),
                "{} {:?} ended at byte {end}: {reason:?}",
                sample.operation,
                sample.part
            );
        }
    }
}

fn padding_of_last(sample: &Sample) -> usize {
    match sample.rows.last() {
        Some((_, Skipped(data))) => padding(data.len()),
        _ => 0,
    }
}

#[test]
fn every_parser_that_reads_has_a_sample() {
    let samples = samples();
    let has =
        |name: &str, part: fn(Part) -> bool| samples.iter().any(|s| s.operation == name && part(s.part));
    for row in NFS4.iter().chain(NFS4_CALLBACK) {
        let reads = |parser: Parser, status| {
            let mut facts = Facts { status, ..Facts::default() };
            parser(&mut Cursor::new(&[], Layer::Call), &mut facts).is_err()
        };
        if reads(row.arguments, None) {
            assert!(has(row.name, |part| part == Part::Arguments), "arguments of {}", row.name);
        }
        if reads(row.results, Some(0)) {
            assert!(has(row.name, |part| part == Part::Results), "results of {}", row.name);
        }
        if (1..10_200).any(|status| reads(row.failure, Some(status))) {
            assert!(has(row.name, |part| matches!(part, Part::Failure(_))), "failure of {}", row.name);
        }
    }
}

#[test]
fn a_flipped_byte_never_panics_nor_reads_beyond_the_message() {
    for sample in samples() {
        let bytes = sample.bytes();
        for place in 0..bytes.len() {
            for flip in [0x01, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[place] ^= flip;
                let (_, outcome, left) = sample.decode(&damaged, damaged.len());
                assert!(left <= damaged.len());
                // A complete message can be malformed, never truncated.
                assert!(outcome.is_ok() || outcome.is_err_and(|e| e.reason == Reason::Malformed));
            }
        }
    }
}

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
                prop_assert!(facts.entries.len() * 24 <= bytes.len());
            }
        }
    }
}

/// Asserts that `cut` says nothing that `full` does not say.
fn assert_prefix(cut: &Facts<'_>, full: &Facts<'_>, what: &str) {
    macro_rules! absent_or_same {
        ($($field:ident)+) => {
            $(assert!(cut.$field.is_none() || cut.$field == full.$field, "{what}: {}", stringify!($field));)+
        };
    }
    absent_or_same! {
        status handle name other_directory new_name new_handle create_type offset count_requested eof
        stable_requested committed verifier before directory_attributes directory_before change target_change
        set_size attribute_mask cookie access_requested access_granted share_access create create_mode
        attributes_set delegation stateid session slot slot_sequence highest_slot target_highest_slot
        session_slots lock_type client_id text
    }
    assert!(cut.count <= full.count, "{what}: count");
    assert!(cut.by_handle <= full.by_handle, "{what}: by_handle");
    assert_attributes_prefix(cut.attributes, full.attributes, what);
    assert_attributes_prefix(cut.compared.as_deref().copied(), full.compared.as_deref().copied(), what);
    assert!(cut.entries.len() <= full.entries.len(), "{what}: entries");
    for (cut, full) in cut.entries.iter().zip(&full.entries) {
        assert_eq!((cut.name, cut.cookie), (full.name, full.cookie), "{what}");
        assert!(cut.fileid.is_none() || cut.fileid == full.fileid, "{what}");
        assert!(cut.handle.is_none() || cut.handle == full.handle, "{what}");
        assert_attributes_prefix(cut.attributes, full.attributes, what);
    }
}

fn assert_attributes_prefix(cut: Option<Attributes<'_>>, full: Option<Attributes<'_>>, what: &str) {
    let Some(cut) = cut else { return };
    let Some(full) = full else { panic!("{what}: attributes that the full message does not have") };
    macro_rules! absent_or_same {
        ($($field:ident)+) => {
            $(assert!(cut.$field.is_none() || cut.$field == full.$field, "{what}: {}", stringify!($field));)+
        };
    }
    absent_or_same! {
        file_type mode links size used fsid fileid mounted_on_fileid change mtime_ns ctime_ns handle error
        max_read max_write lease_time_s
    }
}
