//! The Python module `pcapnfs._core`: signatures, the GIL released, one call into the core, Arrow out.
//!
//! No decisions are taken here. What the functions mean is written in `pcapnfs/_core.pyi`.

mod error;
mod intervals;
mod rewriting;
mod walking;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Mutex;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use pcapnfs_core::decode::{FileSummary, Meta};
use pcapnfs_core::nfs::attributes::ATTRIBUTES;
use pcapnfs_core::nfs::catalogue;
use pcapnfs_core::stream::vain::Vain;
use pcapnfs_core::table::schema::{Column, TABLES, Table};
use pcapnfs_core::table::{Choice, parquet};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::{Value, json};

use crate::error::{ReadError, RowsError, arrow_error, ended, poisoned, read_error, system_error};

/// Rows of one table, as an Arrow stream.
#[pyclass(frozen, module = "pcapnfs._core")]
struct Batch {
    #[pyo3(get)]
    table: &'static str,
    first: RecordBatch,
    /// Of the same columns.
    rest: Vec<RecordBatch>,
}

impl Batch {
    fn all(&self) -> impl Iterator<Item = &RecordBatch> {
        std::iter::once(&self.first).chain(&self.rest)
    }
}

#[pymethods]
impl Batch {
    #[getter]
    fn rows(&self) -> usize {
        self.all().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn text_bytes(&self) -> usize {
        self.all().flat_map(RecordBatch::columns).map(|texts| parquet::text_bytes(texts)).sum()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema.cloned()); // A hint: the consumer casts.
        let batches: Vec<_> = self.all().cloned().map(Ok).collect();
        let batches = RecordBatchIterator::new(batches, self.first.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// Decodes captures, batch by batch.
#[pyclass(frozen, module = "pcapnfs._core")]
struct Decoder {
    inner: Mutex<pcapnfs_core::decode::Decoder>,
}

#[pymethods]
impl Decoder {
    #[new]
    #[pyo3(signature = (paths, ports=Vec::new(), columns=None, files_bytes=None))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        ports: Vec<u16>,
        columns: Option<Choice>,
        files_bytes: Option<usize>,
    ) -> PyResult<Self> {
        let mut inner = py
            .detach(|| pcapnfs_core::decode::Decoder::open(&paths, &ports))
            .map_err(|error| read_error(&error))?;
        if let Some(columns) = columns {
            inner.choose(&columns);
        }
        if let Some(bytes) = files_bytes {
            inner.allow(bytes);
        }
        Ok(Self { inner: Mutex::new(inner) })
    }

    fn next(&self, py: Python<'_>) -> PyResult<Option<Vec<Batch>>> {
        let batches = py.detach(|| {
            let mut decoder = self.inner.lock().map_err(|_| poisoned())?;
            decoder.next_batches().map_err(|error| arrow_error(&error))
        })?;
        let one = |(table, batch)| Batch { table, first: batch, rest: Vec::new() };
        Ok(batches.map(|batches| batches.into_iter().map(one).collect()))
    }

    fn progress(&self) -> PyResult<(u64, u64)> {
        Ok(self.inner.lock().map_err(|_| poisoned())?.progress())
    }

    fn captures(&self) -> PyResult<Vec<OsString>> {
        let decoder = self.inner.lock().map_err(|_| poisoned())?;
        Ok(decoder.finish().files.iter().map(|file| file.path.clone().into()).collect())
    }

    fn finish(&self) -> PyResult<String> {
        Ok(meta(self.inner.lock().map_err(|_| poisoned())?.finish()).to_string())
    }
}

/// Writes batches into Parquet files.
#[pyclass(frozen, module = "pcapnfs._core")]
struct Writer {
    inner: Mutex<Option<parquet::Writer>>,
}

#[pymethods]
impl Writer {
    #[new]
    #[pyo3(signature = (directory, columns=None, brief=false))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
    fn new(directory: PathBuf, columns: Option<Choice>, brief: bool) -> PyResult<Self> {
        let keep = if brief { parquet::Keep::Briefly } else { parquet::Keep::Long };
        let writer = parquet::Writer::create(&directory, columns.as_ref(), keep)
            .map_err(|error| system_error(&error))?;
        Ok(Self { inner: Mutex::new(Some(writer)) })
    }

    #[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
    fn write(&self, py: Python<'_>, batches: Vec<PyRef<'_, Batch>>) -> PyResult<()> {
        let batches: Vec<&Batch> = batches.iter().map(|batch| &**batch).collect();
        py.detach(|| {
            let mut writer = self.inner.lock().map_err(|_| poisoned())?;
            let writer = writer.as_mut().ok_or_else(ended)?;
            let mut rows = batches.iter().flat_map(|batch| batch.all().map(|rows| (batch.table, rows)));
            rows.try_for_each(|(table, rows)| writer.write(table, rows)).map_err(|error| system_error(&error))
        })
    }

    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let written = py.detach(|| {
            let writer = self.inner.lock().map_err(|_| poisoned())?.take().ok_or_else(ended)?;
            writer.finish().map_err(|error| system_error(&error))
        })?;
        let table = |written: &parquet::Written| json!({"rows": written.rows, "highest": written.highest});
        Ok(json!(written.iter().map(|(name, written)| (*name, table(written))).collect::<BTreeMap<_, _>>())
            .to_string())
    }
}

fn meta(meta: &Meta) -> Value {
    json!({
        "files": meta.files.iter().map(file).collect::<Vec<_>>(),
        "packets": meta.packets,
        "limits_hit": meta.limits_hit,
        "calls": meta.calls,
        "nfs_calls": meta.nfs_calls,
        "undecoded": meta.undecoded,
        "copies_apart": meta.apart.copies,
        "apart_ns": meta.apart.mean_ns(),
        "vlan_tags": meta.around.vlan_tags,
        "hidden": meta.around.hidden,
        "silent_connections": meta.silent_connections,
        "refused_connections": meta.refused_connections,
        "vain": meta.vain.iter().map(vain).collect::<Vec<_>>(),
    })
}

fn vain(vain: &Vain) -> Value {
    json!({
        "client": vain.client.to_string(),
        "server": vain.server.ip().to_string(),
        "port": vain.server.port(),
        "attempts": vain.attempts,
        "syns": vain.syns,
        "refusals": vain.refusals,
        "first_ns": vain.first_ns,
        "last_ns": vain.last_ns,
        "frame": vain.frame,
    })
}

pub(crate) fn file(file: &FileSummary) -> Value {
    json!({
        "path": file.path.to_string_lossy(),
        "format": file.format,
        "link_types": file.links.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "packets": file.packets,
        "bytes": file.bytes,
        "start_ns": file.start_ns,
        "end_ns": file.end_ns,
        "snaplen": file.snaplen,
        "truncated_packets": file.truncated_packets,
        "first_frame": file.first_frame,
        "last_frame": file.last_frame,
        "untimed_packets": file.untimed_packets,
        "mistimed_packets": file.mistimed_packets,
        "late_packets": file.late_packets,
        "set_back": file.set_back,
        "set_back_ns": file.set_back_ns,
        "set_back_frame": file.set_back_frame,
        "set_forward": file.set_forward,
        "set_forward_ns": file.set_forward_ns,
        "set_forward_frame": file.set_forward_frame,
        "untold_pause_ns": file.untold_pause_ns,
        "untold_pause_frame": file.untold_pause_frame,
        "followers": file.followers,
        "passed_bytes": file.passed_bytes,
        "trailing_bytes": file.trailing_bytes,
        "dropped_packets": file.dropped_packets,
        "damage": file.damage,
    })
}

/// Whether a file is a capture by its first bytes.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn is_capture(py: Python<'_>, path: PathBuf) -> PyResult<Option<bool>> {
    py.detach(|| pcapnfs_core::capture::is_capture(&path)).map_err(|error| read_error(&error))
}

/// The tables and their columns, as JSON.
#[pyfunction]
fn schema() -> String {
    let column = |column: &Column| {
        json!({
            "name": column.name,
            "sql": column.kind.sql(),
            "nullable": column.nullable,
            "unit": column.unit,
            "meaning": column.meaning,
        })
    };
    let table = |table: &&Table| {
        json!({
            "name": table.name,
            "meaning": table.meaning,
            "columns": table.columns.iter().map(column).collect::<Vec<_>>(),
        })
    };
    Value::Array(TABLES.iter().map(table).collect()).to_string()
}

/// The operation table, as JSON.
#[pyfunction]
fn operations() -> String {
    let rows = catalogue().map(|(protocol, operation)| {
        json!({
            "protocol": protocol,
            "number": operation.number,
            "name": operation.name,
            "first_minor": operation.first_minor,
            "subject": format!("{:?}", operation.subject),
            "effect": format!("{:?}", operation.effect),
            "stability": format!("{:?}", operation.stability),
            "rank": operation.rank,
            "small": operation.small,
            "source": operation.source,
            "decoded": operation.decoded,
        })
    });
    Value::Array(rows.collect()).to_string()
}

/// The attributes of NFSv4, as JSON.
#[pyfunction]
fn attributes() -> String {
    let rows = ATTRIBUTES.iter().map(|attribute| {
        json!({
            "number": attribute.number,
            "name": attribute.name,
            "first_minor": attribute.first_minor,
            "kept": attribute.kept,
        })
    });
    Value::Array(rows.collect()).to_string()
}

/// The reasons for which messages are not decoded, as JSON.
#[pyfunction]
fn reasons() -> String {
    let reasons = pcapnfs_core::error::Reason::ALL.iter();
    let rows = reasons.map(|reason| json!({"code": reason.code(), "meaning": reason.meaning()}));
    Value::Array(rows.collect()).to_string()
}

/// Batches of one table as one.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn joined(batches: Vec<PyRef<'_, Batch>>) -> PyResult<Batch> {
    let mut all = batches.iter().flat_map(|batch| batch.all().cloned());
    let (Some(first), Some(table)) = (all.next(), batches.first().map(|batch| batch.table)) else {
        return Err(PyValueError::new_err("there is nothing to join"));
    };
    if batches.iter().any(|batch| batch.table != table) {
        return Err(PyValueError::new_err("only batches of one table can be joined"));
    }
    Ok(Batch { table, first, rest: all.collect() })
}

/// The version of the core.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The module.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Batch>()?;
    module.add_class::<Decoder>()?;
    module.add_class::<Writer>()?;
    module.add_class::<walking::Answered>()?;
    module.add_class::<walking::FollowUps>()?;
    module.add_class::<walking::OneByOne>()?;
    module.add_class::<walking::Patterns>()?;
    module.add_class::<walking::SharedFiles>()?;
    module.add_class::<walking::Steps>()?;
    module.add_class::<walking::Transfers>()?;
    module.add("ReadError", module.py().get_type::<ReadError>())?;
    module.add("RowsError", module.py().get_type::<RowsError>())?;
    module.add_function(wrap_pyfunction!(joined, module)?)?;
    module.add_function(wrap_pyfunction!(is_capture, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(operations, module)?)?;
    module.add_function(wrap_pyfunction!(attributes, module)?)?;
    module.add_function(wrap_pyfunction!(reasons, module)?)?;
    module.add_function(wrap_pyfunction!(rewriting::annotate, module)?)?;
    module.add_function(wrap_pyfunction!(rewriting::redact, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::equal_shares, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::in_order, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::levels, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::open_at_begin, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::pauses, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::rounded_shares, module)?)?;
    module.add_function(wrap_pyfunction!(intervals::under_way, module)?)?;
    module.add_function(wrap_pyfunction!(walking::held, module)?)?;
    module.add_function(wrap_pyfunction!(walking::learned, module)?)?;
    Ok(())
}
