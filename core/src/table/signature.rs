//! `calls.signature`: the operations of a call in order, with what sets them apart.
//!
//! A capture has few signatures and many calls: a text made once is found again by its operations.

use crate::nfs::operation::{Effect, Operation};
use crate::nfs::{Done, Walk};
use crate::table::columns::{SPREAD, Word};

/// Signatures of more operations than this are made anew for each call: compounds that long are rare.
const LONGEST: usize = 12;

/// Signatures remembered; a power of two above the number that are common.
const RECENT: usize = 128;

/// One operation as a number: its place in memory, which is the same for every call, and its marks.
type Code = usize;

/// The texts made last.
#[derive(Default)]
pub(super) struct Signatures {
    recent: Vec<Signature>,
    /// For a signature that is not remembered.
    long: Word,
    text: String,
}

#[derive(Default)]
struct Signature {
    count: usize,
    codes: [Code; LONGEST],
    word: Word,
}

impl Signatures {
    /// The signature of a call. `op` stands for operations that are not known.
    pub(super) fn word(&mut self, walk: &Walk<'_>, op: &str) -> &Word {
        let operations = &walk.operations;
        if operations.is_empty() || operations.len() > LONGEST {
            write(walk, op, &mut self.text);
            self.long.set(&self.text);
            return &self.long;
        }
        if self.recent.is_empty() {
            self.recent.resize_with(RECENT, Signature::default);
        }
        let mut codes = [0; LONGEST];
        let mut mixed = 0u64;
        for (code, done) in codes.iter_mut().zip(operations) {
            *code = encode(done);
            mixed = (mixed.rotate_left(5) ^ *code as u64).wrapping_mul(SPREAD);
        }
        let place = (mixed >> 32) as usize % RECENT;
        let Some(signature) = self.recent.get_mut(place) else { return &self.long };
        if signature.count != operations.len() || signature.codes != codes {
            (signature.count, signature.codes) = (operations.len(), codes);
            write(walk, op, &mut self.text);
            signature.word.set(&self.text);
        }
        &signature.word
    }
}

/// What sets an operation apart.
#[derive(Clone, Copy)]
enum Mark {
    None,
    Create,
    Plus,
    PlusUnknown,
}

impl Mark {
    fn of(done: &Done<'_>) -> Self {
        let rare = done.facts.rare();
        match rare.plus {
            _ if creates(done) => Self::Create,
            Some(true) => Self::Plus,
            None if rare.chooses => Self::PlusUnknown,
            _ => Self::None,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Create => "(create)",
            Self::Plus => "(plus)",
            Self::PlusUnknown => "(plus?)",
        }
    }
}

/// An operation's row stands at an address that leaves room for four marks.
fn encode(done: &Done<'_>) -> Code {
    const { assert!(align_of::<Operation>() >= 4) };
    std::ptr::from_ref(done.operation).addr() | Mark::of(done) as usize
}

fn write(walk: &Walk<'_>, op: &str, out: &mut String) {
    out.clear();
    for done in &walk.operations {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(done.operation.name);
        out.push_str(Mark::of(done).text());
    }
    if out.is_empty() {
        out.push_str(op);
    }
}

/// An OPEN that asks for the file to be made.
fn creates(done: &Done<'_>) -> bool {
    done.facts.create == Some(true)
        && done.facts.share_access.is_some()
        && done.operation.effect == Effect::Descend
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nfs::Told;
    use crate::nfs::facts::Facts;
    use crate::nfs::operation::{NFS3, NFS4};

    fn done(table: &'static [Operation], name: &str) -> Done<'static> {
        let operation = table.iter().find(|operation| operation.name == name).unwrap();
        let facts = Facts::default();
        Done { operation, number: operation.number, executed: true, told: Told::ByReply, facts }
    }

    fn walk(operations: Vec<Done<'static>>) -> Walk<'static> {
        Walk { operations, ..Walk::default() }
    }

    #[test]
    fn a_remembered_signature_is_that_of_the_same_operations_with_the_same_marks() {
        let mut signatures = Signatures::default();
        let plain = walk(vec![done(NFS4, "PUTFH"), done(NFS4, "OPEN"), done(NFS4, "GETFH")]);
        let mut creating = plain.operations.clone();
        (creating[1].facts.create, creating[1].facts.share_access) = (Some(true), Some(3));
        let creating = walk(creating);
        let listing = |plus| {
            let mut listing = done(NFS4, "READDIR");
            (listing.facts.rare_mut().chooses, listing.facts.rare_mut().plus) = (true, plus);
            walk(vec![listing])
        };
        let shorter = walk(plain.operations[..2].to_vec());
        let old = walk(vec![done(NFS3, "READDIR")]);
        for _ in 0..2 {
            assert_eq!(signatures.word(&plain, "").text(), "PUTFH OPEN GETFH");
            assert_eq!(signatures.word(&creating, "").text(), "PUTFH OPEN(create) GETFH");
            assert_eq!(signatures.word(&listing(Some(true)), "").text(), "READDIR(plus)");
            assert_eq!(signatures.word(&listing(Some(false)), "").text(), "READDIR");
            assert_eq!(signatures.word(&listing(None), "").text(), "READDIR(plus?)");
            assert_eq!(signatures.word(&shorter, "").text(), "PUTFH OPEN");
            assert_eq!(signatures.word(&old, "").text(), "READDIR");
            assert_eq!(signatures.word(&walk(Vec::new()), "NULL").text(), "NULL");
        }
    }

    #[test]
    fn signatures_of_any_length_are_written_whole() {
        let mut signatures = Signatures::default();
        for length in [LONGEST - 1, LONGEST, LONGEST + 1, 100] {
            let long = walk(vec![done(NFS4, "LOOKUP"); length]);
            assert_eq!(signatures.word(&long, "").text(), vec!["LOOKUP"; length].join(" "));
        }
    }
}
