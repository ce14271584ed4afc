//! # Receiving datagrams
//!
//! One socket takes those of all flows.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{MsgFlags, getsockopt, recv, sockopt};

use super::ledger::{Ledger, Shared};
use super::params::ReceiverOpenParams;
use crate::endpoint::message::GREATEST_BYTES;
use crate::endpoint::record::{Piece, Record};
use crate::endpoint::wait::{Waker, is_ready};
use crate::traffic::clock::now_ns;

/// Taken under one lock, and between looks at whether to end.
const BATCH: usize = 64;

/// Takes what comes until woken to end.
pub(super) fn serve(
    socket: &OwnedFd,
    params: &ReceiverOpenParams,
    waker: &Waker,
    shared: &Shared,
) -> io::Result<()> {
    let buffer_bytes = getsockopt(socket, sockopt::RcvBuf).ok();
    for flow in &mut shared.ledger().flows {
        flow.buffer_bytes = buffer_bytes;
    }
    let mut buffer = vec![0; GREATEST_BYTES];
    loop {
        let watched = [waker.as_fd(), socket.as_fd()];
        let mut watched = watched.map(|socket| PollFd::new(socket, PollFlags::POLLIN));
        params.options.wait_for_input(&mut watched)?;
        if is_ready(&watched[0]) {
            return Ok(());
        }
        take(socket, &mut buffer, &mut shared.ledger())?;
    }
}

fn take(socket: &OwnedFd, buffer: &mut [u8], ledger: &mut Ledger) -> io::Result<()> {
    for _ in 0..BATCH {
        match recv(socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(length) => count(&buffer[..length], ledger),
            Err(Errno::EAGAIN) => break,
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

#[inline]
fn count(datagram: &[u8], ledger: &mut Ledger) {
    let Some(record) = Record::of_datagram(datagram) else {
        ledger.refused.foreign += 1;
        return;
    };
    if ledger.admits(&record) {
        let whole = Piece {
            record,
            bytes: record.length,
            is_first: true,
            is_last: true,
        };
        ledger.count(&whole, now_ns());
    }
}
