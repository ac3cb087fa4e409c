//! Thrift's compact protocol, as far as Parquet's page headers and footer need it.
//!
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>

/// Types as field and list headers have them.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct in the making. Fields are written in ascending order of their numbers.
#[derive(Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    pub(super) fn i8(mut self, field: u8, value: i8) -> Self {
        self.field(field, 3);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    pub(super) fn bool(mut self, field: u8, value: bool) -> Self {
        self.field(field, if value { 1 } else { 2 });
        self
    }

    pub(super) fn i32(mut self, field: u8, value: i32) -> Self {
        self.field(field, I32);
        varint(&mut self.bytes, zigzag(value.into()));
        self
    }

    pub(super) fn i64(mut self, field: u8, value: u64) -> Self {
        self.field(field, I64);
        varint(&mut self.bytes, zigzag(value.cast_signed()));
        self
    }

    pub(super) fn binary(mut self, field: u8, value: &[u8]) -> Self {
        self.field(field, BINARY);
        binary(&mut self.bytes, value);
        self
    }

    pub(super) fn nested(mut self, field: u8, value: Self) -> Self {
        self.field(field, STRUCT);
        self.bytes.extend(value.finish());
        self
    }

    pub(super) fn structs(mut self, field: u8, values: impl ExactSizeIterator<Item = Self>) -> Self {
        self.list(field, STRUCT, values.len());
        values.for_each(|value| self.bytes.extend(value.finish()));
        self
    }

    pub(super) fn i32s(mut self, field: u8, values: &[i32]) -> Self {
        self.list(field, I32, values.len());
        for value in values {
            varint(&mut self.bytes, zigzag((*value).into()));
        }
        self
    }

    pub(super) fn binaries(mut self, field: u8, values: &[&[u8]]) -> Self {
        self.list(field, BINARY, values.len());
        for value in values {
            binary(&mut self.bytes, value);
        }
        self
    }

    /// The struct's bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn list(&mut self, field: u8, kind: u8, length: usize) {
        self.field(field, LIST);
        if let Ok(length @ 0..15) = u8::try_from(length) {
            self.bytes.push((length << 4) | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, length as u64);
        }
    }

    fn field(&mut self, field: u8, kind: u8) {
        debug_assert!(self.last < field && field - self.last < 16, "fields ascend");
        self.bytes.push(((field - self.last) << 4) | kind);
        self.last = field;
    }
}

fn binary(bytes: &mut Vec<u8>, value: &[u8]) {
    varint(bytes, value.len() as u64);
    bytes.extend(value);
}

/// Small numbers of either sign to small numbers without: 0, -1, 1, -2 … to 0, 1, 2, 3 …
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Seven bits a byte, the lowest first.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::{Struct, varint, zigzag};

    #[test]
    fn numbers_are_written_as_the_specification_shows() {
        let written = |value| {
            let mut bytes = Vec::new();
            varint(&mut bytes, value);
            bytes
        };
        assert_eq!(written(0), [0]);
        assert_eq!(written(127), [0x7f]);
        assert_eq!(written(50399), [0xdf, 0x89, 0x03]);
        assert_eq!(written(u64::MAX).len(), 10);
        assert_eq!([0, -1, 1, -2, i64::MAX, i64::MIN].map(zigzag), [0, 1, 2, 3, u64::MAX - 1, u64::MAX]);
    }

    #[test]
    fn a_struct_is_headers_values_and_a_stop() {
        let inner = Struct::default().i8(1, -1).bool(2, true);
        let outer = Struct::default().i32(1, 1).binary(4, b"ab").nested(5, inner).i32s(6, &[0; 15]);
        let expected: &[&[u8]] = &[
            &[0x15, 2],             // 1: i32
            &[0x38, 2, b'a', b'b'], // 4: binary, three further on
            &[0x1c, 0x13, 0xff, 0x11, 0],
            &[0x19, 0xf5, 15], // 6: a list too long for its header
            &[0; 15],
            &[0],
        ];
        assert_eq!(outer.finish(), expected.concat());
    }
}
