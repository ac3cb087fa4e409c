//! Handles at data servers → files: what layouts of pNFS tell (RFC 8881 section 12.2.10).
//!
//! A data server may know a file by another handle than its metadata server does. The layout names
//! that handle with a device, and the device's address the data servers. Takes both as they come, in
//! any order; gives the file of a handle at a data server.

use std::hash::BuildHasher;

use foldhash::{fast, quality};
use hashbrown::HashMap;

use crate::names::{FileId, ServerId};
use crate::nfs::facts::DeviceId;

/// Devices of one data server; beyond it those known stay (`devices_limit`). Each of them is asked
/// for a handle that the data server itself did not teach.
const DEVICES_LIMIT: usize = 64;

/// Handles at data servers; beyond them those known stay (`devices_limit`).
const HANDLES_LIMIT: usize = 1 << 20;

/// What layouts and devices told.
#[derive(Default)]
pub(super) struct Layouts {
    /// Files by a hash of metadata server, device and handle, seeded at random: an entry for each handle.
    files: HashMap<u64, FileId, fast::RandomState>,
    /// The devices that each data server is part of, with the metadata server that named it.
    devices: HashMap<ServerId, Vec<(ServerId, DeviceId)>, fast::RandomState>,
    prints: quality::RandomState,
    /// Devices and handles that were not learnt.
    pub(super) overlooked: u64,
}

impl Layouts {
    /// Nothing was told.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// `server` granted a layout of `file`: data servers of the device know it by `handle`.
    pub(super) fn grant(&mut self, server: ServerId, device: DeviceId, handle: &[u8], file: FileId) {
        let print = self.prints.hash_one((server, device, handle));
        if self.files.len() < HANDLES_LIMIT || self.files.contains_key(&print) {
            self.files.insert(print, file);
        } else {
            self.overlooked += 1;
        }
    }

    /// `server` said that `data_server` is part of a device.
    pub(super) fn locate(&mut self, server: ServerId, device: DeviceId, data_server: ServerId) {
        let devices = self.devices.entry(data_server).or_default();
        if devices.contains(&(server, device)) {
            return;
        }
        if devices.len() < DEVICES_LIMIT {
            devices.push((server, device));
        } else {
            self.overlooked += 1;
        }
    }

    /// Files get other numbers, or none.
    pub(super) fn move_files(&mut self, to: impl Fn(FileId) -> Option<FileId>) {
        self.files.retain(|_, file| to(*file).inspect(|to| *file = *to).is_some());
    }

    /// The file that a data server knows by `handle`.
    pub(super) fn file(&self, data_server: ServerId, handle: &[u8]) -> Option<FileId> {
        let devices = self.devices.get(&data_server)?;
        devices.iter().find_map(|(server, device)| {
            self.files.get(&self.prints.hash_one((*server, *device, handle))).copied()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_looked_for_with_the_devices_of_its_data_server() {
        let (metadata, one, other) = (0, 1, 2);
        let mut layouts = Layouts::default();
        layouts.grant(metadata, [1; 16], b"fh", 7);
        assert_eq!(layouts.file(one, b"fh"), None, "nobody said where the device is");
        layouts.locate(metadata, [1; 16], one);
        layouts.locate(metadata, [2; 16], other);
        layouts.grant(metadata, [2; 16], b"fh", 8);
        assert_eq!([one, other].map(|server| layouts.file(server, b"fh")), [Some(7), Some(8)]);
        layouts.locate(metadata, [2; 16], one);
        layouts.grant(metadata, [2; 16], b"f2", 9);
        assert_eq!([b"fh", b"f2", b"f3"].map(|handle| layouts.file(one, handle)), [Some(7), Some(9), None]);
        assert_eq!(layouts.file(metadata, b"fh"), None);
    }

    #[test]
    fn devices_beyond_the_limit_are_counted() {
        let mut layouts = Layouts::default();
        for device in 0..100 {
            layouts.locate(0, [device; 16], 1);
            layouts.locate(0, [device; 16], 1);
        }
        assert_eq!(layouts.overlooked, 2 * (100 - 64));
    }
}
