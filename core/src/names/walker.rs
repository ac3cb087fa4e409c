//! The operations of one call: which file each is about, and what it teaches about files and names.
//!
//! Follows the current and the saved handle of a compound (RFC 8881 section 16.2.3.1).

use crate::names::file::Sought;
use crate::names::{FileId, Handle, Named, Names, Place, Placed, ServerId};
use crate::nfs::Done;
use crate::nfs::facts::{Entry, Facts};
use crate::nfs::operation::{Effect, Stability, Subject};
use crate::nfs::types::FileType;

/// NFS3ERR_NOENT and NFS4ERR_NOENT.
const NOENT: u32 = 2;

/// EXIST, ISDIR and NOTEMPTY (RFC 1813 section 2.6), and of NFSv4 SHARE_DENIED and FILE_OPEN (RFC 8881
/// section 15.1): a server refuses an operation on a name, since there is something of that name.
const IN_THE_WAY: [u32; 5] = [17, 21, 66, 10015, 10046];

/// NOTDIR and NAMETOOLONG, and of NFSv4 BADCHAR and BADNAME: nothing can have that name there. What
/// RMDIR finds to be no directory (NOTDIR) is there, though.
const IMPOSSIBLE: [u32; 4] = [20, 63, 10040, 10041];

/// NOSPC and DQUOT: what is there already needs no room to be made.
const NO_ROOM: [u32; 2] = [28, 69];

/// NFS3ERR_STALE and NFS4ERR_STALE: the object of the handle is gone.
const STALE: u32 = 70;

/// Places each operation of a call in `placed`, and learns from it.
pub(super) fn walk(names: &mut Names, server: ServerId, operations: &[Done<'_>], placed: &mut Placed) {
    let mut walker =
        Walker { names, server, placed, position: 0, current: None, saved: None, of_data: false };
    let mut left = operations;
    while let Some((done, rest)) = left.split_first() {
        let place = walker.step(done, rest);
        walker.placed.places.push(place);
        walker.position += 1;
        left = rest;
    }
}

/// Follows the handles of one call.
struct Walker<'n> {
    names: &'n mut Names,
    server: ServerId,
    placed: &'n mut Placed,
    position: usize,
    current: Option<FileId>,
    saved: Option<FileId>,
    /// The handle is that of a file's data at a data server: what it says of itself, its size and
    /// times, even its number, is not said of the file.
    of_data: bool,
}

impl Walker<'_> {
    /// What an operation is about. `rest` are the operations after it.
    #[inline]
    fn step(&mut self, done: &Done<'_>, rest: &[Done<'_>]) -> Place {
        let facts = &done.facts;
        match (done.operation.subject, done.operation.effect) {
            // Most are about the object of the handle, and the others about nothing.
            (Subject::Object, Effect::Keep) => self.of_object(facts),
            (Subject::File | Subject::Directory | Subject::Link, Effect::Keep) => {
                let place = self.of_object(facts);
                self.learn_type(done.operation.subject, facts, place);
                place
            }
            (Subject::Object, Effect::Put) if facts.handle.is_some() => {
                let place = self.of_object(facts);
                self.current = place.file;
                place
            }
            (Subject::Nothing, Effect::Keep) => {
                self.learn_more(facts, Place::default());
                Place::default()
            }
            _ => self.other_step(done, rest),
        }
    }

    #[inline]
    fn of_object(&mut self, facts: &Facts<'_>) -> Place {
        let place = Place { file: self.object(facts), ..Place::default() };
        self.learn_object(facts, place);
        self.learn_more(facts, place);
        place
    }

    #[inline(never)]
    fn other_step(&mut self, done: &Done<'_>, rest: &[Done<'_>]) -> Place {
        let facts = &done.facts;
        let by_handle = done.operation.effect == Effect::Descend && facts.by_handle;
        let place = match done.operation.subject {
            Subject::Nothing => Place::default(),
            Subject::Claimed if facts.name.is_none() && !by_handle => self.told_ahead(rest),
            // What was current before is current no more, whatever the handle was.
            Subject::Object if done.operation.effect == Effect::Put && facts.handle.is_none() => {
                self.told_ahead(rest)
            }
            Subject::Child | Subject::Claimed | Subject::Removed if !by_handle => self.child_of(done, rest),
            Subject::Object
            | Subject::File
            | Subject::Directory
            | Subject::Link
            | Subject::Child
            | Subject::Claimed
            | Subject::Removed => Place { file: self.object(facts), ..Place::default() },
            Subject::Renamed => self.renamed(facts),
            Subject::Linked => self.linked(facts),
        };
        let place = self.move_handles(done, rest, place, by_handle);
        self.learn_object(facts, place);
        self.learn_directories(facts, place);
        self.learn_more(facts, place);
        self.learn_type(done.operation.subject, facts, place);
        place
    }

    /// The object of the handle in the arguments (v3), or the current handle (v4).
    fn object(&mut self, facts: &Facts<'_>) -> Option<FileId> {
        match facts.handle {
            Some(handle) => {
                let id = self.names.by_handle(self.server, handle);
                self.of_data = self.names.is_of_data(id, handle);
                Some(id)
            }
            None => self.current,
        }
    }

    /// A PUTFH whose handle is not known, and an OPEN whose claim is not (the current handle may be the
    /// directory or the file itself): only a GETFH tells what they are about.
    fn told_ahead(&mut self, rest: &[Done<'_>]) -> Place {
        Place { file: self.by_handle_ahead(rest), ..Place::default() }
    }

    fn by_handle_ahead(&mut self, rest: &[Done<'_>]) -> Option<FileId> {
        handle_ahead(rest).map(|handle| self.names.by_handle(self.server, handle))
    }

    fn child_of(&mut self, done: &Done<'_>, rest: &[Done<'_>]) -> Place {
        let facts = &done.facts;
        let directory = self.object(facts);
        let (Some(directory_id), Some(name)) = (directory, facts.name) else {
            // The name, or where it is, was not captured. The reply may tell the object's handle.
            let found = facts.status == Some(0) && done.operation.subject != Subject::Removed;
            let handle = facts.new_handle.or_else(|| handle_ahead(rest)).filter(|_| found);
            let file = handle.map(|handle| self.names.by_handle(self.server, handle));
            return Place { file, directory, ..Place::default() };
        };
        let named = self.names.named(directory_id, name);
        let known = self.names.denoted(named);
        let handle = facts.new_handle.or_else(|| handle_ahead(rest));
        let file = match (facts.status, name) {
            (Some(0), b"." | b"..") => handle.map(|handle| self.relative(directory_id, name, handle)),
            (Some(0), _) if done.operation.subject == Subject::Removed => Some(self.removed(named, known)),
            (Some(0), _) => {
                let handle = handle.map(|handle| self.names.printed(self.server, handle));
                let by_handle = handle.and_then(|handle| self.names.find_print(handle.print));
                let made = facts.brought_into_being();
                let creates = facts.create == Some(true);
                // The directory has just been used by its handle.
                let same = |id| known == Some(id) || directory == Some(id);
                let by_handle = by_handle.filter(|id| !creates || same(*id) || !self.passes_on(*id, made));
                let id = self.found(named, known, handle, by_handle, facts.create_type);
                if made {
                    self.names.history.was_made(id);
                }
                Some(id)
            }
            (Some(NOENT), _) => Some(self.not_found(named, known)),
            _ => Some(known.unwrap_or_else(|| self.names.placeholder(named))),
        };
        if let (false, Some(id)) = (facts.status == Some(0), file) {
            self.missed(done, id);
        }
        Place { file, directory, target_directory: None }
    }

    /// The handle of an object came when another name was created: whether it is that one's from now
    /// on. `made`: the object that has this name is new.
    ///
    /// A server may give the handle of what was removed to what is made next (no generation number), or
    /// make handles of paths, so that one stays behind when its object is renamed.
    fn passes_on(&mut self, id: FileId, made: bool) -> bool {
        let life = self.names.history.life(id);
        let known = self.names.file(id).is_some_and(|file| file.removed || (made && file.existed));
        // Of what is known by its handle alone, this may be the name.
        let other = known && (life.gone != 0 || life.names > 0);
        if other {
            self.names.take_handle(id);
        }
        other
    }

    /// A name was looked up, created, opened or listed: it denotes the object with `handle`.
    /// `by_handle` is what is known by that, and `known` what is known by the name.
    fn found(
        &mut self,
        named: Named<'_>,
        known: Option<FileId>,
        handle: Option<Handle<'_>>,
        by_handle: Option<FileId>,
        create_type: Option<FileType>,
    ) -> FileId {
        let id = match (handle, by_handle, known) {
            (_, Some(id), _) | (None, None, Some(id)) => id,
            (None, None, None) => self.names.placeholder(named),
            (Some(handle), None, Some(known)) if self.names.lacks_handle(known) => {
                self.names.give_handle(known, handle);
                known
            }
            (Some(handle), None, _) => self.names.by_new_handle(handle),
        };
        if known != Some(id) || self.names.file(id).is_some_and(|file| !file.existed) {
            self.bind(named, id);
        }
        self.names.update(id, |file| {
            file.existed = true;
            file.removed = false;
            if let Some(file_type) = create_type {
                file.is_probably_a(file_type);
            }
        });
        id
    }

    fn removed(&mut self, named: Named<'_>, known: Option<FileId>) -> FileId {
        let id = known.unwrap_or_else(|| self.names.placeholder(named));
        self.unbind(named);
        let removed = self.names.went_with_name(id);
        self.names.update(id, |file| {
            file.existed = true;
            file.removed = removed;
        });
        id
    }

    /// An operation on a name failed, or no reply tells what came of it.
    fn missed(&mut self, done: &Done<'_>, id: FileId) {
        let Done { operation, facts, .. } = done;
        let removes = operation.subject == Subject::Removed;
        let may_have_made =
            operation.stability != Stability::Unstable && !removes && facts.create != Some(false);
        let there = self.names.file(id).is_some_and(|file| file.sought == Sought::There);
        let sought = match facts.status {
            Some(status) if IN_THE_WAY.contains(&status) => Sought::There,
            Some(NOENT) => Sought::Absent,
            Some(status) if !removes && IMPOSSIBLE.contains(&status) => Sought::Absent,
            Some(status) if may_have_made && NO_ROOM.contains(&status) && !there => Sought::Absent,
            None if may_have_made => Sought::Untold,
            // Who is refused (ACCES, ROFS), or put off (DELAY), learns nothing of what is there.
            _ => return,
        };
        self.names.update(id, |file| file.sought = sought);
    }

    /// A name was looked for in vain. If it denoted something before, that is gone.
    fn not_found(&mut self, named: Named<'_>, known: Option<FileId>) -> FileId {
        match known {
            Some(known) if self.names.file(known).is_some_and(|file| !file.existed) => known,
            Some(known) => {
                self.unbind(named);
                self.names.went_with_name(known);
                self.names.placeholder(named)
            }
            None => self.names.placeholder(named),
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

    /// The two objects that RENAME and LINK are about: both named by the arguments of NFSv3, the saved and
    /// the current handle of a compound (RFC 8881 sections 18.9 and 18.26).
    fn source_and_target(&mut self, facts: &Facts<'_>) -> (Option<FileId>, Option<FileId>) {
        match facts.handle {
            Some(handle) => (
                Some(self.names.by_handle(self.server, handle)),
                facts.rare().other_directory.map(|handle| self.names.by_handle(self.server, handle)),
            ),
            None => (self.saved, self.current),
        }
    }

    fn renamed(&mut self, facts: &Facts<'_>) -> Place {
        let (directory, target_directory) = self.source_and_target(facts);
        let (Some(from), Some(name)) = (directory, facts.name) else {
            return Place { file: None, directory, target_directory };
        };
        let named = self.names.named(from, name);
        let file = self.names.denoted(named).unwrap_or_else(|| self.names.placeholder(named));
        // What else it may fail for is as well about the new name.
        if facts.status == Some(NOENT) {
            self.names.update(file, |file| file.sought = Sought::Absent);
        }
        if let (Some(0), Some(to), Some(new_name)) = (facts.status, target_directory, facts.rare().new_name) {
            let renamed = self.names.named(to, new_name);
            let replaced = self.names.denoted(renamed);
            // Both may be names of one file: then nothing happens (RFC 1813 section 3.3.14, RFC 8881
            // section 18.26.3).
            if replaced != Some(file) {
                self.unbind(named);
                self.bind(renamed, file);
            }
            if let Some(replaced) = replaced.filter(|replaced| *replaced != file) {
                let gone = self.names.history.life(replaced).gone != 0;
                self.names.update(replaced, |replaced| replaced.removed = replaced.existed && gone);
            }
            self.names.update(file, |file| file.existed = true);
        }
        Place { file: Some(file), directory, target_directory }
    }

    fn linked(&mut self, facts: &Facts<'_>) -> Place {
        let (file, directory) = self.source_and_target(facts);
        if let (Some(0), Some(id), Some(directory), Some(name)) = (facts.status, file, directory, facts.name)
        {
            // The first name stays the one that paths show, while it is one; the new one denotes the object too.
            let first = self.names.shown_as(id).map(|(parent, name)| (parent, name.to_vec()));
            let first = first.filter(|(parent, name)| self.names.child(*parent, name) == Some(id));
            self.bind(self.names.named(directory, name), id);
            self.names.was_linked(id);
            if let Some((parent, name)) = first {
                self.names.call(id, parent, &name);
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
                self.current = self.by_handle_ahead(rest);
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
        let known = child.and_then(|child| self.names.file(child)).and_then(|file| file.parent);
        let by_handle = handle_ahead(rest).map(|handle| self.above(handle, known));
        self.current = by_handle.or(known);
        if let (Some(child), Some(parent)) = (child, by_handle) {
            self.names.update(child, |file| {
                file.parent.get_or_insert(parent);
            });
        }
        Place { file: self.current, ..Place::default() }
    }

    /// The directory above that has this handle: the one that is known, if its handle was not.
    fn above(&mut self, handle: &[u8], known: Option<FileId>) -> FileId {
        let handle = self.names.printed(self.server, handle);
        match (self.names.find_print(handle.print), known) {
            (Some(id), _) => id,
            (None, Some(parent)) if self.names.lacks_handle(parent) => {
                self.names.give_handle(parent, handle);
                parent
            }
            (None, _) => self.names.by_new_handle(handle),
        }
    }

    /// Gives the root its handle when a GETFH tells it.
    fn adopt(&mut self, root: FileId, rest: &[Done<'_>]) -> FileId {
        let Some(handle) = handle_ahead(rest) else { return root };
        if self.names.lacks_handle(root) {
            let handle = self.names.printed(self.server, handle);
            match self.names.find_print(handle.print) {
                // The handle was in use before PUTROOTFH was seen: that object is the root.
                Some(known) => {
                    self.names.roots.insert(self.server, known);
                    self.names.mount(known, b"/");
                    return known;
                }
                None => self.names.give_handle(root, handle),
            }
        }
        root
    }

    #[inline]
    fn learn_object(&mut self, facts: &Facts<'_>, place: Place) {
        if facts.status == Some(STALE)
            && !self.of_data
            && place.target_directory.is_none()
            && let Some(id) = place.directory.or(place.file)
        {
            self.names.history.went_stale(id);
            self.names.update(id, |file| file.stale = true);
        }
        if let Some(id) = place.file {
            self.names.learn(id, facts, self.of_data);
        }
    }

    /// Learns the type of an object: an operation on it succeeded that servers refuse to others.
    #[inline]
    fn learn_type(&mut self, subject: Subject, facts: &Facts<'_>, place: Place) {
        if let (Some(file_type), Some(0), Some(id), false) =
            (subject.file_type(), facts.status, place.file, self.of_data)
        {
            self.names.update(id, |file| file.is_probably_a(file_type));
        }
    }

    fn learn_directories(&mut self, facts: &Facts<'_>, place: Place) {
        let succeeded = facts.status == Some(0);
        if let Some(directory) = place.directory {
            self.names.learn_directory(directory, succeeded);
        }
        if let Some(directory) = place.target_directory {
            self.names.learn_directory(directory, succeeded);
        }
        if let (Some(directory), Some(attributes)) = (place.directory, &facts.directory_attributes) {
            self.names.observe(directory, attributes);
        }
    }

    /// Learns what few operations tell.
    #[inline]
    fn learn_more(&mut self, facts: &Facts<'_>, place: Place) {
        if facts.rare.is_some() || facts.text.is_some() {
            self.learn_rare(facts, place);
        }
    }

    #[inline(never)]
    fn learn_rare(&mut self, facts: &Facts<'_>, place: Place) {
        self.placed.names_callbacks |= facts.rare().callback_program.is_some();
        if let Some(pnfs) = &facts.rare().pnfs {
            self.placed.tells_servers = true;
            if let Some(id) = place.file {
                self.names.grant(self.server, id, &pnfs.data_handles);
            }
        }
        match place.file {
            Some(directory) => self.list(directory, facts),
            None => self.placed.listed.extend(facts.rare().entries.iter().map(|_| None)),
        }
        if let (Some(path), Some(handle), true) = (facts.text, facts.new_handle, place.file.is_none()) {
            // MNT: the handle of the mounted directory.
            let id = self.names.by_handle(self.server, handle);
            self.names.mount(id, path);
            self.names.update(id, |file| {
                file.is_probably_a(FileType::DIR);
                file.existed = true;
            });
        }
    }

    fn list<'a>(&mut self, directory: FileId, facts: &Facts<'a>) {
        let first = self.placed.listed.len();
        // All are looked up before anything is learnt from one: each is found where nothing was
        // touched for long, and so the processor waits for the memory of several at once.
        let look_up = |entry: &Entry<'a>| {
            let handle = entry.any_handle().map(|handle| self.names.printed(self.server, handle));
            self.placed.listed.push(handle.and_then(|handle| self.names.find_print(handle.print)));
            handle
        };
        let handles: Vec<Option<Handle<'_>>> = facts.rare().entries.iter().map(look_up).collect();
        let names = facts.rare().entries.iter().map(|entry| {
            let named = self.names.named(directory, entry.name);
            (named, self.names.denoted(named))
        });
        let names: Vec<(Named<'_>, Option<FileId>)> = names.collect();
        for (at, ((entry, handle), (named, known))) in
            facts.rare().entries.iter().zip(handles).zip(names).enumerate()
        {
            let by_handle = self.placed.listed.get(first + at).copied().flatten();
            let id = self.entry(entry, named, known, handle, by_handle);
            if let Some(listed) = self.placed.listed.get_mut(first + at) {
                *listed = id;
            }
        }
    }

    /// Learns from an entry of a listing; gives the object that it names, if that is known.
    fn entry(
        &mut self,
        entry: &Entry<'_>,
        named: Named<'_>,
        known: Option<FileId>,
        handle: Option<Handle<'_>>,
        by_handle: Option<FileId>,
    ) -> Option<FileId> {
        let Some(handle) = handle else { return known };
        if matches!(entry.name, b"." | b"..") {
            self.relative(named.directory, entry.name, handle.bytes);
            return known;
        }
        // An entry before this one may have brought the same handle.
        let by_handle = by_handle.or_else(|| self.names.find_print(handle.print));
        let id = self.found(named, known, Some(handle), by_handle, None);
        let Names { files, file_systems, history, .. } = &mut *self.names;
        if let Some(file) = files.get_mut(id as usize) {
            file.was_used(id, history);
            file.fileid = entry.fileid.or(file.fileid);
            if let Some(attributes) = &entry.attributes {
                file.observe(id, attributes, file_systems, history);
            }
        }
        Some(id)
    }

    fn bind(&mut self, named: Named<'_>, file: FileId) {
        self.names.bind(named, file);
        self.placed.bind(self.position, named.directory, named.name, Some(file));
    }

    fn unbind(&mut self, named: Named<'_>) {
        self.names.unbind(named);
        self.placed.bind(self.position, named.directory, named.name, None);
    }
}

/// The handle that a GETFH further on in the compound gives for the object that is current now.
fn handle_ahead<'a>(rest: &[Done<'a>]) -> Option<&'a [u8]> {
    rest.iter()
        .take_while(|done| done.operation.effect == Effect::Keep)
        .find_map(|done| done.facts.new_handle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nfs::Told;
    use crate::nfs::facts::Attributes;
    use crate::nfs::operation::{NFS3, NFS4, Operation};
    use crate::nfs::types::StableHow;

    fn done<'a>(table: &'static [Operation], name: &str, facts: Facts<'a>) -> Done<'a> {
        let operation = table.iter().find(|operation| operation.name == name).unwrap();
        Done { operation, number: operation.number, executed: true, told: Told::ByReply, facts }
    }

    /// What is placed by the short way is placed as all others are.
    #[test]
    fn the_short_way_leads_where_the_long_one_does() {
        let attributes = Some(Attributes { size: Some(7), links: Some(1), ..Attributes::default() });
        let of = |status, handle| Facts { status: Some(status), handle, attributes, ..Facts::default() };
        let written = Facts { offset: Some(9), count: Some(4), committed: Some(StableHow(0)), ..of(0, None) };
        let operations = [
            done(NFS4, "SEQUENCE", Facts::default()),
            done(NFS4, "GETATTR", of(0, None)),
            done(NFS3, "GETATTR", of(0, Some(b"a"))),
            done(NFS3, "GETATTR", of(STALE, Some(b"a"))),
            done(NFS4, "PUTFH", of(0, Some(b"a"))),
            done(NFS4, "WRITE", written),
            done(NFS4, "PUTFH", of(STALE, Some(b"b"))),
            done(NFS4, "GETATTR", of(1, None)),
        ];
        let place = |short: bool| {
            let (mut names, mut placed) = (Names::default(), Placed::default());
            names.history.next_call();
            let mut walker = Walker {
                names: &mut names,
                server: 0,
                placed: &mut placed,
                position: 0,
                current: None,
                saved: None,
                of_data: false,
            };
            let steps = operations.each_ref().map(|done| {
                let place = if short { walker.step(done, &[]) } else { walker.other_step(done, &[]) };
                (place, walker.current)
            });
            let lives = [0, 1].map(|id| (names.history.life(id), names.history.usage(id)));
            // The hashes of handles have seeds of their own.
            names.files.iter_mut().for_each(|file| file.print = 0);
            format!("{steps:?} {:?} {lives:?} {placed:?}", names.files)
        };
        assert_eq!(place(true), place(false));
    }
}
