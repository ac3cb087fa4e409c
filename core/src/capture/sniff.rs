//! What a file is, by its first bytes: a capture, or something that deserves a sentence of advice.

use super::Compression;
use super::pcap;
use super::records;
use super::window::{Fault, Window};

/// Bytes looked at to tell text from other things.
const SAMPLE: usize = 256;

/// Where a tar archive has its magic number, behind the name and the numbers of its first file.
const TAR: std::ops::Range<usize> = 257..262;

/// A container that can be read.
pub(super) enum Magic {
    Pcap(pcap::Layout),
    Pcapng,
    Records(records::Kind),
}

/// Tells the container at the start of the window, or says in one sentence what the file is instead.
pub(super) fn container(window: &mut Window, compression: Compression) -> Result<Magic, Fault> {
    // No more than any capture has: a pipe may have no packet yet.
    let begun = window.ensure(records::LONGEST_MAGIC)?;
    if let Some(magic) = magic(window.ahead()) {
        return Ok(magic);
    }
    if !begun {
        window.broken().map_or(Ok(()), Err)?;
        if breaks_off(window.ahead(), compression) {
            return Err(window.cut("the file ends within its first bytes"));
        }
    }
    window.ensure(TAR.end)?;
    let ahead = window.ahead();
    let fault = if ahead.is_empty() { Fault::Empty } else { Fault::Format };
    let what = advice(ahead);
    Err(fault(match compression {
        Compression::None => what,
        compression => format!("compressed with {compression}, and inside: {what}"),
    }))
}

/// The container whose magic number bytes begin with.
pub(super) fn magic(ahead: &[u8]) -> Option<Magic> {
    let magic = *ahead.first_chunk::<4>()?;
    if magic == super::pcapng::SECTION_HEADER {
        return Some(Magic::Pcapng);
    }
    let pcap = pcap::Layout::of_magic(magic).map(Magic::Pcap);
    pcap.or_else(|| records::Kind::of_magic(ahead).map(Magic::Records))
}

/// Whether bytes, of which the file has no more, begin a capture that breaks off within its magic number, or
/// within what would tell how it is compressed.
///
/// They are believed whatever else they may be: a text of so few letters is rarer than a disk that is full. Only an
/// empty line, as `echo` writes it, is not taken for the first byte of a section header.
fn breaks_off(ahead: &[u8], compression: Compression) -> bool {
    let begins = |magic: &[u8]| ahead.len() < magic.len() && magic.starts_with(ahead);
    !matches!(ahead, b"" | b"\n")
        && (begins(&super::pcapng::SECTION_HEADER)
            || pcap::MAGICS.iter().any(|(magic, _)| begins(magic))
            || records::MAGICS.iter().any(|(magic, _)| begins(magic))
            || (compression == Compression::None && Compression::breaks_off(ahead)))
}

/// Whether the window is at the start of a capture, of a format that is read or of another program's; `None`
/// where that cannot be told, since it cannot be unpacked so far.
pub(super) fn is_capture(window: &mut Window) -> Result<Option<bool>, Fault> {
    if window.ensure(records::LONGEST_MAGIC)? || window.broken().is_none() {
        let ahead = window.ahead();
        return Ok(Some(
            magic(ahead).is_some() || CAPTURES.iter().any(|(magic, ..)| ahead.starts_with(magic)),
        ));
    }
    Ok(None)
}

const CONVERT: &str = "; convert it first: editcap -F pcap IN OUT";

/// Captures that are not read: what they are, and what to tell who wanted one read.
const CAPTURES: &[(&[u8], &str, &str)] = &[
    (b"RTSS", "a Microsoft Network Monitor 1 file", CONVERT),
    (b"GMBU", "a Microsoft Network Monitor 2 file", CONVERT),
    (b"TRSNIFF data", "a DOS Sniffer file", CONVERT),
    (b"XCP\0", "a Windows Sniffer (NetXRay) file", CONVERT),
    (b"iptrace ", "an AIX iptrace file, not of version 2.0", CONVERT),
    (b"\x54\x52\x00\x64\x00", "an HP-UX nettl file", CONVERT),
    (b"\x7fver", "an OmniPeek file", CONVERT),
    (b"\x05VNF", "a Visual Networks file", CONVERT),
    (b"\xac\x01\x00\x1c", "an IXIA capture", CONVERT),
    (b"\x1c\x00\x01\xac", "an IXIA capture", CONVERT),
    (b"\xab\x01\x00\x1c", "an IXIA capture", CONVERT),
    (b"\x1c\x00\x01\xab", "an IXIA capture", CONVERT),
    (b"btsnoop\0", "a Bluetooth capture (btsnoop)", ", which holds no NFS"),
];

/// Other formats with a magic number, and what to tell who wanted one read.
const KNOWN: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "a gzip file; decompress it first: gunzip FILE"),
    (b"\x28\xb5\x2f\xfd", "a zstd file; decompress it first: unzstd FILE"),
    (b"\xfd7zXZ\0", "an xz file; decompress it first: unxz FILE"),
    (b"BZh", "a bzip2 file; decompress it first: bunzip2 FILE"),
    (b"\x04\x22\x4d\x18", "an lz4 file; decompress it first: unlz4 FILE"),
    (b"\x1f\x9d", "a file packed by compress; decompress it first: uncompress FILE"),
    (b"PK\x03\x04", "a zip archive; unpack it first: unzip FILE"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it first: 7z x FILE"),
    (b"{\n \"format\": \"nfstrace\"", "a part of a trace; name the directory that it is in"),
    (b"PAR1", "a Parquet table; name the directory of the trace it belongs to"),
    (b"\x7fELF", "a program, not a capture"),
    (b"version https://git-lfs", "a Git LFS pointer; fetch the capture itself first: git lfs pull"),
];

/// What the bytes look like; in one sentence, what to do.
fn advice(start: &[u8]) -> String {
    if start.is_empty() {
        return "an empty file; did the capture run, and with the rights to capture?".to_owned();
    }
    if let Some((_, what, to_do)) = CAPTURES.iter().find(|(magic, ..)| start.starts_with(magic)) {
        return format!("{what}{to_do}");
    }
    if let Some((_, words)) = KNOWN.iter().find(|(magic, _)| start.starts_with(magic)) {
        return (*words).to_owned();
    }
    if start.get(TAR) == Some(b"ustar") {
        return "a tar archive; unpack it first: tar xf FILE".to_owned();
    }
    if let Some(kind) = text(start) {
        return format!("{kind}, not a capture; write one with: tcpdump -s 0 -w FILE.pcap host SERVER");
    }
    let first: Vec<String> = start.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let first = first.join(" ");
    format!(
        "not a capture that is read (it begins with {first}); if Wireshark opens it: editcap -F pcap IN OUT"
    )
}

/// The kind of text, if it is text.
fn text(start: &[u8]) -> Option<&'static str> {
    let sample = start.get(..SAMPLE).unwrap_or(start);
    let sample = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
    let printable = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | 0x20..=0x7e | 0x80..);
    if !sample.iter().all(printable) {
        return None;
    }
    // A sample may end within a character, which alone is no reason to doubt that it is text; a file does not.
    let goes_on = start.len() > SAMPLE;
    if std::str::from_utf8(sample).is_err_and(|error| error.error_len().is_some() || !goes_on) {
        return None;
    }
    let words = sample.trim_ascii_start();
    let begins = |tag: &[u8]| words.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    Some(if begins(b"<!doctype html") || begins(b"<html") {
        "an HTML page"
    } else if begins(b"<") {
        "an XML file"
    } else if begins(b"{") || begins(b"[") {
        "a JSON file"
    } else {
        "a text file"
    })
}
