//! # What the kernel knows of a TCP connection

use std::os::fd::OwnedFd;

use nix::sys::socket::{getsockopt, sockopt};
use schemars::JsonSchema;
use serde::Serialize;

use crate::endpoint::sockopt::tcp_info;

/// A connection at the window's end; counters are of the window alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct TcpState {
    /// Segments that were sent again.
    retransmissions: u32,
    /// The smoothed round-trip time, in µs.
    rtt_us: u32,
    /// The mean deviation of the round-trip time, in µs.
    rttvar_us: u32,
    /// The least round-trip time that the kernel saw, over minutes, in µs.
    min_rtt_us: u32,
    /// The congestion window, in segments.
    cwnd_segments: u32,
    /// The maximum segment size, in bytes.
    mss_bytes: u32,
    /// The name of the congestion control.
    congestion: String,
}

/// Of one moment; None where the kernel does not tell.
pub(super) type Snapshot = Option<libc::tcp_info>;

pub(super) fn snapshot(socket: &OwnedFd) -> Snapshot {
    tcp_info(socket).ok()
}

/// What happened from `start` to `end`.
pub(super) fn between(start: Snapshot, end: Snapshot, socket: &OwnedFd) -> Option<TcpState> {
    let (start, end) = (start?, end?);
    let congestion = getsockopt(socket, sockopt::TcpCongestion).ok()?;
    Some(TcpState {
        retransmissions: end
            .tcpi_total_retrans
            .wrapping_sub(start.tcpi_total_retrans),
        rtt_us: end.tcpi_rtt,
        rttvar_us: end.tcpi_rttvar,
        min_rtt_us: end.tcpi_min_rtt,
        cwnd_segments: end.tcpi_snd_cwnd,
        mss_bytes: end.tcpi_snd_mss,
        congestion: congestion
            .to_string_lossy()
            .trim_end_matches('\0')
            .to_owned(),
    })
}
