//! The operation table is whole, in order, and the only one.

use std::collections::HashSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::cursor::Cursor;
use crate::error::{Layer, Reason};
use crate::nfs::catalogue;
use crate::nfs::facts::Facts;
use crate::nfs::operation::{Effect, Operation, Parser, Stability, Subject};

/// `OP_ILLEGAL` and `OP_CB_ILLEGAL`.
const ILLEGAL: u32 = 10044;

/// Procedures that are named and timed, but not read.
const NOT_READ: [(&str, &str); 1] = [("rpcbind", "GETSTAT")];

fn table(wanted: &str) -> Vec<&'static Operation> {
    catalogue().filter(|(protocol, _)| *protocol == wanted).map(|(_, row)| row).collect()
}

/// A compound's operations: a range of numbers, and the illegal one.
fn compound(range: RangeInclusive<u32>) -> Vec<u32> {
    range.chain([ILLEGAL]).collect()
}

/// In order, without gaps, each number once: equal to what the sources count.
#[test]
fn each_table_has_the_numbers_of_its_source() {
    let procedures = |last: u32| (0..=last).collect::<Vec<_>>();
    let expected = [
        ("nfs2", procedures(17)),                    // RFC 1094 section 2.2
        ("nfs3", procedures(21)),                    // RFC 1813 section 3.3
        ("nfs4", compound(3..=75)),                  // RFC 7531, 5662, 7863 and 8276
        ("nfs4 callback", compound(3..=15)),         // RFC 8881 section 20, RFC 7862 section 16
        ("nfsacl2", procedures(5)),                  // nfs_acl.x
        ("nfsacl3", procedures(3)),                  // nfs_acl.x
        ("mount1", procedures(7)),                   // RFC 1094 appendix A
        ("mount3", procedures(5)),                   // RFC 1813 section 5.2
        ("portmap2", procedures(5)),                 // RFC 1833 section 3
        ("rpcbind", procedures(12)),                 // RFC 1833 section 2
        ("nlm", (0..=15).chain(20..=23).collect()),  // X/Open C702 chapter 10
        ("nlm4", (0..=15).chain(20..=23).collect()), // RFC 1813 section 6.3
        ("nsm1", procedures(6)),                     // X/Open C702 chapter 11
        ("rquota1", procedures(4)),                  // rquota.x
        ("rquota2", procedures(4)),                  // rquota.x, version 2
    ];
    for (protocol, numbers) in &expected {
        let found: Vec<u32> = table(protocol).iter().map(|row| row.number).collect();
        assert_eq!(&found, numbers, "{protocol}");
    }
    let rows: usize = expected.iter().map(|(_, numbers)| numbers.len()).sum();
    assert_eq!(catalogue().count(), rows, "a protocol is not in this test");
}

#[test]
fn names_are_distinct_within_a_protocol_and_look_like_those_of_the_rfc() {
    let mut seen = HashSet::new();
    let letter = |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_';
    for (protocol, row) in catalogue() {
        assert!(seen.insert((protocol, row.name)), "{protocol} has {} twice", row.name);
        assert!(row.name.bytes().all(letter), "{protocol} {}", row.name);
        let source = ["RFC ", "X/Open ", "nfs_acl.x", "mount.x", "rquota.x"];
        let known = source.iter().any(|start| row.source.starts_with(start));
        assert!(known, "{protocol} {}: {}", row.name, row.source);
    }
    assert!(table("nfs4 callback").iter().all(|row| row.name.starts_with("CB_")));
}

/// RFC 7531 ends at RELEASE_LOCKOWNER, RFC 5662 at RECLAIM_COMPLETE; the rest came with minor version 2.
#[test]
fn operations_begin_with_the_minor_version_of_their_rfc() {
    for row in table("nfs4").iter().filter(|row| row.number != ILLEGAL) {
        let first = match row.number {
            ..=39 => 0,
            40..=58 => 1,
            _ => 2,
        };
        assert_eq!(row.first_minor, first, "{}", row.name);
    }
}

/// Only compounds have handles to move, and only they can open. What removes, renames or links has to
/// be persisted; what answers from memory has not.
#[test]
fn procedures_keep_handles_and_what_changes_names_is_stable() {
    for (protocol, row) in catalogue() {
        if protocol != "nfs4" {
            assert_eq!(row.effect, Effect::Keep, "{protocol} {}", row.name);
            assert_ne!(row.stability, Stability::Opened, "{protocol} {}", row.name);
        }
        let changes = matches!(row.subject, Subject::Removed | Subject::Renamed | Subject::Linked);
        assert!(!changes || row.stability == Stability::Stable, "{protocol} {}", row.name);
        assert!(!row.small || row.stability == Stability::Unstable, "{protocol} {}", row.name);
    }
}

/// Whether a parser gives up on principle, whatever the bytes; and how many it read.
fn tried(parser: Parser) -> (bool, usize) {
    let zeros = [0; 64];
    let mut cursor = Cursor::new(&zeros, Layer::Call);
    let outcome = parser(&mut cursor, &mut Facts::default());
    (outcome.is_err_and(|stop| stop.reason == Reason::Unsupported), cursor.offset())
}

/// What is not decoded says so in the table and in the documentation made from it, and stands here. What is decoded never gives up on principle.
#[test]
fn an_operation_that_is_not_decoded_says_so() {
    for (protocol, row) in catalogue() {
        let expected = !NOT_READ.contains(&(protocol, row.name));
        assert_eq!(row.decoded, expected, "{protocol} {}", row.name);
        for parser in [row.arguments, row.results, row.failure] {
            let (refused, read) = tried(parser);
            assert!(!refused, "{protocol} {} gives up", row.name);
            // What is not decoded is passed over as a whole; a failure of it has no parser.
            let passed_over = row.decoded || read == 64 || read == 0;
            assert!(passed_over, "{protocol} {} says that it is not decoded", row.name);
        }
    }
}

/// Sources outside the table, without tests: path below `src`, line number, code without comment.
fn lines() -> Vec<(String, usize, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for folder in ["nfs", "nfs/v4", "nfs/side", "names", "table"] {
        for entry in fs::read_dir(root.join(folder)).expect("the sources are there") {
            let path: PathBuf = entry.expect("an entry can be read").path();
            if path.is_dir() || path.ends_with("operation.rs") || path.ends_with("tests.rs") {
                continue;
            }
            let name = path.strip_prefix(&root).expect("below src").display().to_string();
            let text = fs::read_to_string(&path).expect("sources are text");
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for (place, line) in code.lines().enumerate() {
                let line = line.split("//").next().unwrap_or_default();
                found.push((name.clone(), place + 1, line.to_owned()));
            }
        }
    }
    found
}

/// What a line decides by, when that is an operation: a comparison of its number with a constant, a
/// match on it, a constant called `OP_…`, or its name as text.
fn second_opinion(line: &str, names: &HashSet<&str>) -> Option<String> {
    let compares = ["number == ", "number != ", "opcode == ", "opcode != "].iter().any(|comparison| {
        let right = line.split_once(comparison).map(|(_, right)| right);
        right.is_some_and(|right| right.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase()))
    });
    let matches = ["number {", "opcode {", "matches!(number", "number,", "opcode,"];
    let matches = line.contains("match") && matches.iter().any(|tail| line.contains(tail));
    let program = line.contains("match (number, version)");
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let constant = words.any(|word| word.starts_with("OP_"));
    let as_text = line.split('"').skip(1).step_by(2).any(|literal| names.contains(literal));
    (compares || matches && !program || constant || as_text).then(|| line.trim().to_owned())
}

/// Everything that depends on the operation is a column of the table. A second list would be
/// forgotten when a row is added.
#[test]
fn nothing_but_the_table_knows_operations_by_number_or_name() {
    let names: HashSet<&str> = catalogue().map(|(_, row)| row.name).collect();
    let lines = lines();
    assert!(lines.len() > 1000, "only {} lines were found", lines.len());
    let found: Vec<String> = lines
        .iter()
        .filter_map(|(file, place, line)| {
            second_opinion(line, &names).map(|what| format!("{file}:{place}: {what}"))
        })
        .collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_second_list_is_found() {
    let names = HashSet::from(["OPEN"]);
    for line in [
        "if done.number == 18 {",
        "if done.opcode != OPEN {",
        "match operation.number {",
        "match number {",
        "const OP_OPEN: u32 = 18;",
        "\"OPEN\" => Class::Stable,",
        "if matches!(done.number, 18 | 38) {",
    ] {
        assert!(second_opinion(line, &names).is_some(), "{line}");
    }
    for line in
        ["Some(done) if done.number == number => {}", "match (number, version) {", "opcode: done.number,"]
    {
        assert_eq!(second_opinion(line, &names), None, "{line}");
    }
}
