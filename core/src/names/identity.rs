//! Objects → files: which handles lead to the same file.
//!
//! Takes all objects at the end of a decode; gives for each the object that stands for its file.
//! A server may give one file several handles: to several exports, to each name (an export that
//! checks subtrees), to another version of the protocol, after a restart. What tells is the file
//! number within its file system (RFC 1813 section 2.5, RFC 8881 section 5.8.1.10); but a number is
//! given to another file once its own is removed, which another client may have done unseen. So two
//! objects are joined when both were of use at the same time, or when the later one begins with the
//! modification time that the earlier one ended with; never when the capture shows the end of the
//! earlier before the later, or the later being made; nor when each keeps a modification time of its own
//! across answers of the other, as snapshots do that have the numbers of the files they were taken of.
//! A name that was looked for in vain, and then given to an object that was there, is that object's.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::names::history::{Life, Stamp, Tick, Use};
use crate::names::{File, FileId, Names};
use crate::nfs::types::FileType;

/// For each object the one that stands for its file: itself, where it has no other handle.
pub struct Identities {
    of: Vec<FileId>,
    /// Its file number was given to another file.
    ended: Vec<bool>,
    /// It stands for a file that is there by one of its handles.
    there: Vec<bool>,
}

/// What one file is known by: server, file system, file number.
type Key = (u32, (u64, u64), u64);

impl Identities {
    /// Joins the objects of a decode.
    pub fn new(names: &Names) -> Self {
        let files = names.files();
        let mut identities = Self {
            of: (0..files.len() as FileId).collect(),
            ended: vec![false; files.len()],
            there: vec![false; files.len()],
        };
        // Few files have more than one object: only those of one hash are looked at any further.
        let state = RandomState::default();
        let hash = |(id, file)| key(names, file).map(|key| (state.hash_one(key), id));
        let mut known: Vec<(u64, FileId)> = (0..).zip(files).filter_map(hash).collect();
        keep_repeated(&mut known);
        known.sort_unstable();
        for alike in known.chunk_by(|one, other| one.0 == other.0).filter(|alike| alike.len() > 1) {
            let object = |&(_, id): &(u64, FileId)| {
                Some((key(names, names.file(id)?)?, names.history.life(id).since, id))
            };
            let mut objects: Vec<(Key, Tick, FileId)> = alike.iter().filter_map(object).collect();
            objects.sort_unstable();
            for objects in objects.chunk_by(|one, other| one.0 == other.0).filter(|objects| objects.len() > 1)
            {
                identities.join(names, objects);
            }
        }
        for (name, file) in &names.fulfilled {
            let file = identities.last(*file);
            if let Some(identity) = identities.of.get_mut(*name as usize) {
                *identity = file;
            }
        }
        if !names.fulfilled.is_empty() {
            // A name may have come to stand for others before, if it was a file in between.
            for id in 0..files.len() as FileId {
                let last = identities.last(id);
                if let Some(identity) = identities.of.get_mut(id as usize) {
                    *identity = last;
                }
            }
        }
        identities
    }

    /// The object at which it ends that one stands for another. No way leads back: what one is led to is
    /// the end of its own. Each way is halved as it is gone, so that a long one is not gone often.
    fn last(&mut self, mut id: FileId) -> FileId {
        while self.of(id) != id {
            let next = self.of(self.of(id));
            if let Some(identity) = self.of.get_mut(id as usize) {
                *identity = next;
            }
            id = next;
        }
        id
    }

    /// The object that stands for the file of `id`.
    pub fn of(&self, id: FileId) -> FileId {
        self.of.get(id as usize).copied().unwrap_or(id)
    }

    /// Whether an object is no longer there, though no call removed it: its handle is stale, its name
    /// came to denote nothing or another object, or its file number another file. One that lives on
    /// under another handle is there.
    pub fn vanished(&self, names: &Names, id: FileId) -> bool {
        let life = names.history.life(id);
        let Some(file) = names.file(id) else { return false };
        let told = |flags: &[bool]| flags.get(id as usize).copied().unwrap_or_default();
        let replaced = self.of(id) == id && file.existed && life.gone != 0;
        !told(&self.there) && (file.stale || replaced || told(&self.ended))
    }

    fn join(&mut self, names: &Names, objects: &[(Key, Tick, FileId)]) {
        let mut groups: Vec<Group> = Vec::new();
        // The number is that of several files at once.
        let mut shared = false;
        for &(_, _, id) in objects {
            let Some(object) = Object::of(names, id) else { continue };
            let latest = groups.iter_mut().rev().take(if shared { FILES_AT_ONCE } else { 1 });
            let mut beside = false;
            let mut alike = latest.filter(|group| {
                beside |= group.is_beside(&object);
                group.takes(&object) && (!shared || group.is_unchanged(&object))
            });
            if let Some(group) = alike.next() {
                group.add(&object);
                continue;
            }
            drop(alike);
            shared |= beside;
            groups.push(Group::of(&object));
        }
        for (at, group) in groups.iter().enumerate() {
            let best = group.members.iter().max_by_key(|id| standing(names, **id));
            let last = at + 1 == groups.len();
            if let Some(there) = best.and_then(|best| self.there.get_mut(*best as usize)) {
                *there = (last || shared) && group.gone == 0;
            }
            for id in &group.members {
                if let (Some(identity), Some(best)) = (self.of.get_mut(*id as usize), best) {
                    *identity = *best;
                }
                if let Some(ended) = self.ended.get_mut(*id as usize) {
                    *ended = !(last || shared || group.is_root);
                }
            }
        }
    }
}

/// Leaves out most of the objects whose hash no other one has: sorting all of them took longer than
/// all else here.
fn keep_repeated(known: &mut Vec<(u64, FileId)>) {
    /// Bits for each object: of those that are alone, one in as many stays.
    const BITS: usize = 8;
    let bits = (known.len() * BITS).next_power_of_two().max(64);
    let place = |hash: u64| {
        let bit = hash as usize & (bits - 1);
        (bit / 64, 1_u64 << (bit % 64))
    };
    let (mut once, mut again) = (vec![0; bits / 64], vec![0; bits / 64]);
    for (hash, _) in &*known {
        let (word, bit) = place(*hash);
        if let (Some(once), Some(again)) = (once.get_mut(word), again.get_mut(word)) {
            *again |= *once & bit;
            *once |= bit;
        }
    }
    known.retain(|(hash, _)| {
        let (word, bit) = place(*hash);
        again.get(word).is_some_and(|again| again & bit != 0)
    });
}

/// What is known of an object that has a handle.
fn key(names: &Names, file: &File) -> Option<Key> {
    let key = (file.server, names.fsid(file)?, file.fileid?);
    file.has_handle.then_some(key)
}

/// The object of use last stands for a file: its path and its size are the latest.
fn standing(names: &Names, id: FileId) -> (bool, bool, Tick, FileId) {
    let addressed = names.file(id).is_some_and(|file| file.addressed);
    (addressed, names.history.life(id).gone == 0, names.history.usage(id).until, FileId::MAX - id)
}

/// Files of one number among which those of another handle are looked for, the latest.
const FILES_AT_ONCE: usize = 16;

struct Object {
    id: FileId,
    file_type: Option<FileType>,
    is_root: bool,
    life: Life,
    usage: Use,
}

impl Object {
    fn of(names: &Names, id: FileId) -> Option<Self> {
        Some(Self {
            id,
            file_type: names.file(id)?.file_type(),
            is_root: names.mounted_as(id).is_some(),
            life: names.history.life(id),
            usage: names.history.usage(id),
        })
    }
}

/// One file, while its handles are gathered in the order in which they turned up.
struct Group {
    members: Vec<FileId>,
    file_type: Option<FileType>,
    /// Modification time when last seen; 0: never.
    modified: Stamp,
    /// What answers said of it.
    told: Option<Told>,
    /// It is where a mount begins.
    is_root: bool,
    /// When one of its handles was last of use.
    until: Tick,
    /// When the last of its handles ended; 0: one did not.
    gone: Tick,
}

impl Group {
    fn of(object: &Object) -> Self {
        Self {
            members: vec![object.id],
            file_type: object.file_type,
            modified: object.usage.modified(),
            told: Told::of(object),
            is_root: object.is_root,
            until: object.usage.until,
            gone: object.life.gone,
        }
    }

    /// Whether a handle that turned up later leads to this file.
    fn takes(&self, object: &Object) -> bool {
        let Object { life, usage, .. } = object;
        let types = self.file_type.zip(object.file_type);
        let both_in_use = usage.until != 0 && self.until > life.since;
        let ended = self.gone != 0 && self.gone < life.since;
        let unchanged = self.is_unchanged(object);
        let both_roots = self.is_root && object.is_root;
        types.is_none_or(|(one, other)| one == other)
            && !self.is_beside(object)
            && (both_in_use || (!ended && !life.born && (unchanged || both_roots)))
    }

    /// Whether a handle that turned up later begins as this file was last.
    fn is_unchanged(&self, object: &Object) -> bool {
        self.modified != 0 && self.modified == object.life.first_modified
    }

    /// Whether a handle that turned up later leads to another file that is there at the same time.
    fn is_beside(&self, object: &Object) -> bool {
        self.told.zip(Told::of(object)).is_some_and(|(own, other)| own.excludes(other) || other.excludes(own))
    }

    fn add(&mut self, object: &Object) {
        self.members.push(object.id);
        self.file_type = self.file_type.or(object.file_type);
        let modified = object.usage.modified();
        self.modified = if modified == 0 { self.modified } else { modified };
        self.told = match (self.told, Told::of(object)) {
            (Some(own), Some(other)) => Some(own.with(other)),
            (own, other) => own.or(other),
        };
        self.is_root |= object.is_root;
        self.until = self.until.max(object.usage.until);
        self.gone = if self.gone == 0 || object.life.gone == 0 { 0 } else { self.gone.max(object.life.gone) };
    }
}

/// The first and the last modification time that answers told, and when.
#[derive(Clone, Copy)]
struct Told {
    first: (Tick, Stamp),
    last: (Tick, Stamp),
}

impl Told {
    fn of(object: &Object) -> Option<Self> {
        let Object { life, usage, .. } = object;
        let first = (life.first_told, life.first_modified);
        let last = usage.last_told().map_or(first, |told| (told, usage.modified()));
        (first.0 != 0).then_some(Self { first, last })
    }

    /// Whether this is not the same file: it has one modification time before and after an answer that tells
    /// another one.
    fn excludes(self, other: Self) -> bool {
        let ((from, stamp), (until, kept)) = (self.first, self.last);
        stamp == kept
            && [other.first, other.last]
                .into_iter()
                .any(|(told, differs)| from < told && told < until && differs != stamp)
    }

    /// What both handles of one file told.
    fn with(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash that is the same in each run (the finalizer of SplitMix64): of few in thousands of random seeds
    /// so many happen to share their last bits that more are kept than is asked for below.
    fn mixed(number: u32) -> u64 {
        let mixed = u64::from(number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    #[test]
    fn hashes_that_come_again_are_kept_and_few_others() {
        for (alone, repeated) in [(0, 0), (1, 0), (0, 1), (3, 2), (4000, 100)] {
            let hash = |number: u32| (mixed(number), number);
            let again = |number| (mixed(number), number + 10_000);
            let mut known: Vec<_> = (0..alone + repeated).map(hash).chain((0..repeated).map(again)).collect();
            keep_repeated(&mut known);
            for number in 0..repeated {
                assert!(known.contains(&hash(number)) && known.contains(&again(number)));
            }
            assert!(known.len() <= 2 * repeated as usize + (alone / 4) as usize + 4, "{}", known.len());
        }
    }
}
