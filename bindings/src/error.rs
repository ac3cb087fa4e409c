//! Errors of the core → Python exceptions. The only place.

use std::io;

use pcapnfs_core::error::plain;
use pyo3::exceptions::{PyException, PyOSError, PyRuntimeError, PyValueError};
use pyo3::{PyErr, create_exception};

create_exception!(pcapnfs._core, ReadError, PyException, "A file could not be read as a capture.");

create_exception!(pcapnfs._core, RowsError, PyException, "Rows could not be taken over.");

/// A file that is no capture, or that the system does not let us read.
pub(crate) fn read_error(error: &pcapnfs_core::error::ReadError) -> PyErr {
    ReadError::new_err(error.to_string())
}

/// Something that the system does not let us write, as Python's own functions say it.
pub(crate) fn system_error(error: &io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, plain(error))),
        None => PyOSError::new_err(error.to_string()),
    }
}

/// Columns of one batch that do not fit together: a fault of ours.
pub(crate) fn arrow_error(error: &impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(format!("internal error: {error}"))
}

/// Rows that the database could not give, or of other columns than a walk takes.
pub(crate) fn rows_error(error: &impl std::fmt::Display) -> PyErr {
    RowsError::new_err(error.to_string())
}

/// Another thread died while it was decoding.
pub(crate) fn poisoned() -> PyErr {
    PyRuntimeError::new_err("internal error: the decoder was interrupted in another thread")
}

/// Something is to be added after the end: a fault of the caller.
pub(crate) fn ended() -> PyErr {
    PyValueError::new_err("it was ended before")
}
