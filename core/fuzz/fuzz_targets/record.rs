//! Bytes → [`pcapnfs_fuzz::record`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pcapnfs_fuzz::within_limits(data, pcapnfs_fuzz::record));
