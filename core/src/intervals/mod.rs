//! Arithmetic on intervals of time, many of which are open at once. Knows nothing of calls.
//!
//! Takes columns, or rows, of whole nanoseconds in any order; goes over all begins and ends in order
//! of time once. Promises that memory beside the intervals themselves is a number for each, and an
//! entry for each that is open.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

mod times;

pub mod gaps;

pub mod levels;

pub mod rounding;

pub mod sharing;

pub mod under_way;

/// The group of each key.
pub type Groups = HashMap<u32, u32, RandomState>;

/// Numbers by their place, wherever they are kept.
pub trait Column<T> {
    /// How many there are.
    fn len(&self) -> usize;

    /// One of them; 0 beyond the last.
    fn at(&self, place: usize) -> T;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Copy + Default> Column<T> for [T] {
    fn len(&self) -> usize {
        self.len()
    }

    fn at(&self, place: usize) -> T {
        self.get(place).copied().unwrap_or_default()
    }
}

/// The group of an interval by its place; where it is of none, a number beyond all groups.
fn group_at<N: Column<i32> + ?Sized>(group: &N, interval: usize) -> usize {
    let none = usize::MAX;
    if interval < group.len() { usize::try_from(group.at(interval)).unwrap_or(none) } else { none }
}

/// A column that is added to.
pub trait Sums<T> {
    /// Adds to one of its numbers; beyond the last, nothing.
    fn add(&mut self, place: usize, value: T);
}

impl<T: Copy + std::ops::AddAssign> Sums<T> for [T] {
    fn add(&mut self, place: usize, value: T) {
        if let Some(number) = self.get_mut(place) {
            *number += value;
        }
    }
}
