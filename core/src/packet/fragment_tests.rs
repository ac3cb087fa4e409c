//! Fragments against a map of bytes.

use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;

fn carried(identification: u32, bytes: &[u8], length: usize) -> (Carried<'_>, u32) {
    let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    let payload = Payload::new(bytes, length);
    (
        Carried { source: host(1), destination: host(2), protocol: 17, identification: 0, payload },
        identification,
    )
}

/// Adds a fragment of `bytes`, all of them captured; gives what it completes.
fn add(
    fragments: &mut Fragments,
    identification: u32,
    offset: usize,
    more: bool,
    bytes: &[u8],
) -> Result<Option<Vec<u8>>, Other> {
    let (carried, identification) = carried(identification, bytes, bytes.len());
    let whole = fragments.add(&carried, Piece { identification, offset, more }, (1, 0))?;
    Ok(whole.map(|whole| whole.0.payload.bytes.to_vec()))
}

#[test]
fn what_came_first_stays() {
    let mut fragments = Fragments::default();
    assert_eq!(add(&mut fragments, 1, 8, true, &[1; 8]), Ok(None));
    assert_eq!(add(&mut fragments, 1, 0, true, &[2; 24]), Ok(None));
    assert_eq!(
        add(&mut fragments, 1, 16, false, &[3; 12]),
        Ok(Some([[2; 8], [1; 8], [2; 8]].concat().into_iter().chain([3; 4]).collect()))
    );
    assert_eq!(fragments.unfinished(), 0);
}

#[test]
fn the_snaplen_leaves_a_prefix_and_the_length() {
    let mut fragments = Fragments::default();
    let (first, identification) = carried(1, &[1; 10], 16);
    assert!(matches!(
        fragments.add(&first, Piece { identification, offset: 0, more: true }, (1, 0)),
        Ok(None)
    ));
    let (last, _) = carried(1, &[2; 8], 8);
    let whole =
        fragments.add(&last, Piece { identification, offset: 16, more: false }, (1, 0)).unwrap().unwrap();
    assert_eq!(whole.0.payload, Payload { bytes: &[1; 10], length: 24 });
}

#[test]
fn fragments_that_cannot_be_are_malformed() {
    let mut fragments = Fragments::default();
    for (offset, more, length) in [(0, true, 7), (0, true, 0), (65_528, false, 8)] {
        assert_eq!(add(&mut fragments, 1, offset, more, &vec![0; length]), Err(Other::MalformedHeader));
    }
    assert_eq!(fragments.unfinished(), 0);
}

#[test]
fn memory_is_bounded_and_the_oldest_is_given_up() {
    let mut fragments = Fragments::default();
    let count = DATAGRAM_LIMIT as u32 + 1_000;
    for identification in 0..count {
        add(&mut fragments, identification, 32_000, true, &[0; 8]).unwrap();
        assert!(fragments.bytes <= BYTES_LIMIT && fragments.waiting.len() <= DATAGRAM_LIMIT);
    }
    assert_eq!(fragments.unfinished(), u64::from(count));
    assert!(fragments.given_up >= 1_000);
    // The youngest is still there, the oldest is not.
    for (identification, there) in [(count - 1, true), (0, false)] {
        let frames = fragments.held;
        add(&mut fragments, identification, 0, true, &vec![0; 32_000]).unwrap();
        let whole = add(&mut fragments, identification, 32_008, false, &[0; 8]).unwrap();
        assert_eq!(whole.is_some(), there);
        assert!(fragments.held <= frames + 2);
    }
    let keys: Vec<Key> = fragments.by_age.values().copied().collect();
    for key in &keys {
        fragments.give_up(key);
    }
    assert_eq!((fragments.bytes, fragments.held, fragments.waiting.len()), (0, 0, 0));
}

#[test]
fn an_identification_used_again_after_a_long_time_is_another_datagram() {
    let mut fragments = Fragments::default();
    let (first, identification) = carried(1, &[1; 8], 8);
    let piece = |offset, more| Piece { identification, offset, more };
    assert!(fragments.add(&first, piece(0, true), (1, 0)).unwrap().is_none());
    assert!(fragments.add(&first, piece(8, false), (2, PATIENCE_NS + 1)).unwrap().is_none());
    assert_eq!((fragments.given_up, fragments.held), (1, 1));
}

proptest! {
    /// A datagram cut into random, overlapping pieces in random order, each of which carries its own
    /// bytes, against a map of who came first.
    #[test]
    fn pieces_give_what_a_map_of_bytes_gives(
        words in 1_usize..40,
        tail in 1_usize..=8,
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..12, 0_usize..100), 1..60),
    ) {
        let total = (words - 1) * 8 + tail;
        let mut fragments = Fragments::default();
        let mut map: BTreeMap<usize, Option<u8>> = BTreeMap::new();
        let mut last_seen = false;
        for (number, (at, length, uncaptured)) in cuts.iter().enumerate() {
            let start = at.index(words) * 8;
            let end = (start + length * 8).min(total);
            let more = end < total;
            let end = if more { end } else { total };
            let captured = (end - start).saturating_sub(uncaptured.saturating_sub(80));
            let bytes = vec![number as u8; captured];
            let (carried, identification) = carried(1, &bytes, end - start);
            let found = fragments.add(&carried, Piece { identification, offset: start, more }, (1, 0)).unwrap();
            for byte in start..end {
                map.entry(byte).or_insert((byte - start < captured).then_some(number as u8));
            }
            last_seen |= !more;
            let complete = last_seen && map.len() == total;
            prop_assert_eq!(found.is_some(), complete);
            if let Some(found) = found {
                let prefix: Vec<u8> = map.values().copied().map_while(|byte| byte).collect();
                prop_assert_eq!(found.0.payload, Payload { bytes: &prefix, length: total });
                break;
            }
            prop_assert_eq!(fragments.unfinished(), number as u64 + 1);
        }
    }
}

#[test]
fn a_datagram_that_lost_a_fragment_is_told_as_far_as_it_goes() {
    let mut fragments = Fragments::default();
    let carried = |bytes: &'static [u8]| Carried {
        source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
        destination: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
        protocol: crate::packet::ip::UDP,
        identification: 7,
        payload: Payload::new(bytes, bytes.len()),
    };
    let piece = |offset, more| Piece { identification: 7, offset, more };
    assert!(fragments.add(&carried(&[0; 16]), piece(0, true), (3, 1000)).unwrap().is_none());
    assert!(fragments.add(&carried(&[2; 4]), piece(32, false), (5, 2000)).unwrap().is_none());
    assert!(fragments.overdue(Some(3000)).is_none(), "it may still come");
    let part = fragments.overdue(Some(2000 + LATE_NS.cast_signed() + 1)).unwrap();
    assert_eq!(part.carried.payload, Payload { bytes: &[0; 16], length: 36 });
    assert_eq!((part.first, part.last), ((3, 1000), (5, 2000)));
    assert!(fragments.overdue(None).is_none());
    assert_eq!(fragments.unfinished(), 2);
}

#[test]
fn fragments_without_the_first_are_nothing_but_counted() {
    let mut fragments = Fragments::default();
    let carried = Carried {
        source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
        destination: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
        protocol: crate::packet::ip::UDP,
        identification: 7,
        payload: Payload::new(&[1; 16], 16),
    };
    let piece = Piece { identification: 7, offset: 16, more: false };
    assert!(fragments.add(&carried, piece, (1, 0)).unwrap().is_none());
    assert!(fragments.overdue(None).is_none());
    assert_eq!(fragments.unfinished(), 1);
}
