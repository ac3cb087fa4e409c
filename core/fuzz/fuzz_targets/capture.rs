//! Bytes → [`pcapnfs_fuzz::capture`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pcapnfs_fuzz::within_limits(data, pcapnfs_fuzz::capture));
