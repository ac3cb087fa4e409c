//! CRC-32 of a file handle, by which Wireshark names it (IEEE 802.3, as gzip and Ethernet use it).
//!
//! Handles are short and there are many: flate2's, made for long data, copies its tables of 8 KB for
//! each of them.

/// The polynomial with its bits in reverse order.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// What each value of a byte does to the sum that has none, one, two or three bytes after it.
static TABLES: [[u32; 256]; 4] = tables();

/// The checksum of `bytes`.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let [last, third, second, first] = &TABLES;
    let effect = |table: &[u32; 256], byte: u8| table.get(usize::from(byte)).copied().unwrap_or_default();
    let four = |sum: u32, word: &[u8; 4]| {
        let [a, b, c, d] = (sum ^ u32::from_le_bytes(*word)).to_le_bytes();
        effect(first, a) ^ effect(second, b) ^ effect(third, c) ^ effect(last, d)
    };
    let one = |sum: u32, byte: &u8| sum >> 8 ^ effect(last, sum as u8 ^ byte);
    let (words, rest) = bytes.as_chunks();
    !rest.iter().fold(words.iter().fold(u32::MAX, four), one)
}

#[expect(clippy::indexing_slicing, reason = "when compiling: a place that is not there would be an error")]
const fn tables() -> [[u32; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut effect = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            effect = if effect & 1 == 0 { effect >> 1 } else { effect >> 1 ^ POLYNOMIAL };
            bit += 1;
        }
        tables[0][byte] = effect;
        byte += 1;
    }
    let mut entry = 0;
    while entry < 3 * 256 {
        let before = tables[entry / 256][entry % 256];
        tables[entry / 256 + 1][entry % 256] = before >> 8 ^ tables[0][(before & 0xff) as usize];
        entry += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_check_value_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    proptest! {
        #[test]
        fn as_flate2_computes_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut reference = flate2::Crc::new();
            reference.update(&bytes);
            prop_assert_eq!(crc32(&bytes), reference.sum());
        }
    }
}
