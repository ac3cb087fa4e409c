use super::v3::fattr3_by_steps;
use super::v4::{attribute_list, nfstime4_by_steps};
use super::values::read_attribute;
use super::*;
use crate::cursor::Cursor;
use crate::error::{Layer, Reason};
use crate::nfs::facts::{Attributes, WeakCacheAttributes};
use crate::nfs::types::FileType;

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// `fattr4` with `values` for the attributes in `mask`.
fn encoded(mask: [u32; 3], values: &[u32]) -> Vec<u8> {
    let mut words = vec![3, mask[0], mask[1], mask[2], values.len() as u32 * 4];
    words.extend(values);
    bytes(&words)
}

fn decoded(encoded: &[u8]) -> (Attributes<'_>, Result<()>, usize) {
    let mut cursor = Cursor::new(encoded, Layer::Reply);
    let (mut mask, mut attributes) = (None, None);
    let outcome = fattr4(&mut cursor, &mut mask, &mut attributes).unwrap();
    (attributes.unwrap(), outcome, cursor.remaining())
}

const ABCD: u32 = 0x6162_6364;

/// A value of every attribute whose size is not fixed, or that is easily mistaken.
fn value(number: u32) -> Vec<u32> {
    let ace = [0, 0, 0x1f, 3, ABCD & 0xffff_ff00];
    match number {
        0 | 75 => vec![2, 0xffff, 0xffff],
        3 | 4 | 20..=23 | 27 | 30 | 31 | 38..=40 | 42..=45 | 55 | 73 | 78 => vec![0, 7],
        8 | 60 => vec![0, 1, 0, 2],
        12 => [&[2], &ace[..], &ace[..]].concat(),
        58 | 59 => [&[0, 1], &ace[..]].concat(),
        19 | 32 | 36 | 37 => vec![4, ABCD],
        24 => vec![1, 4, ABCD, 1, 1, 4, ABCD, 2, 4, ABCD, 4, ABCD],
        41 | 74 | 81 => vec![1, 2],
        47 | 49..=53 | 56 | 57 | 84 | 85 => vec![0, 1, 500],
        48 => vec![1, 0, 1, 500],
        54 => vec![0],
        61 => vec![0, 1, 4, ABCD, 4, ABCD, 0, 0, 1, 500],
        62 | 64 => vec![2, 1, 4],
        63 => vec![4, 4, ABCD],
        67 => vec![0, 60, 1, 4, ABCD, 1, 1, 0, 4, ABCD, 4, ABCD, 1, 4, ABCD],
        68 => vec![1, 4, 1, 0xf, 4, ABCD],
        69 => vec![0, 9, 1, 0, 1, 500],
        71 => vec![0, 9, 0],
        70 => vec![1, 1, 0, 9],
        72 => vec![1, 0],
        80 => vec![0, 0, 4, ABCD],
        86 => vec![1, 3, 1, 3, 1, 0x1f, 1, 0x7f, 1, 0xf],
        _ => vec![1],
    }
}

#[test]
fn the_table_holds_every_attribute_at_its_number() {
    assert_eq!(ATTRIBUTES.len(), 87);
    for (place, attribute) in ATTRIBUTES.iter().enumerate() {
        assert_eq!(attribute.number as usize, place, "{}", attribute.name);
    }
    let of_minor = |minor| ATTRIBUTES.iter().filter(|a| a.first_minor == minor).count();
    assert_eq!([of_minor(0), of_minor(1), of_minor(2)], [56, 21, 10]);
    let named = |number: usize| ATTRIBUTES[number].name;
    assert_eq!(
        [named(11), named(33), named(53), named(77)],
        ["rdattr_error", "mode", "time_modify", "clone_blksize"]
    );
}

#[test]
fn each_attribute_takes_its_value_and_cut_short_it_is_malformed() {
    for attribute in ATTRIBUTES {
        let value = bytes(&value(attribute.number));
        let mut cursor = Cursor::new(&value, Layer::Reply);
        let outcome = read_attribute(attribute.number, &mut cursor, &mut Attributes::default());
        assert_eq!((outcome, cursor.remaining()), (Ok(true), 0), "{}", attribute.name);
        for end in 0..value.len() {
            let mut cursor = Cursor::new(&value[..end], Layer::Reply);
            let outcome = read_attribute(attribute.number, &mut cursor, &mut Attributes::default());
            assert!(outcome.is_err_and(|e| e.reason == Reason::Malformed), "{} at {end}", attribute.name);
        }
    }
}

#[test]
fn all_attributes_at_once_give_what_is_kept() {
    let values: Vec<u32> = (0..87).flat_map(value).collect();
    let encoded = encoded([u32::MAX, u32::MAX, (1 << (87 - 64)) - 1], &values);
    let (attributes, outcome, left) = decoded(&encoded);
    assert_eq!((outcome, left), (Ok(()), 0));
    let expected = Attributes {
        file_type: Some(FileType::REG),
        mode: Some(1),
        links: Some(1),
        size: Some(7),
        used: Some(7),
        fsid: Some((1, 2)),
        fileid: Some(7),
        mounted_on_fileid: Some(7),
        change: Some(7),
        mtime_ns: Some(1_000_000_500),
        ctime_ns: Some(1_000_000_500),
        handle: Some(b"abcd"),
        error: Some(1),
        max_read: Some(7),
        max_write: Some(7),
        lease_time_s: Some(1),
    };
    assert_eq!(attributes, expected);
}

#[test]
fn usual_attributes_are_read_as_the_table_reads_them() {
    const LINUX: [u32; 3] = [0x0010_011a, 0x00b0_a23a, 0];
    let numbers = (0..96).map(|number| 1_u128 << number).chain([0]);
    let masks = numbers.flat_map(|bit| [bit, bit | 1 << 53, bit | 1 << 1, bit | 0x00b0_a23a_0018_091a]);
    let masks = masks.map(|mask| [0, 32, 64].map(|first| (mask >> first) as u32)).chain([LINUX]);
    for mask in masks {
        let present = |number: &u32| mask[*number as usize / 32] & 1 << (number % 32) != 0;
        let list = bytes(&(0..96).filter(present).flat_map(value).collect::<Vec<_>>());
        let usual = [0x0018_091a, 0x00b0_a23a, 0];
        assert_eq!(usual::is_usual(mask), mask.iter().zip(usual).all(|(mask, usual)| mask & !usual == 0));
        if !usual::is_usual(mask) {
            continue;
        }
        // All there, and each way to break off; and lengths that lie.
        let cut = (0..=list.len()).map(|end| list[..end].to_vec());
        let long = (0..list.len()).map(|place| [&list[..place], &[0xff], &list[place + 1..]].concat());
        for list in cut.chain(long).chain([[&list[..], &[0; 8]].concat()]) {
            let (mut fast, mut slow) = (Attributes::default(), Attributes::default());
            let read = usual::read(&list, mask, &mut fast);
            let outcome = attribute_list(&mut Cursor::new(&list, Layer::Reply), mask, &mut slow);
            assert_eq!(read.is_some(), outcome.is_ok(), "{mask:x?} {list:x?}");
            assert!(read.is_none() || fast == slow, "{mask:x?} {list:x?}");
        }
    }
}

#[test]
fn an_access_list_and_an_owner_before_a_time_do_not_disturb_it() {
    let mask = [1 << 12, 1 << (36 - 32) | 1 << (53 - 32), 0];
    let values = [
        1,
        0,
        0,
        0x1f,
        6,
        0x4f57_4e45,
        0x5240_0000, // acl: one entry of OWNER@
        4,
        ABCD, // owner
        0,
        10,
        7, // time_modify
    ];
    let encoded = encoded(mask, &values);
    let (attributes, outcome, _) = decoded(&encoded);
    assert_eq!((attributes.mtime_ns, outcome), (Some(10_000_000_007), Ok(())));
}

#[test]
fn a_list_cut_by_the_snaplen_keeps_what_it_held_and_says_so() {
    let encoded = encoded([1 << 3 | 1 << 4, 0, 0], &[0, 77, 0, 4096]);
    let captured = &encoded[..encoded.len() - 4];
    let mut cursor = Cursor::of_prefix(captured, encoded.len(), Reason::Truncated, Layer::Reply);
    let (mut mask, mut attributes) = (None, None);
    let outcome = fattr4(&mut cursor, &mut mask, &mut attributes).unwrap();
    assert_eq!(outcome.unwrap_err().reason, Reason::Truncated);
    assert_eq!(attributes.map(|a| (a.change, a.size)), Some((Some(77), None)));
    assert_eq!((mask, cursor.remaining()), (Some([24, 0, 0]), 0));
}

#[test]
fn a_bitmap_of_any_length_keeps_96_bits() {
    let read = |words: &[u32]| bitmap4(&mut Cursor::new(&bytes(words), Layer::Call)).map_err(|e| e.reason);
    assert_eq!(read(&[0]), Ok([0, 0, 0]));
    assert_eq!(read(&[1, 5]), Ok([5, 0, 0]));
    assert_eq!(read(&[2, 5, 6]), Ok([5, 6, 0]));
    assert_eq!(read(&[3, 5, 6, 7]), Ok([5, 6, 7]));
    assert_eq!(read(&[3, 5, 6]), Err(Reason::Malformed));
    assert_eq!(read(&[5, 1, 2, 3, 4, 5]), Ok([1, 2, 3]));
    assert_eq!(read(&[u32::MAX, 1, 2, 3]), Err(Reason::Malformed));
}

#[test]
fn a_listing_is_plus_when_it_asks_for_more_than_file_numbers_and_types() {
    let plain = [1 << 1 | 1 << 11 | 1 << 20, 1 << 23, 0];
    assert!(!plus_mask([0; 3]) && !plus_mask(plain));
    assert!(!plus_mask([0x0802, 0x0080_0000, 0]), "Linux, mounted with nordirplus");
    assert!(plus_mask([0x0018_091a, 0x00b0_a23a, 0]), "Linux by default");
    assert!(plus_mask([plain[0] | 1 << 19, plain[1], 0]), "filehandle");
    assert!(plus_mask([plain[0], plain[1] | 1 << 1, 0]), "mode");
    assert!(plus_mask([plain[0], plain[1], 1 << 16]), "a security label");
}

#[test]
fn fattr3_is_read_in_the_order_of_the_rfc() {
    #[rustfmt::skip]
    let words = [
        2, 0o755, 3, // type, mode, nlink
        1000, 100, // uid, gid
        0, 4096, 0, 8192, // size, used
        0, 0, // rdev
        0, 77, 0, 501, // fsid, fileid
        1, 0, 2, 5, 3, 6, // atime, mtime, ctime
    ];
    let wire = bytes(&words);
    assert_eq!(wire.len(), 84);
    let expected = Attributes {
        file_type: Some(FileType::DIR),
        mode: Some(0o755),
        links: Some(3),
        size: Some(4096),
        used: Some(8192),
        fsid: Some((77, 0)),
        fileid: Some(501),
        mtime_ns: Some(2_000_000_005),
        ctime_ns: Some(3_000_000_006),
        ..Attributes::default()
    };
    assert_eq!(fattr3_by_steps(&mut Cursor::new(&wire, Layer::Reply)), Ok(expected));
    let mut attributes = None;
    fattr3(&mut Cursor::new(&wire, Layer::Reply), &mut attributes).unwrap();
    assert_eq!(attributes.take(), Some(expected));
    let mut cut = Cursor::of_prefix(&wire[..50], 84, Reason::Truncated, Layer::Reply);
    let stop = fattr3(&mut cut, &mut attributes).unwrap_err();
    assert_eq!((attributes, stop.offset, stop.needed), (None, 44, 8));
    let present = [bytes(&[1]), wire].concat();
    post_op_attributes(&mut Cursor::new(&present, Layer::Reply), &mut attributes).unwrap();
    assert_eq!(attributes, Some(expected));
}

#[test]
fn weak_cache_consistency_data_may_lack_either_half() {
    let before = WeakCacheAttributes { size: 9, mtime_ns: 1_000_000_002, ctime_ns: 3_000_000_004 };
    let wire = bytes(&[1, 0, 9, 1, 2, 3, 4, 0]);
    let read = |wire: &[u8]| {
        let (mut before, mut after) = (None, None);
        wcc(&mut Cursor::new(wire, Layer::Reply), &mut before, &mut after).map(|()| (before, after))
    };
    assert_eq!(read(&wire), Ok((Some(before), None)));
    assert_eq!(read(&bytes(&[0, 0])), Ok((None, None)));
}

#[test]
fn what_is_said_to_be_kept_is_kept() {
    let ones = bytes(&[1; 64]);
    for attribute in ATTRIBUTES {
        let mut found = Attributes::default();
        let outcome = read_attribute(attribute.number, &mut Cursor::new(&ones, Layer::Reply), &mut found);
        assert_eq!(found != Attributes::default(), attribute.kept, "{}: {outcome:?}", attribute.name);
    }
}

#[test]
fn times_outside_of_64_bits_of_nanoseconds_saturate() {
    let time = |seconds: i64| {
        let wire = [&seconds.to_be_bytes()[..], &u32::MAX.to_be_bytes()].concat();
        let by_steps = nfstime4_by_steps(&mut Cursor::new(&wire, Layer::Reply));
        assert_eq!(nfstime4(&mut Cursor::new(&wire, Layer::Reply)), by_steps);
        by_steps.unwrap()
    };
    assert_eq!((time(i64::MAX), time(i64::MIN)), (i64::MAX, i64::MIN + i64::from(u32::MAX)));
    let before_1970 = bytes(&[u32::MAX, u32::MAX, 5]);
    assert_eq!(nfstime4(&mut Cursor::new(&before_1970, Layer::Reply)), Ok(-999_999_995));
}
