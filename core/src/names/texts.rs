//! A text of each object, as its name or its handle, one behind the other.
//!
//! There are many objects, and what is allocated for each alone takes longer to get than to fill, and more
//! memory than the text.

use crate::names::FileId;
use crate::names::forgetting::retain;

/// Texts by object. Those that were replaced take up no more room than those that are there.
#[derive(Default)]
pub(super) struct Texts {
    spans: Vec<Span>,
    bytes: Vec<u8>,
    /// Bytes that belong to no object any more.
    wasted: usize,
}

/// Where a text stands.
#[derive(Clone, Copy)]
struct Span {
    start: u64,
    length: u32,
}

/// An object without a text: there are no bytes there.
const NONE: Span = Span { start: u64::MAX, length: 0 };

/// Bytes up to which it does not matter whether they belong to an object.
const ROOM: usize = 1 << 12;

impl Texts {
    /// Another object is known, which has no text yet.
    #[inline]
    pub(super) fn add(&mut self) {
        self.spans.push(NONE);
    }

    /// The text of an object.
    #[inline]
    pub(super) fn get(&self, id: FileId) -> Option<&[u8]> {
        self.spans.get(id as usize)?.of(&self.bytes)
    }

    /// Gives an object another text.
    pub(super) fn set(&mut self, id: FileId, text: &[u8]) {
        let Some(span) = self.spans.get_mut(id as usize) else { return };
        self.wasted += span.length as usize;
        *span = Span::put(text, &mut self.bytes);
        if self.wasted > ROOM.max(self.bytes.len() / 2) {
            self.leave_out_wasted();
        }
    }

    /// Bytes of all texts, with those that belong to no object any more.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Leaves out the objects that are not kept.
    pub(super) fn retain(&mut self, keep: &[bool]) {
        retain(&mut self.spans, keep);
        self.leave_out_wasted();
    }

    #[cold]
    #[inline(never)]
    fn leave_out_wasted(&mut self) {
        self.move_together();
        self.bytes.shrink_to_fit();
    }

    /// Leaves no room between texts, within the memory that they have: where some are forgotten, there is
    /// none for a copy of the others.
    fn move_together(&mut self) {
        let mut there: Vec<&mut Span> =
            self.spans.iter_mut().filter(|span| span.start < NONE.start).collect();
        there.sort_unstable_by_key(|span| span.start);
        let mut end = 0;
        for span in there {
            let start = span.start as usize;
            self.bytes.copy_within(start..start + span.length as usize, end);
            span.start = end as u64;
            end += span.length as usize;
        }
        self.bytes.truncate(end);
        self.wasted = 0;
    }
}

impl Span {
    #[inline]
    fn of(self, bytes: &[u8]) -> Option<&[u8]> {
        let start = usize::try_from(self.start).ok()?;
        bytes.get(start..)?.get(..self.length as usize)
    }

    #[inline]
    fn put(text: &[u8], bytes: &mut Vec<u8>) -> Self {
        let span = Self { start: bytes.len() as u64, length: text.len() as u32 };
        bytes.extend_from_slice(text);
        span
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A text that tells by each of its bytes which of them it is, and of which text.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let byte = |at: u32, seed: u32| (at ^ seed).wrapping_mul(0x9e37_79b1).to_be_bytes()[0];
        (0..4000_u32, any::<u32>())
            .prop_map(move |(length, seed)| (0..length).map(|at| byte(at, seed)).collect())
    }

    proptest! {
        /// Against a text in memory of its own.
        #[test]
        fn an_object_has_the_text_that_it_was_given_last(
            steps in prop::collection::vec((0..9_u32, text()), 1..50),
        ) {
            let (mut texts, mut plain) = (Texts::default(), vec![None; 8]);
            (0..8).for_each(|_| texts.add());
            for (id, text) in steps {
                texts.set(id, &text);
                if let Some(plain) = plain.get_mut(id as usize) {
                    *plain = Some(text);
                }
                for (id, plain) in (0..).zip(&plain) {
                    prop_assert_eq!(texts.get(id), plain.as_deref());
                }
                let used: usize = plain.iter().flatten().map(Vec::len).sum();
                prop_assert!(texts.bytes.len() <= 2 * used + 2 * ROOM);
            }
        }

        /// Also those of no length; and their memory is what they need.
        #[test]
        fn who_is_kept_keeps_the_text(
            given in prop::collection::vec((prop::option::of(text()), any::<bool>()), 0..40),
            again in prop::collection::vec((0..40_u32, text()), 0..10),
        ) {
            let (mut texts, mut plain) = (Texts::default(), Vec::new());
            for (id, (text, _)) in (0..).zip(&given) {
                texts.add();
                if let Some(text) = text {
                    texts.set(id, text);
                }
                plain.push(text.clone());
            }
            for (id, text) in again {
                texts.set(id, &text);
                if let Some(plain) = plain.get_mut(id as usize) {
                    *plain = Some(text);
                }
            }
            let keep: Vec<bool> = given.iter().map(|(_, keep)| *keep).collect();
            texts.retain(&keep);
            retain(&mut plain, &keep);
            for (id, plain) in (0..).zip(&plain) {
                prop_assert_eq!(texts.get(id), plain.as_deref());
            }
            let used: usize = plain.iter().flatten().map(Vec::len).sum();
            prop_assert_eq!((texts.bytes(), texts.bytes.capacity(), texts.wasted), (used, used, 0));
        }
    }

    #[test]
    fn texts_move_together_where_they_are() {
        let mut texts = Texts::default();
        for id in 0..3 {
            texts.add();
            texts.set(id, &[id as u8; 1000]);
        }
        texts.set(0, &[7; 1000]);
        let place = texts.bytes.as_ptr();
        texts.move_together();
        assert_eq!((texts.bytes.as_ptr(), texts.bytes()), (place, 3000));
        let found: Vec<_> = (0..3).filter_map(|id| texts.get(id)).collect();
        assert_eq!(found, [[7; 1000], [1; 1000], [2; 1000]]);
    }
}
