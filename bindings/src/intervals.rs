//! Arithmetic on intervals of time, over Python's own arrays or rows that the database gives.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use arrow_schema::ArrowError;
use pcapnfs_core::intervals::levels::Levels;
use pcapnfs_core::intervals::sharing::{Intervals, share};
use pcapnfs_core::intervals::under_way::{Gathered, UnderWay};
use pcapnfs_core::intervals::{Column, Sums};
use pyo3::buffer::{Element, PyBuffer, ReadOnlyCell};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;

use crate::error::rows_error;
use crate::walking::{Rows, each};

/// Shares time equally among the intervals that are open at each instant.
///
/// The arrays of `intervals` and `parts` are begins, ends, and groups or the intervals that parts
/// belong to; what `given` holds (shares of intervals, of parts, time in which any of a group was open)
/// is added to. They are read where they are, which nobody else may do meanwhile: Python's lock stays.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // PyO3 hands over owned values.
pub(crate) fn equal_shares(
    py: Python<'_>,
    intervals: (PyBuffer<i64>, PyBuffer<i64>, PyBuffer<i32>),
    parts: (PyBuffer<i64>, PyBuffer<i64>, PyBuffer<i32>),
    given: (PyBuffer<f64>, PyBuffer<f64>, PyBuffer<i64>),
) -> PyResult<()> {
    let (begin, end, group) = (read(py, &intervals.0)?, read(py, &intervals.1)?, read(py, &intervals.2)?);
    let (part_begin, part_end) = (read(py, &parts.0)?, read(py, &parts.1)?);
    let part_of = read(py, &parts.2)?;
    let (mut whole, mut of_parts) = (written(py, &given.0)?, written(py, &given.1)?);
    let mut open = written(py, &given.2)?;
    let alike = |lengths: [usize; 4]| lengths.iter().all(|length| lengths.first() == Some(length));
    if !alike([begin.0.len(), end.0.len(), group.0.len(), whole.0.len()])
        || !alike([part_begin.0.len(), part_end.0.len(), part_of.0.len(), of_parts.0.len()])
    {
        return Err(PyValueError::new_err("columns of different length"));
    }
    let intervals = Intervals {
        begin: &begin,
        end: &end,
        group: &group,
        part_of: &part_of,
        part_begin: &part_begin,
        part_end: &part_end,
    };
    share(&intervals, open.0.len(), &mut whole, &mut of_parts, &mut open);
    Ok(())
}

/// What is open at once of all rows (None) and of each group: span, busy, lengths, peak.
#[pyfunction]
pub(crate) fn under_way(
    py: Python<'_>,
    rows: Rows,
    groups: HashMap<u32, u32>,
    longest: i64,
) -> PyResult<Vec<(Option<u32>, Open)>> {
    let found: Result<_, ArrowError> = py.detach(|| {
        let mut gathered = Gathered::new(groups.into_iter().collect());
        each(rows, |batch| gathered.take(batch))?;
        Ok(gathered.finish(longest))
    });
    let open = |UnderWay { span, busy, lengths, peak }: UnderWay| (span, busy, lengths, peak);
    Ok(found.map_err(|error| rows_error(&error))?.map_or_else(Vec::new, |(all, groups)| {
        let groups = groups.into_iter().map(|(group, found)| (Some(group), open(found)));
        std::iter::once((None, open(all))).chain(groups).collect()
    }))
}

/// For each group, the time in which 0, 1, 2 … of its rows were open.
#[pyfunction]
pub(crate) fn levels(
    py: Python<'_>,
    rows: Rows,
    groups: HashMap<u32, u32>,
    most: usize,
    latest: i64,
) -> PyResult<BTreeMap<u32, Vec<i64>>> {
    let found: Result<_, ArrowError> = py.detach(|| {
        let mut levels = Levels::new(groups.into_iter().collect(), latest);
        each(rows, |batch| levels.take(batch))?;
        Ok(levels.finish(most))
    });
    found.map_err(|error| rows_error(&error))
}

/// As `UnderWay` has it.
type Open = (i64, i64, i128, u32);

/// An array of Python's that is read.
struct Read<'a, T: Element>(&'a [ReadOnlyCell<T>]);

impl<T: Element + Default> Column<T> for Read<'_, T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn at(&self, place: usize) -> T {
        self.0.get(place).map(ReadOnlyCell::get).unwrap_or_default()
    }
}

/// An array of Python's that is added to.
struct Written<'a, T>(&'a [Cell<T>]);

impl<T: Element + std::ops::Add<Output = T>> Sums<T> for Written<'_, T> {
    fn add(&mut self, place: usize, value: T) {
        if let Some(number) = self.0.get(place) {
            number.set(number.get() + value);
        }
    }
}

fn read<'a, T: Element>(py: Python<'a>, array: &'a PyBuffer<T>) -> PyResult<Read<'a, T>> {
    array.as_slice(py).map(Read).ok_or_else(scattered)
}

fn written<'a, T: Element>(py: Python<'a>, array: &'a PyBuffer<T>) -> PyResult<Written<'a, T>> {
    array.as_mut_slice(py).map(Written).ok_or_else(scattered)
}

fn scattered() -> PyErr {
    PyBufferError::new_err("an array whose numbers are not side by side, or cannot be written")
}
