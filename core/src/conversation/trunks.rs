//! Which pairs of addresses one client and one server use together (trunking, RFC 8881 section 2.10.5).
//!
//! Takes logins (EXCHANGE_ID), the sessions that calls name, and between which addresses; gives the pair of
//! addresses by which client and server are called: the first that they were seen with. Only what nobody
//! else can have in common is proof:
//!
//! - Both pairs of addresses saw a login of the same client owner and verifier, which the same server owner
//!   (major and minor) of the same scope answered with the same client id.
//! - Where the addresses of the client differ, a session of the one pair is used at the other, too: machines
//!   that were copied have an owner in common, and never a session.
//! - Neither login can be the other, passed on: such a one has the same xid, or lies within the time of the
//!   other, or what is the server there is the client here.
//!
//! Calls that came at a second pair of addresses before the proof have the names of that: it then stays
//! apart. What begins its first connection is held for that ([`Held`]).

use std::hash::BuildHasher;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use super::messages::Beside;
use crate::nfs::facts::{Facts, ServerOwner};
use crate::rpc::pairing::{Kept, Request};
use crate::rpc::record::Record;

/// Logins that are remembered, each of a client and server between two addresses; beyond it those known stay
/// (`trunks_limit`).
const LOGINS_LIMIT: usize = 1 << 14;

/// Addresses of one client and server that are joined; those of further ones stay apart (`trunks_limit`).
const ADDRESSES_LIMIT: usize = 16;

/// Sessions of these, and pairs of addresses that are known to be in use; beyond it pairs stay apart
/// (`trunks_limit`).
const USED_LIMIT: usize = 1 << 15;

/// Calls of all connections that are held at one time; further ones are named by their own addresses.
const HELD_LIMIT: usize = 1 << 12;

/// Those of one connection: a few NULL, and logins.
const HELD_OF_CONNECTION: usize = 4;

/// Memory of a message that is held, in bytes: a longer one is none of these.
const HELD_BYTES: usize = 2 << 10;

/// `EXCHGID4_FLAG_USE_PNFS_DS` (RFC 8881 section 18.35.3): layouts tell data servers apart by address.
const USE_PNFS_DS: u32 = 0x0004_0000;

/// The addresses of a client and a server.
pub(super) type Ends = (IpAddr, IpAddr);

/// A login that succeeded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Login {
    /// Hash of who logged in at whom, as which incarnation, and got which client id.
    what: u64,
    /// Hash of the owners alone.
    who: u64,
    xid: u32,
    asked_ns: i64,
    answered_ns: i64,
    /// The server holds data of pNFS.
    of_data: bool,
}

/// The last login between two addresses.
#[derive(Clone, Copy, Debug)]
struct Seen {
    ends: Ends,
    login: Login,
    /// It may be one that was passed on to the other side of a proxy, or from there.
    passed_on: bool,
}

/// What is known of who uses several addresses.
#[derive(Default)]
pub(super) struct Trunks {
    /// By [`Login::what`].
    logins: HashMap<u64, Vec<Seen>, RandomState>,
    /// [`Login::what`] of the last login between two addresses.
    last: HashMap<Ends, u64, RandomState>,
    /// Hashes of sessions with the addresses by which their client and server are called.
    sessions: HashSet<u64, RandomState>,
    /// What addresses are called instead, and [`Login::who`] of those who are.
    joined: HashMap<Ends, (Ends, u64), RandomState>,
    /// Addresses that calls were named by.
    used: HashSet<Ends, RandomState>,
    held: usize,
    hasher: RandomState,
    /// Logins, sessions and addresses that were not remembered.
    pub(super) overlooked: u64,
}

/// A call that begins a connection, and is named once it is known whose it is.
pub(super) struct Held {
    pub(super) call: u64,
    pub(super) request: Box<Request>,
    pub(super) reply: Kept,
    pub(super) beside: Beside,
}

/// What a call that begins a connection tells of who makes it.
pub(super) enum Opening {
    /// Nothing: NULL.
    Null,
    Login(Login),
    /// A call of NFSv4.1 or later, and the session that it names or makes.
    Call(Option<[u8; 16]>),
    /// It is called back, or may be.
    Callback,
    /// Another protocol or version.
    Other,
}

impl Trunks {
    /// The login that an EXCHANGE_ID brought, if it succeeded and was captured so far.
    pub(super) fn login(
        &self,
        facts: &Facts<'_>,
        xid: u32,
        asked_ns: i64,
        answered_ns: i64,
    ) -> Option<Login> {
        let rare = facts.rare();
        let ServerOwner { minor, major, scope } = rare.server_owner.filter(|_| facts.status == Some(0))?;
        let owner = rare.client_owner?;
        let who = self.hasher.hash_one((owner, minor, major, scope));
        let what = self.hasher.hash_one((who, rare.client_verifier?, facts.client_id?));
        let flags = rare.pnfs.as_ref().and_then(|pnfs| pnfs.server_flags).unwrap_or_default();
        Some(Login { what, who, xid, asked_ns, answered_ns, of_data: flags & USE_PNFS_DS != 0 })
    }

    /// Whether any login was seen, without which nothing is ever joined.
    #[inline]
    pub(super) fn knows_logins(&self) -> bool {
        !self.last.is_empty()
    }

    /// Takes a login.
    pub(super) fn take(&mut self, ends: Ends, login: Login) {
        if self.joined.get(&ends).is_some_and(|(_, who)| *who != login.who) {
            self.joined.remove(&ends); // Somebody else has the address by now.
        }
        if self.last.len() >= LOGINS_LIMIT && !self.last.contains_key(&ends) {
            self.overlooked += 1;
            return;
        }
        if let Some(before) = self.last.insert(ends, login.what)
            && before != login.what
            && let Some(seen) = self.logins.get_mut(&before)
        {
            seen.retain(|seen| seen.ends != ends);
            if seen.is_empty() {
                self.logins.remove(&before);
            }
        }
        let all = self.logins.entry(login.what).or_default();
        let mut passed_on = ends.0 == ends.1;
        for other in all.iter_mut().filter(|other| other.ends != ends) {
            if may_be_one(&(other.ends, other.login), &(ends, login)) {
                (other.passed_on, passed_on) = (true, true);
            }
        }
        if let Some(known) = all.iter_mut().find(|known| known.ends == ends) {
            (known.login, known.passed_on) = (login, known.passed_on || passed_on);
        } else if all.len() < ADDRESSES_LIMIT {
            all.push(Seen { ends, login, passed_on });
        } else {
            self.overlooked += 1;
        }
    }

    /// Takes that a session is used between two addresses.
    pub(super) fn use_session(&mut self, ends: Ends, session: [u8; 16]) {
        if self.sessions.len() < USED_LIMIT {
            self.sessions.insert(self.hasher.hash_one((session, self.party(ends))));
        } else {
            self.overlooked += 1;
        }
    }

    /// Takes that calls are named by these addresses.
    pub(super) fn use_ends(&mut self, ends: Ends) {
        if self.used.len() < USED_LIMIT {
            self.used.insert(ends);
        }
    }

    /// By which addresses client and server are called.
    pub(super) fn party(&self, ends: Ends) -> Ends {
        self.joined.get(&ends).map_or(ends, |(party, _)| *party)
    }

    /// Whether these addresses may yet turn out to be of a client and server that are known by others.
    pub(super) fn may_join(&self, ends: Ends) -> bool {
        let known = self.used.contains(&ends) || self.joined.contains_key(&ends);
        self.knows_logins() && !known && self.used.len() < USED_LIMIT
    }

    /// Whether the same login is known of other addresses.
    pub(super) fn meets(&self, ends: Ends, login: &Login) -> bool {
        let mut all = self.logins.get(&login.what).into_iter().flatten();
        all.any(|seen| seen.ends != ends)
    }

    /// Takes the first call of a connection that names or makes a session: joins its addresses with others if
    /// that is proved now.
    pub(super) fn prove(&mut self, ends: Ends, session: Option<[u8; 16]>) {
        if !self.may_join(ends) {
            return;
        }
        let Some(all) = self.last.get(&ends).and_then(|what| self.logins.get(what)) else { return };
        let sound = |seen: &&Seen| !seen.passed_on && !seen.login.of_data;
        let Some(place) = all.iter().position(|seen| seen.ends == ends) else { return };
        let Some(own) = all.get(place).filter(sound) else { return };
        let shared = |party: Ends| {
            session.is_some_and(|session| self.sessions.contains(&self.hasher.hash_one((session, party))))
        };
        // Of two that nothing is named by yet, the first one seen is.
        let others = all.iter().enumerate().filter(|(_, seen)| seen.ends != ends && sound(seen));
        let party = others
            .map(|(at, seen)| (at < place, seen.ends.0, self.party(seen.ends)))
            .filter(|(earlier, _, party)| *earlier || self.used.contains(party))
            .find(|(_, client, party)| *client == ends.0 || shared(*party))
            .map(|(_, _, party)| party);
        if let Some(party) = party.filter(|party| *party != ends) {
            self.joined.insert(ends, (party, own.login.who));
        }
    }

    /// Whether there is room to hold one more call of a connection that has this many.
    pub(super) fn has_room(&self, held: usize, messages: [&Record<'_>; 2]) -> bool {
        let short = messages.iter().all(|message| message.bytes.len() <= HELD_BYTES);
        short && held < HELD_OF_CONNECTION && self.held < HELD_LIMIT
    }

    /// Counts calls that are held.
    pub(super) fn hold(&mut self) {
        self.held += 1;
    }

    /// Counts those that are no longer.
    pub(super) fn let_go(&mut self, count: usize) {
        self.held = self.held.saturating_sub(count);
    }
}

/// Whether two equal logins between different addresses may be the same one, passed on by a proxy or with other
/// addresses: such a one is asked and answered while the first waits. What keeps the client's address keeps the
/// message, too.
fn may_be_one((ends, login): &(Ends, Login), (other_ends, other): &(Ends, Login)) -> bool {
    let crossed = ends.0 == other_ends.1 || ends.1 == other_ends.0;
    let at_once = login.asked_ns <= other.answered_ns && other.asked_ns <= login.answered_ns;
    login.xid == other.xid || crossed || ends.0 != other_ends.0 && at_once
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const A1: u8 = 1;
    const A2: u8 = 2;
    const S1: u8 = 11;
    const S2: u8 = 12;
    const SESSION: [u8; 16] = [7; 16];

    fn ends(client: u8, server: u8) -> Ends {
        (Ipv4Addr::new(10, 0, 0, client).into(), Ipv4Addr::new(10, 0, 0, server).into())
    }

    fn login(at_ns: i64) -> Login {
        let xid = u32::try_from(at_ns).unwrap();
        Login { what: 1, who: 1, xid, asked_ns: at_ns, answered_ns: at_ns + 5, of_data: false }
    }

    /// What the second of two pairs of addresses is called, of which the first has a session.
    fn second(of: [(Ends, Login); 2], session: [u8; 16]) -> Ends {
        let mut trunks = Trunks::default();
        for (ends, login) in of {
            trunks.take(ends, login);
        }
        let [(first, _), (second, _)] = of;
        trunks.prove(first, Some(SESSION));
        trunks.use_ends(first);
        trunks.use_session(first, SESSION);
        trunks.prove(second, Some(session));
        trunks.party(second)
    }

    #[test]
    fn a_session_that_is_shared_joins_addresses_with_the_same_login() {
        let (one, two) = (ends(A1, S1), ends(A2, S2));
        assert_eq!(second([(one, login(0)), (two, login(10))], SESSION), one);
        assert_eq!(second([(one, login(0)), (two, login(10))], [8; 16]), two, "machines that were copied");
        let restarted = Login { what: 2, ..login(10) };
        assert_eq!(second([(one, login(0)), (two, restarted)], SESSION), two);
        let of_data = Login { of_data: true, ..login(10) };
        assert_eq!(second([(one, login(0)), (two, of_data)], SESSION), two);
    }

    #[test]
    fn of_one_address_of_the_client_the_login_is_enough() {
        let (one, two) = (ends(A1, S1), ends(A1, S2));
        assert_eq!(second([(one, login(0)), (two, login(10))], [8; 16]), one);
        assert_eq!(second([(one, login(0)), (two, login(3))], [8; 16]), one, "both at once");
    }

    #[test]
    fn what_may_be_passed_on_joins_nothing() {
        let (one, two) = (ends(A1, S1), ends(A2, S2));
        let within = Login { asked_ns: 2, answered_ns: 3, ..login(10) };
        assert_eq!(second([(one, login(0)), (two, within)], SESSION), two);
        let same_xid = Login { xid: 0, ..login(10) };
        assert_eq!(second([(one, login(0)), (two, same_xid)], SESSION), two, "by a clock that is apart");
        let kept = ends(A1, S2);
        assert_eq!(second([(one, login(0)), (kept, same_xid)], SESSION), kept, "with the client's address");
        let onward = ends(S1, S2);
        assert_eq!(second([(one, login(0)), (onward, login(10))], SESSION), onward);
        let inside = ends(A2, A2);
        assert_eq!(second([(one, login(0)), (inside, login(10))], SESSION), inside);
    }

    #[test]
    fn what_was_passed_on_once_stays_apart_after_a_later_login() {
        let (one, two) = (ends(A1, S1), ends(A2, S2));
        let mut trunks = Trunks::default();
        let within = Login { asked_ns: 2, answered_ns: 3, ..login(10) };
        for (ends, login) in [(one, login(0)), (two, within), (one, login(100)), (two, login(200))] {
            trunks.take(ends, login);
        }
        trunks.use_session(one, SESSION);
        trunks.prove(two, Some(SESSION));
        assert_eq!(trunks.party(two), two);
    }

    #[test]
    fn addresses_that_calls_were_named_by_keep_their_names() {
        let (one, two) = (ends(A1, S1), ends(A1, S2));
        let mut trunks = Trunks::default();
        trunks.use_ends(two);
        trunks.take(one, login(0));
        trunks.take(two, login(10));
        trunks.prove(two, None);
        assert_eq!(trunks.party(two), two);
    }

    #[test]
    fn addresses_that_somebody_else_has_by_now_are_his() {
        let (one, two) = (ends(A1, S1), ends(A1, S2));
        let mut trunks = Trunks::default();
        trunks.take(one, login(0));
        trunks.use_ends(one);
        trunks.take(two, login(10));
        trunks.prove(two, None);
        trunks.take(two, Login { what: 2, ..login(20) });
        assert_eq!(trunks.party(two), one, "the server began anew");
        trunks.take(two, Login { what: 3, who: 3, ..login(30) });
        assert_eq!(trunks.party(two), two);
    }

    #[test]
    fn logins_beyond_the_limit_are_counted() {
        let mut trunks = Trunks::default();
        for number in 0..LOGINS_LIMIT as u32 + 3 {
            let ends = (Ipv4Addr::from_bits(number).into(), ends(A1, S1).1);
            trunks.take(ends, Login { what: u64::from(number), ..login(0) });
        }
        assert_eq!((trunks.overlooked, trunks.last.len()), (3, LOGINS_LIMIT));
        let mut trunks = Trunks::default();
        for number in 0..ADDRESSES_LIMIT as u8 + 2 {
            trunks.take(ends(A1, S1 + number), login(i64::from(number) * 10));
        }
        assert_eq!(trunks.overlooked, 2);
    }
}
