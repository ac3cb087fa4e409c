//! Objects → paths, at the end of a decode when all names are known.
//!
//! A path is relative to the export, or to the directory that MOUNT gave out, where the capture
//! shows it: a reader thinks of `d00/file`, the server's own name space comes on top. NFSv4 has no
//! MOUNT; there the export begins where the file system changes on the way down from the root.

use std::fmt::Write as _;

use crate::names::checksum;
use crate::names::{File, FileId, Names};
use crate::nfs::types::FileType;

/// Deepest path that is followed; beyond it the parents form a cycle.
const DEPTH_LIMIT: usize = 256;

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
            Self::Pseudo => "pseudo",
        }
    }
}

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Path below `export`; absolute in the pseudo file system; else below a `[short handle]`.
    pub path: String,
    /// The export or mounted directory.
    pub export: Option<String>,
    /// What it is.
    pub role: Role,
}

/// Puts together the paths of all objects.
pub struct Paths<'n> {
    names: &'n Names,
    /// Objects at which an export begins.
    exports: Vec<bool>,
    /// Objects above an export.
    pseudo: Vec<bool>,
    /// The directory whose children were asked for last: a listing makes them neighbours.
    last: Option<(FileId, Beginning)>,
}

/// How the paths in a directory begin.
#[derive(Clone)]
struct Beginning {
    path: String,
    export: Option<String>,
}

impl<'n> Paths<'n> {
    /// Finds the exports and what lies above them.
    ///
    /// Above an export are directories that lead to another file system and hold nothing else that
    /// the capture shows: whatever has files of its own is an export, also if more is mounted below.
    pub fn new(names: &'n Names) -> Self {
        let files = names.files();
        let none = vec![false; files.len()];
        let mut paths = Self { names, exports: none.clone(), pseudo: none, last: None };
        let crosses: Vec<bool> = files.iter().map(|file| paths.crosses(file)).collect();
        let mut above = vec![false; files.len()];
        for (file, _) in files.iter().zip(&crosses).filter(|(_, crosses)| **crosses) {
            for ancestor in paths.ancestors(file) {
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
        paths.pseudo = above.iter().zip(&holds_more).map(|(above, more)| *above && !*more).collect();
        for (id, file) in files.iter().enumerate() {
            let begins = names.mounted_as(id as FileId).is_some()
                || file.parent.is_some_and(|parent| is(&paths.pseudo, parent as usize));
            if begins && !is(&paths.pseudo, id) && file.existed {
                set(&mut paths.exports, id as FileId);
            }
        }
        paths
    }

    /// Where an object is.
    pub fn locate(&mut self, id: FileId) -> Location {
        let Some(file) = self.names.file(id) else {
            return Location { path: String::new(), export: None, role: Role::Unknown };
        };
        let role = self.role(id, file);
        let parent = file.parent.filter(|parent| *parent != id && !self.is_export(id));
        if let (Some(parent), Some(name)) = (parent, self.names.name(id)) {
            let beginning = self.beginning(parent);
            let path = format!("{}{}", beginning.path, text(name));
            return Location { path, export: beginning.export.clone(), role };
        }
        let (path, export) = self.climbed(id);
        Location { path, export, role }
    }

    fn beginning(&mut self, directory: FileId) -> &Beginning {
        let last = self.last.take().filter(|(last, _)| *last == directory);
        let known = last.unwrap_or_else(|| {
            let (mut path, export) = self.climbed(directory);
            match path.as_str() {
                "." => path.clear(),
                path if path.ends_with('/') => {}
                _ => path.push('/'),
            }
            (directory, Beginning { path, export })
        });
        &self.last.insert(known).1
    }

    /// The path and the export of an object, by all its ancestors.
    fn climbed(&self, id: FileId) -> (String, Option<String>) {
        let mut below = Vec::new();
        let top = self.climb(id, &mut below);
        let path = join(&below);
        if self.is_export(top) {
            let path = if path.is_empty() { ".".to_owned() } else { path };
            return (path, Some(self.export_path(top)));
        }
        let is_root = self.names.mounted_as(top).is_some();
        let start = if is_root { "/".to_owned() } else { short(self.names.handle(top)) + "/" };
        let path = if path.is_empty() { start.trim_end_matches('/').to_owned() } else { start + &path };
        (if path.is_empty() { "/".to_owned() } else { path }, None)
    }

    /// Goes up to the export, the root or the highest directory known; `below` gets the names, deepest first.
    fn climb(&self, id: FileId, below: &mut Vec<&'n [u8]>) -> FileId {
        let mut at = id;
        while below.len() < DEPTH_LIMIT && !self.is_export(at) {
            let Some(file) = self.names.file(at) else { break };
            let (Some(parent), Some(name)) = (file.parent, self.names.name(at)) else { break };
            if parent == at {
                break;
            }
            below.push(name);
            at = parent;
        }
        at
    }

    fn export_path(&self, export: FileId) -> String {
        let Some(file) = self.names.file(export) else { return String::new() };
        if let Some(mounted) = self.names.mounted_as(export) {
            return text(mounted);
        }
        let mut below = Vec::new();
        if let (Some(parent), Some(name)) = (file.parent, self.names.name(export)) {
            below.push(name);
            self.climb(parent, &mut below);
        }
        format!("/{}", join(&below))
    }

    fn is_export(&self, id: FileId) -> bool {
        is(&self.exports, id as usize)
    }

    /// Whether a directory is the root of another file system than its parent's, below the root of
    /// the server's name space.
    fn crosses(&self, file: &File) -> bool {
        let parent = file.parent.and_then(|parent| self.names.file(parent));
        let differs =
            file.fsid.zip(parent.and_then(|parent| parent.fsid)).is_some_and(|(own, above)| own != above);
        differs && self.ancestors(file).last().is_some_and(|top| self.names.root_of(file.server) == Some(top))
    }

    fn ancestors(&self, file: &File) -> impl Iterator<Item = FileId> {
        let names = self.names;
        let parent = move |id: &FileId| names.file(*id).and_then(|file| file.parent);
        std::iter::successors(file.parent, parent).take(DEPTH_LIMIT)
    }

    fn role(&self, id: FileId, file: &File) -> Role {
        if is(&self.pseudo, id as usize) {
            return Role::Pseudo;
        }
        match file.file_type() {
            Some(FileType::REG) => Role::File,
            Some(FileType::DIR) => Role::Directory,
            Some(_) => Role::Other,
            None if file.existed || file.has_handle => Role::Unknown,
            None => Role::Absent,
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

/// The short form of a handle, as Wireshark shows it: its CRC-32 in hexadecimal.
fn short(handle: Option<&[u8]>) -> String {
    match handle {
        Some(handle) => format!("[0x{:08x}]", checksum::crc32(handle)),
        None => "[unknown]".to_owned(),
    }
}

fn join(below: &[&[u8]]) -> String {
    let mut path = String::with_capacity(below.iter().map(|name| name.len() + 1).sum());
    for (place, name) in below.iter().rev().enumerate() {
        if place > 0 {
            path.push('/');
        }
        write_text(name, &mut path);
    }
    path
}

/// Bytes of a name as text: what is not UTF-8 is written `\xNN`, a backslash stays.
pub fn text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    write_text(bytes, &mut out);
    out
}

fn write_text(bytes: &[u8], out: &mut String) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        out.push_str(text);
        return;
    }
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _infallible = write!(out, "\\x{byte:02x}");
        }
    }
}
