//! Handles → files, and names → paths, learnt from the operations as they pass.
//!
//! Takes each call's operations in order, follows the current and the saved handle of a compound,
//! and says for each operation which file and which directory it is about. A name that was looked
//! for and not found is an object too: it becomes the file when the name comes into being.
//! At the end [`identity`] says which objects are one file, and [`paths`] gives each its path.

mod checksum;

mod file;

mod forgetting;

mod history;

pub mod identity;

mod index;

mod layouts;

mod links;

mod offloads;

pub mod paths;

mod placed;

mod texts;

mod walker;

#[cfg(test)]
mod tests;

use std::hash::BuildHasher;
use std::hint::black_box;
use std::num::NonZeroU8;

use foldhash::{fast, quality};
use hashbrown::{HashMap, HashTable};

pub use crate::names::file::File;
use crate::names::file::{DIRECTORY, FileSystems, MANY_LINKS, Sought};
use crate::names::history::History;
use crate::names::index::{Index, Print};
use crate::names::layouts::Layouts;
use crate::names::links::{Links, Title};
use crate::names::offloads::Offloads;
pub use crate::names::placed::{Binding, Place, Placed};
use crate::names::texts::Texts;
use crate::nfs::Done;
use crate::nfs::facts::{Attributes, DeviceId, Facts};
use crate::nfs::types::FileType;

/// Number of an object within one decode.
pub type FileId = u32;

/// Number of a server within one decode.
pub type ServerId = u32;

/// A handle, with what stands for it in [`Names::by_handle`], computed once for all that is done with it.
#[derive(Clone, Copy)]
struct Handle<'a> {
    server: ServerId,
    bytes: &'a [u8],
    print: u64,
}

/// A name in a directory, with what stands for it in [`Names::children`], computed once as well.
#[derive(Clone, Copy)]
struct Named<'a> {
    directory: FileId,
    name: &'a [u8],
    print: Print,
}

/// What the capture taught about files.
#[derive(Default)]
pub struct Names {
    files: Vec<File>,
    /// The name of each object in its directory.
    titles: Texts,
    /// The handle of each object.
    handles: Texts,
    /// The paths that MOUNT gave, and `/` for the roots of the servers' name spaces.
    mounted: HashMap<FileId, Box<[u8]>, fast::RandomState>,
    /// Memory that these take, in bytes.
    mounted_bytes: usize,
    /// Objects by their handles. The table holds numbers alone, and an object the hash of its handle:
    /// a look-up then waits for the line that is needed anyway. That two of a million handles share a
    /// hash of 64 bits, seeded at random, has a probability below 10^-7.
    by_handle: HashTable<FileId>,
    prints: quality::RandomState,
    children: Index,
    links: Links,
    roots: HashMap<ServerId, FileId, fast::RandomState>,
    history: History,
    layouts: Layouts,
    offloads: Offloads,
    file_systems: FileSystems,
    /// Names that were looked for in vain until another call gave them to an object that was known
    /// already (RENAME, LINK), and that object.
    fulfilled: Vec<(FileId, FileId)>,
    /// Hashes of handles that will be looked for soon.
    awaited: Vec<u64>,
    /// The number of each object ([`Names::number`]), once some were forgotten.
    numbers: Vec<FileId>,
    /// Objects that were forgotten ([`Names::forget`]).
    forgotten: u64,
}

/// What a path that MOUNT gave takes beside its bytes.
const MOUNTED_BYTES: usize = 64;

/// Handles that are fetched together: as many as the processor can wait for at once.
const FETCHED_TOGETHER: usize = 16;

/// Objects from which on that is worth while; what is known of fewer stays in the caches.
const MANY: usize = 1 << 14;

impl Names {
    /// All objects that are known; within this module, a [`FileId`] is the place in this list.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The object of an identifier.
    pub fn file(&self, id: FileId) -> Option<&File> {
        self.files.get(id as usize)
    }

    /// Places each operation of a call in `placed`, by the numbers of the objects, and learns from it.
    pub fn place(&mut self, server: ServerId, operations: &[Done<'_>], placed: &mut Placed) {
        placed.clear();
        self.history.next_call();
        walker::walk(self, server, operations, placed);
        if self.forgotten > 0 {
            placed.renumber(|id| self.number(id));
        }
    }

    /// The object that a name in a directory denotes, as far as is known.
    pub fn child(&self, directory: FileId, name: &[u8]) -> Option<FileId> {
        self.denoted(self.named(directory, name))
    }

    #[inline]
    fn named<'a>(&self, directory: FileId, name: &'a [u8]) -> Named<'a> {
        Named { directory, name, print: self.children.print((directory, name)) }
    }

    #[inline]
    fn denoted(&self, named: Named<'_>) -> Option<FileId> {
        self.children.find(named.print)
    }

    /// The object with a handle.
    #[inline]
    pub fn find(&self, server: ServerId, handle: &[u8]) -> Option<FileId> {
        self.find_print(self.prints.hash_one((server, handle)))
    }

    #[inline]
    fn printed<'a>(&self, server: ServerId, bytes: &'a [u8]) -> Handle<'a> {
        Handle { server, bytes, print: self.prints.hash_one((server, bytes)) }
    }

    #[inline]
    fn find_print(&self, print: u64) -> Option<FileId> {
        let is = |id: &FileId| self.file(*id).is_some_and(|file| file.print == print);
        self.by_handle.find(print, is).copied()
    }

    /// Whether [`Names::await_handle`] is of use.
    #[inline]
    pub fn awaits(&self) -> bool {
        self.files.len() >= MANY
    }

    /// Says that a handle will soon be looked for, when the call that it came with is answered.
    ///
    /// This changes nothing but the time it takes: several handles are looked up one after the other,
    /// for whose objects the processor can wait at the same time, and then has them at hand.
    #[inline]
    pub fn await_handle(&mut self, server: ServerId, handle: &[u8]) {
        self.awaited.push(self.prints.hash_one((server, handle)));
        if self.awaited.len() >= FETCHED_TOGETHER {
            self.fetch_awaited();
        }
    }

    #[inline(never)]
    fn fetch_awaited(&mut self) {
        for print in &self.awaited {
            let usage = self.find_print(*print).map(|id| self.history.usage(id));
            black_box(usage);
        }
        self.awaited.clear();
    }

    /// Says that `data_server` holds data of the files whose layouts, granted by `server`, name `device`.
    pub fn locate_device(&mut self, server: ServerId, device: DeviceId, data_server: ServerId) {
        self.layouts.locate(server, device, data_server);
    }

    /// Devices and handles of data servers that were not learnt, because there were so many.
    pub fn devices_overlooked(&self) -> u64 {
        self.layouts.overlooked
    }

    /// The name of an object in its directory, as last seen.
    pub fn name(&self, id: FileId) -> Option<&[u8]> {
        self.titles.get(id)
    }

    /// The directory that holds an object, and its name there, as last seen.
    fn shown_as(&self, id: FileId) -> Option<(FileId, &[u8])> {
        self.file(id)?.parent.zip(self.name(id))
    }

    /// The handle of an object; `None` for a name that never had one.
    pub fn handle(&self, id: FileId) -> Option<&[u8]> {
        self.handles.get(id)
    }

    /// The path that MOUNT gave for an object, or `/` for the root of the server's name space.
    pub fn mounted_as(&self, id: FileId) -> Option<&[u8]> {
        self.mounted.get(&id).map(AsRef::as_ref)
    }

    /// The file system of an object: `fsid3`, or major and minor of `fsid4`.
    pub fn fsid(&self, file: &File) -> Option<(u64, u64)> {
        self.file_systems.fsid(file.fsid?)
    }

    #[inline]
    fn by_handle(&mut self, server: ServerId, handle: &[u8]) -> FileId {
        let handle = self.printed(server, handle);
        self.find_print(handle.print).unwrap_or_else(|| self.by_new_handle(handle))
    }

    /// The object with a handle by which none is known yet.
    #[inline(never)]
    fn by_new_handle(&mut self, handle: Handle<'_>) -> FileId {
        self.layouts.file(handle.server, handle.bytes).unwrap_or_else(|| {
            let id = self.add(handle.server);
            self.give_handle(id, handle);
            id
        })
    }

    /// Whether `handle`, which led to an object, is that of its data at a data server.
    #[inline]
    fn is_of_data(&self, id: FileId, handle: &[u8]) -> bool {
        !self.layouts.is_empty() && self.handle(id) != Some(handle)
    }

    /// A layout of an object was granted: what each device's data servers know it by.
    fn grant(&mut self, server: ServerId, id: FileId, handles: &[(DeviceId, Option<&[u8]>)]) {
        for (device, handle) in handles {
            let own = || self.handle(id).map(<[u8]>::to_vec);
            if let Some(handle) = handle.map(<[u8]>::to_vec).or_else(own) {
                self.layouts.grant(server, *device, &handle, id);
            }
        }
    }

    /// Whether an object is a name that never had a handle.
    fn lacks_handle(&self, id: FileId) -> bool {
        self.file(id).is_some_and(|file| !file.has_handle)
    }

    fn add(&mut self, server: ServerId) -> FileId {
        let id = self.files.len() as FileId;
        self.files.push(File {
            server,
            parent: None,
            has_handle: false,
            addressed: false,
            existed: false,
            sought: Sought::Untold,
            removed: false,
            stale: false,
            kind: None,
            links: None,
            print: 0,
            fsid: None,
            fileid: None,
            size: None,
        });
        self.titles.add();
        self.handles.add();
        self.history.add();
        if self.forgotten > 0 {
            self.numbers.push((self.forgotten + u64::from(id)) as FileId);
        }
        id
    }

    fn give_handle(&mut self, id: FileId, handle: Handle<'_>) {
        let Some(file) = self.files.get_mut(id as usize) else { return };
        // A name that a data server's client looked for stands under the metadata server.
        let own = file.server == handle.server;
        let print = if own { handle.print } else { self.prints.hash_one((file.server, handle.bytes)) };
        (file.has_handle, file.print) = (true, print);
        self.history.began(id);
        self.handles.set(id, handle.bytes);
        let files = &self.files;
        self.by_handle.insert_unique(print, id, |id| files.get(*id as usize).map_or(0, |file| file.print));
    }

    /// The handle of an object is another one's from now on; its row keeps it.
    fn take_handle(&mut self, id: FileId) {
        let Some(file) = self.files.get_mut(id as usize) else { return };
        file.has_handle = false;
        if let Ok(entry) = self.by_handle.find_entry(file.print, |known| *known == id) {
            entry.remove();
        }
    }

    fn bind(&mut self, Named { directory, name, print }: Named<'_>, file: FileId) {
        if let Some(before) = self.children.insert(print, file) {
            self.history.lost_name(before);
            if before != file {
                self.went_with_name(before);
                if self.file(before).is_some_and(|file| !file.existed && !file.has_handle) {
                    self.fulfilled.push((before, file));
                }
            }
        }
        if self.history.got_name(file) > 0 {
            self.link(file, directory, name);
        } else {
            self.links.remove(file);
        }
        self.call(file, directory, name);
    }

    /// Remembers the names of an object that has a second one.
    fn link(&mut self, id: FileId, directory: FileId, name: &[u8]) {
        let first = self.shown_as(id).map(|(directory, name)| (directory, name.into()));
        let children = &self.children;
        let denotes = |(directory, name): &Title| {
            children.find(children.print((*directory, name.as_ref()))) == Some(id)
        };
        self.links.add(id, first, (directory, name.into()), denotes);
    }

    /// Before rows are written: an object that lost the name that it was shown by gets another one that
    /// it has.
    pub fn settle(&mut self) {
        let other_name = |(id, titles): (FileId, &[Title])| {
            if self.shown_as(id).and_then(|(directory, name)| self.child(directory, name)) == Some(id) {
                return None;
            }
            let left = titles.iter().find(|(directory, name)| self.child(*directory, name) == Some(id));
            left.map(|title| (id, title.clone()))
        };
        let changes: Vec<(FileId, Title)> = self.links.objects().filter_map(other_name).collect();
        for (id, (directory, name)) in changes {
            self.call(id, directory, &name);
        }
    }

    /// Says where an object is to be found.
    fn call(&mut self, id: FileId, directory: FileId, name: &[u8]) {
        self.update(id, |file| file.parent = Some(directory));
        if self.titles.get(id) != Some(name) {
            self.titles.set(id, name);
        }
    }

    fn unbind(&mut self, named: Named<'_>) {
        if let Some(before) = self.children.remove(named.print) {
            self.history.lost_name(before);
        }
    }

    /// Says that an object lost a name on the server: whether it is gone with it.
    ///
    /// It lives on under another name: one that is known, or one that attributes counted (RFC 1813
    /// section 2.5, `nlink`; RFC 8881 section 5.8.2.19, `numlinks`). Those of a directory are not names.
    fn went_with_name(&mut self, id: FileId) -> bool {
        let nameless = self.history.life(id).names == 0;
        let Some(file) = self.files.get_mut(id as usize) else { return nameless };
        let links = file.links.filter(|_| file.kind != DIRECTORY).map_or(0, NonZeroU8::get);
        if links < MANY_LINKS {
            file.links = NonZeroU8::new(links.saturating_sub(1));
        }
        if nameless && links > 1 {
            self.history.came_back(id);
        }
        nameless && links <= 1
    }

    /// Says that an object got another name on the server.
    fn was_linked(&mut self, id: FileId) {
        self.update(id, |file| file.links = file.links.map(|links| links.saturating_add(1)));
    }

    /// A name that is not known to denote anything: an object of its own, until it gets a handle.
    fn placeholder(&mut self, named: Named<'_>) -> FileId {
        let server = self.file(named.directory).map_or(0, |file| file.server);
        let id = self.add(server);
        self.bind(named, id);
        id
    }

    fn root(&mut self, server: ServerId) -> FileId {
        if let Some(root) = self.roots.get(&server) {
            return *root;
        }
        let root = self.add(server);
        self.roots.insert(server, root);
        self.mount(root, b"/");
        self.update(root, |file| file.is_a(FileType::DIR));
        root
    }

    fn mount(&mut self, id: FileId, path: &[u8]) {
        self.mounted_bytes += MOUNTED_BYTES + path.len();
        if let Some(before) = self.mounted.insert(id, path.into()) {
            self.mounted_bytes -= MOUNTED_BYTES + before.len();
        }
    }

    fn observe(&mut self, id: FileId, attributes: &Attributes<'_>) {
        let Self { files, file_systems, history, .. } = self;
        if let Some(file) = files.get_mut(id as usize) {
            file.observe(id, attributes, file_systems, history);
        }
    }

    /// Learns what an operation told of the object that it is about.
    #[inline]
    fn learn(&mut self, id: FileId, facts: &Facts<'_>, of_data: bool) {
        let succeeded = facts.status == Some(0);
        let Self { files, file_systems, history, offloads, .. } = self;
        let Some(file) = files.get_mut(id as usize) else { return };
        if succeeded {
            file.was_used(id, history);
            file.existed = true;
        }
        file.addressed = true;
        if of_data {
            return;
        }
        if let Some(rare) = &facts.rare
            && let Some(state) = rare.offload
            && let Some(end) = offloads.take(id, state, facts)
        {
            file.size = Some(file.size.unwrap_or(0).max(end));
        }
        if succeeded {
            file.size = facts.set_size.or(file.size);
            if let (Some(offset), Some(count), Some(_)) = (facts.offset, facts.count, facts.committed) {
                file.size = Some(file.size.unwrap_or(0).max(offset.saturating_add(count)));
            }
        }
        if let Some(attributes) = &facts.attributes {
            file.observe(id, attributes, file_systems, history);
        }
    }

    /// Learns of an object that it is a directory: an operation named something in it.
    #[inline]
    fn learn_directory(&mut self, id: FileId, succeeded: bool) {
        self.update(id, |file| {
            file.addressed = true;
            file.existed |= succeeded;
            file.is_probably_a(FileType::DIR);
        });
    }

    #[inline]
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
