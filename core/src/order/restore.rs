//! Packets in order of time → the order of the file again.
//!
//! For who writes anew what [`super::Order`] gave: each packet waits for those that stand before it. Promises: no
//! more than [`WAITING_BYTES_LIMIT`] wait; beyond it the first of them is written before one that should
//! precede it.

use std::collections::BTreeMap;

use super::{Held, Placed};
use crate::capture::Packet;

/// Bytes of packets that wait for others that stand before them.
const WAITING_BYTES_LIMIT: usize = 32 << 20;

/// Puts packets back in the places where they stood.
pub struct Restore {
    /// The number of the packet that is to be written next.
    next: u64,
    waiting: BTreeMap<u64, Held>,
    bytes: usize,
}

impl Default for Restore {
    fn default() -> Self {
        Self { next: 1, waiting: BTreeMap::new(), bytes: 0 }
    }
}

impl Restore {
    /// Takes a packet with other bytes; writes it and those that waited for it, once it is its turn.
    ///
    /// Errors: those of `write`.
    pub fn put<E>(
        &mut self,
        placed: &Placed<'_>,
        bytes: &[u8],
        mut write: impl FnMut(&Packet<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Placed { file, frame, packet, .. } = *placed;
        let packet = Packet { bytes, ..packet };
        if frame <= self.next && self.waiting.is_empty() {
            self.next = self.next.max(frame.saturating_add(1));
            return write(&packet);
        }
        let held = Held::of(file, frame, &packet, Vec::new());
        self.bytes = self.bytes.saturating_add(held.size());
        self.waiting.insert(frame, held);
        while let Some(first) = self.waiting.first_entry()
            && (*first.key() <= self.next || self.bytes > WAITING_BYTES_LIMIT)
        {
            let (frame, held) = first.remove_entry();
            self.bytes = self.bytes.saturating_sub(held.size());
            self.next = self.next.max(frame.saturating_add(1));
            write(&held.packet())?;
        }
        Ok(())
    }

    /// Writes what still waits: for packets that the capture does not hold.
    ///
    /// Errors: those of `write`.
    pub fn end<E>(self, mut write: impl FnMut(&Packet<'_>) -> Result<(), E>) -> Result<(), E> {
        self.waiting.values().try_for_each(|held| write(&held.packet()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::LinkType;

    /// The order in which packets with these numbers are written, of so many bytes each.
    fn written(frames: &[u64], length: usize) -> Vec<u64> {
        let (mut restore, mut written, bytes) = (Restore::default(), Vec::new(), vec![7; length]);
        let link = LinkType::ETHERNET;
        for frame in frames {
            let packet =
                Packet { number: *frame, time_ns: 0, stated_ns: 0, link, wire_length: 9, bytes: &[1, 2, 3] };
            let placed = Placed { file: 0, frame: *frame, place: 0, late: false, packet };
            let mut write = |packet: &Packet<'_>| -> Result<(), ()> {
                assert_eq!(packet.bytes, &bytes);
                written.push(packet.number);
                Ok(())
            };
            restore.put(&placed, &bytes, &mut write).unwrap();
        }
        let rest = |packet: &Packet<'_>| -> Result<(), ()> {
            written.push(packet.number);
            Ok(())
        };
        restore.end(rest).unwrap();
        written
    }

    #[test]
    fn packets_are_written_where_they_stood() {
        assert_eq!(written(&[1, 2, 5, 4, 3, 6, 8, 7], 3), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(written(&[3, 4, 2], 3), [2, 3, 4]);
    }

    #[test]
    fn too_many_do_not_wait() {
        let frames: Vec<u64> = (2..100).chain([1]).collect();
        let written = written(&frames, WAITING_BYTES_LIMIT / 10);
        assert_eq!(written.len(), frames.len());
        assert!(written.starts_with(&[2, 3, 4]) && written.contains(&1));
    }
}
