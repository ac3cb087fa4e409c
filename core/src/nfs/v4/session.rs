//! Clients, sessions and directory delegations of minor version 1 (RFC 8881 section 18).

use std::ops::Range;

use super::state::open_delegation;
use super::{OPAQUE_LIMIT, Result, at_most_one, opaque, stateid};
use crate::cursor::{Cursor, Kind};
use crate::nfs::attributes::{bitmap4, nfstime4};
use crate::nfs::facts::{Facts, Implementation, Pnfs, ServerOwner};
use crate::nfs::types::{DelegationType, TEXT_LIMIT};

/// `BACKCHANNEL_CTL4args`, RFC 8881 section 18.33.
pub fn backchannel_ctl_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.rare_mut().callback_program = Some(c.u32()?); // bca_cb_program
    callback_security(c)
}

/// `BIND_CONN_TO_SESSION4args` and `…resok`, RFC 8881 section 18.34: the same fields both ways.
pub fn bind_conn_to_session<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.session = Some(c.array()?);
    c.u32()?; // dir
    c.bool()?; // use_conn_in_rdma_mode
    Ok(())
}

/// `EXCHANGE_ID4args`, RFC 8881 section 18.35.
pub fn exchange_id_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.rare_mut().client_verifier = Some(c.u64_as(Kind::ClientVerifier)?); // co_verifier
    f.rare_mut().client_owner = Some(c.opaque_as(Kind::Token, OPAQUE_LIMIT)?); // co_ownerid
    c.u32()?; // eia_flags
    state_protect(c, |c| {
        // ssv_sp_parms4
        algorithms(c)?; // ssp_hash_algs
        algorithms(c)?; // ssp_encr_algs
        c.u64()?; // ssp_window, ssp_num_gss_handles
        Ok(())
    })?;
    f.rare_mut().client_software = implementation(c)?; // eia_client_impl_id
    Ok(())
}

/// `EXCHANGE_ID4resok`, RFC 8881 section 18.35.
pub fn exchange_id_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.client_id = Some(c.u64()?);
    c.u32()?; // eir_sequenceid
    let server_flags = Some(c.u32()?); // eir_flags
    f.rare_mut().pnfs = Some(Pnfs { server_flags, ..Pnfs::default() });
    state_protect(c, |c| {
        // ssv_prot_info4
        c.u64()?; // spi_hash_alg, spi_encr_alg
        c.u64()?; // spi_ssv_len, spi_window
        algorithms(c) // spi_handles: opaque values as well
    })?;
    let minor = c.u64()?; // so_minor_id
    let major = c.opaque_as(Kind::Token, OPAQUE_LIMIT)?; // so_major_id
    let scope = c.opaque_as(Kind::Token, OPAQUE_LIMIT)?; // eir_server_scope
    f.rare_mut().server_owner = Some(ServerOwner { minor, major, scope });
    f.rare_mut().server_software = implementation(c)?; // eir_server_impl_id
    Ok(())
}

/// `state_protect4_a` and `state_protect4_r`: they differ in what follows SP4_SSV's operations.
fn state_protect(c: &mut Cursor<'_>, ssv: impl Fn(&mut Cursor<'_>) -> Result) -> Result {
    let before = c.clone();
    let how = c.u32()?;
    match how {
        0 => Ok(()), // SP4_NONE
        1 | 2 => {
            // SP4_MACH_CRED, SP4_SSV
            bitmap4(c)?; // spo_must_enforce
            bitmap4(c)?; // spo_must_allow
            if how == 2 { ssv(c) } else { Ok(()) }
        }
        _ => Err(before.malformed()),
    }
}

/// `sec_oid4<>`.
fn algorithms(c: &mut Cursor<'_>) -> Result {
    for _ in 0..c.count(4)? {
        opaque(c)?;
    }
    Ok(())
}

/// `nfs_impl_id4<1>` (RFC 8881 section 3.3.4): domain, name and date of the implementation.
fn implementation<'a>(c: &mut Cursor<'a>) -> Result<Option<Implementation<'a>>> {
    let mut told = None;
    for _ in 0..at_most_one(c)? {
        let domain = c.opaque_as(Kind::Token, TEXT_LIMIT)?; // nii_domain
        let name = c.opaque_as(Kind::Token, TEXT_LIMIT)?; // nii_name
        nfstime4(c)?; // nii_date
        told = Some(Implementation { domain, name });
    }
    Ok(told)
}

/// `CREATE_SESSION4args`, RFC 8881 section 18.36.
pub fn create_session_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.client_id = Some(c.u64()?);
    c.u32()?; // csa_sequence
    c.u32()?; // csa_flags
    f.rare_mut().session_slots = Some(channel(c)?); // csa_fore_chan_attrs
    channel(c)?; // csa_back_chan_attrs
    f.rare_mut().callback_program = Some(c.u32()?); // csa_cb_program
    callback_security(c)
}

/// `CREATE_SESSION4resok`, RFC 8881 section 18.36.
pub fn create_session_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.session = Some(c.array()?);
    c.u32()?; // csr_sequence
    c.u32()?; // csr_flags
    f.rare_mut().session_slots = Some(channel(c)?); // csr_fore_chan_attrs
    channel(c)?; // csr_back_chan_attrs
    Ok(())
}

/// `channel_attrs4` (RFC 8881 section 18.36.1); gives `ca_maxrequests`, the number of slots.
fn channel(c: &mut Cursor<'_>) -> Result<u32> {
    c.u32()?; // ca_headerpadsize
    c.u32()?; // ca_maxrequestsize
    c.u32()?; // ca_maxresponsesize
    c.u32()?; // ca_maxresponsesize_cached
    c.u32()?; // ca_maxoperations
    let slots = c.u32()?;
    for _ in 0..at_most_one(c)? {
        c.u32()?; // ca_rdma_ird
    }
    Ok(slots)
}

/// `callback_sec_parms4<>` (RFC 8881 section 18.33.1).
fn callback_security(c: &mut Cursor<'_>) -> Result {
    for _ in 0..c.count(4)? {
        let before = c.clone();
        match c.u32()? {
            0 => {} // AUTH_NONE
            1 => {
                // AUTH_SYS: authsys_parms (RFC 5531 appendix A)
                c.u32()?; // stamp
                c.opaque_as(Kind::Host, TEXT_LIMIT)?; // machinename
                c.take_as(Kind::UserAndGroup, 2 * 4)?; // uid, gid
                for _ in 0..c.count(4)? {
                    c.u32_as(Kind::Group)?;
                }
            }
            6 => {
                // RPCSEC_GSS: gss_cb_handles4
                c.u32()?; // gcbp_service
                c.opaque_as(Kind::Token, TEXT_LIMIT)?; // gcbp_handle_from_server
                c.opaque_as(Kind::Token, TEXT_LIMIT)?; // gcbp_handle_from_client
            }
            _ => return Err(before.malformed()),
        }
    }
    Ok(())
}

/// `DESTROY_SESSION4args`, RFC 8881 section 18.37.
pub fn session_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.session = Some(c.array()?);
    Ok(())
}

/// `GET_DIR_DELEGATION4args`, RFC 8881 section 18.39.
pub fn get_dir_delegation_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    c.bool()?; // gdda_signal_deleg_avail
    bitmap4(c)?; // gdda_notification_types
    nfstime4(c)?; // gdda_child_attr_delay
    nfstime4(c)?; // gdda_dir_attr_delay
    f.attribute_mask = Some(bitmap4(c)?); // gdda_child_attributes
    bitmap4(c)?; // gdda_dir_attributes
    Ok(())
}

/// `GET_DIR_DELEGATION4res_non_fatal`, RFC 8881 section 18.39: granted, or not available now. That of
/// a directory lets its holder read alone (section 10.9).
pub fn get_dir_delegation_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    let before = c.clone();
    match c.u32()? {
        0 => {
            // GDD4_OK
            f.delegation = Some(DelegationType::READ);
            c.u64()?; // gddr_cookieverf
            f.stateid = Some(stateid(c)?);
            bitmap4(c)?; // gddr_notification
            bitmap4(c)?; // gddr_child_attributes
            bitmap4(c)?; // gddr_dir_attributes
            Ok(())
        }
        1 => {
            // GDD4_UNAVAIL
            f.delegation = Some(DelegationType::NONE);
            c.bool().map(|_will_signal| ())
        }
        _ => Err(before.malformed()),
    }
}

/// `RECLAIM_COMPLETE4args`, RFC 8881 section 18.51.
pub fn reclaim_complete_arguments<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    c.bool().map(|_one_fs| ())
}

/// `SECINFO_STYLE4`: arguments of SECINFO_NO_NAME, RFC 8881 section 18.45.
pub fn secinfo_no_name_arguments<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    c.u32().map(|_style| ())
}

/// `SEQUENCE4args`, RFC 8881 section 18.46.
pub fn sequence_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    sequence(c, f)?;
    f.highest_slot = Some(c.u32()?);
    c.bool()?; // sa_cachethis
    Ok(())
}

/// `SEQUENCE4resok`, RFC 8881 section 18.46.
pub fn sequence_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    cb_sequence_results(c, f)?;
    c.u32()?; // sr_status_flags
    Ok(())
}

/// `CB_SEQUENCE4resok`, RFC 8881 section 20.9: as `SEQUENCE4resok` without its flags.
#[inline]
pub fn cb_sequence_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    sequence(c, f)?;
    c.u32()?; // highest_slotid that the server accepts; what it wants is the target
    f.target_highest_slot = Some(c.u32()?);
    Ok(())
}

/// What both directions of SEQUENCE and CB_SEQUENCE begin with: session, sequence, slot.
#[inline]
pub(super) fn sequence(c: &mut Cursor<'_>, f: &mut Facts<'_>) -> Result {
    f.session = Some(c.array()?);
    f.slot_sequence = Some(c.u32()?);
    f.slot = Some(c.u32()?);
    Ok(())
}

/// Number of SEQUENCE, the first operation of most compounds (RFC 8881 section 18.46).
const SEQUENCE: usize = 53;

/// What the first operation of a call tells that is SEQUENCE, by places in the message.
pub struct Sequenced {
    /// Where the compound begins.
    pub compound: usize,
    /// Session and slot.
    pub slot: [u8; 20],
    /// `sa_highest_slotid`. A client may encode a call anew when it sends it again on another connection, as
    /// Linux does: this is the state of the moment (RFC 8881 section 2.10.6.1), all else is as it was.
    pub highest: Range<usize>,
}

/// SEQUENCE of a call, given as a whole message, if it is a compound that begins with it.
#[inline]
pub fn sequence_within(call: &[u8]) -> Option<Sequenced> {
    let word = |at: usize| Some(u32::from_be_bytes(*call.get(at..)?.first_chunk()?) as usize);
    let behind = |length_at: usize| Some(length_at + 4 + word(length_at)?.next_multiple_of(4));
    let verifier = behind(28)?; // of the credential
    let compound = behind(verifier + 4)?;
    let operations = behind(compound)? + 4; // tag, minorversion
    if word(operations + 4)? != SEQUENCE {
        return None;
    }
    let arguments = call.get(operations + 8..)?.first_chunk::<24>()?; // sessionid, sequenceid, slotid
    let mut slot = [0; 20];
    let (session, number) = slot.split_at_mut(16);
    session.copy_from_slice(arguments.get(..16)?);
    number.copy_from_slice(arguments.get(20..)?);
    let highest = operations + 8 + arguments.len();
    Some(Sequenced { compound, slot, highest: highest..highest + 4 })
}

/// `SET_SSV4args`, RFC 8881 section 18.47.
pub fn set_ssv_arguments<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    opaque(c)?; // ssa_ssv
    opaque(c) // ssa_digest
}

/// `SET_SSV4resok`, RFC 8881 section 18.47.
pub fn set_ssv_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    opaque(c) // ssr_digest
}

/// Bytes of a stateid4 (RFC 8881 section 3.3.12).
const STATEID: usize = 16;

/// States of a TEST_STATEID that redaction tells: a list that claims to be longer may be anything.
const STATES_TOLD: usize = 4;

/// `TEST_STATEID4args`, RFC 8881 section 18.48. A fact sheet has room for one state: the first.
pub fn test_stateid_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    let states = c.count(STATEID)?;
    for _ in 0..states.min(STATES_TOLD) {
        let tested = stateid(c)?;
        f.stateid.get_or_insert(tested);
    }
    c.take_as(Kind::Unknown, states.saturating_sub(STATES_TOLD).saturating_mul(STATEID)).map(|_others| ())
}

/// `TEST_STATEID4resok`, RFC 8881 section 18.48: a status for each.
pub fn test_stateid_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    let count = c.count(4)?;
    c.take(count.min(STATES_TOLD).saturating_mul(4))?;
    c.take_as(Kind::Unknown, count.saturating_sub(STATES_TOLD).saturating_mul(4)).map(|_others| ())
}

/// `WANT_DELEGATION4args`, RFC 8881 section 18.49.
pub fn want_delegation_arguments<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    c.u32()?; // wda_want
    let before = c.clone();
    match c.u32()? {
        1 => c.u32().map(|_delegate_type| ()), // CLAIM_PREVIOUS
        4 | 6 => Ok(()),                       // CLAIM_FH, CLAIM_DELEG_PREV_FH
        _ => Err(before.malformed()),
    }
}

/// `WANT_DELEGATION4resok`, RFC 8881 section 18.49.
pub fn want_delegation_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = open_delegation(c, f)?;
    Ok(())
}
