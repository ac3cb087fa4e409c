//! RPC-with-TLS (RFC 9289): where a connection becomes TLS, and how TLS looks from outside.
//!
//! A client asks with a NULL call of flavor AUTH_TLS; the server grants it by a verifier. From then
//! on the connection carries TLS records (RFC 8446 section 5.1), of which only the lengths are seen.

use crate::cursor::Cursor;
use crate::error::Layer;
use crate::rpc::message::{AcceptStatus, Flavor};

/// Name of the call that asks for TLS: it travels as procedure 0 but is no NULL call.
pub const STARTTLS: &str = "STARTTLS";

/// What the verifier of a reply holds that grants TLS (RFC 9289 section 4.1).
const GRANT: &[u8] = b"STARTTLS";

/// Types of TLS records: change_cipher_spec to application_data.
const TYPES: std::ops::RangeInclusive<u8> = 20..=23;

/// Longest TLS record: 2^14 bytes of plaintext and what encryption may add (TLS 1.2: 2048).
const RECORD_LIMIT: usize = (1 << 14) + 2048;

/// Length of a TLS record's header.
const HEADER: usize = 5;

/// Whether a reply, given from its xid on, grants TLS to the call of flavor AUTH_TLS that it answers.
pub fn grants(reply: &[u8]) -> bool {
    let mut c = Cursor::new(reply, Layer::Rpc);
    let mut read = || {
        c.u64()?; // xid, REPLY
        let accepted = c.u32()? == 0;
        let flavor = Flavor(c.u32()?);
        let verifier = c.opaque(GRANT.len())?;
        let status = AcceptStatus(c.u32()?);
        let granted = flavor == Flavor::AUTH_NONE && verifier == GRANT && status == AcceptStatus::SUCCESS;
        Ok::<_, crate::error::DecodeError>(accepted && granted)
    };
    read().unwrap_or(false)
}

/// Whether a piece of a stream of `length` bytes, of which the first were captured, is made of TLS
/// records: for connections whose beginning is not in the capture.
///
/// The chain of headers must end with the piece, or hold two of them: chance or file contents do not
/// make that up.
pub fn is_chain(bytes: &[u8], length: usize) -> bool {
    let (mut at, mut records) = (0, 0);
    while at < length {
        let header = bytes.get(at..).and_then(<[u8]>::first_chunk::<HEADER>);
        let Some([kind, 3, 1..=4, high, low]) = header else { return records >= 2 };
        let body = usize::from(u16::from_be_bytes([*high, *low]));
        if !TYPES.contains(kind) || body == 0 || body > RECORD_LIMIT {
            return false;
        }
        records += 1;
        at += HEADER + body;
    }
    records > 0 && (at == length || records >= 2)
}

/// The headers of the TLS records in the first captured bytes of a piece, with their places.
pub fn headers(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8; HEADER])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let header = bytes.get(at..)?.first_chunk::<HEADER>()?;
        let [kind, 3, 1..=4, high, low] = header else { return None };
        let here = at;
        at += HEADER + usize::from(u16::from_be_bytes([*high, *low]));
        TYPES.contains(kind).then_some((here, header))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, body: usize) -> Vec<u8> {
        let mut bytes = vec![kind, 3, 3, (body >> 8) as u8, body as u8];
        bytes.resize(HEADER + body, 0xa5);
        bytes
    }

    fn reply(verifier: &[u8], status: u8) -> Vec<u8> {
        let mut bytes = [0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0].to_vec();
        bytes.extend((verifier.len() as u32).to_be_bytes());
        bytes.extend(verifier);
        bytes.extend([0, 0, 0, status]);
        bytes
    }

    #[test]
    fn only_a_success_with_the_word_grants_tls() {
        let granted = reply(GRANT, 0);
        assert!(grants(&granted));
        assert!((0..granted.len()).all(|cut| !grants(&granted[..cut])));
        assert!(!grants(&reply(b"", 0)));
        assert!(!grants(&reply(b"STARTTLZ", 0)));
        assert!(!grants(&reply(GRANT, 5)));
        let mut other_flavor = granted;
        other_flavor[15] = 1;
        assert!(!grants(&other_flavor));
    }

    #[test]
    fn tls_records_that_fill_a_piece_are_recognised() {
        let hello = record(22, 300);
        assert!(is_chain(&hello, hello.len()));
        let two = [record(20, 1), record(23, 500)].concat();
        assert!(is_chain(&two, two.len()));
        assert!(is_chain(&hello[..96], hello.len()), "cut at the snaplen");
        let begun = [record(23, 100), record(23, 9000)[..600].to_vec()].concat();
        assert!(is_chain(&begun, begun.len()), "two headers, the second record goes on");
    }

    #[test]
    fn other_bytes_are_not() {
        let begun = &record(23, 9000)[..1448];
        assert!(!is_chain(begun, begun.len()), "one header proves nothing");
        assert!(!is_chain(&[], 0));
        assert!(!is_chain(&[0x80, 0, 0, 40, 0, 0, 0, 1], 44), "a record mark of RPC");
        assert!(!is_chain(&record(23, 0), 5));
        assert!(!is_chain(&record(24, 8), 13));
        let long = record(23, RECORD_LIMIT + 1);
        assert!(!is_chain(&long, long.len()));
        let not_chained = [record(23, 10), vec![0; 20]].concat();
        assert!(!is_chain(&not_chained, not_chained.len()));
    }
}
