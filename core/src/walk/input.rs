//! Columns of a batch by their names.

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, BooleanArray, PrimitiveArray, RecordBatch};
use arrow_schema::ArrowError;

/// A column of numbers; NULL is None.
pub(super) fn numbers<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a PrimitiveArray<T>, ArrowError> {
    column(batch, name)
}

/// A column of numbers without NULL.
pub(crate) fn whole<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a [T::Native], ArrowError> {
    let found = numbers::<T>(batch, name)?;
    if found.null_count() > 0 {
        return Err(ArrowError::SchemaError(format!("{name} has NULL")));
    }
    Ok(found.values())
}

/// What a column of numbers has in a row; NULL is None.
pub(super) fn number<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

/// What a column of truth values has in a row; NULL is None.
pub(super) fn flag(column: &BooleanArray, row: usize) -> Option<bool> {
    column.is_valid(row).then(|| column.value(row))
}

/// A column of truth values.
pub(super) fn flags<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a BooleanArray, ArrowError> {
    column(batch, name)
}

fn column<'a, A: Array + 'static>(batch: &'a RecordBatch, name: &str) -> Result<&'a A, ArrowError> {
    let found = batch
        .column_by_name(name)
        .ok_or_else(|| ArrowError::SchemaError(format!("there is no column {name}")))?;
    found
        .as_any()
        .downcast_ref()
        .ok_or_else(|| ArrowError::SchemaError(format!("{name} is {}", found.data_type())))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::{UInt32Type, UInt64Type};
    use arrow_array::{ArrayRef, UInt32Array};

    use super::*;

    #[test]
    fn a_column_that_is_not_as_expected_is_named() {
        let column: ArrayRef = Arc::new(UInt32Array::from(vec![Some(1), None]));
        let batch = RecordBatch::try_from_iter([("file", column)]).unwrap();
        let why = |error: ArrowError| error.to_string();
        assert_eq!(numbers::<UInt32Type>(&batch, "file").unwrap().value(0), 1);
        assert!(why(whole::<UInt32Type>(&batch, "file").unwrap_err()).contains("file has NULL"));
        assert!(why(numbers::<UInt64Type>(&batch, "file").unwrap_err()).contains("file is UInt32"));
        assert!(why(flags(&batch, "mount").unwrap_err()).contains("no column mount"));
    }
}
