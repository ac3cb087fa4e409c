//! What is known of calls, for rows about them to look up.

/// What is known of each call.
pub(super) struct ByCall<T> {
    known: Vec<(u64, T)>,
    /// They were added in ascending order of the calls, as they mostly are.
    in_order: bool,
}

impl<T> Default for ByCall<T> {
    fn default() -> Self {
        Self { known: Vec::new(), in_order: true }
    }
}

impl<T: Copy> ByCall<T> {
    /// Adds a call, which is not there yet.
    pub(super) fn push(&mut self, call: u64, known: T) {
        self.in_order &= self.known.last().is_none_or(|(last, _)| *last < call);
        self.known.push((call, known));
    }

    /// Takes what rows look up.
    pub(super) fn look_up(&mut self) -> LookUp<'_, T> {
        if !std::mem::replace(&mut self.in_order, true) {
            self.known.sort_unstable_by_key(|(call, _)| *call);
        }
        LookUp { known: &self.known, last: 0 }
    }
}

/// Finds calls. Rows come mostly in the order of their calls: then it takes no search.
pub(super) struct LookUp<'a, T> {
    known: &'a [(u64, T)],
    /// The place of the call that was found last.
    last: usize,
}

impl<T: Copy> LookUp<'_, T> {
    /// What is known of a call; None of one that was not added.
    pub(super) fn find(&mut self, call: u64) -> Option<T> {
        for place in [self.last, self.last + 1] {
            if let Some((number, known)) = self.known.get(place)
                && *number == call
            {
                self.last = place;
                return Some(*known);
            }
        }
        self.last = self.known.binary_search_by_key(&call, |(number, _)| *number).ok()?;
        self.known.get(self.last).map(|(_, known)| *known)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn calls_are_found_in_any_order_and_others_are_not(
            calls in prop::collection::btree_map(0_u64..40, any::<u8>(), 0..30),
            turned in any::<bool>(),
            asked in prop::collection::vec(0_u64..50, 0..100),
        ) {
            let mut known = ByCall::default();
            let mut pairs: Vec<_> = calls.iter().map(|(call, of)| (*call, *of)).collect();
            if turned {
                pairs.reverse();
            }
            for (call, of) in pairs {
                known.push(call, of);
            }
            let mut look_up = known.look_up();
            for call in asked {
                prop_assert_eq!(look_up.find(call), calls.get(&call).copied());
            }
        }
    }
}
