//! CRC-32 of a file handle, by which Wireshark names it (IEEE 802.3, as gzip and Ethernet use it).
//!
//! Handles are short and there are many: flate2's, made for long data, copies its tables of 8 KB for
//! each of them.

/// The polynomial with its bits in reverse order.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// What each value of a byte does to the sum.
const TABLE: [u32; 256] = table();

/// The checksum of `bytes`.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        let [low, ..] = sum.to_le_bytes();
        let effect = TABLE.get(usize::from(low ^ byte)).copied().unwrap_or_default();
        sum >> 8 ^ effect
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[allow(clippy::indexing_slicing)] // When compiling: a place that is not there would be an error.
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut effect = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            effect = if effect & 1 == 0 { effect >> 1 } else { effect >> 1 ^ POLYNOMIAL };
            bit += 1;
        }
        table[byte] = effect;
        byte += 1;
    }
    table
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
