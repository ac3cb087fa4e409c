//! The headers of RPC calls and replies (RFC 5531 section 9), credentials and their wrappers.

use std::ops::RangeInclusive;

use crate::cursor::{Cursor, Kind, padding};
use crate::error::{DecodeError, Layer, Reason};
use crate::rpc::program;
use crate::rpc::tls::STARTTLS;
use crate::wire_enum::wire_enum;

type Result<T> = std::result::Result<T, DecodeError>;

wire_enum! {
    /// `accept_stat` (RFC 5531 section 9).
    pub enum AcceptStatus { SUCCESS = 0, PROG_UNAVAIL = 1, PROG_MISMATCH = 2, PROC_UNAVAIL = 3, GARBAGE_ARGS = 4, SYSTEM_ERR = 5, }
}

wire_enum! {
    /// `auth_stat` (RFC 5531 section 9, RFC 2203 section 5.1).
    pub enum AuthStatus {
        AUTH_OK = 0, AUTH_BADCRED = 1, AUTH_REJECTEDCRED = 2, AUTH_BADVERF = 3, AUTH_REJECTEDVERF = 4,
        AUTH_TOOWEAK = 5, AUTH_INVALIDRESP = 6, AUTH_FAILED = 7, AUTH_KERB_GENERIC = 8, AUTH_TIMEEXPIRE = 9,
        AUTH_TKT_FILE = 10, AUTH_DECODE = 11, AUTH_NET_ADDR = 12, RPCSEC_GSS_CREDPROBLEM = 13,
        RPCSEC_GSS_CTXPROBLEM = 14,
    }
}

wire_enum! {
    /// `auth_flavor` (RFC 5531 section 8.2, RFC 2203, RFC 9289).
    pub enum Flavor { AUTH_NONE = 0, AUTH_SYS = 1, AUTH_SHORT = 2, AUTH_DH = 3, RPCSEC_GSS = 6, AUTH_TLS = 7, }
}

/// Longest credential or verifier body (RFC 5531 section 8.2).
const AUTH_BODY_LIMIT: usize = 400;

/// Longest AUTH_SYS machine name (RFC 5531 appendix A).
const MACHINE_LIMIT: usize = 255;

/// Bytes from the xid to the procedure of a call: what a header must have to be recognised.
pub const CALL_HEADER: usize = 24;

/// Bytes from the xid to the length of a call's credential.
const BEFORE_CREDENTIAL: usize = 32;

/// Bytes of a verifier without a body.
const EMPTY_VERIFIER: usize = 8;

/// The RPC version, alone in its kind since 1988.
const RPC_VERSION: u32 = 2;

/// Versions of RPCSEC_GSS (RFC 2203, RFC 5403, RFC 7861).
const GSS_VERSIONS: RangeInclusive<u32> = 1..=3;

/// What the first bytes of a message look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// A call of a program that travels with NFS.
    Call {
        /// Its transaction identifier.
        xid: u32,
        /// What it calls is called by servers at their clients.
        for_client: bool,
    },
    /// A reply.
    Reply {
        /// Its transaction identifier.
        xid: u32,
    },
}

/// Recognises a message by its header: the test for bytes of which nothing is known.
///
/// It must never take data for a message, and may need a caller's confirmation for a reply, which
/// says nothing of its program.
pub fn recognise(message: &[u8]) -> Option<Recognised> {
    recognise_named(message, |_| false)
}

/// Recognises a message, also a call of a program that the called host named for its callbacks.
pub fn recognise_named(message: &[u8], named: impl Fn(u32) -> bool) -> Option<Recognised> {
    let mut c = Cursor::new(message, Layer::Rpc);
    let xid = c.u32().ok()?;
    match c.u32().ok()? {
        0 => {
            let version_of_rpc = c.u32().ok()?;
            let (program, version, procedure) = (c.u32().ok()?, c.u32().ok()?, c.u32().ok()?);
            let plausible = program::plausible(program, version, procedure);
            let called_back = !plausible && program::plausible_callback(version, procedure) && named(program);
            let known = version_of_rpc == RPC_VERSION && (plausible || called_back);
            let flavor = c.u32().ok().is_none_or(|flavor| Flavor(flavor).name().is_some());
            let length = c.u32().ok().is_none_or(|length| length as usize <= AUTH_BODY_LIMIT);
            let for_client = called_back || program::is_for_client(program, procedure);
            (known && flavor && length).then_some(Recognised::Call { xid, for_client })
        }
        1 => {
            match c.u32().ok()? {
                0 => {}
                1 => return denied(&mut c).then_some(Recognised::Reply { xid }),
                _ => return None,
            }
            let (flavor, length) = (Flavor(c.u32().ok()?), c.u32().ok()? as usize);
            c.skip(length.min(c.rest().len())).ok()?;
            let status = c.u32().ok().is_none_or(|status| AcceptStatus(status).name().is_some());
            let form = flavor.name().is_some() && length <= AUTH_BODY_LIMIT && status;
            form.then_some(Recognised::Reply { xid })
        }
        _ => None,
    }
}

/// Whether a message goes on, and ends, as a denied reply: `rejected_reply` says nothing else, so
/// that each of its words has to be one that is known.
fn denied(c: &mut Cursor<'_>) -> bool {
    let mut read = || {
        let known = match c.u32()? {
            0 => c.u32()? <= c.u32()?, // RPC_MISMATCH: low, high
            1 => AuthStatus(c.u32()?).name().is_some(),
            _ => false,
        };
        Ok::<_, DecodeError>(known && c.remaining() == 0)
    };
    read().unwrap_or(false)
}

/// Who calls, as the credential says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential<'a> {
    /// AUTH_SYS (RFC 5531 appendix A).
    Sys {
        /// User.
        uid: u32,
        /// Group.
        gid: u32,
        /// Machine name.
        machine: &'a [u8],
    },
    /// RPCSEC_GSS (RFC 2203 section 5).
    Gss {
        /// DATA 0; others are control procedures ([`Call::control`]).
        procedure: u32,
        /// none 1, integrity 2, privacy 3.
        service: u32,
    },
    /// Any other flavor.
    Other(Flavor),
    /// It breaks off, or is malformed; `None`: before its flavor, or so that this says nothing.
    Cut(Option<Flavor>),
}

impl Credential<'_> {
    /// The flavor's name, with the service of RPCSEC_GSS.
    pub fn flavor_name(&self) -> &'static str {
        match self {
            Self::Sys { .. } => "AUTH_SYS",
            Self::Gss { service: 1, .. } => "RPCSEC_GSS/krb5",
            Self::Gss { service: 2, .. } => "RPCSEC_GSS/krb5i",
            Self::Gss { service: 3, .. } => "RPCSEC_GSS/krb5p",
            Self::Gss { .. } => "RPCSEC_GSS",
            Self::Other(flavor) | Self::Cut(Some(flavor)) => flavor.name().unwrap_or("unknown"),
            Self::Cut(None) => "unknown",
        }
    }
}

/// What a call asks for: its header up to the credential, and of that the flavor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Transaction identifier.
    pub xid: u32,
    /// Program number.
    pub program: u32,
    /// Program version.
    pub version: u32,
    /// Procedure.
    pub procedure: u32,
    /// Flavor of the credential; `None` where the message breaks off before it.
    pub flavor: Option<Flavor>,
}

/// The xid of a message that is a reply.
#[inline]
pub fn xid_of_reply(message: &[u8]) -> Option<u32> {
    match message.as_chunks::<4>().0 {
        [xid, [0, 0, 0, 1], ..] => Some(u32::from_be_bytes(*xid)),
        _ => None,
    }
}

impl Head {
    /// That of a message that is a call, if all of it is there.
    #[inline]
    pub fn of_call(message: &[u8]) -> Option<Self> {
        match message.as_chunks::<4>().0 {
            [xid, [0, 0, 0, 0], [0, 0, 0, 2], program, version, procedure, flavor, ..] => Some(Self {
                xid: u32::from_be_bytes(*xid),
                program: u32::from_be_bytes(*program),
                version: u32::from_be_bytes(*version),
                procedure: u32::from_be_bytes(*procedure),
                flavor: Some(Flavor(u32::from_be_bytes(*flavor))),
            }),
            _ => None,
        }
    }

    /// Parses it after the xid and message type. The cursor is left at the credential.
    #[inline]
    pub fn parse(c: &mut Cursor<'_>, xid: u32) -> Result<Self> {
        if let Some([RPC_VERSION, program, version, procedure, flavor]) = c.words() {
            c.skip(16)?;
            return Ok(Self { xid, program, version, procedure, flavor: Some(Flavor(flavor)) });
        }
        let before = c.clone();
        if c.u32()? != RPC_VERSION {
            return Err(before.malformed());
        }
        let (program, version, procedure) = (c.u32()?, c.u32()?, c.u32()?);
        let flavor = c.rest().first_chunk().map(|bytes| Flavor(u32::from_be_bytes(*bytes)));
        Ok(Self { xid, program, version, procedure, flavor })
    }
}

/// A call's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Transaction identifier.
    pub xid: u32,
    /// Program number.
    pub program: u32,
    /// Program version.
    pub version: u32,
    /// Procedure.
    pub procedure: u32,
    /// The credential, if it could be read.
    pub credential: Credential<'a>,
}

impl<'a> Call<'a> {
    /// What travels as procedure 0 but is no NULL call: the control procedures of RPCSEC_GSS
    /// (RFC 2203 section 5, RFC 5403 section 2, RFC 7861 section 2.7) and the question for TLS.
    pub fn control(&self) -> Option<&'static str> {
        match self.credential {
            Credential::Gss { procedure: 1, .. } => Some("RPCSEC_GSS_INIT"),
            Credential::Gss { procedure: 2, .. } => Some("RPCSEC_GSS_CONTINUE_INIT"),
            Credential::Gss { procedure: 3, .. } => Some("RPCSEC_GSS_DESTROY"),
            Credential::Gss { procedure: 4, .. } => Some("RPCSEC_GSS_BIND_CHANNEL"),
            Credential::Gss { procedure: 5, .. } => Some("RPCSEC_GSS_CREATE"),
            Credential::Gss { procedure: 6, .. } => Some("RPCSEC_GSS_LIST"),
            Credential::Other(Flavor::AUTH_TLS) if self.procedure == 0 => Some(STARTTLS),
            _ => None,
        }
    }

    /// Parses a message of which the type says that it is a call, as [`Call::parse`].
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode: what it gives need not lie in memory there")]
    pub fn of_message(c: &mut Cursor<'a>) -> Result<(Self, Option<DecodeError>)> {
        match Self::plain(c) {
            Some(call) => Ok((call, None)),
            None => Self::of_other_message(c),
        }
    }

    /// Parses what most calls have, if all of it is there: a credential of AUTH_SYS, and an empty verifier.
    #[inline(always)] // Into the decode, as above.
    fn plain(c: &mut Cursor<'a>) -> Option<Self> {
        const SYS: u32 = Flavor::AUTH_SYS.0;
        let Some([xid, _type, RPC_VERSION, program, version, procedure, SYS, length]) = c.words() else {
            return None;
        };
        let length = Some(length as usize).filter(|length| *length <= AUTH_BODY_LIMIT)?;
        let padded = length + padding(length);
        let (body, behind) = c.rest().get(BEFORE_CREDENTIAL..)?.split_at_checked(padded)?;
        let [_, [0, 0, 0, 0], ..] = behind.as_chunks::<4>().0 else { return None };
        let (_stamp, body) = body.get(..length)?.split_first_chunk::<4>()?;
        let (named, body) = body.split_first_chunk()?;
        let named = Some(u32::from_be_bytes(*named) as usize).filter(|named| *named <= MACHINE_LIMIT)?;
        let (machine, body) = body.split_at_checked(named)?;
        let [uid, gid, ..] = body.get(padding(named)..)?.as_chunks::<4>().0 else { return None };
        let (uid, gid) = (u32::from_be_bytes(*uid), u32::from_be_bytes(*gid));
        c.skip(BEFORE_CREDENTIAL + padded + EMPTY_VERIFIER).ok()?;
        Some(Self { xid, program, version, procedure, credential: Credential::Sys { uid, gid, machine } })
    }

    #[inline(never)]
    fn of_other_message(c: &mut Cursor<'a>) -> Result<(Self, Option<DecodeError>)> {
        let (xid, _type) = (c.u32()?, c.u32()?);
        Self::parse(c, xid)
    }

    /// Parses a call after its xid and message type. The cursor is left at the arguments, or the
    /// second value says why they cannot be reached though the header was read.
    pub fn parse(c: &mut Cursor<'a>, xid: u32) -> Result<(Self, Option<DecodeError>)> {
        let Head { xid, program, version, procedure, flavor } = Head::parse(c, xid)?;
        let of = |credential| Self { xid, program, version, procedure, credential };
        Ok(match credential(c) {
            Ok(credential) => (of(credential), verifier(c).err()),
            Err(stop) => {
                let told = flavor.filter(|_| stop.reason != Reason::Malformed);
                (of(Credential::Cut(told)), Some(stop))
            }
        })
    }
}

/// How a reply answers (RFC 5531 section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyStatus {
    /// MSG_ACCEPTED.
    Accepted(AcceptStatus),
    /// MSG_DENIED with RPC_MISMATCH.
    RpcMismatch,
    /// MSG_DENIED with AUTH_ERROR.
    AuthError(AuthStatus),
}

impl ReplyStatus {
    /// The RFC's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted(status) => status.name().unwrap_or("unknown"),
            Self::RpcMismatch => "RPC_MISMATCH",
            Self::AuthError(status) => status.name().unwrap_or("AUTH_ERROR"),
        }
    }

    /// Parses a message of which the type says that it is a reply, as [`ReplyStatus::parse`].
    #[inline]
    pub fn of_message(c: &mut Cursor<'_>) -> Result<Self> {
        if let Some([_xid, _type, 0, _, 0, 0]) = c.words() {
            c.skip(24)?; // An accepted call that succeeded, behind an empty verifier.
            return Ok(Self::Accepted(AcceptStatus::SUCCESS));
        }
        let (_xid, _type) = (c.u32()?, c.u32()?);
        Self::parse(c)
    }

    /// Parses a reply after its xid and message type. The cursor is left at the results.
    #[inline(never)]
    pub fn parse(c: &mut Cursor<'_>) -> Result<Self> {
        let before = c.clone();
        match c.u32()? {
            0 => {
                verifier(c)?;
                let before = c.clone();
                let status = AcceptStatus(c.u32()?);
                if status.name().is_none() {
                    return Err(before.malformed());
                }
                Ok(Self::Accepted(status))
            }
            1 => match c.u32()? {
                0 => Ok(Self::RpcMismatch),
                1 => Ok(Self::AuthError(AuthStatus(c.u32()?))),
                _ => Err(before.malformed()),
            },
            _ => Err(before.malformed()),
        }
    }

    /// Reads what follows the status where there are no results: the versions that a mismatch tells,
    /// and nothing else (RFC 5531 section 9). The cursor is where [`Self::parse`] left it.
    pub fn end_of_refusal(self, c: &mut Cursor<'_>) -> Result<()> {
        if let Self::Accepted(AcceptStatus::PROG_MISMATCH) | Self::RpcMismatch = self {
            c.u32()?; // low
            c.u32()?; // high
        }
        if c.used_up() { Ok(()) } else { Err(c.stop(Reason::Trailing)) }
    }
}

/// Opens the body of a call or of a successful reply: the arguments or results inside what the
/// security flavor wraps around them (RFC 2203 section 5.3.2).
#[inline]
pub fn unwrap_body<'a>(c: &mut Cursor<'a>, credential: &Credential<'_>, layer: Layer) -> Result<Cursor<'a>> {
    match credential {
        Credential::Gss { procedure: 0, service: service @ (2 | 3) } => unseal_body(c, *service, layer),
        _ => Ok(c.enter(layer)),
    }
}

/// The same of a successful reply, which is `message`. Where its call was cut before it says which service of
/// RPCSEC_GSS wraps the results, nobody knows where they begin.
#[inline]
pub fn unwrap_results<'a>(
    c: &mut Cursor<'a>,
    credential: &Credential<'_>,
    message: &[u8],
) -> Result<Cursor<'a>> {
    match credential {
        Credential::Cut(flavor) if is_under_gss(*flavor, message) => Err(c.stop(Reason::Truncated)),
        _ => unwrap_body(c, credential, Layer::Reply),
    }
}

/// Whether a reply is under RPCSEC_GSS, as its call is (RFC 2203 section 5.3.3.2), of which the flavor is known, or
/// by its verifier.
#[cold]
fn is_under_gss(of_call: Option<Flavor>, reply: &[u8]) -> bool {
    let verifier = match reply.as_chunks::<4>().0 {
        [_xid, [0, 0, 0, 1], [0, 0, 0, 0], flavor, ..] => Some(Flavor(u32::from_be_bytes(*flavor))),
        _ => None,
    };
    of_call.or(verifier) == Some(Flavor::RPCSEC_GSS)
}

#[inline(never)]
fn unseal_body<'a>(c: &mut Cursor<'a>, service: u32, layer: Layer) -> Result<Cursor<'a>> {
    if service == 3 {
        return Err(c.stop(Reason::Encrypted));
    }
    let length = c.u32()? as usize;
    let mut body = c.sub(length)?;
    body.u32()?; // the sequence number again
    Ok(body.enter(layer))
}

/// Where what [`unwrap_body`] gives begins, counted from where it was asked for it.
pub fn body_offset(credential: &Credential<'_>) -> usize {
    match credential {
        Credential::Gss { procedure: 0, service: 2 } => 8, // length, and the sequence number
        _ => 0,
    }
}

fn credential<'a>(c: &mut Cursor<'a>) -> Result<Credential<'a>> {
    let flavor = Flavor(c.u32()?);
    let before = c.clone();
    let length = c.u32()? as usize;
    if length > AUTH_BODY_LIMIT {
        return Err(before.malformed());
    }
    let mut body = c.sub(length)?;
    let credential = match flavor {
        Flavor::AUTH_SYS => {
            body.u32()?; // stamp
            let machine = body.opaque_as(Kind::Host, MACHINE_LIMIT)?;
            let (uid, gid) = (body.u32_as(Kind::User)?, body.u32_as(Kind::Group)?);
            if body.records() {
                // What else is in it decides nothing, so neither does its end.
                let _end = groups(&mut body);
            }
            Credential::Sys { uid, gid, machine }
        }
        Flavor::RPCSEC_GSS => {
            let place = body.clone();
            let read = gss(&mut body);
            // What is none is something else.
            if read.as_ref().map_or_else(|stop| stop.reason == Reason::Malformed, |(known, _)| !known) {
                place.disown();
            }
            read?.1
        }
        other => Credential::Other(other),
    };
    c.skip(padding(length))?;
    Ok(credential)
}

/// `rpc_gss_cred_t` (RFC 2203 section 5), and whether its version is one that there is.
fn gss<'a>(body: &mut Cursor<'a>) -> Result<(bool, Credential<'a>)> {
    let version = body.u32()?;
    let procedure = body.u32()?;
    body.u32()?; // sequence number
    let service = body.u32()?;
    if body.records() {
        let _handle = body.opaque_as(Kind::Token, AUTH_BODY_LIMIT);
    }
    Ok((GSS_VERSIONS.contains(&version), Credential::Gss { procedure, service }))
}

/// The further groups of AUTH_SYS, which nothing but redaction asks for.
fn groups(body: &mut Cursor<'_>) -> Result<()> {
    for _ in 0..body.count(4)? {
        body.u32_as(Kind::Group)?;
    }
    Ok(())
}

#[inline]
fn verifier(c: &mut Cursor<'_>) -> Result<()> {
    if let Some([_, 0]) = c.words() {
        return c.skip(8);
    }
    let place = c.clone();
    c.u32()?;
    let body = c.opaque_as(Kind::Verifier, AUTH_BODY_LIMIT);
    body.map(|_body| ()).inspect_err(|stop| {
        if stop.reason == Reason::Malformed {
            place.disown();
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn replies_are_recognised_by_their_form() {
        let reply = Some(Recognised::Reply { xid: 7 });
        assert_eq!(recognise(&message(&[7, 1, 0, 0, 0, 0])), reply);
        assert_eq!(recognise(&message(&[7, 1, 1, 0, 2, 2])), reply, "RPC_MISMATCH");
        assert_eq!(recognise(&message(&[7, 1, 1, 1, 13])), reply, "AUTH_ERROR");
        for no_reply in [
            &[7, 1, 2, 0, 0, 0][..],
            &[7, 1, 1, 2, 0],
            &[7, 1, 1, 1, 99],
            &[7, 1, 1, 1, 13, 0],
            &[7, 1, 1, 0, 3, 2],
            &[7, 1, 1, 0, 2],
            &[7, 2, 0, 0, 0, 0],
        ] {
            assert_eq!(recognise(&message(no_reply)), None, "{no_reply:?}");
        }
    }

    /// A message, with any of its bytes changed, and cut anywhere.
    fn altered(message: &[u8], mut look: impl FnMut(Cursor<'_>, Cursor<'_>)) {
        for (at, value) in (0..message.len()).flat_map(|at| [0, 1, 2, 6, 9, 255].map(|value| (at, value))) {
            let mut bytes = message.to_vec();
            bytes[at] = value;
            for there in 0..=bytes.len() {
                let c = Cursor::of_prefix(&bytes[..there], bytes.len(), Reason::Truncated, Layer::Rpc);
                look(c.clone(), c);
            }
        }
    }

    #[test]
    fn the_short_way_through_a_head_leads_where_the_long_one_does() {
        for machine in [&b""[..], b"a", b"host"] {
            let body = [&[9; 4][..], &[0, 0, 0, machine.len() as u8], machine].concat();
            let ids = message(&[500, 100, 1, 100]);
            let body = [&body[..], &vec![0; padding(machine.len())], &ids].concat();
            let before = message(&[7, 0, 2, program::NFS, 3, 1, 1, body.len() as u32]);
            let call = [&before[..], &body, &message(&[0, 0, 5])].concat();
            let mut c = Cursor::new(&call, Layer::Rpc);
            let plain = Call::plain(&mut c).map(|call| call.credential);
            assert_eq!(plain, Some(Credential::Sys { uid: 500, gid: 100, machine }));
            assert_eq!(c.remaining(), 4);
            altered(&call, |mut short, mut long| {
                assert_eq!(Call::of_message(&mut short), Call::of_other_message(&mut long));
                assert_eq!(short.offset(), long.offset());
            });
        }
        altered(&message(&[7, 1, 0, 0, 0, 0, 5]), |mut short, mut long| {
            let words = long.u32().and_then(|_| long.u32());
            let status = words.and_then(|_| ReplyStatus::parse(&mut long));
            assert_eq!(ReplyStatus::of_message(&mut short), status);
            assert_eq!(short.offset(), long.offset());
        });
    }

    #[test]
    fn control_procedures_are_no_null_calls() {
        let call = |credential, procedure| {
            Call { xid: 1, program: program::NFS, version: 4, procedure, credential }.control()
        };
        let names = (0..8).map(|procedure| call(Credential::Gss { procedure, service: 1 }, 0));
        assert_eq!(names.flatten().count(), 6);
        assert_eq!(call(Credential::Other(Flavor::AUTH_TLS), 0), Some("STARTTLS"));
        assert_eq!(call(Credential::Other(Flavor::AUTH_TLS), 1), None);
        assert_eq!(call(Credential::Other(Flavor::AUTH_NONE), 0), None);
    }

    #[test]
    fn a_credential_that_is_cut_tells_its_flavor_once_that_is_there() {
        for (flavor, length, name) in
            [(1, 12, "AUTH_SYS"), (6, 20, "RPCSEC_GSS"), (7, 4, "AUTH_TLS"), (99, 4, "unknown")]
        {
            let call = message(&[7, 0, 2, program::NFS, 3, 1, flavor, length]);
            let told = |there: usize| {
                let limit = Reason::Truncated;
                let mut c = Cursor::of_prefix(&call[..there], call.len() + 40, limit, Layer::Rpc);
                Call::of_message(&mut c).map(|(call, stop)| (call.credential.flavor_name(), stop.is_some()))
            };
            assert_eq!(told(CALL_HEADER), Ok(("unknown", true)));
            assert_eq!(told(CALL_HEADER + 3), Ok(("unknown", true)));
            assert_eq!(told(CALL_HEADER + 4), Ok((name, true)));
            assert_eq!(told(call.len()), Ok((name, true)));
        }
        let malformed = message(&[7, 0, 2, program::NFS, 3, 1, 1, 500, 0]);
        let (call, _stop) = Call::of_message(&mut Cursor::new(&malformed, Layer::Rpc)).unwrap();
        assert_eq!(call.credential, Credential::Cut(None));
    }

    #[test]
    fn where_a_wrapper_is_not_known_nothing_is_read_of_it() {
        let reads = |credential: Credential<'_>, verifier: u32| {
            let reply = message(&[7, 1, 0, verifier, 0, 0, 5]);
            let mut c = Cursor::new(&reply, Layer::Rpc);
            let accepted = ReplyStatus::of_message(&mut c);
            assert_eq!(accepted, Ok(ReplyStatus::Accepted(AcceptStatus::SUCCESS)));
            let body = unwrap_results(&mut c, &credential, &reply);
            body.map_or(None, |mut body| body.u32().ok())
        };
        let (sys, gss) = (Flavor::AUTH_SYS, Flavor::RPCSEC_GSS);
        assert_eq!(reads(Credential::Cut(Some(gss)), 6), None);
        assert_eq!(reads(Credential::Cut(None), 6), None, "its verifier tells");
        assert_eq!(reads(Credential::Cut(None), 0), Some(5));
        assert_eq!(reads(Credential::Cut(Some(sys)), 0), Some(5));
        assert_eq!(reads(Credential::Gss { procedure: 0, service: 1 }, 6), Some(5));
    }

    #[test]
    fn replies_without_results_have_their_status() {
        let status = |words: &[u32]| {
            let bytes = message(words);
            ReplyStatus::parse(&mut Cursor::new(&bytes, Layer::Rpc)).map(ReplyStatus::name)
        };
        assert_eq!(status(&[0, 0, 0, 2, 2, 3]), Ok("PROG_MISMATCH"));
        assert_eq!(status(&[0, 0, 0, 5]), Ok("SYSTEM_ERR"));
        assert_eq!(status(&[1, 0, 2, 2]), Ok("RPC_MISMATCH"));
        assert_eq!(status(&[1, 1, 5]), Ok("AUTH_TOOWEAK"));
        assert_eq!(status(&[1, 1, 99]), Ok("AUTH_ERROR"));
        assert_eq!(status(&[0, 0, 0, 9]).unwrap_err().reason, Reason::Malformed);
        assert_eq!(status(&[2]).unwrap_err().reason, Reason::Malformed);
    }

    #[test]
    fn a_refusal_ends_with_its_versions_or_its_status() {
        let end = |words: &[u32]| {
            let bytes = message(words);
            let mut c = Cursor::new(&bytes, Layer::Rpc);
            let status = ReplyStatus::parse(&mut c).unwrap();
            status.end_of_refusal(&mut c).map_err(|stop| (stop.reason, stop.offset))
        };
        for whole in [&[0, 0, 0, 1][..], &[0, 0, 0, 2, 2, 3], &[0, 0, 0, 5], &[1, 0, 2, 2], &[1, 1, 5]] {
            assert_eq!(end(whole), Ok(()), "{whole:?}");
        }
        assert_eq!(end(&[0, 0, 0, 2]), Err((Reason::Malformed, 16)), "no versions");
        assert_eq!(end(&[0, 0, 0, 2, 2]), Err((Reason::Malformed, 20)), "one version");
        assert_eq!(end(&[1, 0, 2]), Err((Reason::Malformed, 12)), "RPC_MISMATCH");
        assert_eq!(end(&[0, 0, 0, 1, 0]), Err((Reason::Trailing, 16)), "PROG_UNAVAIL and a word");
        assert_eq!(end(&[1, 1, 5, 0]), Err((Reason::Trailing, 12)), "AUTH_ERROR and a word");
    }

    #[test]
    fn the_procedures_that_servers_call_are_told() {
        let of_nlm = (0..=23).filter(|procedure| program::is_for_client(program::NLM, *procedure));
        assert_eq!(of_nlm.collect::<Vec<_>>(), [5, 10, 11, 12, 13, 14]);
        assert!(program::is_for_client(0x4000_0000, 1));
        assert!(!program::is_for_client(program::NFS, 5));
    }
}
