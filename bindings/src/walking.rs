//! Walks over rows that the database gives.

use std::num::NonZeroU64;
use std::sync::Mutex;

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_pyarrow::PyArrowType;
use arrow_schema::ArrowError;
use pcapnfs_core::walk::follow_ups::Following;
use pcapnfs_core::walk::held::Holding;
use pcapnfs_core::walk::learned::Learning;
use pcapnfs_core::walk::one_by_one::Asking;
use pcapnfs_core::walk::patterns::{Class, Folded, Folding};
use pcapnfs_core::walk::steps;
use pcapnfs_core::walk::told;
use pcapnfs_core::walk::transfers::shapes::Written;
use pcapnfs_core::walk::transfers::spared::Spared;
use pcapnfs_core::walk::transfers::{self, Spans};
use pcapnfs_core::walk::turns::{Shared, Turns};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::Batch;
use crate::error::{ended, poisoned, rows_error};

/// Rows as an Arrow stream.
pub(crate) type Rows = PyArrowType<RecordBatchStreamReader>;

/// What clients were told of objects: what replies said, with the calls that they answered.
#[pyclass(frozen, module = "pcapnfs._core")]
pub(crate) struct Answered {
    inner: Mutex<told::Answered>,
}

#[pymethods]
impl Answered {
    #[new]
    fn new(py: Python<'_>, calls: Rows) -> PyResult<Self> {
        let inner = Mutex::new(told::Answered::default());
        through(py, &inner, calls, told::Answered::take, |_| {})?;
        Ok(Self { inner })
    }

    fn told(&self, py: Python<'_>, said: Rows) -> PyResult<Batch> {
        let (first, rest) = py.detach(|| {
            let mut calls = self.inner.lock().map_err(|_| poisoned())?;
            calls.told(said.0).map_err(|error| rows_error(&error))
        })?;
        Ok(Batch { table: "told", first, rest })
    }

    fn learned(&self, py: Python<'_>, said: Rows, all: bool) -> PyResult<(Batch, Batch)> {
        learning(py, all, |learning| {
            let mut calls = self.inner.lock().map_err(|_| poisoned())?;
            each(said, |batch| learning.take_said(&mut calls, batch)).map_err(|error| rows_error(&error))
        })
    }
}

/// What clients learnt of change-IDs, and what they asked about each object.
#[pyfunction]
pub(crate) fn learned(py: Python<'_>, rows: Rows, all: bool) -> PyResult<(Batch, Batch)> {
    learning(py, all, |learning| each(rows, |batch| learning.take(batch)).map_err(|error| rows_error(&error)))
}

fn learning(
    py: Python<'_>,
    all: bool,
    take: impl FnOnce(&mut Learning) -> PyResult<()> + Send,
) -> PyResult<(Batch, Batch)> {
    let (learned, asked) = py.detach(|| {
        let mut learning = Learning::default();
        take(&mut learning)?;
        learning.finish(all).map_err(|error| rows_error(&error))
    })?;
    Ok((of_walk("learned", learned), of_walk("asked", asked)))
}

/// What clients read again of each file, and what they were spared.
#[pyfunction]
pub(crate) fn held(py: Python<'_>, rows: Rows, visit: i64) -> PyResult<Batch> {
    let found = py.detach(|| {
        let mut holding = Holding::new(visit);
        each(rows, |batch| holding.take(batch))?;
        holding.finish()
    });
    Ok(of_walk("held", found.map_err(|error| rows_error(&error))?))
}

pub(crate) fn each(
    rows: Rows,
    mut take: impl FnMut(&RecordBatch) -> Result<(), ArrowError>,
) -> Result<(), ArrowError> {
    rows.0.into_iter().try_for_each(|batch| take(&batch?))
}

/// Has a walk take rows, and go over them.
fn through<W: Send>(
    py: Python<'_>,
    walk: &Mutex<W>,
    rows: Rows,
    take: fn(&mut W, &RecordBatch) -> Result<(), ArrowError>,
    go: fn(&mut W),
) -> PyResult<()> {
    py.detach(|| {
        let mut walk = walk.lock().map_err(|_| poisoned())?;
        each(rows, |batch| take(&mut walk, batch)).map_err(|error| rows_error(&error))?;
        go(&mut walk);
        Ok(())
    })
}

fn of_walk(table: &'static str, first: RecordBatch) -> Batch {
    Batch { table, first, rest: Vec::new() }
}

/// How clients went through directories and came back to files.
#[pyclass(frozen, module = "pcapnfs._core")]
pub(crate) struct Steps {
    inner: Mutex<steps::Steps>,
}

#[pymethods]
impl Steps {
    #[new]
    fn new(together: i64, neighbours: i64, at_once: i64, pause: (i64, i64), examples: usize) -> Self {
        let spans = steps::Spans { together, neighbours, at_once, pause };
        Self { inner: Mutex::new(steps::Steps::new(spans, examples)) }
    }

    fn take(&self, py: Python<'_>, rows: Rows) -> PyResult<()> {
        through(py, &self.inner, rows, steps::Steps::take, |_| {})
    }

    fn walk(&self, py: Python<'_>, entries: Rows) -> PyResult<()> {
        through(py, &self.inner, entries, steps::Steps::take_entries, steps::Steps::walk)
    }

    /// The JSON text of each mount: objects for all of many would take ten times as much.
    fn found(&self) -> PyResult<Vec<(u32, String)>> {
        let walk = self.inner.lock().map_err(|_| poisoned())?;
        Ok(walk.found().iter().map(|(mount, found)| (*mount, evidence(found).to_string())).collect())
    }
}

fn evidence(found: &steps::Evidence) -> Value {
    json!({
        "moves": found.moves,
        "moves_asked": found.moves_asked,
        "moves_frames": found.moves_frames.iter().map(|(_, frame)| frame).collect::<Vec<_>>(),
        "ways_asked": found.ways_asked,
        "ways_asked_twice": found.ways_asked_twice,
        "ways_frames": found.ways_frames.iter().map(|(_, frame)| frame).collect::<Vec<_>>(),
        "visits": found.visits,
        "visits_asked": found.visits_asked,
        "visits_asked_twice": found.visits_asked_twice,
        "visits_frames": found.visits_frames,
        "files_fresh": found.files_fresh,
        "lookups_again": found.lookups_again,
        "paused": found.paused,
        "reads_unasked": found.reads_unasked,
        "reads_asked": found.reads_asked,
    })
}

/// Calls about entries that followed listings.
#[pyclass(frozen, module = "pcapnfs._core")]
pub(crate) struct FollowUps {
    inner: Mutex<Following>,
}

#[pymethods]
impl FollowUps {
    #[new]
    fn new(longest: i64) -> Self {
        Self { inner: Mutex::new(Following::new(longest)) }
    }

    fn walk(&self, py: Python<'_>, rows: Rows) -> PyResult<()> {
        through(py, &self.inner, rows, Following::take, Following::walk)
    }

    fn followed(&self) -> PyResult<Batch> {
        let walk = self.inner.lock().map_err(|_| poisoned())?;
        Ok(of_walk("followed", walk.followed().map_err(|error| rows_error(&error))?))
    }

    fn walls(&self) -> PyResult<[i64; 2]> {
        Ok(self.inner.lock().map_err(|_| poisoned())?.walls())
    }
}

/// Calls about entries that were listed without attributes.
#[pyclass(frozen, module = "pcapnfs._core")]
pub(crate) struct OneByOne {
    inner: Mutex<Asking>,
}

#[pymethods]
impl OneByOne {
    #[new]
    fn new(longest: i64) -> Self {
        Self { inner: Mutex::new(Asking::new(longest)) }
    }

    fn walk(&self, py: Python<'_>, rows: Rows) -> PyResult<Batch> {
        through(py, &self.inner, rows, Asking::take, Asking::walk)?;
        let mut walk = self.inner.lock().map_err(|_| poisoned())?;
        Ok(of_walk("asked", walk.found().map_err(|error| rows_error(&error))?))
    }
}

/// Turns of clients at files.
#[pyclass(frozen, module = "pcapnfs._core")]
pub(crate) struct SharedFiles {
    inner: Mutex<Turns>,
}

#[pymethods]
impl SharedFiles {
    #[new]
    fn new(kept: usize) -> Self {
        Self { inner: Mutex::new(Turns::new(kept)) }
    }

    fn walk(&self, py: Python<'_>, rows: Rows) -> PyResult<()> {
        through(py, &self.inner, rows, Turns::take, Turns::walk)
    }

    fn known(&self) -> PyResult<Batch> {
        let walk = self.inner.lock().map_err(|_| poisoned())?;
        Ok(of_walk("known", walk.known().map_err(|error| rows_error(&error))?))
    }

    fn found(&self) -> PyResult<String> {
        let walk = self.inner.lock().map_err(|_| poisoned())?;
        let found = walk.found().iter().map(|(server, found)| (server.to_string(), shared(found)));
        Ok(Value::Object(found.collect::<Map<_, _>>()).to_string())
    }
}

fn shared(found: &Shared) -> Value {
    let most = found.most.iter().map(|most| {
        json!({"file": most.file, "turns": most.turns, "clients": most.clients, "frames": most.frames})
    });
    json!({"files": found.files, "turns": found.turns, "most": most.collect::<Vec<_>>()})
}

/// READs, WRITEs and COMMITs of files.
#[pyclass(frozen, module = "pcapnfs._core")]
pub(crate) struct Transfers {
    inner: Mutex<transfers::Transfers>,
}

#[pymethods]
impl Transfers {
    #[new]
    fn new(together: i64, soon: i64, page: NonZeroU64) -> Self {
        Self { inner: Mutex::new(transfers::Transfers::new(Spans { together, soon }, page)) }
    }

    fn walk(&self, py: Python<'_>, rows: Rows) -> PyResult<()> {
        through(py, &self.inner, rows, transfers::Transfers::take, transfers::Transfers::walk)
    }

    fn runs(&self) -> PyResult<Batch> {
        let walk = self.inner.lock().map_err(|_| poisoned())?;
        Ok(of_walk("runs", walk.runs().map_err(|error| rows_error(&error))?))
    }

    fn commits(&self) -> PyResult<Batch> {
        let walk = self.inner.lock().map_err(|_| poisoned())?;
        Ok(of_walk("commits", walk.commits().map_err(|error| rows_error(&error))?))
    }

    fn shapes(&self) -> PyResult<String> {
        let walk = self.inner.lock().map_err(|_| poisoned())?;
        let found = walk.shapes().iter().map(|(mount, found)| (mount.to_string(), written(found)));
        Ok(Value::Object(found.collect::<Map<_, _>>()).to_string())
    }
}

fn written(found: &Written) -> Value {
    json!({
        "writes": found.writes,
        "files": found.files,
        "bytes": found.bytes,
        "unaligned": spared(&found.unaligned),
        "appended": found.appended,
        "read_first": spared(&found.read_first),
    })
}

fn spared(found: &Spared) -> Value {
    json!([found.calls, found.share, found.pause, found.frames])
}

/// Files folded into classes.
#[pyclass(frozen, module = "pcapnfs._core")]
pub(crate) struct Patterns {
    inner: Mutex<Walk>,
}

/// How far the folding is.
enum Walk {
    Walking(Folding),
    /// With the classes that are asked for.
    Ended(Folded),
}

impl Walk {
    fn walking(&mut self) -> PyResult<&mut Folding> {
        match self {
            Self::Walking(folding) => Ok(folding),
            Self::Ended(_) => Err(ended()),
        }
    }

    /// Files and classes in all; of these it keeps as many as asked for, those that took longest.
    fn end(&mut self, top: usize) -> PyResult<(u64, usize)> {
        let folding = std::mem::replace(self.walking()?, Folding::new(0));
        let folded = folding.finish(top);
        let told = (folded.files, folded.number);
        *self = Self::Ended(folded);
        Ok(told)
    }

    fn folded(&self) -> PyResult<&Folded> {
        match self {
            Self::Walking(_) => Err(PyValueError::new_err("the walk goes on")),
            Self::Ended(folded) => Ok(folded),
        }
    }
}

#[pymethods]
impl Patterns {
    #[new]
    fn new(longest: usize) -> Self {
        Self { inner: Mutex::new(Walk::Walking(Folding::new(longest))) }
    }

    fn walk(&self, py: Python<'_>, rows: Rows) -> PyResult<()> {
        py.detach(|| {
            let mut walk = self.inner.lock().map_err(|_| poisoned())?;
            let walk = walk.walking()?;
            each(rows, |batch| walk.take(batch)).map_err(|error| rows_error(&error))?;
            walk.walk();
            Ok(())
        })
    }

    fn examples(&self) -> PyResult<Vec<u32>> {
        Ok(self.inner.lock().map_err(|_| poisoned())?.walking()?.examples())
    }

    fn finish(&self, top: Option<usize>) -> PyResult<(u64, usize)> {
        self.inner.lock().map_err(|_| poisoned())?.end(top.unwrap_or(usize::MAX))
    }

    fn shown(&self, begin: usize, end: usize) -> PyResult<String> {
        let walk = self.inner.lock().map_err(|_| poisoned())?;
        let folded = walk.folded()?;
        let some = folded.classes.get(begin..end.min(folded.classes.len())).unwrap_or_default();
        Ok(Value::Array(some.iter().map(|one| class(folded, one)).collect()).to_string())
    }
}

fn class(folded: &Folded, class: &Class) -> Value {
    json!({
        "kind": class.kind,
        "codes": class.runs.iter().map(|run| folded.code(*run)).collect::<Vec<_>>(),
        "cut": class.cut,
        "least": class.runs.iter().map(|run| run.least).collect::<Vec<_>>(),
        "most": class.runs.iter().map(|run| run.most).collect::<Vec<_>>(),
        "files": class.files,
        "calls": class.calls,
        "stable_calls": class.stable_calls,
        "time": class.time,
        "stable_time": class.stable_time,
        "lifetime": class.lifetime,
        "example": class.example.1,
        "slowest": class.slowest.1.0,
    })
}
