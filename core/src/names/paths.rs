//! Objects → paths, at the end of a decode when all names are known.
//!
//! A path is relative to the export, or to the directory that MOUNT gave out, where the capture
//! shows it: a reader thinks of `d00/file`, the server's own name space comes on top. Where it shows
//! several exports (homes that are mounted one by one, say), a path begins with its own, or half of
//! them would look alike. NFSv4 has no MOUNT; there the export begins where the file system changes
//! on the way down from the root. Another one begins where it changes once more, of any version: what
//! storage is behind a file, its file system tells.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::iter;

use crate::names::checksum;
use crate::names::file::Sought;
use crate::names::{File, FileId, Names};
use crate::nfs::types::FileType;

/// Deepest path that is followed; beyond it the parents form a cycle.
pub(super) const DEPTH_LIMIT: usize = 256;

/// Bytes of names up to which a path is followed, those of one name at least, and of an export that stands
/// before it: what Linux takes for a path at most. Beyond it a few directories with long names, in one
/// another, would give each file in them a path many times as long as all that the capture told of it.
const LENGTH_LIMIT: usize = 4096;

/// Directories of which it is kept how the paths in them begin.
const BEGINNINGS: usize = 1024;

const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";

/// What an object is to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A regular file.
    File,
    /// A directory of an export.
    Directory,
    /// A symbolic link, device, socket, pipe or named attribute.
    Other,
    /// An object whose type the capture does not tell.
    Unknown,
    /// A name that was looked for and never found.
    Absent,
    /// A name of which no reply tells whether there is such an object: it was cut, or lost.
    Untold,
    /// A directory above an export, in the server's pseudo file system (RFC 8881 section 7.3).
    Pseudo,
}

impl Role {
    /// The text in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Other => "other",
            Self::Unknown => "unknown",
            Self::Absent => "absent",
            Self::Untold => "untold",
            Self::Pseudo => "pseudo",
        }
    }
}

/// Where an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'p> {
    /// Path below `export`, or with it where there are several; absolute in the pseudo file system; else
    /// below a `[short handle]`. Names are in it as they are: [`text`] makes it one.
    pub path: &'p [u8],
    /// The export or mounted directory.
    pub export: Option<&'p [u8]>,
    /// What it is.
    pub role: Role,
}

/// Puts together the paths of objects, once all names are known.
pub struct Paths {
    /// Objects at which an export begins.
    exports: Vec<bool>,
    /// Objects above an export.
    pseudo: Vec<bool>,
    /// There are exports of different paths: those of objects begin with theirs.
    several: bool,
    /// How the paths in directories begin, each at the place that its number gives: a listing, or work
    /// in a few directories, makes their children neighbours.
    beginnings: Vec<Option<(FileId, Climbed)>>,
    /// What was told last.
    last: Climbed,
}

/// The objects, each below its parent.
struct Tree<'n> {
    names: &'n Names,
    /// As of [`Paths`].
    exports: &'n [bool],
    pseudo: &'n [bool],
    several: bool,
}

/// A path, and the export that it is below.
#[derive(Default)]
struct Climbed {
    path: Vec<u8>,
    export: Option<Vec<u8>>,
}

impl Paths {
    /// Finds the exports and what lies above them.
    ///
    /// Above an export are directories that lead to another file system and hold nothing else that
    /// the capture shows: whatever has files of its own is an export, also if more is mounted below,
    /// which is one of its own. The way there (`.zfs/snapshot`), which holds nothing else, is in the one above.
    pub fn new(names: &Names) -> Self {
        let files = names.files();
        let mut exports = vec![false; files.len()];
        let tree = Tree { names, exports: &[], pseudo: &[], several: false };
        let crosses: Vec<bool> = files.iter().map(|file| tree.crosses(file)).collect();
        let mut above = vec![false; files.len()];
        for (file, _) in files.iter().zip(&crosses).filter(|(_, crosses)| **crosses) {
            for ancestor in tree.ancestors(file) {
                set(&mut above, ancestor);
            }
        }
        let mut holds_more = vec![false; files.len()];
        for (id, file) in files.iter().enumerate() {
            if let Some(parent) = file.parent.filter(|_| file.existed && !is(&above, id) && !is(&crosses, id))
            {
                set(&mut holds_more, parent);
            }
        }
        let may_be = |id: usize| is(&above, id) && !is(&holds_more, id);
        let leads_there = |id: usize, file: &File| {
            let root = names.root_of(file.server);
            let between = tree.ancestors(file).take_while(|ancestor| root != Some(*ancestor));
            may_be(id) && (root == Some(id as FileId) || between.map(|id| id as usize).all(may_be))
        };
        let pseudo: Vec<bool> = files.iter().enumerate().map(|(id, file)| leads_there(id, file)).collect();
        for (id, file) in files.iter().enumerate() {
            let begins = names.mounted_as(id as FileId).is_some()
                || file.parent.is_some_and(|parent| is(&pseudo, parent as usize))
                || tree.is_nested(file);
            if begins && !is(&pseudo, id) && file.existed {
                set(&mut exports, id as FileId);
            }
        }
        let several =
            Tree { names, exports: &exports, pseudo: &pseudo, several: false }.has_several_exports();
        let beginnings = iter::repeat_with(|| None).take(BEGINNINGS).collect();
        Self { exports, pseudo, several, beginnings, last: Climbed::default() }
    }

    /// Where an object is; `names` are those that the exports were found in.
    pub fn locate(&mut self, names: &Names, id: FileId) -> Location<'_> {
        let Self { exports, pseudo, several, beginnings, last } = self;
        let tree = Tree { names, exports, pseudo, several: *several };
        let Some(file) = names.file(id) else {
            return Location { path: &[], export: None, role: Role::Unknown };
        };
        let role = tree.role(id, file);
        let parent = file.parent.filter(|parent| *parent != id && !tree.is_export(id));
        let beginning = match (parent, names.name(id)) {
            (Some(parent), Some(name)) => beginning(beginnings, &tree, parent).map(|found| (found, name)),
            _ => None,
        };
        let Some((beginning, name)) = beginning else {
            last.export = tree.climbed(id, &mut last.path);
            return Location { path: &last.path, export: last.export.as_deref(), role };
        };
        last.path.clone_from(&beginning.path);
        last.path.extend_from_slice(name);
        Location { path: &last.path, export: beginning.export.as_deref(), role }
    }
}

/// How the paths in a directory begin.
fn beginning<'b>(
    known: &'b mut [Option<(FileId, Climbed)>],
    tree: &Tree<'_>,
    directory: FileId,
) -> Option<&'b Climbed> {
    let slot = known.get_mut(directory as usize % BEGINNINGS)?;
    if slot.as_ref().is_none_or(|(other, _)| *other != directory) {
        let mut path = Vec::new();
        let export = tree.climbed(directory, &mut path);
        match path.as_slice() {
            b"." => path.clear(),
            [.., b'/'] => {}
            _ => path.push(b'/'),
        }
        *slot = Some((directory, Climbed { path, export }));
    }
    slot.as_ref().map(|(_, climbed)| climbed)
}

impl<'n> Tree<'n> {
    /// Writes the path of an object, by all its ancestors; gives its export.
    fn climbed(&self, id: FileId, path: &mut Vec<u8>) -> Option<Vec<u8>> {
        let mut below = Vec::new();
        let top = self.climb(id, &mut below, |at| self.is_export(at));
        path.clear();
        if self.is_export(top) {
            let export = self.export_path(top);
            if self.several && export.len() <= LENGTH_LIMIT {
                path.extend_from_slice(&export);
                if !below.is_empty() && !path.ends_with(b"/") {
                    path.push(b'/');
                }
            }
            join(&below, path);
            if path.is_empty() {
                path.push(b'.');
            }
            return Some(export);
        }
        match self.names.handle(top) {
            _ if self.names.mounted_as(top).is_some() => {}
            Some(handle) => short(handle, path),
            None => path.extend_from_slice(b"[unknown]"),
        }
        path.push(b'/');
        let top_length = path.len();
        join(&below, path);
        // The root alone is a slash, another object alone is its handle.
        if path.len() == top_length && top_length > 1 {
            path.pop();
        }
        None
    }

    /// Goes up to a directory at which it `ends`, the root or the highest directory known; `below` gets the
    /// names, deepest first.
    fn climb(&self, id: FileId, below: &mut Vec<&'n [u8]>, ends: impl Fn(FileId) -> bool) -> FileId {
        let mut at = id;
        let mut length = below.iter().map(|name| name.len() + 1).sum::<usize>();
        while below.len() < DEPTH_LIMIT && !ends(at) {
            let Some(file) = self.names.file(at) else { break };
            let (Some(parent), Some(name)) = (file.parent, self.names.name(at)) else { break };
            length += name.len() + 1;
            if parent == at || (length > LENGTH_LIMIT && !below.is_empty()) {
                break;
            }
            below.push(name);
            at = parent;
        }
        at
    }

    /// Whether not all exports have the same path.
    fn has_several_exports(&self) -> bool {
        let marked = self.exports.iter().enumerate().filter(|(_, marked)| **marked);
        let mut found = marked.map(|(id, _)| self.export_path(id as FileId));
        found.next().is_some_and(|first| found.any(|other| other != first))
    }

    fn export_path(&self, export: FileId) -> Vec<u8> {
        let Some(file) = self.names.file(export) else { return Vec::new() };
        if let Some(mounted) = self.names.mounted_as(export) {
            return mounted.to_vec();
        }
        let mut below = Vec::new();
        let mut top = export;
        if let (Some(parent), Some(name)) = (file.parent, self.names.name(export)) {
            below.push(name);
            top = self.climb(parent, &mut below, |at| self.names.mounted_as(at).is_some());
        }
        let mut path = self.names.mounted_as(top).unwrap_or(b"/").to_vec();
        if !path.ends_with(b"/") {
            path.push(b'/');
        }
        join(&below, &mut path);
        path
    }

    fn is_export(&self, id: FileId) -> bool {
        is(self.exports, id as usize)
    }

    /// Whether a directory is the root of another file system than its parent's, below the root of
    /// the server's name space.
    fn crosses(&self, file: &File) -> bool {
        let parent = file.parent.and_then(|parent| self.names.file(parent));
        let differs =
            file.fsid.zip(parent.and_then(|parent| parent.fsid)).is_some_and(|(own, above)| own != above);
        differs && self.is_below_root(file)
    }

    /// Whether it is one for sure, below that root or a directory that MOUNT gave out. NFSv3 has one
    /// number for what NFSv4 tells in two: of an object that was seen by both, the latest counts. Some
    /// servers give files another number than the directory that they are in.
    fn is_nested(&self, file: &File) -> bool {
        let parent = file.parent.and_then(|parent| self.names.file(parent));
        let fsids = self.names.fsid(file).zip(parent.and_then(|parent| self.names.fsid(parent)));
        let other = |own: (u64, u64), above: (u64, u64)| {
            own != above && (above == (0, 0) || (own.1 == 0) == (above.1 == 0))
        };
        file.file_type().is_none_or(|kind| kind == FileType::DIR)
            && fsids.is_some_and(|(own, above)| other(own, above))
            && (self.is_below_root(file)
                || self.ancestors(file).any(|above| self.names.mounted_as(above).is_some()))
    }

    fn is_below_root(&self, file: &File) -> bool {
        self.ancestors(file).last().is_some_and(|top| self.names.root_of(file.server) == Some(top))
    }

    fn ancestors(&self, file: &File) -> impl Iterator<Item = FileId> {
        let names = self.names;
        let parent = move |id: &FileId| names.file(*id).and_then(|file| file.parent);
        iter::successors(file.parent, parent).take(DEPTH_LIMIT)
    }

    fn role(&self, id: FileId, file: &File) -> Role {
        if is(self.pseudo, id as usize) {
            return Role::Pseudo;
        }
        match file.file_type() {
            Some(FileType::REG) => Role::File,
            Some(FileType::DIR) => Role::Directory,
            Some(_) => Role::Other,
            None if file.existed || file.has_handle => Role::Unknown,
            None => match file.sought {
                Sought::There => Role::Unknown,
                Sought::Absent => Role::Absent,
                Sought::Untold => Role::Untold,
            },
        }
    }
}

fn is(flags: &[bool], id: usize) -> bool {
    flags.get(id).copied().unwrap_or_default()
}

fn set(flags: &mut [bool], id: FileId) {
    if let Some(flag) = flags.get_mut(id as usize) {
        *flag = true;
    }
}

/// Writes the short form of a handle, as Wireshark shows it: its CRC-32 in hexadecimal.
fn short(handle: &[u8], out: &mut Vec<u8>) {
    let sum = checksum::crc32(handle);
    let mut text = *b"[0x00000000]";
    for (place, digit) in text.iter_mut().skip(3).zip((0..8).rev()) {
        *place = HEXADECIMAL.get((sum >> (4 * digit) & 15) as usize).copied().unwrap_or_default();
    }
    out.extend_from_slice(&text);
}

/// Writes names, the deepest of which is the first, as a path.
fn join(below: &[&[u8]], out: &mut Vec<u8>) {
    out.reserve(below.iter().map(|name| name.len() + 1).sum());
    for (place, name) in below.iter().rev().enumerate() {
        if place > 0 {
            out.push(b'/');
        }
        out.extend_from_slice(name);
    }
}

/// Bytes of a name as text: what is not UTF-8 is written `\xNN`, a backslash stays.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| Cow::Owned(escaped(bytes)), Cow::Borrowed)
}

#[cold]
fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _infallible = write!(out, "\\x{byte:02x}");
        }
    }
    out
}
