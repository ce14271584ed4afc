//! # When an answer came
//!
//! The kernel stamps packets as they come in, so that an answer is none the later for whom it waits to read it.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

use crate::traffic::clock::now_ns;

/// Receives a packet: its length, and when it came, CLOCK_MONOTONIC.
///
/// The stamp is a time of day, and as far off as that was stepped since.
pub(super) fn receive(socket: &OwnedFd, packet: &mut [u8]) -> nix::Result<(usize, u64)> {
    let mut vectors = [IoSliceMut::new(packet)];
    let mut space = nix::cmsg_space!(TimeSpec);
    let flags = MsgFlags::MSG_DONTWAIT;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut vectors, Some(&mut space), flags)?;
    let now = Duration::from(clock_gettime(ClockId::CLOCK_REALTIME)?);
    let came = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
        _ => None,
    });
    let ago = came
        .and_then(|came| now.checked_sub(came))
        .unwrap_or_default();
    Ok((
        message.bytes,
        now_ns().saturating_sub(ago.as_nanos() as u64),
    ))
}
