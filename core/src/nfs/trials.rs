//! Trials for parsers: samples of messages, written down from the RFCs, and what must hold for each.
//!
//! A [`Sample`] is bytes in rows with the RFC's field names beside them, and the facts expected.

use crate::cursor::{Behind, Cursor, Gauge, Kind, Recorder, Span, padding};
use crate::error::{DecodeError, Layer, Reason};
use crate::nfs::facts::{Attributes, Facts, Pnfs, Rare, Sparse};
use crate::nfs::operation::{Operation, Parser};

use Value::{Fixed, Hyper, Opaque, Skipped, Word};

/// One value as XDR writes it.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Word(u32),
    Hyper(u64),
    /// Fixed-length opaque data.
    Fixed(&'static [u8]),
    /// Variable-length opaque data.
    Opaque(&'static [u8]),
    /// The same, which the parser passes over even where it was not captured.
    Skipped(&'static [u8]),
}

/// The values of a message with the RFC's field names beside them.
pub(crate) type Rows = &'static [(&'static str, Value)];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    Arguments,
    Results,
    Failure(u32),
}

pub(crate) struct Sample {
    pub(crate) row: &'static Operation,
    pub(crate) part: Part,
    pub(crate) rows: Rows,
    /// What the parser has to say of it; `status` is what the caller had read before.
    pub(crate) expected: Facts<'static>,
}

impl Sample {
    fn parser(&self) -> Parser {
        match self.part {
            Part::Arguments => self.row.arguments,
            Part::Results => self.row.results,
            Part::Failure(_) => self.row.failure,
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
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

    /// What the caller had read before.
    fn status(&self) -> Option<u32> {
        match self.part {
            Part::Failure(status) => Some(status),
            Part::Arguments | Part::Results => None,
        }
    }

    /// Facts and outcome, and the bytes of the message that were left over.
    pub(crate) fn decode<'a>(
        &self,
        captured: &'a [u8],
        total: usize,
    ) -> (Facts<'a>, Result<(), DecodeError>, usize) {
        let mut facts = Facts { status: self.status(), ..Facts::default() };
        let mut cursor = Cursor::of_prefix(captured, total, Reason::Truncated, Layer::Call);
        let outcome = self.parser()(&mut cursor, &mut facts);
        (facts, outcome, cursor.remaining())
    }
}

/// The trials of a protocol family as tests of their own: its samples, and its tables.
macro_rules! trials {
    ($samples:expr, $tables:expr) => {
        #[test]
        fn each_sample_gives_its_facts_and_is_used_up() {
            trials::facts_and_used_up(&$samples);
        }

        #[test]
        fn a_sample_cut_at_any_byte_is_truncated_and_keeps_what_came_before() {
            trials::cut_at_any_byte(&$samples);
        }

        #[test]
        fn a_sample_that_ends_early_is_malformed() {
            trials::ends_early(&$samples);
        }

        #[test]
        fn every_parser_that_reads_has_a_sample() {
            trials::coverage(&$samples, $tables);
        }

        #[test]
        fn a_flipped_byte_never_panics_nor_reads_beyond_the_message() {
            trials::flipped_bytes(&$samples);
        }

        #[test]
        fn what_nobody_reads_may_be_left_out_wherever_a_sample_is_cut() {
            trials::left_out(&$samples);
        }

        #[test]
        fn each_value_is_said_to_be_what_it_is() {
            trials::recorded(&$samples);
        }
    };
}
pub(crate) use trials;

/// What the parser says that it passes over, when it sees only the beginning of a sample, it does not
/// miss when the rest is there.
pub(crate) fn left_out(samples: &[Sample]) {
    for sample in samples {
        let bytes = sample.bytes();
        let total = bytes.len();
        for cut in 0..=total {
            let gauge = Gauge::new(&bytes[..cut]);
            let mut c = Cursor::gauging(&gauge, total, Reason::Truncated, Layer::Call);
            let outcome = sample.parser()(&mut c, &mut Facts { status: sample.status(), ..Facts::default() });
            let stop = outcome.err();
            let reached = stop.map_or(total, |stop| stop.offset);
            let hole = gauge.unread_before(reached, stop.is_some());
            let behind = Behind { passed: hole.len(), bytes: &bytes[hole.end..] };
            let head = &bytes[..hole.start];
            let mut holed = Cursor::with_hole(head, &behind, total, Reason::Truncated, Layer::Call);
            let mut facts = Facts { status: sample.status(), ..Facts::default() };
            let read = if hole.is_empty() { Ok(()) } else { sample.parser()(&mut holed, &mut facts) };
            let what = format!("{} {:?} cut at {cut}, without {hole:?}", sample.row.name, sample.part);
            assert_eq!(read, Ok(()), "{what}");
            if !hole.is_empty() {
                assert_eq!(format!("{facts:?}"), format!("{:?}", sample.expected), "{what}");
            }
        }
    }
}

/// Each sample gives its facts and is used up.
pub(crate) fn facts_and_used_up(samples: &[Sample]) {
    for sample in samples {
        let bytes = sample.bytes();
        let (facts, outcome, left) = sample.decode(&bytes, bytes.len());
        let what = format!("{} {:?}", sample.row.name, sample.part);
        assert_eq!((outcome, left), (Ok(()), 0), "{what}");
        assert_eq!(format!("{facts:#?}"), format!("{:#?}", sample.expected), "{what}");
    }
}

/// A sample cut at any byte is truncated and keeps what came before.
pub(crate) fn cut_at_any_byte(samples: &[Sample]) {
    for sample in samples {
        let bytes = sample.bytes();
        let (full, _, _) = sample.decode(&bytes, bytes.len());
        for cut in 0..bytes.len() {
            let (facts, outcome, _) = sample.decode(&bytes[..cut], bytes.len());
            let what = format!("{} {:?} cut at byte {cut}", sample.row.name, sample.part);
            let reason = outcome.err().map(|error| error.reason);
            let enough = cut >= bytes.len() - sample.needless_tail();
            assert_eq!(reason, (!enough).then_some(Reason::Truncated), "{what}");
            assert_prefix(&facts, &full, &what);
        }
    }
}

/// A sample that ends early is malformed.
pub(crate) fn ends_early(samples: &[Sample]) {
    for sample in samples {
        let bytes = sample.bytes();
        for end in 0..bytes.len() {
            let (_, outcome, _) = sample.decode(&bytes[..end], end);
            // Padding that the sender left out is forgiven where nothing follows it.
            let reason = outcome.err().map(|error| error.reason);
            assert!(
                reason == Some(Reason::Malformed)
                    || (reason.is_none() && bytes.len() - end <= padding_of_last(sample)),
                "{} {:?} ended at byte {end}: {reason:?}",
                sample.row.name,
                sample.part
            );
        }
    }
}

/// Fields, of any operation or of one, of which no parser can say what they hold, or whose contents
/// nobody needs: they are told to nobody.
const UNKNOWN: &[&str] = &[
    "body",
    "buf",
    "da_addr_body",
    "loc_body",
    "lrf_body",
    "oid",
    "ssa_digest",
    "ssa_ssv",
    "ssr_digest",
    "vals",
    "EXCHANGE_ID [0]",
    "EXCHANGE_ID [1]",
];

/// A cursor that records gives the same facts, and each value is said to be what it is: numbers are
/// numbers, opaque data and strings are not, and data that are passed over are not recorded.
pub(crate) fn recorded(samples: &[Sample]) {
    let mut unsaid = Vec::new();
    for sample in samples {
        let bytes = sample.bytes();
        let (facts, outcome, left) = sample.decode(&bytes, bytes.len());
        let recorder = Recorder::new(&bytes, Vec::new());
        let mut cursor = Cursor::recording(&recorder, bytes.len(), Reason::Truncated, Layer::Call);
        let mut again = Facts { status: sample.status(), ..Facts::default() };
        let what = format!("{} {:?}", sample.row.name, sample.part);
        assert_eq!(sample.parser()(&mut cursor, &mut again), outcome, "{what}");
        assert_eq!(cursor.remaining(), left, "{what}");
        assert_eq!(format!("{again:?}"), format!("{facts:?}"), "{what}");
        let spans = recorder.into_spans();
        let mut at = 0;
        for (field, value) in sample.rows {
            let of_operation = format!("{} {field}", sample.row.name);
            let what = format!("{what}: {field}");
            match value {
                Word(_) => at = numbers(&spans, at, 4, &what),
                Hyper(_) => at = numbers(&spans, at, 8, &what),
                Fixed(data) => at += data.len(),
                Skipped(data) => {
                    at = numbers(&spans, at, 4, &what);
                    assert_eq!(kinds(&spans, at, data.len()), [], "{what}");
                    at += data.len() + padding(data.len());
                }
                Opaque(data) => {
                    at = numbers(&spans, at, 4, &what);
                    let kinds = kinds(&spans, at, data.len());
                    let known = kinds.iter().all(|kind| !matches!(kind, Kind::Number | Kind::Unknown));
                    if !known && !UNKNOWN.contains(field) && !UNKNOWN.contains(&&*of_operation) {
                        unsaid.push(format!("{what} is {kinds:?}"));
                    }
                    at += data.len() + padding(data.len());
                }
            }
        }
    }
    assert!(unsaid.is_empty(), "{unsaid:#?}");
}

/// Asserts that bytes are of numbers, of users or of groups, or were not read; gives where they end.
fn numbers(spans: &[Span], at: usize, length: usize, what: &str) -> usize {
    let number = |kind: &Kind| {
        let of_users = matches!(kind, Kind::User | Kind::Group | Kind::UserAndGroup | Kind::AccessEntries);
        let verifier = matches!(kind, Kind::CreateVerifier | Kind::ClientVerifier);
        of_users || verifier || matches!(kind, Kind::Number | Kind::Seconds | Kind::Fraction)
    };
    let kinds = kinds(spans, at, length);
    assert!(kinds.iter().all(number), "{what} is {kinds:?}");
    at + length
}

/// The kinds of what was recorded of these bytes.
fn kinds(spans: &[Span], at: usize, length: usize) -> Vec<Kind> {
    let touches = |span: &&Span| span.at < at + length && at < span.at + span.length;
    spans.iter().filter(touches).map(|span| span.kind).collect()
}

fn padding_of_last(sample: &Sample) -> usize {
    match sample.rows.last() {
        Some((_, Skipped(data))) => padding(data.len()),
        _ => 0,
    }
}

/// Every parser that reads has a sample.
pub(crate) fn coverage(samples: &[Sample], tables: &[&'static [Operation]]) {
    for row in tables.iter().copied().flatten() {
        let has = |part: fn(Part) -> bool| samples.iter().any(|s| std::ptr::eq(s.row, row) && part(s.part));
        let reads = |parser: Parser, status| {
            let mut facts = Facts { status, ..Facts::default() };
            parser(&mut Cursor::new(&[], Layer::Call), &mut facts).is_err()
        };
        if reads(row.arguments, None) {
            assert!(has(|part| part == Part::Arguments), "arguments of {}", row.name);
        }
        if reads(row.results, Some(0)) {
            assert!(has(|part| part == Part::Results), "results of {}", row.name);
        }
        if (1..10_200).any(|status| reads(row.failure, Some(status))) {
            assert!(has(|part| matches!(part, Part::Failure(_))), "failure of {}", row.name);
        }
    }
}

/// A flipped byte never panics nor reads beyond the message.
pub(crate) fn flipped_bytes(samples: &[Sample]) {
    for sample in samples {
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

/// Asserts that `cut` says nothing that `full` does not say.
fn assert_prefix(cut: &Facts<'_>, full: &Facts<'_>, what: &str) {
    macro_rules! absent_or_same {
        ($($field:ident)+) => {
            $(assert!(cut.$field.is_none() || cut.$field == full.$field, "{what}: {}", stringify!($field));)+
        };
    }
    absent_or_same! {
        status handle name new_handle create_type offset count_requested eof
        stable_requested committed verifier before directory_attributes directory_before change
        set_size attribute_mask cookie access_requested access_granted share_access create create_mode
        attributes_set delegation may_notify_lock stateid session slot slot_sequence highest_slot target_highest_slot
        client_id text
    }
    assert_rare_prefix(cut.rare(), full.rare(), what);
    assert!(cut.count <= full.count, "{what}: count");
    assert!(cut.by_handle <= full.by_handle, "{what}: by_handle");
    assert_attributes_prefix(cut.attributes, full.attributes, what);
}

fn assert_rare_prefix(cut: &Rare<'_>, full: &Rare<'_>, what: &str) {
    macro_rules! absent_or_same {
        ($($field:ident)+) => {
            $(assert!(cut.$field.is_none() || cut.$field == full.$field, "{what}: {}", stringify!($field));)+
        };
    }
    absent_or_same! {
        other_directory new_name target_change target_attributes target_before session_slots lock_type lock_owner
        plus offload client_owner client_verifier callback_program client_software server_software
    }
    assert_pnfs_prefix(cut.pnfs.as_ref(), full.pnfs.as_ref(), what);
    assert_sparse_prefix(cut.sparse, full.sparse, what);
    assert_attributes_prefix(cut.compared, full.compared, what);
    assert!(cut.chooses <= full.chooses, "{what}: chooses");
    assert!(cut.services.len() <= full.services.len(), "{what}: services");
    assert!(cut.flavors.is_empty() || cut.flavors == full.flavors, "{what}: flavors");
    assert!(cut.entries.len() <= full.entries.len(), "{what}: entries");
    for (cut, full) in cut.entries.iter().zip(&full.entries) {
        assert_eq!((cut.name, cut.cookie), (full.name, full.cookie), "{what}");
        assert!(cut.fileid.is_none() || cut.fileid == full.fileid, "{what}");
        assert!(cut.handle.is_none() || cut.handle == full.handle, "{what}");
        assert_attributes_prefix(cut.attributes, full.attributes, what);
    }
}

fn assert_pnfs_prefix(cut: Option<&Pnfs<'_>>, full: Option<&Pnfs<'_>>, what: &str) {
    let (Some(cut), Some(full)) = (cut, full) else {
        assert!(cut.is_none(), "{what}: data servers that the full message does not have");
        return;
    };
    assert!(cut.server_flags.is_none() || cut.server_flags == full.server_flags, "{what}: server_flags");
    assert!(cut.device.is_none() || cut.device == full.device, "{what}: device");
    assert!(full.data_servers.starts_with(&cut.data_servers), "{what}: data_servers");
    assert!(full.data_handles.starts_with(&cut.data_handles), "{what}: data_handles");
}

fn assert_sparse_prefix(cut: Option<Sparse>, full: Option<Sparse>, what: &str) {
    let Some(cut) = cut else { return };
    let Some(full) = full else { panic!("{what}: holes that the full message does not have") };
    assert!(cut.content.is_none() || cut.content == full.content, "{what}: content");
    assert!(cut.found.is_none() || cut.found == full.found, "{what}: found");
    assert!(cut.segments.is_none() || cut.segments == full.segments, "{what}: segments");
    assert!(cut.hole_bytes.is_none() || cut.hole_bytes == full.hole_bytes, "{what}: hole_bytes");
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
