//! What is kept of an object, and how attributes change it.

use std::num::{NonZeroU8, NonZeroU32};

use foldhash::fast;
use hashbrown::HashMap;

use crate::names::history::History;
use crate::names::{FileId, ServerId};
use crate::nfs::facts::Attributes;
use crate::nfs::types::FileType;

/// An object that the capture names.
///
/// This is what operations teach and ask of an object, in one line of the processor's cache: there
/// are many objects and a capture goes from one to the other, so that each line touched is most often
/// one waited for. What only paths need is kept apart ([`super::Names::name`], [`super::Names::handle`] …).
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct File {
    /// The server.
    pub server: ServerId,
    /// The directory that holds it, as last seen.
    pub parent: Option<FileId>,
    /// It has a handle; without one it is a name.
    pub has_handle: bool,
    /// A call addressed it by handle or name.
    pub addressed: bool,
    /// An operation on it succeeded: it is more than a name that was looked for.
    pub existed: bool,
    /// Of a name: what the last reply about it says, if none was lost since.
    pub sought: Sought,
    /// It was removed, or replaced by a rename.
    pub removed: bool,
    /// The server answered last that its handle leads nowhere.
    pub stale: bool,
    /// Its type ([`File::file_type`]), in a byte.
    pub(super) kind: Option<NonZeroU8>,
    /// Names that it has on the server, as attributes told last ([`MANY_LINKS`]: that many or more).
    pub(super) links: Option<NonZeroU8>,
    /// What stands for the handle in `Names::by_handle`.
    pub(super) print: u64,
    /// File system ([`super::Names::fsid`]).
    pub(super) fsid: Option<FileSystem>,
    /// File number in its file system.
    pub fileid: Option<u64>,
    /// Size when last seen.
    pub size: Option<u64>,
}

/// What replies say of a name that no operation succeeded on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// Nothing.
    Untold,
    /// It was not found, or not made.
    Absent,
    /// It is in the way: something has that name.
    There,
}

const _: () = assert!(size_of::<File>() == 64, "an object takes one line of the cache");

/// Hard links beyond which their number is not kept.
pub(super) const MANY_LINKS: u8 = u8::MAX;

/// Number of a file system within one decode, from 1.
pub(super) type FileSystem = NonZeroU32;

/// The type of a directory, as [`File::kind`] has it.
pub(super) const DIRECTORY: Option<NonZeroU8> = NonZeroU8::new(FileType::DIR.0 as u8);

impl File {
    /// Type, when attributes were seen or the operation that made it tells.
    pub fn file_type(&self) -> Option<FileType> {
        self.kind.map(|kind| FileType(u32::from(kind.get())))
    }

    pub(super) fn is_a(&mut self, file_type: FileType) {
        // A number beyond those of the RFCs tells nothing.
        self.kind = u8::try_from(file_type.0).ok().and_then(NonZeroU8::new).or(self.kind);
    }

    /// A call on it succeeded, or a listing named it.
    #[inline]
    pub(super) fn was_used(&mut self, id: FileId, history: &mut History) {
        history.was_used(id);
        if self.stale {
            history.came_back(id);
            self.stale = false;
        }
    }

    pub(super) fn observe(
        &mut self,
        id: FileId,
        attributes: &Attributes<'_>,
        file_systems: &mut FileSystems,
        history: &mut History,
    ) {
        if let Some(file_type) = attributes.file_type {
            self.is_a(file_type);
        }
        if let Some(links) = attributes.links {
            let lives = links > 0 && self.removed;
            self.links = NonZeroU8::new(u8::try_from(links).unwrap_or(MANY_LINKS));
            self.removed = links == 0;
            if lives {
                history.came_back(id);
            }
        }
        self.fileid = attributes.fileid.or(self.fileid);
        self.size = attributes.size.or(self.size);
        if let Some(fsid) = attributes.fsid {
            self.fsid = file_systems.number(fsid);
        }
        if let Some(mtime) = attributes.mtime_ns {
            history.was_modified(id, mtime);
        }
    }

    /// Says a type that attributes, if there were any, know better.
    pub(super) fn is_probably_a(&mut self, file_type: FileType) {
        if self.kind.is_none() {
            self.is_a(file_type);
        }
    }
}

/// The file systems met, each with a number.
#[derive(Default)]
pub(super) struct FileSystems {
    fsids: Vec<(u64, u64)>,
    numbers: HashMap<(u64, u64), FileSystem, fast::RandomState>,
    /// The one asked for last: most often it is the same again.
    last: Option<((u64, u64), FileSystem)>,
}

/// What a file system takes: its number, and its place in the look-up.
const FILE_SYSTEM_BYTES: usize = 64;

impl FileSystems {
    /// Memory that is taken, in bytes.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.fsids.len() * FILE_SYSTEM_BYTES
    }

    #[inline]
    pub(super) fn number(&mut self, fsid: (u64, u64)) -> Option<FileSystem> {
        match self.last {
            Some((last, number)) if last == fsid => Some(number),
            _ => self.look_up(fsid),
        }
    }

    /// `None` after four thousand million.
    fn look_up(&mut self, fsid: (u64, u64)) -> Option<FileSystem> {
        let number = if let Some(number) = self.numbers.get(&fsid) {
            *number
        } else {
            self.fsids.push(fsid);
            let number = u32::try_from(self.fsids.len()).ok().and_then(NonZeroU32::new)?;
            self.numbers.insert(fsid, number);
            number
        };
        self.last = Some((fsid, number));
        Some(number)
    }

    pub(super) fn fsid(&self, number: FileSystem) -> Option<(u64, u64)> {
        self.fsids.get(number.get() as usize - 1).copied()
    }
}
