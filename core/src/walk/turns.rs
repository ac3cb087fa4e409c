//! Turns of clients at files: one changed it, and another was the next to use it.
//!
//! Takes rows of uses (columns of [`Turns::take`]); gives for each server the files with most turns,
//! and the uses that followed a change. `pcapnfs/analyses/caching/shared_files.py` says what counts as a use.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::ArrowError;

use super::groups::Groups;
use super::input::{flags, whole};

/// A use of a file.
#[derive(Clone, Copy)]
struct Use {
    moment: i64,
    call: u64,
    frame: u64,
    client: u32,
    changes: bool,
}

/// The files of one server that clients use by turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Files with turns.
    pub files: u64,
    /// Turns at all of them.
    pub turns: u64,
    /// The files with most turns, most first.
    pub most: Vec<Most>,
}

/// A file with many turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Most {
    /// Its number.
    pub file: u32,
    /// Its turns.
    pub turns: u64,
    /// Clients that changed it and used it next, in order.
    pub clients: Vec<u32>,
    /// Frames of the first uses after changes.
    pub frames: Vec<u64>,
}

/// Walks over uses, some of the files at a time.
pub struct Turns {
    /// Files, and frames of each, that are kept.
    kept: usize,
    uses: Groups<Use>,
    found: BTreeMap<u32, Shared>,
    /// Calls that were the first use after a turn, of clients that had used the file before.
    known: Vec<u64>,
}

impl Turns {
    /// Nothing seen yet; so many files, and frames of each, are kept as examples.
    pub fn new(kept: usize) -> Self {
        Self { kept, uses: Groups::default(), found: BTreeMap::new(), known: Vec::new() }
    }

    /// Adds rows: `server` and `client` (any numbers), `file`, `moment` (ns), `call`, `frame`,
    /// `changes`.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let files = whole::<UInt32Type>(batch, "server")?.iter().zip(whole::<UInt32Type>(batch, "file")?);
        let places = whole::<Int64Type>(batch, "moment")?.iter().zip(whole::<UInt64Type>(batch, "call")?);
        let uses = whole::<UInt64Type>(batch, "frame")?
            .iter()
            .zip(whole::<UInt32Type>(batch, "client")?)
            .zip(flags(batch, "changes")?);
        for (((server, file), (moment, call)), ((frame, client), changes)) in files.zip(places).zip(uses) {
            let event = Use {
                moment: *moment,
                call: *call,
                frame: *frame,
                client: *client,
                changes: changes == Some(true),
            };
            self.uses.push((*server, *file), event)?;
        }
        Ok(())
    }

    /// Walks over what was taken, and forgets it: all uses of these files have come.
    pub fn walk(&mut self) {
        let Self { kept, uses, found, known } = self;
        std::mem::take(uses).visit(
            |used| (used.moment, used.call),
            |(server, file), uses| {
                if let Some(most) = turns_at(file, uses, *kept, known) {
                    let shared = found.entry(server).or_default();
                    shared.files += 1;
                    shared.turns += most.turns;
                    let place = shared.most.partition_point(|other| {
                        (std::cmp::Reverse(other.turns), other.file)
                            < (std::cmp::Reverse(most.turns), most.file)
                    });
                    if place < *kept {
                        shared.most.insert(place, most);
                        shared.most.truncate(*kept);
                    }
                }
            },
        );
    }

    /// By server.
    pub fn found(&self) -> &BTreeMap<u32, Shared> {
        &self.found
    }

    /// The calls (`call`) that were the first use after a turn, of clients that knew the file.
    pub fn known(&self) -> Result<RecordBatch, ArrowError> {
        let calls: ArrayRef = Arc::new(UInt64Array::from_iter_values(self.known.iter().copied()));
        RecordBatch::try_from_iter([("call", calls)])
    }
}

/// The turns at one file; None without any.
fn turns_at(file: u32, uses: &[Use], kept: usize, known: &mut Vec<u64>) -> Option<Most> {
    let mut found = Most { file, turns: 0, clients: Vec::new(), frames: Vec::new() };
    let (first, rest) = uses.split_first()?;
    let mut seen = vec![first.client];
    let mut before = first.client;
    let mut changer = first.changes.then_some(first.client);
    for used in rest {
        let place = seen.binary_search(&used.client);
        if used.client != before && changer == Some(before) {
            found.turns += 1;
            if found.frames.len() < kept {
                found.frames.push(used.frame);
            }
            for client in [before, used.client] {
                if let Err(place) = found.clients.binary_search(&client) {
                    found.clients.insert(place, client);
                }
            }
            if place.is_ok() {
                known.push(used.call);
            }
        }
        if let Err(place) = place {
            seen.insert(place, used.client);
        }
        if used.changes {
            changer = Some(used.client);
        }
        before = used.client;
    }
    (found.turns > 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_the_first_use_by_another_client_than_the_one_that_changed_the_file_last() {
        let event = |(call, (client, changes)): (u64, (u32, bool))| Use {
            moment: 0,
            call,
            frame: 10 + call,
            client,
            changes,
        };
        let clients = [(2, false), (1, true), (2, false), (2, true), (3, false), (1, false)];
        let uses: Vec<Use> = (0_u64..).zip(clients).map(event).collect();
        let mut known = Vec::new();
        let found = turns_at(7, &uses, 5, &mut known).unwrap();
        assert_eq!(found, Most { file: 7, turns: 2, clients: vec![1, 2, 3], frames: vec![12, 14] });
        assert_eq!(known, [2]);
        assert_eq!(turns_at(7, &uses[..2], 5, &mut known), None);
    }
}
