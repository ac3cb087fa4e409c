//! Batches → Parquet files, one for each table.
//!
//! Takes what the decoder gives, batch by batch; writes row groups of some 120,000 rows. Promises that
//! memory stays within one row group of each table, however many there are and however long texts are, and that the files can be
//! read by anything that reads Parquet: version 1 pages, words in dictionaries, numbers as steps, zstd
//! with checksums, or for files that are soon gone plain numbers and no compression: reading a page
//! again and again then costs next to nothing. <https://parquet.apache.org/docs/file-format/>
//!
//! Written here because our columns are few kinds of flat values, many of them nearly always NULL:
//! what Arrow holds is nearly what Parquet wants. It takes less than half of what general writers take.

mod column;

mod delta;

mod thrift;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, GenericByteArray, RecordBatch};
use zstd::bulk::Compressor;

use crate::table::Choice;
use crate::table::parquet::column::{Chunk, Encoding, Pages, Range};
use crate::table::parquet::thrift::Struct;
use crate::table::schema::{Column, Kind, TABLES, Table};

/// Rows of a row group. Readers take a row group at a time; DuckDB's own are of this size.
const GROUP_ROWS: usize = 122_880;

/// Bytes of a row group, about, beyond which it ends early: long texts would take any memory.
const GROUP_BYTES: usize = 128 << 20;

/// Bytes of one of its columns, about, beyond which it ends early as well: a reader takes a column of
/// a row group as a whole, and DuckDB one piece of memory for it, of the next power of two. With the
/// batch that goes beyond, paths stay below 8 MB: of 16 MB and some, it took 32 MB at once, and gave up
/// where it had 64 MB in all.
const COLUMN_BYTES: usize = 7 << 20;

/// Rows that DuckDB goes through together, of one row group. What it makes of their texts it holds at once:
/// as JSON, nine times as much as they are.
const VECTOR_ROWS: usize = 2_048;

/// Bytes of a column in so many rows, about, beyond which texts are long: a row group of them ends with as much.
const VECTOR_BYTES: usize = 1 << 20;

/// Numbers as steps have little left to be found: level 1 makes files a tenth smaller, and takes half
/// as long again to write.
const COMPRESSION_LEVEL: i32 = -1;

const MAGIC: &[u8; 4] = b"PAR1";

/// The codes of parquet.thrift.
mod code {
    pub(super) const BOOLEAN: i32 = 0;
    pub(super) const INT32: i32 = 1;
    pub(super) const INT64: i32 = 2;
    pub(super) const BYTE_ARRAY: i32 = 6;
    pub(super) const REQUIRED: i32 = 0;
    pub(super) const OPTIONAL: i32 = 1;
    pub(super) const UTF8: i32 = 0;
    pub(super) const UINT_32: i32 = 13;
    pub(super) const UINT_64: i32 = 14;
    pub(super) const INT_64: i32 = 18;
    pub(super) const PLAIN: i32 = 0;
    pub(super) const RLE: i32 = 3;
    pub(super) const DELTA_BINARY_PACKED: i32 = 5;
    pub(super) const RLE_DICTIONARY: i32 = 8;
    pub(super) const UNCOMPRESSED: i32 = 0;
    pub(super) const ZSTD: i32 = 6;
    pub(super) const DATA_PAGE: i32 = 0;
    pub(super) const DICTIONARY_PAGE: i32 = 2;
}

/// Whether files are there to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// They are: compressed, and on the disk before [`Writer::finish`] returns.
    Long,
    /// For the time of this process.
    Briefly,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows.
    pub rows: u64,
    /// The largest number in each column of unsigned numbers that has any.
    pub highest: BTreeMap<&'static str, u64>,
}

/// The files of a trace, being written.
pub struct Writer {
    files: Vec<TableFile>,
}

impl Writer {
    /// Creates `TABLE.parquet` in a directory for each table of which a column is wanted; `None`: all.
    pub fn create(directory: &Path, choice: Option<&Choice>, keep: Keep) -> io::Result<Self> {
        let wanted = |table: &Table, column: &Column| {
            choice
                .is_none_or(|choice| choice.get(table.name).is_some_and(|names| names.contains(column.name)))
        };
        let mut files = Vec::new();
        for table in TABLES {
            let columns: Vec<_> = table.columns.iter().filter(|column| wanted(table, column)).collect();
            if !columns.is_empty() {
                let path = directory.join(format!("{}.parquet", table.name));
                files.push(TableFile::create(table.name, columns, &path, keep)?);
            }
        }
        Ok(Self { files })
    }

    /// Appends a batch of a table, with exactly the columns that are wanted.
    pub fn write(&mut self, table: &str, batch: &RecordBatch) -> io::Result<()> {
        match self.files.iter_mut().find(|file| file.table == table) {
            Some(file) => file.write(batch),
            None => Err(io::Error::other(format!("no column of {table} is wanted"))),
        }
    }

    /// Ends the files; without this they are none.
    pub fn finish(self) -> io::Result<BTreeMap<&'static str, Written>> {
        self.files.into_iter().map(|file| Ok((file.table, file.finish()?))).collect()
    }
}

/// Bytes of the texts of an array, where each stands by itself.
pub fn text_bytes(array: &dyn Array) -> usize {
    let texts = array.as_string_opt::<i32>().map(GenericByteArray::value_offsets);
    let offsets = texts.or_else(|| array.as_binary_opt::<i32>().map(GenericByteArray::value_offsets));
    let ends = offsets.and_then(|offsets| offsets.first().zip(offsets.last()));
    ends.and_then(|(first, last)| usize::try_from(last - first).ok()).unwrap_or(0)
}

/// One file.
struct TableFile {
    table: &'static str,
    columns: Vec<&'static Column>,
    file: File,
    /// Bytes written.
    offset: u64,
    chunks: Vec<Chunk>,
    /// Rows in them.
    rows: usize,
    groups: Vec<Struct>,
    written: Written,
    /// `None`: pages are not compressed.
    compressor: Option<Compressor<'static>>,
}

impl TableFile {
    fn create(
        table: &'static str,
        columns: Vec<&'static Column>,
        path: &Path,
        keep: Keep,
    ) -> io::Result<Self> {
        let compressor = match keep {
            Keep::Long => {
                let mut compressor = Compressor::new(COMPRESSION_LEVEL)?;
                compressor.include_checksum(true)?;
                Some(compressor)
            }
            Keep::Briefly => None,
        };
        let mut file = File::create(path)?;
        file.write_all(MAGIC)?;
        Ok(Self {
            table,
            chunks: columns.iter().map(|column| Chunk::new(column)).collect(),
            columns,
            file,
            offset: MAGIC.len() as u64,
            rows: 0,
            groups: Vec::new(),
            written: Written::default(),
            compressor,
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let rows = batch.num_rows();
        if rows > 1 && batch.columns().iter().any(|array| text_bytes(array) > VECTOR_BYTES) {
            self.write(&batch.slice(0, rows / 2))?;
            return self.write(&batch.slice(rows / 2, rows - rows / 2));
        }
        if batch.num_columns() != self.chunks.len() {
            return Err(io::Error::other(format!("{} has other columns", self.table)));
        }
        for (chunk, array) in self.chunks.iter_mut().zip(batch.columns()) {
            if !chunk.append(array) {
                return Err(io::Error::other(format!("a column of {} has another type", self.table)));
            }
        }
        self.rows += rows;
        let long = |array: &dyn Array| text_bytes(array) / rows.max(1) >= VECTOR_BYTES / VECTOR_ROWS;
        let columns = || self.chunks.iter().map(Chunk::bytes).zip(batch.columns());
        if self.rows >= GROUP_ROWS
            || columns().map(|(bytes, _)| bytes).sum::<usize>() >= GROUP_BYTES
            || columns().any(|(bytes, array)| bytes >= COLUMN_BYTES || (bytes >= VECTOR_BYTES && long(array)))
        {
            self.end_group()?;
        }
        Ok(())
    }

    /// Writes the row group that is complete.
    fn end_group(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let fresh = self.columns.iter().map(|column| Chunk::new(column)).collect();
        let chunks = std::mem::replace(&mut self.chunks, fresh);
        let begin = self.offset;
        let mut uncompressed = 0;
        let mut described = Vec::with_capacity(chunks.len());
        for (chunk, column) in chunks.into_iter().zip(self.columns.clone()) {
            let (chunk, size) = self.put_chunk(column, chunk.finish(self.compressor.is_some()))?;
            uncompressed += size;
            described.push(chunk);
        }
        self.groups.push(
            Struct::default()
                .structs(1, described.into_iter())
                .i64(2, uncompressed)
                .i64(3, rows as u64)
                .i64(5, begin)
                .i64(6, self.offset - begin),
        );
        self.written.rows += rows as u64;
        Ok(())
    }

    /// Writes the pages of a column; gives their description and their size before compression.
    fn put_chunk(&mut self, column: &'static Column, pages: Pages) -> io::Result<(Struct, u64)> {
        let begin = self.offset;
        let (rows, nulls) = (pages.rows as u64, pages.nulls as u64);
        let worded = pages.dictionary.is_some();
        let encoding = match pages.encoding {
            Encoding::Plain => code::PLAIN,
            Encoding::Words => code::RLE_DICTIONARY,
            Encoding::Steps => code::DELTA_BINARY_PACKED,
        };
        let mut size = 0;
        if let Some((words, count)) = pages.dictionary {
            let header = Struct::default().i32(1, length(count)?).i32(2, code::PLAIN);
            size += self.put_page(code::DICTIONARY_PAGE, 7, header, words, &[])?;
        }
        let data_offset = self.offset;
        let header = Struct::default()
            .i32(1, length(pages.rows)?)
            .i32(2, encoding)
            .i32(3, code::RLE)
            .i32(4, code::RLE);
        size += self.put_page(code::DATA_PAGE, 5, header, pages.data, &pages.plain)?;
        if let Some(high) = pages.range.and_then(Range::high) {
            let highest = self.written.highest.entry(column.name).or_default();
            *highest = high.max(*highest);
        }
        let mut statistics = Struct::default().i64(3, nulls);
        if let Some((low, high)) = pages.range.map(Range::bytes) {
            statistics = statistics.binary(5, &high).binary(6, &low);
        }
        // The words of a dictionary are plain.
        let encodings: &[i32] =
            if worded { &[code::PLAIN, code::RLE, encoding] } else { &[code::RLE, encoding] };
        let mut description = Struct::default()
            .i32(1, physical(column.kind))
            .i32s(2, encodings)
            .binaries(3, &[column.name.as_bytes()])
            .i32(4, if self.compressor.is_some() { code::ZSTD } else { code::UNCOMPRESSED })
            .i64(5, rows)
            .i64(6, size)
            .i64(7, self.offset - begin)
            .i64(9, data_offset);
        if worded {
            description = description.i64(11, begin);
        }
        let description = description.nested(12, statistics);
        Ok((Struct::default().i64(2, begin).nested(3, description), size))
    }

    /// Writes a page, and `more` of it; gives its size before compression.
    fn put_page(
        &mut self,
        kind: i32,
        field: u8,
        header: Struct,
        mut page: Vec<u8>,
        mut more: &[Vec<u8>],
    ) -> io::Result<u64> {
        let size = page.len() + more.iter().map(Vec::len).sum::<usize>();
        let mut stored = size;
        if let Some(compressor) = &mut self.compressor {
            page.reserve_exact(size - page.len());
            for piece in more {
                page.extend_from_slice(piece);
            }
            page = compressor.compress(&page)?;
            (more, stored) = (&[], page.len());
        }
        let header = Struct::default()
            .i32(1, kind)
            .i32(2, length(size)?)
            .i32(3, length(stored)?)
            .nested(field, header)
            .finish();
        self.file.write_all(&header)?;
        self.file.write_all(&page)?;
        for piece in more {
            self.file.write_all(piece)?;
        }
        self.offset += (header.len() + stored) as u64;
        Ok((header.len() + size) as u64)
    }

    fn finish(mut self) -> io::Result<Written> {
        if self.rows > 0 {
            self.end_group()?;
        }
        let root = Struct::default().binary(4, b"schema").i32(5, length(self.columns.len())?);
        let schema: Vec<_> =
            std::iter::once(root).chain(self.columns.iter().map(|column| element(column))).collect();
        // Numbers are ordered as their types are: without this, readers trust no range.
        let orders = self.columns.iter().map(|_| Struct::default().nested(1, Struct::default()));
        let footer = Struct::default()
            .i32(1, 1)
            .structs(2, schema.into_iter())
            .i64(3, self.written.rows)
            .structs(4, self.groups.into_iter())
            .binary(6, concat!("pcapnfs ", env!("CARGO_PKG_VERSION")).as_bytes())
            .structs(7, orders)
            .finish();
        self.file.write_all(&footer)?;
        self.file.write_all(&(length(footer.len())?).to_le_bytes())?;
        self.file.write_all(MAGIC)?;
        if self.compressor.is_some() {
            self.file.sync_all()?;
        }
        Ok(self.written)
    }
}

/// A column in the schema.
fn element(column: &Column) -> Struct {
    let repetition = if column.nullable { code::OPTIONAL } else { code::REQUIRED };
    let base =
        Struct::default().i32(1, physical(column.kind)).i32(3, repetition).binary(4, column.name.as_bytes());
    let integer = |bits, signed| Struct::default().nested(10, Struct::default().i8(1, bits).bool(2, signed));
    match column.kind {
        Kind::Bool | Kind::Bytes => base,
        Kind::U32 => base.i32(6, code::UINT_32).nested(10, integer(32, false)),
        Kind::U64 => base.i32(6, code::UINT_64).nested(10, integer(64, false)),
        Kind::I64 => base.i32(6, code::INT_64).nested(10, integer(64, true)),
        Kind::Name | Kind::Word | Kind::Text => {
            base.i32(6, code::UTF8).nested(10, Struct::default().nested(1, Struct::default()))
        }
    }
}

fn physical(kind: Kind) -> i32 {
    match kind {
        Kind::Bool => code::BOOLEAN,
        Kind::U32 => code::INT32,
        Kind::U64 | Kind::I64 => code::INT64,
        Kind::Name | Kind::Word | Kind::Text | Kind::Bytes => code::BYTE_ARRAY,
    }
}

/// A length as Parquet's headers have it.
fn length(length: usize) -> io::Result<i32> {
    i32::try_from(length).map_err(|_| io::Error::other("a page is too large for Parquet"))
}
