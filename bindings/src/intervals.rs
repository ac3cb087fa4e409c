//! Arithmetic on intervals of time, over Python's own arrays or rows that the database gives.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use arrow_schema::ArrowError;
use pcapnfs_core::intervals::levels::Levels;
use pcapnfs_core::intervals::sharing::{Intervals, share};
use pcapnfs_core::intervals::under_way::{Gathered, UnderWay};
use pcapnfs_core::intervals::{Column, Sums, gaps, levels as at_once, rounding};
use pyo3::buffer::{Element, PyBuffer, ReadOnlyCell};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;

use crate::error::rows_error;
use crate::walking::{Rows, each};

/// Begin, end and group of intervals.
type Arrays = (PyBuffer<i64>, PyBuffer<i64>, PyBuffer<i32>);

/// Shares time equally among the intervals that are open at each instant.
///
/// The arrays of `intervals` and `parts` are begins, ends, and groups or the intervals that parts
/// belong to; what `given` holds (shares of intervals, of parts, time in which any of a group was open)
/// is added to. They are read where they are, which nobody else may do meanwhile: Python's lock stays.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
pub(crate) fn equal_shares(
    py: Python<'_>,
    intervals: Arrays,
    parts: Arrays,
    given: (PyBuffer<f64>, PyBuffer<f64>, PyBuffer<i64>),
) -> PyResult<()> {
    let (mut whole, mut of_parts) = (written(py, &given.0)?, written(py, &given.1)?);
    let mut open = written(py, &given.2)?;
    let (begin, end, group) = columns(py, &intervals, whole.0.len())?;
    let (part_begin, part_end, part_of) = columns(py, &parts, of_parts.0.len())?;
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

/// Rounds shares so that those of each group add up to its total; adds them to `rounded`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
pub(crate) fn rounded_shares(
    py: Python<'_>,
    shares: PyBuffer<f64>,
    group: PyBuffer<i32>,
    totals: PyBuffer<i64>,
    rounded: PyBuffer<i64>,
) -> PyResult<()> {
    let (shares, group, totals) = (read(py, &shares)?, read(py, &group)?, read(py, &totals)?);
    let mut rounded = written(py, &rounded)?;
    fit(shares.0.len(), &[group.0.len(), rounded.0.len()])?;
    rounding::round(&shares, &group, &totals, &mut rounded);
    Ok(())
}

/// Adds to `found` the shorter one of the gaps beside each interval.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
pub(crate) fn pauses(
    py: Python<'_>,
    intervals: Arrays,
    groups: usize,
    limit: i32,
    found: PyBuffer<i32>,
) -> PyResult<()> {
    let mut found = written(py, &found)?;
    let (begin, end, group) = columns(py, &intervals, found.0.len())?;
    gaps::pauses((&begin, &end, &group), groups, limit, &mut found);
    Ok(())
}

/// Puts intervals in order of begin; adds their places to `order`, the gaps before them to `gaps`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
pub(crate) fn in_order(
    py: Python<'_>,
    intervals: Arrays,
    order: PyBuffer<i32>,
    gaps: PyBuffer<i64>,
) -> PyResult<()> {
    let (mut order, mut between) = (written(py, &order)?, written(py, &gaps)?);
    let (begin, end, group) = columns(py, &intervals, intervals.0.item_count())?;
    fit(order.0.len(), &[between.0.len()])?;
    gaps::in_order((&begin, &end, &group), &mut order, &mut between);
    Ok(())
}

/// Adds to `found` how many intervals of its group were open when each began.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
pub(crate) fn open_at_begin(
    py: Python<'_>,
    intervals: Arrays,
    groups: usize,
    found: PyBuffer<i32>,
) -> PyResult<()> {
    let mut found = written(py, &found)?;
    let (begin, end, group) = columns(py, &intervals, found.0.len())?;
    at_once::open_at_begin((&begin, &end, &group), groups, &mut found);
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

/// Begins, ends and groups of so many intervals.
fn columns<'a>(
    py: Python<'a>,
    arrays: &'a Arrays,
    length: usize,
) -> PyResult<(Read<'a, i64>, Read<'a, i64>, Read<'a, i32>)> {
    let (begin, end, group) = (read(py, &arrays.0)?, read(py, &arrays.1)?, read(py, &arrays.2)?);
    fit(length, &[begin.0.len(), end.0.len(), group.0.len()])?;
    Ok((begin, end, group))
}

/// Columns are of the same length.
fn fit(length: usize, others: &[usize]) -> PyResult<()> {
    if others.iter().all(|other| *other == length) {
        return Ok(());
    }
    Err(PyValueError::new_err("columns of different length"))
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
