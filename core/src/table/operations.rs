//! Rows of the table `operations`.

use crate::names::Place;
use crate::nfs::Done;
use crate::nfs::facts::{Attributes, Facts, LockOwner, Rare};
use crate::table::columns::{Naming, Row, Wording};
use crate::table::schema::{OperationsBatch, append};
use crate::table::texts::{
    beginning, class_named, data_content, delegation, file_type, flavors, level, services, software,
    status_named,
};
use crate::table::{Exchange, Tables};

impl Tables {
    pub(super) fn append_operation(
        &mut self,
        exchange: &Exchange<'_>,
        position: u32,
        done: &Done<'_>,
        place: Place,
    ) {
        let facts = &done.facts;
        let at = append!(
            &mut *self.operations,
            call: exchange.call,
            position: position,
            opcode: done.number,
            op: Naming::Name(done.operation.name),
            executed: done.executed,
            status: facts.status,
            status_name: facts.status.map(|status| status_named(exchange.statuses, status)),
            stability: class_named(done.class()),
            file: place.file,
            directory: place.directory,
            target_directory: place.target_directory,
            name: facts.name,
            created: created(facts),
            create_mode: facts.create_mode,
            offset: facts.offset,
            requested: facts.count_requested,
            count: facts.count,
            eof: facts.eof,
            stable_requested: facts.stable_requested.map(level),
            committed: facts.committed.map(level),
            verifier: facts.verifier,
            set_size: facts.set_size,
            attributes: facts.attribute_mask.map(|mask| Wording::Word(self.masks.word(mask))),
            access_requested: facts.access_requested,
            access_granted: facts.access_granted,
            share_access: facts.share_access,
            delegation: facts.delegation.map(delegation),
            may_notify_lock: facts.may_notify_lock,
            stateid: facts.stateid.as_ref().map(|stateid| stateid.other.as_slice()),
            highest_slot: facts.highest_slot,
            target_highest_slot: facts.target_highest_slot,
            text: facts.text,
        );
        self.operations.put_attributes(at, facts);
        if let Some(cookie) = facts.cookie {
            let entries = || facts.rare().entries.len() as u32;
            self.operations.cookie.put(at, cookie);
            self.operations.entries.put(at, facts.eof.map(|_| entries()));
        }
        if let Some(rare) = &facts.rare {
            self.operations.put_rare(at, rare);
            if facts.text.is_none() {
                self.operations.text.put(at, services(&rare.services, &mut self.text).map(str::as_bytes));
            }
            self.operations.flavors.put(at, flavors(&rare.flavors, &mut self.text).map(str::as_bytes));
            self.operations.put_software(at, rare);
        }
    }
}

/// The columns that come from one of the groups below. Most operations lack a group altogether: its
/// columns are then passed over with one question instead of one each.
impl OperationsBatch {
    fn put_attributes(&mut self, at: Row, facts: &Facts<'_>) {
        if let Some(change) = &facts.change {
            self.change_before.put(at, change.before);
            self.change_after.put(at, change.after);
            self.change_atomic.put(at, change.atomic);
        }
        if let Some(object) = &facts.attributes {
            self.put_object(at, object);
        }
        if let Some(before) = &facts.before {
            self.before_size.put(at, before.size);
            self.before_mtime.put(at, before.mtime_ns);
            self.before_ctime.put(at, before.ctime_ns);
        }
        if let Some(directory) = &facts.directory_attributes {
            put(directory.mtime_ns, |mtime| self.directory_mtime.put(at, mtime));
            put(directory.ctime_ns, |ctime| self.directory_ctime.put(at, ctime));
        }
        if let Some(before) = &facts.directory_before {
            self.directory_before_mtime.put(at, before.mtime_ns);
            self.directory_before_ctime.put(at, before.ctime_ns);
        }
    }

    #[cold]
    #[inline(never)]
    fn put_rare(&mut self, at: Row, rare: &Rare<'_>) {
        self.new_name.put(at, rare.new_name);
        self.lock_type.put(at, rare.lock_type);
        self.lock_owner.put(at, rare.lock_owner.map(owner_bytes).as_deref());
        self.plus.put(at, rare.plus);
        self.session_slots.put(at, rare.session_slots);
        if let Some(change) = &rare.target_change {
            self.target_change_before.put(at, change.before);
            self.target_change_after.put(at, change.after);
        }
        if let Some(target) = &rare.target_attributes {
            put(target.mtime_ns, |mtime| self.target_mtime.put(at, mtime));
            put(target.ctime_ns, |ctime| self.target_ctime.put(at, ctime));
        }
        if let Some(before) = &rare.target_before {
            self.target_before_mtime.put(at, before.mtime_ns);
            self.target_before_ctime.put(at, before.ctime_ns);
        }
        if let Some(sparse) = &rare.sparse {
            put(sparse.content, |content| self.content.put(at, data_content(content)));
            put(sparse.found, |found| self.found.put(at, found));
            put(sparse.segments, |segments| self.segments.put(at, segments));
            put(sparse.hole_bytes, |bytes| self.hole_bytes.put(at, bytes));
        }
    }

    fn put_software(&mut self, at: Row, rare: &Rare<'_>) {
        self.client_owner.put(at, rare.client_owner.map(beginning));
        self.client_verifier.put(at, rare.client_verifier);
        for (told, column) in [
            (rare.client_software, &mut self.client_software),
            (rare.server_software, &mut self.server_software),
        ] {
            if let Some(told) = told.as_ref().map(software).filter(|told| !told.is_empty()) {
                column.put(at, Some(beginning(&told)));
            }
        }
    }

    fn put_object(&mut self, at: Row, object: &Attributes<'_>) {
        put(object.file_type, |of| self.r#type.put(at, file_type(of)));
        put(object.mode, |mode| self.mode.put(at, mode));
        put(object.size, |size| self.size.put(at, size));
        put(object.fsid, |(major, minor)| {
            self.fsid_major.put(at, major);
            self.fsid_minor.put(at, minor);
        });
        put(object.fileid, |fileid| self.fileid.put(at, fileid));
        put(object.change, |change| self.change.put(at, change));
        put(object.mtime_ns, |mtime| self.mtime.put(at, mtime));
        put(object.ctime_ns, |ctime| self.ctime.put(at, ctime));
        put(object.max_read, |bytes| self.max_read.put(at, bytes));
        put(object.max_write, |bytes| self.max_write.put(at, bytes));
    }
}

fn put<T>(value: Option<T>, column: impl FnOnce(T)) {
    if let Some(value) = value {
        column(value);
    }
}

/// The owner of a lock as one value.
fn owner_bytes(owner: LockOwner<'_>) -> Vec<u8> {
    [&owner.number.to_be_bytes(), owner.name].concat()
}

fn created(facts: &Facts<'_>) -> Option<bool> {
    let succeeded = facts.status? == 0;
    let asked = facts.create?;
    // An OPEN may find the file; CREATE, MKDIR … succeed only by making the object, but for an
    // UNCHECKED CREATE of NFSv3, which does not tell. Nor does an OPEN whose reply was cut.
    match (facts.share_access, facts.create_mode) {
        (Some(_), _) if succeeded => facts.created_by_open(),
        (None, Some(0)) if succeeded => None,
        _ => Some(succeeded && asked),
    }
}
