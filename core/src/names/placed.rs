//! What the operations of a call are about, told in lists that serve one call after the other.

use std::ops::Range;

use crate::names::FileId;

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
    /// The name ([`Placed::name`]).
    name: Range<usize>,
    /// The object; `None`: the name denotes nothing any more.
    pub file: Option<FileId>,
}

/// What the operations of a call are about, and what they taught.
#[derive(Debug, Default)]
pub struct Placed {
    /// What each operation is about.
    pub places: Vec<Place>,
    /// The names that they bound.
    pub bindings: Vec<Binding>,
    /// Those names, one behind the other.
    names: Vec<u8>,
    /// The objects of the entries that they listed, as far as they are known: of each operation in
    /// turn, each entry in turn.
    pub listed: Vec<Option<FileId>>,
    /// One of them told of data servers.
    pub tells_servers: bool,
    /// One of them named the program by which its client is called back.
    pub names_callbacks: bool,
}

impl Placed {
    /// The name that one of the bindings is about.
    pub fn name(&self, binding: &Binding) -> &[u8] {
        self.names.get(binding.name.clone()).unwrap_or_default()
    }

    pub(super) fn bind(&mut self, position: usize, directory: FileId, name: &[u8], file: Option<FileId>) {
        let start = self.names.len();
        self.names.extend_from_slice(name);
        self.bindings.push(Binding { position, directory, name: start..self.names.len(), file });
    }

    /// Gives all objects other numbers.
    #[cold]
    #[inline(never)]
    pub(super) fn renumber(&mut self, number: impl Fn(FileId) -> FileId) {
        let renumber = |id: &mut FileId| *id = number(*id);
        for place in &mut self.places {
            let Place { file, directory, target_directory } = place;
            [file, directory, target_directory].into_iter().flatten().for_each(renumber);
        }
        for binding in &mut self.bindings {
            [Some(&mut binding.directory), binding.file.as_mut()].into_iter().flatten().for_each(renumber);
        }
        self.listed.iter_mut().flatten().for_each(renumber);
    }

    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.bindings.clear();
        self.names.clear();
        self.listed.clear();
        self.tells_servers = false;
        self.names_callbacks = false;
    }
}
