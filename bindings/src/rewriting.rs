//! Captures that are written anew: redacted, or with comments.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use pcapnfs_core::capture::output::{Failure, Packing};
use pcapnfs_core::redact::{KEY_LENGTH, Options, Report};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::{read_error, system_error};
use crate::file;

/// Writes captures without names and data.
#[pyfunction]
#[pyo3(signature = (
    paths, to, scratch, key, strict=false, packing="none", ports=Vec::new(), progress=None, files_bytes=None
))]
#[expect(clippy::needless_pass_by_value, clippy::too_many_arguments, reason = "as `_core.pyi` has them")]
pub(crate) fn redact(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    to: PathBuf,
    scratch: PathBuf,
    key: [u8; KEY_LENGTH],
    strict: bool,
    packing: &str,
    ports: Vec<u16>,
    progress: Option<Py<PyAny>>,
    files_bytes: Option<usize>,
) -> PyResult<String> {
    let options = Options { key, strict, ports, packing: packing_of(packing)?, files_bytes };
    let mut asking = Asking { progress, stop: None };
    let outcome = py.detach(|| {
        let (to, scratch) = (existing(&to)?, existing(&scratch)?);
        pcapnfs_core::redact::redact(&paths, to, scratch, &options, |done| asking.go_on(done))
    });
    Ok(redacted(&asking.settled(outcome)?).to_string())
}

fn redacted(report: &Report) -> Value {
    json!({
        "files": report.files.iter().map(file).collect::<Vec<_>>(),
        "packets": report.packets,
        "removed_bytes": report.removed_bytes,
        "messages": report.messages,
        "replaced": report.replaced,
    })
}

/// Writes captures with comments.
#[pyfunction]
#[pyo3(signature = (paths, to, comments, packing="none", progress=None))]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
pub(crate) fn annotate(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    to: PathBuf,
    comments: BTreeMap<u64, Vec<String>>,
    packing: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let packing = packing_of(packing)?;
    let mut asking = Asking { progress, stop: None };
    let outcome = py.detach(|| {
        let to = existing(&to)?;
        pcapnfs_core::annotate::annotate(&paths, to, packing, &comments, |done| asking.go_on(done))
    });
    let report = asking.settled(outcome)?;
    let damage = report.damage.iter().map(|(path, what)| json!([path.to_string_lossy(), what]));
    Ok(json!({
        "packets": report.packets,
        "comments": report.comments,
        "damage": damage.collect::<Vec<_>>(),
    })
    .to_string())
}

/// Asks Python whether to go on, and keeps what it said if not.
struct Asking {
    progress: Option<Py<PyAny>>,
    stop: Option<PyErr>,
}

impl Asking {
    fn go_on(&mut self, done: f64) -> bool {
        let asked = Python::attach(|py| {
            py.check_signals()?;
            self.progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done,)).map(drop))
        });
        self.stop = asked.err();
        self.stop.is_none()
    }

    fn settled<T>(self, outcome: Result<T, Failure>) -> PyResult<T> {
        match (outcome, self.stop) {
            (_, Some(stop)) => Err(stop),
            (Ok(report), None) => Ok(report),
            (Err(Failure::Read(error)), None) => Err(read_error(&error)),
            (Err(Failure::Write(error)), None) => Err(system_error(&error)),
            (Err(Failure::Stopped), None) => Err(PyKeyboardInterrupt::new_err(())),
        }
    }
}

fn packing_of(name: &str) -> PyResult<Packing> {
    match name {
        "none" => Ok(Packing::None),
        "gzip" => Ok(Packing::Gzip),
        "zstd" => Ok(Packing::Zstd),
        other => Err(PyValueError::new_err(format!("no packing is called {other}"))),
    }
}

fn existing(path: &Path) -> std::io::Result<File> {
    File::options().read(true).write(true).open(path)
}
