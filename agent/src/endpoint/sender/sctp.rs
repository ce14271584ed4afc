//! # What the kernel knows of an SCTP association

use std::os::fd::OwnedFd;

use schemars::JsonSchema;
use serde::Serialize;

use crate::endpoint::sockopt::get;

/// Of linux/sctp.h, which the libc crate lacks.
const SCTP_GET_ASSOC_STATS: libc::c_int = 112;

/// The beginning of `struct sctp_assoc_stats`; the kernel gives as much as there is room for.
#[derive(Clone, Copy)]
#[repr(C)]
struct Statistics {
    association: i32,
    slowest_address: libc::sockaddr_storage,
    greatest_rto_ms: u64,
    sacks_in: u64,
    sacks_out: u64,
    packets_out: u64,
    packets_in: u64,
    retransmitted_chunks: u64,
}

/// An association in the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SctpState {
    /// Chunks that were sent again.
    retransmissions: u64,
}

/// Chunks that an association has sent again so far; None where the kernel does not tell.
pub(super) fn retransmitted(socket: &OwnedFd) -> Option<u64> {
    // SAFETY: these are numbers only, of which any bits are valid.
    let told: Statistics = unsafe { get(socket, libc::IPPROTO_SCTP, SCTP_GET_ASSOC_STATS) }.ok()?;
    Some(told.retransmitted_chunks)
}

/// What happened since as many had been.
pub(super) fn since(start: Option<u64>, socket: &OwnedFd) -> Option<SctpState> {
    let start = start?;
    Some(SctpState {
        retransmissions: retransmitted(socket)?.wrapping_sub(start),
    })
}
