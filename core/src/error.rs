//! What can go wrong while decoding, as values that know their place.
//!
//! Two kinds: a [`ReadError`] ends the reading of a file; a [`DecodeError`] ends the decoding of
//! one message and keeps everything before it. Each `DecodeError` carries a [`Reason`] from a
//! closed list, whose code is the key in `trust.undecoded_reasons`.

use std::fmt;
use std::path::PathBuf;

/// The stage that could not go on. Offsets in a [`DecodeError`] count from the start of this layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Link-layer framing: Ethernet, 802.1Q, Linux cooked, loopback.
    Link,
    /// IPv4, IPv6 and their extension headers.
    Ip,
    /// TCP or UDP headers.
    Transport,
    /// RPC record marking (RFC 5531 section 11).
    Record,
    /// The RPC message header, credential and verifier (RFC 5531 section 9).
    Rpc,
    /// Arguments of the program's procedure.
    Call,
    /// Results of the program's procedure.
    Reply,
}

impl Layer {
    /// The layer's name in the `notes` table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Ip => "ip",
            Self::Transport => "transport",
            Self::Record => "record",
            Self::Rpc => "rpc",
            Self::Call => "call",
            Self::Reply => "reply",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $code:literal,)+) => {
        /// Why a packet or message was not decoded (to its end). A closed list with stable codes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason { $($(#[doc = $doc])+ $variant,)+ }

        impl Reason {
            /// Every reason, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The stable code: the key in `undecoded_reasons` and the text in the `notes` table.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// One sentence for the documentation.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc,)+),)+ }
            }
        }
    };
}

reasons! {
    /// The bytes were not captured: the packet was cut at the snaplen.
    Truncated = "truncated",
    /// The bytes are missing on the wire: segments or fragments are not in the capture.
    Missing = "missing",
    /// The bytes contradict the protocol: a length, count or discriminant that cannot be.
    Malformed = "malformed",
    /// Bytes are left over behind the last value that the protocol has there; all before them was decoded.
    Trailing = "trailing",
    /// A program, version, procedure or operation that pcapnfs does not decode.
    Unsupported = "unsupported",
    /// The body is encrypted (RPCSEC_GSS privacy: only the header could be read; TLS: nothing, noted once for each connection).
    Encrypted = "encrypted",
    /// A reply whose call is not in the capture: without it the program is unknown.
    ReplyWithoutCall = "reply_without_call",
    /// A reply that was sent again for a call that already had its reply.
    DuplicateReply = "duplicate_reply",
    /// A call that was sent again (same xid) after its reply; it is counted once.
    RetransmittedCall = "retransmitted_call",
    /// A record longer than the limit, or one of too many in the making: decoded only up to the limit.
    RecordLimit = "record_limit",
    /// More messages waited for the other half of their pair than the limit: the oldest call was given up, or only the beginning of a message was kept.
    PendingLimit = "pending_limit",
    /// Bytes of a known RPC connection between two messages that no record mark explains.
    Desynchronised = "desynchronised",
}

/// The end of one message's decoding: what was needed, where, and why it was not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The layer whose parser stopped.
    pub layer: Layer,
    /// Why it stopped.
    pub reason: Reason,
    /// Byte offset from the start of the layer's input at which the missing element begins.
    pub offset: usize,
    /// Bytes that the element needs.
    pub needed: usize,
    /// Bytes that were there.
    pub available: usize,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at byte {} of the {} layer: {} bytes needed, {} there",
            self.reason.code(),
            self.offset,
            self.layer,
            self.needed,
            self.available
        )
    }
}

impl std::error::Error for DecodeError {}

impl ReadError {
    /// The sentence without the file's name, for places that name the file themselves, and what was read
    /// all the same.
    pub fn what(&self) -> String {
        match self {
            Self::Io { source, .. } => format!("{}; everything before that was read", plain(source)),
            Self::Format { what, .. } => what.clone(),
            Self::Empty { .. } => {
                "an empty file, as a full disk leaves it; everything else was read".to_owned()
            }
            Self::Damaged { what, offset, unpacked, packet, resumed, .. } => {
                let first = damage(what, *offset, *unpacked, *packet);
                match resumed {
                    // There was nothing before it.
                    None if *packet == 0 => first,
                    None => format!("{first}; everything before that was read"),
                    Some(resumed) => format!("{first}; {resumed}"),
                }
            }
        }
    }

    /// Bytes of the file that were passed over, since they could not be read.
    pub fn passed_bytes(&self) -> u64 {
        match self {
            Self::Damaged { resumed: Some(resumed), .. } => {
                let (first, others) = resumed.passed;
                first.saturating_add(others)
            }
            _ => 0,
        }
    }

    /// Whether it is a capture that ends before any packet: empty, or cut off within its own header. What
    /// other files of a rotation hold is no worse for it.
    pub(crate) fn ends_at_once(&self) -> bool {
        matches!(self, Self::Empty { .. } | Self::Damaged { packet: 0, .. })
    }

    /// The same damage, behind which the file was taken up again.
    #[must_use]
    pub(crate) fn with(self, resumed: Resumed) -> Self {
        match self {
            Self::Damaged { path, what, offset, unpacked, packet, .. } => {
                Self::Damaged { path, what, offset, unpacked, packet, resumed: Some(Box::new(resumed)) }
            }
            other => other,
        }
    }
}

/// What became of a damaged file behind the first damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// Places behind which it was taken up again.
    pub places: u64,
    /// Bytes that were passed over at the first, and at the others.
    pub passed: (u64, u64),
    /// Where it breaks off for good, if it does, as [`ReadError::what`] says it.
    pub end: Option<String>,
}

impl Resumed {
    /// Another place behind which so many bytes were passed over.
    pub(crate) fn note(&mut self, bytes: u64) {
        let passed = if self.places == 0 { &mut self.passed.0 } else { &mut self.passed.1 };
        *passed = passed.saturating_add(bytes);
        self.places += 1;
    }
}

impl fmt::Display for Resumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, others) = self.passed;
        write!(f, "{first} bytes were passed over there")?;
        match self.places {
            0 | 1 => {}
            2 => write!(f, ", and {others} at another place")?,
            places => write!(f, ", and {others} at {} more places", places - 1)?,
        }
        match &self.end {
            None => f.write_str("; everything else was read"),
            Some(end) => write!(f, "; then {end}"),
        }
    }
}

/// What is wrong with a file, and where.
fn damage(what: &str, offset: u64, unpacked: bool, packet: u64) -> String {
    let of_what = if unpacked { " of what the file unpacks to" } else { "" };
    let before = if packet == 0 { "before any packet".to_owned() } else { format!("after packet {packet}") };
    format!("{what} at byte {offset}{of_what}, {before}")
}

/// What the operating system said, without its error number.
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(sentence, _)| sentence.to_owned())
}

/// Why a capture file could not be read (further). What was read before it stays valid.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refused.
    #[error("{path}: {}", plain(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file is not a capture that pcapnfs reads. The text says what it looks like and what to do.
    #[error("{path}: {what}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What the file is instead, and what to do.
        what: String,
    },
    /// The file holds nothing at all. The text asks what may have gone wrong.
    #[error("{path}: {what}")]
    Empty {
        /// The file.
        path: PathBuf,
        /// That it is empty, and what to look at.
        what: String,
    },
    /// The file breaks off or contradicts itself at a byte; packets before it were delivered, and those
    /// behind it that were found.
    #[error("{path}: {}", damage(what, *offset, *unpacked, *packet))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
        /// Offset in the file, or in what it unpacks to.
        offset: u64,
        /// The file is compressed, and the offset one in what it unpacks to.
        unpacked: bool,
        /// The last packet before that, counted from 1 in this file; 0 for none.
        packet: u64,
        /// What was read behind it; `None`: nothing.
        resumed: Option<Box<Resumed>>,
    },
}
