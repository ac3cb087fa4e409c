//! Connections by their numbers, without hashing those that are busy.
//!
//! A map like any other. Packets of a capture belong to few connections at a time, so where a number
//! was found last is tried first.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::stream::ConnectionId;

/// Numbers whose places are remembered at least; a power of two, as all that it grows to.
const RECENT: usize = 64;

/// What is kept of each connection.
pub(crate) struct ById<T> {
    kept: Vec<(ConnectionId, T)>,
    places: HashMap<ConnectionId, u32, RandomState>,
    /// The place where a number that ends like this was found last.
    recent: Vec<u32>,
}

impl<T> Default for ById<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), places: HashMap::default(), recent: Vec::new() }
    }
}

impl<T> ById<T> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether something is kept of a connection.
    pub(crate) fn contains(&self, id: ConnectionId) -> bool {
        self.places.contains_key(&id)
    }

    /// What is kept of a connection.
    pub(crate) fn get(&self, id: ConnectionId) -> Option<&T> {
        let place = *self.places.get(&id)?;
        self.kept.get(place as usize).map(|(_, kept)| kept)
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut T> {
        let place = self.recent.get(self.end(id)).copied().unwrap_or_default() as usize;
        if self.kept.get(place).is_some_and(|(known, _)| *known == id) {
            return self.kept.get_mut(place).map(|(_, kept)| kept);
        }
        let place = self.look_up(id)?;
        self.kept.get_mut(place).map(|(_, kept)| kept)
    }

    /// What is kept of a connection, if it is where it was last.
    #[inline]
    pub(crate) fn glance(&self, id: ConnectionId) -> Option<&T> {
        let place = *self.recent.get(self.end(id))?;
        self.kept.get(place as usize).filter(|(known, _)| *known == id).map(|(_, kept)| kept)
    }

    #[inline(never)]
    fn look_up(&mut self, id: ConnectionId) -> Option<usize> {
        let place = *self.places.get(&id)?;
        self.remember(id, place);
        Some(place as usize)
    }

    fn remember(&mut self, id: ConnectionId, place: u32) {
        let end = self.end(id);
        if let Some(recent) = self.recent.get_mut(end) {
            *recent = place;
        }
    }

    /// How a number ends: numbers that follow one another, as many as are remembered, end differently.
    #[inline]
    fn end(&self, id: ConnectionId) -> usize {
        id as usize & self.recent.len().wrapping_sub(1)
    }

    /// Keeps something of a connection of which nothing is kept.
    pub(crate) fn insert(&mut self, id: ConnectionId, value: T) {
        let place = self.kept.len() as u32;
        self.places.insert(id, place);
        self.kept.push((id, value));
        if self.kept.len() > self.recent.len() {
            self.recent.resize((2 * self.recent.len()).max(RECENT), 0);
        }
        self.remember(id, place);
    }

    /// Gives what was kept of a connection.
    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<T> {
        let place = self.places.remove(&id)?;
        let (_, value) = self.kept.swap_remove(place as usize);
        if let Some((moved, _)) = self.kept.get(place as usize) {
            self.places.insert(*moved, place);
        }
        Some(value)
    }

    /// All of them, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ConnectionId, &T)> {
        self.kept.iter().map(|(id, kept)| (*id, kept))
    }

    /// All of them to be changed, in no order.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.kept.iter_mut().map(|(_, kept)| kept)
    }

    /// The numbers in order.
    pub(crate) fn ids(&self) -> Vec<ConnectionId> {
        let mut ids: Vec<_> = self.kept.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_keeps_what_a_map_keeps(steps in prop::collection::vec((0..200_u32, 0..3_u8), 1..300)) {
            let (mut kept, mut map) = (ById::default(), BTreeMap::new());
            for (value, (id, kind)) in steps.into_iter().enumerate() {
                match kind {
                    0 if !map.contains_key(&id) => {
                        kept.insert(id, value);
                        map.insert(id, value);
                    }
                    1 => prop_assert_eq!(kept.remove(id), map.remove(&id)),
                    _ => prop_assert_eq!(kept.get_mut(id), map.get_mut(&id)),
                }
                prop_assert_eq!((kept.get(id), kept.contains(id)), (map.get(&id), map.contains_key(&id)));
                prop_assert!(kept.glance(id).is_none_or(|seen| map.get(&id) == Some(seen)));
            }
            prop_assert_eq!(kept.ids(), map.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(kept.len(), map.len());
        }
    }
}
