//! Rows of the table `files`, which are written once all names are known.

use crate::names::identity::Identities;
use crate::names::paths::Paths;
use crate::names::{FileId, Names};
use crate::table::columns::{Naming, Wording};
use crate::table::schema::append;
use crate::table::texts::file_type;
use crate::table::{BATCH_ROWS, Tables};

/// Bytes of paths that leave together, about: of 4,096 long ones they would be 50 MB, and some batches wait
/// for whoever takes them.
pub(super) const PATHS_BYTES: usize = 1 << 20;

/// What is left to write of the objects.
pub struct Ending {
    identities: Identities,
    paths: Paths,
    /// Objects that are not written now, since they are kept.
    pub(super) keep: Vec<bool>,
    /// Objects that were gone through.
    passed: usize,
}

impl Ending {
    /// Of those that are to be forgotten.
    pub fn forgetting(names: &Names) -> Self {
        let identities = Identities::new(names);
        let keep = names.chosen(&identities);
        Self { identities, paths: Paths::new(names), keep, passed: 0 }
    }

    /// The objects that stay.
    pub fn kept(&self) -> &[bool] {
        &self.keep
    }

    fn keeps(&self, id: FileId) -> bool {
        self.keep.get(id as usize).copied().unwrap_or_default()
    }

    /// What stands for the file of an object: itself, where that is not written now.
    fn identity(&self, id: FileId) -> FileId {
        Some(self.identities.of(id)).filter(|identity| !self.keeps(*identity)).unwrap_or(id)
    }
}

impl Tables {
    /// What there is to write of the objects, once all names are known.
    pub fn ending(&self, names: &Names) -> Option<Ending> {
        let all = || Ending {
            identities: Identities::new(names),
            paths: Paths::new(names),
            keep: Vec::new(),
            passed: 0,
        };
        (!self.files.idle()).then(all)
    }

    /// Writes some objects with their paths: of a million of them, all at once would take as much memory
    /// as everything else. `false` when there are no more.
    pub fn append_files(&mut self, ending: &mut Ending, names: &Names, servers: &[String]) -> bool {
        let left = names.files().get(ending.passed..).unwrap_or_default();
        if self.files.idle() {
            return false;
        }
        let (mut bytes, mut rows) = (0, 0);
        for (id, file) in (ending.passed as FileId..).zip(left) {
            ending.passed += 1;
            if ending.keeps(id) {
                continue;
            }
            let identity = ending.identity(id);
            let location = ending.paths.locate(names, id);
            bytes += location.path.len();
            let fsid = names.fsid(file);
            append!(
                &mut *self.files,
                file: names.number(id),
                identity: names.number(identity),
                server: Wording::Text(servers.get(file.server as usize).map_or("", String::as_str)),
                handle: names.handle(id),
                r#type: file.file_type().map(file_type),
                fsid_major: fsid.map(|(major, _)| major),
                fsid_minor: fsid.map(|(_, minor)| minor),
                fileid: file.fileid,
                size: file.size,
                parent: file.parent.map(|parent| names.number(parent)),
                name: names.name(id),
                path: location.path,
                export: location.export,
                role: Naming::Name(location.role.name()),
                listed_only: !file.addressed,
                removed: file.removed || ending.identities.vanished(names, id),
            );
            rows += 1;
            if bytes >= PATHS_BYTES {
                self.files.complete();
                break;
            }
            if rows >= BATCH_ROWS {
                break;
            }
        }
        names.files().len() > ending.passed
    }
}
