//! Fewer objects: what of them is kept when there is no memory for all.
//!
//! A capture of any length names any number of objects. Once more is known of them than [`Names::bytes`]
//! may come to, those that were of use longest ago are forgotten: their rows are written as they stand
//! then, and the others move together. An object that comes again after that is a new one, and its path
//! is known only as far as the capture tells of it anew.

use std::cmp::Reverse;
use std::iter;

use crate::names::history::Tick;
use crate::names::identity::Identities;
use crate::names::index::Print;
use crate::names::paths::DEPTH_LIMIT;
use crate::names::{FileId, MOUNTED_BYTES, Names};

/// What an object takes beside its name and its handle: itself, its history, their places, and its
/// share of both indexes when these are least filled.
const OBJECT_BYTES: usize = 174;

/// What stays when others are forgotten, as a part of what is there: one of so many.
const KEPT_SHARE: usize = 2;

/// An object that is forgotten.
const FORGOTTEN: FileId = FileId::MAX;

impl Names {
    /// Memory that is taken by what is known of objects, in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        let texts = self.titles.bytes() + self.handles.bytes() + self.links.bytes() + self.mounted_bytes;
        self.files.len() * OBJECT_BYTES + texts + self.file_systems.bytes()
    }

    /// Objects that were forgotten.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The number of an object among all of the decode: its place, until some are forgotten.
    #[inline]
    pub fn number(&self, id: FileId) -> FileId {
        self.numbers.get(id as usize).copied().unwrap_or(id)
    }

    /// Which objects are to be kept, those that were of use last, with the directories above them; the
    /// handles of one file stay together.
    pub fn chosen(&self, identities: &Identities) -> Vec<bool> {
        let mut latest = vec![0; self.files.len()];
        for id in 0..self.files.len() as FileId {
            if let Some(latest) = latest.get_mut(identities.of(id) as usize) {
                *latest = self.history.usage(id).until.max(*latest);
            }
        }
        let standing = |id: FileId| -> (Reverse<Tick>, FileId) {
            let identity = identities.of(id);
            (Reverse(latest.get(identity as usize).copied().unwrap_or_default()), identity)
        };
        let mut order: Vec<FileId> = (0..self.files.len() as FileId).collect();
        order.sort_unstable_by_key(|id| standing(*id));
        let mut kept = Kept { flags: vec![false; self.files.len()], room: self.bytes() / KEPT_SHARE };
        let begins = self.roots.values().chain(self.mounted.keys()).copied();
        // Until one does not fit.
        let _all = begins.chain(order).all(|id| kept.takes(self, id));
        kept.flags
    }

    /// Forgets all objects but those that are kept.
    pub fn forget(&mut self, keep: &[bool]) {
        let mut moved = vec![FORGOTTEN; self.files.len()];
        let mut kept = 0;
        for (to, _) in moved.iter_mut().zip(keep).filter(|(_, keep)| **keep) {
            *to = kept;
            kept += 1;
        }
        if self.forgotten == 0 {
            self.numbers = (0..self.files.len() as FileId).collect();
        }
        self.forgotten += self.files.len() as u64 - u64::from(kept);
        let to = |id: FileId| moved.get(id as usize).copied().filter(|to| *to != FORGOTTEN);
        let bound = self.still_bound(to);
        retain(&mut self.numbers, keep);
        retain(&mut self.files, keep);
        self.titles.retain(keep);
        self.handles.retain(keep);
        self.history.retain(keep);
        let file_systems = std::mem::take(&mut self.file_systems);
        for file in &mut self.files {
            file.parent = file.parent.and_then(to);
            let fsid = file.fsid.and_then(|number| file_systems.fsid(number));
            file.fsid = fsid.and_then(|fsid| self.file_systems.number(fsid));
        }
        let mounted = std::mem::take(&mut self.mounted).into_iter();
        self.mounted = mounted.filter_map(|(id, path)| Some((to(id)?, path))).collect();
        self.mounted_bytes = self.mounted.values().map(|path| MOUNTED_BYTES + path.len()).sum();
        self.links.move_files(to);
        self.roots.retain(|_, root| to(*root).inspect(|to| *root = *to).is_some());
        self.fulfilled = self.fulfilled.iter().filter_map(|(name, file)| to(*name).zip(to(*file))).collect();
        self.layouts.move_files(to);
        self.offloads.move_files(to);
        self.index(&bound);
    }

    /// Memory that an object takes, in bytes.
    fn bytes_of(&self, id: FileId) -> usize {
        let texts = [self.name(id), self.handle(id), self.mounted_as(id)];
        let texts: usize = texts.into_iter().flatten().map(<[u8]>::len).sum();
        OBJECT_BYTES + texts + self.links.bytes_of(id)
    }

    /// The names that denote objects which are kept, with their places from then on.
    fn still_bound(&self, to: impl Fn(FileId) -> Option<FileId>) -> Vec<(Print, FileId)> {
        let mut bound = Vec::new();
        let mut bind = |id: FileId, directory: FileId, name: &[u8]| {
            if let Some((id_then, directory_then)) = to(id).zip(to(directory))
                && self.child(directory, name) == Some(id)
            {
                bound.push((self.named(directory_then, name).print, id_then));
            }
        };
        for id in 0..self.files.len() as FileId {
            if let Some((directory, name)) = self.shown_as(id) {
                bind(id, directory, name);
            }
        }
        for (id, (directory, name)) in self.links.all() {
            bind(id, *directory, name);
        }
        bound
    }

    /// Makes both indexes anew.
    fn index(&mut self, bound: &[(Print, FileId)]) {
        self.by_handle.clear();
        for (id, file) in (0..).zip(&self.files).filter(|(_, file)| file.has_handle) {
            let files = &self.files;
            self.by_handle
                .insert_unique(file.print, id, |id| files.get(*id as usize).map_or(0, |file| file.print));
        }
        self.children.clear();
        for (print, id) in bound {
            self.children.insert(*print, *id);
        }
    }
}

/// What is kept, while it is chosen.
struct Kept {
    flags: Vec<bool>,
    /// Bytes that are left for more.
    room: usize,
}

impl Kept {
    /// Keeps an object, and the directories above it that are not kept so far, if there is room for all.
    fn takes(&mut self, names: &Names, id: FileId) -> bool {
        let parent = |id: &FileId| names.file(*id).and_then(|file| file.parent);
        let known = |id: &FileId| self.flags.get(*id as usize).copied().unwrap_or(true);
        let up: Vec<FileId> =
            iter::successors(Some(id), parent).take(DEPTH_LIMIT).take_while(|id| !known(id)).collect();
        let bytes = up.iter().map(|id| names.bytes_of(*id)).sum();
        let Some(room) = self.room.checked_sub(bytes) else { return false };
        self.room = room;
        for id in up {
            if let Some(flag) = self.flags.get_mut(id as usize) {
                *flag = true;
            }
        }
        true
    }
}

/// Leaves out what is not kept.
pub(super) fn retain<T>(all: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    all.retain(|_| keep.next().copied().unwrap_or_default());
}
