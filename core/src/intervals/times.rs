//! The times of a column in order, without moving them.

use super::Column;

/// The times of a column, one after the other.
pub(super) struct Times {
    /// Places in the order of their times.
    order: Vec<u32>,
    /// How many of them were taken.
    taken: usize,
    /// The next time; the latest possible when there is none.
    pub(super) next: i64,
}

impl Times {
    /// Of the first 2^32 rows.
    pub(super) fn of<T: Column<i64> + ?Sized>(column: &T) -> Self {
        let mut times = Self { order: ordered(column), taken: 0, next: i64::MAX };
        times.look(column);
        times
    }

    /// Whether there is another.
    pub(super) fn left(&self) -> bool {
        self.taken < self.order.len()
    }

    /// The place of the next one, if its time is this; goes on behind it.
    #[inline]
    pub(super) fn take<T: Column<i64> + ?Sized>(&mut self, column: &T, now: i64) -> Option<usize> {
        if self.next != now {
            return None;
        }
        let place = *self.order.get(self.taken)? as usize;
        self.taken += 1;
        self.look(column);
        Some(place)
    }

    #[inline]
    fn look<T: Column<i64> + ?Sized>(&mut self, column: &T) {
        self.next = self.order.get(self.taken).map_or(i64::MAX, |place| column.at(*place as usize));
    }
}

/// The places of the first 2^32 rows in order of their times, then of place.
pub(super) fn ordered<T: Column<i64> + ?Sized>(column: &T) -> Vec<u32> {
    let mut order: Vec<u32> = (0..u32::try_from(column.len()).unwrap_or(u32::MAX)).collect();
    // Nearly sorted already, which a merge sort makes use of.
    order.sort_by_key(|place| column.at(*place as usize));
    order
}
