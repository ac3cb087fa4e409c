//! Frames with fragments of IP datagrams, until the datagrams are whole.
//!
//! What a fragment carries has its place in a stream only once the first of them was there, and a checksum covers
//! them all. So frames with fragments wait, and those behind them, until the datagram is put together or will not
//! be. Promises: frames come out in the order in which they came; memory is [`HELD_LIMIT`] and a frame, and
//! [`WHOLE_LIMIT`] and a datagram.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::capture::Packet;
use crate::order::Placed;

/// Bytes of frames that wait; beyond it the first goes on, and what it brings of an incomplete datagram is left out.
const HELD_LIMIT: usize = 16 << 20;

/// Bytes of datagrams that are kept for copies of their fragments; beyond it the oldest is forgotten.
const WHOLE_LIMIT: usize = 8 << 20;

/// What each is charged beside its bytes.
const BOOKKEEPING: usize = size_of::<Waiting>() + 64;

/// The datagram of a fragment: source, destination, protocol and number.
pub(super) type Of = (IpAddr, IpAddr, u8, u32);

/// A fragment in a frame, of which nothing is written yet.
pub(super) struct Piece {
    /// Its datagram …
    pub(super) of: Of,
    /// … and the frame with which that began.
    pub(super) began: u64,
    /// Where in the frame its bytes begin, and how many there are.
    pub(super) at: usize,
    pub(super) length: usize,
    /// Where in the datagram they begin.
    pub(super) offset: usize,
    /// Whether the datagram is one of UDP.
    pub(super) is_udp: bool,
    /// The frame as it was.
    pub(super) original: Vec<u8>,
}

impl Piece {
    /// Writes its part of a datagram.
    fn fill(&self, whole: &[u8], to: &mut [u8]) {
        let part = whole.get(self.offset..).unwrap_or_default();
        let part = part.get(..self.length).unwrap_or(part);
        if let Some(to) = to.get_mut(self.at..self.at + part.len()) {
            to.copy_from_slice(part);
        }
    }
}

/// A frame that waits.
pub(super) struct Waiting {
    /// Its place; its bytes are not there.
    pub(super) placed: Placed<'static>,
    /// As far as it is written anew.
    pub(super) bytes: Vec<u8>,
    /// What is still to be written.
    pub(super) piece: Option<Piece>,
}

impl Waiting {
    pub(super) fn of(placed: &Placed<'_>, bytes: Vec<u8>, piece: Option<Piece>) -> Self {
        let Placed { file, frame, place, late, packet } = *placed;
        let Packet { number, time_ns, stated_ns, link, wire_length, .. } = packet;
        let packet = Packet { number, time_ns, stated_ns, link, wire_length, bytes: &[] };
        Self { placed: Placed { file, frame, place, late, packet }, bytes, piece }
    }

    fn size(&self) -> usize {
        self.bytes.capacity() + self.piece.as_ref().map_or(0, |piece| piece.original.capacity()) + BOOKKEEPING
    }
}

/// Frames that wait, and datagrams that were written anew.
#[derive(Default)]
pub(super) struct Fragments {
    waiting: VecDeque<Waiting>,
    held: usize,
    /// Frames that went on.
    gone: u64,
    /// By the frame with which a datagram began: which frames with its fragments wait, counted with those gone.
    parts: HashMap<u64, VecDeque<u64>, RandomState>,
    /// Likewise: what was written anew.
    whole: BTreeMap<u64, Vec<u8>>,
    kept: usize,
    /// Bytes of fragments that were not zero and are now.
    removed: u64,
}

impl Fragments {
    /// Whether no frame waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes of datagrams put together that were not zero and are now.
    pub(super) fn removed(&self) -> u64 {
        self.removed
    }

    /// Has a frame wait behind all others.
    pub(super) fn hold(&mut self, mut frame: Waiting) {
        if let Some(piece) = &frame.piece {
            if let Some(whole) = self.whole.get(&piece.began) {
                self.removed += settle(&mut frame, whole);
            } else {
                let number = self.gone + self.waiting.len() as u64;
                self.parts.entry(piece.began).or_default().push_back(number);
            }
        }
        self.held += frame.size();
        self.waiting.push_back(frame);
    }

    /// Takes what is written anew of the datagram that began with this frame.
    pub(super) fn complete(&mut self, began: u64, whole: Vec<u8>) {
        for number in self.parts.remove(&began).unwrap_or_default() {
            if let Some(frame) = self.waiting.get_mut((number - self.gone) as usize) {
                self.held -= frame.size();
                self.removed += settle(frame, &whole);
                self.held += frame.size();
            }
        }
        self.kept += whole.capacity() + BOOKKEEPING;
        if let Some(before) = self.whole.insert(began, whole) {
            self.kept -= before.capacity() + BOOKKEEPING;
        }
        while self.kept > WHOLE_LIMIT
            && self.whole.len() > 1
            && let Some((_, oldest)) = self.whole.pop_first()
        {
            self.kept -= oldest.capacity() + BOOKKEEPING;
        }
    }

    /// The first frame, unless its datagram may yet be put together, as `waits` tells.
    pub(super) fn next(&mut self, waits: impl Fn(&Piece) -> bool) -> Option<Waiting> {
        let piece = self.waiting.front()?.piece.as_ref();
        if self.held <= HELD_LIMIT && piece.is_some_and(waits) {
            return None;
        }
        let first = self.waiting.pop_front()?;
        self.gone += 1;
        self.held -= first.size();
        if let Some(piece) = &first.piece
            && let Some(parts) = self.parts.get_mut(&piece.began)
        {
            parts.pop_front();
            if parts.is_empty() {
                self.parts.remove(&piece.began);
            }
        }
        Some(first)
    }
}

/// Writes what a frame waited for; gives the bytes that are zero now.
fn settle(frame: &mut Waiting, whole: &[u8]) -> u64 {
    let Some(piece) = frame.piece.take() else { return 0 };
    piece.fill(whole, &mut frame.bytes);
    removed(&piece.original, &frame.bytes)
}

/// How many bytes were not zero and are now.
pub(super) fn removed(from: &[u8], to: &[u8]) -> u64 {
    to.iter().zip(from).filter(|(to, from)| **to == 0 && **from != 0).count() as u64
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::capture::LinkType;

    fn frame(number: u64, length: usize, piece: Option<(u64, usize)>) -> Waiting {
        let packet = Packet {
            number,
            time_ns: 0,
            stated_ns: 0,
            link: LinkType::ETHERNET,
            wire_length: length as u32,
            bytes: &[],
        };
        let placed = Placed { file: 0, frame: number, place: number, late: false, packet };
        let piece = piece.map(|(began, offset)| Piece {
            of: (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into(), 6, 1),
            began,
            at: 1,
            length: length - 1,
            offset,
            is_udp: false,
            original: vec![9; length],
        });
        Waiting::of(&placed, vec![7; length], piece)
    }

    /// The frames that go on, each with its bytes, and whether it still waits for its datagram.
    fn gone(fragments: &mut Fragments, waits: impl Fn(&Piece) -> bool) -> Vec<(u64, Vec<u8>, bool)> {
        let next = || fragments.next(&waits).map(|one| (one.placed.frame, one.bytes, one.piece.is_some()));
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn frames_wait_for_the_datagram_and_keep_their_order() {
        let mut fragments = Fragments::default();
        fragments.hold(frame(1, 3, Some((1, 2))));
        fragments.hold(frame(2, 3, None));
        fragments.hold(frame(3, 3, Some((3, 0))));
        fragments.hold(frame(4, 3, Some((1, 0))));
        assert_eq!(gone(&mut fragments, |_| true), []);
        fragments.complete(1, vec![1, 2, 3, 0]);
        assert_eq!(fragments.removed(), 1);
        assert_eq!(gone(&mut fragments, |_| true), [(1, vec![7, 3, 0], false), (2, vec![7; 3], false)]);
        fragments.hold(frame(5, 3, Some((1, 0))));
        let rest = [(3, vec![7; 3], true), (4, vec![7, 1, 2], false), (5, vec![7, 1, 2], false)];
        assert_eq!(gone(&mut fragments, |_| false), rest);
        assert!(fragments.is_empty() && fragments.held == 0 && fragments.parts.is_empty());
    }

    #[test]
    fn what_waits_and_what_is_kept_is_bounded() {
        let mut fragments = Fragments::default();
        for number in 1..100 {
            fragments.hold(frame(number, 1 << 20, Some((number, 0))));
            let _gone = gone(&mut fragments, |_| true);
            fragments.complete(1000 + number, vec![0; 1 << 20]);
        }
        assert!(fragments.held <= HELD_LIMIT && fragments.parts.len() <= 16);
        assert!(fragments.kept <= WHOLE_LIMIT && fragments.whole.len() > 1);
    }
}
