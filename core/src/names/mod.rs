//! Handles → files, and names → paths, learnt from the operations as they pass.
//!
//! Takes each call's operations in order, follows the current and the saved handle of a compound,
//! and says for each operation which file and which directory it is about. A name that was looked
//! for and not found is an object too: it becomes the file when the name comes into being.
//! At the end [`paths`] gives every object its path.

pub mod handle;

pub mod paths;

#[cfg(test)]
mod tests;

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};

use crate::names::handle::Handle;
use crate::nfs::Done;
use crate::nfs::facts::{Attributes, Facts};
use crate::nfs::operation::{Effect, Subject};
use crate::nfs::types::FileType;

/// Number of an object within one decode.
pub type FileId = u32;

/// Number of a server within one decode.
pub type ServerId = u32;

/// NFS3ERR_NOENT and NFS4ERR_NOENT.
const NOENT: u32 = 2;

/// What an operation is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The object.
    pub file: Option<FileId>,
    /// The directory in which the operation named it.
    pub directory: Option<FileId>,
    /// RENAME: the directory of the new name.
    pub target_directory: Option<FileId>,
}

/// A name bound to an object, or to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Place of the operation in its call.
    pub position: usize,
    /// The directory.
    pub directory: FileId,
    /// The name.
    pub name: Box<[u8]>,
    /// The object; `None`: the name denotes nothing any more.
    pub file: Option<FileId>,
}

/// An object that the capture names.
///
/// The fields stand in order of use, in three lines of the processor's cache: what a look-up needs,
/// what an operation teaches, and what names it. There are many objects and a capture goes from
/// one to the other, so that each line touched is most often one waited for.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct File {
    /// The handle; `None` for a name that never had one.
    pub handle: Option<Handle>,
    /// The server.
    pub server: ServerId,
    /// The directory that holds it, as last seen.
    pub parent: Option<FileId>,
    /// A call addressed it by handle or name.
    pub addressed: bool,
    /// An operation on it succeeded: it is more than a name that was looked for.
    pub existed: bool,
    /// It was removed, or replaced by a rename.
    pub removed: bool,
    /// Type, when attributes were seen or the operation that made it tells.
    pub file_type: Option<FileType>,
    /// File system.
    pub fsid: Option<(u64, u64)>,
    /// File number in its file system.
    pub fileid: Option<u64>,
    /// Size when last seen.
    pub size: Option<u64>,
    /// Its name in the directory.
    pub name: Option<Arc<[u8]>>,
    /// The path that MOUNT gave for it, or `/` for the root of the server's name space.
    pub mounted_as: Option<Box<[u8]>>,
}

/// A name in a directory.
struct Child {
    directory: FileId,
    file: FileId,
    name: Arc<[u8]>,
}

/// What the capture taught about files.
#[derive(Default)]
pub struct Names {
    files: Vec<File>,
    by_handle: HashTable<FileId>,
    children: HashTable<Child>,
    roots: HashMap<ServerId, FileId, RandomState>,
    hasher: RandomState,
}

impl Names {
    /// All objects; a [`FileId`] is the place in this list.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The object of an identifier.
    pub fn file(&self, id: FileId) -> Option<&File> {
        self.files.get(id as usize)
    }

    /// Places each operation of a call, learns from it, and appends to `bindings` what names it bound.
    pub fn place(
        &mut self,
        server: ServerId,
        operations: &[Done<'_>],
        places: &mut Vec<Place>,
        bindings: &mut Vec<Binding>,
    ) {
        places.clear();
        bindings.clear();
        let mut walker = Walker { names: self, server, bindings, position: 0, current: None, saved: None };
        for (position, done) in operations.iter().enumerate() {
            walker.position = position;
            let rest = operations.get(position + 1..).unwrap_or_default();
            places.push(walker.step(done, rest));
        }
    }

    /// The object that a name in a directory denotes, as far as is known.
    pub fn child(&self, directory: FileId, name: &[u8]) -> Option<FileId> {
        let hash = self.hasher.hash_one((directory, name));
        let found = self.children.find(hash, |child| child.directory == directory && *child.name == *name);
        found.map(|child| child.file)
    }

    /// The object with a handle.
    pub fn find(&self, server: ServerId, handle: &[u8]) -> Option<FileId> {
        let files = &self.files;
        let has = |id: &FileId| files.get(*id as usize).is_some_and(|file| file.has(server, handle));
        self.by_handle.find(self.hasher.hash_one((server, handle)), has).copied()
    }

    fn by_handle(&mut self, server: ServerId, handle: &[u8]) -> FileId {
        self.find(server, handle).unwrap_or_else(|| {
            let id = self.add(server);
            self.give_handle(id, handle);
            id
        })
    }

    fn add(&mut self, server: ServerId) -> FileId {
        let id = self.files.len() as FileId;
        self.files.push(File {
            server,
            handle: None,
            file_type: None,
            fsid: None,
            fileid: None,
            size: None,
            parent: None,
            name: None,
            mounted_as: None,
            addressed: false,
            existed: false,
            removed: false,
        });
        id
    }

    fn give_handle(&mut self, id: FileId, handle: &[u8]) {
        let Some(file) = self.files.get_mut(id as usize) else { return };
        file.handle = Some(handle.into());
        let hash = self.hasher.hash_one((file.server, handle));
        let (files, hasher) = (&self.files, &self.hasher);
        self.by_handle.insert_unique(hash, id, |id| {
            let file = files.get(*id as usize);
            file.map_or(0, |file| hasher.hash_one((file.server, file.handle.as_deref().unwrap_or_default())))
        });
    }

    fn bind(&mut self, directory: FileId, name: &[u8], file: FileId) {
        let hash = self.hasher.hash_one((directory, name));
        let shared: Arc<[u8]> = if let Some(child) =
            self.children.find_mut(hash, |child| child.directory == directory && *child.name == *name)
        {
            child.file = file;
            Arc::clone(&child.name)
        } else {
            let name: Arc<[u8]> = name.into();
            let child = Child { directory, file, name: Arc::clone(&name) };
            let hasher = &self.hasher;
            self.children
                .insert_unique(hash, child, |child| hasher.hash_one((child.directory, &*child.name)));
            name
        };
        if let Some(file) = self.files.get_mut(file as usize) {
            file.parent = Some(directory);
            file.name = Some(shared);
        }
    }

    fn unbind(&mut self, directory: FileId, name: &[u8]) {
        let hash = self.hasher.hash_one((directory, name));
        if let Ok(entry) =
            self.children.find_entry(hash, |child| child.directory == directory && *child.name == *name)
        {
            entry.remove();
        }
    }

    /// A name that is not known to denote anything: an object of its own, until it gets a handle.
    fn placeholder(&mut self, directory: FileId, name: &[u8]) -> FileId {
        let server = self.file(directory).map_or(0, |file| file.server);
        let id = self.add(server);
        self.bind(directory, name, id);
        id
    }

    fn root(&mut self, server: ServerId) -> FileId {
        if let Some(root) = self.roots.get(&server) {
            return *root;
        }
        let root = self.add(server);
        self.roots.insert(server, root);
        if let Some(file) = self.files.get_mut(root as usize) {
            file.mounted_as = Some(b"/".as_slice().into());
            file.file_type = Some(FileType::DIR);
        }
        root
    }

    fn update(&mut self, id: FileId, change: impl FnOnce(&mut File)) {
        if let Some(file) = self.files.get_mut(id as usize) {
            change(file);
        }
    }

    /// The root of a server's name space (NFSv4), if the capture named it.
    pub fn root_of(&self, server: ServerId) -> Option<FileId> {
        self.roots.get(&server).copied()
    }
}

impl File {
    fn has(&self, server: ServerId, handle: &[u8]) -> bool {
        self.server == server && self.handle.as_deref() == Some(handle)
    }

    fn observe(&mut self, attributes: &Attributes<'_>) {
        self.file_type = attributes.file_type.or(self.file_type);
        self.fsid = attributes.fsid.or(self.fsid);
        self.fileid = attributes.fileid.or(self.fileid);
        self.size = attributes.size.or(self.size);
    }
}

/// Follows the handles of one call.
struct Walker<'n> {
    names: &'n mut Names,
    server: ServerId,
    bindings: &'n mut Vec<Binding>,
    position: usize,
    current: Option<FileId>,
    saved: Option<FileId>,
}

impl Walker<'_> {
    fn step(&mut self, done: &Done<'_>, rest: &[Done<'_>]) -> Place {
        let facts = &done.facts;
        let by_handle = done.operation.effect == Effect::Descend && facts.by_handle;
        let place = match done.operation.subject {
            Subject::Nothing => Place::default(),
            Subject::Child | Subject::Removed if !by_handle => self.child_of(done, rest),
            Subject::Object | Subject::Child | Subject::Removed => {
                Place { file: self.object(facts), ..Place::default() }
            }
            Subject::Renamed => self.renamed(facts),
            Subject::Linked => self.linked(facts),
        };
        let place = self.move_handles(done, rest, place, by_handle);
        self.learn(facts, place);
        place
    }

    /// The object of the handle in the arguments (v3), or the current handle (v4).
    fn object(&mut self, facts: &Facts<'_>) -> Option<FileId> {
        match facts.handle {
            Some(handle) => Some(self.names.by_handle(self.server, handle)),
            None => self.current,
        }
    }

    fn child_of(&mut self, done: &Done<'_>, rest: &[Done<'_>]) -> Place {
        let facts = &done.facts;
        let directory = self.object(facts);
        let (Some(directory_id), Some(name)) = (directory, facts.name) else {
            return Place { directory, ..Place::default() };
        };
        let known = self.names.child(directory_id, name);
        let handle = facts.new_handle.or_else(|| handle_ahead(rest));
        let file = match (facts.status, name) {
            (Some(0), b"." | b"..") => handle.map(|handle| self.relative(directory_id, name, handle)),
            (Some(0), _) if done.operation.subject == Subject::Removed => {
                Some(self.removed(directory_id, name, known))
            }
            (Some(0), _) => Some(self.found(directory_id, name, known, handle, facts)),
            (Some(NOENT), _) => Some(self.not_found(directory_id, name, known)),
            _ => Some(known.unwrap_or_else(|| self.names.placeholder(directory_id, name))),
        };
        Place { file, directory, target_directory: None }
    }

    /// A name was looked up, created or opened: it denotes the object with `handle`.
    fn found(
        &mut self,
        directory: FileId,
        name: &[u8],
        known: Option<FileId>,
        handle: Option<&[u8]>,
        facts: &Facts<'_>,
    ) -> FileId {
        let known_file = known.and_then(|known| self.names.file(known));
        let nameless = known_file.is_some_and(|file| file.handle.is_none());
        let id = match (handle, known) {
            (None, Some(known)) => known,
            (None, None) => self.names.placeholder(directory, name),
            (Some(handle), known) => match (self.names.find(self.server, handle), known) {
                (Some(id), _) => id,
                (None, Some(known)) if nameless => {
                    self.names.give_handle(known, handle);
                    known
                }
                (None, _) => self.names.by_handle(self.server, handle),
            },
        };
        if known != Some(id) || self.names.file(id).is_some_and(|file| !file.existed) {
            self.bind(directory, name, id);
        }
        self.names.update(id, |file| {
            file.existed = true;
            file.removed = false;
            file.file_type = file.file_type.or(facts.create_type);
        });
        id
    }

    fn removed(&mut self, directory: FileId, name: &[u8], known: Option<FileId>) -> FileId {
        let id = known.unwrap_or_else(|| self.names.placeholder(directory, name));
        self.names.update(id, |file| {
            file.existed = true;
            file.removed = true;
        });
        self.unbind(directory, name);
        id
    }

    /// A name was looked for in vain. If it denoted something before, that is gone.
    fn not_found(&mut self, directory: FileId, name: &[u8], known: Option<FileId>) -> FileId {
        match known {
            Some(known) if self.names.file(known).is_some_and(|file| !file.existed) => known,
            Some(_) => {
                self.unbind(directory, name);
                self.names.placeholder(directory, name)
            }
            None => self.names.placeholder(directory, name),
        }
    }

    /// `.` and `..` by handle: they name no new object, but tell a parent.
    fn relative(&mut self, directory: FileId, name: &[u8], handle: &[u8]) -> FileId {
        let id = self.names.by_handle(self.server, handle);
        if name == b".." && id != directory {
            self.names.update(directory, |file| {
                file.parent.get_or_insert(id);
            });
        }
        id
    }

    fn renamed(&mut self, facts: &Facts<'_>) -> Place {
        let (directory, target_directory) = match facts.handle {
            Some(handle) => (
                Some(self.names.by_handle(self.server, handle)),
                facts.other_directory.map(|handle| self.names.by_handle(self.server, handle)),
            ),
            None => (self.saved, self.current),
        };
        let (Some(from), Some(name)) = (directory, facts.name) else {
            return Place { file: None, directory, target_directory };
        };
        let known = self.names.child(from, name);
        let file = known.unwrap_or_else(|| self.names.placeholder(from, name));
        if let (Some(0), Some(to), Some(new_name)) = (facts.status, target_directory, facts.new_name) {
            let replaced = self.names.child(to, new_name).filter(|replaced| *replaced != file);
            if let Some(replaced) = replaced {
                self.names.update(replaced, |replaced| replaced.removed = replaced.existed);
            }
            self.unbind(from, name);
            self.bind(to, new_name, file);
            self.names.update(file, |file| file.existed = true);
        }
        Place { file: Some(file), directory, target_directory }
    }

    fn linked(&mut self, facts: &Facts<'_>) -> Place {
        let (file, directory) = match facts.handle {
            Some(handle) => (
                Some(self.names.by_handle(self.server, handle)),
                facts.other_directory.map(|handle| self.names.by_handle(self.server, handle)),
            ),
            None => (self.saved, self.current),
        };
        if let (Some(0), Some(id), Some(directory), Some(name)) = (facts.status, file, directory, facts.name)
        {
            // The first name stays the one that paths show; the new one denotes the object too.
            let first = self.names.file(id).and_then(|file| Some((file.parent?, file.name.clone()?)));
            self.bind(directory, name, id);
            if let Some((parent, name)) = first {
                self.names.update(id, |file| (file.parent, file.name) = (Some(parent), Some(name)));
            }
        }
        Place { file, directory, target_directory: None }
    }

    fn move_handles(&mut self, done: &Done<'_>, rest: &[Done<'_>], place: Place, by_handle: bool) -> Place {
        match done.operation.effect {
            Effect::PutRoot => {
                let root = self.names.root(self.server);
                self.current = Some(self.adopt(root, rest));
                self.names.update(root, |file| file.existed = true);
                return Place { file: self.current, ..Place::default() };
            }
            Effect::PutUnknown => {
                self.current = handle_ahead(rest).map(|handle| self.names.by_handle(self.server, handle));
            }
            Effect::Save => self.saved = self.current,
            Effect::Restore => {
                self.current = self.saved;
                return Place { file: self.current, ..Place::default() };
            }
            Effect::Descend if by_handle => return place, // OPEN of the current handle itself
            Effect::Keep => {}
            Effect::Put | Effect::Descend => self.current = place.file,
            Effect::Ascend => return self.ascend(rest),
            Effect::Consume => self.current = None,
        }
        place
    }

    /// LOOKUPP: the parent, by what GETFH says of it or by what is known.
    fn ascend(&mut self, rest: &[Done<'_>]) -> Place {
        let child = self.current;
        let by_handle = handle_ahead(rest).map(|handle| self.names.by_handle(self.server, handle));
        let known = child.and_then(|child| self.names.file(child)).and_then(|file| file.parent);
        self.current = by_handle.or(known);
        if let (Some(child), Some(parent)) = (child, by_handle) {
            self.names.update(child, |file| {
                file.parent.get_or_insert(parent);
            });
        }
        Place { file: self.current, ..Place::default() }
    }

    /// Gives the root its handle when a GETFH tells it.
    fn adopt(&mut self, root: FileId, rest: &[Done<'_>]) -> FileId {
        let Some(handle) = handle_ahead(rest) else { return root };
        if self.names.file(root).is_some_and(|file| file.handle.is_none()) {
            match self.names.find(self.server, handle) {
                // The handle was in use before PUTROOTFH was seen: that object is the root.
                Some(known) => {
                    self.names.roots.insert(self.server, known);
                    self.names.update(known, |file| file.mounted_as = Some(b"/".as_slice().into()));
                    return known;
                }
                None => self.names.give_handle(root, handle),
            }
        }
        root
    }

    fn learn(&mut self, facts: &Facts<'_>, place: Place) {
        let succeeded = facts.status == Some(0);
        if let Some(id) = place.file {
            self.names.update(id, |file| {
                file.addressed = true;
                if succeeded {
                    file.existed = true;
                    file.size = facts.set_size.or(file.size);
                    if let (Some(offset), Some(count), Some(_)) = (facts.offset, facts.count, facts.committed)
                    {
                        file.size = Some(file.size.unwrap_or(0).max(offset.saturating_add(count)));
                    }
                }
                if let Some(attributes) = &facts.attributes {
                    file.observe(attributes);
                }
            });
        }
        for directory in [place.directory, place.target_directory].into_iter().flatten() {
            self.names.update(directory, |file| {
                file.addressed = true;
                file.existed |= succeeded;
                file.file_type.get_or_insert(FileType::DIR);
            });
        }
        if let (Some(directory), Some(attributes)) = (place.directory, &facts.directory_attributes) {
            self.names.update(directory, |file| file.observe(attributes));
        }
        if let Some(directory) = place.file {
            self.list(directory, facts);
        }
        if let (Some(path), Some(handle), true) = (facts.text, facts.new_handle, place.file.is_none()) {
            // MNT: the handle of the mounted directory.
            let id = self.names.by_handle(self.server, handle);
            self.names.update(id, |file| {
                file.mounted_as = Some(path.into());
                file.file_type.get_or_insert(FileType::DIR);
                file.existed = true;
            });
        }
    }

    fn list(&mut self, directory: FileId, facts: &Facts<'_>) {
        for entry in &facts.entries {
            let attributes = entry.attributes.as_ref();
            let handle = entry.handle.or(attributes.and_then(|attributes| attributes.handle));
            let Some(handle) = handle else { continue };
            if matches!(entry.name, b"." | b"..") {
                self.relative(directory, entry.name, handle);
                continue;
            }
            let known = self.names.child(directory, entry.name);
            let id = self.found(directory, entry.name, known, Some(handle), &Facts::default());
            self.names.update(id, |file| {
                file.fileid = entry.fileid.or(file.fileid);
                if let Some(attributes) = attributes {
                    file.observe(attributes);
                }
            });
        }
    }

    fn bind(&mut self, directory: FileId, name: &[u8], file: FileId) {
        self.names.bind(directory, name, file);
        self.bindings.push(Binding {
            position: self.position,
            directory,
            name: name.into(),
            file: Some(file),
        });
    }

    fn unbind(&mut self, directory: FileId, name: &[u8]) {
        self.names.unbind(directory, name);
        self.bindings.push(Binding { position: self.position, directory, name: name.into(), file: None });
    }
}

/// The handle that a GETFH further on in the compound gives for the object that is current now.
fn handle_ahead<'a>(rest: &[Done<'a>]) -> Option<&'a [u8]> {
    rest.iter()
        .take_while(|done| done.operation.effect == Effect::Keep)
        .find_map(|done| done.facts.new_handle)
}
